//! What `bief nbfm` tells of a reception.

use bief::Report;
use bief::source::Punctuality;
use bief_radio::{FmFigures, NarrowbandFm};
use indicatif::ProgressBar;

use super::latency::Kept;
use super::output::Output;
use super::settings::How;
use crate::seeing::SeeingArgs;
use crate::table::facts;
use crate::units::significant;

/// Shows on the bar how the reception is going.
pub(super) fn show(bar: &ProgressBar, heard: &FmFigures, bytes_per_second: f64) {
    bar.set_position((heard.seconds * bytes_per_second) as u64);
    let signal = match heard.has_signal {
        None => String::new(),
        Some(true) => format!(", signal, carrier {:+.0} Hz", heard.offset),
        Some(false) => ", noise".to_owned(),
    };
    bar.set_message(format!("{:.1} s{signal}", heard.seconds));
}

/// What is told of a reception.
pub(super) struct Hearing {
    pub(super) name: String,
    pub(super) output: Output,
    pub(super) receiver: NarrowbandFm,
    pub(super) how: How,
    /// How a latency is kept, if one is asked for.
    pub(super) kept: Option<Kept>,
    /// How long the audio is, how far the carrier moved in it, and whether there was a signal at its end.
    pub(super) heard: FmFigures,
    /// Samples that the radio lost.
    pub(super) lost: u64,
    /// Ended by Ctrl-C.
    pub(super) interrupted: bool,
    /// How long the run took, and what of a core.
    pub(super) seconds: f64,
    pub(super) core_share: f64,
    /// Of a run at a pace.
    pub(super) punctuality: Option<Punctuality>,
    /// `None` after a fault.
    pub(super) report: Option<Report>,
}

impl Hearing {
    pub(super) fn table(&self, seeing: &SeeingArgs) -> String {
        let NarrowbandFm { sample_rate, carrier, audio_rate, block, .. } = self.receiver;
        let how = match self.how {
            How::Found => "found",
            How::Measured => "measured",
            How::Told => "as told",
        };
        let moved =
            if self.how == How::Told { String::new() } else { format!(", moved by {:+.1} Hz", self.heard.offset) };
        let mut rows = vec![
            ("input", format!("{}, {sample_rate} samples/s", self.name)),
            ("carrier", format!("{carrier:+.1} Hz, {how}{moved}")),
            ("audio", format!("{:.3} s at {audio_rate} Hz, {}", self.heard.seconds, self.output.form())),
        ];
        if !self.output.is_stdout() {
            rows.push(("output", self.output.path.display().to_string()));
        }
        if self.heard.has_signal == Some(false) {
            rows.push(("signal", "none at the end, only noise".to_owned()));
        }
        if self.lost > 0 {
            rows.push(("samples lost", format!("{}, by the radio", self.lost)));
        }
        if self.interrupted {
            rows.push(("interrupted", format!("after {:.3} s", self.heard.seconds)));
        }
        let us = |seconds: f64| format!("{} us", significant(seconds * 1e6));
        rows.push(("block", format!("{block} samples, {}", us(block as f64 / sample_rate))));
        rows.extend(self.kept.iter().flat_map(Kept::rows));
        if let Some(pace) = &self.punctuality {
            let late = |ns: u64| us(ns as f64 / 1e9);
            rows.push(("pace", format!("{} blocks, {} of them late from the start", pace.frames, pace.behind)));
            rows.push((
                "released late",
                format!(
                    "{} in the median, {} 99th percentile, {} at most",
                    late(pace.late_median_ns),
                    late(pace.late_p99_ns),
                    late(pace.late_max_ns)
                ),
            ));
        }
        let times = significant(self.heard.seconds / self.seconds);
        rows.push(("time", format!("{:.3} s, {times} times real time", self.seconds)));
        rows.push(("processor", format!("{} % of a core", significant(100.0 * self.core_share))));
        match &self.report {
            Some(report) => format!("{}\n\n{}", facts(&rows), seeing.shown(report)),
            None => facts(&rows),
        }
    }

    pub(super) fn to_json(&self) -> String {
        let NarrowbandFm { sample_rate, carrier, deviation, audio_rate, block, .. } = self.receiver;
        let how = match self.how {
            How::Found => "found",
            How::Measured => "measured",
            How::Told => "told",
        };
        let value = serde_json::json!({
            "input": self.name,
            "output": self.output.path,
            "sample_rate": sample_rate,
            "audio_rate": audio_rate,
            "deviation_hz": deviation,
            "block": block,
            "carrier_hz": carrier,
            "carrier_is": how,
            "carrier_moved_hz": self.heard.offset,
            "signal_at_the_end": self.heard.has_signal,
            "audio_seconds": self.heard.seconds,
            "lost_samples": self.lost,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "processor_percent": 100.0 * self.core_share,
            "pace": self.punctuality,
            "plan": self.kept.as_ref().map(Kept::to_json),
            "report": self.report,
        });
        format!("{value:#}")
    }
}
