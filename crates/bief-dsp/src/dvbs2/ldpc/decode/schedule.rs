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
    /// Where lane 0 is in the group's ring between iterations.
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
    /// First block in [`Schedule::edges`].
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
    pub(super) edges: Vec<Edge>,
    pub(super) repeats: Vec<Repeat>,
    /// How far the bits of a group are turned between iterations: bit i is at position i + shift (mod 360).
    pub(super) shifts: Vec<u16>,
    /// The block of layer 0 whose lane 0 has no bit.
    pub(super) missing: usize,
}

impl Schedule {
    pub(super) fn new(code: &Code) -> Schedule {
        let layers: Vec<_> = (0..code.q).map(|r| LayerBlocks::new(code, r)).collect();
        // The last block of an iteration that uses a group leaves it with its shift.
        let mut shifts = vec![0; code.rows.len() + code.q];
        for block in layers.iter().flat_map(LayerBlocks::all) {
            shifts[usize::from(block.group)] = block.shift;
        }
        let mut schedule = Schedule {
            layers: Vec::new(),
            edges: Vec::new(),
            repeats: Vec::new(),
            shifts: shifts.clone(),
            missing: layers[0].primaries.len() - 2,
        };
        for layer in &layers {
            schedule.push(layer, &mut shifts);
        }
        schedule
    }

    /// Appends a layer, and turns the groups as it does.
    fn push(&mut self, layer: &LayerBlocks, shifts: &mut [u16]) {
        let first = self.edges.len();
        for block in layer.all() {
            self.edges.push(Edge {
                group: block.group,
                turn: block.turn(shifts),
                turn_at_rest: block.turn(&self.shifts),
            });
        }
        self.layers.push(Layer {
            first,
            primaries: layer.primaries.len(),
            end: self.edges.len(),
            first_repeat: self.repeats.len(),
        });
        for block in &layer.primaries {
            shifts[usize::from(block.group)] = block.shift;
        }
        for (i, block) in layer.repeats.iter().enumerate() {
            self.repeats.push(Repeat { edge: layer.primaries.len() + i, turn: block.turn(shifts) });
            shifts[usize::from(block.group)] = block.shift;
        }
    }
}

/// Bit i of a group takes part in lane i + shift (mod 360) of a layer.
#[derive(Clone, Copy)]
struct Block {
    group: u16,
    shift: u16,
}

impl Block {
    /// Where lane 0 is in the group's ring, given how far every group is turned.
    fn turn(self, shifts: &[u16]) -> u16 {
        (shifts[usize::from(self.group)] + GROUP as u16 - self.shift) % GROUP as u16
    }
}

/// The blocks of one layer.
struct LayerBlocks {
    /// The first block of every group: information groups in order, then the two parity groups.
    primaries: Vec<Block>,
    /// The other blocks.
    repeats: Vec<Block>,
}

impl LayerBlocks {
    fn new(code: &Code, r: usize) -> LayerBlocks {
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

    fn all(&self) -> impl Iterator<Item = &Block> {
        self.primaries.iter().chain(&self.repeats)
    }
}
