//! The chain that finds meteors in a video: what is planned, and run.

use std::sync::Arc;
use std::time::Duration;

use bief::source::{Pace, PaceHandle, pace};
use bief::{Application, Chain, Error, Program, Result, VarWire, Wire};

use crate::component::Component;
use crate::detect::Detection;
use crate::size::Size;
use crate::tasks::{
    Clock, DetectComponents, DetectInMemory, FollowTracks, FollowWithPictures, LentFrames, NumberFrames, Pictures,
    ReadFrames, ReadStamps, Stamp, live_frames, rehearsed_live,
};
use crate::tracker::{Track, Tracker};
use crate::video::{Video, VideoSettings};

/// Frames of noise that rehearsals repeat where there is no other.
const REHEARSED: usize = 8;

/// A chain that finds meteors: read, detect, follow. An [`Application`], so that a [`Planner`](bief::Planner) plans it. Raw frames
/// [in memory](Video::from_memory) are not copied: they are looked at where they lie.
///
/// ```
/// use bief::{Machine, Planner};
/// use bief_vision::{Meteors, Video, VideoSettings};
/// # let y4m = { let mut y4m = b"YUV4MPEG2 W64 H48 F25:1 Cmono\n".to_vec();
/// #     for frame in 0..40 { y4m.extend(b"FRAME\n"); y4m.extend((0..64 * 48).map(|k| 10 + (k * 7 % 64 == frame) as u8)); } y4m };
///
/// let video = Video::from_memory("a test", y4m, VideoSettings::default())?; // or `Video::open("sky.mp4".as_ref(), …)`
/// let mut meteors = Meteors::new(video).deliver(|track| { println!("{track:?}"); Ok(()) });
/// let planned = Planner::new(Machine::here()).plan(&meteors)?;
/// assert_eq!(planned.pipeline(&mut meteors)?.run()?.frames, 40);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Meteors {
    size: Size,
    rate: f64,
    clock: Clock,
    pub(crate) detection: Detection,
    pub(crate) ignored: Option<Arc<[bool]>>,
    /// `None` once it is taken.
    pub(crate) video: Option<Video>,
    /// The frames of a video that lies in memory.
    lent: Option<LentFrames>,
    is_live: bool,
    pace: Option<Pace<u8>>,
    is_paced: bool,
    output: Option<Output>,
    pictures: usize,
}

pub(crate) enum Output {
    Tracks(Box<Deliver>),
    WithPictures(Box<DeliverWithPictures>),
}

type Deliver = dyn FnMut(&Track) -> Result<()> + Send;
type DeliverWithPictures = dyn FnMut(&Track, &Pictures) -> Result<()> + Send;

impl Meteors {
    /// Meteors in this video, with the settings that serve for all.
    pub fn new(video: Video) -> Self {
        Self {
            size: video.size(),
            rate: video.rate(),
            clock: Clock::Rate(video.rate()),
            detection: Detection::default(),
            ignored: None,
            lent: video.lent(),
            video: Some(video),
            is_live: false,
            pace: None,
            is_paced: false,
            output: None,
            pictures: 0,
        }
    }

    /// What becomes a component.
    #[must_use]
    pub fn detection(self, detection: Detection) -> Self {
        Self { detection, ..self }
    }

    /// Pixels that are ignored.
    #[must_use]
    pub fn ignore(self, ignored: Arc<[bool]>) -> Self {
        Self { ignored: Some(ignored), ..self }
    }

    /// The video cannot wait, as a camera cannot: frames that come too fast are lost, and counted. They have the times of their
    /// arrival.
    #[must_use]
    pub fn live(self) -> Self {
        Self { is_live: true, clock: Clock::Arrival, ..self }
    }

    /// Plays the video no faster than it was taken; the second value knows how punctually.
    pub fn paced(self) -> (Self, PaceHandle) {
        let (pace, handle) = pace(self.rate * self.size.pixels() as f64);
        (Self { pace: Some(pace), is_paced: true, ..self }, handle)
    }

    /// Gives tracks to `deliver`, each as soon as it is complete.
    #[must_use]
    pub fn deliver(self, deliver: impl FnMut(&Track) -> Result<()> + Send + 'static) -> Self {
        Self { output: Some(Output::Tracks(Box::new(deliver))), pictures: 0, ..self }
    }

    /// As [`deliver`](Self::deliver), with the latest so many pictures.
    #[must_use]
    pub fn deliver_with_pictures(
        self,
        pictures: usize,
        deliver: impl FnMut(&Track, &Pictures) -> Result<()> + Send + 'static,
    ) -> Self {
        Self { output: Some(Output::WithPictures(Box::new(deliver))), pictures, ..self }
    }

    /// The size of the frames.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Frames per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Reads some frames of a video that goes by, so that rehearsals have some: they come first in the run.
    ///
    /// # Errors
    /// A frame that cannot be read.
    pub fn prepare(mut self) -> Result<Self> {
        if let Some(video) = self.video.take() {
            self.video = Some(if video.is_stream() { video.with_front()? } else { video });
        }
        Ok(self)
    }

    fn chain(&self, source: Source, pace: Option<Pace<u8>>, output: Output) -> Result<Program> {
        let mut chain = Chain::new();
        let (frames, stamps) = self.add_source(&mut chain, source, pace);
        let detect = DetectComponents::new(self.size, self.detection, self.ignored.clone())?;
        let components = chain.add(detect, &frames);
        self.add_follow(&mut chain, output, (&stamps, &frames, &components))?;
        chain.build()
    }

    /// The chain of frames that lie in memory.
    fn chain_in_memory(&self, numbers: NumberFrames, frames: LentFrames, deliver: Box<Deliver>) -> Result<Program> {
        let mut chain = Chain::new();
        let stamps = chain.add(numbers, ());
        let detect = DetectComponents::new(self.size, self.detection, self.ignored.clone())?;
        let components = chain.add(DetectInMemory { detect, frames }, &stamps);
        chain.add(FollowTracks::new(Tracker::new(self.size, self.rate), deliver), (&stamps, &components));
        chain.build()
    }

    /// Its frames, if they lie in memory and go through the chain by their numbers alone.
    fn lent(&self) -> Option<LentFrames> {
        self.lent.clone().filter(|_| !self.is_live && !self.is_paced)
    }

    /// Adds what makes frames, each with its number and time.
    pub(crate) fn add_source(
        &self,
        chain: &mut Chain,
        source: Source,
        pace: Option<Pace<u8>>,
    ) -> (Wire<u8>, Wire<Stamp>) {
        let (mut frames, stamps) = match source {
            Source::Waits(read) => chain.add(*read, ()),
            Source::Live(video) => {
                let (frames, lost) = chain.add(live_frames(*video, self.clock), ());
                let stamps = chain.add(ReadStamps, (&frames, &lost));
                (frames, stamps)
            }
            Source::Rehearsed(video, frames) => {
                let (frames, lost) = chain.add(rehearsed_live(*video, self.clock, frames), ());
                let stamps = chain.add(ReadStamps, (&frames, &lost));
                (frames, stamps)
            }
        };
        if let Some(pace) = pace {
            chain.add(pace, &mut frames);
        }
        (frames, stamps)
    }

    /// Adds what follows the components of frames.
    pub(crate) fn add_follow(
        &self,
        chain: &mut Chain,
        output: Output,
        (stamps, frames, components): (&Wire<Stamp>, &Wire<u8>, &VarWire<Component>),
    ) -> Result<()> {
        let tracker = Tracker::new(self.size, self.rate);
        match output {
            Output::Tracks(deliver) => chain.add(FollowTracks::new(tracker, deliver), (stamps, components)),
            Output::WithPictures(deliver) => {
                let follow = FollowWithPictures::new(tracker, self.pictures, deliver)?;
                chain.add(follow, (stamps, frames, components));
            }
        };
        Ok(())
    }

    /// Takes what reads the video, and what becomes of tracks.
    pub(crate) fn take_ends(&mut self) -> Result<(Source, Option<Pace<u8>>, Output)> {
        let missing = || Error::new("it has no output, or its video was read: name an output with `deliver`");
        let output = self.output.take().ok_or_else(missing)?;
        let video = self.video.take().ok_or_else(missing)?;
        let source = match self.is_live {
            true => Source::Live(Box::new(video)),
            false => Source::Waits(Box::new(ReadFrames::new(video, self.clock))),
        };
        Ok((source, self.pace.take(), output))
    }

    /// The same for a rehearsal of so many frames of `video`, or of noise.
    pub(crate) fn rehearsed_ends(
        &self,
        video: Option<&Video>,
        frames: u64,
    ) -> Result<(Source, Option<Pace<u8>>, Output)> {
        let video = video.and_then(Video::again_or_front).unwrap_or_else(|| noise(self.size))?;
        let faster = self.is_paced.then(|| pace(UNHINDERED).0);
        let output = match self.pictures {
            0 => Output::Tracks(Box::new(|_| Ok(()))),
            _ => Output::WithPictures(Box::new(|_, _| Ok(()))),
        };
        let source = match self.is_live {
            true => Source::Rehearsed(Box::new(video), frames),
            false => Source::Waits(Box::new(ReadFrames::rehearsed(video, self.clock, frames))),
        };
        Ok((source, faster, output))
    }
}

pub(crate) enum Source {
    Waits(Box<ReadFrames>),
    Live(Box<Video>),
    /// Live, of a rehearsal of so many frames.
    Rehearsed(Box<Video>, u64),
}

/// A rehearsal reads the video anew, from its beginning; of one that goes by, frames that were [prepared](Meteors::prepare), or noise.
impl Application for Meteors {
    fn program(&mut self) -> Result<Program> {
        let (source, pace, output) = self.take_ends()?;
        match (self.lent(), output) {
            (Some(frames), Output::Tracks(deliver)) => {
                self.chain_in_memory(NumberFrames::new(frames.clone(), self.clock), frames, deliver)
            }
            (_, output) => self.chain(source, pace, output),
        }
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        let (source, pace, output) = self.rehearsed_ends(self.video.as_ref(), frames)?;
        match (self.lent(), output) {
            (Some(lent), Output::Tracks(deliver)) => {
                self.chain_in_memory(NumberFrames::rehearsed(lent.clone(), self.clock, frames), lent, deliver)
            }
            (_, output) => self.chain(source, pace, output),
        }
    }

    fn unit_period(&self) -> Option<Duration> {
        Some(Duration::from_secs_f64(1.0 / self.rate))
    }
}

/// A pace that holds no frame back, in pixels per second.
const UNHINDERED: f64 = 1e15;

/// Frames of a dark sky with noise.
fn noise(size: Size) -> Result<Video> {
    let mut state = 1_u32;
    let mut bytes = vec![0; size.pixels() * REHEARSED];
    for byte in &mut bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = 18 + (state >> 30) as u8 + (state >> 28 & 3) as u8;
    }
    Video::from_memory("rehearsal", bytes, VideoSettings { size: Some(size), rate: None })
}
