//! Bytes over TCP and UDP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;

use bief::Registry;
use bief::kinds::Openers;

pub(crate) fn openers() -> Openers {
    let mut registry = Registry::new();
    bief_net::register(&mut registry);
    registry.openers().clone()
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn some_bytes(count: usize) -> Vec<u8> {
    (0..count).map(|k| ((k * k) >> 3) as u8).collect()
}

/// Tries until someone listens.
pub(crate) fn client(port: u16) -> TcpStream {
    for _ in 0..500 {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(_) => thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
    panic!("nobody listens on {port}");
}

#[test]
fn tcp_bytes_come_whole_either_way() {
    let sent = some_bytes(1_000_000);
    // Connected to: what is written arrives.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("tcp://{}", server.local_addr().unwrap()).parse().unwrap();
    let taker = thread::spawn(move || {
        let mut taken = Vec::new();
        server.accept().unwrap().0.read_to_end(&mut taken).unwrap();
        taken
    });
    let mut writer = openers().writer(&address).unwrap();
    writer.write_all(&sent).unwrap();
    drop(writer);
    assert!(taker.join().unwrap() == sent);
    // Listening: the first client is read.
    let port = free_port();
    let giver = {
        let sent = sent.clone();
        thread::spawn(move || client(port).write_all(&sent).unwrap())
    };
    let mut taken = Vec::new();
    openers().reader(&format!("tcp://:{port}").parse().unwrap()).unwrap().reader.read_to_end(&mut taken).unwrap();
    giver.join().unwrap();
    assert!(taken == sent);
}

#[test]
fn udp_bytes_are_cut_as_asked_and_put_together() {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut reader = openers().reader(&format!("udp://127.0.0.1:{port}").parse().unwrap()).unwrap().reader;
    let mut writer = openers().writer(&format!("udp://127.0.0.1:{port}?size=100").parse().unwrap()).unwrap();
    let sent = some_bytes(1050);
    writer.write_all(&sent).unwrap();
    writer.flush().unwrap();
    let mut taken = vec![0; 1050];
    reader.read_exact(&mut taken[..33]).unwrap();
    reader.read_exact(&mut taken[33..]).unwrap();
    assert!(taken == sent);
}

#[test]
fn addresses_that_cannot_be_are_refused() {
    let reader = |text: &str| openers().reader(&text.parse().unwrap()).err().unwrap().to_string();
    let writer = |text: &str| openers().writer(&text.parse().unwrap()).err().unwrap().to_string();
    let checked = |text: &str| openers().check_writer(&text.parse().unwrap()).err().unwrap().to_string();
    assert!(reader("tcp://127.0.0.1:1").contains("refused"));
    assert!(reader("tcp://127.0.0.1").contains("names no port"));
    assert!(reader("udp://:0?rate=-1").contains("`rate=-1`: give samples per second"));
    assert!(reader("udp://:0?ttl=3").contains("no option is called `ttl` here"));
    assert!(reader("rtp://127.0.0.1:5004").contains("nothing can be read there"));
    for open in [&writer as &dyn Fn(&str) -> String, &checked] {
        assert!(open("udp://:5004").contains("names nobody to send to"));
        assert!(open("rtp://127.0.0.1:5004?pace=slow").contains("give pcr, live or none"));
        assert!(open("rtp://127.0.0.1:5004/x").contains("nothing follows the port"));
        assert!(open("udp://127.0.0.1:5004?size=0").contains("1 to 65507"));
        assert!(open("udp://127.0.0.1:5004?size=7&pace=live").contains("no option is called `size`"));
        assert!(open("udp://127.0.0.1:5004?interface=127.0.0.1").contains("multicast"));
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    assert!(writer(&format!("http://:{port}/ts")).contains("in use"));
}
