//! A chain file of which some tasks leave.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bief::chain::FileTask;
use bief::kinds::Parameter;
use bief::raw::{Direction, DynWire};
use bief::schedule::Stage;
use bief::{Chain, ChainFile, Error, Pipeline, Registry, Result};

use crate::front::Front;
use crate::own::OwnCores;
use crate::segment::Segment;
use crate::wires::WireKind;

/// Batches that wait for each thread before the tasks in place: as few as caches hold.
const BEFORE: usize = 4;

/// A chain file, and which of its tasks leave: one after the other, none of which names a file or an address. Both machines make the same
/// of the same text, each of the kinds of its own registry.
#[derive(Debug, Clone)]
pub struct Cut {
    file: ChainFile,
    tasks: Range<usize>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Cut {
    /// Lets the tasks of these places in the file leave.
    ///
    /// # Errors
    /// Places that there are not; a kind that there is not; a task that reads or writes a file, a standard stream or an address, or makes
    /// nothing for other tasks.
    pub fn new(file: &ChainFile, tasks: Range<usize>, registry: &Registry) -> Result<Self> {
        let all: Vec<_> = file.tasks().collect();
        let Some(leaving) = all.get(tasks.clone()).filter(|leaving| !leaving.is_empty()) else {
            let count = all.len();
            return Err(Error::new(format!(
                "there are no tasks {tasks:?} to leave: there are {count}, counted from 0"
            )));
        };
        let (mut inputs, mut outputs) = (Vec::new(), BTreeSet::new());
        for task in leaving {
            let (name, kind) = (task.name(), registry.kind(task.kind())?);
            // One that is left out, and stands for nothing then, names nothing.
            let names = |parameter: &&Parameter| {
                let is_given = task.parameters().any(|(name, _)| name == parameter.name());
                parameter.is_address() && (is_given || parameter.is_required() || parameter.default().is_some())
            };
            if let Some(parameter) = kind.parameters().iter().find(names) {
                let parameter = parameter.name();
                return Err(Error::new(format!(
                    "task `{name}` names what is on its machine, by `{parameter}`: it stays there, cut before or behind it"
                )));
            }
            let rewrites = kind.inputs().iter().any(|socket| socket.direction() == Direction::InOut);
            if !rewrites && kind.outputs().is_empty() {
                return Err(Error::new(format!(
                    "task `{name}` makes nothing for other tasks: what it sees, and tells, would be elsewhere; cut before or behind it"
                )));
            }
            for (wire, socket) in task.inputs().zip(kind.inputs()) {
                if !outputs.contains(wire) && !inputs.iter().any(|input| input == wire) {
                    inputs.push(wire.to_owned());
                }
                if socket.direction() == Direction::InOut {
                    outputs.insert(wire);
                }
            }
            outputs.extend(task.outputs());
        }
        let read_later: BTreeSet<&str> = all[tasks.end..].iter().flat_map(|task| task.inputs()).collect();
        let outputs = outputs.into_iter().filter(|wire| read_later.contains(wire)).map(str::to_owned).collect();
        Ok(Self { file: file.clone(), tasks, inputs, outputs })
    }

    /// The tasks that leave, behind wires of these kinds, as many and in the order as [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// Those of [`Segment::new`]; tasks that cannot be made of these wires.
    pub fn segment(&self, inputs: Vec<WireKind>, registry: Arc<Registry>) -> Result<Segment> {
        if inputs.len() != self.inputs.len() {
            return Err(Error::new(format!(
                "{} wires came for {}: {:?}",
                inputs.len(),
                self.inputs.len(),
                self.inputs
            )));
        }
        let cut = self.clone();
        Segment::new(inputs, move |chain, made| {
            let mut wires: BTreeMap<String, DynWire> = cut.inputs.iter().cloned().zip(made.iter().cloned()).collect();
            cut.file.add_to(chain, cut.tasks.clone(), &mut wires, &registry)?;
            Ok(cut.outputs.iter().map(|wire| wires[wire].clone()).collect())
        })
    }

    /// The tasks that leave, in their order.
    pub fn leaving(&self) -> impl Iterator<Item = FileTask<'_>> {
        self.file.tasks().skip(self.tasks.start).take(self.tasks.len())
    }

    /// The names of the wires that leave.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The names of the wires that come back.
    pub fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// The pipeline of the machine that reads: all tasks, of which those that may leave are in a stage of their own, on the cores of the
    /// front, and those behind them in another one, before which up to `depth` batches wait in their order. `front` makes the front, of
    /// the segment and how many frames are under way at most. What stays is cut into these `stages` before and behind, or into one each.
    ///
    /// # Errors
    /// Tasks that cannot be made; a wire that cannot leave; what `front` says.
    pub fn pipeline(
        &self,
        registry: &Arc<Registry>,
        (batch, depth): (usize, usize),
        own: OwnCores,
        stages: Option<[Vec<Stage>; 2]>,
        front: impl FnOnce(&Segment, usize) -> Result<Front>,
    ) -> Result<Pipeline> {
        // A ring holds so many batches for each thread.
        let (each, threads) = (depth.div_ceil(own.alone.max(1)), own.alone);
        let (mut chain, mut wires) = (Chain::new().batch(batch), BTreeMap::new());
        self.file.add_to(&mut chain, 0..self.tasks.start, &mut wires, registry)?;
        let leaving: Vec<DynWire> = self.inputs.iter().map(|wire| wires[wire].clone()).collect();
        let kinds = leaving.iter().map(WireKind::of).collect::<Result<_>>()?;
        let segment = self.segment(kinds, Arc::clone(registry))?;
        // Those of the rings, and a batch in the hands of each thread.
        let front = front(&segment, ((each + BEFORE) * threads.max(1) + threads + 2) * batch)?;
        let made = segment.add_to(&mut chain, &leaving.iter().collect::<Vec<_>>(), &front)?;
        wires.extend(self.outputs.iter().cloned().zip(made));
        self.file.add_to(&mut chain, self.tasks.end..self.file.tasks().count(), &mut wires, registry)?;
        let program = chain.build()?;
        let in_place = usize::from(threads > 0);
        let (pipeline, before) = match stages {
            None => (program.pipeline_as_marked()?, 1),
            Some([before, mut behind]) => {
                let first = before.len();
                match in_place {
                    // The tasks in place are one, which is never done.
                    0 => behind[0].tasks += 1,
                    _ => behind.insert(0, Stage::new(1, threads as u32, "")),
                }
                (program.cut(&[before, behind].concat())?, first)
            }
        };
        if threads == 0 {
            return pipeline.depth_before(before, each);
        }
        let collecting = before + 1;
        let pipeline = pipeline.depth_before(before, BEFORE)?.depth_before(collecting, each.min(BEFORE))?;
        if each > BEFORE {
            // As long as nobody is there, as few batches as caches hold go round.
            let changer = pipeline.changer()?;
            front.when_helped(move || {
                changer.depth_before(collecting, each, "a worker is there").expect("it is no depth of 0");
            });
        }
        Ok(pipeline)
    }
}
