//! Files of captured packets (classic pcap), as packet analysers read and write them.

use std::io::{self, Read, Write};
use std::time::Duration;

use crate::pdu::{NoPacket, ip_packet, protocol};

/// The link type of packets that begin with an IP header.
const RAW: u32 = 101;
const MICROSECONDS: u32 = 0xA1B2_C3D4;
const NANOSECONDS: u32 = 0xA1B2_3C4D;
/// What a file of the newer kind begins with, in either order of bytes.
const NEWER: u32 = 0x0A0D_0D0A;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Bytes of the longest record that is believed: analysers write none that is longer.
const LONGEST: u32 = 262_144;

/// Writes IP packets to a pcap file of link type 101 (raw IP), each as a whole to the writer: give one that buffers.
pub struct PcapWriter<W> {
    writer: W,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// A writer that fails.
    pub fn new(mut writer: W) -> io::Result<Self> {
        let mut header = [0; FILE_HEADER];
        header[..4].copy_from_slice(&MICROSECONDS.to_le_bytes());
        (header[4], header[6]) = (2, 4);
        header[16..20].copy_from_slice(&u32::from(u16::MAX).to_le_bytes());
        header[20..].copy_from_slice(&RAW.to_le_bytes());
        writer.write_all(&header)?;
        Ok(Self { writer })
    }

    /// Writes a packet that came at this time after 1970 (in UTC), or nobody knows when.
    ///
    /// # Errors
    /// A writer that fails.
    pub fn write(&mut self, packet: &[u8], time: Option<Duration>) -> io::Result<()> {
        let time = time.unwrap_or_default();
        let length = packet.len() as u32;
        let mut header = [0; RECORD_HEADER];
        for (field, value) in
            header.chunks_exact_mut(4).zip([time.as_secs() as u32, time.subsec_micros(), length, length])
        {
            field.copy_from_slice(&value.to_le_bytes());
        }
        self.writer.write_all(&header)?;
        self.writer.write_all(packet)
    }

    /// Flushes the writer.
    ///
    /// # Errors
    /// A writer that fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Why a file of packets cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// The reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins otherwise.
    #[error("not a pcap file: it begins with {0:#010x}")]
    NotPcap(u32),
    /// A pcapng file.
    #[error("a pcapng file: convert it with `editcap -F pcap IN OUT`")]
    Newer,
    /// Packets that do not begin with an IP header or one that is known.
    #[error("its packets are of link type {0}: raw IP, Ethernet and Linux \"cooked\" captures can be read")]
    LinkType(u32),
    /// It ends early.
    #[error("ends inside a packet, or its header: is it cut short?")]
    Short,
    /// A record of a length that nobody writes.
    #[error("a packet of {0} bytes: the file is damaged")]
    TooLong(u32),
}

/// Reads the IP packets of a pcap file, of either order of bytes: raw IP, Ethernet or Linux "cooked" captures.
pub struct PcapReader<R> {
    reader: R,
    big_endian: bool,
    link: Link,
    record: Vec<u8>,
    passed_over: u64,
}

/// What is before the IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Raw,
    /// A header of so many bytes, with the protocol type at this place in it.
    Headed {
        bytes: usize,
        kind: usize,
    },
}

impl Link {
    fn of(number: u32) -> Option<Self> {
        Some(match number {
            RAW | 12 | 14 | 228 | 229 => Self::Raw,
            1 => Self::Headed { bytes: 14, kind: 12 },
            113 => Self::Headed { bytes: 16, kind: 14 },
            276 => Self::Headed { bytes: 20, kind: 0 },
            _ => return None,
        })
    }

    fn packet(self, record: &[u8]) -> Result<&[u8], NoPacket> {
        match self {
            Self::Raw => ip_packet(protocol(record).ok_or(NoPacket::Other)?, record),
            Self::Headed { bytes, kind } => {
                let (header, body) = record.split_at_checked(bytes).ok_or(NoPacket::Malformed)?;
                match u16::from_be_bytes([header[kind], header[kind + 1]]) {
                    // Smaller numbers are lengths on Ethernet, and no extension headers.
                    0..0x0600 => Err(NoPacket::Other),
                    kind => ip_packet(kind, body),
                }
            }
        }
    }
}

impl<R: Read> PcapReader<R> {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// A file of another kind, or of packets of another kind; a reader that fails.
    pub fn new(mut reader: R) -> Result<Self, PcapError> {
        let mut header = [0; FILE_HEADER];
        if fill(&mut reader, &mut header)? < FILE_HEADER {
            return Err(PcapError::Short);
        }
        let word = |at: usize| header[at..at + 4].try_into().expect("four bytes");
        let magic = u32::from_le_bytes(word(0));
        let big_endian = match magic {
            MICROSECONDS | NANOSECONDS => false,
            _ if [MICROSECONDS, NANOSECONDS].contains(&magic.swap_bytes()) => true,
            NEWER => return Err(PcapError::Newer),
            other => return Err(PcapError::NotPcap(other.swap_bytes())),
        };
        // Above the link type are flags.
        let link = if big_endian { u32::from_be_bytes(word(20)) } else { u32::from_le_bytes(word(20)) } & 0xFFFF;
        let link = Link::of(link).ok_or(PcapError::LinkType(link))?;
        Ok(Self { reader, big_endian, link, record: Vec::new(), passed_over: 0 })
    }

    /// Puts the next IP packet into `packet`; `false` at the end. What is no IP packet, or not a whole one, is passed over.
    ///
    /// # Errors
    /// A file that is cut short or damaged; a reader that fails.
    pub fn read(&mut self, packet: &mut Vec<u8>) -> Result<bool, PcapError> {
        loop {
            let mut header = [0; RECORD_HEADER];
            match fill(&mut self.reader, &mut header)? {
                0 => return Ok(false),
                RECORD_HEADER => {}
                _ => return Err(PcapError::Short),
            }
            let length = header[8..12].try_into().expect("four bytes");
            let length = if self.big_endian { u32::from_be_bytes(length) } else { u32::from_le_bytes(length) };
            if length > LONGEST {
                return Err(PcapError::TooLong(length));
            }
            self.record.resize(length as usize, 0);
            if fill(&mut self.reader, &mut self.record)? < self.record.len() {
                return Err(PcapError::Short);
            }
            if let Ok(found) = self.link.packet(&self.record) {
                packet.clear();
                packet.extend_from_slice(found);
                return Ok(true);
            }
            self.passed_over += 1;
        }
    }

    /// Records that were no whole IP packets.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }
}

/// Reads until the buffer is full, or there is no more: how many bytes.
pub(crate) fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(len: u16) -> Vec<u8> {
        let mut packet = vec![7; len.into()];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet
    }

    /// A file of another program: big-endian, Ethernet.
    fn ethernet(records: &[Vec<u8>]) -> Vec<u8> {
        let mut file =
            [&NANOSECONDS.to_be_bytes()[..], &[0, 2, 0, 4], &[0; 8], &[0, 0, 255, 255], &[0, 0, 0, 1]].concat();
        for record in records {
            let length = (record.len() as u32).to_be_bytes();
            file.extend([&[0; 8][..], &length, &length, record].concat());
        }
        file
    }

    fn read(file: &[u8]) -> (Vec<Vec<u8>>, Option<String>) {
        let (mut all, mut packet) = (Vec::new(), Vec::new());
        let mut reader = match PcapReader::new(file) {
            Ok(reader) => reader,
            Err(error) => return (all, Some(error.to_string())),
        };
        loop {
            match reader.read(&mut packet) {
                Ok(true) => all.push(packet.clone()),
                Ok(false) => return (all, None),
                Err(error) => return (all, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_a_cut_is_told() {
        let packets = [packet(20), packet(1500), packet(65_535)];
        let mut file = Vec::new();
        let mut writer = PcapWriter::new(&mut file).unwrap();
        packets.iter().for_each(|packet| writer.write(packet, Some(Duration::from_micros(1_500_000))).unwrap());
        assert_eq!(read(&file), (packets.to_vec(), None));
        assert_eq!(file[24..32], [1, 0, 0, 0, 0x20, 0xA1, 7, 0]);
        for cut in [0, 23, 30, 45] {
            assert!(read(&file[..cut]).1.unwrap().contains("cut short"), "{cut}");
        }
        assert_eq!(read(&file[..file.len() - 1]).0, packets[..2]);
    }

    #[test]
    fn frames_of_ethernet_give_their_packets() {
        let framed = |kind: [u8; 2], bytes: &[u8]| [&[2; 12][..], &kind, bytes].concat();
        let padded = [packet(30), vec![0; 16]].concat();
        let records = [framed([8, 0], &padded), framed([8, 6], &packet(28)), framed([0, 1], &packet(28)), vec![1; 9]];
        assert_eq!(read(&ethernet(&records)), (vec![packet(30)], None));
    }

    #[test]
    fn other_files_are_refused_with_a_remedy() {
        let mut file = ethernet(&[]);
        file[23] = 105;
        assert!(read(&file).1.unwrap().contains("link type 105"));
        assert!(read(&[0x0A, 0x0D, 0x0D, 0x0A].repeat(9)).1.unwrap().contains("editcap"));
        assert!(read(b"#!/bin/sh and more than that").1.unwrap().contains("0x23212f62"));
        let mut file = ethernet(&[packet(20)]);
        file[32] = 0xFF;
        assert!(read(&file).1.unwrap().contains("damaged"));
    }
}
