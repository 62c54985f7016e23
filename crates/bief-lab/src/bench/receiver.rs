//! The receiver that benches run in real time: that of `bief nbfm`, narrowband FM at 576 kS/s, the case by which batches were
//! studied in GNU Radio.

use std::f64::consts::TAU;
use std::sync::Arc;

use bief::schedule::Stage;
use bief::{Chain, Flow, Pipeline, Program, sink, source};
use bief_cli::failure::Failure;
pub(super) use bief_cli::nbfm::SAMPLE_RATE;
use bief_cli::nbfm::built_in_receiver;
use bief_dsp::Complex32;
use bief_radio::{NarrowbandFm, Recording, SampleFormat};

/// A block has whole multiples of so many samples.
pub(super) const STEP: u32 = 12;
/// The longest block, in samples: some 0.2 s.
const LONGEST: u32 = 131_064;

/// Samples of a block, as someone writes them.
pub(super) fn block(text: &str) -> Result<u32, String> {
    let block = text.parse().ok().filter(|block: &u32| (STEP..=LONGEST).contains(block) && block.is_multiple_of(STEP));
    block.ok_or_else(|| format!("give multiples of {STEP} from {STEP} to {LONGEST}"))
}

/// A tone of 1 kHz at half of the deviation, so many samples of it, as a radio records it.
pub(super) fn signal(samples: usize) -> Arc<[u8]> {
    let NarrowbandFm { carrier, deviation, .. } = built_in_receiver();
    let mut phase = 0.0;
    let samples: Vec<Complex32> = (0..samples)
        .map(|k| {
            let audio = 0.5 * (TAU * 1000.0 * k as f64 / SAMPLE_RATE).sin();
            phase = (phase + (carrier + deviation * audio) / SAMPLE_RATE).fract();
            Complex32::from_polar(0.5, (TAU * phase) as f32)
        })
        .collect();
    let mut bytes = vec![0; SampleFormat::Ci16.bytes() * samples.len()];
    SampleFormat::Ci16.write(&samples, &mut bytes);
    bytes.into()
}

/// How many samples a signal has.
pub(super) fn samples(signal: &[u8]) -> usize {
    signal.len() / SampleFormat::Ci16.bytes()
}

/// The receiver, in blocks of so many samples; its source gives `pace` samples per second, or all as they are wanted.
pub(super) fn chain(signal: &Arc<[u8]>, block: usize, pace: Option<f64>) -> bief::Result<Chain> {
    let receiver = NarrowbandFm { block, ..built_in_receiver() };
    let recording = Recording::from_memory("bench", SampleFormat::Ci16, Arc::clone(signal));
    let mut chain = Chain::new();
    let mut samples = chain.add(receiver.source(recording)?, ());
    if let Some(rate) = pace {
        chain.add(source::pace(rate).0, &mut samples);
    }
    let audio = receiver.receive(&mut chain, &mut samples)?;
    chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &audio);
    Ok(chain)
}

/// The program in stages of so many tasks, each on a thread of its own.
pub(super) fn cut(program: Program, stages: &[usize]) -> Result<Pipeline, Failure> {
    let stages: Vec<Stage> = stages.iter().map(|&tasks| Stage::new(tasks, 1, "")).collect();
    program.cut(&stages).map_err(Failure::from_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_numbers_of_samples_of_audio() {
        assert_eq!((block("744"), block("131064")), (Ok(744), Ok(131_064)));
        for text in ["0", "750", "131076", "x"] {
            assert!(block(text).unwrap_err().contains("multiples of 12"), "{text}");
        }
    }

    #[test]
    fn a_program_is_cut_where_it_is_told() {
        let program = chain(&signal(1200), 120, Some(1e15)).unwrap().build().unwrap();
        let tasks = program.tasks().len();
        let pipeline = cut(program, &[2, tasks - 2]).unwrap();
        let threads: Vec<usize> = pipeline.slots().iter().map(|stage| stage.threads).collect();
        assert_eq!(threads, [1, 1]);
    }
}
