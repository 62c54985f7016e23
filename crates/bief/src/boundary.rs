//! Between two stages: which wires cross, and the ring that carries them from any replica to whichever is free.

use std::sync::Arc;

use crate::error::Result;
use crate::frame::{Batch, Buffer, Slot};
use crate::memory::Memory;
use crate::ring::{Consumer, Producer, ring};
use crate::wait::{WaitPolicy, Waited};
use crate::wire::WireInfo;

/// Where a replica gets its batches.
pub(crate) struct Inlet {
    ring: Consumer<Slot>,
    pub(crate) slot: Slot,
    pub(crate) wires: Vec<usize>,
}

/// Where a replica hands its batches on.
pub(crate) struct Outlet {
    ring: Producer<Slot>,
    pub(crate) slot: Slot,
    pub(crate) wires: Vec<usize>,
}

impl Inlet {
    /// Exchanges the slot for the next one sent, and returns its number.
    ///
    /// # Errors
    /// The number that the stream ends before.
    pub(crate) fn receive(&mut self) -> Result<u64, u64> {
        self.ring.receive(&mut self.slot)
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

    /// Exchanges the slot for an empty one; `false` when nobody receives it any more.
    pub(crate) fn send(&mut self) -> bool {
        self.ring.send(&mut self.slot)
    }

    /// How often and how long it waited for room.
    pub(crate) fn waited(&self) -> Waited {
        self.ring.waited
    }
}

/// The ring between stages of `senders` and `receivers` replicas, for the wires that are made before task `end` and used
/// from there on; its frames lie in plain memory, or in `memory` where that is chosen. `budget`: see [`slots`]. `before` hears
/// of each sender before memory is touched for what it sends.
///
/// # Errors
/// What the memory refuses.
pub(crate) fn connect(
    (senders, receivers): (usize, usize),
    end: usize,
    wires: &[WireInfo],
    (batch, budget): (usize, usize),
    memory: Option<&Arc<dyn Memory>>,
    policy: WaitPolicy,
    before: impl Fn(usize),
) -> Result<(Vec<Outlet>, Vec<Inlet>)> {
    let crossing: Vec<usize> = (0..wires.len()).filter(|&wire| wires[wire].crosses(end)).collect();
    let slot = || {
        let buffer = |&wire: &usize| {
            let (format, count) = (wires[wire].format, wires[wire].len * batch);
            memory.map_or_else(|| Ok(Buffer::new(format, count)), |memory| Buffer::lent(memory, format, count))
        };
        let buffers = crossing.iter().map(buffer).collect::<Result<_>>()?;
        Ok(Slot { batch: Batch::new(batch), buffers, begun: None })
    };
    let slot_of = |sender| {
        before(sender);
        slot()
    };
    let own = (0..senders).map(slot_of).collect::<Result<Vec<Slot>>>()?;
    let received = (0..receivers).map(|_| slot()).collect::<Result<Vec<Slot>>>()?;
    let between = (0..slots(budget, senders, receivers)).map(|index| slot_of(index % senders));
    let (producers, consumers) = ring(between.collect::<Result<_>>()?, (senders, receivers), policy);
    let outlet = |(ring, slot)| Outlet { ring, slot, wires: crossing.clone() };
    let inlet = |(ring, slot)| Inlet { ring, slot, wires: crossing.clone() };
    Ok((producers.into_iter().zip(own).map(outlet).collect(), consumers.into_iter().zip(received).map(inlet).collect()))
}

/// How many batches the ring between stages of so many replicas holds. The `budget` is what one replica of the larger side has.
pub(crate) fn slots(budget: usize, senders: usize, receivers: usize) -> usize {
    budget.saturating_mul(senders.max(receivers))
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
    fn wires_that_jump_over_a_stage_are_carried() {
        assert_eq!(carried(&[0, 3, 5], &[1, 3, 0]), [(0, 2), (1, 1)]);
    }
}
