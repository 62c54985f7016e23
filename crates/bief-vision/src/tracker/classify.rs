//! What something that moved is, by its behaviour.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::object::Object;
use super::path::{Sighting, line};
use crate::motion::length;
use crate::size::Size;

/// Seconds that a meteor lasts at most.
const LONGEST: f64 = 2.2;
/// Pixels per frame over the sky below which something long is a satellite.
const SLOW: f64 = 2.4;
/// Seconds from which on something slow, or of steady light, is a satellite.
const LONG: f64 = 0.8;
/// The share of its greatest light that something has at its ends at most, if it flared up and went out.
const ENDS: f32 = 0.5;
/// So many times wider than stars is an insect, out of focus.
const BLURRED: f32 = 2.2;
/// Bending aside, as a share of the way, that no meteor has.
const BENT: f64 = 0.035;
/// So many times the light of clutter is none.
const CLEAR: f32 = 1.6;
/// Pixels per frame below which something of steady light is a satellite, if it is seen often enough to tell its light.
const STEADY: f64 = 4.0;
const TOLD: usize = 6;
/// The share of its greatest light that it has at both ends, then.
const EVEN: f32 = 0.6;
/// The share that something has at both ends if it comes out of the dark and goes back, or a bird does.
const LIT: f32 = 0.75;
/// Pixels that it moves in the picture, at least: else it is on the sensor.
const LEAST_WAY: f64 = 4.0;

/// What a track is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Flares up and goes out on a straight way.
    Meteor,
    /// Steady or slow, and long.
    Satellite,
    /// Several lights side by side, or strobes, for long.
    Plane,
    /// Large, blurred, or on a bent way.
    Insect,
    /// Nothing: it rests on the sensor, or flickers.
    Noise,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Meteor, Self::Satellite, Self::Plane, Self::Insect, Self::Noise];

    /// As in files: `meteor`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meteor => "meteor",
            Self::Satellite => "satellite",
            Self::Plane => "plane",
            Self::Insect => "insect",
            Self::Noise => "noise",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an object is; `None` if there is too little of it to be anything. `goes_on`: something flies on where it ended.
pub(super) fn classify(
    object: &Object,
    goes_on: bool,
    size: Size,
    frames_per_second: f64,
    width_of_stars: f32,
) -> Option<Kind> {
    let all = &object.path.sightings;
    let seen: Vec<&Sighting> = all.iter().filter(|sighting| !sighting.is_repeated).collect();
    let count = seen.len();
    let strong = seen.iter().filter(|sighting| sighting.strength >= 1.6).count();
    let (first, last) = (seen[0], seen[count - 1]);
    let frames = (last.frame - first.frame + 1) as f64;
    let (_, velocity) = line(all, last.frame);
    let speed = length(velocity);
    let way = (last.x - first.x).hypot(last.y - first.y);
    let covered = object.path.covered();
    let long_streaks = seen.iter().filter(|sighting| f64::from(sighting.length) > 0.15 * speed.min(30.0)).count();
    let is_streak = speed > 7.0 && long_streaks * 3 >= count * 2;
    if count < 3 || strong < 3 || count < 4 && !is_streak {
        return None;
    }
    // Of chance, most of it is as faint as clutter is.
    let clear = seen.iter().filter(|sighting| sighting.clear > CLEAR).count();
    if clear < 3 || 2 * clear < count {
        return Some(Kind::Noise);
    }
    if way < LEAST_WAY || covered < LEAST_WAY {
        return Some(Kind::Noise);
    }
    let restless = seen.iter().filter(|sighting| sighting.is_restless).count();
    if 2 * restless > count {
        return Some(Kind::Noise);
    }
    let mut widths: Vec<f32> = seen.iter().map(|sighting| sighting.width).collect();
    widths.sort_unstable_by(f32::total_cmp);
    if widths[count / 2] > BLURRED * width_of_stars.max(0.8) {
        return Some(Kind::Insect);
    }
    let (aside, jitter) = bend(&seen);
    if aside > 1.0 + BENT * covered {
        return Some(Kind::Insect);
    }
    if jitter > 0.8 + 0.06 * speed {
        return Some(Kind::Noise);
    }
    let is_long = frames > LONGEST * frames_per_second || goes_on;
    let light = light_curve(&seen);
    // Meteors of a shower may fly side by side, too, but each flares up and goes out.
    let flares = light.begin < ENDS && light.end < ENDS && light.strobes == 0;
    if object.has_companion && (is_long || speed < 8.0 && !flares) {
        return Some(Kind::Plane);
    }
    if is_long {
        return Some(if light.strobes > 1 { Kind::Plane } else { Kind::Satellite });
    }
    let seconds = frames / frames_per_second;
    let at_border = |sighting: &Sighting| {
        let margin = 6.0 + 1.5 * speed;
        let inside = |place: f64, side: usize| (margin..side as f64 - margin).contains(&place);
        !inside(sighting.x, size.width()) || !inside(sighting.y, size.height())
    };
    let begins = light.begin < ENDS || at_border(first) || object.is_cut;
    let ends = light.end < ENDS || at_border(last) || object.is_cut;
    if seconds > LONG && speed < SLOW {
        return Some(Kind::Satellite);
    }
    if seconds > LONG && !(begins || ends) {
        return Some(if light.strobes > 1 { Kind::Plane } else { Kind::Satellite });
    }
    let is_whole = !at_border(first) && !at_border(last) && !object.is_cut;
    if is_whole && count >= 8 && light.begin > LIT && light.end > LIT {
        return Some(Kind::Satellite);
    }
    let is_even = count >= TOLD && light.begin > EVEN && light.end > EVEN;
    if speed < 1.5 || speed < STEADY && is_even {
        return Some(Kind::Satellite);
    }
    Some(Kind::Meteor)
}

/// How far the way bends aside of a line between its ends, by a parabola, and how far sightings lie aside of that, on average; in
/// pixels.
fn bend(seen: &[&Sighting]) -> (f64, f64) {
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    let way = [last.at[0] - first.at[0], last.at[1] - first.at[1]];
    let length = length(way).max(1e-9);
    let aside = |sighting: &Sighting| {
        let (x, y) = (sighting.at[0] - first.at[0], sighting.at[1] - first.at[1]);
        ((x * way[0] + y * way[1]) / length, (y * way[0] - x * way[1]) / length)
    };
    // Least squares of c0 + c1 u + c2 u² in the way u from -1 to 1.
    let mut sums = [0.0; 5];
    let mut right = [0.0; 3];
    for &sighting in seen {
        let (along, across) = aside(sighting);
        let u = 2.0 * along / length - 1.0;
        let mut power = 1.0;
        for (order, sum) in sums.iter_mut().enumerate() {
            *sum += power;
            if order < 3 {
                right[order] += power * across;
            }
            power *= u;
        }
    }
    let [c0, c1, c2] = solve(sums, right);
    let mut off = 0.0;
    for &sighting in seen {
        let (along, across) = aside(sighting);
        let u = 2.0 * along / length - 1.0;
        off += (across - c0 - c1 * u - c2 * u * u).abs();
    }
    // The parabola is highest in the middle.
    (if seen.len() < 5 { 0.0 } else { c2.abs() }, off / seen.len() as f64)
}

/// Solves the normal equations of a parabola; a line where they have no solution.
fn solve([s0, s1, s2, s3, s4]: [f64; 5], [r0, r1, r2]: [f64; 3]) -> [f64; 3] {
    let determinant = s0 * (s2 * s4 - s3 * s3) - s1 * (s1 * s4 - s3 * s2) + s2 * (s1 * s3 - s2 * s2);
    if determinant.abs() < 1e-9 * s0.powi(3) {
        return [r0 / s0, 0.0, 0.0];
    }
    [
        (r0 * (s2 * s4 - s3 * s3) - s1 * (r1 * s4 - s3 * r2) + s2 * (r1 * s3 - s2 * r2)) / determinant,
        (s0 * (r1 * s4 - s3 * r2) - r0 * (s1 * s4 - s3 * s2) + s2 * (s1 * r2 - r1 * s2)) / determinant,
        (s0 * (s2 * r2 - r1 * s3) - s1 * (s1 * r2 - r1 * s2) + r0 * (s1 * s3 - s2 * s2)) / determinant,
    ]
}

/// Light at both ends, over the greatest, and how often single frames flash.
struct LightCurve {
    begin: f32,
    end: f32,
    strobes: usize,
}

fn light_curve(seen: &[&Sighting]) -> LightCurve {
    let mut sorted: Vec<f32> = seen.iter().map(|sighting| sighting.light).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    // Strobes do not count.
    let greatest = sorted[(sorted.len() * 9 / 10).min(sorted.len() - 1)].max(1e-6);
    let median = sorted[sorted.len() / 2];
    let ends = (seen.len() / 6).clamp(1, 3);
    let mean = |part: &[&Sighting]| part.iter().map(|sighting| sighting.light).sum::<f32>() / part.len() as f32;
    let flashes = seen.windows(5).filter(|five| {
        let light = five[2].light;
        light > 2.0 * median && light > 1.8 * five[0].light && light > 1.8 * five[4].light
    });
    LightCurve {
        begin: mean(&seen[..ends]) / greatest,
        end: mean(&seen[seen.len() - ends..]) / greatest,
        strobes: flashes.count(),
    }
}
