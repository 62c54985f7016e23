//! The progress bar of long work.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `bytes` of input, or a counter where their number is not known; on a terminal, and nothing anywhere else.
pub(crate) fn progress(bytes: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match bytes {
        Some(bytes) => (ProgressBar::new(bytes), "{bar:24} {percent:>3}%  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant template"))
}
