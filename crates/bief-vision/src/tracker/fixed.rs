//! What stays where it is: stars on the sky, hot pixels on the sensor.

use crate::grid::Grid;

/// How often something is seen at its place before it counts as fixed there.
pub(super) const FIXED: u32 = 3;
/// The share of a new place that a known one moves by.
const CORRECTION: f64 = 0.3;
/// The most that are kept: then those that were seen least go.
const MOST: usize = 40_000;

/// Something that stays where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixture {
    pub(super) at: [f64; 2],
    pub(super) light: f32,
    pub(super) seen: u32,
    pub(super) missed: u32,
    /// The frame in which it was first seen, and its number among the loose ones there.
    pub(super) origin: (u64, u32),
}

/// Things that stay where they are.
#[derive(Debug, Clone, Default)]
pub(super) struct Fixtures(pub(super) Vec<Fixture>);

impl Fixtures {
    /// The component that each one is seen as, if it is there: the nearest within a distance.
    pub(super) fn find(&mut self, grid: &Grid, distance: f64, found: &mut Vec<Option<usize>>) {
        found.clear();
        found.extend(self.0.iter().map(|fixture| grid.nearest(fixture.at, distance).map(|(index, _)| index)));
    }

    /// It was seen there.
    pub(super) fn seen(&mut self, index: usize, at: [f64; 2], light: f32) {
        let fixture = &mut self.0[index];
        let share = CORRECTION.max(1.0 / f64::from(fixture.seen + 1));
        for (known, new) in fixture.at.iter_mut().zip(at) {
            *known += share * (new - *known);
        }
        fixture.light += share as f32 * (light - fixture.light);
        fixture.seen += 1;
        fixture.missed = 0;
    }

    /// Something new.
    pub(super) fn add(&mut self, at: [f64; 2], light: f32, origin: (u64, u32)) {
        if self.0.len() < MOST {
            self.0.push(Fixture { at, light, seen: 1, missed: 0, origin });
        }
    }

    /// Forgets what was not seen for long, for its age, and what is outside of the picture.
    pub(super) fn forget(&mut self, width: f64, height: f64) {
        self.0.retain(|fixture| {
            let patience = if fixture.seen < FIXED { 3 } else { (2 * fixture.seen).min(40) };
            let [x, y] = fixture.at;
            let is_near = (-30.0..width + 30.0).contains(&x) && (-30.0..height + 30.0).contains(&y);
            fixture.missed <= patience && is_near
        });
    }
}
