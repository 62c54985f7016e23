//! Bytes over TCP: to and from a server, or the first client that comes.

use std::io::{BufWriter, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bief::Result;
use bief::kinds::{Address, AddressOptions, ByteSource, Opener};

use crate::sockets::{failed, sample_format, socket};

/// How long a server may take to answer.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes that wait for a call of the system.
const BUFFER: usize = 64 << 10;

/// Opens `tcp://`.
pub(crate) struct Tcp;

/// Connects to a server.
pub(crate) fn connect(address: &Address, usual: Option<u16>) -> Result<TcpStream> {
    let server = socket(address, usual)?;
    let stream = TcpStream::connect_timeout(&server, CONNECT).map_err(|error| failed(address, &error))?;
    stream.set_nodelay(true).map_err(|error| failed(address, &error))?;
    Ok(stream)
}

/// The other end: a server that has a host, or else the first client that comes.
fn open(address: &Address) -> Result<TcpStream> {
    if address.host().is_some_and(|host| host != "*") {
        return connect(address, None);
    }
    // The listener closes behind the first one: a second client is refused by the system, and does not wait in vain.
    let listener = TcpListener::bind(socket(address, None)?).map_err(|error| failed(address, &error))?;
    let (stream, _) = listener.accept().map_err(|error| failed(address, &error))?;
    Ok(stream)
}

impl Opener for Tcp {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        let mut options = AddressOptions::of(address)?;
        let mut source = ByteSource::new(std::io::empty());
        options.samples(&mut source)?;
        options.end(false)?;
        source.reader = Box::new(open(address)?);
        Ok(source)
    }

    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        self.check_writer(address)?;
        Ok(Box::new(BufWriter::with_capacity(BUFFER, open(address)?)))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        let mut options = AddressOptions::of(address)?;
        sample_format(address, &mut options)?;
        options.end(false)?;
        socket(address, None).map(drop)
    }
}
