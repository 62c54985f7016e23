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
struct Loose {
    /// Its place on the sky is that in its own picture.
    sighting: Sighting,
    /// See [`reach`].
    reach: f64,
    is_explained: bool,
}

#[derive(Debug, Clone)]
struct Frame {
    number: u64,
    /// Of the view since then.
    motion: Rigid,
    loose: Vec<Loose>,
    /// Their numbers among the components of the frame, which rise.
    numbers: Vec<u32>,
}

impl Frame {
    /// One of its sightings, with its place on the sky in the latest picture.
    fn sighting(&self, index: usize) -> Sighting {
        let sighting = self.loose[index].sighting;
        Sighting { at: self.motion.apply(sighting.at), ..sighting }
    }
}

/// The latest frames, the newest first.
#[derive(Debug, Clone)]
pub(super) struct Past {
    frames: VecDeque<Frame>,
    /// Those of the latest three, by place in their own pictures.
    places: [Grid; 3],
    candidates: Vec<(f64, [usize; 3])>,
}

impl Past {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            frames: VecDeque::with_capacity(FRAMES),
            places: [(); 3].map(|()| Grid::for_few_lookups(width, height)),
            candidates: Vec::new(),
        }
    }

    /// Moves along with the view.
    pub(super) fn follow(&mut self, motion: &Rigid) {
        self.frames.iter_mut().for_each(|frame| frame.motion = frame.motion.then(motion));
    }

    /// Begins a frame.
    pub(super) fn next(&mut self, number: u64) {
        let oldest = if self.frames.len() == FRAMES { self.frames.pop_back() } else { None };
        let (mut loose, mut numbers) = oldest.map(|frame| (frame.loose, frame.numbers)).unwrap_or_default();
        loose.clear();
        numbers.clear();
        self.frames.push_front(Frame { number, motion: Rigid::STILL, loose, numbers });
        self.places.rotate_right(1);
    }

    /// Adds what nothing explains, by rising number. Of a crowd, only what is strong.
    pub(super) fn push(&mut self, number: u32, sighting: Sighting, is_crowd: bool) {
        let Frame { loose, numbers, .. } = &mut self.frames[0];
        if loose.len() < MOST && (!is_crowd || sighting.strength > STRONG) {
            loose.push(Loose { sighting, reach: reach(&sighting), is_explained: false });
            numbers.push(number);
        }
    }

    /// Something is known now to stay where it is.
    pub(super) fn explain(&mut self, (frame, number): (u64, u32)) {
        let Some(frame) = self.frames.iter_mut().find(|past| past.number == frame) else { return };
        if let Ok(index) = frame.numbers.binary_search(&number) {
            frame.loose[index].is_explained = true;
        }
    }

    /// Looks for three in a row.
    fn find_candidates(&mut self) {
        self.candidates.clear();
        let [now, before, first] = &mut self.places;
        now.fill(self.frames[0].loose.iter().map(|loose| loose.sighting.at));
        let (latest, Some(one), Some(two)) = (&self.frames[0].loose, self.frames.get(1), self.frames.get(2)) else {
            return;
        };
        let mut look_at = |second: usize, third: usize| {
            let (b, c) = (&one.loose[second].sighting, &latest[third].sighting);
            let at = one.motion.apply(b.at);
            let distance = apart(c.at, at);
            let tolerance = 0.9 + 0.12 * distance;
            // The third may be so far off, of which the speed of all is half.
            let slowest = distance - 0.5 * tolerance;
            if distance < SLOWEST || !may_begin(&[b, c], 1, slowest) || !alike(c, b) {
                return;
            }
            let ahead = [0, 1].map(|axis| 2.0 * at[axis] - c.at[axis]);
            first.near(two.motion.undo(ahead), tolerance, |number| {
                let a = &two.loose[number];
                if a.is_explained || !alike(&a.sighting, b) {
                    return;
                }
                if let Some(cost) = cost([&two.sighting(number), &one.sighting(second), c]) {
                    self.candidates.push((cost, [number, second, third]));
                }
            });
        };
        // One of a pair at least is strong, and one as long as what moves so far is: each that is strong or long looks for the other
        // one.
        let leads = |loose: &Loose| loose.reach > 0.0 && !loose.is_explained;
        for (second, b) in one.loose.iter().enumerate().filter(|(_, loose)| leads(loose)) {
            now.near(one.motion.apply(b.sighting.at), b.reach, |third| look_at(second, third));
        }
        for (third, c) in latest.iter().enumerate().filter(|(_, loose)| leads(loose)) {
            let at = one.motion.undo(c.sighting.at);
            before.near(at, c.reach, |second| {
                let b = &one.loose[second];
                let has_looked = apart(b.sighting.at, at) <= b.reach;
                if !b.is_explained && !has_looked {
                    look_at(second, third);
                }
            });
        }
    }

    /// Begins paths with three in a row.
    pub(super) fn begin(&mut self, paths: &mut Vec<Path>, notes: &mut [Note]) {
        self.find_candidates();
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
                sightings.push(self.frames[frame].sighting(member));
                self.frames[frame].loose[member].is_explained = true;
            }
            notes[self.frames[0].numbers[members[2]] as usize].is_taken = true;
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
            let was_at = frame.motion.undo(at);
            let off = |index: usize| apart(frame.loose[index].sighting.at, was_at);
            let fits = (0..frame.loose.len()).filter(|&index| {
                let Loose { sighting, is_explained, .. } = &frame.loose[index];
                let ratio = light / sighting.light;
                !is_explained && (0.2..8.0).contains(&ratio) && off(index) <= tolerance
            });
            let nearest = fits.min_by(|&a, &b| off(a).total_cmp(&off(b)));
            match nearest {
                Some(index) => {
                    path.sightings.insert(0, frame.sighting(index));
                    frame.loose[index].is_explained = true;
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

/// The least length of what moves so fast: about as long as its way, of which an even light has a standard deviation of 0.29.
fn long(speed: f64) -> f64 {
    0.6 * (0.26 * speed).min(12.0)
}

/// How far from a strong or long sighting its neighbour in a path may be, unless that is longer; 0 for others.
fn reach(&Sighting { strength, length, .. }: &Sighting) -> f64 {
    let length = f64::from(length);
    if strength < STRONG && length <= long(STREAK) {
        return 0.0;
    }
    // By what `long` says of their least speed, which is less than their distance by 6 % and 0.45: with some room.
    let speed = (length / (0.6 * 0.26)).max(STREAK);
    if long(f64::INFINITY) < length { FASTEST } else { (speed / 0.94 + 0.5).min(FASTEST) }
}

/// Whether sightings in a row may begin a path of this speed: so many of them are strong, and as long as what moves so is; at most
/// one lies where something flickers.
fn may_begin(sightings: &[&Sighting], many: usize, speed: f64) -> bool {
    let count = |is: &dyn Fn(&Sighting) -> bool| sightings.iter().filter(|&&sighting| is(sighting)).count();
    // What is fast is a streak.
    let long = if speed > STREAK { long(speed) } else { 0.0 };
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
