//! The task that tells a [`Status`] what the receiver sees.

use std::sync::Arc;

use bief::{Flow, In, Result, Task};
use bief_dsp::dvbs2::{FrameSync, SignalLevel};

use super::decode::Decoding;
use super::status::Status;
use super::tables::expect;

/// Counts frames and averages what was measured of the signal.
///
/// # Sockets
/// - in: `Option<FrameSync>`, 1 per frame
/// - in: [`SignalLevel`], 1 per frame
/// - in: [`Decoding`], 1 per frame
///
/// # Errors
/// None.
///
/// # Source
/// None: arithmetic.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug)]
pub struct Observe {
    status: Arc<Status>,
    samples_per_symbol: f64,
    frames: f64,
    n0: f64,
}

impl Observe {
    /// Tells `status`; clock errors are against `samples_per_symbol`.
    pub fn new(status: Arc<Status>, samples_per_symbol: f64) -> Self {
        Self { status, samples_per_symbol, frames: 0.0, n0: 0.0 }
    }
}

impl Task for Observe {
    type In = (In<Option<FrameSync>>, In<SignalLevel>, In<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "observe".to_owned()
    }

    fn lens(&self, (sync, level, decoding): (usize, usize, usize)) -> Result<()> {
        expect("record", 1, sync).and(expect("record", 1, level)).and(expect("record", 1, decoding))
    }

    fn run(
        &mut self,
        (sync, level, decoding): (&[Option<FrameSync>], &[SignalLevel], &[Decoding]),
        (): (),
    ) -> Result<Flow> {
        let Some(sync) = sync[0] else { return Ok(Flow::Next) };
        self.status.count_frame(sync.pls, &decoding[0]);
        // The mean over all frames at first, then over about the last hundred.
        self.frames = (self.frames + 1.0).min(100.0);
        self.n0 += (f64::from(level[0].n0) - self.n0) / self.frames;
        // The sender's symbols come late when the receiver counts too many samples in each.
        let clock_ppm = 1e6 * (self.samples_per_symbol / sync.step - 1.0);
        let es_n0_db = -10.0 * self.n0.log10();
        // The other fields of an inverted signal are those of its mirror image.
        let carrier = if sync.inverted { -sync.frequency } else { sync.frequency };
        self.status.set_signal(es_n0_db, carrier, clock_ppm);
        if let Some(modcod) = sync.pls.modcod() {
            self.status.set_margin(es_n0_db - f64::from(modcod.ideal_esn0_db()));
        }
        Ok(Flow::Next)
    }
}
