//! Tasks of C: structs of functions, and the batches that they work on.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_void};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runtime::raw::{Area, BatchFrames, BatchView, Direction, RawTask, Shape, SocketKind};
use runtime::report::Figures;
use runtime::{Error, Result};

use crate::fault::{Fault, ForeignError, guarded};
use crate::sized::{self, Versioned};
use crate::sockets::Declared;
use crate::text::{optional, text};

/// The frame goes on.
pub const BIEF_NEXT: i32 = 0;
/// The frame is taken out: the tasks that follow do not see it.
pub const BIEF_SKIP: i32 = 1;
/// The stream has ended: neither this frame nor any later one goes on.
pub const BIEF_STOP: i32 = 2;

/// Room for what a task has to say when it fails, in bytes.
const ERROR_SIZE: usize = 1024;

/// What a task sees of one socket: a frame, or, if it takes batches, frames one after the other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_slice {
    /// The elements; those of an input are not to be written. The first is aligned to 64 bytes where a batch begins, else to
    /// its own size.
    pub data: *mut c_void,
    /// How many elements a frame has. Of a variable frame that the task makes or rewrites it is set by the task: it is 0 for
    /// what it makes, and at most `capacity`.
    pub len: usize,
    /// How many elements a frame has room for.
    pub capacity: usize,
}

/// What a task is told of one call, and what it answers beside its status.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_call {
    /// sizeof(bief_call) of the library: fields beyond it are not there.
    pub size: usize,
    /// The number of the (first) frame, as the source counts; -1 where frames have no number.
    pub frame: i64,
    /// How many frames there are: 1, unless the task takes batches.
    pub frames: usize,
    /// Of a task that takes batches and returns BIEF_STOP or less than 0: how many of the frames it had finished before. They
    /// go on. It is 0 before each call.
    pub done: usize,
    /// Where a task that fails writes why, as text that ends with a zero. It is empty before each call.
    pub error: *mut c_char,
    /// How many bytes there is room for.
    pub error_size: usize,
}

/// What a task of C is told to report of its work: see bief_figure_count.
pub struct bief_figures {
    figures: Figures,
}

/// A task. Functions that it does not need are NULL. No function may let a C++ exception pass, or leave by longjmp.
///
/// A state is used by one thread at a time, though not always by the same one. What copies of it share is used by several
/// threads at once, and must be made for that.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_task {
    /// sizeof(bief_task), set by the program.
    pub size: usize,
    /// Its name in profiles, reports and errors. A number is added where the chain has that name.
    pub name: *const c_char,
    /// Its sockets, 16 at most, in the order in which `run` gets them, separated by commas: `in f32`, `in-place complex<f32>` (rewritten),
    /// `out 64 x u8`, `in variable u8` (each frame has a length of its own), `out variable 188 x u8` (at most 188). Elements
    /// are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 complex<f32> complex<f64>; complex numbers are real part, imaginary part. A
    /// number says how long frames are, several (`8 x 8 x f32`) their shape. An input without one takes any length; an output
    /// without one is as long as the first input.
    pub sockets: *const c_char,
    /// Handed to every function.
    pub state: *mut c_void,
    /// Works on a frame: BIEF_NEXT, BIEF_SKIP, BIEF_STOP, or less than 0 to end the run with an error.
    pub run: Option<unsafe extern "C" fn(state: *mut c_void, sockets: *mut bief_slice, call: *mut bief_call) -> i32>,
    /// Sets the lengths of outputs that neither `sockets` nor the first input tell, from those of the inputs; `outputs` holds
    /// what is known already. Returns 0, or less than 0 for inputs that do not fit, and says in `call` what does. Asked when
    /// the task is added.
    pub lens: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            inputs: *const usize,
            outputs: *mut usize,
            call: *mut bief_call,
        ) -> i32,
    >,
    /// Makes a state that does the same, for a replica on another core: returns 0 and sets `copy`, or less than 0 if it cannot.
    /// NULL for a task that remembers something from frame to frame: it is never replicated. Copies are also made to find out
    /// whether there can be one. Never called while `run` is, for the same state.
    pub copy: Option<unsafe extern "C" fn(state: *const c_void, copy: *mut *mut c_void) -> i32>,
    /// Frees a state: the first one and each copy, once.
    pub free: Option<unsafe extern "C" fn(state: *mut c_void)>,
    /// Called after the last frame of a run, also of one that failed: the place to flush. Returns 0, or less than 0.
    pub finish: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut bief_call) -> i32>,
    /// Called before each run of a pipeline but the first: the place to begin anew. Returns 0, or less than 0.
    pub reset: Option<unsafe extern "C" fn(state: *mut c_void, call: *mut bief_call) -> i32>,
    /// How many elements a source had to drop in this run, because they came faster than it was asked for them.
    pub lost: Option<unsafe extern "C" fn(state: *const c_void) -> u64>,
    /// Tells what the task has counted and measured in this run, by bief_figure_count and bief_figure_level.
    pub figures: Option<unsafe extern "C" fn(state: *const c_void, figures: *mut bief_figures)>,
    /// Not 0: `run` takes frames that lie one after the other at once, `call->frames` of them, each of `len` elements. Only for
    /// tasks whose frames all have one length. What `run` returns then counts for all of them.
    pub batches: i32,
}

// SAFETY: `repr(C)`, the size first; zeros are null pointers, functions that are not there, and numbers.
unsafe impl Versioned for bief_task {
    const NAME: &'static str = "bief_task";
}

/// For `copy` of tasks whose state is only read, or that have none: copies are the same pointer. `free` must be NULL then.
///
/// # Safety
/// `copy` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_share(state: *const c_void, copy: *mut *mut c_void) -> i32 {
    guarded(|| {
        if copy.is_null() {
            return Err(Fault::argument("no place for the copy: the pointer is NULL"));
        }
        // SAFETY: passed on to the caller.
        unsafe { copy.write(state.cast_mut()) };
        Ok(())
    })
}

/// Reports how often something happened in this run, or how much of something there was: replicas add up. A count
/// `information` in `bits` tells profiles how many bits a frame carries.
///
/// # Safety
/// `figures` is what `figures` of a task was given, texts end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_figure_count(
    figures: *mut bief_figures,
    name: *const c_char,
    unit: *const c_char,
    count: u64,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (figures, name, unit) =
            unsafe { (crate::fault::handle(figures, "figures")?, text(name, "name")?, optional(unit, "unit")?) };
        figures.figures.count(name.to_owned(), unit.unwrap_or_default().to_owned(), count);
        Ok(())
    })
}

/// Reports what was measured in this run, and how much stands behind it (frames, most often): replicas become their mean by
/// weight. A value that is not finite, or has no weight, is left out.
///
/// # Safety
/// As bief_figure_count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_figure_level(
    figures: *mut bief_figures,
    name: *const c_char,
    unit: *const c_char,
    mean: f64,
    weight: f64,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (figures, name, unit) =
            unsafe { (crate::fault::handle(figures, "figures")?, text(name, "name")?, optional(unit, "unit")?) };
        figures.figures.level(name.to_owned(), unit.unwrap_or_default().to_owned(), mean, weight);
        Ok(())
    })
}

/// The call of a function. What the function says is written to a place of its thread: it is there in the cache for every call.
pub(crate) struct Call(bief_call);

thread_local! {
    static SAID: UnsafeCell<[u8; ERROR_SIZE]> = const { UnsafeCell::new([0; ERROR_SIZE]) };
}

impl Call {
    pub(crate) fn new() -> Self {
        let size = size_of::<bief_call>();
        // A thread that is ending has no place any more.
        let (error, error_size) =
            SAID.try_with(|said| (said.get().cast(), ERROR_SIZE)).unwrap_or((std::ptr::null_mut(), 0));
        Self(bief_call { size, frame: -1, frames: 0, done: 0, error, error_size })
    }

    /// Ready for a function that works on so many frames.
    #[inline]
    pub(crate) fn begin(&mut self, frame: i64, frames: usize) -> *mut bief_call {
        (self.0.frame, self.0.frames, self.0.done) = (frame, frames, 0);
        if !self.0.error.is_null() {
            // SAFETY: the place of this thread, which nobody else uses.
            unsafe { self.0.error.write(0) };
        }
        &raw mut self.0
    }

    /// What the function that was called last on this thread has to say.
    fn said() -> String {
        let text = SAID.try_with(|said| {
            // SAFETY: nobody writes there meanwhile: no function of C works on this thread.
            let said = unsafe { &*said.get() };
            // What is not ended within its room is taken as far as it goes.
            let end = said.iter().position(|&byte| byte == 0).unwrap_or(ERROR_SIZE);
            String::from_utf8_lossy(&said[..end]).into_owned()
        });
        text.unwrap_or_default()
    }

    /// Why a function that returned this failed.
    #[cold]
    pub(crate) fn error(&self, code: i32) -> Error {
        let message = match Self::said() {
            text if text.is_empty() => format!("returned {code}, and did not say why"),
            text => text,
        };
        Error::from_source(ForeignError { code, message })
    }

    /// Whether nothing was said.
    pub(crate) fn is_silent(&self) -> bool {
        Self::said().is_empty()
    }

    /// The outcome of a function that returns 0, or less than 0.
    fn outcome(&self, code: i32) -> Result<()> {
        if code < 0 { Err(self.error(code)) } else { Ok(()) }
    }
}

/// A state of a task of C.
struct State {
    pointer: *mut c_void,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Whether it is freed here: not where the task was refused.
    is_owned: Arc<AtomicBool>,
}

// SAFETY: the header asks that a state may go from thread to thread.
unsafe impl Send for State {}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(free) = self.free.filter(|_| self.is_owned.load(Ordering::Relaxed)) {
            // SAFETY: the header asks that each state can be freed once; nobody uses it any more.
            unsafe { free(self.pointer) };
        }
    }
}

/// What all replicas have in common.
struct Spec {
    name: String,
    sockets: Vec<Declared>,
    functions: bief_task,
}

// SAFETY: the functions may be called from any thread, as the header asks, and its pointers are not used: texts were copied.
unsafe impl Send for Spec {}
// SAFETY: as before; nothing in it changes.
unsafe impl Sync for Spec {}

type Run = unsafe extern "C" fn(*mut c_void, *mut bief_slice, *mut bief_call) -> i32;

/// How frames are handed to a task.
#[derive(Clone, Copy)]
enum Handing {
    /// One by one, all of one length.
    Fixed,
    /// One by one, some of which have a length of their own.
    Variable,
    /// Those that lie one after the other at once.
    Batches,
}

/// The most sockets that a task may have.
const MOST_SOCKETS: usize = 16;

/// A socket: whether it is an output, and which of the inputs or outputs.
#[derive(Clone, Copy, Default)]
struct Which {
    is_output: bool,
    number: u8,
}

/// A task of C. What a call needs lies together.
pub(crate) struct CTask {
    run: Run,
    state: State,
    handing: Handing,
    count: u8,
    order: [Which; MOST_SOCKETS],
    spec: Arc<Spec>,
}

/// A task at work on a batch: where the frames of its sockets are, and what it is shown of them.
struct Work<'t, const N: usize> {
    task: &'t CTask,
    areas: [Area; N],
    slices: [bief_slice; N],
    call: Call,
    /// Number of the first frame, if frames have numbers.
    first: Option<u64>,
}

impl CTask {
    /// The task that C describes, and whether its state belongs to it: not before it is added.
    ///
    /// # Safety
    /// `task` is null or a task as the header asks.
    pub(crate) unsafe fn new(task: *const bief_task) -> Result<(Self, Arc<AtomicBool>), Fault> {
        // SAFETY: passed on to the caller.
        let task = unsafe { sized::read(task)? };
        // SAFETY: as before.
        let name = unsafe { text(task.name, "bief_task.name")? };
        // SAFETY: as before.
        let sockets = unsafe { text(task.sockets, "bief_task.sockets")? };
        if name.is_empty() {
            return Err(Fault::argument("bief_task.name is empty: profiles, reports and errors need it"));
        }
        let refused = |reason: String| Fault::argument(format!("task `{name}`: {reason}"));
        let run = task.run.ok_or_else(|| refused("no bief_task.run: the pointer is NULL".to_owned()))?;
        let sockets = Declared::all(sockets)?;
        if sockets.len() > MOST_SOCKETS {
            return Err(refused(format!("it has {} sockets: a task has at most {MOST_SOCKETS}", sockets.len())));
        }
        let handing = match (sockets.iter().any(|socket| socket.kind.is_variable()), task.batches != 0) {
            (false, false) => Handing::Fixed,
            (true, false) => Handing::Variable,
            (false, true) => Handing::Batches,
            (true, true) => {
                let reason =
                    "it takes batches, but a socket is variable: take frames one by one, or frames of one length";
                return Err(refused(reason.to_owned()));
            }
        };
        let mut order = [Which::default(); MOST_SOCKETS];
        let mut counts = [0, 0];
        for (which, socket) in order.iter_mut().zip(&sockets) {
            let number = &mut counts[usize::from(socket.is_output())];
            *which = Which { is_output: socket.is_output(), number: *number };
            *number += 1;
        }
        let is_owned = Arc::new(AtomicBool::new(false));
        let state = State { pointer: task.state, free: task.free, is_owned: Arc::clone(&is_owned) };
        let count = sockets.len() as u8;
        let spec = Arc::new(Spec { name: name.to_owned(), sockets, functions: task });
        Ok((Self { run, state, handing, count, order, spec }, is_owned))
    }

    fn sockets(&self, outputs: bool) -> impl Iterator<Item = &Declared> {
        self.spec.sockets.iter().filter(move |socket| socket.is_output() == outputs)
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(crate) fn output_count(&self) -> usize {
        self.sockets(true).count()
    }

    fn work<const N: usize>(&self, batch: &mut BatchView<'_>) -> Result<()> {
        const NOWHERE: Area = Area { data: std::ptr::null_mut(), stride: 0, len: 0 };
        const NOTHING: bief_slice = bief_slice { data: std::ptr::null_mut(), len: 0, capacity: 0 };
        let (areas, slices, first) = ([NOWHERE; N], [NOTHING; N], batch.frames.first());
        let mut work = Work { task: self, areas, slices, call: Call::new(), first };
        let sockets = work.areas.iter_mut().zip(&mut work.slices).zip(&self.order[..usize::from(self.count)]);
        for ((area, slice), which) in sockets {
            let sockets = if which.is_output { &batch.outputs } else { &batch.inputs };
            *area = sockets.area(which.number.into()).ok_or_else(|| Error::new("a socket is missing"))?;
            slice.capacity = area.len;
        }
        match self.handing {
            Handing::Fixed => work.fixed(&mut batch.frames),
            Handing::Variable => work.variable(batch),
            Handing::Batches => work.batches(&mut batch.frames),
        }
    }
}

impl<const N: usize> Work<'_, N> {
    /// Shows the function the frame at a position, and those after it.
    #[inline]
    fn show(&mut self, position: usize) {
        // All of the few there may be: those that there are not are nowhere.
        for (slice, area) in self.slices.iter_mut().zip(&self.areas) {
            slice.data = area.data.wrapping_add(position * area.stride).cast();
            slice.len = area.len;
        }
    }

    /// Lets the function work on the frames that were shown.
    #[inline]
    fn call(&mut self, frames: Range<usize>) -> i32 {
        let frame = self.first.map_or(-1, |first| (first + frames.start as u64) as i64);
        let call = self.call.begin(frame, frames.len());
        // SAFETY: the slices tell where the frames of this batch are, which nobody else uses meanwhile; the header asks the rest.
        unsafe { (self.task.run)(self.task.state.pointer, self.slices.as_mut_ptr(), call) }
    }

    /// Why a function failed, by what it returned.
    #[cold]
    fn failed(&self, code: i32) -> Error {
        if code < 0 {
            return self.call.error(code);
        }
        Error::new(format!("returned {code}: return BIEF_NEXT, BIEF_SKIP, BIEF_STOP, or less than 0 for an error"))
    }

    fn fixed(&mut self, frames: &mut BatchFrames<'_>) -> Result<()> {
        for position in 0..frames.count() {
            if !frames.is_live(position) {
                continue;
            }
            frames.begin(position);
            self.show(position);
            match self.call(position..position + 1) {
                BIEF_NEXT => {}
                BIEF_SKIP => frames.skip(position),
                BIEF_STOP => {
                    frames.stop(position);
                    break;
                }
                code => return Err(self.failed(code)),
            }
        }
        Ok(())
    }

    fn variable(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            self.show(position);
            for (slice, which) in self.slices.iter_mut().zip(&self.task.order[..usize::from(self.task.count)]) {
                let sockets = if which.is_output { &batch.outputs } else { &batch.inputs };
                if let Some(lens) = sockets.get(which.number.into())?.lens() {
                    slice.len = lens[position];
                }
            }
            match self.call(position..position + 1) {
                BIEF_NEXT => self.set_lens(batch, position)?,
                BIEF_SKIP => batch.frames.skip(position),
                BIEF_STOP => {
                    batch.frames.stop(position);
                    break;
                }
                code => return Err(self.failed(code)),
            }
        }
        Ok(())
    }

    /// Takes over how long the task made its frames.
    fn set_lens(&self, batch: &mut BatchView<'_>, position: usize) -> Result<()> {
        let sockets = self.task.spec.sockets.iter().zip(&self.task.order);
        for (slice, (socket, which)) in self.slices.iter().zip(sockets) {
            if socket.kind.is_variable() && socket.kind.direction() != Direction::In {
                let sockets = if which.is_output { &mut batch.outputs } else { &mut batch.inputs };
                sockets.get_mut(which.number.into())?.set_len(position, slice.len)?;
            }
        }
        Ok(())
    }

    fn batches(&mut self, frames: &mut BatchFrames<'_>) -> Result<()> {
        let mut next = 0;
        while next < frames.count() {
            if !frames.is_live(next) {
                next += 1;
                continue;
            }
            let start = next;
            while next < frames.count() && frames.is_live(next) {
                next += 1;
            }
            frames.begin(start);
            self.show(start);
            let code = self.call(start..next);
            let done = start + self.call.0.done.min(next - start);
            match code {
                BIEF_NEXT => {}
                BIEF_SKIP => (start..next).for_each(|position| frames.skip(position)),
                BIEF_STOP => {
                    frames.stop(done);
                    break;
                }
                code => {
                    frames.begin(done.min(next - 1));
                    return Err(self.failed(code));
                }
            }
        }
        Ok(())
    }
}

impl RawTask for CTask {
    fn name(&self) -> String {
        self.spec.name.clone()
    }

    fn inputs(&self) -> Vec<SocketKind> {
        self.sockets(false).map(|socket| socket.kind).collect()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        self.sockets(true).map(|socket| socket.kind).collect()
    }

    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        for (number, (socket, shape)) in self.sockets(false).zip(inputs).enumerate() {
            if let Some(reason) = socket.refuses(number, shape) {
                return Err(Error::new(reason));
            }
        }
        let mut shapes: Vec<Option<Shape>> =
            self.sockets(true).map(|socket| socket.shape.clone().or_else(|| inputs.first().cloned())).collect();
        if let Some(lens) = self.spec.functions.lens {
            let inputs: Vec<usize> = inputs.iter().map(Shape::len).collect();
            let mut outputs: Vec<usize> = shapes.iter().map(|shape| shape.as_ref().map_or(0, Shape::len)).collect();
            let mut call = Call::new();
            // SAFETY: both sides have as many lengths as the task has sockets; the header asks the rest.
            let code = unsafe { lens(self.state.pointer, inputs.as_ptr(), outputs.as_mut_ptr(), call.begin(-1, 0)) };
            call.outcome(code)?;
            for (shape, len) in shapes.iter_mut().zip(outputs) {
                if shape.as_ref().is_none_or(|shape| shape.len() != len) {
                    *shape = (len > 0).then(|| len.into());
                }
            }
        }
        let known = shapes.into_iter().enumerate().map(|(number, shape)| {
            shape.ok_or_else(|| {
                Error::new(format!(
                    "nothing says how long the frames of output {number} are: write it as in `out 64 x f32`, or set it in \
                     bief_task.lens"
                ))
            })
        });
        known.collect()
    }

    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        // A call of a task of few sockets has less to prepare.
        match self.count {
            0 | 1 => self.work::<1>(batch),
            2 => self.work::<2>(batch),
            3 | 4 => self.work::<4>(batch),
            _ => self.work::<MOST_SOCKETS>(batch),
        }
    }

    fn replica(&self) -> Option<Self> {
        let copy = self.spec.functions.copy?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the state lives, and does not work: a replica is made between frames.
        let made = unsafe { copy(self.state.pointer, &mut pointer) };
        let state = State { pointer, free: self.spec.functions.free, is_owned: Arc::new(AtomicBool::new(true)) };
        if made < 0 {
            // There is nothing to free.
            state.is_owned.store(false, Ordering::Relaxed);
            return None;
        }
        let Self { run, handing, count, order, .. } = *self;
        Some(Self { run, state, handing, count, order, spec: Arc::clone(&self.spec) })
    }

    fn lost(&self) -> u64 {
        // SAFETY: the state lives, and does not work: the run has ended.
        self.spec.functions.lost.map_or(0, |lost| unsafe { lost(self.state.pointer) })
    }

    fn figures(&self, figures: &mut Figures) {
        let Some(tell) = self.spec.functions.figures else { return };
        let mut told = bief_figures { figures: Figures::default() };
        // SAFETY: the state lives, and does not work: figures are asked for between two batches.
        unsafe { tell(self.state.pointer, &mut told) };
        figures.merge(told.figures);
    }

    fn finish(&mut self) -> Result<()> {
        let Some(finish) = self.spec.functions.finish else { return Ok(()) };
        let mut call = Call::new();
        // SAFETY: the state lives, and does not work: the run has ended.
        let code = unsafe { finish(self.state.pointer, call.begin(-1, 0)) };
        call.outcome(code)
    }

    fn reset(&mut self) -> Result<()> {
        let Some(reset) = self.spec.functions.reset else { return Ok(()) };
        let mut call = Call::new();
        // SAFETY: the state lives, and does not work: no run goes on.
        let code = unsafe { reset(self.state.pointer, call.begin(-1, 0)) };
        call.outcome(code)
    }
}
