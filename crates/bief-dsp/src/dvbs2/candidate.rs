//! Places that look like a PLHEADER, whatever frequency and PLS.

use std::f64::consts::TAU;

use num_complex::Complex32;

use super::plheader::{self, SOF_SYMBOLS, header_symbols};
use super::{HEADER, Layout, Pls};
use crate::simd::{Level, dispatch};

/// Positions of which only the best may be a candidate. No two headers are as close.
const STRETCH: usize = 1_024;
/// Share of the energy along the start of frame, below which [`first_header`] does not decode what follows. One place of 200 in
/// noise has more.
const SOF_QUALITY: f32 = 0.2;
/// Candidates examined.
const CANDIDATES: usize = 96;

/// A place that looks like a header by the products of neighbouring symbols.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) index: usize,
    metric: f32,
    /// Frequency that the products show, -0.5 to 0.5 cycles per symbol.
    pub(super) frequency: f64,
}

/// The best places, best first.
pub(super) fn candidates(symbols: &[Complex32]) -> Vec<Candidate> {
    let Some(places) = symbols.len().checked_sub(HEADER - 1) else { return Vec::new() };
    let products: Vec<Complex32> = symbols.windows(2).map(|pair| pair[1] * pair[0].conj()).collect();
    let (re, im): (Vec<f32>, Vec<f32>) = products.iter().map(|product| (product.re, product.im)).unzip();
    let mut energy = 0.0;
    let energies: Vec<f64> = std::iter::once(0.0)
        .chain(symbols.iter().map(|symbol| {
            energy += f64::from(symbol.norm_sqr());
            energy
        }))
        .collect();
    let pattern = ProductPattern::new();
    let level = Level::best();
    let mut sums = ProductSums::default();
    let mut candidates: Vec<Candidate> = (0..places)
        .step_by(STRETCH)
        .map(|first| {
            let length = STRETCH.min(places - first);
            let range = first..first + length + HEADER - 2;
            dispatch!(level => pattern.correlate(&re[range.clone()], &im[range], length, &mut sums));
            let (mut index, mut metric) = (first, -1.0);
            for place in 0..length {
                let energy = (energies[first + place + HEADER] - energies[first + place]) as f32;
                let ratio = sums.larger(place).norm_sqr() / (energy * energy).max(f32::MIN_POSITIVE);
                if ratio > metric {
                    (index, metric) = (first + place, ratio);
                }
            }
            // Products are j times the pattern.
            let frequency = f64::from((sums.larger(index - first) * -Complex32::I).arg()) / TAU;
            Candidate { index, metric, frequency }
        })
        .collect();
    candidates.sort_by(|a, b| b.metric.total_cmp(&a.metric));
    candidates.truncate(CANDIDATES);
    candidates
}

/// The first place where a header of a frame with a [`Layout`] stands, in symbols whose frequency is known, and what it says.
pub(super) fn first_header(symbols: &[Complex32], least_quality: f32) -> Option<(usize, Pls)> {
    let sent = header_symbols(Pls::DUMMY);
    // π/2-BPSK becomes BPSK when each symbol is turned back by the quarter turns before it.
    let quarter = |index: usize| [Complex32::ONE, -Complex32::I, -Complex32::ONE, Complex32::I][index % 4];
    let signs: [f32; SOF_SYMBOLS] = std::array::from_fn(|k| (sent[k] * quarter(k) * sent[0].conj()).re.signum());
    let turned = symbols.iter().enumerate().map(|(index, symbol)| symbol * quarter(index));
    let (re, im): (Vec<f32>, Vec<f32>) = turned.map(|symbol| (symbol.re, symbol.im)).unzip();
    let places = symbols.len().checked_sub(HEADER - 1)?;
    let level = Level::best();
    let (mut along, mut across) = ([0.0f32; STRETCH], [0.0f32; STRETCH]);
    for first in (0..places).step_by(STRETCH) {
        let length = STRETCH.min(places - first);
        dispatch!(level => correlate(&mut along[..length], &re[first..], &signs, |k| k));
        dispatch!(level => correlate(&mut across[..length], &im[first..], &signs, |k| k));
        for place in 0..length {
            let header = symbols[first + place..].first_chunk()?;
            let energy: f32 = header[..SOF_SYMBOLS].iter().map(Complex32::norm_sqr).sum();
            let correlation = along[place] * along[place] + across[place] * across[place];
            if correlation > SOF_QUALITY * SOF_SYMBOLS as f32 * energy {
                let decoded = plheader::decode(header);
                if decoded.quality >= least_quality && Layout::new(decoded.pls).is_some() {
                    return Some((first + place, decoded.pls));
                }
            }
        }
    }
    None
}

/// The products h\[k+1\] · conj(h\[k\]) of a header, which are ±j, that are known before the PLS is: all of the
/// start of frame, and those within the pairs of the PLS code, up to one common sign.
struct ProductPattern {
    sof: [f32; SOF_SYMBOLS - 1],
    pairs: [f32; (HEADER - SOF_SYMBOLS) / 2],
}

/// Sums of products times pattern, for places in a row.
struct ProductSums {
    sof: [[f32; STRETCH]; 2],
    pairs: [[f32; STRETCH]; 2],
}

impl Default for ProductSums {
    fn default() -> ProductSums {
        ProductSums { sof: [[0.0; STRETCH]; 2], pairs: [[0.0; STRETCH]; 2] }
    }
}

impl ProductSums {
    /// The sum over both parts, with the sign of the pairs that makes it larger.
    fn larger(&self, place: usize) -> Complex32 {
        let sof = Complex32::new(self.sof[0][place], self.sof[1][place]);
        let pairs = Complex32::new(self.pairs[0][place], self.pairs[1][place]);
        if (sof * pairs.conj()).re >= 0.0 { sof + pairs } else { sof - pairs }
    }
}

impl ProductPattern {
    fn new() -> ProductPattern {
        let header = header_symbols(Pls::DUMMY);
        let sign = |k: usize| (header[k + 1] * header[k].conj()).im.signum();
        ProductPattern {
            sof: std::array::from_fn(sign),
            pairs: std::array::from_fn(|pair| sign(SOF_SYMBOLS + 2 * pair)),
        }
    }

    /// Correlates with the products from places 0, 1, … `length` - 1 on.
    #[inline(always)]
    fn correlate(&self, re: &[f32], im: &[f32], length: usize, sums: &mut ProductSums) {
        let pair = |k: usize| SOF_SYMBOLS + 2 * k;
        for (part, products) in [re, im].into_iter().enumerate() {
            correlate(&mut sums.sof[part][..length], products, &self.sof, |k| k);
            correlate(&mut sums.pairs[part][..length], products, &self.pairs, pair);
        }
    }
}

/// Sets sum i to Σ pattern\[k\] · products\[i + place(k)\].
#[inline(always)]
fn correlate(sums: &mut [f32], products: &[f32], pattern: &[f32], place: impl Fn(usize) -> usize) {
    sums.fill(0.0);
    for (k, sign) in pattern.iter().enumerate() {
        for (sum, product) in sums.iter_mut().zip(&products[place(k)..]) {
            *sum += sign * product;
        }
    }
}
