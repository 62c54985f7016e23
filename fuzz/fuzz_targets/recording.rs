//! A text is refused as a SigMF description, or as many bytes can be read as the recording promises.
#![no_main]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use bief_radio::Recording;
use libfuzzer_sys::fuzz_target;

const DATA: [u8; 64] = [7; 64];

/// A folder in memory where there is one; removed at the end of a run.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = base.join(format!("bief-fuzz-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fuzz_target!(|text: &[u8]| {
    let folder = Folder::new();
    let meta = folder.0.join("x.sigmf-meta");
    fs::write(&meta, text).unwrap();
    fs::write(folder.0.join("x.sigmf-data"), DATA).unwrap();
    let Ok(recording) = Recording::open(&meta, None) else { return };
    assert!(recording.sample_rate.is_none_or(|rate| rate.is_finite() && rate > 0.0));
    let mut bytes = Vec::new();
    recording.samples.into_reader().read_to_end(&mut bytes).unwrap();
    assert_eq!(recording.bytes, Some(bytes.len() as u64));
    assert!(bytes.len() <= DATA.len().max(text.len()));
});
