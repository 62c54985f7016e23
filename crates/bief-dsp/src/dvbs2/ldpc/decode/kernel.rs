//! The decoder for devices: its text, and what it reads of a code.

use super::schedule::{Block, LayerBlocks, looks_after, order};
use crate::dvbs2::ldpc::{Code, GROUP};

/// Blocks of a layer, and of a code, at most.
const MOST: (usize, usize) = (32, 1024);

/// What the kernel `decode` of [`KernelTables::SOURCE`] reads of a code, in the layout of its vectors.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Rate, ldpc::{Code, KernelTables}};
///
/// let tables = KernelTables::new(Code::get(FrameSize::Short, Rate::R8_9).unwrap());
/// assert_eq!((tables.layers.len(), tables.blocks.len()), (5, 135));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelTables {
    /// Of each layer its first block, one past those that use their group for the first time in it, one past its last, and 1 where the
    /// decoder looks after it if all checks hold, else 0.
    pub layers: Vec<[u32; 4]>,
    /// Of each block where the first bit of its group is, and which bit of it lane 0 has: lane m has the m-th behind it, round the group.
    pub blocks: Vec<[u32; 2]>,
    /// The block whose lane 0 has no bit: its place is before the first bit of the last group.
    pub missing: u32,
    /// Bytes of scratch for a frame.
    pub room: usize,
}

impl KernelTables {
    /// OpenCL C 1.2. Its kernel `decode` wants work-groups of [`GROUP`] items, one for each frame. It has the posteriors of
    /// [`Decoder`](super::Decoder) bit for bit, but does not update the last checks one by one: it comes to the same codeword, an iteration or so later.
    pub const SOURCE: &'static str = include_str!("decode.cl");

    /// Those of a code.
    pub fn new(code: &Code) -> Self {
        let mut tables = Self { layers: Vec::new(), blocks: Vec::new(), missing: 0, room: 0 };
        // Before the last group is the bit that is missing.
        let last = code.rows.len() + code.q - 1;
        let place_of = |block: &Block| {
            let group = usize::from(block.group);
            [group * GROUP + usize::from(group == last), GROUP - usize::from(block.shift)].map(|place| place as u32)
        };
        for r in order(code) {
            let layer = LayerBlocks::new(code, r);
            let first = tables.blocks.len();
            tables.blocks.extend(layer.all().map(place_of));
            if r == 0 {
                let missing = first + layer.missing();
                tables.missing = missing as u32;
                tables.blocks[missing] = [(last * GROUP) as u32, 0];
            }
            let end = tables.blocks.len();
            let looks = looks_after(tables.layers.len(), code.q);
            tables.layers.push([first as u32, (first + layer.primaries.len()) as u32, end as u32, looks.into()]);
            assert!(end - first <= MOST.0 && end <= MOST.1, "the kernel has room for the blocks of every code");
        }
        tables.room = tables.blocks.len() * GROUP + code.nldpc + 1;
        tables
    }
}
