//! A kind of task with parameters, in a chain file: samples are limited, and those that were clipped counted.

use bief::chain::BuiltChain;
use bief::kinds::{Kind, Param};
use bief::prelude::task::*;
use bief::prelude::*;

/// Keeps samples between `-ceiling` and `ceiling`.
#[derive(Clone)]
struct Limit {
    ceiling: f32,
    clipped: u64,
}

impl Task for Limit {
    type In = InOut<f32>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, samples: &mut [f32], (): ()) -> Result<Flow> {
        self.clipped += samples.iter().filter(|sample| sample.abs() > self.ceiling).count() as u64;
        samples.iter_mut().for_each(|sample| *sample = sample.clamp(-self.ceiling, self.ceiling));
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { clipped: 0, ..*self }) // each counts its own part
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("clipped", "samples", self.clipped);
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    let ceiling = Param::new("ceiling", "the loudest sample that passes").unit("dBFS").range(-60.0..=0.0).default(-6.0);
    registry.add(Kind::new("outside.limit", "limits samples", ceiling, |db: f64| {
        Ok(Limit { ceiling: 10_f64.powf(db / 20.0) as f32, clipped: 0 })
    }));
    let samples = Param::new("samples", "how many").range(1..=1_000_000);
    registry.add(Kind::new("outside.ramp", "samples that rise from 0 to 1", samples, |samples: usize| {
        let ramp: Vec<f32> = (1..=samples).map(|k| k as f32 / samples as f32).collect();
        Ok(source::from_slice(&ramp, 10))
    }));
    registry
}

const CHAIN: &str = "
[[task]]
name = 'ramp'
kind = 'outside.ramp'
samples = 1000
out = ['samples']

[[task]]
name = 'limit'
kind = 'outside.limit'
in = ['samples']
ceiling = -20.0
";

fn main() -> Result<()> {
    let registry = registry();
    let BuiltChain { mut chain, wires, .. } = ChainFile::parse(CHAIN, "limit.toml")?.build(&registry)?;
    let (collect, limited) = sink::collect();
    chain.add(collect, &wires["samples"].typed::<f32>()?);
    let clipped = chain.build()?.run()?.figures.counted("clipped");
    println!("{clipped} of 1000 samples were clipped");
    assert_eq!((clipped, limited.take()[999]), (900, 0.1));
    let error = ChainFile::parse(&CHAIN.replace("-20.0", "3.0"), "limit.toml")?.build(&registry).unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("`ceiling` must be -60 to 0 dBFS, not 3"));
    Ok(())
}
