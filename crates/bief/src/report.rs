//! What happened in a run, beside the plan.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::stage::StagePlan;

/// What happened in a run, beside the plan: a table (by `Display`) or JSON (by `serde`).
///
/// Periods are nanoseconds per execution; one execution is one batch of [`batch`](Self::batch) frames.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Frames per execution.
    pub batch: usize,
    /// Batches that the first stage worked on.
    pub executions: u64,
    /// Frames that passed the last task.
    pub frames: u64,
    /// Most frames that could be on their way at once: what the rings and the threads have room for.
    pub most_frames_in_flight: u64,
    /// Time from the start of the work to its end on every thread, in seconds.
    pub seconds: f64,
    /// Period that the schedule promised; `None` for stages marked by hand and for one core.
    pub planned_period_ns: Option<f64>,
    /// Time of the run divided by the executions.
    pub measured_period_ns: f64,
    /// Index of the stage with the longest measured period: the one that limits.
    pub limiting_stage: usize,
    /// The stages, from source to sink.
    pub stages: Vec<StageReport>,
}

/// What one stage did, all its replicas together.
#[derive(Debug, Clone, Serialize)]
pub struct StageReport {
    /// The stage's name.
    pub name: String,
    /// Names of its tasks.
    pub tasks: Vec<String>,
    /// Replicas that ran it.
    pub threads: usize,
    /// Kind of core that the schedule asked for.
    pub kind: Option<String>,
    /// Planned time per execution, divided by the replicas; `None` without a profile.
    pub planned_ns: Option<f64>,
    /// Working time per execution, divided by the replicas.
    pub measured_ns: f64,
    /// Share of the run that the replicas worked, 0 to 1.
    pub busy: f64,
    /// Share of the run that they waited for input, 0 to 1.
    pub waiting_for_input: f64,
    /// Share of the run that they waited for room in the output, 0 to 1.
    pub waiting_for_output: f64,
    /// Frames that left the stage.
    pub frames: u64,
}

impl Report {
    pub(crate) fn new(
        batch: usize,
        executions: u64,
        elapsed: Duration,
        planned_period_ns: Option<f64>,
        most_frames_in_flight: u64,
        stages: Vec<StageReport>,
    ) -> Self {
        let longest =
            |a: &(usize, &StageReport), b: &(usize, &StageReport)| a.1.measured_ns.total_cmp(&b.1.measured_ns);
        Self {
            batch,
            executions,
            frames: stages.last().map_or(0, |stage| stage.frames),
            most_frames_in_flight,
            seconds: elapsed.as_secs_f64(),
            planned_period_ns,
            measured_period_ns: per(elapsed, executions),
            limiting_stage: stages.iter().enumerate().max_by(longest).map_or(0, |(index, _)| index),
            stages,
        }
    }
}

impl StageReport {
    #[allow(clippy::too_many_arguments, reason = "one call, which names what it sums")]
    pub(crate) fn new(
        plan: &StagePlan,
        tasks: Vec<String>,
        executions: u64,
        elapsed: Duration,
        busy: Duration,
        starved: Duration,
        blocked: Duration,
        frames: u64,
    ) -> Self {
        let all = elapsed.as_secs_f64() * plan.threads as f64;
        let share = |time: Duration| if all > 0.0 { (time.as_secs_f64() / all).min(1.0) } else { 0.0 };
        Self {
            name: plan.name.to_string(),
            tasks,
            threads: plan.threads,
            kind: plan.kind.clone(),
            planned_ns: plan.planned_ns,
            measured_ns: per(busy, executions) / plan.threads as f64,
            busy: share(busy),
            waiting_for_input: share(starved),
            waiting_for_output: share(blocked),
            frames,
        }
    }
}

fn per(time: Duration, executions: u64) -> f64 {
    if executions == 0 { 0.0 } else { time.as_nanos() as f64 / executions as f64 }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |ns: f64| format!("{:.1}", ns / 1000.0);
        let planned = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), microseconds);
        writeln!(
            f,
            "{:<30} {:>7} {:>10} {:>11} {:>5} {:>4} {:>4}",
            "stage", "threads", "planned us", "measured us", "busy%", "in%", "out%"
        )?;
        for (index, stage) in self.stages.iter().enumerate() {
            let limits = if index == self.limiting_stage && self.stages.len() > 1 { " <" } else { "" };
            writeln!(
                f,
                "{:<30} {:>7} {:>10} {:>11} {:>5.0} {:>4.0} {:>4.0}{limits}",
                abbreviated(&stage.name, 30),
                stage.threads,
                planned(stage.planned_ns),
                microseconds(stage.measured_ns),
                100.0 * stage.busy,
                100.0 * stage.waiting_for_input,
                100.0 * stage.waiting_for_output,
            )?;
        }
        write!(
            f,
            "{:<30} {:>7} {:>10} {:>11}",
            format!("whole, per {} frame(s)", self.batch),
            self.stages.iter().map(|stage| stage.threads).sum::<usize>(),
            planned(self.planned_period_ns),
            microseconds(self.measured_period_ns),
        )
    }
}

fn abbreviated(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, threads: usize, busy_us: u64) -> StageReport {
        let plan = StagePlan { name: name.into(), tasks: 0..1, threads, kind: None, planned_ns: Some(5000.0) };
        let elapsed = Duration::from_millis(1);
        StageReport::new(
            &plan,
            vec![name.into()],
            100,
            elapsed,
            Duration::from_micros(busy_us),
            elapsed / 4,
            elapsed / 8,
            99,
        )
    }

    #[test]
    fn periods_are_per_execution_and_replica() {
        let stages = vec![stage("front", 1, 500), stage("decode", 2, 1800)];
        let report = Report::new(1, 100, Duration::from_millis(1), Some(9000.0), 12, stages);
        assert_eq!(report.measured_period_ns, 10_000.0);
        assert_eq!(report.stages[0].measured_ns, 5_000.0);
        assert_eq!(report.stages[1].measured_ns, 9_000.0);
        assert!((report.stages[1].busy - 0.9).abs() < 1e-9);
        assert_eq!((report.limiting_stage, report.frames), (1, 99));
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let stages = vec![stage("a stage with a name that is much too long", 1, 500), stage("decode", 2, 1800)];
        let table = Report::new(16, 100, Duration::from_millis(1), None, 48, stages).to_string();
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(table.contains("9.0") && table.contains("whole, per 16 frame(s)"), "{table}");
    }

    #[test]
    fn nothing_run_is_not_a_division_by_zero() {
        let report = Report::new(1, 0, Duration::ZERO, None, 1, vec![]);
        assert_eq!(report.measured_period_ns, 0.0);
    }
}
