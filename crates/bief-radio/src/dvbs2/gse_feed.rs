//! IP packets of a pcap file as an input stream of a transmitter.

use std::io::{BufReader, Read};

use bief::Error;
use bief_ip::gse::{Encapsulator, LONGEST_PDU};
use bief_ip::pcap::{PcapError, PcapReader};

/// Packets that become BBFRAMEs by GSE.
pub(super) struct GseFeed {
    encapsulator: Encapsulator,
    packets: Packets,
    is_done: bool,
}

struct Packets {
    /// How errors begin.
    name: String,
    reader: Reader,
    /// Why the stream ended early; told when everything before it is out.
    fault: Option<Error>,
}

enum Reader {
    /// Not even its header was read.
    New(Option<Box<dyn Read + Send>>),
    Open(PcapReader<BufReader<Box<dyn Read + Send>>>),
}

impl GseFeed {
    pub(super) fn new(encapsulator: Encapsulator, reader: Box<dyn Read + Send>, name: String) -> Self {
        let packets = Packets { name, reader: Reader::New(Some(reader)), fault: None };
        Self { encapsulator, packets, is_done: false }
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    pub(super) fn fault(&mut self) -> Option<Error> {
        self.packets.fault.take()
    }

    /// Makes the next BBFRAME; one without data when everything is sent.
    pub(super) fn fill(&mut self, frame: &mut [u8]) {
        let Self { encapsulator, packets, is_done } = self;
        let mut has_ended = false;
        encapsulator.fill(frame, |packet| {
            has_ended = !packets.next(packet);
            !has_ended
        });
        *is_done = has_ended;
    }
}

impl Packets {
    /// Puts the next packet into `packet`, if there is one.
    fn next(&mut self, packet: &mut Vec<u8>) -> bool {
        if self.fault.is_some() {
            return false;
        }
        let read = self.open().and_then(|reader| reader.read(packet));
        match read {
            Ok(true) if packet.len() > LONGEST_PDU => {
                self.fail(format!("a packet of {} bytes: GSE has {LONGEST_PDU} at most", packet.len()));
                false
            }
            Ok(is_there) => is_there,
            Err(error) => {
                self.fail(error.to_string());
                false
            }
        }
    }

    fn open(&mut self) -> Result<&mut PcapReader<BufReader<Box<dyn Read + Send>>>, PcapError> {
        if let Reader::New(reader) = &mut self.reader {
            let reader = reader.take().ok_or(PcapError::Short)?;
            self.reader = Reader::Open(PcapReader::new(BufReader::new(reader))?);
        }
        match &mut self.reader {
            Reader::Open(reader) => Ok(reader),
            Reader::New(_) => Err(PcapError::Short),
        }
    }

    fn fail(&mut self, fault: String) {
        self.fault = Some(Error::new(format!("{}{fault}", self.name)));
    }
}
