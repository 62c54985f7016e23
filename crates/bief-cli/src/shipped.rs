//! The profiles that the command knows by name: the DVB-S2 receiver on four machines.

/// A profile, and the machine that it was measured on.
pub struct Shipped {
    /// What `bief plan NAME` calls it.
    pub name: &'static str,
    /// The profile, a JSON document.
    pub profile: &'static str,
    /// All cores of the machine and what they draw, a JSON document.
    pub platform: &'static str,
}

macro_rules! shipped {
    ($($name:literal),*) => {
        &[$(Shipped {
            name: $name,
            profile: include_str!(concat!("../data/profiles/", $name, ".json")),
            platform: include_str!(concat!("../data/platforms/", $name, ".json")),
        }),*]
    };
}

/// All of them.
pub const SHIPPED: &[Shipped] = shipped!["orange_pi_5_plus", "mac_studio", "ai370", "x7_ti"];

/// The one of that name.
pub fn shipped(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|shipped| shipped.name == name)
}

#[cfg(test)]
mod tests {
    use bief_schedule::{Platform, Profile};
    use serde_json::Value;

    use super::*;

    const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");

    #[test]
    fn each_is_a_profile_with_the_cores_and_the_power_of_its_machine() {
        for shipped in SHIPPED {
            let profile = Profile::from_json(shipped.profile).unwrap();
            let platform = Platform::from_json(shipped.platform).unwrap();
            assert_eq!((profile.tasks().len(), profile.bits_per_frame()), (23, Some(14_232)));
            assert!(profile.machine().unwrap().contains("Table 3"));
            assert!(platform.cores_for(&profile).unwrap().iter().all(|&cores| cores > 0));
            assert!(platform.idle_watts().is_some() && platform.kinds().iter().all(|kind| kind.watts.is_some()));
        }
        assert_eq!(shipped("ai370").unwrap().name, "ai370");
        assert!(shipped("ai371").is_none());
    }

    #[test]
    fn they_are_the_published_numbers() {
        let path = format!("{DATA}/dvbs2_profiles.json");
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("skipped: {path} not found");
            return;
        };
        let published: Value = serde_json::from_str(&text).unwrap();
        for shipped in SHIPPED {
            let profile = Profile::from_json(shipped.profile).unwrap();
            let platform = Platform::from_json(shipped.platform).unwrap();
            let machine = &published["platforms"][shipped.name];
            assert_eq!(machine["frames_per_execution"], profile.frames_per_execution());
            for (kind, column) in ["B", "L"].iter().enumerate() {
                assert_eq!(machine["cores_all"][column], platform.kinds()[kind].cores);
                for (task, row) in profile.tasks().iter().zip(published["tasks"].as_array().unwrap()) {
                    let us = row["latency_us"][shipped.name][column].as_f64().unwrap();
                    assert_eq!(task.ns[kind], Some((us * 1000.0).round() as u64), "{} {}", shipped.name, task.name);
                    assert_eq!(
                        (&row["name"], &row["replicable"]),
                        (&task.name.clone().into(), &task.replicable.into())
                    );
                }
            }
        }
    }
}
