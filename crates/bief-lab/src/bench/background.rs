//! Threads that go on beside what is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use bief_cli::failure::Failure;

/// Threads of the ordinary class that work until this is dropped.
pub(super) struct Background {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// So many threads, each of which works until it sees that it is over.
    pub(super) fn begin(
        threads: usize,
        name: &str,
        work: impl Fn(&AtomicBool) + Clone + Send + 'static,
    ) -> Result<Self, Failure> {
        let mut background = Self { over: Arc::default(), threads: Vec::new() };
        for _ in 0..threads {
            let (over, work) = (Arc::clone(&background.over), work.clone());
            let thread = thread::Builder::new().name(name.to_owned()).spawn(move || work(&over));
            background.threads.push(thread.map_err(Failure::from_error)?);
        }
        Ok(background)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It does nothing that could panic, and nothing is lost with it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_end_with_it() {
        let wait = |over: &AtomicBool| {
            while !over.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        };
        let background = Background::begin(2, "wait", wait).unwrap();
        let over = Arc::clone(&background.over);
        assert_eq!(Arc::strong_count(&over), 4);
        drop(background);
        assert_eq!(Arc::strong_count(&over), 1);
    }
}
