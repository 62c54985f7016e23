//! From the samples of a PLFRAME to its symbols, as tasks: carrier removed, symbols filtered, phase and level corrected.

use bief::{Error, Flow, In, InOut, Out, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{CarrierPhase, FrameSync, HEADER, Pls, SignalLevel};
use bief_dsp::filter::MatchedFilter;
use num_complex::Complex32;

use super::encode::expect;
use super::plframe::layout;

/// The place of a frame in its window: each window comes with one.
fn placed(sync: &[Option<FrameSync>]) -> Result<FrameSync> {
    sync[0].ok_or_else(|| Error::new("a window came without the place of its frame"))
}

/// Removes the carrier from a frame's window, as far as the header tells it, and undoes spectral inversion.
///
/// # Sockets
/// - in-place: `Complex32`, the window
/// - in: `Option<FrameSync>`, 1 per frame
///
/// # Errors
/// A window without the place of its frame.
///
/// # Source
/// None: the carrier is what the receiver's oscillator is off.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug, Clone)]
pub struct RemoveCarrier;

impl Task for RemoveCarrier {
    type In = (InOut<Complex32>, In<Option<FrameSync>>);
    type Out = ();

    fn name(&self) -> String {
        "remove carrier".to_owned()
    }

    fn lens(&self, (_, sync): (usize, usize)) -> Result<()> {
        expect("place", 1, sync)
    }

    fn run(&mut self, (window, sync): (&mut [Complex32], &[Option<FrameSync>]), (): ()) -> Result<Flow> {
        placed(sync)?.remove_carrier(window);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Filters a frame's window at the symbol instants: matched filter, interpolation and decimation in one pass.
///
/// # Sockets
/// - in: `Complex32`, the window, its carrier removed
/// - in: `Option<FrameSync>`, 1 per frame
/// - out: `Complex32`, the symbols of the PLFRAME and the 90 that follow it
///
/// # Errors
/// A window without the place of its frame.
///
/// # Source
/// EN 302 307-1, clause 5.6.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug, Clone)]
pub struct FilterSymbols {
    filter: MatchedFilter,
    symbols: usize,
}

impl FilterSymbols {
    /// Filters windows of frames of this PLS.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(filter: MatchedFilter, pls: Pls) -> Result<Self> {
        Ok(Self { filter, symbols: layout(pls)?.symbols() + HEADER })
    }
}

impl Task for FilterSymbols {
    type In = (In<Complex32>, In<Option<FrameSync>>);
    type Out = Out<Complex32>;

    fn name(&self) -> String {
        "filter symbols".to_owned()
    }

    fn lens(&self, (_, sync): (usize, usize)) -> Result<usize> {
        expect("place", 1, sync)?;
        Ok(self.symbols)
    }

    fn run(&mut self, (window, sync): (&[Complex32], &[Option<FrameSync>]), symbols: &mut [Complex32]) -> Result<Flow> {
        let sync = placed(sync)?;
        self.filter.symbols(window, sync.position, sync.step, symbols);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Undoes physical-layer scrambling of the payload and pilots of PLFRAMEs.
///
/// # Sockets
/// - in-place: `Complex32`, the symbols of a PLFRAME; header, and what follows the frame, are left alone
///
/// # Errors
/// At build, a shorter frame.
///
/// # Source
/// EN 302 307-1, clause 5.5.4.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::DescramblePl;
/// use num_complex::Complex32;
/// let mut chain = Chain::new();
/// let mut symbols = chain.add(source::from_slice(&[Complex32::ONE; 8370], 8370), ());
/// chain.add(DescramblePl::new(Pls::new(43).unwrap())?, &mut symbols);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &symbols);
/// chain.build()?.run()?;
/// assert_eq!(result.take()[91], -Complex32::I); // the sequence begins 0, 1
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DescramblePl {
    symbols: usize,
}

impl DescramblePl {
    /// Descrambles frames of this PLS.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(pls: Pls) -> Result<Self> {
        Ok(Self { symbols: layout(pls)?.symbols() })
    }
}

impl Task for DescramblePl {
    type In = InOut<Complex32>;
    type Out = ();

    fn name(&self) -> String {
        "descramble symbols".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<()> {
        if symbols < self.symbols {
            return expect("symbols or more", self.symbols, symbols);
        }
        Ok(())
    }

    fn run(&mut self, symbols: &mut [Complex32], (): ()) -> Result<Flow> {
        PlScrambler::broadcast().descramble(0, &mut symbols[HEADER..self.symbols]);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Measures the carrier phase along a frame and takes it out: by header and pilots; without pilots, by the payload.
///
/// # Sockets
/// - in-place: `Complex32`, the symbols of a PLFRAME, still scrambled, and the 90 that follow it
///
/// # Errors
/// At build, a shorter frame.
///
/// # Source
/// EN 302 307-1, clause 5.5 (what is known of a frame).
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::{BuildPlframe, CorrectPhase};
/// let pls = Pls::new(43).unwrap(); // QPSK 8/9 short, pilots
/// let mut chain = Chain::new();
/// let codewords = chain.add(source::from_slice(&[0_u8; 2025], 2025), ());
/// let mut symbols = chain.add(BuildPlframe::new(pls)?, &codewords);
/// chain.add(CorrectPhase::new(pls)?, &mut symbols);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct CorrectPhase {
    phase: CarrierPhase,
    pls: Pls,
    symbols: usize,
}

impl CorrectPhase {
    /// Corrects frames of this PLS.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(pls: Pls) -> Result<Self> {
        Ok(Self { phase: CarrierPhase::new(), pls, symbols: layout(pls)?.symbols() })
    }
}

impl Task for CorrectPhase {
    type In = InOut<Complex32>;
    type Out = ();

    fn name(&self) -> String {
        "correct phase".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<()> {
        if symbols < self.symbols {
            return expect("symbols or more", self.symbols, symbols);
        }
        Ok(())
    }

    fn run(&mut self, symbols: &mut [Complex32], (): ()) -> Result<Flow> {
        self.phase.estimate(self.pls, symbols, PlScrambler::broadcast());
        self.phase.correct(symbols);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Measures amplitude and noise of a frame, and scales its symbols to unit energy.
///
/// # Sockets
/// - in-place: `Complex32`, the symbols of a PLFRAME, still scrambled, without carrier phase
/// - out: [`SignalLevel`], 1 per frame
///
/// # Errors
/// At build, a shorter frame.
///
/// # Source
/// EN 302 307-1, clause 5.5 (what is known of a frame).
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::{BuildPlframe, MeasureLevel};
/// let pls = Pls::new(43).unwrap(); // QPSK 8/9 short, pilots
/// let mut chain = Chain::new();
/// let codewords = chain.add(source::from_slice(&[0_u8; 2025], 2025), ());
/// let mut symbols = chain.add(BuildPlframe::new(pls)?, &codewords);
/// let levels = chain.add(MeasureLevel::new(pls)?, &mut symbols);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &levels);
/// chain.build()?.run()?;
/// assert!((result.take()[0].amplitude - 1.0).abs() < 1e-3);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MeasureLevel {
    pls: Pls,
    symbols: usize,
}

impl MeasureLevel {
    /// Measures frames of this PLS.
    ///
    /// # Errors
    /// A PLS that DVB-S2 does not define.
    pub fn new(pls: Pls) -> Result<Self> {
        Ok(Self { pls, symbols: layout(pls)?.symbols() })
    }
}

impl Task for MeasureLevel {
    type In = InOut<Complex32>;
    type Out = Out<SignalLevel>;

    fn name(&self) -> String {
        "measure level".to_owned()
    }

    fn lens(&self, symbols: usize) -> Result<usize> {
        if symbols < self.symbols {
            expect("symbols or more", self.symbols, symbols)?;
        }
        Ok(1)
    }

    fn run(&mut self, symbols: &mut [Complex32], level: &mut [SignalLevel]) -> Result<Flow> {
        level[0] = SignalLevel::measure(self.pls, symbols, PlScrambler::broadcast());
        level[0].normalise(symbols);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
