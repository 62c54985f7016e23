//! `bief rx`: a DVB-S2 recording becomes a transport stream.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, Schedule};
use bief::{Machine, Report};
use bief_dsp::dvbs2::Modcod;
use bief_radio::dvbs2::{Figures, Modcods, Receiver, Scatter, Settings, Status};
use bief_radio::{Recording, SampleFormat};
use clap::Args;
use indicatif::ProgressBar;

use crate::draw;
use crate::failure::Failure;
use crate::interrupt::{INTERRUPTED, stop_at_interrupt};
use crate::json::{JsonArgs, is_dash, print};
use crate::progress::{progress, shown};
use crate::seeing::SeeingArgs;
use crate::table::facts;

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
    /// Where packets go; `-` for standard output [default: NAME.ts beside the input]
    #[arg(short, long, value_name = "OUT.ts")]
    output: Option<PathBuf>,
    /// Most cores to use [default: all of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_000))]
    cores: Option<u32>,
    /// Sample format of a raw input: cf32, ci16, ci8 or cu8
    #[arg(long)]
    format: Option<SampleFormat>,
    /// Samples per symbol
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

const SAMPLE_NAME: &str = "dvbs2_qpsk_8-9_short";
const SAMPLE: &[u8] = include_bytes!("../../../data/dvbs2_qpsk_8-9_short.sigmf-data");
const SAMPLE_RATE: f64 = 2.0;
/// A SigMF sample rate below this is taken as samples per symbol: no radio samples so slowly.
const LEAST_SAMPLE_RATE: f64 = 64.0;
/// The receiver does not tell higher ratios apart.
const MOST_ES_N0_DB: f64 = 29.9;
/// Frames that are timed to make a plan.
const PROFILED_FRAMES: usize = 100;

/// Receives.
pub(crate) fn run(mut args: RxArgs) -> Result<(), Failure> {
    if args.input.is_none() {
        args.input = args.json.misplaced_input();
    }
    let to_stdout = args.output.as_deref().is_some_and(is_dash);
    if to_stdout && args.json.on_stdout() {
        return Err(Failure::new("packets and JSON cannot both go to standard output: give --json a file"));
    }
    let output = output_path(&args)?;
    let recording = open(&args)?;
    if args.live && recording.bytes.is_some() {
        return Err(Failure::new(format!(
            "{}: a file waits, and would be read faster than it can be received: leave out --live",
            recording.name
        )));
    }
    let samples_per_symbol = samples_per_symbol(&args, &recording)?;
    let symbol_rate =
        recording.sample_rate.filter(|&rate| rate >= LEAST_SAMPLE_RATE).map(|rate| rate / samples_per_symbol);
    let (name, bytes) = (recording.name.clone(), recording.bytes);
    let sample_bytes = recording.format.bytes() as u64;

    let bar = progress(bytes);
    bar.set_message("searching for a signal");
    let settings = Settings { samples_per_symbol, gold_code: args.gold, modcods: args.modcod };
    let receiver = Receiver::find(recording, settings, |read| bar.set_position(read));
    bar.set_position(0);
    let receiver = receiver.inspect_err(|_| bar.finish_and_clear()).map_err(Failure::from_error)?;
    let receiver = if args.live { receiver.live().map_err(Failure::from_error)? } else { receiver };
    let scatter = args.constellation.is_some().then(Arc::<Scatter>::default);
    let receiver = match &scatter {
        Some(scatter) => receiver.scatter(scatter),
        None => receiver,
    };
    let profile = receiver.profile(PROFILED_FRAMES).map_err(Failure::from_error)?;
    let schedule = Exact.schedule(&profile, &platform(args.cores, profile.kinds())?).map_err(Failure::from_error)?;

    let status = Arc::new(Status::default());
    let mut pipeline = receiver
        .chain(writer(&output)?, Arc::clone(&status))
        .and_then(bief::Chain::build)
        .and_then(|program| program.pipeline(&schedule)?.beside(&profile))
        .map_err(Failure::from_error)
        .and_then(|pipeline| args.seeing.prepare(pipeline))?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    let outcome = shown(&bar, |bar| show(bar, &status), || pipeline.run());
    args.seeing.write(&pipeline)?;
    if let Some((path, scatter)) = args.constellation.as_deref().zip(scatter) {
        draw::write(path, &draw::constellation::draw(&scatter.symbols(), &name))?;
    }
    let figures = status.figures();
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed);

    let reception = Reception { name, output, symbol_rate, figures, interrupted, report };
    args.json.write(|| reception.to_json(&profile, &schedule))?;
    if to_stdout {
        eprintln!("{}", reception.table());
    } else if !args.json.on_stdout() {
        print(&reception.table())?;
    }
    if let Some(error) = fault {
        return Err(Failure::new(format!("{}: {error}; what was received before is kept", reception.name)));
    }
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
    if reception.figures.packets == reception.figures.packet_errors {
        let what =
            if reception.figures.frame_errors == 0 { "it carries no packets" } else { "no packet could be decoded" };
        return Err(Failure::new(format!("{}: a signal is there, but {what}", reception.name)));
    }
    Ok(())
}

/// `any`, or MODCODs with commas between them.
fn modcods(text: &str) -> Result<Modcods, String> {
    if text == "any" {
        return Ok(Modcods::ALL);
    }
    text.split(',').map(|name| name.trim().parse::<Modcod>().map_err(|error| error.to_string())).collect()
}

fn open(args: &RxArgs) -> Result<Recording, Failure> {
    match &args.input {
        None => {
            let mut recording = Recording::from_memory(SAMPLE_NAME, SampleFormat::Ci8, SAMPLE);
            recording.sample_rate = Some(SAMPLE_RATE);
            Ok(recording)
        }
        Some(path) if is_dash(path) => Recording::from_stdin(args.format).map_err(Failure::from_error),
        Some(path) => Recording::open(path, args.format).map_err(Failure::from_error),
    }
}

/// Where packets go: beside the input, in the current folder for the recording that is built in.
fn output_path(args: &RxArgs) -> Result<PathBuf, Failure> {
    if let Some(output) = &args.output {
        return Ok(output.clone());
    }
    match &args.input {
        None => Ok(PathBuf::from(SAMPLE_NAME).with_extension("ts")),
        Some(path) if is_dash(path) => {
            Err(Failure::new("standard input has no name: give -o OUT.ts, or -o - for standard output"))
        }
        Some(path) => {
            let known = ["sigmf-meta", "sigmf-data", "cf32", "ci16", "ci8", "cu8", "raw", "bin", "iq"];
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
            let output = if known.contains(&extension) {
                path.with_extension("ts")
            } else {
                let mut name = path.as_os_str().to_owned();
                name.push(".ts");
                name.into()
            };
            Ok(output)
        }
    }
}

fn writer(output: &Path) -> Result<Box<dyn Write + Send>, Failure> {
    if is_dash(output) {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    let file = File::create(output).map_err(|error| Failure::new(format!("{}: {error}", output.display())))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn samples_per_symbol(args: &RxArgs, recording: &Recording) -> Result<f64, Failure> {
    match (args.sps, args.symbol_rate, recording.sample_rate) {
        (Some(sps), _, _) => Ok(sps),
        (None, Some(symbol_rate), Some(rate)) if symbol_rate > 0.0 => Ok(rate / symbol_rate),
        (None, Some(_), Some(_)) => Err(Failure::new("--symbol-rate must be a positive number")),
        (None, Some(_), None) => Err(Failure::new(format!(
            "{}: its sample rate is not known: give --sps in place of --symbol-rate",
            recording.name
        ))),
        (None, None, Some(rate)) if rate < LEAST_SAMPLE_RATE => Ok(rate),
        (None, None, Some(rate)) => Err(Failure::new(format!(
            "{}: {rate} samples per second, but how many symbols? Give --symbol-rate or --sps",
            recording.name
        ))),
        (None, None, None) => Err(Failure::new(format!(
            "{}: its samples per symbol are not known: give --sps (2 or 4 are usual)",
            recording.name
        ))),
    }
}

/// The cores to plan for: those of this machine, or fewer.
fn platform(cores: Option<u32>, kinds: &[String]) -> Result<Platform, Failure> {
    let available = Machine::here().cores().len() as u32;
    if let Some(cores) = cores.filter(|&cores| cores > available) {
        eprintln!("bief: {cores} cores were asked for, this machine has {available}: using {available}");
    }
    let cores = cores.unwrap_or(available).min(available);
    Platform::new([CoreKind::new(&kinds[0], cores)]).map_err(Failure::from_error)
}

/// Shows on the bar how the reception is going.
fn show(bar: &ProgressBar, status: &Status) {
    let figures = status.figures();
    bar.set_position(figures.bytes);
    let es_n0 = figures.es_n0_db.map_or_else(String::new, |db| format!("Es/N0 {db:.1} dB, "));
    let margin = figures.margin_db.map_or_else(String::new, |db| format!("margin {db:+.1} dB, "));
    let kind = match figures.kinds.as_slice() {
        [] => String::new(),
        [kind] => format!("{}, ", kind.name),
        kinds => format!("{} kinds of frames, ", kinds.len()),
    };
    let lost = match figures.lost_samples {
        0 => String::new(),
        samples => format!(", {samples} samples lost"),
    };
    let Figures { packets, frame_errors, .. } = figures;
    bar.set_message(format!("{kind}{es_n0}{margin}{packets} packets, {frame_errors} frame errors{lost}"));
}

/// What is told of a reception.
struct Reception {
    name: String,
    output: PathBuf,
    symbol_rate: Option<f64>,
    figures: Figures,
    /// Ended by Ctrl-C.
    interrupted: bool,
    /// `None` after a fault.
    report: Option<Report>,
}

impl Reception {
    fn megabits_per_second(&self) -> Option<f64> {
        let report = self.report.as_ref()?;
        Some(self.figures.bits as f64 / report.seconds / 1e6)
    }

    fn table(&self) -> String {
        let figures = &self.figures;
        let number = |value: Option<f64>, unit: &str, digits: usize| {
            value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:+.digits$} {unit}"))
        };
        let carrier = match (figures.carrier_per_symbol, self.symbol_rate) {
            (Some(cycles), Some(rate)) => format!("{:+.1} Hz", cycles * rate),
            (cycles, _) => number(cycles, "cycles per symbol", 6),
        };
        let es_n0 = match figures.es_n0_db {
            Some(db) if db >= MOST_ES_N0_DB => format!("{MOST_ES_N0_DB} dB or more"),
            Some(db) => format!("{db:.2} dB"),
            None => "unknown".to_owned(),
        };
        let margin = figures.margin_db.map_or_else(String::new, |db| format!(", {db:+.1} dB to the threshold"));
        let mut rows = vec![("input", self.name.clone())];
        for kind in &figures.kinds {
            rows.push(("signal", format!("{}: {} frames, {} with errors", kind.name, kind.frames, kind.frame_errors)));
        }
        rows.extend([
            ("Es/N0", es_n0 + &margin),
            ("carrier offset", carrier),
            ("clock offset", number(figures.clock_ppm, "ppm", 2)),
            (
                "frames",
                format!(
                    "{}, {} with errors, {} headers missed",
                    figures.frames, figures.frame_errors, figures.missed_headers
                ),
            ),
            ("packets", format!("{}, {} with errors, {} gaps", figures.packets, figures.packet_errors, figures.gaps)),
        ]);
        if figures.dummy_frames > 0 {
            rows.push(("dummy frames", figures.dummy_frames.to_string()));
        }
        if figures.lost_samples > 0 {
            rows.push(("samples lost", format!("{}, for want of time", figures.lost_samples)));
        }
        if figures.losses > 0 {
            rows.push(("signal lost", format!("{} times", figures.losses)));
        }
        if figures.other_frames > 0 {
            rows.push(("other frames", format!("{}, passed over", figures.other_frames)));
        }
        if self.interrupted {
            rows.push(("interrupted", format!("after {} bytes", figures.bytes)));
        }
        if !is_dash(&self.output) {
            rows.push(("written to", self.output.display().to_string()));
        }
        if let (Some(report), Some(speed)) = (&self.report, self.megabits_per_second()) {
            rows.push(("time", format!("{:.3} s, {speed:.1} Mb/s of information", report.seconds)));
            return format!("{}\n\n{report}", facts(&rows));
        }
        facts(&rows)
    }

    fn to_json(&self, profile: &Profile, schedule: &Schedule) -> String {
        let value = serde_json::json!({
            "input": self.name,
            "output": self.output,
            "figures": self.figures,
            "interrupted": self.interrupted,
            "megabits_per_second": self.megabits_per_second(),
            "profile": profile,
            "schedule": schedule,
            "report": self.report,
        });
        format!("{value:#}")
    }
}
