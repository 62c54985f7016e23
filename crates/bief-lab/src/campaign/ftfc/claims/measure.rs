//! What the paper says of its measure of how unlike cores are.

use bief_schedule::Error;
use bief_schedule::mapping::{HeterogeneityMeasure, heterogeneity};

use super::super::machine::READINGS;
use crate::campaign::claim::Claim;

/// Both readings of the measure.
fn measured(capacities: &[f64]) -> Result<[f64; 2], Error> {
    let [printed, deviation] = READINGS.map(|(measure, _)| heterogeneity(capacities, measure));
    Ok([printed?, deviation?])
}

pub(super) fn twice_as_fast() -> Result<Claim, Error> {
    let found = measured(&[1.0, 0.5])?;
    let off = heterogeneity(&[1.0, 0.0], HeterogeneityMeasure::Printed)?;
    let printed = 0.5f64.sqrt();
    Ok(Claim {
        what: "a measure of 1/√2 of two cores: one is twice as fast as the other",
        section: Some("3"),
        printed: format!("{printed:.3}"),
        found: format!("{:.3} {}, {:.3} {}", found[0], READINGS[0].1, found[1], READINGS[1].1),
        holds: Some(found.iter().any(|found| (found - printed).abs() < 1e-9)),
        why: format!("equation 1 gives {off:.3} where the second core is off"),
    })
}

pub(super) fn below_one() -> Result<Claim, Error> {
    let found = measured(&[1.0, 1.0, 1.0, 0.0, 0.0, 0.0])?;
    Ok(Claim {
        what: "the measure is never 1 or more",
        section: Some("3"),
        printed: "< 1".to_owned(),
        found: format!("3 of 6 cores off: {:.3} {}, {:.3} {}", found[0], READINGS[0].1, found[1], READINGS[1].1),
        holds: Some(found[0] < 1.0),
        why: "equation 1 sums over the cores and does not divide by their number; a standard deviation is 1/2 at most"
            .to_owned(),
    })
}

pub(super) fn one_works() -> Result<Claim, Error> {
    let found = measured(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
    Ok(Claim {
        what: "the measure is 1 where one core works",
        section: Some("3"),
        printed: "1".to_owned(),
        found: format!("1 of 6 cores works: {:.3} {}, {:.3} {}", found[0], READINGS[0].1, found[1], READINGS[1].1),
        holds: Some(found.iter().any(|found| (found - 1.0).abs() < 1e-9)),
        why: "N cores of which one works have √(1 - 1/N) by equation 1".to_owned(),
    })
}
