//! Runs: measured and planned if that is wanted, on threads of their own, while Python's thread waits for signals and shows progress.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bief::pipeline::{Stopper, Watch};
use bief::placement::Policy;
use bief::plan::Profiling;
use bief::schedule::{Goal, Profile, Schedule, Stage, strategy};
use bief::{Application, ChainFile, Machine, Pipeline, Planned, Planner, Report};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::error::{OrRaise, refused};

/// How a chain is to be run, as Python says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub(crate) struct How {
    /// Whether it is measured and planned; else it runs in the stages that are marked, or on one core.
    plans: bool,
    cores: Option<String>,
    goal: Option<String>,
    strategy: Option<String>,
    refine: usize,
    place: Option<String>,
    profile: Option<Profile>,
    schedule: Option<Schedule>,
    /// Numbers of tasks and threads, in place of a plan.
    stages: Option<Vec<(usize, u32)>>,
    executions: Option<std::num::NonZeroUsize>,
    observe: bool,
}

impl How {
    pub(crate) fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(|error| refused(py, &error.to_string()))
    }

    fn planner(&self) -> bief::Result<Planner> {
        let mut planner = Planner::new(Machine::here()).refine(self.refine);
        if let Some(executions) = self.executions {
            planner = planner.profiling(Profiling { executions, limit: Duration::MAX, ..Profiling::default() });
        }
        if let Some(cores) = &self.cores {
            planner = planner.cores(cores);
        }
        if let Some(goal) = &self.goal {
            planner = planner.goal(goal.parse::<Goal>()?);
        }
        if let Some(name) = &self.strategy {
            planner = planner.strategy(strategy(name)?);
        }
        if let Some(place) = &self.place {
            planner = planner.place(place.parse::<Policy>()?);
        }
        if let Some(profile) = &self.profile {
            planner = planner.profile(profile.clone(), "profile");
        }
        if let Some(schedule) = &self.schedule {
            planner = planner.schedule(schedule.clone(), "schedule");
        }
        planner.check()?;
        Ok(planner)
    }
}

/// What came of a plan or a run, as JSON documents and tables.
#[pyclass(module = "bief._bief", frozen, get_all)]
pub(crate) struct Outcome {
    /// The report of the run.
    report: Option<String>,
    /// The same as a table.
    table: Option<String>,
    /// The profile that was measured, corrected where the plan was refined.
    profile: Option<String>,
    /// The schedule of the run.
    schedule: Option<String>,
    /// The cores that it was planned for.
    platform: Option<String>,
    /// What a person should know of the plan.
    notes: Vec<String>,
}

impl Outcome {
    pub(crate) fn new(planned: Option<&Planned>, report: Option<&Report>) -> Self {
        Self {
            report: report.map(|report| serde_json::to_string(report).expect("a report is JSON")),
            table: report.map(ToString::to_string),
            profile: planned.map(|planned| planned.profile.to_json()),
            schedule: planned.map(|planned| planned.schedule.to_json()),
            platform: planned.map(|planned| planned.machine.platform().to_json()),
            notes: planned.map(|planned| planned.notes.clone()).unwrap_or_default(),
        }
    }
}

/// What Python's thread knows of a run on another: what stops it, and how it goes on.
#[derive(Default)]
pub(crate) struct Control {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stopper: Option<Stopper>,
    watch: Option<Watch>,
    is_stopped: bool,
}

impl Control {
    /// Runs a pipeline that can be stopped from now on; one that was stopped before ends at once.
    pub(crate) fn run(&self, pipeline: &mut Pipeline) -> bief::Result<Report> {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let stopper = pipeline.stopper();
            if state.is_stopped {
                stopper.stop();
            }
            state.stopper = Some(stopper);
            state.watch = Some(pipeline.watch());
        }
        pipeline.run()
    }

    fn stop(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_stopped = true;
        if let Some(stopper) = &state.stopper {
            stopper.stop();
        }
    }

    /// The progress since the last look, as JSON.
    fn status(&self) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let status = state.watch.as_mut()?.status();
        serde_json::to_string(&status).ok()
    }
}

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Does work on a thread of its own, without the interpreter. Meanwhile this one looks for signals, and tells `progress` of the run:
/// what either raises stops the run, and is raised when that has ended in order.
pub(crate) fn away<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> T + Send,
) -> PyResult<T> {
    let control = Control::default();
    let mut raised = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, is_done) = channel();
            let control = &control;
            let worker = scope.spawn(move || {
                let result = work(control);
                let _ = done.send(());
                result
            });
            let mut look = 0_u32;
            while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(LOOK) {
                look += 1;
                let status = if look.is_multiple_of(2) { control.status() } else { None };
                let told = Python::attach(|py| {
                    py.check_signals()?;
                    match (&progress, status) {
                        (Some(progress), Some(status)) => progress.call1(py, (status,)).map(drop),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = told {
                    raised.get_or_insert(error);
                    control.stop();
                }
            }
            worker.join()
        })
    });
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

/// Runs an application: planned, in its marked stages, in the stages that `how` says, or on one core.
pub(crate) fn run_application<A: Application + Send>(
    py: Python<'_>,
    application: &mut A,
    how: &How,
    marked: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let application = Mutex::new(application);
    let outcome = away(py, progress, |control| {
        let mut application = application.lock().unwrap_or_else(PoisonError::into_inner);
        run_here(&mut **application, how, marked, control).map(|(outcome, _)| outcome)
    })?;
    outcome.or_raise(py)
}

/// As [`run_application`], on this thread.
pub(crate) fn run_here(
    application: &mut (impl Application + ?Sized),
    how: &How,
    marked: bool,
    control: &Control,
) -> bief::Result<(Outcome, Report)> {
    let planned = if how.plans { Some(how.planner()?.plan(application)?) } else { None };
    let mut pipeline = match (&planned, &how.stages) {
        (Some(planned), _) => planned.pipeline(application)?,
        (None, Some(stages)) => {
            let stages: Vec<Stage> = stages.iter().map(|&(tasks, threads)| Stage::new(tasks, threads, "")).collect();
            application.program()?.cut(&stages)?
        }
        (None, None) if marked => application.program()?.pipeline_as_marked()?,
        (None, None) => application.program()?.one_core()?,
    };
    if how.observe {
        pipeline = pipeline.observe();
    }
    let report = control.run(&mut pipeline);
    let closed = pipeline.close();
    let report = report?;
    closed?;
    Ok((Outcome::new(planned.as_ref(), Some(&report)), report))
}

/// Measures and plans an application.
pub(crate) fn planned_of<A: Application + Sync>(py: Python<'_>, application: &A, how: &How) -> PyResult<Outcome> {
    let planned = away(py, None, |_| how.planner()?.plan(application))?;
    Ok(Outcome::new(Some(&planned.or_raise(py)?), None))
}

/// Runs a chain file.
#[pyfunction]
#[pyo3(signature = (path, text, how, progress))]
pub(crate) fn run_file(
    py: Python<'_>,
    path: &str,
    text: Option<&str>,
    how: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let how = How::from_json(py, how)?;
    let file = match text {
        Some(text) => ChainFile::parse(text, path),
        None => ChainFile::read(path),
    }
    .or_raise(py)?;
    let file = if how.plans || how.stages.is_some() { file.without_stages() } else { file };
    let marked = file.stages().next().is_some();
    let registry = Arc::new(bief_radio::registry());
    let mut application = file.application(&registry);
    run_application(py, &mut application, &how, marked, progress)
}
