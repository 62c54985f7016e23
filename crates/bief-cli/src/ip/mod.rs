//! `bief ip`: IP packets out of BBFRAMEs and transport streams.

mod output;
mod rows;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bief::{Planned, Report};
use bief_radio::ip::{IpFigures, IpInput, IpReceiver, IpSettings};
use clap::Args;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{address, is_address, path_or_address};
use crate::interrupt::{ended_by_signal, stop_at_interrupt};
use crate::job::JobArgs;
use crate::json::JsonArgs;
use crate::planning::{PlanningArgs, against_plan, record};
use crate::progress::{followed, progress};
use crate::seeing::SeeingArgs;
use crate::status::Status;
use crate::table::facts;
use crate::text::printable;
pub(crate) use output::PacketOutput;
pub(crate) use rows::rows;

const EXAMPLES: &str = "\
Examples:
  bief ip carrier.bbf                    packets go to carrier.pcap
  bief ip feed.ts -o out.pcap --pid 513
  bief ip carrier.bbf --isi 7 -o - | tshark -r -
  tuner | bief ip - -o tun:sat0          packets go to this machine's network
  bief ip carrier.bbf --json             the figures as JSON

BBFRAMEs lie one after the other: each as long as its data field or all of one
length, with the header of a receiver (L.3) before each or without; which of
these, and whether the input is a transport stream, is told by its front.
IP packets come from GSE, GSE-HEM, MPE and ULE. A frame or packet that is lost
or damaged costs the IP packets that were in it, and no others.
tun:NAME opens a TUN device, or makes one: that needs root, or a device that
`ip tuntap` made for the user. For a signal, see `bief rx --ip`.
A file that exists is replaced only if -o names it, or with --force. Outputs are
NAME.part until they are whole, at the end of a run with exit status 0.
Ctrl-C, SIGTERM or SIGHUP ends the run and writes what was received; a second
one quits at once. The exit status is then 128 plus the signal's number (130,
143, 129), but 0 for standard input, which has no other end.";

/// Arguments of `bief ip`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IpArgs {
    /// BBFRAMEs, or a transport stream; `-` for standard input
    #[arg(value_name = "INPUT", value_parser = path_or_address())]
    input: PathBuf,
    /// Where IP packets go: a pcap file, `-` for standard output, or tun:NAME [default: INPUT with the ending .pcap]
    #[arg(short, long, value_name = "OUT.pcap", value_parser = path_or_address())]
    output: Option<PathBuf>,
    /// Replace a file that is there though -o does not name it
    #[arg(long)]
    force: bool,
    /// Input stream to take if the carrier has several [default: all]
    #[arg(long, value_name = "N")]
    isi: Option<u8>,
    /// PID to take, 0 to 8190, of a transport stream [default: all that carry IP]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=8190))]
    pid: Option<u16>,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// Takes the packets.
pub(crate) fn run(args: IpArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = take(&args, &mut files);
    files.end(outcome)
}

/// Takes them to files of which the names tell that they are not whole yet.
fn take(args: &IpArgs, files: &mut Files) -> Result<(), Failure> {
    let registry = files.registry();
    let openers = registry.openers();
    if args.job.is_done(&args.json, &[args.output.clone().map_or_else(|| args.beside(), Ok)?])? {
        return Ok(());
    }
    args.claim(files)?;
    let what = "the IP packets";
    let output = match &args.output {
        Some(path) => PacketOutput::named(path, what, openers, files)?,
        None => PacketOutput::unnamed(&args.beside()?, what, args.force, openers, files)?,
    };
    if output.is_stdout() && args.json.on_stdout() {
        return Err(Failure::usage("packets and JSON cannot both go to standard output: give --json a file"));
    }
    let planner = args.planning.planner()?;
    let name = if is_dash(&args.input) { "standard input".to_owned() } else { args.input.display().to_string() };
    let named = |error: bief::Error| Failure::new(format!("{name}: {error}")).with(Status::NoInput);
    let address = address(&args.input, openers)?;
    let source = openers.reader(&address).map_err(|error| Failure::unopened(&address, error))?;
    let lines = args.job.lines(source.bytes)?;
    let bar = progress(source.bytes);
    let settings = IpSettings { isi: args.isi, pid: args.pid };
    let receiver = IpReceiver::find(source.reader, settings).inspect_err(|_| bar.finish_and_clear()).map_err(named)?;
    let input = receiver.input();
    bar.set_message("measuring each task, and planning");
    let planned = args.planning.plan(&planner, &receiver)?;
    let is_live = is_dash(&args.input) || is_address(&args.input);
    let mut receiver = receiver.to(output.open(openers, is_live || output.is_stdout())?);
    let pipeline = args.planning.pipeline(&planned, &mut receiver)?;
    let mut pipeline = args.seeing.prepare(pipeline)?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    // It tells what came after a fault, too.
    let mut watch = pipeline.watch();
    let run = || args.planning.run(&planned, &mut pipeline, is_live);
    let outcome = followed(&bar, lines, || IpFigures::of(&watch.figures()), show, run);
    let figures = IpFigures::of(&watch.figures());
    let pictures = args.seeing.write(&pipeline);
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed);
    let saved = args.planning.save(&planned, &pipeline, report.as_ref());
    let from_network = is_address(&args.input);
    let taken = Taken { name: name.clone(), input, output, figures, from_network, interrupted, report, planned };
    args.json.deliver(files, || taken.to_json(), || taken.table(&args.seeing), taken.output.is_stdout())?;
    if let Some(error) = fault {
        // What its tasks hold is written when they go.
        drop(pipeline);
        let message = format!("{name}: {error}; the packets before that are kept");
        return Err(Failure::of_run(&error, message));
    }
    pictures.and(saved)?;
    if interrupted {
        // Live input has no other end. A part of a file is not what was asked for.
        if !is_live {
            let message = format!("{name}: interrupted; the packets before that are kept");
            return Err(ended_by_signal(message));
        }
        return Ok(());
    }
    match taken.fault(settings) {
        None => Ok(()),
        Some(fault) => Err(Failure::new(format!("{name}: {fault}")).with(Status::NoSignal)),
    }
}

impl IpArgs {
    /// Notes the files of which the names are known from the start.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        if !is_address(&self.input) {
            files.read(&self.input)?;
        }
        self.planning.claim(files)?;
        self.seeing.claim(files)?;
        self.job.claim(files)?;
        self.json.claim(files)
    }

    /// The file of which nobody told the name.
    fn beside(&self) -> Result<PathBuf, Failure> {
        if is_dash(&self.input) {
            return Err(Failure::usage("standard input has no name: give -o OUT.pcap, or -o - for standard output"));
        }
        if is_address(&self.input) {
            let input = self.input.display();
            return Err(Failure::usage(format!("{input}: no file lies beside it: give -o OUT.pcap")));
        }
        Ok(self.input.with_extension("pcap"))
    }
}

/// Shows on the bar how far it is.
fn show(bar: &ProgressBar, figures: &IpFigures) {
    bar.set_position(figures.bytes);
    let IpFigures { packets, damaged, .. } = figures;
    bar.set_message(format!("{packets} IP packets, {damaged} damaged"));
}

/// What is told of a run.
struct Taken {
    name: String,
    input: IpInput,
    output: PacketOutput,
    figures: IpFigures,
    /// Which gives packets when they come.
    from_network: bool,
    /// Ended by Ctrl-C.
    interrupted: bool,
    /// `None` after a fault.
    report: Option<Report>,
    planned: Planned,
}

impl Taken {
    /// Why there are no packets, if there are none.
    fn fault(&self, settings: IpSettings) -> Option<String> {
        let figures = &self.figures;
        let found = figures.streams.iter().map(|stream| stream.encapsulation.as_str()).collect::<Vec<_>>();
        let IpSettings { isi, pid } = settings;
        Some(match (isi, pid) {
            _ if figures.packets > 0 => return None,
            _ if !found.is_empty() => {
                format!(
                    "no whole IP packet came: there is {} without any, or what there was is damaged",
                    found.join(", ")
                )
            }
            (Some(isi), _) => {
                format!("no IP packets: does the carrier have an input stream {isi} with GSE, MPE or ULE?")
            }
            (_, Some(pid)) => format!("no IP packets: does PID {pid} carry MPE or ULE?"),
            _ => "no IP packets: it carries none by GSE, MPE or ULE".to_owned(),
        })
    }

    /// What the input is, in words.
    fn kind(&self) -> String {
        match self.input {
            IpInput::Transport => "transport stream".to_owned(),
            IpInput::Bbframes(layout) => {
                let size = layout.size.map_or_else(|| "without padding".to_owned(), |size| format!("of {size} bytes"));
                let l3 = if layout.l3 { ", with headers of a receiver (L.3)" } else { "" };
                format!("BBFRAMEs {size}{l3}")
            }
        }
    }

    fn table(&self, seeing: &SeeingArgs) -> String {
        let IpFigures { bbframes, damaged, bytes, .. } = self.figures;
        let mut told = vec![("input", printable(&format!("{}: {}", self.name, self.kind())))];
        told.push(match self.input {
            IpInput::Bbframes(_) => ("BBFRAMEs", format!("{bbframes}, {damaged} damaged")),
            IpInput::Transport => ("packets", format!("{} of 188 bytes, broken in {damaged} places", bytes / 188)),
        });
        told.extend(rows(&self.figures));
        if !self.output.is_stdout() {
            told.push(("output", printable(&self.output.path().display().to_string())));
        }
        if self.interrupted {
            told.push(("interrupted", format!("after {bytes} bytes")));
        }
        let Some(report) = &self.report else { return facts(&told) };
        let megabits = 8.0 * bytes as f64 / 1e6 / report.seconds;
        told.push(("time", format!("{:.3} s, {megabits:.1} Mb/s", report.seconds)));
        let plan = against_plan(Some(&self.planned), report, self.from_network);
        format!("{}\n\n{}\n\n{plan}", facts(&told), seeing.shown(report))
    }

    fn to_json(&self) -> String {
        let path: &Path = self.output.path();
        let own = serde_json::json!({
            "input": self.name,
            "kind": self.kind(),
            "output": path,
            "figures": self.figures,
            "interrupted": self.interrupted,
        });
        record(own, Some(&self.planned), self.report.as_ref())
    }
}
