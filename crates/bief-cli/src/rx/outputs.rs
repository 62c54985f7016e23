//! Where `bief rx` writes input streams.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bief_dsp::dvbs2::{StreamId, StreamType};
use bief_radio::Recording;

use super::RxArgs;
use super::input::{SAMPLE_NAME, SignalArgs};
use super::network::Network;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{beside, is_address};

/// The files that streams go to, each made when its stream is found.
#[derive(Debug, Clone)]
pub(super) struct Outputs {
    /// The file of a single stream.
    path: PathBuf,
    /// Whether someone named it, and chose the stream that goes there.
    named: bool,
    chosen: bool,
    /// Whether files that are there may be replaced though nobody named them.
    force: bool,
    /// Standard output has its stream.
    taken: bool,
    /// Whether streams are written: not where only IP packets or BBFRAMEs were asked for.
    written: bool,
    /// What streams must not replace.
    files: Files,
    /// What takes the stream, where that is no file.
    network: Option<Network>,
}

impl Outputs {
    /// Those of the options.
    pub(super) fn new(args: &RxArgs, files: Files) -> Result<Self, Failure> {
        let written = args.also.leaves_streams(args.output.is_some());
        let path = if written { path(args)? } else { PathBuf::new() };
        let named = args.output.is_some();
        // What the recording that is built in gives may be written again and again.
        let force = args.force || args.signal.recording.input.is_none();
        let address = if written { Network::address(&path)? } else { None };
        let mut outputs =
            Self { path, named, chosen: args.signal.isi.is_some(), force, taken: false, written, files, network: None };
        match address {
            Some(address) => {
                let is_live = args.live || args.signal.recording.is_live();
                outputs.network = Some(Network::open(address, is_live)?);
            }
            None => outputs.try_claim()?,
        }
        Ok(outputs)
    }

    /// Tries before anything is received whether the file may be written; streams take their files when they are found.
    fn try_claim(&self) -> Result<(), Failure> {
        if !self.written {
            return Ok(());
        }
        self.clone().claim(&self.path, "the received stream")
    }

    fn claim(&mut self, path: &Path, what: &str) -> Result<(), Failure> {
        if self.named { self.files.write(path, what) } else { self.files.write_unnamed(path, what, self.force) }
    }

    /// Opens what is received: none of its files may be an output.
    pub(super) fn open_input(&mut self, signal: &SignalArgs) -> Result<Recording, Failure> {
        let recording = signal.open(&mut self.files)?;
        if self.network.is_none() {
            self.try_claim()?;
        }
        Ok(recording)
    }

    pub(super) fn is_stdout(&self) -> bool {
        self.written && is_dash(&self.path)
    }

    /// Whether streams are written.
    pub(super) fn is_written(&self) -> bool {
        self.written
    }

    /// What was sent over a network.
    pub(super) fn sent(&self) -> Option<(String, serde_json::Value)> {
        self.network.as_ref()?.told()
    }

    /// The file of a stream: of several, each has its ISI in its name.
    pub(super) fn path(&self, id: StreamId) -> PathBuf {
        if self.network.is_some() {
            return self.path.clone();
        }
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
        if !self.written {
            return Ok(Box::new(io::sink()));
        }
        if let Some(network) = &self.network {
            network.check(id)?;
            let second = || io::Error::other(format!("the carrier has a second stream, a {id}: choose one with --isi"));
            return network.take().ok_or_else(second);
        }
        if self.is_stdout() {
            if std::mem::replace(&mut self.taken, true) {
                return Err(io::Error::other(format!(
                    "the carrier has a second stream, a {id}: choose one with --isi"
                )));
            }
            return Ok(Box::new(BufWriter::new(io::stdout())));
        }
        let path = self.path(id);
        let remedy = if self.named { ", or leave out -o" } else { "" };
        let refused = |refusal: Failure| io::Error::other(format!("{}{remedy}", refusal.message));
        self.claim(&path, &format!("a {id}")).map_err(refused)?;
        Ok(Box::new(BufWriter::new(self.files.create(&path)?)))
    }
}

/// What was asked for, or else a file beside the input; in the current folder for the recording that is built in.
pub(super) fn path(args: &RxArgs) -> Result<PathBuf, Failure> {
    Ok(match (&args.output, &args.signal.recording.input) {
        (Some(output), _) => output.clone(),
        (None, None) => PathBuf::from(SAMPLE_NAME).with_extension("ts"),
        (None, Some(input)) if is_dash(input) => {
            return Err(Failure::usage("standard input has no name: give -o OUT.ts, or -o - for standard output"));
        }
        (None, Some(input)) if is_address(input) => {
            return Err(Failure::usage(format!("{}: no file lies beside it: give -o OUT.ts", input.display())));
        }
        (None, Some(input)) => beside(input, "ts"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_has_a_name_of_its_own() {
        let outputs = |named, chosen| Outputs {
            path: "a/x.ts".into(),
            named,
            chosen,
            force: false,
            taken: false,
            written: true,
            files: Files::default(),
            network: None,
        };
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
