//! `bief rx`: a DVB-S2 recording becomes a transport stream.

mod input;
mod outputs;
mod reception;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bief::Machine;
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform};
use bief_dsp::dvbs2::Modcod;
use bief_radio::SampleFormat;
use bief_radio::dvbs2::{Modcods, Receiver, Scatter, Settings, Status};
use clap::Args;

use crate::draw;
use crate::failure::Failure;
use crate::files::Files;
use crate::interrupt::{INTERRUPTED, stop_at_interrupt};
use crate::json::{JsonArgs, is_dash, print};
use crate::progress::{progress, shown};
use crate::seeing::SeeingArgs;
pub(crate) use input::LEAST_SAMPLE_RATE;
use input::{open, samples_per_symbol, symbol_rate};
use outputs::Outputs;
use reception::{Reception, show};

const EXAMPLES: &str = "\
Examples:
  bief rx                                the recording that is built in
  bief rx capture.sigmf-meta             packets go to capture.ts
  bief rx capture.ci16 --sps 2 -o out.ts --cores 2
  bief rx capture.sigmf-meta --symbol-rate 1e6
  radio | bief rx - --live --format cu8 --sps 4 -o - | player
  bief rx capture.sigmf-meta --constellation symbols.svg
  bief rx capture.sigmf-meta --json      the figures for a machine to read

MODCOD, frame size and pilots are read from the header of each frame.
Ctrl-C ends the reception; what was received is written. A second Ctrl-C does
not wait for that.";

/// Arguments of `bief rx`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RxArgs {
    /// Recording: SigMF, or a raw file (see --format); `-` for standard input [default: one that is built in]
    input: Option<PathBuf>,
    /// Where packets go; `-` for standard output [default: NAME.ts beside the input, NAME.bin for a stream of no packets]
    #[arg(short, long, value_name = "OUT.ts")]
    output: Option<PathBuf>,
    /// Most cores to use [default: all of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_000))]
    cores: Option<u32>,
    /// Sample format of a raw input: cf32, ci16, ci8 or cu8
    #[arg(long)]
    format: Option<SampleFormat>,
    /// Samples per symbol, 1.5 to 8 [default: what the description says, or else the signal shows]
    #[arg(long, value_name = "X", conflicts_with = "symbol_rate")]
    sps: Option<f64>,
    /// Symbols per second, for a recording that tells its sample rate
    #[arg(long, value_name = "HZ")]
    symbol_rate: Option<f64>,
    /// MODCODs to receive, such as qpsk-8/9,8psk-3/5; frames of others are passed over
    #[arg(long, value_name = "LIST", default_value = "any", value_parser = modcods)]
    modcod: Modcods,
    /// Gold code of the physical-layer scrambling, 0 to 262141: what the sender has set, broadcasts use 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    gold: u32,
    /// Input stream to receive of a carrier with several [default: each goes to a file of its own, OUT.isiN.ts]
    #[arg(long, value_name = "N")]
    isi: Option<u8>,
    /// Draw the received symbols
    #[arg(long, value_name = "FILE.svg")]
    constellation: Option<PathBuf>,
    /// Input that cannot wait (a radio): where the receiver is too slow, drop samples and say so
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// Frames that are timed to make a plan.
const PROFILED_FRAMES: usize = 100;

/// Receives.
pub(crate) fn run(mut args: RxArgs) -> Result<(), Failure> {
    if args.input.is_none() {
        args.input = args.json.misplaced_input();
    }
    let outputs = Outputs::new(&args, args.files()?)?;
    if outputs.is_stdout() && args.json.on_stdout() {
        return Err(Failure::new("packets and JSON cannot both go to standard output: give --json a file"));
    }
    let recording = open(&args)?;
    if args.live && recording.bytes.is_some() {
        return Err(Failure::new(format!(
            "{}: a file waits, and would be read faster than it can be received: leave out --live",
            recording.name
        )));
    }
    let samples_per_symbol = samples_per_symbol(&args, &recording)?;
    let (name, bytes, sample_rate) = (recording.name.clone(), recording.bytes, recording.sample_rate);
    let sample_bytes = recording.format.bytes() as u64;

    let bar = progress(bytes);
    bar.set_message("searching for a signal");
    let settings = Settings { samples_per_symbol, gold_code: args.gold, modcods: args.modcod, isi: args.isi };
    let receiver = Receiver::find(recording, settings, |read| bar.set_position(read));
    bar.set_position(0);
    let receiver = receiver.inspect_err(|_| bar.finish_and_clear()).map_err(Failure::from_error)?;
    let receiver = if args.live { receiver.live().map_err(Failure::from_error)? } else { receiver };
    let found_rate = samples_per_symbol.is_none().then(|| receiver.samples_per_symbol());
    let symbol_rate = symbol_rate(sample_rate, receiver.samples_per_symbol());
    let scatter = args.constellation.is_some().then(Arc::<Scatter>::default);
    let receiver = match &scatter {
        Some(scatter) => receiver.scatter(scatter),
        None => receiver,
    };
    let profile = receiver.profile(PROFILED_FRAMES).map_err(Failure::from_error)?;
    let schedule = Exact.schedule(&profile, &platform(args.cores, profile.kinds())?).map_err(Failure::from_error)?;

    let status = Arc::new(Status::default());
    let mut writers = outputs.clone();
    let mut pipeline = receiver
        .chain_of_streams(move |id| writers.open(id), Arc::clone(&status))
        .and_then(bief::Chain::build)
        .and_then(|program| program.pipeline(&schedule)?.beside(&profile))
        .map_err(Failure::from_error)
        .and_then(|pipeline| args.seeing.prepare(pipeline))?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    let outcome = shown(&bar, |bar| show(bar, &status), || pipeline.run());
    let mut pictures = args.seeing.write(&pipeline);
    if let Some((path, scatter)) = args.constellation.as_deref().zip(scatter) {
        pictures = pictures.and(draw::write(path, &draw::constellation::draw(&scatter.symbols(), &name)));
    }
    let figures = status.figures();
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed);

    let reception = Reception { name, outputs, found_rate, symbol_rate, figures, interrupted, report };
    args.json.write(|| reception.to_json(&profile, &schedule))?;
    if reception.outputs.is_stdout() {
        eprintln!("{}", reception.table());
    } else if !args.json.on_stdout() {
        print(&reception.table())?;
    }
    if let Some(error) = fault {
        return Err(Failure::new(format!("{}: {error}; what was received before is kept", reception.name)));
    }
    pictures?;
    if interrupted {
        // Live input has no other end. A part of a file is not what was asked for, and scripts should not take it for that.
        if !args.input.as_deref().is_some_and(is_dash) {
            let message = format!("{}: interrupted; what was received before is kept", reception.name);
            return Err(Failure { status: INTERRUPTED, ..Failure::new(message) });
        }
        return Ok(());
    }
    let left_over = reception.figures.bytes % sample_bytes;
    if left_over != 0 {
        return Err(Failure::new(format!(
            "{}: ends inside a sample ({left_over} of {sample_bytes} bytes): is it cut short, or of another format? What was \
             received before is kept",
            reception.name
        )));
    }
    match reception.fault(args.isi) {
        None => Ok(()),
        Some(fault) => Err(Failure::new(format!("{}: a signal is there, but {fault}", reception.name))),
    }
}

impl RxArgs {
    /// The files of which the names are known from the start.
    fn files(&self) -> Result<Files, Failure> {
        let mut files = Files::default();
        if let Some(input) = &self.input {
            files.read(input);
            if input.extension().is_some_and(|extension| extension == "sigmf-meta" || extension == "sigmf-data") {
                files.read(&input.with_extension("sigmf-meta"));
                files.read(&input.with_extension("sigmf-data"));
            }
        }
        if let Some(path) = &self.constellation {
            files.write(path, "--constellation")?;
        }
        self.seeing.claim(&mut files)?;
        self.json.claim(&mut files)?;
        Ok(files)
    }
}

/// `any`, or MODCODs with commas between them.
fn modcods(text: &str) -> Result<Modcods, String> {
    if text == "any" {
        return Ok(Modcods::ALL);
    }
    text.split(',').map(|name| name.trim().parse::<Modcod>().map_err(|error| error.to_string())).collect()
}

/// The cores to plan for: those of this machine, or fewer.
fn platform(cores: Option<u32>, kinds: &[String]) -> Result<Platform, Failure> {
    let available = Machine::here().usable() as u32;
    if let Some(cores) = cores.filter(|&cores| cores > available) {
        eprintln!("bief: {cores} cores were asked for, this machine has {available}: using {available}");
    }
    let cores = cores.unwrap_or(available).min(available);
    Platform::new([CoreKind::new(&kinds[0], cores)]).map_err(Failure::from_error)
}
