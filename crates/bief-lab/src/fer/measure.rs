//! A point of a curve: blocks on all cores, counted in the order of their numbers until there is enough.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{Builder, scope};

use bief_cli::failure::Failure;

use super::count::{Count, Rule, Tally};
use super::setup::EsN0;

/// A chain that can do one block after another, each independent of the others.
pub(super) trait Chain: Send {
    /// Sends a block at this Es/N0 and counts; the seed decides all that is random.
    ///
    /// # Errors
    /// A chain that cannot be made, or that cannot decode this kind of signal at all.
    fn block(&mut self, es_n0: EsN0, seed: u64) -> Result<Tally, Failure>;
}

/// Goes on from `count` until the rule is met, or until `stop`; one thread for each chain. Blocks are counted in their order, so
/// that the outcome does not depend on the number of threads; those that came too early are forgotten. `counted` hears of each
/// block that counts.
pub(super) fn measure(
    chains: &mut [Box<dyn Chain>],
    es_n0: EsN0,
    seed: impl Fn(u64) -> u64 + Sync,
    (mut count, rule): (Count, &Rule),
    stop: &AtomicBool,
    mut counted: impl FnMut(&Count) -> Result<(), Failure>,
) -> Result<Count, Failure> {
    let next = AtomicU64::new(count.blocks);
    let done = AtomicBool::new(count.is_enough(rule));
    let (sender, receiver) = mpsc::channel();
    scope(|scope| {
        let mut workers = Vec::new();
        for chain in chains.iter_mut() {
            let (sender, next, done, seed) = (sender.clone(), &next, &done, &seed);
            let work = move || {
                while !done.load(Relaxed) && !stop.load(Relaxed) {
                    let number = next.fetch_add(1, Relaxed);
                    if sender.send((number, chain.block(es_n0, seed(number)))).is_err() {
                        return;
                    }
                }
            };
            match Builder::new().spawn_scoped(scope, work) {
                Ok(worker) => workers.push(worker),
                Err(error) if workers.is_empty() => {
                    return Err(Failure::new(format!("no thread can be started to measure: {error}")));
                }
                // With fewer threads it takes longer.
                Err(_) => break,
            }
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut outcome = Ok(());
        for (number, block) in receiver {
            early.insert(number, block);
            while outcome.is_ok() && !count.is_enough(rule) {
                let Some(block) = early.remove(&count.blocks) else { break };
                outcome = block.and_then(|tally| {
                    count.add(tally);
                    counted(&count)
                });
            }
            if outcome.is_err() || count.is_enough(rule) {
                done.store(true, Relaxed);
            }
        }
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        outcome.map(|()| count)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds are block numbers: each block has an error or two, and takes longer the smaller its number.
    struct Played;

    impl Chain for Played {
        fn block(&mut self, _: EsN0, seed: u64) -> Result<Tally, Failure> {
            std::thread::sleep(std::time::Duration::from_micros(400 - 100 * (seed % 4)));
            if seed == 90 {
                return Err(Failure::new("block 90"));
            }
            Ok(Tally { frames: 10 + seed % 3, errors: 1 + seed % 2, lost: seed % 2 })
        }
    }

    fn played(threads: usize, from: Count, errors: u64) -> Result<Count, Failure> {
        let mut chains: Vec<Box<dyn Chain>> = (0..threads).map(|_| Box::new(Played) as Box<dyn Chain>).collect();
        let rule = Rule { errors, frames: u64::MAX };
        measure(&mut chains, EsN0(0), |number| number, (from, &rule), &AtomicBool::new(false), |_| Ok(()))
    }

    #[test]
    fn the_outcome_depends_neither_on_threads_nor_on_interruptions() {
        let whole = played(1, Count::default(), 50).unwrap();
        assert_eq!((whole.blocks, whole.all), (34, Tally { frames: 373, errors: 51, lost: 17 }));
        for threads in [2, 5] {
            assert_eq!(played(threads, Count::default(), 50).unwrap(), whole);
            let half = played(threads, Count::default(), 25).unwrap();
            assert!(half.blocks < whole.blocks);
            assert_eq!(played(threads, half, 50).unwrap(), whole);
            assert_eq!(played(threads, whole, 50).unwrap(), whole);
        }
    }

    #[test]
    fn a_block_that_fails_is_told_unless_it_is_not_needed() {
        assert_eq!(played(3, Count::default(), 500).unwrap_err().message, "block 90");
        assert_eq!(played(8, Count::default(), 135).unwrap().blocks, 90);
    }

    #[test]
    fn a_stop_keeps_what_was_counted() {
        let stop = AtomicBool::new(false);
        let mut chains: Vec<Box<dyn Chain>> = vec![Box::new(Played), Box::new(Played)];
        let rule = Rule { errors: 1000, frames: 1000 };
        let mut heard = Count::default();
        let count = measure(
            &mut chains,
            EsN0(0),
            |number| number,
            (Count::default(), &rule),
            &stop,
            |count| {
                heard = *count;
                stop.store(count.blocks >= 7, Relaxed);
                Ok(())
            },
        );
        let count = count.unwrap();
        // Without the stop it would come to the block that fails.
        assert!(count == heard && count.blocks >= 7, "{count:?}");
    }
}
