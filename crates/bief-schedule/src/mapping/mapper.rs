//! Mappings, and what makes them.

use super::binary_searched::BinarySearched;
use super::chooser::Chooser;
use super::cores::Cores;
use super::maximise_swap::MaximiseThenSwap;
use super::nearest_sum::NearestSum;
use super::rank::Rank;
use super::refused;
use super::slots::Slots;
use super::weighted_euclidean::WeightedEuclidean;
use crate::error::Error;

/// How threads are mapped by their demands.
///
/// In the complexities *N* is the number of threads or slots, whichever are more, and *M* the number of kinds of slots.
/// With each of them a thread that stays on slots of one kind keeps its core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Algorithm {
    /// Binary searched mapping (BSM): each thread to the kind of slot whose share is nearest to its demand. O(*N* log
    /// *M*).
    ///
    /// Of the threads that want a kind of which there are too few slots, those whose demands are nearest to the share
    /// get them; of equally near ones those that are on this kind already. The others, in turn, take the free slot that
    /// is nearest to their demand on either side of that kind, and nobody makes room for them. This is a greedy search
    /// for the least sum of the distances between demand and share, which [`NearestSum`](Self::NearestSum) finds. With
    /// as many threads as slots, and random demands, it is about 0.015 per thread above it; with half as many, 0.003.
    BinarySearched {
        /// By how much another kind must be nearer for a thread to leave the one that it is on, and how much nearer to
        /// the share a thread that comes must be than one that is there; 0 or more.
        hysteresis: f64,
    },
    /// Weighted Euclidean distance (WED): the threads in turn, each to the free slot whose share is nearest to its
    /// demand. O(*N* *M*). With the capacity as the only characteristic of a core, all that remains of the weights is
    /// the distance.
    WeightedEuclidean,
    /// Maximise, then swap (MTS): the threads that have no core yet in turn to where they get the most; then all pairs
    /// of threads of unlike slots, and threads and free slots, are exchanged where this makes the sum of min(demand,
    /// share) greater, until no exchange does. O(*N*²) for each time that all pairs are tried.
    MaximiseThenSwap,
    /// The thread that needs the most to the slot with the greatest share, and so on. O(*N* log *N*).
    ///
    /// Without stickiness it makes the sum of min(demand, share) the greatest that there is; where there are no more
    /// slots than threads, also the sum of distances between demand and share the least. Both hold since exchanging two
    /// threads against the order gains nothing.
    Rank {
        /// How much more a thread is taken to need than others do, by the share of the slot that it is on; 0 or more.
        stickiness: f64,
    },
    /// The least sum of the distances between demand and share. O(*N* log *N* + *N* *F*), where *F* - 1 slots stay
    /// free: the exact solution of what [`BinarySearched`](Self::BinarySearched) approximates.
    NearestSum,
}

impl Algorithm {
    /// Binary searched mapping, without hysteresis.
    pub const BINARY_SEARCHED: Self = Self::BinarySearched { hysteresis: 0.0 };

    /// Threads and slots in order; a thread is taken to need 5 % of its slot's share more than others do.
    pub const RANK: Self = Self::Rank { stickiness: 0.05 };

    /// Threads and slots in order, whatever it costs to move: the greatest throughput.
    pub const GREATEST_THROUGHPUT: Self = Self::Rank { stickiness: 0.0 };

    fn chooser(self) -> Result<Box<dyn Chooser>, Error> {
        let check = |name: &str, value: f64| {
            if value.is_finite() && value >= 0.0 {
                return Ok(value);
            }
            Err(refused(name, format!("{value}: write a finite number of 0 or more")))
        };
        Ok(match self {
            Self::BinarySearched { hysteresis } => Box::new(BinarySearched::new(check("hysteresis", hysteresis)?)),
            Self::WeightedEuclidean => Box::new(WeightedEuclidean::default()),
            Self::MaximiseThenSwap => Box::new(MaximiseThenSwap::default()),
            Self::Rank { stickiness } => Box::new(Rank::new(check("stickiness", stickiness)?)),
            Self::NearestSum => Box::new(NearestSum::default()),
        })
    }
}

/// The core of each thread, and the threads moved last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mapping {
    cores: Vec<Option<usize>>,
    moved: Vec<usize>,
}

impl Mapping {
    /// Threads on these cores, by position in [`Cores`]; `None` for a thread that is on none yet.
    pub fn new(cores: impl IntoIterator<Item = Option<usize>>) -> Self {
        Self { cores: cores.into_iter().collect(), moved: Vec::new() }
    }

    /// The core of each thread, by position in [`Cores`]. After [`Mapper::map`] each has one.
    pub fn cores(&self) -> &[Option<usize>] {
        &self.cores
    }

    /// The threads to which the latest [`Mapper::map`] gave another core, or their first, in ascending order.
    pub fn moved(&self) -> &[usize] {
        &self.moved
    }

    /// Adds a thread after all others.
    pub(super) fn insert(&mut self, core: Option<usize>) {
        self.cores.push(core);
    }

    /// Takes a thread away that there is; those after it move up by one.
    pub(super) fn remove(&mut self, thread: usize) {
        self.cores.remove(thread);
        self.moved.retain(|&moved| moved != thread);
        self.moved.iter_mut().filter(|moved| **moved > thread).for_each(|moved| *moved -= 1);
    }

    /// Puts a thread that there is on a core.
    pub(super) fn place(&mut self, thread: usize, core: Option<usize>) {
        self.cores[thread] = core;
    }
}

/// Maps threads to cores repeatedly: a machine, an algorithm, and its working memory.
///
/// As long as the number of threads stays the same, or is at most that of the cores, and after the first calls,
/// [`Algorithm::BinarySearched`] and [`Algorithm::Rank`] allocate nothing.
///
/// # Example
///
/// ```
/// use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};
///
/// let cores = Cores::new([1.0, 1.0, 0.5, 0.25])?;
/// let mut mapper = Mapper::new(&cores, Algorithm::BINARY_SEARCHED)?;
/// let mut mapping = Mapping::new([None; 4]);
/// mapper.map(&[0.2, 0.9, 1.0, 0.45], &mut mapping)?;
/// assert_eq!(mapping.cores(), [Some(3), Some(0), Some(1), Some(2)]);
///
/// // The first thread needs more now: it takes the place of the one that fits worse.
/// mapper.map(&[0.95, 0.9, 1.0, 0.45], &mut mapping)?;
/// assert_eq!(mapping.cores(), [Some(0), Some(3), Some(1), Some(2)]);
/// assert_eq!(mapping.moved(), [0, 1]);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub struct Mapper {
    machine: Cores,
    chooser: Box<dyn Chooser>,
    slots: Slots,
    kinds: Vec<Option<usize>>,
    /// How many slots each core has left, and where among the cores of each kind to look for the next.
    left: Vec<usize>,
    next: Vec<usize>,
}

impl Mapper {
    /// A mapper for these cores.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where a parameter of the algorithm is negative or not finite.
    pub fn new(cores: &Cores, algorithm: Algorithm) -> Result<Self, Error> {
        Ok(Self {
            machine: cores.clone(),
            chooser: algorithm.chooser()?,
            slots: Slots::new(cores, 0),
            kinds: Vec::new(),
            left: Vec::new(),
            next: Vec::new(),
        })
    }

    /// Maps each thread to a core by its demand, where the fastest core has 1; a demand may be greater. `mapping` holds
    /// where the threads are, and is given where they go. A thread that stays on cores of one kind stays on its core.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where a demand is negative or not finite, there are not as
    /// many demands as threads, or a thread is on a core that does not exist. The mapping is then as before.
    pub fn map(&mut self, demands: &[f64], mapping: &mut Mapping) -> Result<(), Error> {
        self.check(demands, mapping)?;
        // Each core has a slot, however few threads there are.
        let slots = demands.len().max(self.machine.capacities().len());
        if self.slots.threads() != slots {
            self.slots = Slots::new(&self.machine, slots);
        }
        self.kinds.clear();
        self.kinds.extend(mapping.cores.iter().map(|core| core.map(|core| self.slots.kind_of_core(core))));
        self.chooser.choose(&self.slots, demands, &mut self.kinds);
        self.settle(mapping);
        Ok(())
    }

    fn check(&self, demands: &[f64], mapping: &Mapping) -> Result<(), Error> {
        let (given, threads) = (demands.len(), mapping.cores.len());
        if given != threads {
            let reason = format!("there are {given}, and the mapping has {threads} threads: give one per thread");
            return Err(refused("demands", reason));
        }
        if let Some(thread) = demands.iter().position(|demand| !(demand.is_finite() && *demand >= 0.0)) {
            let reason = format!("{}: write a finite demand of 0 or more", demands[thread]);
            return Err(refused(&format!("demand of thread {thread}"), reason));
        }
        self.check_cores(mapping)
    }

    /// Refuses threads on cores that do not exist.
    pub(super) fn check_cores(&self, mapping: &Mapping) -> Result<(), Error> {
        mapping.cores.iter().enumerate().try_for_each(|(thread, &core)| self.check_core(thread, core))
    }

    /// Refuses a thread on a core that does not exist.
    pub(super) fn check_core(&self, thread: usize, core: Option<usize>) -> Result<(), Error> {
        let count = self.machine.capacities().len();
        match core {
            Some(core) if core >= count => {
                let reason = format!("it is on core {core}, and the cores are 0 to {}: name one of these", count - 1);
                Err(refused(&format!("thread {thread}"), reason))
            }
            _ => Ok(()),
        }
    }

    /// Gives each thread a core of its kind: the one that it is on, where that is of the kind and has room.
    fn settle(&mut self, mapping: &mut Mapping) {
        let slots = &self.slots;
        self.left.clear();
        self.left.extend(slots.slots_of_core());
        self.next.clear();
        self.next.resize(slots.kinds(), 0);
        // Whether a thread stays is hard to predict: it is counted, and not branched on.
        mapping.moved.clear();
        mapping.moved.resize(mapping.cores.len(), 0);
        let mut moved = 0;
        for (thread, (core, kind)) in mapping.cores.iter().zip(&self.kinds).enumerate() {
            let stays = core.is_some_and(|core| (Some(slots.kind_of_core(core)) == *kind) & (self.left[core] > 0));
            self.left[core.unwrap_or_default()] -= usize::from(stays);
            mapping.moved[moved] = thread;
            moved += usize::from(!stays);
        }
        mapping.moved.truncate(moved);
        for &thread in &mapping.moved {
            let kind = self.kinds[thread].expect("a kind was chosen for each thread");
            let cores = slots.cores_of(kind);
            let next = &mut self.next[kind];
            while self.left[cores[*next]] == 0 {
                *next += 1;
            }
            self.left[cores[*next]] -= 1;
            mapping.cores[thread] = Some(cores[*next]);
        }
    }
}

impl std::fmt::Debug for Mapper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapper").field("machine", &self.machine).field("slots", &self.slots).finish_non_exhaustive()
    }
}
