//! Tasks of whole batches do what tasks of single frames do: order, skips, stops, faults, lengths, replicas, regions; and what
//! their sockets do not carry is refused.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Act, Count, Probe, watched};
use bief::raw::{BatchView, FramePlace, RawTask};
use bief::raw::{Direction, Dtype, DynTask, DynWire, Shape, SocketKind};
use bief::{Chain, Error, Flow, Result, sink, source};
use num_complex::Complex;
use proptest::prelude::*;

type Work = Arc<dyn Fn(&mut BatchView<'_>) -> Result<()> + Send + Sync>;

/// A task that is what a test says.
#[derive(Clone)]
struct Raw {
    inputs: Vec<SocketKind>,
    outputs: Vec<SocketKind>,
    lens: Vec<Shape>,
    work: Work,
    replicable: bool,
    finished: Arc<AtomicU64>,
}

impl Raw {
    fn new(
        inputs: impl IntoIterator<Item = SocketKind>,
        outputs: impl IntoIterator<Item = SocketKind>,
        work: impl Fn(&mut BatchView<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let outputs: Vec<SocketKind> = outputs.into_iter().collect();
        Self {
            inputs: inputs.into_iter().collect(),
            lens: vec![Shape::from(1); outputs.len()],
            outputs,
            work: Arc::new(work),
            replicable: true,
            finished: Arc::default(),
        }
    }
}

impl RawTask for Raw {
    fn inputs(&self) -> Vec<SocketKind> {
        self.inputs.clone()
    }
    fn outputs(&self) -> Vec<SocketKind> {
        self.outputs.clone()
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(self.lens.clone())
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        (self.work)(batch)
    }
    fn replica(&self) -> Option<Self> {
        self.replicable.then(|| self.clone())
    }
    fn lost(&self) -> u64 {
        2
    }
    fn finish(&mut self) -> Result<()> {
        self.finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

const IN: Direction = Direction::In;
const IN_OUT: Direction = Direction::InOut;
const OUT: Direction = Direction::Out;

fn number(direction: Direction) -> SocketKind {
    SocketKind::fixed::<u64>(direction)
}

/// Adds 1000 to each number, after it did what is told with the batch.
fn thousand(and: impl Fn(&mut BatchView<'_>) -> Result<()> + Send + Sync + 'static) -> Raw {
    Raw::new([number(IN)], [number(OUT)], move |batch| {
        let input = batch.inputs.get(0)?.slice::<u64>()?;
        let mut output = batch.outputs.get_mut(0)?;
        for (output, input) in output.slice::<u64>()?.iter_mut().zip(input) {
            *output = input + 1000;
        }
        and(batch)
    })
}

/// `Count → raw → collect` on so many threads: what came, or the fault.
fn run(raw: Raw, frames: u64, batch: usize, threads: usize) -> (Result<bief::Report>, Vec<u64>) {
    let mut chain = Chain::new().batch(batch);
    let numbers = chain.add(Count::to(frames), ());
    chain.stage("raw").threads(threads.max(1));
    let made = chain.add_dyn(DynTask::raw(raw), &[&DynWire::from(&numbers)]).unwrap();
    chain.stage("out");
    let (collect, result) = sink::collect();
    chain.add(collect, &made[0].typed::<u64>().unwrap());
    let program = chain.build().unwrap();
    let report = watched(move || if threads == 0 { program.run() } else { program.pipeline_as_marked()?.run() });
    (report, result.take())
}

#[test]
fn frames_keep_their_order_on_any_number_of_replicas() {
    for (batch, threads) in [(1, 0), (7, 0), (1, 1), (4, 3), (16, 2)] {
        let (report, result) = run(thousand(|_| Ok(())), 1000, batch, threads);
        let report = report.unwrap();
        assert_eq!(result, (1000..2000).collect::<Vec<_>>(), "batch {batch}, {threads} threads");
        assert_eq!((report.frames, report.lost), (1000, 2 * threads.max(1) as u64));
    }
}

#[test]
fn frames_are_numbered_skipped_and_told_apart() {
    let odd = |batch: &mut BatchView<'_>| {
        let first = batch.frames.first().expect("it is in no region");
        for position in 0..batch.frames.count() {
            assert_eq!(batch.inputs.get(0)?.frame::<u64>(position)?, [first + position as u64]);
            if (first + position as u64).is_multiple_of(2) {
                batch.frames.skip(position);
            }
        }
        batch.frames.skip(1000); // there is none
        Ok(())
    };
    for (batch, threads) in [(1, 0), (5, 0), (5, 3)] {
        let (report, result) = run(thousand(odd), 100, batch, threads);
        assert_eq!(report.unwrap().frames, 50);
        assert_eq!(result, (1000..1100).filter(|number| number % 2 == 1).collect::<Vec<_>>());
    }
}

#[test]
fn frames_that_live_are_seen_one_by_one_and_in_runs() {
    let mut chain = Chain::new().batch(7);
    let numbers = chain.add(Count::to(7), ());
    chain.add(Probe::new(Act::KeepEvery(3)), &numbers); // 0, 3 and 6
    let look = Raw::new([number(IN)], [], |batch| {
        assert_eq!(batch.frames.live().collect::<Vec<_>>(), [0, 3, 6]);
        assert_eq!(batch.frames.runs().collect::<Vec<_>>(), [0..1, 3..4, 6..7]);
        assert_eq!((batch.frames.is_live(2), batch.frames.is_live(3), batch.frames.is_live(7)), (false, true, false));
        batch.frames.stop(4);
        assert_eq!(batch.frames.runs().collect::<Vec<_>>(), [0..1, 3..4]);
        Ok(())
    });
    chain.add_dyn(DynTask::raw(look), &[&DynWire::from(&numbers)]).unwrap();
    assert_eq!(chain.build().unwrap().run().unwrap().frames, 2);
}

#[test]
fn a_stop_in_a_batch_ends_the_stream_there() {
    let stop = |batch: &mut BatchView<'_>| {
        let first = batch.frames.first().expect("it is in no region");
        if (first..first + batch.frames.count() as u64).contains(&53) {
            batch.frames.stop((53 - first) as usize);
        }
        Ok(())
    };
    for (batch, threads) in [(1, 0), (7, 0), (7, 3)] {
        let (report, result) = run(thousand(stop), 1000, batch, threads);
        assert_eq!(report.unwrap().frames, 53);
        assert_eq!(result, (1000..1053).collect::<Vec<_>>());
    }
}

#[test]
fn a_source_makes_whole_batches_and_stops_within_one() {
    let source = Raw::new([], [number(OUT)], |batch| {
        let first = batch.frames.first().expect("it is in no region");
        let mut output = batch.outputs.get_mut(0)?;
        output.slice::<u64>()?.iter_mut().zip(first..).for_each(|(output, number)| *output = number);
        let left = 50_u64.saturating_sub(first);
        if left < batch.frames.count() as u64 {
            batch.frames.stop(left as usize);
        }
        Ok(())
    });
    let mut chain = Chain::new().batch(16);
    let numbers = chain.add_dyn(DynTask::raw(source), &[]).unwrap().remove(0);
    let (collect, result) = sink::collect::<u64>();
    chain.add_dyn(DynTask::new(collect), &[&numbers]).unwrap();
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), (0..50).collect::<Vec<_>>());
}

#[test]
fn faults_name_the_frame_that_was_begun_and_those_before_are_delivered() {
    for panics in [false, true] {
        let fail = move |batch: &mut BatchView<'_>| {
            let first = batch.frames.first().expect("it is in no region");
            for position in 0..batch.frames.count() {
                batch.frames.begin(position);
                if first + position as u64 == 50 {
                    assert!(!panics, "told to panic");
                    return Err(Error::new("told to fail"));
                }
            }
            Ok(())
        };
        for (batch, threads) in [(1, 0), (7, 0), (7, 3)] {
            let raw = thousand(fail);
            let finished = Arc::clone(&raw.finished);
            let (report, result) = run(raw, 1000, batch, threads);
            let error = report.unwrap_err();
            assert_eq!(error.place().frame, Some(50), "{error}");
            assert_eq!(error.place().task.as_deref(), Some("Raw"));
            assert_eq!(result, (1000..1050).collect::<Vec<_>>(), "batch {batch}, {threads} threads");
            assert_eq!(finished.load(Ordering::Relaxed), threads.max(1) as u64 - 1);
        }
    }
}

#[test]
fn a_fault_in_no_frame_is_that_of_the_first_that_lives() {
    let (report, result) = run(thousand(|_| Err(Error::new("no device"))), 100, 7, 0);
    assert_eq!(report.unwrap_err().to_string(), "task `Raw` (stage `chain`, frame 0): no device");
    assert!(result.is_empty());
}

#[test]
fn wires_of_variable_length_are_read_made_and_rewritten() {
    let stretch = Raw {
        lens: vec![Shape::from(4)],
        ..Raw::new([number(IN)], [SocketKind::variable::<u64>(OUT)], |batch| {
            let input = batch.inputs.get(0)?.slice::<u64>()?;
            let mut output = batch.outputs.get_mut(0)?;
            assert!(output.view().lens().unwrap().iter().all(|&len| len == 0), "they are empty at first");
            for (position, &number) in input.iter().enumerate() {
                output.frame::<u64>(position)?.fill(number);
                output.set_len(position, (number % 5) as usize)?;
            }
            Ok(())
        })
    };
    let shorten = Raw::new([SocketKind::variable::<u64>(IN_OUT)], [], |batch| {
        let mut wire = batch.inputs.get_mut(0)?;
        for position in 0..batch.frames.count() {
            let len = wire.view().lens().unwrap()[position];
            assert_eq!(wire.view().frame::<u64>(position)?.len(), len);
            assert_eq!(wire.view().frame_bytes(position)?.len(), 8 * len);
            wire.set_len(position, len.saturating_sub(1))?;
        }
        let message = wire.set_len(0, 5).unwrap_err().to_string();
        assert!(message.starts_with("a frame of 5 elements is longer than the capacity of 4"), "{message}");
        Ok(())
    });
    for threads in [1, 3] {
        let mut chain = Chain::new().batch(7);
        let numbers = chain.add(Count::to(100), ());
        chain.stage("work").threads(threads);
        let long = chain.add_dyn(DynTask::raw(stretch.clone()), &[&DynWire::from(&numbers)]).unwrap().remove(0);
        chain.add_dyn(DynTask::raw(shorten.clone()), &[&long]).unwrap();
        chain.stage("out");
        let result = Arc::<Mutex<Vec<Vec<u64>>>>::default();
        let taken = Arc::clone(&result);
        let take = sink::for_each_var(move |frame: &[u64]| {
            taken.lock().unwrap().push(frame.to_vec());
            Ok(Flow::Next)
        });
        chain.add(take, &long.typed_var().unwrap());
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        let expected = (0..100_u64).map(|number| vec![number; (number % 5).saturating_sub(1) as usize]);
        assert_eq!(*result.lock().unwrap(), expected.collect::<Vec<_>>());
    }
}

#[test]
fn sockets_are_used_side_by_side_in_place_and_as_bytes() {
    let raw = Raw {
        lens: vec![Shape::from([2, 2]), Shape::from(1)],
        ..Raw::new(
            [number(IN), number(IN_OUT)],
            [SocketKind::of(&"complex<f32>".parse().unwrap(), OUT, false).unwrap(), number(OUT)],
            |batch| {
                let constant = batch.inputs.get(0)?;
                assert_eq!((constant.stride(), constant.slice::<u64>()?), (0, &[7][..]));
                let [constant, mut sum] = batch.inputs.each_mut()?;
                let constant = constant.view().slice::<u64>()?[0];
                sum.slice::<u64>()?.iter_mut().for_each(|number| *number += constant);
                let mut outputs = batch.outputs.iter_mut();
                let (complex, mut copy) = (outputs.next().unwrap(), outputs.next().unwrap());
                assert_eq!(
                    (complex.view().shape().dims(), complex.view().dtype()),
                    (&[2, 2][..], Some(&Dtype::ComplexF32))
                );
                copy.bytes()?.copy_from_slice(sum.view().bytes()?);
                complex.into_slice::<Complex<f32>>()?.fill(Complex::new(1.0, -1.0));
                Ok(())
            },
        )
    };
    let mut chain = Chain::new().batch(3);
    let numbers = chain.add(Count::to(10), ());
    let seven = chain.constant(&[7_u64]);
    let made = chain.add_dyn(DynTask::raw(raw), &[&DynWire::from(seven.wire()), &DynWire::from(&numbers)]).unwrap();
    assert_eq!((made[0].shape().dims(), made[0].len(), made[1].shape().dims()), (&[2, 2][..], 4, &[1][..]));
    let (collect, complex) = sink::collect();
    chain.add(collect, &made[0].typed::<Complex<f32>>().unwrap());
    let (collect, copied) = sink::collect();
    chain.add(collect, &made[1].typed::<u64>().unwrap());
    let (collect, rewritten) = sink::collect();
    chain.add(collect, &numbers);
    chain.build().unwrap().run().unwrap();
    assert_eq!(complex.take(), [Complex::new(1.0, -1.0); 40]);
    assert_eq!(copied.take(), (7..17).collect::<Vec<_>>());
    assert_eq!(rewritten.take(), (7..17).collect::<Vec<_>>());
}

#[test]
fn what_a_socket_does_not_carry_is_an_error() {
    let check = |batch: &mut BatchView<'_>| {
        let told = |error: Error| error.to_string();
        let input = batch.inputs.get(0)?;
        assert_eq!(told(input.slice::<f32>().unwrap_err()), "the socket carries u64, not f32");
        assert_eq!(
            told(input.frame::<u64>(7).unwrap_err()),
            "there is no frame at position 7: the batch has 7, counted from 0"
        );
        assert_eq!(told(batch.inputs.get(2).unwrap_err()), "there is no socket 2: there are 2, counted from 0");
        let [mut number, mut flag] = batch.inputs.each_mut()?;
        let reads = "this socket only reads its wire: let it rewrite it, `Direction::InOut`";
        assert_eq!(told(number.slice::<u64>().unwrap_err()), reads);
        assert_eq!(told(number.bytes().unwrap_err()), reads);
        assert_eq!(told(number.set_len(0, 0).unwrap_err()), reads);
        assert!(told(flag.bytes().unwrap_err()).starts_with("bool is not known to be portable: let `portable!`"));
        assert_eq!(told(flag.set_len(0, 1).unwrap_err()), "its frames are of one length: make the socket variable");
        assert_eq!(flag.slice::<bool>()?, [false; 7]);
        assert_eq!(told(batch.outputs.each_mut::<2>().unwrap_err()), "there are 1 sockets, not 2");
        Ok(())
    };
    let raw = Raw::new([number(IN), SocketKind::fixed::<bool>(IN_OUT)], [number(OUT)], check);
    let mut chain = Chain::new().batch(7);
    let numbers = chain.add(Count::to(7), ());
    let flags = chain.blank::<bool>(1);
    chain.add_dyn(DynTask::raw(raw), &[&DynWire::from(&numbers), &DynWire::from(&flags)]).unwrap();
    assert_eq!(chain.build().unwrap().run().unwrap().frames, 7);
}

#[test]
fn sockets_that_do_not_fit_are_refused_when_the_task_is_added() {
    let mut chain = Chain::new();
    let numbers = DynWire::from(&chain.add(Count::to(7), ()));
    let mut refused = |raw: Raw| chain.add_dyn(DynTask::raw(raw), &[&numbers]).unwrap_err().to_string();
    let idle = |_: &mut BatchView<'_>| Ok(());
    assert_eq!(
        refused(Raw::new([SocketKind::fixed::<f32>(IN)], [], idle)),
        "task `Raw`: input 0 reads f32, but gets u64 from task `Count`"
    );
    assert_eq!(
        refused(Raw::new([number(OUT)], [], idle)),
        "task `Raw`: input 0 is said to make a wire: let it read or rewrite one"
    );
    assert_eq!(
        refused(Raw::new([number(IN)], [number(IN)], idle)),
        "task `Raw`: output 0 is said to read a wire: let it make one"
    );
    assert_eq!(
        refused(Raw { lens: vec![], ..Raw::new([number(IN)], [number(OUT)], idle) }),
        "task `Raw`: it has 1 output, but its `lens` gives 0 shapes: give one for each"
    );
    let text = SocketKind::of(&"[f64; 7]".parse().unwrap(), IN, false).unwrap_err().to_string();
    assert_eq!(text, "no type is known that is [f64; 7]: call `Dtype::register` with the type that is, first");
}

#[test]
fn inside_a_region_a_batch_is_one_frame() {
    let raw = Raw::new([number(IN_OUT)], [], |batch| {
        assert_eq!((batch.frames.first(), batch.frames.count()), (None, 1));
        let mut wire = batch.inputs.get_mut(0)?;
        let number = &mut wire.slice::<u64>()?[0];
        *number += 10;
        match *number {
            40.. => batch.frames.stop(0),
            35 => batch.frames.skip(0),
            _ => {}
        }
        Ok(())
    });
    for threads in [1, 2] {
        let mut chain = Chain::new().batch(4);
        let numbers = chain.add(Count::to(100), ());
        chain.stage("work").threads(threads);
        chain.repeat(2, |chain| {
            chain.add_dyn(DynTask::raw(raw.clone()), &[&DynWire::from(&numbers)]).unwrap();
        });
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &numbers);
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        assert_eq!(result.take(), (20..40).filter(|number| number % 10 != 5 || *number < 35).collect::<Vec<_>>());
    }
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(9), ());
    chain.repeat(1, |chain| {
        let stop = Raw::new([number(IN)], [], |batch| {
            batch.frames.stop(1);
            Ok(())
        });
        chain.add_dyn(DynTask::raw(stop), &[&DynWire::from(&numbers)]).unwrap();
    });
    let error = chain.build().unwrap().run().unwrap_err();
    assert!(error.to_string().contains("in `Raw`: inside a loop"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Against what single frames do, whatever is skipped before and in it.
    #[test]
    fn a_raw_task_is_like_one_of_single_frames(
        batch in 1_usize..9,
        threads in 1_usize..4,
        frames in 0_u64..80,
        every in 1_u64..5,
        skip in 1_u64..5,
    ) {
        let raw = thousand(move |batch| {
            let input = batch.inputs.get(0)?.slice::<u64>()?;
            (0..batch.frames.count()).filter(|&at| input[at] % skip == 1).for_each(|at| batch.frames.skip(at));
            Ok(())
        });
        let mut chain = Chain::new().batch(batch);
        let numbers = chain.add(Count::to(frames), ());
        chain.add(Probe::new(Act::KeepEvery(every)), &numbers);
        chain.stage("raw").threads(threads);
        let made = chain.add_dyn(DynTask::raw(raw), &[&DynWire::from(&numbers)]).unwrap();
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &made[0].typed::<u64>().unwrap());
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        let kept = (0..frames).filter(|number| number.is_multiple_of(every) && number % skip != 1);
        prop_assert_eq!(result.take(), kept.map(|number| number + 1000).collect::<Vec<_>>());
    }
}

#[test]
fn a_task_is_told_of_the_end_and_begins_anew() {
    #[derive(Default)]
    struct Numbers {
        next: u64,
        finished: Arc<AtomicU64>,
    }
    impl RawTask for Numbers {
        fn name(&self) -> String {
            "numbers".to_owned()
        }
        fn inputs(&self) -> Vec<SocketKind> {
            Vec::new()
        }
        fn outputs(&self) -> Vec<SocketKind> {
            vec![number(OUT)]
        }
        fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
            Ok(vec![1.into()])
        }
        fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
            let mut output = batch.outputs.get_mut(0)?;
            for position in 0..batch.frames.count() {
                output.frame::<u64>(position)?[0] = self.next;
                self.next += 1;
            }
            if self.next >= 20 {
                batch.frames.stop(batch.frames.count());
            }
            Ok(())
        }
        fn finish(&mut self) -> Result<()> {
            self.finished.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn reset(&mut self) -> Result<()> {
            self.next = 0;
            Ok(())
        }
    }
    let numbers = Numbers::default();
    let finished = Arc::clone(&numbers.finished);
    let mut chain = Chain::new().batch(4);
    let wire = chain.add_dyn(DynTask::raw(numbers), &[]).unwrap().remove(0);
    chain.stage("out");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire.typed().unwrap());
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    for run in 1..=3 {
        assert_eq!(pipeline.run().unwrap().frames, 20);
        assert_eq!(finished.load(Ordering::Relaxed), run);
    }
}

#[test]
fn what_was_leaked_is_not_given_back() {
    // Each run shows where its frames lie, and leaks them or not; what was given back is there again for the next of that size.
    let starts = |leaks: bool| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let work = move |batch: &mut BatchView<'_>| {
            let view = batch.outputs.get_mut(0)?;
            told.lock().unwrap().push(view.view().slice::<u64>()?.as_ptr().addr());
            if leaks {
                view.view().leak();
            }
            batch.frames.stop(1);
            Ok(())
        };
        let mut source = Raw::new([], [number(Direction::Out)], work);
        source.lens = vec![Shape::from(100_000)];
        let mut chain = Chain::new();
        chain.add_dyn(DynTask::raw(source), &[]).unwrap();
        chain.build().unwrap().run().unwrap();
        let seen = seen.lock().unwrap();
        seen[0]
    };
    let leaked: Vec<usize> = (0..50).map(|_| starts(true)).collect();
    let mut apart = leaked.clone();
    apart.sort_unstable();
    apart.dedup();
    assert_eq!(apart.len(), leaked.len(), "each run had memory of its own");
    assert!(!leaked.contains(&starts(false)));
}

/// Doubles numbers frame by frame; skips, stops or fails at some.
#[derive(Clone, Default)]
struct Doubled {
    skips: Option<u32>,
    stops: Option<u32>,
    fails: Option<u32>,
    numbers: Arc<Mutex<Vec<Option<u64>>>>,
}

impl RawTask for Doubled {
    const BY_FRAME: bool = true;
    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u32>(Direction::In)]
    }
    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u32>(Direction::Out)]
    }
    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        Ok(inputs.to_vec())
    }
    fn run(&mut self, _: &mut BatchView<'_>) -> Result<()> {
        panic!("frames come one by one")
    }
    fn frame(&mut self, number: Option<u64>, places: &mut [FramePlace]) -> Result<Flow> {
        self.numbers.lock().unwrap().push(number);
        let [from, to] = places else { panic!("{places:?}") };
        assert_eq!([from.len, from.capacity, to.len, to.capacity], [1; 4]);
        // SAFETY: frames of one `u32` each, which nobody else uses.
        let number = unsafe { *from.data.cast::<u32>() };
        // SAFETY: as before.
        unsafe { *to.data.cast::<u32>() = 2 * number };
        // What it leaves there does not last.
        *to = FramePlace { data: std::ptr::null_mut(), len: 7, capacity: 7 };
        if self.fails == Some(number) {
            return Err(Error::new("it does not like this one"));
        }
        Ok(match () {
            () if self.skips == Some(number) => Flow::Skip,
            () if self.stops == Some(number) => Flow::Stop,
            () => Flow::Next,
        })
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn frames_come_one_by_one_to_those_who_want_it_so() {
    let numbers: Vec<u32> = (0..10).collect();
    for batch in [1, 3, 16] {
        let run = |doubled: Doubled| {
            let mut chain = Chain::new().batch(batch);
            let wire = chain.add(source::from_slice(&numbers, 1), ());
            chain.stage("doubled").threads(2);
            let made = chain.add_dyn(DynTask::raw(doubled), &[&DynWire::from(&wire)]).unwrap();
            chain.stage("out");
            let (collect, result) = sink::collect();
            chain.add(collect, &made[0].typed::<u32>().unwrap());
            let outcome = chain.build().unwrap().pipeline_as_marked().unwrap().run();
            (outcome, result.take())
        };
        let seen = Doubled::default();
        assert_eq!(run(seen.clone()).1, (0..10).map(|number| 2 * number).collect::<Vec<u32>>());
        let mut numbers = seen.numbers.lock().unwrap().clone();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).map(Some).collect::<Vec<_>>());
        assert_eq!(run(Doubled { skips: Some(4), ..Doubled::default() }).1, [0, 2, 4, 6, 10, 12, 14, 16, 18]);
        assert_eq!(run(Doubled { stops: Some(4), ..Doubled::default() }).1, [0, 2, 4, 6]);
        let (outcome, before) = run(Doubled { fails: Some(4), ..Doubled::default() });
        let error = outcome.unwrap_err();
        assert_eq!((error.place().frame, before), (Some(4), vec![0, 2, 4, 6]));
    }
}

#[test]
fn in_a_loop_frames_that_come_one_by_one_have_no_number() {
    let seen = Doubled::default();
    let mut chain = Chain::new();
    let wire = chain.add(source::from_slice(&[1_u32, 2], 1), ());
    chain.repeat(2, |chain| drop(chain.add_dyn(DynTask::raw(seen.clone()), &[&DynWire::from(&wire)]).unwrap()));
    chain.build().unwrap().run().unwrap();
    assert_eq!(*seen.numbers.lock().unwrap(), [None; 4]);
}
