//! Where `bief rx` writes input streams.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use bief_dsp::dvbs2::{StreamId, StreamType};

use super::RxArgs;
use super::input::SAMPLE_NAME;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::beside;

/// The files that streams go to, each made when its stream is found.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    /// The file of a single stream.
    path: PathBuf,
    /// Whether someone named it, and chose the stream that goes there.
    named: bool,
    chosen: bool,
    /// Standard output has its stream.
    taken: bool,
    /// What streams must not replace.
    files: Files,
}

impl Outputs {
    /// What was asked for, or else a file beside the input; in the current folder for the recording that is built in.
    pub(super) fn new(args: &RxArgs, files: Files) -> Result<Self, Failure> {
        let path = match (&args.output, &args.signal.recording.input) {
            (Some(output), _) => output.clone(),
            (None, None) => PathBuf::from(SAMPLE_NAME).with_extension("ts"),
            (None, Some(input)) if is_dash(input) => {
                return Err(Failure::new("standard input has no name: give -o OUT.ts, or -o - for standard output"));
            }
            (None, Some(input)) => beside(input, "ts"),
        };
        // Tried before anything is received; streams take their files when they are found.
        files.clone().write(&path, "the received stream")?;
        Ok(Self { path, named: args.output.is_some(), chosen: args.signal.isi.is_some(), taken: false, files })
    }

    pub(super) fn is_stdout(&self) -> bool {
        is_dash(&self.path)
    }

    /// The file of a stream: of several, each has its ISI in its name.
    pub(super) fn path(&self, id: StreamId) -> PathBuf {
        let path = match id.kind {
            StreamType::Transport => self.path.clone(),
            _ if self.named => self.path.clone(),
            _ => self.path.with_extension("bin"),
        };
        match id.isi {
            Some(isi) if !self.chosen && !self.is_stdout() => {
                let extension = path.extension().map_or_else(String::new, |extension| extension.display().to_string());
                path.with_extension(format!("isi{isi}.{extension}").trim_end_matches('.'))
            }
            _ => path,
        }
    }

    /// Makes the file of a stream that was found.
    pub(super) fn open(&mut self, id: StreamId) -> io::Result<Box<dyn Write + Send>> {
        if self.is_stdout() {
            if std::mem::replace(&mut self.taken, true) {
                return Err(io::Error::other(format!(
                    "the carrier has a second stream, a {id}: choose one with --isi"
                )));
            }
            return Ok(Box::new(BufWriter::new(io::stdout())));
        }
        let path = self.path(id);
        let remedy = if self.named { ", or leave out -o" } else { " with -o" };
        let refused = |refusal: Failure| io::Error::other(format!("{}{remedy}", refusal.message));
        self.files.write(&path, &format!("a {id}")).map_err(refused)?;
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        Ok(Box::new(BufWriter::new(File::create(&path).map_err(named)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn each_stream_has_a_name_of_its_own() {
        let outputs =
            |named, chosen| Outputs { path: "a/x.ts".into(), named, chosen, taken: false, files: Files::default() };
        let id = |isi, kind| StreamId { isi, kind };
        let transport = |isi| id(isi, StreamType::Transport);
        let generic = |isi| id(isi, StreamType::GenericContinuous);
        for (outputs, id, expected) in [
            (outputs(false, false), transport(None), "a/x.ts"),
            (outputs(false, false), transport(Some(7)), "a/x.isi7.ts"),
            (outputs(false, true), transport(Some(7)), "a/x.ts"),
            (outputs(false, false), generic(None), "a/x.bin"),
            (outputs(true, false), generic(None), "a/x.ts"),
            (outputs(true, false), generic(Some(255)), "a/x.isi255.ts"),
        ] {
            assert_eq!(outputs.path(id), Path::new(expected), "{outputs:?} {id:?}");
        }
    }
}
