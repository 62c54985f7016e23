//! Narrowband FM on the command line: audio in every form, at its pace, and up to a fault.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, stderr};

/// The recording that ships: half a second at 576 kHz, its carrier at 1.2 kHz.
fn tones() -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/nbfm_tones.sigmf-data");
    std::fs::read(path).unwrap()
}

/// The samples of a WAV file of one channel at 48 kHz, as its header tells them.
fn wav(bytes: &[u8]) -> Vec<i16> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&bytes[..4], &bytes[8..16], &bytes[36..40]), (&b"RIFF"[..], &b"WAVEfmt "[..], &b"data"[..]));
    assert_eq!((number(4) + 8, number(24)), (number(40) + 44, 48_000), "lengths and rate");
    samples(&bytes[44..44 + number(40)])
}

fn samples(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks().0.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
}

/// The amplitude at a frequency, of full scale.
fn tone(audio: &[i16], hz: f64) -> f64 {
    let part = |wave: fn(f64) -> f64| {
        let turn = |k: usize| std::f64::consts::TAU * hz * k as f64 / 48e3;
        audio.iter().enumerate().map(|(k, x)| f64::from(*x) / 32767.0 * wave(turn(k))).sum::<f64>()
    };
    2.0 * part(f64::cos).hypot(part(f64::sin)) / audio.len() as f64
}

#[test]
fn what_is_built_in_becomes_audio() {
    let folder = Folder::new("nbfm");
    let shown = folder.succeed(["nbfm"]);
    for part in ["carrier", "found, moved by", "nbfm_tones.wav", "times real time", "% of a core"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let audio = wav(&folder.read("nbfm_tones.wav"));
    assert!((24_000..26_000).contains(&audio.len()), "{}", audio.len());
    let middle = &audio[2400..21_600];
    assert!((tone(middle, 400.0) - 0.3).abs() < 0.01 && (tone(middle, 1000.0) - 0.5).abs() < 0.01);
    assert!(tone(middle, 700.0) < 0.01);
}

#[test]
fn recordings_of_all_kinds_become_audio_of_all_forms() {
    let folder = Folder::new("nbfm-forms");
    folder.write("x.ci8", tones());
    folder.write("y.sigmf-data", tones());
    folder.write("y.sigmf-meta", r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 576000}}"#);
    folder.succeed(["nbfm", "y.sigmf-meta"]);
    let audio = wav(&folder.read("y.wav"));
    folder.succeed(["nbfm", "x.ci8", "--rate", "576e3", "-o", "x.s16"]);
    assert!(samples(&folder.read("x.s16")) == audio);
    folder.succeed(["nbfm", "y", "-o", "x.f32"]);
    let floats: Vec<i16> =
        folder.read("x.f32").as_chunks().0.iter().map(|x| (f32::from_le_bytes(*x) * 32767.0).round() as i16).collect();
    assert!(floats == audio);
    let mut command = folder.command();
    command.args(["nbfm", "-", "--format", "ci8", "--rate", "576e3", "-o", "-"]);
    let output = command.stdin(std::fs::File::open(folder.path("x.ci8")).unwrap()).output().unwrap();
    assert!(output.status.success() && samples(&output.stdout) == audio);
    assert!(stderr(&output).contains("standard input, 576000 samples/s"), "the table goes aside");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn the_carrier_may_be_told_and_settings_change_the_audio() {
    let folder = Folder::new("nbfm-settings");
    let run = |more: &[&str]| {
        let shown = folder.succeed(["nbfm", "-o", "x.wav", "--json"].iter().chain(more));
        let json: Value = serde_json::from_str(&shown).unwrap();
        (json, wav(&folder.read("x.wav"))[2400..21_600].to_vec())
    };
    let mean = |audio: &[i16]| audio.iter().map(|x| f64::from(*x)).sum::<f64>() / 32767.0 / audio.len() as f64;
    let (json, found) = run(&[]);
    assert_eq!(json["carrier_is"], "found");
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "audio_rate audio_seconds block carrier_hz carrier_is carrier_moved_hz deviation_hz input interrupted \
                    lost_samples output pace plan processor_percent report sample_rate seconds signal_at_the_end";
    assert_eq!(keys, expected.split_whitespace().collect::<Vec<_>>());
    assert!(json["signal_at_the_end"] == true && json["audio_seconds"].as_f64().unwrap() > 0.5, "{json}");
    assert!((json["carrier_hz"].as_f64().unwrap() - 1200.0).abs() < 10.0, "{json}");
    let (json, _) = run(&["--carrier", "-500"]);
    assert_eq!(json["carrier_is"], "measured");
    assert!((json["carrier_hz"].as_f64().unwrap() - 1200.0).abs() < 10.0, "{json}");
    let (json, off) = run(&["--offset", "700", "--fixed"]);
    assert!(json["carrier_is"] == "told" && json["carrier_hz"] == 700.0, "{json}");
    assert!((mean(&off) - 0.1).abs() < 0.01 && mean(&found).abs() < 0.01);
    let (_, high) = run(&["--carrier", "700", "--fixed", "--high-pass", "30"]);
    assert!(mean(&high).abs() < 0.01);
    let (_, soft) = run(&["--deemphasis", "750us"]);
    let expected = 1.0 / (std::f64::consts::TAU * 1000.0 * 750e-6).hypot(1.0);
    assert!((tone(&soft, 1000.0) / tone(&found, 1000.0) - expected).abs() < 0.02);
    let (json, quiet) = run(&["--deviation", "10000", "--block", "744"]);
    assert!(json["block"] == 744 && (tone(&quiet, 1000.0) - 0.25).abs() < 0.01, "{json}");
    let shown = folder.succeed(["nbfm", "-o", "x.wav", "--audio-rate", "24000", "--json", "x.json"]);
    assert!(shown.contains("at 24000 Hz"), "{shown}");
}

#[test]
fn a_paced_run_takes_as_long_as_the_recording() {
    let folder = Folder::new("nbfm-pace");
    folder.succeed(["nbfm", "-o", "fast.wav", "--block", "744"]);
    let start = Instant::now();
    folder.succeed(["nbfm", "-o", "x.wav", "--block", "744", "--pace", "--json", "x.json"]);
    assert!(start.elapsed() >= Duration::from_millis(500));
    assert!(folder.read("x.wav") == folder.read("fast.wav"));
    let json: Value = serde_json::from_slice(&folder.read("x.json")).unwrap();
    assert!(json["pace"]["frames"].as_u64().unwrap() >= 288_000 / 744, "{json}");
    assert!(json["processor_percent"].as_f64().unwrap() > 0.0, "{json}");
}

#[test]
fn what_was_received_before_a_fault_is_kept() {
    let folder = Folder::new("nbfm-fault");
    folder.write("x.ci8", &tones()[..2 * 200_000 + 1]);
    let message = folder.fail(["nbfm", "x.ci8", "--rate", "576e3"]);
    assert!(message.contains("ends inside a sample (1 of 2 bytes)") && message.contains("is kept"), "{message}");
    let audio = wav(&folder.read("x.wav.part"));
    assert!((tone(&audio[2400..14_400], 1000.0) - 0.5).abs() < 0.01);
}

#[test]
fn a_file_can_be_played_though_the_program_was_killed() {
    let folder = Folder::new("nbfm-killed");
    let mut command = folder.command();
    command.args(["nbfm", "-", "--format", "ci8", "--rate", "576e3", "-o", "x.wav"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut radio = child.stdin.take().unwrap();
    radio.write_all(&tones().repeat(5)).unwrap();
    // What the header says is there.
    let whole = || {
        std::fs::read(folder.path("x.wav.part")).is_ok_and(|bytes| {
            let told = bytes.get(40..44).map_or(0, |told| u32::from_le_bytes(told.try_into().unwrap()) as usize);
            told >= 2 * 2 * 48_000 && bytes.len() >= 44 + told
        })
    };
    let start = Instant::now();
    while !whole() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(whole() && !folder.path("x.wav").exists());
}

#[test]
fn what_cannot_be_received_is_refused_with_the_remedy() {
    let folder = Folder::new("nbfm-refused");
    folder.write("x.ci8", tones());
    folder.write("silence.ci8", vec![0; 600_000]);
    let rate = ["--rate", "576e3"];
    let refused = |arguments: &[&str]| folder.fail(["nbfm"].iter().chain(arguments));
    for (arguments, words) in [
        (&["absent.ci8", "--rate", "1e6"][..], "absent.ci8: No such file"),
        (&["x.ci8"], "x.ci8: its sample rate is not known: give --rate HZ"),
        (&["x.ci8", "--rate", "12.5"], "12.5 samples per second are no whole multiple of a rate of audio"),
        (&["x.ci8", "--rate", "576e3", "--audio-rate", "44100"], "whole multiple of the audio rate, 44100 Hz"),
        (&["x.ci8", "--rate", "576e3", "--block", "750"], "a block of 750 samples: give a whole multiple of 12"),
        (&["x.ci8", "--rate", "576e3", "--deviation", "0"], "the deviation is 0: give"),
        (&["x.ci8", "--rate", "576e3", "--high-pass", "30e3"], "the corner is 30000 Hz"),
        (&["x.ci8", "--rate", "576e3", "-o", "x.mp3"], "x.mp3: which form of audio? Name a file .wav, .s16 or .f32"),
        (&["x.ci8", "--rate", "576e3", "-o", "no/x.wav"], "no/x.wav: No such file or directory"),
        (&["-", "--format", "ci8", "--rate", "576e3"], "give -o OUT.wav"),
        (&["-o", "-", "--json"], "give --json a file"),
        (&["-o", "x.wav", "--json", "x.wav"], "would replace"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
    let message = refused(&[&["silence.ci8"][..], &rate].concat());
    assert!(
        message.contains("silence.ci8: no carrier stands out in the first 0.5 s") && message.contains("--carrier HZ")
    );
    assert!(!folder.path("silence.wav").exists() && !folder.path("x.wav").exists(), "nothing is written");
    for (arguments, words) in [(["--deemphasis", "50"], "750us"), (["--fixed", "x.ci8"], "--carrier")] {
        let output = folder.command().arg("nbfm").args(arguments).output().unwrap();
        assert!(output.status.code() == Some(2) && stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_latency_is_planned_kept_and_counted() {
    let folder = Folder::new("nbfm-latency");
    folder.succeed(["nbfm", "-o", "plain.wav"]);
    let json: Value =
        serde_json::from_str(&folder.succeed("nbfm --pace --latency 20ms --rt off --json -o kept.wav".split(' ')))
            .unwrap();
    let (plain, kept) = (wav(&folder.read("plain.wav")), wav(&folder.read("kept.wav")));
    let (plan, report) = (&json["plan"], &json["report"]);
    let block = plan["block"].as_u64().unwrap();
    assert!(block > 0 && block % 12 == 0 && json["block"] == plan["block"], "{plan}");
    let time = |key: &str| plan[key].as_u64().unwrap();
    assert!(time("bound_ns") + time("allowance_ns") <= 20_000_000 && time("filters_ns") > 0, "{plan}");
    let frames = report["frames"].as_u64().unwrap();
    let counted = &report["real_time"]["bound"];
    assert_eq!(counted["frames"].as_u64().unwrap(), frames);
    // The same audio, to the end of its last block.
    assert!(kept.len().abs_diff(plain.len()) <= block as usize / 12 + 960, "{} {}", kept.len(), plain.len());
    let both = kept.iter().zip(&plain).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(both.unwrap() <= 1, "{both:?}");
    let shown = folder.succeed("nbfm --pace --latency 20ms -o kept.wav".split(' '));
    for part in ["\nplanned ", " at most, ", " for the machine; filters: ", "frames over the bound: "] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    // Of a file that does not come at its pace only the block is chosen.
    let shown = folder.succeed("nbfm --latency 20ms -o kept.wav".split(' '));
    assert!(shown.contains("\nplanned ") && !shown.contains("frames over the bound"), "{shown}");
    for (arguments, told) in [
        ("nbfm --latency 10us", "is less than the 20.833µs that the shortest frame takes to arrive: allow more"),
        ("nbfm --latency 20ms --rt require", "give --pace, too"),
    ] {
        let message = folder.fail(arguments.split(' '));
        assert!(message.contains(told), "{arguments}: {message}");
    }
}
