//! What there is to say about a schedule.

use std::cmp::Ordering;

use bief_schedule::strategy::{Exact, Strategy};
use bief_schedule::{Aim, CoreKind, Error, Goal, Limit, Period, Platform, Power, Profile, Schedule, strategy};

use crate::failure::Failure;
use crate::text::{counted, kind_name, listed, printable};
use crate::units::{energy, significant, time};

/// How many other points of the front are told.
const MOST_POINTS: usize = 6;

/// A schedule, and what it was made for.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) profile: &'a Profile,
    pub(super) platform: &'a Platform,
    pub(super) schedule: &'a Schedule,
    /// The period at which it is to run, where one is demanded and its own is shorter.
    pub(super) pace: Option<Period>,
}

impl Plan<'_> {
    /// Its strategy, its size, and the cores that it uses.
    pub(super) fn heading(&self) -> String {
        let Self { profile, platform, schedule, .. } = self;
        let used = cores(platform, |kind| {
            let used = schedule.cores().get(&kind.name).copied().unwrap_or(0);
            format!("{used} of {}", kind.cores)
        });
        format!(
            "{}: {} in {} on {used}{}",
            schedule.strategy(),
            counted(profile.tasks().len(), "task"),
            counted(schedule.stages().len(), "stage"),
            machine(profile),
        )
    }

    /// Sentences on its rate, what it costs, what limits it and what would help.
    ///
    /// # Errors
    ///
    /// Where the schedule is not one of the profile.
    pub(super) fn facts(&self) -> Result<Vec<String>, Failure> {
        let sentences =
            [Some(self.rate()), self.clocks(), Some(self.cost()?), self.limit()?, self.remedy(), self.front()];
        Ok(sentences.into_iter().flatten().collect())
    }

    fn rate(&self) -> String {
        let Self { profile, schedule, .. } = self;
        let period = schedule.planned_period();
        if period == Period::ZERO {
            return "The tasks weigh nothing: no period, and no limit to the rate.".to_owned();
        }
        let frames = format!("{} frames/s", significant(profile.frames_per_second(period.ns())));
        let rate = match schedule.mbps(profile) {
            Some(mbps) => format!("{} Mb/s ({frames})", significant(mbps)),
            None => frames,
        };
        format!("Period {}, {rate}.", time(period))
    }

    /// The clocks that it was made for.
    fn clocks(&self) -> Option<String> {
        let clocks = self.schedule.clocks().iter();
        let clocks: Vec<String> = clocks.map(|(kind, mhz)| format!("{} cores at {mhz} MHz", kind_name(kind))).collect();
        (!clocks.is_empty()).then(|| format!("That is with {}.", clocks.join(", ")))
    }

    /// Which stage takes the whole period, and why it takes that long; nothing where there is no period.
    fn limit(&self) -> Result<Option<String>, Failure> {
        let Self { profile, platform, schedule, .. } = self;
        if schedule.planned_period() == Period::ZERO {
            return Ok(None);
        }
        let loads = schedule.loads(profile).map_err(Failure::from_error)?;
        let first = match schedule.limit(profile).map_err(Failure::from_error)? {
            Limit::Stage(first) => first,
            Limit::Cores(kind) => {
                let threads: u32 = schedule.stages().iter().filter_map(|stage| stage.cores.get(&kind)).sum();
                let name = kind_name(&kind);
                return Ok(Some(match schedule.cores()[&kind] {
                    1 => {
                        format!("Limited by the {name} core: {threads} threads share it, and it is busy all the time.")
                    }
                    cores => format!(
                        "Limited by the {name} cores: {threads} threads share {cores}, which are busy all the time."
                    ),
                }));
            }
        };
        // Of the stages that take the whole period, one that no schedule can make shorter is the true reason.
        let task_alone = |task: usize, stage: usize| {
            let kind = schedule.stages()[stage].kind().and_then(|kind| profile.kind(kind));
            kind.is_some_and(|kind| profile.stage_period(task..task + 1, 1, kind) == Some(loads[first].period))
        };
        let hard = (first..loads.len()).filter(|&stage| loads[stage].period == loads[first].period).find_map(|stage| {
            let task =
                loads[stage].tasks.clone().find(|&task| !profile.tasks()[task].replicable && task_alone(task, stage));
            task.map(|task| (stage, task))
        });
        let name = |task: usize| printable(&profile.tasks()[task].name);
        if let Some((stage, task)) = hard {
            return Ok(Some(format!(
                "Limited by stage {}: its task `{}` may not be replicated and takes the whole period by itself; \
                 only a faster task or a faster core shortens it.",
                stage + 1,
                name(task)
            )));
        }

        let stage = &schedule.stages()[first];
        let tasks = loads[first].tasks.clone();
        let sequential = tasks.clone().find(|&task| !profile.tasks()[task].replicable);
        let shared = match stage.cores.len() {
            1 => counted(stage.replicas() as usize, "core"),
            _ => {
                let kinds = stage.cores.iter().map(|(kind, cores)| format!("{cores} {}", kind_name(kind)));
                format!("{} cores", kinds.collect::<Vec<_>>().join(" and "))
            }
        };
        let reason = match (sequential, tasks.len(), stage.replicas()) {
            (Some(task), count, _) => {
                format!("its {count} tasks have one core, as `{}` may not be replicated", name(task))
            }
            (None, 1, 1) => format!("its task `{}` has one core", name(tasks.start)),
            (None, 1, _) => format!("its task `{}` is shared by {shared}", name(tasks.start)),
            (None, count, 1) => format!("its {count} tasks have one core"),
            (None, count, _) => format!("its {count} tasks are shared by {shared}"),
        };
        let given: u32 = platform.kinds().iter().map(|kind| kind.cores).sum();
        let used: u32 = schedule.cores().values().sum();
        let cores = if used == given {
            "; all cores are in use".to_owned()
        } else if follows_goals(schedule) {
            String::new()
        } else {
            let left = counted((given - used) as usize, "core");
            format!("; `{}` finds no better use for the {left} left", schedule.strategy())
        };
        Ok(Some(format!("Limited by stage {}: {reason}{cores}.", first + 1)))
    }

    /// The time and the power that a frame takes.
    fn cost(&self) -> Result<String, Failure> {
        let Self { profile, schedule, .. } = self;
        let latency = schedule.latency_ns(profile).map_err(Failure::from_error)?;
        let least = if schedule.is_oversubscribed() { " at least" } else { "" };
        let paced = self.pace.map(|pace| schedule.latency_bound_ns(profile, pace)).transpose();
        let bound = paced.map_err(Failure::from_error)?.flatten();
        let done = bound
            .map_or_else(String::new, |ns| format!(", and is done {} after it came at most", time(Period::from(ns))));
        let spent = format!("A frame spends {}{least} in the stages{done}", time(Period::from(latency)));
        let pace = self.pace.map_or_else(String::new, |pace| format!(" at a period of {}", time(pace)));
        Ok(match self.power().map_err(Failure::from_error)? {
            Some(Power { watts, joules_per_frame, joules_per_bit, .. }) => {
                let per_bit = joules_per_bit.map_or_else(String::new, |joules| format!(", {} per bit", energy(joules)));
                format!(
                    "{spent}; {} W are drawn{pace}: {} per frame{per_bit}.",
                    significant(watts),
                    energy(joules_per_frame)
                )
            }
            None => format!("{spent}."),
        })
    }

    /// What the machine draws at the pace that is demanded, where the watts of the cores are known.
    pub(super) fn power(&self) -> Result<Option<Power>, Error> {
        let pace = self.pace.unwrap_or(self.schedule.planned_period());
        Power::paced(self.schedule, self.profile, self.platform, pace)
    }

    /// What would shorten the period: another strategy, another goal, or one more core.
    fn remedy(&self) -> Option<String> {
        let Self { profile, platform, schedule, .. } = self;
        let period = schedule.planned_period();
        // Where stages of one kind were asked for, with such stages.
        let exact = if schedule.strategy() == Exact::ONE_KIND.name() { Exact::ONE_KIND } else { Exact };
        let least = exact.optimum(profile, platform).ok()?.period();
        let less = |shorter: Period| {
            let percent = 100.0 * (1.0 - shorter.ns() / period.ns());
            let digits = usize::from(percent < 1.0);
            format!("{} (-{percent:.digits$} %)", time(shorter))
        };
        match period.cmp(&least) {
            Ordering::Less => None,
            Ordering::Equal => {
                let gains: Vec<String> = exact
                    .gains(profile, platform)
                    .ok()?
                    .iter()
                    .map(|gain| format!("one more {} core: {}", kind_name(&gain.kind), less(gain.period)))
                    .collect();
                (!gains.is_empty()).then(|| format!("What would help: {}.", gains.join(", ")))
            }
            Ordering::Greater if follows_goals(schedule) => {
                Some(format!("Without the demands of the goal, {} is possible on these cores.", less(least)))
            }
            Ordering::Greater => Some(format!("`{}` reaches {} on these cores.", exact.name(), less(least))),
        }
    }

    /// The other numbers of cores that have the same period, or one that is no longer than is demanded.
    fn front(&self) -> Option<String> {
        let schedule = self.schedule;
        let others: Vec<_> = schedule.front().iter().filter(|point| point.cores != *schedule.cores()).collect();
        let mut shown: Vec<String> = others
            .iter()
            .take(MOST_POINTS)
            .map(|point| {
                let cores: Vec<_> =
                    point.cores.iter().map(|(kind, cores)| format!("{cores} {}", kind_name(kind))).collect();
                format!("{} in {}", cores.join(" + "), counted(point.stages.len(), "stage"))
            })
            .collect();
        if others.len() > MOST_POINTS {
            shown.push(format!("and {} more that --json lists", others.len() - MOST_POINTS));
        }
        let also = if self.pace.is_some() { "Also fast enough" } else { "Also" };
        (!shown.is_empty()).then(|| format!("{also}: {}.", shown.join(", ")))
    }
}

/// Whether the strategy of a schedule [serves goals](bief_schedule::Capabilities::goals): cores that such a one leaves over
/// are of no use to the goal.
fn follows_goals(schedule: &Schedule) -> bool {
    strategy(schedule.strategy()).is_ok_and(|strategy| strategy.capabilities().goals)
}

/// `2 of 4 big and 1 of 8 little cores`: the kinds of which there are cores, each after what `number` says of it.
pub(super) fn cores(platform: &Platform, number: impl Fn(&CoreKind) -> String) -> String {
    let given: Vec<_> = platform.kinds().iter().filter(|kind| kind.cores > 0).collect();
    let kinds: Vec<_> = given.iter().map(|kind| format!("{} {}", number(kind), kind_name(&kind.name))).collect();
    let noun = if given.iter().map(|kind| u64::from(kind.cores)).sum::<u64>() == 1 { "core" } else { "cores" };
    format!("{} {noun}", listed(&kinds))
}

/// Where the profile is from, as the end of a heading.
pub(super) fn machine(profile: &Profile) -> String {
    profile.machine().map(|machine| format!(" (profile: {})", printable(machine))).unwrap_or_default()
}

/// The period at which a schedule is to run, where the strategy follows a goal that demands one.
pub(super) fn pace(strategy: &dyn Strategy, profile: &Profile, goal: &Goal) -> Result<Option<Period>, Error> {
    if !strategy.capabilities().goals || goal.aim == Aim::MaxThroughput {
        return Ok(None);
    }
    goal.longest_period(profile)
}

#[cfg(test)]
mod tests {
    use bief_schedule::TaskProfile;

    use crate::shipped::shipped;

    use super::super::tests::receiver;
    use super::*;

    fn said(profile: &Profile, platform: &Platform, name: &str) -> String {
        let schedule = strategy(name).unwrap().schedule(profile, platform).unwrap();
        Plan { profile, platform, schedule: &schedule, pace: None }.facts().unwrap().join("\n")
    }

    fn of_cores(profile: &Profile, cores: &str, name: &str) -> String {
        said(profile, &Platform::parse_cores(cores, profile).unwrap(), name)
    }

    #[test]
    fn a_sequential_task_that_takes_the_period_is_named() {
        let text = of_cores(&receiver(["big", "little"]), "big=100", "otac");
        let sentence =
            "Limited by stage 1: its task `receive` may not be replicated and takes the whole period by itself;";
        assert!(text.contains(sentence), "{text}");
        assert!(!text.contains("would help"), "no core helps: {text}");
    }

    #[test]
    fn other_limits_are_explained() {
        let says = |cores: &str, name: &str, sentence: &str| {
            let text = of_cores(&receiver(["big", "little"]), cores, name);
            assert!(text.lines().any(|line| line == sentence), "{text}");
        };
        says(
            "big=1",
            "otac",
            "Limited by stage 1: its 4 tasks have one core, as `receive` may not be replicated; all cores are in use.",
        );
        says(
            "big=5",
            "thread_per_task",
            "Limited by stage 3: its task `decode` has one core; `thread_per_task` finds no better use for the 1 core left.",
        );
        says("big=1", "thread_per_task", "Limited by the big core: 4 threads share it, and it is busy all the time.");
        says("big=4", "thread_per_task:3", "Limited by the big cores: 8 threads share 4, which are busy all the time.");
    }

    fn mac_studio() -> (Profile, Platform) {
        let shipped = shipped("mac_studio").unwrap();
        (Profile::from_json(shipped.profile).unwrap(), Platform::from_json(shipped.platform).unwrap())
    }

    #[test]
    fn power_and_other_numbers_of_cores_are_told() {
        let (profile, platform) = mac_studio();
        let text = said(&profile, &platform, "exact:one-kind");
        assert!(text.contains(" W are drawn: 11.3 mJ per frame, 792 nJ per bit."), "{text}");
        assert!(text.contains("\nAlso: 9 big + 1 little in 5 stages, 10 big in 5 stages."), "{text}");
        let text = of_cores(&profile, "big=16,little=4", "exact");
        assert!(text.contains("\nA frame spends ") && text.contains(" in the stages.\n"), "no watts are known: {text}");
    }

    #[test]
    fn kinds_that_share_the_stage_that_limits_are_told() {
        let profile = Profile::from_json(shipped("x7_ti").unwrap().profile).unwrap();
        let text = of_cores(&profile, "big=3,little=4", "exact");
        assert!(text.contains(" is shared by 1 big and 2 little cores; all cores are in use."), "{text}");
        let text = of_cores(&profile, "big=3,little=4", "exact:one-kind");
        assert!(text.contains("Period 2707.3 us") && !text.contains("shared by 1 big"), "{text}");
    }

    #[test]
    fn what_would_help_is_told() {
        let profile = receiver(["big", "little"]);
        // Six of eight cores share 8501.8 us; seven of nine would.
        let text = of_cores(&profile, "little=8", "exact");
        assert!(text.contains("one more little core: 1214.5 us (-14 %)"), "{text}");
        let (profile, platform) = mac_studio();
        let text = said(&profile, &platform, "thread_per_task");
        assert!(text.contains("`exact` reaches 950.9 us (-64 %) on these cores."), "{text}");
        let goal = "fewest-cores,period=2ms".parse().unwrap();
        let schedule = &Exact.plan(&profile, &platform, &goal).unwrap();
        let pace = Some(Period::from(2_000_000));
        let text = Plan { profile: &profile, platform: &platform, schedule, pace }.facts().unwrap().join("\n");
        assert!(text.contains("\nWithout the demands of the goal, 950.9 us ("), "{text}");
        assert!(text.contains(" W are drawn at a period of 2000.0 us: "), "{text}");
    }

    #[test]
    fn other_numbers_of_cores_need_not_have_the_period_of_the_schedule_to_be_fast_enough() {
        let (profile, platform) = mac_studio();
        let goal = "fewest-cores,period=1897600ns".parse().unwrap();
        let schedule = &Exact::ONE_KIND.plan(&profile, &platform, &goal).unwrap();
        let pace = Some(Period::from(1_897_600));
        let text = Plan { profile: &profile, platform: &platform, schedule, pace }.facts().unwrap().join("\n");
        assert_eq!(schedule.cores().values().sum::<u32>(), 6);
        assert!(text.ends_with("\nAlso fast enough: 5 big + 1 little in 4 stages, 6 big in 4 stages."), "{text}");
    }

    #[test]
    fn cores_of_one_two_or_three_kinds_read_well() {
        let kinds = ["a", "big", "P-core"];
        let heading = |cores: &str| {
            let profile = Profile::new(kinds, [TaskProfile::sequential("t", [5, 5, 5])]).unwrap();
            let platform = &Platform::parse_cores(cores, &profile).unwrap();
            let schedule = &strategy("thread_per_task").unwrap().schedule(&profile, platform).unwrap();
            Plan { profile: &profile, platform, schedule, pace: None }.heading()
        };
        let start = "thread_per_task: 1 task in 1 stage on";
        assert_eq!(heading("a=1"), format!("{start} 1 of 1 `a` core"));
        assert_eq!(heading("big=5"), format!("{start} 1 of 5 big cores"));
        assert_eq!(heading("a=1,big=1"), format!("{start} 0 of 1 `a` and 1 of 1 big cores"));
        assert_eq!(heading("a=3,big=4,P-core=5"), format!("{start} 0 of 3 `a`, 0 of 4 big and 1 of 5 `P-core` cores"));
    }

    #[test]
    fn chains_without_bits_or_weight_have_a_rate_all_the_same() {
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("t", [250])]).unwrap();
        assert!(of_cores(&profile, "2", "otac").contains("Period 125.0 ns, 8000000 frames/s."));
        let profile = Profile::new(["cpu"], [TaskProfile::replicable("t", [0])]).unwrap();
        let text = of_cores(&profile, "2", "otac");
        assert!(text.contains("The tasks weigh nothing") && !text.contains("Limited"), "{text}");
    }
}
