//! Samples and packets over a network, in Rust alone; players and radios that others wrote are tried by `.ci/deep net`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::{Folder, packets, sample};

/// What is received of the recording that ships, as a file.
fn expected(folder: &Folder) -> Vec<u8> {
    folder.succeed(["rx", "-o", "expected.ts", "--cores", "1"]);
    folder.read("expected.ts")
}

/// A player of datagrams, and its address.
fn player() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let at = socket.local_addr().unwrap().to_string();
    (socket, at)
}

#[test]
#[ignore = "long: part of .ci/run"]
fn samples_come_over_tcp_and_packets_go_over_udp_and_tcp() {
    let folder = Folder::new("network");
    let expected = expected(&folder);
    let radio = TcpListener::bind("127.0.0.1:0").unwrap();
    let input = format!("tcp://{}?format=ci8", radio.local_addr().unwrap());
    let server = thread::spawn(move || {
        for _ in 0..2 {
            radio.accept().unwrap().0.write_all(&sample()).unwrap();
        }
    });
    let (player, at) = player();
    let listener = thread::spawn(move || {
        let (mut got, mut datagram) = (Vec::new(), [0; 2000]);
        loop {
            let bytes = player.recv(&mut datagram).unwrap();
            got.extend_from_slice(&datagram[..bytes]);
            if bytes != 7 * 188 || got.len() == 385 * 188 {
                return got;
            }
        }
    });
    let output = format!("udp://{at}");
    let told = folder.succeed(["rx", &input, "--sps", "2", "-o", &output, "--cores", "1"]);
    assert!(told.contains("385 packets") && told.contains(&output), "{told}");
    assert!(listener.join().unwrap() == expected);

    let taker = TcpListener::bind("127.0.0.1:0").unwrap();
    let output = format!("tcp://{}", taker.local_addr().unwrap());
    let taken = thread::spawn(move || {
        let mut taken = Vec::new();
        taker.accept().unwrap().0.read_to_end(&mut taken).unwrap();
        taken
    });
    folder.succeed(["rx", &input, "--sps", "2", "-o", &output, "--cores", "1"]);
    assert!(taken.join().unwrap() == expected);
    server.join().unwrap();
}

#[test]
#[ignore = "long: part of .ci/run"]
fn samples_go_over_tcp_and_zmq_as_into_a_file() {
    let folder = Folder::new("sent");
    folder.write("in.ts", packets(60));
    let tx = ["tx", "in.ts", "--modcod", "qpsk-8/9", "--frame", "short"];
    folder.succeed([&tx[..], &["-o", "file.sigmf-meta", "--format", "cf32"]].concat());
    let taker = TcpListener::bind("127.0.0.1:0").unwrap();
    let output = format!("tcp://{}?format=cf32", taker.local_addr().unwrap());
    let taken = thread::spawn(move || {
        let mut taken = Vec::new();
        taker.accept().unwrap().0.read_to_end(&mut taken).unwrap();
        taken
    });
    folder.succeed([&tx[..], &["-o", &output]].concat());
    assert!(taken.join().unwrap() == folder.read("file.sigmf-data"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut sender = folder.command();
    let output = format!("zmq+push://:{port}?format=cf32");
    let mut sender = sender.args(tx).args(["-o", &output]).stdout(Stdio::null()).spawn().unwrap();
    let input = format!("zmq+pull://127.0.0.1:{port}?format=cf32");
    folder.succeed(["rx", &input, "--sps", "2", "-o", "zmq.ts", "--cores", "1"]);
    folder.succeed(["rx", "file.sigmf-meta", "-o", "file.ts", "--cores", "1"]);
    assert!(sender.wait().unwrap().success() && folder.read("zmq.ts") == folder.read("file.ts"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn players_over_http_hear_what_a_live_input_gives() {
    let folder = Folder::new("http");
    let expected = expected(&folder);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut rx = folder
        .command()
        .args(["rx", "-", "--format", "ci8", "--sps", "2", "--cores", "1", "--json", "told.json"])
        .args(["-o", &format!("http://:{port}/ts")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut player = (0..1000)
        .find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpStream::connect(("127.0.0.1", port)).ok()
        })
        .unwrap();
    write!(player, "GET /ts HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n").unwrap();
    let mut head = [0; 15];
    player.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    thread::sleep(Duration::from_millis(50));
    rx.stdin.take().unwrap().write_all(&sample()).unwrap();
    let mut answer = Vec::new();
    player.read_to_end(&mut answer).unwrap();
    assert!(rx.wait().unwrap().success());
    let begin = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    assert!(answer[begin..] == expected, "{} bytes", answer.len() - begin);
    let told: serde_json::Value = serde_json::from_slice(&folder.read("told.json")).unwrap();
    assert_eq!((&told["sent"]["packets"], &told["sent"]["players"]), (&385.into(), &1.into()));
}

#[test]
fn addresses_that_cannot_be_are_refused_before_anything_is_received() {
    let folder = Folder::new("refused");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("http://:{}/ts", taken.local_addr().unwrap().port());
    folder.write("in.ts", packets(10));
    let tx = ["tx", "in.ts", "--modcod", "qpsk-1/2", "--frame", "short"];
    let soapy = !folder.fail(["radio", "driver=none"]).contains("install SoapySDR");
    for (arguments, reason) in [
        (vec!["rx", "-o", "udp://:5004"], "names nobody to send to"),
        (vec!["rx", "-o", "upd://127.0.0.1:5004"], "nothing opens `upd:`"),
        (vec!["rx", "-o", "rtp://127.0.0.1:5004?tll=3"], "no option is called `tll`"),
        (vec!["rx", "-o", &taken], "in use"),
        (vec!["rx", "tcp://127.0.0.1:1?format=cu8", "-o", "x.ts"], "refused"),
        (vec!["rx", "rtl_tcp://127.0.0.1:1", "-o", "x.ts"], "its frequency is needed"),
        (vec!["rx", "rtp://127.0.0.1:1", "-o", "x.ts"], "nothing can be read there"),
        (vec!["rx", "zmq+push://127.0.0.1:1", "-o", "x.ts"], "zmq+pull or zmq+sub do"),
        (vec!["rx", "-o", "zmq+pub://:1?tags=on"], "?format=cf32&tags=on"),
        (vec!["rx", "soapy:driver=none", "-o", "x.ts"], "its frequency is needed"),
        (
            vec!["rx", "--radio", "none", "--frequency", "1e8", "--sample-rate", "1e6", "-o", "x.ts"],
            "write driver=NAME",
        ),
        (vec!["rx", "--radio", "driver=none", "--frequency", "1e8", "-o", "x.ts"], "needs --sample-rate"),
        (
            [
                "rx",
                "--radio",
                "rtl_tcp://127.0.0.1:1",
                "--frequency",
                "1e8",
                "--sample-rate",
                "1e6",
                "-o",
                "x.ts",
                "--antenna",
                "A",
            ]
            .into(),
            "no option is called `antenna`",
        ),
        (
            [
                &tx[..],
                &["--symbol-rate", "1e6", "--radio", "rtl_tcp://127.0.0.1:1", "--frequency", "1e8", "--gain", "3"],
            ]
            .concat(),
            "only receives",
        ),
        ([&tx[..], &["--radio", "driver=none", "--frequency", "1e8", "--gain", "3"]].concat(), "needs --symbol-rate"),
        ([&tx[..], &["-o", "tcp://127.0.0.1:1?format=cu8", "--format", "ci8"]].concat(), "it gets ci8"),
        (vec!["nbfm", "-o", "udp://127.0.0.1:1?format=cf32"], "choose s16 or f32"),
        (vec!["radio", "serial=1"], if soapy { "names no driver" } else { "install SoapySDR" }),
    ] {
        let message = folder.fail(&arguments);
        assert!(message.contains(reason), "{arguments:?}: {message}");
        assert!(!folder.path("x.ts").exists());
    }
}
