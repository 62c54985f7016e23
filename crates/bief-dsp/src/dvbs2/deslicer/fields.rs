//! How long the data fields of a stream are, and so that of a frame that could not be read.

/// Frames that must have been alike before it is believed that one that was not read is like them.
const ALIKE: u32 = 4;

/// The lengths of the last data fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    last: usize,
    /// How many of the last ones were as long as the last, and how many as their frame allowed.
    same: u32,
    full: u32,
}

impl Fields {
    /// A data field of so many bits came, in a frame that had room for so many.
    pub(super) fn note(&mut self, dfl: usize, room: usize) {
        self.same = if dfl == self.last { self.same.saturating_add(1) } else { 1 };
        self.full = if dfl == room { self.full.saturating_add(1) } else { 0 };
        self.last = dfl;
    }

    /// Bits of the data field of a frame that could not be read and has room for so many; `None` where nobody knows.
    pub(super) fn expected(&self, room: usize) -> Option<usize> {
        match self {
            _ if self.full >= ALIKE => Some(room),
            _ if self.same >= ALIKE && self.last <= room => Some(self.last),
            _ => None,
        }
    }
}
