//! Amplitude and noise for devices: the text for what is done for each symbol, and what is read beside it.

use std::ops::Range;

use super::{SignalLevel, has_one_modulus};
use crate::dvbs2::known;
use crate::dvbs2::{Layout, Pls};

impl SignalLevel {
    /// OpenCL C 1.2. Its kernel `moments` wants work-groups of [`RUN`](Self::RUN) items, and sums |y|² and |y|⁴ over that many symbols.
    pub const SOURCE: &'static str = include_str!("level.cl");

    /// Symbols of a work-group.
    pub const RUN: usize = 256;

    /// The places of a frame that [`measure_from`](Self::measure_from) reads; `None` for frames that DVB-S2 does not define.
    ///
    /// ```
    /// use bief_dsp::dvbs2::{Pls, SignalLevel};
    ///
    /// assert_eq!(SignalLevel::reads(Pls::new(43)).unwrap(), []); // QPSK: its moments tell all
    /// assert_eq!(SignalLevel::reads(Pls::new(75)).unwrap().len(), 3); // 16APSK short: header and pilots
    /// ```
    pub fn reads(pls: Pls) -> Option<Vec<Range<usize>>> {
        let layout = Layout::new(pls)?;
        Some(if has_one_modulus(pls) { Vec::new() } else { known::places(pls, &layout) })
    }
}
