//! Algorithms by hand, and what holds for each on any input.

use bief_schedule::ErrorKind;
use bief_schedule::mapping::{Algorithm, Cores, Mapper, Mapping};
use proptest::prelude::*;

use super::{ALGORITHMS, cores, mapped};

#[test]
fn binary_searched_mapping_by_hand() {
    let bsm = Algorithm::BINARY_SEARCHED;
    // The middle kind is taken by its nearest, and both fast cores by theirs.
    assert_eq!(mapped(&[0.25, 0.5, 1.0, 1.0], bsm, &[0.2, 0.9, 1.0, 0.45]), [0.25, 1.0, 1.0, 0.5]);
    // 0.95 makes 0.9 go.
    assert_eq!(mapped(&[0.4, 0.4, 0.4, 1.0], bsm, &[0.9, 0.95, 0.5, 0.1]), [0.4, 1.0, 0.4, 0.4]);
    // Free cores stay free: nobody needs the fast ones.
    assert_eq!(mapped(&[1.0, 1.0, 0.4, 0.4], bsm, &[0.3, 0.5]), [0.4, 0.4]);
    // Who finds no slow core takes the next faster one.
    assert_eq!(mapped(&[1.0, 0.6, 0.4], bsm, &[0.4, 0.3]), [0.4, 0.6]);
    // Halfway between two free kinds: the faster one.
    assert_eq!(mapped(&[1.0, 0.75, 0.5], bsm, &[0.75, 0.75]), [0.75, 1.0]);
}

#[test]
fn threads_stay_unless_another_kind_is_nearer() {
    let cores = cores(&[1.0, 0.5]);
    let map = |algorithm, demands: &[f64; 2]| {
        let mut mapping = Mapping::new([Some(0), Some(1)]);
        Mapper::new(&cores, algorithm).unwrap().map(demands, &mut mapping).unwrap();
        mapping.moved().len()
    };
    // Both want the slow core, the one that is on it comes first.
    assert_eq!(map(Algorithm::BINARY_SEARCHED, &[0.6, 0.6]), 0);
    // The other one is nearer.
    assert_eq!(map(Algorithm::BINARY_SEARCHED, &[0.58, 0.6]), 2);
    assert_eq!(map(Algorithm::BinarySearched { hysteresis: 0.05 }, &[0.58, 0.6]), 0);
    assert_eq!(map(Algorithm::BinarySearched { hysteresis: 0.05 }, &[0.5, 0.6]), 2);
    // Who is on the fast core needs less, by less than 5 % of the difference of the cores.
    assert_eq!(map(Algorithm::RANK, &[0.58, 0.6]), 0);
    assert_eq!(map(Algorithm::RANK, &[0.57, 0.6]), 2);
    assert_eq!(map(Algorithm::GREATEST_THROUGHPUT, &[0.58, 0.6]), 2);
    // Exchanges gain nothing as long as both get what they need.
    assert_eq!(map(Algorithm::MaximiseThenSwap, &[0.3, 0.5]), 0);
    assert_eq!(map(Algorithm::MaximiseThenSwap, &[0.3, 0.6]), 2);
}

#[test]
fn the_others_by_hand() {
    let capacities = [1.0, 0.6, 0.4, 0.2];
    // The third finds the core at 0.4 taken.
    assert_eq!(mapped(&capacities, Algorithm::WeightedEuclidean, &[0.45, 0.1, 0.4]), [0.4, 0.2, 0.6]);
    assert_eq!(mapped(&capacities, Algorithm::NearestSum, &[0.45, 0.1, 0.4]), [0.6, 0.2, 0.4]);
    assert_eq!(mapped(&capacities, Algorithm::RANK, &[0.45, 0.1, 0.4]), [1.0, 0.4, 0.6]);
    assert_eq!(mapped(&capacities, Algorithm::MaximiseThenSwap, &[0.45, 0.1, 0.4]), [0.6, 0.2, 0.4]);
    // The first takes the smallest that is enough, which the second needs less.
    assert_eq!(mapped(&[1.0, 0.6], Algorithm::MaximiseThenSwap, &[0.5, 0.7]), [0.6, 1.0]);
}

#[test]
fn more_threads_than_cores_share_them() {
    // Slots: two of 0.5 on each fast core, one of 0.4 on the slow one.
    let capacities = [1.0, 1.0, 0.4];
    for algorithm in ALGORITHMS {
        let found = mapped(&capacities, algorithm, &[0.5, 0.35, 0.5, 0.5, 0.5]);
        if algorithm != Algorithm::MaximiseThenSwap {
            assert_eq!(found, [1.0, 0.4, 1.0, 1.0, 1.0], "{algorithm:?}");
        }
        let count = |capacity: f64| found.iter().filter(|&&found| found == capacity).count();
        assert_eq!((count(1.0), count(0.4)), (4, 1));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let no_cores: [&[f64]; 5] = [&[], &[0.0], &[1.0, 0.0], &[1.0, f64::NAN], &[1.0, -1.0]];
    for capacities in no_cores {
        let error = Cores::new(capacities.iter().copied()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mapping, "{capacities:?}");
    }
    for value in [-0.1, f64::NAN, f64::INFINITY] {
        let machine = cores(&[1.0]);
        assert!(Mapper::new(&machine, Algorithm::BinarySearched { hysteresis: value }).is_err());
        assert!(Mapper::new(&machine, Algorithm::Rank { stickiness: value }).is_err());
    }
    for algorithm in ALGORITHMS {
        let mut mapper = Mapper::new(&cores(&[1.0, 0.5]), algorithm).unwrap();
        for (demands, on) in [
            (&[0.5, f64::NAN][..], Some(0)),
            (&[0.5, f64::INFINITY], Some(0)),
            (&[0.5, -0.5], Some(0)),
            (&[0.5], Some(0)),
            (&[0.5, 0.5], Some(2)),
        ] {
            let before = Mapping::new([on, None]);
            let mut mapping = before.clone();
            assert_eq!(mapper.map(demands, &mut mapping).unwrap_err().kind(), ErrorKind::Mapping);
            assert_eq!(mapping, before);
        }
        // No thread at all is nothing to do.
        let mut none = Mapping::new([]);
        mapper.map(&[], &mut none).unwrap();
        assert!(none.moved().is_empty());
    }
}

/// Few values, so that capacities are equal, demands are equal, and demands lie halfway.
fn value(most: u32) -> impl Strategy<Value = f64> {
    prop_oneof![(1..=most).prop_map(|eighths| f64::from(eighths) / 8.0), 0.01..f64::from(most) / 8.0]
}

prop_compose! {
    fn instance()(capacities in prop::collection::vec(value(8), 1..20), threads in 0..50usize)
        (on in prop::collection::vec(prop::option::of(0..capacities.len()), threads),
         rounds in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0.0), value(12)], threads), 1..4),
         capacities in Just(capacities)) -> (Vec<f64>, Vec<Option<usize>>, Vec<Vec<f64>>) {
        (capacities, on, rounds)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every algorithm ends with each thread on a core, on none more than one thread above the others of its capacity,
    /// all of them used before any is shared; those that it says moved are those that did; and the same again is no
    /// change.
    #[test]
    fn mappings_are_sound((capacities, on, rounds) in instance()) {
        let machine = cores(&capacities);
        for algorithm in ALGORITHMS {
            let mut mapper = Mapper::new(&machine, algorithm).unwrap();
            let mut mapping = Mapping::new(on.iter().copied());
            for demands in &rounds {
                let before = mapping.cores().to_vec();
                mapper.map(demands, &mut mapping).unwrap();
                let differs = |&thread: &usize| before[thread] != mapping.cores()[thread];
                let moved: Vec<usize> = (0..before.len()).filter(differs).collect();
                prop_assert_eq!(mapping.moved(), &moved[..]);
                let mut threads = vec![0usize; capacities.len()];
                for core in mapping.cores() {
                    threads[core.unwrap()] += 1;
                }
                if demands.len() <= threads.len() {
                    prop_assert!(threads.iter().all(|&threads| threads <= 1));
                } else {
                    prop_assert!(threads.iter().all(|&threads| threads >= 1));
                    for (core, other) in (0..threads.len()).flat_map(|core| (0..core).map(move |other| (core, other))) {
                        let unlike = capacities[core] != capacities[other];
                        prop_assert!(unlike || threads[core].abs_diff(threads[other]) <= 1);
                    }
                }
            }
        }
    }

    /// Demands that do not change move threads for a while only.
    #[test]
    #[ignore = "long: part of .ci/run"]
    fn mappings_settle((capacities, on, rounds) in instance()) {
        let machine = cores(&capacities);
        for algorithm in ALGORITHMS {
            let mut mapper = Mapper::new(&machine, algorithm).unwrap();
            let mut mapping = Mapping::new(on.iter().copied());
            for _ in 0..=2 * on.len() {
                mapper.map(&rounds[0], &mut mapping).unwrap();
            }
            prop_assert!(mapping.moved().is_empty(), "{:?}", algorithm);
        }
    }
}
