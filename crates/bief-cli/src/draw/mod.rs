//! Pictures, as SVG that stands alone.

pub(crate) mod constellation;
pub(crate) mod graph;
pub mod plot;
pub(crate) mod stages;
pub(crate) mod svg;

use std::path::Path;

use crate::failure::Failure;
use crate::files::{is_dash, put};
use crate::json::print;

/// Writes a picture, which ends without a line break, to a file, or to standard output for `-`.
pub fn write(path: &Path, picture: &str) -> Result<(), Failure> {
    if is_dash(path) {
        return print(picture);
    }
    put(path, &format!("{picture}\n")).map_err(|error| Failure::new(format!("cannot write SVG: {error}")))
}
