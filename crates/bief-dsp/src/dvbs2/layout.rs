//! Where header, payload and pilots lie in a PLFRAME.

use std::ops::Range;

use super::{Pls, s2x};

/// Symbols of a slot.
pub const SLOT: usize = 90;
/// Symbols of a PLHEADER: SOF and PLS code.
pub const HEADER: usize = 90;
/// Mean of the squared distances of its symbols from its middle.
pub(super) const HEADER_SPREAD: f64 = (HEADER * HEADER - 1) as f64 / 12.0;
/// Symbols of a pilot block.
pub const PILOT_BLOCK: usize = 36;
/// Payload slots between two pilot blocks.
const SLOTS_BETWEEN_PILOTS: usize = 16;
/// Symbols from the start of one pilot block to the start of the next.
pub const PILOT_PERIOD: usize = SLOTS_BETWEEN_PILOTS * SLOT + PILOT_BLOCK;
/// Symbols of the longest PLFRAME: QPSK, normal, with pilots.
pub const MAX_SYMBOLS: usize = 33_282;
/// Slots of a dummy PLFRAME.
const DUMMY_SLOTS: usize = 36;

/// Lengths and positions in one PLFRAME, in symbols (EN 302 307-1, clauses 5.5.1 and 5.5.3).
///
/// Positions count from the first symbol of the PLHEADER.
///
/// ```
/// use bief_dsp::dvbs2::{Layout, Pls};
///
/// let layout = Layout::new(Pls::new(43)).unwrap(); // QPSK 8/9 short, pilots
/// assert_eq!(layout.symbols(), 8_370);
/// assert_eq!(layout.pilot_blocks(), 5);
/// assert_eq!(layout.pilots().nth(1), Some(3_006..3_042));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    slots: usize,
    pilot_blocks: usize,
}

impl Layout {
    /// Layout of the frame that `pls` announces; `None` when DVB-S2 defines no such frame (reserved MODCOD,
    /// rate 9/10 short), so that its length is unknown. Values that DVB-S2X reserves and VL-SNR frames have one, so that they
    /// can be passed over: the places that it tells are then those of a frame with a MODCOD, and only the length is meant.
    pub const fn new(pls: Pls) -> Option<Layout> {
        if pls.is_dummy() {
            return Some(Layout { slots: DUMMY_SLOTS, pilot_blocks: 0 });
        }
        let slots = match (pls.modcod(), pls.fec(), s2x::passed_over(pls.value())) {
            (Some(modcod), Some(fec), _) => fec.nldpc.div_ceil(modcod.modulation().bits_per_symbol()).div_ceil(SLOT),
            (None, _, Some((slots, _))) => slots,
            _ => return None,
        };
        // A block follows every 16th slot, but not the last slot of the frame.
        let pilot_blocks = if pls.pilots() { (slots - 1) / SLOTS_BETWEEN_PILOTS } else { 0 };
        Some(Layout { slots, pilot_blocks })
    }

    /// Payload slots of 90 symbols, the header not counted.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Pilot blocks of 36 symbols.
    pub const fn pilot_blocks(&self) -> usize {
        self.pilot_blocks
    }

    /// Payload symbols, pilots not counted.
    pub const fn payload_symbols(&self) -> usize {
        self.slots * SLOT
    }

    /// Symbols of the whole PLFRAME: header, payload and pilots.
    pub const fn symbols(&self) -> usize {
        HEADER + self.payload_symbols() + self.pilot_blocks * PILOT_BLOCK
    }

    /// Position of every pilot block: 1530..1566, then every 1476 symbols.
    pub fn pilots(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + use<> {
        (0..self.pilot_blocks).map(|block| {
            let start = HEADER + SLOTS_BETWEEN_PILOTS * SLOT + block * PILOT_PERIOD;
            start..start + PILOT_BLOCK
        })
    }

    /// Position of every run of payload symbols between header, pilot blocks and end of frame.
    ///
    /// There is one run more than pilot blocks. All are 1440 symbols long, except the last.
    pub fn payload_runs(&self) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + use<> {
        let (blocks, end) = (self.pilot_blocks, self.symbols());
        (0..blocks + 1).map(move |run| {
            let start = HEADER + run * PILOT_PERIOD;
            start..if run < blocks { start + SLOTS_BETWEEN_PILOTS * SLOT } else { end }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_pilots_tile_the_frame() {
        let mut longest = 0;
        for pls in Pls::all() {
            let Some(layout) = Layout::new(pls) else {
                assert!(pls.fec().is_none() && !pls.is_dummy());
                continue;
            };
            let mut pieces: Vec<_> = layout.payload_runs().chain(layout.pilots()).collect();
            pieces.sort_by_key(|piece| piece.start);
            let mut position = HEADER;
            for piece in pieces {
                assert_eq!(piece.start, position, "{pls}");
                assert!(!piece.is_empty());
                position = piece.end;
            }
            assert_eq!(position, layout.symbols(), "{pls}");
            let payload: usize = layout.payload_runs().map(|run| run.len()).sum();
            assert_eq!(payload, layout.payload_symbols(), "{pls}");
            longest = longest.max(layout.symbols());
        }
        assert_eq!(longest, MAX_SYMBOLS);
    }

    #[test]
    fn a_dummy_frame_has_no_pilots_whatever_its_type_says() {
        for value in 0..4 {
            let layout = Layout::new(Pls::new(value)).unwrap();
            assert_eq!((layout.symbols(), layout.pilot_blocks()), (3_330, 0));
        }
    }
}
