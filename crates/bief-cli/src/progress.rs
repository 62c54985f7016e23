//! The progress bar of long work.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar towards a total, of bytes or of whatever else is counted; where there is none, a counter of bytes. It shows on a
/// terminal, and nowhere else.
pub(crate) fn progress(total: Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{bar:24} {percent:>3}%  {msg}"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {msg}"),
    };
    bar.with_style(ProgressStyle::with_template(template).expect("a constant template"))
}
