//! What workers cost the machine that reads: figures, which decide nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use bief::ChainFile;
use bief_zenoh::{Keys, RUNTIME, Reach, Without};
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

use crate::chain::{alone, away_of, long, registry};
use crate::keys;
use crate::namespaces::Namespace;
use crate::process::{Process, Role, free, reach};

/// CPU time of this process so far, in microseconds.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    // A tick is a hundredth of a second on all of today's systems.
    ticks as f64 * 10_000.0
}

/// Frames of so many numbers of 8 bytes, of which little comes back.
fn file((frames, len): (u64, usize), middle: &str) -> ChainFile {
    let text = format!(
        "[[task]]\nname = 'play'\nkind = 'test.play'\nout = ['numbers']\nframes = {frames}\nlen = {len}\n{middle}\
         [[task]]\nname = 'see'\nkind = 'test.see'\nin = ['last']"
    );
    ChainFile::parse(&text, "test.toml").unwrap()
}

fn tell(what: &str, len: usize, keys: Option<(&Path, &Path)>, spaces: &[Namespace]) {
    let frames = long(20_000);
    let middle = "[[task]]\nname = 'last'\nkind = 'test.last'\nin = ['numbers']\nout = ['last']\n";
    let file = file((frames, len), middle);
    let (registry, _) = registry();
    let start = cpu_us();
    file.program(&registry).unwrap().run().unwrap();
    let here = cpu_us() - start;
    let places = [0, 1].map(|number| spaces.get(number).map_or_else(free, |space| space.place.clone()));
    let worker = |number: usize| {
        let (name, place) = (["a", "b"][number], places[number].clone());
        let namespace = spaces.get(number).map_or_else(String::new, |space| space.name.clone());
        let keys = keys.map(|(_, worker)| worker);
        Process::worker(&Role { name, place, keys, namespace, cores: 1, ..Role::default() })
    };
    let _workers = [0, 1].map(worker);
    let keys = keys.map(|(front, _)| Keys::read(front).unwrap());
    let start = cpu_us();
    let outcome = away_of((&file, None), &Reach { keys, ..reach(&places) }, Without::Wait(1), |_| {});
    let away = cpu_us() - start;
    assert_eq!(outcome.seen.frames, frames);
    println!(
        "{what}: {:.0} us of CPU for each frame of {} bytes, sent and collected ({:.0} us here), {:.0} frames/s",
        (away - here) / frames as f64,
        8 * len,
        here / frames as f64,
        frames as f64 / outcome.seconds
    );
}

/// What is under way at a time on a bare connection: the credit of both workers.
const UNDER_WAY: u64 = 8;
/// Numbers of a frame of 64 KB, which is one piece of zenoh's by Ethernet, and of one of 64 KiB, which is two.
const LENS: [usize; 2] = [8000, 8192];
/// Bytes of a message beside those of a frame, and of an answer.
const HEAD: usize = 29 + 10;
const ANSWER: usize = 62;

/// The least that a frame may cost: as many bytes each way on a bare connection, with as many under way; a thread that sends and one that
/// receives.
fn tell_bare(what: &str, len: usize, space: Option<&Namespace>) {
    let frames = long(20_000);
    let place = space.map_or_else(free, |space| space.place.clone());
    let _answers = Process::bare(&place, HEAD + 8 * len, space.map_or("", |space| &space.name));
    let mut to = TcpStream::connect(&place).unwrap();
    to.set_nodelay(true).unwrap();
    let mut from = to.try_clone().unwrap();
    let (credit, taken) = std::sync::mpsc::sync_channel::<()>(UNDER_WAY as usize);
    let start = cpu_us();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let frame = vec![7; HEAD + 8 * len];
            for _ in 0..frames {
                credit.send(()).unwrap();
                to.write_all(&frame).unwrap();
            }
        });
        let mut answer = [0; ANSWER];
        for _ in 0..frames {
            from.read_exact(&mut answer).unwrap();
            taken.recv().unwrap();
        }
    });
    let us = (cpu_us() - start) / frames as f64;
    println!("{what}, a bare connection: {us:.0} us of CPU for each frame of {} bytes", 8 * len);
}

/// Reads frames and answers, until nobody asks any more.
pub(crate) fn answer_barely(place: &str, bytes: usize) {
    let listener = TcpListener::bind(place).unwrap();
    println!("here I am");
    let (mut link, _) = listener.accept().unwrap();
    link.set_nodelay(true).unwrap();
    let mut frame = vec![0; bytes];
    while link.read_exact(&mut frame).is_ok() && link.write_all(&[7; ANSWER]).is_ok() {}
}

/// What the engine asks: the same again over a session of zenoh, with a thread that publishes and a callback.
fn tell_engine(len: usize) {
    let frames = long(20_000);
    let place = free();
    let _answers = Process::engine(&place);
    let session = open("connect", &place);
    let (credit, taken) = std::sync::mpsc::sync_channel::<()>(UNDER_WAY as usize);
    let taken = std::sync::Mutex::new(taken);
    let answers = session.declare_subscriber("answers").callback(move |_| taken.lock().unwrap().recv().unwrap());
    answers.background().wait().unwrap();
    let publisher = session.declare_publisher("frames").congestion_control(CongestionControl::Block).wait().unwrap();
    while !publisher.matching_status().wait().unwrap().matching() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let frame = zenoh::bytes::ZBytes::from(vec![7; HEAD + 8 * len]);
    let start = cpu_us();
    for _ in 0..frames {
        credit.send(()).unwrap();
        publisher.put(frame.clone()).wait().unwrap();
    }
    let us = (cpu_us() - start) / frames as f64;
    println!("a bare session of zenoh: {us:.0} us of CPU for each frame of {} bytes", 8 * len);
}

/// A session that knows nobody but whoever is at the other end.
fn open(side: &str, place: &str) -> Session {
    let mut config = Config::default();
    config.insert_json5("scouting/multicast/enabled", "false").unwrap();
    config.insert_json5("listen/endpoints", "[]").unwrap();
    // As many pieces of messages may wait as in a pool.
    config.insert_json5("transport/link/tx/queue/size/data", "16").unwrap();
    config.insert_json5(&format!("{side}/endpoints"), &format!("['tcp/{place}']")).unwrap();
    zenoh::open(config).wait().unwrap()
}

/// Takes frames from a session and answers, until it is killed.
pub(crate) fn answer_by_engine(place: &str) {
    let session = open("listen", place);
    let (came, frames) = std::sync::mpsc::channel();
    let heard = session.declare_subscriber("frames").callback(move |_| {
        let _ = came.send(());
    });
    heard.background().wait().unwrap();
    println!("here I am");
    let publisher = session.declare_publisher("answers").congestion_control(CongestionControl::Block).wait().unwrap();
    frames.into_iter().for_each(|()| drop(publisher.put([7; ANSWER]).wait()));
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn what_a_frame_costs_the_front() {
    // In the environment that the command makes for itself.
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "costs::what_a_frame_costs_in_that_environment", "--ignored", "--nocapture"]);
    assert!(again.env(RUNTIME.0, RUNTIME.1).status().unwrap().success());
}

#[test]
#[ignore = "another process of the test above"]
fn what_a_frame_costs_in_that_environment() {
    if std::env::var(RUNTIME.0).is_err() {
        return;
    }
    for len in LENS {
        tell_bare("plain TCP", len, None);
        tell_engine(len);
        tell("plain TCP", len, None, &[]);
    }
    match [Namespace::new(2), Namespace::new(3)] {
        [Some(first), Some(second)] => {
            let spaces = [first, second];
            for len in LENS {
                tell_bare("Ethernet", len, spaces.first());
                tell("Ethernet", len, None, &spaces);
            }
        }
        _ => println!("Ethernet: skipped, no network namespaces can be made here"),
    }
    let folder = std::env::temp_dir().join(format!("bief-zenoh-costs-{}", std::process::id()));
    let made = ["front", "rack3"].map(|machine| keys::make(&folder, "pool", machine));
    if let [Some(front), Some(worker)] = &made {
        for len in LENS {
            tell("TLS", len, Some((front, worker)), &[]);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn what_workers_cost_where_nobody_is_there() {
    // Frames of 64 KiB, of some 100 us on a core, and of some 1000.
    for (rounds, frames) in [(25, 20_000), (250, 2000)] {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mark = |stage: &str, threads: usize| match threads {
            0 => String::new(),
            _ => format!("stage = '{stage}'\n"),
        };
        let text = |threads: usize| {
            format!(
                "[[task]]\nname = 'play'\nkind = 'test.play'\nout = ['numbers']\nframes = {frames}\nlen = 8192\n\
                 [[task]]\nname = 'work'\nkind = 'test.work'\nin = ['numbers']\nout = ['worked']\nrounds = {rounds}\n{}\
                 [[task]]\nname = 'last'\nkind = 'test.last'\nin = ['worked']\nout = ['last']\n\
                 [[task]]\nname = 'see'\nkind = 'test.see'\nin = ['last']\n{}",
                mark("work", threads),
                mark("see", threads),
            ) + &if threads > 0 { format!("[stage.work]\nthreads = {threads}\n") } else { String::new() }
        };
        // Seconds of a run, and of processors.
        let here = |threads: usize| {
            let (registry, _) = registry();
            let file = ChainFile::parse(&text(threads), "test.toml").unwrap();
            let mut pipeline = file.pipeline(&registry).unwrap();
            let (start, cpu) = (std::time::Instant::now(), cpu_us());
            pipeline.run().unwrap();
            (start.elapsed().as_secs_f64(), cpu_us() - cpu)
        };
        let away = || {
            let file = ChainFile::parse(&text(0), "test.toml").unwrap();
            let cpu = cpu_us();
            let outcome = away_of((&file, None), &reach([&free()]), alone(cores), |_| {});
            assert!(outcome.seen.frames == frames && outcome.tally.len() == 1, "{:?}", outcome.tally);
            (outcome.seconds, cpu_us() - cpu)
        };
        // The median of runs side by side: what other programs take is in both of them.
        let rounds: Vec<_> = (0..9).map(|_| (here(cores), away())).collect();
        let ratio = |of: fn(&(f64, f64)) -> f64| {
            let mut ratios: Vec<f64> = rounds.iter().map(|(here, away)| of(here) / of(away)).collect();
            ratios.sort_by(f64::total_cmp);
            100.0 * ratios[4]
        };
        println!(
            "{:.0} us a frame on {cores} cores; with nobody there {:.1} % of that speed, {:.1} % by time of processors",
            1e6 * rounds[4].0.0 / frames as f64,
            ratio(|run| run.0),
            ratio(|run| run.1)
        );
    }
}
