//! Random chains as the paper's experiments draw them.

use fastrand::Rng;

use crate::error::{Error, ErrorKind};
use crate::profile::{Profile, TaskProfile};

/// A chain of `tasks` tasks of which the share `stateless_ratio` may be replicated, for the kinds `big` and `little`:
/// times on big cores uniform in 1 ..= 100 ns; on little ones longer by a factor uniform in 1 ..= 5, rounded up
/// (section 6.1.1 of Idouar et al.). Which tasks may be replicated is random, how many is not.
///
/// The same state of `random` gives the same chain on every machine.
///
/// # Errors
///
/// [`ErrorKind::Profile`] where `tasks` is zero or `stateless_ratio` is not from 0 to 1.
///
/// # Example
///
/// ```
/// let chain = bief_schedule::sample_chain(&mut fastrand::Rng::with_seed(1), 20, 0.8)?;
/// assert_eq!(chain.tasks().iter().filter(|task| task.replicable).count(), 16);
/// assert!(chain.tasks().iter().all(|task| task.ns[0] <= task.ns[1] && task.ns[1] <= Some(500)));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
pub fn sample_chain(random: &mut Rng, tasks: usize, stateless_ratio: f64) -> Result<Profile, Error> {
    if !(0.0..=1.0).contains(&stateless_ratio) {
        let reason = format!("a stateless ratio of {stateless_ratio}: write a share from 0 to 1");
        return Err(Error::new(ErrorKind::Profile, "sampled chain", reason));
    }
    let replicable = (stateless_ratio * tasks as f64).round() as usize;
    let mut may: Vec<bool> = (0..tasks).map(|task| task < replicable).collect();
    random.shuffle(&mut may);
    let tasks = may.into_iter().enumerate().map(|(index, replicable)| {
        let big = random.u64(1..=100);
        let little = (big as f64 * (1.0 + 4.0 * random.f64())).ceil() as u64;
        let task = TaskProfile::sequential(format!("t{}", index + 1), [big, little]);
        TaskProfile { replicable, ..task }
    });
    Profile::new(["big", "little"], tasks.collect::<Vec<_>>())
}
