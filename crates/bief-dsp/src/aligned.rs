//! Numbers whose first one begins a cache line: where they do not, loads and stores of vectors cross lines and are slower.

use std::ops::{Deref, DerefMut};

const LINE: usize = 64;

/// A slice of a length that stays, all zeros at first.
#[derive(Debug)]
pub(crate) struct Aligned<T> {
    numbers: Box<[T]>,
    skipped: usize,
    len: usize,
}

impl<T: Copy + Default> Aligned<T> {
    pub(crate) fn new(len: usize) -> Aligned<T> {
        let most = LINE / size_of::<T>() - 1;
        let numbers = vec![T::default(); len + most].into_boxed_slice();
        // Where the allocator cannot tell, they stay where they are.
        let skipped = numbers.as_ptr().align_offset(LINE).min(most);
        Aligned { numbers, skipped, len }
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Aligned<T> {
        let mut copy = Aligned::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.numbers[self.skipped..self.skipped + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.skipped..self.skipped + self.len]
    }
}
