//! Bytes are refused as a video, or every frame of them has the size that its header tells; what is found in the frames lies in them.
#![no_main]

use bief_vision::{Detection, Detector, Size, Tracker, Video, VideoSettings};
use libfuzzer_sys::fuzz_target;

/// Frames that are searched; larger ones are only read.
const LARGEST: usize = 1 << 16;

fuzz_target!(|input: (bool, Vec<u8>)| {
    let (is_raw, bytes) = input;
    let size = is_raw.then(|| Size::new(13, 7).unwrap());
    let Ok(mut video) = Video::from_memory("fuzz", bytes, VideoSettings { size, rate: None }) else { return };
    let size = video.size();
    assert!(video.rate().is_finite() && video.rate() > 0.0);
    if size.pixels() > LARGEST {
        return;
    }
    let mut frame = vec![0; size.pixels()];
    let mut detector = Detector::new(size, Detection { least: 1, ..Detection::default() });
    let mut tracker = Tracker::new(size, video.rate());
    while let Ok(true) = video.read(&mut frame) {
        let components: Vec<_> = detector.components(&frame).collect();
        for component in &components {
            assert!(
                (0.0..size.width() as f32).contains(&component.x) && (0.0..size.height() as f32).contains(&component.y)
            );
            assert!(component.light > 0.0 && component.light.is_finite());
        }
        tracker.follow(&components, video.frames() - 1, 0).for_each(drop);
    }
    for track in tracker.finish() {
        assert!(track.sightings.windows(2).all(|pair| pair[0].frame < pair[1].frame));
    }
});
