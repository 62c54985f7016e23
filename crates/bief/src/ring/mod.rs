//! The hand-over between threads: a bounded ring of numbered slots, which are exchanged and never copied.
//!
//! What is sent has a number, from 0 without a gap. Any producer may have the next number; consumers receive in order, each time
//! whichever of them is free. A sender puts its full slot in the cell of its number, and takes a slot that a receiver has left where it
//! took a full one; it waits where there is none. So a ring of *d* slots allocates them once and nothing afterwards, and those that go
//! round are as few, however many cells there are. Where threads share cores, a producer that has gone to sleep is woken only when half
//! the ring has room: it takes the core from a consumer then, and does not do so for each slot.
//!
//! What comes late holds up the consumer, not the other producers: while the number that is received next is not there, and all slots are
//! full of later ones, these go on with the ring's [spare](spare) slots. So they do while another program takes slices of the scheduler from
//! some thread of the pipeline: whoever has a core goes ahead by as much as goes through in such a time. Spare slots are given back before
//! anything else is sent.
//!
//! The stream ends at the lowest number that a producer will not send any more, or that is received next when a consumer goes: what is
//! below it is still handed over, and then every end learns of it.

#[cfg(all(test, bief_loom))]
mod model;
mod spare;
#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests;

use crate::memory::fetch;
use crate::sync::{Arc, AtomicU64, Ordering, UnsafeCell, spin_loop};
use crate::wait::{Signal, WaitPolicy, Waited};

pub(crate) use spare::Spare;
use spare::{Pace, Spares};

/// Keeps what different threads write on cache lines of their own (two lines: processors fetch them in pairs).
#[repr(align(128))]
struct Apart<T>(T);

struct Cell<S> {
    /// What becomes of the number that goes here: [`awaited`], then [`sent`], then [`received`].
    state: AtomicU64,
    /// One without memory while the number is awaited.
    slot: UnsafeCell<S>,
}

/// The number goes here next.
fn awaited(number: u64) -> u64 {
    3 * number
}

/// Its slot lies here.
fn sent(number: u64) -> u64 {
    3 * number + 1
}

/// The slot lies here that its receiver had before, until a producer takes it.
fn received(number: u64) -> u64 {
    3 * number + 2
}

struct Ring<S> {
    cells: Box<[Apart<Cell<S>>]>,
    /// How many slots the ring has, but for spare ones.
    depth: u64,
    spares: Spares<S>,
    /// The number that is received next.
    head: Apart<AtomicU64>,
    /// The number whose receiver's slot is taken next.
    room: Apart<AtomicU64>,
    /// The number that a consumer had to wait for last. It is written at each wait, and what lies around it is read for each slot.
    starved: Apart<AtomicU64>,
    /// No number from here on is handed over.
    end: Apart<AtomicU64>,
    /// For consumers, any of which may take what is sent.
    filled: Signal,
    /// For producers, any of which may take a slot.
    emptied: Signal,
    /// Who is woken takes the core from another thread of the pipeline: nobody is woken for little.
    shares_cores: bool,
    senders: usize,
    receivers: usize,
}

// SAFETY: a slot is touched by the one producer that has its number while `state` says that this is awaited; while it was sent, by the one
// consumer that has moved `head` beyond it; and when it was received, by the one producer that has moved `room` beyond it. The release
// stores and acquire loads of `state` order these.
unsafe impl<S: Send> Sync for Ring<S> {}
// SAFETY: a ring owns its slots.
unsafe impl<S: Send> Send for Ring<S> {}

/// A sending end. Dropping it ends the stream before the number that it would have sent next.
pub(crate) struct Producer<S> {
    ring: Arc<Ring<S>>,
    place: Place,
    room: Place,
    /// Which of the sending ends it is.
    index: u64,
    /// What is sent next. One of several producers is told it ([`number`](Self::number)) before each send, and where the stream ends.
    number: u64,
    /// While threads go ahead of others.
    pace: Option<Pace>,
    policy: WaitPolicy,
    /// For room.
    pub(crate) waited: Waited,
}

/// A receiving end. Dropping it ends the stream behind the number that was received last, by whomever.
pub(crate) struct Consumer<S> {
    ring: Arc<Ring<S>>,
    place: Place,
    /// Which of the receiving ends it is.
    index: u64,
    /// What it received last, and one more before the first; where the stream ends once it has.
    next: u64,
    policy: WaitPolicy,
    /// For slots.
    pub(crate) waited: Waited,
}

/// What a ring is made of.
pub(crate) struct Slots<S> {
    /// Empty ones, at least one.
    pub(crate) slots: Vec<S>,
    pub(crate) spare: Spare<S>,
    /// How many each producer has at a time.
    pub(crate) held: usize,
}

impl<S: Default + 'static> From<Vec<S>> for Slots<S> {
    fn from(slots: Vec<S>) -> Self {
        Self { slots, spare: Spare::default(), held: 1 }
    }
}

/// A ring of one sender and one receiver.
pub(crate) fn pair<S: Default + 'static>(slots: Vec<S>, policy: WaitPolicy) -> (Producer<S>, Consumer<S>) {
    let (mut producers, mut consumers) = ring(slots.into(), (1, 1), policy);
    (producers.remove(0), consumers.remove(0))
}

/// A number and the cell that it goes through: numbers that follow each other are found without a division.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    number: u64,
    cell: usize,
}

impl Place {
    /// The cell of a number no lower than the last one, in a ring of so many.
    fn cell(&mut self, number: u64, cells: usize) -> usize {
        let steps = number - self.number;
        let cell = self.cell as u64 + steps;
        self.number = number;
        self.cell = match cell {
            cell if cell < cells as u64 => cell as usize,
            cell if cell < 2 * cells as u64 => cell as usize - cells,
            cell => (cell % cells as u64) as usize,
        };
        self.cell
    }
}

/// A ring of these slots, for so many senders and receivers that wait with this `policy`.
pub(crate) fn ring<S: Default + 'static>(
    Slots { slots, spare, held }: Slots<S>,
    (senders, receivers): (usize, usize),
    policy: WaitPolicy,
) -> (Vec<Producer<S>>, Vec<Consumer<S>>) {
    assert!(!slots.is_empty(), "a ring has at least one slot");
    let depth = slots.len() as u64;
    // Every slot that the ring and its producers have may lie in a cell, and each producer may be about to take one out of another.
    let cells = slots.len() + spare.most + senders * (held + 1);
    // It begins as if so many numbers as it has slots had been received.
    let cell = |(number, slot): (u64, Option<S>)| {
        let state = if number < depth { received(number) } else { awaited(number) };
        Apart(Cell { state: AtomicU64::new(state), slot: UnsafeCell::new(slot.unwrap_or_default()) })
    };
    let signal = |threads| Signal::new(policy, threads, std::sync::Arc::clone(&spare.lost));
    let (filled, emptied) = (signal(receivers), signal(senders));
    let slots = slots.into_iter().map(Some).chain(std::iter::repeat_with(|| None)).take(cells);
    let ring = Arc::new(Ring {
        cells: (0..).zip(slots).map(cell).collect(),
        depth,
        spares: Spares::new(spare),
        head: Apart(AtomicU64::new(depth)),
        room: Apart(AtomicU64::new(0)),
        starved: Apart(AtomicU64::new(depth)),
        end: Apart(AtomicU64::new(u64::MAX)),
        filled,
        emptied,
        shares_cores: policy.shares_cores(),
        senders,
        receivers,
    });
    let (place, room, waited) = (Place::default(), Place::default(), Waited::default());
    let producer =
        |index| Producer { ring: Arc::clone(&ring), place, room, index, number: depth, pace: None, policy, waited };
    let consumer = |index| Consumer { ring: Arc::clone(&ring), place, index, next: depth, policy, waited };
    ((0..senders as u64).map(producer).collect(), (0..receivers as u64).map(consumer).collect())
}

/// Moves a counter beyond `number` for this end alone; `false` if another one did. It is `alone` where there is no other.
#[inline]
fn claim(counter: &AtomicU64, number: u64, alone: bool) -> bool {
    if alone {
        counter.store(number + 1, Ordering::Release);
        return true;
    }
    counter.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// What comes after `index` in a circle of so many.
fn after(index: usize, count: usize) -> usize {
    if index + 1 == count { 0 } else { index + 1 }
}

impl<S> Ring<S> {
    fn is_over(&self, number: u64) -> bool {
        number >= self.end.0.load(Ordering::Acquire)
    }

    /// Whether nothing is received any more. Slots that producers wait for may lie beyond the end then.
    fn has_ended(&self) -> bool {
        self.is_over(self.head.0.load(Ordering::Acquire))
    }

    fn state(&self, number: u64) -> u64 {
        self.cells[(number % self.cells.len() as u64) as usize].0.state.load(Ordering::Acquire)
    }

    /// Whether the number that is received next is there.
    fn has_next(&self) -> bool {
        let next = self.head.0.load(Ordering::Acquire);
        self.state(next) >= sent(next)
    }

    /// Whether a producer may take so many slots. Consumers leave them in any order.
    fn has_room(&self, slots: u64) -> bool {
        let first = self.room.0.load(Ordering::Acquire);
        let last = first + slots - 1;
        self.state(first) >= received(first) && self.state(last) >= received(last)
    }

    /// Whether a producer that finds no slot may take a spare one: the number that is received next is late. Once spare ones are lent,
    /// also after it has come, until the consumer has had as many numbers as the ring holds: it may wait for a core.
    fn is_held_up(&self) -> bool {
        self.senders > 1
            && self.spares.has_any()
            && (!self.has_next()
                || self.spares.lent() > 0
                    && self.head.0.load(Ordering::Acquire) < self.starved.0.load(Ordering::Relaxed) + self.depth)
    }

    /// Whether a consumer is to be woken when something was sent: for a number that others have to come before, it would sleep again.
    fn wakes_consumer(&self) -> bool {
        !self.shares_cores || self.has_next()
    }

    /// Whether a producer that sleeps is to be woken when a slot was received: there is room for it and, where it would soon sleep again,
    /// half a ring in all, beside what it has to give back. What it keeps counts as the ring's.
    fn wakes_producer(&self) -> bool {
        let lent = self.spares.lent();
        if lent > 0 && self.spares.are_wanted() {
            return self.has_room((lent + self.depth).div_ceil(2));
        }
        self.has_room(lent + if self.shares_cores { self.depth.div_ceil(2) } else { 1 })
    }

    /// Exchanges `slot` for a number that a consumer has claimed.
    #[inline]
    fn exchange(&self, number: u64, index: usize, slot: &mut S) {
        if self.receivers > 1 {
            // What follows may have been sent before this: whoever was woken for it saw that it was not its turn.
            let next = &self.cells[after(index, self.cells.len())].0.state;
            self.filled.wake_one(|| next.load(Ordering::Acquire) == sent(number + 1));
        }
        let cell = &self.cells[index].0;
        cell.slot.with_mut(|full| {
            // SAFETY: `state` says that this number was sent, and `head` that this consumer alone receives it.
            std::mem::swap(unsafe { &mut *full }, slot);
        });
        cell.state.store(received(number), Ordering::Release);
        self.emptied.wake_one(|| self.wakes_producer());
    }

    /// Ends the stream before `number`, unless it ends earlier.
    fn close(&self, number: u64) {
        self.end.0.fetch_min(number, Ordering::AcqRel);
        self.filled.wake_all();
        self.emptied.wake_all();
    }
}

impl<S: Default> Producer<S> {
    /// Sets the number of what is sent next, no lower than those before; or, where nothing more is, the end of the stream.
    pub(crate) fn number(&mut self, number: u64) {
        self.number = self.ring.depth + number;
    }

    /// Hands `slot` over and exchanges it for an empty one: [`give`](Self::give) and [`take`](Self::take).
    pub(crate) fn send(&mut self, slot: &mut S) -> bool {
        self.give(slot) && self.take(slot)
    }

    /// Hands `slot` over and leaves one without memory, for which [`take`](Self::take) gets another. A producer gives all that it has
    /// before it takes any: others may wait for that.
    ///
    /// Returns `false`, and leaves `slot` alone, when it would not be received any more.
    pub(crate) fn give(&mut self, slot: &mut S) -> bool {
        let ring = &*self.ring;
        let number = self.number;
        if ring.is_over(number) {
            return false;
        }
        let cell = &ring.cells[self.place.cell(number, ring.cells.len())].0;
        // There are more cells than slots: whoever took what lay here has done so, but this core may not have heard of it.
        while cell.state.load(Ordering::Acquire) != awaited(number) {
            spin_loop();
        }
        cell.slot.with_mut(|empty| {
            // SAFETY: the number is awaited here, no other producer has it, and no consumer receives it before `state` says so.
            std::mem::swap(unsafe { &mut *empty }, slot);
        });
        cell.state.store(sent(number), Ordering::Release);
        ring.filled.wake_one(|| ring.wakes_consumer());
        self.number = number + 1;
        true
    }

    /// Exchanges `slot` for an empty one; waits until there is one.
    ///
    /// Returns `false`, and leaves `slot` alone, when nothing is received any more.
    pub(crate) fn take(&mut self, slot: &mut S) -> bool {
        let mut waited = false;
        let mut looked = false;
        while !self.take_empty(slot) {
            let ring = &*self.ring;
            let (lent, ahead) = (ring.spares.lent(), ring.spares.ahead(&mut self.pace, self.number));
            // What is a little late comes while others run.
            let may_lend = lent < ahead || (looked || lent > 0) && ring.is_held_up();
            if may_lend && ring.spares.lend(slot) {
                break;
            }
            if ring.has_ended() {
                // What it would send next may have been sent by others, and is delivered then.
                self.number = ring.end.0.load(Ordering::Acquire);
                return false;
            }
            let helped = || ring.is_held_up();
            waited |= ring.emptied.wait_unless(helped, self.index, &mut self.policy, &mut self.waited, || {
                ring.has_room(1) || ring.spares.lent() > 0 && ring.is_held_up() || ring.has_ended()
            });
            looked = true;
        }
        self.waited.times += u64::from(waited);
        true
    }

    /// Takes a slot that was received, if there is one; those that are owed for spare ones are given back first, unless more are needed.
    fn take_empty(&mut self, slot: &mut S) -> bool {
        let ring = &*self.ring;
        let cells = ring.cells.len();
        loop {
            let number = ring.room.0.load(Ordering::Acquire);
            let index = self.room.cell(number, cells);
            let cell = &ring.cells[index].0;
            let state = cell.state.load(Ordering::Acquire);
            if state < received(number) {
                return false;
            }
            if !claim(&ring.room.0, number, ring.senders == 1) {
                continue;
            }
            cell.slot.with_mut(|used| {
                // SAFETY: `state` says that this number was received, and `room` that this producer alone takes what its receiver left.
                std::mem::swap(unsafe { &mut *used }, slot);
            });
            cell.state.store(awaited(number + cells as u64), Ordering::Release);
            let lent = ring.spares.lent();
            let owes = lent > 0 && lent > ring.spares.ahead(&mut self.pace, self.number);
            if owes && (ring.has_room(1) || !ring.is_held_up()) && ring.spares.give_back(slot) {
                continue;
            }
            let next = &ring.cells[after(index, cells)];
            match ring.senders {
                // It is written after the next frame, and another thread wrote it last.
                1 => fetch::<true>(std::ptr::from_ref(next).cast()),
                // Who slept may have been woken for this one.
                _ => ring.emptied.wake_one(|| ring.wakes_producer()),
            }
            return true;
        }
    }
}

impl<S> Consumer<S> {
    /// Exchanges `slot` with the lowest number that nobody has received, and returns that; waits until it is sent.
    ///
    /// # Errors
    /// The number that the stream ends before, when that is reached; `slot` is left alone.
    pub(crate) fn receive(&mut self, slot: &mut S) -> Result<u64, u64> {
        let ring = &*self.ring;
        let cells = ring.cells.len();
        let mut waited = false;
        let (number, index) = loop {
            let number = ring.head.0.load(Ordering::Acquire);
            let index = self.place.cell(number, cells);
            let state = &ring.cells[index].0.state;
            if state.load(Ordering::Acquire) == sent(number) && !ring.is_over(number) {
                if claim(&ring.head.0, number, ring.receivers == 1) {
                    break (number, index);
                }
                continue;
            }
            if ring.is_over(number) {
                // Once it is known that nothing comes, the end does not move beyond it.
                self.next = ring.end.0.load(Ordering::Acquire);
                return Err(self.next - ring.depth);
            }
            ring.starved.0.store(number, Ordering::Relaxed);
            if ring.shares_cores || ring.spares.lent() > 0 {
                // This core has nothing better to do than to let a producer use what room there is.
                ring.emptied.wake_one(|| ring.has_room(1));
            }
            waited |= ring.filled.wait(self.index, &mut self.policy, &mut self.waited, || {
                let head = ring.head.0.load(Ordering::Acquire);
                head != number || state.load(Ordering::Acquire) >= sent(number) || ring.is_over(number)
            });
        };
        self.waited.times += u64::from(waited);
        ring.exchange(number, index, slot);
        self.next = number + 1;
        Ok(number - ring.depth)
    }

    /// Shows `look` what is received next, if it is there already and nobody else may take it. Where threads share cores, it mostly is: the
    /// ring holds a turn of them.
    pub(crate) fn peek(&mut self, look: impl FnOnce(&S)) {
        let ring = &*self.ring;
        if ring.receivers > 1 || !ring.shares_cores {
            return;
        }
        let number = self.next;
        let cell = &ring.cells[self.place.cell(number, ring.cells.len())].0;
        if cell.state.load(Ordering::Acquire) == sent(number) {
            cell.slot.with_mut(|slot| {
                // SAFETY: `state` says that this number was sent: nobody touches it until this consumer, which is the only one, receives it.
                look(unsafe { &*slot });
            });
        }
    }

    /// Lets others run, where cores are shared and another receiving end could take what comes next as well: answers whether it did.
    pub(crate) fn give_way(&mut self) -> bool {
        let took = self.policy.give_way();
        took.inspect(|&took| self.waited.gave_way(took)).is_some()
    }

    /// As [`receive`](Self::receive), of what is there: `None` where nothing is.
    pub(crate) fn receive_waiting(&mut self, slot: &mut S) -> Option<u64> {
        let ring = &*self.ring;
        let cells = ring.cells.len();
        loop {
            let number = ring.head.0.load(Ordering::Acquire);
            let index = self.place.cell(number, cells);
            if ring.cells[index].0.state.load(Ordering::Acquire) != sent(number) || ring.is_over(number) {
                return None;
            }
            if claim(&ring.head.0, number, false) {
                ring.exchange(number, index, slot);
                self.next = number + 1;
                return Some(number - ring.depth);
            }
        }
    }

    /// How many slots there are to be received just now, and how many the ring holds at most, but for spare ones.
    pub(crate) fn held(&self) -> (usize, usize) {
        let depth = self.ring.depth;
        let head = self.ring.head.0.load(Ordering::Relaxed);
        let is_sent = |&number: &u64| self.ring.state(number) == sent(number);
        ((head..head + depth).take_while(is_sent).count(), depth as usize)
    }
}

impl<S> Drop for Producer<S> {
    fn drop(&mut self) {
        self.ring.close(self.number);
    }
}

impl<S> Drop for Consumer<S> {
    fn drop(&mut self) {
        // Others may have received more than this end. Where they learned of an end before that, they would end what they hand on there too.
        let received = self.ring.head.0.load(Ordering::Acquire);
        self.ring.close(self.next.max(received));
    }
}
