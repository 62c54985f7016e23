//! Transport streams, as players take them.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use bief_net::{Pace, TsOut};

const PACKET: usize = 188;

/// Packets that can be told apart; each `each`-th has a clock, `step` ticks of 27 MHz after the last.
fn packets(count: usize, each: usize, step: u64) -> Vec<u8> {
    let mut all = Vec::new();
    for number in 0..count {
        let mut packet = [number as u8; PACKET];
        packet[..4].copy_from_slice(&[0x47, 1, 0, 0x10]);
        if number % each == 0 {
            let base = number as u64 / each as u64 * step / 300;
            packet[3..6].copy_from_slice(&[0x30, 7, 0x10]);
            packet[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
            packet[10..12].copy_from_slice(&[(base as u8 & 1) << 7 | 0x7E, 0]);
        }
        all.extend_from_slice(&packet);
    }
    all
}

fn player() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let at = socket.local_addr().unwrap().to_string();
    (socket, at)
}

#[test]
fn a_file_goes_at_the_pace_of_its_clock() {
    let (player, at) = player();
    // A clock every 20 ms, 14 packets between two; written in pieces that cut packets.
    let sent = packets(14 * 15 + 5, 14, 540_000);
    let mut out = TsOut::open(&format!("udp://{at}").parse().unwrap(), Pace::Pcr).unwrap();
    let stream = sent.clone();
    let writer = std::thread::spawn(move || {
        stream.chunks(1000).for_each(|part| out.write_all(part).unwrap());
        out.flush().unwrap();
        out.handle().counts()
    });
    let (mut got, mut times, mut datagram) = (Vec::new(), Vec::new(), [0; 2000]);
    while got.len() < sent.len() {
        let bytes = player.recv(&mut datagram).unwrap();
        times.push(Instant::now());
        assert!(bytes == 7 * PACKET || got.len() + bytes == sent.len());
        got.extend_from_slice(&datagram[..bytes]);
    }
    assert!(got == sent);
    // It cannot be faster than its clock; how much slower is for the machine to say.
    let took = times[times.len() - 1] - times[0];
    assert!(took >= Duration::from_millis(270), "{took:?}");
    let counts = writer.join().unwrap();
    assert_eq!((counts.sent, counts.lost), (14 * 15 + 5, 0));
}

/// Of seven packets that are sent together, those with the clock say when.
#[test]
fn packets_with_the_clock_come_when_they_say() {
    let (player, at) = player();
    // Every tenth packet has the clock: another of its datagram each time.
    let sent = packets(70, 10, 270_000);
    let mut out = TsOut::open(&format!("rtp://{at}").parse().unwrap(), Pace::Pcr).unwrap();
    out.write_all(&sent).unwrap();
    out.flush().unwrap();
    let (mut datagram, mut stamps) = ([0; 2000], Vec::new());
    for _ in 0..10 {
        player.recv(&mut datagram).unwrap();
        stamps.push(u32::from_be_bytes(datagram[4..8].try_into().unwrap()));
    }
    // The clock is in packets 0, 10, … 60: in datagrams 0, 1, 2, 4, 5, 7, 8.
    for (turns, datagram) in (0..).zip([0, 1, 2, 4, 5, 7, 8]) {
        let after = stamps[datagram] - stamps[0];
        assert!(
            after.abs_diff(900 * turns) <= 1,
            "datagram {datagram} is due {after} ticks after the first: {stamps:?}"
        );
    }
}

#[test]
fn rtp_has_numbers_and_a_clock() {
    let (player, at) = player();
    let sent = packets(70, 14, 540_000);
    let mut out = TsOut::open(&format!("rtp://{at}").parse().unwrap(), Pace::Pcr).unwrap();
    out.write_all(&sent).unwrap();
    out.flush().unwrap();
    let mut datagram = [0; 2000];
    let heads: Vec<(u16, u32, u32)> = (0..10)
        .map(|k| {
            let bytes = player.recv(&mut datagram).unwrap();
            assert_eq!((bytes, &datagram[..2]), (12 + 7 * PACKET, &[0x80, 33][..]));
            assert!(datagram[12..bytes] == sent[k * 7 * PACKET..(k + 1) * 7 * PACKET]);
            let word = |at: usize| u32::from_be_bytes(datagram[at..at + 4].try_into().unwrap());
            (u16::from_be_bytes([datagram[2], datagram[3]]), word(4), word(8))
        })
        .collect();
    for pair in heads.windows(2) {
        assert_eq!((pair[1].0, pair[1].2), (pair[0].0.wrapping_add(1), pair[0].2));
        // 7 packets are 10 ms: 900 ticks.
        assert!(pair[1].1.wrapping_sub(pair[0].1).abs_diff(900) <= 1, "{heads:?}");
    }
}

/// Asks for a stream, and reads its head.
fn ask(at: std::net::SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    write!(stream, "GET /ts HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("video/mp2t"), "{head}");
    stream
}

#[test]
fn players_over_http_get_the_stream_and_none_holds_it_up() {
    let address = "http://127.0.0.1:0/ts".parse().unwrap();
    let mut out = TsOut::open(&address, Pace::None).unwrap();
    let at = out.local_address().unwrap();
    let mut players = [ask(at), ask(at)];
    let lazy = ask(at); // It never reads.
    while out.handle().counts().listeners < 3 {
        std::thread::sleep(Duration::from_millis(2));
    }
    // More than sockets and the ring hold for the lazy one.
    let sent = packets(500, 10, 540_000);
    let readers: Vec<_> = players
        .iter_mut()
        .map(|player| {
            let mut player = player.try_clone().unwrap();
            std::thread::spawn(move || {
                let mut got = Vec::new();
                player.read_to_end(&mut got).map(|_| got)
            })
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..200 {
        out.write_all(&sent).unwrap();
        out.flush().unwrap();
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let handle = out.handle();
    let counts = handle.counts();
    assert_eq!((counts.sent, counts.lost, counts.error), (100_000, 0, None));
    drop(lazy);
    drop(out);
    for reader in readers {
        let got = reader.join().unwrap().unwrap();
        assert!(got.len().is_multiple_of(PACKET) && got.chunks(PACKET).all(|packet| packet[0] == 0x47));
        assert!(got.ends_with(&sent[sent.len() - PACKET..]), "{} bytes", got.len());
    }
    let _ = players;
}

#[test]
fn more_players_than_may_come_are_told() {
    let out = TsOut::open(&"http://127.0.0.1:0/ts".parse().unwrap(), Pace::None).unwrap();
    let at = out.local_address().unwrap();
    let first: Vec<TcpStream> = (0..8).map(|_| ask(at)).collect();
    let mut ninth = TcpStream::connect(at).unwrap();
    let mut answer = String::new();
    let _ = ninth.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(first);
    drop(out);
    assert!(TcpStream::connect(at).is_err(), "the port is free again");
}

#[test]
fn what_is_no_transport_stream_is_refused() {
    let (_player, at) = player();
    let mut out = TsOut::open(&format!("udp://{at}").parse().unwrap(), Pace::None).unwrap();
    out.write_all(&packets(2, 5, 1)).unwrap();
    let refused = out.write_all(&[1, 2, 3]).unwrap_err().to_string();
    assert_eq!(refused, "packet 2 begins with 0x01, not 0x47: only transport streams are sent so");
}
