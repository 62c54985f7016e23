//! When packets are due.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// When packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Of a file, which could be read faster: as its clock says (the PCRs of the first PID that has them), evenly between two. Whoever
    /// writes waits.
    Pcr,
    /// Of a receiver: what comes at once is spread over the time since what came before.
    Live,
    /// As they come.
    None,
}

impl FromStr for Pace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "pcr" => Ok(Self::Pcr),
            "live" => Ok(Self::Live),
            "none" => Ok(Self::None),
            _ => Err(()),
        }
    }
}

/// Ticks of the clock of a programme per second, and after how many it begins again.
const TICKS: f64 = 27e6;
const ROUND: u64 = (1 << 33) * 300;
/// Two PCRs that are further apart, in ticks, or backwards, are of two clocks.
const FURTHEST: u64 = 27_000_000;
/// Packets that wait for a PCR at most: then there is none.
const MOST_WAITING: u64 = 1 << 15;
/// The longest time that live packets are spread over, and how late a stream may be before it is not caught up with.
const LONGEST: Duration = Duration::from_millis(500);

/// Knows when each packet is due.
pub(super) struct Pacer {
    pace: Pace,
    packets: u64,
    pid: Option<u16>,
    /// The packet of the last PCR, and the PCR.
    mark: Option<(u64, u64)>,
    /// When a packet is due, by its number.
    line: Line,
    /// Packets before this one are on their way.
    released: u64,
    /// Whether two PCRs made the line.
    is_known: bool,
    /// The last write.
    written: Option<Instant>,
}

/// A packet, when it is due, and the seconds from each to the next.
#[derive(Clone, Copy)]
struct Line {
    packet: u64,
    due: Instant,
    each: f64,
}

impl Line {
    fn due(self, packet: u64) -> Instant {
        let after = Duration::from_secs_f64(packet.abs_diff(self.packet) as f64 * self.each);
        if packet >= self.packet { self.due + after } else { self.due.checked_sub(after).unwrap_or(self.due) }
    }
}

impl Pacer {
    pub(super) fn new(pace: Pace) -> Self {
        let line = Line { packet: 0, due: Instant::now(), each: 0.0 };
        Self { pace, packets: 0, pid: None, mark: None, line, released: 0, is_known: false, written: None }
    }

    /// Packets so far.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// The last packet that had the clock.
    pub(super) fn clock(&self) -> Option<u64> {
        self.mark.map(|(packet, _)| packet)
    }

    /// Whether whoever writes waits.
    pub(super) fn waits(&self) -> bool {
        self.pace == Pace::Pcr
    }

    pub(super) fn due(&self, packet: u64) -> Instant {
        self.line.due(packet)
    }

    /// Takes notice of the next packet: up to which one, itself not, it is known now when they are due.
    pub(super) fn packet(&mut self, packet: &[u8], now: Instant) -> Option<u64> {
        let number = self.packets;
        self.packets += 1;
        if self.pace != Pace::Pcr {
            return None;
        }
        let Some(Pcr { pid, ticks, is_new }) = pcr(packet) else {
            let since = self.mark.map_or(0, |(marked, _)| marked);
            return (number - since >= MOST_WAITING).then(|| self.without(number, now));
        };
        if *self.pid.get_or_insert(pid) != pid {
            return None;
        }
        let (marked, before) = self.mark.replace((number, ticks))?;
        let passed = (ticks + ROUND - before) % ROUND;
        let each = passed as f64 / TICKS / (number - marked) as f64;
        let fits = !is_new && passed > 0 && passed <= FURTHEST;
        if !fits {
            return Some(self.without(number, now));
        }
        let due = match self.is_known {
            true => self.line.due(marked),
            false => now + Duration::from_secs_f64(marked.saturating_sub(self.released) as f64 * each),
        };
        self.line = Line { packet: marked, due, each };
        (self.is_known, self.released) = (true, number);
        if now > self.line.due(number) + LONGEST {
            // What is before was slower than the stream, for long: it is not caught up with.
            self.line.due += now - self.line.due(number);
        }
        Some(number)
    }

    /// Goes on without a clock, at the last rate: packets before `number` are due now.
    fn without(&mut self, number: u64, now: Instant) -> u64 {
        if !self.is_known {
            self.line = Line { packet: number, due: now, each: 0.0 };
        }
        self.released = number;
        number
    }

    /// Takes notice that a write has ended, of which the first packet that waits is `first`.
    pub(super) fn end_of_write(&mut self, now: Instant, first: Option<u64>) -> Option<u64> {
        let first = first?;
        match self.pace {
            Pace::Pcr => return None,
            Pace::None => self.line = Line { packet: first, due: now, each: 0.0 },
            Pace::Live => {
                let since = self.written.replace(now).map_or(Duration::ZERO, |before| now - before);
                // Behind what still is to be sent, unless that is far away.
                let after = self.line.due(first).clamp(now, now + LONGEST);
                let each = since.min(LONGEST).as_secs_f64() / (self.packets - first) as f64;
                self.line = Line { packet: first, due: after, each };
            }
        }
        Some(self.packets)
    }

    /// Nothing follows for a while: what waits is due as the last rate says.
    pub(super) fn end(&mut self) {
        if self.pace != Pace::Live && !self.is_known {
            self.line = Line { packet: self.packets, due: Instant::now(), each: 0.0 };
        }
    }
}

/// The clock of a programme.
struct Pcr {
    pid: u16,
    ticks: u64,
    /// It goes on elsewhere.
    is_new: bool,
}

fn pcr(packet: &[u8]) -> Option<Pcr> {
    let has_field = packet[3] & 0x20 != 0 && packet[4] >= 7 && packet[5] & 0x10 != 0;
    if !has_field || packet[1] & 0x80 != 0 {
        return None;
    }
    let base =
        u64::from(u32::from_be_bytes([packet[6], packet[7], packet[8], packet[9]])) << 1 | u64::from(packet[10] >> 7);
    let extension = u64::from(packet[10] & 1) << 8 | u64::from(packet[11]);
    let pid = u16::from_be_bytes([packet[1] & 0x1F, packet[2]]);
    Some(Pcr { pid, ticks: base * 300 + extension, is_new: packet[5] & 0x80 != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_pcr(ticks: u64) -> [u8; 188] {
        let (base, extension) = (ticks / 300 % (1 << 33), ticks % 300);
        let mut packet = [0xFF; 188];
        packet[..6].copy_from_slice(&[0x47, 1, 0, 0x20, 183, 0x10]);
        packet[6..10].copy_from_slice(&((base >> 1) as u32).to_be_bytes());
        packet[10] = (base as u8 & 1) << 7 | 0x7E | (extension >> 8) as u8;
        packet[11] = extension as u8;
        packet
    }

    fn without_pcr() -> [u8; 188] {
        let mut packet = [0; 188];
        packet[..4].copy_from_slice(&[0x47, 1, 0, 0x10]);
        packet
    }

    /// When packets are due, in seconds from the first.
    fn dues(pcrs: &[(usize, u64)], count: usize) -> Vec<Option<f64>> {
        let mut pacer = Pacer::new(Pace::Pcr);
        let now = Instant::now();
        let (mut all, mut begun) = (vec![None; count], None);
        let mut done = 0;
        for number in 0..count {
            let packet = pcrs.iter().find(|(at, _)| *at == number).map_or_else(without_pcr, |&(_, pcr)| with_pcr(pcr));
            if let Some(known) = pacer.packet(&packet, now) {
                for packet in done..known {
                    let begun = *begun.get_or_insert(pacer.due(packet));
                    all[packet as usize] = Some((pacer.due(packet) - begun).as_secs_f64());
                }
                done = done.max(known);
            }
        }
        all
    }

    #[test]
    fn packets_are_due_evenly_between_two_clocks() {
        let ticks = ROUND - 2_700_000; // The clock begins again.
        let dues = dues(&[(3, ticks), (13, ticks + 2_700_000), (18, ticks + 4_050_000)], 20);
        for (number, due) in dues.iter().enumerate() {
            let expected = (number < 18).then_some(number as f64 * 0.01);
            match (due, expected) {
                (Some(due), Some(expected)) => assert!((due - expected).abs() < 1e-6, "{number}: {due}"),
                (due, expected) => assert_eq!(*due, expected, "{number}"),
            }
        }
    }

    #[test]
    fn a_clock_that_jumps_leaves_the_pace() {
        let dues = dues(&[(0, 0), (10, 2_700_000), (20, 270_000_000), (30, 272_700_000)], 31);
        for (number, due) in dues[..30].iter().enumerate() {
            assert!((due.unwrap() - number as f64 * 0.01).abs() < 1e-6, "{number}: {due:?}");
        }
    }

    #[test]
    fn without_a_clock_packets_do_not_wait_for_ever() {
        let dues = dues(&[], MOST_WAITING as usize + 2);
        assert_eq!(dues[MOST_WAITING as usize - 1], Some(0.0));
    }

    #[test]
    fn live_packets_are_spread_over_the_time_since_the_last() {
        let mut pacer = Pacer::new(Pace::Live);
        let begun = Instant::now();
        let mut write = |at: u64| {
            let first = pacer.packets();
            let now = begun + Duration::from_millis(at);
            (0..10).for_each(|_| assert_eq!(pacer.packet(&without_pcr(), now), None));
            assert_eq!(pacer.end_of_write(now, Some(first)), Some(first + 10));
            (pacer.due(first) - begun, pacer.due(first + 9) - begun)
        };
        let ms = Duration::from_millis;
        assert_eq!(write(0), (ms(0), ms(0)));
        assert_eq!(write(100), (ms(100), ms(190)));
        assert_eq!(write(200), (ms(200), ms(290)));
        // One that comes early waits for what is before it.
        assert_eq!(write(250).0, ms(300));
        // After a long silence they are spread over a bounded time.
        assert_eq!(write(9000), (ms(9000), ms(9450)));
    }
}
