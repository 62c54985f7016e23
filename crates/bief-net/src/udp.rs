//! Bytes in datagrams.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use bief::kinds::{Address, AddressOptions, ByteSource, Opener};
use bief::{Error, Result};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::sockets::{failed, sample_format, socket};
use crate::ts::{DATAGRAM, TsOpener};

/// Bytes of a datagram at most.
const MOST: usize = 65_507;
/// What the system keeps for a receiver that is late, and for a sender.
const RECEIVE_BUFFER: usize = 4 << 20;
const SEND_BUFFER: usize = 1 << 20;

/// Opens `udp://`.
pub(crate) struct Udp;

impl Opener for Udp {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        let mut options = AddressOptions::of(address)?;
        let mut source = ByteSource::new(io::empty());
        options.samples(&mut source)?;
        let interface = interface(&mut options)?;
        options.end(false)?;
        let socket = listen(socket(address, None)?, interface).map_err(|error| failed(address, &error))?;
        source.reader = Box::new(Datagrams { socket, datagram: vec![0; MOST].into(), read: 0, len: 0 });
        Ok(source)
    }

    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        if is_paced(address)? {
            return TsOpener.writer(address);
        }
        let (way, size) = raw(address)?;
        Ok(Box::new(Sender { way: way.open(address)?, size, waiting: Vec::with_capacity(size) }))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        if is_paced(address)? { TsOpener.check_writer(address) } else { raw(address).map(drop) }
    }
}

/// Whether it is a transport stream that is sent there.
fn is_paced(address: &Address) -> Result<bool> {
    Ok(AddressOptions::of(address)?.text("pace").is_some())
}

/// Where bytes go that are anything, and how many of them at once.
fn raw(address: &Address) -> Result<(Way, usize)> {
    let mut options = AddressOptions::of(address)?;
    let size = options.value("size", "1 to 65507 bytes", |size| (1..=MOST).contains(size))?.unwrap_or(DATAGRAM);
    let way = Way::of(address, &mut options)?;
    options.text("pace");
    sample_format(address, &mut options)?;
    options.end(false)?;
    Ok((way, size))
}

/// Where datagrams go.
pub(crate) struct Way {
    to: SocketAddr,
    ttl: u32,
    interface: Option<Ipv4Addr>,
}

impl Way {
    /// # Errors
    /// An address that names no host.
    pub(crate) fn of(address: &Address, options: &mut AddressOptions<'_>) -> Result<Self> {
        if address.host().is_none_or(|host| host == "*") {
            return Err(Error::new(format!("{address}: names nobody to send to: write HOST:PORT")));
        }
        let ttl = options.value("ttl", "1 to 255", |ttl| (1..=255).contains(ttl))?;
        let (to, interface) = (socket(address, None)?, interface(options)?);
        if interface.is_some() && !(to.ip().is_multicast() && to.is_ipv4()) {
            return Err(Error::new(format!("{address}: `interface` is for a multicast group of IPv4: leave it out")));
        }
        // Beyond the own network only who asks for it.
        Ok(Self { to, ttl: ttl.unwrap_or(if to.ip().is_multicast() { 1 } else { 64 }), interface })
    }

    /// # Errors
    /// What the system says.
    pub(crate) fn open(self, address: &Address) -> Result<Link> {
        self.link().map_err(|error| failed(address, &error))
    }

    fn link(self) -> io::Result<Link> {
        let Self { to, ttl, interface } = self;
        let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
        let socket = UdpSocket::bind(any)?;
        let raw = SockRef::from(&socket);
        // The system may give less.
        let _ = raw.set_send_buffer_size(SEND_BUFFER);
        match (to.ip().is_multicast(), to.is_ipv4()) {
            (true, true) => raw.set_multicast_ttl_v4(ttl)?,
            (true, false) => raw.set_multicast_hops_v6(ttl)?,
            (false, true) => raw.set_ttl_v4(ttl)?,
            (false, false) => raw.set_unicast_hops_v6(ttl)?,
        }
        if let Some(interface) = interface {
            raw.set_multicast_if_v4(&interface)?;
        }
        Ok(Link { socket, to })
    }
}

/// A socket to send on. It is not connected: that nobody listens is no error.
pub(crate) struct Link {
    socket: UdpSocket,
    to: SocketAddr,
}

impl Link {
    pub(crate) fn send(&self, datagram: &[u8]) -> io::Result<()> {
        loop {
            match self.socket.send_to(datagram, self.to) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map(drop),
            }
        }
    }
}

/// The address of an interface, for multicast.
fn interface(options: &mut AddressOptions<'_>) -> Result<Option<Ipv4Addr>> {
    options.value("interface", "the IPv4 address of an interface", |_| true)
}

/// Binds a socket, and joins a multicast group.
fn listen(at: SocketAddr, interface: Option<Ipv4Addr>) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    if at.ip().is_multicast() {
        socket.set_reuse_address(true)?;
    }
    socket.bind(&at.into())?;
    match at.ip() {
        IpAddr::V4(group) if group.is_multicast() => {
            socket.join_multicast_v4(&group, &interface.unwrap_or(Ipv4Addr::UNSPECIFIED))?;
        }
        IpAddr::V6(group) if group.is_multicast() => socket.join_multicast_v6(&group, 0)?,
        _ => {}
    }
    Ok(socket.into())
}

/// The bytes of all datagrams that come. They have no numbers: what is lost on the way is not noticed here.
struct Datagrams {
    socket: UdpSocket,
    datagram: Box<[u8]>,
    /// The part of it that was read, and how much there is.
    read: usize,
    len: usize,
}

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An empty datagram is no end.
        while self.read == self.len && !buffer.is_empty() {
            (self.len, self.read) = (self.socket.recv(&mut self.datagram)?, 0);
        }
        let bytes = buffer.len().min(self.len - self.read);
        buffer[..bytes].copy_from_slice(&self.datagram[self.read..self.read + bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}

/// Sends bytes, so many in each datagram.
struct Sender {
    way: Link,
    size: usize,
    waiting: Vec<u8>,
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let some = bytes.len().min(self.size - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..some]);
        if self.waiting.len() == self.size {
            self.flush()?;
        }
        Ok(some)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.way.send(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
