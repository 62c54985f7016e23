//! The services of transport streams: told, and read back.

use bief::report::{Figure, Figures, Reading};
use bief_dsp::transport::{Services, stream_type_name};
use serde::Serialize;

/// PIDs that are told of a stream at most.
const MOST_PIDS: usize = 256;
const NULL_PID: u16 = 0x1FFF;

/// A service of a transport stream, as its tables tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ServiceFigures {
    /// Input stream identifier; `None` on a carrier of a single stream.
    pub isi: Option<u8>,
    /// Its number.
    pub service: u16,
    /// Its name; `None` before the table of names has come.
    pub name: Option<String>,
    /// Who provides it.
    pub provider: Option<String>,
    /// Whether it is told to be scrambled.
    pub is_scrambled: bool,
    /// The PIDs of its streams.
    pub pids: Vec<u16>,
}

/// What came of a PID of a transport stream that its tables name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PidReport {
    /// Input stream identifier; `None` on a carrier of a single stream.
    pub isi: Option<u8>,
    /// Which.
    pub pid: u16,
    /// What it is.
    pub content: String,
    /// Its packets.
    pub packets: u64,
    /// Times that its counter did not go on.
    pub continuity_errors: u64,
    /// Bits per second, where there is a clock.
    pub bits_per_second: Option<u64>,
    /// How far its PCRs are from an even clock, root mean square, in nanoseconds.
    pub pcr_jitter_ns: Option<u64>,
    /// The longest time between two PCRs, in nanoseconds.
    pub pcr_longest_ns: Option<u64>,
}

/// Tells what a stream carries, if it has a programme association table.
pub(super) fn tell(watched: &Services, isi: Option<u8>, figures: &mut Figures) {
    if !watched.is_multiplex() {
        return;
    }
    let of = |figure: &mut Figure, label: &'static str, value: u16| {
        if let Some(isi) = isi {
            figure.of("isi", isi);
        }
        figure.of(label, value);
    };
    let mut pids = vec![(0, "PAT"), (0x11, "SDT")];
    for (number, service) in watched.services() {
        let streams: Vec<String> = service.streams.iter().map(|(pid, _)| pid.to_string()).collect();
        of(figures.text("service", streams.join(" ")), "service", number);
        let texts = [("service_name", &service.name), ("service_provider", &service.provider)];
        for (name, text) in texts {
            if let Some(text) = text {
                of(figures.text(name, text.clone()), "service", number);
            }
        }
        if service.is_scrambled {
            of(figures.text("service_scrambled", "yes"), "service", number);
        }
        pids.push((service.map, "PMT"));
        pids.extend(service.clock.map(|pid| (pid, "clock")));
        pids.extend(service.streams.iter().map(|(pid, kind)| (*pid, stream_type_name(*kind).unwrap_or("other"))));
    }
    pids.push((NULL_PID, "null packets"));
    // Of a PID that is clock and stream, the stream is told.
    pids.sort_by_key(|(pid, content)| (*pid, *content == "clock"));
    pids.dedup_by_key(|(pid, _)| *pid);
    let came = pids.iter().map(|(pid, content)| (watched.pid(*pid), *content)).filter(|(pid, _)| pid.packets > 0);
    for (pid, content) in came.take(MOST_PIDS) {
        let number = pid.pid;
        of(figures.text("pid", content), "pid", number);
        of(figures.count("pid_packets", "", pid.packets), "pid", number);
        of(figures.count("continuity_errors", "", pid.continuity_errors), "pid", number);
        if let Some(rate) = pid.rate {
            of(figures.count("pid_rate", "bit/s", rate.round() as u64), "pid", number);
        }
        if let Some(clock) = pid.clock {
            let ns = |seconds: f64| (seconds * 1e9).round() as u64;
            of(figures.count("pcr_jitter", "ns", ns(clock.jitter)), "pid", number);
            of(figures.count("pcr_longest", "ns", ns(clock.longest)), "pid", number);
        }
    }
}

/// The number that a label of a figure is, and its stream.
fn label(figure: &Figure, name: &str) -> Option<(Option<u8>, u16)> {
    let number = figure.label(name)?.parse().ok()?;
    Some((figure.label("isi").and_then(|isi| isi.parse().ok()), number))
}

impl ServiceFigures {
    /// Those that are told.
    pub(super) fn all(told: &Figures) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for figure in told.iter() {
            let (Some((isi, service)), Reading::Text(text)) = (label(figure, "service"), &figure.reading) else {
                continue;
            };
            if figure.name == "service" {
                let pids = text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
                all.push(Self { isi, service, pids, ..Self::default() });
            }
            let Some(known) = all.iter_mut().find(|known| (known.isi, known.service) == (isi, service)) else {
                continue;
            };
            match &*figure.name {
                "service_name" => known.name = Some(text.clone()),
                "service_provider" => known.provider = Some(text.clone()),
                "service_scrambled" => known.is_scrambled = true,
                _ => {}
            }
        }
        all
    }
}

impl PidReport {
    /// Those that are told.
    pub(super) fn all(told: &Figures) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for figure in told.iter() {
            let Some((isi, pid)) = label(figure, "pid") else { continue };
            let known = all.iter_mut().find(|known| (known.isi, known.pid) == (isi, pid));
            match (&*figure.name, &figure.reading, known) {
                ("pid", Reading::Text(content), None) => {
                    all.push(Self { isi, pid, content: content.clone(), ..Self::default() });
                }
                ("pid_packets", Reading::Count(count), Some(known)) => known.packets = *count,
                ("continuity_errors", Reading::Count(count), Some(known)) => known.continuity_errors = *count,
                ("pid_rate", Reading::Count(count), Some(known)) => known.bits_per_second = Some(*count),
                ("pcr_jitter", Reading::Count(count), Some(known)) => known.pcr_jitter_ns = Some(*count),
                ("pcr_longest", Reading::Count(count), Some(known)) => known.pcr_longest_ns = Some(*count),
                _ => {}
            }
        }
        all
    }
}
