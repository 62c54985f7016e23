//! A strategy of one's own beside those that come with Bief: the same number of tasks for each core, whatever they take.

use bief::schedule::{
    Capabilities, Error, ErrorKind, Platform, Profile, Schedule, Stage, Strategy, TaskProfile, strategies,
};

/// Deals the tasks out to the cores of one kind, as evenly as their number allows.
struct EvenCounts;

impl Strategy for EvenCounts {
    fn name(&self) -> &'static str {
        "even_counts"
    }

    fn summary(&self) -> &'static str {
        "The same number of tasks for each core, without looking at their times."
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default() // one kind of cores, and nothing special
    }

    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error> {
        let cores = platform.cores_for(profile)?;
        let mut given = cores.iter().zip(profile.kinds()).filter(|&(&cores, _)| cores > 0);
        let (Some((&cores, kind)), None) = (given.next(), given.next()) else {
            let reason = "it schedules for cores of one kind: give cores of one kind only";
            return Err(Error::new(ErrorKind::Strategy, "strategy `even_counts`", reason));
        };
        let tasks = profile.tasks().len();
        let stages = tasks.min(cores as usize);
        let begins = |stage| stage * tasks / stages;
        let stages = (0..stages).map(|stage| Stage::new(begins(stage + 1) - begins(stage), 1, kind));
        Schedule::new(self.name(), stages, profile)
    }
}

fn main() -> Result<(), Error> {
    let tasks = [
        TaskProfile::sequential("receive", [100]),
        TaskProfile::replicable("filter", [400]),
        TaskProfile::replicable("decode", [300]),
        TaskProfile::sequential("send", [900]),
    ];
    let profile = Profile::new(["cpu"], tasks)?;
    let platform = Platform::parse_cores("2", &profile)?;
    let all = strategies().iter().copied().chain([&EvenCounts as &dyn Strategy]);
    let mut periods = Vec::new();
    for strategy in all {
        let schedule = strategy.schedule(&profile, &platform)?;
        schedule.check(&profile, &platform)?;
        println!("{:17} {:7.1} ns", strategy.name(), schedule.planned_period().ns());
        periods.push((schedule.planned_period().ns(), strategy.name()));
    }
    assert!(periods.contains(&(1200.0, "even_counts")) && periods.contains(&(900.0, "exact")));
    Ok(())
}
