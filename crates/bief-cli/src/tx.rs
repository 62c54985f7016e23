//! `bief tx`: input streams become a DVB-S2 recording.

use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bief::kinds::{Address, AddressOptions};
use bief_dsp::dvbs2::{FrameSize, Modcod, Pls, RollOff};
use bief_radio::dvbs2::{FrameListError, InputStream, MIN_SAMPLE_RATE, Transmitter, frame_list};
use bief_radio::{SampleFormat, sigmf_meta};
use bief_soapy::Sent;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{address, is_address, path_or_address};
use crate::interrupt::{ended_by_signal, stop_at_interrupt};
use crate::job::JobArgs;
use crate::json::{JsonArgs, print};
use crate::progress::{followed, progress};
use crate::radio::TunerArgs;
use crate::status::Status;
use crate::table::facts;

const EXAMPLES: &str = "\
Examples:
  bief tx in.ts -o out.sigmf-meta --modcod qpsk-8/9 --frame short --pilots
  bief tx in.ts -o out.sigmf-meta --modcod 32apsk-9/10 --frame normal --sps 4
  cat in.ts | bief tx - -o out.sigmf-meta --modcod qpsk-1/2 --frame short

  Modulation and coding that change from frame to frame, and a dummy frame:
  bief tx in.ts -o out.sigmf-meta \\
    --vcm qpsk-1/2:normal:pilots,8psk-3/5:short,bpsk-1/5:medium,dummy

  Two transport streams on one carrier, without their null packets:
  bief tx a.ts b.ts --isi 1,2 --delete-nulls -o out.sigmf-meta \\
    --modcod 8psk-2/3 --frame normal

  Any file, as a generic stream:
  bief tx notes.txt --generic -o out.sigmf-meta --modcod qpsk-1/4 --frame short

  The IP packets of a capture, and back again:
  bief tx in.pcap --gse -o out.sigmf-meta --modcod qpsk-1/2 --frame short
  bief rx out.sigmf-meta --ip out.pcap

  To a radio, or to a program that takes raw samples:
  bief tx in.ts --modcod qpsk-1/2 --frame short --symbol-rate 1e6 \\
    --radio driver=hackrf --frequency 1.27e9 --gain 20
  bief tx in.ts --modcod qpsk-1/2 --frame short --format cf32 \\
    -o zmq+push://*:5555

Who transmits needs a licence, or a cable with an attenuator: the law says who
may on which frequency, and how strongly. Neither --frequency nor --gain has a
default. A transmission begins and ends with a ramp; Ctrl-C ends it so.
Files are NAME.part until they are whole, at the end of a run with exit status 0.";

/// Arguments of `bief tx`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TxArgs {
    /// Transport stream of 188-byte packets (see --generic and --gse for others); `-` for standard input. Several take turns, a frame each
    #[arg(required = true, value_name = "INPUT", value_parser = path_or_address())]
    inputs: Vec<PathBuf>,
    /// SigMF description to write, the samples go next to it, as .sigmf-data; or tcp://, udp:// or zmq+ addresses for raw samples
    #[arg(short, long, value_name = "OUT.sigmf-meta", value_parser = path_or_address(), required_unless_present = "radio",
        conflicts_with = "radio")]
    output: Option<PathBuf>,
    /// Modulation and code rate: qpsk-1/4 to 32apsk-9/10 of DVB-S2, or of DVB-S2X, such as 64apsk-11/15 or 8apsk-5/9-l
    #[arg(long, required_unless_present = "vcm")]
    modcod: Option<Modcod>,
    /// FECFRAME size
    #[arg(long, value_enum, required_unless_present = "vcm")]
    frame: Option<Frame>,
    /// Insert pilot symbols
    #[arg(long)]
    pilots: bool,
    /// Repeating sequence of PLFRAMEs, separated by commas: MODCOD:SIZE, MODCOD:SIZE:pilots, a VL-SNR frame such as bpsk-1/5:medium, or dummy
    #[arg(long, value_name = "LIST", conflicts_with_all = ["modcod", "frame", "pilots", "dummy"])]
    vcm: Option<String>,
    /// Send a dummy frame after every N frames, 1 to 1000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    dummy: Option<u16>,
    /// Gold code of the physical-layer scrambling, 0 to 262141; broadcasts use 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    gold: u32,
    /// Input stream identifier of each input, 0 to 255, separated by commas; required for several inputs
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    isi: Vec<u8>,
    /// Leave out null packets; a receiver restores them
    #[arg(long, conflicts_with = "generic")]
    delete_nulls: bool,
    /// Inputs are not transport streams but any bytes, or with =BYTES packets of that size (2 to 8191) with the same
    /// first byte
    #[arg(long, value_name = "BYTES", num_args = 0..=1, require_equals = true)]
    generic: Option<Option<u16>>,
    /// Inputs are pcap files: their IP packets are sent by GSE
    #[arg(long, conflicts_with_all = ["generic", "delete_nulls"])]
    gse: bool,
    /// Roll-off of the pulses: 0.35, 0.25, 0.20, 0.15, 0.10 or 0.05
    #[arg(long, default_value = "0.20", value_parser = roll_off)]
    rolloff: RollOff,
    /// Samples per symbol
    #[arg(long, default_value_t = 2.0)]
    sps: f64,
    /// Symbols per second, of a radio or to write in the description [default: the sample rate is given in samples per symbol]
    #[arg(long, value_name = "HZ")]
    symbol_rate: Option<f64>,
    /// Sample format: cf32, ci16, ci8 or cu8 [default: ci16; radios get cf32]
    #[arg(long, conflicts_with = "radio")]
    format: Option<SampleFormat>,
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten, next_help_heading = "Radio")]
    tuner: TunerArgs,
}

/// `--frame`: how long a FECFRAME is.
#[derive(Clone, Copy, ValueEnum)]
pub enum Frame {
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
pub fn roll_off(text: &str) -> Result<RollOff, String> {
    let known = text.parse().ok().and_then(RollOff::of);
    known.ok_or_else(|| "DVB-S2 has the roll-offs 0.35, 0.25 and 0.20, and DVB-S2X 0.15, 0.10 and 0.05".to_owned())
}

/// Kinds of frames of a list that are named.
const MOST_NAMED: usize = 5;

impl TxArgs {
    /// The PLFRAMEs in turn, and what they are in words.
    fn frames(&self) -> Result<(Vec<Pls>, String), FrameListError> {
        let (Some(modcod), Some(frame)) = (self.modcod, self.frame) else {
            let frames = frame_list(self.vcm.as_deref().unwrap_or_default())?;
            let mut kinds = frames.clone();
            kinds.dedup();
            let mut names: Vec<String> = kinds.iter().take(MOST_NAMED).map(Pls::to_string).collect();
            if kinds.len() > MOST_NAMED {
                names.push(format!("{} more", kinds.len() - MOST_NAMED));
            }
            return Ok((frames, names.join("; ")));
        };
        let pilots = if self.pilots { ":pilots" } else { "" };
        let pls = frame_list(&format!("{}:{}{pilots}", modcod.name(), FrameSize::from(frame)))?[0];
        Ok(match self.dummy {
            None => (vec![pls], pls.to_string()),
            Some(count) => {
                let mut frames = vec![pls; count.into()];
                frames.push(Pls::DUMMY);
                (frames, format!("{pls}; a dummy PLFRAME after every {count}"))
            }
        })
    }

    fn format(&self) -> SampleFormat {
        let usual = if self.tuner.is_given() { SampleFormat::Cf32 } else { SampleFormat::Ci16 };
        self.format.or_else(|| self.format_of_address()?.parse().ok()).unwrap_or(usual)
    }

    /// What the address of the output says that it gets.
    fn format_of_address(&self) -> Option<String> {
        let address: Address = self.output.as_ref()?.to_str()?.parse().ok()?;
        AddressOptions::of(&address).ok()?.text("format").map(str::to_owned)
    }

    /// Checks that the inputs can be told apart.
    fn check_inputs(&self) -> Result<(), Failure> {
        let (inputs, isis) = (self.inputs.len(), self.isi.len());
        if isis > inputs {
            let plural = if inputs == 1 { "" } else { "s" };
            return Err(Failure::usage(format!(
                "--isi has {isis} numbers for {inputs} input{plural}: give one for each"
            )));
        }
        if isis < inputs && (inputs > 1 || isis > 0) {
            return Err(Failure::usage(format!(
                "{inputs} inputs share the carrier: give --isi one number for each, as in --isi 1,2"
            )));
        }
        if self.inputs.iter().filter(|path| is_dash(path)).count() > 1 {
            return Err(Failure::usage("standard input can be read once: name other inputs by their files"));
        }
        Ok(())
    }

    /// The input streams, from these readers of them.
    fn streams(&self, readers: impl IntoIterator<Item = Box<dyn Read + Send>>) -> Vec<InputStream> {
        let mut isis = self.isi.iter();
        let stream = |(reader, path): (Box<dyn Read + Send>, &PathBuf)| {
            let stream = match self.generic {
                Some(Some(bytes)) => InputStream::packets(reader, bytes),
                Some(None) => InputStream::continuous(reader),
                None if self.gse => InputStream::ip_packets(reader),
                None if self.delete_nulls => InputStream::without_null_packets(reader),
                None => InputStream::transport(reader),
            };
            let name = if is_dash(path) { Path::new("standard input") } else { path };
            let stream = stream.named(name.display());
            isis.next().into_iter().fold(stream, |stream, &isi| stream.of_isi(isi))
        };
        readers.into_iter().zip(&self.inputs).map(stream).collect()
    }
}

fn cannot(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::new(format!("{path}: {error}"))
}

/// The input, and its bytes where they are known.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), Failure> {
    let registry = crate::registry::all();
    let address = address(path, registry.openers())?;
    let source = registry.openers().reader(&address).map_err(|error| Failure::unopened(&address, error))?;
    if source.bytes == Some(0) {
        let message = format!("{}: is empty: there is nothing to transmit", path.display());
        return Err(Failure::new(message).with(Status::NoInput));
    }
    Ok((source.reader, source.bytes))
}

/// Transmits.
pub(crate) fn run(args: TxArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = transmit(&args, &mut files);
    files.end(outcome)
}

/// Transmits to files of which the names tell that they are not whole yet.
fn transmit(args: &TxArgs, files: &mut Files) -> Result<(), Failure> {
    let option = if args.vcm.is_some() { "--vcm" } else { "--modcod" };
    let (frames, names) = args.frames().map_err(|error| Failure::usage(format!("{option}: {error}")))?;
    let mut kinds = Vec::new();
    for pls in &frames {
        if !kinds.contains(&pls.value()) {
            kinds.push(pls.value());
        }
    }
    let transmitter = Transmitter {
        frames,
        gold_code: args.gold,
        roll_off: args.rolloff,
        samples_per_symbol: args.sps,
        format: args.format(),
        ..Transmitter::new(Pls::DUMMY)
    };
    let sample_rate = args.sps * args.symbol_rate.unwrap_or(1.0);
    if !(sample_rate.is_finite() && sample_rate > 0.0) {
        return Err(Failure::usage("--sps and --symbol-rate must be positive numbers"));
    }
    if args.symbol_rate.is_some() && sample_rate < MIN_SAMPLE_RATE {
        return Err(Failure::usage(format!(
            "--symbol-rate: {sample_rate} samples per second would be read as samples per symbol: give a rate that makes \
             {MIN_SAMPLE_RATE} or more, or leave it out"
        )));
    }
    if args.tuner.is_given() && args.symbol_rate.is_none() {
        return Err(Failure::usage("--radio needs --symbol-rate, in symbols per second"));
    }
    args.check_inputs()?;
    // The description has its name behind the samples.
    if args.job.is_done(&args.json, args.output.as_slice())? {
        return Ok(());
    }
    args.inputs.iter().try_for_each(|path| files.read(path))?;
    let target = Target::of(args, files)?;
    args.job.claim(files)?;
    args.json.claim(files)?;
    let opened: Vec<_> = args.inputs.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let bytes = opened.iter().map(|(_, bytes)| *bytes).sum();
    // Built once before the output is touched, so that a refusal leaves no file behind.
    let nothing = args.inputs.iter().map(|_| Box::new(io::empty()) as Box<dyn Read + Send>);
    let trial = transmitter.chain_of(args.streams(nothing), io::sink());
    trial.and_then(bief::Chain::build).map_err(|error| Failure::usage(error.to_string()))?;
    let description = format!("DVB-S2 {names}, roll-off {:.2}", transmitter.roll_off.value());
    let (samples, sent) = target.open(args, &description, sample_rate, files)?;
    let bar = progress(bytes);
    let readers = opened.into_iter().map(|(reader, _)| Box::new(bar.wrap_read(reader)) as Box<dyn Read + Send>);
    let chain = transmitter.chain_of(args.streams(readers), samples);
    let pipeline = chain.and_then(bief::Chain::build).and_then(bief::Program::one_core);
    let mut pipeline = pipeline.map_err(Failure::from_error)?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    let look = || json!({ "bytes": bar.position() });
    let outcome = followed(&bar, args.job.lines(bytes)?, look, |_, _| (), || pipeline.run());
    // A radio has its ramp now.
    drop(pipeline);
    let megabits = 8.0 * bar.position() as f64 / 1e6;
    bar.finish_and_clear();
    let outcome = outcome.and_then(|report| sent.as_ref().and_then(Sent::fault).map_or(Ok(report), Err));
    let report = outcome.map_err(Failure::from_error)?;

    let is_interrupted = interrupted.load(Ordering::Relaxed);
    let underflows = sent.as_ref().map(Sent::underflows);
    let to_machine = || {
        let value = serde_json::json!({
            "output": target.name(), "pls": kinds, "gold_code": args.gold, "isi": args.isi, "interrupted": is_interrupted,
            "description": description, "plframes": report.frames, "seconds": report.seconds,
            "samples_sent": sent.as_ref().map(Sent::samples), "underflows": underflows.flatten(),
        });
        format!("{value:#}")
    };
    args.json.write_last(to_machine, files)?;
    // A file that is cut short is not what was asked for; to a radio or a program, nothing else ends it.
    let ended = match &target {
        Target::Files { .. } if is_interrupted => {
            Err(ended_by_signal(format!("{}: interrupted; what was transmitted before is kept", target.name())))
        }
        _ => Ok(()),
    };
    if args.json.on_stdout() {
        return ended;
    }
    let mut rows = vec![
        ("signal", description),
        ("PLFRAMEs", report.frames.to_string()),
        ("samples", format!("{} ({}, {} per symbol)", target.name(), transmitter.format, args.sps)),
        ("time", format!("{:.2} s, {:.1} Mb/s", report.seconds, megabits / report.seconds)),
    ];
    if let (Some(sent), Some(underflows)) = (&sent, underflows) {
        let underflows = underflows.map_or("not told by its driver".to_owned(), |count| count.to_string());
        rows.push(("sent", format!("{} samples with ramps and zeros, underflows: {underflows}", sent.samples())));
    }
    if is_interrupted {
        rows.push(("interrupted", format!("after {} PLFRAMEs", report.frames)));
    }
    print(&facts(&rows))?;
    ended
}

/// Where samples go.
enum Target {
    /// A recording: its samples and their description.
    Files {
        data: PathBuf,
        meta: PathBuf,
    },
    /// Whoever takes raw samples there.
    Address(Address),
    Radio,
}

impl Target {
    fn of(args: &TxArgs, files: &mut Files) -> Result<Self, Failure> {
        let Some(output) = &args.output else { return Ok(Self::Radio) };
        if is_address(output) {
            let registry = crate::registry::all();
            let address = address(output, registry.openers())?;
            registry.openers().check_writer(&address).map_err(Failure::from_error)?;
            if let Some(format) = args.format_of_address().filter(|format| *format != args.format().name()) {
                return Err(Failure::usage(format!("{address}: `format={format}`: it gets {}", args.format())));
            }
            return Ok(Self::Address(address));
        }
        if output.extension().is_none_or(|extension| extension != "sigmf-meta") {
            return Err(Failure::usage(format!("{}: the output must be named *.sigmf-meta", output.display())));
        }
        let data = output.with_extension("sigmf-data");
        files.write(&data, "the recording")?;
        files.write(output, "its description")?;
        Ok(Self::Files { data, meta: output.clone() })
    }

    fn name(&self) -> String {
        match self {
            Self::Files { data, .. } => data.display().to_string(),
            Self::Address(address) => address.to_string(),
            Self::Radio => "the radio".to_owned(),
        }
    }

    /// Opens it; a radio tells what it was sent.
    fn open(
        &self,
        args: &TxArgs,
        description: &str,
        sample_rate: f64,
        files: &Files,
    ) -> Result<(Box<dyn Write + Send>, Option<Sent>), Failure> {
        match self {
            Self::Files { data, meta } => {
                let samples = BufWriter::new(files.create(data).map_err(Failure::from_error)?);
                // The description gets its name behind the samples: where it is, they are.
                let mut described = files.create(meta).map_err(Failure::from_error)?;
                let text = sigmf_meta(args.format(), sample_rate, description);
                described.write_all(text.as_bytes()).map_err(cannot(meta))?;
                Ok((Box::new(samples), None))
            }
            Self::Address(address) => {
                let writer = crate::registry::all().openers().writer(address);
                let writer = writer.map_err(|error| Failure::unopened(address, error))?;
                Ok((writer, None))
            }
            Self::Radio => {
                let radio = args.tuner.transmission(sample_rate)?;
                let radio = radio.ok_or_else(|| Failure::usage("give -o OUT.sigmf-meta, or --radio"))?;
                let sent = radio.sent();
                Ok((Box::new(radio), Some(sent)))
            }
        }
    }
}
