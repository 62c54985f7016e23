//! What tasks cost by the number of frames in a batch: lines through measured times, as a table and a document.

use bief::plan::BatchCosts;
use bief::schedule::realtime::{CostFit, CostSamples, FitMethod};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::text::{COLUMNS, shortened, wrapped};

/// The share of batches that the second line is for.
const QUANTILE: f64 = 0.99;

/// What was measured on one kind of core, and the lines of each task: usual, quantile, worst.
pub(super) struct Fitted {
    costs: BatchCosts,
    lines: Vec<[CostFit; 3]>,
}

impl Fitted {
    /// Lays the lines.
    pub(super) fn all(costs: Vec<BatchCosts>) -> Result<Vec<Self>, Failure> {
        let fitted = |costs: BatchCosts| {
            let lines = costs.tasks.iter().map(|task| {
                let line = |method| task.fit(method).map_err(Failure::from_error);
                Ok([line(FitMethod::Typical)?, line(FitMethod::Quantile(QUANTILE))?, line(FitMethod::Worst)?])
            });
            let lines = lines.collect::<Result<_, Failure>>()?;
            Ok(Self { costs, lines })
        };
        costs.into_iter().map(fitted).collect()
    }
}

/// The lines, in microseconds.
pub(super) fn table(fitted: &[Fitted]) -> String {
    let mut lines = wrapped(&format!("Measured on {}.", fitted[0].costs.machine), COLUMNS);
    for Fitted { costs, lines: fits } in fitted {
        lines.push(format!("\n{:<26} {:^15}  {:^15}  {:^15}", "", "usually", "99 of 100", "at worst"));
        let columns = format!("{:>7} {:>7}", "I", "D");
        let heading = shortened(&format!("on `{}`, us", costs.kind), 26);
        lines.push(format!("{heading:<26} {columns}  {columns}  {columns} {:>5}", "R2"));
        for (task, fits) in costs.tasks.iter().zip(fits) {
            let cells: Vec<String> = fits.iter().map(cells).collect();
            let poor = if fits[0].poor().next().is_some() { " !" } else { "" };
            let name = shortened(&task.name, 26);
            lines.push(format!("{name:<26} {} {:>5.2}{poor}", cells.join("  "), fits[0].r_squared));
        }
        lines.push(format!("{:<26} {:>7.2}", "a hand-over, asleep", costs.hand_over_ns / 1e3));
    }
    lines.join("\n")
}

/// *I* and *D* of a line, in microseconds.
fn cells(fit: &CostFit) -> String {
    let microseconds = |ns: f64| match ns / 1e3 {
        us if us < 99.995 => format!("{us:.2}"),
        us => format!("{us:.1}"),
    };
    format!("{:>7} {:>7}", microseconds(fit.cost.init_ns), microseconds(fit.cost.per_sample_ns))
}

/// The same for a machine to read, with what was measured.
pub(super) fn document(fitted: &[Fitted]) -> String {
    let kind = |Fitted { costs, lines }: &Fitted| {
        let task = |(task, fits): (&bief::plan::TaskCosts, &[CostFit; 3])| {
            let size = |size: &CostSamples| {
                let mut ns = size.ns.clone();
                ns.sort_by(f64::total_cmp);
                let at = |share: f64| ns[((ns.len() - 1) as f64 * share).round() as usize];
                json!({
                    "frames": size.samples, "batches": ns.len(), "min_ns": at(0.0), "median_ns": at(0.5),
                    "p99_ns": at(QUANTILE), "max_ns": at(1.0),
                })
            };
            let [usual, quantile, worst] = fits;
            json!({
                "name": task.name, "replicable": task.replicable,
                "usual": usual, "p99": quantile, "worst": worst,
                "sizes": task.sizes.iter().map(size).collect::<Vec<Value>>(),
            })
        };
        let tasks: Vec<Value> = costs.tasks.iter().zip(lines).map(task).collect();
        json!({ "kind": costs.kind, "hand_over_ns": costs.hand_over_ns, "tasks": tasks })
    };
    let kinds: Vec<Value> = fitted.iter().map(kind).collect();
    format!("{:#}\n", json!({ "machine": fitted[0].costs.machine, "kinds": kinds }))
}
