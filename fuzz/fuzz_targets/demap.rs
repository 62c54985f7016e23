//! Any floats as symbols and noise: the same LLRs with all vector instructions, none of -128, 0 for what is no number.
#![no_main]

use bief_dsp::Complex32;
use bief_dsp::dvbs2::{Demapper, FrameSize, Modcod, Pls};
use bief_dsp::simd::Level;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, f32, Vec<[f32; 2]>)| {
    let (normal, modcod, n0, values) = input;
    let size = if normal { FrameSize::Normal } else { FrameSize::Short };
    let Some(modcod) = Modcod::all().nth(usize::from(modcod) % Modcod::all().count()) else { return };
    if Pls::from_parts(modcod, size, false).is_none() {
        return;
    }
    let demapper = Demapper::new(modcod, size);
    let values = if values.is_empty() { vec![[0.0; 2]] } else { values };
    let symbols: Vec<Complex32> =
        values.iter().map(|[re, im]| Complex32::new(*re, *im)).cycle().take(demapper.symbols()).collect();

    let [llr, llr_plainly] = [Level::best(), Level::all()[0]].map(|level| {
        let mut llr = vec![1; demapper.bits()];
        Demapper::with_level(modcod, size, level).demap(&symbols, n0, &mut llr);
        llr
    });
    assert!(llr == llr_plainly);
    assert!(llr.iter().all(|llr| *llr != i8::MIN));
    let nothing_known = n0.is_nan() || n0 < 0.0 || values.iter().flatten().all(|value| value.is_nan());
    assert!(!nothing_known || llr.iter().all(|llr| *llr == 0));
});
