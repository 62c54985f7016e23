//! Steady state: nothing is allocated per frame, observed, traced and watched or not, and nothing while threads are mapped.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use bief::raw::{BatchView, RawTask};
use bief::raw::{Direction, DynTask, DynWire, Shape, SocketKind};
use bief::source::{self, Received};
use bief::{Chain, Flow, In, InOutVar, Out, OutVar, Result, Task, VarFrame, sink};
use common::{Act, Add, Count, Probe};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// As many elements as the number's remainder.
#[derive(Clone)]
struct Stretch;

impl Task for Stretch {
    type In = In<u64>;
    type Out = (OutVar<u64>, Out<bool>);
    fn lens(&self, _: usize) -> Result<(usize, usize)> {
        Ok((16, 1))
    }
    fn run(&mut self, x: &[u64], (mut long, odd): (VarFrame<'_, u64>, &mut [bool])) -> Result<Flow> {
        for number in 0..x[0] % 16 {
            long.push(number)?;
        }
        odd[0] = x[0] % 2 == 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The frame's sum and its constant offset, in place.
#[derive(Clone)]
struct Sum;

impl Task for Sum {
    type In = (InOutVar<u64>, In<u64>);
    type Out = Out<u64>;
    fn lens(&self, _: (usize, usize)) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (mut long, offset): (VarFrame<'_, u64>, &[u64]), sum: &mut [u64]) -> Result<Flow> {
        sum[0] = offset[0] + long.iter().sum::<u64>();
        long.clear();
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The same, of a whole batch; with sockets of one length and of a length each, written as elements and as bytes.
#[derive(Clone)]
struct Whole;

impl RawTask for Whole {
    fn inputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::In), SocketKind::variable::<u64>(Direction::InOut)]
    }
    fn outputs(&self) -> Vec<SocketKind> {
        vec![SocketKind::fixed::<u64>(Direction::Out), SocketKind::variable::<u64>(Direction::Out)]
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![1.into(), 16.into()])
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let [numbers, mut long] = batch.inputs.each_mut()?;
        let [mut copy, mut short] = batch.outputs.each_mut()?;
        copy.bytes()?.copy_from_slice(numbers.view().bytes()?);
        for position in 0..batch.frames.count() {
            batch.frames.begin(position);
            let len = long.view().frame::<u64>(position)?.len();
            short.frame::<u64>(position)?[..len].copy_from_slice(long.view().frame(position)?);
            short.set_len(position, len / 2)?;
            long.set_len(position, 0)?;
            if numbers.view().frame::<u64>(position)?[0] % 7 == 0 {
                batch.frames.skip(position);
            }
        }
        Ok(())
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn allocations(frames: u64, batch: usize, threads: usize, seen: bool) -> u64 {
    // A depth that is set is kept: there are no spare slots, which are made when they are first needed.
    let mut chain = Chain::new().batch(batch).depth(4);
    let mut wire = chain.add(Count::to(frames), ());
    chain.stage("work").threads(threads);
    chain.add(Probe::new(Act::KeepEvery(3)), &wire);
    let offset = chain.constant(&[1_u64]);
    let (mut long, odd) = chain.add(Stretch, &wire);
    let made = chain.add_dyn(DynTask::raw(Whole), &[&DynWire::from(&wire), &DynWire::from(&long)]).unwrap();
    chain.repeat(2, |chain| {
        chain.add_dyn(DynTask::raw(Whole), &[&made[0], &made[1]]).unwrap();
    });
    chain.repeat(4, |chain| {
        chain.select(&odd, |paths| {
            paths.path(|chain| chain.add(Add(1), &mut wire));
            paths.path(|chain| chain.leave_if(&odd));
        });
        chain.leave_if(&odd);
    });
    chain.stage("out");
    chain.feedback(&[0_u64], |chain, previous| {
        chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), previous);
        chain.add(Sum, (&mut long, &offset))
    });
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let program = chain.build().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let mut pipeline = if threads == 0 { program.one_core() } else { program.pipeline_as_marked() }.unwrap();
    if seen {
        pipeline = pipeline.trace(1000).unwrap();
        let _ = pipeline.watch();
    }
    pipeline.run().unwrap();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Two tasks in the lanes of an emulated device, with launches and copies.
fn allocations_in_lanes(frames: u64) -> u64 {
    use bief::schedule::{Profile, Schedule, Stage, TaskProfile};

    let machine =
        "[[device]]\nname = 'gpu'\nlanes = 2\nlaunch_us = 1\ncopy_gb_per_s = 1\n[device.tasks]\n'Probe' = 0.5";
    let machine = bief::Machine::emulated(machine, &bief::Machine::here()).unwrap();
    let task = |_| TaskProfile::replicable("task", [1, 1]);
    let profile = Profile::new(["cpu", "gpu"], (0..4).map(task)).unwrap();
    let stages = [Stage::new(1, 1, "cpu"), Stage::new(2, 1, "gpu"), Stage::new(1, 1, "cpu")];
    let schedule = Schedule::new("hand", stages, &profile).unwrap();
    let mut chain = Chain::new().batch(2);
    let numbers = chain.add(Count::to(frames), ());
    let once = chain.add(Probe::new(Act::Pass), &numbers);
    let twice = chain.add(Probe::new(Act::Pass), &once);
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &twice);
    let mut pipeline = chain.build().unwrap().pipeline_on(&schedule, &machine).unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pipeline.run().unwrap();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// A device that is faster than what follows, and not always there.
fn allocations_of_a_device(frames: u64) -> u64 {
    let mut next = 0_u64;
    let fill = move |block: &mut [u64]| {
        next += 1;
        block.fill(next);
        Ok(match next {
            _ if next > frames => Received::End,
            _ if next.is_multiple_of(100) => Received::Nothing,
            _ => Received::Frame { lost: 0 },
        })
    };
    let mut chain = Chain::new().batch(2);
    let (numbers, lost) = chain.add(source::live(100, 8, fill), ());
    chain.stage("out");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &numbers);
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &lost);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pipeline.run().unwrap();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Maps the calling thread, which works, to two kinds of cores where there are two cores.
#[cfg(target_os = "linux")]
fn allocations_while_mapped() -> u64 {
    use bief::machine::mapper::{MapSettings, ThreadMapper};
    use std::time::{Duration, Instant};

    let here = bief::Machine::here();
    let machine = match here.cores() {
        [fast, slow, ..] => {
            let [fast, slow] = [fast, slow].map(|core| core.threads[0]);
            let kinds =
                format!("[[kind]]\nname = 'a'\ncores = '{fast}'\n[[kind]]\nname = 'b'\ncores = '{slow}'\nspeed = 0.4");
            bief::Machine::emulated(&kinds, &here).unwrap()
        }
        _ => here,
    };
    let this = std::fs::read_link("/proc/thread-self").unwrap();
    let this: u32 = this.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let mut mapper = ThreadMapper::of_threads(&[this], &machine, MapSettings::default()).unwrap();
    let mut map = |intervals: u32| {
        for _ in 0..intervals {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1) {}
            assert!(mapper.step().unwrap());
        }
    };
    // Its name is read when it is looked at for the second time.
    map(200);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    map(200);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_longer_run_allocates_no_more_than_a_short_one() {
    // The control: the counter sees what is allocated.
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drop(std::hint::black_box(vec![1]));
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > before);

    let runs = [(1, 0, false), (8, 0, false), (1, 1, false), (4, 3, false), (1, 0, true), (2, 2, true)];
    for (batch, threads, seen) in runs {
        let short = allocations(100, batch, threads, seen);
        let long = allocations(50_000, batch, threads, seen);
        // Thread start-up may differ by a few allocations; a single one per frame would be tens of thousands.
        assert!(long < short + 50, "batch {batch}, {threads} threads, seen: {seen}: {short} then {long}");
    }
    let [short, long] = [100, 50_000].map(allocations_of_a_device);
    assert!(long < short + 50, "a device: {short} then {long}");
    let [short, long] = [100, 3000].map(allocations_in_lanes);
    assert!(long < short + 50, "lanes: {short} then {long}");
    #[cfg(target_os = "linux")]
    assert_eq!(allocations_while_mapped(), 0);
}
