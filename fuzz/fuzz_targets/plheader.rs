//! Any floats as header symbols: a quality from 0 to 1, and the PLS whose header correlates best.
#![no_main]

use bief_dsp::Complex32;
use bief_dsp::dvbs2::plheader::{decode, header_symbols};
use bief_dsp::dvbs2::{HEADER, Pls};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: [[f32; 2]; HEADER]| {
    let symbols = parts.map(|[re, im]| Complex32::new(re, im));
    let decoded = decode(&symbols);
    let energy: f32 = symbols.iter().map(Complex32::norm_sqr).sum();
    // Outside, squares leave the range of a float.
    if !(1e-30..1e30).contains(&energy) {
        return;
    }
    assert!((0.0..1.0001).contains(&decoded.quality), "{decoded:?}");
    let power = |pls: Pls| {
        let products = symbols.iter().zip(header_symbols(pls)).map(|(y, h)| y * h.conj());
        products.sum::<Complex32>().norm_sqr()
    };
    let best = Pls::all().map(power).fold(0.0, f32::max);
    assert!(power(decoded.pls) >= best - 1e-4 * HEADER as f32 * energy, "{decoded:?}");
});
