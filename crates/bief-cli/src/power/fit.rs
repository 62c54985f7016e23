//! `bief power fit`: what idle and the busy cores of each kind draw, by least squares from measured runs.

use std::path::PathBuf;

use bief_schedule::{FitErrors, FittedKind, FittedRow, Platform, PowerFit, PowerRow};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use super::rows::Rows;
use crate::document;
use crate::failure::Failure;
use crate::files::Files;
use crate::json::{JsonArgs, print};
use crate::shipped::{SHIPPED, Shipped, shipped};
use crate::table::facts;
use crate::text::{COLUMNS, counted, printable, shortened, wrapped};

const EXAMPLES: &str = "\
Examples:
  bief power fit runs.csv
      the watts when idle and of busy cores, and how well they explain the runs
  bief power fit runs.csv --platform board.json -o board.json
      the same, written to a platform file for bief plan --platform
  bief power fit runs.json --saturate big --json
      a processor that lowers its clock when many big cores are busy
  bief power fit --published x7_ti --saturate big
      a built-in machine, from the ten runs in Table 2 of Idouar et al.

Rows:
  A CSV file whose first line names its columns: one for each kind of core with
  the mean number of its cores that were busy, watts, and name if rows have any:
      name,big,little,watts
      idle-ish,0.1,0.4,4.1
      full,3.9,2.5,10.2
  Or a JSON file: [{\"name\": \"full\", \"busy\": {\"big\": 3.9}, \"watts\": 10.2}]; a
  kind that is left out had no busy core; other keys are ignored.
  A core is busy for its share of the time: a stage of 3 ms of work in a
  pipeline with a period of 4 ms keeps 0.75 cores busy.

The fit needs at least 4 rows, and one more than it has unknowns; 6 or more rows
with different numbers of busy cores are better.";

/// Arguments of `bief power fit`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FitArgs {
    /// The measured runs, a CSV or JSON file; - reads standard input
    #[arg(value_name = "ROWS", required_unless_present = "published", conflicts_with = "published")]
    rows: Option<PathBuf>,

    /// Take the published runs of this machine, and its cores
    #[arg(long, value_name = "NAME", value_parser = names(), conflicts_with = "platform")]
    published: Option<String>,

    /// The kind of core whose power saturates as more cores are busy
    #[arg(long, value_name = "KIND")]
    saturate: Option<String>,

    /// A platform file with the number of cores, for --output
    #[arg(long, value_name = "FILE", requires = "output")]
    platform: Option<PathBuf>,

    /// Write the cores with the fitted watts, to four digits, as a platform file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgs,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(SHIPPED.iter().map(|machine| machine.name))
}

/// Fits, shows what was found, and writes it where that is asked for.
pub(super) fn run(args: FitArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    args.rows.iter().chain(&args.platform).try_for_each(|path| files.read(path))?;
    args.output.as_deref().map_or(Ok(()), |path| files.write(path, "--output"))?;
    args.json.claim(&mut files)?;
    let machine = args.published.as_deref().and_then(shipped);
    let rows = match (&args.rows, machine) {
        (_, Some(machine)) => Rows::published(machine)?,
        (Some(path), None) => Rows::read(path)?,
        (None, None) => return Err(Failure::usage("no ROWS: name a file, or a machine with --published")),
    };
    let fit = fit(&rows, args.saturate.as_deref())?;
    if let Some(path) = &args.output {
        let platform = fit.applied_to(&cores(&args, machine)?).map_err(Failure::from_error)?;
        document::write(path, &platform.to_json())?;
    }
    args.json.write(|| to_json(&rows, &fit))?;
    if args.json.on_stdout() {
        return Ok(());
    }
    print(&table(&rows, &fit))
}

fn fit(rows: &Rows, saturate: Option<&str>) -> Result<PowerFit, Failure> {
    let kinds: Vec<&str> = rows.kinds.iter().map(String::as_str).collect();
    PowerFit::new(&kinds, &rows.rows, saturate).map_err(Failure::from_error)
}

/// The cores to which the watts belong.
fn cores(args: &FitArgs, machine: Option<&Shipped>) -> Result<Platform, Failure> {
    match (&args.platform, machine) {
        (Some(path), _) => document::read(path, Platform::from_json),
        (None, Some(machine)) => Platform::from_json(machine.platform).map_err(Failure::from_error),
        (None, None) => {
            let reason = "--output: the rows do not say how many cores there are: give --platform FILE, too";
            Err(Failure::usage(reason))
        }
    }
}

fn to_json(rows: &Rows, fit: &PowerFit) -> String {
    let row = |((name, row), fitted): ((&String, &PowerRow), &FittedRow)| {
        let busy = rows.kinds.iter().cloned().zip(row.busy.iter().map(|&busy| json!(busy)));
        json!({
            "name": name, "busy": serde_json::Map::from_iter(busy), "watts": fitted.watts,
            "modelled_watts": fitted.modelled_watts, "left_out_watts": fitted.left_out_watts,
        })
    };
    let json = json!({
        "idle_watts": fit.idle_watts,
        "kinds": fit.kinds,
        "errors": fit.errors(),
        "left_out_errors": fit.left_out_errors(),
        "rows": rows.names.iter().zip(&rows.rows).zip(&fit.rows).map(row).collect::<Vec<_>>(),
    });
    format!("{json:#}")
}

/// The widest name of a row, and of a kind.
const NAME: usize = 16;
const KIND: usize = 9;

fn table(rows: &Rows, fit: &PowerFit) -> String {
    let kind = |kind: &FittedKind| {
        let watts = digits(kind.watts);
        match (kind.saturation, kind.max_watts()) {
            (Some(saturation), Some(most)) => {
                format!("{watts} W at first, {} W at most; 63 % of it at {} cores", digits(most), digits(saturation))
            }
            _ => format!("{watts} W for each busy core"),
        }
    };
    let short: Vec<String> = fit.kinds.iter().map(|kind| shortened(&printable(&kind.name), NAME)).collect();
    let mut found = vec![("idle", format!("{} W", digits(fit.idle_watts)))];
    found.extend(short.iter().map(String::as_str).zip(fit.kinds.iter().map(kind)));
    let mut lines = vec![facts(&found), String::new()];

    let names: Vec<String> = rows.names.iter().map(|name| shortened(&printable(name), NAME)).collect();
    let width = names.iter().map(|name| name.chars().count()).chain(["run".len()]).max().unwrap_or(0);
    // The busy cores of so many kinds fit beside the watts and the errors.
    let shown = rows.kinds.len().min((COLUMNS - width - 4 * 10) / (KIND + 2));
    let kinds = rows.kinds[..shown].iter().map(|kind| format!("  {:>KIND$}", shortened(&printable(kind), KIND)));
    lines.push(format!("{:width$}{}         W     model     error  left out", "run", kinds.collect::<String>()));
    for ((name, row), fitted) in names.iter().zip(&rows.rows).zip(&fit.rows) {
        let busy: String = row.busy[..shown].iter().map(|busy| format!("  {busy:>KIND$.3}")).collect();
        lines.push(format!(
            "{name:width$}{busy}  {:>8.2}  {:>8.2}  {:>8}  {:>8}",
            fitted.watts,
            fitted.modelled_watts,
            percent(fitted.error()),
            fitted.left_out_error().map_or_else(|| "-".to_owned(), percent),
        ));
    }
    lines.push(String::new());
    lines.extend(notes(rows, fit).iter().flat_map(|note| wrapped(note, COLUMNS)));
    lines.join("\n")
}

/// What the errors are, and whether they are to be relied on.
fn notes(rows: &Rows, fit: &PowerFit) -> Vec<String> {
    let told = |errors: FitErrors| {
        format!("{:.2} % in the mean, {:.1} % at most", 100.0 * errors.mean, 100.0 * errors.greatest)
    };
    let left_out = match fit.left_out_errors() {
        Some(errors) => format!("Each run compared with a fit of all others (left out): {}.", told(errors)),
        None => "Left out: what a fit of all other runs says; - where these do not tell every kind's watts.".to_owned(),
    };
    let few = (rows.rows.len() < PowerFit::ENOUGH_ROWS).then(|| {
        format!(
            "Warning: {} explain themselves too well: measure {} or more, with other numbers of busy cores.",
            counted(rows.rows.len(), "run"),
            PowerFit::ENOUGH_ROWS
        )
    });
    let errors = format!("The fit is off by {}.", told(fit.errors()));
    [Some(errors), Some(left_out), few].into_iter().flatten().collect()
}

/// A number with the four digits that a platform file gets.
fn digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().expect("a number was written");
    rounded.to_string()
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(name: &str) -> (Rows, PowerFit) {
        let rows = Rows::published(shipped(name).unwrap()).unwrap();
        let fit = fit(&rows, (name == "x7_ti").then_some("big")).unwrap();
        (rows, fit)
    }

    #[test]
    fn the_platforms_that_ship_are_these_fits() {
        for machine in SHIPPED {
            let platform = Platform::from_json(machine.platform).unwrap();
            let (rows, fit) = published(machine.name);
            assert_eq!(rows.rows.len(), 10);
            assert_eq!(fit.applied_to(&platform).unwrap(), platform, "{}", machine.name);
        }
    }

    /// What is known of these rows from elsewhere: idle, big and little watts, mean and greatest error, the same left out, in
    /// percent.
    #[test]
    fn the_fits_are_those_that_were_found_before() {
        for (name, watts, errors, left_out) in [
            ("orange_pi_5_plus", [3.158, 1.567, 0.440], [1.95, 5.6], [2.9, 7.6]),
            ("mac_studio", [16.402, 4.173, 0.383], [1.21, 2.8], [1.9, 5.6]),
            ("ai370", [4.016, 8.800, 5.268], [1.21, 3.0], [1.7, 4.3]),
        ] {
            let (_, fit) = published(name);
            let found = [fit.idle_watts, fit.kinds[0].watts, fit.kinds[1].watts];
            assert!(found.iter().zip(watts).all(|(found, known)| (found - known).abs() < 0.00051), "{name}: {found:?}");
            let said = [fit.errors(), fit.left_out_errors().unwrap()].map(|errors| [errors.mean, errors.greatest]);
            let said = said.as_flattened().iter().map(|error| 100.0 * error);
            let known = [errors, left_out].concat();
            assert!(said.zip(known).all(|(said, known)| (said - known).abs() < 0.06), "{name}: {fit:?}");
        }
    }

    /// One row of each machine that was worked out by hand: busy cores, and what the fit makes of them.
    #[test]
    fn busy_cores_and_watts_of_single_rows_are_those_worked_out_by_hand() {
        for (name, id, busy, watts) in [
            ("orange_pi_5_plus", "S1", [0.0, 1.7163], 3.91),
            ("orange_pi_5_plus", "S10", [3.5166, 3.1665], 10.06),
            ("mac_studio", "S20", [6.654, 3.1372], 45.4),
            ("ai370", "S30", [0.8638, 4.2426], 34.0),
        ] {
            let (rows, fit) = published(name);
            let at = rows.names.iter().position(|name| name == id).unwrap();
            assert!(rows.rows[at].busy.iter().zip(busy).all(|(found, known)| (found - known).abs() < 1e-4), "{id}");
            assert!((fit.rows[at].modelled_watts - watts).abs() < 0.05, "{id}: {}", fit.rows[at].modelled_watts);
        }
    }

    /// Without saturation the fit of the machine that holds a power limit is far off; with it no other curve of the same
    /// form leaves less.
    #[test]
    fn the_machine_with_a_power_limit_needs_saturation() {
        let (rows, fit) = published("x7_ti");
        let straight = super::fit(&rows, None).unwrap();
        assert!((100.0 * straight.errors().mean - 13.2).abs() < 0.06);
        assert!((100.0 * straight.errors().greatest - 28.9).abs() < 0.06);
        assert!(fit.errors().mean < 0.05 && fit.left_out_errors().unwrap().mean < 0.1, "{fit:?}");
        let squares = |modelled: &dyn Fn(&[f64], usize) -> f64| -> f64 {
            rows.rows.iter().enumerate().map(|(at, row)| (modelled(&row.busy, at) - row.watts).powi(2)).sum()
        };
        let here = squares(&|_, at| fit.rows[at].modelled_watts);
        // The curve with the least squares of relative errors.
        let relative = |busy: &[f64]| 19.29 + 51.6 * (1.0 - (-busy[0] / 1.585).exp()) + 2.39 * busy[1];
        let errors = FitErrors::of(rows.rows.iter().map(|row| relative(&row.busy) / row.watts - 1.0));
        assert!((100.0 * errors.mean - 5.4).abs() < 0.06 && (100.0 * errors.greatest - 13.2).abs() < 0.06);
        assert!(here < squares(&|busy, _| relative(busy)));
        assert!(fit.errors().mean < errors.mean);
    }

    #[test]
    fn the_table_fits_the_terminal_and_warns_of_few_rows() {
        let (rows, fit) = published("x7_ti");
        let text = table(&rows, &fit);
        assert!(
            text.starts_with("idle    19.88 W\nbig     36.61 W at first, 50.19 W at most; 63 % of it at 1.371 cores\n"),
            "{text}"
        );
        assert!(text.contains("\nS31      0.000      2.917     27.20     26.29    -3.4 %"), "{text}");
        assert!(
            text.contains("The fit is off by 4.77 % in the mean, 17.6 % at most.") && !text.contains("Warning"),
            "{text}"
        );
        let long = Rows {
            kinds: vec!["performance-cores".repeat(3), "efficiency-cores".repeat(3)],
            names: (0..5).map(|row| format!("a run with a long name {row}")).collect(),
            rows: rows.rows[1..6].to_vec(),
        };
        let text = table(&long, &super::fit(&long, None).unwrap());
        assert!(text.contains("Warning: 5 runs"), "{text}");
        for line in text.lines().chain(table(&rows, &fit).lines()) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
    }
}
