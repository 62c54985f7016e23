//! A dongle behind a server that is played here.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::bytes::openers;

/// A command's number and its value.
type Command = (u8, u32);

/// Plays a server for some clients, one after the other: each gets samples of its number, for 300 ms. Answers the commands of each.
fn server(clients: u8) -> (String, JoinHandle<Vec<Vec<Command>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let work = move || {
        let mut all = Vec::new();
        for number in 0..clients {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(b"RTL0\0\0\0\x05\0\0\0\x1d").unwrap();
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(300) {
                // An odd number of bytes: the end cuts a sample.
                if client.write_all(&[number; 1001]).is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
            client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let (mut commands, mut command) = (Vec::new(), [0; 5]);
            while client.read_exact(&mut command).is_ok() {
                commands.push((command[0], u32::from_be_bytes(command[1..].try_into().unwrap())));
            }
            all.push(commands);
        }
        all
    };
    (at, thread::spawn(work))
}

#[test]
fn a_dongle_is_set_as_asked_and_tells_its_rate() {
    let (at, server) = server(1);
    let address =
        format!("rtl_tcp://{at}?frequency=433.92e6&rate=1.024e6&gain=29.7&ppm=-3&bias_tee=on&direct_sampling=q");
    let mut source = openers().reader(&address.parse().unwrap()).unwrap();
    assert_eq!((source.format.as_deref(), source.rate), (Some("cu8"), Some(1.024e6)));
    let mut bytes = Vec::new();
    let gone = source.reader.read_to_end(&mut bytes).unwrap_err().to_string();
    assert!(gone.contains(&at) && gone.contains("the server has gone away"), "{gone}");
    assert!(!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0));
    drop(source);
    let commands = &server.join().unwrap()[0];
    let expected = [(2, 1_024_000), (9, 2), (5, u32::MAX - 2), (1, 433_920_000), (3, 1), (4, 297), (14, 1)];
    assert_eq!(commands[..], expected);
}

#[test]
fn a_server_that_goes_away_is_waited_for_when_asked() {
    let (at, server) = server(2);
    let address = format!("rtl_tcp://{at}?frequency=1e8&rate=1e6&reconnect=on");
    let mut source = openers().reader(&address.parse().unwrap()).unwrap();
    let gaps = source.gaps.take().unwrap();
    let mut bytes = [0; 2];
    while bytes != [1, 1] {
        // I and Q stay apart where the stream is cut.
        source.reader.read_exact(&mut bytes).unwrap();
        assert!(matches!(bytes, [0, 0 | 128] | [1, 1]), "{bytes:?}");
    }
    // The connection is thrown away for 150 ms, as after any setting, and nothing came before either.
    let missing = gaps.total();
    assert!(
        (2 * 150_000..2 * 60_000_000).contains(&missing) && missing.is_multiple_of(2) && gaps.take() == missing,
        "{missing}"
    );
    drop(source);
    assert_eq!(server.join().unwrap().len(), 2);
}

#[test]
fn what_is_no_server_or_no_setting_is_refused() {
    let refused = |text: &str| openers().reader(&text.parse().unwrap()).err().unwrap().to_string();
    assert!(refused("rtl_tcp://h?rate=1e6").contains("its frequency is needed"));
    assert!(refused("rtl_tcp://h?frequency=1e6").contains("its rate is needed"));
    assert!(refused("rtl_tcp://h?frequency=1e6&rate=5e5").contains("900001 to 3200000"));
    assert!(refused("rtl_tcp://h?frequency=5e9&rate=1e6").contains("4294967295"));
    assert!(refused("rtl_tcp://h?frequency=1e6&rate=1e6&gain=loud").contains("give auto, or dB"));
    assert!(refused("rtl_tcp://h?frequency=1e6&rate=1e6&bias_tee=1").contains("give on or off"));
    assert!(refused("rtl_tcp://h?frequency=1e6&rate=1e6&freq=1").contains("no option is called `freq`"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("rtl_tcp://{}?frequency=1e6&rate=1e6", listener.local_addr().unwrap());
    let other = thread::spawn(move || listener.accept().unwrap().0.write_all(b"SSH-2.0-OpenSSH").unwrap());
    assert!(refused(&address).contains("no rtl_tcp server"));
    other.join().unwrap();
}
