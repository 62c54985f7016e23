//! What nothing explains, of the latest frames, and the paths that begin there.

use std::collections::VecDeque;

use super::Note;
use super::path::{Path, Sighting, line};
use crate::grid::Grid;
use crate::motion::{Rigid, apart, length};

/// Frames that are remembered, this one included.
const FRAMES: usize = 8;
/// Pixels that something moves over the sky in a frame, at least and at most.
const SLOWEST: f64 = 1.2;
const FASTEST: f64 = 50.0;
/// The most components of a frame that nothing explains: of more, only strong ones are kept.
pub(super) const MOST: usize = 1500;
/// Over what is asked for: a component that is surely more than noise.
const STRONG: f32 = 1.6;
/// Light of two components of one path, the brighter over the fainter.
const MOST_RATIO: f32 = 6.0;
/// Speed from which on what moves is a streak.
const STREAK: f64 = 7.0;

/// A component that nothing explains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loose {
    pub(super) sighting: Sighting,
    /// Its number in its frame.
    pub(super) number: u32,
    pub(super) is_explained: bool,
}

#[derive(Debug, Clone, Default)]
struct Frame {
    number: u64,
    loose: Vec<Loose>,
}

/// The latest frames, the newest first.
#[derive(Debug, Clone)]
pub(super) struct Past {
    frames: VecDeque<Frame>,
    /// Of the frame before, and of the one before that.
    grids: [Grid; 2],
    candidates: Vec<(f64, [usize; 3])>,
}

impl Past {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            frames: VecDeque::with_capacity(FRAMES),
            grids: [Grid::new(width, height), Grid::new(width, height)],
            candidates: Vec::new(),
        }
    }

    /// Moves along with the view.
    pub(super) fn follow(&mut self, motion: &Rigid) {
        for loose in self.frames.iter_mut().flat_map(|frame| &mut frame.loose) {
            loose.sighting.at = motion.apply(loose.sighting.at);
        }
    }

    /// Begins a frame.
    pub(super) fn next(&mut self, number: u64) {
        let mut frame =
            if self.frames.len() == FRAMES { self.frames.pop_back().unwrap_or_default() } else { Frame::default() };
        frame.loose.clear();
        frame.number = number;
        self.frames.push_front(frame);
    }

    /// Adds what nothing explains, by rising number. Of a crowd, only what is strong.
    pub(super) fn push(&mut self, loose: Loose, is_crowd: bool) {
        let space = &mut self.frames[0].loose;
        if space.len() < MOST && (!is_crowd || loose.sighting.strength > STRONG) {
            space.push(loose);
        }
    }

    /// Something is known now to stay where it is.
    pub(super) fn explain(&mut self, (frame, number): (u64, u32)) {
        let Some(frame) = self.frames.iter_mut().find(|past| past.number == frame) else { return };
        if let Ok(index) = frame.loose.binary_search_by_key(&number, |loose| loose.number) {
            frame.loose[index].is_explained = true;
        }
    }

    /// Begins paths with three in a row.
    pub(super) fn begin(&mut self, paths: &mut Vec<Path>, notes: &mut [Note]) {
        self.candidates.clear();
        if self.frames.len() < 3 {
            return;
        }
        let (now, one, two) = (&self.frames[0].loose, &self.frames[1].loose, &self.frames[2].loose);
        for (grid, loose) in self.grids.iter_mut().zip([one, two]) {
            grid.fill(loose.iter().map(|loose| loose.sighting.at));
        }
        for (third, c) in now.iter().enumerate() {
            self.grids[0].near(c.sighting.at, FASTEST, |second| {
                let b = &one[second];
                let distance = apart(c.sighting.at, b.sighting.at);
                if b.is_explained || distance < SLOWEST {
                    return;
                }
                let tolerance = 0.9 + 0.12 * distance;
                // The third may be so far off, of which the speed of all is half.
                let slowest = distance - 0.5 * tolerance;
                let pair = [&b.sighting, &c.sighting];
                if !may_begin(&pair, 1, slowest) || !alike(&c.sighting, &b.sighting) {
                    return;
                }
                let before = [0, 1].map(|axis| 2.0 * b.sighting.at[axis] - c.sighting.at[axis]);
                self.grids[1].near(before, tolerance, |first| {
                    let a = &two[first];
                    if a.is_explained || !alike(&a.sighting, &b.sighting) {
                        return;
                    }
                    if let Some(cost) = cost([&a.sighting, &b.sighting, &c.sighting]) {
                        self.candidates.push((cost, [first, second, third]));
                    }
                });
            });
        }
        self.candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for index in 0..self.candidates.len() {
            let (_, members) = self.candidates[index];
            let is_free =
                members.iter().zip([2, 1, 0]).all(|(&member, frame)| !self.frames[frame].loose[member].is_explained);
            if !is_free {
                continue;
            }
            let mut sightings = Vec::with_capacity(64);
            for (&member, frame) in members.iter().zip([2, 1, 0]) {
                let loose = &mut self.frames[frame].loose[member];
                loose.is_explained = true;
                sightings.push(loose.sighting);
            }
            notes[self.frames[0].loose[members[2]].number as usize].is_taken = true;
            let mut path = Path { sightings, missed: 0 };
            self.look_back(&mut path);
            paths.push(path);
        }
    }

    /// Adds earlier sightings to the beginning of a path.
    fn look_back(&mut self, path: &mut Path) {
        let mut missed = 0;
        for frame in self.frames.iter_mut().skip(3) {
            let (at, velocity) = path.look_back(frame.number);
            let speed = length(velocity);
            let light = path.first().light;
            let tolerance = 1.3 + 0.15 * speed;
            let near = frame.loose.iter_mut().filter(|loose| !loose.is_explained);
            let fits = near.filter(|loose| {
                let ratio = light / loose.sighting.light;
                (0.2..8.0).contains(&ratio) && apart(loose.sighting.at, at) <= tolerance
            });
            let nearest = fits.min_by(|a, b| apart(a.sighting.at, at).total_cmp(&apart(b.sighting.at, at)));
            match nearest {
                Some(loose) => {
                    loose.is_explained = true;
                    path.sightings.insert(0, loose.sighting);
                }
                None if missed == 0 => missed = 1,
                None => break,
            }
        }
    }
}

fn alike(a: &Sighting, b: &Sighting) -> bool {
    let ratio = a.light / b.light;
    (1.0 / MOST_RATIO..MOST_RATIO).contains(&ratio)
}

/// Whether sightings in a row may begin a path of this speed: so many of them are strong, and as long as what moves so is; at most
/// one lies where something flickers.
fn may_begin(sightings: &[&Sighting], many: usize, speed: f64) -> bool {
    let count = |is: &dyn Fn(&Sighting) -> bool| sightings.iter().filter(|&&sighting| is(sighting)).count();
    // What is fast is a streak: about as long as its way, of which an even light has a standard deviation of 0.29.
    let long = if speed > STREAK { 0.6 * (0.26 * speed).min(12.0) } else { 0.0 };
    count(&|sighting| sighting.strength >= STRONG) >= many
        && count(&|sighting| sighting.is_restless) <= 1
        && (speed <= STREAK || count(&|sighting| f64::from(sighting.length) > long) >= many)
}

/// How badly three in a row make a path; `None` if they make none.
fn cost(three: [&Sighting; 3]) -> Option<f64> {
    let (_, velocity) = line(&three.map(|sighting| *sighting), three[2].frame);
    let speed = length(velocity);
    let [a, b, c] = three.map(|sighting| sighting.at);
    let bend = apart(b, [0.5 * (a[0] + c[0]), 0.5 * (a[1] + c[1])]);
    if !may_begin(&three, 2, speed) || speed < SLOWEST {
        return None;
    }
    Some(bend / (0.5 + 0.06 * speed) + 0.02 * speed)
}
