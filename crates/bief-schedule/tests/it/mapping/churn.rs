//! Threads that come and go while they are mapped.

use bief_schedule::ErrorKind;
use bief_schedule::mapping::{Algorithm, Ftfc, FtfcSettings, ThreadDemand, Usage};
use proptest::prelude::*;

use super::{ALGORITHMS, cores};

/// What happens to the threads.
#[derive(Debug, Clone)]
enum Event {
    Come(Option<usize>),
    Go(usize),
    Found(usize, Option<usize>),
    Step(Vec<f64>),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let core = proptest::option::of(0..4_usize);
    let event = prop_oneof![
        3 => core.clone().prop_map(Event::Come),
        2 => (0..12_usize).prop_map(Event::Go),
        1 => (0..12_usize, core).prop_map(|(thread, core)| Event::Found(thread, core)),
        4 => proptest::collection::vec(0.0..=1.0, 12).prop_map(Event::Step),
    ];
    proptest::collection::vec(event, 1..60)
}

proptest! {
    #[test]
    fn each_thread_keeps_what_is_known_of_it(events in events(), algorithm in proptest::sample::select(&ALGORITHMS[..])) {
        let cores = cores(&[1.0, 1.0, 0.5, 0.25]);
        let settings = FtfcSettings { algorithm, ..FtfcSettings::default() };
        let mut ftfc = Ftfc::new(&cores, [], settings).unwrap();
        // Beside it, each thread by itself.
        let mut known: Vec<(ThreadDemand, Option<usize>)> = Vec::new();
        for event in events {
            match event {
                Event::Come(core) => {
                    prop_assert_eq!(ftfc.insert(core, ThreadDemand::default()).unwrap(), known.len());
                    known.push((ThreadDemand::default(), core));
                }
                Event::Go(thread) if thread < known.len() => {
                    prop_assert_eq!(ftfc.remove(thread), Some(known.remove(thread).0));
                }
                Event::Go(thread) => prop_assert_eq!(ftfc.remove(thread), None),
                Event::Found(thread, core) => match known.get_mut(thread) {
                    Some(known) => {
                        ftfc.place(thread, core).unwrap();
                        known.1 = core;
                    }
                    None => prop_assert_eq!(ftfc.place(thread, core).unwrap_err().kind(), ErrorKind::Mapping),
                },
                Event::Step(shares) => {
                    let usages: Vec<Usage> = (0..known.len()).map(|thread| Usage::busy(shares[thread % 12])).collect();
                    // What a fresh one of these threads, that are where they are, does with the same demands.
                    let mut fresh = Ftfc::new(&cores, [], settings).unwrap();
                    for (demand, core) in &known {
                        fresh.insert(*core, *demand).unwrap();
                    }
                    prop_assert_eq!(fresh.step(&usages).unwrap(), ftfc.step(&usages).unwrap());
                    prop_assert_eq!(fresh.demands(), ftfc.demands());
                    let mapped = ftfc.mapping().cores().to_vec();
                    for (((demand, core), usage), mapped) in known.iter_mut().zip(&usages).zip(mapped) {
                        if let Some(core) = *core {
                            demand.observe(&settings.estimator, *usage, cores.capacities()[core]).unwrap();
                        }
                        *core = mapped;
                    }
                }
            }
            let demands: Vec<f64> = known.iter().map(|(demand, _)| demand.get()).collect();
            prop_assert_eq!(ftfc.demands(), &demands[..]);
            let on: Vec<Option<usize>> = known.iter().map(|&(_, core)| core).collect();
            prop_assert_eq!(ftfc.mapping().cores(), &on[..]);
            prop_assert!(ftfc.mapping().moved().iter().all(|&moved| moved < known.len()));
        }
    }
}

#[test]
fn who_is_moved_is_told_by_the_new_numbers() {
    let cores = cores(&[1.0, 1.0, 0.5]);
    let settings = FtfcSettings { algorithm: Algorithm::RANK, ..FtfcSettings::default() };
    let mut ftfc = Ftfc::new(&cores, [Some(0), Some(1), Some(2)], settings).unwrap();
    ftfc.step(&[Usage::busy(0.9), Usage::busy(0.1), Usage::busy(1.0)]).unwrap();
    assert_eq!(ftfc.mapping().moved(), [1, 2]);
    ftfc.remove(0);
    assert_eq!(ftfc.mapping().moved(), [0, 1]);
    ftfc.remove(0);
    assert_eq!((ftfc.mapping().moved(), ftfc.mapping().cores()), (&[0][..], &[Some(1)][..]));
    assert_eq!(ftfc.insert(Some(3), ThreadDemand::default()).unwrap_err().kind(), ErrorKind::Mapping);
    assert_eq!(ftfc.place(0, Some(3)).unwrap_err().kind(), ErrorKind::Mapping);
    assert_eq!(ftfc.mapping().cores(), [Some(1)]);
}
