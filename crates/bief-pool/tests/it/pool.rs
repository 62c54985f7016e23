//! Workers in this process: what they send goes through queues, which lose, delay and forget as a network does.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bief::raw::{DynTask, DynWire};
use bief::report::Figures;
use bief::{Chain, Error, Flow, In, InVar, Out, OutVar, Report, Result, Task, VarFrame, sink, source};
use bief_link::{Leaving, Limits, WorkerId};
use bief_pool::{Carrier, Front, Letter, OwnCores, Payload, Segment, WireKind, Workplace};

const FRAMES: u32 = 1000;
const LEN: usize = 100;
/// No frame.
const NONE: u32 = FRAMES;
/// Every frame.
const EACH: u32 = FRAMES + 1;
/// Batches in the ring between dispatch and collect, and frames in a batch.
const DEPTH: usize = 8;
const BATCH: usize = 4;

/// Workers by their names, each with a thread that gives it what is sent.
#[derive(Clone, Default)]
pub(crate) struct Hub(Arc<Mutex<BTreeMap<WorkerId, Sender<Letter>>>>);

impl Carrier for Hub {
    fn send(&self, worker: WorkerId, letter: Letter) {
        if let Some(to) = self.0.lock().unwrap().get(&worker) {
            let _ = to.send(letter);
        }
    }
}

impl Hub {
    /// Starts a worker, whose answers pass `carries`.
    pub(crate) fn start(
        &self,
        front: &Front,
        segment: &Segment,
        (name, cores, credit): (u64, usize, usize),
        mut carries: impl FnMut() -> bool + Send + 'static,
    ) {
        let (to, worker) = (front.clone(), front.welcome(&format!("w{name}")));
        let answer = move |head: &[u8], behind: Option<Payload>| {
            if carries() {
                to.take([head, behind.as_ref().map_or(&[], AsRef::as_ref)].concat()).unwrap();
            }
        };
        let (sender, messages) = channel::<Letter>();
        self.0.lock().unwrap().insert(worker, sender);
        let workplace = Workplace::start(worker.0, segment, cores, credit, answer).unwrap();
        // It ends with its way.
        std::thread::spawn(move || {
            for (number, letter) in messages.into_iter().enumerate() {
                // As it comes over a network, or from this process.
                match number % 2 {
                    0 => {
                        let behind = letter.payload.as_ref().map_or(&[][..], AsRef::as_ref);
                        workplace.take([&*letter.head, behind].concat()).unwrap();
                    }
                    _ => workplace.take_letter(letter).unwrap(),
                }
            }
        });
    }

    pub(crate) fn stop(&self) {
        self.0.lock().unwrap().clear();
    }

    fn kill(&self, front: &Front, name: u64) {
        // They came in this order.
        let worker = WorkerId(u64::from(front.number()) << 32 | name);
        assert!(self.0.lock().unwrap().remove(&worker).is_some());
        front.gone(worker, Leaving::Lost);
    }
}

/// Frames of the numbers from `frame * LEN` on.
fn play() -> impl Task<In = (), Out = Out<u32>> {
    let mut frame = 0;
    source::from_fn(LEN, move |numbers: &mut [u32]| {
        if frame == FRAMES {
            return Ok(Flow::Stop);
        }
        let start = frame * LEN as u32;
        numbers.iter_mut().zip(start..).for_each(|(number, value)| *number = value);
        frame += 1;
        Ok(Flow::Next)
    })
}

/// The squares of the numbers of a frame whose remainder by 7 is that of the frame; frames that begin at a multiple of 300 go nowhere. It
/// tells how many frames it had.
#[derive(Clone, Default)]
struct Squares(u64);

impl Task for Squares {
    type In = In<u32>;
    type Out = OutVar<u64>;

    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }

    fn run(&mut self, numbers: &[u32], mut squares: VarFrame<'_, u64>) -> Result<Flow> {
        self.0 += 1;
        if numbers[0].is_multiple_of(300) {
            return Ok(Flow::Skip);
        }
        let remainder = numbers[0] / LEN as u32 % 7;
        for &number in numbers.iter().filter(|&number| number % 7 == remainder) {
            squares.push(u64::from(number).pow(2))?;
        }
        Ok(Flow::Next)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("squared", "frames", self.0);
    }

    fn replica(&self) -> Option<Self> {
        Some(Self::default())
    }
}

/// Fails, ends, or panics at a frame; takes its time for [`EACH`].
#[derive(Clone)]
struct At(u32, Act);

type Act = fn() -> Result<Flow>;

impl Task for At {
    type In = In<u32>;
    type Out = ();

    fn name(&self) -> String {
        "judge".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, numbers: &[u32], (): ()) -> Result<Flow> {
        if self.0 == EACH {
            std::thread::sleep(Duration::from_micros(100));
        }
        if numbers[0] == self.0 * LEN as u32 { self.1() } else { Ok(Flow::Next) }
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn numbers() -> Vec<WireKind> {
    vec![WireKind { elements: "u32".parse().unwrap(), shape: LEN.into(), variable: false }]
}

fn squares(at: At) -> Segment {
    let build = move |chain: &mut Chain, wires: &[DynWire]| {
        chain.add_dyn(DynTask::new(at.clone()), &[&wires[0]])?;
        chain.add_dyn(DynTask::new(Squares::default()), &[&wires[0]])
    };
    Segment::new(numbers(), build).unwrap()
}

fn harmless() -> At {
    At(NONE, || Ok(Flow::Next))
}

/// What comes of all frames: each with its length before it.
type Collected = Arc<Mutex<Vec<u64>>>;

fn keep(collected: &Collected) -> impl Task<In = InVar<u64>, Out = ()> {
    let collected = Arc::clone(collected);
    sink::for_each_var(move |frame: &[u64]| {
        let mut collected = collected.lock().unwrap();
        collected.push(frame.len() as u64);
        collected.extend(frame);
        Ok(Flow::Next)
    })
}

/// What the chain gives on this machine alone.
fn expected() -> Vec<u64> {
    let (mut chain, collected) = (Chain::new(), Collected::default());
    let numbers = chain.add(play(), ());
    let squares = chain.add(Squares::default(), &numbers);
    chain.add(keep(&collected), &squares);
    chain.build().unwrap().run().unwrap();
    let collected = collected.lock().unwrap();
    collected.clone()
}

/// Runs the chain with the tasks of a segment elsewhere, while `meanwhile` does something to the workers.
fn run(segment: &Segment, limits: Limits, meanwhile: impl FnOnce(&Hub, &Front) + Send) -> (Result<Report>, Vec<u64>) {
    run_with(segment, limits, OwnCores::default(), meanwhile)
}

/// As [`run`], where cores of this machine do the work, too.
fn run_with(
    segment: &Segment,
    limits: Limits,
    own: OwnCores,
    meanwhile: impl FnOnce(&Hub, &Front) + Send,
) -> (Result<Report>, Vec<u64>) {
    let hub = Hub::default();
    // Those of the rings, and a batch in the hands of each thread.
    let threads = own.alone.max(1);
    let limits = Limits { frames: (2 * DEPTH * threads + threads + 2) * BATCH, ..limits };
    let front = Front::new(7, limits, own, hub.clone()).unwrap();
    let (mut chain, collected) = (Chain::new().batch(BATCH).depth(DEPTH), Collected::default());
    let numbers = chain.add(play(), ());
    let squares = segment.add_to(&mut chain, &[&DynWire::from(&numbers)], &front).unwrap();
    chain.add(keep(&collected), &squares[0].typed_var::<u64>().unwrap());
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| meanwhile(&hub, &front));
        pipeline.run()
    });
    front.end();
    hub.stop();
    let collected = collected.lock().unwrap().clone();
    (report, collected)
}

#[test]
fn without_workers_frames_stay_where_they_lie() {
    let segment = squares(harmless());
    for alone in [1, 3] {
        let own = OwnCores { alone, helping: 0 };
        let (report, collected) = run_with(&segment, Limits::default(), own, |_, front| {
            assert!(!front.has_frames());
        });
        let figures = report.unwrap().figures;
        assert!(collected == expected());
        assert_eq!((figures.counted("squared"), figures.counted("worker_frames")), (1000, 1000));
    }
}

#[test]
fn cores_of_this_machine_help_workers_that_have_no_room() {
    let segment = squares(At(EACH, || Ok(Flow::Next)));
    let own = OwnCores { alone: 3, helping: 2 };
    let limits = Limits { losses: u32::MAX, ..Limits::default() };
    let (report, collected) = run_with(&segment, limits, own, |hub, front| {
        // One after the other, with nobody between.
        for name in 0..8 {
            hub.start(front, &segment, (name, 1, 1), || true);
            std::thread::sleep(Duration::from_millis(5));
            if name % 2 == 0 {
                hub.kill(front, name);
            }
        }
    });
    let figures = report.unwrap().figures;
    assert!(collected == expected());
    let of_worker = |name: &str| {
        let is_its = |figure: &&bief::report::Figure| figure.label("worker") == Some(name);
        figures.all("worker_frames").filter(is_its).count()
    };
    assert_eq!((of_worker("this machine"), of_worker("w7")), (1, 1), "{figures}");
    assert!(figures.counted("worker_frames") >= 1000, "{figures}");
}

#[test]
fn what_tasks_tell_elsewhere_is_told_here() {
    let segment = squares(harmless());
    let (report, _) = run(&segment, Limits::default(), |hub, front| {
        (0..2).for_each(|name| hub.start(front, &segment, (name, 2, 5), || true));
    });
    let figures = report.unwrap().figures;
    assert_eq!(figures.counted("squared"), 1000, "{figures}");
    // All of them are of one task, wherever it was.
    assert_eq!(figures.all("squared").count(), 1);
}

#[test]
fn a_chain_with_workers_does_what_it_does_alone() {
    let segment = squares(harmless());
    assert_eq!(segment.outputs().len(), 1);
    let (report, collected) = run(&segment, Limits::default(), |hub, front| {
        for (name, cores) in [(1, 2), (2, 1)] {
            hub.start(front, &segment, (name, cores, 2 * cores + 1), || true);
        }
    });
    // Those that go nowhere are counted too, as by any chain.
    report.unwrap();
    assert!(collected == expected());
}

#[test]
fn workers_that_go_and_come_lose_nothing_and_double_nothing() {
    // Long enough for most of them to go in its midst.
    let segment = squares(At(EACH, || Ok(Flow::Next)));
    let limits = Limits { least_late: Duration::from_millis(20), losses: u32::MAX, ..Limits::default() };
    let (report, collected) = run(&segment, limits, |hub, front| {
        hub.start(front, &segment, (0, 1, 2), || true);
        for name in 1..20 {
            // A network that loses one message of nine.
            let mut count = name;
            let carries = move || {
                count += 1;
                count % 9 != 0
            };
            hub.start(front, &segment, (name, 2, 4), carries);
            std::thread::sleep(Duration::from_millis(3));
            hub.kill(front, name);
        }
    });
    report.unwrap();
    assert!(collected == expected());
}

#[test]
fn what_a_task_does_elsewhere_is_told_here() {
    let all = expected();
    let frames_before = |count: usize| {
        let mut at = 0;
        (0..count).for_each(|_| at += 1 + all[at] as usize);
        all[..at].to_vec()
    };
    let fails: Act = || Err(Error::new("the header is damaged"));
    for (act, told) in [(fails, "the header is damaged"), (|| panic!("oh"), "panicked: oh")] {
        let segment = squares(At(100, act));
        let (report, collected) =
            run(&segment, Limits::default(), |hub, front| hub.start(front, &segment, (4, 2, 5), || true));
        let error = report.unwrap_err();
        assert_eq!(error.message(), format!("worker w4: task `judge`: {told}"));
        assert_eq!(error.place().frame, Some(100));
        // Of the first hundred, those at every third went nowhere.
        assert!(collected == frames_before(66), "the frames before are delivered");
    }
    let segment = squares(At(100, || Ok(Flow::Stop)));
    let (report, collected) =
        run(&segment, Limits::default(), |hub, front| hub.start(front, &segment, (4, 2, 5), || true));
    report.unwrap();
    assert!(collected == frames_before(66));
}

#[test]
fn what_remembers_or_means_nothing_elsewhere_stays() {
    let remembers = Segment::new(numbers(), |chain, wires| {
        let mut last = 0;
        let add = sink::for_each(move |numbers: &[u32]| {
            let is_later = numbers[0] >= std::mem::replace(&mut last, numbers[0]);
            Ok(if is_later { Flow::Next } else { Flow::Stop })
        });
        chain.add_dyn(DynTask::new(add).named("sum"), &[&wires[0]])
    });
    let refused = remembers.unwrap_err().to_string();
    assert!(
        refused.contains("task `sum` remembers something from frame to frame: it stays on this machine"),
        "{refused}"
    );
    let mut chain = Chain::new();
    let opaque = chain.add(source::from_slice(&[true], 1), ());
    let refused = WireKind::of(&DynWire::from(&opaque)).unwrap_err().to_string();
    assert!(refused.contains("a wire of bool cannot leave this machine"), "{refused}");
}
