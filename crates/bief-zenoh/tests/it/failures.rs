//! Workers that die, freeze and are cut off: the output is that of one machine.

use std::thread;
use std::time::{Duration, Instant};

use bief_zenoh::{Reach, Without};
use rustix::process::Signal;

use crate::chain::{alone, away, here, long, until};
use crate::process::{Process, Role, free, reach};
use crate::relay::Relay;

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn role<'a>(name: &'a str, place: &str, time_us: u64) -> Role<'a> {
    Role { name, place: place.to_owned(), time_us, cores: 1, ..Role::default() }
}

#[test]
fn a_chain_with_workers_does_what_it_does_alone() {
    let frames = 3000;
    let places = [free(), free()];
    let workers = [0, 1].map(|number| Process::worker(&role(["a", "b"][number], &places[number], 0)));
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |_| {});
    outcome.check("two workers", &here(frames));
    assert!(outcome.has_said("worker a at 127.0.0.1:") && outcome.has_said("worker b at "), "{:?}", outcome.said);
    // They are there for the next run.
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |_| {});
    outcome.check("again", &here(frames));
    drop(workers);
}

#[test]
fn without_workers_this_machine_does_all_of_it() {
    let frames = 2000;
    let outcome = away((frames, ""), &reach(&[free()]), alone(2), |_| {});
    outcome.check("nobody", &here(frames));
    assert_eq!(outcome.tally.len(), 1);
    assert_eq!(outcome.tally[0].name, "this machine");
}

#[test]
fn what_a_task_does_elsewhere_is_told_here() {
    let place = free();
    let _worker = Process::worker(&role("rack3", &place, 0));
    let outcome = away((1000, "fails_at = 300"), &reach(&[place]), Without::Wait(1), |_| {});
    let error = outcome.ended.unwrap_err();
    assert_eq!(error.message(), "worker rack3: task `mix`: the header is damaged");
    assert_eq!(error.place().frame, Some(300));
    assert_eq!(outcome.seen.frames, 300);
}

#[test]
fn a_frame_that_kills_workers_ends_the_run() {
    // More than three, as a frame that is answered for as they die is suspected, too.
    let names = ["a", "b", "c", "d", "e", "f"];
    let places = names.map(|_| free());
    let workers: Vec<_> =
        names.iter().zip(&places).map(|(name, place)| Process::worker(&role(name, place, 1000))).collect();
    let outcome = away((2000, "dies_at = 500"), &reach(&places), Without::Wait(1), |_| {});
    let error = outcome.ended.unwrap_err();
    assert!(error.message().starts_with("3 workers were lost, one after the other, while they worked on "), "{error}");
    let frame = error.place().frame.unwrap();
    // That one, or one that they had before it: they hold four.
    assert!((497..=500).contains(&frame), "{frame}");
    assert_eq!(outcome.seen.frames, frame, "all before it, and none behind it");
    drop(workers);
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn workers_that_are_killed_lose_nothing() {
    let frames = long(100_000);
    let places = [free(), free(), free()];
    let names = ["a", "b", "c"];
    let start = |number: usize| Process::worker(&role(names[number], &places[number], 0));
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |seen| {
        let mut workers: Vec<_> = (0..3).map(|number| Some(start(number))).collect();
        let mut kills = 0;
        while seen.lock().unwrap().frames < frames - frames / 1000 {
            let (before, number) = (seen.lock().unwrap().frames, fastrand::usize(..3));
            workers[number].take().unwrap().kill();
            kills += 1;
            workers[number] = Some(start(number));
            thread::sleep(seconds(0.5));
            let end = Instant::now() + seconds(60.0);
            while seen.lock().unwrap().frames == before && Instant::now() < end {
                thread::sleep(seconds(0.01));
            }
            assert!(Instant::now() < end, "the run stands still at frame {before} after {kills} kills");
        }
        println!("{kills} kills");
        // They go on until the end.
        until(seen, frames - frames / 1000);
        thread::sleep(seconds(0.5));
    });
    outcome.check("killed", &here(frames));
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn a_worker_that_freezes_holds_up_nothing() {
    let frames = long(40_000);
    let places = [free(), free()];
    let workers = [0, 1].map(|number| Process::worker(&role(["a", "b"][number], &places[number], 100)));
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |seen| {
        for round in 1..=2 {
            until(seen, frames * round / 4);
            workers[0].send(Signal::STOP);
            thread::sleep(seconds(3.0));
            workers[0].send(Signal::CONT);
        }
    });
    outcome.check("frozen", &here(frames));
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn a_link_that_is_cut_holds_up_nothing() {
    let frames = long(40_000);
    let places = [free(), free()];
    let _workers = [0, 1].map(|number| Process::worker(&role(["a", "b"][number], &places[number], 100)));
    let relay = Relay::new(&places[0]);
    let ways = [relay.place.clone(), places[1].clone()];
    let outcome = away((frames, ""), &reach(&ways), Without::Wait(1), |seen| {
        for round in 1..=2 {
            until(seen, frames * round / 4);
            relay.cut(true);
            thread::sleep(seconds(3.0));
            relay.cut(false);
        }
    });
    outcome.check("cut", &here(frames));
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn a_router_that_dies_loses_nothing() {
    let frames = long(40_000);
    let router = free();
    let first = Process::router(&router);
    let of_router = |name| Role { router: router.clone(), ..role(name, "", 100) };
    let _workers = ["a", "b"].map(|name| Process::worker(&of_router(name)));
    let reach = Reach { router: Some(router.parse().unwrap()), ..Reach::default() };
    let mut second = None;
    let outcome = away((frames, ""), &reach, Without::Wait(1), |seen| {
        until(seen, frames / 4);
        first.kill();
        thread::sleep(seconds(2.0));
        second = Some(Process::router(&router));
    });
    outcome.check("router killed", &here(frames));
}

#[test]
fn when_all_workers_are_gone_this_machine_goes_on() {
    let frames = 4000;
    let places = [free(), free()];
    let mut workers = [0, 1].map(|number| Process::worker(&role(["a", "b"][number], &places[number], 200)));
    let outcome = away((frames, ""), &reach(&places), alone(1), |seen| {
        until(seen, frames / 4);
        workers[0].send(Signal::KILL);
        workers[0].wait();
        until(seen, frames / 2);
        workers[1].send(Signal::KILL);
        workers[1].wait();
    });
    outcome.check("all gone", &here(frames));
    assert!(outcome.tally.iter().any(|row| row.name == "this machine" && row.frames > 0), "{:?}", outcome.tally);
}
