//! VL-SNR frames found where noise hides their PLHEADERs: by both of their headers, 990 symbols that are known but for 16 signs.

use std::f64::consts::TAU;

use num_complex::Complex32;

use super::{Found, MAX_REFINED, Search};
use crate::derotate::derotate;
use crate::dvbs2::known::{KnownParts, search_frequency};
use crate::dvbs2::plheader::header_symbols;
use crate::dvbs2::scramble::PlScrambler;
use crate::dvbs2::vl_snr::{Headers, ROW_BITS, rows};
use crate::dvbs2::{HEADER, Layout, Lock, Pls, VL_SNR_HEADER};
use crate::simd::{Level, dispatch};

/// Both sets.
const SETS: [Pls; 2] = [Pls::new(129), Pls::new(131)];
/// Symbols that are looked at for the place of the headers, and places of which sums are made together.
const SEARCHED: usize = 5 * 33_282;
const STRETCH: usize = 1_024;
/// Symbols of both headers.
const HEADERS: usize = HEADER + VL_SNR_HEADER;
/// Frequencies tried in turn, ever finer: how many on either side, and their distance in cycles per symbol.
const FREQUENCIES: [(i32, f64); 3] = [(30, 2e-3), (10, 2e-4), (4, 5e-5)];
/// Mean quality of the second headers from which they are believed. Noise reaches a third of it; at -10 dB it is 0.09.
const LEAST_QUALITY: f32 = 0.05;

impl Search {
    /// The lock on VL-SNR frames that follow each other, all of one set; `None` where there are none.
    pub(super) fn lock_vl_snr(&self, scrambler: &PlScrambler) -> Option<Lock> {
        let (first, pls, coarse) = self.strongest()?;
        let layout = Layout::new(pls)?;
        let length = layout.symbols();
        let places = (first..).step_by(length).take_while(|index| index + HEADERS <= self.symbols.len());
        let places: Vec<usize> = places.take(MAX_REFINED).collect();
        let mut frequency = self.fit_frequency(&places, pls, coarse);
        let turned = |index: usize, symbols: usize, frequency: f64| {
            let mut turned = self.symbols[index..(index + symbols).min(self.symbols.len())].to_vec();
            derotate(&mut turned, frequency, 0.0);
            turned
        };
        let second: Vec<_> = places.iter().map(|index| Headers::best(&turned(*index, HEADERS, frequency))).collect();
        let quality = second.iter().map(|headers| headers.quality).sum::<f32>() / second.len() as f32;
        if quality < LEAST_QUALITY {
            return None;
        }
        let whole = places.iter().zip(&second).filter(|(index, _)| *index + length <= self.symbols.len());
        let known = whole.filter_map(|(index, headers)| {
            let symbols = turned(*index, length + HEADER, frequency);
            Some(KnownParts::of(Pls::of_vl_snr(headers.kind?), &layout, &symbols, scrambler))
        });
        let known: Vec<KnownParts> = known.collect();
        if known.is_empty() {
            return None;
        }
        frequency += search_frequency(&known);
        let found = |index: &usize| Found { index: *index, pls, quality, frequency, inverted: false };
        let headers: Vec<Found> = places.iter().map(found).collect();
        let means = self.measure_headers(&headers);
        let position = |index: usize| self.start + index as f64 * self.step;
        let begins = |index: &&usize| position(**index) >= -0.5 * self.step;
        let index = *places.iter().find(begins).filter(|index| *index + length <= self.symbols.len())?;
        Some(Lock {
            position: position(index),
            samples_per_symbol: self.step,
            frequency: self.frequency + frequency,
            amplitude: means.signal.sqrt() as f32,
            es_n0: (means.signal / means.noise) as f32,
            pls,
            headers: headers.len(),
            inverted: false,
            dc: Complex32::ZERO,
        })
    }

    /// Where products of neighbouring symbols are most like those of both headers, of which set, and what frequency they show. They are
    /// added up over the frames that there are.
    fn strongest(&self) -> Option<(usize, Pls, f64)> {
        let symbols = &self.symbols[..self.symbols.len().min(SEARCHED)];
        let places = symbols.len().checked_sub(HEADERS)?;
        let products: Vec<Complex32> = symbols.windows(2).map(|pair| pair[1] * pair[0].conj()).collect();
        let parts: [Vec<f32>; 2] =
            [products.iter().map(|product| product.re).collect(), products.iter().map(|product| product.im).collect()];
        // Products of neighbours are j or -j; those from row to row are unknown.
        let sign = |pair: &[Complex32]| (pair[1] * pair[0].conj()).im.signum();
        let of_rows: Vec<(usize, f32)> = rows()
            .flat_map(|(start, row)| {
                let signs: Vec<f32> = row.windows(2).map(sign).collect();
                (HEADER + start..).zip(signs)
            })
            .collect();
        let sums = |pattern: &[(usize, f32)]| {
            let mut sums = [vec![0.0; places], vec![0.0; places]];
            for (sums, products) in sums.iter_mut().zip(&parts) {
                for first in (0..places).step_by(STRETCH) {
                    let sums = &mut sums[first..(first + STRETCH).min(places)];
                    let level = Level::best();
                    dispatch!(level => correlate(sums, &products[first..], pattern));
                }
            }
            sums
        };
        let [row_re, row_im] = sums(&of_rows);
        let mut best = (0.0, None);
        for pls in SETS {
            let header = header_symbols(pls);
            let product = |k: usize| header[k + 1] * header[k].conj();
            // Where the PLS code begins, a quarter turn more: that product is left out.
            let of_header: Vec<(usize, f32)> =
                (0..HEADER - 1).filter(|k| product(*k).re.abs() < 0.5).map(|k| (k, product(k).im.signum())).collect();
            let [mut re, mut im] = sums(&of_header);
            for (sum, row) in re.iter_mut().zip(&row_re).chain(im.iter_mut().zip(&row_im)) {
                *sum += row;
            }
            let length = Layout::new(pls)?.symbols();
            let frames = (places / length).max(1);
            for index in 0..length.min(places) {
                let all = (index..places).step_by(length).take(frames);
                let mean = all.map(|k| re[k] * re[k] + im[k] * im[k]).sum::<f32>() / frames as f32;
                if mean > best.0 {
                    let all = (index..places).step_by(length).take(frames);
                    let sum: Complex32 = all.map(|k| Complex32::new(re[k], im[k])).sum();
                    let frequency = f64::from((sum * -Complex32::I).arg()) / TAU;
                    best = (mean, Some((index, pls, frequency)));
                }
            }
        }
        best.1
    }

    /// The frequency at which the PLHEADERs, and the rows of the second headers, add up best, each for itself.
    fn fit_frequency(&self, places: &[usize], pls: Pls, coarse: f64) -> f64 {
        let header = header_symbols(pls);
        let mut blocks: Vec<Vec<Complex32>> = Vec::new();
        for place in places {
            let aligned = |start: usize, sent: &[Complex32]| -> Vec<Complex32> {
                let received = &self.symbols[place + start..][..sent.len()];
                received.iter().zip(sent).map(|(received, sent)| received * sent.conj()).collect()
            };
            blocks.push(aligned(0, &header));
            blocks.extend(rows().map(|(start, row)| aligned(HEADER + start, &row)));
        }
        let power = |frequency: f64| -> f32 {
            let of_block = |block: &Vec<Complex32>| {
                let mut turned = block.clone();
                derotate(&mut turned, frequency, 0.0);
                turned.iter().sum::<Complex32>().norm_sqr()
            };
            blocks.iter().map(of_block).sum()
        };
        FREQUENCIES.into_iter().fold(coarse, |centre, (count, step)| {
            let tried = (-count..=count).map(|bin| centre + f64::from(bin) * step);
            let best = tried.map(|frequency| (power(frequency), frequency)).max_by(|a, b| a.0.total_cmp(&b.0));
            best.map_or(centre, |(_, frequency)| frequency)
        })
    }
}

/// Adds Σ sign · products\[i + place\] to sum i.
#[inline(always)]
fn correlate(sums: &mut [f32], products: &[f32], pattern: &[(usize, f32)]) {
    for (place, sign) in pattern {
        for (sum, product) in sums.iter_mut().zip(&products[*place..]) {
            *sum += sign * product;
        }
    }
}

const _: () = assert!(ROW_BITS * 16 + 4 == VL_SNR_HEADER);
