//! `bief map`: a program that is run, a process that runs, and what ends it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, stderr};

/// What `kill` and a service manager do.
fn terminate(child: &Child) {
    let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", child.id())).status().unwrap();
    assert!(sent.success());
}

/// The signals that this process ignores: bit 0 is signal 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}

/// Waits until something is true, but not for ever.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A process that works. Dropped, it ends.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn affinity(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes a machine with a fast and a slow core; says why a test is skipped where there is one core alone.
fn two_kinds(folder: &Folder) -> bool {
    let here = bief::Machine::here();
    let [fast, slow, ..] = here.cores() else {
        eprintln!("skipped: this process may use one core alone");
        return false;
    };
    let [fast, slow] = [fast, slow].map(|core| core.threads[0]);
    let text =
        format!("[[kind]]\nname = 'fast'\ncores = '{fast}'\n[[kind]]\nname = 'slow'\ncores = '{slow}'\nspeed = 0.4\n");
    folder.write("two.toml", text);
    true
}

#[test]
fn map_passes_on_what_the_program_prints_and_its_exit_status() {
    let folder = Folder::new("map-status");
    let run = |script: &str| folder.command().args(["map", "--", "sh", "-c", script]).output().unwrap();
    let output = run("echo hello; sleep 0.1; exit 7");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"hello\n"[..]));
    let shown = stderr(&output);
    assert!(shown.contains("the mapper took") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(run("kill -9 $$").status.code(), Some(128 + 9));
    assert_eq!(run("exit 0").status.code(), Some(0));
}

#[test]
fn map_says_what_cannot_be_mapped() {
    let folder = Folder::new("map-bad");
    let output = folder.command().args(["map", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr(&output).contains("cannot run `no-such-program`"), "{}", stderr(&output));
    let output = folder.command().args(["map", "--", "."]).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", stderr(&output));
    assert!(folder.fail(["map", "99999999"]).contains("there is no process 99999999"));
    assert!(folder.fail(["map", "--interval", "5us", "1"]).contains("1 ms to 1 s"));
    assert!(folder.fail(["map", "--migrations", "0", "1"]).contains("dry run"));
    assert!(folder.fail(["map", "--json", "--", "echo"]).contains("give --json a file"));
    assert!(folder.fail(["map", "--machine", "absent.toml", "1"]).contains("absent.toml"));
}

#[test]
fn map_gives_affinities_back_when_it_is_ended() {
    let folder = Folder::new("map-end");
    if !two_kinds(&folder) {
        return;
    }
    let busy = Busy::new();
    let before = busy.affinity();
    let signals = [("USR1", 10), ("USR2", 12), ("ALRM", 14), ("VTALRM", 26), ("PROF", 27), ("ABRT", 6), ("QUIT", 3)];
    for (name, number) in signals {
        // What whoever started the tests lets them ignore, the command ignores, too.
        if ignored() >> (number - 1) & 1 == 1 {
            eprintln!("skipped: SIG{name} is ignored here");
            continue;
        }
        let mut command = folder.command();
        command.args(["map", "--machine", "two.toml", &busy.pid()]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut mapper = command.spawn().unwrap();
        wait_for("a mapping", || busy.affinity() != before);
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", mapper.id())).status().unwrap();
        assert!(sent.success());
        assert!(mapper.wait().unwrap().success(), "{name}");
        assert_eq!(busy.affinity(), before, "{name}");
    }
    let mut command = folder.command();
    command.args(["map", "--machine", "two.toml", &busy.pid()]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mapper = command.spawn().unwrap();
    wait_for("a mapping", || busy.affinity() != before);
    terminate(&mapper);
    let output = mapper.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?} {}", output.status.signal(), stderr(&output));
    assert_eq!(busy.affinity(), before);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains(&busy.pid()) && shown.contains("fast 1.00, slow 0.40"), "{shown}");
    assert_eq!(stderr(&output), "", "no table is drawn where there is no terminal");
}

#[test]
fn a_dry_run_of_map_sets_nothing_and_tells_what_it_would() {
    let folder = Folder::new("map-dry");
    if !two_kinds(&folder) {
        return;
    }
    let busy = Busy::new();
    let before = busy.affinity();
    let arguments =
        ["map", "--machine", "two.toml", "--dry-run", "--duration", "300ms", "--json", "map.json", &busy.pid()];
    let shown = folder.succeed(arguments);
    assert_eq!(busy.affinity(), before);
    assert!(shown.contains("nothing was set"), "{shown}");
    let document: Value = serde_json::from_slice(&folder.read("map.json")).unwrap();
    assert_eq!(document["report"]["dry_run"], true);
    assert_eq!(document["report"]["kinds"], serde_json::json!(["fast", "slow"]));
    assert!(document["report"]["intervals"].as_u64().unwrap() > 0);
    assert_eq!(document["threads"][0]["tid"].to_string(), busy.pid());
}

#[test]
fn map_passes_signals_on() {
    let folder = Folder::new("map-signal");
    let script = "trap 'exit 3' TERM; : > ready; while :; do sleep 0.02; done";
    let mut command = folder.command();
    let mapper = command.args(["map", "--", "sh", "-c", script]).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the program", || folder.path("ready").exists());
    terminate(&mapper);
    let output = mapper.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
