//! What the paper says, beside what was found.

mod gains;
mod measure;
mod time;

use bief_schedule::Error;

use super::Results;
use super::machine::Machine;
use crate::campaign::claim::Claim;

/// All claims, judged.
pub(super) fn judge(results: &Results) -> Result<Vec<Claim>, Error> {
    let published = &results.published;
    let [equal, most] = &published.gains;
    let unlike = [0, 1].map(|reading| Machine::so_unlike(reading, most.heterogeneity));
    let [printed, deviation] = unlike;
    let unlike = [printed?, deviation?];
    let growth = |algorithm| time::growth(results, algorithm);
    Ok(vec![
        gains::equality(results, equal.throughput_percent),
        gains::throughput(results, unlike, most.throughput_percent)?,
        gains::power(results, unlike, most.power_percent),
        gains::highest(results),
        gains::advantage(
            results,
            "unlike cores up to 0.1: FTFC generally has the better throughput (above 0 in most cases)",
            "counted are intervals above 0; cores that differ by less than the hysteresis, 0.05, are one to BSM",
            |outcome| outcome.comparison.throughput_percent.low() > 0.0,
        ),
        gains::advantage(
            results,
            "unlike cores up to 0.1: FTFC generally has the better power (below 0 in most cases)",
            "counted are intervals below 0; who gets more done on faster cores draws more",
            |outcome| outcome.comparison.power_percent.high() < 0.0,
        ),
        measure::twice_as_fast()?,
        measure::below_one()?,
        measure::one_works()?,
        gains::migrations(results),
        growth("BSM"),
        growth("WED"),
        growth("MTS"),
        growth("naive"),
        time::outperforms(results),
        gains::bounded(results),
        gains::grows(results),
        gains::remembered(results),
    ])
}
