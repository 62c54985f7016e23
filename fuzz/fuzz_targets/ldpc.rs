//! Any LLRs: the same result with all vector instructions, a codeword when one was found at once, and the sum-product decoder sees
//! that too.
#![no_main]

use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder, SumProduct};
use bief_dsp::dvbs2::{FrameSize, Rate};
use bief_dsp::simd::Level;
use bief_fuzz::cycled;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    normal: bool,
    rate: u8,
    iterations: u8,
    /// Whether the LLRs are those of a codeword, apart from `errors`; or else the bytes.
    codeword: bool,
    errors: Vec<(u16, i8)>,
    /// What the bits of the sum-product decoder are divided by.
    unit: f32,
    bytes: &'a [u8],
}

fuzz_target!(|input: Input| {
    let size = if input.normal { FrameSize::Normal } else { FrameSize::Short };
    let Some(code) = Code::get(size, Rate::ALL[usize::from(input.rate) % Rate::ALL.len()]) else { return };
    let mut codeword = cycled(input.bytes, code.nldpc / 8);
    Encoder::new(code).encode(&mut codeword);
    let bit = |codeword: &[u8], index: usize| codeword[index / 8] >> (7 - index % 8) & 1 == 1;
    let mut llr: Vec<i8> = match input.codeword {
        true => (0..code.nldpc).map(|index| if bit(&codeword, index) { -9 } else { 9 }).collect(),
        false => cycled(input.bytes, code.nldpc).into_iter().map(|byte| byte as i8).collect(),
    };
    for (position, value) in &input.errors {
        llr[usize::from(*position) % code.nldpc] = *value;
    }

    let most = u32::from(input.iterations % 8);
    let [(decoded, bits), (decoded_plainly, bits_plainly)] = [Level::best(), Level::all()[0]].map(|level| {
        let mut bits = vec![0; code.kldpc / 8];
        (Decoder::with_level(code, most, level).decode(&llr, &mut bits), bits)
    });
    assert_eq!(decoded, decoded_plainly);
    assert!(bits == bits_plainly && decoded.iterations <= most);
    if decoded.converged && decoded.iterations == 0 {
        codeword[..bits.len()].copy_from_slice(&bits);
        Encoder::new(code).encode(&mut codeword);
        assert!(llr.iter().enumerate().all(|(index, llr)| bit(&codeword, index) == (*llr < 0)));
    }
    assert!(!input.codeword || !input.errors.is_empty() || (decoded.converged && decoded.iterations == 0));

    let floats: Vec<f32> = llr.iter().map(|llr| f32::from(*llr) / input.unit).collect();
    let mut bits_summed = vec![0; bits.len()];
    let summed = SumProduct::new(code, most).decode(&floats, &mut bits_summed);
    assert!(summed.iterations <= most && (summed.converged || summed.iterations == most));
    if input.unit > 0.0 && input.unit < 1e6 {
        assert_eq!(summed.iterations == 0 && summed.converged, decoded.iterations == 0 && decoded.converged);
        assert!(decoded.iterations > 0 || bits == bits_summed);
    }
});
