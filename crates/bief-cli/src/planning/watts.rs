//! What the cores of a machine draw, where someone knows it, and what cores like them draw elsewhere.

use std::path::Path;

use bief::Machine;
use bief::schedule::{CoreKind, Platform};

use crate::document::read;
use crate::failure::Failure;
use crate::shipped::shipped;
use crate::text::listed;

/// Machines whose watts ship, and what their processors or boards call themselves.
const KNOWN: [(&str, &str); 4] = [
    ("Orange Pi 5 Plus", "orange_pi_5_plus"),
    ("Mac Studio (M1 Ultra", "mac_studio"),
    ("AI 9 HX 370", "ai370"),
    ("Ultra 9 185H", "x7_ti"),
];

/// The cores of a machine with the watts of `file`, or of a machine that is known; and where these watts are from.
pub(super) fn watts(machine: &Machine, file: Option<&Path>) -> Result<(Platform, String), Failure> {
    let cores = machine.platform();
    if let Some(path) = file {
        let known = read(path, Platform::from_json)?;
        let cores = cores.with_power_of(&known);
        let unknown: Vec<String> = cores
            .kinds()
            .iter()
            .filter(|kind| kind.watts.is_none() && machine.device(&kind.name).is_none())
            .map(|kind| format!("`{}`", kind.name))
            .collect();
        if !unknown.is_empty() {
            return Err(Failure::usage(format!(
                "{}: it does not tell the watts of {}: write a platform with the kinds of this machine, as `bief power fit` \
                 does",
                path.display(),
                listed(&unknown)
            )));
        }
        return Ok((cores, path.display().to_string()));
    }
    let same = KNOWN.iter().find(|(model, _)| machine.model().contains(model) && !machine.is_emulated());
    let (name, origin) = match same {
        Some((_, name)) => (*name, format!("{name}, as published")),
        None => {
            let name = if cfg!(target_arch = "x86_64") { "ai370" } else { "orange_pi_5_plus" };
            (name, format!("{name}: those of this machine are unknown"))
        }
    };
    let known = shipped(name).map(|shipped| Platform::from_json(shipped.platform));
    let known = known.expect("it ships").map_err(Failure::from_error)?;
    // By position, whatever the kinds are called: from the most to the least power-hungry.
    let of_kind = |(index, kind): (usize, &CoreKind)| {
        // Of a device that is emulated nobody knows.
        if machine.device(&kind.name).is_some() {
            return kind.clone();
        }
        let known = &known.kinds()[index.min(known.kinds().len() - 1)];
        CoreKind { watts: known.watts, saturation: known.saturation, ..kind.clone() }
    };
    let borrowed = Platform::new(cores.kinds().iter().enumerate().map(of_kind).collect::<Vec<_>>());
    let idle = known.idle_watts().unwrap_or(0.0);
    Ok((borrowed.and_then(|cores| cores.with_idle_watts(idle)).map_err(Failure::from_error)?, origin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(model: &str, kinds: &str) -> Machine {
        let cores = r#"[{"threads": [0], "kind": 0, "cluster": 0, "package": 0, "node": 0}]"#;
        let json = format!(r#"{{"format": 1, "model": "{model}", "kinds": {kinds}, "cores": {cores}}}"#);
        Machine::from_json(&json).unwrap()
    }

    #[test]
    fn a_machine_that_is_known_has_its_own_watts_and_another_those_of_a_like_one() {
        let (cores, origin) = watts(&machine("AMD Ryzen AI 9 HX 370 w/ Radeon", r#"[{"name": "cpu"}]"#), None).unwrap();
        assert_eq!((cores.kinds()[0].watts, cores.idle_watts()), (Some(8.8), Some(4.016)));
        assert_eq!(origin, "ai370, as published");
        let (cores, origin) = watts(&machine("A board", r#"[{"name": "cpu"}]"#), None).unwrap();
        assert!(cores.kinds()[0].watts.is_some() && cores.idle_watts().is_some());
        assert!(origin.contains("those of this machine are unknown"), "{origin}");
    }
}
