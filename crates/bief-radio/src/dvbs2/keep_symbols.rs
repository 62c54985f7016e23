//! Symbols that are kept so that someone can look at them.

use std::sync::Arc;

use bief::report::Reading;
use bief::{Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{HEADER, Pls, SignalLevel};
use num_complex::Complex32;

use super::figures::{kind_of, of_kind};
use super::tables::{Tables, expect, layout, whole};

/// Symbols of one kind of frame that are kept.
const KEPT: usize = 4096;
/// Symbols taken of each frame, evenly spread over it.
const PER_FRAME: usize = 128;

/// Keeps the latest payload symbols of each kind of frame, up to 4096, for a picture of the constellation: some of each frame.
///
/// # Sockets
/// - in: `Complex32`, variable: the symbols of a PLFRAME, still scrambled
/// - in: [`SignalLevel`], 1 per frame
/// - in: `Pls`, 1 per frame
///
/// # Errors
/// A frame that is shorter than its PLS says.
///
/// # Source
/// None: it looks and changes nothing.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place, where that is told to.
/// ```
/// use bief::Application;
/// use bief_radio::Recording;
/// use bief_radio::dvbs2::{KeepSymbols, Receiver, Settings};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
/// let recording = Recording::open(path.as_ref(), None).unwrap();
/// let receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?;
/// let report = receiver.keep_symbols().to(std::io::sink()).program()?.run()?;
/// let (pls, symbols) = &KeepSymbols::kept(&report.figures)[0];
/// assert_eq!((pls.to_string(), symbols.len()), ("QPSK 8/9 short, pilots".to_owned(), 4096));
/// # Ok::<(), bief::Error>(())
/// ```
pub struct KeepSymbols {
    scrambler: Arc<PlScrambler>,
    kept: Tables<Pls, Latest>,
}

/// The latest symbols of one kind of frame.
struct Latest {
    symbols: Vec<[f32; 2]>,
    /// Where the next one goes once there are enough.
    oldest: usize,
}

impl KeepSymbols {
    /// Keeps those of frames that are scrambled so.
    pub fn new(scrambler: Arc<PlScrambler>) -> Self {
        Self { scrambler, kept: Tables::default() }
    }

    /// The symbols among what tasks have told: of each kind of frame, in the order of PLS values, up to 4096 of unit mean energy.
    pub fn kept(told: &bief::report::Figures) -> Vec<(Pls, Vec<Complex32>)> {
        let kept = told.all("symbols").filter_map(|figure| match &figure.reading {
            Reading::Scatter(points) => {
                Some((kind_of(figure)?, points.iter().map(|&[re, im]| Complex32::new(re, im)).collect()))
            }
            _ => None,
        });
        let mut kept: Vec<_> = kept.collect();
        kept.sort_by_key(|(pls, _)| *pls);
        kept
    }
}

impl Task for KeepSymbols {
    type In = (InVar<Complex32>, In<SignalLevel>, In<Pls>);
    type Out = ();

    fn name(&self) -> String {
        "keep symbols".to_owned()
    }

    fn lens(&self, (_, levels, pls): (usize, usize, usize)) -> Result<()> {
        expect("level", 1, levels)?;
        expect("PLS", 1, pls)
    }

    fn run(&mut self, (frame, level, pls): (&[Complex32], &[SignalLevel], &[Pls]), (): ()) -> Result<Flow> {
        whole(pls[0], frame.len())?;
        let layout = layout(pls[0])?;
        let latest = self.kept.get(pls[0], || Ok(Latest { symbols: Vec::with_capacity(KEPT), oldest: 0 }))?;
        let step = (layout.payload_symbols() / PER_FRAME).max(1);
        for index in layout.payload_runs().flatten().step_by(step) {
            let mut symbol = [frame[index] * level[0].gain()];
            self.scrambler.descramble(index - HEADER, &mut symbol);
            let point = [symbol[0].re, symbol[0].im];
            if latest.symbols.len() < KEPT {
                latest.symbols.push(point);
            } else {
                latest.symbols[latest.oldest] = point;
                latest.oldest = (latest.oldest + 1) % KEPT;
            }
        }
        Ok(Flow::Next)
    }

    /// A replica keeps those of its own frames.
    fn replica(&self) -> Option<Self> {
        Some(Self::new(Arc::clone(&self.scrambler)))
    }

    fn figures(&self, figures: &mut bief::report::Figures) {
        for (pls, latest) in self.kept.iter() {
            of_kind(figures.scatter("symbols", "", latest.symbols.clone()), *pls);
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.kept = Tables::default();
        Ok(())
    }
}
