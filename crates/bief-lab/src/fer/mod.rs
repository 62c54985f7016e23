//! `bief lab fer`: frame error rates, by sending many frames through the whole chain, and beside it those of an ideal receiver.

mod count;
mod curve;
mod ideal;
mod measure;
mod receiver;
mod report;
mod results;
mod setup;
mod sweep;

use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use bief_cli::draw;
use bief_cli::failure::Failure;
use bief_cli::files::{Files, is_dash};
use bief_cli::interrupt::{at_interrupt, ended_by_signal};
use bief_cli::json::{JsonArgs, print};
use bief_cli::progress::spinner;
use bief_cli::tx::{Frame, roll_off};
use bief_dsp::dvbs2::{Modcod, Pls, RollOff};
use clap::{Args, ValueEnum};

use self::count::{Count, Rule};
use self::ideal::Synchronised;
use self::measure::{Chain, measure};
use self::receiver::Whole;
use self::report::Report;
use self::results::Results;
use self::setup::{EsN0, Kind, Oscillator, Setup};
use self::sweep::{Levels, sweep};

const EXAMPLES: &str = "\
Examples:
  bief lab fer --modcod qpsk-8/9 --frame short
      around the threshold, until fewer than one frame in 1000 is lost
  bief lab fer --modcod qpsk-8/9 --frame short --with receiver,ideal
      the loss of the receiver against an ideal one
  bief lab fer --modcod 256apsk-3/4 --frame normal --with receiver,decoder
      what of its losses is due to synchronisation
  bief lab fer --modcod qpsk-8/9 --frame short --esn0 6:6.5:0.1
           -o a.csv --svg a.svg
  bief lab fer --modcod qpsk-8/9 --frame short --esn0 6:6.5:0.1
           -o a.csv --frame-errors 1000
      continues a.csv
  bief lab fer --modcod qpsk-8/9 --frame short --phase-noise mask
           --symbol-rate 1e6

Frames of random content pass in blocks of a few tens through transmitter,
channel and receiver, which must acquire each block again. The channel has white
noise and, unless --carrier and --clock are given, a random carrier offset
within ±0.01 cycles per symbol and a clock error within ±20 ppm in each block. A
frame is wrong if it differs from the one sent; `lost` counts the wrong frames
that synchronisation lost, which no decoder saw.
Ctrl-C ends the measurement; the results so far are shown and kept.";

/// Arguments of `bief lab fer`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FerArgs {
    /// Modulation and code rate: qpsk-1/4 to 32apsk-9/10 of DVB-S2, or of DVB-S2X, such as 64apsk-11/15 or 8apsk-5/9-l
    #[arg(long)]
    modcod: Modcod,
    /// FECFRAME size
    #[arg(long, value_enum)]
    frame: Frame,
    /// Pilot symbols [default: on]
    #[arg(long, value_enum)]
    pilots: Option<Pilots>,
    /// Es/N0 in dB: a list such as 6.0,6.2 or FROM:TO:STEP [default: around the threshold, by 0.1, until FER < 0.001]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    esn0: Option<Levels>,
    /// Receivers to measure: one, or several for the loss of one against another
    #[arg(long, value_enum, value_name = "CHAINS", value_delimiter = ',', default_value = "receiver")]
    with: Vec<Kind>,
    /// Frame errors after which a point is done
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    frame_errors: u64,
    /// Frames after which a point is done
    #[arg(long, value_name = "MAX", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    frames: u64,
    /// Cores to use; the result does not depend on it [default: all of this machine]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cores: Option<u32>,
    /// Samples per symbol [default: 2]
    #[arg(long, value_name = "X")]
    sps: Option<f64>,
    /// Roll-off of the pulses: 0.35, 0.25, 0.20, 0.15, 0.10 or 0.05 [default: 0.20]
    #[arg(long, value_parser = roll_off)]
    rolloff: Option<RollOff>,
    /// Carrier offset in cycles per symbol [default: random in each block]
    #[arg(long, value_name = "CYCLES", allow_hyphen_values = true)]
    carrier: Option<f64>,
    /// Clock error in parts per million [default: random in each block]
    #[arg(long, value_name = "PPM", allow_hyphen_values = true)]
    clock: Option<f64>,
    /// Phase noise: off, mask (which DVB-S2 receivers must tolerate), or dB above the mask [default: off]
    #[arg(long, value_name = "off|mask|DB", value_parser = phase_noise, allow_hyphen_values = true)]
    phase_noise: Option<PhaseNoise>,
    /// Symbols per second, for the phase noise
    #[arg(long, value_name = "HZ")]
    symbol_rate: Option<f64>,
    /// Seed of the random numbers; the same on every machine
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write the points as CSV to FILE; an existing file is continued
    #[arg(short, long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
    /// Draw the curves as SVG into FILE; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Pilots {
    On,
    Off,
}

/// Phase noise as it is asked for.
#[derive(Clone, Copy, PartialEq)]
enum PhaseNoise {
    Off,
    /// So many dB above the mask.
    Above(f64),
}

fn phase_noise(text: &str) -> Result<PhaseNoise, String> {
    match text {
        "off" => Ok(PhaseNoise::Off),
        "mask" => Ok(PhaseNoise::Above(0.0)),
        _ => match text.parse::<f64>() {
            Ok(db) if db.abs() <= 100.0 => Ok(PhaseNoise::Above(db)),
            _ => Err("give off, mask, or a number of dB above the mask, such as -6".to_owned()),
        },
    }
}

/// How often the file is written while a point takes long.
const WRITTEN_EVERY: Duration = Duration::from_secs(2);
/// Samples per symbol that the receiver takes.
const RATES: std::ops::RangeInclusive<f64> = 1.5..=8.0;

/// Measures.
pub(crate) fn run(args: FerArgs) -> Result<(), Failure> {
    let setup = args.setup()?;
    args.check_targets()?;
    let rule = Rule { errors: args.frame_errors, frames: args.frames };
    let mut kinds = args.with.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let chains = kinds.iter().map(|kind| Ok((*kind, chains(*kind, &setup, args.cores)?)));
    let chains = chains.collect::<Result<Vec<_>, Failure>>()?;
    let mut results = Results::open(&setup, args.output.as_deref())?;

    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    at_interrupt(move || stopped.store(true, Relaxed))?;
    let mut run = Run { setup, rule, stop, results: &mut results, frames: 0 };
    let start = Instant::now();
    let outcome = chains.into_iter().try_for_each(|(kind, mut chains)| {
        sweep(&setup, args.esn0.as_ref(), &rule, |es_n0| run.point(kind, &mut chains, es_n0))
    });
    let took = (start.elapsed(), run.frames);
    let is_stopped = run.stop.load(Relaxed);
    // Also after a fault: what was measured before is worth what it was.
    results.write()?;
    if outcome.is_err() && !is_stopped {
        return outcome;
    }
    args.deliver(&Report { setup: &setup, rule: &rule, results: &results, took })?;
    outcome
}

/// A chain for each core.
fn chains(kind: Kind, setup: &Setup, cores: Option<u32>) -> Result<Vec<Box<dyn Chain>>, Failure> {
    let threads = cores.map_or_else(|| available_parallelism().map_or(1, NonZero::get), |cores| cores as usize);
    let chain = |_| -> Result<Box<dyn Chain>, Failure> {
        Ok(match kind {
            Kind::Receiver => Box::new(Whole::new(setup)?),
            Kind::Ideal => Box::new(Synchronised::ideal(setup)?),
            Kind::Decoder => Box::new(Synchronised::own(setup)?),
        })
    };
    (0..threads).map(chain).collect()
}

/// A measurement that goes on.
struct Run<'a> {
    setup: Setup,
    rule: Rule,
    stop: Arc<AtomicBool>,
    results: &'a mut Results,
    /// Frames that were measured.
    frames: u64,
}

impl Run<'_> {
    fn point(&mut self, kind: Kind, chains: &mut [Box<dyn Chain>], es_n0: EsN0) -> Result<Count, Failure> {
        let (setup, rule, results) = (self.setup, self.rule, &mut *self.results);
        let before = results.get(kind, es_n0);
        let bar = spinner(format!("{}, Es/N0 {es_n0} dB", kind.name()));
        let mut written = Instant::now();
        let seed = |block: u64| setup.seed(kind, es_n0, block);
        let count = measure(chains, es_n0, seed, (before, &rule), &self.stop, |count| {
            bar.set_message(format!(
                "{}, Es/N0 {es_n0} dB: {} errors in {} frames",
                kind.name(),
                count.all.errors,
                count.all.frames
            ));
            results.set(kind, es_n0, *count);
            if written.elapsed() < WRITTEN_EVERY {
                return Ok(());
            }
            written = Instant::now();
            results.write()
        });
        bar.finish_and_clear();
        let count = count?;
        results.write()?;
        self.frames += count.all.frames - before.all.frames;
        if self.stop.load(Relaxed) {
            let kept = results.file().map_or_else(
                || "what was measured is not kept: give -o FILE.csv".to_owned(),
                |path| format!("what was measured is kept in {}", path.display()),
            );
            return Err(ended_by_signal(format!("interrupted; {kept}")));
        }
        Ok(count)
    }
}

impl FerArgs {
    fn setup(&self) -> Result<Setup, Failure> {
        self.check_receiver()?;
        let in_range = |name: &str, value: Option<f64>, most: f64| match value {
            Some(value) if value.is_nan() || value.abs() > most => {
                Err(Failure::new(format!("--{name} {value}: give a number from -{most} to {most}")))
            }
            value => Ok(value),
        };
        let samples_per_symbol = self.sps.unwrap_or(2.0);
        if !RATES.contains(&samples_per_symbol) {
            return Err(Failure::new(format!(
                "--sps {samples_per_symbol}: give {} to {}, such as 2, 2.5 or 4",
                RATES.start(),
                RATES.end()
            )));
        }
        let (size, pilots) = (self.frame.into(), self.pilots != Some(Pilots::Off));
        let undefined = || Failure::new(format!("DVB-S2 has no {} with {size} frames", self.modcod));
        Pls::from_parts(self.modcod, size, pilots).ok_or_else(undefined)?;
        Ok(Setup {
            modcod: self.modcod,
            size,
            pilots,
            roll_off: self.rolloff.unwrap_or(RollOff::R20),
            samples_per_symbol,
            carrier: in_range("carrier", self.carrier, 0.5)?,
            clock_ppm: in_range("clock", self.clock, 1000.0)?,
            oscillator: self.oscillator()?,
            seed: self.seed,
        })
    }

    /// Finds options that would change nothing, as no receiver takes part.
    fn check_receiver(&self) -> Result<(), Failure> {
        if self.with.contains(&Kind::Receiver) {
            return Ok(());
        }
        let given = [
            ("--pilots", self.pilots.is_some()),
            ("--sps", self.sps.is_some()),
            ("--rolloff", self.rolloff.is_some()),
            ("--carrier", self.carrier.is_some()),
            ("--clock", self.clock.is_some()),
            ("--phase-noise", self.phase_noise.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Failure::new(format!(
                "{name}: changes nothing for chains that need not synchronise: leave it out, or give --with receiver,ideal"
            ))),
            None => Ok(()),
        }
    }

    fn oscillator(&self) -> Result<Option<Oscillator>, Failure> {
        match (self.phase_noise.unwrap_or(PhaseNoise::Off), self.symbol_rate) {
            (PhaseNoise::Off, None) => Ok(None),
            (PhaseNoise::Off, Some(_)) => Err(Failure::new(
                "--symbol-rate: changes nothing without phase noise: leave it out, or give --phase-noise mask",
            )),
            (PhaseNoise::Above(_), None) => Err(Failure::new(
                "--phase-noise: its effect depends on the symbol rate: give --symbol-rate, such as --symbol-rate 1e6",
            )),
            (PhaseNoise::Above(shift_db), Some(symbol_rate)) if (1e3..=1e9).contains(&symbol_rate) => {
                Ok(Some(Oscillator { shift_db, symbol_rate }))
            }
            (PhaseNoise::Above(_), Some(rate)) => {
                Err(Failure::new(format!("--symbol-rate {rate}: give a number from 1e3 to 1e9")))
            }
        }
    }

    /// Finds out before the measurement whether its results can be delivered.
    fn check_targets(&self) -> Result<(), Failure> {
        if self.output.as_deref().is_some_and(is_dash) {
            return Err(Failure::new(
                "-o -: points go to a file, from which a later run goes on; give --json for standard output",
            ));
        }
        if self.json.on_stdout() && self.svg_on_stdout() {
            return Err(Failure::new("JSON and SVG cannot both go to standard output: give --json or --svg a file"));
        }
        let mut files = Files::default();
        for (path, option) in [(&self.output, "-o"), (&self.svg, "--svg")] {
            path.as_deref().map_or(Ok(()), |path| files.write(path, option))?;
        }
        self.json.claim(&mut files)?;
        let svg = self.svg.as_deref().filter(|path| !is_dash(path));
        for path in svg.into_iter().chain(self.json.file()) {
            File::options().append(true).create(true).open(path).map_err(|error| cannot_write(path, &error))?;
        }
        Ok(())
    }

    fn svg_on_stdout(&self) -> bool {
        self.svg.as_deref().is_some_and(is_dash)
    }

    fn deliver(&self, report: &Report) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            draw::write(path, report.figure().svg()?.trim_end())?;
        }
        self.json.write(|| format!("{:#}", report.json()))?;
        if self.json.on_stdout() || self.svg_on_stdout() {
            return Ok(());
        }
        print(&report.table())
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: cannot write: {error}; name another file", path.display()))
}
