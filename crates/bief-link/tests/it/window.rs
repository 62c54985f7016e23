//! Single steps of a window.

use std::time::Duration;

use bief_link::{Answered, Asking, Leaving, Limits, Poison, Sending, Window, WorkerId};

const A: WorkerId = WorkerId(1);
const B: WorkerId = WorkerId(2);

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Frames are their numbers, results texts.
fn window(frames: usize) -> Window<u64, &'static str> {
    Window::new(Limits { frames, ..Limits::default() })
}

fn sent(window: &mut Window<u64, &'static str>, now: Duration) -> Vec<(WorkerId, u64)> {
    std::iter::from_fn(|| window.send(now)).map(|Sending { worker, number, .. }| (worker, number)).collect()
}

#[test]
fn frames_go_to_the_most_free_credit_and_no_further() {
    let mut window = window(8);
    (0..8).for_each(|frame| assert_eq!(window.push(frame), Ok(frame)));
    assert_eq!(window.push(8), Err(8), "the window is full");
    assert_eq!(window.send(ms(0)), None, "nobody is there");
    window.join(A, 1, 3);
    window.join(B, 1, 2);
    assert_eq!(sent(&mut window, ms(0)), [(A, 0), (B, 1), (A, 2), (B, 3), (A, 4)]);
    assert_eq!(window.answer(B, 1, "1", ms(1)), Answered::First);
    assert_eq!(sent(&mut window, ms(1)), [(B, 5)]);
}

#[test]
fn results_come_in_order_and_once() {
    let mut window = window(3);
    (0..3).for_each(|frame| assert!(window.push(frame).is_ok()));
    window.join(A, 4, 4);
    assert_eq!(sent(&mut window, ms(0)).len(), 3);
    assert_eq!(window.answer(A, 2, "2", ms(1)), Answered::First);
    assert_eq!(window.answer(A, 1, "1", ms(1)), Answered::First);
    assert_eq!(window.collect(), None);
    assert!(!window.has_room(), "results that wait take room");
    assert_eq!(window.answer(A, 0, "0", ms(1)), Answered::First);
    assert_eq!(window.answer(A, 0, "other", ms(2)), Answered::Again);
    let collected: Vec<_> = std::iter::from_fn(|| window.collect()).collect();
    assert_eq!(collected, [(0, Ok("0")), (1, Ok("1")), (2, Ok("2"))]);
    assert!(window.is_empty());
    assert_eq!(window.answer(A, 1, "other", ms(3)), Answered::Again);
    assert_eq!(window.answer(A, 3, "never sent", ms(3)), Answered::Unknown);
}

#[test]
fn others_get_what_a_worker_had_and_the_first_result_counts() {
    let mut window = window(4);
    (0..4).for_each(|frame| assert!(window.push(frame).is_ok()));
    window.join(A, 1, 4);
    assert_eq!(sent(&mut window, ms(0)).len(), 4);
    window.join(B, 1, 4);
    assert_eq!(window.answer(A, 1, "1", ms(1)), Answered::First);
    window.leave(A, Leaving::Lost);
    assert_eq!(sent(&mut window, ms(2)), [(B, 0), (B, 2), (B, 3)]);
    // Its answer was under way when it went.
    assert_eq!(window.answer(A, 2, "2", ms(3)), Answered::First);
    assert_eq!(window.answer(B, 2, "again", ms(4)), Answered::Again);
}

#[test]
fn a_late_frame_goes_to_a_second_worker_which_does_not_have_it() {
    let mut window = window(4);
    assert!(window.push(0).is_ok() && window.push(1).is_ok());
    window.join(A, 2, 2);
    assert_eq!(sent(&mut window, ms(0)).len(), 2);
    assert_eq!(window.late_at(), Some(ms(1000)));
    window.join(B, 2, 1);
    assert_eq!(sent(&mut window, ms(999)), []);
    // The older one first; there is no credit for the other.
    assert_eq!(sent(&mut window, ms(1000)), [(B, 0)]);
    assert_eq!(window.ask(ms(1000)), Some(Asking { worker: A, sent: 2 }));
    assert_eq!(window.ask(ms(1001)), None);
    assert_eq!(window.answer(B, 0, "0", ms(1001)), Answered::First);
    assert_eq!(sent(&mut window, ms(1002)), [(B, 1)]);
    // The credit of one that does not answer stays taken: nothing more is sent there.
    assert!(window.push(2).is_ok());
    assert_eq!(window.send(ms(1003)), None);
    assert_eq!(window.answer(B, 1, "1", ms(1004)), Answered::First);
    assert_eq!(sent(&mut window, ms(1005)), [(B, 2)]);
    assert_eq!(window.answer(A, 0, "at last", ms(5000)), Answered::Again);
    // It is asked what it holds each time that it is late again.
    assert_eq!(window.late_at(), Some(ms(2000)));
    assert_eq!(window.ask(ms(2000)), Some(Asking { worker: A, sent: 2 }));
}

#[test]
fn what_was_lost_on_the_way_is_sent_again() {
    let mut window = window(4);
    (0..3).for_each(|frame| assert!(window.push(frame).is_ok()));
    window.join(A, 1, 3);
    assert_eq!(sent(&mut window, ms(0)).len(), 3);
    // Message 0 was lost, or the answer to it; message 2 may be under way yet.
    window.report(A, 2, &[1]);
    assert_eq!(sent(&mut window, ms(1)), [(A, 0)]);
    window.report(A, 2, &[1]);
    assert_eq!(sent(&mut window, ms(2)), []);
}

#[test]
fn a_frame_over_which_workers_are_lost_goes_to_no_other_one() {
    let mut window = window(4);
    (0..4).for_each(|frame| assert!(window.push(frame).is_ok()));
    window.join(A, 1, 1);
    assert_eq!(sent(&mut window, ms(0)), [(A, 0)]);
    for number in 10..13 {
        let worker = WorkerId(number);
        assert!(!window.is_poisoned());
        window.join(worker, 1, 3);
        assert_eq!(sent(&mut window, ms(number)).len(), 3);
        window.leave(worker, Leaving::Lost);
    }
    // The two first ones may be to blame. What is before them is waited for, and what is behind them goes on.
    assert!(window.is_poisoned());
    assert_eq!(window.collect(), None);
    window.join(B, 1, 3);
    assert_eq!(sent(&mut window, ms(20)), [(B, 3)]);
    // An answer may have been under way.
    assert_eq!(window.answer(WorkerId(12), 2, "2", ms(20)), Answered::First);
    assert_eq!(window.answer(A, 0, "0", ms(21)), Answered::First);
    let poison = Poison { losses: 3 };
    let collected: Vec<_> = std::iter::from_fn(|| window.collect()).collect();
    assert_eq!(collected, [(0, Ok("0")), (1, Err(poison)), (2, Ok("2"))]);
    assert!(poison.to_string().starts_with("3 workers were lost, one after the other"));
    // Nor is one that leaves by its own will.
    let mut window = self::window(1);
    assert!(window.push(0).is_ok());
    for number in 0..5 {
        window.join(WorkerId(number), 1, 1);
        assert_eq!(sent(&mut window, ms(number)).len(), 1);
        window.leave(WorkerId(number), Leaving::InOrder);
    }
}
