//! Steady state: nothing is allocated here per frame; what the engine does in its own memory is its own affair.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bief::schedule::Stage;
use bief::{Application, Flow, Result};
use bief_nn::{Engine, EngineKind, Frames, Inference, NeuralNetwork};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Ones {
    one: [f32; 64],
    frames: u64,
}

impl Frames for Ones {
    fn frame(&self, number: u64) -> Result<Option<&[f32]>> {
        Ok((number < self.frames).then_some(&self.one))
    }
}

#[test]
fn frames_cost_no_allocations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/tiny_exact.onnx");
    let engine = match Engine::open(EngineKind::OnnxRuntime, None) {
        Ok(engine) => engine,
        Err(none) => return eprintln!("skipped: {none}"),
    };
    let stages = [Stage::new(2, 1, ""), Stage::new(3, 2, ""), Stage::new(1, 1, "")];
    let allocations = |frames: u64, is_lent: bool| {
        let network = NeuralNetwork::open(&path).unwrap();
        let inference = Inference::new(network, engine.clone()).delivers_at(|_, _| Ok(Flow::Next));
        let read = move |number, frame: &mut [f32]| {
            frame.fill(1.0);
            Ok(if number < frames { Flow::Next } else { Flow::Stop })
        };
        let mut inference =
            if is_lent { inference.reads_from(Ones { one: [1.0; 64], frames }) } else { inference.reads_at(read) };
        let mut pipeline = inference.program().unwrap().cut(&stages).unwrap();
        pipeline.run().unwrap();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        assert_eq!(pipeline.run().unwrap().frames, frames);
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    for is_lent in [false, true] {
        let (few, many) = (allocations(100, is_lent), allocations(1100, is_lent));
        // The test's own threads may allocate now and then; 1000 frames in three stages would be 3000.
        assert!(many < few + 100, "{few} allocations with 100 frames, {many} with 1100");
    }
}
