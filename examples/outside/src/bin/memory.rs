//! Memory of one's own for the frames between two stages: blocks are kept, and used again in the next run.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use bief::memory::{Memory, Plain};
use bief::{Chain, Flow, Result, sink, source};

/// Ordinary memory that is never given back before the end, as that of a device which is slow to allocate.
#[derive(Debug, Default)]
struct Pool {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: Vec<Block>,
    allocated: usize,
}

#[derive(Debug)]
struct Block(NonNull<[u8]>, Layout);

// SAFETY: a block in the pool is used by nobody else, from whatever thread it came.
unsafe impl Send for Block {}

// SAFETY: each block comes from `Plain`, and is given out once until it comes back.
unsafe impl Memory for Pool {
    fn name(&self) -> String {
        "a pool".to_owned()
    }

    fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>> {
        let mut state = self.state.lock().expect("nobody panics with the lock");
        if let Some(fits) = state.free.iter().position(|block| block.1 == layout) {
            return Ok(state.free.swap_remove(fits).0);
        }
        let block = Plain.alloc(layout)?;
        state.allocated += 1;
        Ok(block)
    }

    unsafe fn free(&self, block: NonNull<[u8]>, layout: Layout) {
        self.state.lock().expect("nobody panics with the lock").free.push(Block(block, layout));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for Block(block, layout) in self.state.get_mut().expect("nobody panics with the lock").free.drain(..) {
            // SAFETY: it came from there with this layout, and nobody uses it any more.
            unsafe { Plain.free(block, layout) };
        }
    }
}

fn main() -> Result<()> {
    let mut chain = Chain::new();
    let frames = chain.add(source::from_slice(&[1_u8; 64 * 1024], 1024), ());
    chain.stage("out");
    chain.add(sink::for_each(|frame: &[u8]| Ok(if frame[0] == 1 { Flow::Next } else { Flow::Stop })), &frames);

    let pool = Arc::new(Pool::default());
    let allocated = || pool.state.lock().expect("nobody panics with the lock").allocated;
    let mut pipeline = chain.build()?.pipeline_as_marked()?.memory(0, Arc::clone(&pool) as Arc<dyn Memory>)?;
    assert_eq!(pipeline.run()?.frames, 64);
    let first = allocated();
    assert_eq!(pipeline.run()?.frames, 64);
    println!("{first} blocks in the first run, {} more in the second", allocated() - first);
    assert!(first > 0 && allocated() == first);
    Ok(())
}
