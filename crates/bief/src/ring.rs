//! The hand-over between two threads: a bounded ring with one producer and one consumer, whose slots are exchanged and
//! never copied.
//!
//! A sender swaps its full slot with an empty one of the ring; a receiver swaps its used slot with a full one. So a ring
//! of depth *d* allocates *d* slots once and nothing afterwards. Either end may go away: what was sent before is still
//! received, and then both sides learn of it.

use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, UnsafeCell};
use crate::wait::{Signal, WaitPolicy, Waited};

/// Keeps what the two threads write on cache lines of their own (two lines: processors fetch them in pairs).
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

#[derive(Debug)]
struct Ring<S> {
    slots: Box<[Apart<UnsafeCell<S>>]>,
    /// Slots ever sent; written by the producer alone.
    sent: Apart<AtomicU64>,
    /// Slots ever received; written by the consumer alone.
    received: Apart<AtomicU64>,
    producer_gone: AtomicBool,
    consumer_gone: AtomicBool,
    filled: Signal,
    emptied: Signal,
}

// SAFETY: a slot is touched by the producer while it is not yet counted in `sent`, and by the consumer while it is and is
// not yet counted in `received`; the release stores and acquire loads of these counts order the two.
unsafe impl<S: Send> Sync for Ring<S> {}
// SAFETY: a ring owns its slots.
unsafe impl<S: Send> Send for Ring<S> {}

/// The sending end. Dropping it ends the stream.
#[derive(Debug)]
pub(crate) struct Producer<S> {
    ring: Arc<Ring<S>>,
    sent: u64,
    /// Where the next one goes.
    slot: usize,
    /// The consumer's count when it was last looked at: most sends need not look again.
    received: u64,
    policy: WaitPolicy,
    /// For room.
    pub(crate) waited: Waited,
}

/// The receiving end. Dropping it tells the producer to stop.
#[derive(Debug)]
pub(crate) struct Consumer<S> {
    ring: Arc<Ring<S>>,
    received: u64,
    /// Where the next one comes from.
    slot: usize,
    sent: u64,
    policy: WaitPolicy,
    /// For slots.
    pub(crate) waited: Waited,
}

/// A ring of the given empty slots (at least one), for threads that wait with this `policy`.
pub(crate) fn ring<S>(slots: Vec<S>, policy: WaitPolicy) -> (Producer<S>, Consumer<S>) {
    assert!(!slots.is_empty(), "a ring has at least one slot");
    let ring = Arc::new(Ring {
        slots: slots.into_iter().map(|slot| Apart(UnsafeCell::new(slot))).collect(),
        sent: Apart(AtomicU64::new(0)),
        received: Apart(AtomicU64::new(0)),
        producer_gone: AtomicBool::new(false),
        consumer_gone: AtomicBool::new(false),
        filled: Signal::new(policy),
        emptied: Signal::new(policy),
    });
    let waited = Waited::default();
    let consumer = Consumer { ring: Arc::clone(&ring), received: 0, slot: 0, sent: 0, policy, waited };
    (Producer { ring, sent: 0, slot: 0, received: 0, policy, waited }, consumer)
}

/// What comes after `index` in a circle of so many.
pub(crate) fn after(index: usize, count: usize) -> usize {
    if index + 1 == count { 0 } else { index + 1 }
}

/// Asks for memory that will be written soon, which the other thread wrote last: it comes while the frame is worked on.
fn fetch<T>(memory: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint about an address; nothing is read or written.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(std::ptr::from_ref(memory).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = memory;
}

impl<S> Producer<S> {
    /// Exchanges `slot` with an empty one of the ring and hands it over; waits while the ring is full.
    ///
    /// Returns `false`, and leaves `slot` alone, when the consumer is gone.
    pub(crate) fn send(&mut self, slot: &mut S) -> bool {
        let ring = &*self.ring;
        let depth = ring.slots.len() as u64;
        let mut waited = false;
        if self.sent - self.received == depth {
            waited = ring.emptied.wait(&mut self.policy, &mut self.waited, || {
                self.received = ring.received.0.load(Ordering::Acquire);
                self.sent - self.received < depth || ring.consumer_gone.load(Ordering::Acquire)
            });
        }
        if ring.consumer_gone.load(Ordering::Acquire) {
            return false;
        }
        self.waited.times += u64::from(waited);
        ring.slots[self.slot].0.with_mut(|empty| {
            // SAFETY: fewer than `depth` slots are out, so this one is not the consumer's until `sent` says so.
            std::mem::swap(unsafe { &mut *empty }, slot);
        });
        self.sent += 1;
        ring.sent.0.store(self.sent, Ordering::Release);
        ring.filled.wake();
        self.slot = after(self.slot, ring.slots.len());
        fetch(&ring.slots[self.slot]);
        true
    }
}

impl<S> Consumer<S> {
    /// Exchanges `slot` with the oldest one sent; waits while the ring is empty.
    ///
    /// Returns `false`, and leaves `slot` alone, when nothing is left and the producer is gone.
    pub(crate) fn receive(&mut self, slot: &mut S) -> bool {
        let ring = &*self.ring;
        let mut waited = false;
        if self.received == self.sent {
            waited = ring.filled.wait(&mut self.policy, &mut self.waited, || {
                // In this order: a producer that is gone has counted its last slot before.
                let gone = ring.producer_gone.load(Ordering::Acquire);
                self.sent = ring.sent.0.load(Ordering::Acquire);
                self.received < self.sent || gone
            });
        }
        if self.received == self.sent {
            return false;
        }
        self.waited.times += u64::from(waited);
        ring.slots[self.slot].0.with_mut(|full| {
            // SAFETY: `sent` counts this slot, so the producer has written it and leaves it until `received` counts it.
            std::mem::swap(unsafe { &mut *full }, slot);
        });
        self.received += 1;
        ring.received.0.store(self.received, Ordering::Release);
        ring.emptied.wake();
        self.slot = after(self.slot, ring.slots.len());
        if self.received < self.sent {
            fetch(&ring.slots[self.slot]);
        }
        true
    }

    /// How many slots there are to be received just now, and how many the ring holds at most.
    pub(crate) fn held(&self) -> (usize, usize) {
        ((self.ring.sent.0.load(Ordering::Relaxed) - self.received) as usize, self.ring.slots.len())
    }
}

impl<S> Drop for Producer<S> {
    fn drop(&mut self) {
        self.ring.producer_gone.store(true, Ordering::Release);
        self.ring.filled.wake();
    }
}

impl<S> Drop for Consumer<S> {
    fn drop(&mut self) {
        self.ring.consumer_gone.store(true, Ordering::Release);
        self.ring.emptied.wake();
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::*;
    use crate::wait::{Look, Trial};

    #[test]
    fn everything_sent_is_received_in_order_at_any_depth() {
        let last = if cfg!(miri) { 100 } else { 2000 };
        for depth in [1, 2, 3, 16] {
            for policy in
                [WaitPolicy::Park, WaitPolicy::Adapt(Look::Spin, Trial::default()), WaitPolicy::Look(Look::Yield)]
            {
                let (mut producer, mut consumer) = ring(vec![0_u32; depth], policy);
                let sender = std::thread::spawn(move || {
                    for value in 1..=last {
                        let mut slot = value;
                        assert!(producer.send(&mut slot));
                    }
                });
                let mut slot = 0;
                for value in 1..=last {
                    assert!(consumer.receive(&mut slot));
                    assert_eq!(slot, value);
                }
                assert!(!consumer.receive(&mut slot), "the producer is gone");
                sender.join().unwrap();
            }
        }
    }

    #[test]
    fn slots_are_exchanged_not_copied() {
        let (mut producer, mut consumer) = ring(vec![Box::new(0), Box::new(0)], WaitPolicy::Park);
        let mut full = Box::new(7);
        let address: *const i32 = &*full;
        producer.send(&mut full);
        let mut used = Box::new(0);
        consumer.receive(&mut used);
        assert_eq!((&raw const *used, *used), (address, 7));
    }

    #[test]
    fn what_the_ring_holds_and_who_waited_is_told() {
        let (mut producer, mut consumer) = ring(vec![0; 3], WaitPolicy::Park);
        assert_eq!(consumer.held(), (0, 3));
        for held in 1..=3 {
            assert!(producer.send(&mut 1));
            assert_eq!(consumer.held(), (held, 3));
        }
        (0..3).for_each(|_| assert!(consumer.receive(&mut 0)));
        assert_eq!((producer.waited.times, consumer.waited.times), (0, 0));
        let sender = std::thread::spawn(move || {
            (0..30).for_each(|_| assert!(producer.send(&mut 1)));
            producer.waited.times
        });
        for _ in 0..30 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(consumer.receive(&mut 0));
        }
        let received = consumer.waited.times;
        assert!(!consumer.receive(&mut 0));
        assert_eq!(consumer.waited.times, received, "the end of the stream is no slot");
        assert!((1..=27).contains(&sender.join().unwrap()), "all but the first three may have to wait, and some do");
    }

    #[test]
    fn a_producer_learns_that_the_consumer_is_gone() {
        let (mut producer, consumer) = ring(vec![0], WaitPolicy::Park);
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

    /// With every way to wait that parks.
    fn model(f: impl Fn(WaitPolicy) + Copy + Sync + Send + 'static) {
        for policy in [WaitPolicy::Park, WaitPolicy::Adapt(Look::Spin, Trial::default())] {
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(3);
            builder.check(move || f(policy));
        }
    }

    /// Both ends on threads of their own. The one that joins must not be woken: loom takes a late wake-up for what it waits for.
    fn run(sends: impl FnOnce() + Send + 'static, receives: impl FnOnce() + Send + 'static) {
        for thread in [thread::spawn(sends), thread::spawn(receives)] {
            thread.join().unwrap();
        }
    }

    #[test]
    fn frames_arrive_in_order_through_one_slot() {
        model(|policy| {
            let (mut producer, mut consumer) = ring(vec![0], policy);
            let sends = move || {
                for value in 1..=3 {
                    assert!(producer.send(&mut { value }));
                }
            };
            let receives = move || {
                let mut slot = 0;
                for value in 1..=3 {
                    assert!(consumer.receive(&mut slot));
                    assert_eq!(slot, value);
                }
                assert!(!consumer.receive(&mut slot));
            };
            run(sends, receives);
        });
    }

    #[test]
    fn a_consumer_that_goes_away_never_leaves_the_producer_waiting() {
        model(|policy| {
            let (mut producer, mut consumer) = ring(vec![0], policy);
            let sends = move || {
                producer.send(&mut 1);
                producer.send(&mut 2);
                producer.send(&mut 3);
            };
            let receives = move || {
                consumer.receive(&mut 0);
            };
            run(sends, receives);
        });
    }
}
