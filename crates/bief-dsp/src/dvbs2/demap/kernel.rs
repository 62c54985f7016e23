//! The demapper for devices: its text, and what it reads of a kind of frame.

use super::{COUNTS, Demapper, MAX_POINTS, Rule, Scale};
use crate::dvbs2::{Layout, Pls, SignalLevel, VlSnr};

/// What the kernels of [`DemapTables::SOURCE`] read of a kind of frame, in the layout of their structures.
///
/// ```
/// use bief_dsp::dvbs2::{DemapTables, Pls, SignalLevel};
///
/// let tables = DemapTables::new(Pls::new(43)).unwrap(); // QPSK 8/9 short
/// assert_eq!(tables.items, 8_100);
/// assert_eq!(tables.factors(SignalLevel { amplitude: 0.5, n0: 0.5 }), [4.0 * 8f32.sqrt() * 4.0, 1.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DemapTables {
    /// Items that a frame takes: its payload symbols; of a VL-SNR frame the bits of its codeword.
    pub items: usize,
    /// Which of the two kernels it takes.
    pub kernel: DemapKernel,
    counts: f32,
    nearness: Nearness,
}

/// How LLRs follow from symbols.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nearness {
    /// In proportion to them.
    Linear,
    /// From their squares, too.
    Square,
    /// By a table.
    Table,
}

/// One of the kernels, with what it reads.
#[derive(Debug, Clone, PartialEq)]
pub enum DemapKernel {
    /// `demap`.
    Payload {
        /// `kind_t`.
        kind: [u32; 16],
        /// `points_t`.
        points: Vec<f32>,
        /// The cells of a table; one, of zeros, where there is none.
        cells: Vec<u64>,
    },
    /// `demap_vl_snr`.
    VlSnr {
        /// Of each LLR, which of the bits that are sent it is.
        sources: Vec<u32>,
        /// Places of data symbols in the frame.
        places: Vec<u32>,
        /// Symbols of a bit; 0 where a symbol has two bits.
        times: u32,
    },
}

impl DemapTables {
    /// OpenCL C 1.2. Its kernels want work-groups of 64 items, as many for each frame as its [`items`](Self::items) take, and give
    /// the LLRs of [`Demapper::demap_plframe`] and [`VlSnr::demap`].
    pub const SOURCE: &'static str = include_str!("demap.cl");

    /// Those of a kind of frame; `None` if it carries no data.
    pub fn new(pls: Pls) -> Option<Self> {
        if let Some(kind) = pls.vl_snr() {
            return Some(Self::of_vl_snr(kind));
        }
        let (modcod, size, layout) = (pls.modcod()?, pls.fec().map(|_| pls.frame_size())?, Layout::new(pls)?);
        let demapper = Demapper::new(modcod, size);
        let Demapper { rule, interleaver, twice_re, twice_im, energy, .. } = &demapper;
        let mut kind = [0; 16];
        let numbers = [
            match rule {
                Rule::Qpsk => 0,
                Rule::Psk8 => 1,
                Rule::Apsk16 => 2,
                Rule::Table(_) => 3,
            },
            layout.payload_symbols(),
            usize::from(layout.pilot_blocks() > 0),
            interleaver.rows(),
            interleaver.width(),
            size.bits(),
            interleaver.stride(),
        ];
        kind.iter_mut().zip(numbers).for_each(|(place, number)| *place = number as u32);
        for bit in 0..interleaver.width() {
            kind[8 + bit] = interleaver.bit(0, bit) as u32;
        }
        let (sine, cosine) = std::f32::consts::FRAC_PI_8.sin_cos();
        let (cells, per_unit, reach, signs, counts) = match rule {
            Rule::Table(table) => {
                let (cells, per_unit, reach) = table.table();
                (cells.to_vec(), per_unit, reach, table.signs, table.n0)
            }
            Rule::Qpsk => (vec![0], 0.0, 0.0, None, COUNTS * 8f32.sqrt()),
            Rule::Psk8 => (vec![0], 0.0, 0.0, None, 2.0 * COUNTS),
            Rule::Apsk16 => (vec![0], 0.0, 0.0, None, COUNTS),
        };
        let [of_re, of_im] = signs.map_or([-1.0; 2], |signs| signs.map(|bit| bit as f32));
        let mut points = Vec::with_capacity(3 * MAX_POINTS + 6);
        [twice_re, twice_im, energy].iter().for_each(|parts| points.extend_from_slice(*parts));
        points.extend([sine, cosine, per_unit, reach, of_re, of_im]);
        let kernel = DemapKernel::Payload { kind, points, cells };
        let nearness = match rule {
            Rule::Qpsk | Rule::Psk8 => Nearness::Linear,
            Rule::Apsk16 => Nearness::Square,
            Rule::Table(_) => Nearness::Table,
        };
        Some(Self { items: layout.payload_symbols(), kernel, counts, nearness })
    }

    fn of_vl_snr(kind: VlSnr) -> Self {
        let (sources, times) = kind.sources();
        let places = kind.runs().flat_map(|(data, _)| data).map(|place| place as u32).collect();
        let items = sources.len();
        Self {
            items,
            kernel: DemapKernel::VlSnr { sources, places, times },
            counts: COUNTS,
            nearness: Nearness::Linear,
        }
    }

    /// What the kernels multiply nearness by, and symbols before: in the order in which cores do it, so that both round alike. Not numbers
    /// where the noise has no variance.
    pub fn factors(&self, received: SignalLevel) -> [f32; 2] {
        let (n0, gain) = (received.n0, received.gain());
        match self.nearness {
            _ if n0.is_nan() || n0 < 0.0 => [f32::NAN; 2],
            Nearness::Linear => [self.counts * (gain / n0), 1.0],
            Nearness::Square => [self.counts / n0, gain],
            Nearness::Table => [Scale::new(self.counts / n0).value(), gain],
        }
    }
}
