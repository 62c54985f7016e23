//! Every way that frames travel, in pipelines small enough for Miri: `.ci/deep miri` runs this file under it, to look for
//! undefined behaviour, races and leaks in the hand-overs and in the tables of pointers.

mod common;

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use bief::error::ErrorKind;
use bief::pipeline::{Stopper, Waiting};
use bief::raw::{BatchView, RawTask};
use bief::raw::{Direction, DynTask, DynWire, Shape, SocketKind};
use bief::sink::Collected;
use bief::source::Received;
use bief::{Chain, Error, Flow, In, InOut, InOutVar, InVar, Out, OutVar, Report, Result, Task, VarFrame, sink, source};
use common::{Act, Add, Count, Pair, Probe, rig, watched};

/// Runs the stages as marked. Miri tells a deadlock by itself, and its clock is not that of the watch.
fn run(chain: Chain, depth: usize) -> Result<Report> {
    let run = move || chain.build()?.pipeline_as_marked()?.depth(depth)?.run();
    if cfg!(miri) { run() } else { watched(run) }
}

#[test]
fn replicated_stages_keep_the_order() {
    for (threads, batch, depth) in [([1, 1, 1], 1, 1), ([2, 3, 1], 1, 1), ([1, 2, 3], 2, 2)] {
        let rig = rig(11, batch, threads, [Act::Pass; 3]);
        assert_eq!(run(rig.chain, depth).unwrap().frames, 11);
        assert_eq!(rig.result.take(), (3000..3011).collect::<Vec<_>>(), "{threads:?}, batch {batch}, depth {depth}");
    }
}

/// One wire is rewritten in place twice, another is carried past two stages.
fn jumping(threads: usize) -> (Chain, Collected<[u64; 2]>) {
    let mut chain = Chain::new().batch(2);
    let mut a = chain.add(Count::to(9), ());
    let early = chain.add(Probe::new(Act::Pass), &a);
    chain.stage("rewrite").threads(threads);
    chain.add(Add(7), &mut a);
    chain.stage("between").threads(2);
    chain.add(Add(1), &mut a);
    chain.stage("join").threads(threads);
    let pairs = chain.add(Pair, (&early, &a));
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &pairs);
    (chain, result)
}

#[test]
fn carried_wires_arrive_with_their_frame() {
    let expected: Vec<[u64; 2]> = (0..9).map(|x| [x + 1000, x + 8]).collect();
    for threads in [1, 3] {
        let (chain, result) = jumping(threads);
        run(chain, 1).unwrap();
        assert_eq!(result.take(), expected, "{threads} threads");
    }
    let (chain, result) = jumping(1);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), expected, "on one core");
}

#[test]
fn skipped_frames_leave_no_gap() {
    for (threads, batch) in [([1, 1, 1], 1), ([2, 3, 2], 1), ([3, 1, 2], 2)] {
        let rig = rig(12, batch, threads, [Act::Pass, Act::KeepEvery(3), Act::Pass]);
        run(rig.chain, 1).unwrap();
        assert_eq!(rig.result.take(), [3000, 3003, 3006, 3009], "{threads:?}, batch {batch}");
    }
}

#[test]
fn a_stop_ends_the_stream_at_its_frame() {
    for stopping in 0..3 {
        let mut acts = [Act::Pass; 3];
        acts[stopping] = Act::Stop(5);
        let rig = rig(12, 2, [2, 1, 2], acts);
        run(rig.chain, 1).unwrap();
        assert_eq!(rig.result.take(), (3000..3005).collect::<Vec<_>>(), "probe {stopping}");
    }
}

#[test]
fn a_sink_stops_an_endless_source() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(u64::MAX), ());
    chain.stage("work").threads(2);
    let wire = chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    let last = |frame: &[u64]| Ok(if frame[0] == 1004 { Flow::Stop } else { Flow::Next });
    chain.add(sink::for_each(last), &wire);
    assert_eq!(run(chain, 1).unwrap().frames, 4);
}

#[test]
fn faults_come_home_and_every_other_task_is_finished() {
    for (act, kind) in [(Act::Fail(5), ErrorKind::Task), (Act::Panic(5), ErrorKind::Panic)] {
        for faulty in 0..3 {
            let mut acts = [Act::Pass; 3];
            acts[faulty] = act;
            let rig = rig(12, 2, [1, 2, 1], acts);
            let error = run(rig.chain, 1).unwrap_err();
            assert_eq!((error.kind(), error.place().frame), (kind, Some(5)), "{error}");
            assert_eq!(rig.result.take(), (3000..3005).collect::<Vec<_>>(), "{error}");
            assert_eq!(rig.finished.load(Ordering::Relaxed), 3, "three of four probes: {error}");
        }
    }
}

/// Numbers of a batch, in place and as bytes beside a wire of variable length.
#[derive(Clone)]
struct Whole;

impl RawTask for Whole {
    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::In), SocketKind::fixed::<u64>(Direction::InOut)]
    }
    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::Out), SocketKind::variable::<u64>(Direction::Out)]
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![1.into(), 3.into()])
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let [numbers, mut added] = batch.inputs.each_mut()?;
        let [copy, mut long] = batch.outputs.each_mut()?;
        let copy = copy.into_bytes()?;
        copy.copy_from_slice(numbers.view().bytes()?);
        for position in batch.frames.live() {
            let number = numbers.view().frame::<u64>(position)?[0];
            added.frame::<u64>(position)?[0] += 1;
            let len = (number % 4) as usize;
            long.frame::<u64>(position)?[..len].fill(number);
            long.set_len(position, len)?;
            assert_eq!(long.view().frame::<u64>(position)?.len(), len);
        }
        Ok(())
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn whole_batches_are_read_and_written() {
    let mut chain = Chain::new().batch(3);
    let numbers = chain.add(Count::to(11), ());
    chain.stage("whole").threads(2);
    let mut added = chain.add(Probe::new(Act::KeepEvery(2)), &numbers);
    let made = chain.add_dyn(DynTask::raw(Whole), &[&DynWire::from(&numbers), &DynWire::from(&added)]).unwrap();
    chain.repeat(2, |chain| {
        chain.add_dyn(DynTask::raw(Whole), &[&made[0], &DynWire::from(&added)]).unwrap();
    });
    chain.stage("out");
    chain.add(Add(1), &mut added);
    let (collect, result) = sink::collect();
    chain.add(collect, &added);
    let taken = sink::for_each_var(|long: &[u64]| {
        assert!(long.iter().all(|&number| number % 4 == long.len() as u64));
        Ok(Flow::Next)
    });
    chain.add(taken, &made[1].typed_var().unwrap());
    run(chain, 1).unwrap();
    assert_eq!(result.take(), (0..11).step_by(2).map(|number| number + 1004).collect::<Vec<_>>());
}

#[test]
fn the_same_pipeline_runs_again_after_a_fault_and_however_it_waits() {
    let mut left = Some(5);
    let mut chain = Chain::new().batch(2);
    let mut a = chain.add(Count::to(9), ());
    chain.stage("work").threads(2);
    chain.add(Add(7), &mut a);
    let early = chain.add(Probe::new(Act::Pass), &a);
    chain.stage("out");
    chain.add(Add(1), &mut a);
    let pairs = chain.add(Pair, (&early, &a));
    let (collect, result) = sink::collect();
    chain.add(collect, &pairs);
    let fails_once = move |pair: &[[u64; 2]]| match left {
        Some(at) if pair[0][0] == 1007 + at => {
            left = None;
            Err(Error::new("once"))
        }
        _ => Ok(Flow::Next),
    };
    chain.add(sink::for_each(fails_once), &pairs);
    let runs = move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        assert_eq!(pipeline.run().unwrap_err().place().frame, Some(5));
        result.take();
        for (waiting, depth) in [(Waiting::Adaptive, 1), (Waiting::Passive, 2), (Waiting::Active, 1)] {
            pipeline = pipeline.waiting(waiting).depth(depth).unwrap();
            assert_eq!(pipeline.run().unwrap().frames, 9);
            assert_eq!(result.take(), (0..9).map(|x| [x + 1007, x + 8]).collect::<Vec<_>>());
        }
    };
    if cfg!(miri) { runs() } else { watched(runs) }
}

/// Runs the pipeline with several batches and depths in turn, and looks at what came each time.
fn run_with_each_batch(chain: Chain, look: impl Fn() + Send + 'static) {
    let runs = move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        for (batch, depth) in [(1, 1), (16, 8), (3, 1), (1, 8)] {
            pipeline = pipeline.batch(batch).unwrap().depth(depth).unwrap();
            assert_eq!(pipeline.run().unwrap().batch, batch);
            look();
        }
    };
    if cfg!(miri) { runs() } else { watched(runs) }
}

#[test]
fn the_same_frames_come_with_the_batch_and_depth_of_each_run() {
    let (chain, result) = jumping(2);
    run_with_each_batch(chain, move || {
        assert_eq!(result.take(), (0..9).map(|x| [x + 1000, x + 8]).collect::<Vec<_>>());
    });
    let (chain, result) = controlled(2, 2, Act::Pass);
    run_with_each_batch(chain, move || assert_eq!(result.take(), CONTROLLED));
    let (chain, result) = stretched(2, 2);
    run_with_each_batch(chain, move || assert_eq!(result.take(), STRETCHED));
}

#[test]
fn a_device_is_heard_from_run_to_run() {
    let (mut next, mut silent) = (0, false);
    let fill = move |block: &mut [u64]| {
        silent = !silent;
        if silent {
            return Ok(Received::Nothing);
        }
        next += 1;
        block.fill(next);
        Ok(if next % 8 == 0 { Received::End } else { Received::Frame { lost: 0 } })
    };
    let mut chain = Chain::new().batch(2);
    let (elements, lost) = chain.add(source::live(3, 2, fill), ());
    chain.stage("out");
    let (collect, heard) = sink::collect();
    chain.add(collect, &elements);
    let (collect, marks) = sink::collect();
    chain.add(collect, &lost);
    let runs = move || {
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        for run in 0..2 {
            let report = pipeline.run().unwrap();
            let mut last = 8 * run;
            for (frame, lost) in heard.take().chunks(3).zip(marks.take()) {
                last += 1 + lost / 3;
                assert_eq!(frame, [last; 3]);
            }
            assert_eq!(3 * report.frames + report.lost, 21);
        }
    };
    if cfg!(miri) { runs() } else { watched(runs) }
}

#[test]
fn a_run_is_stopped_from_outside() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(u64::MAX), ());
    chain.stage("work").threads(2);
    let wire = chain.add(Probe::new(Act::Pass), &wire);
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &wire);
    let stopper = Arc::new(OnceLock::<Stopper>::new());
    let told = Arc::clone(&stopper);
    let stops = move |frame: &[u64]| {
        if frame[0] == 1003 {
            told.get().unwrap().stop();
        }
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(stops), &wire);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().depth(1).unwrap();
    stopper.set(pipeline.stopper()).unwrap();
    let mut run = move || pipeline.run().unwrap().frames;
    let frames = if cfg!(miri) { run() } else { watched(run) };
    assert!(frames >= 4);
    assert_eq!(result.take(), (1000..1000 + frames).collect::<Vec<_>>());
}

/// Sockets of several types and lengths, among them one of no size.
#[derive(Clone)]
struct Split;

impl Task for Split {
    type In = (InOut<u8>, In<()>);
    type Out = (Out<[u16; 3]>, Out<f64>);
    fn lens(&self, (bytes, marks): (usize, usize)) -> Result<(usize, usize)> {
        if marks == 1 { Ok((bytes, 1)) } else { Err(Error::new("one mark per frame")) }
    }
    fn run(&mut self, (bytes, _): (&mut [u8], &[()]), (triples, sum): (&mut [[u16; 3]], &mut [f64])) -> Result<Flow> {
        for (triple, byte) in triples.iter_mut().zip(&mut *bytes) {
            *byte += 1;
            *triple = [u16::from(*byte); 3];
        }
        sum[0] = bytes.iter().copied().map(f64::from).sum();
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn mixed(threads: usize) -> (Chain, Collected<[u16; 3]>, Collected<f64>, Collected<u8>) {
    let mut chain = Chain::new().batch(2);
    let mut bytes = chain.add(source::from_slice(&[1_u8, 2, 3, 4, 5, 6, 7, 8, 9], 3), ());
    let marks = chain.add(source::from_fn(1, |_: &mut [()]| Ok(Flow::Next)), ());
    chain.stage("split").threads(threads);
    let (triples, sum) = chain.add(Split, (&mut bytes, &marks));
    chain.stage("out");
    let (collect_triples, of_triples) = sink::collect();
    let (collect_sums, of_sums) = sink::collect();
    let (collect_bytes, of_bytes) = sink::collect();
    chain.add(collect_triples, &triples);
    chain.add(collect_sums, &sum);
    chain.add(collect_bytes, &bytes);
    (chain, of_triples, of_sums, of_bytes)
}

#[test]
fn wires_of_every_kind_travel_together() {
    for threads in [1, 2] {
        let (chain, triples, sums, bytes) = mixed(threads);
        run(chain, 1).unwrap();
        assert_eq!(triples.take(), (2..=10).map(|x| [x; 3]).collect::<Vec<_>>());
        assert_eq!(sums.take(), [9.0, 18.0, 27.0]);
        assert_eq!(bytes.take(), (2..=10).collect::<Vec<_>>());
    }
}

#[test]
fn a_profile_runs_the_same_table() {
    let (chain, _, sums, _) = mixed(1);
    let profile = chain.build().unwrap().profile(4).unwrap();
    assert_eq!(profile.tasks().len(), 6);
    assert_eq!(sums.take(), [9.0, 18.0, 27.0]);
}

/// Whether the number is odd.
#[derive(Clone)]
struct Odd;

impl Task for Odd {
    type In = In<u64>;
    type Out = Out<bool>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[u64], odd: &mut [bool]) -> Result<Flow> {
        odd[0] = x[0] % 2 == 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Adds the second number to the first.
#[derive(Clone)]
struct Plus;

impl Task for Plus {
    type In = (InOut<u64>, In<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (x, y): (&mut [u64], &[u64]), (): ()) -> Result<Flow> {
        x[0] += y[0];
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What becomes of them: each even number + 20, each odd one + 100.
const CONTROLLED: [u64; 6] = [1020, 1121, 1143, 1246, 1270, 1375];

/// Numbers through a loop with a switch (even: + 10 in each of two turns; odd: + 100, and the loop is left), a feedback
/// (+ all before), and a constant (+ 1000).
fn controlled(threads: usize, batch: usize, act: Act) -> (Chain, Collected<u64>) {
    let mut chain = Chain::new().batch(batch);
    let mut x = chain.add(Count::to(6), ());
    let thousand = chain.constant(&[1000]);
    chain.stage("loop").threads(threads);
    let ten = chain.constant(&[10]);
    let mut sum = chain.blank::<u64>(1);
    chain.repeat(2, |chain| {
        let odd = chain.add(Odd, &x);
        chain.select(&odd, |paths| {
            paths.path(|chain| chain.add(Add(100), &mut x));
            paths.path(|chain| chain.add(Plus, (&mut x, &ten)));
        });
        chain.add(Probe::new(act), &x);
        let never = chain.add(Odd, &ten);
        chain.select(&never, |paths| {
            paths.path(|_| {});
            paths.path(|chain| chain.leave_if(&odd));
        });
    });
    chain.add(Plus, (&mut sum, &x));
    chain.stage("memory");
    let mut sum = chain.feedback(&[0], |chain, previous| {
        chain.add(Plus, (&mut sum, previous));
        sum
    });
    chain.stage("out").threads(1);
    chain.add(Plus, (&mut sum, &thousand));
    let (collect, result) = sink::collect();
    chain.add(collect, &sum);
    (chain, result)
}

#[test]
fn regions_and_constants_use_the_same_table() {
    for (threads, batch) in [(1, 1), (2, 2), (3, 4)] {
        let (chain, result) = controlled(threads, batch, Act::Pass);
        run(chain, 1).unwrap();
        assert_eq!(result.take(), CONTROLLED, "{threads} threads, batch {batch}");
    }
    for (act, kind) in [(Act::Fail(103), ErrorKind::Task), (Act::Panic(103), ErrorKind::Panic)] {
        let (chain, result) = controlled(2, 1, act);
        let error = run(chain, 1).unwrap_err();
        assert_eq!((error.kind(), error.place().frame), (kind, Some(3)), "{error}");
        assert_eq!(result.take(), CONTROLLED[..3]);
    }
}

/// As many elements as the number says.
#[derive(Clone)]
struct Stretch;

impl Task for Stretch {
    type In = In<u64>;
    type Out = OutVar<u16>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(5)
    }
    fn run(&mut self, x: &[u64], mut long: VarFrame<'_, u16>) -> Result<Flow> {
        long.space().fill(x[0] as u16);
        long.set_len(x[0] as usize)?;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[derive(Clone)]
struct Grow;

impl Task for Grow {
    type In = InOutVar<u16>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, mut long: VarFrame<'_, u16>, (): ()) -> Result<Flow> {
        long.push(100)?;
        long[0] += 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

struct Total;

impl Task for Total {
    type In = InVar<u16>;
    type Out = Out<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, long: &[u16], total: &mut [u64]) -> Result<Flow> {
        total[0] = long.iter().copied().map(u64::from).sum();
        Ok(Flow::Next)
    }
}

fn stretched(threads: usize, batch: usize) -> (Chain, Collected<u64>) {
    let mut chain = Chain::new().batch(batch);
    let x = chain.add(Count::to(5), ());
    let mut long = chain.add(Stretch, &x);
    chain.stage("grow").threads(threads);
    chain.add(Grow, &mut long);
    chain.stage("out");
    let total = chain.add(Total, &long);
    let (collect, result) = sink::collect();
    chain.add(collect, &total);
    (chain, result)
}

const STRETCHED: [u64; 5] = [101, 102, 105, 110, 117];

#[test]
fn variable_frames_travel_with_their_lengths() {
    for (threads, batch) in [(1, 1), (2, 2), (3, 1)] {
        let (chain, result) = stretched(threads, batch);
        run(chain, 1).unwrap();
        assert_eq!(result.take(), STRETCHED, "{threads} threads, batch {batch}");
    }
}

#[test]
fn what_is_observed_travels_with_its_batch() {
    let rig = rig(11, 2, [1, 2, 1], [Act::Pass, Act::KeepEvery(2), Act::Pass]);
    let mut pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap().trace(3).unwrap();
    let mut watch = pipeline.watch();
    for _ in 0..2 {
        let report = pipeline.run().unwrap();
        assert_eq!(report.latency.map(|latency| latency.frames), Some(6));
        assert_eq!(watch.status().frames, 6);
    }
    assert!(pipeline.last_trace().is_some());
}

#[test]
fn wires_whose_types_are_known_at_run_time_travel_like_others() {
    let mut chain = Chain::new().batch(2);
    let x = chain.add_dyn(DynTask::new(Count::to(5)), &[]).unwrap().remove(0);
    let long = chain.add_dyn(DynTask::new(Stretch), &[&x]).unwrap().remove(0);
    chain.stage("grow").threads(2);
    chain.add_dyn(DynTask::new(Grow), &[&long]).unwrap();
    chain.add_dyn(DynTask::new(Add(1)), &[&x]).unwrap();
    chain.stage("out");
    let total = chain.add(Total, &long.typed_var().unwrap());
    // Copies of one wire are read together; one that is rewritten has to be alone.
    let pairs = chain.add_dyn(DynTask::new(Pair), &[&(&total).into(), &DynWire::from(&total)]).unwrap().remove(0);
    chain.add_dyn(DynTask::new(Add(1)), &[&(&total).into()]).unwrap();
    let (collect, result) = sink::collect::<[u64; 2]>();
    chain.add_dyn(DynTask::new(collect), &[&pairs]).unwrap();
    run(chain, 1).unwrap();
    assert_eq!(result.take(), [101, 102, 105, 110, 117].map(|total| [total; 2]));
}
