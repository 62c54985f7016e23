//! `bief.Chain`, as far as it is Rust: steps are checked as they are added, and kept for runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bief::kinds::{Kept, Parameters, Value};
use bief::pipeline::Waiting;
use bief::raw::{Direction, DynWire, Shape};
use numpy::{PyArray1, PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::element::{description, element};
use crate::error::{OrRaise, refused};
use crate::held::Held;
use crate::recipe::{Array, Collect, For, Recipe, Step};
use crate::region::{Blank, Region};
use crate::run::{How, Outcome, planned_of, run_application};
use crate::task::{Socket, Spec};

/// A wire of a chain: what its frames are.
#[pyclass(module = "bief._bief", frozen)]
pub(crate) struct Wire {
    chain: u64,
    number: usize,
    wire: DynWire,
}

#[pymethods]
impl Wire {
    /// The dtype of its elements; None of those that NumPy has no numbers for.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArrayDescr>> {
        self.wire.dtype().and_then(|dtype| description(py, &dtype))
    }

    /// The shape of a frame, without that of the batch; of the longest one where they vary.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.wire.shape().dims())
    }

    /// Whether each frame has a length of its own.
    #[getter]
    fn is_variable(&self) -> bool {
        self.wire.is_variable()
    }

    fn __repr__(&self) -> String {
        let most = if self.wire.is_variable() { "up to " } else { "" };
        format!("<Wire {most}{} x {}>", self.wire.shape(), self.wire.element())
    }
}

/// Frames that a chain has collected.
#[pyclass(module = "bief._bief", frozen)]
pub(crate) struct Collected {
    collect: Collect,
}

#[pymethods]
impl Collected {
    /// The bytes of all frames, how many frames these are, and the elements of each where they vary; they are gone from here.
    fn take<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u8>>, usize, Vec<usize>) {
        let got = std::mem::take(&mut *self.collect.got.lock().unwrap_or_else(PoisonError::into_inner));
        (PyArray1::from_vec(py, got.bytes), got.frames, got.lens)
    }
}

/// The steps of a chain.
#[pyclass(module = "bief._bief", frozen)]
pub(crate) struct Chain {
    inner: Mutex<Inner>,
    number: u64,
}

struct Inner {
    recipe: Recipe,
    /// A rehearsal of it, which tells at once what does not fit.
    probe: bief::Chain,
    wires: Vec<DynWire>,
    /// Regions that are written now: how many steps and wires there were before each.
    open: Vec<(usize, usize)>,
}

impl Inner {
    /// Why a step cannot stand here.
    fn misplaced(&self, step: &Step) -> Option<&'static str> {
        let mut around = self.open.iter().rev().filter_map(|&(step, _)| match &self.recipe.steps[step] {
            Step::Open(region) => Some(region),
            _ => None,
        });
        let in_select = matches!(around.clone().next(), Some(Region::Select { .. }));
        match step {
            Step::Open(Region::Path) if !in_select => Some("a path stands in no `select`: open it in one"),
            Step::Open(Region::Path) | Step::Close { .. } => None,
            _ if in_select => Some("a `select` holds paths alone: add it in one, or before the `select`"),
            Step::LeaveIf { done } if self.wires[*done].shape().len() != 1 => {
                Some("whether to leave is one element: give a wire of one")
            }
            Step::LeaveIf { .. } => match around.find(|region| !matches!(region, Region::Path | Region::Select { .. }))
            {
                Some(Region::Repeat { .. }) => None,
                Some(_) => Some("it would leave a `feedback` before its value is made: leave the loop outside it"),
                None => Some("it stands in no loop: use it in the block of a `repeat`"),
            },
            _ => None,
        }
    }

    /// Adds a step, and answers the wires that it makes.
    fn add(&mut self, step: Step) -> bief::Result<Vec<DynWire>> {
        let Self { recipe, probe, wires, open } = self;
        if open.is_empty() && !step.is_of_region() {
            let made = recipe.add(&step, probe, wires, For::Check)?;
            recipe.steps.push(step);
            wires.extend(made.iter().cloned());
            return Ok(made);
        }
        // A region is one piece of a chain, which cannot be added to: it is made anew with the step in it.
        recipe.steps.push(step);
        let (chain, all) = recipe.written(For::Check).inspect_err(|_| drop(recipe.steps.pop()))?;
        let made = all[wires.len()..].to_vec();
        (*probe, *wires) = (chain, all);
        Ok(made)
    }

    fn open(&mut self, step: Step) -> bief::Result<Vec<DynWire>> {
        let before = (self.recipe.steps.len(), self.wires.len());
        let made = self.add(step)?;
        self.open.push(before);
        Ok(made)
    }

    /// Closes the region that was opened last; one that is refused goes with all that is in it.
    fn close(&mut self, value: Option<usize>) -> bief::Result<()> {
        let closed = self.add(Step::Close { value }).and_then(|_| match self.open.len() {
            // What the whole region is refused for.
            1 => self.recipe.build(For::Check).map(drop),
            _ => Ok(()),
        });
        match closed {
            Ok(()) => {
                self.open.pop();
                Ok(())
            }
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Forgets the region that was opened last, with all that is in it.
    fn abandon(&mut self) {
        let Some((steps, wires)) = self.open.pop() else { return };
        self.recipe.steps.truncate(steps);
        if let Ok((chain, all)) = self.recipe.written(For::Check) {
            (self.probe, self.wires) = (chain, all);
        }
        self.wires.truncate(wires);
    }
}

impl Chain {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, py: Python<'_>, step: Step) -> PyResult<Vec<Wire>> {
        // Python code runs meanwhile, which may let another thread in: the lock is taken without the interpreter.
        self.check(py, &step)?;
        self.made(py, |inner| inner.add(step))
    }

    fn open(&self, py: Python<'_>, region: Region) -> PyResult<Vec<Wire>> {
        let step = Step::Open(region);
        self.check(py, &step)?;
        self.made(py, |inner| inner.open(step))
    }

    /// Refuses a step that cannot stand here.
    fn check(&self, py: Python<'_>, step: &Step) -> PyResult<()> {
        let reason = py.detach(|| self.lock().misplaced(step));
        reason.map_or(Ok(()), |reason| Err(refused(py, reason)))
    }

    /// The wires that are made of a chain that nobody else uses meanwhile.
    fn made(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&mut Inner) -> bief::Result<Vec<DynWire>> + Send,
    ) -> PyResult<Vec<Wire>> {
        let made: bief::Result<Vec<Wire>> = py.detach(|| {
            let inner = &mut *self.lock();
            let first = inner.wires.len();
            let wire = |(index, wire)| Wire { chain: self.number, number: first + index, wire };
            Ok(make(inner)?.into_iter().enumerate().map(wire).collect())
        });
        made.or_raise(py)
    }

    fn numbers(&self, py: Python<'_>, wires: &[PyRef<'_, Wire>]) -> PyResult<Vec<usize>> {
        let number = |(index, wire): (usize, &PyRef<'_, Wire>)| match wire.chain == self.number {
            true => Ok(wire.number),
            false => {
                Err(refused(py, &format!("input {index} is a wire of another chain: give one that this chain made")))
            }
        };
        wires.iter().enumerate().map(number).collect()
    }

    fn recipe(&self, py: Python<'_>) -> Recipe {
        py.detach(|| self.lock().recipe.clone())
    }
}

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (batch, depth, waiting))]
    fn new(py: Python<'_>, batch: usize, depth: Option<usize>, waiting: &str) -> PyResult<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static CHAINS: AtomicU64 = AtomicU64::new(0);
        let waiting = match waiting {
            "adaptive" => Waiting::Adaptive,
            "passive" => Waiting::Passive,
            "active" => Waiting::Active,
            other => return Err(refused(py, &format!("waiting must be adaptive, passive or active, not {other:?}"))),
        };
        let registry = Arc::new(bief_radio::registry());
        let recipe = Recipe { batch, depth, waiting, steps: Vec::new(), registry, kept: Kept::new(), has_run: false };
        let inner = Inner { probe: recipe.begun(), recipe, wires: Vec::new(), open: Vec::new() };
        Ok(Self { inner: Mutex::new(inner), number: CHAINS.fetch_add(1, Ordering::Relaxed) })
    }

    /// Adds a source that plays the frames of an array, of which the first dimension counts frames.
    fn array(
        &self,
        py: Python<'_>,
        name: String,
        array: &Bound<'_, PyUntypedArray>,
        repeats: bool,
    ) -> PyResult<Vec<Wire>> {
        let dtype = element(&array.dtype())?;
        let shape = Shape::from(&array.shape()[1..]);
        self.add(
            py,
            Step::Array(Array { name, held: Held::new(array)?, dtype, shape, frames: array.shape()[0], repeats }),
        )
    }

    /// Adds a task of Python. `outputs` are dtype, shape, and whether frames vary in length.
    #[allow(clippy::too_many_arguments, reason = "Python names them")]
    fn task(
        &self,
        py: Python<'_>,
        name: String,
        task: Py<PyAny>,
        parameters: Vec<String>,
        wires: Vec<PyRef<'_, Wire>>,
        in_place: Vec<bool>,
        outputs: Vec<(Bound<'_, PyArrayDescr>, Vec<usize>, bool)>,
        batches: bool,
        replicable: bool,
    ) -> PyResult<Vec<Wire>> {
        let numbers = self.numbers(py, &wires)?;
        let input = |(number, (wire, &rewrites)): (usize, (&PyRef<'_, Wire>, &bool))| {
            let dtype = wire.wire.dtype().filter(|dtype| description(py, dtype).is_some()).ok_or_else(|| {
                let element = wire.wire.element();
                refused(py, &format!("task `{name}`: input {number} is of {element}, which NumPy has no numbers for"))
            })?;
            let direction = if rewrites { Direction::InOut } else { Direction::In };
            let shape = wire.wire.shape().clone();
            Ok(Socket { dtype, direction, is_variable: wire.wire.is_variable(), shape })
        };
        let inputs = wires.iter().zip(&in_place).enumerate().map(input).collect::<PyResult<Vec<_>>>()?;
        let output = |(dtype, shape, is_variable): (Bound<'_, PyArrayDescr>, Vec<usize>, bool)| {
            let shape = Shape::from(&*shape);
            Ok(Socket { dtype: element(&dtype)?, direction: Direction::Out, is_variable, shape })
        };
        let outputs = outputs.into_iter().map(output).collect::<PyResult<Vec<_>>>()?;
        let spec =
            Spec { name, task: Arc::new(task), parameters: parameters.into(), inputs, outputs, batches, replicable };
        drop(wires);
        self.add(py, Step::Task { spec: Arc::new(spec), inputs: numbers })
    }

    /// Adds what a kind makes.
    fn kind(
        &self,
        py: Python<'_>,
        name: String,
        kind: String,
        parameters: &Bound<'_, PyDict>,
        wires: Vec<PyRef<'_, Wire>>,
    ) -> PyResult<Vec<Wire>> {
        let inputs = self.numbers(py, &wires)?;
        drop(wires);
        let mut given = Parameters::new();
        for (key, value) in parameters {
            let key: String = key.extract()?;
            let value = parameter(&value)
                .map_err(|error| PyTypeError::new_err(format!("parameter `{key}` of `{kind}`: {}", error.value(py))))?;
            given = given.with(key, value);
        }
        self.add(py, Step::Kind { name, kind, parameters: given, inputs })
    }

    /// Keeps the frames of a wire.
    fn collect(&self, py: Python<'_>, name: String, wire: PyRef<'_, Wire>) -> PyResult<Collected> {
        let input = self.numbers(py, std::slice::from_ref(&wire))?[0];
        let dtype =
            wire.wire.dtype().filter(|dtype| description(py, dtype).is_some()).ok_or_else(|| {
                refused(py, &format!("{} is nothing that NumPy has numbers for", wire.wire.element()))
            })?;
        let (is_variable, shape) = (wire.wire.is_variable(), wire.wire.shape().clone());
        drop(wire);
        let socket = Socket { dtype, direction: Direction::In, is_variable, shape };
        let collect = Collect { name, socket, got: Arc::default() };
        self.add(py, Step::Collect { collect: collect.clone(), input })?;
        Ok(Collected { collect })
    }

    /// Begins a stage at the next task.
    fn stage(&self, py: Python<'_>, name: String, threads: usize) -> PyResult<()> {
        self.add(py, Step::Stage { name, threads }).map(drop)
    }

    /// Frames of zeros.
    fn blank(&self, py: Python<'_>, dtype: Bound<'_, PyArrayDescr>, shape: Vec<usize>) -> PyResult<Vec<Wire>> {
        let blank = Blank { dtype: element(&dtype)?, shape: Shape::from(&*shape) };
        self.add(py, Step::Blank(blank))
    }

    /// Opens a loop.
    fn repeat(&self, py: Python<'_>, bound: usize) -> PyResult<()> {
        self.open(py, Region::Repeat { bound }).map(drop)
    }

    /// Leaves the loop around it where this wire is not zero.
    fn leave_if(&self, py: Python<'_>, wire: PyRef<'_, Wire>) -> PyResult<()> {
        let done = self.numbers(py, std::slice::from_ref(&wire))?[0];
        drop(wire);
        self.add(py, Step::LeaveIf { done }).map(drop)
    }

    /// Opens a switch by this wire, which holds paths alone.
    fn select(&self, py: Python<'_>, wire: PyRef<'_, Wire>) -> PyResult<()> {
        let choice = self.numbers(py, std::slice::from_ref(&wire))?[0];
        drop(wire);
        self.open(py, Region::Select { choice }).map(drop)
    }

    /// Opens a path of a switch.
    fn path(&self, py: Python<'_>) -> PyResult<()> {
        self.open(py, Region::Path).map(drop)
    }

    /// Opens a feedback that begins with this frame; answers the wire of the frame before.
    fn feedback(&self, py: Python<'_>, initial: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<Wire>> {
        let dtype = element(&initial.dtype())?;
        let initial = Held::new(initial)?;
        self.open(py, Region::Feedback { initial, dtype })
    }

    /// Closes what was opened last; a feedback with the wire that it keeps.
    #[pyo3(signature = (value=None))]
    fn close(&self, py: Python<'_>, value: Option<PyRef<'_, Wire>>) -> PyResult<()> {
        let number = value.as_ref().map(|value| self.numbers(py, std::slice::from_ref(value))).transpose()?;
        drop(value);
        let value = number.map(|numbers| numbers[0]);
        self.made(py, |inner| inner.close(value).map(|()| Vec::new())).map(drop)
    }

    /// Forgets what was opened last.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.lock().abandon());
    }

    /// Measures, plans, or runs: `how` is a JSON document (see `run.rs`).
    #[pyo3(signature = (how, progress))]
    fn run(&self, py: Python<'_>, how: &str, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        let how = How::from_json(py, how)?;
        let mut recipe = self.recipe(py);
        let marked = recipe.has_stages();
        let outcome = run_application(py, &mut recipe, &how, marked, progress);
        py.detach(|| self.lock().recipe.has_run = true);
        outcome
    }

    /// Measures and plans alone.
    fn plan(&self, py: Python<'_>, how: &str) -> PyResult<Outcome> {
        let how = How::from_json(py, how)?;
        let recipe = self.recipe(py);
        planned_of(py, &recipe, &how)
    }

    /// The chain as a graph in the DOT language.
    fn dot(&self, py: Python<'_>) -> PyResult<String> {
        let recipe = self.recipe(py);
        py.detach(|| recipe.build(For::Check).map(|program| program.dot())).or_raise(py)
    }
}

/// A parameter's value.
fn parameter(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    // A bool is an int, too.
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::Text(value.extract()?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|value| parameter(&value?)).collect::<PyResult<_>>().map(Value::List);
    }
    // What converts itself: paths, numbers of NumPy.
    if let Ok(path) = value.call_method0("__fspath__") {
        return Ok(Value::Text(path.extract()?));
    }
    if let Ok(plain) = value.call_method0("tolist") {
        return parameter(&plain);
    }
    let class = value.get_type().name()?.to_string();
    Err(PyValueError::new_err(format!("a {class} is no number, text, true or false, or list of them")))
}
