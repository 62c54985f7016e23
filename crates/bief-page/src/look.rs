//! What a run is like, looked at for all who ask: ten times a second at most, and never for nobody.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bief::Figures;
use bief::pipeline::{Status, Watch};
use bief::plan::GoalHandle;
use bief::report::{PlanChange, RunEnergy};

/// A look is as good as a new one for so long: a little less than from one event to the next.
const FRESH: Duration = Duration::from_millis(80);
/// What tasks told for a look before this is too old. They are asked, and get the time to answer.
const OLD: Duration = Duration::from_secs(1);
const ANSWER: Duration = Duration::from_millis(120);

/// A run to look at.
pub(crate) struct Looker {
    pub(crate) title: String,
    replan: Option<GoalHandle>,
    seen: Mutex<Seen>,
}

struct Seen {
    watch: Watch,
    latest: Option<(Instant, Arc<Look>)>,
}

/// What a run was like.
#[derive(Debug, Default)]
pub(crate) struct Look {
    pub(crate) status: Status,
    pub(crate) figures: Figures,
    pub(crate) energy: Option<RunEnergy>,
    pub(crate) changes: Vec<PlanChange>,
    /// Whether the plan can be made anew, and what came of that last.
    pub(crate) replans: bool,
    pub(crate) replanned: Option<String>,
    pub(crate) json: OnceLock<Arc<str>>,
}

impl Looker {
    pub(crate) fn new(title: String, watch: Watch, replan: Option<GoalHandle>) -> Self {
        Self { title, replan, seen: Mutex::new(Seen { watch, latest: None }) }
    }

    pub(crate) fn look(&self) -> Arc<Look> {
        self.look_again(false)
    }

    /// A look; where the run has ended meanwhile and `last` says so, not one of before.
    fn look_again(&self, last: bool) -> Arc<Look> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let age = seen.latest.as_ref().map(|(at, look)| (at.elapsed(), look));
        match age {
            Some((age, look)) if age < FRESH && !(last && look.status.is_running) => return Arc::clone(look),
            Some((age, _)) if age < OLD || last => {}
            _ => {
                seen.watch.figures();
                thread::sleep(ANSWER);
            }
        }
        // Asked first, so that a run which ends meanwhile is not said to go on with the figures of its end.
        let status = seen.watch.status();
        let look = Arc::new(Look {
            figures: seen.watch.figures(),
            energy: seen.watch.energy(),
            changes: seen.watch.changes(),
            replans: self.replan.is_some(),
            replanned: self.replan.as_ref().and_then(GoalHandle::outcome),
            status,
            json: OnceLock::new(),
        });
        seen.latest = Some((Instant::now(), Arc::clone(&look)));
        look
    }

    /// The state as JSON in one line: written once, however many want it.
    pub(crate) fn json(&self, last: bool) -> Arc<str> {
        let look = self.look_again(last);
        // Everything in it has text as its keys.
        let written = || crate::state::json(&self.title, &look).unwrap_or_default().into();
        Arc::clone(look.json.get_or_init(written))
    }

    /// Asks for another plan, if the run can have one.
    pub(crate) fn replan(&self) -> bool {
        let Some(handle) = &self.replan else { return false };
        handle.replan("asked for on the page");
        true
    }
}
