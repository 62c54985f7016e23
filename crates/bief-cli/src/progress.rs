//! How far long work is: a bar for a person, lines of JSON for a machine.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::text::printable;

/// A bar towards a total, of bytes or of whatever else is counted; where there is none, a counter of bytes. It shows on a
/// terminal, and nowhere else.
pub fn progress(total: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:24} {percent:>3}%  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant template"))
}

/// What turns while work goes on whose end nobody knows, with the time that it has taken. It shows on a terminal, and
/// nowhere else.
pub fn spinner(message: String) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {elapsed}  {msg}").expect("a constant template");
    let bar = ProgressBar::new_spinner().with_style(style).with_message(printable(&message));
    // It turns by a thread of its own, which is no reason to fail where there are no more.
    if std::thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    bar
}

/// Lines that are drawn anew in place. They show on a terminal, and nowhere else.
pub fn panel() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new_spinner().with_style(ProgressStyle::with_template("{msg}").expect("a constant template"))
}

/// How often lines tell of a run.
const TOLD: Duration = Duration::from_secs(1);

/// Lines of JSON about a run: one each second, and one at its end.
pub(crate) struct Lines {
    out: Box<dyn Write + Send>,
    /// Of the whole input, where that is known.
    bytes: Option<u64>,
    start: Instant,
    next: Duration,
}

impl Lines {
    pub(crate) fn new(out: Box<dyn Write + Send>, bytes: Option<u64>) -> Self {
        Self { out, bytes, start: Instant::now(), next: TOLD }
    }

    fn is_due(&self) -> bool {
        self.start.elapsed() >= self.next
    }

    fn tell(&mut self, figures: &impl Serialize, has_ended: bool) {
        let seconds = self.start.elapsed();
        self.next = seconds + TOLD;
        let of = self.bytes;
        let line =
            json!({ "seconds": seconds.as_secs_f64(), "bytes_of_input": of, "ended": has_ended, "figures": figures });
        // At once, so that lines of several jobs do not mix. Where nobody reads them, the work goes on.
        let _ = self.out.write_all(format!("{line}\n").as_bytes());
    }
}

/// Runs `work` while `look` tells how far it is: by `show` on the bar, ten times a second, and in lines; then the bar goes away.
pub(crate) fn followed<F: Serialize, T>(
    bar: &ProgressBar,
    mut lines: Option<Lines>,
    mut look: impl FnMut() -> F + Send,
    show: impl Fn(&ProgressBar, &F) + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if bar.is_hidden() && lines.is_none() {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Where no thread can be had, the bar stands still, and nothing is told.
        let watcher = std::thread::Builder::new().spawn_scoped(scope, || {
            while !done.load(Ordering::Relaxed) {
                let due = lines.as_mut().filter(|lines| lines.is_due());
                if due.is_some() || !bar.is_hidden() {
                    let figures = look();
                    show(bar, &figures);
                    due.into_iter().for_each(|lines| lines.tell(&figures, false));
                }
                std::thread::park_timeout(Duration::from_millis(100));
            }
            lines.iter_mut().for_each(|lines| lines.tell(&look(), true));
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        if let Ok(watcher) = watcher {
            watcher.thread().unpark();
        }
        bar.finish_and_clear();
        result
    })
}

/// Runs `work` while `look` brings the bar up to date, ten times a second; then the bar goes away.
pub fn shown<T>(bar: &ProgressBar, mut look: impl FnMut(&ProgressBar) + Send, work: impl FnOnce() -> T) -> T {
    if bar.is_hidden() {
        return work();
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Where no thread can be had, the bar stands still.
        let watcher = std::thread::Builder::new().spawn_scoped(scope, || {
            while !done.load(Ordering::Relaxed) {
                look(bar);
                std::thread::park_timeout(Duration::from_millis(100));
            }
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        if let Ok(watcher) = watcher {
            watcher.thread().unpark();
        }
        bar.finish_and_clear();
        result
    })
}
