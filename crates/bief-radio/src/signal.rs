//! What is known of the samples on a wire, which kinds of tasks hand on as they build a chain.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bief::kinds::{Param, Piece};
use bief::raw::DynWire;
use bief::{Chain, Error, Result};

/// What is known of the samples on a wire: a [fact](Chain::fact), so that what follows from it need not be told again.
///
/// ```
/// use bief::kinds::Parameters;
/// use bief::Chain;
/// use bief_radio::Signal;
///
/// let mut chain = Chain::new();
/// let parameters = Parameters::new().with("path", "data/nbfm_tones.sigmf-meta").with("frame", 5760);
/// # let parameters = parameters.in_folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
/// let registry = bief_radio::registry();
/// let samples = registry.make(&mut chain, "read", "radio.read", parameters, &[])?;
/// assert_eq!(chain.fact::<Signal>(&samples[0]).unwrap().sample_rate(), Some(576e3)); // the recording tells it
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Signal {
    sample_rate: Option<f64>,
    /// Samples of the source for each of these.
    decimation: usize,
    /// Samples of the source by which filters have delayed it.
    delay: usize,
    /// The longest delay behind the source, which plays as many zeros at its end.
    held_back: Arc<AtomicUsize>,
}

impl Signal {
    /// Samples of a source, at this rate per second if it is known.
    pub fn new(sample_rate: Option<f64>) -> Self {
        Self { sample_rate, decimation: 1, delay: 0, held_back: Arc::default() }
    }

    /// What is known of a wire.
    pub fn of(chain: &Chain, wire: &DynWire) -> Self {
        chain.fact::<Self>(wire).map_or_else(|| Self::new(None), |signal| Self::clone(&signal))
    }

    /// Samples per second.
    pub fn sample_rate(&self) -> Option<f64> {
        self.sample_rate
    }

    /// What is known behind a filter that delays by so many of these samples and keeps one of `decimation`.
    #[must_use]
    pub fn filtered(&self, delay: usize, decimation: usize) -> Self {
        let delay = self.delay.saturating_add(delay.saturating_mul(self.decimation));
        self.held_back.fetch_max(delay, Ordering::Relaxed);
        Self {
            sample_rate: self.sample_rate.map(|rate| rate / decimation as f64),
            decimation: self.decimation.saturating_mul(decimation),
            delay,
            held_back: Arc::clone(&self.held_back),
        }
    }

    /// Samples of the source that filters behind it hold back at the end.
    pub(crate) fn held_back(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.held_back)
    }
}

/// The parameter of every kind that must know how fast samples come.
pub(crate) fn sample_rate() -> Param<Option<f64>> {
    Param::new("sample_rate", "samples per second; left out, that of the wire, from the recording")
        .unit("Hz")
        .optional()
}

/// What is known of the first wire of a piece, and its sample rate: the one that is given, or else known.
pub(crate) fn rated(piece: &mut Piece<'_>, given: Option<f64>) -> Result<(Signal, f64)> {
    let wire = &piece.wires()[0];
    let mut signal = Signal::of(piece.chain(), wire);
    signal.sample_rate = given.or(signal.sample_rate);
    let rate = signal.sample_rate.ok_or_else(|| {
        Error::new("the sample rate of its input is unknown: give a `sample_rate`, in samples per second")
    })?;
    Ok((signal, rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_add_up_in_samples_of_the_source() {
        let source = Signal::new(Some(96e3));
        let narrow = source.filtered(72, 12);
        let audio = narrow.filtered(10, 1).filtered(20, 2);
        assert_eq!((narrow.sample_rate(), audio.sample_rate()), (Some(8e3), Some(4e3)));
        assert_eq!(source.held_back().load(Ordering::Relaxed), 72 + 12 * 30);
        assert_eq!(source.filtered(5, 1).sample_rate(), Some(96e3));
        assert_eq!(narrow.held_back().load(Ordering::Relaxed), 72 + 12 * 30, "the longest");
    }
}
