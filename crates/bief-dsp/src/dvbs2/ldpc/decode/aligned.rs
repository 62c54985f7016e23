//! Bytes whose first one begins a cache line.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

/// Bytes of a length that stays, all 0 at first.
pub(super) struct Aligned {
    bytes: Box<[i8]>,
    skipped: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn new(len: usize) -> Aligned {
        let bytes = vec![0; len + LINE - 1].into_boxed_slice();
        // Where the allocator cannot tell, loads cross lines and are slower.
        let skipped = bytes.as_ptr().align_offset(LINE).min(LINE - 1);
        Aligned { bytes, skipped, len }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Aligned {
        let mut copy = Aligned::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Aligned {
    type Target = [i8];

    #[inline(always)]
    fn deref(&self) -> &[i8] {
        &self.bytes[self.skipped..self.skipped + self.len]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [i8] {
        &mut self.bytes[self.skipped..self.skipped + self.len]
    }
}
