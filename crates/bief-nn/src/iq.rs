//! Samples as a network for signals takes them.

use bief::raw::Shape;
use bief::{Flow, In, Out, Result, Task};
use num_complex::Complex;

/// Makes of the samples of a frame two rows, real and imaginary parts, of unit power together: what the level of a receiver was does not count.
/// Silence stays silent.
///
/// # Sockets
/// In: samples, n in a frame. Out: f32, 1 x 2 x n.
///
/// # Errors
/// None.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_nn::RowsOfIq;
/// use num_complex::Complex;
///
/// let mut chain = Chain::new();
/// let samples = chain.add(source::from_slice(&[Complex::new(0.3_f32, 0.4), Complex::new(0.0, -0.5)], 2), ());
/// let rows = chain.add(RowsOfIq, &samples);
/// let (collect, collected) = sink::collect();
/// chain.add(collect, &rows);
/// chain.build()?.run()?;
/// assert_eq!(collected.take(), [0.6, 0.0, 0.8, -1.0]);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct RowsOfIq;

impl Task for RowsOfIq {
    type In = In<Complex<f32>>;
    type Out = Out<f32>;

    fn lens(&self, samples: usize) -> Result<usize> {
        Ok(2 * samples)
    }

    fn shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![Shape::from([1, 2, inputs[0].len()])])
    }

    fn run(&mut self, samples: &[Complex<f32>], rows: &mut [f32]) -> Result<Flow> {
        let power = samples.iter().map(|sample| f64::from(sample.norm_sqr())).sum::<f64>() / samples.len() as f64;
        let gain = if power > 0.0 && power.is_finite() { (1.0 / power.sqrt()) as f32 } else { 0.0 };
        let (real, imaginary) = rows.split_at_mut(samples.len());
        for ((real, imaginary), sample) in real.iter_mut().zip(imaginary).zip(samples) {
            (*real, *imaginary) = (gain * sample.re, gain * sample.im);
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(*self)
    }
}
