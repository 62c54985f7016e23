//! What stays where it is: stars on the sky, hot pixels on the sensor.

use std::collections::VecDeque;

use crate::grid::Grid;
use crate::motion::Rigid;

/// How often something is seen at its place before it counts as fixed there.
pub(super) const FIXED: u32 = 3;
/// The share of a new place that a known one moves by.
const CORRECTION: f64 = 0.3;
/// Frames in a row in which it is looked for until it counts as fixed.
const PATIENCE: usize = 4;
/// The most that are kept.
const MOST: usize = 40_000;

/// Something that stays where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixture {
    pub(super) at: [f64; 2],
    pub(super) light: f32,
    pub(super) seen: u32,
    pub(super) missed: u32,
    /// The frame in which it was first seen, and its number among the loose ones there, if it was one.
    pub(super) origin: (u64, Option<u32>),
}

/// Something that was seen once.
#[derive(Debug, Clone, Copy)]
struct Newcomer {
    at: [f64; 2],
    light: f32,
    loose: Option<u32>,
}

/// What was seen for the first time in a frame, and not again yet. In noise that is most of what is seen, so little is done for it.
#[derive(Debug, Clone)]
struct Newcomers {
    frame: u64,
    /// Of the view since then.
    motion: Rigid,
    all: Vec<Newcomer>,
}

/// Things that stay where they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Fixtures {
    /// Those that were seen twice or more often.
    pub(super) known: Vec<Fixture>,
    /// Of the latest frames, the newest first.
    new: VecDeque<Newcomers>,
}

impl Fixtures {
    /// Begins a frame, before which all of them moved.
    pub(super) fn next(&mut self, frame: u64, motion: &Rigid) {
        self.known.iter_mut().for_each(|fixture| fixture.at = motion.apply(fixture.at));
        self.new.iter_mut().for_each(|new| new.motion = new.motion.then(motion));
        let oldest = if self.new.len() > PATIENCE { self.new.pop_back() } else { None };
        let mut all = oldest.map(|new| new.all).unwrap_or_default();
        all.clear();
        self.new.push_front(Newcomers { frame, motion: Rigid::STILL, all });
    }

    /// The component that each known one is seen as, if it is there: the nearest within a distance. What is seen a second time is
    /// known from now on.
    pub(super) fn find(&mut self, grid: &Grid, distance: f64, found: &mut Vec<Option<usize>>) {
        let nearest = |at: [f64; 2]| grid.nearest(at, distance);
        found.clear();
        found.extend(self.known.iter().map(|fixture| nearest(fixture.at)));
        for (missed, Newcomers { frame, motion, all }) in (0..).zip(&mut self.new) {
            let mut index = 0;
            while let Some(&Newcomer { at, light, loose }) = all.get(index) {
                let at = motion.apply(at);
                let Some(seen) = nearest(at) else {
                    index += 1;
                    continue;
                };
                all.swap_remove(index);
                self.known.push(Fixture { at, light, seen: 1, missed, origin: (*frame, loose) });
                found.push(Some(seen));
            }
        }
    }

    /// It was seen there.
    pub(super) fn seen(&mut self, index: usize, at: [f64; 2], light: f32) {
        let fixture = &mut self.known[index];
        let share = CORRECTION.max(1.0 / f64::from(fixture.seen + 1));
        for (known, new) in fixture.at.iter_mut().zip(at) {
            *known += share * (new - *known);
        }
        fixture.light += share as f32 * (light - fixture.light);
        fixture.seen += 1;
        fixture.missed = 0;
    }

    /// Something new, in the frame that was begun.
    pub(super) fn add(&mut self, at: [f64; 2], light: f32, loose: Option<u32>) {
        let room = MOST.saturating_sub(self.known.len());
        if let Some(new) = self.new.front_mut().filter(|new| new.all.len() < room) {
            new.all.push(Newcomer { at, light, loose });
        }
    }

    /// Forgets what was not seen for long, for its age, and what is outside of the picture.
    pub(super) fn forget(&mut self, width: f64, height: f64) {
        self.known.retain(|fixture| {
            let patience = if fixture.seen < FIXED { PATIENCE as u32 - 1 } else { (2 * fixture.seen).min(40) };
            let [x, y] = fixture.at;
            let is_near = (-30.0..width + 30.0).contains(&x) && (-30.0..height + 30.0).contains(&y);
            fixture.missed <= patience && is_near
        });
    }
}
