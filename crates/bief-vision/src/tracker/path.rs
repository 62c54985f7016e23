//! Something that moves over the sky: where it was seen, and where it will be.

use serde::Serialize;

use crate::component::Component;
use crate::motion::{Rigid, apart};

/// Sightings that tell velocity.
const RECENT: usize = 6;

/// Something seen, or known to have been there, in one frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sighting {
    /// The frame, from 0.
    pub frame: u64,
    /// Microseconds since the first frame, or since 1970 by the camera's clock.
    pub time_us: i64,
    /// Middle of its light, in pixels of its frame.
    pub x: f64,
    /// Middle of its light.
    pub y: f64,
    /// The sum of grey levels above the sky.
    pub light: f32,
    /// The brightest pixel above the sky, in grey levels.
    pub peak: f32,
    /// The brightest pixel over what was asked for.
    pub strength: f32,
    /// Standard deviations of its light along its path's longer and shorter axis, in pixels.
    pub length: f32,
    /// As `length`, across.
    pub width: f32,
    /// Not seen in this frame: between the places before and after.
    pub is_between: bool,
    /// The frame shows what the one before showed.
    pub is_repeated: bool,
    /// Where it is on the sky: in pixels of the latest frame.
    #[serde(skip)]
    pub(crate) at: [f64; 2],
    /// It was seen where something flickers all the time.
    #[serde(skip)]
    pub(crate) is_restless: bool,
    /// Light over that of clutter in its frame.
    #[serde(skip)]
    pub(crate) clear: f32,
}

impl Sighting {
    pub(super) fn of(component: &Component, place: [f64; 2], frame: u64, time_us: i64, is_restless: bool) -> Self {
        let (length, width) = component.axes();
        Self {
            frame,
            time_us,
            x: place[0],
            y: place[1],
            light: component.light,
            peak: component.peak,
            strength: component.strength,
            length,
            width,
            is_between: false,
            is_repeated: false,
            at: place,
            is_restless,
            clear: f32::INFINITY,
        }
    }

    /// The same, in a frame with clutter of this light.
    pub(super) fn over(self, clutter: f32) -> Self {
        Self { clear: self.light / clutter.max(1.0), ..self }
    }
}

/// What moves, as long as it is seen.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) sightings: Vec<Sighting>,
    pub(super) missed: u32,
}

impl Path {
    pub(super) fn first(&self) -> &Sighting {
        &self.sightings[0]
    }

    pub(super) fn last(&self) -> &Sighting {
        &self.sightings[self.sightings.len() - 1]
    }

    /// Moves along with the view.
    pub(super) fn follow(&mut self, motion: &Rigid) {
        self.sightings.iter_mut().for_each(|sighting| sighting.at = motion.apply(sighting.at));
    }

    /// Place at a frame and velocity, by a line through the latest sightings.
    pub(super) fn predict(&self, frame: u64) -> ([f64; 2], [f64; 2]) {
        line(&self.sightings[self.sightings.len().saturating_sub(RECENT)..], frame)
    }

    /// Place at an earlier frame and velocity, by a line through the first sightings.
    pub(super) fn look_back(&self, frame: u64) -> ([f64; 2], [f64; 2]) {
        line(&self.sightings[..self.sightings.len().min(RECENT)], frame)
    }

    /// The median of its light.
    pub(super) fn usual_light(&self) -> f32 {
        let mut lights: Vec<f32> = self.sightings.iter().map(|sighting| sighting.light).collect();
        let middle = lights.len() / 2;
        *lights.select_nth_unstable_by(middle, f32::total_cmp).1
    }

    /// How far it came over the sky, from first to last.
    pub(super) fn covered(&self) -> f64 {
        apart(self.first().at, self.last().at)
    }
}

/// The line through sightings, by least squares: place at a frame, and pixels per frame.
pub(super) fn line(sightings: &[Sighting], frame: u64) -> ([f64; 2], [f64; 2]) {
    let used = || sightings.iter().filter(|sighting| !sighting.is_repeated);
    let count = used().count().max(1) as f64;
    let of = |sighting: &Sighting| sighting.frame as f64 - frame as f64;
    let mean = used().map(of).sum::<f64>() / count;
    let spread: f64 = used().map(|sighting| (of(sighting) - mean).powi(2)).sum();
    let mut place = [0.0; 2];
    let mut velocity = [0.0; 2];
    for axis in 0..2 {
        let middle = used().map(|sighting| sighting.at[axis]).sum::<f64>() / count;
        if spread > 0.0 {
            let slope: f64 = used().map(|sighting| (of(sighting) - mean) * (sighting.at[axis] - middle)).sum();
            velocity[axis] = slope / spread;
        }
        place[axis] = middle - mean * velocity[axis];
    }
    (place, velocity)
}
