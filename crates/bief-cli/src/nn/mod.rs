//! `bief nn`: a neural network on all cores.

mod input;
mod npy;
mod output;
mod segments;
mod stored;
mod tally;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bief::{Application, Flow, Planned, Report};
use bief_nn::{Engine, EngineKind, Inference, NeuralNetwork, modulation};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::json;

use self::input::{Frames, InputArgs, tolerance};
use self::output::Output;
use self::tally::Tally;
use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::interrupt::{ended_by_signal, stop_at_interrupt};
use crate::json::JsonArgs;
use crate::page::{self, PageArgs};
use crate::planning::{PlanningArgs, against_plan, record};
use crate::progress::{shown, spinner};
use crate::rx::SignalArgs;
use crate::seeing::SeeingArgs;
use crate::status::Status;
use crate::table::facts;
use crate::text::{counted, printable};

/// The signals that are built in: 200, of which the network beside them tells the modulation.
const SIGNALS: &[u8] = include_bytes!("../../data/signals.i8");
/// What a byte of them stands for.
const SIGNAL_SCALE: f32 = 1.0 / 24.0;

const EXAMPLES: &str = "\
Examples:
  bief nn                                the built-in network, which tells the
                                         modulation of built-in signals
  bief nn net.onnx --segments            where it may be cut, and what parts cost
  bief nn net.onnx -i frames.npy -o results.npy
  bief nn net.onnx -i frames.f32 -o results.jsonl --top 5 --labels names.txt
  camera | bief nn net.onnx -i - --format u8 --scale 0.00392 -o -
  bief nn net.onnx -i frames.f32 --compare expected.f32 --tolerance 1e-4
  bief nn net.onnx -i frames.f32 --goal fewest-cores,period=5ms --refine 3
  bief nn net.onnx -i frames.f32 --machine big_little.json --repeat 100
  bief nn net.onnx -i frames.f32 --engine onnxruntime --library libonnxruntime.so

The network becomes segments, which are planned as tasks: those of one stage run
as one, and stages without a memory are replicated. It has one input and one
output of f32; a frame is one input, whatever the size of its batches.
The engine is ONNX Runtime: its library is --library FILE, or ORT_DYLIB_PATH, or
where the system finds it.
With --profile, the tasks are those that the profile names; --schedule needs it.
Ctrl-C, SIGTERM or SIGHUP ends the run and writes what was made; a second one
quits at once. The exit status is then 128 plus the signal's number (130, 143,
129).";

/// Arguments of `bief nn`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NnArgs {
    /// The network, an ONNX file [default: a built-in one]
    #[arg(value_name = "MODEL.onnx")]
    model: Option<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
    /// Where results go, by the ending: raw numbers (.f32), an array (.npy), or lines of the largest values (.jsonl, or
    /// `-` for standard output)
    #[arg(short, long, value_name = "RESULTS")]
    output: Option<PathBuf>,
    /// How many of the largest values a line of results has
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    top: u16,
    /// What the values are called, a line for each
    #[arg(long, value_name = "FILE.txt")]
    labels: Option<PathBuf>,
    /// Compare the results with these, raw numbers or .npy, again and again if there are more results, and fail if one is
    /// further away than the tolerance
    #[arg(long, value_name = "EXPECTED")]
    compare: Option<PathBuf>,
    /// How far a result may be from what is expected, of one more than its largest value
    #[arg(long, value_name = "X", default_value_t = 1e-4, requires = "compare", value_parser = tolerance)]
    tolerance: f32,
    /// Show the segments: operators, shapes, work and, if an engine is there, time on each kind of core
    #[arg(long, conflicts_with_all = ["input", "output", "compare"])]
    segments: bool,
    #[command(flatten)]
    engine: EngineArgs,
    /// Frames in a batch: in one call of the engine, if the network has a free batch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    batch: u32,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    planning: PlanningArgs,
    #[command(flatten)]
    seeing: SeeingArgs,
    #[command(flatten)]
    json: JsonArgs,
}

/// What runs the network.
#[derive(Args)]
struct EngineArgs {
    /// The library that runs the network
    #[arg(long, value_name = "NAME", default_value_t)]
    engine: EngineKind,
    /// The file of that library, in the stead of the one that ORT_DYLIB_PATH names or the system finds
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

impl EngineArgs {
    fn open(&self) -> Result<Engine, Failure> {
        Engine::open(self.engine, self.library.as_deref()).map_err(|none| Failure::new(none.to_string()))
    }
}

/// A network with the names of its classes, where they are known.
struct Model {
    network: NeuralNetwork,
    labels: Vec<String>,
}

impl Model {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        Ok(match path {
            Some(path) => Self { network: NeuralNetwork::open(path).map_err(not_as_it_should_be)?, labels: Vec::new() },
            None => {
                let labels = modulation::CLASSES.map(str::to_owned).to_vec();
                Self { network: modulation::network().map_err(Failure::from_error)?, labels }
            }
        })
    }
}

/// Runs a network.
pub(crate) fn run(args: NnArgs) -> Result<(), Failure> {
    let mut files = Files::default();
    let outcome = infer(args, &mut files);
    files.end(outcome)
}

/// Runs a network to files of which the names tell that they are not whole yet.
fn infer(mut args: NnArgs, files: &mut Files) -> Result<(), Failure> {
    if args.model.is_none() {
        args.model = args.json.misplaced_input(|path| path.extension().is_some_and(|end| end == "onnx"));
    }
    args.claim(files)?;
    let is_stdout = args.output.as_deref().is_some_and(is_dash);
    if is_stdout && args.json.on_stdout() {
        return Err(Failure::usage("results and JSON cannot both go to standard output: give --json a file"));
    }
    let model = Model::open(args.model.as_deref())?;
    if args.segments {
        return segments::show(&model.network, args.engine.open(), &args.planning, &args.json, files);
    }
    let labels = args.labels(&model)?;
    let mut frames = args.frames(&model.network)?;
    let mut tally = Tally::default();
    if let Some(path) = &args.compare {
        tally.compare(args.expected(path, &model.network)?, args.tolerance);
    }
    let planner = args.planning.planner()?;
    let page = args.page.bind()?;
    let engine = args.engine.open()?;
    let (name, engine_name) = (model.network.name().to_owned(), engine.to_string());
    let output_shape = model.network.output().dims().to_vec();
    let front = frames.front().map_err(not_as_it_should_be)?;
    let tally = Arc::new(Mutex::new(tally));
    let create = |path: &Path| Output::create(files, path, &output_shape, usize::from(args.top), labels.clone());
    let output = args.output.as_deref().map(create).transpose().map_err(unmade)?.map(Arc::new);
    let input_name = frames.name.clone();
    let inference = Inference::new(model.network, engine).batch(args.batch as usize).rehearses(front);
    let inference = frames.into(inference.map_err(Failure::from_error)?)?;
    let inference = deliver(inference, Arc::clone(&tally), output.clone());

    let bar = spinner(name.clone());
    bar.set_message("measuring each segment, and planning");
    let (planned, mut inference) = args.plan(&planner, inference).inspect_err(|_| bar.finish_and_clear())?;
    let pipeline = args.planning.pipeline(&planned, &mut inference)?;
    let mut pipeline = args.seeing.prepare(pipeline)?;
    let interrupted = stop_at_interrupt(pipeline.stopper())?;
    let adapts = args.planning.adapts(&pipeline, false);
    let shown_page = page::show(page, format!("nn {}", printable(&name)), &mut pipeline, adapts.then_some(&planned))?;
    let look = |bar: &ProgressBar| bar.set_message(format!("{} frames", lock(&tally).frames));
    let outcome = shown(&bar, look, || args.planning.run(&planned, &mut pipeline, false));
    let interrupted = interrupted.load(Ordering::Relaxed) | page::close(shown_page);
    args.seeing.write(&pipeline)?;
    let finished = output.map_or(Ok(()), |output| output.finish()).map_err(Failure::from_error);
    let report = match outcome {
        Ok(report) => report,
        Err(error) => {
            drop(pipeline);
            return Err(Failure::of_run(&error, error.to_string()));
        }
    };
    let saved = args.planning.save(&planned, &pipeline, Some(&report));
    let tally = std::mem::take(&mut *lock(&tally));
    let done = Done { name, engine: engine_name, input: input_name, tally, labels, interrupted, report, planned };
    args.json.deliver(files, || done.to_json(&inference, &args), || done.table(&inference, &args), is_stdout)?;
    finished.and(saved)?;
    if interrupted {
        return Err(ended_by_signal(format!("{}: interrupted; what was made before is kept", done.name)));
    }
    match args.compare.as_deref().and_then(|path| done.tally.fault(path)) {
        Some(fault) => Err(Failure::new(fault)),
        None => Ok(()),
    }
}

/// An input that is not there, or damaged, before anything ran.
fn not_as_it_should_be(error: bief::Error) -> Failure {
    Failure::from_error(error).with(Status::NoInput)
}

/// An output that could not be opened: by the machine, or since another run writes it.
fn unmade(error: bief::Error) -> Failure {
    let failure = Failure::from_error(error);
    if failure.status == Status::TryAgain as u8 { failure } else { failure.with(Status::Failed) }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts and writes each result: in order, where it is written in order.
fn deliver(inference: Inference, tally: Arc<Mutex<Tally>>, output: Option<Arc<Output>>) -> Inference {
    let is_in_order = output.as_ref().is_some_and(|output| output.is_in_order());
    let deliver = move |number, values: &[f32]| {
        lock(&tally).add(number, values);
        output.as_ref().map_or(Ok(()), |output| output.write(number, values))?;
        Ok(Flow::Next)
    };
    if !is_in_order {
        return inference.delivers_at(deliver);
    }
    let mut number = 0;
    inference.delivers(move |values| {
        number += 1;
        deliver(number - 1, values)
    })
}

/// The network on noise, to be measured.
pub(crate) fn examined(signal: &SignalArgs, _: &mut Files, _: &ProgressBar) -> Result<Box<dyn Application>, Failure> {
    let model = Model::open(signal.only_input("nn")?)?;
    let engine = Engine::open(EngineKind::default(), None).map_err(Failure::from_error)?;
    Ok(Box::new(Inference::new(model.network, engine)))
}

impl NnArgs {
    /// Claims the files of which the names are known from the start.
    fn claim(&self, files: &mut Files) -> Result<(), Failure> {
        let read = self.model.iter().chain(&self.labels).chain(&self.compare).chain(&self.engine.library);
        read.into_iter().try_for_each(|path| files.read(path))?;
        self.input.claim(files)?;
        self.output.as_deref().map_or(Ok(()), |path| files.write(path, "--output"))?;
        self.planning.claim(files)?;
        self.seeing.claim(files)?;
        self.json.claim(files)
    }

    fn frames(&self, network: &NeuralNetwork) -> Result<Frames, Failure> {
        match (&self.input.input, &self.model) {
            (Some(path), _) => self.input.open(path, network.input()),
            (None, None) => Ok(self.input.built_in("built-in signals", SIGNALS, SIGNAL_SCALE, network.input())),
            (None, Some(model)) => {
                let (model, shape) = (model.display(), network.input());
                Err(Failure::usage(format!("{model}: no frames: give --input FILE, with frames of {shape} numbers")))
            }
        }
    }

    fn expected(&self, path: &Path, network: &NeuralNetwork) -> Result<Vec<f32>, Failure> {
        let mut expected = InputArgs::numbers().open(path, network.output())?;
        let (mut all, mut frame) = (Vec::new(), vec![0.0; network.output().len()]);
        while expected.read(&mut frame).map_err(not_as_it_should_be)? {
            all.extend_from_slice(&frame);
        }
        match all.is_empty() {
            true => Err(Failure::new(format!("{}: there is no result in it", path.display())).with(Status::NoInput)),
            false => Ok(all),
        }
    }

    fn labels(&self, model: &Model) -> Result<Vec<String>, Failure> {
        let Some(path) = &self.labels else { return Ok(model.labels.clone()) };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Failure::new(format!("{}: {error}", path.display())).with(Status::NoInput))?;
        Ok(text.lines().map(|line| printable(line.trim())).collect())
    }

    /// Joins the segments of each stage, and plans; with a profile that was given, the tasks that it names.
    fn plan(&self, planner: &bief::Planner, inference: Inference) -> Result<(Planned, Inference), Failure> {
        if let Some(profile) = self.planning.given_profile()? {
            let names: Vec<&str> = profile.tasks().iter().map(|task| task.name.as_str()).collect();
            let inference = inference.named(&names).map_err(Failure::from_error)?;
            return Ok((self.planning.plan(planner, &inference)?, inference));
        }
        if self.planning.has_schedule() {
            return Err(Failure::usage("--schedule needs the --profile that was saved with it: that names the tasks"));
        }
        let rough = self.planning.planner()?.refine(0);
        let (planned, inference) = inference.plan(&rough, planner).map_err(Failure::from_error)?;
        planned.notes.iter().for_each(|note| crate::failure::warn(note));
        Ok((planned, inference))
    }
}

/// What is told of a run.
struct Done {
    name: String,
    engine: String,
    input: String,
    tally: Tally,
    labels: Vec<String>,
    interrupted: bool,
    report: Report,
    planned: Planned,
}

impl Done {
    fn table(&self, inference: &Inference, args: &NnArgs) -> String {
        let network = inference.network();
        let (segments, tasks) = (network.segments().len(), inference.tasks().len());
        let mut rows = vec![
            ("network", format!("{}, {} to {}", printable(&self.name), network.input(), network.output())),
            ("engine", self.engine.clone()),
            ("segments", format!("{segments}, as {}", counted(tasks, "task"))),
            ("input", printable(&self.input)),
        ];
        rows.extend(self.tally.rows(&self.labels));
        if let Some(path) = args.output.as_deref().filter(|path| !is_dash(path)) {
            rows.push(("results", format!("to {}", path.display())));
        }
        let rate = self.report.frames as f64 / self.report.seconds.max(f64::MIN_POSITIVE);
        rows.push(("rate", format!("{} frames/s", crate::units::significant(rate))));
        if self.interrupted {
            rows.push(("interrupted", format!("after {} frames", self.tally.frames)));
        }
        let (report, plan) = (args.seeing.shown(&self.report), against_plan(Some(&self.planned), &self.report, false));
        format!("{}\n\n{report}\n\n{plan}", facts(&rows))
    }

    fn to_json(&self, inference: &Inference, args: &NnArgs) -> String {
        let network = inference.network();
        let own = json!({
            "network": self.name,
            "engine": self.engine,
            "input": self.input,
            "output": args.output,
            "input_shape": network.input().dims(),
            "output_shape": network.output().dims(),
            "segments": segments::described(network),
            "tasks": inference.tasks().iter().map(|task| [task.start, task.end]).collect::<Vec<_>>(),
            "labels": self.labels,
            "results": self.tally.to_json(),
            "interrupted": self.interrupted,
        });
        record(own, Some(&self.planned), Some(&self.report))
    }
}
