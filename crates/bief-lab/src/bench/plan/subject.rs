//! The chains that are planned and run.

use std::num::NonZeroUsize;
use std::time::Duration;

use bief::plan::{Load, Profiling};
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{Platform, Profile, Schedule, Stage};
use bief::{Application, Machine, Program, Result};
use bief_cli::failure::Failure;
use bief_cli::rx::built_in_receiver;

use super::work::{Step, Work};

/// Microseconds of the tasks of two stages, and of those that are replicated.
const TIMES: [u32; 3] = [10, 100, 1000];

/// The chain with mixed tasks: as much work on either side of each cut, but for the sequential tasks, that two cores, four
/// cores or two kinds of cores want it cut elsewhere.
const MIXED: [Step; 8] = [
    Step { us: 40, replicable: false },
    Step { us: 120, replicable: true },
    Step { us: 60, replicable: true },
    Step { us: 30, replicable: false },
    Step { us: 200, replicable: true },
    Step { us: 80, replicable: false },
    Step { us: 90, replicable: true },
    Step { us: 25, replicable: false },
];

/// Executions that find out how long the tasks take.
const FIRST_LOOK: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// Fewer would not tell what is usual.
const LEAST_EXECUTIONS: usize = 20;

/// A chain, and how it is cut into stages.
pub(super) struct Subject {
    pub(super) name: String,
    find: Find,
    /// `None` until it is prepared.
    application: Option<Box<dyn Application>>,
    cut: Cut,
    /// What each of two cores has of it, where that is the same.
    half: Option<Work>,
    /// Executions of its profile.
    executions: NonZeroUsize,
}

/// Makes what is planned: a receiver must find its signal first.
pub(super) type Find = Box<dyn Fn() -> std::result::Result<Box<dyn Application>, Failure>>;

pub(super) enum Cut {
    /// As planned, on so many cores at most.
    Exact { max_cores: u32 },
    /// Into source, tasks on two threads, and sink, where there are fewer cores than the four that they are planned for.
    Replicated,
}

/// The chains of which plans are compared with runs.
pub(super) fn predicted() -> Vec<Subject> {
    let two = |replicable: bool, us: u32| work(vec![Step { us, replicable }; 2]);
    let sequential = TIMES.map(|us| {
        let subject = Subject::new((format!("two-stages/{us}us"), two(false, us), Cut::Exact { max_cores: 2 }));
        Subject { half: Some(Work::new(vec![Step { us, replicable: false }])), ..subject }
    });
    let replicated = TIMES.map(|us| Subject::new((format!("replicated/{us}us"), two(true, us), Cut::Replicated)));
    sequential.into_iter().chain(replicated).chain([receiver()]).collect()
}

/// The chains that strategies are ranked on.
pub(super) fn ranked() -> Vec<Subject> {
    let mixed = ("mixed".to_owned(), work(MIXED.into()), Cut::Exact { max_cores: u32::MAX });
    vec![Subject::new(mixed), receiver()]
}

fn receiver() -> Subject {
    let find: Find = Box::new(|| Ok(Box::new(built_in_receiver()?)));
    Subject::new(("receiver".to_owned(), find, Cut::Exact { max_cores: u32::MAX }))
}

fn work(steps: Vec<Step>) -> Find {
    Work::new(steps).find()
}

impl Subject {
    pub(super) fn new((name, find, cut): (String, Find, Cut)) -> Self {
        Self { name, find, application: None, cut, half: None, executions: FIRST_LOOK }
    }

    /// Makes the application, and finds out how many executions its profile takes in so many seconds.
    pub(super) fn prepare(&mut self, machine: &Machine, seconds: f64) -> std::result::Result<(), Failure> {
        self.application = Some((self.find)()?);
        let profile = self.profile(machine, Load::Idle);
        let profile = profile.map_err(|error| Failure::new(format!("{}: {error}", self.name)))?;
        // Kinds that are emulated are measured on cores that are as fast as the fastest.
        let chain_ns =
            profile.tasks().iter().map(|task| task.ns.iter().flatten().min().copied().unwrap_or(0)).sum::<u64>();
        let executions = (seconds * 1e9 / chain_ns.max(1) as f64) as usize;
        self.executions = NonZeroUsize::new(executions.max(LEAST_EXECUTIONS)).expect("at least some");
        Ok(())
    }

    /// The chain, for so many frames.
    pub(super) fn program(&self, frames: u64) -> Result<Program> {
        self.application().rehearsal(frames)
    }

    /// What each of two cores has of it, for so many frames, where that is the same.
    pub(super) fn half(&self, frames: u64) -> Option<Result<Program>> {
        self.half.as_ref().map(|work| work.rehearsal(frames))
    }

    fn application(&self) -> &dyn Application {
        &**self.application.as_ref().expect("it was prepared")
    }

    /// What its tasks take while the other cores of the machine do this.
    pub(super) fn profile(&self, machine: &Machine, load: Load) -> Result<Profile> {
        let profiling = Profiling { executions: self.executions, load, limit: Duration::MAX };
        self.application().profile_on(machine, profiling)
    }

    /// Its schedule by this profile.
    pub(super) fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule> {
        let (max_cores, by_hand) = match self.cut {
            Cut::Exact { max_cores } => (max_cores, false),
            Cut::Replicated => (4, platform.kinds().iter().map(|kind| kind.cores).sum::<u32>() < 4),
        };
        if !by_hand {
            return Ok(Exact.schedule(profile, &at_most(platform, max_cores)?)?);
        }
        // The tasks have the fastest kind for themselves, where there are two.
        let kinds = platform.kinds();
        let (fast, slow) = (&kinds[0].name, &kinds[kinds.len() - 1].name);
        let tasks = profile.tasks().len() - 2;
        let stages = [Stage::new(1, 1, slow), Stage::new(tasks, 2, fast), Stage::new(1, 1, slow)];
        let cores = kinds.iter().map(|kind| (kind.name.clone(), kind.cores)).collect();
        Ok(Schedule::sharing("hand", stages, &cores, profile)?)
    }
}

/// At most so many cores of a platform, of all kinds by turns.
fn at_most(platform: &Platform, most: u32) -> Result<Platform> {
    let mut kinds = platform.kinds().to_vec();
    let (mut left, mut round) = (most, 0);
    let given: Vec<u32> = kinds.iter().map(|kind| kind.cores).collect();
    kinds.iter_mut().for_each(|kind| kind.cores = 0);
    while left > 0 && given.iter().any(|&cores| cores > round) {
        for (kind, _) in kinds.iter_mut().zip(&given).filter(|(_, given)| **given > round) {
            kind.cores += left.min(1);
            left = left.saturating_sub(1);
        }
        round += 1;
    }
    Ok(Platform::new(kinds)?)
}

#[cfg(test)]
mod tests {
    use bief::schedule::{CoreKind, TaskProfile};

    use super::*;

    #[test]
    fn some_cores_are_of_all_kinds() {
        let platform = Platform::new([CoreKind::new("big", 1), CoreKind::new("little", 4)]).unwrap();
        let cores = |most: u32| {
            let some = at_most(&platform, most).unwrap();
            [some.cores("big"), some.cores("little")]
        };
        assert_eq!([1, 2, 3, 5, u32::MAX].map(cores), [[1, 0], [1, 1], [1, 2], [1, 4], [1, 4]]);
    }

    #[test]
    fn replicas_share_the_cores_of_a_small_machine() {
        let subjects = predicted();
        let replicated = subjects.iter().find(|subject| subject.name == "replicated/100us").unwrap();
        let tasks = [
            TaskProfile::sequential("source", [1_000]),
            TaskProfile::replicable("task 1", [100_000]),
            TaskProfile::replicable("task 2", [100_000]),
            TaskProfile::sequential("sink", [1_000]),
        ];
        let profile = Profile::new(["cpu"], tasks).unwrap();
        let on =
            |cores: u32| replicated.schedule(&profile, &Platform::new([CoreKind::new("cpu", cores)]).unwrap()).unwrap();
        let shared = on(2);
        assert!(shared.is_oversubscribed());
        assert_eq!((shared.stages().len(), shared.planned_period().ns()), (3, 101_000.0));
        let own = on(8);
        assert!(!own.is_oversubscribed());
        assert!(own.stages().iter().map(|stage| stage.replicas()).sum::<u32>() <= 4);
    }
}
