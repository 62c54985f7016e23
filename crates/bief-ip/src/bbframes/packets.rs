//! Packets of a transport stream that lie one after the other.

use std::io::{self, Read};

use bief_dsp::dvbs2::{PACKET, SYNC_BYTE};

use super::Buffered;

/// Packets given at a time at most.
const MOST: usize = 32;
/// Packets that show where they begin, of a stream that does not begin with one.
const SHOWN: usize = 5;

/// Reads the packets of a transport stream; bytes between them are passed over and counted.
///
/// ```
/// use bief_ip::bbframes::PacketReader;
/// let null = [&[0x47, 0x1F, 0xFF, 0x10][..], &[0xFF; 184]].concat();
/// let file = [&null[100..], &null.repeat(5), &null[..50]].concat();
/// let mut packets = PacketReader::new(&file[..])?;
/// assert_eq!(packets.next_packets()?.unwrap().len(), 5 * 188);
/// assert!(packets.next_packets()?.is_none());
/// assert_eq!((packets.passed_over(), packets.short()), (88, Some(50)));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PacketReader<R> {
    bytes: Buffered<R>,
    passed_over: u64,
    losses: u64,
    short: usize,
}

impl<R: Read> PacketReader<R> {
    /// Reads from `reader`.
    ///
    /// # Errors
    /// A reader that fails; a front without packets.
    pub fn new(reader: R) -> io::Result<Self> {
        let mut bytes = Buffered::new(reader);
        // So many show it; more would be waited for where packets come slowly.
        let front = bytes.want((2 * SHOWN + 1) * PACKET)?;
        let Some(start) = Self::find(front) else {
            let told = "no transport stream: no packets of 188 bytes that begin with 0x47";
            return Err(io::Error::new(io::ErrorKind::InvalidData, told));
        };
        bytes.pass(start);
        Ok(Self { bytes, passed_over: start as u64, losses: 0, short: 0 })
    }

    /// Where packets begin at the front of some bytes.
    pub fn find(front: &[u8]) -> Option<usize> {
        let shows = |at: usize, least: usize| {
            let firsts = front[at..].iter().step_by(PACKET).take(2 * SHOWN);
            let (count, good) =
                firsts.fold((0, 0), |(count, good), &byte| (count + 1, good + usize::from(byte == SYNC_BYTE)));
            front[at] == SYNC_BYTE && count >= least && 8 * good >= 7 * count
        };
        let has_packet = front.len() >= PACKET;
        (0..PACKET.min(front.len())).find(|&at| has_packet && shows(at, if at == 0 { 1 } else { SHOWN }))
    }

    /// The next packets, one or more of 188 bytes each; `None` at the end.
    ///
    /// # Errors
    /// A reader that fails.
    pub fn next_packets(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let there = self.bytes.want(PACKET)?;
            if there.len() < PACKET {
                let rest = there.len();
                match self.bytes.pass(rest).first() {
                    Some(&SYNC_BYTE) => self.short = rest,
                    _ => self.passed_over += rest as u64,
                }
                return Ok(None);
            }
            let whole = there.chunks_exact(PACKET).take(MOST).take_while(|packet| packet[0] == SYNC_BYTE).count();
            if whole > 0 {
                return Ok(Some(self.bytes.pass(whole * PACKET)));
            }
            self.losses += 1;
            let there = self.bytes.want((SHOWN + 1) * PACKET)?;
            // A damaged first byte, or bytes that do not belong there.
            let is_next = there.get(PACKET).is_some_and(|&byte| byte == SYNC_BYTE);
            let gone = if is_next { PACKET } else { Self::find(there).unwrap_or(PACKET.min(there.len())).max(1) };
            self.bytes.pass(gone);
            self.passed_over += gone as u64;
        }
    }

    /// Bytes that belonged to no packet, or to one without its first byte.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Bytes of the last packet, where the stream ended inside it.
    pub fn short(&self) -> Option<usize> {
        Some(self.short).filter(|&bytes| bytes > 0)
    }

    /// Times that something was passed over between packets.
    pub fn losses(&self) -> u64 {
        self.losses
    }
}
