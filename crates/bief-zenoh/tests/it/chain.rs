//! The chain that is run: numbers are made here, mixed elsewhere, and looked at here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bief::kinds::{Kind, Param};
use bief::schedule::Stage;
use bief::{ChainFile, Error, Flow, In, Out, Registry, Result, Task, sink};
use bief_pool::{Cut, OwnCores, WorkerTally};
use bief_zenoh::{Pool, Reach, Without};

/// Numbers of a frame, where nobody says how many.
const LEN: usize = 2048;

struct Play {
    next: u64,
    end: u64,
    len: usize,
    /// From the first frame on, if that ends it.
    seconds: Option<u64>,
    begin: Option<Instant>,
}

impl Task for Play {
    type In = ();
    type Out = Out<u64>;

    fn lens(&self, (): ()) -> Result<usize> {
        Ok(self.len)
    }

    fn run(&mut self, (): (), numbers: &mut [u64]) -> Result<Flow> {
        let begin = *self.begin.get_or_insert_with(Instant::now);
        let is_over = self.seconds.is_some_and(|seconds| begin.elapsed().as_secs() >= seconds);
        if self.next == self.end || is_over {
            return Ok(Flow::Stop);
        }
        (0..).zip(numbers).for_each(|(place, number)| *number = self.next << 20 | place);
        self.next += 1;
        Ok(Flow::Next)
    }
}

/// Takes its time, and fails where it is told.
#[derive(Clone)]
struct Mix {
    time: Duration,
    /// So much longer than that it has slept: whoever sleeps is woken late, by more where others run, which work is not.
    overslept: Duration,
    fails_at: Option<u64>,
    dies_at: Option<u64>,
}

impl Task for Mix {
    type In = In<u64>;
    type Out = Out<u64>;

    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }

    fn run(&mut self, numbers: &[u64], mixed: &mut [u64]) -> Result<Flow> {
        let frame = numbers[0] >> 20;
        if self.fails_at == Some(frame) {
            return Err(Error::new("the header is damaged"));
        }
        if self.dies_at == Some(frame) {
            std::process::abort();
        }
        if !self.time.is_zero() {
            let begin = Instant::now();
            std::thread::sleep(self.time.saturating_sub(self.overslept));
            self.overslept = (self.overslept + begin.elapsed()).saturating_sub(self.time).min(self.time);
        }
        for (mixed, number) in mixed.iter_mut().zip(numbers) {
            *mixed = (number ^ number >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        Ok(if frame % 1000 == 999 { Flow::Skip } else { Flow::Next })
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Works on the numbers, so often.
#[derive(Clone)]
struct Work(u32);

impl Task for Work {
    type In = In<u64>;
    type Out = Out<u64>;

    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }

    fn run(&mut self, numbers: &[u64], worked: &mut [u64]) -> Result<Flow> {
        worked.copy_from_slice(numbers);
        for _ in 0..self.0 {
            worked.iter_mut().for_each(|number| *number = (*number ^ *number >> 7).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The last number of a frame.
#[derive(Clone)]
struct Last;

impl Task for Last {
    type In = In<u64>;
    type Out = Out<u64>;

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, numbers: &[u64], last: &mut [u64]) -> Result<Flow> {
        last[0] = numbers[numbers.len() - 1];
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) frames: u64,
    /// Of all bytes, in their order.
    pub(crate) hash: u64,
    last: Option<Instant>,
    /// The longest time between two frames, and when it ended.
    pub(crate) pause: Duration,
}

/// How much longer a frame takes on this process's cores than elsewhere, in microseconds: workers have it from their parent.
pub(crate) const TIME: &str = "BIEF_TEST_TIME_US";
/// Without the kind `test.mix`.
pub(crate) const POOR: &str = "BIEF_TEST_POOR";

/// The kinds, and what the last of them has seen.
pub(crate) fn registry() -> (Arc<Registry>, Arc<Mutex<Seen>>) {
    let (mut registry, seen) = (Registry::new(), Arc::<Mutex<Seen>>::default());
    let frames = Param::new("frames", "how many").range(0..=u64::MAX >> 1);
    let len = Param::new("len", "numbers of a frame").range(1..=1 << 24).default(LEN as u32);
    let seconds = Param::new("seconds", "how long").range(1..=1 << 20).optional();
    registry.add(Kind::new(
        "test.play",
        "numbers",
        (frames, len, seconds),
        |(end, len, seconds): (u64, usize, Option<u64>)| Ok(Play { next: 0, end, len, seconds, begin: None }),
    ));
    let rounds = Param::new("rounds", "how often").range(1..=100_000);
    registry.add(Kind::new("test.work", "works on them", rounds, |rounds: u32| Ok(Work(rounds))));
    registry.add(Kind::new("test.last", "the last of them", (), |()| Ok(Last)));
    let at = |name| Param::new(name, "a frame").range(0..=u64::MAX >> 1).optional();
    let time = std::env::var(TIME).ok().and_then(|time| time.parse().ok()).unwrap_or(0);
    if std::env::var(POOR).is_err() {
        let time_us = Param::new("time_us", "of a frame").range(0..=1_000_000).default(0);
        registry.add(Kind::new(
            "test.mix",
            "mixes them",
            (at("fails_at"), at("dies_at"), time_us),
            move |(fails_at, dies_at, time_us): (Option<u64>, Option<u64>, u64)| {
                Ok(Mix { time: Duration::from_micros(time + time_us), overslept: Duration::ZERO, fails_at, dies_at })
            },
        ));
    }
    let sees = Arc::clone(&seen);
    registry.add(Kind::new("test.see", "looks at them", (), move |()| {
        let seen = Arc::clone(&sees);
        Ok(sink::for_each(move |numbers: &[u64]| {
            let mut seen = seen.lock().unwrap();
            seen.frames += 1;
            for number in numbers {
                seen.hash = (seen.hash ^ number).wrapping_mul(0x0100_0000_01B3).rotate_left(17);
            }
            let pause = seen.last.map_or(Duration::ZERO, |last| last.elapsed());
            seen.pause = seen.pause.max(pause);
            seen.last = Some(Instant::now());
            Ok(Flow::Next)
        }))
    }));
    (Arc::new(registry), seen)
}

/// The file; `more` are parameters of the task that leaves.
pub(crate) fn file(frames: u64, more: &str) -> ChainFile {
    let text = format!(
        "[[task]]\nname = 'play'\nkind = 'test.play'\nout = ['numbers']\nframes = {frames}\n\
         [[task]]\nname = 'mix'\nkind = 'test.mix'\nin = ['numbers']\nout = ['mixed']\n{more}\n\
         [[task]]\nname = 'see'\nkind = 'test.see'\nin = ['mixed']"
    );
    ChainFile::parse(&text, "test.toml").unwrap()
}

/// What comes of the chain on this machine alone.
pub(crate) fn here(frames: u64) -> Seen {
    let (registry, seen) = registry();
    file(frames, "").program(&registry).unwrap().run().unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// What comes of a run with workers, while something happens to them.
pub(crate) struct Outcome {
    pub(crate) ended: Result<()>,
    pub(crate) seen: Seen,
    pub(crate) tally: Vec<WorkerTally>,
    pub(crate) said: Vec<String>,
    pub(crate) seconds: f64,
}

impl Outcome {
    /// The same as on one machine; what was seen is told.
    #[track_caller]
    pub(crate) fn check(&self, what: &str, expected: &Seen) {
        println!(
            "{what}: {} frames in {:.1} s, longest pause {:.2} s; {}",
            self.seen.frames,
            self.seconds,
            self.seen.pause.as_secs_f64(),
            self.tally
                .iter()
                .map(|row| format!(
                    "{}: {} frames, {} again, {} late, came {}",
                    row.name, row.frames, row.again, row.late, row.times
                ))
                .collect::<Vec<_>>()
                .join("; ")
        );
        self.ended.as_ref().unwrap();
        assert_eq!((self.seen.frames, self.seen.hash), (expected.frames, expected.hash), "{what}");
        let answered: u64 = self.tally.iter().map(|row| row.frames).sum();
        // Those that go nowhere are answered for, too.
        assert!(answered >= self.seen.frames, "{what}: {:?}", self.tally);
    }

    pub(crate) fn has_said(&self, words: &str) -> bool {
        self.said.iter().any(|said| said.contains(words))
    }
}

/// Runs the chain with the middle task away.
pub(crate) fn away(
    (frames, more): (u64, &str),
    reach: &Reach,
    without: Without,
    meanwhile: impl FnOnce(&Mutex<Seen>) + Send,
) -> Outcome {
    away_of((&file(frames, more), None), reach, without, meanwhile)
}

/// What stays runs in these stages, before what leaves and behind it.
pub(crate) type Stages = [Vec<Stage>; 2];

/// As [`away`], of another file, whose second task leaves, and in stages that were planned.
pub(crate) fn away_of(
    (file, stages): (&ChainFile, Option<Stages>),
    reach: &Reach,
    without: Without,
    meanwhile: impl FnOnce(&Mutex<Seen>) + Send,
) -> Outcome {
    let (registry, seen) = registry();
    let cut = Cut::new(file, 1..2, &registry).unwrap();
    let said = Arc::<Mutex<Vec<String>>>::default();
    let (pool, saying, mut running) = (Pool::open(reach).unwrap(), Arc::clone(&said), None);
    let pipeline = cut.pipeline(&registry, (1, 128), without.own(), stages, |segment, under_way| {
        let say = move |text: &str| saying.lock().unwrap().push(text.to_owned());
        let started = pool.start(segment, cut.text(segment.inputs()), under_way, without, say)?;
        let front = started.front().clone();
        running = Some(started);
        Ok(front)
    });
    let mut pipeline = pipeline.unwrap();
    let running = running.unwrap();
    let start = Instant::now();
    let (done, stuck) = (Arc::new(AtomicBool::new(false)), Arc::clone(&seen));
    let watched = Arc::clone(&done);
    std::thread::spawn(move || end_if_stuck(&watched, &stuck));
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| meanwhile(&seen));
        pipeline.run().map(drop)
    });
    done.store(true, Ordering::Relaxed);
    let seconds = start.elapsed().as_secs_f64();
    let tally = running.tally();
    drop(running);
    let (seen, said) = (seen.lock().unwrap().clone(), said.lock().unwrap().clone());
    Outcome { ended, seen, tally, said, seconds }
}

/// A run that stands still ends the tests: nothing else would.
fn end_if_stuck(done: &AtomicBool, seen: &Mutex<Seen>) {
    // Looks, not time: whoever stops this process stops the run, too.
    let (mut frames, mut looks) = (u64::MAX, 0);
    while !done.load(Ordering::Relaxed) {
        let now = seen.lock().unwrap().frames;
        looks = if now == frames { looks + 1 } else { 0 };
        frames = now;
        if looks * LOOK > STUCK {
            eprintln!("the run stands still at frame {frames}");
            std::process::exit(101);
        }
        std::thread::sleep(LOOK);
    }
}

/// A run without a frame for so long goes nowhere.
const STUCK: Duration = Duration::from_secs(45);
const LOOK: Duration = Duration::from_millis(100);

/// Waits until so many frames have come; gives up when the run does not go on.
pub(crate) fn until(seen: &Mutex<Seen>, frames: u64) {
    let end = Instant::now() + Duration::from_secs(60);
    while seen.lock().unwrap().frames < frames && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// So many cores of this machine, where nobody else is there.
pub(crate) fn alone(cores: usize) -> Without {
    Without::Cores(OwnCores { alone: cores, helping: 0 })
}

/// The frames of a long run.
pub(crate) fn long(default: u64) -> u64 {
    std::env::var("BIEF_FRAMES").ok().map_or(default, |frames| frames.parse().unwrap())
}
