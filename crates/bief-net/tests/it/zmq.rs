//! ZMQ between sockets of this crate, and with GNU Radio where it is installed.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use bief_net::{Tag, TagValue, ZmqIn, ZmqOut};

use crate::bytes::{client, free_port, openers};

fn opened_in(address: String) -> ZmqIn {
    ZmqIn::open(&address.parse().unwrap()).unwrap()
}

fn opened_out(address: String) -> ZmqOut {
    ZmqOut::open(&address.parse().unwrap()).unwrap()
}

/// Samples that count.
fn samples(count: u32) -> Vec<u8> {
    (0..count).flat_map(|k| [k as f32, -(k as f32)]).flat_map(f32::to_le_bytes).collect()
}

/// Writes a message, again and again, until the taker has read of one: a subscriber that has come has not yet asked. Tells how many bytes.
fn until_taken(out: &mut ZmqOut, has_read: &Receiver<()>) -> u64 {
    for written in 1.. {
        out.write_all(&[1; 8]).unwrap();
        out.flush().unwrap();
        if has_read.recv_timeout(Duration::from_millis(5)).is_ok() {
            return 8 * written;
        }
    }
    unreachable!("the test is ended before")
}

#[test]
fn either_end_may_listen() {
    let sent = samples(100_000);
    for (input, output) in [("zmq+pull", "zmq+push"), ("zmq+sub", "zmq+pub")] {
        for input_listens in [true, false] {
            let port = free_port();
            let (there, here) = (
                format!("://127.0.0.1:{port}?key=k&format=cf32&tags=on"),
                format!("://:{port}?key=k&format=cf32&tags=on"),
            );
            let (at_input, at_output) = if input_listens { (here, there) } else { (there, here) };
            let address = format!("{input}{at_input}");
            let (reads, has_read) = channel();
            let taken = thread::spawn(move || {
                let (mut bytes, mut source) = (vec![0; 8], opened_in(address).source());
                source.reader.read_exact(&mut bytes).unwrap();
                reads.send(()).unwrap();
                source.reader.read_to_end(&mut bytes).unwrap();
                assert_eq!(source.format.as_deref(), Some("cf32"));
                bytes
            });
            let mut out = opened_out(format!("{output}{at_output}"));
            let before = until_taken(&mut out, &has_read);
            sent.chunks(100_001).try_for_each(|part| out.write_all(part)).unwrap();
            out.flush().unwrap();
            let counts = out.handle().counts();
            drop(out);
            let bytes = taken.join().unwrap();
            assert!(bytes.ends_with(&sent) && bytes.len() as u64 <= before + 800_000, "{input} {input_listens}");
            assert_eq!((counts.bytes, counts.takers, counts.dropped), (before + 800_000, 1, 0));
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_slow_taker_holds_a_push_back() {
    let mut out = opened_out("zmq+push://:0".to_owned());
    let (port, handle) = (out.port(), out.handle());
    let total = 64 << 20;
    let writer = thread::spawn(move || {
        let part = vec![7; 1 << 20];
        (0..total >> 20).try_for_each(|_| out.write_all(&part)).unwrap();
        out.flush().unwrap();
    });
    let mut taker = opened_in(format!("zmq+pull://127.0.0.1:{port}"));
    taker.read_exact(&mut [0; 8]).unwrap();
    thread::sleep(Duration::from_millis(300));
    let sent = handle.counts().bytes;
    assert!(sent < total / 2, "only the system's buffers are full: {sent}");
    let mut rest = Vec::new();
    taker.read_to_end(&mut rest).unwrap();
    writer.join().unwrap();
    assert_eq!((rest.len() as u64 + 8, handle.counts().bytes), (total, total));
}

#[test]
fn a_publisher_counts_what_it_drops() {
    let mut out = opened_out("zmq+pub://:0?format=cf32&tags=on".to_owned());
    let (port, handle) = (out.port(), out.handle());
    let (reads, has_read) = channel();
    let (go_on, goes_on) = channel();
    let reader = thread::spawn(move || {
        let mut taker = opened_in(format!("zmq+sub://127.0.0.1:{port}?format=cf32&tags=on")).source();
        let mut all = vec![0; 8];
        taker.reader.read_exact(&mut all).unwrap();
        reads.send(()).unwrap();
        goes_on.recv().unwrap();
        taker.reader.read_to_end(&mut all).unwrap();
        (all.len() as u64, taker.gaps.unwrap().total())
    });
    let before = until_taken(&mut out, &has_read);
    let part = vec![7; 1 << 20];
    for _ in 0..100 {
        out.write_all(&part).unwrap();
    }
    out.flush().unwrap();
    go_on.send(()).unwrap();
    drop(out);
    let (came, missing) = reader.join().unwrap();
    assert!(missing > 0);
    // What was sent before it had asked is not missing.
    let sent = 100 << 20;
    assert!((sent + 8..=sent + before).contains(&(came + missing)), "{came} came, {missing} are missing");
    assert!(missing.abs_diff(handle.counts().dropped * (64 << 10)) <= before);
}

#[test]
fn what_is_no_zmq_is_refused() {
    let reader = |text: &str| openers().reader(&text.parse().unwrap()).err().unwrap().to_string();
    let checked = |text: &str| openers().check_writer(&text.parse().unwrap()).err().unwrap().to_string();
    assert!(reader("zmq+push://127.0.0.1:1").contains("zmq+pull or zmq+sub do"));
    assert!(checked("zmq+sub://127.0.0.1:1").contains("zmq+push or zmq+pub do"));
    assert!(checked("zmq+pub://:1?tags=on").contains("?format=cf32&tags=on"));
    assert!(checked("zmq+pub://:1?format=c64").contains("give one of cf32"));
    assert!(checked("zmq+pub://:1?hwm=3").contains("no option is called `hwm`"));
    assert!(checked("zmq+pub://127.0.0.1").contains("names no port"));
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("zmq+pull://{}", other.local_addr().unwrap());
    let server = thread::spawn(move || other.accept().unwrap().0.write_all(b"SSH-2.0-OpenSSH_9.2\n").unwrap());
    assert!(reader(&address).contains("no ZMQ socket"));
    server.join().unwrap();
    // Who listens lets nobody else in, and waits on.
    let port = free_port();
    let taken = thread::spawn(move || {
        let mut bytes = Vec::new();
        opened_in(format!("zmq+pull://:{port}")).read_to_end(&mut bytes).unwrap();
        bytes
    });
    let mut wrong = client(port);
    wrong.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let _ = wrong.read(&mut [0; 64]);
    drop(wrong);
    let mut out = opened_out(format!("zmq+push://127.0.0.1:{port}"));
    out.write_all(b"bytes").unwrap();
    drop(out);
    assert_eq!(taken.join().unwrap(), b"bytes");
}

/// GNU Radio's end, where both it and the tool are.
fn gnu_radio(arguments: &[&str]) -> Option<Child> {
    let tool: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../../shared/tools/interop/gr_zmq.py"].iter().collect();
    let has_it = Command::new("/usr/bin/python3").args(["-c", "import gnuradio.zeromq"]).stderr(Stdio::null()).status();
    if !tool.exists() || !has_it.is_ok_and(|status| status.success()) {
        eprintln!("left out: no GNU Radio, or no {}", tool.display());
        return None;
    }
    let mut command = Command::new("/usr/bin/python3");
    Some(command.arg(tool).args(arguments).stdout(Stdio::piped()).spawn().unwrap())
}

fn file(name: &str) -> String {
    std::env::temp_dir().join(format!("bief-{name}-{}.cf32", std::process::id())).display().to_string()
}

fn tags_of(output: &Output) -> String {
    assert!(output.status.success());
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn gnu_radio_sends() {
    let (path, sent) = (file("gr-sends"), samples(1_000_000));
    std::fs::write(&path, &sent).unwrap();
    let port = free_port();
    let address = format!("tcp://127.0.0.1:{port}");
    let arguments = ["send", "push", &address, "--file", &path];
    let Some(mut radio) = gnu_radio(&arguments) else { return };
    let mut all = Vec::new();
    opened_in(format!("zmq+pull://127.0.0.1:{port}?reconnect=on"))
        .take(sent.len() as u64)
        .read_to_end(&mut all)
        .unwrap();
    assert!(radio.wait().unwrap().success() && all == sent);
    // Tags, from wherever the subscriber came to be.
    let port = free_port();
    let address = format!("tcp://127.0.0.1:{port}");
    let mut radio = gnu_radio(&["send", "pub", &address, "--file", &path, "--tags", "--rate", "400e3"]).unwrap();
    let input = opened_in(format!("zmq+sub://127.0.0.1:{port}?format=cf32&tags=on&reconnect=on"));
    let (tags, mut source) = (input.tags(), input.source());
    let mut sample = [0; 8];
    source.reader.read_exact(&mut sample).unwrap();
    let first = f32::from_le_bytes(sample[..4].try_into().unwrap()) as usize;
    let mut rest = vec![0; sent.len() - 8 * (first + 1)];
    source.reader.read_exact(&mut rest).unwrap();
    assert!(rest == sent[8 * (first + 1)..] && first < 900_000, "from {first} on");
    let expected = |offset: u64| Tag { offset, key: "rx_freq".to_owned(), value: TagValue::Float(1e6 + offset as f64) };
    let tags = tags.take();
    assert!(tags.len() >= (1_000_000 - first) / 10_000, "{} tags from {first} on", tags.len());
    assert!(tags.iter().all(|tag| *tag == expected(tag.offset)));
    assert!(radio.wait().unwrap().success());
    // Who does not know of tags is told.
    let port = free_port();
    let mut radio =
        gnu_radio(&["send", "push", &format!("tcp://127.0.0.1:{port}"), "--file", &path, "--tags"]).unwrap();
    let told = opened_in(format!("zmq+pull://127.0.0.1:{port}")).read(&mut sample).unwrap_err().to_string();
    assert!(told.contains("add tags=on"), "{told}");
    let _ = radio.kill();
    let _ = radio.wait();
    std::fs::remove_file(path).unwrap();
}

#[test]
#[ignore = "long: part of .ci/run"]
fn gnu_radio_takes() {
    let (path, sent) = (file("gr-takes"), samples(300_000));
    for (ours, theirs) in [("push", "pull"), ("pub", "sub")] {
        for has_tags in [false, true] {
            let option = if has_tags { "&tags=on" } else { "" };
            let mut out = opened_out(format!("zmq+{ours}://:0?format=cf32{option}"));
            let address = format!("tcp://127.0.0.1:{}", out.port());
            let mut arguments =
                vec!["take", theirs, &address, "--file", &path, "--samples", "300000", "--seconds", "60"];
            arguments.extend(has_tags.then_some("--tags"));
            let Some(radio) = gnu_radio(&arguments) else { return };
            while ours == "pub" && out.handle().counts().takers == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(if ours == "pub" { 500 } else { 0 }));
            for part in sent.chunks(100_000 * 8) {
                out.tag("rx_freq", TagValue::Float(1e8));
                out.tag("lost", TagValue::U64(5));
                out.write_all(part).unwrap();
            }
            out.flush().unwrap();
            let told = tags_of(&radio.wait_with_output().unwrap());
            assert!(std::fs::read(&path).unwrap() == sent, "{ours} {has_tags}: {told}");
            for (tag, offset) in [("rx_freq", 0), ("lost", 100_000), ("rx_freq", 200_000)] {
                let text = format!(r#"{{"offset": {offset}, "key": "{tag}""#);
                assert_eq!(told.contains(&text), has_tags, "{told}");
            }
        }
    }
    std::fs::remove_file(path).unwrap();
}

/// A flowgraph with keys, which the tool does not have.
const KEYS: &str = "
import sys, time
from gnuradio import blocks, gr, zeromq
top, size = gr.top_block(), gr.sizeof_gr_complex
if sys.argv[1] == 'send':
    top.connect(blocks.null_source(size), zeromq.pub_sink(size, 1, sys.argv[2], 100, False, -1, 'one'))
    top.start(); time.sleep(4); top.stop()
else:
    head, sink = blocks.head(size, 1000), blocks.vector_sink_c()
    top.connect(zeromq.sub_source(size, 1, sys.argv[2], 100, False, -1, 'one'), head, sink)
    top.start()
    while len(sink.data()) < 1000: time.sleep(0.05)
    top.stop(); print(sum(sink.data()))
";

#[test]
#[ignore = "long: part of .ci/run"]
fn gnu_radio_knows_keys() {
    if gnu_radio(&["--help"]).map(|mut radio| radio.wait()).is_none() {
        return;
    }
    let radio = |way: &str, port: u16| {
        let address = format!("tcp://127.0.0.1:{port}");
        Command::new("/usr/bin/python3").args(["-c", KEYS, way, &address]).stdout(Stdio::piped()).spawn().unwrap()
    };
    let port = free_port();
    let mut sender = radio("send", port);
    let mut some = vec![1; 80_000];
    opened_in(format!("zmq+sub://127.0.0.1:{port}?key=one&reconnect=on")).read_exact(&mut some).unwrap();
    assert!(some.iter().all(|byte| *byte == 0));
    sender.wait().unwrap();
    let mut out = opened_out("zmq+pub://:0?key=one&format=cf32".to_owned());
    let taker = radio("take", out.port());
    while out.handle().counts().takers == 0 {
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(500));
    out.write_all(&1_f32.to_le_bytes().repeat(2000)).unwrap();
    out.flush().unwrap();
    assert_eq!(tags_of(&taker.wait_with_output().unwrap()).trim(), "(1000+1000j)");
}
