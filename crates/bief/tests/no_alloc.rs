//! Steady state: nothing is allocated per frame.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use bief::{Chain, Flow, sink};
use common::{Act, Count, Probe};

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

fn allocations(frames: u64, batch: usize, threads: usize) -> u64 {
    let mut chain = Chain::new().batch(batch);
    let wire = chain.add(Count::to(frames), ());
    chain.stage("work").threads(threads);
    let wire = chain.add(Probe::new(Act::KeepEvery(3)), &wire);
    chain.stage("out");
    chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &wire);
    let program = chain.build().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    if threads == 0 {
        program.run().unwrap();
    } else {
        program.pipeline_as_marked().unwrap().run().unwrap();
    }
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn a_longer_run_allocates_no_more_than_a_short_one() {
    // The control: the counter sees what is allocated.
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    drop(std::hint::black_box(vec![1]));
    assert!(ALLOCATIONS.load(Ordering::Relaxed) > before);

    for (batch, threads) in [(1, 0), (8, 0), (1, 1), (4, 3)] {
        let short = allocations(100, batch, threads);
        let long = allocations(50_000, batch, threads);
        // Thread start-up may differ by a few allocations; a single one per frame would be tens of thousands.
        assert!(long < short + 50, "batch {batch}, {threads} threads: {short} then {long}");
    }
}
