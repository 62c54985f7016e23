//! A stage: neighbouring tasks, and the cores that execute them.

use std::collections::BTreeMap;
use std::fmt;

use crate::cores::CoresByKind;
use crate::profile::Profile;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A sequence of neighbouring tasks and the cores that execute it.
///
/// Most stages have cores of one kind ([`new`](Self::new)). One whose tasks may all be replicated can have cores of several
/// ([`mixed`](Self::mixed)): each frame goes to the core that is free, so that a fast one works on more of them, and `r` cores of
/// each kind with the work `W` on it have the period 1 / Σ(r / W).
///
/// # JSON
///
/// `{"tasks": 3, "cores": 3, "kind": "big"}`, or of several kinds `{"tasks": 3, "cores": {"big": 2, "little": 1}}`.
///
/// ```
/// use bief_schedule::{Period, Profile, Schedule, Stage, TaskProfile};
///
/// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("decode", [600, 900])])?;
/// let stage = Stage::mixed(1, [("big", 2), ("little", 1)]);
/// assert_eq!(stage.to_string(), "1 on 2 big + 1 little");
/// let schedule = Schedule::new("hand", [stage], &profile)?;
/// // In 1800 ns the big cores do three frames each, the little one two.
/// assert_eq!(schedule.planned_period(), Period::from(1800 / 8));
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "StageJson", into = "StageJson")]
pub struct Stage {
    /// How many tasks it takes, at least 1: those that follow the tasks of the stage before.
    pub tasks: usize,
    /// How many cores of each kind execute it, each core on its own frames: at least 1 of a kind that is named, and 1 in all if a
    /// task may not be replicated.
    pub cores: CoresByKind,
    /// How many executions a launch has at most, on a [device](crate::Profile::with_lanes): a lane takes those that wait. 1 on cores.
    pub gather: u32,
}

impl Stage {
    /// A stage of `tasks` tasks on `cores` cores of `kind`.
    pub fn new(tasks: usize, cores: u32, kind: impl Into<String>) -> Self {
        Self { tasks, cores: CoresByKind::of_one(kind.into(), cores), gather: 1 }
    }

    /// A stage of `tasks` tasks on so many cores of each of these kinds.
    pub fn mixed<K: Into<String>>(tasks: usize, cores: impl IntoIterator<Item = (K, u32)>) -> Self {
        Self { tasks, cores: cores.into_iter().collect(), gather: 1 }
    }

    /// The same stage, on a device, with up to so many executions in a launch.
    ///
    /// ```
    /// use bief_schedule::Stage;
    ///
    /// assert_eq!(Stage::new(2, 1, "gpu").gathering(8).to_string(), "2 on 1 gpu by up to 8");
    /// ```
    pub fn gathering(self, gather: u32) -> Self {
        Self { gather, ..self }
    }

    /// How many cores execute it, of all kinds together.
    pub fn replicas(&self) -> u32 {
        self.cores.values().fold(0, |sum, &cores| sum.saturating_add(cores))
    }

    /// The kind of its cores, where they are all of one.
    pub fn kind(&self) -> Option<&str> {
        let mut kinds = self.cores.keys();
        kinds.next().filter(|_| kinds.next().is_none()).map(String::as_str)
    }

    /// Its cores as a text: `2 big + 1 little`.
    pub fn core_list(&self) -> String {
        let cores = self.cores.iter().map(|(kind, cores)| format!("{cores} {kind}"));
        cores.collect::<Vec<_>>().join(" + ")
    }
}

/// The tasks and the cores, as in `3 on 2 big + 1 little`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.tasks, self.core_list())?;
        if self.gather > 1 { write!(f, " by up to {}", self.gather) } else { Ok(()) }
    }
}

/// The keys of a stage.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StageJson {
    tasks: usize,
    cores: CoresJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    gather: u32,
}

fn one() -> u32 {
    1
}

fn is_one(gather: &u32) -> bool {
    *gather == 1
}

/// A number of cores, of the kind that is named beside it, or one for each kind.
enum CoresJson {
    OneKind(u32),
    ByKind(BTreeMap<String, u32>),
}

impl Serialize for CoresJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::OneKind(cores) => serializer.serialize_u32(*cores),
            Self::ByKind(cores) => cores.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CoresJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CoresVisitor;

        impl<'de> Visitor<'de> for CoresVisitor {
            type Value = CoresJson;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(r#"a number of cores, or one for each kind such as {"big": 2, "little": 1}"#)
            }

            fn visit_u64<E: serde::de::Error>(self, cores: u64) -> Result<Self::Value, E> {
                let unexpected = serde::de::Unexpected::Unsigned(cores);
                u32::try_from(cores).map(CoresJson::OneKind).map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut cores = BTreeMap::new();
                while let Some((kind, count)) = map.next_entry::<String, u32>()? {
                    if cores.contains_key(&kind) {
                        return Err(A::Error::custom(format!("kind `{kind}` is named twice: name it once")));
                    }
                    cores.insert(kind, count);
                }
                Ok(CoresJson::ByKind(cores))
            }
        }

        deserializer.deserialize_any(CoresVisitor)
    }
}

impl TryFrom<StageJson> for Stage {
    type Error = &'static str;

    fn try_from(StageJson { tasks, cores, kind, gather }: StageJson) -> Result<Self, Self::Error> {
        if !(1..=Profile::MAX_GATHER).contains(&gather) {
            return Err("`gather` is from 1 to 1024: how many executions a launch has");
        }
        match (cores, kind) {
            (CoresJson::OneKind(cores), Some(kind)) => Ok(Self::new(tasks, cores, kind).gathering(gather)),
            (CoresJson::ByKind(cores), None) => Ok(Self { tasks, cores: cores.into_iter().collect(), gather }),
            (CoresJson::OneKind(_), None) => Err("missing field `kind`: name the kind of the cores"),
            (CoresJson::ByKind(_), Some(_)) => Err("`kind` beside cores that are listed by kind: leave it out"),
        }
    }
}

impl From<Stage> for StageJson {
    fn from(stage: Stage) -> Self {
        let Stage { tasks, cores, gather } = stage;
        let (cores, kind) = match cores.len() {
            1 => cores
                .into_iter()
                .next()
                .map(|(kind, cores)| (CoresJson::OneKind(cores), Some(kind)))
                .expect("it has one"),
            _ => (CoresJson::ByKind(cores.into_iter().collect()), None),
        };
        Self { tasks, cores, kind, gather }
    }
}
