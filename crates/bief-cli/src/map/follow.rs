//! Mapping until something ends it.

use std::time::{Duration, Instant};

use bief::machine::mapper::{MapReport, ThreadMapper, ThreadStatus};

use crate::failure::Failure;
use crate::progress;

/// How often the table on a terminal is drawn anew.
const LOOK: Duration = Duration::from_secs(1);

/// What came of it.
pub(super) struct Followed {
    pub(super) report: MapReport,
    pub(super) threads: Vec<ThreadStatus>,
}

/// Maps as long as there are threads, it `goes_on` and it is not late; then gives affinities back. `live` tells how it stands,
/// and is shown on a terminal.
pub(super) fn follow(
    mut mapper: ThreadMapper,
    until: Option<Instant>,
    mut goes_on: impl FnMut() -> Result<bool, Failure>,
    live: Option<fn(&Followed) -> String>,
) -> Result<Followed, Failure> {
    let panel = progress::panel();
    let mut look_at = Instant::now();
    while goes_on()? && until.is_none_or(|until| Instant::now() < until) {
        mapper.wait();
        if !mapper.step().map_err(Failure::from_error)? {
            break;
        }
        if let Some(live) = live.filter(|_| !panel.is_hidden() && look_at <= Instant::now()) {
            panel.set_message(live(&Followed { threads: mapper.threads(), report: mapper.report() }));
            look_at = Instant::now() + LOOK;
        }
    }
    panel.finish_and_clear();
    // As they were mapped, not that it is over; what could not be given back is told.
    let threads = mapper.threads();
    mapper.restore();
    Ok(Followed { threads, report: mapper.report() })
}
