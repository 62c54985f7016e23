//! The chain, planned and run.

use std::sync::{Arc, Mutex};

use bief::{Application, Machine, Planner, Program};
use bief_vision::{Kind, Meteors, Size, Track, Video, VideoSettings};

use crate::common::Scene;

/// Pictures of a meteor.
fn pictures() -> impl Iterator<Item = Vec<u8>> {
    let mut scene = Scene::new(320, 240, 90);
    (0..60).map(move |frame| {
        let step = f64::from(frame) - 20.0;
        let at = [60.0 + 6.0 * step, 50.0 + 3.0 * step];
        let light = 1500.0 * (1.0 - ((step - 6.0) / 7.0).powi(2));
        let streak = (light > 0.0).then_some((at, [at[0] + 5.4, at[1] + 2.7], light));
        scene.frame([0.0; 2], streak.as_slice())
    })
}

/// The same as a y4m video.
fn video() -> Vec<u8> {
    let frames = pictures().flat_map(|picture| [b"FRAME\n".to_vec(), picture].concat());
    b"YUV4MPEG2 W320 H240 F25:1 Cmono\n".iter().copied().chain(frames).collect()
}

fn names(program: &Program) -> Vec<String> {
    program.tasks().map(|(name, _)| name.to_owned()).collect()
}

fn collected(meteors: Meteors) -> (Meteors, Arc<Mutex<Vec<Track>>>) {
    let tracks = Arc::<Mutex<Vec<Track>>>::default();
    let found = Arc::clone(&tracks);
    let deliver = move |track: &Track| {
        found.lock().unwrap().push(track.clone());
        Ok(())
    };
    (meteors.deliver(deliver), tracks)
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plans_of_one_core_and_of_two_find_the_same() {
    let machine = Machine::here();
    let mut found = Vec::new();
    for cores in ["1", "2"] {
        let video = Video::from_memory("test", video(), VideoSettings::default()).unwrap();
        let (mut meteors, tracks) = collected(Meteors::new(video));
        let rehearsal = meteors.rehearsal(200).unwrap();
        let rehearsed = names(&rehearsal);
        assert_eq!(rehearsal.run().unwrap().frames, 200, "it begins again");
        if machine.cores().len() < cores.parse().unwrap() {
            continue;
        }
        let planned = Planner::new(machine.clone()).cores(cores).plan(&meteors).unwrap();
        let report = planned.pipeline(&mut meteors).unwrap().run().unwrap();
        assert_eq!(report.frames, 60);
        assert_eq!(names(&meteors.rehearsal(1).unwrap()), rehearsed);
        assert!(meteors.program().is_err(), "a video is read once");
        found.push(tracks.lock().unwrap().clone());
    }
    assert_eq!(found[0].iter().filter(|track| track.kind == Kind::Meteor).count(), 1, "{found:?}");
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
}

#[test]
fn a_stream_loses_nothing_to_rehearsals_and_pictures_are_at_hand() {
    let bytes = video();
    let stream = Video::from_reader("pipe", std::io::Cursor::new(bytes), VideoSettings::default()).unwrap();
    let kept = Arc::<Mutex<Vec<usize>>>::default();
    let counts = Arc::clone(&kept);
    let mut meteors = Meteors::new(stream).prepare().unwrap().deliver_with_pictures(50, move |track, pictures| {
        counts.lock().unwrap().push(pictures.of(track.begin()..=track.end()).count());
        Ok(())
    });
    assert_eq!(meteors.rehearsal(30).unwrap().run().unwrap().frames, 30);
    assert_eq!(meteors.program().unwrap().run().unwrap().frames, 60);
    assert!(kept.lock().unwrap().iter().any(|&count| count >= 11), "{kept:?}");
}

#[test]
fn a_fault_comes_after_what_was_found_before_it() {
    let mut bytes = video();
    bytes.truncate(bytes.len() - 100);
    let video = Video::from_memory("short", bytes, VideoSettings::default()).unwrap();
    let (mut meteors, tracks) = collected(Meteors::new(video));
    assert_eq!(meteors.rehearsal(100).unwrap().run().unwrap().frames, 100, "a rehearsal begins again");
    let error = meteors.program().unwrap().run().unwrap_err().to_string();
    assert!(error.contains("short: frame 59: cut short"), "{error}");
    assert!(tracks.lock().unwrap().iter().any(|track| track.kind == Kind::Meteor));
    let header = b"YUV4MPEG2 W320 H240 F25:1 Cmono\n";
    let (mut meteors, _) =
        collected(Meteors::new(Video::from_memory("blank", &header[..], VideoSettings::default()).unwrap()));
    let error = meteors.program().unwrap().run().unwrap_err().to_string();
    assert!(error.contains("blank: there is no frame in it"), "{error}");
}

#[test]
fn raw_frames_in_memory_are_looked_at_where_they_lie() {
    let settings = VideoSettings { size: Size::new(320, 240).ok(), rate: None };
    let mut bytes: Vec<u8> = pictures().flatten().collect();
    let stream = Video::from_reader("pipe", std::io::Cursor::new(bytes.clone()), settings).unwrap();
    let (mut copied, expected) = collected(Meteors::new(stream));
    copied.program().unwrap().run().unwrap();
    // A fault comes after what was found before it.
    bytes.extend([7; 100]);
    let (mut lent, tracks) = collected(Meteors::new(Video::from_memory("short", bytes, settings).unwrap()));
    let rehearsal = lent.rehearsal(100).unwrap();
    assert_eq!(names(&rehearsal), ["NumberFrames", "DetectComponents", "FollowTracks"]);
    assert_eq!(rehearsal.run().unwrap().frames, 100, "they begin again");
    let error = lent.program().unwrap().run().unwrap_err().to_string();
    assert!(error.contains("short: frame 60: cut short: 100 of 76800 bytes are there"), "{error}");
    assert!(*tracks.lock().unwrap() == *expected.lock().unwrap() && !tracks.lock().unwrap().is_empty());
    // Who wants pictures gets them through the chain, and what is less than a frame is none.
    let video = |bytes: usize| Video::from_memory("test", vec![0; bytes], settings).unwrap();
    let pictures = Meteors::new(video(76_800)).deliver_with_pictures(2, |_, _| Ok(())).rehearsal(2).unwrap();
    assert_eq!(names(&pictures)[0], "ReadFrames");
    let less = Meteors::new(video(5)).deliver(|_| Ok(()));
    assert!(less.rehearsal(2).unwrap().run().unwrap_err().to_string().contains("test: frame 0: cut short"));
}

#[test]
fn a_mask_hides_what_lies_under_it() {
    let video = Video::from_memory("test", video(), VideoSettings::default()).unwrap();
    let size = video.size();
    let (mut meteors, tracks) = collected(Meteors::new(video).ignore(vec![true; size.pixels()].into()));
    meteors.program().unwrap().run().unwrap();
    assert!(tracks.lock().unwrap().is_empty());
    let wrong = Meteors::new(Video::from_memory("test", self::video(), VideoSettings::default()).unwrap());
    let mut wrong = wrong.ignore(vec![false; 5].into()).deliver(|_| Ok(()));
    assert!(wrong.program().unwrap_err().to_string().contains("a mask of 5 pixels"));
    assert!(Size::new(3, 70_000).is_err());
}

#[test]
fn a_live_video_has_the_times_of_its_arrival() {
    let video = Video::from_reader("camera", std::io::Cursor::new(video()), VideoSettings::default()).unwrap();
    let (mut meteors, tracks) = collected(Meteors::new(video).live());
    let rehearsal = meteors.rehearsal(20).unwrap();
    let report = meteors.program().unwrap().run().unwrap();
    assert_eq!(rehearsal.tasks().map(|(name, _)| name.to_owned()).next().unwrap(), "live");
    assert!(report.frames > 10 && report.figures.counted("frames") == report.frames);
    assert!(tracks.lock().unwrap().iter().all(|track| track.sightings[0].time_us > 1_600_000_000_000_000));
}

/// Kilobytes of memory that this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn memory_does_not_grow() {
    let size = Size::new(192, 128).unwrap();
    let mut scene = Scene::new(192, 128, 40);
    let frames: Vec<u8> = (0..200).flat_map(|frame| scene.frame([f64::from(frame) * 0.3, 0.0], &[])).collect();
    let settings = VideoSettings { size: Some(size), rate: Some(25.0) };
    let video = Video::from_memory("test", frames, settings).unwrap();
    let (meteors, _) = collected(Meteors::new(video));
    let run = |frames| assert_eq!(meteors.rehearsal(frames).unwrap().run().unwrap().frames, frames);
    run(2000);
    let before = resident();
    run(100_000);
    let more = resident().saturating_sub(before);
    assert!(more < 20_000, "{more} kB more");
}
