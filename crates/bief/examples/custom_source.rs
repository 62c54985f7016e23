//! A source of one's own: 16-bit samples from anything that can be read. It shows how loud a recording is.
//!
//! `cargo run --example custom_source [FILE]`, where FILE holds raw little-endian samples; without one, a siren is made.

use std::io::{Cursor, Read};

use bief::{Chain, Error, Flow, In, Out, Result, Task, sink};

/// Frames of `len` samples, in -1 to 1, from a reader; the end of the reader ends the stream.
struct Samples<R> {
    reader: R,
    bytes: Vec<u8>,
}

impl<R: Read> Samples<R> {
    fn new(reader: R, len: usize) -> Self {
        Self { reader, bytes: vec![0; 2 * len] }
    }
}

impl<R: Read + Send + 'static> Task for Samples<R> {
    type In = ();
    type Out = Out<f32>;

    fn lens(&self, (): ()) -> Result<usize> {
        if self.bytes.is_empty() {
            Err(Error::new("give frames of at least 1 sample"))
        } else {
            Ok(self.bytes.len() / 2)
        }
    }

    fn run(&mut self, (): (), samples: &mut [f32]) -> Result<Flow> {
        // What the reader fails with ends the run, as an error that names this task. The end of the recording does not.
        match self.reader.read_exact(&mut self.bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(Flow::Stop),
            read => read?,
        }
        for (sample, bytes) in samples.iter_mut().zip(self.bytes.chunks_exact(2)) {
            *sample = f32::from(i16::from_le_bytes([bytes[0], bytes[1]])) / 32768.0;
        }
        Ok(Flow::Next)
    }
}

struct Peak;

impl Task for Peak {
    type In = In<f32>;
    type Out = Out<f32>;
    fn lens(&self, _samples: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, samples: &[f32], peak: &mut [f32]) -> Result<Flow> {
        peak[0] = samples.iter().fold(0.0, |peak, x| peak.max(x.abs()));
        Ok(Flow::Next)
    }
}

fn peaks(reader: impl Read + Send + 'static, len: usize) -> Result<Vec<f32>> {
    let mut chain = Chain::new();
    let samples = chain.add(Samples::new(reader, len), ());
    let peak = chain.add(Peak, &samples);
    let (collect, peaks) = sink::collect();
    chain.add(collect, &peak);
    chain.build()?.run()?;
    Ok(peaks.take())
}

fn siren() -> Cursor<Vec<u8>> {
    let sample = |k: u32| ((k as f32 * 0.2).sin() * (k as f32 * 0.002).sin() * 30000.0) as i16;
    Cursor::new((0..8000).flat_map(|k| sample(k).to_le_bytes()).collect())
}

fn main() -> Result<()> {
    let peaks = match std::env::args().nth(1) {
        Some(file) if cfg!(not(test)) => peaks(std::fs::File::open(file)?, 48_000)?,
        _ => peaks(siren(), 400)?,
    };
    for peak in peaks {
        println!("{peak:.2} {}", "#".repeat((60.0 * peak) as usize));
    }
    Ok(())
}

#[test]
fn the_siren_swells_and_whole_frames_are_played() {
    main().unwrap();
    let swell = peaks(siren(), 300).unwrap();
    assert_eq!(swell.len(), 8000 / 300);
    assert!(swell.iter().any(|&peak| peak > 0.9) && swell.iter().any(|&peak| peak < 0.5), "{swell:?}");
    assert!(peaks(siren(), 0).unwrap_err().to_string().contains("task `Samples`: give frames of at least 1 sample"));
}
