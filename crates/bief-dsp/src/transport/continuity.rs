//! Whether the packets of a PID come one after the other.

use super::Packet;

/// Follows the counter of one PID.
///
/// ```
/// use bief_dsp::dvbs2::NULL_PACKET;
/// use bief_dsp::transport::{Continuity, Packet, Step};
/// let mut continuity = Continuity::default();
/// let steps = [3, 4, 4, 5, 7].map(|counter| {
///     let mut bytes = NULL_PACKET;
///     bytes[3] = 0x10 | counter;
///     continuity.push(&Packet::new(&bytes).unwrap())
/// });
/// assert_eq!(steps, [Step::Next, Step::Next, Step::Repeated, Step::Next, Step::Jump]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Continuity {
    last: Option<u8>,
    was_repeated: bool,
}

/// How a packet stands to the one before it of its PID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is the next one, or the first.
    Next,
    /// It is the same one again, which may be once.
    Repeated,
    /// Packets are missing between them, or the counter begins anew ([`Packet::is_discontinuous`]).
    Jump,
}

impl Continuity {
    /// Takes the next packet.
    pub fn push(&mut self, packet: &Packet<'_>) -> Step {
        // Of a packet without payload the counter stands.
        let step = u8::from(!packet.payload.is_empty());
        let Some(last) = self.last.replace(packet.counter) else { return Step::Next };
        let goes_on = packet.counter == (last + step) & 15;
        let is_repeated = step == 1 && packet.counter == last && !self.was_repeated && !packet.is_discontinuous;
        self.was_repeated = is_repeated;
        match (goes_on, is_repeated) {
            (true, _) => Step::Next,
            (false, true) => Step::Repeated,
            (false, false) => Step::Jump,
        }
    }

    /// The next packet is a first one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
