//! What `bief rx` writes beside input streams, or in their place: IP packets, and BBFRAMEs.

use std::path::{Path, PathBuf};

use bief::kinds::Openers;
use bief_radio::dvbs2::Receiver;
use bief_radio::ip::IpFigures;
use clap::Args;

use super::RxArgs;
use super::input::SAMPLE_NAME;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{beside, is_address, path_or_address};
use crate::ip::PacketOutput;
use crate::text::printable;

/// Options of what is written so.
#[derive(Args)]
pub(super) struct AlsoArgs {
    /// Write the IP packets of the carrier (GSE, MPE, ULE) to a pcap file, `-` for standard output, or tun:NAME
    #[arg(long, value_name = "OUT.pcap", value_parser = path_or_address())]
    ip: Option<PathBuf>,
    /// With --ip: take this PID alone, 0 to 8190, of a transport stream
    #[arg(long, value_name = "N", requires = "ip", value_parser = clap::value_parser!(u16).range(..=8190))]
    pid: Option<u16>,
    /// Write BBFRAMEs in the place of the streams that they carry [default: NAME.bbf]
    #[arg(long)]
    bbframes: bool,
    /// With --bbframes: a receiver's header (L.3) before each
    #[arg(long, requires = "bbframes")]
    l3: bool,
}

impl AlsoArgs {
    /// Whether the streams themselves are written, -o being given or not.
    pub(super) fn leaves_streams(&self, is_output_named: bool) -> bool {
        !self.bbframes && (self.ip.is_none() || is_output_named)
    }
}

/// Where it goes.
pub(super) struct Also {
    /// With the PID that is taken alone.
    ip: Option<(PacketOutput, Option<u16>)>,
    /// With or without headers of a receiver.
    bbframes: Option<(PacketOutput, bool)>,
    openers: Openers,
}

impl Also {
    /// What was asked for; notes the files.
    pub(super) fn new(args: &RxArgs, files: &mut Files) -> Result<Self, Failure> {
        let AlsoArgs { ip, pid, bbframes, l3 } = &args.also;
        let openers = files.registry().openers().clone();
        let ip = ip.as_deref().map(|path| PacketOutput::named(path, "--ip", &openers, files)).transpose()?;
        let what = "the BBFRAMEs";
        let bbframes = match (bbframes, &args.output) {
            (false, _) => None,
            (true, Some(path)) => Some(PacketOutput::named(path, what, &openers, files)?),
            (true, None) => {
                let path = unnamed(args)?;
                let force = args.force || args.signal.recording.input.is_none();
                Some(PacketOutput::unnamed(&path, what, force, &openers, files)?)
            }
        };
        let (ip, bbframes) = (ip.map(|ip| (ip, *pid)), bbframes.map(|bbframes| (bbframes, *l3)));
        Ok(Self { ip, bbframes, openers })
    }

    /// Opens what a receiver writes, and lets it.
    pub(super) fn add(&self, mut receiver: Receiver, is_live: bool) -> Result<Receiver, Failure> {
        if let Some((output, pid)) = &self.ip {
            receiver = receiver.to_ip(output.open(&self.openers, is_live || output.is_stdout())?, *pid);
        }
        if let Some((output, has_l3)) = &self.bbframes {
            receiver = receiver.to_bbframes(output.writer(&self.openers)?, *has_l3);
        }
        Ok(receiver)
    }

    /// How many outputs go to standard output.
    pub(super) fn on_stdout(&self) -> usize {
        self.outputs().filter(|output| output.is_stdout()).count()
    }

    /// Why there are no IP packets, if some were asked for and there are none.
    pub(super) fn fault(&self, figures: &IpFigures) -> Option<String> {
        (self.ip.is_some() && figures.packets == 0).then(|| {
            let found: Vec<_> = figures.streams.iter().map(|stream| stream.encapsulation.as_str()).collect();
            match found.is_empty() {
                true => "it carries no IP packets by GSE, MPE or ULE".to_owned(),
                false => format!("no whole IP packet came of its {}", found.join(", ")),
            }
        })
    }

    /// The rows of a summary that say where it went.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let named = |name, output: &PacketOutput| (name, printable(&output.path().display().to_string()));
        let ip = self.ip.iter().map(move |(output, _)| named("IP packets to", output));
        ip.chain(self.bbframes.iter().map(move |(output, _)| named("BBFRAMEs to", output)))
    }

    /// The same as paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.outputs().map(PacketOutput::path)
    }

    pub(super) fn has_ip(&self) -> bool {
        self.ip.is_some()
    }

    fn outputs(&self) -> impl Iterator<Item = &PacketOutput> {
        self.ip.iter().map(|(output, _)| output).chain(self.bbframes.iter().map(|(output, _)| output))
    }
}

/// The files, before anything is opened.
pub(super) fn paths(args: &RxArgs) -> Result<Vec<PathBuf>, Failure> {
    let bbframes = args.also.bbframes.then(|| args.output.clone().map_or_else(|| unnamed(args), Ok)).transpose()?;
    Ok(args.also.ip.iter().cloned().chain(bbframes).collect())
}

/// The file of BBFRAMEs of which nobody told the name.
fn unnamed(args: &RxArgs) -> Result<PathBuf, Failure> {
    match &args.signal.recording.input {
        None => Ok(PathBuf::from(SAMPLE_NAME).with_extension("bbf")),
        Some(input) if is_dash(input) || is_address(input) => {
            let input = input.display();
            Err(Failure::usage(format!(
                "{input}: no file lies beside it: give -o OUT.bbf, or -o - for standard output"
            )))
        }
        Some(input) => Ok(beside(input, "bbf")),
    }
}
