//! PLFRAMEs built, as a task.

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Layout, PlframeBuilder, Pls};
use num_complex::Complex32;

use super::encode::expect;

pub(super) fn layout(pls: Pls) -> Result<Layout> {
    Layout::new(pls).ok_or_else(|| Error::new(format!("{pls}: DVB-S2 defines no such PLFRAME")))
}

/// Maps codewords to symbols and builds PLFRAMEs: header, payload, pilots, scrambling.
///
/// # Sockets
/// - in: `u8`, nldpc / 8 bytes of packed bits
/// - out: `Complex32`, the symbols of a PLFRAME, of unit energy
///
/// # Errors
/// At build, another frame length, or a PLS that DVB-S2 does not define.
///
/// # Source
/// EN 302 307-1, clauses 5.3.3, 5.4 and 5.5.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::BuildPlframe;
/// let mut chain = Chain::new();
/// let codewords = chain.add(source::from_slice(&[0_u8; 2025], 2025), ());
/// let frames = chain.add(BuildPlframe::new(Pls::new(43).unwrap())?, &codewords); // QPSK 8/9 short, pilots
/// let (collect, result) = sink::collect();
/// chain.add(collect, &frames);
/// chain.build()?.run()?;
/// assert_eq!(result.take().len(), 8370);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct BuildPlframe {
    builder: PlframeBuilder<'static>,
    bytes: usize,
}

impl BuildPlframe {
    /// Builds the frames that `pls` announces.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define, or that carries no data.
    pub fn new(pls: Pls) -> Result<Self> {
        let builder = PlframeBuilder::new(pls, PlScrambler::broadcast()).map_err(Error::from_source)?;
        let fec = pls.fec().ok_or_else(|| Error::new(format!("{pls}: carries no data")))?;
        Ok(Self { builder, bytes: fec.nldpc / 8 })
    }
}

impl Task for BuildPlframe {
    type In = In<u8>;
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "build PLFRAME".to_owned()
    }

    fn lens(&self, bytes: usize) -> Result<usize> {
        expect("bytes", self.bytes, bytes)?;
        Ok(self.builder.layout().symbols())
    }

    fn run(&mut self, codeword: &[u8], frame: &mut [Complex32]) -> Result<Flow> {
        self.builder.build(codeword, frame);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
