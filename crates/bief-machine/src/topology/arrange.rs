//! From what a system tells of its cores to a machine: kinds, clusters, and an order in which neighbours share most.

use std::collections::BTreeMap;

use super::{Cache, CacheContent, Core, CoreSpec, MAX_THREADS, Machine};

/// What a system tells of a machine.
#[derive(Default)]
pub(super) struct Description {
    pub(super) model: String,
    pub(super) cores: Vec<Described>,
    /// In the order in which they are believed: of two caches of one level that claim a core, the first has it.
    pub(super) caches: Vec<Claim>,
    /// Hardware threads that the system calls a cluster.
    pub(super) clusters: Vec<Vec<usize>>,
    pub(super) quota: Option<f64>,
    pub(super) notes: Notes,
}

/// Sentences about what was odd, no more than anyone reads.
#[derive(Default)]
pub(super) struct Notes(Vec<String>);

const MAX_NOTES: usize = 20;

impl Notes {
    pub(super) fn add(&mut self, note: impl FnOnce() -> String) {
        if self.0.len() < MAX_NOTES {
            self.0.push(note());
        }
    }
}

/// What a system tells of a core.
#[derive(Default)]
pub(super) struct Described {
    /// Ascending, at least one.
    pub(super) threads: Vec<usize>,
    pub(super) package: usize,
    pub(super) node: usize,
    /// Cores of two classes are not of one kind; the lowest is the fastest where no measure tells.
    pub(super) class: usize,
    pub(super) capacity: Option<u32>,
    pub(super) max_mhz: Option<u32>,
    /// A measure of speed that is used where neither of the others parts the cores.
    pub(super) performance: Option<u32>,
}

/// A cache as the system tells of it.
pub(super) struct Claim {
    pub(super) level: u8,
    pub(super) holds: CacheContent,
    pub(super) bytes: Option<u64>,
    /// The hardware threads that share it.
    pub(super) threads: Vec<usize>,
}

/// Cores whose measures lie closer, as a share of the faster one's, are of one kind: favourites of the turbo and what comes of
/// binning differ by less.
const ONE_KIND: f64 = 0.9;

/// The longest name of a model, in characters.
const LONGEST_MODEL: usize = 100;

/// A measure of how fast a core is.
type Measure = fn(&Described) -> Option<u32>;

const CAPACITY: Measure = |core| core.capacity;
const CLOCK: Measure = |core| core.max_mhz;
const PERFORMANCE: Measure = |core| core.performance;
/// All of them, the most trusted first.
const MEASURES: [(&str, Measure); 3] =
    [("capacity", CAPACITY), ("highest clock", CLOCK), ("highest performance", PERFORMANCE)];

impl Description {
    /// The machine, with those hardware threads alone that `allowed` names; at least one core must have one.
    pub(super) fn machine(mut self, allowed: impl Fn(usize) -> bool) -> Machine {
        partly_known(&self.cores, &mut self.notes);
        let kinds = Kinds::of(&self.cores);
        let core_of = self.core_of_threads();
        let positions = |threads: &[usize]| {
            let mut cores: Vec<usize> = threads.iter().filter_map(|&thread| core_of[thread]).collect();
            cores.sort_unstable();
            cores.dedup();
            cores
        };
        let caches = parted(&self.caches, self.cores.len(), positions);
        let told = self.clusters.iter().map(|threads| positions(threads));
        let groups: Vec<Vec<usize>> = caches.iter().map(|cache| cache.cores.clone()).chain(told).collect();
        let clusters = clusters(&self.cores, &kinds.of_cores, &groups);
        let cores = self.cores.into_iter().enumerate().map(|(index, mut core)| {
            core.threads.retain(|&thread| allowed(thread));
            let (kind, cluster) = (kinds.of_cores[index], clusters[index]);
            Core { threads: core.threads, kind, cluster, package: core.package, node: core.node }
        });
        let (cores, kinds, caches) = in_order(cores.collect(), kinds.kinds, caches);
        let (model, notes) = (plain(&self.model), self.notes.0);
        Machine { model, cores, kinds, caches, devices: Vec::new(), quota: self.quota, notes }
    }

    /// For each hardware thread, the position of its core.
    fn core_of_threads(&self) -> Vec<Option<usize>> {
        let mut core_of = vec![None; MAX_THREADS];
        for (index, core) in self.cores.iter().enumerate() {
            core.threads.iter().for_each(|&thread| core_of[thread] = Some(index));
        }
        core_of
    }
}

/// The name of a model in one line.
fn plain(model: &str) -> String {
    let model: String = model.chars().filter(|c| !c.is_control()).take(LONGEST_MODEL).collect();
    if model.trim().is_empty() { "unknown".to_owned() } else { model.trim().to_owned() }
}

/// Kinds, from the fastest to the slowest, and which each core is of.
struct Kinds {
    kinds: Vec<CoreSpec>,
    of_cores: Vec<usize>,
}

impl Kinds {
    fn of(cores: &[Described]) -> Self {
        let measured = MEASURES.iter().position(|&(_, measure)| parts(cores, measure));
        // Of every core, its class and how fast it is; kinds are parts of classes.
        let speed = |core: &Described| measured.and_then(|index| MEASURES[index].1(core)).unwrap_or(0);
        let mut order: Vec<usize> = (0..cores.len()).collect();
        order.sort_by_key(|&core| (cores[core].class, std::cmp::Reverse(speed(&cores[core]))));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for core in order {
            let last = groups.last_mut().filter(|group| {
                let before = &cores[*group.last().expect("groups are made with a core")];
                before.class == cores[core].class && !is_slower(speed(&cores[core]), speed(before))
            });
            match last {
                Some(group) => group.push(core),
                None => groups.push(vec![core]),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(speed(&cores[group[0]])));
        // Capacities that do not tell kinds apart which something else does would be told of them wrongly.
        let with_capacity = groups.len() == 1 || measured == Some(0);
        let highest = |group: &[usize], measure: Measure| group.iter().filter_map(|&core| measure(&cores[core])).max();
        let kinds = groups.iter().enumerate().map(|(index, group)| CoreSpec {
            name: name(index, groups.len()),
            capacity: highest(group, CAPACITY).filter(|_| with_capacity),
            max_mhz: highest(group, CLOCK),
            speed: 1.0,
            task_speeds: BTreeMap::new(),
            smt: None,
        });
        let kinds = kinds.collect();
        let mut of_cores = vec![0; cores.len()];
        for (kind, group) in groups.iter().enumerate() {
            group.iter().for_each(|&core| of_cores[core] = kind);
        }
        Self { kinds, of_cores }
    }
}

/// Notes each measure that is known of some cores only.
fn partly_known(cores: &[Described], notes: &mut Notes) {
    for (name, measure) in MEASURES {
        let known = cores.iter().filter(|core| measure(core).is_some()).count();
        if known != 0 && known != cores.len() {
            notes.add(|| format!("The {name} of {known} of {} cores is known: it tells no kinds.", cores.len()));
        }
    }
}

/// Whether a measure that is known of all cores makes more than one kind of them.
fn parts(cores: &[Described], measure: Measure) -> bool {
    let Some(mut speeds) = cores.iter().map(measure).collect::<Option<Vec<u32>>>() else { return false };
    speeds.sort_unstable();
    speeds.windows(2).any(|pair| is_slower(pair[0], pair[1]))
}

/// Whether one speed is so far below another that the cores are of two kinds.
fn is_slower(slow: u32, fast: u32) -> bool {
    f64::from(slow) < ONE_KIND * f64::from(fast)
}

fn name(index: usize, kinds: usize) -> String {
    let names: &[&str] = match kinds {
        1 => &["cpu"],
        2 => &["big", "little"],
        3 => &["big", "medium", "little"],
        _ => &[],
    };
    names.get(index).map_or_else(|| format!("kind{}", index + 1), |name| (*name).to_owned())
}

/// The caches, each core in at most one of a level and content.
fn parted(claims: &[Claim], cores: usize, positions: impl Fn(&[usize]) -> Vec<usize>) -> Vec<Cache> {
    let mut taken: BTreeMap<(u8, CacheContent), Vec<bool>> = BTreeMap::new();
    let mut caches = Vec::new();
    for &Claim { level, holds, bytes, ref threads } in claims {
        let taken = taken.entry((level, holds)).or_insert_with(|| vec![false; cores]);
        let mut cores = positions(threads);
        cores.retain(|&core| !std::mem::replace(&mut taken[core], true));
        if !cores.is_empty() {
            caches.push(Cache { level, holds, bytes, cores });
        }
    }
    caches
}

/// For each core a number that the cores of its cluster share, and no others.
fn clusters(cores: &[Described], kinds: &[usize], groups: &[Vec<usize>]) -> Vec<usize> {
    let place = |core: usize| (kinds[core], cores[core].package, cores[core].node);
    // The group that each core is in, and of how many cores of its kind and place, the smallest so far.
    let mut smallest: Vec<Option<(usize, usize)>> = vec![None; cores.len()];
    for (index, group) in groups.iter().enumerate() {
        let mut count: BTreeMap<_, usize> = BTreeMap::new();
        group.iter().for_each(|&core| *count.entry(place(core)).or_default() += 1);
        for &core in group {
            let count = count[&place(core)];
            if count > 1 && smallest[core].is_none_or(|(_, least)| count < least) {
                smallest[core] = Some((index, count));
            }
        }
    }
    let mut numbers = BTreeMap::new();
    let number = |core: usize| {
        let next = numbers.len();
        *numbers.entry((smallest[core].map(|(group, _)| group), place(core))).or_insert(next)
    };
    (0..cores.len()).map(number).collect()
}

/// Cores in the order of package, node, cluster and number, without those that have no hardware threads, and without kinds
/// and caches that have no cores, nor hardware threads of some; clusters are numbered anew in that order.
pub(super) fn in_order(
    cores: Vec<Core>,
    mut kinds: Vec<CoreSpec>,
    mut caches: Vec<Cache>,
) -> (Vec<Core>, Vec<CoreSpec>, Vec<Cache>) {
    let mut first_of: BTreeMap<usize, usize> = BTreeMap::new();
    for core in cores.iter().filter(|core| !core.threads.is_empty()) {
        let first = first_of.entry(core.cluster).or_insert(core.threads[0]);
        *first = core.threads[0].min(*first);
    }
    let mut order: Vec<usize> = (0..cores.len()).filter(|&index| !cores[index].threads.is_empty()).collect();
    order.sort_by_key(|&index| {
        let core = &cores[index];
        (core.package, core.node, first_of[&core.cluster], core.threads[0])
    });

    let mut new_position = vec![None; cores.len()];
    order.iter().enumerate().for_each(|(new, &old)| new_position[old] = Some(new));
    for cache in &mut caches {
        cache.cores = cache.cores.iter().filter_map(|&core| new_position[core]).collect();
        cache.cores.sort_unstable();
    }
    caches.retain(|cache| !cache.cores.is_empty());
    caches.sort_by_key(|cache| (cache.level, cache.holds, cache.cores[0]));

    let mut used = vec![false; kinds.len()];
    order.iter().for_each(|&index| used[cores[index].kind] = true);
    let divides =
        |kind: &CoreSpec| kinds.iter().position(|whole| kind.smt.as_ref().is_some_and(|smt| smt.of == whole.name));
    for (kind, whole) in kinds.iter().enumerate().filter_map(|(kind, spec)| Some((kind, divides(spec)?))) {
        used[kind] = used[whole];
    }
    let new_kind = |old: usize| used[..old].iter().filter(|&&used| used).count();
    let mut clusters: Vec<usize> = Vec::new();
    let cores = order.iter().map(|&index| {
        let core = &cores[index];
        if clusters.last() != Some(&core.cluster) {
            clusters.push(core.cluster);
        }
        Core { kind: new_kind(core.kind), cluster: clusters.len() - 1, ..core.clone() }
    });
    let cores = cores.collect();
    let mut is_used = used.iter();
    kinds.retain(|_| *is_used.next().expect("one for each kind"));
    (cores, kinds, caches)
}
