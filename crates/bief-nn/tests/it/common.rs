//! The networks of the tests.

use std::path::{Path, PathBuf};

use bief_nn::{Engine, EngineKind, NeuralNetwork};

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

/// The engines that are here; what is not is said aloud.
pub(crate) fn engines() -> Vec<Engine> {
    let open = |&kind: &EngineKind| Engine::open(kind, None).inspect_err(|none| eprintln!("skipped: {none}")).ok();
    EngineKind::ALL.iter().filter_map(open).collect()
}

/// Raw numbers of a file.
pub(crate) fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).unwrap();
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// The numbers of the classes, the likeliest first.
pub(crate) fn classes(values: &[f32]) -> Vec<usize> {
    let mut classes: Vec<usize> = (0..values.len()).collect();
    classes.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    classes
}
