//! The tasks that serve in any radio chain, as kinds of a registry.

use std::ops::Bound;

use bief::{Element, Kind, Task, source};
use bief_dsp::fir::Sample;
use bief_dsp::low_pass::Window;
use num_complex::Complex32;

use crate::audio::{DeEmphasis, Discriminate, RemoveDc};
use crate::dvbs2::Quantise;
use crate::files::{NewFile, WriteBytes};
use crate::fm::DemodulateFm;
use crate::frontend::{Agc, ReadSamples, Shift};
use crate::iq::SampleFormat;
use crate::low_pass::{History, LowPass};
use crate::recording::{Recording, RecordingError};
use crate::wav::WriteWav;

const FORMATS: &str = "cf32, ci16, ci8 or cu8";
/// Samples of a frame that a parameter can ask for at most.
const MOST_SAMPLES: usize = 1 << 24;
const SAMPLE_RATE: &str = "samples per second";

/// The kinds, in the order in which a receiver uses them.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        read(),
        pace::<Complex32>("radio.pace", "complex samples"),
        pace::<f32>("radio.pace_real", "real samples"),
        shift(),
        agc(),
        history::<Complex32>("radio.history", "complex"),
        low_pass::<Complex32>("radio.low_pass", "complex"),
        discriminate(),
        demodulate_fm(),
        history::<f32>("radio.history_real", "real"),
        low_pass::<f32>("radio.low_pass_real", "real"),
        de_emphasis(),
        remove_dc(),
        write_wav(),
        quantise("radio.quantise", "complex samples", Quantise::new),
        quantise("radio.quantise_variable", "frames of any number of complex samples", Quantise::variable),
        write("file.write", "bytes", WriteBytes::new),
        write("file.write_variable", "frames of any number of bytes", WriteBytes::variable),
    ]
}

fn shift() -> Kind {
    Kind::new("radio.shift", "shifts samples in frequency", |p| {
        Shift::new(p.f64("sample_rate", ..)?, p.f64("shift", ..)?)
    })
    .required("sample_rate", SAMPLE_RATE)
    .required("shift", "Hz; the negative of a carrier's offset brings it to 0")
}

fn agc() -> Kind {
    Kind::new("radio.agc", "brings samples to a level, and tells what it was", |p| {
        Agc::new(p.f64("target", ..)?, p.f64("most_gain", ..)?)
    })
    .with_default("target", 1.0, "root mean square of the magnitude afterwards")
    .with_default("most_gain", 1e4, "the highest gain, for silence")
}

fn history<T: Sample>(name: &str, what: &str) -> Kind {
    Kind::new(name, format!("keeps the last {what} samples before each frame, for a filter"), |p| {
        History::<T>::new(p.integer("samples", 1..=MOST_SAMPLES)?)
    })
    .required("samples", "how many; a filter needs one less than it has taps, and says so")
}

fn low_pass<T: Sample>(name: &str, what: &str) -> Kind {
    Kind::new(name, format!("filters {what} samples, and decimates; its first input is their history"), |p| {
        let window: Window = p.parse("window")?;
        let decimation = p.integer("decimation", 1..=LowPass::<T>::MOST_DECIMATION)?;
        LowPass::<T>::new(p.f64("sample_rate", ..)?, p.f64("cutoff", ..)?, p.f64("transition", ..)?, window, decimation)
    })
    .required("sample_rate", SAMPLE_RATE)
    .required("cutoff", "Hz, where half of the amplitude passes")
    .required("transition", "Hz from passband to stopband: the narrower, the more taps")
    .with_default("window", "hamming", "hann, hamming or blackman: -44, -53 or -74 dB in the stopband")
    .with_default("decimation", 1, "keeps one sample of so many, 1 to 65536")
}

fn pace<T: Sample + Element>(name: &str, what: &str) -> Kind {
    Kind::new(name, format!("lets {what} through no faster than a device would give them"), |p| {
        Ok(source::pace::<T>(p.f64("sample_rate", (Bound::Excluded(0.0), Bound::Unbounded))?).0)
    })
    .required("sample_rate", SAMPLE_RATE)
}

fn demodulate_fm() -> Kind {
    Kind::new("radio.demodulate_fm", "keeps one FM channel, follows its carrier, and demodulates it", |p| {
        let [rate, deviation] = [p.f64("sample_rate", ..)?, p.f64("deviation", ..)?];
        let demodulate = DemodulateFm::new(rate, deviation, p.f64("cutoff", ..)?, p.f64("transition", ..)?)?;
        if p.has("follow") { demodulate.following(p.f64("follow", ..)?) } else { Ok(demodulate) }
    })
    .required("sample_rate", SAMPLE_RATE)
    .required("deviation", "Hz that become 1")
    .required("cutoff", "Hz from the carrier, where half of the amplitude passes")
    .required("transition", "Hz from passband to stopband: the narrower, the more taps")
    .optional("follow", "Hz, so far the carrier is followed to either side; left out, it stays where it is")
}

fn discriminate() -> Kind {
    Kind::new("radio.discriminate", "demodulates FM: the frequency of each sample", |p| {
        Discriminate::new(p.f64("sample_rate", ..)?, p.f64("deviation", ..)?)
    })
    .required("sample_rate", SAMPLE_RATE)
    .required("deviation", "Hz that become 1")
}

fn de_emphasis() -> Kind {
    Kind::new("radio.de_emphasis", "takes back the emphasis of high audio frequencies", |p| {
        DeEmphasis::new(p.f64("sample_rate", ..)?, p.f64("time_constant", ..)?)
    })
    .required("sample_rate", SAMPLE_RATE)
    .required("time_constant", "seconds: 50e-6 or 75e-6 in broadcasting")
}

fn remove_dc() -> Kind {
    Kind::new("radio.remove_dc", "removes what does not change", |p| {
        RemoveDc::new(p.f64("sample_rate", ..)?, p.f64("corner", ..)?)
    })
    .required("sample_rate", SAMPLE_RATE)
    .with_default("corner", 20.0, "Hz, below which little passes")
}

fn write_wav() -> Kind {
    Kind::new("radio.write_wav", "writes audio to a WAV file", |p| {
        let (rate, channels) =
            (p.integer("sample_rate", 1..=u32::MAX)?, p.integer("channels", 1..=usize::from(u16::MAX))?);
        WriteWav::new(NewFile::of_parameter(p, "path")?, rate, channels)
    })
    .required("path", "the file; it is made, or emptied, when the chain runs")
    .required("sample_rate", SAMPLE_RATE)
    .with_default("channels", 1, "samples of each channel in turn, 1 to 65535 channels")
}

fn read() -> Kind {
    Kind::new("radio.read", "reads a recording as frames of complex samples, and ends with it", |p| {
        let format = p.has("format").then(|| p.parse("format")).transpose()?;
        let frame = p.integer("frame", 1..=MOST_SAMPLES)?;
        let recording = match &*p.string("path")? {
            "-" => Recording::from_stdin(format),
            _ => Recording::open(&p.path("path")?, format),
        };
        let recording = recording.map_err(|error| match error {
            RecordingError::NoFormat { name } => {
                format!("{name}: its sample format is not known: give a `format`, {FORMATS}")
            }
            error => error.to_string(),
        });
        ReadSamples::new(p.about("path", recording)?, frame, p.integer("tail", 0..=MOST_SAMPLES)?)
    })
    .required("path", "SigMF recording (pair or archive), WAV of IQ samples, or raw file; \"-\" is standard input")
    .optional("format", format!("of the samples, where neither SigMF nor the file's name tells it: {FORMATS}"))
    .with_default("frame", 4096, "samples of a frame, 1 to 16777216; zeros fill the last one")
    .with_default("tail", 0, "zeros behind the recording, at least: what filters hold back")
}

fn quantise<T: Task>(name: &str, what: &str, make: fn(SampleFormat, f32) -> T) -> Kind {
    Kind::new(name, format!("writes {what} as bytes, in the format of a recording"), move |p| {
        let format: SampleFormat = p.parse("format")?;
        Ok(make(format, p.f64("level", 0.0..=1e6)? as f32))
    })
    .with_default("format", "ci16", format!("of the samples: {FORMATS}"))
    .with_default("level", 1.0, "share of full scale that a sample of magnitude 1 gets, 0 to 1000000")
}

fn write<T: Task>(name: &str, what: &str, make: fn(NewFile) -> T) -> Kind {
    Kind::new(name, format!("writes {what} to a file"), move |p| Ok(make(NewFile::of_parameter(p, "path")?)))
        .required("path", "the file; it is made, or emptied, when the chain runs")
}
