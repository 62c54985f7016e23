//! Meteors in video, on the [`bief`] runtime.

#![forbid(unsafe_code)]

mod component;
mod detect;
mod grid;
mod label;
mod motion;
mod size;
mod sky;
mod tracker;

pub use component::Component;
pub use detect::{Detection, Detector};
pub use grid::Grid;
pub use label::{Labeller, Light, Region};
pub use motion::{Pair, Rigid};
pub use size::{LONGEST_SIDE, Size};
pub use sky::{Sky, Threshold, Tile};
pub use tracker::{Kind, Sighting, Track, Tracker};
