//! The loop of FTFC: usage in, mapping out.

use super::cores::Cores;
use super::demand::{Estimator, Measure, ThreadDemand, Usage, normalise};
use super::mapper::{Algorithm, Mapper, Mapping};
use super::refused;
use crate::error::Error;

/// Settings of [`Ftfc`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FtfcSettings {
    /// How demands are estimated.
    pub estimator: Estimator,
    /// Whether demands are [normalised](normalise) before threads are mapped.
    pub normalise: bool,
    /// How threads are mapped.
    pub algorithm: Algorithm,
}

impl Default for FtfcSettings {
    /// Demands with memory, as they are; binary searched mapping with a hysteresis of 0.05, which in simulation about
    /// halves the migrations and costs no throughput.
    fn default() -> Self {
        let algorithm = Algorithm::BinarySearched { hysteresis: 0.05 };
        Self { estimator: Estimator::default(), normalise: false, algorithm }
    }
}

impl FtfcSettings {
    /// As the paper does it: homogenised by equation 2, normalised by equation 3, binary searched mapping.
    pub fn published() -> Self {
        Self { estimator: Estimator::published(), normalise: true, algorithm: Algorithm::BINARY_SEARCHED }
    }
}

/// The Fastest-Thread-Fastest-Core scheduler: at the end of each interval it takes the use of the cores, estimates the
/// threads' demands and maps them. See the [module](super) for an example.
///
/// A step allocates nothing, once it has run with as many threads, where the [algorithm](Mapper) does not.
///
/// # Threads that come and go
///
/// Threads have numbers from 0 on. [`insert`](Self::insert) gives a new one the next number; [`remove`](Self::remove)
/// takes one away, and those after it move up by one. What is known of the others stays. [`place`](Self::place) tells
/// where a thread is that did not go where it was mapped to.
///
/// ```
/// use bief_schedule::mapping::{Cores, Ftfc, FtfcSettings, ThreadDemand, Usage};
///
/// let cores = Cores::new([1.0, 0.5])?;
/// let mut ftfc = Ftfc::new(&cores, [Some(0)], FtfcSettings::default())?;
/// ftfc.step(&[Usage::busy(0.3)])?;
/// // A new one may need all of a core.
/// assert_eq!(ftfc.insert(None, ThreadDemand::default())?, 1);
/// assert_eq!(ftfc.step(&[Usage::busy(0.75), Usage::busy(0.0)])?.cores(), [Some(1), Some(0)]);
/// let first = ftfc.remove(0).unwrap();
/// assert_eq!((first.get(), ftfc.mapping().cores()), (0.375, &[Some(0)][..]));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug)]
pub struct Ftfc {
    cores: Cores,
    settings: FtfcSettings,
    threads: Vec<ThreadDemand>,
    demands: Vec<f64>,
    mapper: Mapper,
    mapping: Mapping,
}

impl Ftfc {
    /// Threads on these cores, by position; `None` for one that is on none yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where a thread is on a core that does not exist, a parameter
    /// of the estimator or of the algorithm is out of its range, or throughputs are not normalised.
    pub fn new(
        cores: &Cores,
        threads: impl IntoIterator<Item = Option<usize>>,
        settings: FtfcSettings,
    ) -> Result<Self, Error> {
        settings.estimator.check()?;
        if settings.estimator.measure == Measure::Throughput && !settings.normalise {
            let reason = "throughputs are in a unit of their own, and capacities are not: normalise the demands";
            return Err(refused("normalise", reason));
        }
        let mapping = Mapping::new(threads);
        let mapper = Mapper::new(cores, settings.algorithm)?;
        mapper.check_cores(&mapping)?;
        let threads = vec![ThreadDemand::default(); mapping.cores().len()];
        Ok(Self {
            cores: cores.clone(),
            settings,
            demands: threads.iter().map(ThreadDemand::get).collect(),
            threads,
            mapper,
            mapping,
        })
    }

    /// Adds a thread, after all others: the core that it is on, if it is on any, and what is known of its demand. Answers
    /// its number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where the core does not exist; no thread is added.
    pub fn insert(&mut self, core: Option<usize>, demand: ThreadDemand) -> Result<usize, Error> {
        let thread = self.threads.len();
        self.mapper.check_core(thread, core)?;
        self.mapping.insert(core);
        self.threads.push(demand);
        self.demands.push(demand.get());
        Ok(thread)
    }

    /// Takes a thread away and answers what is known of its demand; those after it move up by one. `None` where there is
    /// no thread of that number.
    pub fn remove(&mut self, thread: usize) -> Option<ThreadDemand> {
        if thread >= self.threads.len() {
            return None;
        }
        self.mapping.remove(thread);
        self.demands.remove(thread);
        Some(self.threads.remove(thread))
    }

    /// Tells where a thread is, where it is not on the core that the mapping says. [`Mapping::moved`] stays.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where the thread or the core does not exist.
    pub fn place(&mut self, thread: usize, core: Option<usize>) -> Result<(), Error> {
        let threads = self.threads.len();
        if thread >= threads {
            let reason = format!("there are {threads} threads, counted from 0: name one of these");
            return Err(refused(&format!("thread {thread}"), reason));
        }
        self.mapper.check_core(thread, core)?;
        self.mapping.place(thread, core);
        Ok(())
    }

    /// Takes what each thread did in the interval that ends, on the core that the mapping says, and maps anew. What is
    /// told of a thread that was on no core is not used.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Mapping`](crate::ErrorKind::Mapping) where there are not as many usages as threads, or one is out
    /// of its range ([`ThreadDemand::observe`]). The mapping is then as before.
    pub fn step(&mut self, usages: &[Usage]) -> Result<&Mapping, Error> {
        let (given, threads) = (usages.len(), self.threads.len());
        if given != threads {
            return Err(refused("usages", format!("there are {given} for {threads} threads: give one per thread")));
        }
        self.demands.clear();
        for ((thread, &usage), core) in self.threads.iter_mut().zip(usages).zip(self.mapping.cores()) {
            self.demands.push(match *core {
                Some(core) => thread.observe(&self.settings.estimator, usage, self.cores.capacities()[core])?,
                None => thread.get(),
            });
        }
        if self.settings.normalise {
            normalise(&mut self.demands);
        }
        self.mapper.map(&self.demands, &mut self.mapping)?;
        Ok(&self.mapping)
    }

    /// Where the threads are.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The demands of the latest step, as they were mapped; of threads that came since then, what was known.
    pub fn demands(&self) -> &[f64] {
        &self.demands
    }
}
