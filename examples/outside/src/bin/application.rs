//! A chain of one's own, planned, refined, placed and run by the planner.

use bief::prelude::task::*;
use bief::prelude::*;

/// Estimates of pi, of so many frames of random points.
struct Pi {
    frames: u64,
}

/// The share of points in the quarter of a circle.
#[derive(Clone)]
struct Inside;

impl Task for Inside {
    type In = In<f32>;
    type Out = Out<f64>;

    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }

    fn run(&mut self, points: &[f32], share: &mut [f64]) -> Result<Flow> {
        let inside = points.chunks_exact(2).filter(|point| point[0].hypot(point[1]) < 1.0).count();
        share[0] = inside as f64 / (points.len() / 2) as f64;
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Pi {
    /// The same chain for a rehearsal and for the run.
    fn chain(frames: u64, mut take: impl FnMut(f64) + Send + 'static) -> Result<Program> {
        let (mut left, mut state) = (0..frames, 1_u32);
        let points = source::from_fn(2048, move |points: &mut [f32]| {
            points.fill_with(|| {
                state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                (state >> 8) as f32 / (1 << 24) as f32
            });
            Ok(if left.next().is_none() { Flow::Stop } else { Flow::Next })
        });
        let mut chain = Chain::new().batch(4);
        let points = chain.add(points, ());
        let shares = chain.add(Inside, &points);
        let show = move |share: &[f64]| {
            take(4.0 * share[0]);
            Ok(Flow::Next)
        };
        chain.add(sink::for_each(show), &shares);
        chain.build()
    }
}

impl Application for Pi {
    fn program(&mut self) -> Result<Program> {
        Self::chain(self.frames, |pi| assert!((2.8..3.5).contains(&pi), "{pi}"))
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        Self::chain(frames, |_| ())
    }
}

fn main() -> Result<()> {
    let mut pi = Pi { frames: 2000 };
    let planner = Planner::new(Machine::here()).goal("fewest-cores".parse()?).refine(1).place(Policy::Packed);
    let planned = planner.plan(&pi)?;
    println!("{} stages, {} per batch", planned.schedule.stages().len(), planned.schedule.planned_period());
    let report = planned.pipeline(&mut pi)?.run()?;
    println!("{report}");
    assert_eq!((report.frames, planned.refined.is_some()), (2000, true));
    Ok(())
}
