//! Regions as they run: loops, switches and feedback, each one step that holds steps.
//!
//! A region works on one frame at a time: whatever is inside sees the frame that the region was given. Wires made inside
//! are wires of the same table, local to the stage that runs the region.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::frame::Element;
use crate::socket::Socket;
use crate::task::{Flow, Node, Step, Turn};
use crate::wire::{In, Input};

const NEXT: Turn = Turn::Flow(Flow::Next);

/// Steps that run one after the other on a frame: what a loop repeats, a path of a switch.
pub(crate) struct Body {
    nodes: Box<[Node]>,
    /// The step that runs or ran last; after a fault the one that failed.
    current: usize,
    failed: bool,
}

impl Body {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        Self { nodes: nodes.into(), current: 0, failed: false }
    }

    /// Runs the steps on one frame until one of them says otherwise. An error or a panic names the step.
    ///
    /// # Safety
    /// As [`Step::run_frame`].
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        let steps = || {
            for (index, node) in self.nodes.iter_mut().enumerate() {
                self.current = index;
                // SAFETY: passed on to the caller.
                let turn = unsafe { node.step.run_frame(table, position)? };
                if turn != NEXT {
                    return Ok(turn);
                }
            }
            Ok(NEXT)
        };
        // After a panic nothing of the failed step is used again.
        Error::catch(steps).map_err(|error| {
            self.failed = true;
            error.within(&self.nodes[self.current].name)
        })
    }

    fn replica(&self) -> Option<Self> {
        let replica = |node: &Node| Some(Node { name: Arc::clone(&node.name), step: node.step.replica()? });
        Some(Self::new(self.nodes.iter().map(replica).collect::<Option<_>>()?))
    }

    fn lost(&self) -> u64 {
        self.nodes.iter().fold(0, |sum, node| sum.saturating_add(node.step.lost()))
    }

    fn figures(&self, figures: &mut Figures) {
        self.nodes.iter().for_each(|node| node.figures(figures));
    }

    /// Lets every step begin anew, a failed one too.
    fn reset(&mut self) -> Result<()> {
        self.failed = false;
        self.current = 0;
        self.nodes.iter_mut().try_for_each(|node| told(node, |step| step.reset()))
    }

    /// Lets every step but a failed one flush; the first error is told.
    fn finish(&mut self) -> Result<()> {
        let mut result = Ok(());
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if self.failed && index == self.current {
                continue;
            }
            result = result.and(told(node, |step| step.finish()));
        }
        result
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // Two steps that panic at once would end the process: whatever drops the region hears of one.
        let mut first = None;
        for node in std::mem::take(&mut self.nodes) {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(node))) {
                match first {
                    None => first = Some(payload),
                    Some(_) => std::mem::forget(payload),
                }
            }
        }
        match first {
            Some(payload) if std::thread::panicking() => std::mem::forget(payload),
            Some(payload) => resume_unwind(payload),
            None => {}
        }
    }
}

/// Calls a step between frames; an error or a panic names it.
fn told(node: &mut Node, call: impl FnOnce(&mut dyn Step) -> Result<()>) -> Result<()> {
    Error::catch(|| call(&mut *node.step)).map_err(|error| error.within(&node.name))
}

/// Which bodies of a region run on a frame, and how often.
pub(crate) trait Control: Send + Sized + 'static {
    /// # Safety
    /// As [`Step::run_frame`].
    unsafe fn run_frame(&mut self, bodies: &mut [Body], table: &[*mut u8], position: usize) -> Result<Turn>;
    fn replica(&self) -> Option<Self>;
    /// Forgets the frames before.
    fn reset(&mut self) {}
}

/// A region: one step for stages, profiles and schedules.
pub(crate) struct Region<C> {
    control: C,
    bodies: Box<[Body]>,
}

impl<C> Region<C> {
    pub(crate) fn new(control: C, bodies: impl IntoIterator<Item = Body>) -> Self {
        Self { control, bodies: bodies.into_iter().collect() }
    }
}

impl<C: Control> Step for Region<C> {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        // SAFETY: passed on to the caller.
        let outcome = unsafe { self.control.run_frame(&mut self.bodies, table, position) };
        if outcome.is_err() {
            // A step that failed is not used again, so what is whole inside has to be flushed here. The fault is what is
            // told, not what comes of it.
            let _ = self.finish();
        }
        outcome
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        let bodies = self.bodies.iter().map(Body::replica).collect::<Option<_>>()?;
        Some(Box::new(Self { control: self.control.replica()?, bodies }))
    }

    fn lost(&self) -> u64 {
        self.bodies.iter().fold(0, |sum, body| sum.saturating_add(body.lost()))
    }

    fn figures(&self, figures: &mut Figures) {
        self.bodies.iter().for_each(|body| body.figures(figures));
    }

    fn finish(&mut self) -> Result<()> {
        let mut result = Ok(());
        for body in &mut self.bodies {
            result = result.and(body.finish());
        }
        result
    }

    fn reset(&mut self) -> Result<()> {
        self.control.reset();
        self.bodies.iter_mut().try_for_each(Body::reset)
    }
}

/// Runs its one body up to `bound` times.
pub(crate) struct Repeat {
    pub(crate) bound: usize,
}

impl Control for Repeat {
    unsafe fn run_frame(&mut self, bodies: &mut [Body], table: &[*mut u8], position: usize) -> Result<Turn> {
        for _ in 0..self.bound {
            // SAFETY: passed on to the caller.
            match unsafe { bodies[0].run_frame(table, position)? } {
                NEXT => {}
                Turn::Leave => break,
                turn => return Ok(turn),
            }
        }
        Ok(NEXT)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { bound: self.bound })
    }
}

/// Leaves the loop around it where the wire is true.
pub(crate) struct LeaveIf {
    pub(crate) done: Socket,
}

impl Step for LeaveIf {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        // SAFETY: the caller promises a live frame; nobody writes it while this step runs.
        let done = unsafe { In::<bool>::slice(table, self.done, position) };
        Ok(if done[0] { Turn::Leave } else { NEXT })
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        Some(Box::new(Self { done: self.done }))
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Runs the one of its bodies that the choice names.
pub(crate) struct Select<T> {
    pub(crate) choice: Socket,
    /// The number of the body for a choice.
    pub(crate) path: fn(T) -> usize,
}

impl<T: Element> Control for Select<T> {
    unsafe fn run_frame(&mut self, bodies: &mut [Body], table: &[*mut u8], position: usize) -> Result<Turn> {
        // SAFETY: the caller promises a live frame; it is read before any body may write it.
        let choice = (self.path)(unsafe { In::<T>::slice(table, self.choice, position) }[0]);
        let paths = bodies.len();
        match bodies.get_mut(choice) {
            // SAFETY: passed on to the caller.
            Some(path) => unsafe { path.run_frame(table, position) },
            None => Err(Error::new(format!("the choice is {choice}, but the paths are 0 to {}", paths - 1))),
        }
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { choice: self.choice, path: self.path })
    }
}

/// Gives its one body the value that the body made on the frame before.
pub(crate) struct Feedback<T> {
    /// One frame, shared by all positions of a batch.
    pub(crate) previous: Socket,
    pub(crate) current: Socket,
    pub(crate) initial: Box<[T]>,
    /// What the body made on the frame before. It is kept here, since another plan gives the wires other memory.
    pub(crate) last: Box<[T]>,
}

impl<T: Element> Control for Feedback<T> {
    unsafe fn run_frame(&mut self, bodies: &mut [Body], table: &[*mut u8], position: usize) -> Result<Turn> {
        // SAFETY: the caller promises live frames of the two wires. The builder has checked that they are as long as each
        // other, that `previous` is used in the body alone (so `current` is another wire), and that nothing writes it there.
        unsafe {
            let previous = self.previous.frame::<T>(table, position);
            previous.copy_from_nonoverlapping(self.last.as_ptr(), self.last.len());
            let turn = bodies[0].run_frame(table, position)?;
            if turn == NEXT {
                let current = self.current.frame::<T>(table, position);
                current.copy_to_nonoverlapping(self.last.as_mut_ptr(), self.last.len());
            }
            Ok(turn)
        }
    }

    /// It remembers: the next frame needs this one's value.
    fn replica(&self) -> Option<Self> {
        None
    }

    fn reset(&mut self) {
        self.last.copy_from_slice(&self.initial);
    }
}
