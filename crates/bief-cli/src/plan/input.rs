//! What is planned: the profile of a chain, and the cores to run it on.

use std::io;
use std::path::Path;

use bief_schedule::{Error, Platform, Profile};

use crate::document;
use crate::failure::Failure;
use crate::files::is_dash;
use crate::shipped::{SHIPPED, Shipped, shipped};

/// Reads the profile and finds its cores: those of `platform` or `cores`, else those of a machine that ships.
pub(super) fn load(
    profile: &Path,
    cores: Option<&str>,
    platform: Option<&Path>,
) -> Result<(Profile, Platform), Failure> {
    if is_dash(profile) && platform.is_some_and(is_dash) {
        return Err(Failure::usage(
            "standard input can be the profile or the platform, not both: name a file for one of them",
        ));
    }
    let known = named(profile);
    let profile = document(profile, |shipped| shipped.profile, Profile::from_json)?;
    let own = known.map(|shipped| Platform::from_json(shipped.platform)).transpose().map_err(Failure::from_error)?;
    let platform = match (platform, cores, own) {
        (Some(path), _, _) => document(path, |shipped| shipped.platform, Platform::from_json)?,
        (None, Some(cores), own) => {
            let counted = Platform::parse_cores(cores, &profile).map_err(Failure::from_error)?;
            match own {
                Some(own) => counted.with_power_of(&own),
                None => counted,
            }
        }
        (None, None, Some(own)) => own,
        (None, None, None) => {
            let each: Vec<String> = profile.kinds().iter().map(|kind| format!("{kind}=4")).collect();
            return Err(Failure::usage(format!("no cores: give --cores {}, or --platform FILE", each.join(","))));
        }
    };
    Ok((profile, platform))
}

/// The machine of that name that ships, unless there is a file of that name.
fn named(path: &Path) -> Option<&'static Shipped> {
    if path.exists() { None } else { shipped(path.to_str()?) }
}

/// Reads a document that is a file, standard input, or one that ships.
fn document<T>(
    path: &Path,
    part: impl Fn(&Shipped) -> &'static str,
    parse: impl Fn(&str) -> Result<T, Error>,
) -> Result<T, Failure> {
    let (name, text) = match named(path) {
        Some(shipped) => (path.display().to_string(), Ok(part(shipped).to_owned())),
        None => document::text(path),
    };
    let text = text.map_err(|error| {
        let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
        let ship = match error.kind() {
            io::ErrorKind::NotFound => format!(": name a file, or one of those that ship: {}", names.join(", ")),
            _ => String::new(),
        };
        document::unreadable(&name, format!("{error}{ship}"))
    })?;
    parse(&text).map_err(|error| Failure::usage(format!("{name}: {error}")))
}
