//! `--json [FILE]`, the same in every command: to a file, or to standard output.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, say};
use crate::files::{Files, is_dash, put};
use crate::text::plain;

/// Where the machine-readable result goes.
#[derive(Args)]
pub struct JsonArgs {
    /// Write the result as JSON to FILE, or to standard output instead of the table
    #[arg(long = "json", value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    target: Option<PathBuf>,
}

impl JsonArgs {
    /// Whether the result goes to standard output as JSON, so that no table may.
    pub fn on_stdout(&self) -> bool {
        self.target.as_deref().is_some_and(is_dash)
    }

    /// The file that is written, if it is one.
    pub fn file(&self) -> Option<&Path> {
        self.target.as_deref().filter(|_| !self.on_stdout())
    }

    /// Notes the file that is written, if it is one.
    pub fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.file().map_or(Ok(()), |path| files.write(path, "--json"))
    }

    /// The FILE of `--json FILE` where it is what a command reads: where no input is named, it is the input that was typed after
    /// `--json`, and JSON goes to standard output. A name that ends in `.json` is always FILE.
    pub fn misplaced_input(&mut self, is_input: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
        let path = self.file().filter(|path| path.extension().is_none_or(|extension| extension != "json"))?;
        if is_input(path) { self.target.replace("-".into()) } else { None }
    }

    /// Writes `text`, which ends without a line break, where it was asked for; nothing if it was not.
    pub fn write(&self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match &self.target {
            None => Ok(()),
            Some(_) if self.on_stdout() => print(&text()),
            Some(path) => put(path, &(text() + "\n")).map_err(cannot),
        }
    }

    /// As [`write`](Self::write), of a run that goes on: its file is the last of the run's to get its name.
    pub(crate) fn write_last(&self, text: impl FnOnce() -> String, files: &Files) -> Result<(), Failure> {
        match self.file() {
            None => self.write(text),
            Some(path) => {
                files.create(path).and_then(|mut file| file.write_all((text() + "\n").as_bytes())).map_err(cannot)
            }
        }
    }

    /// Writes what a run found: `to_machine` where that was asked for, and `to_person` to standard output or, where that takes
    /// what the run delivers, to standard error. Two things do not fit on standard output: with JSON there, no table comes.
    pub(crate) fn deliver(
        &self,
        files: &Files,
        to_machine: impl FnOnce() -> String,
        to_person: impl FnOnce() -> String,
        is_stdout_taken: bool,
    ) -> Result<(), Failure> {
        self.write_last(to_machine, files)?;
        if is_stdout_taken {
            say(to_person());
        } else if !self.on_stdout() {
            print(&to_person())?;
        }
        Ok(())
    }
}

fn cannot(error: std::io::Error) -> Failure {
    Failure::new(format!("cannot write JSON: {error}"))
}

/// Prints text and a line break to standard output, without what would move the cursor. A reader that went away, as `head` does, has what it wanted: that is no
/// failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", plain(text)).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!("standard output: {error}"))),
        _ => Ok(()),
    }
}
