//! The smallest chain: a source, one task, a sink. It shows the level of a tone that fades away.
//!
//! `cargo run --example hello`

use bief::{Chain, Flow, In, Out, Result, Task, sink, source};

/// The level of each frame in decibels.
struct Level;

impl Task for Level {
    type In = In<f32>;
    type Out = Out<f32>;

    fn lens(&self, _samples: usize) -> Result<usize> {
        Ok(1) // however long a frame is, one level comes out
    }

    fn run(&mut self, samples: &[f32], level: &mut [f32]) -> Result<Flow> {
        let power = samples.iter().map(|x| x * x).sum::<f32>() / samples.len() as f32;
        level[0] = 10.0 * power.log10();
        Ok(Flow::Next)
    }
}

fn levels() -> Result<Vec<f32>> {
    let tone = |k: usize| (k as f32 * 0.3).sin() * 0.5_f32.powf(k as f32 / 1000.0);
    let samples: Vec<f32> = (0..8000).map(tone).collect();

    let mut chain = Chain::new();
    let samples = chain.add(source::from_slice(&samples, 1000), ());
    let level = chain.add(Level, &samples);
    let (collect, levels) = sink::collect();
    chain.add(collect, &level);
    chain.build()?.run()?;
    Ok(levels.take())
}

fn main() -> Result<()> {
    for level in levels()? {
        println!("{level:6.1} dB {}", "#".repeat((60.0 + level).max(0.0) as usize));
    }
    Ok(())
}

#[test]
fn the_tone_loses_6_db_per_frame() {
    main().unwrap();
    let levels = levels().unwrap();
    assert_eq!(levels.len(), 8);
    assert!(levels.windows(2).all(|pair| (pair[0] - pair[1] - 6.02).abs() < 0.1), "{levels:?}");
}
