//! Pictures, as SVG that stands alone.

pub(crate) mod plot;
pub(crate) mod stages;
mod svg;
