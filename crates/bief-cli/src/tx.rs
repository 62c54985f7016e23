//! `bief tx`: a transport stream becomes a DVB-S2 recording.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use bief_dsp::dvbs2::{FrameSize, Modcod, Pls, RollOff};
use bief_radio::dvbs2::Transmitter;
use bief_radio::{SampleFormat, sigmf_meta};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::json::{JsonArgs, print};
use crate::progress::progress;
use crate::table::facts;

const EXAMPLES: &str = "\
Examples:
  bief tx in.ts -o out.sigmf-meta --modcod qpsk-8/9 --frame short
  bief tx in.ts -o out.sigmf-meta --modcod qpsk-8/9 --rolloff 0.35 --sps 4
  cat in.ts | bief tx - -o out.sigmf-meta --modcod qpsk-1/2 --format cf32";

/// Arguments of `bief tx`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TxArgs {
    /// Transport stream of 188-byte packets; `-` for standard input
    input: PathBuf,
    /// SigMF description to write; the samples go beside it, as .sigmf-data
    #[arg(short, long, value_name = "OUT.sigmf-meta")]
    output: PathBuf,
    /// Modulation and code rate: qpsk-1/4 to qpsk-9/10
    #[arg(long)]
    modcod: Modcod,
    /// FECFRAME size
    #[arg(long, value_enum)]
    frame: Frame,
    /// Insert pilot symbols
    #[arg(long)]
    pilots: bool,
    /// Roll-off of the pulses: 0.35, 0.25 or 0.20
    #[arg(long, default_value = "0.20", value_parser = roll_off)]
    rolloff: RollOff,
    /// Samples per symbol
    #[arg(long, default_value_t = 2.0)]
    sps: f64,
    /// Symbols per second to write in the description [default: the sample rate is given in samples per symbol]
    #[arg(long, value_name = "HZ")]
    symbol_rate: Option<f64>,
    /// Sample format: cf32, ci16, ci8 or cu8
    #[arg(long, default_value_t = SampleFormat::Ci16)]
    format: SampleFormat,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Frame {
    /// 64800 bits
    Normal,
    /// 16200 bits
    Short,
}

impl From<Frame> for FrameSize {
    fn from(frame: Frame) -> Self {
        match frame {
            Frame::Normal => Self::Normal,
            Frame::Short => Self::Short,
        }
    }
}

/// A roll-off as it is typed.
pub(crate) fn roll_off(text: &str) -> Result<RollOff, String> {
    match text.parse::<f32>() {
        Ok(0.35) => Ok(RollOff::R35),
        Ok(0.25) => Ok(RollOff::R25),
        Ok(0.2) => Ok(RollOff::R20),
        _ => Err("DVB-S2 has the roll-offs 0.35, 0.25 and 0.20".to_owned()),
    }
}

/// Root mean square of the samples, as a share of full scale: pulses reach about twice that.
const LEVEL: f32 = 0.35;

/// Transmits.
pub(crate) fn run(args: TxArgs) -> Result<(), Failure> {
    let transmitter = Transmitter {
        pls: Pls::from_parts(args.modcod, args.frame.into(), args.pilots),
        roll_off: args.rolloff,
        samples_per_symbol: args.sps,
        format: args.format,
        level: LEVEL,
    };
    if args.output.extension().is_none_or(|extension| extension != "sigmf-meta") {
        return Err(Failure::new(format!("{}: the output must be named *.sigmf-meta", args.output.display())));
    }
    let sample_rate = args.sps * args.symbol_rate.unwrap_or(1.0);
    if !(sample_rate.is_finite() && sample_rate > 0.0) {
        return Err(Failure::new("--sps and --symbol-rate must be positive numbers"));
    }
    let data = args.output.with_extension("sigmf-data");
    let cannot = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| Failure::new(format!("{path}: {error}"))
    };
    let (input, bytes): (Box<dyn Read + Send>, _) = match args.input.to_str() {
        Some("-") => (Box::new(io::stdin()), None),
        _ => {
            let file = File::open(&args.input).map_err(cannot(&args.input))?;
            let bytes = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|facts| facts.len());
            if bytes == Some(0) {
                return Err(Failure::new(format!("{}: is empty: there is nothing to transmit", args.input.display())));
            }
            (Box::new(file), bytes)
        }
    };
    // Built once before the output is touched, so that a refusal leaves no file behind.
    transmitter.chain(io::empty(), io::sink()).and_then(bief::Chain::build).map_err(Failure::from_error)?;
    let samples = BufWriter::new(File::create(&data).map_err(cannot(&data))?);
    let description = format!("DVB-S2 {}, roll-off {:.2}", transmitter.pls, transmitter.roll_off.value());
    let bar = progress(bytes);
    let outcome =
        transmitter.chain(bar.wrap_read(input), samples).and_then(bief::Chain::build).and_then(bief::Program::run);
    bar.finish_and_clear();
    // Also after a fault: what was transmitted before can be received.
    let mut meta = File::create(&args.output).map_err(cannot(&args.output))?;
    meta.write_all(sigmf_meta(args.format, sample_rate, &description).as_bytes()).map_err(cannot(&args.output))?;
    let report = outcome.map_err(Failure::from_error)?;

    args.json.write(|| {
        let value = serde_json::json!({
            "output": args.output, "pls": transmitter.pls.value(), "description": description,
            "plframes": report.frames, "seconds": report.seconds,
        });
        format!("{value:#}")
    })?;
    if args.json.on_stdout() {
        return Ok(());
    }
    let megabits = transmitter.bits_per_frame().unwrap_or(0) as f64 * report.frames as f64 / 1e6;
    print(&facts(&[
        ("signal", description),
        ("PLFRAMEs", report.frames.to_string()),
        ("samples", format!("{} ({}, {} per symbol)", data.display(), args.format, args.sps)),
        ("time", format!("{:.2} s, {:.1} Mb/s", report.seconds, megabits / report.seconds)),
    ]))
}
