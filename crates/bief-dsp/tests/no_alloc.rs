//! What a receiver does for each frame allocates nothing.

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::cell::Cell;

use bief_dsp::Complex32;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Decoder};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{
    CarrierPhase, Demapper, FrameSize, HEADER, Layout, Lock, PlframeBuilder, Pls, Rate, SignalLevel, Tracker,
};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::pulse::Shaper;

struct Counting;

thread_local! {
    /// Of this thread alone: the tests' own harness allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: MemoryLayout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn synchronisation_of_a_frame_allocates_nothing() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1]));
    assert!(ALLOCATIONS.get() > before);

    let scrambler = PlScrambler::broadcast();
    let filter = MatchedFilter::new(0.25, 2.0);
    // Dummy; QPSK 1/4 normal without and with pilots; QPSK, 8PSK and 16APSK short; 32APSK normal with pilots and without.
    for value in [0, 4, 5, 42, 43, 54, 75, 97, 96] {
        let pls = Pls::new(value);
        let length = Layout::new(pls).unwrap().symbols();
        let builder = PlframeBuilder::new(pls, scrambler).unwrap();
        let mut frame = vec![Complex32::ZERO; length];
        builder.build(&vec![0x35; pls.fec().map_or(0, |fec| fec.nldpc / 8)], &mut frame);
        let mut symbols = frame.repeat(3);
        symbols.resize(symbols.len() + Shaper::DELAY, Complex32::ZERO);
        let mut samples = vec![Complex32::ZERO; 2 * symbols.len()];
        Shaper::new(0.2, 2.0).unwrap().shape(&symbols, &mut samples);
        let lock = Lock {
            position: 2.0 * Shaper::DELAY as f64,
            samples_per_symbol: 2.0,
            frequency: 0.0,
            amplitude: 1.4,
            es_n0: 100.0,
            pls,
            headers: 3,
            inverted: false,
            dc: Complex32::ZERO,
        };
        let mut tracker = Tracker::new(filter.clone(), &lock, 0);
        let mut phase = CarrierPhase::new();
        let mut received = vec![Complex32::ZERO; length + HEADER];
        for index in 0..2 {
            let before = ALLOCATIONS.get();
            let sync = tracker.track(&samples, 0).unwrap();
            let window = sync.samples(&filter);
            let sync = sync.relative_to(window.start);
            sync.cut(&filter, &mut samples[window.start as usize..window.end as usize], &mut received);
            phase.estimate(pls, &received, scrambler);
            phase.correct(&mut received);
            let gain = SignalLevel::measure(pls, &received, scrambler).gain();
            assert_eq!(ALLOCATIONS.get(), before, "{pls}, frame {index}");
            assert!(
                sync.measured && (received[length - 1] * gain - frame[length - 1]).norm() < 0.1,
                "{pls}, frame {index}"
            );
        }
    }
}

#[test]
fn decoding_a_frame_allocates_nothing() {
    let scrambler = PlScrambler::broadcast();
    // QPSK 1/4 normal with pilots, 8PSK 3/5 short, 16APSK 2/3 normal, 32APSK 3/4 normal with pilots.
    for value in [5, 50, 72, 97] {
        let pls = Pls::new(value);
        let (modcod, size, layout) = (pls.modcod().unwrap(), pls.frame_size(), Layout::new(pls).unwrap());
        let demapper = Demapper::new(modcod, size);
        let code = Code::get(size, modcod.rate(size)).unwrap();
        let mut decoder = Decoder::new(code, 3);
        let bch = Bch::new(size, modcod.rate(size)).unwrap();
        let mut codeword = vec![0; code.nldpc / 8];
        let mut frame = vec![Complex32::ZERO; layout.symbols()];
        PlframeBuilder::new(pls, scrambler).unwrap().build(&codeword, &mut frame);
        let mut llr = vec![0; demapper.bits()];
        let information = &mut codeword[..code.kldpc / 8];
        for errors in [0, 5, 1000] {
            for symbol in &mut frame[HEADER..HEADER + errors] {
                *symbol = -*symbol;
            }
            let before = ALLOCATIONS.get();
            demapper.demap_plframe(&frame, &layout, scrambler, SignalLevel { amplitude: 1.0, n0: 0.1 }, &mut llr);
            let decoded = decoder.decode(&llr, information);
            information[0] ^= 0x55;
            let outcome = bch.decode(information);
            assert_eq!(ALLOCATIONS.get(), before, "{pls}, {errors} errors");
            match errors {
                0 => assert!(decoded.converged && outcome == Outcome::Corrected(4), "{pls}"),
                _ => assert!(decoded.iterations > 0, "{pls}, {errors} errors"),
            }
        }
    }
}

/// As replicas are made.
#[test]
fn a_cloned_decoder_that_updates_the_last_checks_allocates_nothing() {
    let code = Code::get(FrameSize::Short, Rate::R8_9).unwrap();
    let mut decoder = Decoder::new(code, 3).clone();
    let mut llr = vec![100; code.nldpc];
    for wrong in [code.kldpc - 1, code.nldpc - 500, code.nldpc - 1] {
        llr[wrong] = -3;
    }
    let mut information = vec![0xFF; code.kldpc / 8];
    let before = ALLOCATIONS.get();
    let decoded = decoder.decode(&llr, &mut information);
    assert_eq!(ALLOCATIONS.get(), before);
    assert!(decoded.converged && decoded.iterations == 0 && information.iter().all(|byte| *byte == 0), "{decoded:?}");
}
