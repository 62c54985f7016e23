//! The schedule for a goal.

use super::cost::{Costed, Costs, Prices};
use super::instance::{Instance, MOST_KINDS, fraction, less};
use super::{Exact, Optimum, too_large};
use crate::error::{Error, ErrorKind};
use crate::goal::{Aim, Goal};
use crate::period::Period;
use crate::platform::Platform;
use crate::power::Power;
use crate::profile::Profile;
use crate::schedule::{FrontPoint, Schedule, Stage};
use crate::strategy::{Strategy, given_cores};

impl Exact {
    /// The schedule that serves a goal best.
    ///
    /// Where the goal is met by counting cores (no power, no latency), the schedule has the fewest stages on its cores and
    /// carries the [front](Schedule::front) of its period. Else the fewest stages are sought only among schedules that
    /// cost the same. Where the platform knows watts, the schedule [carries its power](Schedule::watts): at the demanded
    /// rate or period where there is one, and else at its own.
    ///
    /// Time and memory for goals with a power or a latency grow with the product of the cores of all kinds, and with the
    /// square of the tasks: milliseconds for a receiver on a processor of today, seconds for a hundred cores of two kinds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Goal`] where the goal cannot be met, with what can be reached, or asks for what profile or platform do
    /// not know; else those of [`optimum`](Self::optimum).
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::strategy::Exact;
    /// use bief_schedule::{Period, Platform, Profile, TaskProfile};
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
    pub fn plan(&self, profile: &Profile, platform: &Platform, goal: &Goal) -> Result<Schedule, Error> {
        let longest = goal.longest_period(profile)?;
        let costs = goal.aim == Aim::LeastPower || goal.power.is_some() || goal.latency.is_some();
        let schedule = if costs {
            let stages = Planner::new(profile, platform, goal, longest)?.stages()?;
            Schedule::new(self.name(), stages, profile)?
        } else {
            let front = self.front_for(profile, platform, goal, longest)?.fewest_stages()?;
            let chosen = front.iter().min_by_key(|point| rank(goal.aim, &counts(point, profile), point.stages.len()));
            let stages = chosen.expect("a front has a point").stages.clone();
            Schedule::new(self.name(), stages, profile)?.with_front(front)?
        };
        let pace = longest.filter(|_| goal.aim != Aim::MaxThroughput).unwrap_or(schedule.planned_period());
        match Power::paced(&schedule, profile, platform, pace)? {
            Some(power) => schedule.with_watts(power.watts),
            None => Ok(schedule),
        }
    }

    /// The front of the shortest period, or of the one that is demanded.
    fn front_for<'a>(
        &self,
        profile: &'a Profile,
        platform: &Platform,
        goal: &Goal,
        longest: Option<Period>,
    ) -> Result<Optimum<'a>, Error> {
        if let (Some(longest), false) = (longest, goal.aim == Aim::MaxThroughput)
            && let Some(front) = self.within(profile, platform, longest)?
        {
            return Ok(front);
        }
        let optimum = self.optimum(profile, platform)?;
        check_period(goal, longest, optimum.period())?;
        Ok(optimum)
    }
}

fn counts(point: &FrontPoint, profile: &Profile) -> Vec<usize> {
    profile.kinds().iter().map(|kind| point.cores.get(kind).map_or(0, |&cores| cores as usize)).collect()
}

/// What comes first is better; `cores` in the order of the profile's kinds.
fn rank(aim: Aim, cores: &[usize], stages: usize) -> impl Ord + use<> {
    let first = match aim {
        Aim::MaxThroughput => stages,
        Aim::FewestCores => cores.iter().sum(),
        Aim::FewestBig | Aim::LeastPower => 0,
    };
    (first, cores.to_vec(), stages)
}

fn check_period(goal: &Goal, longest: Option<Period>, shortest: Period) -> Result<(), Error> {
    match longest {
        Some(longest) if longest < shortest => Err(unmet(
            goal,
            format!(
                "a period of {} is demanded, the shortest period on these cores is {}: allow that, or give more cores",
                shown(longest),
                shown(shortest)
            ),
        )),
        _ => Ok(()),
    }
}

fn unmet(goal: &Goal, reason: String) -> Error {
    Error::new(ErrorKind::Goal, format!("goal `{goal}`"), reason)
}

/// A period for a reader, in the unit that leaves few digits.
fn shown(period: Period) -> String {
    let (unit, ns) = match period.ns() {
        ns if ns < 1e4 => ("ns", 1.0),
        ns if ns < 1e7 => ("us", 1e3),
        _ => ("ms", 1e6),
    };
    format!("{} {unit}", (period.ns() / ns * 1e3).round() / 1e3)
}

/// A goal for which stages are not only counted but have a price.
struct Planner<'a> {
    profile: &'a Profile,
    goal: &'a Goal,
    instance: Instance<'a>,
    prices: Prices,
    /// The longest period that is demanded.
    longest: Option<Period>,
    /// The shortest period on the cores, whatever the price.
    shortest: Period,
    /// What the cores may draw above idle, in microwatts.
    budget: Option<u64>,
}

impl<'a> Planner<'a> {
    fn new(profile: &'a Profile, platform: &Platform, goal: &'a Goal, longest: Option<Period>) -> Result<Self, Error> {
        let shortest = Exact.optimum(profile, platform)?.period();
        check_period(goal, longest, shortest)?;
        let instance = Instance::new(profile, &given_cores(&Exact, profile, platform)?);
        let energy = goal.aim == Aim::LeastPower || goal.power.is_some();
        let microwatts = instance.kinds().iter().map(|kind| {
            let name = &profile.kinds()[kind.position];
            match platform.watts(name) {
                _ if !energy => Ok(0),
                Some(watts) => Ok((watts * 1e6).round() as u64),
                None => Err(unmet(
                    goal,
                    format!(
                        "the platform does not say what a busy core of kind `{name}` draws: \
                         add \"watts\" to the kind, in a platform file"
                    ),
                )),
            }
        });
        let microwatts = microwatts.collect::<Result<Vec<_>, _>>()?;
        let budget = match goal.power {
            None => None,
            Some(power) => {
                let idle = platform.idle_watts().unwrap_or(0.0);
                if power < idle {
                    let reason = format!("the machine draws {idle} W when idle: allow more than that");
                    return Err(unmet(goal, reason));
                }
                Some(((power - idle) * 1e6).round() as u64)
            }
        };
        let prices = Prices {
            microwatts,
            latency: goal.latency.is_some(),
            // Works are whole: so is the latency.
            latency_at_most: goal.latency.map_or(u64::MAX, |latency| latency.num() / latency.den()),
            energy_at_most: u128::MAX,
            full: false,
        };
        Ok(Self { profile, goal, instance, prices, longest, shortest, budget })
    }

    fn stages(mut self) -> Result<Vec<Stage>, Error> {
        if let Some(longest) = self.longest.filter(|_| self.goal.aim != Aim::MaxThroughput) {
            let costs = self.costs(longest)?;
            return match self.best(&costs) {
                Some(stages) => Ok(stages),
                None => Err(self.too_dear(longest)),
            };
        }
        // A pipeline that runs as fast as it can draws what its own period makes it draw: only schedules count of which a
        // stage takes the whole period.
        let period = self.shortest_period()?;
        check_period(self.goal, self.longest, period)?;
        self.prices.full = self.budget.is_some();
        let mut period = period;
        loop {
            let costs = self.costs(period)?;
            if let Some(stages) = self.best(&costs) {
                check_period(self.goal, self.longest, period)?;
                return Ok(stages);
            }
            period = self.next_period(period).ok_or_else(|| self.too_dear(period))?;
        }
    }

    /// The schedules that fit in the period and, if they run with it, meet the demands, but for the full stage.
    fn costs(&self, period: Period) -> Result<Costs, Error> {
        let energy_at_most = self.budget.map_or(u128::MAX, |budget| {
            // In a period of 2^64 ns at 2^64 uW: no product of the two overflows.
            u128::from(budget) * u128::from(period.num()) / u128::from(period.den())
        });
        let prices = Prices { energy_at_most, ..self.prices.clone() };
        Costs::new(&self.instance, period, &prices).map_err(|_| self.too_many())
    }

    fn too_many(&self) -> Error {
        match (self.budget.is_some() || self.goal.aim == Aim::LeastPower, self.goal.latency) {
            (true, Some(_)) => unmet(
                self.goal,
                "power and latency together leave too many ways to keep in memory: ask for one of the two, or give fewer cores"
                    .to_owned(),
            ),
            _ => too_large(self.profile),
        }
    }

    /// The shortest period of a schedule that meets the demands, if it may be run more slowly than it could be.
    fn shortest_period(&self) -> Result<Period, Error> {
        let meets = |period| Ok::<_, Error>(self.costs(period)?.schedules().next().is_some());
        if meets(self.shortest)? {
            return Ok(self.shortest);
        }
        // In the longest period of all, everything fits: what is not met there is met nowhere.
        let mut high = Period::from(self.instance.most_work_ns()).max(self.shortest);
        if !meets(high)? {
            return Err(self.too_dear(high));
        }
        let mut low = self.shortest;
        loop {
            // What meets the demands in a period meets them in any longer one; and a schedule has one of these periods.
            let Some(next) = self.next_period(low).filter(|&next| next < high) else { return Ok(high) };
            if meets(next)? {
                return Ok(next);
            }
            low = next;
            let middle = Period::between(low, high);
            if middle > low && meets(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
    }

    /// The best schedule that fits in the period and meets the demands.
    fn best(&self, costs: &Costs) -> Option<Vec<Stage>> {
        let mut order: Vec<_> = self.instance.kinds().iter().map(|kind| (kind.position, kind.axis)).collect();
        order.sort_unstable();
        let rank_of = |&(used, costed): &([usize; MOST_KINDS], &Costed)| {
            let cores: Vec<usize> = order.iter().map(|&(_, axis)| used[axis]).collect();
            let energy = if self.goal.aim == Aim::LeastPower { costed.energy } else { 0 };
            let stages = if self.goal.aim == Aim::LeastPower { costed.stages as usize } else { 0 };
            (energy, stages, rank(self.goal.aim, &cores, costed.stages as usize))
        };
        let meeting = costs.schedules().filter(|(_, costed)| costed.full || !self.prices.full);
        let (_, best) = meeting.min_by_key(rank_of)?;
        let named = |(to, stage): (usize, super::candidates::Candidate)| {
            let kind = &self.profile.kinds()[self.instance.kinds()[usize::from(stage.kind)].position];
            Stage::new(to - stage.from as usize, u32::from(stage.cores), kind.as_str())
        };
        Some(costs.stages(best).into_iter().map(named).collect())
    }

    /// The least period longer than this one that any stage can have.
    fn next_period(&self, period: Period) -> Option<Period> {
        let mut next = None;
        for kind in self.instance.kinds() {
            for to in 1..=self.instance.tasks() {
                let work_ns = kind.work.ending_at(to);
                for from in 0..to {
                    let work_ns = work_ns(from);
                    if work_ns == 0 {
                        continue;
                    }
                    let most = if from < self.instance.run_start(to) { 1 } else { kind.cores };
                    // The most cores on which the stage still takes longer than the period.
                    let cores = if period == Period::ZERO {
                        most as u128
                    } else {
                        (u128::from(work_ns) * u128::from(period.den())).div_ceil(u128::from(period.num())) - 1
                    };
                    let here = (work_ns, cores.min(most as u128) as usize);
                    if here.1 > 0 && next.is_none_or(|next| less(here, next)) {
                        next = Some(here);
                    }
                }
            }
        }
        next.map(fraction)
    }

    /// Why nothing that fits in the period meets the demands.
    fn too_dear(&self, period: Period) -> Error {
        let costs_of = |prices: Prices| Costs::new(&self.instance, period, &prices).map_err(|_| self.too_many());
        let of_latency =
            Prices { microwatts: vec![0; self.prices.microwatts.len()], full: false, ..self.prices.clone() };
        let least_ns = costs_of(Prices { latency_at_most: u64::MAX, ..of_latency })
            .map(|costs| costs.schedules().map(|(_, costed)| costed.latency_ns).min());
        match least_ns {
            Err(error) => return error,
            Ok(Some(least_ns)) if least_ns > self.prices.latency_at_most => {
                return unmet(
                    self.goal,
                    format!(
                        "the least latency is {}: allow that, or a longer period if one is demanded",
                        shown(Period::from(least_ns))
                    ),
                );
            }
            Ok(_) => {}
        }
        match costs_of(Prices { full: false, ..self.prices.clone() }) {
            Err(error) => error,
            Ok(costs) => {
                let least = costs.schedules().map(|(_, costed)| costed.energy).min().unwrap_or(0);
                let watts = least as f64 * period.den() as f64 / period.num() as f64 / 1e6;
                unmet(
                    self.goal,
                    format!(
                        "the least power that meets the other demands is {watts:.3} W above idle: \
                         allow that, or a longer period or latency"
                    ),
                )
            }
        }
    }
}
