//! Sources that cannot wait: what is not delivered is counted and marked, to the element.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::common::{Probe, watched};
use bief::error::ErrorKind;
use bief::sink::Collected;
use bief::source::{self, Received};
use bief::{Chain, Error, Flow, In, InOut, Out, Pipeline, Result, Task, sink};

/// Counts; `next` is the number that the device is at, whoever listens.
#[derive(Clone, Default)]
struct Device {
    next: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Device {
    /// Fills blocks up to `end`, and does `before` before each.
    fn up_to<F: FnMut() + Send + 'static>(
        &self,
        end: u64,
        mut before: F,
    ) -> impl FnMut(&mut [u64]) -> Result<Received> + Send + use<F> {
        let Self { next, ended } = self.clone();
        move |block: &mut [u64]| {
            before();
            if next.load(Ordering::Relaxed) >= end {
                ended.store(true, Ordering::Release);
                return Ok(Received::End);
            }
            block.fill_with(|| next.fetch_add(1, Ordering::Relaxed));
            Ok(Received::Frame { lost: 0 })
        }
    }

    fn made(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}

/// What arrived: elements, and one mark per frame.
struct Arrived {
    elements: Collected<u64>,
    marks: Collected<u64>,
}

impl Arrived {
    /// Checks that each frame begins where the one before ended, plus its mark, from `start` on; answers how many elements
    /// arrived, how many the marks say were lost, and where the last frame ended.
    fn check(&self, start: u64, len: usize) -> (u64, u64, u64) {
        let (elements, marks) = (self.elements.take(), self.marks.take());
        assert_eq!(elements.len(), len * marks.len());
        let mut next = start;
        for (frame, mark) in elements.chunks(len).zip(&marks) {
            next += mark;
            assert!(frame.iter().copied().eq(next..next + len as u64), "{frame:?} after {mark} lost, not from {next}");
            next += len as u64;
        }
        (elements.len() as u64, marks.iter().sum(), next)
    }
}

/// Adds nothing, in place.
#[derive(Clone)]
struct Touch;

impl Task for Touch {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The device, some replicas, and a sink that does `take` with each frame.
fn chain(
    (len, blocks): (usize, usize),
    fill: impl FnMut(&mut [u64]) -> Result<Received> + Send + 'static,
    threads: usize,
    mut take: impl FnMut() + Send + 'static,
) -> (Chain, Arrived) {
    let mut chain = Chain::new();
    let (mut elements, lost) = chain.add(source::live(len, blocks, fill), ());
    chain.stage("work").threads(threads);
    chain.add(Touch, &mut elements);
    chain.stage("out");
    let (collect, elements_of) = sink::collect();
    chain.add(collect, &elements);
    let (collect, marks) = sink::collect();
    chain.add(collect, &lost);
    let taker = move |_: &[u64]| {
        take();
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(taker), &lost);
    (chain, Arrived { elements: elements_of, marks })
}

fn pipeline(chain: Chain) -> Pipeline {
    chain.build().unwrap().pipeline_as_marked().unwrap()
}

/// Up to so many microseconds, as the call before decides.
fn pauses(most: u64) -> impl FnMut() + Send {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((state >> 33) % most));
    }
}

#[test]
fn what_is_delivered_and_what_is_lost_is_all_that_there_was() {
    for (len, blocks, threads, batch, depth) in [(1, 1, 1, 1, 1), (3, 2, 2, 1, 4), (16, 8, 3, 4, 2), (4, 64, 1, 3, 1)] {
        let device = Device::default();
        let end = 3000 * len as u64;
        let (chain, arrived) = chain((len, blocks), device.up_to(end, || ()), threads, pauses(60));
        watched(move || {
            let mut pipeline = pipeline(chain).depth(depth).unwrap().batch(batch).unwrap();
            let report = pipeline.run().unwrap();
            let (delivered, marked, last) = arrived.check(0, len);
            assert_eq!(delivered + report.lost, end, "{len} x {blocks}");
            assert_eq!(report.lost - marked, end - last, "what is lost behind the last frame has no mark");
            assert_eq!((report.frames * len as u64, report.stages[0].lost), (delivered, report.lost));
        });
    }
}

#[test]
fn a_sink_that_stands_still_keeps_what_the_queue_holds() {
    let (len, blocks, made) = (5, 7, 100);
    let device = Device::default();
    let ended = Arc::clone(&device.ended);
    let wait = move || {
        while !ended.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    };
    let (chain, arrived) = chain((len, blocks), device.up_to(made * 5, || ()), 1, wait);
    let report = watched(move || chain.build().unwrap().run().unwrap());
    // The first may be taken before the queue is full.
    assert!([7, 8].contains(&report.frames), "{report}");
    assert_eq!(report.lost, 5 * (made - report.frames));
    assert!(report.to_string().contains(&format!("{} elements lost", report.lost)), "{report}");
    arrived.check(0, len);
}

#[test]
fn nothing_is_lost_while_there_is_room() {
    // Each takes turns of several threads, which are long where other programs keep the cores.
    const FRAMES: u64 = 200;
    for (blocks, threads) in [(1, 1), (2, 3), (20, 2)] {
        let (device, taken) = (Device::default(), Arc::new(AtomicU64::new(0)));
        let (next, seen) = (Arc::clone(&device.next), Arc::clone(&taken));
        let room = move || {
            while next.load(Ordering::Relaxed) / 2 - seen.load(Ordering::Acquire) >= blocks as u64 {
                std::thread::yield_now();
            }
        };
        let take = move || {
            taken.fetch_add(1, Ordering::Release);
        };
        let (chain, arrived) = chain((2, blocks), device.up_to(2 * FRAMES, room), threads, take);
        let report = watched(move || pipeline(chain).run().unwrap());
        assert_eq!((report.lost, report.frames), (0, FRAMES), "{blocks} blocks");
        assert_eq!(arrived.check(0, 2), (2 * FRAMES, 0, 2 * FRAMES));
    }
}

#[test]
fn what_the_device_lost_is_passed_on() {
    // Before every third block it loses as many elements as it has filled blocks.
    let (mut next, mut blocks) = (0, 0);
    let fill = move |block: &mut [u64]| {
        if blocks == 12 {
            return Ok(Received::End);
        }
        let lost = if blocks % 3 == 0 { blocks } else { 0 };
        blocks += 1;
        next += lost;
        block.fill_with(|| {
            next += 1;
            next - 1
        });
        Ok(Received::Frame { lost })
    };
    let (chain, arrived) = chain((2, 12), fill, 1, || ());
    let report = watched(move || pipeline(chain).run().unwrap());
    assert_eq!((report.lost, report.frames), (3 + 6 + 9, 12));
    assert_eq!(arrived.check(0, 2), (24, 18, 42));
}

#[test]
fn a_block_may_be_filled_in_parts() {
    let (mut next, mut filled) = (0, 0);
    let fill = move |block: &mut [u64]| {
        if next == 30 {
            return Ok(Received::End);
        }
        (block[filled], next, filled) = (next, next + 1, (filled + 1) % 3);
        Ok(if filled == 0 { Received::Frame { lost: 0 } } else { Received::Nothing })
    };
    let (chain, arrived) = chain((3, 10), fill, 1, || ());
    watched(move || pipeline(chain).run().unwrap());
    assert_eq!(arrived.check(0, 3), (30, 0, 30));
}

type Then = fn() -> Result<Received>;

/// Fills ten blocks; then it does as it is told.
fn faulty(device: &Device, then: Then) -> impl FnMut(&mut [u64]) -> Result<Received> + Send + use<> {
    let next = Arc::clone(&device.next);
    move |block: &mut [u64]| {
        if next.load(Ordering::Relaxed) >= 20 {
            next.store(100, Ordering::Relaxed);
            return then();
        }
        block.fill_with(|| next.fetch_add(1, Ordering::Relaxed));
        Ok(Received::Frame { lost: 0 })
    }
}

#[test]
fn a_fault_of_the_device_comes_home_behind_what_it_filled() {
    let faults: [(Then, ErrorKind, &str); 2] = [
        (|| Err(Error::new("the cable is out")), ErrorKind::Task, "the cable is out"),
        (|| panic!("the aerial fell"), ErrorKind::Panic, "panicked: the aerial fell"),
    ];
    for (fault, kind, message) in faults {
        let device = Device::default();
        let (chain, arrived) = chain((2, 10), faulty(&device, fault), 2, || ());
        watched(move || {
            let mut pipeline = pipeline(chain);
            for run in 0..3 {
                let error = pipeline.run().unwrap_err();
                assert_eq!((error.kind(), error.message()), (kind, message));
                assert_eq!(error.place().task.as_deref(), Some("live"));
                let delivered = if run == 0 { 20 } else { 0 };
                assert_eq!(arrived.check(0, 2).0, delivered, "run {run}: frames before the fault are delivered");
            }
        });
    }
}

#[test]
fn a_later_run_goes_on_with_the_same_device() {
    let device = Device::default();
    let (made, mut end) = (device.clone(), 0);
    let fill = move |block: &mut [u64]| {
        if device.made() >= end {
            end = device.made() + 900;
            return Ok(Received::End);
        }
        block.fill_with(|| device.next.fetch_add(1, Ordering::Relaxed));
        Ok(Received::Frame { lost: 0 })
    };
    let (chain, arrived) = chain((3, 4), fill, 1, pauses(20));
    watched(move || {
        let mut pipeline = pipeline(chain);
        assert_eq!(pipeline.run().unwrap().frames, 0);
        for run in 0..3 {
            let before = made.made();
            let report = pipeline.run().unwrap();
            let (delivered, ..) = arrived.check(before, 3);
            assert_eq!((delivered + report.lost, made.made() - before), (900, 900), "run {run} counts its own losses");
        }
    });
}

#[test]
fn a_silent_device_does_not_hold_up_a_stop() {
    let silent = |_: &mut [u64]| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(Received::Nothing)
    };
    let (chain, _) = chain((4, 4), silent, 2, || ());
    watched(move || {
        let mut pipeline = pipeline(chain).batch(3).unwrap();
        for _ in 0..2 {
            let stopper = pipeline.stopper();
            let report = std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(30));
                    stopper.stop();
                });
                pipeline.run()
            });
            assert_eq!(report.unwrap().frames, 0);
        }
    });
}

#[test]
fn a_stop_takes_no_more_and_counts_what_it_took() {
    let (device, stopper) = (Device::default(), Arc::new(std::sync::OnceLock::<bief::pipeline::Stopper>::new()));
    let (told, mut left) = (Arc::clone(&stopper), 200);
    let mut pause = pauses(20);
    let take = move || {
        pause();
        left -= 1;
        if left == 0 {
            told.get().unwrap().stop();
            left = 200;
        }
    };
    let (chain, arrived) = chain((2, 3), device.up_to(u64::MAX, || ()), 2, take);
    watched(move || {
        let mut pipeline = pipeline(chain);
        stopper.set(pipeline.stopper()).unwrap();
        let mut start = 0;
        for _ in 0..3 {
            let report = pipeline.run().unwrap();
            let (delivered, marked, _) = arrived.check(start, 2);
            assert_eq!((report.frames * 2, report.lost), (delivered, marked));
            // What was on its way when the run before was stopped counts towards this one.
            assert!(report.frames + report.max_frames_in_flight >= 200, "{report}");
            start = device.made();
        }
    });
}

#[test]
fn a_device_that_does_not_return_is_left_and_a_later_run_needs_it_back() {
    let (release, held) = channel::<()>();
    let (mut first, entered) = (true, Arc::new(AtomicBool::new(false)));
    let inside = Arc::clone(&entered);
    let fill = move |block: &mut [u64]| {
        if first {
            first = false;
            inside.store(true, Ordering::Release);
            let _ = held.recv();
        }
        block.fill(7);
        Ok(Received::Frame { lost: 0 })
    };
    let (chain, arrived) = chain((1, 1), fill, 1, || ());
    watched(move || {
        let mut pipeline = pipeline(chain);
        let stop_when_inside = |pipeline: &mut Pipeline| {
            let (stopper, entered) = (pipeline.stopper(), Arc::clone(&entered));
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    while !entered.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    stopper.stop();
                });
                pipeline.run()
            })
        };
        assert_eq!(stop_when_inside(&mut pipeline).unwrap().frames, 0);
        let error = pipeline.run().unwrap_err().to_string();
        assert_eq!(
            error,
            "task `live` (stage `live`): the device has not returned since the last run: let `fill` return \
             `Received::Nothing` when nothing comes"
        );
        release.send(()).unwrap();
        stop_when_inside(&mut pipeline).unwrap();
        assert!(arrived.elements.take().iter().all(|&element| element == 7));
    });
}

#[test]
fn a_device_may_be_listened_to_before_the_run() {
    let device = Device::default();
    let mut live = source::live(1, 50, device.up_to(50, || ()));
    live.listen().unwrap();
    watched({
        let ended = Arc::clone(&device.ended);
        move || {
            while !ended.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        }
    });
    let mut chain = Chain::new();
    let (numbers, _) = chain.add(live, ());
    let (collect, result) = sink::collect();
    chain.add(collect, &numbers);
    assert_eq!(chain.build().unwrap().run().unwrap().lost, 0);
    assert_eq!(result.take(), (0..50).collect::<Vec<_>>(), "the queue held it all");
}

/// Drops one element of each frame.
struct Sieve(u64);

impl Task for Sieve {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, input: &[u64], output: &mut [u64]) -> Result<Flow> {
        output.copy_from_slice(input);
        self.0 += 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self(0))
    }
    fn lost(&self) -> u64 {
        self.0
    }
    fn reset(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }
}

#[test]
fn losses_of_replicas_and_in_regions_are_summed() {
    let mut chain = Chain::new();
    let wire = chain.add(crate::common::Count::to(30), ());
    chain.stage("three").threads(3);
    let wire = chain.add(Sieve(0), &wire);
    let wire = chain.add(Probe::new(crate::common::Act::Pass), &wire);
    chain.stage("region").threads(2);
    chain.repeat(2, |chain| {
        chain.repeat(3, |chain| drop(chain.add(Sieve(0), &wire)));
        chain.add(Sieve(0), &wire);
    });
    let mut pipeline = pipeline(chain);
    for _ in 0..2 {
        let report = pipeline.run().unwrap();
        let lost: Vec<u64> = report.stages.iter().map(|stage| stage.lost).collect();
        assert_eq!((lost, report.lost), (vec![0, 30, 2 * (3 + 1) * 30], 270));
    }
}

#[test]
fn queues_that_cannot_be_are_refused() {
    let refusal = |len, blocks| {
        let mut chain = Chain::new();
        chain.add(source::live(len, blocks, |_: &mut [u64]| Ok(Received::End)), ());
        let error = chain.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Build);
        error.to_string()
    };
    assert_eq!(refusal(0, 4), "task `live`: a frame of no elements would never end: give a length of at least 1");
    assert_eq!(refusal(4, 0), "task `live`: a queue of no blocks loses every frame: give it at least 1");
    let mut unlistenable = source::live(4, usize::MAX, |_: &mut [u64]| Ok(Received::End));
    assert!(unlistenable.listen().unwrap_err().to_string().contains("more than memory can hold"));
    for (len, blocks) in [(1, usize::MAX), (usize::MAX, 1), (1 << 40, 1 << 30)] {
        assert!(refusal(len, blocks).ends_with(" x u64 is more than memory can hold: give it fewer"));
    }
}

#[test]
fn a_paced_source_takes_its_time_in_every_run_and_leaves_nothing_out() {
    let mut chain = Chain::new();
    let numbers: Vec<u32> = (0..30).collect();
    let mut wire = chain.add(source::from_slice(&numbers, 3), ());
    let (pace, releases) = source::pace(1000.0);
    chain.add(pace, &mut wire);
    chain.stage("after");
    // One frame is held up for the time of five.
    let slow = sink::for_each(|frame: &[u32]| {
        if frame[0] == 6 {
            std::thread::sleep(Duration::from_millis(15));
        }
        Ok(Flow::Next)
    });
    chain.add(slow, &wire);
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(1).unwrap();
    assert!(releases.last().is_none());
    for _ in 0..2 {
        let report = pipeline.run().unwrap();
        assert_eq!(result.take(), (0..30).collect::<Vec<_>>());
        assert!(report.seconds >= 0.030, "ten frames of 3 ms took {} s", report.seconds);
        let last = releases.last().unwrap();
        assert!(last.frames == 10 && last.behind < 10, "{last:?}");
        assert!(last.late_median_ns <= last.late_p99_ns && last.late_p99_ns <= last.late_max_ns, "{last:?}");
    }
}

#[test]
fn a_paced_source_that_is_behind_goes_on_at_once() {
    let mut chain = Chain::new();
    let mut left = 50;
    let fill = move |_: &mut [u8]| {
        if left == 49 {
            std::thread::sleep(Duration::from_millis(20));
        }
        left -= 1;
        Ok(if left < 0 { Flow::Stop } else { Flow::Next })
    };
    let mut wire = chain.add(source::from_fn(1, fill), ());
    let (pace, releases) = source::pace(1e4);
    chain.add(pace, &mut wire);
    let report = chain.build().unwrap().run().unwrap();
    // The frames of 20 ms were due when the source went on.
    let last = releases.last().unwrap();
    assert_eq!((report.frames, last.frames), (50, 50));
    assert!(last.behind >= 49 && last.behind_max_ns >= 15_000_000, "{last:?}");
}

#[test]
fn a_pace_that_cannot_be_is_refused() {
    let refused = |rate: f64, len: usize| {
        let mut chain = Chain::new();
        let mut wire = chain.add(source::from_slice(&[0_u8; 400], len), ());
        chain.add(source::pace(rate).0, &mut wire);
        chain.build().unwrap_err().to_string()
    };
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(rate, 1).contains("`pace`: a pace of") && refused(rate, 1).contains("above 0"), "{rate}");
    }
    assert!(refused(1.0, 61).contains("a frame of 61 elements takes 61 s at 1 per second: give shorter frames"));
}
