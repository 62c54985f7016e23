//! What threads are taken to need.

use bief_schedule::ErrorKind;
use bief_schedule::mapping::{
    Algorithm, Cores, Estimator, Ftfc, FtfcSettings, Measure, Saturation, ThreadDemand, Usage, normalise,
};

fn observed(estimator: &Estimator, seen: &[(f64, f64)]) -> Vec<f64> {
    let mut thread = ThreadDemand::default();
    seen.iter().map(|&(busy, capacity)| thread.observe(estimator, Usage::busy(busy), capacity).unwrap()).collect()
}

#[test]
fn a_share_of_a_slow_core_is_less_of_the_fastest() {
    // Thread 4 of figure 2 is as busy as thread 1, on a slower core: it needs less.
    assert_eq!(observed(&Estimator::published(), &[(0.8, 1.0), (0.8, 0.5), (1.0, 0.5)]), [0.8, 0.4, 0.5]);
    let throughput = Estimator { measure: Measure::Throughput, ..Estimator::published() };
    assert_eq!(observed(&throughput, &[(40.0, 1.0), (40.0, 0.5)]), [40.0, 80.0]);
}

#[test]
fn normalised_demands_are_shares_of_the_greatest() {
    let mut demands = [0.1, 0.4, 0.0];
    normalise(&mut demands);
    assert_eq!(demands, [0.25, 1.0, 0.0]);
    let mut idle = [0.0; 2];
    normalise(&mut idle);
    assert_eq!(idle, [0.0; 2]);
}

#[test]
fn shares_are_averaged_on_cores_of_one_capacity() {
    let found = observed(&Estimator::default(), &[(0.4, 1.0), (0.8, 1.0), (0.6, 1.0), (0.5, 0.5), (0.7, 0.5)]);
    for (found, expected) in found.into_iter().zip([0.4, 0.6, 0.6, 0.25, 0.3]) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}

#[test]
fn a_saturated_fast_core_is_a_demand_of_one() {
    for saturation in [Saturation::Probed, Saturation::Remembered] {
        let estimator = Estimator { saturation, ..Estimator::default() };
        assert_eq!(observed(&estimator, &[(0.96, 1.0)]), [1.0]);
    }
    assert_eq!(observed(&Estimator::published(), &[(0.96, 1.0)]), [0.96]);
}

#[test]
fn demands_are_remembered_for_longer_and_longer() {
    let estimator = Estimator::default();
    let mut thread = ThreadDemand::default();
    let mut kept = Vec::new();
    for _ in 0..5 {
        // Seen on a fast core, then put on one that it saturates.
        assert_eq!(thread.observe(&estimator, Usage::busy(0.5), 1.0).unwrap(), 0.5);
        let mut intervals = 0;
        while thread.observe(&estimator, Usage::busy(1.0), 0.4).unwrap() == 0.5 {
            intervals += 1;
        }
        assert_eq!(thread.get(), 1.0);
        kept.push(intervals);
    }
    assert_eq!(kept, [16, 32, 64, 64, 64]);
}

#[test]
fn what_is_remembered_must_not_be_less_than_what_is_seen() {
    let estimator = Estimator::default();
    // It needs more than before: at least 0.4.
    assert_eq!(observed(&estimator, &[(0.2, 1.0), (1.0, 0.4)]), [0.2, 1.0]);
    // Nearly as much as the slow core has: it stays, though it saturates the core.
    assert_eq!(observed(&estimator, &[(0.39, 1.0), (0.975, 0.4)]), [0.39, 0.39]);
    // It never saw anything else than a slow core.
    assert_eq!(observed(&estimator, &[(1.0, 0.4), (1.0, 0.4)]), [1.0, 1.0]);
    // Without memory each saturated core is a new question.
    let probed = Estimator { saturation: Saturation::Probed, ..estimator };
    assert_eq!(observed(&probed, &[(0.5, 1.0), (1.0, 0.4)]), [0.5, 1.0]);
}

#[test]
fn a_thread_that_waits_for_its_core_may_need_more() {
    let estimator = Estimator::default();
    let mut thread = ThreadDemand::default();
    assert_eq!(thread.observe(&estimator, Usage { busy: 0.5, ready: 0.5 }, 0.8).unwrap(), 1.0);
    let mut thread = ThreadDemand::default();
    assert_eq!(thread.observe(&estimator, Usage { busy: 0.5, ready: 0.25 }, 0.8).unwrap(), 0.4);
    // What it was seen to need before is more than its half of the core.
    assert_eq!(thread.observe(&estimator, Usage { busy: 0.5, ready: 0.5 }, 0.6).unwrap(), 0.4);
}

#[test]
fn a_thread_that_hides_its_demand_finds_the_fast_core() {
    let cores = Cores::new([1.0, 0.4]).unwrap();
    let on_slow = [Some(0), Some(1)];
    let busy = |ftfc: &Ftfc, demands: [f64; 2]| {
        let capacity = |thread: usize| cores.capacities()[ftfc.mapping().cores()[thread].unwrap()];
        [0, 1].map(|thread| Usage::busy((demands[thread] / capacity(thread)).min(1.0)))
    };
    // As published, the thread on the slow core seems to need 0.4: less than the other one.
    let mut published =
        Ftfc::new(&cores, on_slow, FtfcSettings { normalise: false, ..FtfcSettings::published() }).unwrap();
    let mut remembered = Ftfc::new(&cores, on_slow, FtfcSettings::default()).unwrap();
    let mut moved = 0;
    for _ in 0..100 {
        for ftfc in [&mut published, &mut remembered] {
            let usages = busy(ftfc, [0.75, 0.95]);
            ftfc.step(&usages).unwrap();
        }
        moved += remembered.mapping().moved().len();
    }
    assert_eq!(published.mapping().cores(), on_slow);
    assert_eq!(remembered.mapping().cores(), [Some(1), Some(0)]);
    assert!(moved <= 8, "{moved} migrations");
}

#[test]
fn what_cannot_be_is_refused() {
    let estimator = Estimator::default();
    let mut thread = ThreadDemand::default();
    let usages = [(f64::NAN, 0.0), (-0.1, 0.0), (1.1, 0.0), (0.5, f64::NAN), (0.5, 1.2), (f64::INFINITY, 0.0)];
    for (busy, ready) in usages {
        let error = thread.observe(&estimator, Usage { busy, ready }, 1.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping);
        assert!(error.place().starts_with("mapping, usage, "), "{error}");
    }
    for capacity in [0.0, -1.0, 1.5, f64::NAN] {
        assert!(thread.observe(&estimator, Usage::busy(0.5), capacity).is_err());
    }
    assert_eq!(thread, ThreadDemand::default());
    // A clock that is read a bit late.
    assert_eq!(thread.observe(&estimator, Usage::busy(1.01), 1.0).unwrap(), 1.0);

    for estimator in [
        Estimator { smoothing: 0.0, ..estimator },
        Estimator { smoothing: 1.5, ..estimator },
        Estimator { saturated: f64::NAN, ..estimator },
        Estimator { measure: Measure::Throughput, ..estimator },
    ] {
        assert_eq!(estimator.check().unwrap_err().kind(), ErrorKind::Mapping);
    }
    let cores = Cores::new([1.0]).unwrap();
    let throughput = Estimator { measure: Measure::Throughput, ..Estimator::published() };
    let settings = FtfcSettings { estimator: throughput, ..FtfcSettings::default() };
    assert!(Ftfc::new(&cores, [Some(0)], settings).unwrap_err().reason().ends_with("normalise the demands"));
    let settings = FtfcSettings { algorithm: Algorithm::Rank { stickiness: -1.0 }, ..FtfcSettings::default() };
    assert!(Ftfc::new(&cores, [Some(0)], settings).is_err());
    assert!(Ftfc::new(&cores, [Some(1)], FtfcSettings::default()).is_err());
    let mut ftfc = Ftfc::new(&cores, [Some(0)], FtfcSettings::default()).unwrap();
    assert!(ftfc.step(&[]).is_err());
}

#[test]
fn a_thread_on_no_core_is_given_one() {
    let cores = Cores::new([1.0, 0.5]).unwrap();
    let mut ftfc = Ftfc::new(&cores, [None, Some(0)], FtfcSettings::default()).unwrap();
    // Nothing is known of the first one: it may need all of a core, and it comes after the one that is there.
    let mapping = ftfc.step(&[Usage::default(), Usage::busy(0.2)]).unwrap();
    assert_eq!(mapping.cores(), [Some(0), Some(1)]);
    assert_eq!(ftfc.demands(), [1.0, 0.2]);
}
