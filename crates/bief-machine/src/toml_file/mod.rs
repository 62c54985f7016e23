//! TOML files, of which every error shows the line: what Bief's crates read machines and chains with.

mod table;
mod text;

pub use table::{At, Table, integer};
pub use text::{Span, Text};
