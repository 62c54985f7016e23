//! Loops, switches and feedback in the recipe of a chain: steps that open a region and steps that close it.

use std::slice::Iter;
use std::sync::Arc;

use bief::chain::{Choice, Paths};
use bief::raw::{BatchView, Direction, Dtype, DynTask, DynWire, Portable, RawTask, Shape, SocketKind};
use bief::{Chain, Error, Flow, In, Out, Result, Task, Wire};
use numpy::{Complex32, Complex64};

use crate::held::Held;
use crate::recipe::{For, Recipe, Step};
use crate::task::{Socket, kinds};

/// What a region does with the steps in it.
#[derive(Clone)]
pub(crate) enum Region {
    /// Runs them so many times on each frame, unless one of them leaves.
    Repeat {
        bound: usize,
    },
    /// Runs the path that this wire chooses; it holds paths alone.
    Select {
        choice: usize,
    },
    Path,
    /// Gives them, as a wire, what they made of the frame before.
    Feedback {
        initial: Arc<Held>,
        dtype: Dtype,
    },
}

/// Frames of zeros, for regions to rewrite.
#[derive(Clone)]
pub(crate) struct Blank {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Shape,
}

/// Adds the steps of a recipe to a chain.
pub(crate) struct Builder<'r> {
    pub(crate) recipe: &'r Recipe,
    pub(crate) what_for: For,
    pub(crate) steps: Iter<'r, Step>,
    pub(crate) wires: Vec<DynWire>,
}

impl Builder<'_> {
    /// Adds steps until one closes the region around them, or there are no more; answers the wire that it closes with.
    pub(crate) fn add_all(&mut self, chain: &mut Chain) -> Result<Option<usize>> {
        while let Some(step) = self.steps.next() {
            match step {
                Step::Close { value } => return Ok(*value),
                Step::Open(region) => self.add_region(region, chain)?,
                Step::LeaveIf { done } => self.leave_if(*done, chain)?,
                step => {
                    let made = self.recipe.add(step, chain, &self.wires, self.what_for)?;
                    self.wires.extend(made);
                }
            }
        }
        Ok(None)
    }

    fn add_region(&mut self, region: &Region, chain: &mut Chain) -> Result<()> {
        match region {
            Region::Repeat { bound } => {
                let mut added = Ok(None);
                chain.repeat(*bound, |chain| added = self.add_all(chain));
                added.map(drop)
            }
            Region::Select { choice } => match self.wires[*choice].dtype() {
                Some(Dtype::U8) => self.select::<u8>(*choice, chain),
                Some(Dtype::U32) => self.select::<u32>(*choice, chain),
                // Of a kind that answers yes or no; any other wire tells that it is of another type.
                _ => self.select::<bool>(*choice, chain),
            },
            Region::Path => Err(Error::new("a path stands in no `select`")),
            Region::Feedback { initial, dtype } => {
                let bytes = initial.bytes();
                match dtype {
                    Dtype::U8 => self.feedback::<u8>(bytes, chain),
                    Dtype::I8 => self.feedback::<i8>(bytes, chain),
                    Dtype::U16 => self.feedback::<u16>(bytes, chain),
                    Dtype::I16 => self.feedback::<i16>(bytes, chain),
                    Dtype::U32 => self.feedback::<u32>(bytes, chain),
                    Dtype::I32 => self.feedback::<i32>(bytes, chain),
                    Dtype::U64 => self.feedback::<u64>(bytes, chain),
                    Dtype::I64 => self.feedback::<i64>(bytes, chain),
                    Dtype::F32 => self.feedback::<f32>(bytes, chain),
                    Dtype::F64 => self.feedback::<f64>(bytes, chain),
                    Dtype::ComplexF32 => self.feedback::<Complex32>(bytes, chain),
                    Dtype::ComplexF64 => self.feedback::<Complex64>(bytes, chain),
                    other => Err(Error::new(format!("a feedback cannot be of {other}"))),
                }
            }
        }
    }

    fn select<C: Choice>(&mut self, choice: usize, chain: &mut Chain) -> Result<()> {
        let choice: Wire<C> = self.wires[choice].typed()?;
        let mut added = Ok(());
        chain.select(&choice, |paths| added = self.add_paths(paths));
        added
    }

    fn add_paths(&mut self, paths: &mut Paths<'_>) -> Result<()> {
        loop {
            match self.steps.next() {
                None | Some(Step::Close { .. }) => return Ok(()),
                Some(Step::Open(Region::Path)) => {
                    let mut added = Ok(None);
                    paths.path(|chain| added = self.add_all(chain));
                    added?;
                }
                Some(_) => return Err(Error::new("a `select` holds paths alone")),
            }
        }
    }

    fn feedback<T: Portable>(&mut self, initial: &[u8], chain: &mut Chain) -> Result<()> {
        let initial = bytemuck::allocation::pod_collect_to_vec::<u8, T>(initial);
        let mut added = Ok(());
        chain.feedback(&initial, |chain, previous| {
            let before = DynWire::from(previous);
            self.wires.push(before.clone());
            let value = self.add_all(chain).and_then(|value| value.map(|value| self.wires[value].typed()).transpose());
            value.map_err(|error| added = Err(error)).ok().flatten().unwrap_or_else(|| {
                // A region that is not written yet keeps what it was given, and does not run.
                before.typed().expect("it was made of this type")
            })
        });
        added
    }

    fn leave_if(&mut self, done: usize, chain: &mut Chain) -> Result<()> {
        let done = &self.wires[done];
        let is_true = if done.dtype() == Some(Dtype::U8) {
            &chain.add_dyn(DynTask::new(IsTrue).named("is true"), &[done])?[0]
        } else {
            done
        };
        chain.leave_if(&is_true.typed()?);
        Ok(())
    }
}

/// Whether a number is not zero: NumPy has no bits of its own that a frame could be of.
#[derive(Clone)]
struct IsTrue;

impl Task for IsTrue {
    type In = In<u8>;
    type Out = Out<bool>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, numbers: &[u8], are_true: &mut [bool]) -> Result<Flow> {
        are_true.iter_mut().zip(numbers).for_each(|(is_true, number)| *is_true = *number != 0);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self)
    }
}

impl RawTask for Blank {
    fn name(&self) -> String {
        "blank".to_owned()
    }
    fn inputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }
    fn outputs(&self) -> Vec<SocketKind> {
        let Self { dtype, shape } = self.clone();
        kinds(&[Socket { dtype, direction: Direction::Out, is_variable: false, shape }])
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(vec![self.shape.clone()])
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        batch.outputs.get_mut(0)?.bytes()?.fill(0);
        Ok(())
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
