//! The input streams of a transmitter.

use std::fmt::Display;
use std::io::Read;

use bief::{Error, Result};
use bief_dsp::dvbs2::{BBHEADER, DeleteNullPackets, PACKET, RollOff, SYNC_BYTE, Slicer};
use bief_ip::gse::Encapsulator;

use super::gse_feed::GseFeed;

/// Bytes read at a time, at least.
const CHUNK: usize = 64 * PACKET;

/// A stream to transmit: where its bytes come from, what they are, and which of several streams it is.
pub struct InputStream {
    reader: Box<dyn Read + Send>,
    content: Content,
    pub(super) isi: Option<u8>,
    /// How errors begin.
    name: String,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    Transport,
    WithoutNullPackets,
    Packets(u16),
    Continuous,
    Gse,
}

impl InputStream {
    fn new(reader: impl Read + Send + 'static, content: Content) -> Self {
        Self { reader: Box::new(reader), content, isi: None, name: String::new() }
    }

    /// A transport stream of packets of 188 bytes.
    pub fn transport(reader: impl Read + Send + 'static) -> Self {
        Self::new(reader, Content::Transport)
    }

    /// A transport stream whose null packets are not transmitted: a receiver puts them back.
    pub fn without_null_packets(reader: impl Read + Send + 'static) -> Self {
        Self::new(reader, Content::WithoutNullPackets)
    }

    /// Packets of so many bytes (2 to 8191), which all begin with the same byte.
    pub fn packets(reader: impl Read + Send + 'static, bytes: u16) -> Self {
        Self::new(reader, Content::Packets(bytes))
    }

    /// Any bytes.
    pub fn continuous(reader: impl Read + Send + 'static) -> Self {
        Self::new(reader, Content::Continuous)
    }

    /// The IP packets of a pcap file, encapsulated by GSE in a generic continuous stream.
    pub fn ip_packets(reader: impl Read + Send + 'static) -> Self {
        Self::new(reader, Content::Gse)
    }

    /// Makes it input stream `isi` of a carrier of several.
    #[must_use]
    pub fn of_isi(mut self, isi: u8) -> Self {
        self.isi = Some(isi);
        self
    }

    /// Gives it a name, which errors that are found in it begin with.
    #[must_use]
    pub fn named(mut self, name: impl Display) -> Self {
        self.name = format!("{name}: ");
        self
    }

    /// Begins to slice it.
    pub(super) fn feed(self, roll_off: RollOff, constant_coding: bool) -> Result<Feed> {
        let Self { reader, content, isi, name } = self;
        if let Content::Gse = content {
            let encapsulator = isi.into_iter().fold(Encapsulator::new(roll_off), Encapsulator::of_stream);
            let encapsulator = if constant_coding { encapsulator } else { encapsulator.variable_coding() };
            return Ok(Feed::Gse(Box::new(GseFeed::new(encapsulator, reader, name))));
        }
        let (unit, slicer) = match content {
            Content::Transport => (PACKET, Slicer::new(roll_off)),
            Content::WithoutNullPackets => (PACKET, Slicer::without_null_packets(roll_off)),
            Content::Continuous | Content::Gse => (1, Slicer::continuous(roll_off)),
            Content::Packets(bytes) => {
                let slicer = Slicer::packets(roll_off, bytes)
                    .ok_or_else(|| Error::new(format!("generic packets have 2 to 8191 bytes, not {bytes}")))?;
                (bytes.into(), slicer)
            }
        };
        let slicer = isi.into_iter().fold(slicer, Slicer::of_stream);
        let slicer = if constant_coding { slicer } else { slicer.variable_coding() };
        let delete = matches!(content, Content::WithoutNullPackets).then(DeleteNullPackets::default);
        Ok(Feed::Sliced(Box::new(Sliced {
            reader,
            name,
            content,
            unit,
            sync: 0,
            slicer,
            delete,
            read: Vec::new(),
            buffer: Vec::new(),
            sent: 0,
            packets: 0,
            state: State::Reading,
            fault: None,
        })))
    }
}

/// A stream that is becoming BBFRAMEs.
pub(super) enum Feed {
    Sliced(Box<Sliced>),
    Gse(Box<GseFeed>),
}

impl Feed {
    /// Whether everything is in frames.
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Sliced(feed) => feed.is_done(),
            Self::Gse(feed) => feed.is_done(),
        }
    }

    /// Why it ended early, told once.
    pub(super) fn fault(&mut self) -> Option<Error> {
        match self {
            Self::Sliced(feed) => feed.fault(),
            Self::Gse(feed) => feed.fault(),
        }
    }

    /// Makes the next BBFRAME; one without data when everything is sent.
    pub(super) fn fill(&mut self, frame: &mut [u8]) -> Result<()> {
        match self {
            Self::Sliced(feed) => feed.fill(frame),
            Self::Gse(feed) => {
                feed.fill(frame);
                Ok(())
            }
        }
    }
}

/// A stream that is cut anywhere.
pub(super) struct Sliced {
    reader: Box<dyn Read + Send>,
    name: String,
    content: Content,
    /// Bytes of a packet as it is read; 1 in a continuous stream.
    unit: usize,
    /// What generic packets begin with.
    sync: u8,
    slicer: Slicer,
    delete: Option<DeleteNullPackets>,
    /// What was read last.
    read: Vec<u8>,
    /// Whole packets to be sent, of which the bytes before `sent` are in frames already.
    buffer: Vec<u8>,
    sent: usize,
    /// Packets ever read.
    packets: u64,
    state: State,
    /// Why the stream ended early; told when everything before it is out.
    fault: Option<Error>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The reader has nothing more; the buffer may have.
    Draining,
    Done,
}

impl Sliced {
    fn is_done(&self) -> bool {
        self.state == State::Done
    }

    fn fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    fn fill(&mut self, frame: &mut [u8]) -> Result<()> {
        let room = frame.len() - BBHEADER;
        self.refill(room);
        let rest = &self.buffer[self.sent..];
        if rest.len() >= room {
            self.sent += self.slicer.fill(rest, frame).map_err(Error::from_source)?;
        } else {
            let complete = self.slicer.finish(rest, frame).map_err(Error::from_source)?;
            self.sent = self.buffer.len();
            if complete {
                self.state = State::Done;
            }
        }
        Ok(())
    }

    /// Reads until there is enough for a frame, or nothing more.
    fn refill(&mut self, room: usize) {
        while self.state == State::Reading && self.buffer.len() - self.sent < room {
            self.buffer.drain(..self.sent);
            self.sent = 0;
            self.read.clear();
            let wanted = CHUNK.next_multiple_of(self.unit);
            if let Err(error) = (&mut self.reader).take(wanted as u64).read_to_end(&mut self.read) {
                // What of it came is not sent: it may end anywhere.
                return self.end(Some(error.to_string()));
            }
            let whole = self.read.len() / self.unit * self.unit;
            let rest = self.read.len() - whole;
            let (good, fault) = self.check(whole);
            let packets = &self.read[..good];
            match &mut self.delete {
                Some(delete) => delete.delete(packets, &mut self.buffer),
                None => self.buffer.extend_from_slice(packets),
            }
            self.packets += (good / self.unit) as u64;
            if fault.is_some() {
                self.end(fault);
            } else if self.read.len() < wanted {
                let inside =
                    || format!("the {} ends inside a packet: {rest} bytes of {} are there", self.kind(), self.unit);
                let fault = (rest > 0).then(inside);
                self.end(fault);
            }
        }
    }

    /// How many of the first `whole` bytes read are packets that begin as they have to, and what is wrong with the next.
    fn check(&mut self, whole: usize) -> (usize, Option<String>) {
        let sync = match self.content {
            Content::Continuous | Content::Gse => return (whole, None),
            Content::Transport | Content::WithoutNullPackets => SYNC_BYTE,
            // All begin as the first does.
            Content::Packets(_) => {
                if let (0, Some(&first)) = (self.packets, self.read.first()) {
                    self.sync = first;
                    self.slicer = self.slicer.clone().with_sync(first);
                }
                self.sync
            }
        };
        let Some(bad) = self.read[..whole].chunks_exact(self.unit).position(|packet| packet[0] != sync) else {
            return (whole, None);
        };
        let offset = (self.packets + bad as u64) * self.unit as u64;
        let fault = format!(
            "not a {} from byte {offset} on: a packet of {} bytes begins with {sync:#04x}, not {:#04x}",
            self.kind(),
            self.unit,
            self.read[bad * self.unit]
        );
        (bad * self.unit, Some(fault))
    }

    fn end(&mut self, fault: Option<String>) {
        if let Some(delete) = &mut self.delete {
            delete.finish(&mut self.buffer);
        }
        self.fault = fault.map(|fault| Error::new(format!("{}{fault}", self.name)));
        self.state = State::Draining;
    }

    fn kind(&self) -> &'static str {
        match self.content {
            Content::Transport | Content::WithoutNullPackets => "transport stream",
            Content::Packets(_) => "stream of such packets",
            Content::Continuous | Content::Gse => "stream",
        }
    }
}
