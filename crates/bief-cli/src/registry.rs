//! The kinds of tasks that chain files can name, and the openers of addresses, of all crates.

use bief::Registry;

/// A registry of all of them.
pub(crate) fn all() -> Registry {
    let mut registry = bief_radio::registry();
    bief_vision::register(&mut registry);
    bief_net::register(&mut registry);
    bief_nn::register(&mut registry);
    bief_soapy::register(&mut registry);
    registry
}
