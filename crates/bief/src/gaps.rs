//! What is missing in a stream that could not wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is missing in a [`ByteSource`](crate::kinds::ByteSource) that cannot wait, such as a radio, as its reader tells it.
///
/// A reader that lost bytes just before the ones it gives next notes them here and fails once with
/// [`Interrupted`](std::io::ErrorKind::Interrupted). Who knows about gaps then [takes](Self::take) what is missing at this place; all
/// others read on, as they do after any interruption. Only the [sum](Self::total) may be read from other threads.
///
/// ```
/// use bief::kinds::Gaps;
/// let gaps = Gaps::new(128);
/// let seen = gaps.clone();
/// gaps.lose(6);
/// assert_eq!((seen.take(), seen.take(), seen.total(), seen.filler()), (6, 0, 6, 128));
/// ```
#[derive(Debug, Clone)]
pub struct Gaps {
    missing: Arc<Missing>,
    filler: u8,
}

#[derive(Debug, Default)]
struct Missing {
    untold: AtomicU64,
    total: AtomicU64,
}

impl Gaps {
    /// No gaps so far; `filler` is a byte of silence: 0, or 128 for samples without sign.
    pub fn new(filler: u8) -> Self {
        Self { missing: Arc::default(), filler }
    }

    /// So many bytes, whole samples, are missing before those that are read next.
    pub fn lose(&self, bytes: u64) {
        self.missing.untold.fetch_add(bytes, Ordering::Relaxed);
        self.missing.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes missing before those that are read next, told once.
    pub fn take(&self) -> u64 {
        self.missing.untold.swap(0, Ordering::Relaxed)
    }

    /// Bytes that were missing so far.
    pub fn total(&self) -> u64 {
        self.missing.total.load(Ordering::Relaxed)
    }

    /// A byte of silence, for who puts something in the place of what is missing.
    pub fn filler(&self) -> u8 {
        self.filler
    }
}
