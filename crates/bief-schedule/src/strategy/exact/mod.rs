//! The shortest period on cores of up to four kinds, and every number of cores that reaches it; why it is right is told at
//! [`Exact`](struct@Exact).

mod candidates;
mod cost;
mod gather;
mod instance;
mod optimum;
mod plan;
mod search;
mod table;

pub use optimum::Optimum;

use self::search::Refused;
use super::{Capabilities, Strategy};
use crate::error::{Error, ErrorKind};
use crate::goal::{Aim, Goal};
use crate::period::Period;
use crate::platform::Platform;
use crate::profile::{Profile, TaskProfile, counted};
use crate::schedule::Schedule;

/// The kinds of core that a stage may have, whose tasks may all be replicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StageKinds {
    /// Any of them together: each frame goes to the core that is free.
    #[default]
    Mixed,
    /// One, as in the published strategies.
    One,
}

/// The shortest period on cores of up to four kinds, in exact arithmetic, with every number of cores that reaches it.
///
/// [`schedule`](Strategy::schedule) gives the schedule with the fewest cores of the first kind, then of the second, and so
/// on (HeRAD's choice), which has no more stages than any other on those cores, and the [front](Schedule::front).
/// [`plan`](Strategy::plan) takes a [`Goal`](crate::Goal); [`optimum`](Self::optimum) gives period and front without naming
/// stages, which is the fastest.
///
/// Written alone, as a value, `Exact` lets cores of several kinds share a stage. Stages of one kind each are those of
/// [`Exact::ONE_KIND`](struct@Exact), the strategy `exact:one-kind`.
///
/// # Example
///
/// ```
/// use bief_schedule::strategy::Exact;
/// use bief_schedule::{Period, Platform, Profile, Stage, Strategy, TaskProfile};
///
/// let profile = Profile::new(
///     ["big", "little"],
///     [
///         TaskProfile::sequential("receive", [300, 450]),
///         TaskProfile::replicable("filter", [400, 700]),
///         TaskProfile::replicable("decode", [500, 900]),
///     ],
/// )?;
/// let platform = Platform::parse_cores("big=2,little=3", &profile)?;
/// let schedule = Exact.schedule(&profile, &platform)?;
/// assert_eq!(schedule.stages(), [Stage::new(1, 1, "big"), Stage::mixed(2, [("big", 1), ("little", 3)])]);
/// assert_eq!(Some(schedule.planned_period()), Period::new(14_400, 43)); // 334.9 ns
/// // Where each stage has one kind, it takes longer.
/// let schedule = Exact::ONE_KIND.schedule(&profile, &platform)?;
/// assert_eq!(schedule.planned_period(), Period::from(400));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
///
/// # The problem
///
/// A stage `from..to` on `u` cores of kind `v` fits in a period `P` where its work, hand-over and cuts included, is at most `u P`;
/// `u` is 1 where a task of it may not be replicated (eq. 1). On cores of several kinds, `u_v` of each with the work `W_v`, it fits
/// where Σ `u_v / W_v` is at least `1 / P`: in a time `t` the cores of a kind do `u_v t / W_v` executions. The work on a kind on which one of its tasks cannot run is
/// infinite: such a stage fits in no period. A schedule is a cut of the chain into stages that fit, on
/// no more cores of a kind than there are (eq. 3). Works are whole nanoseconds and periods exact fractions, so every
/// comparison is exact.
///
/// # Why the answer is right
///
/// 1. *Taking the last task away costs nothing.* A schedule of the first `to` tasks is one of the first `to - 1` on the
///    same cores or fewer: the last stage gets shorter, or goes. Its work never grows by that, finite or infinite.
/// 2. *Longest stages suffice.* Of the stages that end at `to` on `u` cores of kind `v`, those that fit are the shorter ones,
///    up to some length, as work grows with the tasks: a task that cannot run on `v` ends them, as one does that may not be
///    replicated where `u` is more than 1. The longest one that fits leaves the fewest tasks before it, and by (1) those need
///    no more cores. A stage on more cores is of use only if it is longer than the one on fewer. These are the candidates of
///    an end.
/// 3. *Fewest of the last kind.* Let `F(to, x)` be the fewest cores of the last kind for the first `to` tasks on at most
///    `x` cores of each other kind. The last stage is one of the candidates, and what is before it must itself need as few
///    cores of the last kind as possible for what is left of the others: `F(to, x)` is the least, over the candidates, of
///    `F(from, x - u)` for a kind of `x`, and of `F(from, x) + u` for the last kind. The chain fits in `P` if
///    and only if `F(n, all)` is no more than there are cores of the last kind.
/// 4. *All numbers of cores at once.* `F(n, ·)` says for each number of cores of the other kinds how many of the last are
///    needed: where one less of any kind changes it, it is a point of the front. No other numbers of cores are Pareto-least.
/// 5. *Fewest stages.* For the pair of cores of the last kind and stages, in lexicographic order, (1) to (3) hold as they do
///    for the cores: what is before the last stage of a schedule with the fewest cores of the last kind has itself the
///    fewest, and among those the fewest stages. Here more cores along an axis may save stages where they save no cores, so
///    boxes go as far as the front does.
/// 6. *The search misses nothing.* The candidates depend on `P` only through comparisons of works with `u P`. The least
///    `work / u` above `P` of a candidate made one task longer is the next period at which anything can change: if `P` does
///    not fit, no shorter period than that does. If `P` fits, the schedule found has a period of its own, at most `P`. So the
///    bounds close on a period that some schedule has, and none has a shorter one. No tolerance ends the search. The upper
///    bound is the period of the chain on one core. Where no kind runs all tasks there is none: what does not fit in the
///    longest finite work of a kind fits in no period, and if it fits, the period of the schedule found is the bound.
///
/// # Where kinds share a stage
///
/// The cores of a stage are then a vector `u` with a number for each kind. All of the above holds with vectors for numbers, as it
/// needs no more than that a stage that fits still fits with fewer tasks or with more cores:
///
/// - In (2), of the stages that end at `to` on the cores `u`, those that fit are the shorter ones, as each `W_v` grows with the tasks
///   (or becomes infinite: then `u_v` must be 0). The candidates are the longest ones for each `u`, where one core less of any kind in
///   `u` makes it shorter. For each number of cores of all kinds but the last, the fewest of the last with which a stage fits
///   follow from the sum; of these vectors those are left of which no core can be spared.
/// - In (3), `F(to, x)` is the least of `F(from, x - u) + u_last`, where `x - u` is taken for each kind but the last. (4) and (5) do
///   not ask what candidates look like.
/// - In (6), the candidates depend on `P` through comparisons of 1 / Σ `u_v / W_v` with `P`. The next period is the least of
///   these above `P`, over all stages and all vectors with which they do not fit: of those with the same cores of all kinds but
///   the last, the one with most of the last.
/// - *Bounds.* No stage is shorter than one of its heaviest task on all cores. A stage that gives the share `s_v` of its
///   executions to the kind `v` keeps the cores of the kind busy for `s_v W_v` of them, so the weighed load, in which each
///   task counts where it weighs least, stays a bound. The upper bound is a period that stages of one kind have, no more than one
///   part in 128 longer than their shortest; as it is often the shortest of all, a period just below it is tried first. In which order
///   periods are tried decides how many there are, and nothing else.
///
/// Sums are compared in rounded numbers where these leave no doubt, and else exactly, as fractions of 128-bit numbers. On two kinds
/// these hold whatever can be; on more, times of hours or, on four, of seconds may need longer ones: that is refused.
///
/// # Where cutting costs
///
/// A stage pays for the task that it begins with and for the one that it ends with ([`TaskProfile::enter_ns`]), so one more
/// task may leave it less work: (1) and (2) do not hold. Then the candidates of an end are all stages that fit, each on the
/// fewest cores, of which more are of no use. (3) needs no more than that: the last stage of a schedule is one of them, and
/// what is before it needs as few cores as possible, whether or not fewer tasks need fewer. So do (4) and (5). A run of tasks
/// that needs too many cores may be the beginning of one that does not: no end ends the trial of a period, but no stage of a schedule
/// begins behind such a run, so that stages which do are left out. In (6) the next
/// period is the least `work / u` above `P` of *any* stage, as any may become a candidate. The lower bound counts tasks and one
/// hand-over; cuts only add to that. Shared stages are candidates on every vector of which no core can be spared.
///
/// Boxes of `F` are cut off at the cores that one kind alone would need, where `F` is zero: with many cores the cost does
/// not depend on how many there are.
///
/// # Devices
///
/// A [device](Profile::with_lanes) is a kind like another, whose work is the time from one execution of a stage to the next,
/// [`Profile::pace_ns`], and which shares no stage. That time grows with the tasks as work does, but for what lanes hide of it, and for
/// a stage that loses its lanes as it takes a task that may not be replicated. So the candidates are those of cuts that cost:
/// all that this needs is that the pace is no shorter than that of fewer tasks without hand-over and cuts. Latency counts
/// the whole work of an execution; energy counts the pace, for which the device is busy.
///
/// # What it costs
///
/// Let `T` be the number of candidates of all ends: at most, per task and kind, one more than the lesser of the cores and
/// the neighbouring tasks that may be replicated. A period is tried in `T` times the box (the product of the cores, or of
/// what is needed if that is less, of all kinds but the one with most cores). Where the heaviest sequential task limits the
/// period, one period is tried, else about ten. Memory is the tasks times the box, two bytes each. Where cutting costs, `T` may
/// reach the square of the tasks times the kinds. Where kinds share stages, a stage may have as many candidates as there are numbers of
/// cores of all kinds but one, and about twice as many periods are tried.
///
/// The model, and the optimality of HeRAD for the first point of the front, are those of Idouar et al., *Energy-Aware
/// Scheduling Strategies for Partially-Replicable Task Chains on Heterogeneous Processors*; the algorithm is this project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exact {
    /// The kinds of core that a stage may have.
    pub stages: StageKinds,
}

/// [`Exact`](struct@Exact) as it is by default: cores of several kinds may share a stage.
#[expect(non_upper_case_globals, reason = "it is written as the other strategies are")]
pub const Exact: Exact = Exact { stages: StageKinds::Mixed };

impl Exact {
    /// With stages of one kind each.
    pub const ONE_KIND: Self = Self { stages: StageKinds::One };

    /// Why a search was given up.
    fn refused(&self, refused: Refused, profile: &Profile) -> Error {
        let tasks = counted(profile.tasks().len(), "task");
        let one_kind = match self.stages {
            StageKinds::Mixed => "take stages of one kind (`exact:one-kind`, --stages one-kind), ",
            StageKinds::One => "",
        };
        let reason = match refused {
            Refused::TooLarge => format!(
                "the tables for {tasks} on these cores are too large or take too long: give fewer cores, {one_kind}or take \
                 another strategy"
            ),
            Refused::TooLong => format!(
                "tasks take so long that the period of kinds of core that share a stage has no exact fraction: \
                 {one_kind}or give cores of fewer kinds"
            ),
        };
        Error::new(ErrorKind::Strategy, format!("strategy `{}`", self.name()), reason)
    }
}

impl Strategy for Exact {
    fn name(&self) -> &'static str {
        match self.stages {
            StageKinds::Mixed => "exact",
            StageKinds::One => "exact:one-kind",
        }
    }

    fn summary(&self) -> &'static str {
        match self.stages {
            StageKinds::Mixed => {
                "The shortest period on cores of up to four kinds, and every number of cores that reaches it."
            }
            StageKinds::One => "The same with cores of one kind for each stage.",
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_kinds: instance::MAX_KINDS,
            goals: true,
            absent_times: true,
            cut_costs: true,
            devices: true,
            parameters: &["mixed", "one-kind"],
        }
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        gather::fewest(
            profile,
            platform,
            true,
            |_| Ok(true),
            |profile| {
                let front = self.optimum(profile, platform)?.fewest_stages()?;
                Schedule::new(self.name(), front[0].stages.clone(), profile)?.with_front(front)
            },
        )
    }

    /// The schedule that serves a goal best.
    ///
    /// The schedule carries the [front](Schedule::front): the Pareto-least numbers of cores that serve the goal. Where
    /// neither power nor latency is asked for, each of its points has the fewest stages that its cores allow; else the stages
    /// are only compared among schedules that cost the same. Where the platform knows watts, the schedule
    /// [carries its power](Schedule::watts): at the demanded rate or period where there is one, unless the aim is the
    /// throughput, and else at its own.
    ///
    /// Time and memory for goals with a power or a latency grow with the product of the cores of all kinds, and with the
    /// square of the tasks: milliseconds for a receiver on a processor of today, a fraction of a second for a hundred cores of
    /// two kinds, seconds where the period is sought, too. With power *and* latency they grow with the number of trade-offs
    /// between the two as well, which can be too many for more than some tens of tasks. What takes more than some ten seconds
    /// is refused.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Goal`] where the goal cannot be met, with what can be reached, asks for what profile or platform do
    /// not know, demands a power on a platform with a kind that [saturates](crate::CoreKind::saturation), or the least power
    /// where more than one kind does; else those of [`optimum`](Self::optimum).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::strategy::Exact;
    /// use bief_schedule::{Period, Platform, Profile, Strategy, TaskProfile};
    ///
    /// let profile = Profile::new(
    ///     ["big", "little"],
    ///     [TaskProfile::sequential("receive", [30, 60]), TaskProfile::replicable("decode", [60, 120])],
    /// )?;
    /// let platform = Platform::parse_cores("big=4,little=4", &profile)?;
    /// let slow = Exact.plan(&profile, &platform, &"fewest-big,period=60ns".parse()?)?;
    /// assert!(!slow.cores().contains_key("big"));
    /// let error = Exact.plan(&profile, &platform, &"fewest-big,period=20ns".parse()?).unwrap_err();
    /// assert!(error.to_string().ends_with("the shortest period on these cores is 30 ns: allow that, or give more cores"));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    fn plan(&self, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
        let longest = goal.longest_period(profile)?;
        let by_period = goal.aim == Aim::MaxThroughput || longest.is_none() && goal.aim != Aim::LeastPower;
        // The frames of a launch wait for each other, which the search does not see.
        let serves = |schedule: &Schedule| match goal.latency {
            Some(latency) => Ok(Period::from(schedule.latency_ns(profile)?) <= latency),
            None => Ok(true),
        };
        gather::fewest(profile, platform, by_period, serves, |profile| plan::plan(*self, profile, platform, goal))
    }
}

/// The tasks up to `task` change kinds so often that their stages need more cores than there are.
fn too_few_cores(profile: &Profile, task: &TaskProfile) -> Error {
    let reason = format!(
        "the tasks up to `{}` need more cores, however long the period is: a task that cannot run on the kind of the one \
         before it begins a stage on a core of its own; `{}` runs on {}: give more cores of that kind",
        task.name,
        task.name,
        profile.kinds_of(task)
    );
    Error::new(ErrorKind::Strategy, "strategy `exact`", reason)
}

#[cfg(test)]
mod tests;
