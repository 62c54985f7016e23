//! The networks of the tests.

use std::path::PathBuf;

use bief_nn::NeuralNetwork;

/// Reads a network that is in the repository.
pub(crate) fn own(name: &str) -> NeuralNetwork {
    NeuralNetwork::open(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data").join(name)).unwrap()
}

/// The shared networks, with what they give; `None`, and said aloud, where they are not there.
pub(crate) fn models() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} not found", folder.display());
    None
}
