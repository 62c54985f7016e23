//! Meteors in video, on the [`bief`] runtime.

#![forbid(unsafe_code)]

mod ahead;
mod bits;
mod component;
mod detect;
mod grid;
mod kinds;
mod label;
mod meteors;
mod meteors_file;
mod motion;
mod parts;
mod region;
mod size;
mod sky;
mod table;
mod tasks;
mod tracker;
mod video;

pub use component::Component;
pub use detect::{Detection, Detector};
pub use grid::Grid;
pub use kinds::register;
pub use label::Labeller;
pub use meteors::Meteors;
pub use motion::{Pair, Rigid};
pub use region::Region;
pub use size::{LONGEST_SIDE, Size};
pub use sky::{Sky, Threshold, Tile};
pub use table::{TABLE_HEADER, fmdt_boxes, fmdt_track, table_rows};
pub use tasks::{
    Clock, DetectComponents, FollowTracks, FollowWithPictures, MOST_COMPONENTS, Pictures, ReadFrames, ReadStamps,
    Stamp, live_frames,
};
pub use tracker::{Area, Kind, Sighting, Track, Tracker};
pub use video::{Video, VideoSettings, is_camera};
