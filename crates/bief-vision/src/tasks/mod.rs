//! The tasks of a chain that finds meteors: read, detect, follow.

mod detect;
mod follow;
mod lent;
mod read;

pub use detect::{DetectComponents, MOST_COMPONENTS};
pub use follow::{FollowTracks, FollowWithPictures, Pictures};
pub(crate) use lent::{DetectInMemory, LentFrames, NumberFrames};
pub(crate) use read::rehearsed_live;
pub use read::{Clock, ReadFrames, ReadStamps, Stamp, live_frames};
