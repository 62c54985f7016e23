//! Tracks as text: a table with a line per sighting, and the forms that FMDT writes.

use std::fmt::Write;

use crate::tracker::{Kind, Sighting, Track};

/// The magnitude of a light of one grey level.
const ZERO_POINT: f32 = 9.0;

/// The first line of the table: what its columns are.
pub const TABLE_HEADER: &str = "track,type,frame,x,y,time,magnitude,light,peak,between\n";

impl Sighting {
    /// Instrumental magnitude: 9 for a light of one grey level, less for more; `None` if it was not seen in this frame.
    pub fn magnitude(&self) -> Option<f32> {
        (!self.is_between && self.light > 0.0).then(|| ZERO_POINT - 2.5 * self.light.log10())
    }
}

impl Track {
    /// Instrumental magnitude of its brightest frame.
    pub fn magnitude(&self) -> Option<f32> {
        self.sightings.iter().filter_map(Sighting::magnitude).reduce(f32::min)
    }
}

/// A track's lines of the table, under [`TABLE_HEADER`]. Frames count from 0; places are in pixels from the middle of the first one;
/// time is in seconds.
///
/// ```
/// # use bief_vision::{Component, Size, Tracker};
/// # let mut tracker = Tracker::new(Size::new(640, 480)?, 25.0);
/// # let spot = |x: f32| Component { x, y: 200.0, light: 800.0, peak: 90.0, strength: 9.0, xx: 1.5, yy: 1.5, ..Component::default() };
/// # for frame in 0..12 { tracker.follow(&[spot(100.0 + 5.0 * frame as f32)], frame, 0).for_each(drop); }
/// # let track = tracker.finish().next().unwrap();
/// let rows = bief_vision::table_rows(&track);
/// assert!(rows.starts_with("1,meteor,0,100.00,200.00,0.000000,1.74,800,90,0\n"), "{rows}");
/// # Ok::<(), bief::Error>(())
/// ```
pub fn table_rows(track: &Track) -> String {
    let mut rows = String::new();
    for sighting in &track.sightings {
        let Sighting { frame, x, y, time_us, light, peak, is_between, .. } = *sighting;
        let magnitude = sighting.magnitude().map_or_else(String::new, |magnitude| format!("{magnitude:.2}"));
        let seconds = format!(
            "{}{}.{:06}",
            if time_us < 0 { "-" } else { "" },
            time_us.unsigned_abs() / 1_000_000,
            time_us.unsigned_abs() % 1_000_000
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            rows,
            "{},{},{frame},{x:.2},{y:.2},{seconds},{magnitude},{light:.0},{peak:.0},{}",
            track.id,
            track.kind,
            u8::from(is_between)
        );
    }
    rows
}

/// A track as a line of FMDT's table of tracks: number, first and last frame with their places, type.
pub fn fmdt_track(track: &Track) -> String {
    let (Some(first), Some(last)) = (track.sightings.first(), track.sightings.last()) else { return String::new() };
    format!(
        " {:5} || {:7} | {:6.1} | {:6.1} || {:7} | {:6.1} | {:6.1} || {:>8} \n",
        track.id,
        first.frame,
        first.x,
        first.y,
        last.frame,
        last.x,
        last.y,
        fmdt_kind(track.kind)
    )
}

/// A track's boxes, as FMDT's `fmdt-visu` reads them: frame, half width, half height, x, y, track, whether it is extrapolated.
pub fn fmdt_boxes(track: &Track) -> String {
    let mut boxes = String::new();
    for sighting in &track.sightings {
        let reach = (2.5 * sighting.length).ceil().max(3.0) as u32;
        let (x, y) = (sighting.x.round(), sighting.y.round());
        let _ = writeln!(
            boxes,
            "{} {reach} {reach} {x} {y} {} {}",
            sighting.frame,
            track.id,
            u8::from(sighting.is_between)
        );
    }
    boxes
}

/// FMDT knows meteors, stars and noise.
fn fmdt_kind(kind: Kind) -> &'static str {
    if kind == Kind::Meteor { "meteor" } else { "noise" }
}
