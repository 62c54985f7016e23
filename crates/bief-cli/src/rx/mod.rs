//! `bief rx`: a DVB-S2 recording becomes a transport stream.

mod also;
mod input;
mod network;
mod outputs;
mod reception;
mod services;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bief_radio::dvbs2::{Figures, KeepSymbols};
use bief_radio::ip::IpFigures;
use clap::Args;

use crate::draw;
use crate::failure::Failure;
use crate::files::Files;
use crate::input::path_or_address;
use crate::interrupt::{at_interrupt, ended_by_signal};
use crate::job::JobArgs;
use crate::json::JsonArgs;
use crate::page::{self, PageArgs};
use crate::planning::PlanningArgs;
use crate::progress::{followed, progress};
use crate::radio::RadioArgs;
use crate::seeing::SeeingArgs;
use crate::status::Status;
use crate::text::printable;
use crate::workers::{Away, AwayArgs, Decision};
use also::{Also, AlsoArgs};
pub use input::built_in_receiver;
use input::symbol_rate;
pub(crate) use input::{SignalArgs, examined};
use outputs::Outputs;
use reception::{Reception, show};

const EXAMPLES: &str = "\
Examples:
  bief rx                                the built-in recording
  bief rx capture.sigmf-meta             packets go to capture.ts
  bief rx capture.ci16 --sps 2 -o out.ts --cores 2
  bief rx capture.sigmf-meta --symbol-rate 1e6
  radio | bief rx - --live --format cu8 --sps 4 -o - | player
  bief rx capture.sigmf-meta --constellation symbols.svg
  bief rx --live - --format cu8 --sps 4 -o out.ts --page
                                         constellation, spectrum and the like in
                                         a browser, at http://127.0.0.1:8090
  bief rx capture.sigmf-meta --goal fewest-cores,rate=30Mb/s --refine 3
  radio | bief rx - --live --format cu8 --sps 4 --no-adapt
                                         one plan, whatever changes meanwhile
  bief rx capture.sigmf-meta --place guided --save-profile receiver.json
  bief rx capture.sigmf-meta --json      the figures as JSON
  bief rx carrier.sigmf-meta --ip out.pcap
                                         IP packets of GSE, MPE or ULE
  bief rx carrier.sigmf-meta --bbframes -o carrier.bbf
  bief rx capture.sigmf-meta -o udp://239.1.2.3:5004
                                         to players, at the pace of its clock
  bief rx 'tcp://:4000?format=cf32&rate=2e6' --live -o http://:8080/ts
                                         samples that a program sends here
  bief rx --radio driver=rtlsdr --frequency 11.7e9 --lnb 10.6e9 \
    --sample-rate 2.4e6 -o out.ts         a dongle and a dish; see `bief radio`

MODCOD, frame size and pilots are read from the header of each frame.
With --ip, packets go nowhere else unless -o names a file for streams, too.
BBFRAMEs lie one after the other, each as long as its data field, of all input
streams in the order of their coming; --l3 puts four bytes before each (0xB8,
MODCOD and kind of frame, Es/N0, number), as packet analysers and `bief ip` read.
A file that exists is replaced only if -o names it, or with --force. Outputs are
NAME.part until they are whole, at the end of a run with exit status 0. Without
INPUT, the name behind --json is the input if it is a recording.
Ctrl-C, SIGTERM or SIGHUP ends the reception and writes what was received; a
second one quits at once. The exit status is then 128 plus the signal's number
(130, 143, 129), but 0 for standard input, which has no other end.";

/// Arguments of `bief rx`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RxArgs {
    #[command(flatten)]
    signal: SignalArgs,
    /// Where packets go: a file, `-` for standard output, or udp://HOST:PORT, rtp://HOST:PORT, http://:PORT/PATH,
    /// tcp://HOST:PORT or zmq+push://HOST:PORT [default: NAME.ts next to the input, NAME.bin for a stream without packets]
    #[arg(short, long, value_name = "OUT.ts", value_parser = path_or_address())]
    output: Option<PathBuf>,
    /// Replace files that are there though -o does not name them
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    also: AlsoArgs,
    /// Draw the received symbols
    #[arg(long, value_name = "FILE.svg")]
    constellation: Option<PathBuf>,
    /// Input that cannot wait (a radio): drop and count samples if the receiver is too slow
    #[arg(long)]
    live: bool,
    /// Frames that are worked on together: a device wants many at a time, and cores few [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=4096))]
    batch: u32,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    away: AwayArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    radio: RadioArgs,
}

/// Receives.
pub(crate) fn run(args: RxArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = receive(args, &mut files);
    files.end(outcome)
}

/// Receives to files of which the names tell that they are not whole yet.
fn receive(mut args: RxArgs, files: &mut Files) -> Result<(), Failure> {
    let is_away = args.away.is_given()?;
    if is_away && (args.planning.is_given() || args.planning.placing().is_given()) {
        return Err(Failure::usage(
            "with workers, what stays here runs on two threads: leave out all options that plan or place",
        ));
    }
    args.signal.recording.take_from(&mut args.json);
    args.live |= args.radio.tune(&mut args.signal.recording)?;
    if args.job.is_done(&args.json, &args.outputs()?)? {
        return Ok(());
    }
    args.claim(files)?;
    let also = Also::new(&args, files)?;
    let mut outputs = Outputs::new(&args, files.clone())?;
    let on_stdout = also.on_stdout() + usize::from(outputs.is_stdout());
    let is_stdout = on_stdout > 0;
    if is_stdout && args.json.on_stdout() {
        return Err(Failure::usage("packets and JSON cannot both go to standard output: give --json a file"));
    }
    if on_stdout > 1 {
        return Err(Failure::usage("--ip and -o cannot both go to standard output: name a file for one of them"));
    }
    let planner = args.planning.planner()?;
    let page = args.page.bind()?;
    let recording = outputs.open_input(&args.signal)?;
    if args.live && recording.bytes.is_some() {
        return Err(Failure::usage(format!(
            "{}: a file waits, and would be read faster than it can be received: leave out --live",
            recording.name
        )));
    }
    let (name, bytes, sample_rate) = (recording.name.clone(), recording.bytes, recording.sample_rate);
    let sample_bytes = recording.format.bytes() as u64;

    let lines = args.job.lines(bytes)?;
    let bar = progress(bytes);
    let receiver = args.signal.find(recording, &bar)?;
    bar.set_position(0);
    let receiver = if args.live { receiver.live().map_err(Failure::from_error)? } else { receiver };
    let found_rate = (!args.signal.tells_rate(sample_rate)).then(|| receiver.samples_per_symbol());
    let symbol_rate = symbol_rate(sample_rate, receiver.samples_per_symbol());
    let shows = args.page.is_given();
    let receiver = if shows || args.constellation.is_some() { receiver.keep_symbols() } else { receiver };
    let receiver = if shows { receiver.keep_spectrum() } else { receiver };
    let receiver = receiver.batch(args.batch as usize);
    let mut writers = outputs.clone();
    let is_live = args.live || args.signal.recording.is_live();
    let mut receiver = also.add(receiver.to_streams(move |id| writers.open(id)), is_live)?;
    let (planned, away, pipeline) = if is_away {
        let mut registry = files.registry();
        let file = receiver.into_file(&mut registry).map_err(Failure::from_error)?;
        let registry = Arc::new(registry);
        bar.set_message("looking which tasks may leave");
        match args.away.decide(&file, &registry)? {
            Decision::Leave(leaving) => {
                let (pipeline, away) = args.away.pipeline(*leaving, &file, &registry)?;
                (None, Some(away), pipeline)
            }
            Decision::Stay(planned) => {
                let pipeline = args.planning.pipeline(&planned, &mut file.application(&registry))?;
                (Some(*planned), None, pipeline)
            }
        }
    } else {
        bar.set_message("measuring each task, and planning");
        let planned = args.planning.plan(&planner, &receiver)?;
        let pipeline = args.planning.pipeline(&planned, &mut receiver)?;
        (Some(planned), None, pipeline)
    };
    let mut pipeline = args.seeing.prepare(pipeline)?;
    let (stopper, ending) = (pipeline.stopper(), away.as_ref().map(Away::ending));
    let interrupted = at_interrupt(move || {
        stopper.stop();
        ending.iter().for_each(|ending| ending());
    })?;
    // It tells what was received after a fault, too.
    let mut watch = pipeline.watch();
    let adapts = planned.as_ref().filter(|_| args.planning.adapts(&pipeline, is_live));
    let shown_page = page::show(page, format!("rx {}", printable(&name)), &mut pipeline, adapts)?;
    let run = || match &planned {
        Some(planned) => args.planning.run(planned, &mut pipeline, is_live),
        None => pipeline.run(),
    };
    let outcome = followed(&bar, lines, || Figures::of(&watch.figures()), show, run);
    let was_stopped = page::close(shown_page);
    let told = watch.figures();
    let mut pictures = args.seeing.write(&pipeline);
    if let Some(path) = &args.constellation {
        pictures = pictures.and(draw::write(path, &draw::constellation::draw(&KeepSymbols::kept(&told), &name)));
    }
    let figures = Figures::of(&told);
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed) || was_stopped;

    let saved = planned.as_ref().map_or(Ok(()), |planned| args.planning.save(planned, &pipeline, report.as_ref()));
    let ip = IpFigures::of(&told);
    let reception = Reception {
        name,
        is_live,
        outputs,
        also,
        found_rate,
        symbol_rate,
        figures,
        ip,
        interrupted,
        report,
        planned,
        away,
    };
    args.json.deliver(files, || reception.to_json(), || reception.table(&args.seeing), is_stdout)?;
    if let Some(error) = fault {
        // What its tasks hold is written when they go.
        drop(pipeline);
        let message = format!("{}: {error}; what was received before is kept", reception.name);
        return Err(Failure::of_run(&error, message));
    }
    pictures.and(saved)?;
    if interrupted {
        // Live input has no other end. A part of a file is not what was asked for, and scripts should not take it for that.
        if !args.signal.recording.is_live() {
            let message = format!("{}: interrupted; what was received before is kept", reception.name);
            return Err(ended_by_signal(message));
        }
        return Ok(());
    }
    let left_over = reception.figures.bytes % sample_bytes;
    if left_over != 0 {
        let message = format!(
            "{}: ends inside a sample ({left_over} of {sample_bytes} bytes): is it cut short, or of another format? What was \
             received before is kept",
            reception.name
        );
        return Err(Failure::new(message).with(Status::Partial));
    }
    match reception.fault(args.signal.isi) {
        None => Ok(()),
        Some(fault) => {
            let message = format!("{}: a signal is there, but {fault}", reception.name);
            Err(Failure::new(message).with(Status::NoSignal))
        }
    }
}

impl RxArgs {
    /// The outputs of which the names are known from the start.
    fn outputs(&self) -> Result<Vec<PathBuf>, Failure> {
        let streams = self.also.leaves_streams(self.output.is_some()).then(|| outputs::path(self)).transpose()?;
        Ok(also::paths(self)?.into_iter().chain(streams).collect())
    }

    /// Notes the files of which the names are known from the start.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.signal.claim(files)?;
        if let Some(path) = &self.constellation {
            files.write(path, "--constellation")?;
        }
        self.planning.claim(files)?;
        self.away.claim(files)?;
        self.seeing.claim(files)?;
        self.job.claim(files)?;
        self.json.claim(files)
    }
}
