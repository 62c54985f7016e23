//! Where results go.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bief::Error;
use serde_json::json;

use super::npy;
use super::tally::best;
use crate::files::is_dash;

/// How results are written.
enum Form {
    Raw,
    /// With so many of the largest values.
    Lines(usize),
    Array(Vec<usize>),
}

/// A file of results.
pub(super) struct Output {
    path: PathBuf,
    out: Out,
    form: Form,
    frames: u64,
    labels: Vec<String>,
}

enum Out {
    File(BufWriter<File>),
    Standard(io::Stdout),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Standard(out) => out.flush(),
        }
    }
}

impl Output {
    /// Begins a file, by its ending: `.npy`, `.jsonl`, or raw numbers.
    pub(super) fn create(path: &Path, shape: &[usize], top: usize, labels: Vec<String>) -> bief::Result<Self> {
        let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
        let form = match () {
            () if ends("npy") => Form::Array(shape.strip_prefix(&[1]).unwrap_or(shape).to_vec()),
            () if ends("jsonl") || is_dash(path) => Form::Lines(top),
            () => Form::Raw,
        };
        let out = match is_dash(path) {
            true => Ok(Out::Standard(io::stdout())),
            false => File::create(path).map(BufWriter::new).map(Out::File),
        };
        let out = out.map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        let mut output = Self { path: path.to_owned(), out, form, frames: 0, labels };
        output.begin().map_err(|error| output.told(&error))?;
        Ok(output)
    }

    fn told(&self, error: &io::Error) -> Error {
        Error::new(format!("{}: {error}", self.path.display()))
    }

    /// What stands before the frames, with their number.
    fn begin(&mut self) -> io::Result<()> {
        if let (Form::Array(shape), Out::File(file)) = (&self.form, &mut self.out) {
            let shape = [&[self.frames as usize], &shape[..]].concat();
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&npy::header(&shape))?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, values: &[f32]) -> bief::Result<()> {
        let written = match self.form {
            Form::Lines(top) => {
                let best: Vec<_> = best(values, top)
                    .into_iter()
                    .map(|class| json!({ "class": class, "label": self.labels.get(class), "value": values[class] }))
                    .collect();
                writeln!(self.out, "{}", json!({ "frame": self.frames, "top": best }))
            }
            Form::Raw | Form::Array(_) => values.iter().try_for_each(|value| self.out.write_all(&value.to_le_bytes())),
        };
        self.frames += 1;
        written.map_err(|error| self.told(&error))
    }

    /// Ends the file.
    pub(super) fn finish(&mut self) -> bief::Result<()> {
        self.begin().and_then(|()| self.out.flush()).map_err(|error| self.told(&error))
    }
}
