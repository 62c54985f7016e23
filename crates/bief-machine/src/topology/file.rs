//! A machine in a file, in any of the forms that there are.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Machine;
use crate::error::{Error, Result};
#[cfg(feature = "toml")]
use crate::toml_file::Text;

/// More than any description of a machine, in bytes.
const LONGEST: u64 = 1 << 24;

impl Machine {
    /// Reads a machine from a file: a [JSON document](Self::to_json), [XML of hwloc](Self::from_hwloc_xml), or a TOML file by which
    /// the cores of this machine [stand for others](Self::emulated). The content tells which it is.
    ///
    /// # Errors
    ///
    /// With the name of the file: where it cannot be read, is longer than 16 MiB or no text, and where its form is refused.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let refused = |reason: &dyn std::fmt::Display| Error::invalid(format!("{name}: {reason}"));
        if path.is_dir() {
            return Err(refused(&"it is a folder: name a file of JSON, XML or TOML"));
        }
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| refused(&error))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| refused(&error))?;
        if bytes.len() as u64 > LONGEST {
            return Err(refused(&"it is longer than 16 MiB: no machine has so long a description"));
        }
        let text = String::from_utf8(bytes).map_err(|_| refused(&"it is no text: name a file of JSON, XML or TOML"))?;
        let text = text.trim_start_matches('\u{feff}');
        match text.trim_start().chars().next() {
            Some('{') => Self::from_json(text).map_err(|error| refused(&error)),
            #[cfg(feature = "hwloc")]
            Some('<') => Self::from_hwloc_xml(text.trim_start()).map_err(|error| refused(&error)),
            #[cfg(not(feature = "hwloc"))]
            Some('<') => Err(refused(
                &"this program reads no XML of hwloc: build it with the feature `hwloc`, or name a file of JSON",
            )),
            #[cfg(feature = "toml")]
            _ => Self::emulated_by(Text { name, text: text.to_owned() }, &Self::here()),
            #[cfg(not(feature = "toml"))]
            _ => Err(refused(&"this program reads no TOML: build it with the feature `toml`, or name a file of JSON")),
        }
    }
}

#[cfg(all(test, not(all(feature = "hwloc", feature = "toml"))))]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_was_left_out_is_refused_by_its_feature() {
        let path = std::env::temp_dir().join(format!("bief-machine-form-{}", std::process::id()));
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Machine::read(&path).unwrap_err().to_string()
        };
        if cfg!(not(feature = "hwloc")) {
            assert!(refused("<topology/>").ends_with("feature `hwloc`, or name a file of JSON"));
        }
        if cfg!(not(feature = "toml")) {
            assert!(refused("[[kind]]").ends_with("feature `toml`, or name a file of JSON"));
        }
        std::fs::remove_file(&path).unwrap();
    }
}
