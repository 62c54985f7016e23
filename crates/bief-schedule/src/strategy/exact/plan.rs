//! The schedule for a goal.

mod saturation;

use std::cell::Cell;

use super::candidates::Mix;
use super::cost::{Costed, Costs, Prices};
use super::instance::{Instance, fraction};
use super::search::Refused;
use super::{Exact, Optimum};
use crate::error::{Error, ErrorKind};
use crate::goal::{Aim, Goal};
use crate::period::Period;
use crate::platform::Platform;
use crate::power::Power;
use crate::profile::{Profile, counted};
use crate::schedule::{FrontPoint, Schedule, Stage};
use crate::strategy::work::less;
use crate::strategy::{Strategy, given_cores};
use saturation::Saturating;

/// The most schedules of first tasks that are tried for a goal: some ten seconds.
const MAX_STEPS: u64 = 1 << 30;

/// The schedule that serves a goal best: [`Exact`](struct@Exact)'s [`plan`](Strategy::plan).
pub(super) fn plan(exact: Exact, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
    let longest = goal.longest_period(profile)?;
    let pace = longest.filter(|_| goal.aim != Aim::MaxThroughput);
    let (stages, front) = if goal.aim == Aim::LeastPower || goal.power.is_some() || goal.latency.is_some() {
        Planner::new(exact, profile, platform, goal, longest)?.plan(pace)?
    } else {
        let front = front_for(exact, profile, platform, goal, longest)?.fewest_stages()?;
        let best = front.iter().min_by_key(|point| rank(goal.aim, &counts(point, profile), point.stages.len()));
        (best.expect("a front has a point").stages.clone(), front)
    };
    let schedule = Schedule::new(exact.name(), stages, profile)?.with_front(front)?;
    match Power::paced(&schedule, profile, platform, pace.unwrap_or(schedule.planned_period()))? {
        Some(power) => schedule.with_watts(power.watts),
        None => Ok(schedule),
    }
}

/// The front of the shortest period, or of the one that is demanded.
fn front_for<'a>(
    exact: Exact,
    profile: &'a Profile,
    platform: &Platform,
    goal: &Goal,
    longest: Option<Period>,
) -> Result<Optimum<'a>, Error> {
    if let (Some(longest), false) = (longest, goal.aim == Aim::MaxThroughput)
        && let Some(front) = exact.within(profile, platform, longest)?
    {
        return Ok(front);
    }
    let optimum = exact.optimum(profile, platform)?;
    check_period(goal, longest, optimum.period())?;
    Ok(optimum)
}

/// The kind that saturates, if there is one among those of the instance, whose first busy cores draw so many `watts`.
fn saturating(
    profile: &Profile,
    platform: &Platform,
    goal: &Goal,
    instance: &Instance,
    watts: Vec<f64>,
) -> Result<Option<Saturating>, Error> {
    let of_instance = instance.kinds().iter().map(|kind| platform.kind(&profile.kinds()[kind.position]));
    let kinds: Vec<_> = of_instance
        .enumerate()
        .filter_map(|(at, kind)| Some((at, kind.filter(|kind| kind.saturation.is_some())?)))
        .collect();
    let [(position, kind), others @ ..] = &kinds[..] else { return Ok(None) };
    if goal.power.is_some() {
        let reason = format!(
            "the power of kind `{}` saturates, and schedules can then not be searched by the power that they draw: demand no \
             power, and compare the watts of the plan, or leave \"saturation\" out of the platform file",
            kind.name
        );
        return Err(unmet(goal, reason));
    }
    if let [(_, other), ..] = others {
        let reason = format!(
            "the power of the kinds `{}` and `{}` saturates, and the least power is only found where one kind's does: leave \
             \"saturation\" out of the platform file for one, or give cores of one of them",
            kind.name, other.name
        );
        return Err(unmet(goal, reason));
    }
    Ok(Some(Saturating { kind: (*kind).clone(), watts, position: *position }))
}

fn counts(point: &FrontPoint, profile: &Profile) -> Vec<u32> {
    profile.kinds().iter().map(|kind| point.cores.get(kind).copied().unwrap_or(0)).collect()
}

/// What comes first is better; `cores` in the order of the profile's kinds.
fn rank(aim: Aim, cores: &[u32], stages: usize) -> impl Ord + use<> {
    let first = match aim {
        Aim::MaxThroughput => stages,
        Aim::FewestCores => cores.iter().map(|&cores| cores as usize).sum(),
        Aim::FewestBig | Aim::LeastPower => 0,
    };
    (first, cores.to_vec(), stages)
}

fn check_period(goal: &Goal, longest: Option<Period>, shortest: Period) -> Result<(), Error> {
    match longest {
        Some(longest) if longest < shortest => {
            let longest = shown(longest);
            let shortest = shown(shortest);
            let reason = format!(
                "a period of {longest} is demanded, the shortest period on these cores is {shortest}: allow that, or give \
                 more cores"
            );
            Err(unmet(goal, reason))
        }
        _ => Ok(()),
    }
}

fn unmet(goal: &Goal, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Goal, format!("goal `{goal}`"), reason)
}

/// A period for a reader, in the unit that leaves few digits; never shorter than it is, so that it can be demanded.
fn shown(period: Period) -> String {
    let (unit, ns) = match period.ns() {
        ns if ns < 1e4 => ("ns", 1.0),
        ns if ns < 1e7 => ("us", 1e3),
        _ => ("ms", 1e6),
    };
    format!("{} {unit}", (period.ns() / ns * 1e3).ceil() / 1e3)
}

/// A goal for which stages are not only counted but have a price.
struct Planner<'a> {
    exact: Exact,
    profile: &'a Profile,
    goal: &'a Goal,
    instance: Instance<'a>,
    prices: Prices,
    /// The kind that saturates, where the least power is sought.
    saturating: Option<Saturating>,
    /// The longest period that is demanded.
    longest: Option<Period>,
    /// The shortest period on the cores, whatever the price.
    shortest: Period,
    /// What the machine draws when idle, in watts.
    idle: f64,
    /// What the cores may draw above idle, in microwatts.
    budget: Option<u64>,
    /// How long the oldest frame of an execution waits for the others, at the pace that is demanded.
    filling_ns: u64,
    /// How many schedules of first tasks may still be tried.
    steps: Cell<u64>,
}

/// The stages of the best schedule, and the front.
type Planned = (Vec<Stage>, Vec<FrontPoint>);

impl<'a> Planner<'a> {
    fn new(
        exact: Exact,
        profile: &'a Profile,
        platform: &Platform,
        goal: &'a Goal,
        longest: Option<Period>,
    ) -> Result<Self, Error> {
        let shortest = exact.optimum(profile, platform)?.period();
        check_period(goal, longest, shortest)?;
        let instance = Instance::new(profile, &given_cores(&exact, profile, platform)?, exact.stages);
        let energy = goal.aim == Aim::LeastPower || goal.power.is_some();
        let watts = instance.kinds().iter().map(|kind| {
            let name = &profile.kinds()[kind.position];
            match platform.watts(name) {
                _ if !energy => Ok(0.0),
                Some(watts) => Ok(watts),
                None => {
                    let reason = format!(
                        "the platform does not say what a busy core of kind `{name}` draws: add \"watts\" to the kind, in a \
                         platform file"
                    );
                    Err(unmet(goal, reason))
                }
            }
        });
        let watts = watts.collect::<Result<Vec<_>, _>>()?;
        let of_kinds = watts.iter().map(|watts| (watts * 1e6).round() as u64).collect();
        let saturating = if energy { saturating(profile, platform, goal, &instance, watts)? } else { None };
        let idle = platform.idle_watts().unwrap_or(0.0);
        let budget = match goal.power {
            Some(power) if power < idle => {
                let reason = format!("the machine draws {idle} W when idle: allow more than that");
                return Err(unmet(goal, reason));
            }
            // Rounded down, but for what the difference of two decimal numbers is off.
            power => power.map(|power| ((power - idle) * 1e6 + 1e-3) as u64),
        };
        // As fast as it can, a pipeline has no pace.
        let pace = longest.filter(|_| goal.aim != Aim::MaxThroughput);
        let filling_ns = pace.map_or(0, |pace| profile.filling_ns(pace));
        let prices = Prices {
            of_kinds,
            latency: goal.latency.is_some(),
            // Works are whole: so is the latency.
            latency_at_most: goal.latency.map_or(u64::MAX, |latency| latency.whole().saturating_sub(filling_ns)),
            pace,
            energy_at_most: u128::MAX,
            full: false,
        };
        let steps = Cell::new(MAX_STEPS);
        Ok(Self {
            exact,
            profile,
            goal,
            instance,
            prices,
            saturating,
            longest,
            shortest,
            idle,
            budget,
            filling_ns,
            steps,
        })
    }

    /// The best schedule that runs with the period `pace`, or as fast as it can.
    fn plan(mut self, pace: Option<Period>) -> Result<Planned, Error> {
        if let Some(pace) = pace {
            return self.best_within(pace)?.ok_or_else(|| self.too_dear(pace));
        }
        // A pipeline that runs as fast as it can draws what its own period makes it draw: only schedules count of which a
        // stage takes the whole period. They have no shorter period than those that may be slowed down.
        let mut period = self.shortest_period()?;
        self.prices.full = self.budget.is_some();
        loop {
            if let Some(planned) = self.best_within(period)? {
                return Ok(planned);
            }
            period = self.next_period(period)?.ok_or_else(|| self.too_fast())?;
            self.check_found(period)?;
        }
    }

    /// The best of the schedules that fit in the period and, if they run with it, meet the demands.
    fn best_within(&self, period: Period) -> Result<Option<Planned>, Error> {
        match &self.saturating {
            Some(saturating) => self.least_power(saturating, period),
            None => Ok(self.best(&self.costs(period)?)),
        }
    }

    /// The schedules that fit in the period and, if they run with it, meet the demands, but for the full stage.
    fn costs(&self, period: Period) -> Result<Costs, Error> {
        let energy_at_most = self.budget.map_or(u128::MAX, |budget| period.times(budget).0);
        self.costs_of(period, &Prices { energy_at_most, ..self.prices.clone() })
    }

    fn costs_of(&self, period: Period, prices: &Prices) -> Result<Costs, Error> {
        Costs::new(&self.instance, period, prices, &self.steps).map_err(|refused| self.refused(refused))
    }

    fn refused(&self, refused: Refused) -> Error {
        if refused == Refused::TooLong {
            return self.exact.refused(refused, self.profile);
        }
        let power = self.prices.of_kinds.iter().any(|&price| price > 0);
        let both = if self.prices.latency && power { ", for power and latency together," } else { "" };
        let reason = format!(
            "{}{both} can be scheduled on these cores in too many ways to try: give fewer cores, {}or ask for less",
            counted(self.profile.tasks().len(), "task"),
            if self.instance.mixes() { "take stages of one kind (`exact:one-kind`, --stages one-kind), " } else { "" }
        );
        unmet(self.goal, reason)
    }

    /// The shortest period of a schedule that meets the demands if it is run with that period.
    fn shortest_period(&self) -> Result<Period, Error> {
        let meets = |period| Ok::<_, Error>(self.costs(period)?.schedules().next().is_some());
        if meets(self.shortest)? {
            return Ok(self.shortest);
        }
        // In the longest period of all, everything fits: what is not met there is met nowhere.
        let mut high = Period::from(self.instance.max_work_ns()).max(self.shortest);
        if !meets(high)? {
            return Err(self.too_fast());
        }
        let mut low = self.shortest;
        loop {
            // What meets the demands in a period meets them in any longer one; and a schedule has one of these periods.
            let next = self.next_period(low)?.unwrap_or(high);
            if next >= high {
                self.check_found(next)?;
                return Ok(next);
            }
            // Where no short fraction lies between the two, one that a schedule has does.
            let middle = match Period::between(low, high, 16) {
                between if between > low => between,
                _ => next,
            };
            if meets(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
    }

    /// Checks a period, below which nothing meets the demands, against the longest that is demanded.
    fn check_found(&self, period: Period) -> Result<(), Error> {
        match self.longest {
            Some(longest) if longest < period => {
                let period = shown(period);
                let reason = format!(
                    "no schedule with a period below {period} meets the other demands: allow that or a longer period, or \
                     demand less"
                );
                Err(unmet(self.goal, reason))
            }
            _ => Ok(()),
        }
    }

    /// The best of the schedules that meet the demands; and for each Pareto-least number of cores one of those.
    fn best(&self, costs: &Costs) -> Option<Planned> {
        let meeting = costs.schedules().filter(|(_, costed)| costed.full || !self.prices.full);
        let mut meeting: Vec<(Vec<u32>, &Costed)> =
            meeting.map(|(used, costed)| (self.instance.counts(self.profile, used), costed)).collect();
        let (_, best) = meeting.iter().min_by_key(|(cores, costed)| {
            let power = if self.goal.aim == Aim::LeastPower { (costed.energy, costed.stages) } else { (0, 0) };
            (power, rank(self.goal.aim, cores, costed.stages as usize))
        })?;
        let best = self.stages(costs, best);
        meeting.sort_by(|(a, cost_a), (b, cost_b)| a.cmp(b).then(cost_a.stages.cmp(&cost_b.stages)));
        let mut front: Vec<(Vec<u32>, &Costed)> = Vec::new();
        for (cores, costed) in meeting {
            let as_few = |point: &[u32]| point.iter().zip(&cores).all(|(point, cores)| point <= cores);
            if !front.iter().any(|(point, _)| as_few(point)) {
                front.push((cores, costed));
            }
        }
        let front = front.into_iter().map(|(_, costed)| FrontPoint::new(self.stages(costs, costed)));
        Some((best, front.collect()))
    }

    fn stages(&self, costs: &Costs, schedule: &Costed) -> Vec<Stage> {
        let stages = costs.stages(schedule).into_iter();
        stages.map(|(to, stage)| self.instance.stage(self.profile, to, stage)).collect()
    }

    /// The least period longer than this one that any stage can have.
    fn next_period(&self, period: Period) -> Result<Option<Period>, Error> {
        if self.instance.mixes() {
            let mut mix = Mix::default();
            let next = mix.next_of_chain(&self.instance, period).map_err(|refused| self.refused(refused))?;
            self.steps.set(self.steps.get().checked_sub(mix.entries).ok_or_else(|| self.refused(Refused::TooLarge))?);
            return Ok(next);
        }
        let tasks = self.instance.tasks() as u64;
        let stages = self.instance.kinds().len() as u64 * tasks * (tasks + 1) / 2;
        self.steps.set(self.steps.get().checked_sub(stages).ok_or_else(|| self.refused(Refused::TooLarge))?);
        let mut next = None;
        for kind in self.instance.kinds() {
            for to in 1..=self.instance.tasks() {
                for from in kind.work.runnable_from(to)..to {
                    let work_ns = kind.work.ns(from, to);
                    if work_ns == 0 {
                        continue;
                    }
                    let most = if from < self.instance.run_start(to) { 1 } else { kind.cores };
                    // The most cores on which the stage still takes longer than the period.
                    let enough = period.goes_into(work_ns).map(|(whole, more)| whole.saturating_add(more.into()));
                    let cores = enough.map_or(most as u128, |enough| enough - 1);
                    let here = (work_ns, cores.min(most as u128) as usize);
                    if here.1 > 0 && next.is_none_or(|next| less(here, next)) {
                        next = Some(here);
                    }
                }
            }
        }
        Ok(next.map(fraction))
    }

    /// Why no schedule that is run with the period meets the demands.
    fn too_dear(&self, period: Period) -> Error {
        self.late(period).unwrap_or_else(|| {
            let least = self.costs_of(period, &self.prices).map(|costs| {
                let least = costs.schedules().map(|(_, costed)| costed.energy).min().unwrap_or(0);
                let microwatts = match u64::try_from(least) {
                    Ok(least) => period.goes_into(least).map(|(whole, more)| whole.saturating_add(more.into())),
                    // The period is so long that its whole nanoseconds tell enough.
                    Err(_) => Some(least.div_ceil(period.whole().max(1).into())),
                };
                u64::try_from(microwatts.unwrap_or(0)).unwrap_or(u64::MAX)
            });
            match least {
                Err(error) => error,
                Ok(least) => {
                    let watts = self.shown_power(least);
                    let reason = format!(
                        "the least power that meets the other demands is {watts} W: allow that, or a longer period or latency"
                    );
                    unmet(self.goal, reason)
                }
            }
        })
    }

    /// Why no schedule that runs as fast as it can meets the demands.
    fn too_fast(&self) -> Error {
        let longest = Period::from(self.instance.max_work_ns()).max(self.shortest);
        self.late(longest).unwrap_or_else(|| {
            let least = self.prices.of_kinds.iter().copied().min().unwrap_or(0);
            if self.budget.is_some_and(|budget| budget < least) {
                let watts = self.shown_power(least);
                let reason = format!("a pipeline that runs as fast as it can keeps a core busy, which draws {watts} W: allow that");
                return unmet(self.goal, reason);
            }
            unmet(
                self.goal,
                "no pipeline that runs as fast as it can draws so little within that latency: allow more of either, or demand \
                 a period, with another aim than max-throughput, for it to run with",
            )
        })
    }

    /// Whether the latency that is demanded is too short for every schedule that fits in the period.
    fn late(&self, period: Period) -> Option<Error> {
        let prices = Prices {
            of_kinds: vec![0; self.prices.of_kinds.len()],
            latency_at_most: u64::MAX,
            full: false,
            ..self.prices.clone()
        };
        let costs = match self.costs_of(period, &prices) {
            Ok(costs) => costs,
            Err(error) => return Some(error),
        };
        let min_ns = costs.schedules().map(|(_, costed)| costed.latency_ns).min()?;
        (min_ns > self.prices.latency_at_most).then(|| {
            let least = shown(Period::from(min_ns.saturating_add(self.filling_ns)));
            unmet(self.goal, format!("the least latency is {least}: allow that, or a longer period if one is demanded"))
        })
    }

    /// The power of the machine in watts, when its cores draw so many microwatts above idle: no less than it is, so that it
    /// can be demanded.
    fn shown_power(&self, above_idle: u64) -> f64 {
        let idle = (self.idle * 1e6).ceil() as u64;
        idle.saturating_add(above_idle).div_ceil(1000) as f64 / 1e3
    }
}
