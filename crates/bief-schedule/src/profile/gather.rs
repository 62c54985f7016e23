//! Launches of a device that several executions share.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Profile;
use super::document::ProfileJson;
use crate::error::Error;

/// How many executions a launch of a device may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gather {
    /// The most executions of one launch, from 1 to [`Profile::MAX_GATHER`].
    pub most: u32,
    /// The executions of the launches of which tasks tell the [time](super::TaskProfile::gathered_ns), from 1 to `most`; where it is 1, they tell
    /// none.
    pub measured: u32,
}

impl Gather {
    /// The share of one execution in a launch of so many of a task that takes `ns` alone, in whole nanoseconds, rounded up. At most the
    /// longer of both times.
    fn share_ns(self, ns: u64, gathered_ns: u64, executions: u32) -> u64 {
        // A launch of more takes no less.
        let more = u128::from(gathered_ns.saturating_sub(ns)) * u128::from(executions - 1);
        let launch_ns = u128::from(ns) + more.div_ceil(u128::from(self.measured - 1));
        u64::try_from(launch_ns.div_ceil(executions.into())).unwrap_or(u64::MAX)
    }
}

impl Profile {
    /// The same profile, of whose devices those with a [`Gather`] can be launched for several executions at a time: a launch takes them
    /// less time than each of them alone, as tasks tell by their [`gathered_ns`](super::TaskProfile::gathered_ns). Between one execution and as
    /// many as were measured, and beyond, the time of a launch grows by the same for each.
    ///
    /// ```
    /// use bief_schedule::{Gather, Period, Platform, Profile, Strategy, TaskProfile, strategy::Exact};
    ///
    /// let tasks = [
    ///     TaskProfile::sequential("read", [30, 0]).not_on(1),
    ///     TaskProfile::replicable("decode", [900, 100]),
    /// ];
    /// let profile = Profile::new(["cpu", "gpu"], tasks.clone())?.with_lanes([None, Some(3)])?;
    /// let profile = profile.with_gather([None, Some(Gather { most: 16, measured: 11 })])?;
    /// let [read, decode] = tasks;
    /// let profile = profile.with_tasks([read, decode.with_gathered_ns([None, Some(300)])])?;
    /// let schedule = Exact.schedule(&profile, &Platform::parse_cores("cpu=1,gpu=1", &profile)?)?;
    /// // Each execution more takes 20: a launch of eight 100 + 7 * 20. Sixteen would wait for each other for nothing: reading takes 30.
    /// assert_eq!((schedule.planned_period(), schedule.stages()[1].gather), (Period::from(30), 8));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Profile`](crate::ErrorKind::Profile) where there is not one value per kind, a launch has no execution or more than
    /// [`MAX_GATHER`](Self::MAX_GATHER), or more were measured than it may have.
    pub fn with_gather(self, gather: impl Into<Vec<Option<Gather>>>) -> Result<Self, Error> {
        Self::checked(ProfileJson { gather: Some(gather.into()), ..self.into() })
    }

    /// How many executions a launch of a device of `kind` may have, where it may have several.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn gather(&self, kind: usize) -> Option<Gather> {
        assert!(kind < self.kinds.len(), "the profile has no kind {kind}");
        self.gather.as_ref().and_then(|gather| gather[kind])
    }

    /// The same profile where launches of `kind` have so many executions: times are those of one of them, with its part of the launch's one
    /// hand-over.
    ///
    /// # Panics
    ///
    /// Where `kind` is no position among the kinds.
    pub fn gathering(&self, kind: usize, executions: u32) -> Cow<'_, Self> {
        let Some(gather) = self.gather(kind).filter(|_| executions > 1) else { return Cow::Borrowed(self) };
        let mut json = ProfileJson::from(self.clone());
        for task in &mut json.tasks {
            let gathered_ns = task.gathered_ns.as_mut().and_then(|ns| ns[kind].take());
            if let (Some(ns), Some(gathered_ns)) = (&mut task.ns[kind], gathered_ns) {
                *ns = gather.share_ns(*ns, gathered_ns, executions);
            }
        }
        if let Some(sync_ns) = &mut json.sync_ns {
            sync_ns[kind] = sync_ns[kind].div_ceil(executions.into());
        }
        if let Some(gather) = &mut json.gather {
            gather[kind] = None;
        }
        Cow::Owned(Self::checked(json).expect("times of the same kinds, none above the longest that were checked"))
    }
}
