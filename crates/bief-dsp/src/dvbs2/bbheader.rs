//! BBHEADER: the ten bytes that open a BBFRAME (EN 302 307-1, clause 5.1.6; GSE-HEM: EN 302 307-2).

use std::fmt;

use super::crc::crc8;

/// Bytes of a BBHEADER.
pub const BBHEADER: usize = 10;
/// SYNCD of a DATA FIELD in which no user packet starts.
pub const NO_PACKET_STARTS: u16 = 65_535;
/// Bits of a transport-stream packet as a user packet, without ISSY and NPD fields.
const TRANSPORT_UPL: u16 = 1_504;

/// What the user packets are (MATYPE-1, bits 7 and 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamType {
    /// MPEG transport stream: packets of 188 bytes.
    Transport,
    /// Packets of one length.
    GenericPacketised,
    /// A stream without packets, or with packets that only its user knows.
    GenericContinuous,
    /// GSE packets in high-efficiency mode (DVB-S2X): one row of them, cut anywhere.
    GseHem,
}

impl fmt::Display for StreamType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StreamType::Transport => "transport stream",
            StreamType::GenericPacketised => "generic packetised stream",
            StreamType::GenericContinuous => "generic continuous stream",
            StreamType::GseHem => "GSE-HEM stream",
        })
    }
}

/// An input stream of a carrier.
///
/// ```
/// use bief_dsp::dvbs2::{StreamId, StreamType};
///
/// let id = StreamId { isi: Some(3), kind: StreamType::Transport };
/// assert_eq!(id.to_string(), "transport stream of ISI 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId {
    /// Input stream identifier; `None` on a carrier of a single stream.
    pub isi: Option<u8>,
    /// What the stream consists of.
    pub kind: StreamType,
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.isi {
            Some(isi) => write!(f, "{} of ISI {isi}", self.kind),
            None => write!(f, "single {}", self.kind),
        }
    }
}

/// Roll-off of the shaping filter (MATYPE-1, bits 1 and 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RollOff {
    /// 0.35.
    R35,
    /// 0.25.
    R25,
    /// 0.20.
    R20,
    /// 0.15 (DVB-S2X).
    R15,
    /// 0.10 (DVB-S2X).
    R10,
    /// 0.05 (DVB-S2X).
    R05,
}

impl RollOff {
    /// Every roll-off, the largest first.
    pub const ALL: [RollOff; 6] = [RollOff::R35, RollOff::R25, RollOff::R20, RollOff::R15, RollOff::R10, RollOff::R05];

    /// The roll-off of that value, to the nearest number of single precision; `None` where the standard has none.
    ///
    /// ```
    /// use bief_dsp::dvbs2::RollOff;
    ///
    /// assert_eq!(RollOff::of(0.05), Some(RollOff::R05));
    /// assert_eq!(RollOff::of(0.3), None);
    /// ```
    pub fn of(value: f32) -> Option<RollOff> {
        RollOff::ALL.into_iter().find(|known| known.value() == value)
    }

    /// Excess bandwidth as a fraction of the Nyquist bandwidth.
    pub const fn value(self) -> f32 {
        match self {
            RollOff::R35 => 0.35,
            RollOff::R25 => 0.25,
            RollOff::R20 => 0.20,
            RollOff::R15 => 0.15,
            RollOff::R10 => 0.10,
            RollOff::R05 => 0.05,
        }
    }

    /// Whether it is one of those that DVB-S2X adds: every second BBFRAME then has none, and the others the code of 0.35, 0.25 or
    /// 0.20.
    pub const fn is_s2x(self) -> bool {
        matches!(self, RollOff::R15 | RollOff::R10 | RollOff::R05)
    }
}

/// The fields of a BBHEADER.
///
/// ```
/// use bief_dsp::dvbs2::{BbHeader, RollOff};
///
/// let header = BbHeader {
///     syncd: 1_008,
///     ..BbHeader::transport(RollOff::R35, 32_128)
/// };
/// let bytes = [0xF0, 0x00, 0x05, 0xE0, 0x7D, 0x80, 0x47, 0x03, 0xF0, 0xDD];
/// assert_eq!(header.to_bytes(), bytes);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbHeader {
    /// What the user packets are.
    pub stream: StreamType,
    /// Input stream identifier when the carrier multiplexes several streams; `None` when it carries one.
    pub isi: Option<u8>,
    /// Constant coding and modulation, rather than one that changes from frame to frame (VCM, ACM).
    pub constant_coding: bool,
    /// Input stream synchroniser: behind each packet comes a time stamp of 2 or 3 bytes.
    pub issy: bool,
    /// Null-packet deletion: behind each packet (and its time stamp) comes the count of null packets removed before it, a byte.
    pub npd: bool,
    /// Roll-off; `None` for the code that DVB-S2 reserves. Where every second frame of a stream has that one, 0.35, 0.25 and 0.20
    /// mean 0.15, 0.10 and 0.05 (DVB-S2X): one header alone does not tell, and reads as the larger one.
    pub roll_off: Option<RollOff>,
    /// User packet length in bits; 0 for a continuous stream. Of GSE-HEM, the first two bytes of the time stamp.
    pub upl: u16,
    /// Data field length in bits.
    pub dfl: u16,
    /// Copy of the sync byte that CRC-8 bytes replace. Of GSE-HEM, the last byte of the time stamp.
    pub sync: u8,
    /// Bits from the start of the DATA FIELD to the first user packet that starts in it, or
    /// [`NO_PACKET_STARTS`].
    pub syncd: u16,
}

/// What the CRC-8 of a GSE-HEM header is XORed with (EN 302 307-2): the mode, 1; that of the others is 0.
const fn mode(stream: StreamType) -> u8 {
    matches!(stream, StreamType::GseHem) as u8
}

/// Why ten bytes are not the header of a BBFRAME.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BbHeaderError {
    /// Not even a header.
    #[error("a BBFRAME of {0} bytes has no room for a BBHEADER of 10")]
    TooShort(usize),
    /// The last byte is not the CRC-8 of the others.
    #[error("BBHEADER: CRC-8 is {found:#04x}, its bytes give {computed:#04x}; the frame was not decoded")]
    Crc {
        /// Last byte of the header.
        found: u8,
        /// CRC-8 of the nine others.
        computed: u8,
    },
    /// The data field would not fit into the frame.
    #[error("BBHEADER: DFL is {dfl} bits, the frame has room for {room}")]
    DataFieldLength {
        /// DFL in bits.
        dfl: u16,
        /// Bits of the frame after its header.
        room: usize,
    },
    /// Not the length of a transport-stream packet with the fields announced, or generic packets of no whole number of bytes.
    #[error(
        "BBHEADER: UPL is {upl} bits; it is 1504 plus ISSY and NPD fields in a transport stream, else a multiple of 8"
    )]
    PacketLength {
        /// UPL in bits.
        upl: u16,
    },
    /// The first packet would start behind the data field, or later than one packet length.
    #[error("BBHEADER: SYNCD is {syncd} bits, with DFL {dfl} and UPL {upl}")]
    SyncDistance {
        /// SYNCD in bits.
        syncd: u16,
        /// DFL in bits.
        dfl: u16,
        /// UPL in bits.
        upl: u16,
    },
}

impl BbHeader {
    /// Header of a single transport stream with constant coding and modulation whose first packet starts the
    /// data field of `dfl` bits.
    pub const fn transport(roll_off: RollOff, dfl: u16) -> BbHeader {
        BbHeader {
            stream: StreamType::Transport,
            isi: None,
            constant_coding: true,
            issy: false,
            npd: false,
            roll_off: Some(roll_off),
            upl: TRANSPORT_UPL,
            dfl,
            sync: 0x47,
            syncd: 0,
        }
    }

    /// Reads and checks the header of a descrambled BBFRAME.
    ///
    /// # Errors
    /// A frame without room for a header, a CRC-8 that does not hold, lengths that cannot be those of this frame.
    pub fn parse(frame: &[u8]) -> Result<BbHeader, BbHeaderError> {
        let (header, room) = frame.split_first_chunk::<BBHEADER>().ok_or(BbHeaderError::TooShort(frame.len()))?;
        let matype = header[0];
        let stream = match matype >> 6 {
            0b00 => StreamType::GenericPacketised,
            0b01 => StreamType::GenericContinuous,
            0b11 => StreamType::Transport,
            _ => StreamType::GseHem,
        };
        let computed = crc8(&header[..BBHEADER - 1]) ^ mode(stream);
        let found = header[BBHEADER - 1];
        if computed != found {
            return Err(BbHeaderError::Crc { found, computed });
        }
        let word = |high: usize| u16::from_be_bytes([header[high], header[high + 1]]);
        let parsed = BbHeader {
            stream,
            isi: (matype & 0x20 == 0).then_some(header[1]),
            constant_coding: matype & 0x10 != 0,
            issy: matype & 0x08 != 0,
            npd: matype & 0x04 != 0,
            roll_off: match matype & 0x03 {
                0b00 => Some(RollOff::R35),
                0b01 => Some(RollOff::R25),
                0b10 => Some(RollOff::R20),
                _ => None,
            },
            upl: word(2),
            dfl: word(4),
            sync: header[6],
            syncd: word(7),
        };
        parsed.check(8 * room.len())?;
        Ok(parsed)
    }

    /// Plausibility: an 8-bit CRC accepts one wrong header in 256.
    fn check(&self, room: usize) -> Result<(), BbHeaderError> {
        let (upl, dfl, syncd) = (self.upl, self.dfl, self.syncd);
        if usize::from(dfl) > room {
            return Err(BbHeaderError::DataFieldLength { dfl, room });
        }
        let plausible = match self.stream {
            StreamType::Transport => {
                let bare = upl.wrapping_sub(if self.npd { 8 } else { 0 });
                if self.issy { bare == TRANSPORT_UPL + 16 || bare == TRANSPORT_UPL + 24 } else { bare == TRANSPORT_UPL }
            }
            StreamType::GenericPacketised => upl.is_multiple_of(8),
            StreamType::GenericContinuous | StreamType::GseHem => true,
        };
        if !plausible {
            return Err(BbHeaderError::PacketLength { upl });
        }
        if self.has_packets() && syncd != NO_PACKET_STARTS && (syncd > dfl || syncd >= upl) {
            return Err(BbHeaderError::SyncDistance { syncd, dfl, upl });
        }
        Ok(())
    }

    /// Whether the data field holds user packets, each with a CRC-8 in place of its first byte: not in continuous streams, nor
    /// where the packets have no common length (UPL 0).
    pub const fn has_packets(&self) -> bool {
        matches!(self.stream, StreamType::Transport | StreamType::GenericPacketised) && self.upl > 0
    }

    /// The stream that the frame belongs to.
    pub const fn stream_id(&self) -> StreamId {
        StreamId { isi: self.isi, kind: self.stream }
    }

    /// The ten bytes, CRC-8 included.
    pub fn to_bytes(&self) -> [u8; BBHEADER] {
        let stream = match self.stream {
            StreamType::GenericPacketised => 0b00,
            StreamType::GenericContinuous => 0b01,
            StreamType::GseHem => 0b10,
            StreamType::Transport => 0b11,
        };
        let roll_off = match self.roll_off {
            Some(RollOff::R35 | RollOff::R15) => 0b00,
            Some(RollOff::R25 | RollOff::R10) => 0b01,
            Some(RollOff::R20 | RollOff::R05) => 0b10,
            None => 0b11,
        };
        let single = self.isi.is_none();
        let matype = stream << 6
            | u8::from(single) << 5
            | u8::from(self.constant_coding) << 4
            | u8::from(self.issy) << 3
            | u8::from(self.npd) << 2
            | roll_off;
        let mut bytes = [0; BBHEADER];
        bytes[0] = matype;
        bytes[1] = self.isi.unwrap_or(0);
        bytes[2..4].copy_from_slice(&self.upl.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.dfl.to_be_bytes());
        bytes[6] = self.sync;
        bytes[7..9].copy_from_slice(&self.syncd.to_be_bytes());
        bytes[9] = crc8(&bytes[..9]) ^ mode(self.stream);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A BBFRAME of `kbch` bits that holds nothing but this header.
    fn frame(header: BbHeader, kbch: usize) -> Vec<u8> {
        let mut frame = vec![0; kbch / 8];
        frame[..BBHEADER].copy_from_slice(&header.to_bytes());
        frame
    }

    #[test]
    fn implausible_lengths_are_refused() {
        let good = BbHeader::transport(RollOff::R20, 14_152);
        let parse = |header| BbHeader::parse(&frame(header, 14_232));
        assert_eq!(parse(good), Ok(good));
        let (dfl, room) = (14_160, 14_152);
        assert_eq!(parse(BbHeader { dfl, ..good }), Err(BbHeaderError::DataFieldLength { dfl, room }));
        for (issy, npd, upl, allowed) in [
            (false, false, 1_504, true),
            (false, false, 1_512, false),
            (false, true, 1_512, true),
            (true, false, 1_520, true),
            (true, false, 1_528, true),
            (true, false, 1_504, false),
            (true, true, 1_536, true),
            (false, true, 0, false),
        ] {
            let header = BbHeader { issy, npd, upl, ..good };
            let expected = if allowed { Ok(header) } else { Err(BbHeaderError::PacketLength { upl }) };
            assert_eq!(parse(header), expected);
        }
        for (syncd, dfl, allowed) in [
            (1_503, 14_152, true),
            (1_504, 14_152, false),
            (NO_PACKET_STARTS, 1_000, true),
            (1_000, 1_000, true),
            (1_001, 1_000, false),
            (0, 0, true),
        ] {
            let header = BbHeader { syncd, dfl, ..good };
            assert_eq!(parse(header).is_ok(), allowed, "SYNCD {syncd}, DFL {dfl}");
        }
        let continuous = BbHeader { stream: StreamType::GenericContinuous, upl: 0, syncd: 40_000, ..good };
        assert_eq!(parse(continuous), Ok(continuous));
        for (upl, syncd, allowed) in
            [(800, 799, true), (800, 800, false), (800, NO_PACKET_STARTS, true), (804, 0, false), (0, 40_000, true)]
        {
            let packets = BbHeader { stream: StreamType::GenericPacketised, upl, syncd, ..good };
            assert_eq!(parse(packets).is_ok(), allowed, "UPL {upl}, SYNCD {syncd}");
        }
        assert_eq!(BbHeader::parse(&[0; 9]), Err(BbHeaderError::TooShort(9)));
    }

    #[test]
    fn gse_hem_has_a_check_of_its_own() {
        for (bytes, stream, syncd) in [
            ([0x72, 0, 0, 0, 0x02, 0xF0, 0, 0, 0, 0x15], StreamType::GenericContinuous, 0),
            ([0xB2, 0, 0, 0, 0x02, 0xF0, 0, 0, 0, 0x87], StreamType::GseHem, 0),
            ([0xBA, 0, 0x12, 0x34, 0x02, 0xF0, 0x56, 0x02, 0x11, 0x7C], StreamType::GseHem, 0x211),
        ] {
            let mut frame = vec![0; 200];
            frame[..BBHEADER].copy_from_slice(&bytes);
            let header = BbHeader::parse(&frame).unwrap();
            assert_eq!((header.stream, header.dfl, header.syncd), (stream, 0x2F0, syncd));
            assert_eq!(header.to_bytes(), bytes);
            frame[BBHEADER - 1] ^= 1;
            assert!(matches!(BbHeader::parse(&frame), Err(BbHeaderError::Crc { .. })));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = frame(BbHeader::transport(RollOff::R25, 14_152), 14_232);
        for bit in 0..8 * BBHEADER {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = BbHeader::parse(&damaged).unwrap_err();
            assert!(matches!(error, BbHeaderError::Crc { .. }), "{error}");
        }
    }

    proptest! {
        #[test]
        fn fields_are_read_back(
            stream in prop::sample::select(vec![
                StreamType::Transport,
                StreamType::GenericPacketised,
                StreamType::GenericContinuous,
                StreamType::GseHem,
            ]),
            isi in any::<Option<u8>>(),
            flags in any::<[bool; 3]>(),
            roll_off in prop::sample::select(vec![
                None, Some(RollOff::R35), Some(RollOff::R25), Some(RollOff::R20),
            ]),
            upl in any::<u16>(),
            dfl in 0u16..=58_112,
            sync in any::<u8>(),
            syncd in any::<u16>(),
        ) {
            let [constant_coding, issy, npd] = flags;
            let mut header = BbHeader {
                stream, isi, constant_coding, issy, npd, roll_off, upl, dfl, sync, syncd,
            };
            match stream {
                StreamType::Transport => {
                    header.upl = 1_504 + if issy { 16 + (upl & 8) } else { 0 } + if npd { 8 } else { 0 };
                }
                StreamType::GenericPacketised => header.upl = upl & !7,
                _ => {}
            }
            if header.has_packets() {
                header.syncd = [syncd % header.upl.min(dfl + 1), NO_PACKET_STARTS][usize::from(syncd & 1)];
            }
            prop_assert_eq!(header.stream_id(), StreamId { isi, kind: stream });
            prop_assert_eq!(BbHeader::parse(&frame(header, 58_192)), Ok(header));
        }
    }
}
