//! The frames of a boundary lie where they are told to, everything is given back, and what is refused is told.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Act, Count, Probe, rig, watched};
use bief::memory::{Memory, Plain};
use bief::{Chain, Error, Flow, Pipeline, Result, sink, source};

/// What it does when it is asked for the block of this number, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Refuse(usize),
    Panic(usize),
    Short(usize),
    Askew(usize),
}

#[derive(Debug)]
struct Counted {
    trouble: Trouble,
    asked: AtomicUsize,
    bytes: AtomicUsize,
    out: AtomicUsize,
}

impl Counted {
    fn new(trouble: Trouble) -> Arc<Self> {
        Arc::new(Self { trouble, asked: 0.into(), bytes: 0.into(), out: 0.into() })
    }
}

// SAFETY: blocks are those of `Plain`, or a part of one that is never used.
unsafe impl Memory for Counted {
    fn name(&self) -> String {
        "counted memory".to_owned()
    }
    fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        match self.trouble {
            Trouble::Refuse(at) if at == number => return Err(Error::new("there is no more")),
            Trouble::Panic(at) if at == number => panic!("told to panic"),
            _ => {}
        }
        self.out.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(layout.size(), Ordering::Relaxed);
        let block = Plain.alloc(layout)?;
        let start = block.cast::<u8>();
        Ok(match self.trouble {
            Trouble::Short(at) if at == number => NonNull::slice_from_raw_parts(start, layout.size() - 1),
            // SAFETY: a block has more than one byte.
            Trouble::Askew(at) if at == number => NonNull::slice_from_raw_parts(unsafe { start.add(1) }, layout.size()),
            _ => block,
        })
    }
    unsafe fn free(&self, block: NonNull<[u8]>, layout: Layout) {
        self.out.fetch_sub(1, Ordering::Relaxed);
        let start = block.cast::<u8>();
        let skew = start.as_ptr() as usize % 64;
        // SAFETY: the block as `Plain` gave it, which is not used any more.
        unsafe { Plain.free(NonNull::slice_from_raw_parts(start.sub(skew), layout.size()), layout) }
    }
}

fn pipeline(threads: usize, batch: usize) -> (Pipeline, sink::Collected<u64>) {
    let rig = rig(100, batch, [1, threads, 1], [Act::Pass; 3]);
    (rig.chain.build().unwrap().pipeline_as_marked().unwrap(), rig.result)
}

#[test]
fn a_boundary_has_the_memory_that_was_chosen_and_gives_it_back() {
    for (threads, batch, depth) in [(1, 1, 1), (3, 4, 2)] {
        let memory = Counted::new(Trouble::None);
        let (pipeline, result) = pipeline(threads, batch);
        let mut pipeline = pipeline.memory(1, memory.clone()).unwrap().depth(depth).unwrap();
        // One wire in each slot: those of the rings, and one more at each end.
        let slots = threads * depth + threads + 1;
        for run in 1..=2 {
            pipeline.run().unwrap();
            assert_eq!(result.take(), (3000..3100).collect::<Vec<_>>());
            assert_eq!(memory.asked.load(Ordering::Relaxed), run * slots);
            assert_eq!(memory.out.load(Ordering::Relaxed), 0, "all of it came back");
        }
        assert_eq!(memory.bytes.load(Ordering::Relaxed), 2 * slots * (8 * batch).next_multiple_of(64));
    }
}

#[test]
fn a_memory_that_fails_is_told_and_what_it_gave_comes_back() {
    for (trouble, reason) in [
        (Trouble::Refuse(3), "there is no more"),
        (Trouble::Panic(2), "panicked: told to panic"),
        (Trouble::Short(4), "it gave one of 63 bytes"),
        (Trouble::Askew(1), "it gave one that does not begin at a multiple of 64"),
    ] {
        let memory = Counted::new(trouble);
        let (pipeline, result) = pipeline(2, 1);
        let mut pipeline = pipeline.memory(0, memory.clone()).unwrap();
        let expected = format!(
            "between stage `Count` and stage `s0`: counted memory refuses a block of 64 bytes: {reason}: choose another memory, or a \
             smaller batch or depth"
        );
        assert_eq!(pipeline.run().unwrap_err().to_string(), expected);
        assert_eq!(memory.out.load(Ordering::Relaxed), 0);
        assert!(result.take().is_empty());
        // The trouble is over.
        pipeline.run().unwrap();
        assert_eq!(result.take().len(), 100);
    }
}

#[test]
fn memory_comes_back_after_a_fault() {
    let memory = Counted::new(Trouble::None);
    let rig = rig(1000, 4, [1, 3, 1], [Act::Pass, Act::Fail(50), Act::Pass]);
    let pipeline = rig.chain.build().unwrap().pipeline_as_marked().unwrap();
    let mut pipeline = pipeline.memory(1, memory.clone()).unwrap().memory(2, memory.clone()).unwrap();
    watched(move || pipeline.run().unwrap_err());
    assert_eq!(memory.out.load(Ordering::Relaxed), 0);
}

#[test]
fn a_boundary_that_there_is_not_is_refused() {
    let (pipeline, _) = pipeline(1, 1);
    let error = pipeline.memory(4, Arc::new(Plain)).unwrap_err().to_string();
    assert_eq!(error, "there is no boundary 4: between 5 stages there are 4, counted from 0");
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(3), ());
    chain.add(sink::collect().0, &numbers);
    let error = chain.build().unwrap().one_core().unwrap().memory(0, Arc::new(Plain)).unwrap_err().to_string();
    assert_eq!(error, "there is no boundary 0: between 1 stage there are 0, counted from 0");
}

#[cfg(target_os = "linux")]
#[test]
fn frames_in_huge_pages_arrive() {
    let (pipeline, result) = pipeline(2, 4);
    let mut pipeline = pipeline.memory(1, Arc::new(bief::memory::HugePages)).unwrap();
    match pipeline.run() {
        Ok(_) => assert_eq!(result.take(), (3000..3100).collect::<Vec<_>>()),
        Err(error) => assert!(error.to_string().contains("huge pages refuses a block of 64 bytes"), "{error}"),
    }
}

#[test]
fn memory_grows_with_the_replicas_and_not_with_their_common_multiple() {
    let bytes = |counts: [usize; 2]| {
        let memory = Counted::new(Trouble::None);
        let mut chain = Chain::new();
        let numbers = chain.add(Count::to(50), ());
        chain.stage("many").threads(counts[0]);
        let numbers = chain.add(Probe::new(Act::Pass), &numbers);
        chain.stage("others").threads(counts[1]);
        let numbers = chain.add(Probe::new(Act::Pass), &numbers);
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &numbers);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap().memory(1, memory.clone()).unwrap();
        let report = watched(move || pipeline.run().unwrap());
        assert_eq!(result.take(), (2000..2050).collect::<Vec<_>>());
        let boundary = &report.boundaries[1];
        let slots = boundary.slots + counts[0] + counts[1];
        assert_eq!(memory.asked.load(Ordering::Relaxed), slots);
        (boundary.slots, slots)
    };
    assert_eq!([bytes([1, 1]), bytes([4, 2]), bytes([2, 3]), bytes([5, 7])], [(4, 6), (16, 22), (12, 17), (28, 40)]);
}

#[test]
fn a_ring_of_large_frames_holds_fewer_unless_told() {
    let slots = |kilobytes: usize, depth: Option<usize>| {
        let mut chain = Chain::new();
        let frames = chain.add(source::from_fn(1000 * kilobytes, |_: &mut [u8]| Ok(Flow::Stop)), ());
        chain.stage("out");
        chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &frames);
        let pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        let mut pipeline = match depth {
            Some(depth) => pipeline.depth(depth).unwrap(),
            None => pipeline,
        };
        pipeline.run().unwrap().boundaries[0].slots
    };
    assert_eq!([900, 1100, 2100, 9000].map(|kilobytes| slots(kilobytes, None)), [4, 3, 1, 1]);
    assert_eq!(slots(2100, Some(4)), 4);
}
