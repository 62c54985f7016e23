//! What rings keep: order, turns, ends, and which slots there are.

use std::time::Duration;

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
            let (mut sources, consumers) = ring(vec![0_u64; depth].into(), (1, relays), policy);
            let (producers, mut sinks) = ring(vec![0_u64; depth].into(), (relays, 1), policy);
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
                                    let goes_on = producer.send(&mut { slot + 1 });
                                    relayed += 1;
                                    // Once all is received, and another relay has told the end, there is no slot to wait for.
                                    if !goes_on {
                                        break consumer.receive(&mut slot).expect_err("it was the last number");
                                    }
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
    let (mut producers, mut consumers) = ring(vec![0; 3].into(), (2, 1), WaitPolicy::Park);
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
    let (mut producers, mut consumers) = ring(vec![0; 4].into(), (2, 1), WaitPolicy::Park);
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
fn a_consumer_that_goes_ends_the_stream_behind_what_others_have_received() {
    let (mut producers, mut consumers) = ring(vec![0; 4].into(), (1, 2), WaitPolicy::Park);
    (0..4).for_each(|value| assert!(producers[0].send(&mut { value })));
    let received: Vec<_> = [0, 1, 1].map(|consumer| consumers[consumer].receive(&mut 0)).into();
    assert_eq!(received, [Ok(0), Ok(1), Ok(2)]);
    drop(consumers.remove(0));
    assert_eq!(consumers[0].receive(&mut 0), Err(3), "an end at 1 would take 1 and 2 away from whoever gets them next");
    assert!(!producers[0].send(&mut 4));
}

#[test]
fn what_waits_is_received_without_waiting_for_more() {
    let (mut producer, mut consumers) = {
        let (mut producers, consumers) = ring(vec![0; 3].into(), (1, 2), WaitPolicy::Park);
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

/// Two producers and one consumer of two slots, and so many spare ones.
fn with_spare(most: usize) -> (Vec<Producer<u64>>, Consumer<u64>) {
    let spare = Spare { most, ..Spare::default() };
    let (producers, mut consumers) = ring(Slots { slots: vec![0; 2], spare, held: 1 }, (2, 1), WaitPolicy::Park);
    (producers, consumers.remove(0))
}

#[test]
fn while_a_number_is_late_the_others_go_on_with_spare_slots_and_give_them_back() {
    let (mut producers, mut consumer) = with_spare(5);
    let [late, early] = &mut producers[..] else { panic!("two") };
    for round in 0..3 {
        let first = 8 * round;
        // Two of the ring, and five more.
        for number in first + 1..first + 8 {
            early.number(number);
            assert!(early.send(&mut { number }));
        }
        assert_eq!(early.ring.spares.lent(), 5);
        late.number(first);
        assert!(late.give(&mut { first }));
        for number in first..first + 8 {
            let mut slot = 99;
            assert_eq!((consumer.receive(&mut slot), slot), (Ok(number), number));
        }
        assert!(late.take(&mut 0));
        assert_eq!(late.ring.spares.lent(), 0, "all are back");
    }
}

#[test]
fn a_slow_consumer_gets_no_more_than_the_ring_holds() {
    let (mut producers, mut consumer) = with_spare(5);
    let sent = std::sync::atomic::AtomicU64::new(0);
    let (mut first, second) = (producers.remove(0), producers.remove(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..10 {
                first.number(number);
                assert!(first.send(&mut { number }));
                sent.store(number + 1, Ordering::Release);
            }
        });
        for number in 0..10 {
            // It sleeps when it has sent what fits.
            std::thread::sleep(std::time::Duration::from_millis(3));
            assert!(sent.load(Ordering::Acquire) <= number + 2);
            assert_eq!(consumer.receive(&mut 0), Ok(number));
        }
    });
    drop(second);
}

#[test]
fn the_only_receiver_of_shared_cores_sees_what_comes_next() {
    let yields = WaitPolicy::Adapt(Look::Yield, Trial::default());
    for (policy, receivers, sees) in [(yields, 1, true), (yields, 2, false), (WaitPolicy::Park, 1, false)] {
        let (mut producers, mut consumers) = ring(vec![0; 4].into(), (1, receivers), policy);
        let (producer, consumer) = (&mut producers[0], &mut consumers[0]);
        (7..9).for_each(|value| assert!(producer.send(&mut { value })));
        let seen = |consumer: &mut Consumer<i32>| {
            let mut seen = None;
            consumer.peek(|&next| seen = Some(next));
            seen
        };
        let mut slot = 0;
        assert_eq!((consumer.receive(&mut slot), slot), (Ok(0), 7));
        assert_eq!(seen(consumer), sees.then_some(8));
        assert_eq!((consumer.receive(&mut slot), slot), (Ok(1), 8));
        assert_eq!(seen(consumer), None, "nothing is there");
    }
}

#[test]
#[cfg_attr(miri, ignore = "few numbers go through in a slice of its time")]
fn while_slices_are_lost_a_producer_goes_ahead_and_gives_back_what_it_had_for_it() {
    let spare = Spare { most: 5, ..Spare::default() };
    let lost = Arc::clone(&spare.lost);
    lost.tell(Duration::from_secs(3600));
    let (mut producers, mut consumers) = ring(Slots { slots: vec![0; 2], spare, held: 1 }, (1, 1), WaitPolicy::Park);
    let (mut producer, mut consumer) = (producers.remove(0), consumers.remove(0));
    let ring = Arc::clone(&producer.ring);
    let sender = std::thread::spawn(move || {
        // Until nobody receives any more.
        for number in 0.. {
            if !producer.send(&mut { number }) {
                break;
            }
        }
    });
    let mut numbers = 0..;
    let mut receive_until = |lent| {
        for number in numbers.by_ref().take(2000) {
            // The producer has sent what fits by then.
            std::thread::sleep(Duration::from_millis(1));
            let mut slot = 99;
            assert_eq!((consumer.receive(&mut slot), slot), (Ok(number), number));
            if ring.spares.lent() == lent {
                return;
            }
        }
        panic!("{} are lent, not {lent}", ring.spares.lent());
    };
    receive_until(5);
    lost.forget();
    receive_until(0);
    drop(consumer);
    sender.join().unwrap();
}

/// What was sent beyond the end keeps its slots: a producer that waits for one must not do so for ever.
#[test]
fn a_producer_does_not_wait_for_slots_beyond_the_end() {
    let (mut producers, mut consumer) = with_spare(0);
    let (mut first, mut second) = (producers.remove(0), producers.remove(0));
    for number in 1..3 {
        second.number(number);
        assert!(second.send(&mut { number }));
    }
    second.number(3);
    assert!(second.give(&mut 3));
    assert!(first.give(&mut 0));
    assert_eq!(consumer.receive(&mut 0), Ok(0));
    assert!(second.take(&mut 0), "the one that came back");
    let waits = std::thread::spawn(move || first.take(&mut 0));
    drop(consumer);
    assert!(!waits.join().unwrap());
}

#[test]
fn a_producer_that_leaves_at_the_end_does_not_move_it() {
    let (mut producers, mut consumers) = ring(vec![0; 2].into(), (2, 2), WaitPolicy::Park);
    let (mut first, mut second) = (producers.remove(0), producers.remove(0));
    assert!(first.give(&mut 0));
    for number in 1..3 {
        second.number(number);
        assert!(second.send(&mut 0));
    }
    second.number(3);
    assert!(second.give(&mut 0));
    assert_eq!((consumers[0].receive(&mut 0), consumers[1].receive(&mut 0)), (Ok(0), Ok(1)));
    assert!(second.take(&mut 0));
    assert!(second.give(&mut 0) && second.take(&mut 0) && second.give(&mut 0));
    // It had 1 and receives nothing more.
    drop(consumers.remove(1));
    assert!(!first.take(&mut 0));
    drop(first);
    assert_eq!(consumers[0].receive(&mut 0), Err(2));
}
