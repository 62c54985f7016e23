//! Between two stages: which wires cross, the rings that carry them, and the order in which replicas use the rings.
//!
//! Order is by construction. Between a stage of *m* replicas and one of *n* there are lcm(*m*, *n*) rings, each with one
//! sender and one receiver; the *k*-th batch goes through ring *k* mod lcm(*m*, *n*). So each replica knows, without
//! asking, where its next batch comes from and where it goes, and nothing is ever sorted.

use std::sync::Arc;

use crate::error::Result;
use crate::frame::{Batch, Buffer, Slot};
use crate::memory::Memory;
use crate::ring::{Consumer, Producer, after, ring};
use crate::wait::{WaitPolicy, Waited};
use crate::wire::WireInfo;

/// Where a replica gets its batches.
pub(crate) struct Inlet {
    rings: Vec<Consumer<Slot>>,
    next: usize,
    pub(crate) slot: Slot,
    pub(crate) wires: Vec<usize>,
}

/// Where a replica hands its batches on.
pub(crate) struct Outlet {
    rings: Vec<Producer<Slot>>,
    next: usize,
    pub(crate) slot: Slot,
    pub(crate) wires: Vec<usize>,
}

impl Inlet {
    /// Exchanges the slot for the next one sent; `false` when nothing is left and the sender is gone.
    pub(crate) fn receive(&mut self) -> bool {
        let received = self.rings[self.next].receive(&mut self.slot);
        self.next = after(self.next, self.rings.len());
        received
    }

    /// How many batches wait in the ring that is next, and how many it holds at most.
    pub(crate) fn held(&self) -> (usize, usize) {
        self.rings[self.next].held()
    }

    /// How often and how long it waited for batches.
    pub(crate) fn waited(&self) -> Waited {
        self.rings.iter().map(|ring| ring.waited).sum()
    }
}

impl Outlet {
    /// Exchanges the slot for an empty one; `false` when the receiver is gone.
    pub(crate) fn send(&mut self) -> bool {
        let sent = self.rings[self.next].send(&mut self.slot);
        self.next = after(self.next, self.rings.len());
        sent
    }

    /// How often and how long it waited for room.
    pub(crate) fn waited(&self) -> Waited {
        self.rings.iter().map(|ring| ring.waited).sum()
    }
}

/// The rings between stages of `senders` and `receivers` replicas, for the wires that are made before task `end` and used
/// from there on; their frames lie in plain memory, or in `memory` where that is chosen. `budget`: see [`depth`]. `before` hears
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
    let outlet = |sender| {
        before(sender);
        Ok(Outlet { rings: Vec::new(), next: 0, slot: slot()?, wires: crossing.clone() })
    };
    let mut outlets = (0..senders).map(outlet).collect::<Result<Vec<Outlet>>>()?;
    let inlet = |_| Ok(Inlet { rings: Vec::new(), next: 0, slot: slot()?, wires: crossing.clone() });
    let mut inlets = (0..receivers).map(inlet).collect::<Result<Vec<Inlet>>>()?;
    let depth = depth(budget, senders, receivers);
    for index in 0..rings(senders, receivers) {
        before(index % senders);
        let (producer, consumer) = ring((0..depth).map(|_| slot()).collect::<Result<_>>()?, policy);
        outlets[index % senders].rings.push(producer);
        inlets[index % receivers].rings.push(consumer);
    }
    Ok((outlets, inlets))
}

/// How many batches each ring between stages of so many replicas holds. The `budget` is what one replica of the larger side has
/// before or behind it, whatever the number of rings that it shares with the other side, so that memory grows with the
/// replicas and not with their least common multiple.
pub(crate) fn depth(budget: usize, senders: usize, receivers: usize) -> usize {
    let slots = budget as u128 * senders.max(receivers) as u128;
    // There are at least as many rings as replicas on the larger side.
    ((slots / rings(senders, receivers) as u128) as usize).max(1)
}

/// How many rings there are between stages of so many replicas: their least common multiple.
pub(crate) fn rings(senders: usize, receivers: usize) -> usize {
    let (mut x, mut y) = (senders, receivers);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    senders / x * receivers
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
    fn rings_are_a_common_multiple_of_both_sides() {
        assert_eq!([rings(1, 1), rings(2, 3), rings(4, 6), rings(5, 1)], [1, 6, 12, 5]);
    }

    #[test]
    fn the_budget_is_spread_over_the_rings_of_a_replica() {
        assert_eq!([depth(4, 1, 1), depth(4, 1, 8), depth(4, 8, 1), depth(4, 4, 8)], [4; 4]);
        assert_eq!([depth(4, 2, 3), depth(4, 5, 7), depth(1, 2, 3), depth(7, 2, 3)], [2, 1, 1, 3]);
        assert_eq!([depth(usize::MAX, 1, 1), depth(usize::MAX, 2, 3)], [usize::MAX, usize::MAX / 2]);
    }

    #[test]
    fn wires_that_jump_over_a_stage_are_carried() {
        assert_eq!(carried(&[0, 3, 5], &[1, 3, 0]), [(0, 2), (1, 1)]);
    }
}
