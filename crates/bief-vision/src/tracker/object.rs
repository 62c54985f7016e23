//! Paths that have ended: pieces of one object are put together, and wait until nothing more can come of it.

use serde::Serialize;

use super::classify::{Kind, classify};
use super::path::{Path, Sighting, line};
use crate::motion::{Rigid, apart, length};
use crate::size::Size;

/// Frames after which no further piece of an object is waited for.
const PATIENCE: u64 = 25;
/// Frames between two pieces that are filled in, at most: over a longer gap, nothing is known of it.
const FILLED: u64 = 6;
/// How far apart the lights of one aeroplane are, at most, in pixels.
const COMPANION: f64 = 45.0;
/// The cosine of the angle between the ways of two parts of one thing, at least.
const SAME_WAY: f64 = 0.85;
/// Pixels over the sky that what has parts covers, at least.
const MOVED: f64 = 20.0;
/// Frames that two lights are seen together, at least.
const TOGETHER: usize = 6;
/// The fainter light of two over the brighter one, at least.
const COMPARABLE: f32 = 0.1;

/// Something that moved over the sky, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Track {
    /// Its number, from 1, in the order in which tracks became complete.
    pub id: u64,
    /// What it is.
    pub kind: Kind,
    /// Pixels per frame over the sky.
    pub speed: f64,
    /// The direction in which it moves, in degrees from x towards y, 0 to 360.
    pub direction: f64,
    /// One for each frame from the first to the last, in order.
    pub sightings: Vec<Sighting>,
}

impl Track {
    /// The first frame.
    pub fn begin(&self) -> u64 {
        self.sightings.first().map_or(0, |sighting| sighting.frame)
    }

    /// The last frame.
    pub fn end(&self) -> u64 {
        self.sightings.last().map_or(0, |sighting| sighting.frame)
    }

    /// The light of the brightest frame: grey levels above the sky.
    pub fn light(&self) -> f32 {
        self.sightings.iter().filter(|sighting| !sighting.is_between).map(|sighting| sighting.light).fold(0.0, f32::max)
    }
}

/// A part of pictures: first column and row, columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The size of the pictures.
    pub of: Size,
    /// First column.
    pub left: usize,
    /// First row.
    pub top: usize,
    /// Columns, 1 or more.
    pub width: usize,
    /// Rows, 1 or more.
    pub height: usize,
}

impl Track {
    /// The part of pictures of this size in which it is seen, with so many pixels around.
    pub fn area(&self, of: Size, margin: f64) -> Area {
        let side = |place: fn(&Sighting) -> f64, side: usize| {
            let places = || self.sightings.iter().map(place);
            let within = |place: f64| place.clamp(0.0, (side - 1) as f64) as usize;
            let first = within(places().fold(f64::INFINITY, f64::min) - margin);
            (first, within((places().fold(0.0, f64::max) + margin).ceil()) + 1 - first)
        };
        let (left, width) = side(|sighting| sighting.x, of.width());
        let (top, height) = side(|sighting| sighting.y, of.height());
        Area { of, left, top, width, height }
    }
}

/// Something whose pieces are collected.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) path: Path,
    /// Frames in which another one flew beside it.
    pub(super) has_companion: bool,
    /// Pieces of it.
    pub(super) pieces: u32,
    /// It was there when the video began, or ended.
    pub(super) is_cut: bool,
    /// It has its kind, and stays for those that it is the greater part of.
    is_done: bool,
}

/// Objects of which more may come, and tracks that are complete.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    size: Size,
    frames_per_second: f64,
    waiting: Vec<Object>,
    complete: Vec<Track>,
    next_id: u64,
}

impl Objects {
    pub(super) fn new(size: Size, frames_per_second: f64) -> Self {
        Self { size, frames_per_second, waiting: Vec::new(), complete: Vec::new(), next_id: 1 }
    }

    /// Moves along with the view.
    pub(super) fn follow(&mut self, motion: &Rigid) {
        self.waiting.iter_mut().for_each(|object| object.path.follow(motion));
    }

    /// A path has ended: it goes on another one, or is a new object.
    pub(super) fn add(&mut self, mut path: Path, is_cut: bool) {
        while path.sightings.last().is_some_and(|last| last.is_repeated) {
            path.sightings.pop();
        }
        if path.sightings.len() < 3 {
            return;
        }
        for other in &mut self.waiting {
            if fly_together(&other.path, &path) {
                other.has_companion = true;
            }
        }
        let has_companion = self.waiting.iter().any(|other| fly_together(&other.path, &path));
        let earlier = self.waiting.iter().position(|object| !object.is_done && goes_on(&object.path, &path));
        if let Some(index) = earlier {
            let object = &mut self.waiting[index];
            object.path.sightings.append(&mut path.sightings);
            object.has_companion |= has_companion;
            object.pieces += 1;
            object.is_cut |= is_cut;
            return;
        }
        let is_cut = is_cut || path.first().frame <= 1;
        self.waiting.push(Object { path, has_companion, pieces: 1, is_cut, is_done: false });
    }

    /// Gives a kind to the objects of which nothing more is to come.
    pub(super) fn complete(&mut self, frame: u64, flying: &[Path], width_of_stars: f32) {
        let mut index = 0;
        while index < self.waiting.len() {
            let object = &mut self.waiting[index];
            let since = frame.saturating_sub(object.path.last().frame);
            if since > 2 * PATIENCE && object.is_done {
                self.waiting.remove(index);
                continue;
            }
            index += 1;
            if since <= PATIENCE || object.is_done {
                continue;
            }
            object.is_done = true;
            object.has_companion |= flying.iter().any(|path| fly_together(path, &object.path));
            let object = &self.waiting[index - 1];
            let others = self.waiting.iter().map(|other| &other.path).chain(flying);
            if others.into_iter().any(|other| is_part(&object.path, other)) {
                continue;
            }
            let later = flying.iter().any(|path| path.sightings.len() >= 5 && goes_on(&object.path, path));
            let kind = classify(object, later, self.size, self.frames_per_second, width_of_stars);
            let Some(kind) = kind else { continue };
            let ([_, _], velocity) = line(&object.path.sightings, object.path.last().frame);
            self.complete.push(Track {
                id: self.next_id,
                kind,
                speed: length(velocity),
                direction: velocity[1].atan2(velocity[0]).to_degrees().rem_euclid(360.0),
                sightings: filled(&object.path.sightings),
            });
            self.next_id += 1;
        }
    }

    /// The tracks that are complete.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Track> {
        std::mem::take(&mut self.complete).into_iter()
    }
}

/// Whether a path is where an earlier one leads, at its speed.
fn goes_on(earlier: &Path, path: &Path) -> bool {
    let (last, first) = (earlier.last(), path.first());
    if first.frame <= last.frame || first.frame - last.frame > PATIENCE {
        return false;
    }
    let (ahead, velocity) = earlier.predict(first.frame);
    let (_, later) = path.look_back(first.frame);
    let speed = length(velocity);
    let gap = (first.frame - last.frame) as f64;
    let off = apart(ahead, first.at);
    // Few sightings do not tell a velocity well.
    let known = earlier.sightings.len().min(path.sightings.len());
    let share = if known < 5 { 0.4 } else { 0.25 };
    off < 3.0 + 0.3 * speed + 0.12 * speed * gap && apart(velocity, later) < 0.6 + share * speed
}

/// Whether two paths are two lights of one thing: side by side for some frames, at one speed.
fn fly_together(a: &Path, b: &Path) -> bool {
    let mut together = 0;
    let mut shift = [0.0; 2];
    let mut spread = 0.0_f64;
    for sighting in &a.sightings {
        let Some(other) = b.sightings.iter().find(|other| other.frame == sighting.frame) else { continue };
        let apart = [other.at[0] - sighting.at[0], other.at[1] - sighting.at[1]];
        if together == 0 {
            shift = apart;
        }
        spread = spread.max(length([apart[0] - shift[0], apart[1] - shift[1]]));
        together += 1;
    }
    let covered = a.covered().min(b.covered());
    let (first, second) = (a.usual_light(), b.usual_light());
    together >= TOGETHER
        && first.min(second) > COMPARABLE * first.max(second)
        && length(shift) < COMPANION
        && spread < 2.0 + 0.15 * covered
}

/// Whether a path is a part of a longer one: a strobe beside the steady lights of an aeroplane, a piece of a meteor's train.
fn is_part(path: &Path, longer: &Path) -> bool {
    let is_short = path.sightings.len() * 3 <= longer.sightings.len() * 2;
    if !is_short || longer.covered() < MOVED || longer.usual_light() < COMPARABLE * path.usual_light() {
        return false;
    }
    let (_, velocity) = path.predict(path.last().frame);
    let (_, other) = line(&longer.sightings, path.last().frame);
    let product = velocity[0] * other[0] + velocity[1] * other[1];
    if product < SAME_WAY * length(velocity) * length(other) {
        return false;
    }
    let beside = path.sightings.iter().filter(|sighting| {
        let other = longer.sightings.iter().find(|other| other.frame == sighting.frame);
        other.is_some_and(|other| apart(other.at, sighting.at) < COMPANION)
    });
    beside.count() * 3 >= path.sightings.len() * 2
}

/// Sightings for the frames between, on a line from the one before to the one after.
fn filled(sightings: &[Sighting]) -> Vec<Sighting> {
    let mut filled: Vec<Sighting> = Vec::with_capacity(sightings.len());
    for sighting in sightings {
        if let Some(&before) = filled.last() {
            let gap = sighting.frame - before.frame;
            for frame in before.frame + 1..sighting.frame {
                if gap > FILLED {
                    break;
                }
                let share = (frame - before.frame) as f64 / gap as f64;
                let between = |from: f64, to: f64| from + share * (to - from);
                filled.push(Sighting {
                    frame,
                    time_us: between(before.time_us as f64, sighting.time_us as f64) as i64,
                    x: between(before.x, sighting.x),
                    y: between(before.y, sighting.y),
                    light: 0.0,
                    peak: 0.0,
                    strength: 0.0,
                    is_between: true,
                    is_repeated: false,
                    ..*sighting
                });
            }
        }
        filled.push(*sighting);
    }
    filled
}
