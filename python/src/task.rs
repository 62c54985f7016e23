//! Tasks that Python code does, on views of whole batches or frame by frame.

use std::sync::Arc;

use bief::raw::{BatchView, Direction, Dtype, RawTask, Shape, SocketKind};
use bief::{Error, Result};
use numpy::PyArrayDescrMethods;
use pyo3::prelude::*;

use crate::element::description;
use crate::thread::attached;
use crate::view::{Called, Geometry, Place, Views};

/// What becomes of a frame: a task returns it.
#[pyclass(module = "bief", eq, frozen, hash, from_py_object, rename_all = "UPPERCASE")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Flow {
    /// The frame goes on; `None` says the same.
    Next,
    /// The tasks that follow do not see the frame.
    Skip,
    /// The stream ends before the frame.
    Stop,
}

/// A task as the recipe of a chain has it.
#[derive(Clone)]
pub(crate) struct Spec {
    pub(crate) name: String,
    /// The object of the Python class `bief.Task`.
    pub(crate) task: Arc<Py<PyAny>>,
    /// What its parameters are called.
    pub(crate) parameters: Arc<[String]>,
    pub(crate) inputs: Vec<Socket>,
    pub(crate) outputs: Vec<Socket>,
    pub(crate) batches: bool,
    pub(crate) replicable: bool,
}

#[derive(Clone)]
pub(crate) struct Socket {
    pub(crate) dtype: Dtype,
    pub(crate) direction: Direction,
    pub(crate) is_variable: bool,
    pub(crate) shape: Shape,
}

/// A replica of a task.
pub(crate) struct PyTask {
    spec: Arc<Spec>,
    task: Arc<Py<PyAny>>,
    /// Its `run`, and the arrays' descriptions: bound when it first runs.
    bound: Option<Bindings>,
    views: Views,
    /// Frames that a source may still make, in a rehearsal.
    left: Option<u64>,
    /// Why there is no replica, for its first batch.
    fault: Option<Error>,
}

struct Bindings {
    run: Py<PyAny>,
    sockets: Vec<Geometry>,
    places: Vec<Place>,
}

// SAFETY: the places are those of the last batch, and written anew before they are used.
unsafe impl Send for Bindings {}

impl PyTask {
    /// With the object itself, or its stand-in for a rehearsal of so many frames.
    pub(crate) fn new(spec: &Spec, rehearsal: Option<u64>) -> Result<Self> {
        let task = match rehearsal {
            None => Arc::clone(&spec.task),
            Some(_) => {
                let stand_in = Python::attach(|py| {
                    let task = spec.task.bind(py);
                    task.call_method1("_stand_in", (&spec.name, spec.inputs.is_empty())).map(Bound::unbind)
                });
                Arc::new(stand_in.map_err(Error::from_source)?)
            }
        };
        let left = rehearsal.filter(|_| spec.inputs.is_empty());
        Ok(Self { spec: Arc::new(spec.clone()), task, bound: None, views: Views::default(), left, fault: None })
    }

    fn bind(&mut self, batch: &BatchView<'_>, py: Python<'_>) -> Result<()> {
        if self.bound.is_some() {
            return Ok(());
        }
        let run = self.task.bind(py).getattr("run").map_err(Error::from_source)?.unbind();
        let mut sockets = Vec::new();
        for number in 0..batch.inputs.count() {
            let view = batch.inputs.get(number)?;
            sockets.push(geometry(py, &view, view.direction() != Direction::In)?);
        }
        for number in 0..batch.outputs.count() {
            sockets.push(geometry(py, &batch.outputs.get(number)?, true)?);
        }
        self.bound = Some(Bindings { run, sockets, places: Vec::new() });
        Ok(())
    }

    /// The call for frames from this position on, one or a run of them.
    fn call(
        &mut self,
        batch: &mut BatchView<'_>,
        py: Python<'_>,
        position: usize,
        frames: Option<usize>,
    ) -> Result<Said> {
        let Bindings { run, sockets, places } = self.bound.as_mut().expect("it was bound");
        places.clear();
        for (number, socket) in sockets.iter().enumerate().take(batch.inputs.count()) {
            let view = batch.inputs.get(number)?;
            let len = view.lens().map_or(0, |lens| lens[position]);
            let step = position * socket.stride * socket.itemsize;
            let start = match view.direction() {
                Direction::In => view.bytes()?.as_ptr().cast_mut(),
                _ => batch.inputs.get_mut(number)?.bytes()?.as_mut_ptr(),
            };
            places.push(Place { start: start.wrapping_add(step), len });
        }
        for number in 0..batch.outputs.count() {
            let mut view = batch.outputs.get_mut(number)?;
            let socket = &sockets[batch.inputs.count() + number];
            let len = if view.view().is_variable() { view.view().len() } else { 0 };
            let step = position * socket.stride * socket.itemsize;
            places.push(Place { start: view.bytes()?.as_mut_ptr().wrapping_add(step), len });
        }
        let called = self.views.call(run.bind(py), sockets, places, frames);
        let Called { returned, kept } = called.map_err(Error::from_source)?;
        for &socket in &kept {
            match socket.checked_sub(batch.inputs.count()) {
                None => batch.inputs.get(socket)?.leak(),
                Some(output) => batch.outputs.get(output)?.leak(),
            }
        }
        // What an exception tells of may hold views: that is no fault of its own.
        let returned = returned.map_err(Error::from_source)?;
        if let Some(&socket) = kept.first() {
            let name = self.spec.parameters.get(socket).map_or("a view", String::as_str);
            return Err(Error::new(format!(
                "it kept `{name}`, or a part of it, after it had returned: these are frames that others use then; keep a copy, \
                 {name}.copy()"
            )));
        }
        said(&returned)
    }
}

/// What a task returned.
enum Said {
    Flow(Flow),
    Number(usize),
}

fn said(returned: &Bound<'_, PyAny>) -> Result<Said> {
    if returned.is_none() {
        return Ok(Said::Flow(Flow::Next));
    }
    if let Ok(flow) = returned.cast::<Flow>() {
        return Ok(Said::Flow(*flow.get()));
    }
    returned.extract::<usize>().map(Said::Number).map_err(|_| {
        let class = returned.get_type();
        Error::new(format!(
            "it returned a value of {class}: return None, bief.Flow.SKIP, bief.Flow.STOP, or a number where frames vary or come in \
             batches"
        ))
    })
}

fn geometry(py: Python<'_>, view: &bief::raw::SocketView<'_>, is_writable: bool) -> Result<Geometry> {
    let described = view.dtype().and_then(|dtype| description(py, dtype));
    let described = described
        .ok_or_else(|| Error::new(format!("NumPy has no numbers like {}: convert them before", view.element())))?;
    Ok(Geometry {
        itemsize: described.itemsize(),
        description: described.unbind(),
        shape: (!view.is_variable()).then(|| view.shape().dims().to_vec()),
        stride: view.stride(),
        is_writable,
    })
}

impl RawTask for PyTask {
    fn name(&self) -> String {
        self.spec.name.clone()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        kinds(&self.spec.inputs)
    }

    fn outputs(&self) -> Vec<SocketKind> {
        kinds(&self.spec.outputs)
    }

    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(self.spec.outputs.iter().map(|socket| socket.shape.clone()).collect())
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        attached(|py| {
            self.bind(batch, py)?;
            if self.spec.batches { self.run_batch(batch, py) } else { self.run_frames(batch, py) }
        })
    }

    fn replica(&self) -> Option<Self> {
        if !self.spec.replicable {
            return None;
        }
        let made = Python::attach(|py| self.task.bind(py).call_method0("replica").map(Bound::unbind));
        let (task, fault) = match made {
            Ok(task) => (Arc::new(task), None),
            Err(error) => (Arc::clone(&self.task), Some(Error::from_source(error))),
        };
        Some(Self { spec: Arc::clone(&self.spec), task, bound: None, views: Views::default(), left: self.left, fault })
    }

    fn finish(&mut self) -> Result<()> {
        attached(|py| {
            self.views.clear();
            self.task.bind(py).call_method0("finish").map(drop).map_err(Error::from_source)
        })
    }
}

impl PyTask {
    /// Ends the stream where a rehearsal has frames enough.
    fn bounded(&mut self, batch: &mut BatchView<'_>) -> bool {
        if let Some(left) = self.left {
            let count = batch.frames.count() as u64;
            if left < count {
                batch.frames.stop(left as usize);
            }
            self.left = Some(left - left.min(count));
        }
        batch.frames.count() > 0
    }

    fn run_frames(&mut self, batch: &mut BatchView<'_>, py: Python<'_>) -> Result<()> {
        if !self.bounded(batch) {
            return Ok(());
        }
        let varies = self.spec.outputs.first().is_some_and(|socket| socket.is_variable);
        let mut position = 0;
        while position < batch.frames.count() {
            if batch.frames.is_live(position) {
                batch.frames.begin(position);
                match self.call(batch, py, position, None)? {
                    Said::Flow(Flow::Skip) => batch.frames.skip(position),
                    Said::Flow(Flow::Stop) => batch.frames.stop(position),
                    Said::Number(len) if varies => batch.outputs.get_mut(0)?.set_len(position, len)?,
                    Said::Flow(Flow::Next) if !varies => {}
                    Said::Flow(Flow::Next) => {
                        return Err(Error::new(
                            "its frames vary in length, and it returned None: return how many elements it wrote",
                        ));
                    }
                    Said::Number(_) => {
                        return Err(Error::new(
                            "it returned a number: return None, bief.Flow.SKIP or bief.Flow.STOP for a frame",
                        ));
                    }
                }
            }
            position += 1;
        }
        Ok(())
    }

    fn run_batch(&mut self, batch: &mut BatchView<'_>, py: Python<'_>) -> Result<()> {
        if !self.bounded(batch) {
            return Ok(());
        }
        let mut start = 0;
        while start < batch.frames.count() {
            if !batch.frames.is_live(start) {
                start += 1;
                continue;
            }
            let count = batch.frames.count();
            let end = (start..count).find(|&position| !batch.frames.is_live(position)).unwrap_or(count);
            batch.frames.begin(start);
            match self.call(batch, py, start, Some(end - start))? {
                Said::Flow(Flow::Next) => {}
                Said::Flow(Flow::Skip) => (start..end).for_each(|position| batch.frames.skip(position)),
                Said::Flow(Flow::Stop) => batch.frames.stop(start),
                Said::Number(frames) if frames <= end - start => batch.frames.stop(start + frames),
                Said::Number(frames) => {
                    return Err(Error::new(format!(
                        "it returned {frames}, but got {} frames: return how many of them go on before the stream ends, or None",
                        end - start
                    )));
                }
            }
            start = end;
        }
        Ok(())
    }
}

pub(crate) fn kinds(sockets: &[Socket]) -> Vec<SocketKind> {
    let kind = |socket: &Socket| SocketKind::of(&socket.dtype, socket.direction, socket.is_variable);
    sockets.iter().map(|socket| kind(socket).expect("numbers are known")).collect()
}
