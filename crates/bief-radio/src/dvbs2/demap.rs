//! From the symbols of PLFRAMEs to soft bits, as tasks.

use bief::{Error, Flow, In, Out, Result, Task};
use bief_dsp::dvbs2::{Demapper, FrameSize, Layout, Modcod, Pls, SignalLevel};
use num_complex::Complex32;

use super::encode::expect;
use super::plframe::layout;

/// Takes the payload out of PLFRAMEs: leaves out header and pilots.
///
/// # Sockets
/// - in: `Complex32`, the symbols of a PLFRAME; what follows it is left out too
/// - out: `Complex32`, its payload symbols
///
/// # Errors
/// At build, a shorter frame, or a PLS that DVB-S2 does not define.
///
/// # Source
/// EN 302 307-1, clause 5.5.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::TakePayload;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&[Complex32::ONE; 8370], 8370), ());
/// let payload = chain.add(TakePayload::new(Pls::new(43).unwrap())?, &frames);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &payload);
/// chain.build()?.run()?;
/// assert_eq!(result.take().len(), 8100);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct TakePayload {
    layout: Layout,
}

impl TakePayload {
    /// Takes it out of the frames that `pls` announces.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(pls: Pls) -> Result<Self> {
        Ok(Self { layout: layout(pls)? })
    }
}

impl Task for TakePayload {
    type In = In<Complex32>;
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "take payload".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<usize> {
        if symbols < self.layout.symbols() {
            return Err(Error::new(format!("needs {} symbols or more, not {symbols}", self.layout.symbols())));
        }
        Ok(self.layout.payload_symbols())
    }

    fn run(&mut self, frame: &[Complex32], payload: &mut [Complex32]) -> Result<Flow> {
        let mut rest = payload;
        for run in self.layout.payload_runs() {
            let part = rest.split_off_mut(..run.len()).expect("the runs make up the payload");
            part.copy_from_slice(&frame[run]);
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
/// - in: `Complex32`, the payload symbols of a frame, of unit mean energy
/// - in: [`SignalLevel`], 1 per frame
/// - out: `i8`, nldpc LLRs, positive for 0, 4 counts per unit
///
/// # Errors
/// At build, another frame length.
///
/// # Source
/// EN 302 307-1, clauses 5.3.3 and 5.4 (what is undone); LLRs by the nearest points.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::{FrameSize, SignalLevel};
/// use bief_radio::dvbs2::Demap;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let symbols = chain.add(source::from_slice(&[Complex32::new(0.7, -0.7); 8100], 8100), ());
/// let level = SignalLevel { amplitude: 1.0, n0: 0.2 };
/// let levels = chain.add(source::from_slice(&[level], 1), ());
/// let llrs = chain.add(Demap::new("qpsk-8/9".parse().unwrap(), FrameSize::Short), (&symbols, &levels));
/// let (collect, result) = sink::collect();
/// chain.add(collect, &llrs);
/// chain.build()?.run()?;
/// assert!(result.take().chunks(2).all(|bits| bits[0] > 0 && bits[1] < 0));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Demap {
    demapper: Demapper,
    least_n0: f32,
}

/// An estimate of Es/N0 that lies further above a MODCOD's threshold than this is not believed: LLRs would saturate.
const MARGIN_DB: f32 = 6.0;

impl Demap {
    /// Demaps frames of this MODCOD and size.
    pub fn new(modcod: Modcod, size: FrameSize) -> Self {
        let least_n0 = 10_f32.powf(-0.1 * (modcod.ideal_esn0_db() + MARGIN_DB));
        Self { demapper: Demapper::new(modcod, size), least_n0 }
    }
}

impl Task for Demap {
    type In = (In<Complex32>, In<SignalLevel>);
    type Out = Out<i8>;

    fn name(&self) -> String {
        "demap".to_owned()
    }

    fn lens(&self, (symbols, levels): (usize, usize)) -> Result<usize> {
        expect("symbols", self.demapper.symbols(), symbols)?;
        expect("level", 1, levels)?;
        Ok(self.demapper.bits())
    }

    fn run(&mut self, (symbols, level): (&[Complex32], &[SignalLevel]), llrs: &mut [i8]) -> Result<Flow> {
        self.demapper.demap(symbols, level[0].n0.max(self.least_n0), llrs);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
