//! `bief nbfm`: a recording of narrowband FM becomes audio.

mod hearing;
mod latency;
mod output;
mod settings;

use std::sync::atomic::Ordering;
use std::time::Instant;

use bief::Application;
use bief_radio::{FmFigures, NarrowbandFm, Recording, SampleFormat};
use clap::Args;
use indicatif::ProgressBar;

use self::hearing::{Hearing, show};
use self::latency::{LatencyArgs, Live};
use self::output::Output;
use self::settings::SettingArgs;
pub use self::settings::audio_rate;
use crate::failure::Failure;
use crate::files::Files;
use crate::input::RecordingArgs;
use crate::interrupt::{ended_by_signal, stop_at_interrupt};
use crate::job::JobArgs;
use crate::json::JsonArgs;
use crate::page::{self, PageArgs};
use crate::progress::{followed, progress};
use crate::radio::RadioArgs;
use crate::rx::SignalArgs;
use crate::seeing::SeeingArgs;
use crate::text::printable;
use bief::machine::clock::process_time;

const EXAMPLES: &str = "\
Examples:
  bief nbfm                              the built-in recording
  bief nbfm capture.sigmf-meta           audio goes to capture.wav
  bief nbfm capture.cu8 --rate 2.4e6 --carrier -25e3 -o talk.wav
  radio | bief nbfm - --format cu8 --rate 576e3 -o - | aplay -f S16_LE -r 48000
  bief nbfm capture.sigmf-meta --deviation 2500 --deemphasis 750us
  bief nbfm capture.sigmf-meta --pace --block 744
                                         at the pace of a live radio, with the
                                         load of a core
  bief nbfm capture.sigmf-meta --pace --latency 20ms
                                         the block, the stages and the reserved
                                         time that meet 20 ms at least work
  bief nbfm capture.sigmf-meta --json    the figures as JSON
  bief nbfm --radio driver=rtlsdr --frequency 145.5e6 \
    --sample-rate 960e3 -o talk.wav      a dongle; see `bief radio`

The carrier is found in the first half second with a signal and tracked over up
to half of the deviation; with --carrier, the search starts there (for a carrier
next to a stronger one) and ends one deviation away. A moving carrier adds DC to
the audio: --high-pass removes it.
Signals 9.6 kHz or more from the carrier (at --deviation 5000; 6.6 kHz at 2500)
are attenuated by 74 dB.
A file that exists is replaced only if -o names it, or with --force. Outputs are
NAME.part until they are whole, at the end of a run with exit status 0. Without
INPUT, the name behind --json is the input if it is a recording.
Ctrl-C, SIGTERM or SIGHUP ends the reception and writes what was received; a
second one quits at once. The exit status is then 128 plus the signal's number
(130, 143, 129), but 0 for standard input, which has no other end.";

/// The name of the recording that is built in.
const SAMPLE_NAME: &str = "nbfm_tones";
const SAMPLE: &[u8] = include_bytes!("../../data/nbfm_tones.sigmf-data");
/// The sample rate of the recording that is built in, in samples per second.
pub const SAMPLE_RATE: f64 = 576e3;

/// Arguments of `bief nbfm`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NbfmArgs {
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    output: output::OutputArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Play samples no faster than they were recorded, like a live radio
    #[arg(long)]
    pace: bool,
    #[command(flatten)]
    latency: LatencyArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    radio: RadioArgs,
}

/// Receives.
pub(crate) fn run(args: NbfmArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = receive(args, &mut files);
    files.end(outcome)
}

/// Receives to files of which the names tell that they are not whole yet.
fn receive(mut args: NbfmArgs, files: &mut Files) -> Result<(), Failure> {
    args.recording.take_from(&mut args.json);
    args.radio.tune(&mut args.recording)?;
    let input = args.recording.input.as_deref();
    if args.job.is_done(&args.json, &[args.output.path(input)?])? {
        return Ok(());
    }
    args.claim(files)?;
    let output = Output::new(&args.output, input, files)?;
    if output.is_stdout() && args.json.on_stdout() {
        return Err(Failure::usage("audio and JSON cannot both go to standard output: give --json a file"));
    }
    let live = match (args.pace, args.recording.is_live()) {
        (true, _) => Live::Paced,
        (false, true) => Live::Input,
        (false, false) => Live::No,
    };
    args.latency.check(live)?;
    let page = args.page.bind()?;
    let recording = args.recording.open(built_in, files)?;
    let (name, bytes, format) = (recording.name.clone(), recording.bytes, recording.format);
    let gaps = recording.gaps.clone();
    let lines = args.job.lines(bytes)?;
    let bar = progress(bytes);
    bar.set_message("searching for the carrier");
    let tuned = args.settings.tune(recording).inspect_err(|_| bar.finish_and_clear())?;

    let application = output.of(tuned.receiver.on(tuned.recording), files);
    let application = if args.page.is_given() { application.keep_spectrum() } else { application };
    let (application, releases) = match args.pace {
        true => {
            let (paced, releases) = application.paced();
            (paced, Some(releases))
        }
        false => (application, None),
    };
    bar.set_message("measuring blocks of several lengths");
    let kept = args.latency.plan(&application, live).inspect_err(|_| bar.finish_and_clear())?;
    let mut application = match &kept {
        Some(kept) => application.block(kept.block),
        None => application,
    };
    let receiver = *application.settings();
    let program = application.program().map_err(Failure::from_error)?;
    let pipeline = match &kept {
        None => program.one_core(),
        Some(kept) => kept.pipeline(program, live),
    };
    let mut pipeline = args.seeing.prepare(pipeline.map_err(Failure::from_error)?)?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    // It tells what was heard after a fault, too.
    let mut watch = pipeline.watch();
    let shown_page = page::show(page, format!("nbfm {}", printable(&name)), &mut pipeline, None)?;

    let (start, before) = (Instant::now(), process_time());
    let bytes_per_second = receiver.sample_rate * format.bytes() as f64;
    let show = |bar: &ProgressBar, heard: &FmFigures| show(bar, heard, bytes_per_second);
    let outcome = followed(&bar, lines, || FmFigures::of(&watch.figures()), show, || pipeline.run());
    let (seconds, worked) = (start.elapsed().as_secs_f64(), process_time() - before);
    let was_stopped = page::close(shown_page);
    let pictures = args.seeing.write(&pipeline);
    let (report, fault) = match outcome {
        Ok(report) => (Some(report), None),
        Err(error) => (None, Some(error)),
    };
    let interrupted = interrupted.load(Ordering::Relaxed) || was_stopped;
    let hearing = Hearing {
        name,
        output,
        receiver,
        kept,
        how: tuned.how,
        heard: FmFigures::of(&watch.figures()),
        lost: gaps.map_or(0, |gaps| gaps.total() / format.bytes() as u64),
        interrupted,
        seconds,
        core_share: worked.as_secs_f64() / seconds,
        punctuality: releases.and_then(|releases| releases.last()),
        report,
    };
    args.json.deliver(files, || hearing.to_json(), || hearing.table(&args.seeing), hearing.output.is_stdout())?;
    if let Some(error) = fault {
        // What its tasks hold is written when they go.
        drop(pipeline);
        let message = format!("{}: {error}; what was received before is kept", hearing.name);
        return Err(Failure::of_run(&error, message));
    }
    pictures?;
    if interrupted && !args.recording.is_live() {
        // Live input has no other end. A part of a file is not what was asked for.
        let message = format!("{}: interrupted; what was received before is kept", hearing.name);
        return Err(ended_by_signal(message));
    }
    Ok(())
}

/// The receiver of the recording that is built in: the case by which batches were studied in GNU Radio.
pub fn built_in_receiver() -> NarrowbandFm {
    NarrowbandFm::new(SAMPLE_RATE, 1200.0, 5000.0, 48_000)
}

/// That receiver, to be measured at the pace of a radio.
pub(crate) fn examined(signal: &SignalArgs, _: &mut Files, _: &ProgressBar) -> Result<Box<dyn Application>, Failure> {
    if signal.is_given() {
        let reason = "nbfm: measured on a tone at 576 kS/s: INPUT and the options of a signal go with `rx`";
        return Err(Failure::usage(reason));
    }
    Ok(Box::new(built_in_receiver().on(built_in()).paced().0))
}

/// The recording that is built in.
fn built_in() -> Recording {
    let mut recording = Recording::from_memory(SAMPLE_NAME, SampleFormat::Ci8, SAMPLE);
    recording.sample_rate = Some(SAMPLE_RATE);
    recording
}

impl NbfmArgs {
    /// Notes the files of which the names are known from the start.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        self.recording.claim(files)?;
        self.seeing.claim(files)?;
        self.job.claim(files)?;
        self.json.claim(files)
    }
}
