//! All numbers of cores that reach a period, and the schedules that use them.

use std::fmt;

use super::instance::{MAX_KINDS, VALUE};
use super::search::{MAX_KEPT, Refused, Search};
use super::table::{CoresAndStages, Table, Value};
use super::{Exact, too_few_cores};
use crate::error::Error;
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::{FrontPoint, Stage};
use crate::strategy::given_cores;

/// The shortest period of a chain, or a requested one, with all core counts that reach it: the front.
///
/// A point of the front is a number of cores of each kind on which some schedule has no longer period, while one core
/// less of any kind would not do. Points are ordered by the cores of the first kind, then of the second, and so on:
/// the first point is HeRAD's choice.
///
/// ```
/// use bief_schedule::strategy::Exact;
/// use bief_schedule::{Period, Platform, Profile, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [TaskProfile::sequential("receive", [30, 60]), TaskProfile::replicable("decode", [60, 120])],
/// )?;
/// let optimum = Exact.optimum(&profile, &Platform::parse_cores("big=4,little=4", &profile)?)?;
/// assert_eq!(optimum.period(), Period::from(30));
/// assert_eq!(optimum.front().collect::<Vec<_>>(), [[1, 4], [2, 2], [3, 0]]);
/// assert_eq!(optimum.fewest_stages()?[2].stages.len(), 2);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub struct Optimum<'a> {
    exact: Exact,
    profile: &'a Profile,
    search: Search<'a>,
    period: Period,
    /// The cores of each kind of the profile, point after point.
    front: Vec<u32>,
}

impl Exact {
    /// The shortest period on the platform, and its front.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`](crate::ErrorKind::Platform) where the platform has cores of a kind that the profile does
    /// not know; [`ErrorKind::Strategy`](crate::ErrorKind::Strategy) where it has cores of more than four kinds, none on which
    /// some task can run, or too few for tasks that run on different kinds; where the chain and the cores are so many
    /// that the tables would not fit in memory, or take more than some ten seconds; and where tasks take so long that the period of
    /// kinds of core that share a stage has no exact fraction of 128-bit numbers.
    pub fn optimum<'a>(&self, profile: &'a Profile, platform: &Platform) -> Result<Optimum<'a>, Error> {
        let mut search = self.search(profile, platform)?;
        // Stages of one kind are found quickly, and have a period that is near, if not the shortest.
        let known = if search.instance.mixes() { search.near_of_one_kind() } else { Ok(None) };
        match known.and_then(|known| search.run(known)).map_err(|refused| self.refused(refused, profile))? {
            Some(period) => Ok(Optimum::new(*self, profile, search, period)),
            None => Err(too_few_cores(profile, &profile.tasks()[search.table.ends() - 1])),
        }
    }

    /// The front for a period that is asked for, in which schedules may be faster than it; `None` where no schedule on
    /// the platform is as fast.
    ///
    /// # Errors
    ///
    /// Those of [`optimum`](Self::optimum).
    pub fn within<'a>(
        &self,
        profile: &'a Profile,
        platform: &Platform,
        period: Period,
    ) -> Result<Option<Optimum<'a>>, Error> {
        let mut search = self.search(profile, platform)?;
        let fits = search.fits(period).map_err(|refused| self.refused(refused, profile))?;
        Ok(fits.then(|| Optimum::new(*self, profile, search, period)))
    }

    fn search<'a>(&self, profile: &'a Profile, platform: &Platform) -> Result<Search<'a>, Error> {
        Ok(Search::new(profile, &given_cores(self, profile, platform)?, self.stages))
    }
}

impl<'a> Optimum<'a> {
    fn new(exact: Exact, profile: &'a Profile, search: Search<'a>, period: Period) -> Self {
        let instance = &search.instance;
        let mut axes: Vec<_> = instance.kinds().iter().map(|kind| (kind.position, kind.axis)).collect();
        axes.sort_unstable();
        let mut points = front_of(&search);
        points.sort_unstable_by_key(|point| {
            let mut key = [0; MAX_KINDS];
            key.iter_mut().zip(&axes).for_each(|(key, &(_, axis))| *key = point[axis]);
            key
        });
        let kinds = profile.kinds().len();
        let mut front = vec![0; points.len() * kinds];
        points.iter().zip(front.chunks_mut(kinds)).for_each(|(&point, counts)| instance.count(point, counts));
        Self { exact, profile, search, period, front }
    }

    /// The shortest period, or the one that was asked for.
    pub fn period(&self) -> Period {
        self.period
    }

    /// The points of the front: the cores of each kind, in the order of the profile's kinds.
    pub fn front(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.front.chunks(self.profile.kinds().len())
    }

    /// How many periods were tried to find this one.
    pub fn tried(&self) -> u32 {
        self.search.tried
    }

    /// The stages of a schedule that uses the cores of a point of the front.
    ///
    /// # Panics
    ///
    /// Where the front has no such point.
    pub fn stages(&self, point: usize) -> Vec<Stage> {
        let cores = self.axes(self.front().nth(point).expect("the front has no such point"));
        self.named(&self.search.table, cores)
    }

    /// For every point of the front, a schedule that has as few stages as any that uses its cores.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Strategy`](crate::ErrorKind::Strategy) where the table would not fit in memory.
    pub fn fewest_stages(&self) -> Result<Vec<FrontPoint>, Error> {
        // More cores may save stages, so boxes are not cut off where more cores save no cores; but no more are of use
        // than the front has.
        let mut extent = [1; VALUE];
        for point in self.front() {
            let cores = self.axes(point);
            for axis in 0..VALUE {
                extent[axis] = extent[axis].max(cores[axis] + 1);
            }
        }
        let Search { instance, candidates, .. } = &self.search;
        let values = Table::<CoresAndStages>::size(extent).saturating_mul(instance.tasks());
        if values > MAX_KEPT / 2 {
            return Err(self.exact.refused(Refused::TooLarge, self.profile));
        }
        let mut table = Table::<CoresAndStages>::default();
        table.begin(instance.tasks(), extent);
        for to in 1..=instance.tasks() {
            table.push(extent, candidates.ending_at(to));
        }
        Ok(self.front().map(|counts| FrontPoint::new(self.named(&table, self.axes(counts)))).collect())
    }

    /// The cores along each axis.
    fn axes(&self, counts: &[u32]) -> [usize; VALUE] {
        let mut axes = [0; VALUE];
        for kind in self.search.instance.kinds() {
            if kind.axis < VALUE {
                axes[kind.axis] = counts[kind.position] as usize;
            }
        }
        axes
    }

    fn named<V: Value>(&self, table: &Table<V>, cores: [usize; VALUE]) -> Vec<Stage> {
        let Search { instance, candidates, .. } = &self.search;
        let backwards = table.stages_backwards(cores, |to| candidates.ending_at(to));
        let mut stages = Vec::with_capacity(instance.tasks().min(instance.cores().iter().sum()));
        stages.extend(backwards.map(|(to, stage)| instance.stage(self.profile, to, stage)));
        stages.reverse();
        stages
    }
}

impl fmt::Debug for Optimum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front: Vec<_> = self.front().collect();
        f.debug_struct("Optimum").field("period", &self.period).field("front", &front).finish()
    }
}

/// The cores along each axis that the whole chain needs in the period tried last, where one less along any would not do.
fn front_of(search: &Search) -> Vec<[usize; MAX_KINDS]> {
    let Search { table, instance, .. } = search;
    let all = instance.tasks();
    let cores = instance.cores();
    let extent: [usize; VALUE] = std::array::from_fn(|axis| table.last_extent()[axis].min(cores[axis] + 1));
    let mut front = Vec::new();
    for i in 0..extent[0] {
        for j in 0..extent[1] {
            for k in 0..extent[2] {
                let value = table.get(all, [i, j, k]);
                let least = value as usize <= cores[VALUE]
                    && (i == 0 || table.get(all, [i - 1, j, k]) > value)
                    && (j == 0 || table.get(all, [i, j - 1, k]) > value)
                    && (k == 0 || table.get(all, [i, j, k - 1]) > value);
                if least {
                    front.push([i, j, k, value as usize]);
                }
            }
        }
    }
    front
}
