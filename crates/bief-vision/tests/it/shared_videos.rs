//! The shared videos, whose truth is known.

use bief_vision::{Detection, Detector, Kind, Track, Tracker, Video, VideoSettings};

use crate::common::videos;

fn tracks(video: &mut Video, detection: Detection) -> Vec<Track> {
    let mut detector = Detector::new(video.size(), detection);
    let mut tracker = Tracker::new(video.size(), video.rate());
    let (mut frame, mut found) = (vec![0; video.size().pixels()], Vec::new());
    while video.read(&mut frame).unwrap() {
        let number = video.frames() - 1;
        let components = detector.components(&frame);
        found.extend(tracker.follow(components, number, number as i64));
    }
    found.extend(tracker.finish());
    found
}

#[test]
fn fmdts_track_is_found_with_its_thresholds() {
    let Some(folder) = videos() else { return };
    let mut video = Video::open(&folder.join("f_tiny.y4m"), VideoSettings::default()).unwrap();
    let found = tracks(&mut video, Detection::fixed());
    let meteors: Vec<&Track> = found.iter().filter(|track| track.kind == Kind::Meteor).collect();
    assert_eq!(meteors.len(), 1, "{found:?}");
    let table = std::fs::read_to_string(folder.join("fmdt/f_tiny.default.csv")).unwrap();
    let mut places = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (frame, x, y): (u64, f64, f64) =
            (fields[2].parse().unwrap(), fields[3].parse().unwrap(), fields[4].parse().unwrap());
        let sighting = meteors[0].sightings.iter().find(|sighting| sighting.frame == frame).unwrap();
        assert!((sighting.x - x).abs() < 0.051 && (sighting.y - y).abs() < 0.051, "{sighting:?} {line}");
        places += 1;
    }
    assert_eq!(places, 12);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn the_development_videos_are_searched_as_well_as_is_claimed() {
    let Some(folder) = videos() else { return };
    let has = |program: &str, argument: &str| std::process::Command::new(program).arg(argument).output().is_ok();
    if !has("ffmpeg", "-version") || !has("python3", "--version") {
        eprintln!("skipped: no ffmpeg or no python3");
        return;
    }
    let (mut found, mut required, mut faint, mut wrong, mut off, mut covered) = (0, 0, 0, 0, 0.0, 0.0);
    let names = ["a_fixed_720p", "b_airborne_720p", "c_handheld_1080p", "d_clouds_1080p", "e_no_meteor_720p"];
    for name in names {
        let mut video = Video::open(&folder.join(format!("{name}.mp4")), VideoSettings::default()).unwrap();
        let tracks = tracks(&mut video, Detection::default());
        let table: String = tracks.iter().map(bief_vision::table_rows).collect();
        let path = std::env::temp_dir().join(format!("bief-vision-{name}-{}.csv", std::process::id()));
        std::fs::write(&path, format!("{}{table}", bief_vision::TABLE_HEADER)).unwrap();
        let mut check = std::process::Command::new("python3");
        check.arg(folder.join("../tools/check_tracks.py")).arg(&path).arg(folder.join(format!("{name}.truth.json")));
        let told = check.arg("--json").output().unwrap().stdout;
        std::fs::remove_file(&path).unwrap();
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap();
        let count = |name: &str| told[name].as_u64().unwrap();
        found += count("found");
        required += count("required");
        faint += count("faint_found");
        wrong += count("false");
        if count("required") > 0 {
            off += told["position_px"]["mean"].as_f64().unwrap() / 4.0;
            covered += told["coverage"].as_f64().unwrap() / 4.0;
            let ends = ["begin_frames", "end_frames"].map(|end| told[end]["abs"].as_f64().unwrap());
            assert!(ends.iter().all(|frames| *frames <= 1.0), "{told}");
        } else {
            assert_eq!(count("false"), 0, "{told}");
        }
        eprintln!("{told}");
    }
    assert_eq!(required, 36);
    assert!(found >= 35 && faint >= 3 && wrong <= 3, "{found} found, {faint} faint, {wrong} false");
    assert!(covered >= 0.85 && off <= 0.25, "coverage {covered}, {off} px");
}
