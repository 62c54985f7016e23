//! `bief lab bench device`: the LDPC decoder on a device, by code, batch and lanes, beside one core.

use std::fmt::Write;
use std::time::Instant;

use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Chain, Flow, Machine, Program, VarFrame, sink, source};
use bief_cli::draw::plot::{Axis, Figure, Key, Mark, Panel, Shape};
use bief_cli::failure::Failure;
use bief_cli::text::{COLUMNS, wrapped};
use bief_dsp::dvbs2::ldpc::{Code, Encoder};
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

Frames of two codes, noisy enough for about 8 iterations of normal 1/2 and 2 to
3 of short 8/9, go through the decoder on the device, with all copies, and
through that of one core: Mb/s of information. All decoded bits are compared.";

/// Iterations after which decoders give up.
const ITERATIONS: u32 = 50;

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

/// A code with frames that it has to work on.
struct Subject {
    name: &'static str,
    pls: Pls,
    code: &'static Code,
    llrs: Vec<Vec<i8>>,
}

impl Subject {
    /// Some frames at a noise (standard deviation of an amplitude of 1).
    fn new(name: &'static str, pls: Pls, (size, rate): (FrameSize, Rate), noise: f64) -> Self {
        let code = Code::get(size, rate).expect("it has a code");
        let mut random = fastrand::Rng::with_seed(1);
        let llrs = (0..16).map(|_| {
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
        });
        Self { name, pls, code, llrs: llrs.collect() }
    }

    /// A chain that decodes frames, over and over, and a sum over what became of them: of iterations, and of bytes.
    fn program(&self, frames: u32, batch: u32) -> Result<(Program, Told), Failure> {
        let mut chain = Chain::new().batch(batch as usize);
        let pls = chain.add(source::from_slice(&vec![self.pls; frames as usize], 1), ());
        let (llrs, mut next) = (self.llrs.clone(), 0);
        let given = source::from_fn_var(self.code.nldpc, move |mut frame: VarFrame<'_, i8>| {
            frame.set_len(llrs[next].len())?;
            frame.copy_from_slice(&llrs[next]);
            next = (next + 1) % llrs.len();
            Ok(Flow::Next)
        });
        let given = chain.add(given, ());
        let (bits, decodings) = chain.add(DecodeLdpc::new(ITERATIONS), (&given, &pls));
        let told = Told::default();
        let (sums, counts) = (told.0.clone(), told.0.clone());
        let take = sink::for_each_var(move |bits: &[u8]| {
            let sum = bits.iter().fold(0_u64, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            let mut told = sums.lock().expect("nobody panics with it");
            told.1 = told.1.wrapping_mul(31).wrapping_add(sum);
            Ok(Flow::Next)
        });
        chain.add(take, &bits);
        let count = sink::for_each(move |decoding: &[Decoding]| {
            counts.lock().expect("nobody panics with it").0 += u64::from(decoding[0].iterations);
            Ok(Flow::Next)
        });
        chain.add(count, &decodings);
        Ok((chain.build().map_err(Failure::from_error)?, told))
    }
}

/// Iterations, and a sum over all bits.
#[derive(Clone, Default)]
struct Told(std::sync::Arc<std::sync::Mutex<(u64, u64)>>);

impl Told {
    fn get(&self) -> (u64, u64) {
        *self.0.lock().expect("nobody panics with it")
    }
}

/// A line of the table.
struct Row {
    code: &'static str,
    batch: u32,
    /// `None`: one core.
    lanes: Option<u32>,
    iterations: f64,
    mb_per_s: f64,
}

/// Measures, and delivers what was found.
pub(super) fn run(args: DeviceArgs) -> Result<(), Failure> {
    args.output.check()?;
    let found = named(&args.device)?;
    let qpsk = |short: u8, rate: u8| Pls::new(4 * rate + 2 * short);
    let subjects = [
        Subject::new("normal 1/2", qpsk(0, 4), (FrameSize::Normal, Rate::R1_2), 0.794),
        Subject::new("short 8/9", qpsk(1, 10), (FrameSize::Short, Rate::R8_9), 0.42),
    ];
    let watch = Watch::begin();
    let mut rows = Vec::new();
    for subject in &subjects {
        for &batch in &args.batches {
            let frames = args.frames.next_multiple_of(batch);
            let row = |lanes, seconds: f64, (iterations, _): (u64, u64)| Row {
                code: subject.name,
                batch,
                lanes,
                iterations: iterations as f64 / f64::from(frames),
                mb_per_s: f64::from(frames) * subject.code.kldpc as f64 / 1e6 / seconds,
            };
            let (program, told) = subject.program(frames, batch)?;
            let start = Instant::now();
            program.one_core().and_then(|mut pipeline| pipeline.run()).map_err(Failure::from_error)?;
            let expected = told.get();
            rows.push(row(None, start.elapsed().as_secs_f64(), expected));
            for &lanes in &args.lanes {
                let mut spec = open(&found, args.memory).map_err(Failure::from_error)?;
                spec.lanes = lanes;
                let machine = Machine::here().with_device(spec).map_err(Failure::from_error)?;
                // The first batches make room, and are not counted.
                let (program, _) = subject.program(lanes * batch, batch)?;
                on_device(program, &machine, &found.name)?;
                let (program, told) = subject.program(frames, batch)?;
                let seconds = on_device(program, &machine, &found.name)?;
                if told.get() != expected {
                    return Err(Failure::new(format!("{} on {}: not the bits of the cores", subject.name, found.name)));
                }
                rows.push(row(Some(lanes), seconds, expected));
            }
        }
    }
    let surroundings = watch.end();
    let mut table = format!("{} ({}), memory {}\n\n", found.name, found.title, args.memory);
    table += "code         batch  where      iterations     Mb/s\n";
    let mut csv = "code,batch,lanes,iterations,mb_per_s\n".to_owned();
    for Row { code, batch, lanes, iterations, mb_per_s } in &rows {
        let place = lanes.map_or_else(|| "one core".to_owned(), |lanes| format!("{lanes} lanes"));
        writeln!(table, "{code:<12} {batch:>5}  {place:<10} {iterations:>10.2} {mb_per_s:>8.1}")
            .expect("a text takes it");
        let lanes = lanes.map_or_else(String::new, |lanes| lanes.to_string());
        writeln!(csv, "{code},{batch},{lanes},{iterations:.3},{mb_per_s:.3}").expect("a text takes it");
    }
    table += "\nMb/s of information, with all copies; all bits are those of the cores.\n";
    for fact in surroundings.facts().iter().flat_map(|fact| wrapped(fact, COLUMNS)) {
        writeln!(table, "{fact}").expect("a text takes it");
    }
    let json = rows.iter().map(|row| {
        json!({"code": row.code, "batch": row.batch, "lanes": row.lanes, "iterations": row.iterations, "mb_per_s": row.mb_per_s})
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
    let stages = [Stage::new(2, 1, kind.as_str()), Stage::new(1, 1, name), Stage::new(2, 1, kind.as_str())];
    let profile = Profile::new([kind.as_str(), name], tasks).map_err(Failure::from_error)?;
    let schedule = Schedule::new("hand", stages, &profile).map_err(Failure::from_error)?;
    let mut pipeline = program.pipeline_on(&schedule, machine).map_err(Failure::from_error)?;
    Ok(pipeline.run().map_err(Failure::from_error)?.seconds)
}

const COLORS: [(u8, u8, u8); 4] = [(0, 114, 178), (230, 159, 0), (0, 158, 115), (213, 94, 0)];

/// Rates over the batch: for each code the most lanes, and one core.
fn figure(name: &str, rows: &[Row]) -> Figure {
    let most = rows.iter().filter_map(|row| row.lanes).max();
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in rows.iter().filter(|row| row.lanes.is_none() || row.lanes == most) {
        let place = row.lanes.map_or_else(|| "one core".to_owned(), |lanes| format!("{lanes} lanes"));
        let label = format!("{}, {place}", row.code);
        let point = (f64::from(row.batch), row.mb_per_s);
        match curves.iter_mut().find(|(other, _)| *other == label) {
            Some((_, points)) => points.push(point),
            None => curves.push((label, vec![point])),
        }
    }
    let bounds = |of: fn(&Row) -> f64| rows.iter().map(of).fold((f64::MAX, 1.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let (first, last) = bounds(|row| f64::from(row.batch));
    let (least, greatest) = bounds(|row| row.mb_per_s);
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
