//! How BBFRAMEs lie in a file, found out by their headers.

use bief_dsp::dvbs2::BBHEADER;

use super::{L3_HEADER, L3_SYNC, LONGEST_FRAME, header};

/// Bytes of the shortest BBFRAME that a file has all of one length of: that of QPSK 1/4 short has 384.
const SHORTEST: usize = 380;

/// How BBFRAMEs lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Layout {
    /// Bytes of each, padding included; `None` where each is as long as its data field.
    pub size: Option<usize>,
    /// Whether a receiver's header of four bytes (L.3) lies before each.
    pub l3: bool,
}

impl Layout {
    /// The layout by which the front of a file shows most headers; `None` where none shows more valid ones than others.
    pub fn find(front: &[u8]) -> Option<Self> {
        let valid: Vec<Option<usize>> = (0..front.len()).map(|at| header(&front[at..], false)).collect();
        let layouts = [false, true].into_iter().flat_map(|l3| {
            let sizes = std::iter::once(None).chain((SHORTEST..=LONGEST_FRAME).map(Some));
            sizes.map(move |size| Self { size, l3 })
        });
        let scored = layouts.map(|layout| (layout.score(front, &valid), layout)).filter(|(score, _)| *score > 0);
        // The first of the best: without padding, then the shortest.
        scored.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, layout)| layout)
    }

    /// Valid headers less others that the front of a file shows, where this layout has them.
    pub fn shown(self, front: &[u8]) -> i32 {
        let valid: Vec<Option<usize>> = (0..front.len()).map(|at| header(&front[at..], false)).collect();
        self.score(front, &valid)
    }

    /// Valid headers less others, where they are to be; `valid` are the frames whose headers are valid, wherever they are.
    fn score(self, front: &[u8], valid: &[Option<usize>]) -> i32 {
        let before = if self.l3 { L3_HEADER } else { 0 };
        let (mut at, mut score) = (0, 0);
        while at + before + BBHEADER <= front.len() {
            let is_marked = !self.l3 || front[at] == L3_SYNC;
            let length = valid[at + before].filter(|&length| is_marked && self.size.is_none_or(|size| length <= size));
            score += if length.is_some() { 1 } else { -1 };
            match self.size.or(length) {
                Some(long) => at += before + long,
                None => break,
            }
        }
        score
    }
}
