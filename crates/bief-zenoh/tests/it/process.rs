//! Processes of workers and routers: this program again, by a test of one name.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bief_zenoh::{Address, Keys, RUNTIME, Reach, Worker, WorkerOptions};
use rustix::process::{Pid, Signal, kill_process};

use crate::chain::{self, POOR, TIME};
use crate::costs;

/// What the process is to be: `worker` or `router`.
const ROLE: &str = "BIEF_TEST_ROLE";
const NAME: &str = "BIEF_TEST_NAME";
const PLACE: &str = "BIEF_TEST_PLACE";
const ROUTER: &str = "BIEF_TEST_ROUTER";
const KEYS: &str = "BIEF_TEST_KEYS";
const CORES: &str = "BIEF_TEST_CORES";
const BYTES: &str = "BIEF_TEST_BYTES";

/// A process that ends with this value.
pub(crate) struct Process(Child);

/// What a worker is.
#[derive(Default, Clone)]
pub(crate) struct Role<'a> {
    pub(crate) name: &'a str,
    /// Where it listens, ...
    pub(crate) place: String,
    /// ... or the router that it reaches.
    pub(crate) router: String,
    pub(crate) keys: Option<&'a Path>,
    pub(crate) time_us: u64,
    pub(crate) cores: usize,
    /// Without the kind that it should run.
    pub(crate) is_poor: bool,
    /// The network namespace that it is in; none where it is empty.
    pub(crate) namespace: String,
}

impl Process {
    fn start(change: impl FnOnce(&mut Command)) -> Self {
        Self::start_by(inside(""), change)
    }

    fn start_by(mut command: Command, change: impl FnOnce(&mut Command)) -> Self {
        command.args(["--exact", "process::role", "--ignored", "--nocapture"]);
        change(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // It says so when it is there, and more after a minute, as all tests do: that must be read, or ends it.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("here I am")), "the process ended");
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }

    pub(crate) fn worker(role: &Role<'_>) -> Self {
        Self::start_by(inside(&role.namespace), |command| {
            command.env(ROLE, "worker").env(NAME, role.name).env(PLACE, &role.place).env(ROUTER, &role.router);
            command.env(TIME, role.time_us.to_string()).env(CORES, role.cores.max(1).to_string());
            command.env(RUNTIME.0, RUNTIME.1);
            if let Some(keys) = role.keys {
                command.env(KEYS, keys);
            }
            if role.is_poor {
                command.env(POOR, "1");
            }
        })
    }

    pub(crate) fn router(place: &str) -> Self {
        Self::start(|command| {
            command.env(ROLE, "router").env(PLACE, place);
        })
    }

    /// What is at the other end of a bare connection, for messages of so many bytes.
    pub(crate) fn bare(place: &str, bytes: usize, namespace: &str) -> Self {
        Self::start_by(inside(namespace), |command| {
            command.env(ROLE, "bare").env(PLACE, place).env(BYTES, bytes.to_string());
        })
    }

    /// What is at the other end of a bare session of the engine.
    pub(crate) fn engine(place: &str) -> Self {
        Self::start(|command| {
            command.env(ROLE, "engine").env(PLACE, place);
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn wait(&mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program, in a network namespace if one is named.
fn inside(namespace: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    if namespace.is_empty() {
        return Command::new(program);
    }
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

/// An address of this machine that is free now.
pub(crate) fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// A way to workers by their addresses.
pub(crate) fn reach<'a>(places: impl IntoIterator<Item = &'a String>) -> Reach {
    Reach { workers: places.into_iter().map(|place| place.parse().unwrap()).collect(), ..Reach::default() }
}

/// What another process of this program is.
#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let address = |name| variable(name).map(|text| text.parse::<Address>().unwrap());
    match variable(ROLE).as_deref() {
        Some("worker") => {
            let keys = variable(KEYS).map(|folder| Keys::read(folder.as_ref()).unwrap());
            let cores = variable(CORES).unwrap().parse().unwrap();
            let options = WorkerOptions {
                listen: address(PLACE),
                reach: Reach { router: address(ROUTER), keys, ..Reach::default() },
                name: variable(NAME).unwrap().parse().unwrap(),
                cores,
                credit: 2 * cores + 2,
                version: "test".to_owned(),
            };
            let (registry, _) = chain::registry();
            let worker = Worker::open(options, registry, |_| {}).unwrap();
            println!("here I am");
            worker.run().unwrap();
        }
        Some("bare") => costs::answer_barely(&variable(PLACE).unwrap(), variable(BYTES).unwrap().parse().unwrap()),
        Some("engine") => costs::answer_by_engine(&variable(PLACE).unwrap()),
        Some("router") => {
            use zenoh::Wait;
            let mut config = zenoh::Config::default();
            let endpoints = format!("[\"tcp/{}\"]", variable(PLACE).unwrap());
            for (key, value) in [
                ("mode", "\"router\""),
                ("listen/endpoints", &endpoints),
                ("scouting/multicast/enabled", "false"),
                ("transport/link/tx/lease", "1000"),
            ] {
                config.insert_json5(key, value).unwrap();
            }
            let _session = zenoh::open(config).wait().unwrap();
            println!("here I am");
            std::thread::sleep(Duration::from_secs(3600));
        }
        _ => {}
    }
}
