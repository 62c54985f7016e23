//! How long tasks take while many cores work.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Profile;
use super::document::{ProfileJson, check_per_kind, counted, refused, with_hand_overs};
use crate::error::Error;
use crate::platform::Platform;

/// How long tasks take while many cores of their kind work: clocks drop, and what cores share is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Busy {
    /// How many cores of the kind work, that of the task among them; at least 2.
    pub cores: u32,
    /// The time of each task, in nanoseconds, no shorter than while the other cores rest; `None` where the task cannot run on the kind.
    pub ns: Vec<Option<u64>>,
}

impl Profile {
    /// The same profile, which tells for kinds of cores how long tasks take while many cores of the kind work: `None` for a kind where
    /// that makes no difference. Its other times are those while the other cores of the kind rest; with so many of them at work as
    /// there are between the two, the times are on a line between them ([`while_busy`](Self::while_busy)).
    ///
    /// Strategies take a profile by its word, while the others rest; [`BusyPlan`](crate::BusyPlan) finds the schedule that is best
    /// with the times that its own number of cores makes for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, one is for fewer than 2 cores, of a device, or has not one time
    /// for each task that can run on the kind, no shorter than while the others rest.
    pub fn with_busy(self, busy: impl Into<Vec<Option<Busy>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { busy: Some(busy.into()), ..self.into() })
    }

    /// The same profile, measured while the other cores rested, with what one of the same tasks tells that was measured while all of
    /// `platform`'s cores worked. Where a time is shorter there, which is noise, it is taken to be the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where the two are not of the same tasks and kinds; [`ErrorKind::Platform`](crate::ErrorKind::Platform) where the platform has
    /// cores of other kinds.
    pub fn with_busy_measured(self, busy: &Self, platform: &Platform) -> Result<Self, Error> {
        let names = |profile: &Self| profile.tasks.iter().map(|task| task.name.clone()).collect::<Vec<_>>();
        if self.kinds != busy.kinds || names(&self) != names(busy) {
            return Err(refused("busy", "it is measured of other tasks or kinds of core: measure the same chain"));
        }
        let cores = platform.cores_for(&self)?;
        let of_kind = |(kind, &cores): (usize, &u32)| {
            let times = self.tasks.iter().zip(&busy.tasks).map(|(idle, busy)| {
                let (idle, busy) = (idle.ns[kind]?, busy.ns[kind]);
                Some(busy.map_or(idle, |busy| busy.max(idle)))
            });
            let is_alone = cores < 2 || self.lanes(kind).is_some();
            (!is_alone).then(|| Busy { cores, ns: times.collect() })
        };
        let busy: Vec<_> = cores.iter().enumerate().map(of_kind).collect();
        if busy.iter().all(Option::is_none) { Ok(self) } else { self.with_busy(busy) }
    }

    /// How long tasks take while many cores of `kind` work, where the profile tells it ([`with_busy`](Self::with_busy)).
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn busy(&self, kind: usize) -> Option<&Busy> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.busy.as_ref().and_then(|busy| busy[kind].as_ref())
    }

    /// The profile while so many cores of each kind work, in the order of the kinds: it tells these times alone, rounded up, and where
    /// they were measured says so.
    ///
    /// ```
    /// use bief_schedule::{Busy, Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["cpu"], [TaskProfile::replicable("decode", [900])])?
    ///     .with_busy([Some(Busy { cores: 4, ns: vec![Some(1050)] })])?;
    /// let ns = |busy| profile.while_busy(&[busy]).tasks()[0].ns[0].unwrap();
    /// assert_eq!([1, 2, 3, 4, 8].map(ns), [900, 950, 1000, 1050, 1050]);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// Where there is not one number per kind.
    pub fn while_busy(&self, cores: &[u32]) -> Cow<'_, Self> {
        assert_eq!(cores.len(), self.kinds.len(), "one number of cores for each kind");
        let Some(busy) = &self.busy else { return Cow::Borrowed(self) };
        let mut json = ProfileJson { busy: None, ..ProfileJson::from(self.clone()) };
        let working = self.kinds.iter().zip(cores).filter(|&(_, &cores)| cores > 0);
        let working: Vec<String> = working.map(|(kind, cores)| format!("{cores} {kind}")).collect();
        let machine = json.machine.get_or_insert_with(|| "this machine".to_owned());
        machine.push_str(&format!(" with {} at work", working.join(" and ")));
        for (kind, (busy, &cores)) in busy.iter().zip(cores).enumerate() {
            let Some(busy) = busy else { continue };
            let (others, all) = (u128::from(cores.clamp(1, busy.cores) - 1), u128::from(busy.cores - 1));
            for (task, busy_ns) in json.tasks.iter_mut().zip(&busy.ns) {
                if let (Some(ns), Some(busy_ns)) = (&mut task.ns[kind], busy_ns) {
                    *ns += (u128::from(busy_ns - *ns) * others).div_ceil(all) as u64;
                }
                if others > 0 {
                    // They are of other times.
                    task.seen.iter_mut().for_each(|seen| seen[kind] = None);
                }
            }
        }
        for task in &mut json.tasks {
            task.seen.take_if(|seen| seen.iter().zip(&task.ns).any(|(seen, ns)| seen.is_some() != ns.is_some()));
        }
        Cow::Owned(Self::checked(json).expect("times between those that were checked"))
    }
}

pub(super) fn check_busy(json: &ProfileJson, busy: &[Option<Busy>]) -> Result<(), Error> {
    check_per_kind("busy", busy, "object, or null,", &json.kinds)?;
    for (kind, busy) in busy.iter().enumerate() {
        let Some(Busy { cores, ns }) = busy else { continue };
        let key = |member: &str| format!("busy[{kind}].{member}");
        if json.lanes.as_ref().is_some_and(|lanes| lanes[kind].is_some()) {
            return Err(refused(
                &format!("busy[{kind}]"),
                "a device has no cores that work beside each other: write null",
            ));
        }
        if !(2..=Platform::MAX_CORES).contains(cores) {
            let reason = format!("{cores} cores: write how many worked, from 2 to {}", Platform::MAX_CORES);
            return Err(refused(&key("cores"), reason));
        }
        if ns.len() != json.tasks.len() {
            let reason =
                format!("{} for {}: write one for each", counted(ns.len(), "time"), counted(json.tasks.len(), "task"));
            return Err(refused(&key("ns"), reason));
        }
        for (index, (task, &busy_ns)) in json.tasks.iter().zip(ns).enumerate() {
            let idle_ns = task.ns[kind];
            if busy_ns.is_some() != idle_ns.is_some() || busy_ns < idle_ns {
                let shown = |ns: Option<u64>| ns.map_or("null".to_owned(), |ns| ns.to_string());
                let reason = format!(
                    "task `{}` has {}, and {} while the other cores rest: write a time that is no shorter, or null for both",
                    task.name,
                    shown(busy_ns),
                    shown(idle_ns)
                );
                return Err(refused(&format!("busy[{kind}].ns[{index}]"), reason));
            }
        }
        let tasks_ns = ns.iter().flatten().try_fold(0u64, |sum, &ns| sum.checked_add(ns));
        if tasks_ns.and_then(|tasks_ns| with_hand_overs(json, kind, tasks_ns)).is_none() {
            let reason = "with the hand-overs they add up to 2^64 ns or more: the times must be in nanoseconds";
            return Err(refused(&key("ns"), reason));
        }
    }
    Ok(())
}
