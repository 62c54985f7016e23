//! `bief lab campaign`: each experiment on few chains.

use std::path::Path;

use serde_json::Value;

use crate::folder::Folder;

/// The text of a file of the folder `campaign`.
fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(&format!("campaign/{name}"))).unwrap()
}

/// Checks that every element of an SVG is closed where it should be, and answers how many there are.
fn elements(svg: &str) -> usize {
    assert!(svg.starts_with("<svg ") && svg.contains("xmlns=\"http://www.w3.org/2000/svg\""), "{}", &svg[..80]);
    let mut open = Vec::new();
    let mut count = 0;
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else {
            count += 1;
            if !tag.ends_with('/') {
                open.push(tag.split_whitespace().next().unwrap());
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    count
}

fn fits_the_terminal(shown: &str) {
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn table1_writes_45_rows_beside_the_printed_ones() {
    let folder = Folder::new("table1");
    let shown = folder.succeed(["campaign", "table1", "--chains", "4", "--batches", "0"]);
    fits_the_terminal(&shown);
    assert!(shown.contains("of 45 rows agree with the paper"), "{shown}");
    assert!(shown.replace('\n', " ").contains("the cores of HeRAD for 36 of 36 chains."), "{shown}");
    let csv = text(&folder, "table1.csv");
    assert!(
        csv.starts_with(
            "big,little,ratio,strategy,chains,percent_optimal,mean,median,max,big_used,little_used,printed_"
        )
    );
    // Five strategies of the paper and the exact search.
    assert_eq!(csv.lines().count(), 1 + 9 * 6);
    let printed = csv.lines().filter(|line| line.split(',').nth(11).is_some_and(|printed| !printed.is_empty()));
    assert_eq!(printed.count(), 1 + 45);
    assert!(elements(&text(&folder, "table1.svg")) > 100);
    for name in ["table1.csv", "table1.svg"] {
        assert!(shown.contains(Path::new("campaign").join(name).to_str().unwrap()), "{shown}");
    }
}

#[test]
fn figure1_does_not_depend_on_threads_but_on_the_seed() {
    let folder = Folder::new("figure1");
    let run = |threads: &str, seed: &str| {
        let arguments = ["campaign", "figure1", "--chains", "9", "--threads", threads, "--seed", seed];
        let shown = folder.succeed(arguments);
        fits_the_terminal(&shown);
        (text(&folder, "figure1.csv"), text(&folder, "figure1a.svg"))
    };
    let alone = run("1", "1");
    assert!(alone.0.starts_with("big,little,ratio,strategy,slowdown,percent_of_chains\n16,4,0.2,OTAC (L),"));
    assert_eq!(
        alone.0.lines().filter(|line| line.ends_with(",100.0000")).count(),
        36,
        "every curve ends at all chains"
    );
    assert_eq!(run("2", "1"), alone);
    assert!(run("2", "2").0 != alone.0);
    for name in ["figure1a.svg", "figure1b.svg"] {
        assert!(elements(&text(&folder, name)) > 100);
    }
}

#[test]
fn figure2_counts_every_chain() {
    let folder = Folder::new("figure2");
    let shown = folder.succeed(["campaign", "figure2", "--chains", "20", "--json", "found.json"]);
    fits_the_terminal(&shown);
    let csv = text(&folder, "figure2.csv");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("chains,extra_big,extra_little,count,percent_of_all_chains"));
    let counts = lines.filter(|line| line.starts_with("all,")).map(|line| line.split(',').nth(3).unwrap());
    assert_eq!(counts.map(|count| count.parse::<u32>().unwrap()).sum::<u32>(), 20);
    assert!(elements(&text(&folder, "figure2.svg")) > 20);
    let json: Value = serde_json::from_slice(&folder.read("found.json")).unwrap();
    let counts = json["all"].as_array().unwrap().iter().map(|cell| cell["count"].as_u64().unwrap());
    assert_eq!((counts.sum::<u64>(), json["shares"].as_array().unwrap().len()), (20, 7));
}

#[test]
fn figure3_skips_what_the_budget_does_not_allow() {
    let folder = Folder::new("figure3");
    let shown = folder.succeed(["campaign", "figure3", "--budget", "0", "--chains", "1"]);
    fits_the_terminal(&shown);
    let csv = text(&folder, "figure3.csv");
    assert!(csv.starts_with("strategy,tasks,big,little,ratio,chains,median_us,reference_us\n"));
    assert_eq!(csv.lines().count(), 1 + (4 * 8 + 11) * 3 * 9);
    // The first point of each line tells what the next would take. Of the lines over the cores of 20 tasks the second is known
    // from the lines over tasks, and of the one over the ratios of 20 tasks three more.
    let measured = csv.lines().filter(|line| line.split(',').nth(5) == Some("1"));
    assert_eq!(measured.count(), ((4 + 1) * 3 + 3 + 3) * 9);
    assert!(csv.contains("\nHeRAD,160,20,20,0.2,0,,"), "{csv}");
    assert!(elements(&text(&folder, "figure3.svg")) > 100);
}

#[test]
fn table2_reaches_all_periods_of_the_paper() {
    let folder = Folder::new("table2");
    let shown = folder.succeed(["campaign", "table2", "--output", "campaign"]);
    fits_the_terminal(&shown);
    assert!(shown.contains("40 of 40 periods and "), "{shown}");
    let csv = text(&folder, "table2.csv");
    assert!(csv.starts_with("id,platform,big,little,strategy,stages,printed_stages,stages_agree,"));
    assert_eq!(csv.lines().count(), 41);
    for name in ["table2.svg", "table2_power.svg"] {
        assert!(elements(&text(&folder, name)) > 100);
    }
    let json: Value = serde_json::from_str(&folder.succeed(["campaign", "table2", "--json"])).unwrap();
    assert_eq!((&json["periods_agree"], json["rows"].as_array().unwrap().len()), (&40.into(), 40));
    assert_eq!(json["files"].as_array().unwrap().len(), 3);
    assert_eq!(json["platforms"][3]["most_frugal"]["measured"], Value::from(vec!["S39"]));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn batching_judges_the_claims_and_does_not_depend_on_threads() {
    let folder = Folder::new("batching");
    let run = |threads: &str| {
        let shown = folder.succeed(["campaign", "batching", "--graphs", "30", "--threads", threads, "--seconds", "0"]);
        fits_the_terminal(&shown);
        assert!(shown.contains(" of 8 claims of the paper are reproduced."), "{shown}");
        (shown, text(&folder, "batching.csv"), text(&folder, "limits.csv"))
    };
    let alone = run("1");
    assert_eq!(run("2"), alone);
    assert!(alone.1.starts_with("graphs,batching,batch,count,fitting,utilisation,latency_us\nlight,uniform,1,30,30,"));
    assert_eq!(alone.1.lines().count(), 1 + 2 * 2 * 10 + 2 * 7);
    assert_eq!(alone.2.lines().count(), 1 + 2 * 2 * 5);
    assert_eq!(text(&folder, "merging.csv").lines().count(), 1 + 2 * 4);
    for name in ["batching.svg", "limits.svg"] {
        assert!(elements(&text(&folder, name)) > 100);
    }
    let json: Value =
        serde_json::from_str(&folder.succeed(["campaign", "batching", "--graphs", "1", "--seconds", "0.01", "--json"]))
            .unwrap();
    assert_eq!((json["claims"].as_array().unwrap().len(), json["files"].as_array().unwrap().len()), (14, 7));
    assert_eq!(json["measured"]["layouts"].as_array().unwrap().len(), 6);
    assert_eq!(text(&folder, "blocks.csv").lines().count(), 1 + 6 * 5);
    assert!(elements(&text(&folder, "blocks.svg")) > 40);
}

/// The values of a column, by its name, in the lines that hold all of these cells.
fn column(csv: &str, name: &str, cells: &[&str]) -> Vec<f64> {
    let at = csv.lines().next().unwrap().split(',').position(|other| other == name).unwrap_or_else(|| panic!("{name}"));
    let lines = csv.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    lines.filter(|line| cells.iter().all(|cell| line.contains(cell))).map(|line| line[at].parse().unwrap()).collect()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn ftfc_gains_with_heterogeneity_and_not_what_the_paper_printed() {
    let folder = Folder::new("ftfc");
    let arguments = ["campaign", "ftfc", "--runs", "4", "--seconds", "2", "--budget", "0", "--threads"];
    let run = |threads: &str| {
        let shown = folder.succeed(arguments.iter().chain(&[threads]));
        fits_the_terminal(&shown);
        assert!(shown.contains(" of 15 claims of the paper are reproduced."), "{shown}");
        text(&folder, "ftfc_gains.csv")
    };
    let csv = run("1");
    assert_eq!(run("2"), csv);
    assert!(
        csv.starts_with("demands,slow,hm_printed,hm_std,policy,runs,throughput_percent,throughput_percent_margin,")
    );
    assert_eq!(csv.lines().count(), 1 + 2 * 16 * 7);
    for demands in ["uniform", "bimodal"] {
        let gains = column(&csv, "throughput_percent", &[demands, "BSM"]);
        assert_eq!((gains.len(), gains[0]), (16, 0.0));
        // Slow cores of capacity 0.8, 0.6, 0.4, 0.2 and 0.1.
        assert!(gains[11] > 0.0 && gains[11..15].is_sorted_by(|a, b| a < b) && gains[15] > 15.0, "{gains:?}");
        let oracle = column(&csv, "throughput_percent", &[demands, "oracle"]);
        assert!(oracle.iter().zip(&gains).all(|(oracle, gain)| *gain < oracle + 0.1), "{oracle:?}, {gains:?}");
    }
    let equal = column(&csv, "throughput_percent", &["1.000000"]);
    assert!(equal.len() == 2 * 7 && equal.iter().all(|gain| *gain == 0.0));
    assert!(column(&csv, "most_migrations_per_second", &["1.000000"]).iter().all(|most| *most == 0.0));
    assert!(column(&csv, "most_migrations_per_second", &[]).iter().all(|most| *most <= 6000.0));
    let (best, worst) = (column(&csv, "best_position", &["1.000000"]), column(&csv, "worst_position", &["1.000000"]));
    assert!(best.iter().all(|position| *position == 1.0) && worst.iter().all(|position| *position == 7.0));

    let times = text(&folder, "ftfc_times.csv");
    assert!(times.starts_with("algorithm,demands,kinds,cores,readings,median_us,quartile1_us,quartile3_us\n"));
    assert_eq!(times.lines().count(), 1 + 2 * 4 * (9 + 8 + 7 + 6) + 11);
    // Nothing is known of the first two points of a line: they are measured whatever the budget.
    let measured = column(&times, "readings", &[]).into_iter().filter(|readings| *readings == 1.0);
    assert_eq!(measured.count(), 2 * (2 * 4 * 4 + 1));
    for name in ["ftfc_figure3.svg", "ftfc_figure4.svg", "ftfc_figure5.svg", "ftfc_costs.svg"] {
        assert!(elements(&text(&folder, name)) > 100, "{name}");
    }

    let json: Value = serde_json::from_str(&folder.succeed(arguments.iter().chain(&["2", "--json"]))).unwrap();
    assert_eq!(json["files"].as_array().unwrap().len(), 6);
    let claims = json["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 18);
    for (part, holds) in [
        ("equal cores", true),
        ("heterogeneity 0.1: more throughput", false),
        ("1/√2", false),
        ("never 1 or more", false),
        ("where one core works", false),
        ("at most N migrations", true),
        ("1/r - 1", true),
        ("the more unlike the cores", true),
    ] {
        let of = |claim: &&Value| claim["claim"].as_str().unwrap().contains(part);
        let claim = claims.iter().find(of).unwrap_or_else(|| panic!("no claim about {part}"));
        assert_eq!(claim["holds"], holds, "{claim}");
    }
}

#[test]
fn a_folder_that_takes_no_files_is_refused_before_the_work() {
    let folder = Folder::new("unwritable");
    folder.write("file", "");
    let message = folder.fail(["campaign", "table1", "--chains", "1000000", "-o", "file"]);
    assert!(message.contains("file: cannot make this folder") && message.contains("--output"), "{message}");
    let message = folder.fail(["campaign", "table2", "-o", "file/below"]);
    assert!(message.contains("cannot make this folder"), "{message}");
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    let folder = Folder::new("numbers");
    for arguments in [
        &["table1", "--chains", "0"][..],
        &["figure1", "--threads", "0"],
        &["figure3", "--budget", "-1"],
        &["figure3", "--budget", "NaN"],
        &["batching", "--seconds", "0.001"],
        &["ftfc", "--runs", "1"],
        &["ftfc", "--budget", "-1"],
        &["table3"],
    ] {
        let output = folder.command().arg("campaign").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn every_experiment_has_examples() {
    let folder = Folder::new("campaign-help");
    let experiments = ["table1", "figure1", "figure2", "figure3", "table2", "batching", "ftfc"];
    for experiment in std::iter::once(&[][..]).chain(experiments.each_ref().map(std::slice::from_ref)) {
        let help = folder.succeed(["campaign"].iter().chain(experiment).chain(&["--help"]));
        assert!(help.contains("Examples:"), "{experiment:?}");
        assert!(experiment.is_empty() || help.contains("Files: "), "{experiment:?}");
    }
}
