//! What `bief meteors` tells of a search.

use bief::report::Figures;
use bief::source::Punctuality;
use bief::{Planned, Report};
use bief_vision::{Kind, MOST_COMPONENTS, Size, Track};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::outputs::Outputs;
use crate::planning::{against_plan, record};
use crate::seeing::SeeingArgs;
use crate::table::facts;
use crate::text::printable;
use crate::units::significant;
use crate::workers::Away;

/// Meteors that the table shows at most.
const SHOWN: usize = 40;

/// Shows on the bar how the search is going.
pub(super) fn show(bar: &ProgressBar, told: &Figures) {
    let stars = told.measured("stars").unwrap_or(0.0);
    bar.set_message(format!("{} frames, {stars:.0} stars, {} meteors", frames(told), count(told, Kind::Meteor)));
}

fn frames(told: &Figures) -> u64 {
    told.counted("frames")
}

fn count(told: &Figures, kind: Kind) -> u64 {
    let of_kind = |figure: &&bief::report::Figure| figure.label("kind") == Some(kind.name());
    told.all("tracks").find(of_kind).map_or(0, |figure| match figure.reading {
        bief::report::Reading::Count(count) => count,
        _ => 0,
    })
}

/// What is told of a search.
pub(super) struct Finding {
    pub(super) name: String,
    pub(super) size: Size,
    pub(super) rate: f64,
    pub(super) is_live: bool,
    pub(super) outputs: Outputs,
    pub(super) tracks: Vec<Track>,
    pub(super) figures: Figures,
    /// Ended by Ctrl-C.
    pub(super) interrupted: bool,
    /// Of a run at a pace.
    pub(super) punctuality: Option<Punctuality>,
    /// `None` after a fault.
    pub(super) report: Option<Report>,
    /// `None` where tasks are with workers.
    pub(super) planned: Option<Planned>,
    pub(super) away: Option<Away>,
}

impl Finding {
    /// Frames with more components than are followed.
    pub(super) fn crowded(&self) -> u64 {
        self.figures.counted("crowded")
    }

    /// What a person should know of them.
    pub(super) fn crowd(&self) -> String {
        format!(
            "{}: {} frames had more than {MOST_COMPONENTS} spots of light, of which the strongest were followed: is it noise? Raise \
             --levels or --noise, or ignore a part of the picture with --ignore",
            self.name,
            self.crowded()
        )
    }

    pub(super) fn table(&self, seeing: &SeeingArgs) -> String {
        let told = &self.figures;
        let of_kind = |kind: Kind| self.tracks.iter().filter(move |track| track.kind == kind);
        let lost = self.report.as_ref().map_or(0, |report| report.lost / self.size.pixels() as u64);
        let mut rows =
            vec![("video", format!("{}, {}, {} frames/s", printable(&self.name), self.size, significant(self.rate)))];
        let unregistered = told.counted("unregistered");
        rows.push(("frames", frames(told).to_string()));
        if lost > 0 {
            rows.push(("lost", format!("{lost} frames, for want of time")));
        }
        if unregistered > 1 {
            rows.push(("no motion", format!("of {unregistered} frames could be told: too few stars")));
        }
        let others = Kind::ALL.iter().skip(1).filter(|kind| of_kind(**kind).count() > 0);
        let others: Vec<String> = others.map(|&kind| format!("{} {kind}", of_kind(kind).count())).collect();
        rows.push(("meteors", of_kind(Kind::Meteor).count().to_string()));
        if !others.is_empty() {
            rows.push(("others", others.join(", ")));
        }
        if !self.outputs.is_stdout() {
            rows.push(("tracks", format!("to {}", self.outputs.tracks.display())));
        }
        if let Some(folder) = &self.outputs.folder {
            rows.push(("clips", format!("to {}", folder.display())));
        }
        if self.interrupted {
            rows.push(("interrupted", format!("after {} frames", frames(told))));
        }
        if let Some(pace) = &self.punctuality {
            rows.push(("pace", format!("{} frames, {} of them late from the start", pace.frames, pace.behind)));
        }
        let mut text = facts(&rows);
        let meteors: Vec<&Track> = of_kind(Kind::Meteor).collect();
        if !meteors.is_empty() {
            text += &format!(
                "\n\n{:>6} {:>10} {:>7} {:>7} {:>15} {:>9} {:>6} {:>6}",
                "meteor", "time s", "frame", "frames", "from x, y", "px/frame", "angle", "mag"
            );
            for track in meteors.iter().take(SHOWN) {
                let first = &track.sightings[0];
                text += &format!(
                    "\n{:>6} {:>10.3} {:>7} {:>7} {:>7.1},{:>7.1} {:>9.1} {:>6.0} {:>6.1}",
                    track.id,
                    first.time_us as f64 / 1e6,
                    track.begin(),
                    track.end() - track.begin() + 1,
                    first.x,
                    first.y,
                    track.speed,
                    track.direction,
                    track.magnitude().unwrap_or(f32::NAN)
                );
            }
            if meteors.len() > SHOWN {
                text += &format!("\n{:>6} more", meteors.len() - SHOWN);
            }
        }
        if let Some(report) = &self.report {
            let parts = [
                seeing.shown(report),
                self.away.as_ref().map_or_else(String::new, Away::table),
                against_plan(self.planned.as_ref(), report, self.is_live),
            ];
            text.extend(parts.iter().filter(|part| !part.is_empty()).map(|part| format!("\n\n{part}")));
        }
        text
    }

    pub(super) fn to_json(&self) -> String {
        let tracks: Vec<Value> = self.tracks.iter().map(track).collect();
        let mut own = json!({
            "input": self.name,
            "output": self.outputs.tracks,
            "width": self.size.width(),
            "height": self.size.height(),
            "fps": self.rate,
            "frames": frames(&self.figures),
            "lost_frames": self.report.as_ref().map(|report| report.lost / self.size.pixels() as u64),
            "crowded_frames": self.crowded(),
            "unregistered_frames": self.figures.counted("unregistered"),
            "tracks": tracks,
            "interrupted": self.interrupted,
            "pace": self.punctuality,
        });
        if let Some(away) = &self.away {
            own["workers"] = away.document();
        }
        record(own, self.planned.as_ref(), self.report.as_ref())
    }
}

/// As `check_tracks.py` reads it, and more.
fn track(track: &Track) -> Value {
    let positions = track.sightings.iter().map(|sighting| json!([sighting.frame, sighting.x, sighting.y]));
    json!({
        "id": track.id, "type": track.kind, "positions": positions.collect::<Vec<Value>>(), "speed": track.speed,
        "direction": track.direction, "magnitude": track.magnitude(), "sightings": track.sightings,
    })
}
