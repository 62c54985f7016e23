//! The progress bar of long work.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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
