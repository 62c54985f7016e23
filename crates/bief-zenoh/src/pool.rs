//! The workers of a run, as the machine that reads its stream knows them.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::{Error, Result};
use bief_link::{Leaving, Limits, Message, WorkerId};
use bief_pool::{Front, Letter, OwnCores, Segment, Told, WireKind, WorkerTally};

use crate::about::About;
use crate::local::Local;
use crate::names::{self, WorkerKey};
use crate::network::{MOST_FRAME, Network, Reach, Token, at_once};
use crate::route::Routes;

/// Who is asked to begin, and does not say a word, is asked again after this time.
const AGAIN: Duration = Duration::from_millis(500);
/// It is told that nobody is there when nobody was for this time.
const NOBODY: Duration = Duration::from_secs(2);

/// A network with workers in it, or none.
pub struct Pool {
    network: Network,
    /// Each worker has a link of its own.
    own_links: bool,
}

/// How a run goes on without workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// Cores of this machine do the work, and help workers.
    Cores(OwnCores),
    /// The run waits for workers, until it is to [end](Running::ending): then so many cores of this machine do what is left.
    Wait(usize),
}

impl Without {
    /// The cores of this machine that do the work of workers, in place.
    pub fn own(self) -> OwnCores {
        match self {
            Self::Cores(own) => own,
            Self::Wait(_) => OwnCores::default(),
        }
    }

    /// Those that do what workers left undone.
    fn local(self) -> usize {
        match self {
            Self::Cores(OwnCores { alone, .. }) => alone,
            Self::Wait(cores) => cores,
        }
    }
}

/// A run whose tasks are with workers.
pub struct Running {
    front: Front,
    events: Sender<Event>,
    manager: Option<JoinHandle<()>>,
}

enum Event {
    Came(WorkerKey),
    Went(WorkerKey),
    Told(Told),
    Ending,
    End,
}

impl Pool {
    /// Joins the network. Workers that are not there yet may come at any time.
    ///
    /// # Errors
    /// Keys or addresses that are none; a router that is not there.
    pub fn open(reach: &Reach) -> Result<Self> {
        Ok(Self { network: Network::open(reach, None)?, own_links: reach.router.is_none() })
    }

    /// Who is there: asked for a while, as workers that were named may take a moment to be reached; until `enough` have answered.
    ///
    /// # Errors
    /// A network that fails.
    pub fn workers(&self, patience: Duration, enough: usize) -> Result<Vec<About>> {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let replies = self.network.ask(&names::about_all(), AGAIN)?;
            let mut workers: Vec<About> =
                replies.iter().filter_map(|reply| serde_json::from_slice(reply).ok()).collect();
            if workers.len() >= enough || left.is_zero() {
                workers.sort_by(|a, b| a.name.cmp(&b.name));
                return Ok(workers);
            }
            thread::sleep(left.min(AGAIN / 5));
        }
    }

    /// Begins a run of a segment, whose tasks are told to workers by their `text`, with so many frames under way at most. What a person
    /// should know of workers is `said`.
    ///
    /// # Errors
    /// No threads can be started; a network that fails; frames that are longer than a message.
    pub fn start(
        self,
        segment: &Segment,
        text: String,
        frames: usize,
        without: Without,
        said: impl Fn(&str) + Send + 'static,
    ) -> Result<Running> {
        let bytes = |wires: &[WireKind]| {
            wires.iter().fold(0, |sum: usize, wire| sum.saturating_add(wire.bytes()).saturating_add(8))
        };
        let longest = bytes(segment.inputs()).max(bytes(segment.outputs()));
        if longest > MOST_FRAME {
            return Err(Error::new(format!(
                "a frame of {longest} bytes is more than the {MOST_FRAME} that a message has: use shorter frames, or let others leave"
            )));
        }
        let routes = Routes::default();
        let limits = Limits { frames, ..Limits::default() };
        let front = Front::new(number(&self.network), limits, without.own(), routes.clone())?;
        let (events, happened) = channel();
        let (told, to) = (events.clone(), front.clone());
        self.network.hear(&names::to_front(front.number()), front.buffers().clone(), move |message| {
            // What is no message is of somebody else; the run goes on.
            if let Ok(Some(event)) = to.take(message) {
                let _ = told.send(Event::Told(event));
            }
        })?;
        let token = self.network.announce(&names::front(front.number()))?;
        let seen = events.clone();
        self.network.watch(names::WORKERS, move |key, is_there| {
            let event = if is_there { Event::Came } else { Event::Went };
            WorkerKey::read(key).into_iter().for_each(|key| drop(seen.send(event(key))));
        })?;
        let manager = Manager {
            network: self.network,
            _token: token,
            front: front.clone(),
            routes,
            at_once: self.own_links.then(|| at_once(longest)),
            text,
            local: Local::new(segment, without.local()),
            waits: matches!(without, Without::Wait(_)),
            people: BTreeMap::new(),
            by_run: BTreeMap::new(),
            nobody_since: Some(Instant::now()),
            said: Box::new(said),
        };
        let manage = move || manager.run(&happened);
        let manager = thread::Builder::new().name("workers".into()).spawn(manage)?;
        Ok(Running { front, events, manager: Some(manager) })
    }
}

impl Running {
    /// What `Dispatch` and `Collect` share.
    pub fn front(&self) -> &Front {
        &self.front
    }

    /// What is called when the run is to end: nobody is waited for any more.
    pub fn ending(&self) -> impl Fn() + Send + 'static {
        let events = self.events.clone();
        move || drop(events.send(Event::Ending))
    }

    /// What each worker did.
    pub fn tally(&self) -> Vec<WorkerTally> {
        self.front.tally()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.events.send(Event::End);
        // It has nothing to tell but a panic, which was told.
        self.manager.take().into_iter().for_each(|manager| drop(manager.join()));
    }
}

/// What tells this front from others: a part of what the network calls it, which is random.
fn number(network: &Network) -> u32 {
    let id = network.id();
    u32::from_str_radix(&id[..id.len().min(8)], 16).unwrap_or_else(|_| std::process::id())
}

/// Follows who comes and goes.
struct Manager {
    network: Network,
    _token: Token,
    front: Front,
    routes: Routes,
    /// So many open frames of a worker never wait for each other.
    at_once: Option<usize>,
    text: String,
    local: Local,
    /// Whether the run waits for workers, where none is there.
    waits: bool,
    /// Those that are there, by what the network calls them.
    people: BTreeMap<String, Person>,
    by_run: BTreeMap<WorkerId, String>,
    nobody_since: Option<Instant>,
    said: Box<dyn Fn(&str) + Send>,
}

struct Person {
    key: WorkerKey,
    state: State,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It speaks another protocol, has the name of another one, or refused the tasks.
    Out,
    /// It has the name of one that is there.
    Double,
    /// It was asked to begin.
    Asked(WorkerId, Instant),
    Ready(WorkerId),
}

impl State {
    fn run(self) -> Option<WorkerId> {
        match self {
            Self::Asked(run, _) | Self::Ready(run) => Some(run),
            Self::Out | Self::Double => None,
        }
    }
}

impl Manager {
    fn run(mut self, happened: &Receiver<Event>) {
        loop {
            self.fill_in();
            match happened.recv_timeout(AGAIN) {
                Ok(Event::Came(key)) => self.came(key),
                Ok(Event::Went(key)) => self.went(&key),
                Ok(Event::Told(told)) => self.told(told),
                Ok(Event::Ending) => self.waits = false,
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
            }
            self.ask_again();
        }
        self.front.end();
        self.local.stop(&self.front, &self.routes);
        self.routes.finish();
        self.network.close();
    }

    /// This machine does what was left undone where nobody else is there.
    fn fill_in(&mut self) {
        // What is before the frame that ends the run needs nobody who may be long in coming.
        self.waits &= !self.front.is_poisoned();
        let has_workers = self.people.values().any(|person| matches!(person.state, State::Ready(_)));
        if has_workers {
            self.nobody_since = None;
        } else if self.nobody_since.is_some_and(|since| since.elapsed() >= NOBODY) {
            self.nobody_since = None;
            let does = if self.waits { "the run waits for one" } else { "this machine does all of it" };
            (self.said)(&format!("no worker is there: {does}"));
        }
        if has_workers && self.local.is_working() {
            self.local.stop(&self.front, &self.routes);
        } else if !has_workers
            && !self.waits
            && !self.local.is_working()
            // Others do not leave.
            && self.front.has_frames()
            && let Err(error) = self.local.start(&self.front, &self.routes)
        {
            (self.said)(&format!("this machine cannot do the work of workers: {error}"));
        }
    }

    fn came(&mut self, key: WorkerKey) {
        // It may be seen twice, by two ways.
        if self.people.get(&key.id).is_some_and(|person| person.state.run().is_some()) {
            return;
        }
        if !key.is_ours() {
            (self.said)(&format!(
                "worker {} speaks protocol {}, this is {}: bring both to one version of Bief",
                key.name,
                key.protocol,
                bief_link::PROTOCOL
            ));
            self.people.insert(key.id.clone(), Person { key, state: State::Out });
            return;
        }
        let double = self
            .people
            .values()
            .find(|other| other.key.name == key.name && other.key.id != key.id && other.state.run().is_some());
        if let Some(first) = double {
            let (name, there) = (&key.name, &first.key.address);
            (self.said)(&format!(
                "a second worker is called {name}, at {}: the first, at {there}, goes on; start the other with another --name",
                key.address
            ));
            self.people.insert(key.id.clone(), Person { key, state: State::Double });
            return;
        }
        self.begin(key);
    }

    /// Asks a worker to begin.
    fn begin(&mut self, key: WorkerKey) {
        let state = match self.network.mouth(&names::to_worker(&key.id)) {
            Err(error) => {
                (self.said)(&format!("worker {}: {error}", key.name));
                State::Out
            }
            Ok(mouth) => {
                let run = self.front.welcome(&key.name);
                match self.routes.open(run, self.at_once, move |Letter { head, payload, .. }| mouth.say(head, payload))
                {
                    Err(error) => {
                        (self.said)(&format!("worker {}: {error}", key.name));
                        State::Out
                    }
                    Ok(()) => {
                        self.by_run.insert(run, key.id.clone());
                        self.send_begin(run);
                        State::Asked(run, Instant::now())
                    }
                }
            }
        };
        self.people.insert(key.id.clone(), Person { key, state });
    }

    fn send_begin(&mut self, run: WorkerId) {
        let mut head = Vec::new();
        Message::Begin { run: run.0, tasks: &self.text }.write(&mut head);
        self.routes.send_later(run, head);
    }

    /// What was said may have been lost.
    fn ask_again(&mut self) {
        let late = |person: &Person| match person.state {
            State::Asked(run, since) if since.elapsed() >= AGAIN => Some(run),
            _ => None,
        };
        let runs: Vec<WorkerId> = self.people.values().filter_map(late).collect();
        for run in runs {
            self.send_begin(run);
            if let Some(person) = self.by_run.get(&run).and_then(|id| self.people.get_mut(id)) {
                person.state = State::Asked(run, Instant::now());
            }
        }
    }

    fn went(&mut self, key: &WorkerKey) {
        let Some(person) = self.people.remove(&key.id) else { return };
        let Some(run) = person.state.run() else { return };
        self.routes.close(run);
        self.by_run.remove(&run);
        self.front.gone(run, Leaving::Lost);
        if matches!(person.state, State::Ready(_)) {
            (self.said)(&format!("worker {} has gone", key.name));
            self.note_nobody();
        }
        self.second(&key.name);
    }

    /// One that had the name of one that has gone takes its place.
    fn second(&mut self, name: &str) {
        let second = self.people.values().find(|other| other.state == State::Double && other.key.name == name);
        if let Some(key) = second.map(|second| second.key.clone()) {
            self.begin(key);
        }
    }

    fn note_nobody(&mut self) {
        if !self.people.values().any(|person| matches!(person.state, State::Ready(_))) {
            self.nobody_since = Some(Instant::now());
        }
    }

    fn told(&mut self, told: Told) {
        let (Told::Ready(run) | Told::Refused(run, _) | Told::Left(run)) = &told;
        let run = *run;
        let Some(person) = self.by_run.get(&run).and_then(|id| self.people.get_mut(id)) else { return };
        let key = person.key.clone();
        match told {
            Told::Ready(_) => {
                person.state = State::Ready(run);
                (self.said)(&format!("worker {} at {} works", key.name, key.address));
            }
            Told::Refused(_, reason) => {
                person.state = State::Out;
                self.routes.close(run);
                self.by_run.remove(&run);
                (self.said)(&format!("worker {} cannot do the work: {reason}", key.name));
                self.second(&key.name);
            }
            Told::Left(_) => {
                // Where it goes its token goes, too; else it has forgotten the run, and begins anew.
                self.routes.close(run);
                self.by_run.remove(&run);
                self.begin(key);
                self.note_nobody();
            }
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("front", &self.front).finish_non_exhaustive()
    }
}
