//! Between two stages: which wires cross, and the ring that carries them from any replica to whichever is free.

use std::sync::Arc;

use crate::error::Result;
use crate::frame::{Batch, Buffer, Format, Slot};
use crate::memory::Memory;
use crate::ring::{Consumer, Producer, Slots, Spare, ring};
use crate::slices::Lost;
use crate::stage::StagePlan;
use crate::wait::{WaitPolicy, Waited};
use crate::wire::WireInfo;

/// Batches between one replica and those that follow unless set: enough to ride out a short delay on either side.
const DEFAULT_DEPTH: usize = 4;
/// How long a thread that shares its core works on what lies in a full ring, so that a change of threads, which takes 2 to 3 us, costs little
/// beside it; and the most batches for that.
const TURN_NS: f64 = 300_000.0;
const MOST_OF_TURN: f64 = 64.0;
/// What the batches of a ring take at most, unless its depth is set or it needs more to have one for each replica: frames that go round in
/// more memory have left the caches before they are read.
const RING_BYTES: f64 = 4e6;
/// Batches that are handed on beyond that while a thread is held up, at most: another program keeps a core for some milliseconds, in which
/// short tasks make thousands.
const MOST_SPARE: usize = 2048;
/// Memory for these, at most.
const SPARE_BYTES: f64 = 4e6;

/// Where a replica gets its batches.
pub(crate) struct Inlet {
    ring: Consumer<Slot>,
    pub(crate) slot: Slot,
    /// Those of further batches that it takes at a time.
    pub(crate) further: Vec<Slot>,
    pub(crate) wires: Vec<usize>,
}

/// Where a replica hands its batches on.
pub(crate) struct Outlet {
    ring: Producer<Slot>,
    pub(crate) slot: Slot,
    /// Those of further batches that it has at a time.
    pub(crate) further: Vec<Slot>,
    pub(crate) wires: Vec<usize>,
}

impl Inlet {
    /// Exchanges the slot for the next one sent, and returns its number.
    ///
    /// # Errors
    /// The number that the stream ends before.
    pub(crate) fn receive(&mut self) -> Result<u64, u64> {
        let number = self.ring.receive(&mut self.slot)?;
        // It comes while this one is worked on.
        self.ring.peek(|next| next.buffers.iter().for_each(Buffer::prefetch));
        Ok(number)
    }

    /// Exchanges one of the further slots for the next one sent, if there is one now, and returns its number.
    pub(crate) fn receive_waiting(&mut self, further: usize) -> Option<u64> {
        self.ring.receive_waiting(&mut self.further[further])
    }

    /// Lets others run first that nobody can stand in for, where cores are shared; answers whether it did.
    pub(crate) fn give_way(&mut self) -> bool {
        self.ring.give_way()
    }

    /// Asks for its frames, and those of so many further batches, to come to the core of this thread.
    pub(crate) fn fetch(&self, further: usize) {
        fetch(&self.slot, &self.further[..further]);
    }

    /// How many batches wait, and how many may.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.ring.held()
    }

    /// How often and how long it waited for batches.
    pub(crate) fn waited(&self) -> Waited {
        self.ring.waited
    }
}

impl Outlet {
    /// Sets the number of what is sent next; without it numbers follow each other.
    pub(crate) fn number(&mut self, number: u64) {
        self.ring.number(number);
    }

    /// Hands the slot over, or one of the further ones, and leaves it without memory until [`take`](Self::take); `false` when
    /// nobody receives it any more.
    pub(crate) fn give(&mut self, further: Option<usize>) -> bool {
        self.ring.give(match further {
            None => &mut self.slot,
            Some(further) => &mut self.further[further],
        })
    }

    /// Exchanges all slots that were given for empty ones; `false` when nobody receives these any more.
    pub(crate) fn take(&mut self) -> bool {
        let Self { ring, slot, further, .. } = self;
        std::iter::once(slot).chain(further).filter(|slot| !slot.has_memory()).all(|slot| ring.take(slot))
    }

    /// As [`Inlet::fetch`].
    pub(crate) fn fetch(&self, further: usize) {
        fetch(&self.slot, &self.further[..further]);
    }

    /// How often and how long it waited for room.
    pub(crate) fn waited(&self) -> Waited {
        self.ring.waited
    }
}

fn fetch(slot: &Slot, further: &[Slot]) {
    std::iter::once(slot).chain(further).flat_map(|slot| &slot.buffers).for_each(Buffer::fetch);
}

/// The wires that are made before task `end` and used from there on.
pub(crate) fn crossing(wires: &[WireInfo], end: usize) -> Vec<usize> {
    (0..wires.len()).filter(|&wire| wires[wire].crosses(end)).collect()
}

/// What a slot has room for.
#[derive(Clone)]
pub(crate) struct Contents {
    /// Frames of a batch.
    batch: usize,
    /// Formats of the wires, and how many values a batch has of each.
    buffers: Box<[(Format, usize)]>,
}

impl Contents {
    /// A batch of so many frames of these wires.
    pub(crate) fn new(crossing: &[usize], wires: &[WireInfo], batch: usize) -> Self {
        let buffer = |&wire: &usize| (wires[wire].format, wires[wire].len * batch);
        Self { batch, buffers: crossing.iter().map(buffer).collect() }
    }

    /// [`usual_slots`], as far as memory allows: unless its depth is set, a ring holds so many of them.
    pub(crate) fn slots(&self, replicas: usize, turn: usize) -> usize {
        usual_slots(replicas, turn).min((RING_BYTES / self.bytes()) as usize).max(replicas)
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> f64 {
        let buffers = self.buffers.iter().map(|&(format, count)| format.bytes(count, 1));
        (size_of::<Slot>() + self.batch) as f64 + buffers.sum::<f64>()
    }
}

/// The batches that a ring has to hold for a turn of a thread that shares its core, by a plan with this period.
pub(crate) fn turn(period_ns: f64) -> usize {
    (TURN_NS / period_ns).min(MOST_OF_TURN) as usize
}

/// Slots of a ring for so many replicas of its larger side and such a [`turn`].
pub(crate) fn usual_slots(replicas: usize, turn: usize) -> usize {
    DEFAULT_DEPTH.saturating_mul(replicas).max(turn)
}

/// Room for a batch, in plain memory, or in `memory` where that is chosen.
///
/// # Errors
/// What the memory refuses.
pub(crate) fn slot(contents: &Contents, memory: Option<&Arc<dyn Memory>>) -> Result<Slot> {
    let buffer = |&(format, count): &(Format, usize)| {
        memory.map_or_else(|| Ok(Buffer::new(format, count)), |memory| Buffer::lent(memory, format, count))
    };
    let buffers = contents.buffers.iter().map(buffer).collect::<Result<_>>()?;
    Ok(Slot { batch: Batch::new(contents.batch), buffers, begun: None })
}

/// The ring between stages of `senders` and `receivers` replicas, for the wires that are made before task `end` and used
/// from there on; its frames lie in plain memory, or in `memory` where that is chosen. All rings of a pipeline have one `lost`. `before`
/// hears of each sender before memory is touched for what it sends.
///
/// # Errors
/// What the memory refuses.
pub(crate) fn connect(
    ends: Ends,
    end: usize,
    wires: &[WireInfo],
    batch: usize,
    memory: Option<&Arc<dyn Memory>>,
    (policy, lost): (WaitPolicy, &Arc<Lost>),
    before: impl Fn(usize),
) -> Result<(Vec<Outlet>, Vec<Inlet>)> {
    let crossing = crossing(wires, end);
    let contents = Contents::new(&crossing, wires, batch);
    let slot = || slot(&contents, memory);
    let slot_of = |sender| {
        before(sender);
        slot()
    };
    let Ends { senders: (senders, sent), receivers: (receivers, taken), .. } = ends;
    let slots_of = |slot: &dyn Fn() -> Result<Slot>, count| (0..count).map(|_| slot()).collect::<Result<Vec<Slot>>>();
    let own = (0..senders).map(|sender| slots_of(&|| slot_of(sender), sent)).collect::<Result<Vec<_>>>()?;
    let received = (0..receivers).map(|_| slots_of(&slot, taken)).collect::<Result<Vec<_>>>()?;
    let between = (0..ends.slots(&contents)).map(|index| slot_of(index % senders));
    let most = ends.spare(&contents, memory);
    let of_spare = contents.clone();
    let make = move || self::slot(&of_spare, None).expect("plain memory refuses nothing");
    let slots = Slots {
        slots: between.collect::<Result<_>>()?,
        spare: Spare { most, make: Box::new(make), lost: Arc::clone(lost) },
        held: sent,
    };
    let (producers, consumers) = ring(slots, (senders, receivers), policy);
    let outlet = |(ring, mut further): (_, Vec<Slot>)| {
        Some(Outlet { ring, slot: further.pop()?, further, wires: crossing.clone() })
    };
    let inlet = |(ring, mut further): (_, Vec<Slot>)| {
        Some(Inlet { ring, slot: further.pop()?, further, wires: crossing.clone() })
    };
    Ok((
        producers.into_iter().zip(own).filter_map(outlet).collect(),
        consumers.into_iter().zip(received).filter_map(inlet).collect(),
    ))
}

/// What is on both sides of a ring: replicas, how many batches each has at a time, and how many the ring holds at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) senders: (usize, usize),
    pub(crate) receivers: (usize, usize),
    pub(crate) least: usize,
    /// Batches of a [`turn`]; 0 where threads have cores of their own.
    pub(crate) turn: usize,
    /// Batches for one replica of the larger side, if that is set.
    pub(crate) depth: Option<usize>,
    /// Whether it may hold more while a thread is held up. Nobody takes the core of a device's lanes.
    pub(crate) grows: bool,
}

impl Ends {
    /// Between two stages, of which the later one may have a depth of its own.
    pub(crate) fn of(before: &StagePlan, after: &StagePlan, depth: Option<usize>) -> Self {
        Self {
            senders: (before.threads, before.gather),
            receivers: (after.threads, after.gather),
            least: before.ahead,
            turn: 0,
            depth: after.depth.or(depth),
            grows: before.device.is_none() && after.device.is_none(),
        }
    }

    /// How many batches the ring holds. Where replicas have several at a time, all of these fit, and one more.
    pub(crate) fn slots(self, contents: &Contents) -> usize {
        let Self { senders: (senders, sent), receivers: (receivers, taken), least, turn, depth, .. } = self;
        let gathered = (senders.saturating_mul(sent)).max(receivers.saturating_mul(taken)).saturating_add(1);
        let replicas = senders.max(receivers);
        let alone =
            depth.map_or_else(|| contents.slots(replicas, turn), |depth| depth.saturating_mul(replicas)).max(least);
        if sent.max(taken) > 1 { alone.max(gathered) } else { alone }
    }

    /// How many more it may hold while a thread is held up, unless its depth was set or its memory chosen.
    pub(crate) fn spare(self, contents: &Contents, memory: Option<&Arc<dyn Memory>>) -> usize {
        let has_any = self.grows && self.depth.is_none() && memory.is_none();
        if has_any { MOST_SPARE.min((SPARE_BYTES / contents.bytes()) as usize) } else { 0 }
    }
}

/// Where the wires that only pass through a stage stand on either side.
pub(crate) fn carried(inlet: &[usize], outlet: &[usize]) -> Vec<(usize, usize)> {
    let position = |wire: &usize| outlet.iter().position(|other| other == wire);
    inlet.iter().enumerate().filter_map(|(from, wire)| Some((from, position(wire)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_replica_has_room_for_a_batch_however_large() {
        let of_turn = |frame: usize, replicas, turn| {
            Contents { batch: 1, buffers: [(Format::of::<u8>(), frame)].into() }.slots(replicas, turn)
        };
        let slots = |frame, replicas| of_turn(frame, replicas, 0);
        assert_eq!([1000, 450_000, 900_000, 2_000_000].map(|frame| slots(frame, 2)), [8, 8, 4, 2]);
        assert_eq!(slots(1 << 40, 3), 3);
        assert_eq!(slots(1, usize::MAX), usize::MAX);
        assert_eq!([1000, 450_000, 2_000_000].map(|frame| of_turn(frame, 2, 24)), [24, 8, 2]);
        assert_eq!(of_turn(1000, 2, 5), 8);
    }

    #[test]
    fn a_turn_is_of_so_much_time() {
        assert_eq!([0.0, 100.0, 12_500.0, 300_000.0, 1e9].map(turn), [64, 64, 24, 1, 0]);
    }

    #[test]
    fn wires_that_jump_over_a_stage_are_carried() {
        assert_eq!(carried(&[0, 3, 5], &[1, 3, 0]), [(0, 2), (1, 1)]);
    }
}
