//! Tracks from the components of one frame after the other.

use std::collections::VecDeque;

use bief::{Error, Figures, Flow, In, InVar, Result, Task};

use super::read::{Stamp, check_frame};
use crate::component::Component;
use crate::tracker::{Kind, Track, Tracker};

/// What is done with a track that is complete.
type Deliver = Box<dyn FnMut(&Track, &Pictures) -> Result<()> + Send>;

/// The latest pictures.
#[derive(Debug, Clone, Default)]
pub struct Pictures {
    kept: VecDeque<(Stamp, Vec<u8>)>,
    most: usize,
}

impl Pictures {
    fn keep(&mut self, stamp: Stamp, picture: &[u8]) {
        let mut space =
            if self.kept.len() == self.most { self.kept.pop_front().unwrap_or_default().1 } else { Vec::new() };
        space.clear();
        space.extend_from_slice(picture);
        self.kept.push_back((stamp, space));
    }

    /// The pictures of these frames that there still are, in order.
    pub fn of(&self, frames: std::ops::RangeInclusive<u64>) -> impl Iterator<Item = (Stamp, &[u8])> {
        let wanted = self.kept.iter().filter(move |(stamp, _)| frames.contains(&stamp.frame));
        wanted.map(|(stamp, picture)| (*stamp, &picture[..]))
    }
}

/// Counts of what was found.
struct Following {
    tracker: Tracker,
    deliver: Deliver,
    pictures: Pictures,
    frames: u64,
    counts: [u64; Kind::ALL.len()],
}

impl Following {
    fn follow(&mut self, stamp: Stamp, components: &[Component]) -> Result<Flow> {
        self.frames += 1;
        for track in self.tracker.follow(components, stamp.frame, stamp.time_us) {
            self.counts[track.kind as usize] += 1;
            (self.deliver)(&track, &self.pictures)?;
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        for track in self.tracker.finish() {
            self.counts[track.kind as usize] += 1;
            (self.deliver)(&track, &self.pictures)?;
        }
        Ok(())
    }

    fn figures(&self, figures: &mut Figures) {
        for kind in Kind::ALL {
            figures.count("tracks", "", self.counts[kind as usize]).of("kind", kind);
        }
        figures.count("frames", "frames", self.frames);
        figures.level("stars", "", self.tracker.stars() as f64, 1.0);
        figures.count("unregistered", "frames", self.tracker.unregistered());
    }
}

/// Follows what moves, and delivers each track that is complete. At the end of the stream, it delivers what is left.
///
/// # Sockets
/// - in: [`Stamp`], 1 per frame
/// - in: [`Component`], any number per frame
///
/// # Errors
/// Those of what takes the tracks.
///
/// # Example
/// ```
/// use bief::Chain;
/// use bief_vision::{Clock, DetectComponents, Detection, FollowTracks, ReadFrames, Tracker, Video, VideoSettings};
/// # let y4m = [b"YUV4MPEG2 W64 H64 F25:1 Cmono\nFRAME\n".to_vec(), vec![9; 64 * 64]].concat();
///
/// let video = Video::from_memory("dark", y4m, VideoSettings::default())?;
/// let (size, rate) = (video.size(), video.rate());
/// let mut chain = Chain::new();
/// let (frames, stamps) = chain.add(ReadFrames::new(video, Clock::Rate(rate)), ());
/// let components = chain.add(DetectComponents::new(size, Detection::default(), None)?, &frames);
/// let follow = FollowTracks::new(Tracker::new(size, rate), |track| { println!("{track:?}"); Ok(()) });
/// chain.add(follow, (&stamps, &components));
/// assert_eq!(chain.build()?.run()?.frames, 1);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct FollowTracks(Following);

impl FollowTracks {
    /// Delivers the tracks of this tracker to `deliver`.
    pub fn new(tracker: Tracker, mut deliver: impl FnMut(&Track) -> Result<()> + Send + 'static) -> Self {
        let deliver: Deliver = Box::new(move |track, _| deliver(track));
        Self(Following { tracker, deliver, pictures: Pictures::default(), frames: 0, counts: Default::default() })
    }
}

impl Task for FollowTracks {
    type In = (In<Stamp>, InVar<Component>);
    type Out = ();

    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, (stamp, components): (&[Stamp], &[Component]), (): ()) -> Result<Flow> {
        self.0.follow(stamp[0], components)
    }

    fn figures(&self, figures: &mut Figures) {
        self.0.figures(figures);
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }
}

/// As [`FollowTracks`], with the latest pictures at hand when a track is complete.
///
/// # Sockets
/// - in: [`Stamp`], 1 per frame
/// - in: `u8`, the pixels of a frame; of a live frame, 16 bytes behind them that are passed over
/// - in: [`Component`], any number per frame
///
/// # Errors
/// When it is added: frames of another size. Those of what takes the tracks.
pub struct FollowWithPictures(Following);

impl FollowWithPictures {
    /// Delivers the tracks of this tracker to `deliver`, with the latest `pictures`, which takes memory for all of them.
    ///
    /// # Errors
    /// No pictures.
    pub fn new(
        tracker: Tracker,
        pictures: usize,
        deliver: impl FnMut(&Track, &Pictures) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        if pictures == 0 {
            return Err(Error::new("0 pictures to keep: give it 1 or more, or use FollowTracks"));
        }
        let pictures = Pictures { kept: VecDeque::with_capacity(pictures), most: pictures };
        Ok(Self(Following { tracker, deliver: Box::new(deliver), pictures, frames: 0, counts: Default::default() }))
    }
}

impl Task for FollowWithPictures {
    type In = (In<Stamp>, In<u8>, InVar<Component>);
    type Out = ();

    fn lens(&self, (_, pixels, _): (usize, usize, usize)) -> Result<()> {
        check_frame(self.0.tracker.size(), pixels)
    }

    fn run(&mut self, (stamp, frame, components): (&[Stamp], &[u8], &[Component]), (): ()) -> Result<Flow> {
        self.0.pictures.keep(stamp[0], &frame[..self.0.tracker.size().pixels()]);
        self.0.follow(stamp[0], components)
    }

    fn figures(&self, figures: &mut Figures) {
        self.0.figures(figures);
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }
}
