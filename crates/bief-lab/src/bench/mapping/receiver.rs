//! A plan that was made before, and threads that are moved while they run: which is faster, and when.

use std::cell::OnceCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bief::Application;
use bief::placement::Policy;
use bief::plan::{Load, Profiling};
use bief::schedule::strategy::{Exact, Strategy, ThreadPerTask};
use bief::schedule::{Profile, Schedule, TaskProfile};
use bief_cli::failure::Failure;
use bief_cli::rx::built_in_receiver;
use bief_radio::dvbs2::Receiver;

use super::Setting;
use super::worker::{Needs, Worker};
use crate::bench::case::{Case, Reading};

/// The group of their names.
pub(super) const NAME: &str = "receiver";

const EXECUTIONS: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Quiet,
    Disturbed,
    Misplanned,
}

const WHEN: [(When, &str, &str); 3] = [
    (When::Quiet, "quiet", "receiver, nothing else runs"),
    (When::Disturbed, "disturbed", "receiver, a thread keeps a fast core busy"),
    (When::Misplanned, "misplanned", "receiver, planned with times of kinds exchanged"),
];

/// How stages are cut, and their threads placed.
const HOW: [(&str, Cut, Policy); 5] = [
    ("plan-packed", Cut::Exact, Policy::Packed),
    ("plan-loose", Cut::Exact, Policy::Loose),
    ("plan-dynamic", Cut::Exact, Policy::Dynamic),
    ("tasks-loose", Cut::Tasks, Policy::Loose),
    ("tasks-dynamic", Cut::Tasks, Policy::Dynamic),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Exact,
    Tasks,
}

/// The receiver and its plans, once they are made.
#[derive(Default)]
pub(super) struct Subject(OnceCell<Prepared>);

struct Prepared {
    receiver: Receiver,
    exact: Schedule,
    misplanned: Schedule,
    tasks: Schedule,
}

impl Subject {
    /// Finds the signal, measures the tasks, and plans.
    pub(super) fn prepare(&self, setting: &Setting) -> Result<(), Failure> {
        let receiver = built_in_receiver()?;
        let profiling = Profiling { executions: EXECUTIONS, load: Load::Busy, limit: Duration::MAX };
        let profile = receiver.profile_on(&setting.machine, profiling).map_err(Failure::from_error)?;
        let platform = setting.machine.platform();
        let plan = |strategy: &dyn Strategy, profile: &Profile| {
            strategy.schedule(profile, &platform).map_err(Failure::from_error)
        };
        let prepared = Prepared {
            exact: plan(&Exact, &profile)?,
            misplanned: plan(&Exact, &exchanged(&profile).map_err(Failure::from_error)?)?,
            tasks: plan(&ThreadPerTask::R1, &profile)?,
            receiver,
        };
        // Whoever prepared it before did the same.
        let _ = self.0.set(prepared);
        Ok(())
    }

    /// Frames per second.
    fn run(&self, when: When, cut: Cut, policy: &Policy, setting: &Setting) -> bief::Result<f64> {
        let Prepared { receiver, exact, misplanned, tasks } = self.0.get().expect("it was prepared");
        let schedule = match (cut, when) {
            (Cut::Tasks, _) => tasks,
            (Cut::Exact, When::Misplanned) => misplanned,
            (Cut::Exact, _) => exact,
        };
        let pipeline = receiver.rehearsal(u64::MAX)?.pipeline(schedule)?;
        let mut pipeline = pipeline.place(policy, &setting.machine)?;
        let other = match when {
            When::Disturbed => Some(disturb(setting)?),
            _ => None,
        };
        let stopper = pipeline.stopper();
        let (running, ended) = mpsc::channel::<()>();
        let time = setting.time;
        let report = thread::scope(|scope| {
            scope.spawn(move || {
                // It is over early where the run fails.
                let _ = ended.recv_timeout(time);
                stopper.stop();
            });
            let report = pipeline.run();
            drop(running);
            report
        })?;
        other.map_or(Ok(0.0), Worker::join)?;
        setting.notes.borrow_mut().extend(report.notes);
        Ok(report.frames as f64 / report.seconds.max(1e-9))
    }
}

/// A thread that always works, on the first core of the fastest kind.
fn disturb(setting: &Setting) -> bief::Result<Worker> {
    let needs = Needs { demands: vec![1.0], phase: setting.time, begin: Instant::now() };
    let core = setting.machine.cores().iter().position(|core| core.kind == 0).unwrap_or(0);
    Worker::start(needs, &format!("c{core}").parse()?, &setting.machine)
}

/// The same tasks, with the times on the fastest kind for those on the slowest, and so on.
fn exchanged(profile: &Profile) -> Result<Profile, bief::schedule::Error> {
    let tasks = profile.tasks().iter().map(|task| {
        let ns = task.ns.iter().rev().copied().collect();
        TaskProfile { ns, seen: None, ..task.clone() }
    });
    let sync_ns: Vec<u64> = (0..profile.kinds().len()).rev().map(|kind| profile.sync_ns(kind)).collect();
    Profile::new(profile.kinds().iter().cloned(), tasks)?
        .with_frames_per_execution(profile.frames_per_execution())?
        .with_sync_ns(sync_ns)
}

pub(super) fn cases(setting: &Setting, subject: &Rc<Subject>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (when, name, title) in WHEN {
        for (how, cut, policy) in HOW {
            let (setting, subject) = (setting.clone(), Rc::clone(subject));
            let measure =
                move || subject.run(when, cut, &policy, &setting).map(Reading::from).map_err(Failure::from_error);
            cases.push(Case::new(format!("{NAME}/{name}/{how}"), (title, "frames/s"), measure));
        }
    }
    cases
}

/// A name in words.
pub(super) fn in_words(how: &str) -> &str {
    match how {
        "plan-packed" => "the plan, packed",
        "plan-loose" => "the plan's stages, loose",
        "plan-dynamic" => "the plan's stages, dynamic",
        "tasks-loose" => "a thread per task, loose",
        "tasks-dynamic" => "a thread per task, dynamic",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanged_times_are_those_of_the_other_kinds() {
        let tasks = [TaskProfile::replicable("a", [1, 2]), TaskProfile::sequential("b", [30, 40])];
        let profile = Profile::new(["big", "little"], tasks).unwrap().with_sync_ns([5, 6]).unwrap();
        let other = exchanged(&profile).unwrap();
        assert_eq!((other.kinds(), other.sync_ns(0)), (profile.kinds(), 6));
        assert_eq!([&other.tasks()[0].ns[..], &other.tasks()[1].ns], [[2, 1].map(Some), [40, 30].map(Some)]);
        assert_eq!(exchanged(&other).unwrap(), profile);
    }

    #[test]
    fn every_way_has_words() {
        assert!(HOW.iter().all(|(how, ..)| in_words(how) != *how));
    }
}
