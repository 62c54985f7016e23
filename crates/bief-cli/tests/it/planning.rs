//! From a chain to a plan that was run: `bief profile`, and the options of `bief rx` and `bief run` that plan and place.

use std::process::Stdio;

use crate::common::{Folder, assert_narrow, assert_usage, packets, sample, stderr, text};
use bief::Machine;
use bief::placement::Placement;
use bief::schedule::{Profile, Schedule};
use serde_json::Value;

const TRANSMITTER: &str = include_str!("../../data/chains/dvbs2_tx.toml");

/// This machine with its last core slowed down, as a file; `None` on a machine of one core.
fn emulated(folder: &Folder) -> Option<()> {
    let here = Machine::here();
    let [first, .., last] = here.cores() else {
        eprintln!("skipped: two kinds of cores need two cores");
        return None;
    };
    let text = format!(
        "[[kind]]\nname = \"big\"\ncores = \"{}\"\n[[kind]]\nname = \"little\"\ncores = \"{}\"\nspeed = 0.45\n[kind.tasks]\n\
         \"decode LDPC\" = 0.3\n",
        first.threads[0], last.threads[0]
    );
    folder.write("emu.toml", text);
    Some(())
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_plan_that_may_change_gives_the_same_packets() {
    let folder = Folder::new("planning-adapt");
    folder.succeed(["rx", "-o", "plain.ts"]);
    folder.succeed("rx --executions 20 --adapt --json run.json -o adapted.ts".split_whitespace());
    assert!(folder.read("adapted.ts") == folder.read("plain.ts"));
    let run: Value = serde_json::from_str(&text(&folder, "run.json")).unwrap();
    assert!(run["report"]["frames"].as_u64().is_some_and(|frames| frames > 0), "{run}");

    assert_usage(&folder, &["rx", "--adapt", "--no-adapt"], "--no-adapt");
    let told = folder.fail("rx --executions 20 --adapt --place dynamic -o none.ts".split_whitespace());
    assert!(told.contains("the plan of this pipeline cannot change while it runs"), "{told}");
}

const DEVICE: &str = "[[device]]\nname = \"gpu\"\nlaunch_us = 20\ncopy_gb_per_s = 12.5\n";

#[test]
fn devices_are_shown_chosen_and_missed() {
    let folder = Folder::new("planning-device");
    folder.write("gpu.toml", DEVICE);
    let shown = folder.succeed(["machine", "gpu.toml"]);
    assert!(shown.contains("emulated device, 3 lanes, 20 us per launch, copies at 12.5 GB/s"), "{shown}");
    assert_narrow(&shown);
    let with_gpu = r#"{"format": 1, "kinds": ["cpu", "gpu"], "frames_per_execution": 1, "lanes": [null, 3], "tasks": [
        {"name": "read", "replicable": false, "ns": [40000, null]},
        {"name": "decode", "replicable": true, "ns": [900000, 60000], "enter_ns": [0, 50000], "leave_ns": [0, 5000]}]}"#;
    folder.write("p.json", with_gpu);
    let plan = |options: &str| {
        let all = format!("plan p.json --cores cpu=4,gpu=1 {options}");
        folder.succeed(all.split_whitespace())
    };
    for options in ["", "--device try", "--device require", "--device require=gpu"] {
        let shown = plan(options);
        assert!(shown.contains("1 gpu") && shown.contains("Period 60.0 us"), "{shown}");
    }
    assert!(plan("--device off").contains("on 4 of 4 cpu cores"));
    let fails = |arguments: &str| folder.fail(arguments.split_whitespace());
    for (arguments, told) in [
        ("plan p.json --cores cpu=4,gpu=1 --device require=npu", "--device require=npu: what is planned for has gpu"),
        ("plan p.json --cores cpu=4 --device require", "--device require: what is planned for has no device"),
        (
            "plan p.json --cores cpu=4,gpu=1 --strategy herad",
            "`gpu` is a device with lanes: leave that out, or take one of",
        ),
        ("rx --device require", "--device require: this machine has no device: "),
        ("rx --machine gpu.toml --device require=npu", "--device require=npu: this machine has gpu"),
        ("profile rx --machine gpu.toml --device require=npu", "--device require=npu: this machine has gpu"),
    ] {
        let error = fails(arguments);
        assert!(error.contains(told), "{error}");
    }
    assert_usage(&folder, &["rx", "--device", "maybe"], "write off, try, require or require=NAME");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_device_that_is_planned_with_gives_the_same_packets() {
    let folder = Folder::new("planning-on-device");
    folder.write("gpu.toml", DEVICE);
    folder.succeed(["rx", "-o", "plain.ts"]);
    let arguments =
        "rx --machine gpu.toml --device require --executions 20 --save-profile p.json --json run.json -o gpu.ts";
    folder.succeed(arguments.split_whitespace());
    assert!(folder.read("gpu.ts") == folder.read("plain.ts"));
    let profile = Profile::from_json(&text(&folder, "p.json")).unwrap();
    assert_eq!(profile.kind("gpu").and_then(|gpu| profile.lanes(gpu)), Some(3));
    let told = folder.succeed("rx --machine gpu.toml --strategy fertac --executions 20 -o cores.ts".split_whitespace());
    assert!(!told.contains("lanes of gpu"), "{told}");
    assert!(folder.read("cores.ts") == folder.read("plain.ts"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_chain_is_measured_planned_refined_placed_and_run_on_emulated_cores() {
    let folder = Folder::new("planning-emulated");
    let Some(()) = emulated(&folder) else { return };
    folder.succeed(["rx", "-o", "plain.ts"]);
    let arguments = "rx --machine emu.toml --executions 20 --refine 2 --goal fewest-big --place packed --save-profile p.json \
                     --save-plan s.json --save-place w.json --json run.json -o planned.ts";
    let shown = folder.succeed(arguments.split_whitespace());
    assert!(folder.read("planned.ts") == folder.read("plain.ts"));
    assert_narrow(&shown);
    for part in [
        "\nround 1: measured ",
        " us per execution, ",
        " % from the plan",
        "\nrefined: ",
        "\nPlanned ",
        " us per frame",
    ] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }

    // What was written is what was run.
    let profile = Profile::from_json(&text(&folder, "p.json")).unwrap();
    let schedule = Schedule::from_json(&text(&folder, "s.json")).unwrap();
    let placement = Placement::from_json(&text(&folder, "w.json")).unwrap();
    assert_eq!(profile.kinds(), ["big", "little"]);
    assert_eq!(placement.policy(), "packed");
    let threads: Vec<usize> = placement.stages().iter().map(|stage| stage.threads.len()).collect();
    let planned: Vec<usize> = schedule.stages().iter().map(|stage| stage.replicas() as usize).collect();
    assert_eq!(threads, planned);
    let machine = Machine::read(&folder.path("emu.toml")).unwrap();
    for (placed, stage) in placement.stages().iter().zip(schedule.stages()) {
        for thread in placed.threads.iter().flatten() {
            let core = machine.core_of(*thread).unwrap();
            assert!(
                stage.cores.contains_key(&machine.kinds()[core.kind].name),
                "a thread is on a core of its stage's kinds"
            );
        }
    }
    let json: Value = serde_json::from_slice(&folder.read("run.json")).unwrap();
    let same = |key: &str, text: &str| assert_eq!(json[key], serde_json::from_str::<Value>(text).unwrap(), "{key}");
    same("schedule", &schedule.to_json());
    same("machine", &machine.to_json());
    assert_eq!(json["report"]["placement"], serde_json::from_str::<Value>(&placement.to_json()).unwrap());
    assert_eq!(json["profile"]["kinds"], serde_json::json!(["big", "little"]));
    let rounds = json["refined"]["rounds"].as_array().unwrap();
    assert!((1..=2).contains(&rounds.len()) && rounds.iter().all(|round| round["gap"].is_f64()));
    assert!(json["refined"]["ended"].is_string());

    // And is used again: the same plan, at the same places.
    folder.succeed("rx --machine emu.toml --profile p.json --save-plan one.json --save-place w.json".split(' '));
    let arguments = "rx --machine emu.toml --profile p.json --save-plan other.json --place w.json --json -o again.ts";
    let again: Value = serde_json::from_str(&folder.succeed(arguments.split(' '))).unwrap();
    assert!(folder.read("again.ts") == folder.read("plain.ts") && folder.read("one.json") == folder.read("other.json"));
    assert_eq!(again["profile"], serde_json::from_str::<Value>(&profile.to_json()).unwrap());
    assert_eq!(again["report"]["placement"], serde_json::from_slice::<Value>(&folder.read("w.json")).unwrap());
    let arguments = "rx --machine emu.toml --profile p.json --schedule s.json --json -o again.ts";
    let again: Value = serde_json::from_str(&folder.succeed(arguments.split(' '))).unwrap();
    assert_eq!(again["schedule"], json["schedule"], "the schedule that was kept is run, not another one");
    assert!(folder.read("again.ts") == folder.read("plain.ts"));
}

#[test]
fn a_schedule_for_another_chain_or_with_a_goal_is_refused() {
    let folder = Folder::new("planning-schedule");
    folder.succeed(["profile", "rx", "--executions", "5", "-o", "p.json"]);
    folder.succeed(["plan", "mac_studio", "--json", "mac.json"]);
    let message = folder.fail("rx --profile p.json --schedule mac.json".split(' '));
    assert!(
        message.starts_with("bief: mac.json: ") && message.contains("take 23 tasks, the profile has 10"),
        "{message}"
    );
    let message = folder.fail("rx --schedule p.json".split(' '));
    assert!(message.starts_with("bief: p.json: schedule, line "), "{message}");
    assert_usage(&folder, &["rx", "--schedule", "mac.json", "--goal", "fewest-big"], "'--goal <GOAL>'");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_profile_tells_each_task_on_each_kind() {
    let folder = Folder::new("planning-profile");
    let shown = folder.succeed(["profile", "rx", "--executions", "20", "-o", "rx.json"]);
    assert_narrow(&shown);
    for part in ["Measured on ", ", us per frame ", "cut frames                 seq", "\nall tasks", "\na hand-over"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    let profile = Profile::from_json(&text(&folder, "rx.json")).unwrap();
    assert!(profile.bits_per_frame().is_some() && profile.machine().is_some());
    let printed = folder.succeed(["profile", "rx", "--executions", "1", "-o", "-"]);
    assert_eq!(Profile::from_json(&printed).unwrap().tasks().len(), profile.tasks().len());
    // Of samples that nobody can have twice, the first are measured.
    let mut command = folder.command();
    folder.write("x.ci8", sample());
    let input = std::fs::File::open(folder.path("x.ci8")).unwrap();
    let output =
        command.args("profile rx - --format ci8 --sps 2 --executions 5".split_whitespace()).stdin(input).output();
    let output = output.unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"Measured on "), "{}", stderr(&output));

    if emulated(&folder).is_some() {
        let shown = folder.succeed(["profile", "rx", "--machine", "emu.toml", "--loaded", "--executions", "8"]);
        assert_narrow(&shown);
        assert!(shown.contains("\non `big`, us per frame") && shown.contains("\non `little`, us per frame"), "{shown}");
    }
    folder.write("packets.ts", packets(1000));
    folder.write("tx.toml", TRANSMITTER);
    let shown = folder.succeed(["profile", "tx.toml", "--executions", "40"]);
    assert!(shown.contains(", us per 8 frames ") && shown.contains("\nencode LDPC"), "{shown}");
}

#[test]
fn a_profile_of_another_chain_is_refused() {
    let folder = Folder::new("planning-other");
    folder.succeed(["profile", "rx", "--executions", "5", "-o", "rx.json"]);
    let right = text(&folder, "rx.json");
    for (wrong, told) in [
        (right.replacen("\"demap\"", "\"remap\"", 1), "task 5 of the profile is `remap`, of this chain it is `demap`"),
        (
            right.replacen("\"observe\", \"replicable\": false", "\"observe\", \"replicable\": true", 1),
            "task 9 of the profile, `observe`, may be replicated there, but not in this chain",
        ),
    ] {
        assert_ne!(wrong, right);
        folder.write("wrong.json", wrong);
        let message = folder.fail(["rx", "--profile", "wrong.json"]);
        assert!(message.starts_with("bief: wrong.json: ") && message.contains(told), "{message}");
        assert!(message.contains("profile this chain"), "{message}");
    }
    folder.write("packets.ts", packets(10));
    folder.write("tx.toml", TRANSMITTER);
    let message = folder.fail(["run", "tx.toml", "--profile", "rx.json"]);
    assert!(
        message.contains("rx.json: the profile has 10 tasks, but this chain has 8: profile this chain"),
        "{message}"
    );
    // A profile for cores that are not here.
    let here = Machine::here();
    let kind = &here.kinds()[0].name;
    folder.write("foreign.json", right.replace(&format!("\"kinds\": [\"{kind}\""), "\"kinds\": [\"huge\""));
    let message = folder.fail(["rx", "--profile", "foreign.json"]);
    assert!(message.contains("`huge`") && message.contains(&format!("this machine has `{kind}`")), "{message}");
    assert!(message.contains("profile the chain here"), "{message}");
    assert!(folder.fail(["rx", "--profile", "absent.json"]).contains("absent.json: No such file"));
    assert!(folder.fail(["rx", "--profile", "tx.toml"]).contains("tx.toml: profile, line 1"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn kinds_that_only_the_profile_has_are_told_and_left_out() {
    let folder = Folder::new("planning-kinds");
    let Some(()) = emulated(&folder) else { return };
    folder.succeed(["profile", "rx", "--machine", "emu.toml", "--executions", "8", "-o", "two.json"]);
    let big = text(&folder, "emu.toml");
    folder.write("big.toml", big.split("[[kind]]\nname = \"little\"").next().unwrap());
    let output = folder.command().args("rx --machine big.toml --profile two.json --json".split_whitespace()).output();
    let output = output.unwrap();
    let message = stderr(&output);
    assert!(output.status.success(), "{message}");
    assert!(message.contains("times on cores of the kind `little`, this machine has `big`"), "{message}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["schedule"]["stages"].as_array().unwrap().iter().all(|stage| stage["kind"] == "big"));
    // Cores of which the profile tells nothing need to be left out by hand.
    folder.succeed(["profile", "rx", "--machine", "big.toml", "--executions", "8", "-o", "one.json"]);
    let message = folder.fail(["rx", "--machine", "emu.toml", "--profile", "one.json"]);
    assert!(message.contains("no times for cores of kind `little`"), "{message}");
    folder.succeed(["rx", "--machine", "emu.toml", "--profile", "one.json", "--cores", "1"]);
}

#[test]
fn a_machine_that_is_not_here_is_not_measured() {
    let folder = Folder::new("planning-foreign");
    folder.write("packets.ts", packets(10));
    folder.write("tx.toml", TRANSMITTER);
    folder.write("board.xml", include_str!("../machines/x7_ti.xml"));
    let board = Machine::read(&folder.path("board.xml")).unwrap();
    folder.write("board.json", board.to_json());
    for arguments in [
        "rx --machine board.xml",
        "rx --machine board.json",
        "profile rx --machine board.xml",
        "profile tx.toml --machine board.json",
        "run tx.toml --machine board.json --refine 2",
    ] {
        let message = folder.fail(arguments.split_whitespace());
        assert!(message.contains("board.") && message.contains("leave out --machine"), "{arguments}: {message}");
    }
    assert!(!folder.path("samples.ci16").exists(), "nothing was run");
    // This machine is, however it is told.
    folder.write("here.json", Machine::here().to_json());
    folder.succeed(["profile", "rx", "--machine", "here.json", "--executions", "3"]);
    assert!(folder.fail(["rx", "--machine", "absent.toml"]).contains("absent.toml: No such file"));
}

#[test]
fn places_that_are_not_there_are_refused_before_anything_runs() {
    let folder = Folder::new("planning-places");
    folder.write("packets.ts", packets(200));
    folder.write("tx.toml", TRANSMITTER);
    assert_usage(&folder, &["rx", "--place", "nonsense"], "`nonsense` is neither a policy");
    assert_usage(&folder, &["run", "tx.toml", "--place", "0 |"], "`` is neither a policy");
    for options in
        [&["--place", "8000|0|0|0"][..], &["--plan", "--place", "8000 | 0"], &["--plan", "--place", "*; 8000", "--pin"]]
    {
        let message = folder.fail(["run", "tx.toml"].iter().chain(options));
        assert!(message.contains("8000") && message.contains("it has hardware threads"), "{message}");
    }
    let placement = |threads: &str| {
        format!(r#"{{"format": 1, "policy": "x", "stages": [{{"name": "all", "threads": {threads}}}]}}"#)
    };
    for (threads, told) in
        [("[[8000]]", "replica 0 wants hardware thread 8000"), ("[[]]", "replica 0 has no hardware thread")]
    {
        folder.write("w.json", placement(threads));
        let message = folder.fail(["run", "tx.toml", "--plan", "--place", "w.json"]);
        assert!(message.starts_with("bief: w.json: placement, stage `all`: ") && message.contains(told), "{message}");
    }
    assert!(folder.fail(["rx", "--place", "absent.json"]).contains("absent.json: No such file"));
    folder.write("w.json", placement("0"));
    assert!(folder.fail(["rx", "--place", "w.json"]).contains("w.json: placement, line 1"));
    assert!(!folder.path("samples.ci16").exists(), "nothing was run");

    let thread = Machine::here().cores()[0].threads[0];
    let message = folder.fail(["run", "tx.toml", "--place", &format!("{thread}")]);
    assert!(
        message.contains("places 1 stage, the pipeline has 4: slice packets | encode | shape | write"),
        "{message}"
    );
    let places = format!("{thread} | {thread}; {thread} | * | c0");
    let shown = folder.succeed(["run", "tx.toml", "--place", &places, "--pin", "--save-place", "w.json"]);
    assert!(!shown.contains("could not take its place"), "{shown}");
    let placed = Placement::from_json(&text(&folder, "w.json")).unwrap();
    assert_eq!((placed.policy(), &placed.stages()[1].threads), (&*places, &vec![vec![thread]; 2]));
    let samples = folder.read("samples.ci16");
    folder.succeed(["run", "tx.toml", "--place", "w.json"]);
    assert!(folder.read("samples.ci16") == samples);
    // It places what it was made for.
    let message = folder.fail(["rx", "--cores", "1", "--place", "w.json"]);
    assert!(message.contains("w.json: the placement is for 4 stages, the pipeline has 1"), "{message}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn no_option_is_ignored() {
    let folder = Folder::new("planning-options");
    folder.write("packets.ts", packets(1000));
    folder.write("tx.toml", TRANSMITTER);
    for planning in [
        "--machine x",
        "--loaded",
        "--executions 5",
        "--cores 1",
        "--goal fewest-big",
        "--strategy exact",
        "--profile x",
        "--refine 1",
        "--save-profile x",
        "--save-plan x",
        "--place packed",
        "--pin",
        "--save-place x",
    ] {
        let option = planning.split(' ').next().unwrap();
        for with in ["tx.toml --one-core", "tx.toml --check", "--kinds"] {
            let arguments = format!("run {with} {planning}");
            assert_usage(&folder, &arguments.split(' ').collect::<Vec<_>>(), option);
        }
    }
    assert!(!folder.path("samples.ci16").exists(), "nothing was run");
    for with in ["--loaded", "--executions 5"] {
        let arguments = format!("rx --profile p.json {with}");
        assert_usage(&folder, &arguments.split(' ').collect::<Vec<_>>(), "--profile");
    }
    assert_usage(&folder, &["rx", "--executions", "0"], "--executions");
    assert_usage(&folder, &["rx", "--refine", "101"], "--refine");
    folder.write("gpu.toml", DEVICE);
    assert_usage(
        &folder,
        &["rx", "--machine", "gpu.toml", "--device", "try", "--lanes", "6"],
        "`lanes` in the file of --machine",
    );
    // Each of these plans.
    for planning in ["", " --strategy exact", " --cores 1", " --loaded"] {
        let arguments = format!("run tx.toml --executions 5{planning} --json");
        let json: Value = serde_json::from_str(&folder.succeed(arguments.split(' '))).unwrap();
        assert!(json["schedule"].is_object() && json["report"]["planned_period_ns"].is_f64(), "{planning}: {json}");
    }
    let message = folder.fail(["rx", "--strategy", "nonsense"]);
    assert!(message.contains("there is no strategy of that name: choose one of exact"), "{message}");
    let message = folder.fail(["rx", "--strategy", "otac", "--goal", "least-power"]);
    assert!(message.contains("strategy `otac`: it serves no goal but `fewest-big`"), "{message}");
    for cores in ["x", "0", "nine=1"] {
        let message = folder.fail(["rx", "--cores", cores]);
        assert!(message.contains(&format!("cores `{cores}`: ")), "{message}");
    }
    // More cores than there are.
    let output = folder
        .command()
        .args(["rx", "--executions", "20", "--cores", &format!("{}=4000", Machine::here().kinds()[0].name)])
        .output();
    let output = output.unwrap();
    assert!(output.status.success() && stderr(&output).contains(": using "), "{}", stderr(&output));
}

#[test]
fn no_document_replaces_what_is_read_or_written() {
    let folder = Folder::new("planning-files");
    let stream = packets(200);
    folder.write("packets.ts", &stream);
    folder.write("tx.toml", TRANSMITTER);
    folder.write("x.sigmf-data", sample());
    folder.write("x.sigmf-meta", r#"{"global": {"core:datatype": "ci8", "core:sample_rate": 2}}"#);
    let emulated = "[[kind]]\nname = \"only\"\ncores = \"0\"\n";
    folder.write("emu.toml", emulated);
    folder.write("p.json", "{}");
    for arguments in [
        "run tx.toml --save-plan tx.toml",
        "run tx.toml --save-plan packets.ts",
        "run tx.toml --save-profile samples.ci16",
        "run tx.toml --json packets.ts",
        "run tx.toml --profile p.json --save-profile p.json",
        "run tx.toml --place p.json --save-place p.json",
        "run tx.toml --machine emu.toml --save-plan ./emu.toml",
        "run tx.toml --save-plan new.json --save-profile new.json",
        "rx --machine emu.toml --save-place emu.toml",
        "rx --save-plan new.json --json new.json",
        "rx x.sigmf-meta --save-plan x.sigmf-data",
        "profile rx x.sigmf-meta -o x.sigmf-data",
        "profile rx --machine emu.toml -o emu.toml",
        "profile tx.toml -o tx.toml",
        "profile tx.toml -o packets.ts",
        "profile tx.toml -o samples.ci16",
    ] {
        let message = folder.fail(arguments.split(' '));
        assert!(message.contains(" would replace "), "{arguments}: {message}");
    }
    assert!(folder.read("packets.ts") == stream && folder.read("tx.toml") == TRANSMITTER.as_bytes());
    assert!(folder.read("emu.toml") == emulated.as_bytes() && folder.read("x.sigmf-data") == sample());
    assert!(!folder.path("samples.ci16").exists() && !folder.path("new.json").exists());
    assert!(folder.fail(["rx", "--save-plan", "no/plan.json"]).contains("--save-plan needs a folder that exists"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn chains_of_files_are_planned_and_write_the_same() {
    let folder = Folder::new("planning-run");
    folder.write("packets.ts", packets(1000));
    folder.write("tx.toml", TRANSMITTER);
    folder.succeed(["run", "tx.toml"]);
    let samples = folder.read("samples.ci16");
    for (options, parts) in [
        (&["--executions", "20"][..], &["Planned ", " us per 8 frames"][..]),
        (&["--refine", "2", "--executions", "10"], &["round 1: measured ", "refined: "]),
        (&["--place", "*|*|*|*", "--pin"], &["\nencode                               2"]),
        (&["--executions", "20", "--place", "loose", "--observe"], &["\nsource to sink"]),
        (&["--place", "dynamic", "--pin"], &["\nplaced dynamic"]),
    ] {
        std::fs::remove_file(folder.path("samples.ci16")).unwrap();
        let shown = folder.succeed(["run", "tx.toml"].iter().chain(options));
        assert!(folder.read("samples.ci16") == samples, "{options:?}");
        assert_narrow(&shown);
        assert!(parts.iter().all(|part| shown.contains(part)), "{options:?}: {shown}");
    }
    folder.write("nbfm.toml", include_str!("../../data/chains/nbfm.toml").replace("../", ""));
    for name in ["nbfm_tones.sigmf-meta", "nbfm_tones.sigmf-data"] {
        std::fs::copy(format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR")), folder.path(name)).unwrap();
    }
    folder.succeed(["run", "nbfm.toml"]);
    let audio = folder.read("nbfm_tones.wav");
    assert_narrow(&folder.succeed("run nbfm.toml --plan --executions 50 --save-profile fm.json".split(' ')));
    assert!(folder.read("nbfm_tones.wav") == audio);
    folder.succeed(["run", "nbfm.toml", "--profile", "fm.json", "--cores", "1"]);
    assert!(folder.read("nbfm_tones.wav") == audio);

    // Kinds of cores are measured by turns, on the front of the input over and over, however short it is.
    if emulated(&folder).is_some() {
        folder.succeed("run tx.toml --machine emu.toml --executions 20".split(' '));
        assert!(folder.read("samples.ci16") == samples);
        folder.succeed("run tx.toml --machine emu.toml --batch 1 --executions 20 --place guided".split(' '));
        assert!(folder.read("samples.ci16") == samples);
    }

    // Without stages, and without a plan, there are no threads to place.
    let stages = ["stage = \"encode\"", "stage = \"shape\"", "stage = \"write\"", "[stage.encode]", "threads = 2"];
    let one = stages.iter().fold(TRANSMITTER.to_owned(), |text, stage| text.replacen(stage, "", 1));
    folder.write("one.toml", one);
    assert!(folder.fail(["run", "one.toml", "--place", "packed"]).contains("one.toml: it names no stages"));
    folder.succeed("run one.toml --plan --executions 20 --place packed".split(' '));
    assert!(folder.read("samples.ci16") == samples);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn standard_input_is_planned_too() {
    let folder = Folder::new("planning-stdin");
    folder.write("x.ci8", sample());
    folder.succeed(["rx", "x.ci8", "--sps", "2"]);
    let mut command = folder.command();
    let input = std::fs::File::open(folder.path("x.ci8")).unwrap();
    let arguments =
        "rx - --format ci8 --sps 2 -o - --executions 20 --refine 1 --place loose --save-plan s.json --json run.json";
    let output = command.args(arguments.split(' ')).stdin(input).stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success() && output.stdout == folder.read("x.ts"), "{}", stderr(&output));
    assert!(stderr(&output).contains("\nrefined: "), "the table goes aside");
    assert!(Schedule::from_json(&text(&folder, "s.json")).is_ok() && folder.read("run.json").starts_with(b"{"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_run_that_is_too_short_is_not_held_against_its_plan() {
    let folder = Folder::new("planning-short");
    let shown = folder.succeed(["rx", "--cores", "1", "--executions", "20", "--save-profile", "p.json"]);
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "The run was too short to tell whether that is kept: 42 executions, 100 would tell.";
    assert!(told.contains(" us per frame. ") && told.contains(sentence), "{shown}");
    // Nor is the profile corrected by it.
    let profile = Profile::from_json(&text(&folder, "p.json")).unwrap();
    assert!(profile.tasks().iter().all(|task| task.seen.is_some()));

    folder.write("x.ci8", sample().repeat(4));
    let shown = folder.succeed(["rx", "x.ci8", "--sps", "2", "--cores", "1", "--save-profile", "p.json"]);
    let told = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(" us per frame, measured ") && !told.contains("too short"), "{shown}");
    let profile = Profile::from_json(&text(&folder, "p.json")).unwrap();
    assert!(profile.tasks().iter().all(|task| task.seen.is_none()), "its times are those of the run");
}
