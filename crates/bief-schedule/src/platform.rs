//! What a chain can run on: kinds of cores, how many there are of each, and what they draw.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::json::{self, Document, Format, Object};
use crate::profile::{Profile, check_kind_name};
use crate::smt::{self, Smt};

const DOCUMENT: Document = Document {
    name: "platform",
    shape: r#"{"format": 1, "kinds": [{"name": "big", "cores": 4}, {"name": "little", "cores": 8}]}; "watts", "saturation", "clocks" and "smt" of a kind and "idle_watts" may be left out"#,
};

/// More than any machine draws.
const MAX_WATTS: f64 = 1e9;

/// More cores than are ever busy.
const MAX_SATURATION: f64 = 1e9;

/// Slower than any clock makes a core.
const MAX_SLOWDOWN: f64 = 1e6;

/// The cores of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreKind {
    /// The kind's name, as the profile names it.
    pub name: String,
    /// How many cores of the kind may be used, from 0 to [`Platform::MAX_CORES`].
    pub cores: u32,
    /// What one busy core of the kind draws above idle, in watts, where it is known: each of them, or with
    /// [`saturation`](Self::saturation) the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// The number of busy cores at which the kind draws 1 - 1/e (63 %) of the most that it ever draws, where its power does
    /// not grow in proportion: a processor at its power limit lowers the clock instead. Not without `watts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<f64>,
    /// Other clocks that the kind's cores can have, all of them together, than the one that times and `watts` are of. Not
    /// without `watts`, nor with `saturation`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "json::objects")]
    pub clocks: Vec<Clock>,
    /// Whose cores these share, where they are hardware threads (SMT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt: Option<Smt>,
}

/// A clock that cores of a kind can have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The frequency in megahertz, which names it.
    pub mhz: u32,
    /// How many times as long tasks take as a profile tells; above 0. Tasks that wait for memory slow down less than the clock.
    pub slowdown: f64,
    /// What one busy core draws above idle, in watts.
    pub watts: f64,
}

impl CoreKind {
    /// `cores` cores of the kind `name`, of unknown power.
    pub fn new(name: impl Into<String>, cores: u32) -> Self {
        Self { name: name.into(), cores, watts: None, saturation: None, clocks: Vec::new(), smt: None }
    }

    /// The power of the kind above idle with this many busy cores, in watts, if known.
    ///
    /// That is `watts` × `busy`, or, with a [`saturation`](Self::saturation),
    /// `watts` × `saturation` × (1 - exp(-`busy` / `saturation`)): as much for the first bit of work, then less and less.
    ///
    /// ```
    /// use bief_schedule::CoreKind;
    ///
    /// let even = CoreKind { watts: Some(10.0), ..CoreKind::new("big", 6) };
    /// assert_eq!(even.power(3.0), Some(30.0));
    /// let limited = CoreKind { saturation: Some(2.0), ..even };
    /// assert!((limited.power(0.001).unwrap() - 0.01).abs() < 1e-5);
    /// assert!((limited.power(2.0).unwrap() - 20.0 * (1.0 - 1.0 / std::f64::consts::E)).abs() < 1e-12);
    /// assert!(limited.power(6.0).unwrap() < 20.0);
    /// ```
    pub fn power(&self, busy: f64) -> Option<f64> {
        let watts = self.watts?;
        Some(match self.saturation {
            None => watts * busy,
            Some(saturation) => watts * saturation * -(-busy / saturation).exp_m1(),
        })
    }
}

/// The cores that a chain may use, by kind, from the most to the least power-hungry.
///
/// A platform has at least one core. A kind that a platform does not name has no cores.
///
/// # JSON
///
/// ```json
/// {
///   "format": 1,
///   "kinds": [
///     {"name": "big", "cores": 4, "watts": 8.8},
///     {"name": "little", "cores": 8, "watts": 5.3}
///   ],
///   "idle_watts": 4.0
/// }
/// ```
///
/// Keys that may be left out: `watts` (what one busy core draws above idle, in watts), `saturation` (a number of busy
/// cores, where the kind's power does not grow in proportion, as in
/// `{"name": "big", "cores": 6, "watts": 36.6, "saturation": 1.4}`: see [`CoreKind::power`]), `clocks` (others that the kind can have, as in
/// `"clocks": [{"mhz": 1200, "slowdown": 1.7, "watts": 2.9}]`: see [`ClockPlan`](crate::ClockPlan)), `smt` (of a kind that are the
/// hardware threads of another kind's cores, as in `{"name": "thread", "cores": 8, "smt": {"of": "big", "threads": 2}}`: see [`Smt`]) and `idle_watts` (what the
/// machine draws when all cores are idle). [`PowerFit`](crate::PowerFit) finds them from measurements. A key that is not
/// named here is refused, as is another `format`.
///
/// # Example
///
/// ```
/// use bief_schedule::{CoreKind, Platform};
///
/// let platform = Platform::new([CoreKind::new("big", 4), CoreKind::new("little", 8)])?;
/// assert_eq!(Platform::from_json(&platform.to_json())?, platform);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Object<PlatformJson>", into = "PlatformJson")]
pub struct Platform {
    kinds: Vec<CoreKind>,
    idle_watts: Option<f64>,
}

/// The keys of the JSON document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformJson {
    format: Format,
    #[serde(deserialize_with = "json::objects")]
    kinds: Vec<CoreKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    idle_watts: Option<f64>,
}

impl Platform {
    /// The most cores that a platform may have of one kind: more than any machine that shares its memory.
    pub const MAX_CORES: u32 = 16_000;

    /// A platform with these cores, whose idle power is unknown.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where there is no kind or no core, a kind has an unusable name, a name
    /// given before or more than [`MAX_CORES`](Self::MAX_CORES) cores, a power is negative or not finite, or a saturation
    /// is not above 0 or has no power beside it, or hardware threads are of cores that are not there.
    pub fn new(kinds: impl IntoIterator<Item = CoreKind>) -> Result<Self, Error> {
        Self::checked(PlatformJson { format: Format, kinds: kinds.into_iter().collect(), idle_watts: None })
    }

    /// The same platform, which draws `watts` watts when all its cores are idle.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where `watts` is negative or not finite.
    pub fn with_idle_watts(self, watts: f64) -> Result<Self, Error> {
        Self::checked(PlatformJson { idle_watts: Some(watts), ..self.into() })
    }

    /// The same cores, with what `known` says about power: of kinds that both name, and of the idle machine. Kinds of which only `known`
    /// says that they are [hardware threads](Smt) of others are so here, too.
    ///
    /// ```
    /// use bief_schedule::{CoreKind, Platform};
    ///
    /// let known = Platform::new([CoreKind { watts: Some(8.8), ..CoreKind::new("big", 4) }])?.with_idle_watts(4.0)?;
    /// let half = Platform::new([CoreKind::new("big", 2)])?.with_power_of(&known);
    /// assert_eq!((half.cores("big"), half.kinds()[0].watts, half.idle_watts()), (2, Some(8.8), Some(4.0)));
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn with_power_of(mut self, known: &Self) -> Self {
        for kind in &mut self.kinds {
            let known = known.kind(&kind.name);
            kind.watts = known.and_then(|known| known.watts);
            kind.saturation = known.and_then(|known| known.saturation);
            kind.clocks = known.map_or_else(Vec::new, |known| known.clocks.clone());
            kind.smt = kind.smt.take().or_else(|| known.and_then(|known| known.smt.clone()));
        }
        self.idle_watts = known.idle_watts;
        self
    }

    /// The same cores, none of which works on its [hardware threads](Smt).
    ///
    /// ```
    /// use bief_schedule::{CoreKind, Platform, Smt};
    ///
    /// let thread = CoreKind { smt: Some(Smt { of: "cpu".into(), threads: 2 }), ..CoreKind::new("thread", 8) };
    /// let whole = Platform::new([CoreKind::new("cpu", 4)])?;
    /// assert_eq!(Platform::new([CoreKind::new("cpu", 4), thread])?.whole(), whole);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn whole(mut self) -> Self {
        self.kinds.retain(|kind| kind.smt.is_none());
        self
    }

    /// The same platform with other kinds of cores.
    pub(crate) fn with_kinds(&self, kinds: Vec<CoreKind>) -> Result<Self, Error> {
        Self::checked(PlatformJson { format: Format, kinds, idle_watts: self.idle_watts })
    }

    /// The same machine, of which only the cores of these kinds may be used.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where no core is left.
    ///
    /// ```
    /// use bief_schedule::{CoreKind, Platform};
    ///
    /// let platform = Platform::new([CoreKind::new("big", 4), CoreKind::new("little", 8)])?;
    /// assert_eq!(platform.only(&["little"])?, Platform::new([CoreKind::new("little", 8)])?);
    /// assert!(platform.only(&["tiny"]).is_err());
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn only(&self, kinds: &[&str]) -> Result<Self, Error> {
        self.with_kinds(self.kinds.iter().filter(|kind| kinds.contains(&kind.name.as_str())).cloned().collect())
    }

    /// Reads cores as a command line names them: `4` for a profile with one kind of core, else
    /// `big=4,little=8`. The kinds of the result are those of the profile, in its order; one that `spec`
    /// does not name has no cores.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where `spec` is neither, names no core, too many, a kind twice, a kind that
    /// the profile does not have, or no kind although the profile has several.
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::{Platform, Profile, TaskProfile};
    ///
    /// let profile = Profile::new(["big", "little"], [TaskProfile::replicable("fir", [10, 25])])?;
    /// let platform = Platform::parse_cores("little=8", &profile)?;
    /// assert_eq!(platform.cores_for(&profile)?, [0, 8]);
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn parse_cores(spec: &str, profile: &Profile) -> Result<Self, Error> {
        Self::parse(spec, profile.kinds(), "profile")
    }

    /// As [`parse_cores`](Self::parse_cores), for the kinds of this platform: it tells what is wrong with `spec` before there is a
    /// profile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] as there.
    ///
    /// # Example
    ///
    /// ```
    /// use bief_schedule::{CoreKind, Platform};
    ///
    /// let machine = Platform::new([CoreKind::new("big", 4), CoreKind::new("little", 4)])?;
    /// assert_eq!(machine.parse_part("big=2")?.cores("little"), 0);
    /// assert!(machine.parse_part("tiny=2").is_err());
    /// # Ok::<(), bief_schedule::Error>(())
    /// ```
    pub fn parse_part(&self, spec: &str) -> Result<Self, Error> {
        let kinds: Vec<String> = self.kinds.iter().map(|kind| kind.name.clone()).collect();
        Self::parse(spec, &kinds, "machine")
    }

    /// Reads cores of these kinds, which are those of a profile or a machine.
    fn parse(spec: &str, names: &[String], whose: &str) -> Result<Self, Error> {
        let refused = |reason: String| Error::new(ErrorKind::Platform, format!("cores `{spec}`"), reason);
        let example = |cores: &str| {
            let each: Vec<_> = names.iter().map(|kind| format!("{kind}={cores}")).collect();
            each.join(",")
        };
        let count = |text: &str| -> Result<u32, Error> {
            text.trim().parse().map_err(|_| {
                refused(format!(
                    "`{}` is no number of cores: write an integer, for example `{}`",
                    text.trim(),
                    if spec.contains('=') { example("4") } else { "4".to_owned() }
                ))
            })
        };

        let mut cores: Vec<Option<u32>> = vec![None; names.len()];
        if !spec.contains('=') && !spec.contains(',') {
            let n = count(spec)?;
            let [only] = &mut cores[..] else {
                return Err(refused(format!(
                    "the {whose} has {} kinds of cores ({}): write for example `{}`",
                    names.len(),
                    names.join(", "),
                    example(&n.to_string())
                )));
            };
            *only = Some(n);
        } else {
            for part in spec.split(',') {
                let Some((name, n)) = part.split_once('=') else {
                    return Err(refused(format!(
                        "`{}` is not KIND=N: write for example `{}`",
                        part.trim(),
                        example("4")
                    )));
                };
                let name = name.trim();
                let Some(kind) = names.iter().position(|kind| kind == name) else {
                    return Err(refused(format!(
                        "the {whose} has no kind `{name}`, only {}: write for example `{}`",
                        names.join(", "),
                        example("4")
                    )));
                };
                if cores[kind].replace(count(n)?).is_some() {
                    return Err(refused(format!("`{name}` is named twice: name each kind once")));
                }
            }
        }
        let kinds = names.iter().zip(cores);
        Self::new(kinds.map(|(name, cores)| CoreKind::new(name, cores.unwrap_or(0))))
            .map_err(|error| refused(error.reason().to_owned()))
    }

    /// Reads the JSON document described at [`Platform`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Json`] with line and column where the text is not such a document;
    /// [`ErrorKind::Platform`] with the key where its contents are refused.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::checked(json::read(text, &DOCUMENT)?)
    }

    /// Writes the JSON document described at [`Platform`], one kind per line.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    fn checked(json: PlatformJson) -> Result<Self, Error> {
        let mut seen = HashSet::new();
        for (index, kind) in json.kinds.iter().enumerate() {
            let key = format!("kinds[{index}]");
            check_kind_name(&kind.name).map_err(|reason| refused(&format!("{key}.name"), reason))?;
            if !seen.insert(&kind.name) {
                let reason = format!("`{}` is named twice: name each kind once", kind.name);
                return Err(refused(&format!("{key}.name"), reason));
            }
            if kind.cores > Self::MAX_CORES {
                let reason =
                    format!("{} cores of kind `{}`: at most {} are possible", kind.cores, kind.name, Self::MAX_CORES);
                return Err(refused(&format!("{key}.cores"), reason));
            }
            check_watts(&format!("{key}.watts"), kind.watts)?;
            check_saturation(&format!("{key}.saturation"), kind)?;
            check_clocks(&format!("{key}.clocks"), kind)?;
        }
        smt::check(&json.kinds)?;
        check_watts("idle_watts", json.idle_watts)?;
        if json.kinds.iter().all(|kind| kind.cores == 0) {
            return Err(refused("kinds", "no core at all: give at least one kind a core"));
        }
        Ok(Self { kinds: json.kinds, idle_watts: json.idle_watts })
    }

    /// The kinds of cores.
    pub fn kinds(&self) -> &[CoreKind] {
        &self.kinds
    }

    /// What the machine draws when all cores are idle, in watts, where it is known.
    pub fn idle_watts(&self) -> Option<f64> {
        self.idle_watts
    }

    /// The kind `name`, where the platform names it.
    pub fn kind(&self, name: &str) -> Option<&CoreKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// How many cores there are of the kind `name`: 0 where the platform does not name it.
    pub fn cores(&self, name: &str) -> u32 {
        self.kind(name).map_or(0, |kind| kind.cores)
    }

    /// What one busy core of the kind `name` draws above idle, in watts, where it is known; the first of them, where the kind
    /// has a [saturation](CoreKind::saturation).
    pub fn watts(&self, name: &str) -> Option<f64> {
        self.kind(name)?.watts
    }

    /// The number of cores of each kind of the profile, in the profile's order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Platform`] where the platform has cores of a kind that the profile does not have.
    pub fn cores_for(&self, profile: &Profile) -> Result<Vec<u32>, Error> {
        for (index, kind) in self.kinds.iter().enumerate() {
            if kind.cores > 0 && profile.kind(&kind.name).is_none() {
                let reason = format!(
                    "the profile has no times for cores of kind `{}`, only for {}: \
                     profile the chain on them, or give the kind 0 cores",
                    kind.name,
                    profile.kind_list()
                );
                return Err(refused(&format!("kinds[{index}]"), reason));
            }
        }
        Ok(profile.kinds().iter().map(|name| self.cores(name)).collect())
    }
}

impl TryFrom<Object<PlatformJson>> for Platform {
    type Error = Error;

    fn try_from(json: Object<PlatformJson>) -> Result<Self, Error> {
        Self::checked(json.0)
    }
}

impl From<Platform> for PlatformJson {
    fn from(platform: Platform) -> Self {
        Self { format: Format, kinds: platform.kinds, idle_watts: platform.idle_watts }
    }
}

pub(crate) fn refused(key: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Platform, format!("platform, {key}"), reason)
}

fn check_watts(key: &str, watts: Option<f64>) -> Result<(), Error> {
    match watts {
        Some(watts) if !(0.0..=MAX_WATTS).contains(&watts) => {
            Err(refused(key, format!("{watts} W: write a power from 0 W to {MAX_WATTS} W, or leave the key out")))
        }
        _ => Ok(()),
    }
}

fn check_saturation(key: &str, kind: &CoreKind) -> Result<(), Error> {
    let Some(saturation) = kind.saturation else { return Ok(()) };
    if !(saturation > 0.0 && saturation <= MAX_SATURATION) {
        let reason =
            format!("{saturation} busy cores: write a number above 0, at most {MAX_SATURATION}, or leave the key out");
        return Err(refused(key, reason));
    }
    if kind.watts.is_none() {
        return Err(refused(
            key,
            "the kind has no \"watts\" that could saturate: write them, too, or leave the key out",
        ));
    }
    Ok(())
}

fn check_clocks(key: &str, kind: &CoreKind) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for (index, clock) in kind.clocks.iter().enumerate() {
        let key = format!("{key}[{index}]");
        if clock.mhz == 0 || !seen.insert(clock.mhz) {
            let reason = format!("{} MHz: write a frequency above 0, each once", clock.mhz);
            return Err(refused(&format!("{key}.mhz"), reason));
        }
        if !(clock.slowdown > 0.0 && clock.slowdown <= MAX_SLOWDOWN) {
            let reason = format!("a slowdown of {}: write a number above 0, at most {MAX_SLOWDOWN}", clock.slowdown);
            return Err(refused(&format!("{key}.slowdown"), reason));
        }
        check_watts(&format!("{key}.watts"), Some(clock.watts))?;
    }
    if kind.clocks.is_empty() || kind.watts.is_some() && kind.saturation.is_none() {
        return Ok(());
    }
    let reason = "power at other clocks needs \"watts\" that do not saturate: write \"watts\", and no \"saturation\"";
    Err(refused(key, reason))
}
