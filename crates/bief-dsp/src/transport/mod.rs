//! Transport streams (ISO/IEC 13818-1): what their packets, tables and clocks tell.
//!
//! Everything here takes any bytes, and remembers a bounded amount of them.

mod clock;
mod continuity;
mod crc32;
mod section;
mod services;
mod tables;
mod text;

pub use clock::{Clock, ClockFigures};
pub use continuity::{Continuity, Step};
pub use crc32::{crc32, crc32_continued};
pub use section::{MAX_SECTION, SectionFaults, Sections};
pub use services::{Known, PidFigures, Services};
pub use tables::{Descriptors, Elementary, Pat, Pmt, Sdt, Service, stream_type_name};
pub use text::text;

use crate::dvbs2::{PACKET, SYNC_BYTE};

/// Bits of a programme clock reference per second, and after how many it begins again.
pub const PCR_HZ: f64 = 27e6;
const PCR_ROUND: u64 = (1 << 33) * 300;

/// The header of a packet.
///
/// ```
/// use bief_dsp::dvbs2::NULL_PACKET;
/// use bief_dsp::transport::Packet;
/// let packet = Packet::new(&NULL_PACKET).unwrap();
/// assert_eq!((packet.pid, packet.payload.len(), packet.pcr), (0x1FFF, 184, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Which stream it is of: 13 bits.
    pub pid: u16,
    /// Whether a section or PES packet begins in it.
    pub starts: bool,
    /// Counts packets with payload, 0 to 15.
    pub counter: u8,
    /// Whether its payload is scrambled.
    pub is_scrambled: bool,
    /// Whether counters and clocks begin anew here.
    pub is_discontinuous: bool,
    /// The clock of a programme, in ticks of 27 MHz.
    pub pcr: Option<u64>,
    /// What it carries; empty for none.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads 188 bytes; `None` for what is no packet, has errors (transport error indicator), or an adaptation field that is too long.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let bytes: &[u8; PACKET] = bytes.try_into().ok()?;
        if bytes[0] != SYNC_BYTE || bytes[1] & 0x80 != 0 {
            return None;
        }
        let mut payload = &bytes[4..];
        let (mut is_discontinuous, mut pcr) = (false, None);
        if bytes[3] & 0x20 != 0 {
            let field;
            (field, payload) = payload[1..].split_at_checked(payload[0].into())?;
            if let [flags, rest @ ..] = field {
                is_discontinuous = flags & 0x80 != 0;
                if let (true, [a, b, c, d, e, f, ..]) = (flags & 0x10 != 0, rest) {
                    let base = u64::from(u32::from_be_bytes([*a, *b, *c, *d])) << 1 | u64::from(e >> 7);
                    pcr = Some(base * 300 + (u64::from(e & 1) << 8 | u64::from(*f)));
                }
            }
        }
        Some(Self {
            pid: u16::from_be_bytes([bytes[1] & 0x1F, bytes[2]]),
            starts: bytes[1] & 0x40 != 0,
            counter: bytes[3] & 15,
            is_scrambled: bytes[3] & 0xC0 != 0,
            is_discontinuous,
            pcr,
            payload: if bytes[3] & 0x10 != 0 { payload } else { &[] },
        })
    }
}
