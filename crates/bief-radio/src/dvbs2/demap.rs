//! From the symbols of PLFRAMEs to soft bits, as tasks.

use bief::{Error, Flow, In, InVar, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::{Demapper, FrameSize, MAX_SYMBOLS, Pls, SignalLevel};
use num_complex::Complex32;

use super::tables::{Tables, expect, expect_of, layout};

/// Takes the payload out of PLFRAMEs: leaves out header and pilots.
///
/// # Sockets
/// - in: `Complex32`, variable: the symbols of a PLFRAME; what follows it is left out too
/// - in: `Pls`, 1 per frame
/// - out: `Complex32`, variable: its payload symbols
///
/// # Errors
/// A frame that is shorter than its PLS says.
///
/// # Source
/// EN 302 307-1, clause 5.5.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug, Clone)]
pub struct TakePayload;

impl Task for TakePayload {
    type In = (InVar<Complex32>, In<Pls>);
    type Out = OutVar<Complex32>;

    fn name(&self) -> String {
        "take payload".to_owned()
    }

    fn lens(&self, (symbols, pls): (usize, usize)) -> Result<usize> {
        expect("PLS", 1, pls)?;
        Ok(symbols.min(MAX_SYMBOLS))
    }

    fn run(&mut self, (frame, pls): (&[Complex32], &[Pls]), mut payload: VarFrame<'_, Complex32>) -> Result<Flow> {
        let layout = layout(pls[0])?;
        for run in layout.payload_runs() {
            let part = frame.get(run);
            let part = part.ok_or_else(|| {
                Error::new(format!("a frame of {} has {} symbols, not {}", pls[0], layout.symbols(), frame.len()))
            })?;
            payload.extend_from_slice(part)?;
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Demaps payload symbols to soft bits, in the order of the codeword.
///
/// # Sockets
/// - in: `Complex32`, variable: the payload symbols of a frame, of unit mean energy
/// - in: [`SignalLevel`], 1 per frame
/// - in: `Pls`, 1 per frame
/// - out: `i8`, variable: nldpc LLRs, positive for 0, 4 counts per unit
///
/// # Errors
/// A frame without data, or of another length than its PLS says.
///
/// # Source
/// EN 302 307-1, clauses 5.3.3 and 5.4 (what is undone); LLRs by the nearest points.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Clone, Default)]
pub struct Demap {
    demappers: Tables<Pls, (Demapper, f32)>,
}

/// An estimate of Es/N0 that lies further above a MODCOD's threshold than this is not believed: LLRs would saturate.
const MARGIN_DB: f32 = 6.0;

impl Demap {
    /// For frames of any kind.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The demapper of a kind of frame, and the least noise that it believes.
fn demapper(pls: Pls) -> Result<(Demapper, f32)> {
    let modcod = pls.modcod().ok_or_else(|| Error::new(format!("{pls}: carries no data")))?;
    let least_n0 = 10_f32.powf(-0.1 * (modcod.ideal_esn0_db() + MARGIN_DB));
    Ok((Demapper::new(modcod, pls.frame_size()), least_n0))
}

impl Task for Demap {
    type In = (InVar<Complex32>, In<SignalLevel>, In<Pls>);
    type Out = OutVar<i8>;

    fn name(&self) -> String {
        "demap".to_owned()
    }

    fn lens(&self, (_, levels, pls): (usize, usize, usize)) -> Result<usize> {
        expect("level", 1, levels)?;
        expect("PLS", 1, pls)?;
        Ok(FrameSize::Normal.bits())
    }

    fn run(
        &mut self,
        (symbols, level, pls): (&[Complex32], &[SignalLevel], &[Pls]),
        mut llrs: VarFrame<'_, i8>,
    ) -> Result<Flow> {
        let (demapper, least_n0) = self.demappers.get(pls[0], || demapper(pls[0]))?;
        expect_of(pls[0], "payload symbols", demapper.symbols(), symbols.len())?;
        llrs.set_len(demapper.bits())?;
        demapper.demap(symbols, level[0].n0.max(*least_n0), &mut llrs);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
