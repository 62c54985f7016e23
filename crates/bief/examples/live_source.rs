//! A source that cannot wait: when the chain is too slow, samples are lost, and the clock of what follows stays right.
//!
//! `cargo run --example live_source`

use std::time::Duration;

use bief::source::{self, Received};
use bief::{Chain, Flow, In, Out, Report, Result, Task, sink};

/// Samples of a frame, and per second.
const FRAME: usize = 48;
const RATE: f64 = 48_000.0;

/// A sound card that plays a tone to us for a tenth of a second. Nobody can make it wait: `every` is the time of a block.
fn sound_card(every: Duration) -> impl FnMut(&mut [f32]) -> Result<Received> + Send {
    let mut sample = 0;
    move |block| {
        if sample == 100 * FRAME {
            return Ok(Received::End);
        }
        std::thread::sleep(every);
        for value in block {
            *value = tone(sample as f64 / RATE);
            sample += 1;
        }
        Ok(Received::Frame { lost: 0 })
    }
}

fn tone(seconds: f64) -> f32 {
    (seconds * 440.0 * std::f64::consts::TAU).sin() as f32
}

/// Tells the time at which each frame began: samples that were lost took their time too.
struct Clock {
    samples: u64,
}

impl Task for Clock {
    type In = In<u64>;
    type Out = Out<f64>;

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, lost: &[u64], seconds: &mut [f64]) -> Result<Flow> {
        self.samples += lost[0];
        seconds[0] = self.samples as f64 / RATE;
        self.samples += FRAME as u64;
        Ok(Flow::Next)
    }
}

/// The first sample of each frame that came through, its time, and the report.
fn listen(every: Duration, work: Duration) -> Result<(Vec<f32>, Vec<f64>, Report)> {
    let mut chain = Chain::new();
    // A queue of four blocks rides out short delays.
    let (samples, lost) = chain.add(source::live(FRAME, 4, sound_card(every)), ());
    let seconds = chain.add(Clock { samples: 0 }, &lost);
    let (collect, times) = sink::collect();
    chain.add(collect, &seconds);
    let (first, firsts) = std::sync::mpsc::channel();
    let slow = move |samples: &[f32]| {
        std::thread::sleep(work);
        let _ = first.send(samples[0]);
        Ok(Flow::Next)
    };
    chain.add(sink::for_each(slow), &samples);
    let report = chain.build()?.run()?;
    Ok((firsts.try_iter().collect(), times.take(), report))
}

fn main() -> Result<()> {
    let (_, times, report) = listen(Duration::from_millis(1), Duration::from_millis(3))?;
    println!("{report}\n{} frames, the last one from {:.3} s", report.frames, times.last().unwrap_or(&0.0));
    Ok(())
}

#[test]
fn the_clock_is_right_whatever_was_lost() {
    let (firsts, times, report) = listen(Duration::from_micros(100), Duration::from_millis(2)).unwrap();
    assert_eq!(report.frames * FRAME as u64 + report.lost, 100 * FRAME as u64);
    assert_eq!(firsts, times.iter().map(|&time| tone(time)).collect::<Vec<_>>());
    main().unwrap();
}
