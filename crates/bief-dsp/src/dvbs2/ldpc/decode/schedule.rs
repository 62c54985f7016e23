//! The blocks of a code in the order in which one iteration uses them, with the rotation of every group of
//! bits before each.

use super::super::{Code, GROUP};

/// A block: one group of bits takes part in the checks of one layer.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Group of bits: information groups, then parity groups.
    pub(super) group: u16,
    /// Where lane 0 is in the group's ring when the layer begins.
    pub(super) turn: u16,
    /// Where lane 0 is in the group's ring before the iteration begins.
    pub(super) turn_at_rest: u16,
}

/// A further block of a group that the layer uses already.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    /// The block, counted from the first of the layer.
    pub(super) edge: usize,
    /// Where lane 0 is in the group's ring once the earlier blocks of the group are written.
    pub(super) turn: u16,
}

/// The blocks of one layer, as ranges.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// First block in [`Schedule::edges`] of either kind.
    pub(super) first: usize,
    /// Number of blocks that use their group for the first time in the layer; the repeats follow.
    pub(super) primaries: usize,
    /// One past the last block.
    pub(super) end: usize,
    /// First of the layer's repeats in [`Schedule::repeats`], which has one for every block after the primaries.
    pub(super) first_repeat: usize,
}

/// One iteration, block by block.
#[derive(Clone)]
pub(super) struct Schedule {
    pub(super) layers: Vec<Layer>,
    /// The blocks for the first iteration, which finds the bits in the order of transmission, and for the others,
    /// which find the groups as the one before left them. Only turns differ.
    passes: [Vec<Edge>; 2],
    pub(super) repeats: Vec<Repeat>,
    /// How far an iteration leaves the bits of a group turned: bit i is at position i + shift (mod 360).
    shifts: Vec<u16>,
    /// The block of layer 0 whose lane 0 has no bit.
    pub(super) missing: usize,
}

impl Schedule {
    pub(super) fn new(code: &Code) -> Schedule {
        let layers: Vec<_> = (0..code.q).map(|r| LayerBlocks::new(code, r)).collect();
        let groups = code.rows.len() + code.q;
        let mut schedule = Schedule {
            layers: Vec::new(),
            passes: [Vec::new(), Vec::new()],
            repeats: Vec::new(),
            shifts: vec![0; groups],
            missing: layers[0].missing(),
        };
        for layer in &layers {
            schedule.push(layer);
        }
        let mut shifts = vec![0; groups];
        for pass in &mut schedule.passes {
            let at_rest = shifts.clone();
            for layer in &layers {
                pass.extend(layer.all().map(|block| Edge {
                    group: block.group,
                    turn: block.turn(&shifts),
                    turn_at_rest: block.turn(&at_rest),
                }));
                for block in layer.all() {
                    shifts[usize::from(block.group)] = block.shift;
                }
            }
        }
        schedule.shifts = shifts;
        schedule
    }

    /// Blocks of the first iteration, or of any other.
    #[inline(always)]
    pub(super) fn edges(&self, first: bool) -> &[Edge] {
        &self.passes[usize::from(!first)]
    }

    /// How far the bits of a group are turned before the first iteration, or any other.
    #[inline(always)]
    pub(super) fn shift(&self, group: usize, first: bool) -> u16 {
        if first { 0 } else { self.shifts[group] }
    }

    /// Groups of bits.
    pub(super) fn groups(&self) -> usize {
        self.shifts.len()
    }

    /// Appends a layer and the turns of its repeats.
    fn push(&mut self, layer: &LayerBlocks) {
        let first = self.layers.last().map_or(0, |layer| layer.end);
        self.layers.push(Layer {
            first,
            primaries: layer.primaries.len(),
            end: first + layer.all().count(),
            first_repeat: self.repeats.len(),
        });
        // Every group that a repeat uses was used by a primary before.
        let mut shifts = vec![0; self.shifts.len()];
        for block in &layer.primaries {
            shifts[usize::from(block.group)] = block.shift;
        }
        for (i, block) in layer.repeats.iter().enumerate() {
            self.repeats.push(Repeat { edge: layer.primaries.len() + i, turn: block.turn(&shifts) });
            shifts[usize::from(block.group)] = block.shift;
        }
    }
}

/// Bit i of a group takes part in lane i + shift (mod 360) of a layer.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) group: u16,
    pub(super) shift: u16,
}

impl Block {
    /// Where lane 0 is in the group's ring, given how far every group is turned.
    fn turn(self, shifts: &[u16]) -> u16 {
        (shifts[usize::from(self.group)] + GROUP as u16 - self.shift) % GROUP as u16
    }
}

/// The blocks of one layer.
pub(super) struct LayerBlocks {
    /// The first block of every group: information groups in order, then the two parity groups.
    pub(super) primaries: Vec<Block>,
    /// The other blocks.
    repeats: Vec<Block>,
}

impl LayerBlocks {
    pub(super) fn new(code: &Code, r: usize) -> LayerBlocks {
        let mut primaries = Vec::new();
        let mut repeats = Vec::new();
        for (group, row) in code.rows.iter().enumerate() {
            let of_layer = row.iter().map(|x| usize::from(*x)).filter(|x| x % code.q == r);
            for (i, x) in of_layer.enumerate() {
                let blocks = if i == 0 { &mut primaries } else { &mut repeats };
                blocks.push(Block { group: group as u16, shift: (x / code.q) as u16 });
            }
        }
        let first_parity = code.rows.len();
        let (previous, shift) = match r {
            0 => (code.q - 1, 1),
            _ => (r - 1, 0),
        };
        primaries.push(Block { group: (first_parity + previous) as u16, shift });
        primaries.push(Block { group: (first_parity + r) as u16, shift: 0 });
        LayerBlocks { primaries, repeats }
    }

    /// Of layer 0, the block whose lane 0 has no bit: that of the last parity group.
    pub(super) fn missing(&self) -> usize {
        self.primaries.len() - 2
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Block> {
        self.primaries.iter().chain(&self.repeats)
    }
}
