//! The blocks of a code in the order in which one iteration uses them.

use super::super::{Code, GROUP};
use super::strips::{Places, RING, places_of};

/// How often in an iteration the decoder looks whether it has arrived, where there are so many layers. Twice as many looks save 1 % of the
/// updates of layers, and cost more than that.
const LOOKS: usize = 4;

/// The layers of an iteration by the residues of their checks, 0 first: the even ones, then the odd ones. Neighbours share parity bits,
/// so that what each layer learns comes from the whole half before it: this saves a tenth of all iterations beside the natural order.
pub(super) fn order(code: &Code) -> impl Iterator<Item = usize> + Clone {
    (0..code.q).step_by(2).chain((1..code.q).step_by(2))
}

/// Whether the decoder looks after this one of so many layers, counted in their order, if all checks hold.
pub(super) fn looks_after(layer: usize, layers: usize) -> bool {
    (layer + 1).is_multiple_of(layers.div_ceil(LOOKS)) || layer + 1 == layers
}

/// The blocks of one layer, as ranges of [`Schedule::blocks`].
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Residue of its checks.
    pub(super) residue: usize,
    pub(super) first: usize,
    /// Number of blocks that use their group for the first time in the layer; the repeats follow.
    pub(super) primaries: usize,
    /// One past the last block.
    pub(super) end: usize,
    /// The first of its repeats among those of all layers.
    pub(super) first_repeat: usize,
    /// Which of [`Schedule::looks`] follows, if any.
    pub(super) look: Option<usize>,
}

impl Layer {
    /// Number of blocks that use a group again.
    pub(super) fn repeats(&self) -> usize {
        self.end - self.first - self.primaries
    }
}

/// How groups are turned where the decoder looks if all checks hold.
#[derive(Clone)]
pub(super) struct Turned {
    /// By group: bit i is at place i + shift (mod 360) of its ring.
    pub(super) shifts: Box<[u16]>,
    /// By block: lane 0 is at this place of its group's ring.
    pub(super) blocks: Box<[u16]>,
}

/// One iteration, block by block.
#[derive(Clone)]
pub(super) struct Schedule {
    /// In their [`order`].
    pub(super) layers: Vec<Layer>,
    pub(super) blocks: Vec<Block>,
    /// Of each layer behind which the decoder looks.
    pub(super) looks: Vec<Turned>,
    /// Where the strips of each block are when its layer begins: the same in every iteration, as each begins with the groups turned
    /// as the last one left them.
    pub(super) places: Vec<Places>,
    /// Where those of its repeats are when it is their turn to be told, one after the other.
    pub(super) repeat_places: Vec<Places>,
    /// Groups of bits.
    pub(super) groups: usize,
    /// The block of the first layer whose lane 0 has no bit.
    pub(super) missing: usize,
    /// The most repeats of a layer.
    pub(super) most_repeats: usize,
}

impl Schedule {
    pub(super) fn new(code: &Code) -> Schedule {
        let mut schedule = Schedule {
            layers: Vec::new(),
            blocks: Vec::new(),
            looks: Vec::new(),
            places: Vec::new(),
            repeat_places: Vec::new(),
            groups: code.rows.len() + code.q,
            missing: LayerBlocks::new(code, 0).missing(),
            most_repeats: 0,
        };
        for r in order(code) {
            let layer = LayerBlocks::new(code, r);
            let first = schedule.blocks.len();
            schedule.blocks.extend(layer.all());
            let end = schedule.blocks.len();
            let first_repeat = schedule.layers.last().map_or(0, |last| last.first_repeat + last.repeats());
            let primaries = layer.primaries.len();
            schedule.layers.push(Layer { residue: r, first, primaries, end, first_repeat, look: None });
            schedule.most_repeats = schedule.most_repeats.max(layer.repeats.len());
        }
        schedule.follow_turns();
        schedule
    }

    /// Finds out how groups are turned throughout an iteration.
    fn follow_turns(&mut self) {
        let mut shifts = vec![0; self.groups];
        // The blocks are in the order in which they turn their groups.
        self.blocks.iter().for_each(|block| shifts[usize::from(block.group)] = block.shift);
        let layers = self.layers.len();
        for (number, layer) in self.layers.iter_mut().enumerate() {
            let blocks = &self.blocks[layer.first..layer.end];
            self.places.extend(blocks.iter().map(|block| places_of(block.ring(), block.turn(&shifts))));
            for (number, block) in blocks.iter().enumerate() {
                if number >= layer.primaries {
                    self.repeat_places.push(places_of(block.ring(), block.turn(&shifts)));
                }
                shifts[usize::from(block.group)] = block.shift;
            }
            if looks_after(number, layers) {
                layer.look = Some(self.looks.len());
                let turns = self.blocks.iter().map(|block| block.turn(&shifts));
                self.looks.push(Turned { shifts: shifts.clone().into(), blocks: turns.collect() });
            }
        }
    }

    /// The layer of the checks of this residue, by their [`order`].
    pub(super) fn layer(&self, residue: usize) -> &Layer {
        let even = self.layers.len().div_ceil(2);
        &self.layers[residue / 2 + if residue.is_multiple_of(2) { 0 } else { even }]
    }

    /// The ring of the missing bit.
    #[inline(always)]
    pub(super) fn last_ring(&self) -> usize {
        (self.groups - 1) * RING
    }
}

/// Bit i of a group takes part in lane i + shift (mod 360) of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) group: u16,
    pub(super) shift: u16,
}

impl Block {
    /// Where the group's ring begins.
    #[inline(always)]
    pub(super) fn ring(self) -> usize {
        usize::from(self.group) * RING
    }

    /// Where lane 0 is in the group's ring, given how far every group is turned.
    #[inline(always)]
    pub(super) fn turn(self, shifts: &[u16]) -> u16 {
        let shift = shifts[usize::from(self.group)];
        if shift >= self.shift { shift - self.shift } else { shift + GROUP as u16 - self.shift }
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

    /// Of the layer of residue 0, the block whose lane 0 has no bit: that of the last parity group.
    pub(super) fn missing(&self) -> usize {
        self.primaries.len() - 2
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Block> {
        self.primaries.iter().chain(&self.repeats)
    }
}
