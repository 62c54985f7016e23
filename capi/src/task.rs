//! Tasks of C: structs of functions, and the batches that they work on.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runtime::raw::{Area, BatchView, Direction, DynTask, FramePlace, RawTask, Shape, SocketKind, Sockets};
use runtime::report::Figures;
use runtime::{Error, Flow, Result};

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

// It is laid out as what the runtime tells of a frame.
const _: () = {
    assert!(size_of::<bief_slice>() == size_of::<FramePlace>());
    assert!(std::mem::offset_of!(bief_slice, data) == std::mem::offset_of!(FramePlace, data));
    assert!(std::mem::offset_of!(bief_slice, len) == std::mem::offset_of!(FramePlace, len));
    assert!(std::mem::offset_of!(bief_slice, capacity) == std::mem::offset_of!(FramePlace, capacity));
};

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

/// The call of a function, and room for what the function says.
pub(crate) struct Call {
    call: bief_call,
    said: [u8; ERROR_SIZE],
}

// SAFETY: its pointer is set for each call, to what it holds.
unsafe impl Send for Call {}

impl Call {
    pub(crate) fn new() -> Self {
        let (size, error) = (size_of::<bief_call>(), std::ptr::null_mut());
        let call = bief_call { size, frame: -1, frames: 0, done: 0, error, error_size: ERROR_SIZE };
        Self { call, said: [0; ERROR_SIZE] }
    }

    /// Ready for a function that works on so many frames.
    #[inline(always)]
    pub(crate) fn begin(&mut self, frame: i64, frames: usize) -> *mut bief_call {
        self.said[0] = 0;
        (self.call.frame, self.call.frames, self.call.done) = (frame, frames, 0);
        // It lies elsewhere than when this was made.
        self.call.error = self.said.as_mut_ptr().cast();
        &raw mut self.call
    }

    /// What the function that was called last has to say.
    fn said(&self) -> String {
        // What is not ended within its room is taken as far as it goes.
        let end = self.said.iter().position(|&byte| byte == 0).unwrap_or(ERROR_SIZE);
        String::from_utf8_lossy(&self.said[..end]).into_owned()
    }

    /// Why a function that returned this failed.
    #[cold]
    pub(crate) fn error(&self, code: i32) -> Error {
        let message = match self.said() {
            text if text.is_empty() => format!("returned {code}, and did not say why"),
            text => text,
        };
        Error::from_source(ForeignError { code, message })
    }

    /// Whether nothing was said.
    pub(crate) fn is_silent(&self) -> bool {
        self.said().is_empty()
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

/// How frames are handed to a task: each way is a type of task, so that a call has nothing to decide.
trait Handing: Sized + Send + 'static {
    const BY_FRAME: bool = false;
    fn work(task: &mut CTask<Self>, batch: &mut BatchView<'_>) -> Result<()>;
}

/// One by one, all of one length.
pub(crate) struct OneByOne;

/// One by one, where an output is declared before an input.
struct Mixed;

/// One by one, some of which have a length of their own.
struct Variable;

/// Those that lie one after the other at once.
struct Together;

/// The most sockets that a task may have.
const MOST_SOCKETS: usize = 16;

/// A task of C.
pub(crate) struct CTask<H> {
    run: Run,
    state: State,
    shown: Shown,
    call: Call,
    spec: Arc<Spec>,
    handing: PhantomData<H>,
}

/// What the function is shown of a batch.
#[derive(Clone)]
struct Shown {
    slices: [bief_slice; MOST_SOCKETS],
    /// Which of them is which socket: the inputs first, so many, then the outputs.
    order: [u8; MOST_SOCKETS],
    inputs: u8,
}

// SAFETY: its pointers are into a batch, and used as long as that is borrowed.
unsafe impl Send for Shown {}

impl CTask<OneByOne> {
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
        if task.batches != 0 && sockets.iter().any(|socket| socket.kind.is_variable()) {
            let reason = "it takes batches, but a socket is variable: take frames one by one, or frames of one length";
            return Err(refused(reason.to_owned()));
        }
        let is_owned = Arc::new(AtomicBool::new(false));
        let state = State { pointer: task.state, free: task.free, is_owned: Arc::clone(&is_owned) };
        let shown = Shown::new(&sockets);
        let spec = Arc::new(Spec { name: name.to_owned(), sockets, functions: task });
        Ok((Self { run, state, shown, call: Call::new(), spec, handing: PhantomData }, is_owned))
    }

    /// A task for a chain.
    pub(crate) fn into_dyn(self) -> DynTask {
        match (self.spec.sockets.iter().any(|socket| socket.kind.is_variable()), self.spec.functions.batches != 0) {
            (true, _) => DynTask::raw(self.handed::<Variable>()),
            (false, true) => DynTask::raw(self.handed::<Together>()),
            (false, false) if !self.spec.sockets.is_sorted_by_key(Declared::is_output) => {
                DynTask::raw(self.handed::<Mixed>())
            }
            (false, false) => DynTask::raw(self),
        }
    }

    fn handed<H>(self) -> CTask<H> {
        let Self { run, state, shown, call, spec, .. } = self;
        CTask { run, state, shown, call, spec, handing: PhantomData }
    }
}

impl<H> CTask<H> {
    fn sockets(&self, outputs: bool) -> impl Iterator<Item = &Declared> {
        self.spec.sockets.iter().filter(move |socket| socket.is_output() == outputs)
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(crate) fn output_count(&self) -> usize {
        self.sockets(true).count()
    }

    /// Lets the function work on the frames from the one that is shown.
    #[inline(always)]
    fn call(&mut self, first: Option<u64>, frames: Range<usize>) -> i32 {
        let frame = first.map_or(-1, |first| (first + frames.start as u64) as i64);
        let call = self.call.begin(frame, frames.len());
        // SAFETY: the slices tell where the frames of this batch are, which nobody else uses meanwhile; the header asks the rest.
        unsafe { (self.run)(self.state.pointer, self.shown.slices.as_mut_ptr(), call) }
    }

    /// Why a function failed, by what it returned.
    #[cold]
    fn failed(&self, code: i32) -> Error {
        if code < 0 {
            return self.call.error(code);
        }
        Error::new(format!("returned {code}: return BIEF_NEXT, BIEF_SKIP, BIEF_STOP, or less than 0 for an error"))
    }
}

impl Handing for OneByOne {
    const BY_FRAME: bool = true;
    fn work(_: &mut CTask<Self>, _: &mut BatchView<'_>) -> Result<()> {
        Err(Error::new("it takes frames one by one"))
    }
}

impl Handing for Mixed {
    fn work(task: &mut CTask<Self>, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            task.shown.show(batch, position);
            match task.call(batch.frames.first(), position..position + 1) {
                BIEF_NEXT => {}
                BIEF_SKIP => batch.frames.skip(position),
                BIEF_STOP => {
                    batch.frames.stop(position);
                    break;
                }
                code => return Err(task.failed(code)),
            }
        }
        Ok(())
    }
}

impl Handing for Variable {
    fn work(task: &mut CTask<Self>, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            if !batch.frames.is_live(position) {
                continue;
            }
            batch.frames.begin(position);
            task.shown.show(batch, position);
            task.shown.read_lens(batch, position)?;
            match task.call(batch.frames.first(), position..position + 1) {
                BIEF_NEXT => task.shown.set_lens(batch, position)?,
                BIEF_SKIP => batch.frames.skip(position),
                BIEF_STOP => {
                    batch.frames.stop(position);
                    break;
                }
                code => return Err(task.failed(code)),
            }
        }
        Ok(())
    }
}

impl Handing for Together {
    fn work(task: &mut CTask<Self>, batch: &mut BatchView<'_>) -> Result<()> {
        let mut next = 0;
        while next < batch.frames.count() {
            if !batch.frames.is_live(next) {
                next += 1;
                continue;
            }
            let start = next;
            while next < batch.frames.count() && batch.frames.is_live(next) {
                next += 1;
            }
            batch.frames.begin(start);
            task.shown.show(batch, start);
            let code = task.call(batch.frames.first(), start..next);
            let done = start + task.call.call.done.min(next - start);
            match code {
                BIEF_NEXT => {}
                BIEF_SKIP => (start..next).for_each(|position| batch.frames.skip(position)),
                BIEF_STOP => {
                    batch.frames.stop(done);
                    break;
                }
                code => {
                    batch.frames.begin(done.min(next - 1));
                    return Err(task.failed(code));
                }
            }
        }
        Ok(())
    }
}

impl Shown {
    fn new(sockets: &[Declared]) -> Self {
        const NOTHING: bief_slice = bief_slice { data: std::ptr::null_mut(), len: 0, capacity: 0 };
        let mut sorted: Vec<u8> = (0..sockets.len() as u8).collect();
        sorted.sort_by_key(|&slice| sockets[usize::from(slice)].is_output());
        let mut order = [0; MOST_SOCKETS];
        order[..sorted.len()].copy_from_slice(&sorted);
        let inputs = sockets.iter().filter(|socket| !socket.is_output()).count() as u8;
        Self { slices: [NOTHING; MOST_SOCKETS], order, inputs }
    }

    /// The slice of an input, or of an output.
    fn slice(&self, is_output: bool, number: usize) -> usize {
        self.order[number + if is_output { self.inputs.into() } else { 0 }].into()
    }

    /// Shows the frame at a position, and those after it.
    #[inline(always)]
    fn show(&mut self, batch: &BatchView<'_>, position: usize) {
        let Self { slices, order, inputs } = self;
        let mut show = |order: &[u8], sockets: &Sockets<'_>| {
            for (&slice, Area { data, stride, len }) in order.iter().zip(sockets.areas()) {
                let data = data.wrapping_add(position * stride).cast();
                slices[usize::from(slice) % MOST_SOCKETS] = bief_slice { data, len, capacity: len };
            }
        };
        show(order, &batch.inputs);
        show(&order[usize::from(*inputs).min(MOST_SOCKETS)..], &batch.outputs);
    }

    /// Shows how long variable frames are.
    fn read_lens(&mut self, batch: &BatchView<'_>, position: usize) -> Result<()> {
        for (is_output, sockets) in [(false, &batch.inputs), (true, &batch.outputs)] {
            for number in 0..sockets.count() {
                if let Some(lens) = sockets.get(number)?.lens() {
                    self.slices[self.slice(is_output, number)].len = lens[position];
                }
            }
        }
        Ok(())
    }

    /// Takes over how long the task made its frames.
    fn set_lens(&self, batch: &mut BatchView<'_>, position: usize) -> Result<()> {
        for (is_output, sockets) in [(false, &mut batch.inputs), (true, &mut batch.outputs)] {
            for number in 0..sockets.count() {
                let mut socket = sockets.get_mut(number)?;
                if socket.view().is_variable() && socket.view().direction() != Direction::In {
                    socket.set_len(position, self.slices[self.slice(is_output, number)].len)?;
                }
            }
        }
        Ok(())
    }
}

#[allow(private_bounds, reason = "the ways of handing are of this file alone")]
impl<H: Handing> RawTask for CTask<H> {
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

    #[inline(always)]
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        H::work(self, batch)
    }

    const BY_FRAME: bool = H::BY_FRAME;

    #[inline(always)]
    fn frame(&mut self, number: Option<u64>, places: &mut [FramePlace]) -> Result<Flow> {
        let call = self.call.begin(number.map_or(-1, |number| number as i64), 1);
        // SAFETY: a place is laid out as a slice, and tells where a frame is that nobody else uses meanwhile; the header asks the rest.
        match unsafe { (self.run)(self.state.pointer, places.as_mut_ptr().cast(), call) } {
            BIEF_NEXT => Ok(Flow::Next),
            BIEF_SKIP => Ok(Flow::Skip),
            BIEF_STOP => Ok(Flow::Stop),
            code => Err(self.failed(code)),
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
        let (run, shown, spec) = (self.run, self.shown.clone(), Arc::clone(&self.spec));
        Some(Self { run, state, shown, call: Call::new(), spec, handing: PhantomData })
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
