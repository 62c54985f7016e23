//! Policies in simulation: what can be worked out by hand, and the trends of the paper.

use bief_schedule::ErrorKind;
use bief_schedule::mapping::{
    Algorithm, Estimator, FtfcSettings, HeterogeneityMeasure, Measure, Saturation, heterogeneity,
};
use bief_schedule::simulate::{Comparison, CorePower, FairShare, PhaseDemand, Policy, Workload};

use super::{ALGORITHMS, cores};

const SECOND: u64 = 1_000_000_000;

fn constant(threads: usize, demand: f64) -> Workload {
    Workload { threads, demand: PhaseDemand::Constant(demand), ..Workload::default() }
}

fn remembered(algorithm: Algorithm) -> Policy {
    Policy::Ftfc(FtfcSettings { algorithm, ..FtfcSettings::default() })
}

#[test]
fn a_core_is_shared_fairly() {
    // 4 threads that each demand 0.3 on a core that has 1: each gets 0.25.
    let report = FairShare::new(cores(&[1.0]), constant(4, 0.3)).unwrap().run(Policy::Fair, SECOND, 1).unwrap();
    assert!((report.throughput - 1.0).abs() < 1e-9 && (report.busy[0] - 1.0).abs() < 1e-9);
    assert!(report.progress.iter().all(|progress| (progress - 0.25 / 0.3).abs() < 1e-9));
    assert!((report.fairness - 1.0).abs() < 1e-12 && report.migrations_per_second == 0.0);
    assert!((report.power - 1.1).abs() < 1e-9 && (report.energy_per_work() - 1.1).abs() < 1e-9);
    // As many to each core, whatever it is: 3 threads get 0.4 / 3 of what 3 others get.
    let report = FairShare::new(cores(&[1.0, 0.4]), constant(6, 1.0)).unwrap().run(Policy::Fair, SECOND, 1).unwrap();
    assert!((report.throughput - 1.4).abs() < 1e-9);
    let (sum, squares) = (1.4, (1.0 + 0.16) / 3.0);
    assert!((report.fairness - sum * sum / (6.0 * squares)).abs() < 1e-9);
    // Half of the time waiting, in the mean.
    let waiting = Workload { waiting_ns: 10_000_000, phase_ns: 10_000_000, ..constant(40, 0.5) };
    let report = FairShare::new(cores(&[1.0; 40]), waiting).unwrap().run(Policy::Fair, 2 * SECOND, 1).unwrap();
    assert!((report.throughput - 10.0).abs() < 0.5, "{}", report.throughput);
}

#[test]
fn migrations_cost_what_they_should() {
    // Two threads in the wrong places are exchanged once, and lose the time of it.
    let workload = Workload { demand: PhaseDemand::Constant(0.5), threads: 1, ..Workload::default() };
    let machine = FairShare::new(cores(&[1.0, 0.1]), workload).unwrap().migration_ns(10_000_000);
    let reports: Vec<_> =
        (0..8).map(|seed| machine.run(Policy::Oracle(Algorithm::RANK), SECOND, seed).unwrap()).collect();
    let [stayed, moved] = [0.0, 1.0].map(|migrations| {
        reports.iter().find(|report| report.migrations_per_second == migrations).expect("both starts are drawn")
    });
    assert!((stayed.throughput - 0.5).abs() < 1e-9);
    // 1 ms on the slow core, 10 ms lost.
    assert!((moved.throughput - (0.001 * 0.1 + 0.989 * 0.5)).abs() < 1e-9);
    assert!((moved.busy[0] - (0.01 + 0.989 * 0.5)).abs() < 1e-9);
}

#[test]
fn runs_are_repeated_by_their_seed() {
    let machine = FairShare::new(cores(&[1.0, 0.4]), Workload::default()).unwrap();
    let run = |seed| machine.run(remembered(Algorithm::BINARY_SEARCHED), SECOND, seed).unwrap();
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn more_threads_than_cores_are_mapped_too() {
    // At 8 there is room to gain; at 20 the cores are full in any case, and threads get on more evenly.
    for (threads, least) in [(8, 10.0), (20, -3.0)] {
        let workload = Workload { threads, ..Workload::default() };
        let machine = FairShare::new(cores(&[1.0, 1.0, 0.4, 0.4, 0.2]), workload).unwrap();
        for algorithm in ALGORITHMS {
            let gain = machine.compare(remembered(algorithm), 2 * SECOND, 0..6).unwrap();
            println!(
                "{threads} threads on 5 cores, {algorithm:?}: {:+.2} ± {:.2} % work, fairness {:.3} (fair {:.3}), \
                 {:.1} migrations/s",
                gain.throughput_percent.mean,
                gain.throughput_percent.margin,
                gain.fairness.mean,
                gain.fair.fairness.mean,
                gain.migrations_per_second.mean
            );
            assert!(gain.throughput_percent.mean > least);
            assert!(gain.fairness.low() > gain.fair.fairness.high());
        }
    }
}

const RATIOS: [f64; 7] = [1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.1];

/// 3 + 3 cores, the slow ones at the ratio; 6 threads.
fn gain(ratio: f64, workload: Workload, policy: Policy) -> Comparison {
    let machine = cores(&[1.0, 1.0, 1.0, ratio, ratio, ratio]);
    FairShare::new(machine, workload).unwrap().compare(policy, SPAN, 0..SEEDS).unwrap()
}

const SPAN: u64 = 6 * SECOND;
const SEEDS: u64 = 8;

const POLICIES: usize = 10;

fn policies() -> [(&'static str, Policy); POLICIES] {
    let published = FtfcSettings::published();
    let absolute = FtfcSettings { normalise: false, ..published };
    let probed = Estimator { saturation: Saturation::Probed, ..Estimator::default() };
    let throughput = Estimator { measure: Measure::Throughput, ..Estimator::published() };
    [
        ("FTFC as published", Policy::Ftfc(published)),
        ("not normalised", Policy::Ftfc(absolute)),
        ("U/T", Policy::Ftfc(FtfcSettings { estimator: throughput, ..published })),
        ("BSM probed", Policy::Ftfc(FtfcSettings { estimator: probed, normalise: false, ..published })),
        ("BSM memory", remembered(Algorithm::BINARY_SEARCHED)),
        ("BSM hysteresis", remembered(Algorithm::BinarySearched { hysteresis: 0.05 })),
        ("rank memory", remembered(Algorithm::RANK)),
        ("WED", Policy::Profiled(Algorithm::WeightedEuclidean)),
        ("MTS", Policy::Oracle(Algorithm::MaximiseThenSwap)),
        ("oracle", Policy::Oracle(Algorithm::GREATEST_THROUGHPUT)),
    ]
}

#[test]
#[ignore = "long: part of .ci/run"]
fn gains_follow_the_trends_of_the_paper() {
    let mut table: Vec<[Comparison; POLICIES]> = Vec::new();
    for ratio in RATIOS {
        let machine = [1.0, 1.0, 1.0, ratio, ratio, ratio];
        let row = policies().map(|(_, policy)| gain(ratio, Workload::default(), policy));
        println!(
            "slow cores at {ratio} (heterogeneity {:.3} printed, {:.3})",
            heterogeneity(&machine, HeterogeneityMeasure::Printed).unwrap(),
            heterogeneity(&machine, HeterogeneityMeasure::Deviation).unwrap()
        );
        for ((name, _), gain) in policies().iter().zip(&row) {
            println!(
                "  {name:18} {:+6.2} ± {:4.2} % work, {:+6.2} ± {:4.2} % power, {:+6.2} ± {:4.2} % energy per work, \
                 fairness {:.3} (fair {:.3}), {:7.1} migrations/s",
                gain.throughput_percent.mean,
                gain.throughput_percent.margin,
                gain.power_percent.mean,
                gain.power_percent.margin,
                gain.energy_percent.mean,
                gain.energy_percent.margin,
                gain.fairness.mean,
                gain.fair.fairness.mean,
                gain.migrations_per_second.mean
            );
        }
        table.push(row);
    }
    let work = |row: usize, policy: usize| table[row][policy].throughput_percent.mean;
    let [published, bsm, rank, wed, mts, oracle] = [0, 4, 6, 7, 8, 9];

    // Equal cores: nothing to gain, nothing moves.
    for gain in &table[0] {
        assert_eq!((gain.throughput_percent.mean, gain.migrations_per_second.mean), (0.0, 0.0));
    }
    // The more unlike the cores are, the more there is to gain.
    for row in 1..RATIOS.len() {
        for policy in [bsm, rank, oracle] {
            assert!(work(row, policy) > work(row - 1, policy) - 0.3, "{row}, {policy}");
        }
    }
    for row in &table[3..] {
        let [bsm, wed, published] = [bsm, wed, published].map(|policy| row[policy].throughput_percent);
        assert!(bsm.low() > wed.high() && bsm.mean > published.mean);
    }
    for row in 1..RATIOS.len() {
        // Nothing is better than the oracle, and exchanges find it.
        for policy in 0..oracle {
            assert!(work(row, policy) <= work(row, oracle) + 0.1, "{row}, {policy}");
        }
        assert!((work(row, mts) - work(row, oracle)).abs() < 0.1);
        assert!(work(row, rank) > 0.8 * work(row, oracle));
    }
    // Cores that differ little: some energy is saved. No mapping gains what the paper found at a measure of 0.1.
    assert!(table[2][bsm].energy_percent.high() < 0.0);
    assert!(work(2, oracle) < 5.0);
    assert!(work(6, bsm) > 20.0);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn nothing_is_gained_where_all_threads_are_alike() {
    for (_, policy) in policies() {
        let gain = gain(0.4, constant(6, 1.0), policy).throughput_percent;
        assert!(gain.mean.abs() < 5.0, "{gain:?}");
    }
    let gain = gain(0.4, constant(6, 1.0), remembered(Algorithm::BINARY_SEARCHED)).throughput_percent;
    assert!(gain.mean.abs() < 0.01, "{gain:?}");
}

#[test]
fn demands_of_two_kinds_gain_the_most() {
    let either = Workload { demand: PhaseDemand::Either(0.1, 1.0), ..Workload::default() };
    for policy in [remembered(Algorithm::BINARY_SEARCHED), Policy::Oracle(Algorithm::RANK)] {
        let gain = gain(0.2, either, policy).throughput_percent;
        println!("0.1 or 1.0: {:+.2} ± {:.2} %", gain.mean, gain.margin);
        assert!(gain.low() > 20.0 && gain.mean > 30.0, "{gain:?}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |workload: Workload| FairShare::new(cores(&[1.0]), workload).unwrap_err().kind();
    for demand in [
        PhaseDemand::Constant(-0.1),
        PhaseDemand::Constant(f64::NAN),
        PhaseDemand::Uniform { least: 0.5, most: 0.4 },
        PhaseDemand::Either(0.5, 1.5),
    ] {
        assert_eq!(refused(Workload { demand, ..Workload::default() }), ErrorKind::Simulation);
    }
    assert_eq!(refused(Workload { threads: 0, ..Workload::default() }), ErrorKind::Simulation);
    assert_eq!(refused(Workload { phase_ns: 0, ..Workload::default() }), ErrorKind::Simulation);
    let machine = FairShare::new(cores(&[1.0]), Workload::default()).unwrap();
    assert!(machine.clone().interval_ns(0).is_err());
    for power in [
        CorePower { idle: -1.0, ..CorePower::default() },
        CorePower { busy: f64::NAN, ..CorePower::default() },
        CorePower { busy_exponent: f64::INFINITY, ..CorePower::default() },
    ] {
        assert!(machine.clone().power(power).is_err());
    }
    for span in [0, u64::MAX] {
        assert_eq!(machine.run(Policy::Fair, span, 1).unwrap_err().kind(), ErrorKind::Simulation);
    }
    let policy = remembered(Algorithm::Rank { stickiness: f64::NAN });
    assert_eq!(machine.run(policy, SECOND, 1).unwrap_err().kind(), ErrorKind::Mapping);
}
