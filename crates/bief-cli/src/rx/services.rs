//! What `bief rx` tells of services.

use bief_radio::dvbs2::{Figures, PidReport};

use crate::text::printable;
use crate::units::significant;

/// Services and PIDs that are shown: `--json` has all.
const MOST_SHOWN: usize = 16;

/// Services by their names, and what came of their PIDs.
pub(super) fn rows(figures: &Figures) -> Vec<(&'static str, String)> {
    let stream = |isi: Option<u8>| isi.map_or_else(String::new, |isi| format!(", stream {isi}"));
    let mut rows = Vec::new();
    for service in figures.services.iter().take(MOST_SHOWN) {
        let name = service.name.as_deref().map_or_else(|| "no name".to_owned(), printable);
        let provider = service.provider.as_deref().map_or_else(String::new, |by| format!(" ({})", printable(by)));
        let pids: Vec<String> = service.pids.iter().map(u16::to_string).collect();
        let pids = if pids.is_empty() { String::new() } else { format!(", PIDs {}", pids.join(", ")) };
        let scrambled = if service.is_scrambled { ", scrambled" } else { "" };
        let isi = stream(service.isi);
        rows.push(("service", format!("{}: {name}{provider}{pids}{scrambled}{isi}", service.service)));
    }
    rows.extend(figures.pids.iter().take(MOST_SHOWN).map(|pid| ("PID", shown(pid) + &stream(pid.isi))));
    let more = figures.services.len().saturating_sub(MOST_SHOWN) + figures.pids.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        rows.push(("", format!("{more} more services and PIDs: see --json")));
    }
    rows
}

fn shown(report: &PidReport) -> String {
    let PidReport { pid, content, packets, continuity_errors, .. } = report;
    let rate =
        report.bits_per_second.map_or_else(String::new, |bits| format!(", {} kb/s", significant(bits as f64 / 1e3)));
    let jitter =
        report.pcr_jitter_ns.map_or_else(String::new, |ns| format!(", PCR jitter {} us", significant(ns as f64 / 1e3)));
    let gaps =
        if content == "null packets" { String::new() } else { format!(", {continuity_errors} continuity errors") };
    format!("{pid}: {content}, {packets} packets{rate}{gaps}{jitter}")
}
