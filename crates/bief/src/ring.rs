//! The hand-over between threads: a bounded ring of numbered slots, which are exchanged and never copied.
//!
//! What is sent has a number, from 0 without a gap. Any producer may have the next number; consumers receive in order, each time
//! whichever of them is free. A sender swaps its full slot with the empty one of its number; a receiver swaps its used slot
//! with a full one. So a ring of *d* slots allocates them once and nothing afterwards, and number *k* waits for number *k - d*
//! to be received, and for nothing else; but where threads share cores, a producer that has gone to sleep for it is woken only when half
//! the ring has room: it takes the core from a consumer then, and does not do so for each slot.
//!
//! The stream ends at the lowest number that a producer will not send any more, or that a consumer will not receive: what is
//! below it is still handed over, and then every end learns of it.

use crate::sync::{Arc, AtomicU64, Ordering, UnsafeCell};
use crate::wait::{Signal, WaitPolicy, Waited};

/// Keeps what different threads write on cache lines of their own (two lines: processors fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

#[derive(Debug)]
struct Cell<S> {
    /// Twice the number that goes here next while the slot is empty, and one more while that number is in it.
    turn: AtomicU64,
    slot: UnsafeCell<S>,
}

#[derive(Debug)]
struct Ring<S> {
    cells: Box<[Apart<Cell<S>>]>,
    /// The number that is received next.
    head: Apart<AtomicU64>,
    /// No number from here on is handed over.
    end: Apart<AtomicU64>,
    /// For consumers, any of which may take what is sent.
    filled: Signal,
    /// For producers, each of which waits for the slot of its number.
    emptied: Signal,
    /// Who is woken takes the core from another thread of the pipeline: nobody is woken for little.
    shares_cores: bool,
    senders: usize,
    receivers: usize,
}

// SAFETY: a slot is touched by the one producer that has the number of its `turn` while that says that it is empty, and while it says
// that it is full by the one consumer that has moved `head` beyond that number; the release stores and acquire loads of `turn`
// order the two.
unsafe impl<S: Send> Sync for Ring<S> {}
// SAFETY: a ring owns its slots.
unsafe impl<S: Send> Send for Ring<S> {}

/// A sending end. Dropping it ends the stream before the number that it would have sent next.
#[derive(Debug)]
pub(crate) struct Producer<S> {
    ring: Arc<Ring<S>>,
    place: Place,
    /// What is sent next. One of several producers is told it ([`number`](Self::number)) before each send, and where the stream ends.
    number: u64,
    policy: WaitPolicy,
    /// For room.
    pub(crate) waited: Waited,
}

/// A receiving end. Dropping it ends the stream behind the number that it received last.
#[derive(Debug)]
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

/// A ring of one sender and one receiver.
pub(crate) fn pair<S>(slots: Vec<S>, policy: WaitPolicy) -> (Producer<S>, Consumer<S>) {
    let (mut producers, mut consumers) = ring(slots, (1, 1), policy);
    (producers.remove(0), consumers.remove(0))
}

fn empty(number: u64) -> u64 {
    2 * number
}

fn full(number: u64) -> u64 {
    2 * number + 1
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

/// A ring of the given empty slots (at least one), for so many senders and receivers that wait with this `policy`.
pub(crate) fn ring<S>(
    slots: Vec<S>,
    (senders, receivers): (usize, usize),
    policy: WaitPolicy,
) -> (Vec<Producer<S>>, Vec<Consumer<S>>) {
    assert!(!slots.is_empty(), "a ring has at least one slot");
    let cell = |(number, slot)| Apart(Cell { turn: AtomicU64::new(empty(number)), slot: UnsafeCell::new(slot) });
    let ring = Arc::new(Ring {
        cells: (0..).zip(slots).map(cell).collect(),
        head: Apart(AtomicU64::new(0)),
        end: Apart(AtomicU64::new(u64::MAX)),
        filled: Signal::new(policy, receivers),
        emptied: Signal::new(policy, senders),
        shares_cores: policy.shares_cores(),
        senders,
        receivers,
    });
    let (place, waited) = (Place::default(), Waited::default());
    let producer = |_| Producer { ring: Arc::clone(&ring), place, number: 0, policy, waited };
    let consumer = |index| Consumer { ring: Arc::clone(&ring), place, index, next: 0, policy, waited };
    ((0..senders).map(producer).collect(), (0..receivers as u64).map(consumer).collect())
}

/// What comes after `index` in a circle of so many.
fn after(index: usize, count: usize) -> usize {
    if index + 1 == count { 0 } else { index + 1 }
}

/// Asks for memory that will be written soon, which another thread wrote last: it comes while the frame is worked on.
pub(crate) fn fetch<T>(memory: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint about an address; nothing is read or written.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(memory.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = memory;
}

impl<S> Ring<S> {
    fn is_over(&self, number: u64) -> bool {
        number >= self.end.0.load(Ordering::Acquire)
    }

    fn turn(&self, number: u64) -> u64 {
        self.cells[(number % self.cells.len() as u64) as usize].0.turn.load(Ordering::Acquire)
    }

    /// Whether a consumer is to be woken when something was sent: for a number that others have to come before, it would sleep again.
    fn wakes_consumer(&self) -> bool {
        let next = self.head.0.load(Ordering::Acquire);
        !self.shares_cores || self.turn(next) >= full(next)
    }

    /// Whether a producer that sleeps before it sends `number` is to be woken: there is room for that and, where it would soon sleep again,
    /// for others behind it, half a ring in all. Consumers make room in any order.
    fn wakes_producer(&self, number: u64) -> bool {
        let last = if self.shares_cores { number + (self.cells.len() as u64 - 1) / 2 } else { number };
        self.turn(number) >= empty(number) && self.turn(last) >= empty(last)
    }

    /// Ends the stream before `number`, unless it ends earlier.
    fn close(&self, number: u64) {
        self.end.0.fetch_min(number, Ordering::AcqRel);
        self.filled.wake_all();
        self.emptied.wake_all();
    }
}

impl<S> Producer<S> {
    /// Sets the number of what is sent next, no lower than those before; or, where nothing more is, the end of the stream.
    pub(crate) fn number(&mut self, number: u64) {
        self.number = number;
    }

    /// Exchanges `slot` with the empty one of its number and hands it over; waits until that is received which lay there before.
    ///
    /// Returns `false`, and leaves `slot` alone, when it would not be received any more.
    pub(crate) fn send(&mut self, slot: &mut S) -> bool {
        let ring = &*self.ring;
        let number = self.number;
        let index = self.place.cell(number, ring.cells.len());
        let cell = &ring.cells[index].0;
        let is_empty = || cell.turn.load(Ordering::Acquire) == empty(number);
        let mut waited = false;
        if !is_empty() {
            waited =
                ring.emptied.wait(number, &mut self.policy, &mut self.waited, || is_empty() || ring.is_over(number));
        }
        if ring.is_over(number) {
            return false;
        }
        self.waited.times += u64::from(waited);
        cell.slot.with_mut(|empty| {
            // SAFETY: it is this number's turn, which no other producer has, and no consumer before `turn` says so.
            std::mem::swap(unsafe { &mut *empty }, slot);
        });
        cell.turn.store(full(number), Ordering::Release);
        ring.filled.wake_one(|| ring.wakes_consumer());
        self.number = number + 1;
        if ring.senders == 1 {
            fetch(&ring.cells[after(index, ring.cells.len())]);
        }
        true
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
            let turn = &ring.cells[index].0.turn;
            if turn.load(Ordering::Acquire) == full(number) && !ring.is_over(number) {
                if ring.receivers == 1 {
                    ring.head.0.store(number + 1, Ordering::Release);
                    break (number, index);
                }
                let claimed =
                    ring.head.0.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
                if claimed {
                    break (number, index);
                }
                continue;
            }
            if ring.is_over(number) {
                // Once it is known that nothing comes, the end does not move beyond it.
                self.next = ring.end.0.load(Ordering::Acquire);
                return Err(self.next);
            }
            waited |= ring.filled.wait(self.index, &mut self.policy, &mut self.waited, || {
                let head = ring.head.0.load(Ordering::Acquire);
                head != number || turn.load(Ordering::Acquire) >= full(number) || ring.is_over(number)
            });
        };
        self.waited.times += u64::from(waited);
        self.take(number, index, slot);
        Ok(number)
    }

    /// As [`receive`](Self::receive), of what is there: `None` where nothing is.
    pub(crate) fn receive_waiting(&mut self, slot: &mut S) -> Option<u64> {
        let ring = &*self.ring;
        let cells = ring.cells.len();
        loop {
            let number = ring.head.0.load(Ordering::Acquire);
            let index = self.place.cell(number, cells);
            if ring.cells[index].0.turn.load(Ordering::Acquire) != full(number) || ring.is_over(number) {
                return None;
            }
            if ring.head.0.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                self.take(number, index, slot);
                return Some(number);
            }
        }
    }

    /// Takes the number that this end has claimed.
    #[inline]
    fn take(&mut self, number: u64, index: usize, slot: &mut S) {
        let ring = &*self.ring;
        let cells = ring.cells.len();
        self.next = number + 1;
        if ring.receivers > 1 {
            // What follows may have been sent before this: whoever was woken for it saw that it was not its turn.
            let next = &ring.cells[after(index, cells)].0.turn;
            ring.filled.wake_one(|| next.load(Ordering::Acquire) == full(number + 1));
        }
        let cell = &ring.cells[index].0;
        cell.slot.with_mut(|full| {
            // SAFETY: `turn` says that this number was sent, and `head` that this consumer alone receives it.
            std::mem::swap(unsafe { &mut *full }, slot);
        });
        cell.turn.store(empty(number + cells as u64), Ordering::Release);
        ring.emptied.wake(|number| ring.wakes_producer(number));
    }

    /// How many slots there are to be received just now, and how many the ring holds at most.
    pub(crate) fn held(&self) -> (usize, usize) {
        let cells = self.ring.cells.len();
        let head = self.ring.head.0.load(Ordering::Relaxed);
        let is_full = |&number: &u64| self.ring.turn(number) == full(number);
        ((head..head + cells as u64).take_while(is_full).count(), cells)
    }
}

impl<S> Drop for Producer<S> {
    fn drop(&mut self) {
        self.ring.close(self.number);
    }
}

impl<S> Drop for Consumer<S> {
    fn drop(&mut self) {
        self.ring.close(self.next);
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;
    use crate::wait::{Look, Trial};

    fn policies() -> [WaitPolicy; 3] {
        [WaitPolicy::Park, WaitPolicy::Adapt(Look::Spin, Trial::default()), WaitPolicy::Look(Look::Yield)]
    }

    #[test]
    fn everything_sent_is_received_in_order_at_any_depth() {
        let last = if cfg!(miri) { 100 } else { 2000 };
        for depth in [1, 2, 3, 16] {
            for policy in policies() {
                let (mut producer, mut consumer) = pair(vec![0_u32; depth], policy);
                let sender = std::thread::spawn(move || {
                    for value in 1..=last {
                        let mut slot = value;
                        assert!(producer.send(&mut slot));
                    }
                });
                let mut slot = 0;
                for value in 1..=last {
                    assert_eq!(consumer.receive(&mut slot), Ok(u64::from(value) - 1));
                    assert_eq!(slot, value);
                }
                assert_eq!(consumer.receive(&mut slot), Err(last.into()), "the producer is gone");
                sender.join().unwrap();
            }
        }
    }

    /// Relays between two rings of so many numbers each take a number from the first and send it on under that number.
    #[test]
    fn numbers_keep_their_order_whoever_relays_them() {
        let last: u64 = if cfg!(miri) { 40 } else { 3000 };
        for (relays, depth) in [(2, 1), (2, 4), (3, 2), (5, 7)] {
            for policy in policies() {
                let (mut sources, consumers) = ring(vec![0_u64; depth], (1, relays), policy);
                let (producers, mut sinks) = ring(vec![0_u64; depth], (relays, 1), policy);
                let relayed = std::thread::scope(|scope| {
                    let mut source = sources.remove(0);
                    scope.spawn(move || (0..last).for_each(|value| assert!(source.send(&mut { 10 * value }))));
                    let relays = consumers.into_iter().zip(producers).map(|(mut consumer, mut producer)| {
                        scope.spawn(move || {
                            let mut relayed = 0;
                            let mut slot = 0;
                            let end = loop {
                                match consumer.receive(&mut slot) {
                                    Ok(number) => {
                                        producer.number(number);
                                        assert!(producer.send(&mut { slot + 1 }));
                                        relayed += 1;
                                    }
                                    Err(end) => break end,
                                }
                            };
                            producer.number(end);
                            relayed
                        })
                    });
                    let relays: Vec<_> = relays.collect();
                    let mut sink = sinks.remove(0);
                    let mut slot = 0;
                    for number in 0..last {
                        assert_eq!((sink.receive(&mut slot), slot), (Ok(number), 10 * number + 1));
                    }
                    assert_eq!(sink.receive(&mut slot), Err(last));
                    relays.into_iter().map(|relay| relay.join().unwrap()).sum::<u64>()
                });
                assert_eq!(relayed, last);
            }
        }
    }

    #[test]
    fn what_is_late_holds_up_nothing_but_the_window() {
        let (mut producers, mut consumers) = ring(vec![0; 3], (2, 1), WaitPolicy::Park);
        let [late, early] = &mut producers[..] else { panic!("two") };
        for number in [1, 2] {
            early.number(number);
            assert!(early.send(&mut { number }));
        }
        assert_eq!(consumers[0].held(), (0, 3), "0 comes first");
        assert!(late.send(&mut 0));
        assert_eq!(consumers[0].held(), (3, 3));
        for number in 0..3 {
            let mut slot = 9;
            assert_eq!((consumers[0].receive(&mut slot), slot), (Ok(number), number));
        }
    }

    #[test]
    fn the_stream_ends_at_the_lowest_number_that_is_not_sent() {
        let (mut producers, mut consumers) = ring(vec![0; 4], (2, 1), WaitPolicy::Park);
        let [first, second] = &mut producers[..] else { panic!("two") };
        second.number(1);
        assert!(second.send(&mut 1));
        second.number(3);
        assert!(second.send(&mut 3));
        assert!(first.send(&mut 0));
        first.number(2);
        // It never sends 2.
        drop(producers.remove(0));
        assert!(!producers[0].send(&mut 4), "nobody would receive it");
        let received: Vec<_> = (0..3).map(|_| consumers[0].receive(&mut 0)).collect();
        assert_eq!(received, [Ok(0), Ok(1), Err(2)]);
    }

    #[test]
    fn what_waits_is_received_without_waiting_for_more() {
        let (mut producer, mut consumers) = {
            let (mut producers, consumers) = ring(vec![0; 3], (1, 2), WaitPolicy::Park);
            (producers.remove(0), consumers)
        };
        let [first, second] = &mut consumers[..] else { panic!("two") };
        let mut slot = 9;
        assert_eq!(first.receive_waiting(&mut slot), None);
        (0..3).for_each(|number| assert!(producer.send(&mut { number })));
        assert_eq!((second.receive_waiting(&mut slot), slot), (Some(0), 0));
        assert_eq!((first.receive_waiting(&mut slot), slot), (Some(1), 1));
        assert_eq!((first.receive(&mut slot), slot), (Ok(2), 2));
        assert_eq!(first.receive_waiting(&mut slot), None);
        drop(producer);
        assert_eq!((first.receive_waiting(&mut slot), first.receive(&mut slot)), (None, Err(3)));
    }

    #[test]
    fn slots_are_exchanged_not_copied() {
        let (mut producer, mut consumer) = pair(vec![Box::new(0), Box::new(0)], WaitPolicy::Park);
        let mut full = Box::new(7);
        let address: *const i32 = &*full;
        producer.send(&mut full);
        let mut used = Box::new(0);
        assert_eq!(consumer.receive(&mut used), Ok(0));
        assert_eq!((&raw const *used, *used), (address, 7));
    }

    #[test]
    fn what_the_ring_holds_and_who_waited_is_told() {
        let (mut producer, mut consumer) = pair(vec![0; 3], WaitPolicy::Park);
        assert_eq!(consumer.held(), (0, 3));
        for held in 1..=3 {
            assert!(producer.send(&mut 1));
            assert_eq!(consumer.held(), (held, 3));
        }
        (0..3).for_each(|number| assert_eq!(consumer.receive(&mut 0), Ok(number)));
        assert_eq!((producer.waited.times, consumer.waited.times), (0, 0));
        let sender = std::thread::spawn(move || {
            (0..30).for_each(|_| assert!(producer.send(&mut 1)));
            producer.waited.times
        });
        for _ in 0..30 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(consumer.receive(&mut 0).is_ok());
        }
        let received = consumer.waited.times;
        assert!(consumer.receive(&mut 0).is_err());
        assert_eq!(consumer.waited.times, received, "the end of the stream is no slot");
        assert!((1..=27).contains(&sender.join().unwrap()), "all but the first three may have to wait, and some do");
    }

    #[test]
    fn a_producer_learns_that_the_consumer_is_gone() {
        let (mut producer, consumer) = pair(vec![0], WaitPolicy::Park);
        assert!(producer.send(&mut 1));
        let sender = std::thread::spawn(move || producer.send(&mut 2));
        std::thread::sleep(std::time::Duration::from_millis(5));
        drop(consumer);
        assert!(!sender.join().unwrap());
    }
}

/// Every interleaving, by the model checker: `RUSTFLAGS="--cfg bief_loom" cargo test -p bief --release --lib ring`.
#[cfg(all(test, bief_loom))]
mod model {
    use super::*;
    use crate::sync::thread;
    use crate::wait::{Look, Trial};

    /// With the ways to wait that park, on cores that nobody shares; so many preemptions are tried.
    fn model(preemptions: usize, f: impl Fn(WaitPolicy) + Copy + Sync + Send + 'static) {
        model_with(&[WaitPolicy::Park, WaitPolicy::Adapt(Look::Spin, Trial::default())], preemptions, f);
    }

    fn model_with(policies: &[WaitPolicy], preemptions: usize, f: impl Fn(WaitPolicy) + Copy + Sync + Send + 'static) {
        for &policy in policies {
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(preemptions);
            builder.check(move || f(policy));
        }
    }

    /// All ends on threads of their own. The one that joins must not be woken: loom takes a late wake-up for what it waits for.
    fn run(ends: Vec<Box<dyn FnOnce() + Send>>) {
        let threads: Vec<_> = ends.into_iter().map(thread::spawn).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn frames_arrive_in_order_through_one_slot() {
        model(3, |policy| {
            let (mut producer, mut consumer) = pair(vec![0], policy);
            let sends = move || {
                for value in 1..=3 {
                    assert!(producer.send(&mut { value }));
                }
            };
            let receives = move || {
                let mut slot = 0;
                for value in 1..=3 {
                    assert!(consumer.receive(&mut slot).is_ok());
                    assert_eq!(slot, value);
                }
                assert!(consumer.receive(&mut slot).is_err());
            };
            run(vec![Box::new(sends), Box::new(receives)]);
        });
    }

    #[test]
    fn two_producers_take_turns_at_one_slot() {
        model(2, |policy| {
            let (producers, mut consumers) = ring(vec![0], (2, 1), policy);
            let mut ends: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
            for (number, mut producer) in (0..).zip(producers) {
                ends.push(Box::new(move || {
                    producer.number(number);
                    assert!(producer.send(&mut { number + 1 }));
                    producer.number(2);
                }));
            }
            let mut consumer = consumers.remove(0);
            ends.push(Box::new(move || {
                let mut slot = 0;
                for number in 0..2 {
                    assert_eq!((consumer.receive(&mut slot), slot), (Ok(number), number + 1));
                }
                assert_eq!(consumer.receive(&mut slot), Err(2));
            }));
            run(ends);
        });
    }

    #[test]
    fn two_consumers_share_what_is_sent_and_both_learn_of_the_end() {
        model(2, |policy| {
            let (mut producers, consumers) = ring(vec![0; 2], (1, 2), policy);
            let mut producer = producers.remove(0);
            let mut ends: Vec<Box<dyn FnOnce() + Send>> = vec![Box::new(move || {
                for value in 1..=2 {
                    assert!(producer.send(&mut { value }));
                }
            })];
            let seen = Arc::new(AtomicU64::new(0));
            for mut consumer in consumers {
                let seen = Arc::clone(&seen);
                ends.push(Box::new(move || {
                    let mut slot = 0;
                    while let Ok(number) = consumer.receive(&mut slot) {
                        assert_eq!(slot, number + 1);
                        let before = seen.fetch_or(1 << number, Ordering::Relaxed);
                        assert_eq!(before & (1 << number), 0, "it was received twice");
                    }
                }));
            }
            run(ends);
            assert_eq!(seen.load(Ordering::Relaxed), 0b11);
        });
    }

    #[test]
    fn a_consumer_that_takes_what_waits_takes_nothing_from_the_other() {
        model(2, |policy| {
            let (mut producers, mut consumers) = ring(vec![0; 2], (1, 2), policy);
            let (mut producer, mut other, mut greedy) = (producers.remove(0), consumers.remove(1), consumers.remove(0));
            let seen = Arc::new(AtomicU64::new(0));
            let note = |seen: &AtomicU64, number: u64, slot: u64| {
                assert_eq!(slot, number + 1);
                let before = seen.fetch_or(1 << number, Ordering::Relaxed);
                assert_eq!(before & (1 << number), 0, "it was received twice");
            };
            let (of_greedy, of_other) = (Arc::clone(&seen), Arc::clone(&seen));
            let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
                Box::new(move || (1..=2).for_each(|value| assert!(producer.send(&mut { value })))),
                Box::new(move || {
                    let (mut slot, mut further) = (0, 0);
                    while let Ok(number) = greedy.receive(&mut slot) {
                        note(&of_greedy, number, slot);
                        if let Some(number) = greedy.receive_waiting(&mut further) {
                            note(&of_greedy, number, further);
                        }
                    }
                }),
                Box::new(move || {
                    let mut slot = 0;
                    while let Ok(number) = other.receive(&mut slot) {
                        note(&of_other, number, slot);
                    }
                }),
            ];
            run(ends);
            assert_eq!(seen.load(Ordering::Relaxed), 0b11);
        });
    }

    /// What comes later is sent first: whoever is woken for it must not take the wake-up of the other away.
    #[test]
    fn what_is_sent_out_of_order_wakes_both_consumers() {
        let apart = WaitPolicy::Adapt(Look::Spin, Trial::default());
        let on_shared_cores = WaitPolicy::Adapt(Look::Yield, Trial::default());
        model_with(&[WaitPolicy::Park, apart, on_shared_cores], 2, |policy| {
            let (mut producers, consumers) = ring(vec![0; 2], (2, 2), policy);
            let mut producer = producers.remove(0);
            let receive = |mut consumer: Consumer<u64>| {
                thread::spawn(move || {
                    let mut slot = 0;
                    let number = consumer.receive(&mut slot).expect("two are sent");
                    assert_eq!(slot, number + 1);
                    consumer
                })
            };
            let consumers: Vec<_> = consumers.into_iter().map(receive).collect();
            let sender = thread::spawn(move || {
                for number in [1, 0] {
                    // One end does the work of both, of which the second was faster.
                    producer.place = Place::default();
                    producer.number(number);
                    assert!(producer.send(&mut { number + 1 }));
                }
                producer
            });
            // An end that goes away would wake whoever was forgotten.
            let consumers: Vec<_> = consumers.into_iter().map(|thread| thread.join().unwrap()).collect();
            drop((sender.join().unwrap(), producers, consumers));
        });
    }

    /// The producer sleeps until two slots have come back: whichever of them is the last must wake it.
    #[test]
    fn room_that_is_made_out_of_order_wakes_the_producer() {
        model_with(&[WaitPolicy::Adapt(Look::Yield, Trial::default())], 2, |policy| {
            let (mut producers, consumers) = ring(vec![0; 3], (1, 2), policy);
            let mut producer = producers.remove(0);
            // All slots are full before anyone looks.
            (0..3).for_each(|value| assert!(producer.send(&mut { value })));
            let sender = thread::spawn(move || {
                assert!(producer.send(&mut 3));
                producer
            });
            let receive = |mut consumer: Consumer<u64>| {
                thread::spawn(move || {
                    let mut slot = 0;
                    let number = consumer.receive(&mut slot).expect("more were sent");
                    assert_eq!(slot, number);
                    consumer
                })
            };
            let consumers: Vec<_> = consumers.into_iter().map(receive).collect();
            // An end that goes away would wake the producer.
            let consumers: Vec<_> = consumers.into_iter().map(|thread| thread.join().unwrap()).collect();
            drop((sender.join().unwrap(), consumers));
        });
    }

    #[test]
    fn a_consumer_that_goes_away_never_leaves_the_producer_waiting() {
        model(3, |policy| {
            let (mut producer, mut consumer) = pair(vec![0], policy);
            let sends = move || {
                producer.send(&mut 1);
                producer.send(&mut 2);
                producer.send(&mut 3);
            };
            let receives = move || {
                let _ = consumer.receive(&mut 0);
            };
            run(vec![Box::new(sends), Box::new(receives)]);
        });
    }

    #[test]
    fn a_producer_that_fails_ends_the_stream_for_the_other() {
        model(2, |policy| {
            let (mut producers, mut consumers) = ring(vec![0], (2, 1), policy);
            let (mut other, failing) = (producers.remove(1), producers.remove(0));
            let mut consumer = consumers.remove(0);
            let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
                Box::new(move || drop(failing)),
                Box::new(move || {
                    other.number(1);
                    assert!(!other.send(&mut 2), "0 is never sent");
                }),
                Box::new(move || assert_eq!(consumer.receive(&mut 0), Err(0))),
            ];
            run(ends);
        });
    }
}
