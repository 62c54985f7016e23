//! What a worker tells of itself to whoever asks.

use serde::{Deserialize, Serialize};

/// A worker, as it tells of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Its name.
    pub name: String,
    /// Where it listens, as it knows that itself.
    pub address: String,
    /// Its version of Bief.
    pub version: String,
    /// Cores that it lends.
    pub cores: u32,
    /// Runs that it works for now.
    pub runs: u32,
    /// Frames of all runs so far.
    pub frames: u64,
    /// Frames per second, in the last seconds.
    pub rate: f64,
}
