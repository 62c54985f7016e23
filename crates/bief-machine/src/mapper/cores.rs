//! The cores that threads are mapped to, and the kinds that they are of.

use bief_schedule::mapping::Cores;

use super::refused;
use crate::affinity::Mask;
use crate::error::Result;
use crate::topology::{CoreSpec, Machine, thread_list};

/// The cores of a machine on which some threads may run.
pub(super) struct KindsOfCores {
    pub(super) names: Vec<String>,
    /// How fast each kind is, the fastest that is used having 1.
    pub(super) capacities: Vec<f64>,
    /// The hardware threads of each kind.
    pub(super) masks: Vec<Mask>,
    /// The kind of each core that is used, and a core of each kind.
    of_cores: Vec<usize>,
    a_core: Vec<Option<usize>>,
    /// The kind of each hardware thread.
    pub(super) of_threads: Vec<Option<usize>>,
    /// Whether the system tells how fast they are.
    pub(super) speeds_are_known: bool,
}

impl KindsOfCores {
    /// # Errors
    /// None of the cores is of the machine.
    pub(super) fn new(machine: &Machine, allowed: &Mask) -> Result<Self> {
        let kinds = machine.kinds();
        let threads = |kind: usize| -> Vec<usize> {
            let cores = machine.cores().iter().filter(|core| core.kind == kind);
            cores.flat_map(|core| core.threads.iter().copied()).collect()
        };
        let masks: Vec<Mask> = (0..kinds.len()).map(|kind| Mask::of(&threads(kind))).collect::<Result<_, _>>()?;
        let mut of_threads = Vec::new();
        for (kind, mask) in masks.iter().enumerate() {
            for thread in mask.threads() {
                of_threads.resize(of_threads.len().max(thread + 1), None);
                of_threads[thread] = Some(kind);
            }
        }
        let is_used = |threads: &[usize]| Mask::of(threads).is_ok_and(|core| !core.and(allowed).is_empty());
        let used = machine.cores().iter().filter(|core| is_used(&core.threads));
        let of_cores: Vec<usize> = used.map(|core| core.kind).collect();
        if of_cores.is_empty() {
            return Err(refused(format!(
                "the threads may run on hardware threads {}, of which the machine has none: describe this machine",
                thread_list(allowed.threads())
            )));
        }
        let a_core: Vec<Option<usize>> =
            (0..kinds.len()).map(|kind| of_cores.iter().position(|&of| of == kind)).collect();
        let speeds = speeds(kinds);
        let used = speeds.iter().zip(&a_core).filter(|(_, core)| core.is_some());
        let fastest = used.map(|(&(speed, _), _)| speed).fold(0.0, f64::max);
        Ok(Self {
            names: kinds.iter().map(|kind| kind.name.clone()).collect(),
            capacities: speeds.iter().map(|&(speed, _)| speed / fastest).collect(),
            masks,
            of_cores,
            a_core,
            of_threads,
            speeds_are_known: speeds.iter().all(|&(_, is_known)| is_known),
        })
    }

    /// As threads are mapped to them.
    pub(super) fn cores(&self) -> Result<Cores> {
        Ok(Cores::new(self.of_cores.iter().map(|&kind| self.capacities[kind]))?)
    }

    /// How many cores are used.
    pub(super) fn number(&self) -> usize {
        self.of_cores.len()
    }

    /// The kind of a core.
    pub(super) fn of_core(&self, core: usize) -> usize {
        self.of_cores[core]
    }

    /// Any core of a kind, if one is used.
    pub(super) fn a_core(&self, kind: usize) -> Option<usize> {
        self.a_core[kind]
    }

    /// The kinds that are used.
    pub(super) fn used(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|&kind| self.a_core[kind].is_some())
    }

    /// Of these kinds, the one that is as fast as `kind` or differs least from it.
    pub(super) fn nearest(&self, kind: usize, among: impl Iterator<Item = usize>) -> Option<usize> {
        let misfit = |other: usize| (self.capacities[other] - self.capacities[kind]).abs();
        among.min_by(|&one, &other| {
            (one != kind, misfit(one)).partial_cmp(&(other != kind, misfit(other))).unwrap_or(std::cmp::Ordering::Equal)
        })
    }
}

/// How fast each kind is, in any unit, and whether the system tells.
fn speeds(kinds: &[CoreSpec]) -> Vec<(f64, bool)> {
    let told = |measure: fn(&CoreSpec) -> Option<u32>| kinds.iter().map(measure).collect::<Option<Vec<u32>>>();
    let told = told(|kind| kind.capacity).or_else(|| told(|kind| kind.max_mhz));
    let is_known = told.is_some() || kinds.len() == 1;
    let told = told.unwrap_or_else(|| vec![1; kinds.len()]);
    kinds.iter().zip(told).map(|(kind, speed)| (f64::from(speed.max(1)) * kind.speed, is_known)).collect()
}
