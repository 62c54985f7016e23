//! What a mapper takes of a core.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bief::machine::clock::thread_time;
use bief::machine::mapper::{MapSettings, ThreadMapper};
use bief_cli::failure::Failure;
use bief_cli::json::print;

use super::Setting;
use crate::bench::background::Background;
use crate::bench::busy::work;
use crate::bench::case::{Aim, Case, Reading};

/// The group of their names.
pub(super) const NAME: &str = "overhead";

/// So many threads, and at most what percentage of a core a mapper of so many is to take at the usual interval.
const MANY: [(usize, f64); 2] = [(8, 0.5), (64, 1.0)];
const INTERVALS: [u64; 2] = [5, 1];

/// All threads together work so long, so often: eight of them need enough to be mapped, 64 do not.
const WORK: Duration = Duration::from_millis(4);
const PERIOD: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Other,
}

pub(super) fn cases(setting: &Setting) -> Vec<Case> {
    let group = ("overhead: what a mapper takes of a core", "%");
    let mut cases = Vec::new();
    for ms in INTERVALS {
        let (interval, time) = (Duration::from_millis(ms), setting.time);
        let wake = move || wake(interval, time).map(Reading::from);
        cases.push(Case::new(format!("{NAME}/waking-alone/{ms}ms"), group, wake));
    }
    for (whose, name) in [(Whose::Own, "own"), (Whose::Other, "other")] {
        for (threads, aim) in MANY {
            for ms in INTERVALS {
                let setting = setting.clone();
                let measure = move || measure(whose, threads, Duration::from_millis(ms), &setting).map(Reading::from);
                let case = Case::new(format!("{NAME}/{name}-{threads}/{ms}ms"), group, measure);
                cases.push(case.aiming((ms == INTERVALS[0]).then_some(Aim::AtMost(aim))));
            }
        }
    }
    cases
}

/// The percentage of a core that a thread takes which sleeps for an interval, again and again, and does nothing else: what to
/// compare with, beside the first number of threads.
fn wake(interval: Duration, time: Duration) -> Result<f64, Failure> {
    let _crowd = crowd(MANY[0].0)?;
    share(time, || {
        thread::sleep(interval);
        Ok(())
    })
}

/// The percentage of a core that a mapper takes.
fn measure(whose: Whose, threads: usize, interval: Duration, setting: &Setting) -> Result<f64, Failure> {
    let settings = MapSettings { interval, ..MapSettings::default() };
    let (_own, _other);
    let process = match whose {
        Whose::Own => {
            _own = crowd(threads)?;
            std::process::id()
        }
        Whose::Other => {
            let other = Other::begin(threads)?;
            let process = other.0.id();
            _other = other;
            process
        }
    };
    let mut mapper = ThreadMapper::of_process(process, &setting.machine, settings).map_err(Failure::from_error)?;
    let taken = share(setting.time, || {
        mapper.wait();
        if mapper.step().map_err(Failure::from_error)? {
            Ok(())
        } else {
            Err(Failure::new(format!("the threads of process {process} have ended while they were mapped")))
        }
    })?;
    setting.notes.borrow_mut().extend(mapper.report().notes);
    Ok(taken)
}

/// The percentage of a core that this thread takes while it does something again and again.
fn share(time: Duration, mut again: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let (start, begin) = (Instant::now(), thread_time());
    while start.elapsed() < time {
        again()?;
    }
    Ok(100.0 * (thread_time() - begin).as_secs_f64() / start.elapsed().as_secs_f64())
}

/// Threads that do little, until this is dropped.
fn crowd(threads: usize) -> Result<Background, Failure> {
    let each = WORK / threads.max(1) as u32;
    Background::begin(threads, "crowd", move |over| {
        while !over.load(Ordering::Relaxed) {
            let begin = Instant::now();
            work(each);
            thread::sleep(PERIOD.saturating_sub(begin.elapsed()));
        }
    })
}

/// Another process with such threads, until this is dropped.
struct Other(Child);

impl Other {
    fn begin(threads: usize) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(format!("another process for {NAME}/other: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["bench", "mapping", "--crowd", &threads.to_string()]);
        let mut other = Self(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?);
        let told = other.0.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        // Its threads are there when it says so.
        match BufReader::new(told).lines().next() {
            Some(Ok(_)) => Ok(other),
            _ => Err(failed(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // Without anyone who could write to it, it ends.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the other process does.
pub(super) fn be_crowd(threads: usize) -> Result<(), Failure> {
    let _crowd = crowd(threads)?;
    print("ready")?;
    io::stdin().read_to_end(&mut Vec::new()).map(drop).map_err(Failure::from_error)
}
