//! PLFRAMEs built, as a task.

use std::sync::Arc;

use bief::{Error, Flow, In, InVar, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, Layout, MAX_SYMBOLS, PlframeBuilder, Pls};
use num_complex::Complex32;

use super::tables::{Tables, expect, expect_of};

/// Symbols of the longest PLFRAME that has a short FECFRAME.
const MOST_SHORT: usize = 8_370;

/// Maps codewords to symbols and builds PLFRAMEs: header, payload, pilots, scrambling.
///
/// # Sockets
/// - in: variable `u8`, nldpc / 8 bytes of packed bits; nothing for a dummy frame
/// - in: [`Pls`], 1 per frame
/// - out: variable `Complex32`, the symbols of a PLFRAME, of unit energy
///
/// # Errors
/// A PLS that DVB-S2 does not define, a codeword of another length than it tells.
///
/// # Source
/// EN 302 307-1, clauses 5.3.3, 5.4 and 5.5.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::BuildPlframe;
/// let mut chain = Chain::new();
/// let nothing = chain.add(source::from_fn_var(2025, |_: VarFrame<'_, u8>| Ok(Flow::Next)), ());
/// let pls = chain.add(source::from_slice(&[Pls::DUMMY], 1), ());
/// let frames = chain.add(BuildPlframe::new(0)?, (&nothing, &pls));
/// chain.add(
///     sink::for_each_var(|frame: &[num_complex::Complex32]| {
///         assert_eq!(frame.len(), 3330);
///         Ok(Flow::Next)
///     }),
///     &frames,
/// );
/// assert_eq!(chain.build()?.run()?.frames, 1);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct BuildPlframe {
    scrambler: Arc<PlScrambler>,
    builders: Tables<Pls, PlframeBuilder<Arc<PlScrambler>>>,
}

impl BuildPlframe {
    /// Builds frames whose symbols are scrambled by this Gold code, 0 (broadcast) to 262141.
    ///
    /// # Errors
    /// No such code.
    pub fn new(gold_code: u32) -> Result<Self> {
        let scrambler = Arc::new(PlScrambler::new(gold_code).map_err(Error::from_source)?);
        Ok(Self { scrambler, builders: Tables::default() })
    }
}

impl Task for BuildPlframe {
    type In = (InVar<u8>, In<Pls>);
    type Out = OutVar<Complex32>;

    fn name(&self) -> String {
        "build PLFRAME".to_owned()
    }

    fn lens(&self, (bytes, pls): (usize, usize)) -> Result<usize> {
        expect("PLS", 1, pls)?;
        Ok(if bytes > FrameSize::Short.bits() / 8 { MAX_SYMBOLS } else { MOST_SHORT })
    }

    fn run(&mut self, (codeword, pls): (&[u8], &[Pls]), mut frame: VarFrame<'_, Complex32>) -> Result<Flow> {
        let pls = pls[0];
        expect_of(pls, "bytes", pls.fec().map_or(0, |fec| fec.nldpc / 8), codeword.len())?;
        if let Some(kind) = pls.vl_snr() {
            let symbols = Layout::new(pls).map_or(0, |layout| layout.symbols());
            frame.set_len(symbols)?;
            kind.build(codeword, &self.scrambler, &mut frame);
            return Ok(Flow::Next);
        }
        let make = || PlframeBuilder::new(pls, Arc::clone(&self.scrambler)).map_err(Error::from_source);
        let builder = self.builders.get(pls, make)?;
        frame.set_len(builder.layout().symbols())?;
        builder.build(codeword, &mut frame);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
