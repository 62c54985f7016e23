//! Where results go.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bief::Error;
use serde_json::json;

use super::npy;
use super::tally::best;
use crate::files::{Files, is_dash};

/// A file of results.
pub(super) struct Output {
    path: PathBuf,
    form: Form,
    /// One more than the largest number of a frame.
    frames: AtomicU64,
}

/// How results are written.
enum Form {
    /// Numbers, each frame at its place; of an array with the shape of a frame.
    Numbers { file: File, shape: Option<Vec<usize>> },
    /// Lines in order, with so many of the largest values and what they are called.
    Lines { out: Mutex<Box<dyn Write + Send>>, top: usize, labels: Vec<String> },
}

impl Output {
    /// Begins a file, by its ending: `.npy`, `.jsonl`, or raw numbers.
    pub(super) fn create(
        files: &Files,
        path: &Path,
        shape: &[usize],
        top: usize,
        labels: Vec<String>,
    ) -> bief::Result<Self> {
        let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
        let lines = |out: Box<dyn Write + Send>| Form::Lines { out: Mutex::new(out), top, labels };
        let form = match is_dash(path) {
            true => lines(Box::new(io::stdout())),
            false => {
                let file = files.create(path).map_err(Error::from_source)?;
                match () {
                    () if ends("jsonl") => lines(Box::new(BufWriter::new(file))),
                    () => {
                        let shape = ends("npy").then(|| shape.strip_prefix(&[1]).unwrap_or(shape).to_vec());
                        Form::Numbers { file, shape }
                    }
                }
            }
        };
        Ok(Self { path: path.to_owned(), form, frames: AtomicU64::new(0) })
    }

    /// Whether results must come in order.
    pub(super) fn is_in_order(&self) -> bool {
        matches!(self.form, Form::Lines { .. })
    }

    fn told(&self, error: &io::Error) -> Error {
        match is_dash(&self.path) {
            true => Error::new(format!("standard output: {error}")),
            false => Error::new(format!("{}: {error}", self.path.display())),
        }
    }

    /// Writes the result of a frame.
    pub(super) fn write(&self, number: u64, values: &[f32]) -> bief::Result<()> {
        self.frames.fetch_max(number + 1, Ordering::Relaxed);
        let written = match &self.form {
            Form::Numbers { file, shape } => BYTES.with_borrow_mut(|bytes| {
                bytes.clear();
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                let before = if shape.is_some() { npy::WRITTEN as u64 } else { 0 };
                file.write_all_at(bytes, before + number * bytes.len() as u64)
            }),
            Form::Lines { out, top, labels } => {
                let best: Vec<_> = best(values, *top)
                    .into_iter()
                    .map(|class| json!({ "class": class, "label": labels.get(class), "value": values[class] }))
                    .collect();
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                writeln!(out, "{}", json!({ "frame": number, "top": best }))
            }
        };
        written.map_err(|error| self.told(&error))
    }

    /// Ends the file.
    pub(super) fn finish(&self) -> bief::Result<()> {
        let written = match &self.form {
            Form::Numbers { shape: None, .. } => Ok(()),
            Form::Numbers { file, shape: Some(shape) } => {
                let shape = [&[self.frames.load(Ordering::Relaxed) as usize], &shape[..]].concat();
                file.write_all_at(&npy::header(&shape), 0)
            }
            Form::Lines { out, .. } => out.lock().unwrap_or_else(PoisonError::into_inner).flush(),
        };
        written.map_err(|error| self.told(&error))
    }
}

thread_local! {
    /// The bytes of a result.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
