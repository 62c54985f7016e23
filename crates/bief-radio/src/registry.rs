//! The kinds of tasks that chain files can name.

use bief::Registry;

use crate::{dvbs2, kinds};

/// The kinds of tasks of this crate that can be made from parameters alone, for [`bief::ChainFile`].
///
/// ```
/// use bief::{ChainFile, Parameters};
///
/// let registry = bief_radio::registry();
/// let scramble = registry.make("dvbs2.scramble_bits", Parameters::new())?;
/// assert_eq!(scramble.inputs()[0].to_string(), "in-place variable u8");
///
/// let text = r#"
/// [[task]]
/// name = "read"
/// kind = "radio.read"
/// out = ["iq"]
/// path = "data/dvbs2_qpsk_8-9_short.sigmf-meta"
/// frame = 1000
/// "#;
/// # let text = &text.replace("data/", concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/"));
/// let report = ChainFile::parse(text, "chain.toml")?.pipeline(&registry)?.run()?;
/// assert_eq!(report.frames, 700);
/// # Ok::<(), bief::Error>(())
/// ```
pub fn registry() -> Registry {
    let mut registry = Registry::new();
    for kind in kinds::kinds().into_iter().chain(dvbs2::kinds()) {
        registry.add(kind);
    }
    registry
}
