//! Whole links under simulated time, each drawn from a seed: workers of many kinds, and a network that does what networks do.
//!
//! `BIEF_RUNS` runs (2000) from `BIEF_SEED` on; a failure names its seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use bief_link::message::{Holding, Outcome, Wires};
use bief_link::{Leaving, Limits, Message, Window, Worker, WorkerId};
use fastrand::Rng;

/// Steps after which a run hangs: many more than any needs.
const MOST_STEPS: u64 = 2_000_000;
const RUN: u64 = 17;

/// What happens, and when.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Bytes reach a worker.
    ToWorker(u64, Vec<u8>),
    /// Bytes of a worker reach the front.
    ToFront(u64, Vec<u8>),
    /// A core of a worker has done a frame.
    Done(u64, u64),
    /// A worker starts.
    Start(u64),
    /// A worker is killed, and the front hears of it later.
    Kill(u64),
    /// The network tells that it is gone.
    Gone(u64),
    /// A worker stands still until then.
    Freeze(u64, Duration),
    /// The front looks at its clock.
    Look,
}

/// What a seed draws.
struct Case {
    frames: u64,
    limits: Limits,
    /// Of 1000 messages.
    lost: u32,
    doubled: u32,
    reordered: bool,
    /// The longest way of a message.
    delay: Duration,
    /// The first worker stays, so that every run ends.
    workers: Vec<Kind>,
    killed: u32,
    frozen: u32,
}

struct Kind {
    cores: usize,
    credit: usize,
    /// For a frame.
    work: Duration,
}

/// A worker while it is there.
struct Place {
    kind: usize,
    worker: Worker<Vec<u8>>,
    busy: BTreeMap<u64, Vec<u8>>,
    frozen_until: Duration,
    /// When the latest message each way comes: the next one comes later.
    last_to: Duration,
    last_from: Duration,
}

impl Case {
    fn draw(rng: &mut Rng) -> Self {
        let us = Duration::from_micros;
        let work = us(rng.u64(1..20_000));
        let kinds = rng.usize(1..5);
        let kind = |rng: &mut Rng| {
            let cores = rng.usize(1..5);
            let slow = if rng.u8(..6) == 0 { 10 } else { 1 };
            Kind { cores, credit: cores + rng.usize(0..6), work: work * slow }
        };
        let rough = rng.u8(..3) == 0;
        Self {
            frames: rng.u64(1..200),
            limits: Limits {
                frames: rng.usize(1..65),
                least_late: us(rng.u64(1_000..1_000_000)),
                late_factor: rng.u32(2..12),
                // Deaths are random here: no frame is to blame.
                losses: u32::MAX,
            },
            lost: if rough { rng.u32(0..100) } else { 0 },
            doubled: if rough { rng.u32(0..100) } else { 0 },
            reordered: rough && rng.bool(),
            delay: us(rng.u64(1..5_000)),
            workers: (0..kinds).map(|_| kind(rng)).collect(),
            killed: rng.u32(0..6),
            frozen: rng.u32(0..4),
        }
    }
}

struct Link {
    case: Case,
    rng: Rng,
    now: Duration,
    step: u64,
    events: BinaryHeap<Reverse<(Duration, u64, Event)>>,
    window: Window<Vec<u8>, Vec<u8>>,
    places: BTreeMap<u64, Place>,
    pushed: u64,
    collected: u64,
    /// The workers that were ever there: names are not used twice.
    names: u64,
    /// When the front looks at its clock next.
    looks: Option<Duration>,
}

/// What a frame holds, and what becomes of it.
fn frame(number: u64) -> Vec<u8> {
    (0..number % 9).map(|byte| (number + byte) as u8).collect()
}

fn worked(frame: &[u8]) -> Vec<u8> {
    frame.iter().rev().map(|byte| byte.wrapping_mul(3)).collect()
}

impl Link {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let case = Case::draw(&mut rng);
        let window = Window::new(case.limits);
        let mut link = Self {
            rng,
            now: Duration::ZERO,
            step: 0,
            events: BinaryHeap::new(),
            window,
            places: BTreeMap::new(),
            pushed: 0,
            collected: 0,
            names: case.workers.len() as u64,
            looks: None,
            case,
        };
        let us = Duration::from_micros;
        for worker in 0..link.names {
            let start = if worker == 0 { 0 } else { link.rng.u64(0..100_000) };
            link.after(us(start), Event::Start(worker));
        }
        for _ in 0..link.case.killed * u32::from(link.names > 1) {
            let (time, worker) = (link.rng.u64(0..300_000), link.rng.u64(1..link.names));
            link.after(us(time), Event::Kill(worker));
        }
        for _ in 0..link.case.frozen {
            let (time, worker) = (link.rng.u64(0..300_000), link.rng.u64(0..link.names));
            let until = us(time + link.rng.u64(0..3_000_000));
            link.after(us(time), Event::Freeze(worker, until));
        }
        link
    }

    fn after(&mut self, delay: Duration, event: Event) {
        self.step += 1;
        self.events.push(Reverse((self.now + delay, self.step, event)));
    }

    /// Sends bytes on their way; they come in order unless this network is of another kind.
    fn carry(&mut self, name: u64, bytes: Vec<u8>, to_worker: bool) {
        let copies = if self.rng.u32(..1000) < self.case.doubled { 2 } else { 1 };
        for _ in 0..copies {
            if self.rng.u32(..1000) < self.case.lost {
                continue;
            }
            let mut time = self.now + Duration::from_nanos(self.rng.u64(0..=self.case.delay.as_nanos() as u64));
            if let Some(place) = self.places.get_mut(&name).filter(|_| !self.case.reordered) {
                let last = if to_worker { &mut place.last_to } else { &mut place.last_from };
                time = time.max(*last);
                *last = time;
            }
            let event =
                if to_worker { Event::ToWorker(name, bytes.clone()) } else { Event::ToFront(name, bytes.clone()) };
            self.after(time - self.now, event);
        }
    }

    fn run(&mut self) {
        self.front();
        while self.collected < self.case.frames {
            let Reverse((time, _, event)) = self.events.pop().expect("the run hangs: nothing is under way");
            assert!(self.step < MOST_STEPS, "the run hangs, or goes in circles: {:?}", self.window);
            assert!(time >= self.now, "time goes on");
            self.now = time;
            self.happen(event);
            self.front();
        }
        assert!(self.window.is_empty() && self.window.collect().is_none(), "nothing is doubled");
    }

    /// What the machine does that reads the stream: whatever it can.
    fn front(&mut self) {
        while self.pushed < self.case.frames && self.window.has_room() {
            assert_eq!(self.window.push(frame(self.pushed)), Ok(self.pushed));
            self.pushed += 1;
        }
        while let Some((number, result)) = self.window.collect() {
            assert_eq!(number, self.collected, "the order");
            assert_eq!(result, Ok(worked(&frame(number))), "frame {number}");
            self.collected += 1;
        }
        assert!(self.pushed - self.collected <= self.case.limits.frames as u64, "memory has a limit");
        while let Some(sending) = self.window.send(self.now) {
            let (mut bytes, mut buffer) = (Vec::new(), Vec::new());
            let wires = Wires::of([(1, &sending.payload[..])], &mut buffer);
            let message = Message::Frame { run: RUN, sequence: sending.sequence, number: sending.number, wires };
            message.write(&mut bytes);
            self.carry(sending.worker.0, bytes, true);
        }
        while let Some(asking) = self.window.ask(self.now) {
            let mut bytes = Vec::new();
            Message::Ask { run: RUN, sent: asking.sent }.write(&mut bytes);
            self.carry(asking.worker.0, bytes, true);
        }
        if let Some(late) = self.window.late_at().filter(|late| Some(*late) != self.looks) {
            assert!(late > self.now, "what is late was looked for");
            self.looks = Some(late);
            self.after(late - self.now, Event::Look);
        }
    }

    fn happen(&mut self, event: Event) {
        let name = match event {
            Event::ToFront(name, bytes) => return self.hear(name, &bytes),
            Event::Gone(name) => return self.window.leave(WorkerId(name), Leaving::Lost),
            Event::Look => return,
            Event::Start(name) => return self.start(name),
            Event::Kill(name) => return self.kill(name),
            Event::Freeze(name, until) => {
                if let Some(place) = self.places.get_mut(&name) {
                    place.frozen_until = place.frozen_until.max(until);
                }
                return;
            }
            Event::ToWorker(name, _) | Event::Done(name, _) => name,
        };
        let Some(place) = self.places.get_mut(&name) else { return };
        if place.frozen_until > self.now {
            let wait = place.frozen_until - self.now;
            return self.after(wait, event);
        }
        let (mut bytes, mut held, mut wires) = (Vec::new(), Vec::new(), Vec::new());
        match event {
            Event::ToWorker(_, message) => match Message::read(&message) {
                Ok(Message::Frame { run: RUN, sequence, number, wires }) => {
                    let (_, frame) = wires.iter().next().unwrap();
                    let taken = place.worker.take(sequence, number, frame.to_vec());
                    // Only where messages overtake others may it seem that there is room.
                    assert!(taken.is_ok() || self.case.reordered, "{taken:?}");
                    self.work(name);
                }
                Ok(Message::Ask { run: RUN, sent }) => {
                    let holding = Holding::of(place.worker.asked(sent), &mut held);
                    Message::Report { run: RUN, holding }.write(&mut bytes);
                    self.carry(name, bytes, false);
                }
                other => panic!("workers of a run get frames, and are asked: {other:?}"),
            },
            Event::Done(_, number) => {
                let frame = place.busy.remove(&number).expect("it was begun");
                let result = worked(&frame);
                let outcome = Outcome::Next(Wires::of([(1, &result[..])], &mut wires));
                let holding = Holding::of(place.worker.done(number), &mut held);
                Message::Answer { run: RUN, number, outcome, holding }.write(&mut bytes);
                self.carry(name, bytes, false);
                self.work(name);
            }
            _ => unreachable!("all else is not of a worker"),
        }
    }

    fn start(&mut self, name: u64) {
        let kind = (name % self.case.workers.len() as u64) as usize;
        let Kind { cores, credit, .. } = self.case.workers[kind];
        let (worker, busy, zero) = (Worker::new(credit), BTreeMap::new(), Duration::ZERO);
        self.places.insert(name, Place { kind, worker, busy, frozen_until: zero, last_to: zero, last_from: zero });
        self.window.join(WorkerId(name), cores, credit);
    }

    fn kill(&mut self, name: u64) {
        if self.places.remove(&name).is_none() {
            return;
        }
        let (notice, again) = (self.rng.u64(0..200_000), self.rng.u64(1..200_000));
        self.after(Duration::from_micros(notice), Event::Gone(name));
        // It is started again, under a new name.
        let (kinds, kind) = (self.case.workers.len() as u64, name % self.case.workers.len() as u64);
        let next = self.names.next_multiple_of(kinds) + kind;
        self.names = next + 1;
        self.after(Duration::from_micros(again), Event::Start(next));
        if self.rng.bool() {
            self.after(Duration::from_micros(again + 50_000), Event::Kill(next));
        }
    }

    /// A worker begins frames on its cores that are free.
    fn work(&mut self, name: u64) {
        while let Some(place) = self.places.get_mut(&name)
            && place.busy.len() < self.case.workers[place.kind].cores
            && let Some((number, frame)) = place.worker.next()
        {
            place.busy.insert(number, frame);
            let work = self.case.workers[place.kind].work.mul_f64(0.5 + self.rng.f64());
            self.after(work, Event::Done(name, number));
        }
    }

    fn hear(&mut self, name: u64, bytes: &[u8]) {
        let (worker, message) = (WorkerId(name), Message::read(bytes).unwrap());
        assert_eq!(message.run(), RUN);
        let holding = match message {
            Message::Answer { number, outcome: Outcome::Next(wires), holding, .. } => {
                let (_, result) = wires.iter().next().unwrap();
                self.window.answer(worker, number, result.to_vec(), self.now);
                holding
            }
            Message::Report { holding, .. } => holding,
            other => panic!("workers answer and report: {other:?}"),
        };
        self.window.report(worker, holding.seen, &holding.numbers().collect::<Vec<_>>());
    }
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap_or_else(|_| panic!("{name}: a number")))
}

#[test]
fn every_frame_comes_once_and_in_order() {
    let first = from_environment("BIEF_SEED").unwrap_or_else(|| fastrand::u64(..u64::MAX / 2));
    let runs = from_environment("BIEF_RUNS").unwrap_or(2000);
    for seed in first..first + runs {
        let told = std::panic::catch_unwind(|| Link::new(seed).run());
        assert!(told.is_ok(), "the link of seed {seed} failed: BIEF_SEED={seed} BIEF_RUNS=1 repeats it");
    }
}
