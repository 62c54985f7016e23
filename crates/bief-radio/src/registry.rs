//! The kinds of tasks that chain files can name.

use bief::Registry;

use crate::{dvbs2, ip, kinds};

/// Adds the kinds of tasks of this crate, for [`bief::ChainFile`] and [`Registry::make`].
///
/// ```
/// let mut registry = bief::Registry::new();
/// bief_radio::register(&mut registry);
/// assert!(registry.kind("radio.read").is_ok());
/// ```
pub fn register(registry: &mut Registry) {
    for kind in kinds::kinds().into_iter().chain(dvbs2::kinds()).chain(ip::kinds()) {
        registry.add(kind);
    }
    registry.open(ip::TunOpener::SCHEME, ip::TunOpener);
}

/// A registry of the kinds of tasks of this crate.
///
/// ```
/// use bief::ChainFile;
///
/// let registry = bief_radio::registry();
/// assert_eq!(registry.kind("dvbs2.scramble_bits")?.inputs()[0].to_string(), "in-place variable u8");
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
    register(&mut registry);
    registry
}
