//! `bief lab bench device`: the LDPC decoder on a device, by code, batch and lanes, beside one core.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, In, Machine, OutVar, Program, Task, VarFrame, sink, source};
use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Shape};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, wrapped};
use bief_dsp::dvbs2::ldpc::{Code, Decoder, Encoder};
use bief_dsp::dvbs2::{FrameSize, Pls, Rate};
use bief_opencl::{Memory, open};
use bief_radio::dvbs2::{DecodeLdpc, Decoding};
use clap::Args;
use serde_json::json;

use super::memory::named;
use super::output::{Findings, OutputArgs};
use super::surroundings::Watch;

pub(super) const EXAMPLES: &str = "\
Examples:
  bief lab bench device --device pocl --frames 64
  bief lab bench device --device nvidia-h200 --batches 64,256,1024 --lanes 1,3
  bief lab bench device --device nvidia-h200 --memory pinned --json h200.json

Frames of two codes, noisy enough for 7 to 8 iterations of normal 1/2 and 2 to
3 of short 8/9, go through the decoder on the device, with all copies, and
through that of one core: Mb/s of information. All decoded bits are compared.
A core updates the last checks alone; a device iterates until all hold.";

/// Iterations after which decoders give up.
const ITERATIONS: u32 = 50;

/// Frames that one core decodes, at most.
const OF_ONE_CORE: u32 = 1024;

/// Arguments of `bief lab bench device`.
#[derive(Args)]
pub(super) struct DeviceArgs {
    /// The device, as `bief machine` names it
    #[arg(long, value_name = "NAME")]
    device: String,
    /// How cores and device have the same frames
    #[arg(long, value_name = "copy|pinned|host|shared", default_value = "copy")]
    memory: Memory,
    /// Frames of a batch, which are decoded together
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "16,64", value_parser = clap::value_parser!(u32).range(1..=4096))]
    batches: Vec<u32>,
    /// Batches under way at a time
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,3", value_parser = clap::value_parser!(u32).range(1..=16))]
    lanes: Vec<u32>,
    /// Frames to decode at each point, at least
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    frames: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// A code with frames that it has to work on, and what becomes of each.
struct Subject {
    name: &'static str,
    pls: Pls,
    code: &'static Code,
    llrs: Arc<[Vec<i8>]>,
    decoded: Arc<[Vec<u8>]>,
    /// Iterations of all frames of the last run.
    iterations: Arc<AtomicU64>,
}

/// Copies the frame of a number, of so many that come again and again.
#[derive(Clone)]
struct Receive {
    llrs: Arc<[Vec<i8>]>,
    nldpc: usize,
}

impl Task for Receive {
    type In = In<u32>;
    type Out = OutVar<i8>;

    fn lens(&self, _: usize) -> bief::Result<usize> {
        Ok(self.nldpc)
    }

    fn run(&mut self, number: &[u32], mut frame: VarFrame<'_, i8>) -> bief::Result<Flow> {
        let llrs = &self.llrs[number[0] as usize % self.llrs.len()];
        frame.set_len(llrs.len())?;
        frame.copy_from_slice(llrs);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Subject {
    /// Some frames at a noise (standard deviation of an amplitude of 1).
    fn new(name: &'static str, pls: Pls, (size, rate): (FrameSize, Rate), noise: f64) -> Self {
        let code = Code::get(size, rate).expect("it has a code");
        let mut random = fastrand::Rng::with_seed(2);
        let frame = |_| {
            let mut codeword: Vec<u8> = (0..code.nldpc / 8).map(|_| random.u8(..)).collect();
            Encoder::new(code).encode(&mut codeword);
            let bit = |bit: usize| f64::from(codeword[bit / 8] >> (7 - bit % 8) & 1);
            let llr = |at: usize, random: &mut fastrand::Rng| {
                let (a, b) = (random.f64().max(1e-12), random.f64());
                let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                let amplitude = 1.0 - 2.0 * bit(at) + noise * normal;
                (4.0 * 2.0 * amplitude / (noise * noise)).round().clamp(-127.0, 127.0) as i8
            };
            (0..code.nldpc).map(|at| llr(at, &mut random)).collect()
        };
        let llrs: Arc<[Vec<i8>]> = (0..16).map(frame).collect();
        let mut decoder = Decoder::new(code, ITERATIONS);
        let decoded = llrs.iter().map(|llrs| {
            let mut bits = vec![0; code.kldpc / 8];
            decoder.decode(llrs, &mut bits);
            bits
        });
        let decoded = decoded.collect();
        Self { name, pls, code, llrs, decoded, iterations: Arc::default() }
    }

    /// A chain that decodes frames, over and over. One that does not become what it should ends its run.
    fn program(&self, frames: u32, batch: u32) -> Result<Program, Failure> {
        let mut chain = Chain::new().batch(batch as usize);
        let pls = chain.add(source::from_slice(&vec![self.pls; frames as usize], 1), ());
        let numbers: Vec<u32> = (0..frames).collect();
        let numbers = chain.add(source::from_slice(&numbers, 1), ());
        let receive = Receive { llrs: Arc::clone(&self.llrs), nldpc: self.code.nldpc };
        let given = chain.add(receive, &numbers);
        let (bits, decodings) = chain.add(DecodeLdpc::new(ITERATIONS), (&given, &pls));
        let (decoded, mut places) = (Arc::clone(&self.decoded), (0..self.decoded.len()).cycle());
        let compare = move |bits: &[u8]| match places.next().is_some_and(|place| decoded[place] == bits) {
            true => Ok(Flow::Next),
            false => Err(bief::Error::new("a frame was not decoded as by one core")),
        };
        chain.add(sink::for_each_var(compare), &bits);
        let iterations = Arc::clone(&self.iterations);
        iterations.store(0, Ordering::Relaxed);
        let count = move |decoding: &[Decoding]| {
            iterations.fetch_add(decoding[0].iterations.into(), Ordering::Relaxed);
            Ok(Flow::Next)
        };
        chain.add(sink::for_each(count), &decodings);
        chain.build().map_err(Failure::from_error)
    }
}

/// A line of the table.
struct Row {
    code: &'static str,
    /// Frames of a batch, and lanes; `None`: one core, a frame at a time.
    there: Option<(u32, u32)>,
    iterations: f64,
    mb_per_s: f64,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: DeviceArgs) -> Result<(), Failure> {
    args.output.check()?;
    let found = named(&args.device)?;
    let qpsk = |short: u8, rate: u8| Pls::new(4 * rate + 2 * short);
    let subjects = [
        Subject::new("normal 1/2", qpsk(0, 4), (FrameSize::Normal, Rate::R1_2), 0.81),
        Subject::new("short 8/9", qpsk(1, 10), (FrameSize::Short, Rate::R8_9), 0.43),
    ];
    let watch = Watch::begin();
    let mut rows = Vec::new();
    for subject in &subjects {
        let mut note = |there, frames: u32, seconds: f64| {
            let mb_per_s = f64::from(frames) * subject.code.kldpc as f64 / 1e6 / seconds;
            let iterations = subject.iterations.load(Ordering::Relaxed) as f64 / f64::from(frames);
            rows.push(Row { code: subject.name, there, iterations, mb_per_s });
        };
        let frames = args.frames.min(OF_ONE_CORE);
        let run = subject.program(frames, 1)?.one_core().and_then(|mut pipeline| pipeline.run());
        note(None, frames, run.map_err(Failure::from_error)?.seconds);
        for (&batch, &lanes) in args.batches.iter().flat_map(|batch| args.lanes.iter().map(move |lanes| (batch, lanes)))
        {
            let mut spec = open(&found, args.memory).map_err(Failure::from_error)?;
            spec.lanes = lanes;
            let machine = Machine::here().with_device(spec).map_err(Failure::from_error)?;
            // The first batches make room, and are not counted.
            on_device(subject.program(lanes * batch, batch)?, &machine, &found.name)?;
            let frames = args.frames.next_multiple_of(batch);
            note(Some((batch, lanes)), frames, on_device(subject.program(frames, batch)?, &machine, &found.name)?);
        }
    }
    let surroundings = watch.end();
    let mut table = format!("{} ({}), memory {}\n\n", found.name, found.title, args.memory);
    table += "code         where     batch  iterations     Mb/s\n";
    let mut csv = "code,batch,lanes,iterations,mb_per_s\n".to_owned();
    for Row { code, there, iterations, mb_per_s } in &rows {
        let place = there.map_or_else(|| "one core".to_owned(), |(_, lanes)| format!("{lanes} lanes"));
        let [batch, lanes] = match there {
            Some((batch, lanes)) => [batch, lanes].map(u32::to_string),
            None => Default::default(),
        };
        writeln!(table, "{code:<12} {place:<9} {batch:>5}  {iterations:>10.2} {mb_per_s:>8.1}")
            .expect("a text takes it");
        writeln!(csv, "{code},{batch},{lanes},{iterations:.3},{mb_per_s:.3}").expect("a text takes it");
    }
    table += "\nMb/s of information, with all copies; all bits are those of the cores.\n";
    for fact in surroundings.facts().iter().flat_map(|fact| wrapped(fact, COLUMNS)) {
        writeln!(table, "{fact}").expect("a text takes it");
    }
    let json = rows.iter().map(|row| {
        let (batch, lanes) = row.there.unzip();
        json!({"code": row.code, "batch": batch, "lanes": lanes, "iterations": row.iterations, "mb_per_s": row.mb_per_s})
    });
    let json = json!({
        "format": 1, "bench": "device", "device": found.name, "title": found.title, "memory": args.memory.to_string(),
        "rows": json.collect::<Vec<_>>(), "surroundings": surroundings.to_json(),
    });
    let figure = figure(&found.name, &rows);
    args.output.deliver(&Findings { table, csv, figure, json })
}

/// Decodes on the device, between two cores; how long it took.
fn on_device(program: Program, machine: &Machine, name: &str) -> Result<f64, Failure> {
    let tasks: Vec<TaskProfile> = program
        .tasks()
        .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, [1, 1]) })
        .collect();
    let kind = &machine.kinds()[0].name;
    // Copying frames must not be what limits it.
    let cores = (machine.cores().len() as u32 / 2).clamp(1, 8);
    let ends = || Stage::new(2, 1, kind.as_str());
    let stages = [ends(), Stage::new(1, cores, kind.as_str()), Stage::new(1, 1, name), ends()];
    let profile = Profile::new([kind.as_str(), name], tasks).map_err(Failure::from_error)?;
    let schedule = Schedule::new("hand", stages, &profile).map_err(Failure::from_error)?;
    let mut pipeline = program.pipeline_on(&schedule, machine).map_err(Failure::from_error)?;
    Ok(pipeline.run().map_err(Failure::from_error)?.seconds)
}

const COLORS: [(u8, u8, u8); 4] = [(0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0)];

/// Rates over the batch: for each code the most lanes, and one core.
fn figure(name: &str, rows: &[Row]) -> Figure {
    let there = || rows.iter().filter_map(|row| row.there);
    let most = there().map(|(_, lanes)| lanes).max();
    let batches = there().map(|(batch, _)| f64::from(batch));
    let (first, last) = batches.fold((f64::MAX, 1.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in rows.iter().filter(|row| row.there.is_none_or(|(_, lanes)| Some(lanes) == most)) {
        let Some((batch, lanes)) = row.there else {
            curves.push((format!("{}, one core", row.code), [first, last].map(|batch| (batch, row.mb_per_s)).to_vec()));
            continue;
        };
        let label = format!("{}, {lanes} lanes", row.code);
        let point = (f64::from(batch), row.mb_per_s);
        match curves.iter_mut().find(|(other, _)| *other == label) {
            Some((_, points)) => points.push(point),
            None => curves.push((label, vec![point])),
        }
    }
    let rates = rows.iter().map(|row| row.mb_per_s);
    let (least, greatest) = rates.fold((f64::MAX, 1.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let colored = || curves.iter().zip(COLORS.into_iter().cycle());
    Figure {
        title: format!("Bief: LDPC on {name}"),
        caption: "Mb/s of information with all copies, by frames of a batch".to_owned(),
        legend: colored().map(|((label, _), color)| Key { label: label.clone(), color, mark: Mark::Line }).collect(),
        panel: (560, 360),
        rows: vec![vec![Panel {
            title: String::new(),
            x: Axis::doublings(first, last).named("frames of a batch"),
            y: Axis::decades(least.max(0.1), greatest, |rate| format!("{rate}")).named("Mb/s"),
            shapes: colored()
                .map(|((_, points), color)| Shape::Line { points: points.clone(), color, dashed: false })
                .collect(),
        }]],
    }
}
