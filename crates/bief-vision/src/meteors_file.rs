//! The search for meteors as a chain file, for whoever has some of its tasks done elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bief::kinds::Kind;
use bief::raw::DynWire;
use bief::{ChainFile, Error, Registry, Result};

use crate::detect::Detection;
use crate::meteors::Meteors;
use crate::sky::Threshold;
use crate::video::Video;

impl Meteors {
    /// The same chain as a chain file, whose tasks are `read`, `detect` and `follow`: the one that remembers nothing is of a kind that any
    /// machine has. `registry` gets the others, of kinds that begin with `meteors.`: they have this video and these outputs, and the
    /// chain can be built once, and as often as one likes for a rehearsal.
    ///
    /// ```
    /// use bief_vision::{Meteors, Video, VideoSettings};
    /// # let y4m = { let mut y4m = b"YUV4MPEG2 W64 H48 F25:1 Cmono\n".to_vec();
    /// #     for frame in 0..40 { y4m.extend(b"FRAME\n"); y4m.extend((0..64 * 48).map(|k| 10 + (k * 7 % 64 == frame) as u8)); } y4m };
    /// let video = Video::from_memory("a test", y4m, VideoSettings::default())?;
    /// let mut registry = bief::Registry::new();
    /// bief_vision::register(&mut registry);
    /// let file = Meteors::new(video).deliver(|_| Ok(())).into_file(&mut registry)?;
    /// assert_eq!(file.tasks().map(|task| task.kind().to_owned()).nth(1).unwrap(), "vision.detect");
    /// assert_eq!(file.program(&registry)?.run()?.frames, 40);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Pixels that are ignored: they are no parameter of a kind; a search without output, or of which the video was read.
    pub fn into_file(mut self, registry: &mut Registry) -> Result<ChainFile> {
        if self.ignored.is_some() {
            return Err(Error::new("pixels that are ignored are known on this machine alone: leave --ignore out"));
        }
        let size = self.size();
        let detection = match self.detection {
            Detection { threshold: Threshold::Sky { noise, levels }, .. } => {
                format!("noise = {noise:?}\nlevels = {levels:?}")
            }
            Detection { threshold: Threshold::Fixed(low), strong, .. } => format!("low = {low}\nhigh = {strong}"),
        };
        let text = format!(
            "[[task]]\nname = 'read'\nkind = 'meteors.read'\nout = ['pixels', 'stamps']\n\
             [[task]]\nname = 'detect'\nkind = 'vision.detect'\nin = ['pixels']\nout = ['spots']\nsize = '{size}'\n{detection}\n\
             [[task]]\nname = 'follow'\nkind = 'meteors.follow'\nin = ['stamps', 'pixels', 'spots']"
        );
        // A rehearsal reads it anew, or its front.
        let video = self.video.as_ref().and_then(Video::again_or_front).transpose()?;
        let (source, pace, output) = self.take_ends()?;
        let (source, output) = (Mutex::new(Some((source, pace))), Mutex::new(Some(output)));
        let reads = Arc::new(Mutex::new((self, video)));
        let own = Arc::clone(&reads);
        let read = Kind::piece("meteors.read", "reads this video", (), move |(), piece| {
            let (meteors, video) = &*lock(&own);
            let (source, pace) = match piece.is_rehearsal() {
                true => {
                    let (source, pace, _) = meteors.rehearsed_ends(video.as_ref(), u64::MAX)?;
                    (source, pace)
                }
                false => lock(&source).take().ok_or_else(gone)?,
            };
            let (frames, stamps) = meteors.add_source(piece.chain(), source, pace);
            Ok(vec![DynWire::from(&frames), DynWire::from(&stamps)])
        });
        registry.add(read.makes("u8, the pixels of a frame").makes("Stamp, its number and time"));
        let follow = Kind::piece("meteors.follow", "follows what moves in it", (), move |(), piece| {
            let (meteors, video) = &*lock(&reads);
            let output = match piece.is_rehearsal() {
                true => meteors.rehearsed_ends(video.as_ref(), 0)?.2,
                false => lock(&output).take().ok_or_else(gone)?,
            };
            let [stamps, frames, components] = piece.wires() else { unreachable!("it reads three wires") };
            let wires = (&stamps.typed()?, &frames.typed()?, &components.typed_var()?);
            meteors.add_follow(piece.chain(), output, wires).map(|()| Vec::new())
        });
        registry.add(follow.reads("Stamp").reads("u8, the pixels of a frame").reads("variable Component"));
        ChainFile::parse(&text, "the search for meteors")
    }
}

fn gone() -> Error {
    Error::new("this video is searched, or was: it is searched once")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use bief::Application;

    use super::*;
    use crate::{Track, VideoSettings};

    #[test]
    fn the_file_does_what_the_program_does() {
        let found = |as_file: bool, detection: Detection| {
            let bytes: &[u8] = include_bytes!("../../bief-cli/data/meteors.y4m");
            let video = Video::from_memory("test", bytes, VideoSettings::default()).unwrap();
            let tracks = Arc::<Mutex<Vec<Track>>>::default();
            let kept = Arc::clone(&tracks);
            let mut meteors = Meteors::new(video).detection(detection).deliver(move |track| {
                kept.lock().unwrap().push(track.clone());
                Ok(())
            });
            match as_file {
                false => meteors.program().unwrap().run().map(drop).unwrap(),
                true => {
                    let mut registry = Registry::new();
                    crate::register(&mut registry);
                    let file = meteors.into_file(&mut registry).unwrap();
                    assert_eq!(file.rehearsal(&registry, 30).unwrap().run().unwrap().frames, 30);
                    file.program(&registry).unwrap().run().unwrap();
                    assert!(file.program(&registry).unwrap_err().to_string().contains("it is searched once"));
                }
            }
            let tracks = tracks.lock().unwrap();
            tracks.clone()
        };
        for detection in [Detection::default(), Detection::fixed()] {
            assert!(found(true, detection) == found(false, detection));
        }
        let video = Video::from_memory("test", vec![0; 64], VideoSettings { size: "8x8".parse().ok(), rate: None });
        let masked = Meteors::new(video.unwrap()).ignore(vec![true; 64].into());
        assert!(masked.into_file(&mut Registry::new()).unwrap_err().to_string().contains("leave --ignore out"));
    }
}
