//! The tasks that leave: what they are made of on any machine.

use std::sync::Arc;

use bief::raw::{BatchView, Direction, DynTask, DynWire, RawTask, Shape, SocketKind};
use bief::{Chain, Error, Program, Result};

use crate::collect::Collect;
use crate::dispatch::{Dispatch, Done};
use crate::front::Front;
use crate::wires::WireKind;

type Build = dyn Fn(&mut Chain, &[DynWire]) -> Result<Vec<DynWire>> + Send + Sync;

/// A run of tasks that remember nothing: wires in, wires out. Clones build the same.
#[derive(Clone)]
pub struct Segment {
    inputs: Vec<WireKind>,
    outputs: Vec<WireKind>,
    build: Arc<Build>,
}

impl Segment {
    /// The tasks that `build` adds to a chain, behind wires of these kinds; it gives the wires that go on. It is called once here, and for
    /// each core that works.
    ///
    /// # Errors
    /// What `build` says; a task that remembers something from frame to frame; a wire that cannot leave the machine.
    pub fn new(
        inputs: Vec<WireKind>,
        build: impl Fn(&mut Chain, &[DynWire]) -> Result<Vec<DynWire>> + Send + Sync + 'static,
    ) -> Result<Self> {
        let mut segment = Self { inputs, outputs: Vec::new(), build: Arc::new(build) };
        let nothing = Ends { inputs: Vec::new(), outputs: segment.inputs.clone() };
        let mut chain = Chain::new();
        let made = chain.add_dyn(DynTask::raw(nothing), &[])?;
        let outputs = (segment.build)(&mut chain, &made)?;
        segment.outputs = outputs.iter().map(WireKind::of).collect::<Result<_>>()?;
        let end = Ends { inputs: segment.outputs.clone(), outputs: Vec::new() };
        chain.add_dyn(DynTask::raw(end), &outputs.iter().collect::<Vec<_>>())?;
        let program = chain.build()?;
        let tasks: Vec<(&str, bool)> = program.tasks().collect();
        match tasks[1..tasks.len() - 1].iter().find(|(_, replicable)| !replicable) {
            Some((task, _)) => Err(Error::new(format!(
                "task `{task}` remembers something from frame to frame: it stays on this machine, cut behind it"
            ))),
            None => Ok(segment),
        }
    }

    /// The wires that it reads.
    pub fn inputs(&self) -> &[WireKind] {
        &self.inputs
    }

    /// The wires that it makes.
    pub fn outputs(&self) -> &[WireKind] {
        &self.outputs
    }

    /// Adds the tasks to the chain of the machine that reads, so that frames may leave: [`Dispatch`]; in a stage of its own, the tasks,
    /// for frames that stay; [`Collect`], in another one. It gives the wires that go on.
    ///
    /// # Errors
    /// Wires of other kinds than those that it was made for.
    pub fn add_to(&self, chain: &mut Chain, wires: &[&DynWire], front: &Front) -> Result<Vec<DynWire>> {
        let sent = chain.add_dyn(DynTask::raw(Dispatch::new(front, self)), wires)?;
        // Where the run waits for workers, nothing is done in place, and no thread is needed for it.
        match front.own().alone {
            0 => chain.stage("collect"),
            threads => chain.stage("in place").threads(threads),
        };
        let mut made = Ok(Vec::new());
        chain.select(&sent[1].typed::<bool>()?, |paths| {
            paths.path(|chain| made = self.add_in_place(chain, wires, &sent[0], front));
        });
        let made = made?;
        if front.own().alone > 0 {
            chain.stage("collect");
        }
        let seen: Vec<&DynWire> = sent.iter().chain(&made).collect();
        chain.add_dyn(DynTask::raw(Collect::new(front, self)), &seen)?;
        Ok(made)
    }

    fn add_in_place(
        &self,
        chain: &mut Chain,
        wires: &[&DynWire],
        number: &DynWire,
        front: &Front,
    ) -> Result<Vec<DynWire>> {
        let wires: Vec<DynWire> = wires.iter().map(|&wire| wire.clone()).collect();
        let made = (self.build)(chain, &wires)?;
        made.iter().for_each(|made| chain.keep(made));
        chain.add_dyn(DynTask::raw(Done::new(front)), &[number])?;
        Ok(made)
    }

    /// The tasks, between a source and a sink.
    pub(crate) fn between(&self, source: impl RawTask, sink: impl RawTask) -> Result<Program> {
        let mut chain = Chain::new();
        let made = chain.add_dyn(DynTask::raw(source), &[])?;
        let outputs = (self.build)(&mut chain, &made)?;
        chain.add_dyn(DynTask::raw(sink), &outputs.iter().collect::<Vec<_>>())?;
        chain.build()
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("inputs", &self.inputs).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

/// The ends of a segment that is only looked at: it never runs.
struct Ends {
    inputs: Vec<WireKind>,
    outputs: Vec<WireKind>,
}

impl RawTask for Ends {
    fn inputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(&self.inputs, Direction::In).unwrap_or_default()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        WireKind::sockets(&self.outputs, Direction::Out).unwrap_or_default()
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(WireKind::shapes(&self.outputs))
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        batch.frames.stop(0);
        Ok(())
    }
}
