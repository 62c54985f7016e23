//! Planning: documents in, documents, tables and pictures out.

use bief::Machine;
use bief_cli::plan::{compared, shown as view};
use bief_cli::realtime::studied;
use bief_cli::shipped::SHIPPED;
use bief_schedule::realtime::Graph;
use bief_schedule::simulate::{Pipeline, Times};
use bief_schedule::{ClockPlan, Goal, Period, Platform, Power, PowerFit, PowerRow, Profile, Schedule};
use fastrand::Rng;
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{OrRaise, refused};

fn goal_of(py: Python<'_>, goal: Option<&str>) -> PyResult<Option<Goal>> {
    goal.map(|goal| goal.parse::<Goal>().or_raise(py)).transpose()
}

/// The profile, platform and schedule of these documents.
fn parts(py: Python<'_>, profile: &str, platform: &str, schedule: &str) -> PyResult<(Profile, Platform, Schedule)> {
    Ok((
        Profile::from_json(profile).or_raise(py)?,
        Platform::from_json(platform).or_raise(py)?,
        Schedule::from_json(schedule).or_raise(py)?,
    ))
}

/// A profile, as it is written: what is none is refused.
#[pyfunction]
pub(crate) fn profile(py: Python<'_>, text: &str) -> PyResult<String> {
    Profile::from_json(text).or_raise(py).map(|profile| profile.to_json())
}

/// The schedule of a profile on cores, `4` or `big=4,little=8`, or on a platform; and that platform and the profile, with the clocks
/// and the busy cores of the schedule. With both, the platform tells power alone.
#[pyfunction]
#[pyo3(signature = (profile, cores, platform, goal, strategy))]
pub(crate) fn plan(
    py: Python<'_>,
    profile: &str,
    cores: Option<&str>,
    platform: Option<&str>,
    goal: Option<&str>,
    strategy: &str,
) -> PyResult<(String, String, String)> {
    let goal = goal_of(py, goal)?.unwrap_or_default();
    let (profile, platform) = read(py, profile, cores, platform)?;
    let strategy = bief_schedule::strategy(strategy).or_raise(py)?;
    let found = py.detach(|| ClockPlan::find(strategy, &profile, &platform, &goal)).or_raise(py)?;
    Ok((found.schedule.to_json(), found.platform.to_json(), found.profile.to_json()))
}

/// Every strategy: the list of what each does, its table, the platform and the profile.
#[pyfunction]
#[pyo3(signature = (profile, cores, platform, goal))]
pub(crate) fn compare(
    py: Python<'_>,
    profile: &str,
    cores: Option<&str>,
    platform: Option<&str>,
    goal: Option<&str>,
) -> PyResult<(String, String, String, String)> {
    let goal = goal_of(py, goal)?;
    let (profile, platform) = read(py, profile, cores, platform)?;
    let (json, table) = py.detach(|| compared(&profile, &platform, goal));
    Ok((json, table, platform.to_json(), profile.to_json()))
}

fn read(py: Python<'_>, profile: &str, cores: Option<&str>, platform: Option<&str>) -> PyResult<(Profile, Platform)> {
    let profile = Profile::from_json(profile).or_raise(py)?;
    let own = platform.map(|platform| Platform::from_json(platform).or_raise(py)).transpose()?;
    let platform = match (cores, own) {
        (None, Some(own)) => own,
        (Some(cores), own) => {
            let counted = Platform::parse_cores(cores, &profile).or_raise(py)?;
            own.iter().fold(counted, |counted, own| counted.with_power_of(own))
        }
        (None, None) => {
            let each: Vec<String> = profile.kinds().iter().map(|kind| format!("{kind:?}: 4")).collect();
            return Err(refused(py, &format!("no cores: give cores={{{}}}, or platform=", each.join(", "))));
        }
    };
    Ok((profile, platform))
}

/// The table and the picture (SVG) of a schedule.
#[pyfunction]
#[pyo3(signature = (profile, platform, schedule, goal))]
pub(crate) fn shown(
    py: Python<'_>,
    profile: &str,
    platform: &str,
    schedule: &str,
    goal: Option<&str>,
) -> PyResult<(String, String)> {
    let goal = goal_of(py, goal)?.unwrap_or_default();
    let (profile, platform, schedule) = parts(py, profile, platform, schedule)?;
    view(&profile, &platform, &schedule, &goal).or_raise(py)
}

/// A schedule played execution by execution.
#[pyfunction]
#[pyo3(signature = (profile, schedule, executions, seed, depth, period_ns, spread, mean_ns, speeds))]
#[allow(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn simulate(
    py: Python<'_>,
    profile: &str,
    schedule: &str,
    executions: u64,
    seed: u64,
    depth: Option<u64>,
    period_ns: Option<f64>,
    spread: Option<f64>,
    mean_ns: Option<f64>,
    speeds: Vec<(String, f64)>,
) -> PyResult<String> {
    let profile = Profile::from_json(profile).or_raise(py)?;
    let schedule = Schedule::from_json(schedule).or_raise(py)?;
    let mut pipeline = Pipeline::new(&profile, &schedule).or_raise(py)?;
    if let Some(depth) = depth {
        pipeline = pipeline.depth(depth).or_raise(py)?;
    }
    if let Some(ns) = period_ns {
        let period = Period::from_ns(ns).filter(|period| *period > Period::ZERO);
        pipeline =
            pipeline.paced(period.ok_or_else(|| refused(py, &format!("{ns} ns is no period: give one above 0")))?);
    }
    pipeline = match (spread, mean_ns) {
        (Some(_), Some(_)) => {
            return Err(refused(py, "times are uniform (spread) or have an exponential part (mean_ns), not both"));
        }
        (Some(spread), None) => pipeline.times(Times::Uniform { spread }).or_raise(py)?,
        (None, Some(mean_ns)) => pipeline.times(Times::Exponential { mean_ns }).or_raise(py)?,
        (None, None) => pipeline,
    };
    for (kind, speed) in &speeds {
        pipeline = pipeline.speed(kind, *speed).or_raise(py)?;
    }
    let report = py.detach(|| pipeline.run(executions, &mut Rng::with_seed(seed))).or_raise(py)?;
    Ok(json!(report).to_string())
}

/// What a schedule draws, by the watts of a platform: at its own period, or at a longer one.
#[pyfunction]
#[pyo3(signature = (profile, platform, schedule, period_ns))]
pub(crate) fn power(
    py: Python<'_>,
    profile: &str,
    platform: &str,
    schedule: &str,
    period_ns: Option<f64>,
) -> PyResult<Option<String>> {
    let (profile, platform, schedule) = parts(py, profile, platform, schedule)?;
    let power = match period_ns {
        None => Power::of(&schedule, &profile, &platform).or_raise(py)?,
        Some(ns) => {
            let period = Period::from_ns(ns).ok_or_else(|| refused(py, &format!("{ns} ns is no period")))?;
            Power::paced(&schedule, &profile, &platform, period).or_raise(py)?
        }
    };
    Ok(power.map(|power| {
        json!({
            "watts": power.watts, "joules_per_execution": power.joules_per_execution,
            "joules_per_frame": power.joules_per_frame, "joules_per_bit": power.joules_per_bit,
        })
        .to_string()
    }))
}

/// Watts of an idle machine and of busy cores, by least squares.
#[pyfunction]
#[pyo3(signature = (kinds, rows, saturate, platform))]
pub(crate) fn fit_power(
    py: Python<'_>,
    kinds: Vec<String>,
    rows: Vec<(Vec<f64>, f64)>,
    saturate: Option<&str>,
    platform: Option<&str>,
) -> PyResult<(String, Option<String>)> {
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let rows: Vec<PowerRow> = rows.into_iter().map(|(busy, watts)| PowerRow { busy, watts }).collect();
    let fit = PowerFit::new(&kinds, &rows, saturate).or_raise(py)?;
    let platform = platform
        .map(|platform| fit.applied_to(&Platform::from_json(platform).or_raise(py)?).or_raise(py))
        .transpose()?;
    let json = json!({
        "idle_watts": fit.idle_watts, "kinds": fit.kinds, "rows": fit.rows, "errors": fit.errors(),
        "left_out_errors": fit.left_out_errors(),
    });
    Ok((json.to_string(), platform.map(|platform| platform.to_json())))
}

/// Bounds and plans of a processing graph, by the options of `bief realtime`: document, table and picture (SVG).
#[pyfunction]
pub(crate) fn study(
    py: Python<'_>,
    graph: &str,
    title: &str,
    options: Vec<String>,
) -> PyResult<(String, String, String)> {
    let graph = Graph::from_json(graph).or_raise(py)?;
    py.detach(|| studied(graph, title, &options)).or_raise(py)
}

/// The profile and the platform of a machine that ships; `None` where none has that name.
#[pyfunction]
pub(crate) fn shipped(name: &str) -> Option<(&'static str, &'static str)> {
    SHIPPED.iter().find(|shipped| shipped.name == name).map(|shipped| (shipped.profile, shipped.platform))
}

/// Names and summaries of the strategies, how many kinds of cores each takes, and whether it serves goals.
#[pyfunction]
pub(crate) fn strategies() -> Vec<(&'static str, &'static str, usize, bool)> {
    let told = |strategy: &&'static dyn bief_schedule::Strategy| {
        let can = strategy.capabilities();
        (strategy.name(), strategy.summary(), can.max_kinds, can.goals)
    };
    bief_schedule::strategies().iter().map(told).collect()
}

/// This machine in words, and its cores as a platform.
#[pyfunction]
pub(crate) fn machine() -> (String, String) {
    let machine = Machine::here();
    (machine.to_string(), machine.platform().to_json())
}

/// The kinds of tasks that ship, as JSON.
#[pyfunction]
pub(crate) fn kinds() -> String {
    let registry = bief_radio::registry();
    let kinds = registry.kinds().map(|kind| {
        let parameters = kind.parameters().iter().map(|parameter| {
            json!({ "name": parameter.name(), "meaning": parameter.meaning(), "form": parameter.form(), "required": parameter.is_required() })
        });
        json!({
            "name": kind.name(),
            "summary": kind.summary(),
            "inputs": kind.inputs().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "outputs": kind.outputs().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "parameters": parameters.collect::<Vec<_>>(),
        })
    });
    serde_json::Value::from_iter(kinds).to_string()
}
