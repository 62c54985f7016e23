//! Tasks on workers: processes of this command, which reach each other on this machine.

use crate::common::Folder;

#[cfg(not(feature = "workers"))]
#[test]
fn without_the_feature_there_are_no_options() {
    let folder = Folder::new("no-workers");
    let help = folder.succeed(["run", "--help"]);
    assert!(!help.contains("--workers") && !help.contains("--leave"), "{help}");
    assert!(!folder.succeed(["--help"]).contains("worker"));
}

#[cfg(feature = "workers")]
mod with_the_feature {
    use std::net::TcpListener;
    use std::process::{Child, Command, Stdio};

    use super::Folder;
    use crate::interrupt::wait_for;

    const CHAIN: &str = "
        [[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'in.cu8'\nformat = 'cu8'\nframe = 2048
        [[task]]\nname = 'quantise'\nkind = 'radio.quantise'\nin = ['iq']\nout = ['bytes']\nformat = 'ci8'\nlevel = 0.5
        [[task]]\nname = 'write'\nkind = 'file.write'\nin = ['bytes']\npath = 'out.ci8'";

    /// A worker, which ends with this value.
    struct Worker(Child);

    impl Drop for Worker {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn free() -> String {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
    }

    fn folder(name: &str, frames: usize) -> Folder {
        let folder = Folder::new(name);
        let bytes: Vec<u8> = (0..frames * 4096).map(|place| (place * 31 + place / 4096) as u8).collect();
        folder.write("in.cu8", bytes);
        folder.write("chain.toml", CHAIN);
        folder
    }

    fn worker(folder: &Folder, place: &str, name: &str) -> Worker {
        let mut command = folder.command();
        command.args(["worker", "--listen", place, "--name", name, "--cores", "1"]);
        let worker = Worker(command.stderr(Stdio::null()).spawn().unwrap());
        wait_for("a worker", || std::net::TcpStream::connect(place).is_ok());
        worker
    }

    fn without_workers(folder: &Folder) -> Vec<u8> {
        folder.succeed(["run", "chain.toml"]);
        let expected = folder.read("out.ci8");
        std::fs::remove_file(folder.path("out.ci8")).unwrap();
        expected
    }

    #[test]
    fn a_chain_on_workers_writes_the_same_and_tells_who_did_what() {
        let (folder, places) = (folder("workers", 2000), [free(), free()]);
        let expected = without_workers(&folder);
        let _workers = [worker(&folder, &places[0], "a"), worker(&folder, &places[1], "b")];
        let places = places.join(",");
        let listed = folder.succeed(["workers", "--workers", &places, "--json"]);
        assert!(listed.contains("\"name\": \"a\"") && listed.contains("\"name\": \"b\""), "{listed}");
        let told = folder.succeed(["run", "chain.toml", "--workers", &places, "--wait", "--json"]);
        assert!(folder.read("out.ci8") == expected);
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let rows = told["workers"].as_array().unwrap();
        let frames: u64 = rows.iter().map(|row| row["frames"].as_u64().unwrap()).sum();
        assert_eq!(Some(frames), told["report"]["frames"].as_u64(), "{rows:?}");
        let shown = folder.succeed(["run", "chain.toml", "--workers", &places, "--wait", "--leave", "quantise"]);
        assert!(shown.contains("worker  cores  frames"), "{shown}");
        crate::common::assert_narrow(&shown);
    }

    #[test]
    fn a_receiver_on_workers_writes_the_same() {
        let (folder, places) = (Folder::new("workers-rx"), [free(), free()]);
        folder.succeed(["rx", "-o", "here.ts", "--cores", "1"]);
        folder.succeed(["rx", "-o", "here.bbf", "--bbframes", "--l3", "--cores", "1"]);
        let _workers = [worker(&folder, &places[0], "a"), worker(&folder, &places[1], "b")];
        let places = places.join(",");
        // Everything but numbers crosses somewhere.
        let cuts =
            ["filter symbols..scramble bits", "demap..decode LDPC", "filter symbols", "decode BCH", "correct phase"];
        for leave in cuts {
            let workers = ["--workers", &places, "--wait", "--leave", leave];
            let told = folder.succeed(["rx", "-o", "away.ts", "--json", "-"].iter().chain(&workers));
            assert!(folder.read("away.ts") == folder.read("here.ts"), "{leave}");
            let told: serde_json::Value = serde_json::from_str(&told).unwrap();
            let rows = told["workers"].as_array().unwrap();
            let frames: u64 = rows.iter().map(|row| row["frames"].as_u64().unwrap()).sum();
            assert_eq!((Some(frames), &told["figures"]["packets"]), (told["figures"]["frames"].as_u64(), &385.into()));
        }
        let bbframes = ["rx", "-o", "away.bbf", "--bbframes", "--l3", "--workers", &places, "--wait"];
        let shown = folder.succeed(bbframes);
        assert!(
            shown.contains("worker  cores  frames") && folder.read("away.bbf") == folder.read("here.bbf"),
            "{shown}"
        );
        crate::common::assert_narrow(&shown);
        // What is kept to be looked at stays here, and splits what leaves.
        folder.succeed(["rx", "-o", "away.ts", "--constellation", "x.svg", "--workers", &places, "--wait"]);
        assert!(folder.read("away.ts") == folder.read("here.ts") && folder.read("x.svg").len() > 10_000);
    }

    #[test]
    fn spots_of_light_are_found_on_workers() {
        let (folder, place) = (Folder::new("workers-meteors"), free());
        let video = concat!(env!("CARGO_MANIFEST_DIR"), "/data/meteors.y4m");
        let size = String::from_utf8(std::fs::read(video).unwrap()[..30].to_vec()).unwrap();
        let side = |letter| size.split(' ').find_map(|word| word.strip_prefix(letter)).unwrap().to_owned();
        let size = format!("{}x{}", side('W'), side('H'));
        let chain = format!(
            "[[task]]\nname = 'read'\nkind = 'vision.read'\nout = ['pixels', 'stamps']\npath = '{video}'
            [[task]]\nname = 'detect'\nkind = 'vision.detect'\nin = ['pixels']\nout = ['spots']\nsize = '{size}'
            [[task]]\nname = 'follow'\nkind = 'vision.follow'\nin = ['stamps', 'spots']\nsize = '{size}'\nrate = 25
            path = 'tracks.csv'"
        );
        folder.write("chain.toml", chain);
        folder.succeed(["run", "chain.toml"]);
        let expected = folder.read("tracks.csv");
        std::fs::remove_file(folder.path("tracks.csv")).unwrap();
        let _worker = worker(&folder, &place, "a");
        let shown = folder.succeed(["run", "chain.toml", "--workers", &place, "--wait"]);
        assert!(shown.contains("\na  ") && folder.read("tracks.csv") == expected && expected.len() > 100, "{shown}");
        for finding in [&["--levels", "5"][..], &["--fixed", "40,60"]] {
            folder.succeed(["meteors", "-o", "here.csv"].iter().chain(finding));
            let away = ["meteors", "-o", "away.csv", "--workers", &place, "--wait", "--json", "-"];
            let told = folder.succeed(away.iter().chain(finding));
            assert!(folder.read("away.csv") == folder.read("here.csv"), "{finding:?}");
            let told: serde_json::Value = serde_json::from_str(&told).unwrap();
            assert_eq!(told["workers"][0]["frames"], told["frames"], "{told}");
        }
        let mask = ["meteors", "--workers", &place, "--ignore", "mask.png"];
        crate::common::assert_usage(&folder, &mask, "workers do not know the picture of --ignore");
    }

    #[test]
    fn a_chain_file_names_the_machines_of_a_stage() {
        let (folder, place) = (folder("workers-machines", 1000), free());
        let expected = without_workers(&folder);
        let _worker = worker(&folder, &place, "a");
        let text = CHAIN
            .replace("in = ['iq']", "stage = 'convert'\nin = ['iq']")
            .replace("in = ['bytes']", "stage = 'out'\nin = ['bytes']");
        let with = |machines: &str| format!("{text}\n[stage.convert]\nmachines = 'farm'\n[machines.farm]\n{machines}");
        folder.write("farm.toml", with(&format!("connect = '{place}'")));
        let run = folder.command().args(["run", "farm.toml", "--wait"]).output().unwrap();
        let [shown, said] = [run.stdout, run.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(shown.contains("worker  cores  frames") && said.contains("for workers: `quantise`"), "{shown}{said}");
        assert!(!said.contains("stages of the file are not used") && folder.read("out.ci8") == expected, "{said}");
        // On this machine alone.
        let shown = folder.succeed(["run", "farm.toml", "--one-core"]);
        assert!(!shown.contains("worker") && folder.read("out.ci8") == expected, "{shown}");
        for (machines, words) in [
            ("connect = 'rack3'", "give --keys DIR, or --insecure"),
            ("connect = 'a?'", "[machines.farm]: `a?` is no address"),
            ("", "machines need `connect`"),
            ("find = true\nrouter = 'gate'", "leave `connect` and `find` out"),
        ] {
            folder.write("wrong.toml", with(machines));
            crate::common::assert_usage(&folder, &["run", "wrong.toml"], words);
        }
    }

    #[test]
    fn a_worker_that_is_stopped_ends_in_order_and_the_run_goes_on() {
        let (folder, place) = (folder("workers-stop", 8000), free());
        let expected = without_workers(&folder);
        let mut one = worker(&folder, &place, "a");
        let mut command = folder.command();
        command.args(["run", "chain.toml", "--workers", &place]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap();
        wait_for("bytes", || std::fs::metadata(folder.path("out.ci8.part")).is_ok_and(|file| file.len() > 1 << 20));
        let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", one.0.id())).status().unwrap();
        assert!(sent.success() && one.0.wait().unwrap().success());
        assert!(run.wait().unwrap().success());
        assert!(folder.read("out.ci8") == expected);
    }

    /// A chain of which much may leave, and little.
    const PROFILE: &str = r#"{"format": 1, "kinds": ["cpu"], "frames_per_execution": 1, "tasks": [
        {"name": "read", "replicable": false, "ns": [50000]},
        {"name": "scale", "replicable": true, "ns": [4000], "bytes": 200000},
        {"name": "detect", "replicable": true, "ns": [9000000], "bytes": 200000},
        {"name": "write", "replicable": false, "ns": [20000], "bytes": 1000}]}"#;
    const POOL: &str = "[[worker]]\nname = 'rack3'\ncores = 16\nspeed = 0.8\n[[worker]]\nname = 'rack4'\ncores = 6\nlink_mb_per_s = 110";

    #[test]
    fn a_plan_tells_what_would_leave_and_what_that_brings() {
        let folder = Folder::new("workers-plan");
        folder.write("profile.json", PROFILE);
        folder.write("pool.toml", POOL);
        let plan = ["plan", "profile.json", "--cores", "4", "--workers", "pool.toml"];
        let shown = folder.succeed(plan);
        assert!(shown.starts_with("Let `detect` leave: a period of "), "{shown}");
        for told in
            ["on this machine alone", "To send 200000 bytes", "limited by the cores of workers", "rack4       6"]
        {
            assert!(shown.contains(told), "{told}: {shown}");
        }
        crate::common::assert_narrow(&shown);
        let told = folder.succeed(plan.iter().chain(&["--json"]));
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert!(told["pays"] == true && told["away"]["tasks"] == serde_json::json!(["detect"]), "{told}");
        // A message that costs more than all tasks.
        folder.write("far.toml", format!("{POOL}\n[message]\nsend_us = 20000"));
        let shown = folder.succeed(["plan", "profile.json", "--cores", "4", "--workers", "far.toml"]);
        assert!(
            shown.starts_with("Stay on this machine: all tasks") && shown.contains("limited by what stays"),
            "{shown}"
        );
        let shown = folder.succeed(["plan", "profile.json", "--cores", "1", "--workers", "pool.toml"]);
        assert!(shown.contains("No run of tasks can leave"), "{shown}");
        let refused = |arguments: &[&str], status: i32, words: &str| {
            let (was, message) = folder.failure(["plan"].iter().chain(arguments));
            assert!(was == status && message.contains(words), "{arguments:?}: {was}: {message}");
        };
        refused(&["mac_studio", "--workers", "pool.toml"], 2, "does not tell the bytes that cross");
        refused(&["mac_studio", "--workers", "nowhere.toml"], 66, "nowhere.toml");
        folder.write("wrong.toml", "[[worker]]\nname = 'a'");
        refused(
            &["profile.json", "--cores", "2", "--workers", "wrong.toml"],
            2,
            "wrong.toml:1: a worker needs `cores`",
        );
        let arguments = ["plan", "profile.json", "--cores", "2", "--workers", "pool.toml", "--goal", "fewest-cores"];
        crate::common::assert_usage(&folder, &arguments, "--goal");
    }

    #[test]
    fn a_run_follows_the_plan_for_a_pool() {
        let (folder, place) = (folder("workers-pool", 500), free());
        let expected = without_workers(&folder);
        // Nothing is worth a message of a second.
        folder.write("far.toml", format!("{POOL}\n[message]\nsend_us = 1e6"));
        let shown = folder.succeed(["run", "chain.toml", "--workers", &place, "--pool", "far.toml"]);
        assert!(!shown.contains("worker") && folder.read("out.ci8") == expected, "{shown}");
        // Everything is worth one of nothing, to workers that take no time.
        let near = "[[worker]]\nname = 'a'\ncores = 4096\nspeed = 1e6\n\
                    [message]\nsend_us = 0\nsend_ns_per_byte = 0\nreceive_us = 0\nreceive_ns_per_byte = 0";
        folder.write("near.toml", near);
        let near = ["run", "chain.toml", "--workers", &place, "--pool", "near.toml"];
        let shown = folder.succeed(near);
        let is_away = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        assert!(folder.read("out.ci8") == expected);
        assert!(!is_away || shown.contains("this machine") || !shown.contains("worker"), "{shown}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_remedy() {
        let folder = folder("workers-wrong", 1);
        let refused = |arguments: &[&str], status: i32, words: &str| {
            let (was, message) = folder.failure(arguments);
            assert!(was == status && message.contains(words), "{arguments:?}: {was}: {message}");
        };
        let here = "127.0.0.1:1";
        refused(&["run", "chain.toml", "--wait"], 2, "--wait is about workers, and none is named");
        refused(&["run", "chain.toml", "--leave", "quantise"], 2, "--leave is about workers");
        refused(&["run", "chain.toml", "--pool", "x.toml"], 2, "--pool is about workers");
        refused(&["run", "chain.toml", "--workers", here, "--pool", "x.toml"], 66, "x.toml");
        refused(&["run", "chain.toml", "--keys", "."], 2, "--keys is about workers");
        refused(&["run", "chain.toml", "--insecure"], 2, "--insecure is about workers");
        refused(
            &["run", "chain.toml", "--workers", here, "--plan"],
            2,
            "leave out --check, --kinds, --one-core, --plan",
        );
        refused(&["run", "chain.toml", "--workers", here, "--cores", "1"], 2, "options that plan or place");
        refused(&["run", "chain.toml", "--workers", here, "--check"], 2, "leave out --check");
        refused(&["rx", "--workers", here, "--cores", "1"], 2, "leave out all options that plan or place");
        refused(&["rx", "--workers", here, "--leave", "observe"], 2, "task `observe` makes nothing for other tasks");
        refused(&["rx", "--workers", here, "--leave", "cut frames..demap"], 2, "task `cut frames` remembers something");
        refused(&["run", "chain.toml", "--workers", "192.0.2.1"], 2, "give --keys DIR, or --insecure");
        refused(&["run", "chain.toml", "--find"], 2, "give --keys DIR, or --insecure");
        refused(&["run", "chain.toml", "--workers", here, "--keys", "nowhere"], 66, "a folder of keys has ca.pem");
        refused(&["run", "chain.toml", "--workers", here, "--leave", "x"], 2, "there is no task `x`: there are `read`");
        refused(
            &["run", "chain.toml", "--workers", here, "--leave", "read"],
            2,
            "task `read` names what is on its machine",
        );
        refused(&["run", "chain.toml", "--workers", here, "--leave", "write..read"], 2, "write read..write");
        refused(&["workers"], 2, "give --workers ADDRESS, --find or --router ADDRESS");
        refused(&["workers", "--workers", here], 75, "no worker answers");
        refused(&["run", "chain.toml", "--router", here], 75, "127.0.0.1:1: no router answered in 5 s");
        refused(&["worker", "--listen", "0.0.0.0:1"], 2, "give --keys DIR, or --insecure");
        refused(&["worker", "--listen", here, "--cores", "8", "--credit", "4"], 2, "keeps fewer than 8 cores busy");
        refused(&["worker", "--listen", here, "--cores", "5000"], 2, "a worker has up to 4096");
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        refused(&["worker", "--listen", &taken.local_addr().unwrap().to_string()], 75, "cannot listen");
        for arguments in [["worker", "--name", "a/b"], ["worker", "--listen", "::1"], ["run", "--workers", ""]] {
            crate::common::assert_usage(&folder, &arguments, arguments[1]);
        }
    }

    #[test]
    fn without_anybody_this_machine_does_it_all() {
        let folder = folder("workers-nobody", 500);
        let expected = without_workers(&folder);
        let shown = folder.succeed(["run", "chain.toml", "--workers", &free()]);
        assert!(shown.contains("this machine") && folder.read("out.ci8") == expected, "{shown}");
    }
}
