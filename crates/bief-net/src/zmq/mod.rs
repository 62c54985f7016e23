//! Samples over ZMQ, as GNU Radio's blocks send and take them.
//!
//! ZMTP 3.0 and what GNU Radio puts into it: a message is whole samples, any number of them; before them may lie a frame with a key, and
//! a header that tells their place in the stream, with tags.

mod input;
mod output;
mod tags;
mod wire;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bief::kinds::{Address, AddressOptions, ByteSource, Opener};
use bief::{Error, Result};

pub use self::input::{TagHandle, ZmqIn};
pub use self::output::{ZmqCounts, ZmqHandle, ZmqOut};
pub use self::tags::{Tag, TagValue};
use self::wire::Kind;
use crate::sockets::{failed, sample_format, socket};

/// How long the other end may take to be there, and to greet.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries.
const AGAIN: Duration = Duration::from_millis(200);

/// Opens `zmq+push://`, `zmq+pull://`, `zmq+pub://` and `zmq+sub://`.
pub(crate) struct Zmq;

impl Opener for Zmq {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        ZmqIn::open(address).map(ZmqIn::source)
    }

    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        Ok(Box::new(ZmqOut::open(address)?))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        Asked::of(address, false).map(drop)
    }
}

/// Reads what a socket might send, frames, keys, headers and tags; how many bytes of samples were in it.
#[doc(hidden)]
pub fn read_for_fuzzing(bytes: &[u8], has_tags: bool, key: Option<&str>) -> usize {
    let from = io::Cursor::new(bytes.to_vec());
    let mut reader = input::Messages::new(Box::new(from), has_tags, 8, key.map(str::to_owned));
    let (mut total, mut some) = (0, [0; 64]);
    loop {
        match reader.read(&mut some) {
            Ok(0) => return total,
            Ok(bytes) => total += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return total,
        }
    }
}

/// What an address asks for.
#[derive(Debug, Clone)]
struct Asked {
    address: Address,
    kind: Kind,
    has_tags: bool,
    key: Option<String>,
    /// What the samples are, and the bytes of each; 1 where nobody says.
    format: Option<String>,
    rate: Option<f64>,
    item: usize,
    reconnect: bool,
}

impl Asked {
    fn of(address: &Address, is_input: bool) -> Result<Self> {
        let told = |what: String| Error::new(format!("{address}: {what}"));
        let kind = address.scheme().and_then(Kind::of).ok_or_else(|| told("no kind of ZMQ socket".to_owned()))?;
        if kind.is_input() != is_input {
            return Err(told(match is_input {
                true => format!("a {} socket gives nothing to read: zmq+pull or zmq+sub do", kind.name()),
                false => format!("a {} socket takes nothing: zmq+push or zmq+pub do", kind.name()),
            }));
        }
        socket(address, None)?;
        let mut options = AddressOptions::of(address)?;
        let (format, item) = sample_format(address, &mut options)?.unzip();
        let rate = options.value("rate", "samples per second", |rate: &f64| rate.is_finite() && *rate > 0.0)?;
        let asked = Self {
            address: address.clone(),
            kind,
            has_tags: options.is_on("tags")?,
            key: options.text("key").map(str::to_owned),
            item: item.unwrap_or(1),
            format: format.map(str::to_owned),
            rate,
            reconnect: options.is_on("reconnect")?,
        };
        if asked.has_tags && item.is_none() {
            return Err(told("tags count samples: say what they are, as in ?format=cf32&tags=on".to_owned()));
        }
        if asked.key.as_ref().is_some_and(|key| key.is_empty() || key.len() > 255) {
            return Err(told("a key has 1 to 255 bytes".to_owned()));
        }
        options.end(false)?;
        Ok(asked)
    }

    fn is_listening(&self) -> bool {
        self.address.host().is_none_or(|host| host == "*")
    }

    fn listen(&self) -> Result<TcpListener> {
        TcpListener::bind(socket(&self.address, None)?).map_err(|error| failed(&self.address, &error))
    }

    /// The other end, greeted: who listens at the address, once it is there, or the first that comes to `listener`.
    fn meet(&self, listener: Option<&TcpListener>) -> Result<TcpStream> {
        let since = Instant::now();
        loop {
            let stream = match listener {
                Some(listener) => listener.accept().map(|(stream, _)| stream),
                None => socket(&self.address, None)
                    .and_then(|at| {
                        TcpStream::connect_timeout(&at, PATIENCE).map_err(|error| failed(&self.address, &error))
                    })
                    .map_err(io::Error::other),
            };
            match stream.and_then(|stream| greeted(self.kind, stream)) {
                Ok(stream) => return Ok(stream),
                // Who does not speak ZMQ is sent away; nobody else has to come for it.
                Err(_) if listener.is_some() => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(failed(&self.address, &error)),
                Err(error) if since.elapsed() > PATIENCE && !self.reconnect => {
                    return Err(Error::new(error.to_string()));
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
    }
}

/// Greets, within bounded time; afterwards the other end may be silent.
fn greeted(kind: Kind, mut stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    wire::shake_hands(kind, &mut stream)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    Ok(stream)
}
