//! Following a locked signal from header to header.

use std::f64::consts::TAU;
use std::ops::Range;

use num_complex::{Complex32, Complex64};

use super::candidate::first_header;
use super::jumps::{CarrierJumps, ConstantJumps};
use super::known::widen;
use super::layout::HEADER_SPREAD;
use super::plheader::{self, header_symbols};
use super::{HEADER, Layout, Lock, Pls};
use crate::derotate::{Phasor, derotate};
use crate::filter::{FilterFrames, FilterTables, IntegerFilter, MatchedFilter, Recorded, Turn};

/// Quality from which a header is believed. Random symbols reach it with a probability of 3e-7.
const HEADER_QUALITY: f32 = 0.2;
/// Quality from which a header that announces another kind of frame is believed.
const CHANGE_QUALITY: f32 = 0.3;
/// Quality from which one of two headers of VL-SNR frames is believed where they came before: one of noise in 300 has it.
const VL_SNR_QUALITY: f32 = 0.07;
/// Bad headers in a row after which the signal is lost, when headers were weak: noise alone may hide some.
const MAX_BAD: usize = 8;
/// The same when headers were strong (Es/N0 of 0 dB and more): then samples are missing, or the signal is.
const MAX_BAD_STRONG: usize = 2;
const STRONG_QUALITY: f32 = 0.5;
/// Symbols by which noise moves a header at most. What is further off is not tracked but acquired again: samples are missing.
const MAX_DELAY: f64 = 0.3;
/// Distance of the early and the late correlation from the one on time, in symbols.
const EARLY_LATE: f64 = 0.25;
/// Weights of the header's symbols in these correlations: little at both ends, where the unknown symbols of the
/// payload interfere as soon as the timing is not exact.
const TAPER: [f32; HEADER] = taper();
/// Symbols by which a header may lie beside its predicted place.
const MARGIN: f64 = 2.0;
/// Symbols by which the filter may go beyond a header.
const PADDING: f64 = 48.0;
/// Gains of the smoothers of position and frequency: position error corrected at once, and share that corrects
/// the slope. The second follows from the first for the fastest response without ringing.
const TIMING: Gains = Gains::new(0.1);
const FREQUENCY: Gains = Gains::new(0.04);
/// Headers that the position and the symbol rate of the shortest lock are worth.
const LEAST_HEADERS: usize = 4;
/// Share of a new amplitude or quality in the smoothed one.
const SHARE: f32 = 0.25;
/// Share of the quality of the headers before below which a header may be one at another frequency: there it may seem to announce
/// anything. And share of it that the header then has at one of so many frequencies on either side, this far apart in cycles per
/// symbol.
const SUSPICIOUS: f32 = 0.6;
const RESTORED: f32 = 0.75;
const FREQUENCIES: i32 = 25;
const FREQUENCY_STEP: f64 = 0.004;
/// Place of the middle of a header.
const HEADER_MIDDLE: f64 = 0.5 * (HEADER - 1) as f64;

/// Root mean square of the signal in samples that are integers.
const INTEGER_LEVEL: f32 = 512.0;

/// Gains of a second-order smoother.
#[derive(Clone, Copy, Debug)]
struct Gains {
    value: f64,
    slope: f64,
}

impl Gains {
    const fn new(value: f64) -> Gains {
        Gains { value, slope: value * value / (2.0 - value) }
    }

    /// Those of the straight line through so many measurements, as long as they are larger.
    fn after(self, measurements: f64) -> Gains {
        let pairs = (measurements + 1.0) * (measurements + 2.0);
        Gains { value: self.value.max((4.0 * measurements + 2.0) / pairs), slope: self.slope.max(6.0 / pairs) }
    }
}

const fn taper() -> [f32; HEADER] {
    let mut weights = [1.0; HEADER];
    let mut k = 0;
    while k < 8 {
        weights[k] = (k as f32 + 0.5) / 8.0;
        weights[HEADER - 1 - k] = weights[k];
        k += 1;
    }
    weights
}

/// Where a PLFRAME lies in a window of samples, and all that is needed to cut it out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSync {
    /// What the header announces. It has a [`Layout`].
    pub pls: Pls,
    /// Centre of the first symbol, in samples from the start of the window.
    pub position: f64,
    /// Samples per symbol.
    pub step: f64,
    /// Carrier frequency in cycles per symbol, smoothed.
    pub frequency: f64,
    /// Carrier phase at `position`, in radians, such that it is exact in the middle of the header. 0 if the header
    /// was not good.
    pub phase: f64,
    /// Modulus of a symbol sent with energy 1, smoothed.
    pub amplitude: f32,
    /// Squared normalised correlation of the header, 0 to 1: about Es/N0 / (1 + Es/N0).
    pub quality: f32,
    /// Whether the header was good. If not, all but `quality` is predicted.
    pub measured: bool,
    /// Whether the samples must be conjugated first (see [`Lock::inverted`]).
    pub inverted: bool,
    /// Constant to be subtracted from the samples as received, before anything else.
    pub dc: Complex32,
}

impl FrameSync {
    /// Samples of the window that the frame and the header after it need, filter included.
    pub fn samples(&self, filter: &MatchedFilter) -> Range<i64> {
        let symbols = Layout::new(self.pls).map_or(0, |layout| layout.symbols()) + HEADER;
        reach(filter, self.position, self.step, symbols)
    }

    /// What to multiply samples by before they are rounded to integers for an [`IntegerFilter`]: the signal is then 36 dB below their
    /// range, for noise and neighbours, and what rounding adds is 65 dB below the signal.
    pub fn integer_gain(&self) -> f32 {
        let gain = INTEGER_LEVEL * self.step.sqrt() as f32 / self.amplitude;
        if gain.is_finite() { gain } else { 1.0 }
    }

    /// Moves the start of the window by `offset` samples.
    pub fn relative_to(self, offset: i64) -> FrameSync {
        FrameSync { position: self.position - offset as f64, ..self }
    }

    /// The frame's symbols: removes DC and carrier from `window`, which holds samples as received, in place, then filters at
    /// the symbol instants.
    ///
    /// `out` may be longer than the frame: the next header is useful to [`CarrierPhase`](super::CarrierPhase). The
    /// phase is right in the header, the amplitude as received.
    pub fn cut(&self, filter: &MatchedFilter, window: &mut [Complex32], out: &mut [Complex32]) {
        self.remove_carrier(window);
        filter.symbols(window, self.position, self.step, out);
    }

    /// The same out of samples as they were recorded, on 16-bit integers: DC, spectral inversion and carrier are removed as the filter
    /// takes them in.
    pub fn cut_recorded(&self, filter: &mut IntegerFilter, window: Recorded<'_>, out: &mut [Complex32]) {
        filter.symbols(window, &self.turn(), self.integer_gain(), (self.position, self.step), out);
    }

    /// The same for a device: adds to `frames` what its kernel reads to make `count` symbols, at the places from `output` on.
    pub fn cut_there(
        &self,
        tables: &mut FilterTables,
        window: Recorded<'_>,
        (output, count): (usize, usize),
        frames: &mut FilterFrames,
    ) {
        let turn = (&self.turn(), self.integer_gain());
        tables.add(window, turn, (self.position, self.step), (output, count), frames);
    }

    /// The first half of [`cut`](FrameSync::cut): removes DC, spectral inversion and the carrier from `window`.
    pub fn remove_carrier(&self, window: &mut [Complex32]) {
        straighten(window, self.dc, self.inverted);
        let Turn { frequency, start, .. } = self.turn();
        Phasor::new(frequency, start).multiply(window);
    }

    /// What is taken out of samples.
    fn turn(&self) -> Turn {
        let frequency = self.frequency / self.step;
        let start = Complex64::cis(TAU * frequency * self.position - self.phase);
        Turn { frequency: -frequency, start, constant: self.dc, inverted: self.inverted }
    }
}

/// The signal is not followed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// It has gone: so many headers in a row were bad.
    #[error("signal lost: {0} PLHEADERs in a row were not found where they were expected; acquire again")]
    Headers(usize),
    /// The carrier has another frequency, too far from the one before to be followed without losing frames.
    #[error("signal lost: its carrier has jumped; acquire again")]
    Carrier,
    /// The constant in the samples has changed, so much that frames would be lost.
    #[error("signal lost: the constant added to it has jumped; acquire again")]
    Constant,
}

/// Follows position, symbol rate and carrier of a signal, a header at a time.
///
/// This is all that a receiver must do in the order of frames: some microseconds per PLFRAME, whatever its length. What
/// remains, [`FrameSync::cut`] and [`CarrierPhase`](super::CarrierPhase), can be done for several frames at once.
///
/// A header that is weak, or that announces an impossible frame, changes nothing: the prediction stands, for a
/// frame of the same kind as the last one. [`acquire`](super::acquire) has an example.
#[derive(Clone, Debug)]
pub struct Tracker {
    filter: MatchedFilter,
    /// Sample, counted from the start of the stream, to which `position` is relative.
    origin: i64,
    position: f64,
    step: f64,
    frequency: f64,
    /// Change of frequency, in cycles per symbol, per symbol.
    drift: f64,
    amplitude: f32,
    /// Quality of good headers, smoothed.
    quality: f32,
    pls: Pls,
    /// Symbols of the frame.
    length: f64,
    /// Headers that position and step stem from.
    headers: f64,
    bad_headers: usize,
    /// The next header is the one that was found: whoever acquired the signal again for it would find the same.
    is_first: bool,
    /// Whether headers show that the carrier has jumped.
    carrier_jumps: CarrierJumps,
    /// Whether they show that the constant has; `None` where that is not judged.
    constant_jumps: Option<ConstantJumps>,
    inverted: bool,
    dc: Complex32,
    /// The header, and so many zeros behind it.
    samples: Vec<Complex32>,
    padding: usize,
}

impl Tracker {
    /// Starts at the frame that was found; `lock` counts samples from number `offset` of the stream.
    ///
    /// `filter` is the one that [`acquire`](super::acquire) was given.
    ///
    /// # Panics
    /// When the PLS of `lock` has no [`Layout`], which [`acquire`](super::acquire) excludes.
    pub fn new(filter: MatchedFilter, lock: &Lock, offset: u64) -> Tracker {
        let samples_of = |symbols: f64| (symbols * filter.samples_per_symbol()) as usize;
        let padding = samples_of(PADDING);
        Tracker {
            origin: offset as i64,
            position: lock.position,
            step: lock.samples_per_symbol,
            frequency: lock.frequency,
            drift: 0.0,
            amplitude: lock.amplitude,
            quality: lock.es_n0 / (1.0 + lock.es_n0),
            pls: lock.pls,
            length: Layout::new(lock.pls).expect("the lock is on a frame").symbols() as f64,
            headers: lock.headers.max(LEAST_HEADERS) as f64,
            bad_headers: 0,
            is_first: true,
            carrier_jumps: CarrierJumps::default(),
            constant_jumps: Some(ConstantJumps::default()),
            inverted: lock.inverted,
            dc: lock.dc,
            samples: Vec::with_capacity(
                2 * filter.half_length() + samples_of(HEADER as f64 + 2.0 * MARGIN + 4.0) + padding,
            ),
            padding,
            filter,
        }
    }

    /// The same, but the signal does not count as lost when headers seem to show that the constant has jumped. For who acquired it again
    /// after [`Lost::Constant`] and found the constant as it was: a narrow disturbance looks like one.
    #[must_use]
    pub fn trusting_constant(self) -> Tracker {
        Tracker { constant_jumps: None, ..self }
    }

    /// Samples of the stream that the next call of [`track`](Tracker::track) looks at. Negative ones precede the
    /// stream.
    pub fn header_samples(&self) -> Range<i64> {
        let start = self.position - MARGIN * self.step;
        let Range { start, end } = reach(&self.filter, start, self.step, HEADER + 2 * MARGIN as usize);
        self.origin + start..self.origin + end
    }

    /// Measures the next header and predicts the one after it.
    ///
    /// `window` holds samples of the stream from number `offset` on; those outside of it count as zero. The
    /// position returned is relative to the window.
    ///
    /// # Errors
    /// When this was the second bad header in a row, or, of a signal whose headers were weak before, the eighth. When this header
    /// and the last ones show that the carrier or the constant has jumped: the samples of this one are those to begin with when the signal is
    /// acquired again. The first header is never that one.
    pub fn track(&mut self, window: &[Complex32], offset: u64) -> Result<FrameSync, Lost> {
        let to_window = (self.origin - offset as i64) as f64;
        let header = self.measure(window, to_window + self.position);
        let needed = match header.pls {
            pls if pls.is_vl_snr() && self.pls.is_vl_snr() => VL_SNR_QUALITY,
            pls if pls == self.pls => HEADER_QUALITY,
            _ => CHANGE_QUALITY,
        };
        let layout = Layout::new(header.pls).filter(|_| header.quality >= needed && header.delay.abs() <= MAX_DELAY);
        let has_jumped = header.quality_elsewhere > RESTORED * self.quality
            || (layout.is_some() && self.carrier_jumps.shown_by(header.frequency, self.quality));
        if has_jumped && !self.is_first {
            return Err(Lost::Carrier);
        }
        self.is_first = false;
        if let Some(jumps) = self.constant_jumps.as_mut().filter(|_| layout.is_some())
            && jumps.shown_by(header.constant, self.quality)
        {
            return Err(Lost::Constant);
        }
        match layout {
            Some(layout) => {
                self.bad_headers = 0;
                self.pls = header.pls;
                self.length = layout.symbols() as f64;
                let late = header.delay * self.step;
                let timing = TIMING.after(self.headers);
                self.headers += 1.0;
                self.position += timing.value * late;
                self.step += timing.slope * late / self.length;
                self.frequency += FREQUENCY.value * header.frequency;
                self.drift += FREQUENCY.slope * header.frequency / self.length;
                self.amplitude += SHARE * (header.amplitude - self.amplitude);
                self.quality += SHARE * (header.quality - self.quality);
            }
            None => {
                self.bad_headers += 1;
                let most = if self.quality >= STRONG_QUALITY { MAX_BAD_STRONG } else { MAX_BAD };
                if self.bad_headers >= most {
                    return Err(Lost::Headers(self.bad_headers));
                }
            }
        }
        let measured = layout.is_some();
        let to_first_symbol = TAU * self.frequency * HEADER_MIDDLE;
        let frame = FrameSync {
            pls: self.pls,
            position: to_window + self.position,
            step: self.step,
            frequency: self.frequency,
            phase: if measured { header.phase - to_first_symbol } else { 0.0 },
            amplitude: self.amplitude,
            quality: header.quality,
            measured,
            inverted: self.inverted,
            dc: self.dc,
        };
        self.advance(1.0);
        Ok(frame)
    }

    /// Looks for the first header of any kind in `window` (as for [`track`](Tracker::track)), from the place of the header that
    /// was measured last. If there is one, the next call of [`track`](Tracker::track) measures it.
    ///
    /// For streams whose frames differ: there, a header that was missed leaves unknown where its frame ends, and a frame that
    /// is not [`measured`](FrameSync::measured) is only a guess. Takes a window of 37 000 symbols or more, which holds a header
    /// behind any frame; costs about as much as [`FrameSync::cut`] of so many symbols.
    pub fn resynchronise(&mut self, window: &[Complex32], offset: u64) -> bool {
        let missed = (self.origin - offset as i64) as f64 + self.position - self.step * self.length;
        // The first symbol in the window, on the grid of the symbols.
        let first = missed + self.step * (-missed / self.step).ceil().max(0.0);
        let count = ((window.len() as f64 - first) / self.step).max(0.0) as usize;
        let mut samples = window.to_vec();
        straighten(&mut samples, self.dc, self.inverted);
        derotate(&mut samples, self.frequency / self.step, 0.0);
        let mut symbols = vec![Complex32::ZERO; count];
        self.filter.symbols(&samples, first, self.step, &mut symbols);
        let Some((index, pls)) = first_header(&symbols, CHANGE_QUALITY) else { return false };
        let Some(layout) = Layout::new(pls) else { return false };
        self.pls = pls;
        self.length = layout.symbols() as f64;
        self.bad_headers = 0;
        self.origin = offset as i64;
        self.position = first + self.step * index as f64;
        self.advance(0.0);
        true
    }

    /// Goes on where samples are missing: `lost` of them just before number `resume` of the stream, whose numbers do not count
    /// them. The next header is then that of the first frame that begins there or later, if frames of the same kind went on
    /// meanwhile.
    pub fn skip_gap(&mut self, resume: u64, lost: u64) {
        self.origin -= lost as i64;
        let late = (resume as i64 - self.origin) as f64 - self.position - 0.5;
        self.advance((late / (self.step * self.length)).ceil().max(0.0));
    }

    /// Predicts the header that comes so many frames after this one.
    fn advance(&mut self, frames: f64) {
        let symbols = frames * self.length;
        // Whole samples move to the origin, so that the position keeps its precision for ever.
        self.position += self.step * symbols;
        let whole = self.position.floor();
        self.position -= whole;
        self.origin += whole as i64;
        self.frequency += self.drift * symbols;
    }

    /// Measures the header predicted at `position` of the window.
    fn measure(&mut self, window: &[Complex32], position: f64) -> Header {
        let margin = MARGIN * self.step;
        let needed = reach(&self.filter, position - margin, self.step, HEADER + 2 * MARGIN as usize);
        let inside = |index: i64| usize::try_from(index).unwrap_or(0).min(window.len());
        let start = inside(needed.start);
        self.samples.clear();
        self.samples.extend_from_slice(&window[start..inside(needed.end).max(start)]);
        straighten(&mut self.samples, self.dc, self.inverted);
        let position = position - start as f64;
        let frequency = self.frequency / self.step;
        derotate(&mut self.samples, frequency, -TAU * frequency * position);
        // The filter computes more than a header at once; it is faster where it need not look for the end.
        self.samples.resize(self.samples.len() + self.padding, Complex32::ZERO);

        let symbols = |delay: f64| {
            let mut symbols = [Complex32::ZERO; HEADER];
            self.filter.symbols(&self.samples, position + delay * self.step, self.step, &mut symbols);
            symbols
        };
        let on_time = symbols(0.0);
        let mut decoded = plheader::decode_expecting(&on_time, self.pls);
        let is_weak = self.pls.is_vl_snr() && decoded.quality < CHANGE_QUALITY;
        if is_weak {
            // Where noise may make up any other header.
            decoded = plheader::decode_vl_snr(&on_time);
        }
        let is_suspicious = decoded.quality < SUSPICIOUS * self.quality && !is_weak;
        let quality_elsewhere = if is_suspicious { best_elsewhere(&on_time) } else { 0.0 };
        let sent = header_symbols(decoded.pls);
        let direction = decoded.correlation.conj() / decoded.correlation.norm();
        let aligned = |symbols: [Complex32; HEADER]| -> f64 {
            let products = symbols.iter().zip(sent).map(|(symbol, sent)| symbol * sent.conj());
            let correlation: Complex32 = products.zip(TAPER).map(|(product, weight)| product * weight).sum();
            (correlation * direction).re.into()
        };
        let (early, late) = (aligned(symbols(-EARLY_LATE)), aligned(symbols(EARLY_LATE)));
        let middle = aligned(on_time);
        // Peak of the parabola through the three.
        let delay = 0.5 * EARLY_LATE * (late - early) / (2.0 * middle - early - late);
        Header {
            pls: decoded.pls,
            quality: decoded.quality,
            quality_elsewhere,
            delay: delay.clamp(-0.5, 0.5),
            frequency: residual_frequency(&on_time, decoded.pls),
            constant: constant_beside(&on_time, sent, decoded.correlation, self.frequency),
            // The samples were turned by the predicted frequency, from the predicted position on.
            phase: f64::from(decoded.correlation.arg()) + TAU * self.frequency * HEADER_MIDDLE,
            amplitude: decoded.correlation.norm() / HEADER as f32,
        }
    }
}

/// What is measured of one header.
#[derive(Clone, Copy, Debug)]
struct Header {
    pls: Pls,
    quality: f32,
    /// What is added to all samples, in amplitudes of the signal.
    constant: Complex64,
    /// That of the best frequency further away, if this one is bad.
    quality_elsewhere: f32,
    /// Symbols by which it comes later than predicted, -0.5 to 0.5.
    delay: f64,
    /// Frequency left, in cycles per symbol.
    frequency: f64,
    /// Carrier phase in the middle of the header.
    phase: f64,
    amplitude: f32,
}

/// Samples that a filter needs for `symbols` symbols from `position` on.
fn reach(filter: &MatchedFilter, position: f64, step: f64, symbols: usize) -> Range<i64> {
    let half = filter.half_length() as i64;
    let end = position + step * (symbols - 1) as f64;
    position.floor() as i64 - half..end.ceil() as i64 + half + 1
}

/// Removes DC, then spectral inversion, from samples as received.
fn straighten(samples: &mut [Complex32], dc: Complex32, inverted: bool) {
    let sign = if inverted { -1.0 } else { 1.0 };
    if inverted || dc != Complex32::ZERO {
        for sample in samples {
            *sample = Complex32::new(sample.re - dc.re, sign * (sample.im - dc.im));
        }
    }
}

/// The mean of what header symbols show beside what was sent, at the frequency that a constant has once the carrier was removed.
fn constant_beside(
    symbols: &[Complex32; HEADER],
    sent: [Complex32; HEADER],
    correlation: Complex32,
    frequency: f64,
) -> Complex64 {
    let amplitude = correlation / HEADER as f32;
    let mut beside: [Complex32; HEADER] =
        std::array::from_fn(|k| (symbols[k] - amplitude * sent[k]) / correlation.norm());
    derotate(&mut beside, -frequency, 0.0);
    widen(beside.iter().sum())
}

/// The best quality of a header, of whatever frame, at a frequency beside the one expected.
fn best_elsewhere(symbols: &[Complex32; HEADER]) -> f32 {
    let steps = (1..=FREQUENCIES).flat_map(|step| [step, -step]);
    let qualities = steps.map(|step| {
        let mut turned = *symbols;
        derotate(&mut turned, f64::from(step) * FREQUENCY_STEP, 0.0);
        plheader::decode(&turned).quality
    });
    qualities.fold(0.0, f32::max)
}

/// Sum of y · conj(h) over the header of `pls`, and the same with distances from the middle as weights.
pub(super) fn header_moments(symbols: &[Complex32; HEADER], pls: Pls) -> (Complex64, Complex64) {
    let mut moments = (Complex64::ZERO, Complex64::ZERO);
    for ((symbol, sent), index) in symbols.iter().zip(header_symbols(pls)).zip(0u8..) {
        let aligned = widen(symbol * sent.conj());
        moments.0 += aligned;
        moments.1 += aligned * (f64::from(index) - HEADER_MIDDLE);
    }
    moments
}

/// Frequency left in header symbols, in cycles per symbol: the maximum-likelihood estimate when it is well below 1/180.
pub(super) fn residual_frequency(symbols: &[Complex32; HEADER], pls: Pls) -> f64 {
    let (sum, moment) = header_moments(symbols, pls);
    (moment * sum.conj()).im / (TAU * HEADER_SPREAD * sum.norm_sqr())
}
