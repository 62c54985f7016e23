//! Who maps the threads.

use bief_cli::draw::plot::Rgb;
use bief_schedule::mapping::{Algorithm, FtfcSettings};
use bief_schedule::simulate::Policy;

/// A policy of the comparison.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// What the name stands for.
    pub(super) what: &'static str,
    pub(super) policy: Policy,
    pub(super) color: Rgb,
}

/// Places in [`contenders`].
pub(super) const FAIR: usize = 0;
pub(super) const PUBLISHED: usize = 1;
pub(super) const BSM: usize = 2;
pub(super) const RANK: usize = 3;
pub(super) const ORACLE: usize = 6;

/// All policies, the fair scheduler first, which is what the others are compared with.
pub(super) fn contenders() -> [Contender; 7] {
    let with_memory = |algorithm| Policy::Ftfc(FtfcSettings { algorithm, ..FtfcSettings::default() });
    let contender = |name, what, policy, color| Contender { name, what, policy, color };
    [
        contender("fair", "threads stay where chance put them, one on each core", Policy::Fair, (120, 120, 120)),
        contender("FTFC", "FTFC as published", Policy::Ftfc(FtfcSettings::published()), (213, 94, 0)),
        contender("BSM", "FTFC with memory, hysteresis 0.05", Policy::Ftfc(FtfcSettings::default()), (0, 114, 178)),
        contender("rank", "FTFC with memory, threads and cores in order", with_memory(Algorithm::RANK), (0, 158, 115)),
        contender(
            "WED",
            "mapped once, by mean demands",
            Policy::Profiled(Algorithm::WeightedEuclidean),
            (204, 121, 167),
        ),
        contender(
            "MTS",
            "by what threads demand at the moment",
            Policy::Oracle(Algorithm::MaximiseThenSwap),
            (230, 159, 0),
        ),
        contender(
            "oracle",
            "the greatest throughput at each moment, whatever it costs to move",
            Policy::Oracle(Algorithm::GREATEST_THROUGHPUT),
            (34, 34, 34),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contenders_are_where_they_are_said_to_be() {
        let names = contenders().map(|contender| contender.name);
        assert_eq!([FAIR, PUBLISHED, BSM, RANK, ORACLE].map(|at| names[at]), ["fair", "FTFC", "BSM", "rank", "oracle"]);
        assert_eq!(contenders()[FAIR].policy, Policy::Fair);
    }
}
