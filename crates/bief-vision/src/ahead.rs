//! What is read later of a picture, asked for while something else is done.

use bief::memory::prefetch;

/// Bytes of a cache line.
const LINE: usize = 64;

/// A part of a picture that is to be at hand later.
pub(crate) struct Ahead<'a>(pub(crate) &'a [u8]);

impl Ahead<'_> {
    /// Asks for so many lines more of it. To be called between other things, and seldom while much else is read: it would wait for that.
    /// Memory takes a few requests at once, and of more it drops some: it is best asked for little, and evenly.
    #[inline(always)]
    pub(crate) fn ask(&mut self, lines: usize) {
        if let Some((now, later)) = self.0.split_at_checked(lines * LINE) {
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
