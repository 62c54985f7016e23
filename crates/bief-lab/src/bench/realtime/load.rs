//! What disturbs a pipeline: threads that go over memory.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use bief_cli::failure::Failure;

use crate::bench::background::Background;

/// More than caches hold.
const BYTES: usize = 16 << 20;

/// Threads that copy memory until this is dropped.
pub(super) fn load(threads: usize) -> Result<Background, Failure> {
    Background::begin(threads, "load", copy)
}

fn copy(over: &AtomicBool) {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    while !over.load(Ordering::Relaxed) {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
}
