//! What a hand-over costs: stages that do nothing else.

use bief::pipeline::Waiting;
use bief_cli::failure::Failure;

use super::case::{Aim, Case, Reading};
use super::probe::round_trip_ns;
use super::stream::{Setting, Stream};

const TWO: (&str, &str) = ("Hand-over: 2 stages on 2 cores, per frame", "ns");
const FOUR: (&str, &str) = ("4 stages on 2 cores, per frame", "ns");

/// Frames that a ring holds.
const DEPTHS: [usize; 2] = [1, 16];
const WAITINGS: [(&str, Waiting); 3] =
    [("adaptive", Waiting::Adaptive), ("passive", Waiting::Passive), ("active", Waiting::Active)];

/// Two stages, each with a probe before and after, and four, at every depth and with every way to wait.
pub(super) fn cases() -> Result<Vec<Case>, Failure> {
    let mut two = Vec::new();
    let mut four = Vec::new();
    for depth in DEPTHS {
        for (name, waiting) in WAITINGS {
            let setting = Setting { depth: Some(depth), waiting, ..Setting::DEFAULT };
            let is_default = waiting == Waiting::default();
            let mut stream = Stream::of_stages(2, setting)?;
            let measure = move || {
                let before = round_trip_ns();
                let value = stream.ns_per_frame()?;
                let probe_ns = before.zip(round_trip_ns()).map(|(before, after)| (before + after) / 2.0);
                Ok(Reading { value, probe_ns })
            };
            let aim = Aim::ProbesAtMost(if depth == 1 { 1.5 } else { 0.5 });
            two.push(Case::new(format!("handover/{depth}/{name}"), TWO, measure).aiming(is_default.then_some(aim)));

            let mut stream = Stream::of_stages(4, setting)?;
            let measure = move || Ok(stream.ns_per_frame()?.into());
            let aim = (is_default && depth == 16).then_some(Aim::AtMost(1000.0));
            four.push(Case::new(format!("stages/{depth}/{name}"), FOUR, measure).aiming(aim));
        }
    }
    two.extend(four);
    Ok(two)
}
