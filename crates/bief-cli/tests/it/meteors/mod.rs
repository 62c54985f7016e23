//! Meteors on the command line: the built-in video, files and streams, every output, and up to a fault.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{Folder, assert_narrow, assert_usage, stderr, text};

/// The video that ships.
fn sample() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/meteors.y4m")).unwrap()
}

/// Tracks of a table, as number, type and frame.
fn meteors(table: &str) -> Vec<(u64, u64)> {
    let rows = table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let meteors = rows.filter(|fields| fields[1] == "meteor");
    meteors.map(|fields| (fields[0].parse().unwrap(), fields[2].parse().unwrap())).collect()
}

#[test]
fn what_is_built_in_has_a_meteor() {
    let folder = Folder::new("meteors");
    let shown = folder.succeed(["meteors"]);
    for part in ["meteors  1", "to meteors.tracks.csv", "px/frame", "ReadFrames", "Planned"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert_narrow(&shown);
    let table = text(&folder, "meteors.tracks.csv");
    assert!(table.starts_with("track,type,frame,x,y,"), "{table}");
    let frames: Vec<u64> = meteors(&table).iter().map(|(_, frame)| *frame).collect();
    assert!((12..=16).contains(&frames.len()) && frames.contains(&12), "{table}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn every_output_is_written() {
    let folder = Folder::new("meteors-outputs");
    folder.write("sky.y4m", sample());
    let options =
        ["meteors", "sky.y4m", "--clips", "events", "--overlay", "sky.png", "--fmdt", "t.txt", "--fmdt-boxes", "b.txt"];
    let shown = folder.succeed(options.into_iter().chain(["--json"]));
    let json: Value = serde_json::from_str(&shown).unwrap();
    let tracks = json["tracks"].as_array().unwrap();
    let meteor = tracks.iter().find(|track| track["type"] == "meteor").unwrap();
    let id = meteor["id"].as_u64().unwrap();
    assert_eq!(meteor["positions"].as_array().unwrap().len(), meteors(&text(&folder, "sky.tracks.csv")).len());
    assert!(meteor["magnitude"].as_f64().unwrap() < 0.5 && json["frames"] == 25, "{json}");
    let clip = folder.read(&format!("events/meteor-{id:04}.y4m"));
    assert!(clip.starts_with(b"YUV4MPEG2 W") && clip.len() > 20_000);
    for picture in [format!("events/meteor-{id:04}.png"), "sky.png".to_owned()] {
        assert!(folder.read(&picture).starts_with(b"\x89PNG"), "{picture}");
    }
    assert!(text(&folder, "t.txt").contains("meteor") && text(&folder, "b.txt").lines().count() >= 12);
    let message = folder.fail(["meteors", "sky.y4m"]);
    assert!(message.contains("--force"), "{message}");
    folder.succeed(["meteors", "sky.y4m", "--force"]);
    // A clip is a video in its turn.
    folder.succeed(["meteors", &format!("events/meteor-{id:04}.y4m"), "-o", "again.csv"]);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn streams_of_all_forms_are_searched_alike() {
    let folder = Folder::new("meteors-streams");
    let y4m = sample();
    let start = y4m.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let frames: Vec<&[u8]> = y4m[start..].chunks(6 + 160 * 120).map(|frame| &frame[6..]).collect();
    let pgm: Vec<u8> = frames.iter().flat_map(|frame| [b"P5\n160 120\n255\n", *frame].concat()).collect();
    folder.write("sky.y4m", &y4m);
    folder.write("sky.gray", frames.concat());
    folder.write("sky.pgm", &pgm);
    folder.succeed(["meteors", "sky.y4m", "-o", "y4m.csv"]);
    folder.succeed(["meteors", "sky.gray", "--size", "160x120", "-o", "gray.csv"]);
    folder.succeed(["meteors", "sky.pgm", "--rate", "25", "-o", "pgm.csv"]);
    let table = text(&folder, "y4m.csv");
    assert!(table == text(&folder, "gray.csv") && table == text(&folder, "pgm.csv"));
    for options in [&["-"][..], &["-", "--live"]] {
        let mut command = folder.command();
        command.arg("meteors").args(options).args(["-o", "-"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let sent = y4m.clone();
        let sender = std::thread::spawn(move || pipe.write_all(&sent));
        let output = child.wait_with_output().unwrap();
        sender.join().unwrap().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let found = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(stderr(&output).contains("standard input, 160x120"), "the table goes aside");
        let tells_pace = stderr(&output).contains("live input came at");
        assert_eq!(tells_pace, options.contains(&"--live"), "{}", stderr(&output));
        if options.len() == 1 {
            assert_eq!(found, table);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_is_hidden_is_not_found() {
    let folder = Folder::new("meteors-mask");
    let mask = |white: bool| [&b"P5 160 120 255\n"[..], &vec![if white { 255 } else { 0 }; 160 * 120]].concat();
    folder.write("all.pgm", mask(true));
    folder.write("none.pgm", mask(false));
    folder.write("small.pgm", "P5 2 2 255\nabcd");
    for (mask, count) in [("all.pgm", 0), ("none.pgm", 1)] {
        let json: Value = serde_json::from_str(&folder.succeed(["meteors", "--ignore", mask, "--json"])).unwrap();
        let meteors = json["tracks"].as_array().unwrap().iter().filter(|track| track["type"] == "meteor");
        assert_eq!(meteors.count(), count);
    }
    let message = folder.fail(["meteors", "--ignore", "small.pgm"]);
    assert!(message.contains("it is 2x2, and frames are 160x120"), "{message}");
    let message = folder.fail(["meteors", "--ignore", "none.png"]);
    assert!(message.contains("none.png"), "{message}");
}

#[test]
fn bad_videos_are_told_and_what_was_found_is_kept() {
    let folder = Folder::new("meteors-bad");
    let mut short = sample();
    short.truncate(short.len() - 1000);
    folder.write("short.y4m", &short);
    let message = folder.fail(["meteors", "short.y4m"]);
    assert!(message.contains("short.y4m: frame 24: cut short") && message.contains("is kept"), "{message}");
    assert!(meteors(&text(&folder, "short.tracks.csv.part")).len() >= 12);
    folder.write("empty.y4m", "");
    folder.write("blank.y4m", "YUV4MPEG2 W320 H240 F25:1 Cmono\n");
    folder.write("noise.bin", [7; 5000]);
    for (arguments, words) in [
        (&["meteors", "missing.mp4"][..], "missing.mp4: "),
        (&["meteors", "empty.y4m"], "empty.y4m"),
        (&["meteors", "blank.y4m"], "blank.y4m: there is no frame in it"),
        (&["meteors", "-"], "give -o"),
        (&["meteors", "-", "-o", "x.csv"], "empty"),
        (&["meteors", "short.y4m", "--live", "-o", "x.csv"], "leave out --live"),
        (&["meteors", "short.y4m", "-o", "short.y4m"], "would replace the input"),
        (&["meteors", "-o", "x.csv", "--fmdt", "x.csv"], "would replace"),
        (&["meteors", "-o", "nowhere/x.csv"], "needs a folder that exists"),
        (&["meteors", "-o", "/dev/full"], "/dev/full"),
        (&["meteors", "-o", "-", "--json"], "cannot both go to standard output"),
    ] {
        let message = folder.fail(arguments);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    for (arguments, named) in [
        (&["meteors", "--fixed", "80,55"][..], "lower one first"),
        (&["meteors", "--size", "0x5"], "--size"),
        (&["meteors", "--rate", "nan"], "--rate"),
        (&["meteors", "--levels", "999"], "--levels"),
        (&["meteors", "--fixed", "55,80", "--levels", "9"], "--fixed"),
    ] {
        assert_usage(&folder, arguments, named);
    }
    let mut command = folder.command();
    command.args(["meteors", "noise.bin"]).env("BIEF_FFMPEG", "no-such-program");
    let output = command.output().unwrap();
    assert!(output.status.code() == Some(66) && stderr(&output).contains("apt install ffmpeg"), "{}", stderr(&output));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_was_found_before_ffmpeg_died_is_kept() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("meteors-ffmpeg");
    std::fs::write(folder.path("video.y4m"), sample()).unwrap();
    folder.write("night.mp4", "of no form that is known here");
    let all = sample().len();
    for (end, said) in [("kill -9 $$", "SIGKILL"), ("echo moov atom not found >&2; exit 1", "moov atom not found")] {
        // It sends all frames but the last two, and a half of one.
        let script = format!("#!/bin/sh\nhead -c {} video.y4m\n{end}\n", all - 160 * 120 * 5 / 2);
        folder.write("dying", &script);
        std::fs::set_permissions(folder.path("dying"), PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = folder.command();
        command.args(["meteors", "night.mp4", "-o", "tracks.csv"]).env("BIEF_FFMPEG", folder.path("dying"));
        let output = command.output().unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(74), "{message}");
        assert!(
            message.contains("frame 22") && message.contains(said) && message.contains("tracks.csv.part"),
            "{message}"
        );
        assert_eq!(meteors(&text(&folder, "tracks.csv.part")).last().unwrap().1, 18);
        assert!(!folder.path("tracks.csv").exists());
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn it_is_profiled_and_planned_as_any_chain() {
    let folder = Folder::new("meteors-profile");
    let shown = folder.succeed(["profile", "meteors", "-o", "meteors.json", "--executions", "50"]);
    for task in ["ReadFrames", "DetectComponents", "FollowTracks"] {
        assert!(shown.contains(task), "{shown}");
    }
    let shown = folder.succeed(["plan", "meteors.json", "--cores", "4"]);
    assert!(shown.contains("DetectComponents"), "{shown}");
    let message = folder.fail(["profile", "meteors", "--sps", "2"]);
    assert!(message.contains("give INPUT alone"), "{message}");
    folder.write("sky.y4m", sample());
    folder.write(
        "chain.toml",
        "[[task]]\nname = \"read\"\nkind = \"vision.read\"\nout = [\"frames\", \"stamps\"]\npath = \"sky.y4m\"\n\
         [[task]]\nname = \"detect\"\nkind = \"vision.detect\"\nin = [\"frames\"]\nout = [\"spots\"]\nstage = \"detect\"\nsize = \"160x120\"\n\
         [[task]]\nname = \"follow\"\nkind = \"vision.follow\"\nin = [\"stamps\", \"spots\"]\nstage = \"follow\"\nsize = \"160x120\"\n\
         rate = 25.0\npath = \"found.csv\"\n[stage.detect]\nthreads = 2\n",
    );
    folder.succeed(["run", "chain.toml"]);
    folder.succeed(["meteors", "sky.y4m", "-o", "direct.csv"]);
    assert_eq!(text(&folder, "found.csv"), text(&folder, "direct.csv"));
    assert!(folder.succeed(["run", "chain.toml", "--plan"]).contains("detect"));
}
