//! What nothing explains, of the latest frames, and the paths that begin there.

use std::collections::VecDeque;

use super::path::{Path, Sighting, line};
use super::{Note, place};
use crate::component::Component;
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
/// As far as most look for their neighbours in a path.
const NEAR: f64 = 10.0;
/// Speed from which on what moves is a streak.
const STREAK: f64 = 7.0;

/// A component that nothing explains. Thousands of them are remembered, of which few become sightings: it is as small as it can be.
#[derive(Debug, Clone, Copy)]
struct Loose {
    /// What it is beyond the stars in it.
    component: Component,
    /// Its number among the components of the frame.
    number: u32,
    /// Standard deviation of its light along its longer axis, in pixels.
    length: f32,
    is_restless: bool,
    is_explained: bool,
}

impl Loose {
    fn is_strong(&self) -> bool {
        self.component.strength >= STRONG
    }

    /// Whether it looks for a neighbour: it is strong, or as long as what is a streak.
    fn leads(&self) -> bool {
        !self.is_explained && (self.is_strong() || f64::from(self.length) > long(STREAK))
    }

    /// How far from one that leads its neighbour in a path may be, unless that is longer.
    fn reach(&self) -> f64 {
        /// By what [`long`] says of their least speed, which is less than their distance by 6 % and 0.45: with some room.
        const PER_LENGTH: f64 = 1.0 / (0.6 * 0.26 * 0.94);
        let length = f64::from(self.length);
        let reach = (length * PER_LENGTH).max(STREAK / 0.94) + 0.5;
        if long(f64::INFINITY) < length { FASTEST } else { reach.min(FASTEST) }
    }
}

#[derive(Debug, Clone)]
struct Frame {
    number: u64,
    time_us: i64,
    /// Light of what nothing explained, before.
    clutter: f32,
    /// Of the view since then.
    motion: Rigid,
    loose: Vec<Loose>,
}

impl Frame {
    /// One of its sightings, with its place on the sky in the latest picture.
    fn sighting(&self, index: usize) -> Sighting {
        let Loose { component, is_restless, .. } = &self.loose[index];
        let at = place(component);
        let sighting = Sighting::of(component, at, self.number, self.time_us, *is_restless).over(self.clutter);
        Sighting { at: self.motion.apply(at), ..sighting }
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
            places: [(); 3].map(|()| Grid::for_lookups(width, height, NEAR)),
            candidates: Vec::new(),
        }
    }

    /// Moves along with the view.
    pub(super) fn follow(&mut self, motion: &Rigid) {
        self.frames.iter_mut().for_each(|frame| frame.motion = frame.motion.then(motion));
    }

    /// Begins a frame, with clutter of this light.
    pub(super) fn next(&mut self, number: u64, time_us: i64, clutter: f32) {
        let oldest = if self.frames.len() == FRAMES { self.frames.pop_back() } else { None };
        let mut loose = oldest.map(|frame| frame.loose).unwrap_or_default();
        loose.clear();
        self.frames.push_front(Frame { number, time_us, clutter, motion: Rigid::STILL, loose });
        self.places.rotate_right(1);
    }

    /// Adds what nothing explains, the component of this number; of a crowd, only what is strong. Answers its number among the loose
    /// ones of the frame.
    pub(super) fn push(&mut self, number: u32, component: Component, is_restless: bool, is_crowd: bool) -> Option<u32> {
        let loose = &mut self.frames[0].loose;
        let is_kept = loose.len() < MOST && (!is_crowd || component.strength > STRONG);
        is_kept.then(|| {
            let (length, _) = component.axes();
            loose.push(Loose { component, number, length, is_restless, is_explained: false });
            loose.len() as u32 - 1
        })
    }

    /// A loose one is known now to stay where it is.
    pub(super) fn explain(&mut self, (frame, loose): (u64, Option<u32>)) {
        let frame = self.frames.iter_mut().find(|past| past.number == frame);
        if let Some((frame, loose)) = frame.zip(loose) {
            frame.loose[loose as usize].is_explained = true;
        }
    }

    /// Looks for three in a row.
    fn find_candidates(&mut self) {
        self.candidates.clear();
        let [now, before, first] = &mut self.places;
        now.fill(self.frames[0].loose.iter().map(|loose| place(&loose.component)));
        let (latest, Some(one), Some(two)) = (&self.frames[0], self.frames.get(1), self.frames.get(2)) else {
            return;
        };
        let mut look_at = |second: usize, third: usize| {
            let (b, c) = (&one.loose[second], &latest.loose[third]);
            let (at, now_at) = (one.motion.apply(place(&b.component)), place(&c.component));
            let distance = apart(now_at, at);
            let tolerance = 0.9 + 0.12 * distance;
            // The third may be so far off, of which the speed of all is half.
            let slowest = distance - 0.5 * tolerance;
            if distance < SLOWEST || !may_begin(&[b, c], 1, slowest) || !alike(c, b) {
                return;
            }
            let ahead = [0, 1].map(|axis| 2.0 * at[axis] - now_at[axis]);
            first.near(two.motion.undo(ahead), tolerance, |number| {
                let a = &two.loose[number];
                if a.is_explained || !alike(a, b) {
                    return;
                }
                let sightings = [two.sighting(number), one.sighting(second), latest.sighting(third)];
                if let Some(cost) = cost([a, b, c], &sightings) {
                    self.candidates.push((cost, [number, second, third]));
                }
            });
        };
        // One of a pair at least is strong, and one as long as what moves so far is: each that is strong or long looks for the other
        // one.
        for (second, b) in one.loose.iter().enumerate().filter(|(_, loose)| loose.leads()) {
            now.near(one.motion.apply(place(&b.component)), b.reach(), |third| look_at(second, third));
        }
        for (third, c) in latest.loose.iter().enumerate().filter(|(_, loose)| loose.leads()) {
            let at = one.motion.undo(place(&c.component));
            before.near(at, c.reach(), |second| {
                let b = &one.loose[second];
                let has_looked = b.leads() && apart(place(&b.component), at) <= b.reach();
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
            let was_at = frame.motion.undo(at);
            let off = |index: usize| apart(place(&frame.loose[index].component), was_at);
            let fits = (0..frame.loose.len()).filter(|&index| {
                let Loose { component, is_explained, .. } = &frame.loose[index];
                let ratio = light / component.light;
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

fn alike(a: &Loose, b: &Loose) -> bool {
    let ratio = a.component.light / b.component.light;
    (1.0 / MOST_RATIO..MOST_RATIO).contains(&ratio)
}

/// The least length of what moves so fast: about as long as its way, of which an even light has a standard deviation of 0.29.
fn long(speed: f64) -> f64 {
    0.6 * (0.26 * speed).min(12.0)
}

/// Whether some in a row may begin a path of this speed: so many of them are strong, and as long as what moves so is; at most one lies
/// where something flickers.
fn may_begin(row: &[&Loose], many: usize, speed: f64) -> bool {
    let count = |is: &dyn Fn(&Loose) -> bool| row.iter().filter(|&&loose| is(loose)).count();
    // What is fast is a streak.
    let long = if speed > STREAK { long(speed) } else { 0.0 };
    count(&Loose::is_strong) >= many
        && count(&|loose| loose.is_restless) <= 1
        && (speed <= STREAK || count(&|loose| f64::from(loose.length) > long) >= many)
}

/// How badly three in a row make a path; `None` if they make none.
fn cost(three: [&Loose; 3], sightings: &[Sighting; 3]) -> Option<f64> {
    let (_, velocity) = line(sightings, sightings[2].frame);
    let speed = length(velocity);
    let [a, b, c] = sightings.map(|sighting| sighting.at);
    let bend = apart(b, [0.5 * (a[0] + c[0]), 0.5 * (a[1] + c[1])]);
    if !may_begin(&three, 2, speed) || speed < SLOWEST {
        return None;
    }
    Some(bend / (0.5 + 0.06 * speed) + 0.02 * speed)
}
