//! Each command as its help and the README show it.

#[cfg(target_os = "linux")]
use std::process::Stdio;

use crate::common::{Folder, packets, sample};
use serde_json::Value;

#[test]
fn rx_without_input_receives_what_is_built_in() {
    let folder = Folder::new("builtin");
    let shown = folder.succeed(["rx"]);
    for part in [
        "QPSK 8/9 short, pilots",
        "Es/N0",
        "carrier offset",
        "clock offset",
        "385, 0 with errors",
        "Mb/s",
        "planned us",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(folder.read("dvbs2_qpsk_8-9_short.ts").len(), 385 * 188);
}

#[test]
fn rx_takes_a_file_standard_input_or_a_sigmf_pair() {
    let folder = Folder::new("inputs");
    folder.write("x.ci8", sample());
    folder.write("y.sigmf-data", sample());
    folder.write("y.sigmf-meta", r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 4e6}}"#);
    folder.succeed(["rx", "x.ci8", "--sps", "2", "--cores", "1"]);
    folder.succeed(["rx", "y.sigmf-meta", "--symbol-rate", "2e6", "-o", "z.ts"]);
    assert!(folder.read("x.ts") == folder.read("z.ts"));
    // The symbol rate shows in the signal.
    let shown = folder.succeed(["rx", "x.ci8", "-o", "found.ts"]);
    assert!(folder.read("x.ts") == folder.read("found.ts") && shown.contains("one symbol in 1.9999"), "{shown}");
    let shown = folder.succeed(["rx", "y.sigmf-meta", "-o", "found.ts"]);
    assert!(folder.read("x.ts") == folder.read("found.ts") && shown.contains(" Hz"), "{shown}");
    let mut command = folder.command();
    let input = std::fs::File::open(folder.path("x.ci8")).unwrap();
    let output = command
        .args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", "-"])
        .stdin(input)
        .stderr(Stdio::piped())
        .output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stdout == folder.read("x.ts"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("385, 0 with errors"), "the table goes aside");
}

/// A file in a tar file.
fn in_tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 512];
    head[..name.len()].copy_from_slice(name.as_bytes());
    head[100..107].copy_from_slice(b"0000644");
    head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    head[148..156].fill(b' ');
    head[156] = b'0';
    head[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    [head, content.to_vec(), vec![0; content.len().next_multiple_of(512) - content.len()]].concat()
}

#[test]
#[ignore = "long: part of .ci/run"]
fn rx_takes_archives_and_wav_files_whatever_they_are_called() {
    let folder = Folder::new("containers");
    folder.write("x.ci8", sample());
    folder.succeed(["rx", "x.ci8", "--sps", "2"]);
    let meta = r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 4e6}}"#;
    let archive =
        [in_tar("y/y.sigmf-meta", meta.as_bytes()), in_tar("y/y.sigmf-data", &sample()), vec![0; 1024]].concat();
    // Eight bits of a WAV file are unsigned.
    let samples: Vec<u8> = sample().iter().map(|byte| byte ^ 0x80).collect();
    let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
    wav.extend([4_000_000_u32, 8_000_000].map(u32::to_le_bytes).concat());
    wav.extend(b"\x02\0\x08\0data");
    wav.extend((samples.len() as u32).to_le_bytes());
    wav.extend(samples);
    for (name, content, output) in [
        ("y.sigmf", &archive, "y.ts"),
        ("archive", &archive, "archive.ts"),
        ("z.wav", &wav, "z.ts"),
        ("wav", &wav, "wav.ts"),
    ] {
        folder.write(name, content);
        let shown = folder.succeed(["rx", name, "--symbol-rate", "2e6"]);
        assert!(folder.read("x.ts") == folder.read(output) && shown.contains(" Hz"), "{name}: {shown}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn rx_tells_what_it_passed_over() {
    let folder = Folder::new("passed-over");
    let mut noise = packets(3000);
    noise.iter_mut().for_each(|byte| *byte &= 0x0F);
    for (name, noise, passed_over) in [("signal.ci8", &[][..], false), ("noise.ci8", &noise, true)] {
        folder.write(name, [noise, &sample()].concat());
        let shown = folder.succeed(["rx", name, "--sps", "2"]);
        assert_eq!(shown.contains("samples in which no signal was found"), passed_over, "{shown}");
    }
}

#[test]
fn rx_loses_nothing_of_live_input_that_it_has_time_for() {
    let folder = Folder::new("unhurried");
    // As much as the queue holds.
    let bytes = sample().repeat(4);
    folder.write("x.ci8", &bytes);
    let mut packets = Vec::new();
    for (live, output) in [(&[][..], "waits.ts"), (&["--live"], "live.ts")] {
        let mut command = folder.command();
        command.args(["rx", "-", "--format", "ci8", "--sps", "2", "-o", output]).args(live);
        let input = std::fs::File::open(folder.path("x.ci8")).unwrap();
        let shown = command.stdin(input).output().unwrap();
        assert!(shown.status.success() && !String::from_utf8_lossy(&shown.stdout).contains("samples lost"));
        // What comes of frames that are cut where the copies meet is marked as wrong, and nobody knows how much of it there is.
        let sound = |packet: &&[u8]| packet[1] & 0x80 == 0;
        packets.push(folder.read(output).chunks_exact(188).filter(sound).map(<[u8]>::to_vec).collect::<Vec<_>>());
    }
    assert!(packets[0].len() > 1400 && packets[0] == packets[1]);
}

#[cfg(unix)]
#[test]
fn rx_does_not_make_live_input_wait() {
    let folder = Folder::new("hurried");
    let output = folder.path("x.ts");
    assert!(std::process::Command::new("mkfifo").arg(&output).status().unwrap().success());
    let mut command = folder.command();
    command.args(["rx", "-", "--live", "--format", "ci8", "--sps", "2", "-o", "x.ts", "--json", "run.json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut radio = child.stdin.take().unwrap();
    // Nobody takes the packets, and still all of this is taken: much more than the queue holds.
    let send = |radio: &mut std::process::ChildStdin, times| {
        (0..times).for_each(|_| std::io::Write::write_all(radio, &sample()).unwrap());
    };
    send(&mut radio, 26);
    let reader = std::thread::spawn(move || std::fs::read(output).unwrap());
    send(&mut radio, 4);
    drop(radio);
    let shown = child.wait_with_output().unwrap();
    let packets = reader.join().unwrap();
    let json: Value = serde_json::from_slice(&folder.read("run.json")).unwrap();
    let number = |name: &str| json["figures"][name].as_u64().unwrap();
    let lost = number("lost_samples");
    assert!(lost > 0);
    assert_eq!(number("bytes") + 2 * lost, 30 * sample().len() as u64);
    assert_eq!(json["report"]["lost"], 2 * lost);
    assert_eq!(number("packets") as usize, packets.len() / 188);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&format!("{lost}, dropped before the receiver")), "{shown}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn rx_receives_recordings_of_any_number_of_frames() {
    let folder = Folder::new("short");
    // The sample begins 1133 symbols before its first whole frame; 8370 symbols of 4 bytes each follow in a frame.
    for frames in 1..=20 {
        folder.write("x.ci8", &sample()[..4 * (1140 + 8370 * frames)]);
        folder.succeed(["rx", "x.ci8", "--sps", "2", "--force"]);
        // The first frame begins inside packet 9, so that packet 10 is the first whole one.
        let packets = (1769 * (frames + 1)) / 188 - 10;
        assert_eq!(folder.read("x.ts").len() / 188, packets, "{frames} frames");
    }
}

/// The keys of an object, as they are sorted.
fn keys(json: &Value) -> Vec<&str> {
    json.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn rx_tells_machines_under_names_that_stay() {
    let folder = Folder::new("json-keys");
    let json: Value = serde_json::from_str(&folder.succeed(["rx", "--json"])).unwrap();
    let all = "figures input interrupted ip machine megabits_per_second outputs profile refined report \
               samples_per_symbol_found schedule sent simd";
    assert_eq!(keys(&json), all.split_whitespace().collect::<Vec<_>>());
    let figures = "bits bytes carrier_per_symbol clock_ppm corrected_bits dummy_frames es_n0_db frame_errors frames gaps kinds \
                   losses lost_samples margin_db mean_iterations missed_headers other_frames packet_errors packets \
                   passed_over_samples pids services streams unreadable_frames";
    assert_eq!(keys(&json["figures"]), figures.split_whitespace().collect::<Vec<_>>());
    assert_eq!(keys(&json["figures"]["kinds"][0]), ["frame_errors", "frames", "name", "pls"]);
    let stream = "bytes delivered errors frames gaps isi kind last_stamp packets replaced restored stamps";
    assert_eq!(keys(&json["figures"]["streams"][0]), stream.split_whitespace().collect::<Vec<_>>());
    // The same figures as its tasks tell them.
    let told = json["report"]["figures"].as_array().unwrap();
    let read = told.iter().find(|figure| figure["name"] == "read").unwrap();
    assert_eq!((&read["task"], &read["unit"]), (&"cut frames".into(), &"bytes".into()));
    assert_eq!(read["count"], json["figures"]["bytes"]);
}

#[test]
#[cfg(target_os = "linux")]
fn rx_tells_what_was_received_before_a_fault() {
    let folder = Folder::new("rx-fault");
    let message = folder.fail(["rx", "-o", "/dev/full", "--json", "run.json", "--constellation", "symbols.svg"]);
    assert!(message.contains("what was received before is kept"), "{message}");
    assert!(message.ends_with("is kept: see run.json.part\n") && !folder.path("run.json").exists(), "{message}");
    let json: Value = serde_json::from_slice(&folder.read("run.json.part")).unwrap();
    assert!(json["report"].is_null() && json["figures"]["frames"].as_u64().unwrap() > 0, "{json}");
    assert!((json["figures"]["es_n0_db"].as_f64().unwrap() - 8.5).abs() < 1.0, "{json}");
    let svg = String::from_utf8(folder.read("symbols.svg")).unwrap();
    assert_eq!(svg.matches(r#"class="panel""#).count(), 1, "what was received is drawn");
}

#[test]
fn rx_tells_a_machine_what_it_tells_a_person() {
    let folder = Folder::new("json");
    let json: Value = serde_json::from_str(&folder.succeed(["rx", "--json"])).unwrap();
    assert_eq!(json["figures"]["kinds"][0]["name"], "QPSK 8/9 short, pilots");
    assert_eq!(json["figures"]["streams"][0]["kind"], "transport stream");
    assert_eq!(json["outputs"], serde_json::json!(["dvbs2_qpsk_8-9_short.ts"]));
    assert!((json["figures"]["margin_db"].as_f64().unwrap() - 2.3).abs() < 0.3);
    assert_eq!(json["figures"]["packets"], 385);
    assert_eq!(json["figures"]["frames"], 41);
    assert!((json["figures"]["carrier_per_symbol"].as_f64().unwrap() - 0.01).abs() < 1e-3);
    assert!((json["figures"]["clock_ppm"].as_f64().unwrap() - 20.0).abs() < 2.0);
    assert!((json["figures"]["es_n0_db"].as_f64().unwrap() - 8.5).abs() < 0.3);
    assert_eq!(json["schedule"]["format"], 1);
    let stages = json["report"]["stages"].as_array().unwrap();
    assert!(stages.iter().all(|stage| stage["planned_ns"].as_f64().unwrap() > 0.0));

    let shown = folder.succeed(["rx", "--json", "run.json"]);
    assert!(shown.contains("packets"), "the table stays when JSON goes to a file");
    let json: Value = serde_json::from_slice(&folder.read("run.json")).unwrap();
    assert_eq!(json["figures"]["packets"], 385);

    // An input typed after --json is not overwritten.
    folder.write("x.ci8", sample());
    let json: Value = serde_json::from_str(&folder.succeed(["rx", "--sps", "2", "--json", "x.ci8"])).unwrap();
    assert_eq!(json["input"], "x.ci8");
    assert!(folder.read("x.ci8") == sample());
}

#[test]
#[ignore = "long: part of .ci/run"]
fn vector_instructions_are_chosen_by_a_variable() {
    let folder = Folder::new("simd");
    folder.succeed(["rx", "-o", "best.ts"]);
    let poorest = bief_dsp::simd::Level::all()[0].name();
    let mut command = folder.command();
    let output = command.args(["rx", "-o", "poorest.ts", "--json"]).env("BIEF_SIMD", poorest).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["simd"], poorest);
    assert!(folder.read("poorest.ts") == folder.read("best.ts"));

    let mut command = folder.command();
    let output = command.args(["rx", "-o", "none.ts"]).env("BIEF_SIMD", "avx3").output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && message.contains("BIEF_SIMD=avx3: this processor has "), "{message}");
}

#[test]
fn tx_then_rx_gives_the_same_bytes() {
    let folder = Folder::new("loop");
    let stream = packets(120);
    folder.write("in.ts", &stream);
    for options in [
        &["--pilots"][..],
        &["--rolloff", "0.35", "--sps", "4"],
        &["--format", "cf32", "--pilots", "--rolloff", "0.25", "--symbol-rate", "1e6"],
    ] {
        let transmit = ["tx", "in.ts", "-o", "out.sigmf-meta", "--modcod", "qpsk-8/9", "--frame", "short"];
        let shown = folder.succeed(transmit.iter().chain(options));
        assert!(shown.contains("QPSK 8/9 short"), "{shown}");
        let rate = if options.contains(&"--symbol-rate") { &["--symbol-rate", "1e6"][..] } else { &[] };
        folder.succeed(["rx", "out.sigmf-meta", "--force"].iter().chain(rate));
        assert!(folder.read("out.ts") == stream, "{options:?}");
    }
}

#[test]
fn tx_sends_every_kind_of_frame() {
    let folder = Folder::new("kinds");
    folder.write("in.ts", packets(12));
    folder.write("other.ts", packets(2));
    let transmit = |arguments: &[&str]| -> (Value, usize) {
        let common = ["tx", "--json", "-", "-o", "out.sigmf-meta", "--format", "ci8", "--sps", "1.5", "in.ts"];
        let json = serde_json::from_str(&folder.succeed(common.iter().chain(arguments))).unwrap();
        (json, folder.read("out.sigmf-data").len() / 3)
    };
    // Symbols of the frame that carries everything, and of the empty one behind it.
    for (modcod, symbols) in
        [("qpsk-8/9", 32_490), ("8psk-3/5", 21_690), ("16apsk-9/10", 16_290), ("32apsk-9/10", 13_050)]
    {
        let (json, sent) = transmit(&["--modcod", modcod, "--frame", "normal"]);
        assert_eq!((&json["plframes"], sent), (&2.into(), 2 * symbols), "{modcod}");
    }
    let (json, sent) = transmit(&["--vcm", "qpsk-1/4:short,dummy,32apsk-3/4:short:pilots", "--gold", "7"]);
    assert_eq!((&json["pls"], &json["gold_code"]), (&serde_json::json!([6, 0, 99]), &7.into()));
    // 374, 1454, 374 and 54 of 2256 bytes, and an empty frame.
    assert_eq!((&json["plframes"], sent), (&7.into(), 3 * 8_190 + 2 * 3_330 + 2 * 3_402));
    assert_eq!(json["description"], "DVB-S2 QPSK 1/4 short; dummy PLFRAME; 32APSK 3/4 short, pilots, roll-off 0.20");
    let (json, sent) = transmit(&["--modcod", "qpsk-1/4", "--frame", "short", "--dummy", "2"]);
    assert_eq!((&json["pls"], sent), (&serde_json::json!([6, 0]), 8 * 8_190 + 3 * 3_330));
    let (json, _) = transmit(&["other.ts", "--isi", "9,200", "--modcod", "qpsk-1/4", "--frame", "short"]);
    assert_eq!((&json["isi"], &json["plframes"]), (&serde_json::json!([9, 200]), &10.into()));
    let (json, _) = transmit(&["--generic", "--modcod", "qpsk-8/9", "--frame", "short"]);
    assert_eq!(json["plframes"], 3);
    let (json, _) = transmit(&["--delete-nulls", "--modcod", "qpsk-8/9", "--frame", "short"]);
    assert_eq!(json["plframes"], 3);
    let shown = folder.succeed(["tx", "in.ts", "-o", "out.sigmf-meta", "--vcm", "qpsk-1/4:short,dummy"]);
    assert!(shown.contains("DVB-S2 QPSK 1/4 short; dummy PLFRAME, roll-off 0.20"), "{shown}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn rx_receives_what_tx_mixes() {
    let folder = Folder::new("mixed");
    let (one, other) = (packets(300), packets(200));
    folder.write("a.ts", &one);
    folder.write("b.ts", &other);
    let frames = "qpsk-3/4:short:pilots,8psk-3/4:short,dummy,16apsk-3/4:short:pilots,32apsk-4/5:short:pilots";
    folder.succeed(["tx", "a.ts", "b.ts", "--isi", "5,250", "--vcm", frames, "--gold", "77", "-o", "x.sigmf-meta"]);

    // Each stream of the carrier goes to a file of its own, and every kind of frame into the picture.
    let shown = folder.succeed(["rx", "x.sigmf-meta", "--gold", "77", "--constellation", "x.svg"]);
    assert!(folder.read("x.isi5.ts") == one && folder.read("x.isi250.ts") == other && !folder.path("x.ts").exists());
    for told in
        ["QPSK 3/4 short, pilots", "8PSK 3/4 short:", "dummy frames", "of ISI 5 to x.isi5.ts", "300, 0 with errors"]
    {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let svg = String::from_utf8(folder.read("x.svg")).unwrap();
    assert_eq!(svg.matches(r#"class="panel""#).count(), 4);

    // One stream alone; those who forget the Gold code see noise; standard output takes one.
    let shown = folder.succeed(["rx", "x.sigmf-meta", "--gold", "77", "--isi", "250", "-o", "b2.ts"]);
    assert!(folder.read("b2.ts") == other && shown.contains("of ISI 5:") && shown.contains("passed over"), "{shown}");
    assert!(folder.fail(["rx", "x.sigmf-meta"]).contains("nothing could be decoded"));
    let output = folder.command().args(["rx", "x.sigmf-meta", "--gold", "77", "-o", "-"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("the carrier has a second stream"), "{message}");
    assert!(message.contains("choose one with --isi") && output.stdout[..188] == one[..188], "{message}");
}

#[test]
fn rx_passes_over_modcods_that_are_not_wanted() {
    let folder = Folder::new("wanted");
    folder.write("a.ts", packets(100));
    folder.succeed(["tx", "a.ts", "--vcm", "qpsk-3/4:short,8psk-3/4:short", "-o", "x.sigmf-meta"]);
    let json = folder.succeed(["rx", "x.sigmf-meta", "--modcod", "8psk-3/4,qpsk-1/4", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["figures"]["kinds"].as_array().unwrap().len(), 1);
    assert_eq!(json["figures"]["kinds"][0]["name"], "8PSK 3/4 short");
    let passed = json["figures"]["other_frames"].as_u64().unwrap();
    assert!(passed.abs_diff(json["figures"]["frames"].as_u64().unwrap()) <= 1, "{json}");
    let message = folder.fail(["rx", "x.sigmf-meta", "--modcod", "32apsk-3/4", "--force"]);
    assert!(message.contains("none of its frames is of a MODCOD that was asked for"), "{message}");
}

#[test]
fn rx_writes_a_stream_of_no_packets_as_it_is() {
    let folder = Folder::new("generic");
    let bytes: Vec<u8> = (0..30_000_u32).map(|k| ((k * k) >> 7) as u8).collect();
    folder.write("a.bin", &bytes);
    folder.succeed(["tx", "a.bin", "--generic", "--modcod", "8psk-2/3", "--frame", "normal", "-o", "x.sigmf-meta"]);
    let shown = folder.succeed(["rx", "x.sigmf-meta"]);
    assert!(folder.read("x.bin") == bytes && shown.contains("generic continuous stream to x.bin"), "{shown}");
}

#[test]
fn plan_shows_a_schedule_and_writes_it() {
    let folder = Folder::new("plan");
    folder.write(
        "p.json",
        r#"{"format": 1, "kinds": ["core"], "frames_per_execution": 1, "bits_per_frame": 14232, "tasks": [
            {"name": "read", "replicable": false, "ns": [10000]},
            {"name": "decode", "replicable": true, "ns": [60000]},
            {"name": "write", "replicable": false, "ns": [5000]}]}"#,
    );
    let shown = folder.succeed(["plan", "p.json", "--cores", "4"]);
    assert!(shown.contains("30.0 us") && shown.contains("474 Mb/s"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed(["plan", "p.json", "--cores", "4", "--json"])).unwrap();
    assert_eq!((&json["format"], &json["strategy"], &json["period_ns"]), (&1.into(), &"exact".into(), &30000.into()));
    assert_eq!(json["cores"]["core"], 4);
    let shown = folder.succeed(["plan", "p.json", "--cores", "2", "--strategy", "thread_per_task"]);
    assert!(shown.contains("60.0 us"), "{shown}");
}

#[test]
fn plan_shares_stages_among_kinds_unless_told_not_to() {
    let folder = Folder::new("stages");
    let plan =
        |more: &[&str]| folder.succeed(["plan", "x7_ti", "--cores", "big=3,little=4"].iter().chain(more).copied());
    let shown = plan(&[]);
    assert!(shown.contains("2428.0 us") && shown.contains("1 big + 2 little"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(plan(&["--stages", "mixed"]), shown);
    let one_kind = plan(&["--stages", "one-kind"]);
    assert!(one_kind.contains("2707.3 us") && one_kind.starts_with("exact:one-kind: "), "{one_kind}");
    assert_eq!(plan(&["--strategy", "exact:one-kind"]), one_kind);
    let json: Value = serde_json::from_str(&plan(&["--json"])).unwrap();
    let stages = json["stages"].as_array().unwrap();
    assert!(stages.iter().any(|stage| stage["cores"] == serde_json::json!({"big": 1, "little": 2})), "{json}");
    let svg = plan(&["--svg", "-"]);
    assert!(svg.contains("1 × big + 2 × little"), "{svg}");
    for strategy in ["herad", "all"] {
        let error = folder.fail(["plan", "x7_ti", "--stages", "mixed", "--strategy", strategy]);
        assert!(error.contains("--stages mixed is for the strategy `exact`"), "{error}");
    }
}

#[test]
fn plan_knows_profiles_by_name() {
    let folder = Folder::new("shipped");
    for (name, machine, cores) in [
        ("orange_pi_5_plus", "Orange Pi 5+", "4 of 4 big and 4 of 4 little"),
        ("mac_studio", "Mac Studio", "7 of 16 big and 4 of 4 little"),
        ("ai370", "AI370", "1 of 4 big and 6 of 8 little"),
        ("x7_ti", "X7 Ti", "5 of 6 big and 8 of 8 little"),
    ] {
        let shown = folder.succeed(["plan", name]).replace('\n', " ");
        assert!(shown.contains(machine) && shown.contains("23 tasks") && shown.contains("mJ per frame"), "{shown}");
        assert!(shown.contains(cores), "{shown}");
    }
    let shown = folder.succeed(["plan", "ai370", "--cores", "little=5"]);
    assert!(shown.contains("of 5 little cores") && shown.contains("mJ per"), "the watts stay known: {shown}");
    folder.write("cores.json", r#"{"format": 1, "kinds": [{"name": "big", "cores": 3}]}"#);
    let shown = folder.succeed(["plan", "ai370", "--platform", "cores.json"]);
    assert!(shown.contains("3 of 3 big cores") && !shown.contains("mJ"), "{shown}");
    let shown = folder.succeed(["plan", "ai370", "--platform", "mac_studio"]);
    assert!(shown.contains("of 16 big"), "{shown}");

    // A file of that name comes first.
    folder.write(
        "ai370",
        r#"{"format": 1, "kinds": ["core"], "frames_per_execution": 1, "tasks": [
            {"name": "mine", "replicable": false, "ns": [10000]}]}"#,
    );
    assert!(folder.succeed(["plan", "ai370", "--cores", "1"]).contains("mine"));
}

#[test]
fn plan_compares_all_strategies() {
    let folder = Folder::new("all");
    let shown = folder.succeed(["plan", "mac_studio", "--strategy", "all"]);
    for part in [
        "\nexact ",
        "\notac (big) ",
        "\notac (little) ",
        "\nthread_per_task",
        "\nexact:one-kind ",
        "\nexact: 23 tasks in 6 stages",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");

    let json: Value =
        serde_json::from_str(&folder.succeed(["plan", "mac_studio", "--strategy", "all", "--json"])).unwrap();
    let rows = json.as_array().unwrap();
    let exact = rows.iter().find(|row| row["strategy"] == "exact").unwrap();
    assert_eq!(exact["kinds"], serde_json::json!(["big", "little"]));
    assert_eq!(exact["schedule"]["period_ns"], 950_900);
    assert!(exact["compute_ns"].as_u64().unwrap() > 0);
    let watts = exact["watts"].as_f64().unwrap();
    let joules = exact["joules_per_frame"].as_f64().unwrap();
    assert!((watts * 950.9e-6 / 4.0 - joules).abs() < 1e-9, "{watts} W, {joules} J per frame, 4 frames per execution");
    let period = |row: &Value| row["schedule"]["period_ns"].as_f64();
    let shares = |row: &Value| row["schedule"]["oversubscribed"] == true;
    let periods: Vec<f64> = rows.iter().filter(|row| !shares(row)).filter_map(period).collect();
    assert!(periods.len() >= 3 && periods.iter().all(|&period| period >= 950_900.0), "exact is best of {periods:?}");
}

#[test]
fn plan_follows_a_goal() {
    let folder = Folder::new("goal");
    let json = |goal: &str| -> Value {
        serde_json::from_str(&folder.succeed(["plan", "mac_studio", "--json", "--goal", goal])).unwrap()
    };
    let cores =
        |schedule: &Value| schedule["cores"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
    assert_eq!(cores(&json("fewest-big")), 11);
    assert_eq!(cores(&json("fewest-cores")), 10);
    let frugal = json("least-power,rate=30Mb/s");
    let period = frugal["period_ns"].as_f64().unwrap();
    assert!(period > 950_900.0 && period <= 14_232.0 * 4.0 / 30e6 * 1e9, "{period}");
    let shown = folder.succeed(["plan", "mac_studio", "--goal", "least-power,rate=30Mb/s"]);
    assert!(shown.replace('\n', " ").contains("Without the demands of the goal, 950.9 us"), "{shown}");
    let shown = folder.succeed(["plan", "mac_studio", "--goal", "fewest-cores,rate=30Mb/s"]);
    assert!(shown.contains("\nAlso fast enough: ") && shown.contains("5 big + 1 little in 4 stages"), "{shown}");
    let shown = folder.succeed(["plan", "mac_studio", "--goal", "fewest-cores,rate=30Mb/s", "--strategy", "all"]);
    assert!(
        shown.contains("\nnicol (big)< ") && shown.contains("\nOnly `exact` and `exact:one-kind` follow the goal.\n"),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn plan_chooses_clocks_where_there_is_time() {
    let folder = Folder::new("clocks");
    folder.write(
        "board.json",
        r#"{"format": 1, "kinds": [
            {"name": "big", "cores": 16, "watts": 4.0, "clocks": [{"mhz": 1200, "slowdown": 2.0, "watts": 1.1}]},
            {"name": "little", "cores": 4, "watts": 1.5}
        ], "idle_watts": 2.0}"#,
    );
    let plan = |goal, more: &[&str]| {
        let args = ["plan", "mac_studio", "--platform", "board.json", "--goal", goal];
        folder.succeed(args.into_iter().chain(more.iter().copied()))
    };
    let shown = plan("least-power,rate=10Mb/s", &[]);
    assert!(shown.replace('\n', " ").contains("That is with big cores at 1200 MHz."), "{shown}");
    let schedule: Value = serde_json::from_str(&plan("least-power,rate=10Mb/s", &["--json"])).unwrap();
    assert_eq!(schedule["clocks"], serde_json::json!({"big": 1200}));
    assert!(schedule["period_ns"].as_f64().unwrap() <= 14_232.0 * 4.0 / 10e6 * 1e9, "{schedule}");
    // No slow clock reaches the shortest period.
    let schedule: Value = serde_json::from_str(&plan("least-power,period=951us", &["--json"])).unwrap();
    assert_eq!(schedule.get("clocks"), None);
}

#[test]
fn plan_counts_the_cores_that_it_keeps_busy() {
    let folder = Folder::new("plan-busy");
    let profile = r#"{"format": 1, "kinds": ["cpu"], "frames_per_execution": 1, "busy": [{"cores": 4, "ns": [6000, 12000]}],
        "tasks": [{"name": "read", "replicable": false, "ns": [3000]}, {"name": "decode", "replicable": true, "ns": [6000]}]}"#;
    folder.write("p.json", profile);
    let json: Value = serde_json::from_str(&folder.succeed(["plan", "p.json", "--cores", "4", "--json"])).unwrap();
    // With all four at work reading alone would take 6 us.
    assert_eq!((&json["cores"], &json["period_ns"]), (&serde_json::json!({"cpu": 3}), &5000.into()));
    let shown = folder.succeed(["plan", "p.json", "--cores", "4"]).replace('\n', " ");
    assert!(shown.contains("with 3 cpu at work") && shown.contains("Period 5000.0 ns"), "{shown}");
    let all = folder.succeed(["plan", "p.json", "--cores", "4", "--strategy", "all"]).replace('\n', " ");
    assert!(all.contains("with 4 cpu at work"), "{all}");
    folder.write("p.json", profile.replace("[6000, 12000]", "[2900, 12000]"));
    let told = folder.fail(["plan", "p.json"]);
    assert!(told.contains("busy[0].ns[0]") && told.contains("task `read` has 2900"), "{told}");
}

#[test]
fn plan_draws() {
    let folder = Folder::new("svg");
    for arguments in [&["mac_studio"][..], &["x7_ti", "--strategy", "all"], &["ai370", "--strategy", "thread_per_task"]]
    {
        let shown = folder.succeed(["plan"].iter().chain(arguments).chain(&["--svg", "plan.svg"]));
        assert!(shown.contains("Mb/s"), "the table stays: {shown}");
        let svg = String::from_utf8(folder.read("plan.svg")).unwrap();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        assert_balanced(&svg);
        for part in ["Sync. Timing - synchronize", "Sync. Freq. Fine L&amp;R", "big: ", "period ", "Mb/s"] {
            assert!(svg.replace('\u{a0}', " ").contains(part), "no `{part}` in {svg}");
        }
    }
}

#[test]
fn plan_draws_to_standard_output() {
    let folder = Folder::new("svg-out");
    folder.succeed(["plan", "ai370", "--svg", "plan.svg"]);
    let written = String::from_utf8(folder.read("plan.svg")).unwrap();
    assert_eq!(folder.succeed(["plan", "ai370", "--svg", "-"]), written);
    assert_eq!(folder.succeed(["plan", "ai370", "--svg", "-", "--strategy", "all"]), written);
    assert_eq!(folder.succeed(["plan", "ai370", "--svg", "-", "--json", "plan.json"]), written);
    assert!(folder.read("plan.json").starts_with(b"{") && !folder.path("-").exists());
}

#[test]
fn plan_takes_the_profile_that_is_typed_after_json() {
    let folder = Folder::new("misplaced");
    let json: Value = serde_json::from_str(&folder.succeed(["plan", "--json", "mac_studio"])).unwrap();
    assert_eq!(json["period_ns"], 950_900);
    assert!(!folder.path("mac_studio").exists());
}

/// Each tag that opens is closed, in its order, and nothing follows the first.
fn assert_balanced(svg: &str) {
    let mut open = Vec::new();
    for (index, part) in svg.trim_end().split('<').skip(1).enumerate() {
        assert!(index == 0 || !open.is_empty(), "something follows the document");
        let (tag, text) = part.split_once('>').unwrap();
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
        let entities = ["&amp;", "&lt;", "&gt;"];
        assert!(text.match_indices('&').all(|(at, _)| entities.iter().any(|entity| text[at..].starts_with(entity))));
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn machine_counts_the_cores() {
    let folder = Folder::new("machine");
    let shown = folder.succeed(["machine"]);
    assert!(shown.contains("processor") && shown.contains("package"), "{shown}");
    let json = folder.succeed(["machine", "--json"]);
    let machine = bief::Machine::from_json(&json).unwrap();
    assert_eq!(machine.usable(), std::thread::available_parallelism().unwrap().get().min(machine.cores().len()));

    // What was written is read again, alone and behind --json.
    folder.write("here.json", &json);
    assert_eq!(folder.succeed(["machine", "here.json"]), shown);
    folder.write("here", &json);
    assert_eq!(folder.succeed(["machine", "--json", "here"]), json);
    folder.succeed(["machine", "--json", "again.json", "--svg", "here.svg"]);
    assert_eq!(folder.read("again.json"), json.as_bytes());
    let svg = String::from_utf8(folder.read("here.svg")).unwrap();
    assert_balanced(&svg);
    assert_eq!(folder.succeed(["machine", "--svg", "-"]), svg);
    let both = folder.fail(["machine", "--svg", "-", "--json"]);
    assert!(both.contains("cannot both go to standard output"), "{both}");
    let replaced = folder.fail(["machine", "here.json", "--svg", "here.json"]);
    assert!(replaced.contains("--svg would replace the input"), "{replaced}");
}

#[test]
fn machine_shows_others_and_emulated_ones() {
    let folder = Folder::new("machines");
    let xml = concat!(env!("CARGO_MANIFEST_DIR"), "/../bief-machine/tests/machines/orange_pi_5_plus.xml");
    let shown = folder.succeed(["machine", xml]);
    assert!(shown.contains("2 x cluster 1-2 of big cores\n      2 x core 4-7: L1d 64 KiB"), "{shown}");
    std::fs::create_dir_all(folder.path("copy/sys/devices/system/cpu")).unwrap();
    folder.write("copy/sys/devices/system/cpu/online", "0-2\n");
    let shown = folder.succeed(["machine", "--root", "copy"]);
    assert!(shown.contains("cluster 0\n      3 x core 0-2"), "{shown}");
    folder.write("copy/sys/devices/system/cpu/online", "\u{1b}[2J");
    let shown = folder.succeed(["machine", "--root", "copy"]);
    assert!(shown.contains("note: sys/devices/system/cpu/online reads \"\\u{1b}[2J\""), "{shown}");
    assert!(folder.fail(["machine", "--root", "."]).contains("it has no folder sys/devices/system/cpu"));

    folder.write("slow.toml", "[[kind]]\nname = \"slow\"\ncores = \"9999\"\n");
    let message = folder.fail(["machine", "slow.toml"]);
    assert!(message.contains("slow.toml:3: ") && message.contains("`cores` must be numbers of cores"), "{message}");
    assert!(folder.fail(["machine", "absent.toml"]).contains("absent.toml: No such file"));
}

/// The files of a machine that has a sensor of its board, a counter that stands still, and one that nobody can read.
fn recorded_machine(name: &str) -> Folder {
    let folder = Folder::new(name);
    let package = "sys/class/powercap/intel-rapl:0";
    for (path, content) in [
        ("sys/class/hwmon/hwmon0/name", "power_meter"),
        ("sys/class/hwmon/hwmon0/power1_average", "12500000"),
        (&format!("{package}/name"), "package-0"),
        (&format!("{package}/energy_uj"), "77"),
        (&format!("{package}/max_energy_range_uj"), "65532610987"),
        (&format!("{package}:0/name"), "core"),
        (&format!("{package}:0/energy_uj"), "damaged"),
        (&format!("{package}:0/max_energy_range_uj"), "65532610987"),
    ] {
        std::fs::create_dir_all(folder.path(path).parent().unwrap()).unwrap();
        folder.write(path, content);
    }
    folder
}

#[test]
fn power_read_lists_sources_and_measures_the_widest() {
    let folder = recorded_machine("power");
    let read = ["power", "read", "--root", ".", "--seconds", "0.1"];
    let shown = folder.succeed(read);
    for part in [
        "rapl:package        package  counts energy  readable",
        "rapl:core           part     counts energy  cannot be read",
        "holds no number that fits:",
        "power_meter:power1  board    samples power  readable",
        " J in ",
        "12.5 W on average",
        "source  power_meter:power1",
        "scope   board",
        "rapl:package: a counter did not advance in",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed(read.iter().chain(&["--json"]))).unwrap();
    let energy = &json["measured"]["energy"];
    assert_eq!((&energy["source"], &energy["scope"]), (&"power_meter:power1".into(), &"board".into()));
    assert!((energy["watts"].as_f64().unwrap() - 12.5).abs() < 1e-9 && energy["joules"].as_f64().unwrap() > 1.2);
    assert_eq!(json["sources"].as_array().unwrap().len(), 3);

    let fails = |source| folder.fail(read.iter().chain(&["--source", source]));
    assert!(fails("rapl:packag").contains("--source: there is no source `rapl:packag`: did you mean `rapl:package`?"));
    assert!(fails("rapl:core").contains("--source: source `rapl:core` cannot be read: "));
    assert!(fails("rapl:package").contains("--source rapl:package: nothing was measured: rapl:package: a counter"));
    assert!(folder.fail(["power", "read", "--meter", "."]).contains("--meter .: is a folder"));
    assert!(folder.fail(["power", "read", "--root", "absent"]).contains("--root absent: is no folder"));
}

#[test]
fn power_read_of_a_machine_with_nothing_is_no_error() {
    let folder = Folder::new("power-nothing");
    let read = ["power", "read", "--root", "."];
    let shown = folder.succeed(read);
    assert!(shown.starts_with("Nothing was measured") && shown.contains("modelled, not measured"), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed(read.iter().chain(&["--json"]))).unwrap();
    assert_eq!(json, serde_json::json!({ "sources": [], "measured": null }));
    assert!(folder.fail(read.iter().chain(&["--source", "battery"])).contains("there are none"));
}

#[test]
fn help_shows_examples_for_every_command() {
    let folder = Folder::new("help");
    for command in [
        &[][..],
        &["rx"],
        &["tx"],
        &["nbfm"],
        &["run"],
        &["profile"],
        &["plan"],
        &["realtime"],
        &["machine"],
        &["power"],
        &["power", "read"],
        &["power", "fit"],
    ] {
        assert!(folder.succeed(command.iter().chain(&["--help"])).contains("Examples:"), "{command:?}");
    }
    assert!(folder.succeed(["--version"]).starts_with("bief "));
    let shown = folder.succeed(["plan", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "bief plan [OPTIONS] <PROFILE>",
        "by greedy packing. Takes one kind of cores.",
        "Takes one or two kinds of cores.",
        "Takes up to four kinds of cores.",
        "Takes any number of kinds of cores.",
        "Where too many cores make that too costly, they are refused",
        "Each entry of front is a choice of cores",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_recording_may_begin_with_dummy_frames() {
    let folder = Folder::new("dummies-first");
    folder.write("in.ts", packets(40));
    let frames = format!("{}qpsk-1/2:short", "dummy,".repeat(5));
    folder.succeed(["tx", "in.ts", "-o", "x.sigmf-meta", "--vcm", &frames]);
    folder.succeed(["rx", "x.sigmf-meta"]);
    assert_eq!(folder.read("x.ts"), packets(40));
    // Four dummy frames of 3330 symbols, 2 samples each, 4 bytes each.
    let idle = 4 * 3330 * 2 * 4;
    folder.write("idle.ci16", &folder.read("x.sigmf-data")[..idle]);
    assert!(folder.fail(["rx", "idle.ci16", "--sps", "2"]).contains("a signal is there, but"));
}

#[test]
fn power_fit_finds_watts_that_plan_takes() {
    let folder = Folder::new("power-fit");
    let rows = "name,big,little,watts\na,0,1,3.5\nb,1,0,5.5\nc,2,2,9\nd,3,1,11\ne,4,4,15\nf,0.5,3,5.75\n";
    folder.write("rows.csv", rows);
    folder.write(
        "cores.json",
        r#"{"format": 1, "kinds": [{"name": "big", "cores": 4}, {"name": "little", "cores": 8}]}"#,
    );
    let shown = folder.succeed(["power", "fit", "rows.csv", "--platform", "cores.json", "-o", "known.json"]);
    assert!(
        shown.starts_with("idle    3 W\nbig     2.5 W for each busy core\nlittle  0.5 W ")
            && !shown.contains("Warning"),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let shown = folder.succeed(["plan", "ai370", "--platform", "known.json"]).replace('\n', " ");
    assert!(
        shown.contains(" W are drawn: ") && shown.contains(" mJ per frame, ") && shown.contains(" per bit."),
        "{shown}"
    );

    folder.write(
        "rows.json",
        r#"[{"busy": {"big": 1}, "watts": 6}, {"busy": {"big": 2}, "watts": 8.5},
        {"busy": {"big": 3}, "watts": 11}, {"busy": {"big": 0.5}, "watts": 4.7}]"#,
    );
    let shown = folder.succeed(["power", "fit", "rows.json"]);
    assert!(shown.contains("Warning: 4 runs"), "{shown}");
    let json: Value = serde_json::from_str(&folder.succeed(["power", "fit", "rows.json", "--json"])).unwrap();
    assert_eq!((&json["kinds"][0]["name"], json["rows"].as_array().unwrap().len()), (&"big".into(), 4));
    assert!(json["errors"]["mean"].as_f64().unwrap() < 0.02 && json["idle_watts"].as_f64().unwrap() > 3.0);

    let written = folder.succeed(["power", "fit", "--published", "x7_ti", "--saturate", "big", "-o", "x7.json"]);
    assert!(written.contains("W at most; 63 % of it at "), "{written}");
    let frugal = folder.succeed(["plan", "x7_ti", "--platform", "x7.json", "--goal", "least-power,rate=30Mb/s"]);
    assert_eq!(frugal, folder.succeed(["plan", "x7_ti", "--goal", "least-power,rate=30Mb/s"]));
}

#[test]
fn power_fit_refuses_what_tells_no_watts() {
    let folder = Folder::new("power-refused");
    folder.write("few.csv", "big,watts\n1,5\n2,6\n3,7\n");
    assert!(folder.fail(["power", "fit", "few.csv"]).contains("3 rows: measure at least 4, better 6 or more"));
    folder.write("rows.csv", "big,watts\n1,5\n2,6\n3,7\n4,8.1\n");
    let message = folder.fail(["power", "fit", "rows.csv", "-o", "p.json"]);
    assert!(
        message.contains("--output: the rows do not say how many cores there are: give --platform FILE"),
        "{message}"
    );
    folder.write("cores.json", r#"{"format": 1, "kinds": [{"name": "little", "cores": 4}]}"#);
    let message = folder.fail(["power", "fit", "rows.csv", "-o", "p.json", "--platform", "cores.json"]);
    assert!(message.contains("the platform has no kind `big`"), "{message}");
    assert!(
        folder.fail(["power", "fit", "rows.csv", "--saturate", "tiny"]).contains("no row counts cores of kind `tiny`")
    );
    assert!(folder.fail(["power", "fit", "none.csv"]).contains("cannot read none.csv"));
    folder.write("bad.csv", "big,watts\n1,5\n2\n");
    assert!(folder.fail(["power", "fit", "bad.csv"]).contains("bad.csv: line 3: 1 values for 2 columns"));
    for arguments in [&["power", "fit"][..], &["power", "fit", "rows.csv", "--published", "ai370"]] {
        assert_eq!(folder.command().args(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}
