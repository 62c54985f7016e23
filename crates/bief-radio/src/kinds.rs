//! The tasks that serve in any radio chain, as kinds of a registry.

use std::error::Error as _;
use std::sync::Arc;

use bief::chain::Element;
use bief::kinds::{InputAddress, Kind, Param, Piece};
use bief::raw::DynWire;
use bief::{Result, Task, source};
use bief_dsp::fir::Sample;
use bief_dsp::low_pass::Window;
use num_complex::Complex32;

use crate::audio::{DeEmphasis, Discriminate, RemoveDc};
use crate::dvbs2::Quantise;
use crate::files::{NewFile, WriteBytes};
use crate::fm::DemodulateFm;
use crate::frontend::{Agc, ReadSamples, Shift};
use crate::iq::SampleFormat;
use crate::keep_spectrum::KeepSpectrum;
use crate::low_pass::{History, LowPass};
use crate::open::{files_of, open_recording};
use crate::recording::{Recording, RecordingError, Samples};
use crate::signal::{Signal, rated, sample_rate};
use crate::wav::WriteWav;

/// Samples of a frame that a parameter can ask for at most.
const MOST_SAMPLES: usize = 1 << 24;

/// What a piece of samples takes.
const EITHER: &str = "Complex<f32> or f32, in frames of one length";

/// The kinds, in the order in which a receiver uses them.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        read(),
        pace(),
        shift(),
        keep_spectrum(),
        agc(),
        history(),
        low_pass(),
        discriminate(),
        demodulate_fm(),
        de_emphasis(),
        remove_dc(),
        write_wav(),
        quantise(),
        write(),
    ]
}

/// A sample format.
pub(crate) fn format(meaning: &str) -> Param<SampleFormat> {
    Param::<String>::new("format", meaning).parsed().choices(SampleFormat::ALL.map(SampleFormat::name))
}

/// A recording as an address.
pub(crate) fn recording() -> Param<InputAddress> {
    Param::reads(
        "path",
        "SigMF recording (pair or archive), WAV of IQ samples or raw file; \"-\" for standard input, or an address",
    )
    .files(files_of)
}

/// Opens the recording of a parameter.
pub(crate) fn open(path: &InputAddress, format: Option<SampleFormat>) -> Result<Recording> {
    open_recording(path.address(), path.openers(), format).map_err(|error| {
        match error.source().and_then(|source| source.downcast_ref()) {
            Some(RecordingError::NoFormat { name }) => {
                let formats = SampleFormat::ALL.map(SampleFormat::name).join(", ");
                path.refuse(format!("{name}: its sample format is not known: give a `format`: {formats}"))
            }
            _ => path.refuse(error),
        }
    })
}

fn read() -> Kind {
    let parameters = (
        recording(),
        format("of the samples, where nothing else tells it").optional(),
        Param::new("frame", "samples of a frame; zeros fill the last one").range(1..=MOST_SAMPLES).default(4096),
        Param::new("tail", "zeros after the recording, at least; left out, as many as filters hold back")
            .range(0..=MOST_SAMPLES)
            .optional(),
    );
    let kind = Kind::piece(
        "radio.read",
        "reads a recording as frames of complex samples, and ends with it",
        parameters,
        |(path, format, frame, tail): (InputAddress, _, usize, Option<usize>), piece| {
            let kept = piece.kept::<Recording>();
            let mut recording = kept.map_or_else(|| open(&path, format), Ok)?;
            if piece.is_rehearsal() {
                let mut reader = recording.samples.into_reader();
                let played = piece.recorded(&mut reader, frame * recording.format.bytes());
                let played = played.map_err(|error| path.refuse(error))?;
                recording.samples = Samples::Once(reader);
                let Recording { name, format, sample_rate, bytes, files, gaps, .. } = &recording;
                let played = Recording {
                    name: name.clone(),
                    format: *format,
                    sample_rate: *sample_rate,
                    bytes: *bytes,
                    files: files.clone(),
                    samples: Samples::Once(played),
                    gaps: gaps.clone(),
                };
                piece.keep(std::mem::replace(&mut recording, played));
            }
            let signal = Signal::new(recording.sample_rate);
            let read = ReadSamples::new(recording, frame, tail.unwrap_or(0))?;
            let read = if tail.is_none() { read.with_held_back(signal.held_back()) } else { read };
            let made = piece.task(read, &[])?;
            piece.chain().note(&made[0], Arc::new(signal));
            Ok(made)
        },
    );
    kind.makes("Complex<f32>")
}

/// Adds a task of one wire, which carries complex or real samples.
fn either<C: Task, R: Task>(
    piece: &mut Piece<'_>,
    complex: impl FnOnce() -> Result<C>,
    real: impl FnOnce() -> Result<R>,
) -> Result<Vec<DynWire>> {
    let wire = &piece.wires()[0];
    if wire.typed::<Complex32>().is_ok() {
        piece.task(complex()?, &[wire])
    } else if wire.typed::<f32>().is_ok() {
        piece.task(real()?, &[wire])
    } else {
        Err(piece.unfit(0, EITHER))
    }
}

/// A kind of one task that must know the sample rate; what it makes has it, too.
fn rated_kind<T: Task, V: 'static>(
    name: &str,
    summary: &str,
    parameters: impl bief::kinds::Params<Values = V>,
    given: fn(&V) -> Option<f64>,
    make: impl Fn(f64, V) -> Result<(T, usize)> + Send + Sync + 'static,
) -> Kind {
    Kind::piece(name, summary, parameters, move |values, piece| {
        let (signal, rate) = rated(piece, given(&values))?;
        let (task, delay) = make(rate, values)?;
        let wire = &piece.wires()[0];
        let made = piece.task(task, &[wire])?;
        // Of what it makes, or else of what it rewrites.
        piece.chain().note(made.first().unwrap_or(wire), Arc::new(signal.filtered(delay, 1)));
        Ok(made)
    })
}

fn pace() -> Kind {
    let parameters = sample_rate();
    let kind = Kind::piece(
        "radio.pace",
        "lets samples through no faster than a device would give them",
        parameters,
        |given, piece| {
            let (signal, rate) = rated(piece, given)?;
            let wire = &piece.wires()[0];
            piece.chain().note(wire, Arc::new(signal));
            either(piece, || Ok(paced::<Complex32>(rate)), || Ok(paced::<f32>(rate)))
        },
    );
    kind.rewrites(EITHER)
}

fn paced<T: Sample + Element>(rate: f64) -> impl Task {
    source::pace::<T>(rate).0
}

fn shift() -> Kind {
    let shift = Param::<f64>::new("shift", "the negative of a carrier's offset brings it to 0").unit("Hz");
    let make = |rate, (_, shift)| Ok((Shift::new(rate, shift)?, 0));
    rated_kind("radio.shift", "shifts samples in frequency", (sample_rate(), shift), |values| values.0, make)
        .rewrites("Complex<f32>")
}

fn keep_spectrum() -> Kind {
    let summary = "keeps some samples, to look at their spectrum";
    let kind = Kind::piece("radio.keep_spectrum", summary, (), |(), piece| {
        let wire = &piece.wires()[0];
        let rate = Signal::of(piece.chain(), wire).sample_rate();
        piece.task(KeepSpectrum::new(rate)?, &[wire])
    });
    kind.reads("Complex<f32>")
}

fn agc() -> Kind {
    let target = Param::<f64>::new("target", "root mean square of the magnitude afterwards").default(1.0);
    let most_gain = Param::<f64>::new("most_gain", "the highest gain, for silence").default(1e4);
    let summary = "brings samples to a level, and tells what it was";
    Kind::new("radio.agc", summary, (target, most_gain), |(target, most_gain)| Agc::new(target, most_gain))
}

fn history() -> Kind {
    let samples = Param::new("samples", "how many").range(1..=MOST_SAMPLES);
    let kind = Kind::piece("radio.history", "keeps the last samples before each frame", samples, |samples, piece| {
        either(piece, || History::<Complex32>::new(samples), || History::<f32>::new(samples))
    });
    kind.reads(EITHER).makes("what it reads: the samples before")
}

fn low_pass() -> Kind {
    let window = Param::<String>::new("window", "-44, -53 or -74 dB in the stopband");
    let parameters = (
        sample_rate(),
        Param::<f64>::new("cutoff", "where half of the amplitude passes").unit("Hz"),
        Param::<f64>::new("transition", "from passband to stopband: the narrower, the more taps").unit("Hz"),
        window.default("hamming").parsed::<Window>().choices(Window::ALL.map(Window::name)),
        Param::new("decimation", "keeps one sample in this many").range(1..=LowPass::<f32>::MOST_DECIMATION).default(1),
    );
    let kind = Kind::piece(
        "radio.low_pass",
        "filters samples, and decimates; delays by whole samples of what it makes",
        parameters,
        |(given, cutoff, transition, window, decimation), piece| {
            let settings = FilterSettings { given, cutoff, transition, window, decimation };
            let wire = &piece.wires()[0];
            if wire.typed::<Complex32>().is_ok() {
                filtered::<Complex32>(piece, &settings)
            } else if wire.typed::<f32>().is_ok() {
                filtered::<f32>(piece, &settings)
            } else {
                Err(piece.unfit(0, EITHER))
            }
        },
    );
    kind.reads(EITHER).makes("what it reads")
}

struct FilterSettings {
    given: Option<f64>,
    cutoff: f64,
    transition: f64,
    window: Window,
    decimation: usize,
}

/// A filter, which may be replicated, and before it a small task that keeps what it must know of earlier frames.
fn filtered<T: Sample + Element>(piece: &mut Piece<'_>, settings: &FilterSettings) -> Result<Vec<DynWire>> {
    let FilterSettings { given, cutoff, transition, window, decimation } = *settings;
    let (signal, rate) = rated(piece, given)?;
    let filter = LowPass::<T>::aligned(rate, cutoff, transition, window, decimation)?;
    let signal = signal.filtered(filter.delay(), decimation);
    let wire = &piece.wires()[0];
    let before = piece.part("history", History::<T>::new(filter.history())?, &[wire])?;
    let made = piece.task(filter, &[&before[0], wire])?;
    piece.chain().note(&made[0], Arc::new(signal));
    Ok(made)
}

fn deviation() -> Param<f64> {
    Param::new("deviation", "the deviation that gives 1").unit("Hz")
}

fn discriminate() -> Kind {
    let make = |rate, (_, deviation)| Ok((Discriminate::new(rate, deviation)?, 0));
    let summary = "demodulates FM: the frequency of each sample";
    let kind = rated_kind("radio.discriminate", summary, (sample_rate(), deviation()), |values| values.0, make);
    kind.reads("Complex<f32>").makes("f32")
}

fn demodulate_fm() -> Kind {
    let parameters = (
        sample_rate(),
        deviation(),
        Param::<f64>::new("cutoff", "from the carrier, where half of the amplitude passes").unit("Hz"),
        Param::<f64>::new("transition", "from passband to stopband: the narrower, the more taps").unit("Hz"),
        Param::<f64>::new("follow", "how far the carrier is tracked to either side; left out, it is not tracked")
            .unit("Hz")
            .optional(),
    );
    let make = |rate, (_, deviation, cutoff, transition, follow): (_, _, _, _, Option<f64>)| {
        let demodulate = DemodulateFm::new(rate, deviation, cutoff, transition)?;
        let demodulate = match follow {
            Some(range) => demodulate.following(range)?,
            None => demodulate,
        };
        let delay = demodulate.delay();
        Ok((demodulate, delay))
    };
    let summary = "keeps one FM channel, tracks its carrier, and demodulates it";
    let kind = rated_kind("radio.demodulate_fm", summary, parameters, |values| values.0, make);
    kind.reads("Complex<f32>").makes("f32")
}

fn de_emphasis() -> Kind {
    let time_constant = Param::<f64>::new("time_constant", "50e-6 or 75e-6 in broadcasting").unit("s");
    let make = |rate, (_, time_constant)| Ok((DeEmphasis::new(rate, time_constant)?, 0));
    let summary = "undoes the pre-emphasis of high audio frequencies";
    rated_kind("radio.de_emphasis", summary, (sample_rate(), time_constant), |values| values.0, make).rewrites("f32")
}

fn remove_dc() -> Kind {
    let corner = Param::<f64>::new("corner", "below which little passes").unit("Hz").default(20.0);
    let make = |rate, (_, corner)| Ok((RemoveDc::new(rate, corner)?, 0));
    rated_kind("radio.remove_dc", "removes what does not change", (sample_rate(), corner), |values| values.0, make)
        .rewrites("f32")
}

fn write_wav() -> Kind {
    let path = Param::writes("path", "the file; it is created, or emptied, when the chain runs")
        .map(|path| NewFile::of(&path));
    let channels =
        Param::new("channels", "samples of each channel in turn").range(1..=usize::from(u16::MAX)).default(1);
    let parameters = (sample_rate(), path, channels);
    let kind =
        Kind::piece("radio.write_wav", "writes audio to a WAV file", parameters, |(given, file, channels), piece| {
            let (_, rate) = rated(piece, given)?;
            let whole = rate.round();
            if (rate - whole).abs() > 1e-6 * whole || !(1.0..=f64::from(u32::MAX)).contains(&whole) {
                return Err(bief::Error::new(format!(
                    "{rate} samples per second: a WAV file has a whole number of 32 bits"
                )));
            }
            let wire = &piece.wires()[0];
            piece.task(WriteWav::new(file, whole as u32, channels)?, &[wire])
        });
    kind.reads("f32")
}

fn quantise() -> Kind {
    let level =
        Param::new("level", "share of full scale that a sample of magnitude 1 gets").range(0.0..=1e6).default(1.0);
    let format = Param::<String>::new("format", "of the samples").default("ci16");
    let format = format.parsed::<SampleFormat>().choices(SampleFormat::ALL.map(SampleFormat::name));
    let summary = "writes complex samples as bytes, in the format of a recording";
    let kind = Kind::piece("radio.quantise", summary, (format, level), |(format, level): (_, f64), piece| {
        let (wire, level) = (&piece.wires()[0], level as f32);
        if wire.typed::<Complex32>().is_ok() {
            piece.task(Quantise::new(format, level), &[wire])
        } else if wire.typed_var::<Complex32>().is_ok() {
            piece.task(Quantise::variable(format, level), &[wire])
        } else {
            Err(piece.unfit(0, "Complex<f32>"))
        }
    });
    kind.reads("Complex<f32>, in frames of one length or any").makes("u8, in frames of one length or any, as its input")
}

fn write() -> Kind {
    let path = Param::writes("path", "the file, \"-\" for standard output, or an address; opened when the chain runs");
    let kind = Kind::piece("file.write", "writes bytes", path, |path, piece| {
        let wire = &piece.wires()[0];
        if wire.typed::<u8>().is_ok() {
            piece.task(WriteBytes::new(path.writer()), &[wire])
        } else if wire.typed_var::<u8>().is_ok() {
            piece.task(WriteBytes::variable(path.writer()), &[wire])
        } else {
            Err(piece.unfit(0, "u8"))
        }
    });
    kind.reads("u8, in frames of one length or any")
}
