//! Every interleaving, by the model checker: `RUSTFLAGS="--cfg bief_loom" cargo test -p bief --release --lib ring`.

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
        let (producers, mut consumers) = ring(vec![0].into(), (2, 1), policy);
        let mut ends: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
        for (number, mut producer) in (0..).zip(producers) {
            ends.push(Box::new(move || {
                producer.number(number);
                let mut slot = number + 1;
                assert!(producer.give(&mut slot));
                // The other may be the last: then there is nothing to take a slot for.
                producer.take(&mut slot);
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
        let (mut producers, consumers) = ring(vec![0; 2].into(), (1, 2), policy);
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
        let (mut producers, mut consumers) = ring(vec![0; 2].into(), (1, 2), policy);
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
        let (mut producers, consumers) = ring(vec![0; 2].into(), (2, 2), policy);
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
        let (mut producers, consumers) = ring(vec![0; 3].into(), (1, 2), policy);
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
        let (mut producers, mut consumers) = ring(vec![0].into(), (2, 1), policy);
        let (mut other, failing) = (producers.remove(1), producers.remove(0));
        let mut consumer = consumers.remove(0);
        let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
            Box::new(move || drop(failing)),
            Box::new(move || {
                other.number(1);
                // It is not received, as 0 is never sent.
                other.send(&mut 2);
            }),
            Box::new(move || assert_eq!(consumer.receive(&mut 0), Err(0))),
        ];
        run(ends);
    });
}

/// A ring of two producers and one consumer, with one slot and one spare one.
fn with_spare(policy: WaitPolicy) -> (Vec<Producer<u64>>, Consumer<u64>) {
    let spare = Spare { most: 1, ..Spare::default() };
    let (producers, mut consumers) = ring(Slots { slots: vec![0], spare, held: 1 }, (2, 1), policy);
    (producers, consumers.remove(0))
}

#[test]
fn a_late_number_does_not_keep_the_other_producer() {
    let policies = [WaitPolicy::Park, WaitPolicy::Adapt(Look::Yield, Trial::default())];
    model_with(&policies, 1, |policy| {
        let (mut producers, mut consumer) = with_spare(policy);
        let (mut late, mut early) = (producers.remove(0), producers.remove(0));
        let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
            Box::new(move || {
                for number in 1..3 {
                    early.number(number);
                    let mut slot = number + 1;
                    assert!(early.give(&mut slot));
                    assert!(early.take(&mut slot) || number == 2, "more is received");
                }
                early.number(3);
            }),
            Box::new(move || {
                late.send(&mut 1);
                late.number(3);
            }),
            Box::new(move || {
                let mut slot = 0;
                for number in 0..3 {
                    assert_eq!((consumer.receive(&mut slot), slot), (Ok(number), number + 1));
                }
                assert_eq!(consumer.receive(&mut slot), Err(3));
            }),
        ];
        run(ends);
    });
}

/// With one slot and two spare ones, of which it takes one more for each number.
#[test]
fn a_producer_goes_ahead_while_slices_are_lost() {
    let policies = [WaitPolicy::Park, WaitPolicy::Adapt(Look::Yield, Trial::default())];
    model_with(&policies, 2, |policy| {
        let spare = Spare { most: 2, ..Spare::default() };
        spare.lost.tell(std::time::Duration::from_secs(1));
        let (mut producers, mut consumers) = ring(Slots { slots: vec![0], spare, held: 1 }, (1, 1), policy);
        let (mut producer, mut consumer) = (producers.remove(0), consumers.remove(0));
        let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
            Box::new(move || (0..5).for_each(|number| assert!(producer.send(&mut { number + 1 }) || number > 2))),
            Box::new(move || {
                let mut slot = 0;
                for number in 0..5 {
                    assert_eq!((consumer.receive(&mut slot), slot), (Ok(number), number + 1));
                    consumer.peek(|&next| assert_eq!(next, number + 2));
                }
                assert_eq!(consumer.receive(&mut slot), Err(5));
            }),
        ];
        run(ends);
    });
}

/// What lies beyond the end keeps its slots.
#[test]
fn a_producer_does_not_wait_for_slots_beyond_the_end() {
    model(2, |policy| {
        let (mut producers, mut consumers) = ring(vec![0].into(), (2, 1), policy);
        let (mut other, mut first) = (producers.remove(1), producers.remove(0));
        let mut consumer = consumers.remove(0);
        let ends: Vec<Box<dyn FnOnce() + Send>> = vec![
            Box::new(move || {
                // Unless the stream has ended before these.
                for number in 1..3 {
                    other.number(number);
                    if !other.send(&mut 9) {
                        break;
                    }
                }
            }),
            Box::new(move || {
                first.send(&mut 5);
            }),
            Box::new(move || {
                let mut slot = 0;
                assert_eq!((consumer.receive(&mut slot), slot), (Ok(0), 5));
            }),
        ];
        run(ends);
    });
}
