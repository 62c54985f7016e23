//! What is read later of a picture, asked for while something else is done.

use bief::memory::prefetch;

/// Bytes that are asked for at a time: memory takes so many requests at once, and of more it drops some.
const BYTES: usize = 128;

/// A part of a picture that is to be at hand later.
pub(crate) struct Ahead<'a>(pub(crate) &'a [u8]);

impl Ahead<'_> {
    /// Asks for a little more of it. To be called between other things, but not while much else is read: it would wait for that.
    #[inline(always)]
    pub(crate) fn ask(&mut self) {
        if let Some((now, later)) = self.0.split_first_chunk::<BYTES>() {
            prefetch(now);
            self.0 = later;
        }
    }

    /// Asks for the rest of it.
    #[inline(always)]
    pub(crate) fn ask_for_all(self) {
        prefetch(self.0);
    }
}
