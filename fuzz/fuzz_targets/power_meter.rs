//! Any bytes are the log of a power meter: times go forward, and what is measured between two of them is possible.
#![no_main]

use bief_machine::energy::{Energy, MeterLog};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let log = MeterLog::parse(text);
    assert!(log.passed_over() <= text.len() as u64);
    let Some((first, last)) = log.span() else { return };
    assert!(first <= last && first.is_finite() && last.is_finite());
    let share = f64::from(text[0]) / 256.0;
    let cut = first + (last - first) * share;
    let energy = |from: f64, to: f64| -> Option<Energy> {
        let energy = log.between(from, to).ok()?;
        // The most that a meter shows is 100 kW.
        assert!((0.0..=1.000_001e5).contains(&energy.watts), "{energy:?}");
        assert!(energy.seconds == to - from && energy.joules.is_finite() && energy.joules >= 0.0, "{energy:?}");
        Some(energy)
    };
    assert_eq!(energy(first, last).is_some(), first < last);
    assert!(energy(last, first).is_none() && energy(first, last + 1.0).is_none());
    if let (Some(whole), Some(left), Some(right)) = (energy(first, last), energy(first, cut), energy(cut, last)) {
        let parts = left.joules + right.joules;
        assert!((whole.joules - parts).abs() <= 1e-6 * whole.joules.max(1.0), "{whole:?} {left:?} {right:?}");
    }
});
