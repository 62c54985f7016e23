//! Which filter suits a signal: its roll-off is not known before BBFRAMEs are decoded.

use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{CarrierPhase, HEADER, Layout, Lock, SignalLevel, Tracker};
use bief_dsp::filter::MatchedFilter;
use num_complex::Complex32;

/// Roll-off that symbols are filtered with while nothing better is known: a sender's 0.20 or 0.35 costs 0.03 dB at most.
pub(super) const ROLL_OFF: f64 = 0.25;
/// Those of DVB-S2X for which that filter would do harm.
const SMALL: [f64; 3] = [0.15, 0.10, 0.05];
/// Share of the noise that another filter must leave at most to be chosen: what costs less is not worth its length.
const CLEARLY_LESS: f32 = 0.97;
/// Symbols that are measured, about, and frames at most.
const MEASURED: usize = 30_000;
const MOST_FRAMES: usize = 8;

/// The filter that leaves the least noise in the first frames of a signal, which was found with `filter` in these samples, and its
/// roll-off.
pub(super) fn suited(
    filter: MatchedFilter,
    samples: &[Complex32],
    lock: &Lock,
    scrambler: &PlScrambler,
) -> (f64, MatchedFilter) {
    let Some(usual) = noise(&filter, samples, lock, scrambler) else { return (ROLL_OFF, filter) };
    let others = SMALL.map(|roll_off| (roll_off, MatchedFilter::new(roll_off, filter.samples_per_symbol())));
    let measured = others.into_iter().filter_map(|other| Some((noise(&other.1, samples, lock, scrambler)?, other)));
    match measured.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((least, other)) if least < CLEARLY_LESS * usual => other,
        _ => (ROLL_OFF, filter),
    }
}

/// Mean noise of the first frames.
fn noise(filter: &MatchedFilter, samples: &[Complex32], lock: &Lock, scrambler: &PlScrambler) -> Option<f32> {
    let mut tracker = Tracker::new(filter.clone(), lock, 0);
    let mut phase = CarrierPhase::new();
    let (mut sum, mut frames, mut symbols) = (0.0, 0, 0);
    while frames < MOST_FRAMES && symbols < MEASURED {
        let needed = tracker.header_samples().end;
        let Some(frame) = tracker.track(samples, 0).ok().filter(|_| needed <= samples.len() as i64) else { break };
        let reach = frame.samples(filter);
        if !frame.measured || frame.pls.fec().is_none() || reach.end > samples.len() as i64 {
            // Where only the header behind the frame is missing, the frame would do, but so does the one before.
            if reach.end > samples.len() as i64 && frames > 0 {
                break;
            }
            symbols += Layout::new(frame.pls)?.symbols();
            continue;
        }
        let start = usize::try_from(reach.start).unwrap_or(0);
        let mut window = samples[start..reach.end as usize].to_vec();
        let mut received = vec![Complex32::ZERO; Layout::new(frame.pls)?.symbols() + HEADER];
        frame.relative_to(start as i64).cut(filter, &mut window, &mut received);
        phase.estimate(frame.pls, &received, scrambler);
        phase.correct(&mut received);
        sum += SignalLevel::measure(frame.pls, &received, scrambler).n0;
        symbols += received.len();
        frames += 1;
    }
    (frames > 0).then(|| sum / frames as f32)
}
