//! The narrowband FM receiver on a recording: what is planned, and run.

use std::f64::consts::TAU;
use std::io::{self, Read, Seek, Write};
use std::sync::Arc;
use std::time::Duration;

use bief::plan::{BatchCosts, Profiling};
use bief::source::{Pace, PaceHandle, pace};
use bief::{Application, Chain, Error, Machine, Program, Result, Wire};
use num_complex::Complex32;

use crate::files::Nowhere;
use crate::iq::SampleFormat;
use crate::keep_spectrum::KeepSpectrum;
use crate::narrowband_fm::NarrowbandFm;
use crate::raw_audio::{AudioFormat, WriteAudio};
use crate::recording::Recording;
use crate::wav::WriteWav;

/// Blocks of the tone that rehearsals receive repeatedly.
const TONE_BLOCKS: usize = 16;
/// A pace that holds no frame back, in samples per second.
const UNHINDERED: f64 = 1e12;

/// A narrowband FM receiver, its recording and where its audio goes; made by [`NarrowbandFm::on`]. An [`Application`], so that a
/// [`Planner`](bief::Planner) plans it.
///
/// ```
/// use bief::{Machine, Planner};
/// use bief_radio::{NarrowbandFm, Recording};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nbfm_tones.sigmf-meta");
///
/// let recording = Recording::open(path.as_ref(), None)?;
/// let (receiver, recording) = NarrowbandFm::new(576e3, 0.0, 5000.0, 48_000).find(recording)?;
/// let wav = || Ok(std::io::Cursor::new(Vec::new())); // or `|| Ok(BufWriter::new(File::create("out.wav")?))`
/// let mut receiver = receiver.on(recording).to_wav(wav);
/// let planned = Planner::new(Machine::here()).plan(&receiver)?;
/// let report = planned.pipeline(&mut receiver)?.run()?;
/// assert!(report.frames >= 50);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct FmReceiver {
    settings: NarrowbandFm,
    format: SampleFormat,
    /// `None` once it is received.
    recording: Option<Recording>,
    /// Its source gives samples no faster than a radio; the task goes into the real run.
    pace: Option<Pace<Complex32>>,
    is_paced: bool,
    keeps_spectrum: bool,
    output: Option<Box<Output>>,
    rehearsed: Box<Rehearsed>,
}

type Output = dyn FnOnce(&mut Chain, &Wire<f32>) -> Result<()> + Send;
type Rehearsed = dyn Fn(&mut Chain, &Wire<f32>) -> Result<()> + Send;

impl NarrowbandFm {
    /// This receiver on a recording.
    pub fn on(self, recording: Recording) -> FmReceiver {
        let format = recording.format;
        FmReceiver {
            settings: self,
            format,
            recording: Some(recording),
            pace: None,
            is_paced: false,
            keeps_spectrum: false,
            output: None,
            rehearsed: Box::new(discarded(AudioFormat::S16)),
        }
    }
}

impl FmReceiver {
    fn to(
        self,
        add: impl FnOnce(&mut Chain, &Wire<f32>) -> Result<()> + Send + 'static,
        rehearsed: impl Fn(&mut Chain, &Wire<f32>) -> Result<()> + Send + 'static,
    ) -> Self {
        Self { output: Some(Box::new(add)), rehearsed: Box::new(rehearsed), ..self }
    }

    /// Writes the audio as raw samples to what `open` opens, once the chain of the real run is built.
    #[must_use]
    pub fn to_raw<W: Write + Send + 'static>(
        self,
        open: impl FnOnce() -> Result<W> + Send + 'static,
        format: AudioFormat,
    ) -> Self {
        let add = move |chain: &mut Chain, audio: &Wire<f32>| {
            chain.add(WriteAudio::new(open()?, format), audio);
            Ok(())
        };
        self.to(add, discarded(format))
    }

    /// Writes the audio as a WAV file of one channel to what `open` opens, once the chain of the real run is built.
    #[must_use]
    pub fn to_wav<W: Write + Seek + Send + 'static>(self, open: impl FnOnce() -> Result<W> + Send + 'static) -> Self {
        let rate = self.settings.audio_rate;
        let add = move |chain: &mut Chain, audio: &Wire<f32>| {
            chain.add(WriteWav::new(open()?, rate, 1)?, audio);
            Ok(())
        };
        self.to(add, move |chain, audio| {
            chain.add(WriteWav::new(Nowhere::default(), rate, 1)?, audio);
            Ok(())
        })
    }

    /// Plays the recording at the pace of a live radio; the second value knows how punctually.
    pub fn paced(self) -> (Self, PaceHandle) {
        let (pace, handle) = pace(self.settings.sample_rate);
        (Self { pace: Some(pace), is_paced: true, ..self }, handle)
    }

    /// Keeps samples as they come, and tells their spectrum as [`KeepSpectrum`] does.
    #[must_use]
    pub fn keep_spectrum(self) -> Self {
        Self { keeps_spectrum: true, ..self }
    }

    /// What is received, and how.
    pub fn settings(&self) -> &NarrowbandFm {
        &self.settings
    }

    /// Takes blocks of so many samples.
    #[must_use]
    pub fn block(self, samples: usize) -> Self {
        Self { settings: NarrowbandFm { block: samples, ..self.settings }, ..self }
    }

    /// The rehearsal of a receiver with these settings.
    fn rehearse(&self, settings: &NarrowbandFm, blocks: u64) -> Result<Program> {
        let faster = self.is_paced.then(|| pace(UNHINDERED).0);
        chain(settings, tone(settings, self.format, blocks), faster, self.keeps_spectrum, &self.rehearsed)
    }
}

/// The real run receives the recording. A rehearsal receives a tone on the carrier, faster than any device, and writes nothing.
impl Application for FmReceiver {
    fn program(&mut self) -> Result<Program> {
        let missing =
            || Error::new("the receiver has no output, or its recording was received: name an output with `to_wav`");
        let output = self.output.take().ok_or_else(missing)?;
        let recording = self.recording.take().ok_or_else(missing)?;
        let pace = self.pace.take();
        chain(&self.settings, recording, pace, self.keeps_spectrum, output)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        self.rehearse(&self.settings, frames)
    }

    /// A unit is a sample of audio: blocks of so many are measured.
    fn costs_on(&self, machine: &Machine, units: &[usize], profiling: Profiling) -> Result<Vec<BatchCosts>> {
        let step = self.settings.decimation()?;
        let profiling = Profiling { limit: profiling.limit / units.len().max(1) as u32, ..profiling };
        let of_block = |&units: &usize| {
            let settings = NarrowbandFm { block: units * step, ..self.settings };
            self.rehearse(&settings, u64::MAX)?.costs_on(machine, &[1], profiling)
        };
        let blocks = units.iter().map(of_block).collect::<Result<Vec<_>>>()?;
        let of_kind = |kind: usize| {
            let parts = units.iter().zip(&blocks).map(|(&units, kinds)| (units as u64, kinds[kind].clone()));
            BatchCosts::by_size(parts)
        };
        (0..machine.kinds().len()).map(of_kind).collect()
    }

    fn unit_period(&self) -> Option<Duration> {
        let step = self.settings.decimation().ok()?;
        Some(Duration::from_secs_f64(step as f64 / self.settings.sample_rate))
    }
}

fn chain(
    settings: &NarrowbandFm,
    recording: Recording,
    pace: Option<Pace<Complex32>>,
    keeps_spectrum: bool,
    output: impl FnOnce(&mut Chain, &Wire<f32>) -> Result<()>,
) -> Result<Program> {
    let mut chain = Chain::new();
    let mut samples = chain.add(settings.source(recording)?, ());
    if let Some(pace) = pace {
        chain.add(pace, &mut samples);
    }
    if keeps_spectrum {
        chain.add(KeepSpectrum::new(Some(settings.sample_rate))?, &samples);
    }
    let audio = settings.receive(&mut chain, &mut samples)?;
    output(&mut chain, &audio)?;
    chain.build()
}

/// A tone on the carrier, for so many blocks at most.
fn tone(settings: &NarrowbandFm, format: SampleFormat, blocks: u64) -> Recording {
    let NarrowbandFm { carrier, sample_rate, block, .. } = *settings;
    let turn = carrier / sample_rate;
    let samples: Vec<Complex32> = (0..TONE_BLOCKS * block)
        .map(|sample| Complex32::from_polar(0.5, (TAU * (sample as f64 * turn).fract()) as f32))
        .collect();
    let mut bytes = vec![0; format.bytes() * samples.len()];
    format.write(&samples, &mut bytes);
    let length = blocks.saturating_mul((format.bytes() * block) as u64);
    let repeat = Repeat { bytes: bytes.into(), at: 0 };
    Recording::from_reader("rehearsal", format, repeat.take(length))
}

/// Adds the task that writes raw audio, to nowhere.
fn discarded(format: AudioFormat) -> impl Fn(&mut Chain, &Wire<f32>) -> Result<()> + Send + 'static {
    move |chain, audio| {
        chain.add(WriteAudio::new(io::sink(), format), audio);
        Ok(())
    }
}

/// Bytes that begin again at their end.
struct Repeat {
    bytes: Arc<[u8]>,
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let read = (&self.bytes[self.at..]).read(space)?;
        self.at = (self.at + read) % self.bytes.len().max(1);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> FmReceiver {
        let noise: Vec<u8> = (0..2 * 57_600_u64).map(|k| (k * k / 7) as u8).collect();
        NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000).on(Recording::from_memory("test", SampleFormat::Ci8, noise))
    }

    #[test]
    fn a_rehearsal_has_the_tasks_of_the_run_and_uses_nothing_up() {
        let (receiver, handle) = receiver().paced();
        let mut receiver = receiver.keep_spectrum().to_wav(|| Ok(io::Cursor::new(Vec::new())));
        let rehearsal = receiver.rehearsal(7).unwrap();
        let names = |program: &Program| program.tasks().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        let rehearsed = names(&rehearsal);
        // The last block holds what the filters held back.
        assert!((7..=9).contains(&rehearsal.run().unwrap().frames));
        let program = receiver.program().unwrap();
        assert_eq!(names(&program), rehearsed);
        assert!(program.run().unwrap().frames >= 10 && handle.last().unwrap().frames >= 10);
    }

    #[test]
    fn without_an_output_it_says_what_is_missing() {
        assert!(receiver().program().unwrap_err().to_string().contains("name an output with `to_wav`"));
        let mut receiver = receiver().to_raw(|| Ok(io::sink()), AudioFormat::F32);
        receiver.program().unwrap();
        assert!(receiver.program().unwrap_err().to_string().contains("was received"));
    }
}
