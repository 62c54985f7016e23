//! One replica of a stage at work: gets a batch, runs the tasks, hands it on, until the stream ends on either side.
//!
//! The end of the stream is a ring whose sender is gone: everything sent before is received first. A receiver that goes
//! away makes its senders stop in turn. So a stop, an error and a panic all end a run the same way: the frames before are
//! delivered, and every worker ends.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::boundary::{Inlet, Outlet, carried};
use crate::error::{Error, Result};
use crate::frame::Batch;
use crate::halt::{Claim, Halt};
use crate::stage::Stage;

/// The first fault of a run.
#[derive(Default)]
pub(crate) struct Fault(Mutex<Option<Error>>);

impl Fault {
    pub(crate) fn note(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What one replica did in a run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Count {
    pub(crate) batches: u64,
    /// Frames that left the stage.
    pub(crate) frames: u64,
    pub(crate) busy: Duration,
    /// Waiting for input.
    pub(crate) starved: Duration,
    /// Waiting for room in the output.
    pub(crate) blocked: Duration,
}

/// One replica of a stage. It lasts from run to run; its ends of the rings last for one.
pub(crate) struct Worker {
    /// Number of its stage.
    pub(crate) stage_index: usize,
    pub(crate) stage: Stage,
    replica: usize,
    replicas: usize,
    /// The batch of a chain on one core.
    own: Batch,
    /// Number of the next batch, when this stage is the first.
    next: u64,
    inlet: Option<Inlet>,
    outlet: Option<Outlet>,
    /// Wires that only pass through: where they stand in the inlet and in the outlet.
    carried: Vec<(usize, usize)>,
    pub(crate) count: Count,
}

impl Worker {
    /// Replica number `replica` of `replicas`, for batches of so many frames.
    pub(crate) fn new(stage_index: usize, stage: Stage, (replica, replicas): (usize, usize), batch: usize) -> Self {
        Self {
            stage_index,
            stage,
            replica,
            replicas,
            own: Batch::new(batch),
            next: 0,
            inlet: None,
            outlet: None,
            carried: Vec::new(),
            count: Count::default(),
        }
    }

    /// What its thread is called.
    pub(crate) fn name(&self) -> String {
        // A thread's name ends at a null.
        format!("{} {}", self.stage.name().replace('\0', ""), self.replica)
    }

    /// Its stage, and its place among the replicas of the stage.
    pub(crate) fn position(&self) -> (usize, usize) {
        (self.stage_index, self.replica)
    }

    /// Gives it its ends of the rings for one run: none at the ends of the chain.
    pub(crate) fn join(&mut self, inlet: Option<Inlet>, outlet: Option<Outlet>) {
        self.carried = match (&inlet, &outlet) {
            (Some(inlet), Some(outlet)) => carried(&inlet.wires, &outlet.wires),
            _ => Vec::new(),
        };
        (self.inlet, self.outlet) = (inlet, outlet);
        self.next = self.replica as u64;
        self.count = Count::default();
    }

    /// Lets go of the rings, so that the neighbours learn that this worker has ended.
    pub(crate) fn leave(&mut self) {
        self.outlet = None;
        self.inlet = None;
    }

    /// Works until the stream ends, by a stop or by a fault; then lets the neighbours know, and the tasks flush.
    pub(crate) fn work(&mut self, halt: &Halt, fault: &Fault) {
        let start = Instant::now();
        let outcome = self.run(halt);
        self.count.starved = self.inlet.as_ref().map_or(Duration::ZERO, Inlet::waited);
        self.count.blocked = self.outlet.as_ref().map_or(Duration::ZERO, Outlet::waited);
        self.count.busy = start.elapsed().saturating_sub(self.count.starved + self.count.blocked);
        if let Err(error) = outcome {
            fault.note(error);
        }
        self.leave();
        if let Err(error) = self.stage.finish() {
            fault.note(error);
        }
    }

    fn run(&mut self, halt: &Halt) -> Result<()> {
        while self.next_batch(halt) {
            if self.batch().count > 0 {
                self.load();
                let batch = at_hand(&mut self.inlet, &mut self.outlet, &mut self.own);
                // SAFETY: the slots just loaded are this worker's own, made for the crossing wires and this batch size; they
                // stay in place until `send`.
                unsafe { self.stage.run(batch)? };
                self.count.batches += 1;
                self.count.frames += batch.live() as u64;
            }
            let last = self.batch().last;
            if !self.hand_on() || last {
                break;
            }
        }
        Ok(())
    }

    fn batch(&mut self) -> &mut Batch {
        at_hand(&mut self.inlet, &mut self.outlet, &mut self.own)
    }

    /// Gets the next batch; `false` at the end of the stream.
    fn next_batch(&mut self, halt: &Halt) -> bool {
        let Some(inlet) = &mut self.inlet else {
            let claim = halt.claim(self.next, self.replicas);
            let number = self.next;
            self.next += self.replicas as u64;
            let batch = self.batch();
            batch.renew(number * batch.capacity() as u64);
            if claim == Claim::Fill {
                batch.count = 0;
            }
            return claim != Claim::End;
        };
        if !inlet.receive() {
            return false;
        }
        if let Some(outlet) = &mut self.outlet {
            std::mem::swap(&mut inlet.slot.batch, &mut outlet.slot.batch);
        }
        true
    }

    /// Points the stage's table at the wires of the batch.
    fn load(&mut self) {
        if let (Some(inlet), Some(outlet)) = (&mut self.inlet, &mut self.outlet) {
            for &(from, to) in &self.carried {
                std::mem::swap(&mut inlet.slot.buffers[from], &mut outlet.slot.buffers[to]);
            }
        }
        // Carried wires are now on the outlet's side, so its buffers are noted last.
        if let Some(inlet) = &self.inlet {
            self.stage.load(&inlet.wires, &inlet.slot);
        }
        if let Some(outlet) = &self.outlet {
            self.stage.load(&outlet.wires, &outlet.slot);
        }
    }

    /// Passes the batch on; `false` when nobody takes it any more.
    ///
    /// A batch whose frames were all skipped still travels from a replicated stage, to keep its place; a stage of one
    /// replica drops it.
    fn hand_on(&mut self) -> bool {
        let Some(outlet) = &mut self.outlet else { return true };
        let batch = &outlet.slot.batch;
        if self.replicas == 1 && batch.is_empty() && !batch.last {
            return true;
        }
        outlet.send()
    }
}

/// The batch being worked on: it lies in the slot that is sent next, or in the one received if nothing follows.
fn at_hand<'w>(inlet: &'w mut Option<Inlet>, outlet: &'w mut Option<Outlet>, own: &'w mut Batch) -> &'w mut Batch {
    match (inlet, outlet) {
        (_, Some(outlet)) => &mut outlet.slot.batch,
        (Some(inlet), None) => &mut inlet.slot.batch,
        (None, None) => own,
    }
}
