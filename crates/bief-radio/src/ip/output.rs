//! Where IP packets go.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use bief::kinds::{Address, Opener};
use bief::{Error, Result};
use bief_ip::pcap::PcapWriter;
use bief_ip::tun::Tun;

/// Where IP packets go: a pcap file, or a writer that takes a packet with each call, such as a TUN device.
///
/// ```
/// use bief_radio::ip::IpOutput;
/// let _file = IpOutput::pcap(std::io::sink());
/// ```
pub struct IpOutput {
    to: To,
    is_live: bool,
    /// Whether there is something that was not flushed.
    waits: bool,
}

enum To {
    /// A file of which not even the header is written.
    New(Option<Box<dyn Write + Send>>),
    Pcap(PcapWriter<Box<dyn Write + Send>>),
    Packets(Box<dyn Write + Send>),
}

impl IpOutput {
    /// A pcap file (link type 101), without times: give a writer that buffers.
    pub fn pcap(writer: impl Write + Send + 'static) -> Self {
        Self { to: To::New(Some(Box::new(writer))), is_live: false, waits: false }
    }

    /// What takes a packet with each call.
    pub fn packets(writer: impl Write + Send + 'static) -> Self {
        Self { to: To::Packets(Box::new(writer)), is_live: false, waits: false }
    }

    /// What an address opens: of the scheme `tun` packets, else a pcap file.
    pub fn at(address: &Address, writer: impl Write + Send + 'static) -> Self {
        if address.scheme() == Some(TunOpener::SCHEME) { Self::packets(writer) } else { Self::pcap(writer) }
    }

    /// Packets that come now: a file tells when, and has those of each frame at once.
    #[must_use]
    pub fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    pub(super) fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        self.waits = true;
        let time =
            self.is_live.then(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO));
        match self.begun()? {
            To::Pcap(file) => file.write(packet, time),
            To::Packets(writer) => writer.write_all(packet),
            To::New(_) => Ok(()),
        }
    }

    /// The packets of a frame are written.
    pub(super) fn end_frame(&mut self) -> io::Result<()> {
        if self.is_live && std::mem::take(&mut self.waits) { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.begun()? {
            To::Pcap(file) => file.flush(),
            To::Packets(writer) => writer.flush(),
            To::New(_) => Ok(()),
        }
    }

    /// The same, a file with its header.
    fn begun(&mut self) -> io::Result<&mut To> {
        if let To::New(writer) = &mut self.to
            && let Some(writer) = writer.take()
        {
            self.to = To::Pcap(PcapWriter::new(writer)?);
        }
        Ok(&mut self.to)
    }
}

/// Opens `tun:NAME`: a TUN device, to which each write is an IP packet. [`register`](crate::register) adds it.
#[derive(Debug, Clone, Copy)]
pub struct TunOpener;

impl TunOpener {
    /// The scheme of its addresses.
    pub const SCHEME: &str = "tun";
}

impl Opener for TunOpener {
    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        Ok(Box::new(Tun::open(address.rest()).map_err(|error| Error::new(error.to_string()))?))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        Tun::check_name(address.rest()).map_err(|error| Error::new(format!("{address}: {error}")))
    }
}
