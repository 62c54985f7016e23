//! Narrowband FM: how well tones are received, by one replica of the filters and by several; what is refused.

mod channels;
use std::f64::consts::TAU;
use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::common::snr::{RATE, snr_db};
use bief::error::ErrorKind;
use bief::schedule::{Schedule, Stage};
use bief::{Application, Chain, Error, Flow, sink, source};
use bief_dsp::low_pass::Window;
use bief_radio::{
    Agc, DeEmphasis, Discriminate, History, LowPass, NarrowbandFm, ReadSamples, Recording, RemoveDc, SampleFormat,
    Shift, WriteWav,
};
use num_complex::Complex32;
use proptest::prelude::*;

/// A file in memory that can be looked at afterwards.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Cursor<Vec<u8>>>>);

impl File {
    fn wav(&self) -> hound::WavReader<Cursor<Vec<u8>>> {
        hound::WavReader::new(Cursor::new(self.0.lock().unwrap().get_ref().clone())).unwrap()
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.lock().unwrap().seek(to)
    }
}

fn shared() -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/iq"));
    if !folder.is_dir() {
        println!("skipped: {} not found", folder.display());
        return None;
    }
    Some(folder.to_owned())
}

fn shipped() -> Recording {
    Recording::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nbfm_tones.sigmf-meta").as_ref(), None).unwrap()
}

fn scaled(samples: impl Iterator<Item = i16>) -> Vec<f64> {
    samples.map(|sample| f64::from(sample) / 32768.0).collect()
}

/// Audio received on one core, or with every run of replicable tasks on so many replicas.
fn receive(receiver: &NarrowbandFm, recording: Recording, replicas: u32) -> Vec<i16> {
    let file = File::default();
    let program = receiver
        .on(recording)
        .to_wav({
            let file = file.clone();
            || Ok(file)
        })
        .program()
        .unwrap();
    if replicas == 1 {
        program.run().unwrap();
    } else {
        let bytes = vec![0; 2 * receiver.sample_rate as usize];
        let copy = Recording::from_memory("silence", SampleFormat::Ci8, bytes);
        let profile = receiver.on(copy).to_wav(|| Ok(File::default())).program().unwrap().profile(3).unwrap();
        let kind = &profile.kinds()[0];
        let alike = profile.tasks().chunk_by(|a, b| a.replicable == b.replicable);
        let stages: Vec<Stage> =
            alike.map(|run| Stage::new(run.len(), if run[0].replicable { replicas } else { 1 }, kind)).collect();
        assert_eq!(stages.len(), 5, "the long filters are stages of their own");
        let schedule = Schedule::new("by hand", stages, &profile).unwrap();
        program.pipeline(&schedule).unwrap().run().unwrap();
    }
    file.wav().samples().collect::<Result<_, _>>().unwrap()
}

/// Receives by one replica and by several, and demands the same samples; their SNR.
fn snr_of(receiver: &NarrowbandFm, recording: impl Fn() -> Recording, sent: &[f64]) -> f64 {
    let audio = receive(receiver, recording(), 1);
    for replicas in [2, 5] {
        assert!(receive(receiver, recording(), replicas) == audio, "{replicas} replicas make other samples");
    }
    assert!(audio.len() >= sent.len(), "{} samples of {}", audio.len(), sent.len());
    snr_db(&scaled(audio.into_iter()), sent)
}

#[test]
#[ignore = "long: part of .ci/run"]
fn tones_of_independent_recordings_are_received() {
    let Some(folder) = shared() else { return };
    for (name, carrier, least) in [("nbfm_tones_576k_clean", 0.0, 72.0), ("nbfm_tones_576k_noisy", 1200.0, 27.8)] {
        let mut wav = hound::WavReader::open(folder.join(format!("{name}.expected.wav"))).unwrap();
        let sent = scaled(wav.samples::<i16>().map(Result::unwrap));
        let path = folder.join(format!("{name}.sigmf-meta"));
        let receiver = NarrowbandFm::new(576e3, carrier, 5000.0, 48_000);
        let snr = snr_of(&receiver, || Recording::open(&path, None).unwrap(), &sent);
        println!("{name}: {snr:.2} dB");
        assert!(snr > least, "{name}: {snr} dB");
    }
}

#[test]
fn the_recording_that_ships_is_received() {
    let tone = |hz: f64, k: usize| (TAU * hz * k as f64 / RATE as f64).sin();
    let sent: Vec<f64> = (0..RATE / 2).map(|k| 0.3 * tone(400.0, k) + 0.5 * tone(1000.0, k)).collect();
    let receiver = NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000);
    let snr = snr_of(&receiver, shipped, &sent);
    assert!(snr > 27.5, "{snr} dB");
    // Without the carrier the tones stand on direct current, which the high-pass filter takes out; phases turn, amplitudes stay.
    let audio = |high_pass| {
        let receiver = NarrowbandFm { high_pass, follow: None, ..NarrowbandFm::new(576e3, 0.0, 5000.0, 48_000) };
        let audio = scaled(receive(&receiver, shipped(), 1).into_iter());
        audio[4800..19_200].iter().sum::<f64>() / 14_400.0
    };
    assert!((audio(None) - 0.24).abs() < 0.01, "{}", audio(None)); // 1.2 of 5 kHz
    assert!(audio(Some(20.0)).abs() < 0.01, "{}", audio(Some(20.0)));
}

#[test]
fn de_emphasis_takes_the_treble_out() {
    let amplitude = |audio: &[f64], hz: f64| {
        let turn = |k: usize| TAU * hz * k as f64 / RATE as f64;
        let part = |wave: fn(f64) -> f64| audio.iter().enumerate().map(|(k, x)| x * wave(turn(k))).sum::<f64>();
        part(f64::cos).hypot(part(f64::sin))
    };
    let receiver = NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000);
    let flat = scaled(receive(&receiver, shipped(), 1).into_iter());
    let receiver = NarrowbandFm { de_emphasis: Some(75e-6), ..receiver };
    let soft = scaled(receive(&receiver, shipped(), 1).into_iter());
    for hz in [400.0, 1000.0] {
        let ratio = amplitude(&soft[4800..19_200], hz) / amplitude(&flat[4800..19_200], hz);
        let expected = 1.0 / (TAU * hz * 75e-6).hypot(1.0);
        assert!((ratio - expected).abs() < 0.005, "{hz} Hz: {ratio}, not {expected}");
    }
}

#[test]
fn a_receiver_that_cannot_be_is_refused_with_the_remedy() {
    let good = NarrowbandFm::new(576e3, 0.0, 5000.0, 48_000);
    assert_eq!((good.channel_rate, good.block, good.decimation().unwrap()), (48e3, 5760, 12));
    let message = |receiver: NarrowbandFm| {
        receiver.on(shipped()).to_wav(|| Ok(File::default())).program().unwrap_err().to_string()
    };
    for (receiver, words) in [
        (
            NarrowbandFm { channel_rate: 100e3, ..good },
            "the sample rate is 576000 Hz: it must be a whole multiple of the channel rate, 100000 Hz",
        ),
        (NarrowbandFm { audio_rate: 44_100, ..good }, "whole multiple of the audio rate, 44100 Hz"),
        (NarrowbandFm::new(500e3, 0.0, 5000.0, 48_000), "whole multiple of the audio rate, 48000 Hz"),
        (NarrowbandFm::new(576e3, 0.0, 5000.0, 0), "the audio rate is 0: give a number above 0"),
        (NarrowbandFm { sample_rate: f64::NAN, ..good }, "it must be a whole multiple"),
        (
            NarrowbandFm { deviation: 60e3, ..good },
            "the cutoff is 63000 Hz: it must be below half of the sample rate, 24000 Hz",
        ),
        (
            NarrowbandFm { deviation: 20e3, ..good },
            "a channel rate of 48000 Hz is too low for a channel that reaches 27100 Hz to either side of its carrier: give \
             more than 54200",
        ),
        (NarrowbandFm { block: 0, ..good }, "a block of 0 samples: give a whole multiple of 12"),
        (NarrowbandFm { block: 750, ..good }, "of which one sample of audio is made, such as 756"),
        (NarrowbandFm { follow: Some(-1.0), ..good }, "the range in which the carrier is followed is -1: give"),
        (NarrowbandFm { channel_transition: 0.1, ..good }, "give a wider one, at most 100000 taps"),
        (NarrowbandFm { deviation: -3500.0, ..good }, "the cutoff is -500: give a number above 0"),
        (NarrowbandFm { carrier: f64::INFINITY, ..good }, "a shift of -inf Hz: give a number"),
        (NarrowbandFm { de_emphasis: Some(0.0), ..good }, "the time constant is 0: give a number above 0"),
        (
            NarrowbandFm { high_pass: Some(24e3), ..good },
            "the corner is 24000 Hz: it must be below half of the sample rate, 24000 Hz",
        ),
    ] {
        let message = message(receiver);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn parameters_of_tasks_are_checked() {
    let recording = || Recording::from_memory("a test", SampleFormat::Ci8, vec![0; 8]);
    let messages = [
        (ReadSamples::new(recording(), 0, 0).err(), "a frame of 0 samples: give 1 to 268435456"),
        (Shift::new(0.0, 1.0).err(), "the sample rate is 0: give a number above 0"),
        (Shift::new(1.0, 1e300).err(), "a shift of 1e300 Hz: give a number from -1e15 to 1e15"),
        (Agc::new(-1.0, 1.0).err(), "the target is -1: give"),
        (Agc::new(1e300, 1.0).err(), "the target is 1e300: give a number from 1e-15 to 1e15"),
        (Agc::new(1.0, 0.0).err(), "the most gain is 0: give"),
        (History::<f32>::new(0).err(), "a history of 0 samples: give 1 to"),
        (LowPass::<f32>::new(1e3, 100.0, 50.0, Window::Hann, 0).err(), "a decimation of 0 would keep no sample"),
        (
            LowPass::<f32>::new(1e3, 500.0, 50.0, Window::Hann, 1).err(),
            "the cutoff is 500 Hz: it must be below half of",
        ),
        (
            LowPass::<f32>::new(1e300, 1e-300, 1e300, Window::Hann, 1).err(),
            "the sample rate is 1e300: give a number from",
        ),
        (
            LowPass::<f32>::new(1e9, 1.0, 1e6, Window::Hann, 70_000).err(),
            "a decimation of 70000: give at most 65536, and decimate again after it",
        ),
        (Discriminate::new(48e3, 24e3).err(), "the deviation is 24000 Hz: it must be below half of"),
        (LowPass::<f32>::new(48e3, 1e3, 3e3, Window::Hann, 1).err(), "leaves no passband: give at most 2000"),
        (DeEmphasis::new(48e3, -1.0).err(), "the time constant is -1: give"),
        (RemoveDc::new(48e3, 0.0).err(), "the corner is 0: give"),
        (WriteWav::new(File::default(), 48_000, 0).err(), "0 channels: a WAV file has 1 to 65535"),
        (WriteWav::new(File::default(), 48_000, 65_535).err(), "WAV cannot tell this rate"),
    ];
    for (error, words) in messages {
        let message = error.expect(words).to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn frames_that_do_not_fit_are_refused_with_both_ends() {
    let low_pass = || LowPass::new(48e3, 3e3, 1e3, Window::Hamming, 4).unwrap();
    let refusal = |history: usize, frame: usize| {
        let mut chain = Chain::new();
        let samples = chain.add(source::from_slice(&[0.0_f32; 100], frame), ());
        let before = chain.add(History::new(history).unwrap(), &samples);
        chain.add(low_pass(), (&before, &samples));
        chain.build().unwrap_err().to_string()
    };
    let message = refusal(low_pass().history() - 1, 40);
    assert!(
        message.contains("`low pass`: needs a history of 158 samples or more as its first input, not 157"),
        "{message}"
    );
    assert!(message.contains("from task `history`"), "{message}");
    let message = refusal(low_pass().history(), 42);
    assert!(message.contains("whole multiple of 4 samples, not 42"), "{message}");
    let mut chain = Chain::new();
    let audio = chain.add(source::from_slice(&[0.0_f32; 9], 3), ());
    chain.add(WriteWav::new(File::default(), 48_000, 2).unwrap(), &audio);
    let message = chain.build().unwrap_err().to_string();
    assert!(message.contains("3 samples are not a whole number for each of 2 channels"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn frames_of_any_length_are_filtered_as_one(frame in 1_usize..120, decimation in 1_usize..6, more in 0_usize..30) {
        let low_pass = LowPass::<f32>::new(1e3, 80.0, 100.0, Window::Blackman, decimation).unwrap();
        let samples: Vec<f32> = (0..12_u32 * (frame * decimation) as u32).map(|k| (k * k % 101) as f32 / 50.0 - 1.0).collect();
        let filtered = |frame: usize| {
            let mut chain = Chain::new();
            let samples = chain.add(source::from_slice(&samples, frame), ());
            let before = chain.add(History::new(low_pass.history() + more).unwrap(), &samples);
            let slow = chain.add(low_pass.clone(), (&before, &samples));
            let (collect, result) = sink::collect();
            chain.add(collect, &slow);
            chain.build().unwrap().run().unwrap();
            result.take()
        };
        prop_assert_eq!(filtered(frame * decimation), filtered(samples.len()));
    }

    #[test]
    fn every_sample_of_a_recording_is_read_once(samples in 0_usize..60, frame in 1_usize..20, tail in 0_usize..50) {
        let bytes: Vec<u8> = (0..2 * samples).map(|k| (k % 120 + 1) as u8).collect();
        let recording = Recording::from_memory("a test", SampleFormat::Ci8, bytes.clone());
        let mut chain = Chain::new();
        let read = chain.add(ReadSamples::new(recording, frame, tail).unwrap(), ());
        let (collect, result) = sink::collect();
        chain.add(collect, &read);
        chain.build().unwrap().run().unwrap();
        let read = result.take();
        let mut expected = vec![Complex32::ZERO; samples];
        SampleFormat::Ci8.read(&bytes, &mut expected);
        expected.resize((samples + tail).next_multiple_of(frame), Complex32::ZERO);
        prop_assert_eq!(read, expected);
    }
}

/// Gives some bytes, then fails.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk is gone")),
            bytes => Ok(bytes),
        }
    }
}

#[test]
fn a_recording_that_breaks_off_is_delivered_and_told() {
    let cut = Recording::from_memory("cut.ci16", SampleFormat::Ci16, vec![1; 4 * 5 + 3]);
    let failing = Recording::from_reader("", SampleFormat::Ci16, Failing(Cursor::new(vec![1; 20])));
    for (recording, words) in [
        (cut, "cut.ci16: ends inside a sample (3 of 4 bytes): is it cut short, or of another format?"),
        (failing, "the disk is gone"),
    ] {
        let mut chain = Chain::new();
        let read = chain.add(ReadSamples::new(recording, 2, 3).unwrap(), ());
        let (collect, result) = sink::collect();
        chain.add(collect, &read);
        let error = chain.build().unwrap().run().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        let samples = result.take();
        assert_eq!((samples.len(), samples[4] != Complex32::ZERO, samples[5]), (8, true, Complex32::ZERO));
    }
}

#[test]
fn a_wav_file_is_whole_after_a_fault_and_clipped_at_full_scale() {
    let file = File::default();
    let mut frames = 0;
    let mut chain = Chain::new();
    let audio = chain.add(
        source::from_fn(4, move |audio: &mut [f32]| {
            frames += 1;
            if frames == 3 {
                return Err(Error::new("the antenna fell"));
            }
            audio.copy_from_slice(&[0.5, -1.0, 7.0, f32::NAN]);
            Ok(Flow::Next)
        }),
        (),
    );
    chain.add(WriteWav::new(file.clone(), 8000, 2).unwrap(), &audio);
    let error = chain.build().unwrap().run().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Task, "the antenna fell"));
    let mut wav = file.wav();
    assert_eq!((wav.spec().channels, wav.spec().sample_rate, wav.spec().bits_per_sample), (2, 8000, 16));
    let samples: Vec<i16> = wav.samples().map(Result::unwrap).collect();
    assert_eq!(samples, [16_384, -32_767, 32_767, 0, 16_384, -32_767, 32_767, 0]);
}

#[test]
fn a_second_run_begins_anew() {
    let tone: Vec<Complex32> = (0..600).map(|k| Complex32::cis(0.3 * k as f32) * 0.1).collect();
    let mut chain = Chain::new();
    let mut samples = chain.add(source::from_slice(&tone, 60), ());
    chain.add(Shift::new(1000.0, 77.0).unwrap(), &mut samples);
    let level = chain.add(Agc::new(1.0, 1e3).unwrap(), &mut samples);
    let before = chain.add(History::new(3).unwrap(), &samples);
    let mut frequency = chain.add(Discriminate::new(1000.0, 100.0).unwrap(), &samples);
    chain.add(DeEmphasis::new(1000.0, 0.01).unwrap(), &mut frequency);
    chain.add(RemoveDc::new(1000.0, 1.0).unwrap(), &mut frequency);
    let ((levels, level_of), (frequencies, frequency_of)) = (sink::collect(), sink::collect());
    let (histories, before_of) = sink::collect();
    chain.add(levels, &level);
    chain.add(frequencies, &frequency);
    chain.add(histories, &before);
    let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
    let mut run = || {
        pipeline.run().unwrap();
        (level_of.take(), frequency_of.take(), before_of.take())
    };
    let first = run();
    assert_eq!((first.0.len(), first.1.len(), first.2.len()), (10, 600, 30));
    assert!(first == run());
}
