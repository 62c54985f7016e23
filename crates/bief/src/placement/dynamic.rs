//! Threads of a pipeline that a mapper moves between kinds of cores while a run goes on.

use std::convert::Infallible;
use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief_machine::class::ThreadId;
use bief_machine::clock::thread_time;
use bief_machine::mapper::{MapReport, MapSettings, Steering, ThreadMapper, ThreadStatus};
use serde::{Deserialize, Serialize};

use crate::columns::fitted;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::Machine;
use crate::worker::Worker;

use super::Pinning;

/// How the threads of a run that was placed [`Policy::Dynamic`](crate::placement::Policy::Dynamic) were moved between kinds of cores: a table
/// (by `Display`) or JSON (by `serde`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DynamicReport {
    /// What the mapper did in all, with everything that its thread took. What it found odd is among
    /// [`Report::notes`](crate::Report::notes).
    pub mapper: MapReport,
    /// What it did with each thread, in the order of the stages; a thread has the name of its stage and the number of its
    /// replica.
    pub threads: Vec<ThreadStatus>,
}

/// What the threads of a pipeline are mapped to, and how.
#[derive(Debug, Clone)]
pub(crate) struct Dynamic {
    pub(crate) machine: Machine,
    pub(crate) settings: MapSettings,
}

/// A mapper at work, on a thread of its own, or why there is none. Dropped, it ends, and all threads may run again where they might
/// before.
pub(crate) struct Mapping {
    /// Nothing is ever sent: the mapper ends when there is nobody left who could.
    stop: Option<Sender<Infallible>>,
    mapper: Option<JoinHandle<DynamicReport>>,
    refusal: Option<String>,
}

impl Dynamic {
    /// Gives the workers' threads, which are parked, their places, and begins to map them. Where that cannot be done, they run where
    /// they are, and the end says why.
    ///
    /// # Errors
    /// What is refused, if a place is required.
    pub(crate) fn begin(&self, workers: &mut [Worker], threads: &[ThreadId], pinning: Pinning) -> Result<Mapping> {
        for (worker, thread) in workers.iter_mut().zip(threads) {
            if pinning == Pinning::Require {
                // In the run it would be too late.
                worker.try_places(thread.number(), &of_kinds(&self.machine))?;
            }
            worker.take_place(thread.number(), pinning)?;
        }
        let none = |refusal| Mapping { stop: None, mapper: None, refusal: Some(refusal) };
        match self.start(workers, threads) {
            Ok(Some(mapping)) => Ok(mapping),
            Ok(None) => Ok(none(self.nothing_to_map())),
            Err(error) if pinning == Pinning::Try => Ok(none(format!("placed dynamic, nothing is moved: {error}"))),
            Err(error) => Err(error.with_kind(ErrorKind::Placement)),
        }
    }

    fn nothing_to_map(&self) -> String {
        match self.machine.kinds() {
            [only] => format!("placed dynamic: nothing to map, all cores are of one kind (`{}`)", only.name),
            _ => "placed dynamic: nothing to map, no thread may run on two kinds of cores".to_owned(),
        }
    }

    /// `None` where there is nothing to choose.
    fn start(&self, workers: &[Worker], threads: &[ThreadId]) -> Result<Option<Mapping>> {
        let tids: Vec<u32> = threads.iter().map(|thread| thread.number().unsigned_abs()).collect();
        let mut mapper = ThreadMapper::of_threads(&tids, &self.machine, self.settings)?;
        if mapper.threads().iter().all(|thread| thread.steering == Steering::Fixed) {
            return Ok(None);
        }
        let names: Vec<(u32, String)> = tids.into_iter().zip(workers.iter().map(Worker::name)).collect();
        let (stop, stopped) = mpsc::channel();
        let interval = self.settings.interval;
        let started = thread::Builder::new().name("mapper".to_owned()).spawn(move || {
            let begin = thread_time();
            go_on(&mut mapper, interval, &stopped);
            report(&mut mapper, names, thread_time().saturating_sub(begin))
        });
        let mapper = Some(started.map_err(Error::from_source)?);
        Ok(Some(Mapping { stop: Some(stop), mapper, refusal: None }))
    }
}

/// Maps at the end of each interval until it is stopped.
fn go_on(mapper: &mut ThreadMapper, interval: Duration, stopped: &Receiver<Infallible>) {
    let mut due = Instant::now() + interval;
    loop {
        match stopped.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(never) => match never {},
        }
        // Threads that wait for their pipeline are all there.
        if !mapper.step().unwrap_or(false) {
            return;
        }
        due = (due + interval).max(Instant::now());
    }
}

/// What was done with the threads of these names; takes `took`.
fn report(mapper: &mut ThreadMapper, names: Vec<(u32, String)>, took: Duration) -> DynamicReport {
    let known = mapper.threads();
    let status = |(tid, name): (u32, String)| {
        let status = known.iter().find(|thread| thread.tid == tid)?;
        Some(ThreadStatus { name, ..status.clone() })
    };
    let threads = names.into_iter().filter_map(status).collect();
    mapper.restore();
    DynamicReport { mapper: MapReport { own_cpu_seconds: took.as_secs_f64(), ..mapper.report() }, threads }
}

/// The hardware threads of each kind of core.
fn of_kinds(machine: &Machine) -> Vec<Vec<usize>> {
    let of_kind = |kind: usize| {
        let cores = machine.cores().iter().filter(move |core| core.kind == kind);
        cores.flat_map(|core| core.threads.iter().copied()).collect()
    };
    (0..machine.kinds().len()).map(of_kind).collect()
}

impl Mapping {
    /// Ends it, and gives the threads their places again; answers what it did, and what was odd.
    pub(crate) fn end(mut self, workers: &mut [Worker], threads: &[ThreadId]) -> (Option<DynamicReport>, Vec<String>) {
        if let Some(refusal) = self.refusal.take() {
            return (None, vec![refusal]);
        }
        let outcome = self.stop();
        for (worker, thread) in workers.iter_mut().zip(threads) {
            // A thread that set its own affinity while it was mapped may have undone what the mapper did. What is refused it says.
            let _ = worker.take_place(thread.number(), Pinning::Try);
        }
        match outcome {
            Some(Ok(mut report)) => {
                let notes = std::mem::take(&mut report.mapper.notes);
                (Some(report), notes.into_iter().map(|note| format!("placed dynamic: {note}")).collect())
            }
            Some(Err(payload)) => {
                (None, vec![format!("placed dynamic: the mapper ended early: {}", Error::panic(payload))])
            }
            None => (None, Vec::new()),
        }
    }

    fn stop(&mut self) -> Option<thread::Result<DynamicReport>> {
        self.stop = None;
        self.mapper.take().map(JoinHandle::join)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // The run has failed: nobody asks what the mapper did.
        let _ = self.stop();
    }
}

impl fmt::Display for DynamicReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22} {:>6} {:>7}  % on each kind of core", "placed dynamic", "moves", "busy ms")?;
        for thread in &self.threads {
            let on = |(kind, share): (&String, &f64)| format!("{:.0} {kind}", 100.0 * share);
            let on: Vec<String> = self.mapper.kinds.iter().zip(&thread.on_kinds).map(on).collect();
            let name = fitted(&thread.name, 22);
            let busy = 1e3 * thread.cpu_seconds;
            write!(f, "\n{name:<22} {:>6} {busy:>7.0}  {}", thread.migrations, fitted(&on.join(", "), 41))?;
        }
        let MapReport { migrations, intervals, .. } = self.mapper;
        let took = 100.0 * self.mapper.own_share();
        write!(f, "\nmapped {intervals} times, with {migrations} moves; that took {took:.2} % of a core")
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use super::super::{Placement, Policy};
    use super::*;
    use crate::affinity::Mask;
    use crate::pipeline::Waiting;
    use crate::realtime::{RealTime, StageTiming};
    use crate::task::Flow;
    use crate::{Chain, Pipeline, Report, Wire, sink, source};

    /// Longer than any of these tests takes, to have an end where something hangs.
    const POLICIES: Duration = Duration::from_secs(60);

    /// One at a time: they look at all threads of this program.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a stage sees of its thread: its number, and the hardware threads that it may run on.
    type Seen = Arc<Mutex<BTreeMap<&'static str, (i32, Mask)>>>;

    fn look(name: &'static str, seen: &Seen) -> Mask {
        let mask = Mask::of_thread(0).unwrap();
        seen.lock().unwrap().insert(name, (ThreadId::of_this_thread().number(), mask.clone()));
        mask
    }

    /// Keeps the processor busy for so long.
    fn work(us: u64) {
        let end = thread_time() + Duration::from_micros(us);
        while thread_time() < end {}
    }

    /// Two light stages and two that work, the second of them more. The last one says what becomes of each frame, by what its
    /// thread may run on.
    fn pipeline(seen: &Seen, mut last: impl FnMut(Mask) -> Result<Flow> + Send + 'static) -> Pipeline {
        let mut chain = Chain::new();
        chain.stage("source");
        let begin = Instant::now();
        let noted = Arc::clone(seen);
        let make = move |_: &mut [u8]| {
            look("source", &noted);
            Ok(if begin.elapsed() < POLICIES { Flow::Next } else { Flow::Stop })
        };
        let frame = chain.add(source::from_fn(1, make), ());
        let frame = pass(&mut chain, "middle", 300, seen, &frame);
        let frame = pass(&mut chain, "light", 0, seen, &frame);
        chain.stage("heavy");
        let noted = Arc::clone(seen);
        let end = move |_: &[u8]| {
            work(700);
            last(look("heavy", &noted))
        };
        chain.add(sink::for_each(end), &frame);
        chain.build().unwrap().pipeline_as_marked().unwrap()
    }

    fn pass(chain: &mut Chain, name: &'static str, us: u64, seen: &Seen, frame: &Wire<u8>) -> Wire<u8> {
        chain.stage(name);
        chain.add(Pass { name, us, seen: Arc::clone(seen) }, frame)
    }

    struct Pass {
        name: &'static str,
        us: u64,
        seen: Seen,
    }

    impl crate::Task for Pass {
        type In = crate::In<u8>;
        type Out = crate::Out<u8>;
        fn lens(&self, len: usize) -> Result<usize> {
            Ok(len)
        }
        fn run(&mut self, from: &[u8], to: &mut [u8]) -> Result<Flow> {
            look(self.name, &self.seen);
            work(self.us);
            to.copy_from_slice(from);
            Ok(Flow::Next)
        }
    }

    /// Two cores of this machine, the second at half the speed of the first; `None` where there is one.
    fn two_kinds() -> Option<(Machine, [Mask; 2])> {
        let here = Machine::here();
        let [fast, slow, ..] = here.cores() else {
            println!("skipped: there is one core");
            return None;
        };
        let (fast, slow) = (fast.threads[0], slow.threads[0]);
        let text = format!(
            "[[kind]]\nname = 'fast'\ncores = '{fast}'\n[[kind]]\nname = 'slow'\ncores = '{slow}'\nspeed = 0.5"
        );
        Some((Machine::emulated(&text, &here).unwrap(), [fast, slow].map(|thread| Mask::of(&[thread]).unwrap())))
    }

    /// Whether no mapper runs, and all threads of the stages may run on all cores again.
    fn assert_restored(seen: &Seen, all: &Mask) {
        let mappers = || {
            let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
            let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
            names.filter(|name| name.trim() == "mapper").count()
        };
        // A thread that has been joined is listed for a moment yet.
        let begin = Instant::now();
        while mappers() > 0 {
            assert!(begin.elapsed() < POLICIES, "a mapper goes on");
        }
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 4);
        for (name, (thread, _)) in &*seen {
            assert_eq!(Mask::of_thread(*thread).unwrap(), *all, "{name}");
        }
    }

    fn dynamic(pipeline: Pipeline, machine: &Machine) -> Pipeline {
        let often = MapSettings { interval: Duration::from_millis(1), ..MapSettings::default() };
        pipeline.place(&Policy::Dynamic, machine).unwrap().mapping(often).unwrap()
    }

    #[test]
    fn the_stage_that_needs_the_most_goes_to_the_fast_kind() {
        let _alone = alone();
        let Some((machine, [fast, slow])) = two_kinds() else { return };
        let all = fast.or(&slow);
        let seen = Seen::default();
        let arrived = fast.clone();
        let mut pipeline = pipeline(&seen, move |mask| Ok(if mask == arrived { Flow::Stop } else { Flow::Next }));
        pipeline = dynamic(pipeline, &machine);
        for _ in 0..3 {
            let report = pipeline.run().unwrap();
            assert_eq!(seen.lock().unwrap()["heavy"].1, fast);
            assert_restored(&seen, &all);
            assert!(report.notes.is_empty(), "{:?}", report.notes);
            assert_eq!(report.placement.as_ref().map(Placement::policy), Some("dynamic"));
            let dynamic = report.dynamic.as_ref().unwrap();
            assert_eq!(dynamic.mapper.kinds, ["fast", "slow"]);
            assert_eq!(dynamic.mapper.capacities, [1.0, 0.5]);
            let names: Vec<&str> = dynamic.threads.iter().map(|thread| &*thread.name).collect();
            assert_eq!(names, ["source 0", "middle 0", "light 0", "heavy 0"]);
            let moves: u64 = dynamic.threads.iter().map(|thread| thread.migrations).sum();
            assert_eq!(moves, dynamic.mapper.migrations);
            assert!(dynamic.mapper.own_cpu_seconds > 0.0 && dynamic.mapper.intervals > 0);
            let table = report.to_string();
            assert!(table.contains("\nheavy 0 ") && table.contains(" % of a core"), "{table}");
            assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        }
    }

    #[test]
    fn however_a_run_ends_threads_have_their_places_again() {
        let _alone = alone();
        let Some((machine, [fast, slow])) = two_kinds() else { return };
        let all = fast.or(&slow);
        for end in ["error", "panic", "stop"] {
            let seen = Seen::default();
            let stopper = Arc::<Mutex<Option<crate::pipeline::Stopper>>>::default();
            let stops = Arc::clone(&stopper);
            let arrived = fast.clone();
            let pipeline = pipeline(&seen, move |mask| match end {
                _ if mask != arrived => Ok(Flow::Next),
                "error" => Err(Error::new("as wanted")),
                "panic" => panic!("as wanted"),
                _ => {
                    stops.lock().unwrap().as_ref().unwrap().stop();
                    Ok(Flow::Next)
                }
            });
            let mut pipeline = dynamic(pipeline, &machine);
            *stopper.lock().unwrap() = Some(pipeline.stopper());
            for _ in 0..2 {
                let outcome = pipeline.run();
                assert_restored(&seen, &all);
                match outcome {
                    Ok(report) => assert!(end == "stop" && report.dynamic.is_some()),
                    Err(error) => assert!(end != "stop" && error.to_string().contains("as wanted"), "{error}"),
                }
            }
            // Placed otherwise, nothing is moved any more.
            let placed = pipeline.place(&Policy::Packed, &machine).unwrap();
            assert!(placed.mapping(MapSettings::default()).unwrap_err().message().contains("`dynamic` first"));
        }
    }

    /// Ends after some frames.
    fn short(seen: &Seen) -> Pipeline {
        let mut left = 20;
        pipeline(seen, move |_| {
            left -= 1;
            Ok(if left > 0 { Flow::Next } else { Flow::Stop })
        })
    }

    fn notes(report: &Report) -> String {
        report.notes.join("\n")
    }

    #[test]
    fn one_kind_of_cores_leaves_nothing_to_map() {
        let _alone = alone();
        let here = Machine::here();
        let core = here.cores()[0].threads[0];
        let machine = Machine::emulated(&format!("[[kind]]\nname = 'only'\ncores = '{core}'"), &here).unwrap();
        let seen = Seen::default();
        let mut pipeline = dynamic(short(&seen), &machine).pinning(Pinning::Require);
        let report = pipeline.run().unwrap();
        assert_eq!(report.notes, ["placed dynamic: nothing to map, all cores are of one kind (`only`)"]);
        assert!(report.dynamic.is_none());
        assert_restored(&seen, &Mask::of(&[core]).unwrap());
    }

    #[test]
    fn a_kind_that_the_system_refuses_is_a_note_or_an_error_as_asked() {
        let _alone = alone();
        let core = Machine::here().cores()[0].threads[0];
        // No machine has so many hardware threads.
        let of = |thread: usize, kind: usize| {
            format!(r#"{{"threads": [{thread}], "kind": {kind}, "cluster": {kind}, "package": 0, "node": 0}}"#)
        };
        let machine = |cores: [String; 2]| {
            let json = format!(
                r#"{{"format": 1, "model": "m", "kinds": [{{"name": "a"}}, {{"name": "b"}}], "cores": [{}]}}"#,
                cores.join(",")
            );
            Machine::from_json(&json).unwrap()
        };
        let half = machine([of(core, 0), of(8191, 1)]);
        let seen = Seen::default();
        let error = dynamic(short(&seen), &half).pinning(Pinning::Require).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Placement);
        assert!(error.to_string().contains("replica 0 may not run on hardware thread [8191]"), "{error}");
        let mut pipeline = dynamic(short(&seen), &half);
        assert_eq!(pipeline.run().unwrap().frames, 19);
        assert_restored(&seen, &Mask::of(&[core]).unwrap());

        let none = machine([of(8190, 0), of(8191, 1)]);
        let report = dynamic(short(&Seen::default()), &none).run().unwrap();
        assert_eq!((report.frames, report.notes.len()), (19, 5));
        assert!(notes(&report).contains("placed dynamic, nothing is moved: "), "{:?}", report.notes);
        assert!(report.dynamic.is_none());
    }

    #[test]
    fn what_does_not_go_with_threads_that_move_is_refused() {
        let machine = Machine::here();
        let placed = || short(&Seen::default()).place(&Policy::Dynamic, &machine).unwrap();
        let refused = |outcome: Result<Pipeline>, part: &str| {
            let error = outcome.unwrap_err();
            assert!(error.kind() == ErrorKind::Build && error.message().contains(part), "{error}");
        };
        let timing = StageTiming::new(Duration::from_millis(10), Duration::from_millis(1));
        refused(placed().real_time(RealTime::deadline(vec![timing; 4])), "reserves time on all cores");
        refused(placed().real_time(RealTime::fifo(3)), "real-time class");
        let fifo = short(&Seen::default()).real_time(RealTime::fifo(3)).unwrap();
        refused(fifo.place(&Policy::Dynamic, &machine), "real-time class");
        placed().real_time(RealTime::ordinary()).unwrap();
        let active = short(&Seen::default()).waiting(Waiting::Active);
        refused(active.place(&Policy::Dynamic, &machine), "`active`");
        assert!(placed().waiting(Waiting::Active).run().unwrap_err().message().contains("`active`"));
        let never = MapSettings { interval: Duration::ZERO, ..MapSettings::default() };
        refused(placed().mapping(never), "interval");
        // A placement that was written and read again is the same.
        let written = placed().placement().unwrap().to_json();
        let read = Placement::from_json(&written).unwrap();
        refused(
            short(&Seen::default()).real_time(RealTime::fifo(3)).unwrap().place_as(read, &machine),
            "real-time class",
        );
    }
}
