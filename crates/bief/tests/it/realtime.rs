//! Pipelines under real-time classes: where the system permits them, where it does not, and what is refused before.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::common::{Act, Count, Probe, silence_panics, threads_named, watched};
use bief::error::ErrorKind;
use bief::machine::class::probe;
use bief::pipeline::Waiting;
use bief::placement::Policy;
use bief::realtime::{Class, Mode, RealTime, StageTiming};
use bief::sink::{self, Collected};
use bief::{Chain, Flow, In, Machine, Out, Pipeline, Report, Result, Task, source};

const ORDINARY: u32 = 0;
const FIFO: u32 = 1;
const DEADLINE: u32 = 6;

/// What one test reserves, another cannot.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process may set every class; says why a test is skipped.
fn may_set_classes() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).map(str::trim);
    let may = mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask >> 23 & 1 == 1);
    if !may {
        eprintln!("skipped: this process has no CAP_SYS_NICE");
    }
    may
}

/// The class of a thread of this process, as the kernel counts them: field 41 of its state, of which the second is its name.
fn class_of(thread: &str) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap();
    stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(38).unwrap().parse().unwrap()
}

/// The classes of all threads of the pipeline whose stages are called so.
fn classes(tag: &str) -> BTreeSet<u32> {
    let threads = threads_named(tag);
    assert!(!threads.is_empty(), "the pipeline has threads");
    threads.iter().map(|thread| class_of(&format!("self/task/{thread}"))).collect()
}

/// Passes numbers on and notes in which class; works for so long on each.
#[derive(Clone)]
struct Witness {
    seen: Arc<Mutex<BTreeSet<u32>>>,
    works: Duration,
}

impl Task for Witness {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, input: usize) -> Result<usize> {
        Ok(input)
    }
    fn run(&mut self, input: &[u64], output: &mut [u64]) -> Result<Flow> {
        output.copy_from_slice(input);
        self.seen.lock().unwrap().insert(class_of("thread-self"));
        let start = processor_time();
        while processor_time() - start < self.works {
            std::hint::spin_loop();
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What the processor has worked for this thread.
fn processor_time() -> Duration {
    let nanoseconds = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(nanoseconds.split_whitespace().next().unwrap().parse().unwrap())
}

/// A pipeline of three stages, whose names begin with `tag`.
struct Rig {
    pipeline: Pipeline,
    result: Collected<u64>,
    seen: Arc<Mutex<BTreeSet<u32>>>,
}

const FRAMES: u64 = 50;

impl Rig {
    fn new(tag: &str, threads: usize, act: Act, works: Duration) -> Self {
        let seen = Arc::default();
        let mut chain = Chain::new();
        chain.stage(&format!("{tag} in"));
        let numbers = chain.add(Count::to(FRAMES), ());
        chain.stage(&format!("{tag} work")).threads(threads);
        let numbers = chain.add(Witness { seen: Arc::clone(&seen), works }, &numbers);
        let numbers = chain.add(Probe::new(act), &numbers);
        chain.stage(&format!("{tag} out"));
        let (collect, result) = sink::collect();
        chain.add(collect, &numbers);
        Self { pipeline: chain.build().unwrap().pipeline_as_marked().unwrap(), result, seen }
    }

    fn plain(tag: &str) -> Self {
        Self::new(tag, 2, Act::Pass, Duration::ZERO)
    }

    /// Under this class, with a look at what became of all frames.
    fn run(&mut self) -> Report {
        let report = self.pipeline.run().unwrap();
        assert_eq!(report.frames, FRAMES);
        assert_eq!(self.result.take(), (1000..1000 + FRAMES).collect::<Vec<_>>());
        report
    }

    fn seen(&self) -> Vec<u32> {
        std::mem::take(&mut *self.seen.lock().unwrap()).into_iter().collect()
    }

    fn under(mut self, wanted: RealTime) -> Self {
        self.pipeline = self.pipeline.real_time(wanted).unwrap();
        self
    }
}

/// A few percent of a core for each stage.
fn modest() -> RealTime {
    RealTime::deadline(vec![StageTiming::new(Duration::from_millis(10), Duration::from_micros(100)); 3])
}

/// Runs this test's `part` again in a process of its own, started so; `None` where that is not possible, and why.
fn child(test: &str, part: &str, command: &mut Command) -> Option<()> {
    let output = command.args(["--exact", test, "--nocapture"]).env("BIEF_PART", part).output();
    let text = match &output {
        Ok(output) => format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        Err(error) => error.to_string(),
    };
    if output.is_err() || !text.contains("running 1 test") {
        eprintln!("skipped: this test cannot be started again: {text}");
        return None;
    }
    assert!(output.unwrap().status.success() && text.contains("the part was run"), "{text}");
    Some(())
}

/// Which part of a test this process was started for.
fn part() -> Option<String> {
    let part = std::env::var("BIEF_PART").ok();
    if part.is_some() {
        println!("the part was run");
    }
    part
}

#[test]
fn reserved_time_is_had_in_a_run_and_given_back() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    watched(|| {
        let mut rig = Rig::plain("rt-a").under(modest().mode(Mode::Require));
        for _ in 0..3 {
            let report = rig.run();
            assert_eq!(rig.seen(), [DEADLINE]);
            assert_eq!(classes("rt-a"), [ORDINARY].into(), "given back");
            let told = report.real_time.unwrap();
            assert!(report.notes.is_empty() && told.memory_is_locked, "{:?}", report.notes);
            for (stage, threads) in told.stages.iter().zip([1, 2, 1]) {
                assert_eq!((stage.class, stage.overruns.is_some()), (Class::Deadline, true));
                let reservation = stage.reservation.unwrap();
                assert_eq!((reservation.budget_ns, reservation.period_ns), (350_000, threads * 10_000_000));
            }
            let reservations = told.reservations.unwrap();
            assert!((reservations.reserved - 0.105).abs() < 1e-9 && reservations.margin == 1.0, "{reservations:?}");
        }
        rig.pipeline = rig.pipeline.real_time(modest().mode(Mode::Off)).unwrap();
        assert!(rig.run().real_time.is_none() && rig.pipeline.forecast().is_none());
        assert_eq!(rig.seen(), [ORDINARY]);
    });
}

#[test]
fn a_priority_is_had_in_a_run_and_given_back() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    watched(|| {
        let mut rig = Rig::plain("rt-b").under(RealTime::fifo(5).mode(Mode::Require));
        for _ in 0..2 {
            let report = rig.run();
            assert_eq!((rig.seen(), classes("rt-b")), (vec![FIFO], [ORDINARY].into()));
            let told = report.real_time.unwrap();
            assert!(told.stages.iter().all(|stage| stage.class == Class::Fifo { priority: 5 }), "{told}");
        }
        // Threads with a priority may be pinned.
        rig.pipeline = rig.pipeline.place(&Policy::Packed, &Machine::here()).unwrap();
        rig.run();
        assert_eq!(rig.seen(), [FIFO]);
    });
}

#[test]
fn a_fault_leaves_no_class_behind() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    silence_panics("told to panic");
    watched(|| {
        for (tag, wanted) in [("rt-c", modest()), ("rt-d", RealTime::fifo(5))] {
            for act in [Act::Fail(20), Act::Panic(20)] {
                let mut rig = Rig::new(tag, 2, act, Duration::ZERO).under(wanted.clone().mode(Mode::Require));
                for _ in 0..2 {
                    let error = rig.pipeline.run().unwrap_err();
                    assert!(error.message().contains("told to") && error.place().frame == Some(20), "{error}");
                    assert_eq!(rig.result.take().len(), 20);
                    assert_eq!(classes(tag), [ORDINARY].into());
                }
            }
        }
    });
}

#[test]
fn more_than_the_machine_has_is_refused_and_why() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    watched(|| {
        let cores = std::thread::available_parallelism().unwrap().get();
        let all = StageTiming::new(Duration::from_millis(1), Duration::from_millis(1) * (cores as u32 + 1));
        let few = StageTiming::new(Duration::from_millis(10), Duration::from_micros(100));
        let wanted = RealTime::deadline(vec![few, all, few]);
        let mut rig = Rig::new("rt-e", cores + 1, Act::Pass, Duration::ZERO);
        rig.pipeline = rig.pipeline.real_time(wanted.clone().mode(Mode::Require)).unwrap();
        let forecast = rig.pipeline.forecast().unwrap();
        assert!(!forecast.fits() && forecast.margin == 0.0, "{forecast:?}");
        let error = rig.pipeline.run().unwrap_err();
        assert_eq!((error.kind(), error.place().stage.as_deref()), (ErrorKind::RealTime, Some("rt-e work")));
        let total = format!("reservations total {:.2} of {:.2} cores", forecast.least, forecast.capacity);
        assert!(error.message().starts_with(&total), "{error}");
        assert!(error.message().contains("(`rt-e work` ") && error.message().contains("raise the batch"), "{error}");
        assert!(rig.seen().is_empty() && rig.result.take().is_empty(), "no frame was worked on");
        assert_eq!(classes("rt-e"), [ORDINARY].into());

        rig.pipeline = rig.pipeline.real_time(wanted).unwrap();
        let report = rig.run();
        assert_eq!(rig.seen(), [ORDINARY], "a stage has its class on all threads or on none");
        let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
        assert!(note.starts_with("real time, stage `rt-e work`: reservations total"), "{note}");
        assert!(note.contains("no bound holds"), "{note}");
        let told = report.real_time.unwrap();
        assert!((told.reservations.unwrap().reserved - 0.02).abs() < 1e-9, "{told}");
        let classes = told.stages.iter().map(|stage| stage.class).collect::<Vec<_>>();
        assert_eq!(classes, [Class::Deadline, Class::Ordinary, Class::Deadline]);
    });
}

#[test]
fn used_up_budgets_are_counted() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    watched(|| {
        let few = StageTiming::new(Duration::from_millis(20), Duration::from_micros(100));
        let most = StageTiming::new(Duration::from_millis(20), Duration::from_millis(3));
        let wanted = RealTime::deadline(vec![few, most, few]).reclaim(false).mode(Mode::Require);
        // Twice its budget of 6 ms, for each of the frames.
        let mut rig = Rig::new("rt-f", 1, Act::Pass, Duration::from_millis(12)).under(wanted);
        let told = rig.run().real_time.unwrap();
        let overruns = told.stages.iter().map(|stage| stage.overruns.unwrap()).collect::<Vec<_>>();
        assert!(overruns[1] > 0, "{told}");
    });
}

#[test]
fn a_program_with_a_use_of_its_own_for_the_signal_keeps_it() {
    let test = "a_program_with_a_use_of_its_own_for_the_signal_keeps_it";
    if part().is_some() {
        let mut rig = Rig::plain("rt-g").under(modest().mode(Mode::Require));
        let report = watched(move || rig.run());
        let [note] = &report.notes[..] else { panic!("{:?}", report.notes) };
        assert!(note.contains("not counted") && note.contains("SIGXCPU"), "{note}");
        assert!(report.real_time.unwrap().stages.iter().all(|stage| stage.overruns.is_none()));
        return;
    }
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    let this = std::env::current_exe().unwrap();
    for how in ["--ignore-signal=XCPU", "--block-signal=XCPU"] {
        child(test, how, Command::new("env").arg(how).arg(&this));
    }
}

#[test]
fn without_the_right_a_run_says_so_and_what_to_do() {
    let test = "without_the_right_a_run_says_so_and_what_to_do";
    if part().is_some() {
        for (wanted, remedy) in [(modest(), "CAP_SYS_NICE"), (RealTime::fifo(80), "RLIMIT_RTPRIO is 0")] {
            let mut rig = Rig::plain("rt-h").under(wanted.clone());
            let report = watched(move || {
                let report = rig.run();
                assert_eq!(rig.seen(), [ORDINARY]);
                report
            });
            let note = report.notes.iter().find(|note| note.contains(remedy)).expect("the cause is told");
            assert!(note.starts_with("real time, stages `rt-h in`, `rt-h work`, `rt-h out`: "), "{note}");
            assert!(note.ends_with("The ordinary class is used: no bound holds."), "{note}");
            assert!(report.to_string().contains(remedy), "the table says so");
            assert!(report.real_time.unwrap().stages.iter().all(|stage| stage.class == Class::Ordinary));

            let mut rig = Rig::plain("rt-h").under(wanted.mode(Mode::Require));
            let error = watched(move || {
                let error = rig.pipeline.run().unwrap_err();
                assert!(rig.seen().is_empty() && rig.result.take().is_empty(), "no frame was worked on");
                error
            });
            assert_eq!((error.kind(), error.place().stage.as_deref()), (ErrorKind::RealTime, Some("rt-h in")));
            assert!(error.message().contains(remedy), "{error}");
        }
        for class in [Class::Deadline, Class::Fifo { priority: 80 }] {
            let error = probe(class, Duration::ZERO).unwrap_err();
            assert_eq!(error.kind(), bief::machine::ErrorKind::Class);
        }
        return;
    }
    let _alone = alone();
    let this = std::env::current_exe().unwrap();
    if may_set_classes() {
        // Who is not root any more has no capabilities.
        child(test, "nobody", Command::new(&this).uid(65534).gid(65534).current_dir("/"));
    } else {
        child(test, "as it is", &mut Command::new(&this));
    }
}

#[test]
fn what_cannot_be_is_refused_before_a_run() {
    let machine = Machine::here();
    let refused = |outcome: Result<Pipeline>, part: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Build);
        assert!(error.message().contains(part), "{error}");
    };
    if machine.cores().len() > 1 {
        let placed = Rig::plain("rt-i").pipeline.place(&Policy::Packed, &machine).unwrap();
        refused(placed.real_time(modest()), "stage `rt-i in` is pinned");
        let timed = Rig::plain("rt-i").pipeline.real_time(modest()).unwrap();
        refused(timed.place(&Policy::Packed, &machine), "stage `rt-i in` is pinned");
    } else {
        eprintln!("skipped: a thread on the only core is not pinned");
    }
    let active = Rig::plain("rt-i").pipeline.waiting(Waiting::Active);
    refused(active.real_time(RealTime::fifo(3)), "`active`");
    let mut active = Rig::plain("rt-i").under(RealTime::fifo(3)).pipeline.waiting(Waiting::Active);
    assert!(active.run().unwrap_err().message().contains("`active`"));

    refused(Rig::plain("rt-i").under(modest()).pipeline.batch(2), "batches of 1 frame");
    refused(Rig::plain("rt-i").pipeline.real_time(RealTime::deadline(Vec::new())), "0 timings");
    let mut chain = Chain::new();
    chain.add(source::from_slice(&[1_u8], 1), ());
    refused(chain.build().unwrap().one_core().unwrap().real_time(RealTime::fifo(3)), "calling thread");
}

#[test]
fn threads_of_a_loose_place_may_have_time_reserved() {
    let _alone = alone();
    if !may_set_classes() {
        return;
    }
    let mut rig = Rig::plain("rt-j").under(modest().mode(Mode::Require));
    rig.pipeline = rig.pipeline.place(&Policy::Loose, &Machine::here()).unwrap();
    let (report, seen) = watched(move || (rig.run(), rig.seen()));
    assert_eq!(seen, [DEADLINE]);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
}

/// Makes frames that were due so long ago, or come as they are asked for.
struct Late(Option<Duration>, u64);

impl Task for Late {
    type In = ();
    type Out = Out<u64>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), frame: &mut [u64]) -> Result<Flow> {
        frame[0] = self.1;
        self.1 += 1;
        Ok(if self.1 > 10 { Flow::Stop } else { Flow::Next })
    }
    fn due(&mut self) -> Option<Instant> {
        Some(Instant::now() - self.0?)
    }
    fn reset(&mut self) -> Result<()> {
        self.1 = 0;
        Ok(())
    }
}

#[test]
fn latency_counts_from_when_a_frame_was_due() {
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    for (late, over, beyond) in [(None, 0, 0), (Some(hours(2)), 10, 0), (Some(hours(4)), 10, 10)] {
        for stages in [1, 2] {
            let mut chain = Chain::new();
            let numbers = chain.add(Late(late, 0), ());
            if stages > 1 {
                chain.stage("out");
            }
            chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &numbers);
            let wanted = RealTime::ordinary().bound(hours(1), hours(2));
            let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().real_time(wanted).unwrap();
            for _ in 0..2 {
                let report = pipeline.run().unwrap();
                let bound = report.real_time.as_ref().unwrap().bound.unwrap();
                assert_eq!((bound.frames, bound.over, bound.beyond), (10, over, beyond));
                assert_eq!(bound.tenths.iter().sum::<u64>(), 10 - over);
                assert!(bound.max_ns >= late.unwrap_or_default().as_nanos() as u64);
                assert_eq!(report.latency.unwrap().max_ns, bound.max_ns);
                assert!(report.to_string().contains("over the bound"));
            }
        }
    }
}

#[test]
fn a_machine_is_probed_under_each_class_that_may_be_had() {
    let _alone = alone();
    let time = Duration::from_millis(5);
    let mut classes = vec![Class::Ordinary];
    if may_set_classes() {
        classes.extend([Class::Fifo { priority: 5 }, Class::Deadline]);
    }
    for class in classes {
        let probe = probe(class, time).unwrap();
        assert!(probe.class == class && probe.samples > 0, "{probe:?}");
        assert!(probe.median_ns <= probe.p99_ns && probe.p999_ns <= probe.max_ns, "{probe:?}");
    }
}
