//! The motion of the view, from the brightest components of two pictures.
//!
//! It asks nothing of what is known already: a mistake would confirm itself.

use crate::component::Component;
use crate::grid::Grid;
use crate::motion::{Pair, Rigid, square_apart};

/// Components of each picture that tell the motion, and vote on shifts: the brightest.
const BRIGHTEST: usize = 100;
/// Over what is asked for: a component that is surely more than noise.
const STRONG: f32 = 1.6;
/// Distances within which a component is looked for again, in turn: each time the motion is known better.
const REACHES: [f64; 3] = [6.0, 3.0, 1.5];
/// Components that are off by more do not tell the motion.
const FAR: f64 = 1.2;
/// The share of the components that must be where a motion says: with so many no other one is tried, and with so many it is one.
const SURE: f64 = 0.7;
const ENOUGH: f64 = 0.25;
/// The share of known places that ought to be seen again.
const MOST: f64 = 0.4;
/// The fewest components that tell a motion.
const FEWEST: usize = 4;
/// The largest shift that is voted on, in pixels along each axis, and the width of a vote.
const LARGEST: f64 = 64.0;
const VOTE: f64 = 2.0;
const VOTES: usize = (2.0 * LARGEST / VOTE) as usize + 1;

/// A component's light and place.
pub(super) type Spot = (f32, [f64; 2]);

/// Finds motions; keeps its room.
#[derive(Debug, Clone, Default)]
pub(super) struct Registration {
    before: Vec<Spot>,
    now: Vec<Spot>,
    pairs: Vec<Pair>,
    votes: Vec<u16>,
}

impl Registration {
    /// The motion since the last picture that was given; `None` where too few components agree on one.
    pub(super) fn find(&mut self, components: &[Component], grid: &Grid, guess: Rigid) -> Option<Rigid> {
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.clear();
        let strong = components.iter().filter(|component| component.strength >= STRONG);
        self.now.extend(strong.map(|component| (component.light, [component.x.into(), component.y.into()])));
        keep_brightest(&mut self.now);
        if self.before.len().min(self.now.len()) < FEWEST {
            return None;
        }
        self.search(components, grid, guess, ENOUGH)
    }

    /// The motion of known places since the last picture, if most of them are seen again, but not where `found` says: where the
    /// view jumps during a picture, everything is there twice, and two pictures do not tell which is which.
    pub(super) fn find_known(
        &mut self,
        known: impl Iterator<Item = Spot> + Clone,
        components: &[Component],
        grid: &Grid,
        found: Rigid,
    ) -> Option<Rigid> {
        let again = |spots: &mut dyn Iterator<Item = Spot>, most: f64| {
            let most = (MOST * most).ceil() as usize;
            spots.filter(|(_, at)| grid.nearest(found.apply(*at), FAR).is_some()).take(most).count() == most
        };
        // Where those that are known longest are seen again, the brightest need not be looked for.
        if again(&mut known.clone().take(BRIGHTEST), BRIGHTEST as f64) {
            return None;
        }
        self.before.clear();
        self.before.extend(known);
        keep_brightest(&mut self.before);
        let count = self.before.len();
        if count < 2 * FEWEST || again(&mut self.before.iter().copied(), count as f64) {
            return None;
        }
        self.search(components, grid, found, MOST)
    }

    /// The motion that most of the components before agree with, if enough of them do.
    fn search(&mut self, components: &[Component], grid: &Grid, guess: Rigid, enough: f64) -> Option<Rigid> {
        let fewest = self.before.len().min(self.now.len());
        let is_sure = |agreeing: usize| agreeing as f64 >= SURE * fewest as f64;
        // Mostly the view goes on as it did: then a look nearby tells as much as all of them.
        let nearby = self.refine(guess, &REACHES[REACHES.len() - 1..], components, grid);
        if let Some((_, motion)) = nearby.filter(|&(agreeing, _)| agreeing >= FEWEST && is_sure(agreeing)) {
            return Some(motion);
        }
        let mut best: Option<(usize, Rigid)> = None;
        for attempt in 0..3 {
            let guess = match attempt {
                0 => Some(guess),
                1 => Some(Rigid::STILL),
                _ => self.vote(guess),
            };
            let Some((agreeing, motion)) = guess.and_then(|guess| self.refine(guess, &REACHES, components, grid))
            else {
                continue;
            };
            if best.is_none_or(|(most, _)| agreeing > most) {
                best = Some((agreeing, motion));
            }
            if is_sure(agreeing) {
                break;
            }
        }
        let (agreeing, motion) = best?;
        (agreeing >= FEWEST && agreeing as f64 >= enough * fewest as f64).then_some(motion)
    }

    /// The motion near a guess, found within these distances in turn, and how many components are where it says.
    fn refine(
        &mut self,
        guess: Rigid,
        reaches: &[f64],
        components: &[Component],
        grid: &Grid,
    ) -> Option<(usize, Rigid)> {
        let mut motion = guess;
        for &reach in reaches {
            self.pairs.clear();
            for &(light, at) in &self.before {
                let Some(index) = grid.nearest(motion.apply(at), reach) else { continue };
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
        let agreeing = self.pairs.iter().filter(|pair| square_apart(motion.apply(pair.0), pair.1) < FAR * FAR).count();
        Some((agreeing, motion))
    }

    /// The shift that most pairs of bright components have.
    fn vote(&mut self, guess: Rigid) -> Option<Rigid> {
        self.votes.clear();
        self.votes.resize(VOTES * VOTES, 0);
        for &(_, before) in &self.before {
            let at = guess.apply(before);
            for &(_, light) in &self.now {
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
        let [x, y] = guess.shift();
        (votes as usize >= FEWEST).then(|| guess.with_shift([x + shift(column), y + shift(row)]))
    }
}

fn keep_brightest(spots: &mut Vec<Spot>) {
    if spots.len() > BRIGHTEST {
        spots.select_nth_unstable_by(BRIGHTEST, |a, b| b.0.total_cmp(&a.0));
        spots.truncate(BRIGHTEST);
    }
}
