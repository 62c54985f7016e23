//! Symbols that are kept so that someone can look at them.

use std::sync::{Arc, Mutex, PoisonError};

use bief::{Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{HEADER, Pls};
use num_complex::Complex32;

use super::tables::{Tables, expect, layout, whole};

/// Symbols of one kind of frame that are kept.
const KEPT: usize = 4096;
/// Symbols taken of each frame, evenly spread over it.
const PER_FRAME: usize = 128;

/// The latest payload symbols of each kind of frame, for a picture of the constellation. They are there when a run has ended.
///
/// ```
/// use std::sync::Arc;
/// use bief::Application;
/// use bief_radio::dvbs2::{Receiver, Scatter, Settings};
/// use bief_radio::Recording;
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap();
/// let scatter = Arc::new(Scatter::default());
/// receiver.scatter(&scatter).to(std::io::sink()).program()?.run()?;
/// let (pls, symbols) = &scatter.symbols()[0];
/// assert_eq!((pls.to_string(), symbols.len()), ("QPSK 8/9 short, pilots".to_owned(), 4096));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Scatter(Mutex<Vec<(Pls, Vec<Complex32>)>>);

impl Scatter {
    /// Up to 4096 symbols, of unit mean energy, of each kind of frame, in the order of PLS values.
    pub fn symbols(&self) -> Vec<(Pls, Vec<Complex32>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Keeps some payload symbols of each frame, and hands them over at the end.
///
/// # Sockets
/// - in: `Complex32`, variable: the symbols of a PLFRAME, still scrambled, of unit mean energy
/// - in: `Pls`, 1 per frame
///
/// # Errors
/// A frame that is shorter than its PLS says.
///
/// # Source
/// None: it looks and changes nothing.
///
/// # Example
/// See [`Scatter`].
pub struct KeepSymbols {
    scatter: Arc<Scatter>,
    scrambler: Arc<PlScrambler>,
    kept: Tables<Pls, Latest>,
}

/// The latest symbols of one kind of frame.
struct Latest {
    symbols: Vec<Complex32>,
    /// Where the next one goes once there are enough.
    oldest: usize,
}

impl KeepSymbols {
    /// Keeps those of frames that are scrambled so in `scatter`.
    pub fn new(scatter: Arc<Scatter>, scrambler: Arc<PlScrambler>) -> Self {
        Self { scatter, scrambler, kept: Tables::default() }
    }
}

impl Task for KeepSymbols {
    type In = (InVar<Complex32>, In<Pls>);
    type Out = ();

    fn name(&self) -> String {
        "keep symbols".to_owned()
    }

    fn lens(&self, (_, pls): (usize, usize)) -> Result<()> {
        expect("PLS", 1, pls)
    }

    fn run(&mut self, (frame, pls): (&[Complex32], &[Pls]), (): ()) -> Result<Flow> {
        whole(pls[0], frame.len())?;
        let layout = layout(pls[0])?;
        let latest = self.kept.get(pls[0], || Ok(Latest { symbols: Vec::with_capacity(KEPT), oldest: 0 }))?;
        let step = (layout.payload_symbols() / PER_FRAME).max(1);
        for index in layout.payload_runs().flatten().step_by(step) {
            let mut symbol = [frame[index]];
            self.scrambler.descramble(index - HEADER, &mut symbol);
            if latest.symbols.len() < KEPT {
                latest.symbols.extend(symbol);
            } else {
                [latest.symbols[latest.oldest]] = symbol;
                latest.oldest = (latest.oldest + 1) % KEPT;
            }
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        let mut kept: Vec<_> = self.kept.iter().map(|(pls, latest)| (*pls, latest.symbols.clone())).collect();
        kept.sort_by_key(|(pls, _)| *pls);
        *self.scatter.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        Ok(())
    }
}
