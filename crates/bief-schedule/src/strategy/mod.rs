//! The ways to schedule a chain, and the list of them.

use crate::error::{Error, ErrorKind};
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

mod otac;
mod thread_per_task;

pub use otac::Otac;
pub use thread_per_task::ThreadPerTask;

/// A way to cut a chain into stages and to give each its cores.
pub trait Strategy: Sync {
    /// The name under which [`strategy`] finds it, and which its schedules carry.
    fn name(&self) -> &'static str;

    /// One sentence that says what it does and when to choose it.
    fn summary(&self) -> &'static str;

    /// Schedules the chain on the cores of the platform. The result passes [`Schedule::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where the platform has cores of a kind that the profile does not know;
    /// [`ErrorKind::Strategy`] where the strategy cannot schedule for such a platform.
    fn schedule(&self, profile: &Profile, platform: &Platform) -> Result<Schedule, Error>;
}

/// All strategies, the one to try first at the front.
///
/// ```
/// for strategy in bief_schedule::strategies() {
///     println!("{:16} {}", strategy.name(), strategy.summary());
/// }
/// ```
pub fn strategies() -> &'static [&'static dyn Strategy] {
    &[&Otac, &ThreadPerTask]
}

/// The strategy of that name.
///
/// # Errors
///
/// [`ErrorKind::Strategy`], which lists the names, where there is none.
///
/// ```
/// assert_eq!(bief_schedule::strategy("otac")?.name(), "otac");
/// assert!(bief_schedule::strategy("otak").is_err());
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub fn strategy(name: &str) -> Result<&'static dyn Strategy, Error> {
    strategies().iter().copied().find(|strategy| strategy.name() == name).ok_or_else(|| {
        let names: Vec<_> = strategies().iter().map(|strategy| strategy.name()).collect();
        let reason = format!("there is no strategy of that name: choose one of {}", names.join(", "));
        Error::new(ErrorKind::Strategy, format!("strategy `{name}`"), reason)
    })
}
