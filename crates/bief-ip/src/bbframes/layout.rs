//! How BBFRAMEs lie in a file, found out by their headers.

use std::cmp::Ordering;

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
        // The first of the best: without padding, then the shortest.
        Self::best(front).map(|(layout, _)| layout)
    }

    /// The layout, if more of the file would hardly tell another: it shows six headers, and no other one shows as many. Frames that are
    /// all of one length may be padded or not.
    pub fn find_surely(front: &[u8]) -> Option<Self> {
        const ENOUGH: i32 = 6;
        Self::best(front).filter(|&(_, ahead)| ahead >= ENOUGH).map(|(layout, _)| layout)
    }

    /// The first of the layouts that show most, and how many headers that is if no other one shows as many, else 0.
    fn best(front: &[u8]) -> Option<(Self, i32)> {
        let valid: Vec<Option<usize>> = (0..front.len()).map(|at| header(&front[at..], false)).collect();
        let layouts = [false, true].into_iter().flat_map(|l3| {
            let sizes = std::iter::once(None).chain((SHORTEST..=LONGEST_FRAME).map(Some));
            sizes.map(move |size| Self { size, l3 })
        });
        let scored = layouts.map(|layout| (layout, layout.score(front, &valid))).filter(|(_, score)| *score > 0);
        let (layout, most, is_alone) =
            scored.fold((Self::default(), 0, false), |(best, most, is_alone), (layout, score)| {
                match score.cmp(&most) {
                    Ordering::Greater => (layout, score, true),
                    Ordering::Equal => (best, most, false),
                    Ordering::Less => (best, most, is_alone),
                }
            });
        (most > 0).then_some((layout, if is_alone { most } else { 0 }))
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
