//! How fast samples come over ZMQ, beside plain TCP and a copy in memory, on this machine.
//!
//!     cargo run --release -p bief-net --example zmq_rate                              both ends here
//!     cargo run --release -p bief-net --example zmq_rate zmq+pull://127.0.0.1:5555    what another program sends

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use bief_net::{ZmqIn, ZmqOut};

/// Bytes of a sample, of a read, and of all.
const SAMPLE: f64 = 8.0;
const READ: usize = 256 << 10;
const ALL: usize = 4 << 30;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(address) = std::env::args().nth(1) {
        let from = ZmqIn::open(&address.parse()?)?;
        told(&address, || taken(from));
        return Ok(());
    }
    let (from, mut to) = (vec![1_u8; READ], vec![0_u8; READ]);
    told("copied in memory", || {
        for _ in 0..ALL / READ {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
        }
        ALL
    });
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (taker, _) = listener.accept()?;
    let sent = std::thread::spawn(move || send(sender));
    told("plain TCP", || taken(taker));
    sent.join().expect("the sender ends").map_err(|error| error.to_string())?;
    let sender = ZmqOut::open(&"zmq+push://:0?format=cf32".parse()?)?;
    let address = format!("zmq+pull://127.0.0.1:{}?format=cf32", sender.port()).parse()?;
    let sent = std::thread::spawn(move || send(sender));
    let from = ZmqIn::open(&address)?;
    told("PUSH to PULL", || taken(from));
    Ok(sent.join().expect("the sender ends").map_err(|error| error.to_string())?)
}

fn send(mut to: impl Write) -> std::io::Result<()> {
    let samples = vec![1_u8; READ];
    (0..ALL / READ).try_for_each(|_| to.write_all(&samples))?;
    to.flush()
}

/// Reads to the end, or as much as there should be; how much came.
fn taken(mut from: impl Read) -> usize {
    let (mut bytes, mut buffer) = (0, vec![0; READ]);
    while let Ok(some @ 1..) = from.read(&mut buffer) {
        bytes += some;
        if bytes >= ALL {
            break;
        }
    }
    bytes
}

fn told(name: &str, work: impl FnOnce() -> usize) {
    let start = Instant::now();
    let bytes = work();
    let rate = bytes as f64 / SAMPLE / start.elapsed().as_secs_f64() / 1e6;
    println!("{name}: {rate:.0} million complex samples a second");
}
