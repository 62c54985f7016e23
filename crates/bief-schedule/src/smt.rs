//! Hardware threads of cores (SMT) as places of their own: each core works whole, or on its threads.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::platform::{CoreKind, Platform, refused};

/// The most threads of a core that any processor has.
const MOST_THREADS: u32 = 8;

/// The most numbers of whole and of divided cores that are tried, each with a schedule of its own.
const MOST_CHOICES: usize = 512;

/// What the cores of a kind are, if they are hardware threads of the cores of another kind.
///
/// A core works whole, at the times that a profile tells of its own kind, or on all of its threads at once, each at the times of the
/// kind that has this, which were measured while its siblings worked. [`BusyPlan`](crate::BusyPlan) chooses how many cores do
/// which.
///
/// ```
/// use bief_schedule::strategy::Exact;
/// use bief_schedule::{BusyPlan, Goal, Period, Platform, Profile, Stage, TaskProfile};
///
/// let platform = Platform::from_json(
///     r#"{"format": 1, "kinds": [
///         {"name": "cpu", "cores": 2},
///         {"name": "thread", "cores": 4, "smt": {"of": "cpu", "threads": 2}}
///     ]}"#,
/// )?;
/// let tasks = [TaskProfile::sequential("read", [300, 450]), TaskProfile::replicable("decode", [600, 900])];
/// let profile = Profile::new(["cpu", "thread"], tasks)?;
/// let plan = BusyPlan::find(&Exact, &profile, &platform, &Goal::default())?;
/// // On whole cores it is 600.
/// assert_eq!(plan.schedule.planned_period(), Period::from(450));
/// assert_eq!(plan.schedule.cores()["thread"], 3);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smt {
    /// The kind whose cores have these threads.
    pub of: String,
    /// How many each of these cores has, at least 2.
    pub threads: u32,
}

/// Checks that kinds of hardware threads are those of other kinds that are there.
pub(crate) fn check(kinds: &[CoreKind]) -> Result<(), Error> {
    let mut divided = HashSet::new();
    for (index, kind) in kinds.iter().enumerate() {
        let Some(Smt { of, threads }) = &kind.smt else { continue };
        let refused = |key: &str, reason: String| Err(refused(&format!("kinds[{index}].smt{key}"), reason));
        if !(2..=MOST_THREADS).contains(threads) {
            return refused(".threads", format!("{threads} threads of a core: write from 2 to {MOST_THREADS}"));
        }
        let Some(core) = kinds.iter().find(|core| core.name == *of && core.smt.is_none()) else {
            return refused(
                ".of",
                format!("there is no kind of whole cores `{of}`: name the one that has these threads"),
            );
        };
        if !divided.insert(of) {
            return refused(".of", format!("`{of}` has hardware threads of another kind, too: name it once"));
        }
        if core.cores == 0 && kind.cores > 0 {
            return refused(
                "",
                format!("they are of `{of}`, which has 0 cores: write how many cores have these threads"),
            );
        }
        if let Some(known) = [core, kind].into_iter().find(|kind| kind.saturation.is_some() || !kind.clocks.is_empty())
        {
            let reason = format!(
                "`{}` has \"saturation\" or \"clocks\", which whole cores and hardware threads would share: leave them out",
                known.name
            );
            return refused("", reason);
        }
    }
    Ok(())
}

/// A kind whose cores may be divided, and the kind of their threads, by their positions.
struct Divided {
    whole: usize,
    threads: usize,
    per_core: u32,
}

fn divided(platform: &Platform) -> impl Iterator<Item = Divided> {
    let kinds = platform.kinds();
    let of = |(threads, kind): (usize, &CoreKind)| {
        let smt = kind.smt.as_ref().filter(|_| kind.cores > 0)?;
        let whole = kinds.iter().position(|core| core.name == smt.of)?;
        Some(Divided { whole, threads, per_core: smt.threads })
    };
    kinds.iter().enumerate().filter_map(of)
}

/// Whether cores may work both whole and on their threads, so that what a strategy takes for two kinds are the same cores.
pub(crate) fn is_open(platform: &Platform) -> bool {
    divided(platform).any(|kind| platform.kinds()[kind.whole].cores > 0)
}

/// The platform with each number of whole and of divided cores, as plain kinds; all cores whole first. Where fewer cores are better, not
/// only those numbers are there that use all cores.
pub(crate) fn splits(platform: &Platform, are_fewer_better: bool) -> Result<Vec<Cow<'_, Platform>>, Error> {
    check(platform.kinds())?;
    let all: Vec<Divided> = divided(platform).collect();
    if all.is_empty() {
        return Ok(vec![Cow::Borrowed(platform)]);
    }
    // For each kind, how many cores are whole, and how many work on their threads.
    let of_kind = |kind: &Divided, which: Which| {
        let (cores, places) = (platform.kinds()[kind.whole].cores, platform.kinds()[kind.threads].cores);
        let most = cores.min(places.div_ceil(kind.per_core));
        let mut numbers: Vec<(u32, u32)> = match which {
            Which::Any => {
                (0..=most).flat_map(|split| (0..=cores - split).rev().map(move |whole| (whole, split))).collect()
            }
            Which::All => (0..=most).map(|split| (cores - split, split)).collect(),
            Which::Ends => vec![(cores, 0), (cores - most, most)],
        };
        numbers.dedup();
        numbers
    };
    let numbers = |which: Which| all.iter().map(|kind| of_kind(kind, which)).collect::<Vec<_>>();
    let count = |numbers: &Vec<Vec<(u32, u32)>>| numbers.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    let tried = [Which::Any, Which::All].into_iter().skip(usize::from(!are_fewer_better)).map(numbers);
    let tried = tried.into_iter().find(|numbers| count(numbers) <= MOST_CHOICES);
    let numbers = tried.unwrap_or_else(|| numbers(Which::Ends));
    let with = |mut choice: usize| {
        let mut kinds = platform.kinds().to_vec();
        for (kind, numbers) in all.iter().zip(&numbers) {
            let (whole, split) = numbers[choice % numbers.len()];
            choice /= numbers.len();
            kinds[kind.whole].cores = whole;
            kinds[kind.threads].cores = kinds[kind.threads].cores.min(split * kind.per_core);
        }
        kinds.iter_mut().for_each(|kind| kind.smt = None);
        // Where no core is left there is nothing to plan for.
        platform.with_kinds(kinds).ok().map(Cow::Owned)
    };
    Ok((0..count(&numbers)).filter_map(with).collect())
}

/// Which numbers of whole and of divided cores are tried.
#[derive(Clone, Copy)]
enum Which {
    /// All there are.
    Any,
    /// Those that use all cores.
    All,
    /// All cores whole, or all divided.
    Ends,
}

/// The cores that are in use of each of these kinds, where `used` counts places: those on hardware threads are told as the cores that
/// they take.
pub(crate) fn cores_taken(platform: &Platform, kinds: &[String], mut used: Vec<u32>) -> Vec<u32> {
    let position = |kind: usize| kinds.iter().position(|name| *name == platform.kinds()[kind].name);
    for kind in divided(platform) {
        if let (Some(whole), Some(threads)) = (position(kind.whole), position(kind.threads)) {
            used[whole] += std::mem::take(&mut used[threads]).div_ceil(kind.per_core);
        }
    }
    used
}
