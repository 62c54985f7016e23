//! The motion of the view, from the stars that are known and the components that are seen.

use super::fixed::{FIXED, Fixture};
use crate::component::Component;
use crate::grid::Grid;
use crate::motion::{Pair, Rigid, apart};

/// Distances within which a star is looked for, in turn: each time the motion is known better.
const REACHES: [f64; 3] = [6.0, 3.0, 1.5];
/// Stars that are off by more do not tell the motion.
const FAR: f64 = 1.2;
/// The share of the stars that must be where the motion says.
const AGREEING: f64 = 0.45;
/// The fewest stars that tell a motion.
const FEWEST: usize = 4;
/// Stars and components that vote on a shift: the brightest.
const VOTERS: usize = 80;
/// The largest shift that is voted on, in pixels along each axis, and the width of a vote.
const LARGEST: f64 = 64.0;
const VOTE: f64 = 2.0;
const VOTES: usize = (2.0 * LARGEST / VOTE) as usize + 1;

/// Finds motions; keeps its room.
#[derive(Debug, Clone, Default)]
pub(super) struct Registration {
    pairs: Vec<Pair>,
    stars: Vec<(f32, [f64; 2])>,
    lights: Vec<(f32, [f64; 2])>,
    votes: Vec<u16>,
}

impl Registration {
    /// The motion since the last picture, with the share of the stars that are where it says; `None` where too few stars agree.
    pub(super) fn find(
        &mut self,
        stars: &[Fixture],
        components: &[Component],
        grid: &Grid,
        guess: Rigid,
    ) -> Option<Rigid> {
        // Until some stars are known, all that was seen before are.
        let known = stars.iter().filter(|star| star.seen >= FIXED && star.missed < 3).count();
        let least = if known >= 3 * FEWEST { FIXED } else { 1 };
        self.stars.clear();
        let seen = stars.iter().filter(|star| star.seen >= least && star.missed < 3);
        self.stars.extend(seen.map(|star| (star.light, star.at)));
        if self.stars.len() < FEWEST {
            return None;
        }
        for guess in [guess, Rigid::STILL] {
            if let Some(motion) = self.refine(guess, components, grid) {
                return Some(motion);
            }
        }
        let shift = self.vote(guess, components)?;
        self.refine(shift, components, grid)
    }

    /// The motion near a guess.
    fn refine(&mut self, guess: Rigid, components: &[Component], grid: &Grid) -> Option<Rigid> {
        let mut motion = guess;
        for reach in REACHES {
            self.pairs.clear();
            for &(light, at) in &self.stars {
                let Some((index, _)) = grid.nearest(motion.apply(at), reach) else { continue };
                let component = &components[index];
                if component.light < 3.0 * light && light < 3.0 * component.light {
                    self.pairs.push((at, [component.x.into(), component.y.into()]));
                }
            }
            if self.pairs.len() < FEWEST {
                return None;
            }
            motion = Rigid::fit_trimmed(&mut self.pairs, reach)?.0;
        }
        let agreeing = self.pairs.iter().filter(|pair| apart(motion.apply(pair.0), pair.1) < FAR).count();
        // Faint stars come and go: they neither agree nor disagree.
        let share = agreeing as f64 / self.bright().max(FEWEST) as f64;
        (agreeing >= FEWEST && share >= AGREEING).then_some(motion)
    }

    /// The stars that ought to be seen again: the brighter half.
    fn bright(&self) -> usize {
        self.stars.len().div_ceil(2)
    }

    /// The shift that most pairs of bright stars and bright components have.
    fn vote(&mut self, guess: Rigid, components: &[Component]) -> Option<Rigid> {
        self.lights.clear();
        self.lights.extend(components.iter().map(|component| {
            (component.light, [f64::from(component.x), f64::from(component.y)])
        }));
        for list in [&mut self.stars, &mut self.lights] {
            list.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        }
        self.votes.clear();
        self.votes.resize(VOTES * VOTES, 0);
        for &(_, star) in self.stars.iter().take(VOTERS) {
            let at = guess.apply(star);
            for &(_, light) in self.lights.iter().take(VOTERS) {
                let (dx, dy) = (light[0] - at[0] + LARGEST, light[1] - at[1] + LARGEST);
                let (column, row) = ((dx / VOTE) as usize, (dy / VOTE) as usize);
                if dx >= 0.0 && dy >= 0.0 && column < VOTES && row < VOTES {
                    self.votes[row * VOTES + column] += 1;
                }
            }
        }
        // Shifts lie on both sides of a border between votes: neighbours count together.
        let sum = |column: usize, row: usize| {
            let at = |column: usize, row: usize| u32::from(self.votes[row * VOTES + column]);
            at(column, row) + at(column + 1, row) + at(column, row + 1) + at(column + 1, row + 1)
        };
        let places = (0..VOTES - 1).flat_map(|row| (0..VOTES - 1).map(move |column| (column, row)));
        let (votes, (column, row)) = places.map(|(column, row)| (sum(column, row), (column, row))).max()?;
        let shift = |index: usize| (index + 1) as f64 * VOTE - LARGEST;
        let (x, y) = (guess.x + shift(column), guess.y + shift(row));
        (votes as usize >= FEWEST).then_some(Rigid { x, y, ..guess })
    }
}
