//! What disturbs a pipeline: threads that go over memory.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::failure::Failure;

/// More than caches hold.
const BYTES: usize = 16 << 20;

/// Threads of the ordinary class that copy memory until this is dropped.
pub(super) struct Load {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub(super) fn begin(threads: usize) -> Result<Self, Failure> {
        let mut load = Self { over: Arc::default(), threads: Vec::new() };
        for _ in 0..threads {
            let over = Arc::clone(&load.over);
            let thread = thread::Builder::new().name("load".to_owned()).spawn(move || copy(&over));
            load.threads.push(thread.map_err(Failure::from_error)?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It does nothing that could panic, and nothing is lost with it.
            let _ = thread.join();
        }
    }
}

fn copy(over: &AtomicBool) {
    let (from, mut to) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    while !over.load(Ordering::Relaxed) {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_end_with_the_load() {
        let load = Load::begin(2).unwrap();
        let over = Arc::clone(&load.over);
        assert_eq!(Arc::strong_count(&over), 4);
        drop(load);
        assert_eq!(Arc::strong_count(&over), 1);
    }
}
