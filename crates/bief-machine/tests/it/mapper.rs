//! Threads of a running process mapped to kinds of cores: affinities set and given back, whatever threads and the process do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bief_machine::mapper::{MapSettings, Steering, ThreadMapper, ThreadStatus};
use bief_machine::{ErrorKind, Machine, Result, thread_list};

/// The process that is mapped: this test program again. It does what it reads, a line each, and answers with a line.
///
/// `busy` and `idle` start a thread that works or sleeps; `born` lets a thread that works start one that sleeps; `end` ends all threads but
/// the first.
#[test]
fn the_mapped_process() {
    if std::env::var_os("BIEF_MAPPED").is_none() {
        return;
    }
    // A thread names itself: it is waited for.
    let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let (begins, has_begun) = mpsc::channel();
        let work = move || {
            begins.send(()).unwrap();
            work();
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap();
        has_begun.recv().unwrap();
    };
    let mut busy: Option<mpsc::Sender<()>> = None;
    let mut ends = Arc::new(AtomicBool::new(false));
    let sleep = |ends: &Arc<AtomicBool>| {
        let ends = Arc::clone(ends);
        move || {
            while !ends.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    };
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "idle" => start("idle", Box::new(sleep(&ends))),
            "busy" => {
                let (sender, births) = mpsc::channel();
                busy = Some(sender);
                let (ends, sleep) = (Arc::clone(&ends), sleep(&ends));
                let work = move || {
                    while !ends.load(Ordering::Relaxed) {
                        if births.try_recv().is_ok() {
                            std::thread::Builder::new().name("born".into()).spawn(sleep.clone()).unwrap();
                        }
                    }
                };
                start("busy", Box::new(work));
            }
            "born" => busy.as_ref().unwrap().send(()).unwrap(),
            "end" => std::mem::take(&mut ends).store(true, Ordering::Relaxed),
            other => panic!("{other}"),
        }
        println!("done");
    }
    std::process::exit(0);
}

/// Runs `work` on a thread and fails the test, rather than hang it, when it takes longer than 30 s.
fn watched<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    let thread = std::thread::spawn(move || drop(done.send(work())));
    let outcome = outcome.recv_timeout(Duration::from_secs(30));
    assert_ne!(outcome.as_ref().err(), Some(&mpsc::RecvTimeoutError::Timeout), "it ends within 30 s");
    thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    outcome.unwrap()
}

/// The numbers of those threads of this process that are called so.
fn threads_named(name: &str) -> Vec<u32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let named = tasks.filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|text| text.trim() == name));
    named.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The process that is mapped. Dropped, it ends.
struct Mapped {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Mapped {
    fn new(orders: &[&str]) -> Self {
        let this = std::env::current_exe().unwrap();
        let mut command = Command::new(this);
        command.args(["--exact", "mapper::the_mapped_process", "--nocapture"]).env("BIEF_MAPPED", "yes");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut mapped = Self { child, orders: input, answers: BufReader::new(output) };
        orders.iter().for_each(|order| mapped.tell(order));
        mapped
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        // Where tests run one by one, the first line begins with the test's name.
        while !line.trim_end().ends_with("done") {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "it ended at `{order}`");
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The affinities of its threads, as Linux lists them, by name and number.
    fn affinities(&self) -> BTreeMap<(String, u32), String> {
        affinities(self.pid())
    }

    fn affinities_of(&self, name: &str) -> Vec<String> {
        self.affinities().into_iter().filter(|((called, _), _)| called == name).map(|(_, mask)| mask).collect()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn affinities(pid: u32) -> BTreeMap<(String, u32), String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let field = |key: &str| Some(status.lines().find_map(|line| line.strip_prefix(key))?.trim().to_owned());
        Some(((field("Name:")?, field("Pid:")?.parse().ok()?), field("Cpus_allowed_list:")?))
    };
    tasks.filter_map(of).collect()
}

/// This machine as one fast core and one that stands for a slow one, with their hardware threads; says why a test is skipped where
/// there is one core alone.
fn two_kinds() -> Option<(Machine, [String; 2])> {
    let here = Machine::here();
    let [fast, slow, ..] = here.cores() else {
        eprintln!("skipped: this process may use one core alone");
        return None;
    };
    let text = format!(
        "[[kind]]\nname = 'fast'\ncores = '{}'\n[[kind]]\nname = 'slow'\ncores = '{}'\nspeed = 0.4",
        fast.threads[0], slow.threads[0]
    );
    let lists = [fast, slow].map(|core| thread_list(core.threads.iter().copied()));
    Some((Machine::emulated(&text, &here).unwrap(), lists))
}

/// Maps until something is so, but not for ever.
fn map_until(mapper: &mut ThreadMapper, what: &str, mut is_so: impl FnMut(&mut ThreadMapper) -> bool) {
    let start = Instant::now();
    while !is_so(mapper) {
        assert!(start.elapsed() < Duration::from_secs(60), "still waiting for: {what}\n{:#?}", mapper.threads());
        mapper.wait();
        assert!(mapper.step().unwrap());
    }
}

fn sorted(mut lists: Vec<String>) -> Vec<String> {
    lists.sort();
    lists
}

#[test]
fn busy_threads_share_the_kinds_and_get_back_what_they_had() {
    let Some((machine, kinds)) = two_kinds() else { return };
    let mapped = Mapped::new(&["busy", "idle", "busy", "idle"]);
    let before = mapped.affinities();
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    let each = sorted(kinds.to_vec());
    let is_mapped =
        |status: &ThreadStatus| status.name != "busy" || (status.steering == Steering::Mapped && status.demand > 0.0);
    map_until(&mut mapper, "a kind for each busy thread", |mapper| {
        sorted(mapped.affinities_of("busy")) == each && mapper.threads().iter().all(is_mapped)
    });
    let affinities = mapped.affinities();
    for (thread, mask) in &before {
        assert!(thread.0 == "busy" || affinities[thread] == *mask, "{thread:?} sleeps: {affinities:?}");
    }
    let statuses = mapper.threads();
    let of = |name: &str| statuses.iter().filter(|status| status.name == name).collect::<Vec<_>>();
    assert!(of("idle").iter().all(|status| status.steering == Steering::Light && status.kind.is_none()));
    assert!(of("busy").iter().all(|status| status.on_kinds.iter().sum::<f64>() <= 1.0 + 1e-9));
    let report = mapper.report();
    assert_eq!((report.kinds, report.capacities), (vec!["fast".to_owned(), "slow".to_owned()], vec![1.0, 0.4]));
    assert!(report.intervals > 0 && report.own_cpu_seconds > 0.0 && report.threads == before.len() as u64);
    assert_eq!(report.notes, [""; 0]);

    mapper.restore();
    assert_eq!(mapped.affinities(), before);
    // It can go on.
    map_until(&mut mapper, "a kind for each busy thread", |_| sorted(mapped.affinities_of("busy")) == each);
    drop(mapper);
    assert_eq!(mapped.affinities(), before);
}

#[test]
fn threads_come_and_go() {
    let Some((machine, kinds)) = two_kinds() else { return };
    let mut mapped = Mapped::new(&["idle"]);
    let before = mapped.affinities_of("idle");
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    let is_mapped = |mask: &String| kinds.contains(mask);
    mapped.tell("busy");
    map_until(&mut mapper, "a kind for the new thread", |_| mapped.affinities_of("busy").iter().all(is_mapped));
    // A thread that it starts has its affinity, and needs none.
    mapped.tell("born");
    map_until(&mut mapper, "the birth", |_| mapped.affinities_of("born").len() == 1);
    map_until(&mut mapper, "what the child would have had", |_| mapped.affinities_of("born") == before);
    mapped.tell("end");
    map_until(&mut mapper, "the ends", |mapper| {
        mapper.threads().iter().filter(|status| status.steering == Steering::Ended).count() == 3
    });
    mapped.tell("busy");
    map_until(&mut mapper, "a kind for the next one", |_| {
        let busy = mapped.affinities_of("busy");
        busy.len() == 1 && busy.iter().all(is_mapped)
    });
    // Nobody has seen this child when all is given back.
    mapped.tell("born");
    let start = Instant::now();
    while mapped.affinities_of("born").is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "it is born");
    }
    mapper.restore();
    assert!(mapped.affinities().values().all(|mask| *mask == before[0]), "{:?}", mapped.affinities());
}

#[test]
fn a_crowd_is_left_to_the_system_unless_it_is_to_be_mapped() {
    let Some((machine, kinds)) = two_kinds() else { return };
    let mut mapped = Mapped::new(&["idle", "busy", "busy", "busy", "busy"]);
    let before = mapped.affinities();
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    map_until(&mut mapper, "a crowd", |mapper| {
        mapper.threads().iter().filter(|status| status.steering == Steering::Crowded).count() == 4
    });
    assert_eq!(mapped.affinities(), before);
    assert!(mapper.report().crowded_seconds > 0.0);
    mapped.tell("end");
    mapped.tell("busy");
    map_until(&mut mapper, "a kind for the next one", |_| {
        let busy = mapped.affinities_of("busy");
        busy.len() == 1 && kinds.contains(&busy[0])
    });
    drop(mapper);

    for _ in 0..3 {
        mapped.tell("busy");
    }
    let settings = MapSettings { yields: false, ..MapSettings::default() };
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, settings).unwrap();
    map_until(&mut mapper, "a kind for as many as there are cores", |mapper| {
        let busy = mapped.affinities_of("busy");
        let crowded = mapper.threads().iter().filter(|status| status.steering == Steering::Crowded).count();
        crowded == 2 && kinds.iter().all(|kind| busy.iter().filter(|mask| *mask == kind).count() == 1)
    });
    assert_eq!(mapper.report().crowded_seconds, 0.0);
}

#[test]
fn a_dry_run_sets_nothing() {
    let Some((machine, _)) = two_kinds() else { return };
    let mapped = Mapped::new(&["busy", "busy", "idle"]);
    let before = mapped.affinities();
    let settings = MapSettings { dry_run: true, ..MapSettings::default() };
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, settings).unwrap();
    map_until(&mut mapper, "decisions", |mapper| {
        assert_eq!(mapped.affinities(), before);
        mapper.threads().iter().filter(|status| status.kind.is_some()).count() == 2
    });
    for _ in 0..20 {
        mapper.wait();
        assert!(mapper.step().unwrap());
        assert_eq!(mapped.affinities(), before);
    }
    assert!(mapper.report().dry_run);
    drop(mapper);
    assert_eq!(mapped.affinities(), before);
}

#[test]
fn the_end_of_the_process_is_the_end() {
    let Some((machine, _)) = two_kinds() else { return };
    let mut mapped = Mapped::new(&["busy", "idle"]);
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    map_until(&mut mapper, "a mapping", |mapper| mapper.threads().iter().any(|status| status.kind.is_some()));
    // Nobody has asked for its status yet: its number is still there.
    mapped.child.kill().unwrap();
    let ended = watched(move || {
        while mapper.step().unwrap() {
            mapper.wait();
        }
        mapper.restore();
        (mapper.threads(), mapper.report().notes)
    });
    assert!(ended.0.len() >= 3 && ended.0.iter().all(|status| status.steering == Steering::Ended));
    assert_eq!(ended.1, [""; 0]);
}

#[test]
fn affinities_are_never_widened() {
    let Some((machine, kinds)) = two_kinds() else { return };
    let mapped = Mapped::new(&["busy", "busy", "busy"]);
    let affinities = mapped.affinities();
    let (chosen, _) = affinities.iter().find(|((name, _), _)| name == "busy").unwrap();
    let taskset = Command::new("taskset").args(["-p", "-c", &kinds[1], &chosen.1.to_string()]).output();
    if !taskset.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no `taskset`");
        return;
    }
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    let of =
        |mapper: &mut ThreadMapper, tid: u32| mapper.threads().into_iter().find(|status| status.tid == tid).unwrap();
    map_until(&mut mapper, "the others", |mapper| {
        assert_eq!(mapped.affinities()[chosen], kinds[1]);
        mapper.threads().iter().filter(|status| status.kind.is_some()).count() == 2
    });
    assert_eq!(of(&mut mapper, chosen.1).steering, Steering::Fixed);
    drop(mapper);
    let mut after = affinities.clone();
    after.insert(chosen.clone(), kinds[1].clone());
    assert_eq!(mapped.affinities(), after);
}

#[test]
fn threads_of_this_process_are_mapped() {
    let Some((machine, kinds)) = two_kinds() else { return };
    let ends = Arc::new(AtomicBool::new(false));
    let work = |ends: &Arc<AtomicBool>| {
        let ends = Arc::clone(ends);
        std::thread::Builder::new()
            .name("map-own".into())
            .spawn(move || while !ends.load(Ordering::Relaxed) {})
            .unwrap()
    };
    let workers = [work(&ends), work(&ends)];
    let tids = || threads_named("map-own");
    while tids().len() < 2 {}
    let own = || {
        let all = affinities(std::process::id());
        all.into_iter().filter(|((name, _), _)| name == "map-own").map(|(_, mask)| mask).collect::<Vec<_>>()
    };
    let before = own();
    let mut mapper = ThreadMapper::of_threads(&tids(), &machine, MapSettings::default()).unwrap();
    let each = sorted(kinds.to_vec());
    map_until(&mut mapper, "a kind for each", |_| sorted(own()) == each);
    assert_eq!(mapper.threads().len(), 2, "no others");
    mapper.restore();
    assert_eq!(own(), before);
    ends.store(true, Ordering::Relaxed);
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    watched(move || while mapper.step().unwrap() {});
}

#[test]
fn one_kind_moves_nothing_and_says_so() {
    let here = Machine::here();
    let all = thread_list(here.cores().iter().map(|core| core.threads[0]));
    let machine = Machine::emulated(&format!("[[kind]]\nname = 'only'\ncores = '{all}'"), &here);
    let Ok(machine) = machine else {
        eprintln!("skipped: the cores here are of several kinds");
        return;
    };
    let mapped = Mapped::new(&["busy"]);
    let before = mapped.affinities();
    let mut mapper = ThreadMapper::of_process(mapped.pid(), &machine, MapSettings::default()).unwrap();
    map_until(&mut mapper, "a demand", |mapper| {
        assert_eq!(mapped.affinities(), before);
        mapper.threads().iter().any(|status| status.demand > 0.2)
    });
    assert!(mapper.threads().iter().all(|status| status.steering == Steering::Fixed));
    let notes = mapper.report().notes;
    assert!(notes.len() == 1 && notes[0].contains("`only`") && notes[0].contains("nothing to gain"), "{notes:?}");
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let here = Machine::here();
    let settings = MapSettings::default();
    let refused = |outcome: Result<ThreadMapper>, part: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    refused(ThreadMapper::of_process(u32::MAX, &here, settings), "there is no process 4294967295");
    refused(ThreadMapper::of_threads(&[u32::MAX], &here, settings), "no such threads");
    refused(ThreadMapper::of_threads(&[], &here, settings), "no such threads");
    let bad = MapSettings { max_migrations: 0, ..settings };
    refused(ThreadMapper::of_process(std::process::id(), &here, bad), "dry run");
    let elsewhere = r#"{"format": 1, "model": "another", "kinds": [{"name": "cpu"}],
        "cores": [{"threads": [8000], "kind": 0, "cluster": 0, "node": 0, "package": 0}]}"#;
    let elsewhere = Machine::from_json(elsewhere).unwrap();
    refused(ThreadMapper::of_process(std::process::id(), &elsewhere, settings), "describe this machine");
}

#[test]
fn without_the_right_it_says_so_and_what_to_do() {
    if let Ok(pid) = std::env::var("BIEF_FOREIGN") {
        let (machine, _) = two_kinds().unwrap();
        let pid = pid.parse().unwrap();
        let error = ThreadMapper::of_process(pid, &machine, MapSettings::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Affinity);
        assert!(error.to_string().contains("CAP_SYS_NICE") && error.to_string().contains("dry run"), "{error}");
        // To look on is permitted.
        let settings = MapSettings { dry_run: true, ..MapSettings::default() };
        let mut mapper = ThreadMapper::of_process(pid, &machine, settings).unwrap();
        mapper.wait();
        assert!(mapper.step().unwrap());
        println!("it was refused");
        return;
    }
    if two_kinds().is_none() {
        return;
    }
    let mapped = Mapped::new(&["busy"]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "mapper::without_the_right_it_says_so_and_what_to_do", "--nocapture"]);
    command.env("BIEF_FOREIGN", mapped.pid().to_string());
    // Who is not root any more has no rights, and the process is root's.
    let output = command.uid(65534).gid(65534).current_dir("/").output();
    let text = match &output {
        Ok(output) => format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        Err(error) => error.to_string(),
    };
    if !text.contains("running 1 test") {
        eprintln!("skipped: this test cannot be started as another user: {text}");
        return;
    }
    assert!(output.unwrap().status.success() && text.contains("it was refused"), "{text}");
}
