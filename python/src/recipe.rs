//! What a chain of Python is made of: steps that build the same chain again for each run, and for rehearsals.

use std::sync::{Arc, Mutex, PoisonError};

use bief::kinds::{Kept, Parameters};
use bief::pipeline::Waiting;
use bief::raw::{BatchView, Direction, Dtype, DynTask, DynWire, RawTask, Shape, SocketKind};
use bief::{Application, Chain, Program, Registry, Result};
use pyo3::prelude::*;

use crate::held::Held;
use crate::region::{Blank, Builder, Region};
use crate::task::{PyTask, Socket, Spec, kinds};

/// Makes a chain, as often as it is wanted.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) batch: usize,
    pub(crate) depth: Option<usize>,
    pub(crate) waiting: Waiting,
    pub(crate) steps: Vec<Step>,
    pub(crate) registry: Arc<Registry>,
    /// What kinds keep between rehearsals and the run.
    pub(crate) kept: Kept,
    /// It has run: its tasks begin anew.
    pub(crate) has_run: bool,
}

/// What a chain is built for.
#[derive(Clone, Copy)]
pub(crate) enum For {
    /// To see what fits: files are not touched, and tasks are those of the run.
    Check,
    Run,
    /// To be measured, in so many frames at most.
    Rehearsal(u64),
}

impl For {
    /// The frames of a rehearsal.
    fn rehearsal(self) -> Option<u64> {
        match self {
            Self::Rehearsal(frames) => Some(frames),
            Self::Check | Self::Run => None,
        }
    }
}

/// Something that is added to a chain. Wires are numbered in the order in which they are made.
#[derive(Clone)]
pub(crate) enum Step {
    Array(Array),
    Task {
        spec: Arc<Spec>,
        inputs: Vec<usize>,
    },
    Kind {
        name: String,
        kind: String,
        parameters: Parameters,
        inputs: Vec<usize>,
    },
    Collect {
        collect: Collect,
        input: usize,
    },
    Stage {
        name: String,
        threads: usize,
    },
    Blank(Blank),
    /// What follows, until it is closed, stands in this region.
    Open(Region),
    /// Closes it, with the wire that a feedback keeps.
    Close {
        value: Option<usize>,
    },
    /// Leaves the loop around it.
    LeaveIf {
        done: usize,
    },
}

impl Step {
    /// Whether a chain can have it only together with what stands around it.
    pub(crate) fn is_of_region(&self) -> bool {
        matches!(self, Self::Open(_) | Self::Close { .. } | Self::LeaveIf { .. })
    }
}

impl Recipe {
    /// An empty chain.
    pub(crate) fn begun(&self) -> Chain {
        let chain = Chain::new().batch(self.batch).waiting(self.waiting);
        match self.depth {
            Some(depth) => chain.depth(depth),
            None => chain,
        }
    }

    pub(crate) fn has_stages(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Stage { .. }))
    }

    /// Adds a step to a chain that has these wires.
    pub(crate) fn add(&self, step: &Step, chain: &mut Chain, wires: &[DynWire], what_for: For) -> Result<Vec<DynWire>> {
        let rehearsal = what_for.rehearsal();
        let of = |inputs: &[usize]| inputs.iter().map(|&input| wires[input].clone()).collect::<Vec<_>>();
        match step {
            Step::Array(array) => {
                let source = Player { array: array.clone(), next: 0, left: rehearsal };
                chain.add_dyn(DynTask::raw(source), &[])
            }
            Step::Task { spec, inputs } => {
                let inputs = of(inputs);
                chain.add_dyn(DynTask::raw(PyTask::new(spec, rehearsal)?), &inputs.iter().collect::<Vec<_>>())
            }
            Step::Kind { name, kind, parameters, inputs } => {
                let inputs = of(inputs);
                let (inputs, parameters) = (inputs.iter().collect::<Vec<_>>(), parameters.clone());
                let kept = match what_for {
                    For::Run => self.kept.clone(),
                    For::Check => self.kept.rehearsal(1),
                    For::Rehearsal(frames) => self.kept.rehearsal(frames),
                };
                self.registry.make_kept(chain, name, kind, parameters, &inputs, &kept)
            }
            Step::Collect { collect, input } => {
                let collector = Collector { collect: collect.clone(), keeps: rehearsal.is_none(), got: Got::default() };
                chain.add_dyn(DynTask::raw(collector), &[&wires[*input]])
            }
            Step::Stage { name, threads } => {
                chain.stage(name).threads(*threads);
                Ok(Vec::new())
            }
            Step::Blank(blank) => chain.add_dyn(DynTask::raw(blank.clone()), &[]),
            Step::Open(_) | Step::Close { .. } | Step::LeaveIf { .. } => {
                Err(bief::Error::new("a region is added with what it holds"))
            }
        }
    }

    /// The chain as far as it is written, and its wires; regions that are open end here.
    pub(crate) fn written(&self, what_for: For) -> Result<(Chain, Vec<DynWire>)> {
        let mut chain = self.begun();
        let mut builder = Builder { recipe: self, what_for, steps: self.steps.iter(), wires: Vec::new() };
        builder.add_all(&mut chain)?;
        Ok((chain, builder.wires))
    }

    pub(crate) fn build(&self, what_for: For) -> Result<Program> {
        self.written(what_for)?.0.build()
    }
}

impl Application for Recipe {
    fn program(&mut self) -> Result<Program> {
        if self.has_run {
            self.kept = Kept::new();
            let reset = |task: &Spec| Python::attach(|py| task.task.bind(py).call_method0("reset").map(drop));
            let tasks = self.steps.iter().filter_map(|step| match step {
                Step::Task { spec, .. } => Some(spec),
                _ => None,
            });
            tasks.into_iter().try_for_each(|spec| reset(spec).map_err(bief::Error::from_source))?;
        }
        self.build(For::Run)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        self.build(For::Rehearsal(frames))
    }
}

/// Frames that lie one after the other in an array.
#[derive(Clone)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) held: Arc<Held>,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Shape,
    pub(crate) frames: usize,
    /// It begins anew at its end.
    pub(crate) repeats: bool,
}

/// Copies the frames of an array into the chain.
struct Player {
    array: Array,
    /// The next frame.
    next: usize,
    /// Frames of a rehearsal, for which the array has no end.
    left: Option<u64>,
}

impl RawTask for Player {
    fn name(&self) -> String {
        self.array.name.clone()
    }
    fn inputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }
    fn outputs(&self) -> Vec<SocketKind> {
        let Array { dtype, shape, .. } = &self.array;
        kinds(&[Socket { dtype: dtype.clone(), direction: Direction::Out, is_variable: false, shape: shape.clone() }])
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![self.array.shape.clone()])
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let Self { array, next, left } = self;
        let frame = array.shape.len() * array.dtype.size();
        let (all, count) = (array.held.bytes(), batch.frames.count());
        let mut output = batch.outputs.get_mut(0)?;
        let bytes = output.bytes()?;
        for position in 0..count {
            if *next == array.frames && (array.repeats || left.is_some()) {
                *next = 0;
            }
            if *next == array.frames || *left == Some(0) {
                batch.frames.stop(position);
                return Ok(());
            }
            let at = *next * frame;
            bytes[position * frame..][..frame].copy_from_slice(&all[at..at + frame]);
            *next += 1;
            if let Some(left) = left {
                *left -= 1;
            }
        }
        Ok(())
    }
    fn reset(&mut self) -> Result<()> {
        self.next = 0;
        Ok(())
    }
}

/// Frames that came out of a chain.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: usize,
    /// Elements of each frame, where they vary.
    pub(crate) lens: Vec<usize>,
}

/// Where frames go that a program wants to have.
#[derive(Clone)]
pub(crate) struct Collect {
    pub(crate) name: String,
    pub(crate) socket: Socket,
    pub(crate) got: Arc<Mutex<Got>>,
}

/// Keeps the frames of a wire.
struct Collector {
    collect: Collect,
    /// A rehearsal keeps nothing.
    keeps: bool,
    got: Got,
}

impl RawTask for Collector {
    fn name(&self) -> String {
        self.collect.name.clone()
    }
    fn inputs(&self) -> Vec<SocketKind> {
        kinds(std::slice::from_ref(&self.collect.socket))
    }
    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(Vec::new())
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        let input = batch.inputs.get(0)?;
        for position in batch.frames.live() {
            let bytes = input.frame_bytes(position)?;
            if self.keeps {
                self.got.bytes.extend_from_slice(bytes);
                self.got.frames += 1;
                if let Some(lens) = input.lens() {
                    self.got.lens.push(lens[position]);
                }
            }
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<()> {
        if self.keeps {
            *self.collect.got.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut self.got);
        }
        Ok(())
    }
}
