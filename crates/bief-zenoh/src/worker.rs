//! A worker: a process that lends its cores to whoever reads a stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bief::{Error, Registry, Result};
use bief_link::{Message, PROTOCOL};
use bief_pool::{Buffer, Buffers, Cut, Payload, Workplace};

use crate::about::About;
use crate::address::Address;
use crate::names::{self, Name, WorkerKey};
use crate::network::{Mouth, Network, Reach, Token};

/// Runs at a time: each has its tasks on all cores.
const MOST_RUNS: usize = 16;
/// Messages that wait to be looked at, and the text of tasks, in bytes.
const MOST_WAITING: usize = 256;
const MOST_TEXT: usize = 1 << 20;
/// How often the rate is taken.
const LOOK: Duration = Duration::from_secs(1);
/// How long another one of the same name is looked for: one that is gone is seen for as long as a lease.
const PATIENCE: Duration = Duration::from_millis(300);
const TRIES: u32 = 8;

/// What a worker is.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Where it listens; where nothing is named, it reaches a router or is found.
    pub listen: Option<Address>,
    /// How else it is reached.
    pub reach: Reach,
    /// Its name: no other one of the pool has it.
    pub name: Name,
    /// Frames that it works on at a time, each on a core.
    pub cores: usize,
    /// Frames that it holds at a time, at least as many.
    pub credit: usize,
    /// The version that it tells.
    pub version: String,
}

/// A process that lends its cores.
pub struct Worker {
    shared: Arc<Shared>,
    key: WorkerKey,
    events: Sender<Event>,
    happened: Receiver<Event>,
    said: Box<dyn Fn(&str) + Send>,
    token: Option<Token>,
}

/// Ends a [`Worker`].
#[derive(Debug, Clone)]
pub struct WorkerStopper(Sender<Event>);

#[derive(Debug)]
enum Event {
    /// A run is to begin, with these tasks.
    Begin(u64, String),
    End(u64),
    /// Something came of a run that is not known: its front is to be told.
    Forgot(u64),
    /// A run whose front asks what is held, or what tasks tell, in this message.
    Asked(u64, Buffer),
    FrontCame(String, u32),
    FrontWent(u32),
    Stop,
}

impl Event {
    /// Whether somebody sent it; others are seen.
    fn is_message(&self) -> bool {
        matches!(self, Self::Begin(..) | Self::End(_) | Self::Forgot(_) | Self::Asked(..))
    }
}

struct Shared {
    network: Network,
    options: WorkerOptions,
    registry: Arc<Registry>,
    runs: Mutex<HashMap<u64, Run>>,
    /// Messages that wait to be looked at, but for frames.
    waiting: AtomicUsize,
    /// Frames of runs that have ended, and frames per second of late.
    done: Mutex<(u64, f64)>,
}

/// A run that this worker works for.
struct Run {
    workplace: Arc<Workplace>,
    mouth: Arc<Mouth>,
}

impl WorkerStopper {
    /// Ends the worker: fronts are told, and give its frames to others.
    pub fn stop(&self) {
        // It may have ended.
        let _ = self.0.send(Event::Stop);
    }
}

impl Worker {
    /// Joins the network: fronts see it, once it [runs](Self::run). What a person should know is `said`.
    ///
    /// # Errors
    /// An address where it cannot listen; keys that are none.
    pub fn open(options: WorkerOptions, registry: Arc<Registry>, said: impl Fn(&str) + Send + 'static) -> Result<Self> {
        let network = Network::open(&options.reach, options.listen.as_ref())?;
        let key = WorkerKey::new(&network.id(), options.name.as_str(), &where_it_is(options.listen.as_ref()));
        let (events, happened) = channel();
        let shared = Arc::new(Shared {
            network,
            options,
            registry,
            runs: Mutex::new(HashMap::new()),
            waiting: AtomicUsize::new(0),
            done: Mutex::new((0, 0.0)),
        });
        Ok(Self { shared, key, events, happened, said: Box::new(said), token: None })
    }

    /// What ends it, from another thread.
    pub fn stopper(&self) -> WorkerStopper {
        WorkerStopper(self.events.clone())
    }

    /// Works until it is stopped.
    ///
    /// # Errors
    /// A network that fails; another worker of the same name.
    pub fn run(mut self) -> Result<()> {
        self.find_double()?;
        let (id, network) = (&self.key.id, &self.shared.network);
        let (heard, events) = (Arc::clone(&self.shared), self.events.clone());
        network.hear(&names::to_worker(id), Buffers::default(), move |message| heard.hear(message, &events))?;
        let (told, address) = (Arc::clone(&self.shared), self.key.address.clone());
        network.answer(&names::about(id), move || told.about(&address))?;
        let seen = self.events.clone();
        network.watch(names::FRONTS, move |key, is_there| {
            let Some((protocol, number)) = names::read_front(key) else { return };
            let event = if is_there { Event::FrontCame(protocol, number) } else { Event::FrontWent(number) };
            let _ = seen.send(event);
        })?;
        self.token = Some(network.announce(&self.key.key())?);
        self.follow();
        self.leave();
        Ok(())
    }

    /// Refuses the name of another one that is seen from here, and does not go.
    fn find_double(&self) -> Result<()> {
        let reach = &self.shared.options.reach;
        if reach.router.is_none() && !reach.find && reach.workers.is_empty() {
            return Ok(());
        }
        let mut double = None;
        for _ in 0..TRIES {
            let keys = self.shared.network.announced(names::WORKERS, PATIENCE)?;
            let mut others = keys.iter().filter_map(|key| WorkerKey::read(key));
            double = others.find(|other| other.name == self.key.name && other.id != self.key.id);
            if double.is_none() {
                return Ok(());
            }
            std::thread::sleep(PATIENCE / 2);
        }
        double.map_or(Ok(()), |first| {
            let WorkerKey { name, address, .. } = first;
            Err(Error::new(format!("a worker at {address} is called {name}: start this one with another --name")))
        })
    }

    fn follow(&self) {
        let (mut last, mut before) = (Instant::now(), 0);
        loop {
            let event = self.happened.recv_timeout(LOOK.saturating_sub(last.elapsed()));
            if event.as_ref().is_ok_and(Event::is_message) {
                self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            }
            match event {
                Ok(Event::Begin(run, text)) => self.begin(run, &text),
                Ok(Event::End(run)) => self.end(run, "is done"),
                Ok(Event::Forgot(run)) => self.forgot(run),
                Ok(Event::Asked(run, message)) => {
                    if let Some(workplace) = self.shared.workplace(run) {
                        let _ = workplace.take(message);
                    }
                }
                Ok(Event::FrontWent(number)) => {
                    let runs: Vec<u64> = self.shared.runs().keys().copied().collect();
                    let of_it = |run: &&u64| names::front_of(**run) == number;
                    runs.iter().filter(of_it).for_each(|&run| self.end(run, "has gone"));
                }
                Ok(Event::FrontCame(protocol, number)) => {
                    if protocol != PROTOCOL.to_string() {
                        (self.said)(&format!(
                            "front {number:08x} speaks protocol {protocol}, this is {PROTOCOL}: bring both to one version of Bief"
                        ));
                    }
                }
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let (frames, seconds) = (self.shared.frames(), last.elapsed().as_secs_f64());
                    self.shared.done().1 = frames.saturating_sub(before) as f64 / seconds;
                    (last, before) = (Instant::now(), frames);
                }
            }
        }
    }

    /// Makes the tasks of a run, and begins to work.
    fn begin(&self, run: u64, text: &str) {
        if let Some(workplace) = self.shared.workplace(run) {
            // It was asked twice.
            return workplace.greet();
        }
        // A front that begins anew has given up the run before.
        let of_it = |other: &u64| names::front_of(*other) == names::front_of(run);
        let before: Vec<u64> = self.shared.runs().keys().copied().filter(of_it).collect();
        if before.iter().any(|&other| other > run) {
            return;
        }
        before.into_iter().for_each(|other| self.end(other, "begins anew"));
        let mouth = match self.shared.network.mouth(&names::to_front(names::front_of(run))) {
            Ok(mouth) => Arc::new(mouth),
            Err(error) => return (self.said)(&format!("{error}")),
        };
        match self.start(run, text, &mouth) {
            Ok((workplace, tasks)) => {
                let workplace = Arc::new(workplace);
                let entry = Run { workplace: Arc::clone(&workplace), mouth };
                self.shared.runs().insert(run, entry);
                workplace.greet();
                (self.said)(&format!("front {:08x}: {tasks}", names::front_of(run)));
            }
            Err(error) => {
                let reason = error.to_string();
                (self.said)(&format!("front {:08x} is refused: {reason}", names::front_of(run)));
                mouth.tell(&Message::Refused { run, reason: &reason });
            }
        }
    }

    /// The tasks on the cores, and what they are called.
    fn start(&self, run: u64, text: &str, mouth: &Arc<Mouth>) -> Result<(Workplace, String)> {
        let WorkerOptions { cores, credit, .. } = self.shared.options;
        if self.shared.runs().len() >= MOST_RUNS {
            return Err(Error::new(format!("it works for {MOST_RUNS} runs: no more at a time")));
        }
        let registry = &self.shared.registry;
        let (cut, inputs) = Cut::read(text, registry)?;
        let tasks: Vec<&str> = cut.leaving().map(|task| task.name()).collect();
        let segment = cut.segment(inputs, Arc::clone(registry))?;
        let to = Arc::clone(mouth);
        let answer = move |head: &[u8], behind: Option<Payload>| to.say(head.to_vec(), behind);
        let workplace = Workplace::silent(run, &segment, cores, credit, answer)?;
        Ok((workplace, tasks.join(", ")))
    }

    fn end(&self, run: u64, how: &str) {
        let Some(ended) = self.shared.runs().remove(&run) else { return };
        let frames = ended.workplace.answered();
        self.shared.done().0 += frames;
        (self.said)(&format!("front {:08x} {how}: {frames} frames", names::front_of(run)));
    }

    /// Tells a front that its run is not known here any more.
    fn forgot(&self, run: u64) {
        if let Ok(mouth) = self.shared.network.mouth(&names::to_front(names::front_of(run))) {
            mouth.tell(&Message::Leave { run });
        }
    }

    fn leave(mut self) {
        let runs: Vec<(u64, Run)> = self.shared.runs().drain().collect();
        runs.iter().for_each(|(run, entry)| entry.mouth.tell(&Message::Leave { run: *run }));
        drop(runs);
        drop(self.token.take());
        self.shared.network.close();
    }
}

impl Shared {
    fn runs(&self) -> MutexGuard<'_, HashMap<u64, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workplace(&self, run: u64) -> Option<Arc<Workplace>> {
        self.runs().get(&run).map(|run| Arc::clone(&run.workplace))
    }

    fn done(&self) -> MutexGuard<'_, (u64, f64)> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames so far.
    fn frames(&self) -> u64 {
        let now: u64 = self.runs().values().map(|run| run.workplace.answered()).sum();
        self.done().0 + now
    }

    /// Takes a message, on a thread of the network: what takes longer is an event.
    fn hear(&self, bytes: Buffer, events: &Sender<Event>) {
        // What is no message is of somebody else.
        let Ok(message) = Message::read(&bytes) else { return };
        let run = message.run();
        match message {
            Message::Begin { tasks, .. } if tasks.len() <= MOST_TEXT => {
                self.offer(events, || Event::Begin(run, tasks.to_owned()));
            }
            Message::End { .. } => self.offer(events, || Event::End(run)),
            Message::Frame { .. } => match self.workplace(run) {
                None => self.offer(events, || Event::Forgot(run)),
                Some(workplace) => {
                    let _ = workplace.take(bytes);
                }
            },
            // They are answered: no thread of the network may wait for that.
            Message::Ask { .. } | Message::Tell { .. } => match self.workplace(run) {
                None => self.offer(events, || Event::Forgot(run)),
                Some(_) => self.offer(events, || Event::Asked(run, bytes)),
            },
            _ => {}
        }
    }

    /// Leaves a message to be looked at; those that are too many are lost, as by a network.
    fn offer(&self, events: &Sender<Event>, event: impl FnOnce() -> Event) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING || events.send(event()).is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn about(&self, address: &str) -> Vec<u8> {
        let WorkerOptions { name, version, cores, .. } = &self.options;
        let runs = self.runs().len();
        let frames = self.frames();
        let rate = self.done().1;
        let about = About {
            name: name.as_str().to_owned(),
            address: address.to_owned(),
            version: version.clone(),
            cores: u32::try_from(*cores).unwrap_or(u32::MAX),
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
            frames,
            rate,
        };
        serde_json::to_vec(&about).unwrap_or_default()
    }
}

/// Where others find it, as far as it knows: the name of the machine stands for all its networks.
fn where_it_is(listen: Option<&Address>) -> String {
    let host = Name::of_host();
    let host = host.as_str();
    match listen {
        Some(address) if !address.is_any() => address.to_string(),
        Some(address) if address.port() == 0 => host.to_owned(),
        Some(address) => format!("{host}:{}", address.port()),
        None => host.to_owned(),
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("key", &self.key).finish_non_exhaustive()
    }
}
