//! What the tasks of a receiver tell, read back.

use bief::report::Reading;
use bief_dsp::dvbs2::{Pls, VlSnr};
use serde::Serialize;

use super::services::{PidReport, ServiceFigures};
use super::streams::StreamFigures;

/// What a receiver has seen, read from what its tasks tell: while it runs, or of a whole run, also one that a fault ended.
///
/// The tasks tell it under these names ([`bief::report::Figures`]); all counts are of one run.
///
/// | task | name | unit | labels | what it is |
/// | --- | --- | --- | --- | --- |
/// | [`CutFrames`](super::CutFrames) | `read` | bytes | | count, of the recording |
/// | | `lost` | samples | | count, dropped before the receiver |
/// | | `passed_over` | samples | | count, searched for a signal in vain |
/// | | `missed_headers` | | | count |
/// | | `dummy_frames`, `other_frames` | | | counts, passed over |
/// | | `losses` | | | count, of the signal |
/// | [`Observe`](super::Observe) | `frames`, `frame_errors` | | `pls`, `kind` | counts |
/// | | `ldpc_iterations` | | | level, per frame |
/// | | `corrected` | bits | | count, by the BCH decoder |
/// | | `information` | bits | | count, of all frames, with errors or without |
/// | | `es_n0` | dB | | level |
/// | | `carrier` | cycles per symbol | | level |
/// | | `clock` | ppm | | level |
/// | | `margin` | dB | | level |
/// | [`Deliver`](super::Deliver) | `stream` | | `isi`, `kind` | text, `delivered` or `passed over` |
/// | | `stream_frames` | | `isi`, `kind` | count, of BBFRAMEs |
/// | | `written` | bytes | `isi`, `kind` | count |
/// | | `packets`, `packet_errors` | | `isi`, `kind` | counts |
/// | | `replaced`, `restored` | packets | `isi`, `kind` | counts |
/// | | `gaps` | | `isi`, `kind` | count |
/// | | `stamps` | packets | `isi`, `kind` | count |
/// | | `last_stamp` | | `isi`, `kind` | text, a number |
/// | | `service`, `service_name`, `service_provider`, `service_scrambled` | | `isi`, `service` | texts: the PIDs of its streams, its names, `yes` |
/// | | `pid` | | `isi`, `pid` | text, what a PID is that tables name |
/// | | `pid_packets`, `continuity_errors` | | `isi`, `pid` | counts |
/// | | `pid_rate` | bit/s | `isi`, `pid` | by the clock of the stream |
/// | | `pcr_jitter`, `pcr_longest` | ns | `isi`, `pid` | of a clock: root mean square; between two |
/// | | `unreadable_frames` | | | count, of BBFRAMEs |
/// | [`KeepSymbols`](super::KeepSymbols) | `symbols` | | `pls`, `kind` | scatter plot |
///
/// `pls` is the PLS value and `kind` what that means, as in `QPSK 8/9 short, pilots`, and of VL-SNR frames there is `vl_snr`, their
/// header index, too; a stream has an `isi` on a carrier of several,
/// and its `kind` is, for example, `transport stream`.
///
/// ```
/// use bief::Application;
/// use bief_radio::Recording;
/// use bief_radio::dvbs2::{Figures, Receiver, Settings};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let mut receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?.to(std::io::sink());
/// let report = receiver.program()?.run()?;
/// let figures = Figures::of(&report.figures);
/// assert_eq!((figures.frames, figures.frame_errors, figures.packets), (41, 0, 385));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Bytes of the recording read.
    pub bytes: u64,
    /// Samples that were dropped before the receiver, which was too slow for live input.
    pub lost_samples: u64,
    /// Samples that were searched for a signal in vain: as many as a frame has, or more, before the first frame that was found or
    /// after a loss.
    pub passed_over_samples: u64,
    /// PLFRAMEs received.
    pub frames: u64,
    /// PLFRAMEs that could not be decoded without errors.
    pub frame_errors: u64,
    /// PLFRAMEs whose header was not recognised where it was expected.
    pub missed_headers: u64,
    /// Dummy PLFRAMEs.
    pub dummy_frames: u64,
    /// PLFRAMEs of MODCODs that are not wanted, which were passed over.
    pub other_frames: u64,
    /// Frames of each kind that came.
    pub kinds: Vec<KindFigures>,
    /// Times that the signal was lost and had to be found again.
    pub losses: u64,
    /// Mean iterations of the LDPC decoder per frame.
    pub mean_iterations: f64,
    /// Bits that the BCH decoder corrected.
    pub corrected_bits: u64,
    /// Information bits of the frames that were decoded without errors.
    pub bits: u64,
    /// Transport-stream packets written.
    pub packets: u64,
    /// Of these, packets with errors, marked by their transport error indicator.
    pub packet_errors: u64,
    /// Places where packets are missing, nobody knows how many.
    pub gaps: u64,
    /// Each input stream that was found.
    pub streams: Vec<StreamFigures>,
    /// The services of transport streams, as their tables tell.
    pub services: Vec<ServiceFigures>,
    /// What came of the PIDs that these tables name.
    pub pids: Vec<PidReport>,
    /// BBFRAMEs that belong to nobody knows which stream, because they could not be read.
    pub unreadable_frames: u64,
    /// Signal-to-noise ratio Es/N0 in dB, averaged over the frames; `None` before the first.
    pub es_n0_db: Option<f64>,
    /// Carrier offset in cycles per symbol.
    pub carrier_per_symbol: Option<f64>,
    /// Error of the sender's symbol clock against the receiver's, in parts per million.
    pub clock_ppm: Option<f64>,
    /// Es/N0 above what the MODCOD of the last frame needs at least (EN 302 307-1, Table 13), in dB.
    pub margin_db: Option<f64>,
}

/// How frames of one kind fared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindFigures {
    /// MODCOD, size and pilots, as in `QPSK 8/9 short, pilots`.
    pub name: String,
    /// The PLS value.
    pub pls: u8,
    /// PLFRAMEs received.
    pub frames: u64,
    /// PLFRAMEs that could not be decoded without errors.
    pub frame_errors: u64,
}

impl Figures {
    /// What the tasks of a receiver tell among `told`: of [`Report::figures`](bief::Report::figures) or
    /// [`Watch::figures`](bief::pipeline::Watch::figures). What nobody tells is 0 or unknown.
    pub fn of(told: &bief::Figures) -> Self {
        let (kinds, streams) = (kinds(told), StreamFigures::all(told));
        let bits = kinds.iter().map(|(pls, kind)| kind.sound_bits(*pls)).sum();
        let kinds: Vec<KindFigures> = kinds.into_iter().map(|(_, kind)| kind).collect();
        let of_kinds = |figure: fn(&KindFigures) -> u64| kinds.iter().map(figure).sum();
        let of_streams = |figure: fn(&StreamFigures) -> u64| streams.iter().map(figure).sum();
        Self {
            bytes: told.counted("read"),
            lost_samples: told.counted("lost"),
            passed_over_samples: told.counted("passed_over"),
            frames: of_kinds(|kind| kind.frames),
            frame_errors: of_kinds(|kind| kind.frame_errors),
            missed_headers: told.counted("missed_headers"),
            dummy_frames: told.counted("dummy_frames"),
            other_frames: told.counted("other_frames"),
            losses: told.counted("losses"),
            mean_iterations: told.measured("ldpc_iterations").unwrap_or(0.0),
            corrected_bits: told.counted("corrected"),
            bits,
            packets: of_streams(|stream| stream.packets),
            packet_errors: of_streams(|stream| stream.errors),
            gaps: of_streams(|stream| stream.gaps),
            unreadable_frames: told.counted("unreadable_frames"),
            es_n0_db: told.measured("es_n0"),
            carrier_per_symbol: told.measured("carrier"),
            clock_ppm: told.measured("clock"),
            margin_db: told.measured("margin"),
            services: ServiceFigures::all(told),
            pids: PidReport::all(told),
            kinds,
            streams,
        }
    }
}

impl KindFigures {
    /// Information bits of the frames without errors.
    fn sound_bits(&self, pls: Pls) -> u64 {
        (self.frames - self.frame_errors.min(self.frames)) * pls.fec().map_or(0, |fec| fec.kbch as u64)
    }
}

/// Says of which kind of frame a figure is.
pub(super) fn of_kind(figure: &mut bief::report::Figure, pls: Pls) {
    figure.of("pls", pls.value()).of("kind", pls);
    if let Some(kind) = pls.vl_snr() {
        figure.of("vl_snr", kind.header_index());
    }
}

/// Kinds of frames that are told apart.
pub(super) const KINDS: usize = 256 + 16;

/// All of them: those of PLS values, then VL-SNR frames by what their second header says.
pub(super) fn all_kinds() -> impl Iterator<Item = Pls> {
    let vl_snr = (0..16).map(|index| VlSnr::of_header(index).map_or(Pls::default(), Pls::of_vl_snr));
    Pls::all().chain(vl_snr)
}

/// The place of a kind among all.
pub(super) fn place_of(pls: Pls) -> usize {
    pls.vl_snr().map_or(usize::from(pls.value()), |kind| 256 + usize::from(kind.header_index()))
}

/// The kind of frame that a figure is of.
pub(super) fn kind_of(figure: &bief::report::Figure) -> Option<Pls> {
    let number = |label: &str| figure.label(label)?.parse().ok();
    let vl_snr = number("vl_snr").and_then(VlSnr::of_header).map(Pls::of_vl_snr);
    vl_snr.or_else(|| number("pls").map(Pls::new))
}

/// The kinds of frames that came, in the order of their PLS values, VL-SNR frames last.
fn kinds(told: &bief::report::Figures) -> Vec<(Pls, KindFigures)> {
    let mut counts = [[0_u64; 2]; KINDS];
    for figure in told.iter() {
        let index = match &*figure.name {
            "frames" => 0,
            "frame_errors" => 1,
            _ => continue,
        };
        if let (Some(pls), Reading::Count(count)) = (kind_of(figure), &figure.reading) {
            counts[place_of(pls)][index] += count;
        }
    }
    let kind = |(pls, [frames, frame_errors]): (Pls, [u64; 2])| {
        (pls, KindFigures { name: pls.to_string(), pls: pls.value(), frames, frame_errors })
    };
    all_kinds().zip(counts).filter(|(_, [frames, _])| *frames > 0).map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_tasks_that_tell_nothing_nothing_is_known() {
        let figures = Figures::of(&bief::report::Figures::default());
        assert_eq!((figures.es_n0_db, figures.frames, figures.mean_iterations), (None, 0, 0.0));
        assert!(figures.kinds.is_empty() && figures.streams.is_empty());
    }

    #[test]
    fn frames_of_each_kind_are_added_up() {
        let mut told = bief::report::Figures::default();
        for (pls, frames, errors) in [(43, 3, 1), (0, 2, 0), (43, 1, 0)] {
            let pls = Pls::new(pls);
            of_kind(told.count("frames", "", frames), pls);
            of_kind(told.count("frame_errors", "", errors), pls);
        }
        told.count("frames", "", 100);
        let figures = Figures::of(&told);
        assert_eq!((figures.frames, figures.frame_errors, figures.bits), (6, 1, 3 * 14_232));
        let kind = |name: &str, pls, frames, frame_errors| KindFigures { name: name.into(), pls, frames, frame_errors };
        assert_eq!(figures.kinds, [kind("dummy PLFRAME", 0, 2, 0), kind("QPSK 8/9 short, pilots", 43, 4, 1)]);
    }
}
