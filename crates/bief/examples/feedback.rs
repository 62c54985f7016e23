//! What a frame taught is used on the next: an automatic gain brings a signal of any level to the one wanted.
//!
//! `cargo run --example feedback`

use bief::{Chain, Flow, In, InOut, Out, Result, Task, sink, source};

/// Multiplies the samples by the gain, in place.
struct Amplify;

impl Task for Amplify {
    type In = (InOut<f32>, In<f32>);
    type Out = ();

    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, (samples, gain): (&mut [f32], &[f32]), (): ()) -> Result<Flow> {
        samples.iter_mut().for_each(|x| *x *= gain[0]);
        Ok(Flow::Next)
    }
}

/// The gain for the next frame: half the way, in decibels, to the level wanted.
struct Adjust {
    wanted: f32,
}

impl Task for Adjust {
    type In = (In<f32>, In<f32>);
    type Out = Out<f32>;

    fn lens(&self, (_, gain): (usize, usize)) -> Result<usize> {
        Ok(gain)
    }

    fn run(&mut self, (samples, gain): (&[f32], &[f32]), next: &mut [f32]) -> Result<Flow> {
        let level = peak(samples);
        next[0] = if level > 0.0 { gain[0] * (self.wanted / level).sqrt() } else { gain[0] };
        Ok(Flow::Next)
    }
}

fn peak(samples: &[f32]) -> f32 {
    samples.iter().fold(0.0, |peak, x| peak.max(x.abs()))
}

/// The peak of each frame after the gain.
fn levels() -> Result<Vec<f32>> {
    // A tone that becomes ten times as loud half way.
    let level = |k: usize| if k < 1000 { 0.02 } else { 0.2 };
    let samples: Vec<f32> = (0..2000).map(|k| (k as f32 * 0.3).sin() * level(k)).collect();

    let mut chain = Chain::new();
    let mut samples = chain.add(source::from_slice(&samples, 100), ());
    chain.feedback(&[1.0], |chain, gain| {
        chain.add(Amplify, (&mut samples, gain));
        chain.add(Adjust { wanted: 1.0 }, (&samples, gain))
    });
    let (collect, levelled) = sink::collect();
    chain.add(collect, &samples);
    chain.build()?.run()?;
    Ok(levelled.take().chunks(100).map(peak).collect())
}

fn main() -> Result<()> {
    for (frame, level) in levels()?.iter().enumerate() {
        println!("frame {frame:2}: {level:6.3} {}", "#".repeat((10.0 * level).round() as usize));
    }
    Ok(())
}

#[test]
fn the_level_comes_to_1_and_comes_back_to_1() {
    main().unwrap();
    let levels = levels().unwrap();
    assert!((levels[0] - 0.02).abs() < 1e-3 && (levels[10] / 10.0 - 1.0).abs() < 0.02, "{levels:?}");
    assert!((levels[9] - 1.0).abs() < 0.02 && (levels[19] - 1.0).abs() < 0.02, "{levels:?}");
}
