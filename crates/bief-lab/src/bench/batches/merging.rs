//! The same tasks together on one thread, and on a thread each.

use std::time::Duration;

use bief::machine::class::probe;
use bief::machine::clock::process_time;
use bief::pipeline::Waiting;
use bief::realtime::{Class, RealTime};
use bief::schedule::realtime::{Cost, CostFit, CostSamples};
use bief::{Chain, Flow, Pipeline, source};
use bief_cli::failure::Failure;
use bief_dsp::Complex32;
use bief_radio::Shift;
use serde::Serialize;

use super::fitted;
use crate::bench::case::Case;

/// From one batch to the next: threads have long been asleep when it comes.
const PERIOD: Duration = Duration::from_millis(1);
/// Other programs are kept from the cores meanwhile, where the system permits that.
const PRIORITY: u32 = 80;

/// So many tasks behind the source, on one thread or on one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Source,
    Merged(u32),
    Separate(u32),
}

pub(super) const LAYOUTS: [Layout; 6] =
    [Layout::Source, Layout::Merged(1), Layout::Merged(2), Layout::Separate(2), Layout::Merged(4), Layout::Separate(4)];

impl Layout {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Source => "source".to_owned(),
            Self::Merged(tasks) => format!("merged-{tasks}"),
            Self::Separate(tasks) => format!("separate-{tasks}"),
        }
    }

    fn pipeline(self, size: usize, batches: u64) -> bief::Result<Pipeline> {
        let mut left = batches;
        let mut chain = Chain::new();
        let fill = move |samples: &mut [Complex32]| {
            let more = left.checked_sub(1);
            left = more.unwrap_or(0);
            samples.fill(Complex32::new(0.5, 0.5));
            Ok(if more.is_some() { Flow::Next } else { Flow::Stop })
        };
        let mut samples = chain.add(source::from_fn(size, fill), ());
        chain.add(source::pace(size as f64 / PERIOD.as_secs_f64()).0, &mut samples);
        let (tasks, apart) = match self {
            Self::Source => (0, false),
            Self::Merged(tasks) => (tasks, false),
            Self::Separate(tasks) => (tasks, true),
        };
        for task in 0..tasks {
            if task == 0 || apart {
                chain.stage(&format!("shift {}", task + 1));
            }
            chain.add(Shift::new(1e6, 1e3)?, &mut samples);
        }
        Ok(chain.build()?.pipeline_as_marked()?.waiting(Waiting::Passive))
    }

    /// Processor time of a batch, of all threads together, in nanoseconds.
    fn ns(self, size: usize, seconds: f64) -> bief::Result<f64> {
        let batches = (seconds / PERIOD.as_secs_f64()).ceil() as u64;
        // Locking memory would be counted, too.
        let mut pipeline = self.pipeline(size, batches)?.real_time(RealTime::fifo(PRIORITY).lock_memory(false))?;
        let before = process_time();
        let report = pipeline.run()?;
        Ok((process_time() - before).as_secs_f64() * 1e9 / report.frames as f64)
    }
}

/// Why other programs are not kept from the cores, where they are not.
pub(crate) fn disturbed() -> Option<String> {
    probe(Class::Fifo { priority: PRIORITY }, Duration::ZERO).err().map(|error| error.to_string())
}

pub(super) fn cases(sizes: &[u32], seconds: f64) -> Vec<Case> {
    let each = LAYOUTS.into_iter().flat_map(|layout| sizes.iter().map(move |&size| (layout, size)));
    each.map(|(layout, size)| {
        let measure = move || Ok(layout.ns(size as usize, seconds).map_err(Failure::from_error)?.into());
        Case::new(format!("{}/{size}", layout.name()), ("Processor time of a batch", "ns"), measure)
    })
    .collect()
}

/// What a layout costs.
pub(crate) struct Line {
    pub(crate) layout: Layout,
    /// With the source.
    pub(crate) fit: CostFit,
    /// What is left of it without; 0 at least.
    pub(crate) beyond_source: Cost,
}

/// The lines of all layouts, in their order.
pub(super) fn lines(cases: &[Case], sizes: &[u32]) -> Result<Vec<Line>, Failure> {
    let mut lines: Vec<Line> = Vec::new();
    for (layout, cases) in LAYOUTS.into_iter().zip(cases.chunks(sizes.len())) {
        let rows = sizes.iter().zip(cases).map(|(&size, case)| {
            let ns = case.readings.iter().map(|reading| reading.value).collect();
            CostSamples { samples: size.into(), ns }
        });
        let fit = fitted(&rows.collect::<Vec<_>>()).map_err(Failure::from_error)?;
        let source = lines.first().map_or(fit.cost, |line| line.fit.cost);
        let beyond_source = Cost {
            init_ns: (fit.cost.init_ns - source.init_ns).max(0.0),
            per_sample_ns: (fit.cost.per_sample_ns - source.per_sample_ns).max(0.0),
        };
        lines.push(Line { layout, fit, beyond_source });
    }
    Ok(lines)
}

/// What merging so many tasks made of a line, as shares; `None` where there is nothing to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Merging {
    pub(crate) tasks: u32,
    /// What a batch costs before its first sample, of what it does with the tasks on a thread each.
    pub(crate) init_of_separate: Option<f64>,
    /// The same, of what it does with one of the tasks.
    pub(crate) init_of_one: Option<f64>,
    /// What a sample costs, of what it does with the tasks on a thread each.
    pub(crate) per_sample_of_separate: Option<f64>,
}

/// Each number of tasks that was measured both ways.
pub(crate) fn merging(lines: &[Line]) -> Vec<Merging> {
    let cost = |layout| lines.iter().find(|line| line.layout == layout).map(|line| line.beyond_source);
    let over = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let pair = |line: &Line| {
        let Layout::Separate(tasks) = line.layout else { return None };
        let (merged, separate, one) = (cost(Layout::Merged(tasks))?, line.beyond_source, cost(Layout::Merged(1))?);
        Some(Merging {
            tasks,
            init_of_separate: over(merged.init_ns, separate.init_ns),
            init_of_one: over(merged.init_ns, one.init_ns),
            per_sample_of_separate: over(merged.per_sample_ns, separate.per_sample_ns),
        })
    };
    lines.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::case::Reading;

    #[test]
    fn merging_is_told_beyond_the_source() {
        let sizes = [100, 200, 400];
        // The source: 10 us; a thread: 20 us; each task: 2 us and 1 ns for a sample.
        let us = |layout: Layout, size: u32| match layout {
            Layout::Source => 10.0,
            Layout::Merged(tasks) => 30.0 + f64::from(tasks) * (2.0 + f64::from(size) / 1e3),
            Layout::Separate(tasks) => 10.0 + f64::from(tasks) * (22.0 + f64::from(size) / 1e3),
        };
        let mut cases = cases(&sizes, 1.0);
        for (index, case) in cases.iter_mut().enumerate() {
            let value = 1e3 * us(LAYOUTS[index / sizes.len()], sizes[index % sizes.len()]);
            case.readings = vec![Reading { value, probe_ns: None }];
        }
        let found = merging(&lines(&cases, &sizes).unwrap());
        assert_eq!(found.iter().map(|found| found.tasks).collect::<Vec<_>>(), [2, 4]);
        for (found, (separate, one)) in found.iter().zip([(24.0 / 44.0, 24.0 / 22.0), (28.0 / 88.0, 28.0 / 22.0)]) {
            let pairs =
                [(found.init_of_separate, separate), (found.init_of_one, one), (found.per_sample_of_separate, 1.0)];
            assert!(pairs.iter().all(|(found, expected)| (found.unwrap() - expected).abs() < 1e-6), "{found:?}");
        }
    }

    #[test]
    fn every_layout_runs() {
        for (layout, threads) in LAYOUTS.into_iter().zip([1, 2, 2, 3, 2, 5]) {
            let mut pipeline = layout.pipeline(8, 3).unwrap();
            assert_eq!(pipeline.slots().len(), threads, "{layout:?}");
            assert_eq!(pipeline.run().unwrap().frames, 3);
        }
    }
}
