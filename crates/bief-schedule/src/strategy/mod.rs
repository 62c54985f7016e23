//! The ways to schedule a chain, and the list of them.

use crate::error::{Error, ErrorKind};
use crate::platform::Platform;
use crate::profile::Profile;
use crate::schedule::Schedule;

mod exact;
mod otac;
mod thread_per_task;

pub use exact::{Exact, Optimum};
pub use otac::Otac;
pub use thread_per_task::ThreadPerTask;

/// A way to cut a chain into stages and to give each its cores.
pub trait Strategy: Sync {
    /// The name under which [`strategy`] finds it, and which its schedules carry.
    fn name(&self) -> &'static str;

    /// One sentence that says what it does and when to choose it.
    fn summary(&self) -> &'static str;

    /// How many kinds of cores it can use together, at most. A kind of which a platform has no core does not count.
    fn most_kinds(&self) -> usize;

    /// Schedules the chain on the cores of the platform. The result passes [`Schedule::check`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where the platform has cores of a kind that the profile does not know;
    /// [`ErrorKind::Strategy`] where it has cores of more kinds than [`most_kinds`](Self::most_kinds), or the
    /// strategy cannot schedule the chain for another reason, which it says.
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
    &[&Exact, &Otac, &ThreadPerTask]
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

/// The kinds that have cores, by position in the profile, and how many each has.
///
/// # Errors
///
/// [`ErrorKind::Platform`] and [`ErrorKind::Strategy`] as [`Strategy::schedule`] says.
pub(crate) fn given_cores(
    strategy: &dyn Strategy,
    profile: &Profile,
    platform: &Platform,
) -> Result<Vec<(usize, u32)>, Error> {
    let cores = platform.cores_for(profile)?;
    let given: Vec<(usize, u32)> = cores.into_iter().enumerate().filter(|&(_, cores)| cores > 0).collect();
    let most = strategy.most_kinds();
    if given.len() <= most {
        return Ok(given);
    }
    let list = |separator: &str| {
        let kinds = given.iter().map(|&(kind, cores)| format!("{}={cores}", profile.kinds()[kind]));
        kinds.collect::<Vec<_>>().join(separator)
    };
    let (can, remedy) = match most {
        1 => ("one kind".to_owned(), format!("one kind only, {}", list(" or "))),
        _ => (format!("at most {most} kinds"), "fewer kinds".to_owned()),
    };
    let reason = format!(
        "it schedules for cores of {can}, and {} are given: give cores of {remedy}, or take a strategy for more kinds",
        list(",")
    );
    Err(Error::new(ErrorKind::Strategy, format!("strategy `{}`", strategy.name()), reason))
}
