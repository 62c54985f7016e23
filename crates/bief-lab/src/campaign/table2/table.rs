//! Table 2 for the terminal: rates, then power, then what follows for each machine.

use bief_cli::text::{COLUMNS, wrapped};
use bief_schedule::{FitErrors, Power};

use super::{Machine, Row, mj_per_frame, platform_name};

/// What the model can say of the paper's Figure 7, the same schedules with their threads placed by four policies.
const PINNING: &str = "Figure 7 of the paper compares where threads are put (loose, guided, packed, distant). The model has no \
                       caches and no operating system: guided, packed and distant are one and the same schedule in it, and so \
                       is loose as long as each thread keeps a core of its stage's kind to itself. It tells nothing about \
                       their differences.";

pub(super) fn table(rows: &[Row]) -> String {
    let parts = [rates(rows), power(rows), machines(rows), wrapped(PINNING, COLUMNS).join("\n")];
    parts.join("\n\n")
}

fn rates(rows: &[Row]) -> String {
    let heading = "Table 2, rates: schedules of the DVB-S2 receiver, computed now (here) and printed in the paper (paper). Those \
                   of the paper simulated now (sim), planned there (paper), and measured there (real); error: of the simulated \
                   rate. Stages: = as in the paper.";
    let mut lines = wrapped(heading, COLUMNS);
    let columns = format!(
        "{:12} {:>8} {:>8}   {:>6} {:>6} {:>6} {:>8}  stages",
        "", "us here", "paper", "sim", "paper", "real", "error"
    );
    for group in groups(rows) {
        lines.push(String::new());
        lines.push(format!("{}, Mb/s", title(group)));
        lines.push(columns.clone());
        for row in group {
            let printed = &row.printed;
            lines.push(format!(
                "{} {:>8.1} {:>8.1}{}  {:>6.1} {:>6.1} {:>6.1} {:>8}  {}",
                name(row),
                row.period_us(),
                printed.period_us,
                if row.period_agrees { ' ' } else { '!' },
                row.simulated_mbps,
                printed.sim_mbps,
                printed.real_mbps,
                percent(row.rate_error()),
                if row.stages_agree { "=" } else { "differ" },
            ));
        }
    }
    lines.push(String::new());
    let others: Vec<&Row> = rows.iter().filter(|row| !row.stages_agree).collect();
    if !others.is_empty() {
        lines.push("Other stages, as tasks x cores: here, then paper".to_owned());
        for row in others {
            lines.push(format!("{:3} {}", row.printed.id, row.computed_stages()));
            lines.push(format!("    {}", row.printed_stages()));
        }
        lines.push(String::new());
    }
    lines.extend(wrapped(&verdict(rows), COLUMNS));
    lines.join("\n")
}

fn power(rows: &[Row]) -> String {
    let heading = "Table 2, power: the paper's schedules, measured there (real), and modelled with the cores that are busy at the \
                   measured period and at the planned one. mJ: of a frame of 14232 bits.";
    let mut lines = wrapped(heading, COLUMNS);
    let columns = format!(
        "{:12} {:>6} {:>8} {:>7} {:>7} {:>7}  {:>5} {:>8} {:>7}",
        "", "W real", "measured", "error", "planned", "error", "mJ", "measured", "planned"
    );
    for group in groups(rows) {
        lines.push(String::new());
        lines.push(title(group));
        lines.push(columns.clone());
        for row in group {
            let error = |power: Power| percent(row.watts_error(power));
            lines.push(format!(
                "{} {:>6.1} {:>8.1} {:>7} {:>7.1} {:>7}  {:>5.1} {:>8.1} {:>7.1}",
                name(row),
                row.printed.watts,
                row.at_measured.watts,
                error(row.at_measured),
                row.at_planned.watts,
                error(row.at_planned),
                row.printed.mj_per_frame,
                mj_per_frame(row.at_measured),
                mj_per_frame(row.at_planned),
            ));
        }
    }
    lines.join("\n")
}

fn machines(rows: &[Row]) -> String {
    let heading = "Errors without their signs, mean and greatest, in %; and in which schedule a frame takes the least energy, as \
                   measured, and as modelled at the measured and at the planned period.";
    let mut lines = wrapped(heading, COLUMNS);
    lines.push(String::new());
    lines.push(format!(
        "{:12} {:>12} {:>12} {:>12}  {}",
        "", "sim. rate", "W, measured", "W, planned", "least mJ per frame"
    ));
    let told = |errors: FitErrors| format!("{:.1} {:>5.1}", 100.0 * errors.mean, 100.0 * errors.greatest);
    for machine in Machine::of(rows) {
        lines.push(format!(
            "{:12} {:>12} {:>12} {:>12}  {}",
            platform_name(machine.name),
            told(machine.rate_errors()),
            told(machine.measured_errors()),
            told(machine.planned_errors()),
            machine.frugal().map(|ids| ids.join("=")).join(", "),
        ));
    }
    lines.push(String::new());
    let why = "Simulated rates are too high where clocks drop under load and where handing over costs: neither is in Table 3. \
               Watts at the planned period are then those of a pipeline that is faster than the measured one.";
    lines.extend(wrapped(why, COLUMNS));
    lines.join("\n")
}

fn verdict(rows: &[Row]) -> String {
    let count = |agrees: fn(&Row) -> bool| rows.iter().filter(|row| agrees(row)).count();
    format!(
        "{} of {} periods and {} of {} decompositions are those of the paper.",
        count(|row| row.period_agrees),
        rows.len(),
        count(|row| row.stages_agree),
        rows.len()
    )
}

/// Neighbouring rows of the same machine and cores.
fn groups(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    let budget = |row: &Row| (row.printed.platform.clone(), row.cores);
    rows.chunk_by(move |a, b| budget(a) == budget(b))
}

fn title(group: &[Row]) -> String {
    let first = &group[0];
    format!("{}, R = {}", platform_name(&first.printed.platform), first.cores)
}

fn name(row: &Row) -> String {
    format!("{:3} {:8}", row.printed.id, row.strategy.name())
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}
