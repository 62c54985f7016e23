//! What the crate does, seen from outside.

mod common;
mod detection;
mod formats;
mod meteors;
mod shared_videos;
mod tracking;
