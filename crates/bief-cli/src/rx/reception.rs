//! What `bief rx` tells of a reception.

use bief::{Planned, Report};
use bief_dsp::simd::Level;
use bief_radio::dvbs2::{Figures, StreamFigures};
use bief_radio::ip::IpFigures;
use indicatif::ProgressBar;

use super::also::Also;
use super::outputs::Outputs;
use super::services;
use crate::ip;
use crate::planning::{against_plan, record};
use crate::seeing::SeeingArgs;
use crate::table::facts;
use crate::text::printable;
use crate::workers::Away;

/// The receiver does not tell higher ratios apart.
const MOST_ES_N0_DB: f64 = 29.9;

/// Shows on the bar how the reception is going.
pub(super) fn show(bar: &ProgressBar, figures: &Figures) {
    bar.set_position(figures.bytes);
    let es_n0 = figures.es_n0_db.map_or_else(String::new, |db| format!("Es/N0 {db:.1} dB, "));
    let margin = figures.margin_db.map_or_else(String::new, |db| format!("margin {db:+.1} dB, "));
    let kind = match figures.kinds.as_slice() {
        [] => String::new(),
        [kind] => format!("{}, ", kind.name),
        kinds => format!("{} kinds of frames, ", kinds.len()),
    };
    let lost = match figures.lost_samples {
        0 => String::new(),
        samples => format!(", {samples} samples lost"),
    };
    let Figures { packets, frame_errors, .. } = figures;
    bar.set_message(format!("{kind}{es_n0}{margin}{packets} packets, {frame_errors} frame errors{lost}"));
}

/// What is told of a reception.
pub(super) struct Reception {
    pub(super) name: String,
    pub(super) is_live: bool,
    pub(super) outputs: Outputs,
    pub(super) also: Also,
    /// Samples per symbol, where the signal had to show them.
    pub(super) found_rate: Option<f64>,
    pub(super) symbol_rate: Option<f64>,
    pub(super) figures: Figures,
    pub(super) ip: IpFigures,
    /// Ended by Ctrl-C.
    pub(super) interrupted: bool,
    /// `None` after a fault.
    pub(super) report: Option<Report>,
    /// `None` where tasks were away.
    pub(super) planned: Option<Planned>,
    pub(super) away: Option<Away>,
}

impl Reception {
    fn megabits_per_second(&self) -> Option<f64> {
        let report = self.report.as_ref()?;
        Some(self.figures.bits as f64 / report.seconds / 1e6)
    }

    /// Why nothing was received, if nothing was.
    pub(super) fn fault(&self, isi: Option<u8>) -> Option<String> {
        let streams = &self.figures.streams;
        let has_something = |stream: &StreamFigures| {
            stream.delivered && (stream.packets > stream.errors || (stream.packets == 0 && stream.bytes > 0))
        };
        if streams.iter().any(has_something) {
            return self.also.fault(&self.ip);
        }
        let found: Vec<String> = streams.iter().map(|stream| stream.id().to_string()).collect();
        Some(match isi {
            Some(isi) if !found.is_empty() && !streams.iter().any(|stream| stream.delivered) => {
                format!("it carries no input stream {isi}: there is a {}", found.join(", a "))
            }
            _ if self.figures.frames == 0 => "none of its frames is of a MODCOD that was asked for".to_owned(),
            _ if self.figures.frame_errors < self.figures.frames => "it carries nothing".to_owned(),
            _ => "nothing could be decoded: is its Gold code another (--gold), or the sample format (--format)?"
                .to_owned(),
        })
    }

    pub(super) fn table(&self, seeing: &SeeingArgs) -> String {
        let figures = &self.figures;
        let number = |value: Option<f64>, unit: &str, digits: usize| {
            value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:+.digits$} {unit}"))
        };
        let carrier = match (figures.carrier_per_symbol, self.symbol_rate) {
            (Some(cycles), Some(rate)) => format!("{:+.1} Hz", cycles * rate),
            (cycles, _) => number(cycles, "cycles per symbol", 6),
        };
        let es_n0 = match figures.es_n0_db {
            Some(db) if db >= MOST_ES_N0_DB => format!("{MOST_ES_N0_DB} dB or more"),
            Some(db) => format!("{db:.2} dB"),
            None => "unknown".to_owned(),
        };
        let margin = figures.margin_db.map_or_else(String::new, |db| format!(", {db:+.1} dB to the threshold"));
        let mut rows = vec![("input", printable(&self.name))];
        for kind in &figures.kinds {
            rows.push(("signal", format!("{}: {} frames, {} with errors", kind.name, kind.frames, kind.frame_errors)));
        }
        rows.extend([("Es/N0", es_n0 + &margin), ("carrier offset", carrier)]);
        rows.push(match self.found_rate {
            Some(rate) => ("symbol rate", format!("one symbol in {rate:.5} samples, found")),
            None => ("clock offset", number(figures.clock_ppm, "ppm", 2)),
        });
        let Figures { frames, frame_errors, missed_headers, .. } = figures;
        rows.push(("frames", format!("{frames}, {frame_errors} with errors, {missed_headers} headers missed")));
        if figures.dummy_frames > 0 {
            rows.push(("dummy frames", figures.dummy_frames.to_string()));
        }
        if figures.lost_samples > 0 {
            rows.push(("samples lost", format!("{}, dropped before the receiver", figures.lost_samples)));
        }
        if figures.passed_over_samples > 0 {
            rows.push(("passed over", format!("{} samples in which no signal was found", figures.passed_over_samples)));
        }
        if figures.losses > 0 {
            rows.push(("signal lost", format!("{} times", figures.losses)));
        }
        if figures.other_frames > 0 {
            rows.push(("other frames", format!("{}, passed over", figures.other_frames)));
        }
        if self.interrupted {
            rows.push(("interrupted", format!("after {} bytes", figures.bytes)));
        }
        rows.extend(figures.streams.iter().flat_map(|stream| self.stream(stream)));
        rows.extend(ip::rows(&self.ip));
        rows.extend(self.also.rows());
        rows.extend(services::rows(figures));
        rows.extend(self.outputs.sent().map(|(text, _)| ("sent", text)));
        if let (Some(report), Some(speed)) = (&self.report, self.megabits_per_second()) {
            rows.push(("time", format!("{:.3} s, {speed:.1} Mb/s of information", report.seconds)));
            let plan = match &self.away {
                Some(away) => away.table(),
                None => against_plan(self.planned.as_ref(), report, self.is_live),
            };
            return format!("{}\n\n{}\n\n{plan}", facts(&rows), seeing.shown(report));
        }
        facts(&rows)
    }

    pub(super) fn to_json(&self) -> String {
        let streams = self.figures.streams.iter().filter(|_| self.outputs.is_written());
        let outputs: Vec<_> =
            streams.map(|stream| self.outputs.path(stream.id())).chain(self.also.paths().map(Into::into)).collect();
        let mut own = serde_json::json!({
            "input": self.name,
            "outputs": outputs,
            "sent": self.outputs.sent().map(|(_, value)| value),
            "samples_per_symbol_found": self.found_rate,
            "figures": self.figures,
            "ip": self.also.has_ip().then_some(&self.ip.streams),
            "interrupted": self.interrupted,
            "megabits_per_second": self.megabits_per_second(),
            "simd": Level::best().name(),
        });
        if let Some(away) = &self.away {
            own["workers"] = away.document();
        }
        record(own, self.planned.as_ref(), self.report.as_ref())
    }

    /// An input stream: what it is, and what came of it.
    fn stream(&self, stream: &StreamFigures) -> Vec<(&'static str, String)> {
        let id = stream.id();
        if !stream.delivered {
            return vec![("stream", format!("{id}: {} frames, passed over", stream.frames))];
        }
        let is_named = self.outputs.is_written() && !self.outputs.is_stdout();
        let to = if is_named { format!(" to {}", self.outputs.path(id).display()) } else { String::new() };
        let (name, amount) = if stream.packets == 0 { ("bytes", stream.bytes) } else { ("packets", stream.packets) };
        let mut rows = vec![
            ("stream", format!("{id}{to}")),
            (name, format!("{amount}, {} with errors, {} gaps", stream.errors, stream.gaps)),
        ];
        if stream.replaced > 0 {
            rows.push(("", format!("{} null packets in the place of lost ones", stream.replaced)));
        }
        if stream.restored > 0 {
            rows.push(("", format!("{} null packets put back that the sender had left out", stream.restored)));
        }
        if let Some(stamp) = stream.last_stamp {
            rows.push(("", format!("{} with time stamps (ISSY), the last {stamp:#x}", stream.stamps)));
        }
        rows
    }
}
