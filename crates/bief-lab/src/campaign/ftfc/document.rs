//! The results as CSV and JSON.

use std::fmt::Write;

use bief_schedule::simulate::Mean;
use serde_json::{Value, json};

use super::Results;
use super::gains::{DEMANDS, migration_bound};
use super::policy::contenders;

const MEMORY: &str = "memory takes all text";

/// A policy on a machine a line.
pub(super) fn gains_csv(results: &Results) -> String {
    let mut text = "demands,slow,hm_printed,hm_std,policy,runs".to_owned();
    for name in ["throughput_percent", "power_percent", "energy_percent", "fairness", "migrations_per_second"] {
        write!(text, ",{name},{name}_margin").expect(MEMORY);
    }
    text += ",most_migrations_per_second,best_position,worst_position\n";
    for (points, (demands, _)) in results.gains.iter().zip(DEMANDS) {
        for point in points {
            let [printed, deviation] = point.machine.heterogeneity;
            for (contender, outcome) in contenders().iter().zip(&point.outcomes) {
                let (slow, runs) = (point.machine.slow, results.runs);
                write!(text, "{demands},{slow:.6},{printed:.6},{deviation:.6},{},{runs}", contender.name)
                    .expect(MEMORY);
                let found = &outcome.comparison;
                for Mean { mean, margin } in [
                    found.throughput_percent,
                    found.power_percent,
                    found.energy_percent,
                    found.fairness,
                    found.migrations_per_second,
                ] {
                    write!(text, ",{mean:.5},{margin:.5}").expect(MEMORY);
                }
                let positions = outcome.positions;
                writeln!(text, ",{:.3},{},{}", outcome.max_migrations, positions.best, positions.worst).expect(MEMORY);
            }
        }
    }
    text
}

/// A measured time a line; without times where it was not measured.
pub(super) fn times_csv(results: &Results) -> String {
    let mut text = "algorithm,demands,kinds,cores,readings,median_us,quartile1_us,quartile3_us\n".to_owned();
    for point in &results.times {
        write!(text, "{},{},{},{},", point.algorithm, point.news, point.kinds, point.count).expect(MEMORY);
        match point.time {
            Some(time) => {
                let [first, third] = time.quartiles_us;
                writeln!(text, "{},{:.4},{first:.4},{third:.4}", time.readings, time.median_us).expect(MEMORY);
            }
            None => text += "0,,,\n",
        }
    }
    text
}

pub(super) fn to_json(results: &Results) -> Value {
    let contenders = contenders();
    let gains = results.gains.iter().zip(DEMANDS).flat_map(|(points, (demands, _))| {
        let contenders = &contenders;
        points.iter().flat_map(move |point| {
            contenders.iter().zip(&point.outcomes).map(move |(contender, outcome)| {
                let found = &outcome.comparison;
                json!({
                    "demands": demands, "slow": point.machine.slow, "hm_printed": point.machine.heterogeneity[0],
                    "hm_std": point.machine.heterogeneity[1], "policy": contender.name,
                    "throughput_percent": found.throughput_percent, "power_percent": found.power_percent,
                    "energy_percent": found.energy_percent, "fairness": found.fairness,
                    "migrations_per_second": found.migrations_per_second,
                    "most_migrations_per_second": outcome.max_migrations, "positions": outcome.positions,
                })
            })
        })
    });
    let times = results.times.iter().map(|point| {
        json!({
            "algorithm": point.algorithm, "demands": point.news, "kinds": point.kinds, "cores": point.count,
            "readings": point.time.map_or(0, |time| time.readings), "median_us": point.time.map(|time| time.median_us),
            "quartiles_us": point.time.map(|time| time.quartiles_us),
        })
    });
    let growths = results.growths.iter().map(|growth| {
        json!({
            "algorithm": growth.algorithm, "demands": growth.news, "power_of_cores": growth.with_cores,
            "power_of_kinds": growth.with_kinds, "stated": results.published.complexity(growth.algorithm),
        })
    });
    json!({
        "experiment": "ftfc", "runs": results.runs, "seconds": results.seconds, "seed": results.seed,
        "migrations_per_second_bound": migration_bound(), "gains": gains.collect::<Vec<_>>(),
        "times": times.collect::<Vec<_>>(), "growth": growths.collect::<Vec<_>>(),
        "surroundings": results.surroundings.to_json(), "claims": results.claims,
    })
}
