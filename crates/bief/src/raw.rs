//! Tasks and wires whose types are known at run time, what their elements are, and tasks that work on a whole batch at once: what
//! a device, another language or a link to another machine stands on.

use std::any::TypeId;
use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::time::Instant;

pub use crate::dtype::{Dtype, Field, Portable};
pub use crate::dyn_wire::DynWire;
pub use crate::dynamic::DynTask;
use crate::dynamic::Erased;
use crate::error::{Error, Result};
use crate::figures::Figures;
use crate::frame::{self, Batch, Element, Format};
pub use crate::shape::Shape;
use crate::socket::Socket;
pub use crate::socket::{Direction, SocketKind};
use crate::task::{Flow, Step, Turn, type_name};
use crate::variable;

/// A task that declares its sockets at run time and works on whole batches of frames. [`DynTask::raw`] makes it a task
/// for a [`Chain`](crate::Chain).
///
/// What is not told here is as in [`Task`](crate::Task).
///
/// ```
/// use bief::raw::{BatchView, RawTask};
/// use bief::raw::{Direction, DynTask, DynWire, Shape, SocketKind};
/// use bief::{Chain, Error, Result, sink, source};
///
/// /// The sums of both halves of each frame.
/// #[derive(Clone)]
/// struct Halves;
///
/// impl RawTask for Halves {
///     fn inputs(&self) -> Vec<SocketKind> {
///         vec![SocketKind::fixed::<f32>(Direction::In)]
///     }
///     fn outputs(&self) -> Vec<SocketKind> {
///         vec![SocketKind::fixed::<f32>(Direction::Out); 2]
///     }
///     fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
///         if inputs[0].len() % 2 == 1 {
///             return Err(Error::new("frames must have an even length"));
///         }
///         Ok(vec![Shape::from(1); 2])
///     }
///     fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
///         let input = batch.inputs.get(0)?;
///         let [low, high] = batch.outputs.each_mut()?;
///         let (low, high) = (low.into_slice::<f32>()?, high.into_slice::<f32>()?);
///         for position in batch.frames.live() {
///             let (first, second) = input.frame::<f32>(position)?.split_at(input.len() / 2);
///             low[position] = first.iter().sum();
///             high[position] = second.iter().sum();
///         }
///         Ok(())
///     }
///     fn replica(&self) -> Option<Self> {
///         Some(self.clone())
///     }
/// }
///
/// let mut chain = Chain::new().batch(16);
/// let samples = chain.add(source::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], 4), ());
/// chain.stage("halves").threads(2);
/// let sums = chain.add_dyn(DynTask::raw(Halves), &[&DynWire::from(&samples)])?;
/// chain.stage("out");
/// let (collect, high) = sink::collect();
/// chain.add(collect, &sums[1].typed::<f32>()?);
/// chain.build()?.pipeline_as_marked()?.run()?;
/// assert_eq!(high.take(), [7.0]);
/// # Ok::<(), bief::Error>(())
/// ```
pub trait RawTask: Send + 'static {
    /// The task's name in profiles, reports and errors; by default the type's name.
    fn name(&self) -> String {
        type_name::<Self>()
    }

    /// The sockets that read or rewrite wires, in order. Asked when the task is added.
    fn inputs(&self) -> Vec<SocketKind>;

    /// The sockets that make wires, in order. Asked when the task is added.
    fn outputs(&self) -> Vec<SocketKind>;

    /// Shape of the frames of each output, from those of the inputs: a number where only the length counts. Of a variable socket
    /// it is the most that a frame may have.
    ///
    /// # Errors
    /// An input that does not fit this task. The message should say what fits; the chain adds who made the wire.
    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>>;

    /// Works on a batch in which at least one frame lives. Inside a loop, a path or a feedback it is a batch of one frame, with
    /// which a stop ends the stream, never behind it.
    ///
    /// # Errors
    /// What went wrong: it ends the run. The error names the frame that was [begun](BatchFrames::begin) last, and the frames
    /// before that one are delivered; so are they after a panic.
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()>;

    /// Whether [`frame`](Self::frame) is called in place of [`run`](Self::run): the cheapest call of code that the compiler does not
    /// see into. Only for tasks whose sockets all have frames of one length; a chain refuses others.
    const BY_FRAME: bool = false;

    /// Works on one frame, of which `places` tell where it lies at each input and then at each output; `number` is as the source
    /// counts, `None` inside a loop, a path or a feedback.
    ///
    /// # Errors
    /// What went wrong: it ends the run.
    fn frame(&mut self, number: Option<u64>, places: &mut [FramePlace]) -> Result<Flow> {
        let _ = (number, places);
        Err(Error::new("the task says that it takes frames one by one, and does not"))
    }

    /// As [`Task::replica`](crate::Task::replica): a task that does the same, if this one remembers nothing from batch to batch.
    fn replica(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// As [`Task::lost`](crate::Task::lost).
    fn lost(&self) -> u64 {
        0
    }

    /// As [`Task::figures`](crate::Task::figures).
    fn figures(&self, figures: &mut Figures) {
        let _ = figures;
    }

    /// As [`Task::due`](crate::Task::due).
    fn due(&mut self) -> Option<Instant> {
        None
    }

    /// As [`Task::finish`](crate::Task::finish).
    ///
    /// # Errors
    /// What could not be completed: it becomes the run's error unless there was one before.
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// As [`Task::reset`](crate::Task::reset).
    ///
    /// # Errors
    /// Why it cannot begin anew: the run does not start.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A batch, as a [`RawTask`] sees it: its frames, and their elements at each socket. The three parts can be borrowed at
/// the same time.
#[derive(Debug)]
#[non_exhaustive]
pub struct BatchView<'a> {
    /// Which frames there are, and what becomes of them.
    pub frames: BatchFrames<'a>,
    /// What the input sockets see.
    pub inputs: Sockets<'a>,
    /// What the output sockets make: whatever an earlier batch left there (defaults at first), and variable frames empty.
    pub outputs: Sockets<'a>,
}

/// The frames of a batch, at positions from 0 on. Each goes on unless it is [skipped](Self::skip) or comes after a
/// [stop](Self::stop).
#[derive(Debug)]
pub struct BatchFrames<'a> {
    batch: &'a mut Batch,
    at: &'a mut usize,
    is_numbered: bool,
}

impl BatchFrames<'_> {
    /// The number of frames, with those that are not live. A source must make all of them, unless it skips or stops.
    #[inline]
    pub fn count(&self) -> usize {
        self.batch.count
    }

    /// Number of the first frame, as the source counts: the frame at a position has this number and the position more. `None`
    /// inside a loop, a path or a feedback, where frames come one by one.
    #[inline]
    pub fn first(&self) -> Option<u64> {
        self.is_numbered.then_some(self.batch.first)
    }

    /// Whether the frame at a position still travels: no task before has skipped it, nor this one.
    #[inline]
    pub fn is_live(&self, position: usize) -> bool {
        position < self.batch.count && self.batch.is_live(position)
    }

    /// The positions of the frames that live.
    pub fn live(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.batch.count).filter(|&position| self.batch.is_live(position))
    }

    /// The frames that live, as runs of neighbours: each can be worked on as one long frame.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut next = 0;
        std::iter::from_fn(move || {
            let start = (next..self.batch.count).find(|&position| self.batch.is_live(position))?;
            next =
                (start..self.batch.count).find(|&position| !self.batch.is_live(position)).unwrap_or(self.batch.count);
            Some(start..next)
        })
    }

    /// Marks the current frame: an error or a panic from here on belongs to it, and the frames before it are delivered.
    /// Until then it is the first live one.
    #[inline]
    pub fn begin(&mut self, position: usize) {
        *self.at = position.min(self.batch.count.saturating_sub(1));
    }

    /// Takes a frame out: the tasks that follow do not see it. A position beyond the batch names none.
    #[inline]
    pub fn skip(&mut self, position: usize) {
        if position < self.batch.count {
            self.batch.skip(position);
        }
    }

    /// Ends the stream: neither the frame at this position nor any later one is passed on. A position beyond the batch lets all
    /// of it go.
    #[inline]
    pub fn stop(&mut self, position: usize) {
        self.batch.count = self.batch.count.min(position);
        self.batch.last = true;
    }
}

/// The batch at the sockets of one side.
#[derive(Debug)]
pub struct Sockets<'a> {
    bound: &'a [Bound],
    /// Where they are, in brief.
    places: &'a [Place],
    table: &'a [*mut u8],
    /// The first position and how many frames there are.
    base: usize,
    count: usize,
}

impl Sockets<'_> {
    /// How many sockets there are.
    pub fn count(&self) -> usize {
        self.bound.len()
    }

    /// A socket, to be read.
    ///
    /// # Errors
    /// A number that no socket has.
    pub fn get(&self, number: usize) -> Result<SocketView<'_>> {
        self.view(number).ok_or_else(|| self.missing(number))
    }

    /// A socket, to be written if it rewrites or makes its wire.
    ///
    /// # Errors
    /// A number that no socket has.
    pub fn get_mut(&mut self, number: usize) -> Result<SocketViewMut<'_>> {
        let view = self.view(number).ok_or_else(|| self.missing(number))?;
        // Nothing else of these sockets is used as long as the view is.
        Ok(SocketViewMut { view })
    }

    /// All sockets at once, which are `N`.
    ///
    /// # Errors
    /// Another number of sockets.
    pub fn each_mut<const N: usize>(&mut self) -> Result<[SocketViewMut<'_>; N]> {
        if N != self.bound.len() {
            return Err(Error::new(format!("there are {} sockets, not {N}", self.bound.len())));
        }
        // Each once: those that write have a wire of their own, as `dynamic::check` made sure.
        Ok(std::array::from_fn(|number| SocketViewMut { view: self.at(&self.bound[number]) }))
    }

    /// All sockets at once, in order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = SocketViewMut<'_>> {
        self.bound.iter().map(|bound| SocketViewMut { view: self.at(bound) })
    }

    /// Where the batch lies at each socket, in order, for code that the compiler does not see into, such as another language: the
    /// cheapest way to it.
    #[inline]
    pub fn areas(&self) -> impl ExactSizeIterator<Item = Area> + '_ {
        self.places.iter().map(|&Place { wire, len, stride }| {
            let data = self.table[wire].wrapping_add(self.base * stride);
            Area { data, stride, len }
        })
    }

    fn view(&self, number: usize) -> Option<SocketView<'_>> {
        self.bound.get(number).map(|bound| self.at(bound))
    }

    fn at<'s>(&'s self, bound: &'s Bound) -> SocketView<'s> {
        SocketView { bound, table: self.table, base: self.base, count: self.count }
    }

    fn missing(&self, number: usize) -> Error {
        Error::new(format!("there is no socket {number}: there are {}, counted from 0", self.bound.len()))
    }
}

/// Where the frames of a batch lie at a socket: see [`Sockets::areas`].
///
/// The elements are initialised, of the type that the socket carries. As long as the batch is borrowed nobody else uses them: what the
/// task only reads is not to be written, and a variable frame has the length that [`SocketView::lens`] tells.
///
/// ```
/// use bief::raw::{BatchView, Direction, DynTask, DynWire, RawTask, Shape, SocketKind};
/// use bief::{Chain, Result, source};
///
/// /// Adds bytes up, as a function of C would.
/// struct Sum(u64);
///
/// impl RawTask for Sum {
///     fn inputs(&self) -> Vec<SocketKind> {
///         vec![SocketKind::fixed::<u8>(Direction::In)]
///     }
///     fn outputs(&self) -> Vec<SocketKind> {
///         Vec::new()
///     }
///     fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
///         Ok(Vec::new())
///     }
///     fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
///         let area = batch.inputs.areas().next().expect("it has one input");
///         for position in batch.frames.live() {
///             // SAFETY: a frame of the batch, of bytes, which nobody writes meanwhile.
///             let frame = unsafe { std::slice::from_raw_parts(area.data.add(position * area.stride), area.len) };
///             self.0 += frame.iter().map(|&byte| u64::from(byte)).sum::<u64>();
///         }
///         Ok(())
///     }
///     fn finish(&mut self) -> Result<()> {
///         assert_eq!(self.0, 10);
///         Ok(())
///     }
/// }
///
/// let mut chain = Chain::new();
/// let bytes = chain.add(source::from_slice(&[1_u8, 2, 3, 4], 2), ());
/// chain.add_dyn(DynTask::raw(Sum(0)), &[&DynWire::from(&bytes)])?;
/// assert_eq!(chain.build()?.run()?.frames, 2);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// The first frame.
    pub data: *mut u8,
    /// Bytes from one frame to the next; 0 where all frames are one.
    pub stride: usize,
    /// Elements that a frame has; of a variable one, at most.
    pub len: usize,
}

/// Where a frame lies at a socket: what [`RawTask::frame`] gets. What is said of the elements of an [`Area`] holds for its own.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct FramePlace {
    /// The first element.
    pub data: *mut u8,
    /// Elements that the frame has.
    pub len: usize,
    /// Elements that it has room for: as many.
    pub capacity: usize,
}

/// The batch at one socket: read as elements of its type, or as bytes of a [portable](crate::raw::Portable) one.
///
/// Frames lie one after the other, those that do not live too; a frame of variable length has room for the most that it may
/// have. All frames of a [constant](crate::chain::Constant) are one.
#[derive(Debug, Clone, Copy)]
pub struct SocketView<'s> {
    bound: &'s Bound,
    table: &'s [*mut u8],
    base: usize,
    count: usize,
}

impl<'s> SocketView<'s> {
    /// What the task does with the wire.
    pub fn direction(&self) -> Direction {
        self.bound.direction
    }

    /// Whether each frame has a length of its own.
    pub fn is_variable(&self) -> bool {
        self.bound.variable
    }

    /// The element type, such as `Complex<f32>`.
    pub fn element(&self) -> String {
        self.bound.format.element()
    }

    /// What its elements are, for a type that is portable and known as such ([`Dtype::register`]).
    pub fn dtype(&self) -> Option<&'s Dtype> {
        self.bound.dtype.as_ref()
    }

    /// The shape of a frame; of a variable wire, of the longest.
    pub fn shape(&self) -> &'s Shape {
        &self.bound.shape
    }

    /// Elements in a frame; of a variable wire, in the longest.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        self.bound.socket.len
    }

    /// Elements from one frame to the next: [`len`](Self::len), or 0 where all frames are one.
    pub fn stride(&self) -> usize {
        self.bound.socket.stride
    }

    /// All frames of the batch, one after the other.
    ///
    /// # Errors
    /// Another element type.
    pub fn slice<T: Element>(self) -> Result<&'s [T]> {
        self.bound.carries::<T>()?;
        // SAFETY: the batch holds so many initialised values of this type, which nobody writes as long as the view is borrowed.
        Ok(unsafe { from_raw_parts(self.start().cast(), self.elements()) })
    }

    /// The frame at a position, as long as it is.
    ///
    /// # Errors
    /// Another element type; a position beyond the batch.
    pub fn frame<T: Element>(self, position: usize) -> Result<&'s [T]> {
        let all = self.slice::<T>()?;
        self.exists(position)?;
        let (start, len) = (position * self.stride(), self.lens().map_or(self.len(), |lens| lens[position]));
        Ok(&all[start..start + len])
    }

    /// All frames of the batch as bytes, in this machine's order of them.
    ///
    /// # Errors
    /// An element type that is not portable, or not known as such.
    pub fn bytes(self) -> Result<&'s [u8]> {
        self.bound.is_portable()?;
        // SAFETY: as in `slice`; the type is `Portable`, so that all its bytes are initialised.
        Ok(unsafe { from_raw_parts(self.start(), self.elements() * self.bound.format.size()) })
    }

    /// The frame at a position as bytes, as long as it is.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes); a position beyond the batch.
    pub fn frame_bytes(self, position: usize) -> Result<&'s [u8]> {
        let all = self.bytes()?;
        self.exists(position)?;
        let size = self.bound.format.size();
        let (start, len) = (position * self.stride(), self.lens().map_or(self.len(), |lens| lens[position]));
        Ok(&all[start * size..(start + len) * size])
    }

    /// How long each frame is; `None` where all have one length.
    pub fn lens(self) -> Option<&'s [usize]> {
        // SAFETY: the buffer after that of a variable wire holds a length for each position, which nobody writes as long as the
        // view is borrowed.
        self.bound
            .variable
            .then(|| unsafe { from_raw_parts(variable::length(self.table, self.bound.socket, self.base), self.count) })
    }

    /// Never gives the memory of this socket's wire back, in this run and all later ones: for a task that has shown it to
    /// somebody outside, such as another language, who may still look at it. What is there may change as long as the run goes on.
    pub fn leak(self) {
        frame::leak(self.table[self.bound.socket.wire]);
    }

    fn start(&self) -> *mut u8 {
        let socket = self.bound.socket;
        // SAFETY: the frame at the first position lies in the buffer.
        unsafe { self.table[socket.wire].add(self.base * socket.stride * self.bound.format.size()) }
    }

    /// How many there are from the start on.
    fn elements(&self) -> usize {
        let Socket { len, stride, .. } = self.bound.socket;
        if stride == 0 { len } else { stride * self.count }
    }

    fn exists(&self, position: usize) -> Result<()> {
        if position < self.count {
            return Ok(());
        }
        Err(Error::new(format!(
            "there is no frame at position {position}: the batch has {}, counted from 0",
            self.count
        )))
    }
}

/// Like [`SocketView`], and writable if the task rewrites or makes the wire.
#[derive(Debug)]
pub struct SocketViewMut<'s> {
    /// Nobody else sees this socket as long as it is there.
    view: SocketView<'s>,
}

impl<'s> SocketViewMut<'s> {
    /// The same, to be read.
    pub fn view(&self) -> SocketView<'_> {
        self.view
    }

    /// All frames of the batch, to be written; variable ones with the room that they have.
    ///
    /// # Errors
    /// Another element type; a socket that only reads.
    pub fn slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.reborrow().into_slice()
    }

    /// As [`slice`](Self::slice), for as long as the batch is there.
    ///
    /// # Errors
    /// Those of [`slice`](Self::slice).
    pub fn into_slice<T: Element>(self) -> Result<&'s mut [T]> {
        self.view.bound.carries::<T>()?;
        self.writes()?;
        // SAFETY: the batch holds so many initialised values of this type, which nobody else uses as long as the view is there.
        Ok(unsafe { from_raw_parts_mut(self.view.start().cast(), self.view.elements()) })
    }

    /// The frame at a position, to be written; a variable one with the room that it has, whatever its length: see
    /// [`set_len`](Self::set_len).
    ///
    /// # Errors
    /// Those of [`slice`](Self::slice); a position beyond the batch.
    pub fn frame<T: Element>(&mut self, position: usize) -> Result<&mut [T]> {
        let (start, len) = (position * self.view.stride(), self.view.len());
        self.view.exists(position)?;
        Ok(&mut self.slice()?[start..start + len])
    }

    /// All frames of the batch as bytes, to be written.
    ///
    /// # Errors
    /// An element type that is not portable, or not known as such; a socket that only reads.
    pub fn bytes(&mut self) -> Result<&mut [u8]> {
        self.reborrow().into_bytes()
    }

    /// As [`bytes`](Self::bytes), for as long as the batch is there.
    ///
    /// # Errors
    /// Those of [`bytes`](Self::bytes).
    pub fn into_bytes(self) -> Result<&'s mut [u8]> {
        self.view.bound.is_portable()?;
        self.writes()?;
        let bytes = self.view.elements() * self.view.bound.format.size();
        // SAFETY: as in `into_slice`; the type is `Portable`, so that all its bytes are initialised, and any may be written.
        Ok(unsafe { from_raw_parts_mut(self.view.start(), bytes) })
    }

    /// Makes a frame of a variable wire so long. It does not write elements.
    ///
    /// # Errors
    /// A length above the most that a frame may have; frames of one length; a socket that only reads; a position beyond the
    /// batch. The frame stays as it is.
    pub fn set_len(&mut self, position: usize, len: usize) -> Result<()> {
        self.writes()?;
        self.view.exists(position)?;
        if !self.view.is_variable() {
            return Err(Error::new("its frames are of one length: make the socket variable"));
        }
        if len > self.view.len() {
            return Err(variable::too_long(len, self.view.len()));
        }
        // SAFETY: the buffer after that of a variable wire holds a length for each position, which nobody else uses as long as the
        // view is there.
        unsafe { *variable::length(self.view.table, self.view.bound.socket, self.view.base + position) = len };
        Ok(())
    }

    fn reborrow(&mut self) -> SocketViewMut<'_> {
        SocketViewMut { view: self.view }
    }

    fn writes(&self) -> Result<()> {
        match self.view.direction() {
            Direction::In => Err(Error::new("this socket only reads its wire: let it rewrite it, `Direction::InOut`")),
            Direction::InOut | Direction::Out => Ok(()),
        }
    }
}

/// A socket and the wire that it is bound to.
#[derive(Debug, Clone)]
struct Bound {
    socket: Socket,
    direction: Direction,
    variable: bool,
    /// Of what the wire carries.
    format: Format,
    dtype: Option<Dtype>,
    shape: Shape,
}

impl Bound {
    fn new(direction: Direction, wire: &DynWire) -> Self {
        Self {
            socket: wire.socket,
            direction,
            variable: wire.variable,
            format: wire.format,
            dtype: wire.dtype(),
            shape: wire.shape.clone(),
        }
    }

    fn carries<T: Element>(&self) -> Result<()> {
        if self.format.id == TypeId::of::<T>() {
            return Ok(());
        }
        Err(Error::new(format!("the socket carries {}, not {}", self.format.element(), Format::of::<T>().element())))
    }

    fn is_portable(&self) -> Result<()> {
        match self.dtype {
            Some(_) => Ok(()),
            None => Err(not_portable(self.format)),
        }
    }
}

/// What is told of a type that is not known to be portable.
pub(crate) fn not_portable(format: Format) -> Error {
    let element = format.element();
    Error::build(format!(
        "{element} is not known to be portable: let `portable!` say its fields, and call `Dtype::register::<{element}>` before the \
         wire is made"
    ))
}

impl DynTask {
    /// A task whose sockets are known at run time, and that works on whole batches.
    pub fn raw(task: impl RawTask) -> Self {
        Self { name: task.name(), task: Box::new(Raw(task)) }
    }
}

/// A raw task that is not bound to wires yet.
struct Raw<R>(R);

impl<R: RawTask> Erased for Raw<R> {
    fn inputs(&self) -> Vec<SocketKind> {
        self.0.inputs()
    }

    fn outputs(&self) -> Vec<SocketKind> {
        self.0.outputs()
    }

    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        if R::BY_FRAME && self.inputs().iter().chain(&self.outputs()).any(SocketKind::is_variable) {
            return Err(Error::build("it takes frames one by one, and a socket is variable: let it take batches"));
        }
        self.0.lens(inputs)
    }

    fn bind(self: Box<Self>, inputs: &[(Direction, DynWire)], outputs: &[DynWire]) -> Box<dyn Step> {
        Box::new(RawBind::new(
            self.0,
            Side::new(inputs.iter().map(|(direction, wire)| Bound::new(*direction, wire))),
            Side::new(outputs.iter().map(|wire| Bound::new(Direction::Out, wire))),
        ))
    }
}

/// All sockets of one side.
#[derive(Clone)]
struct Side {
    bound: Box<[Bound]>,
    places: Box<[Place]>,
}

/// What a call of a socket needs: its wire, how long a frame is, and how many bytes lie from one frame to the next.
#[derive(Debug, Clone, Copy)]
struct Place {
    wire: usize,
    len: usize,
    stride: usize,
}

impl Side {
    fn new(bound: impl Iterator<Item = Bound>) -> Self {
        let bound: Box<[Bound]> = bound.collect();
        let place = |bound: &Bound| {
            let Socket { wire, len, stride } = bound.socket;
            Place { wire, len, stride: stride * bound.format.size() }
        };
        Self { places: bound.iter().map(place).collect(), bound }
    }
}

/// A raw task and the wires that it is bound to.
struct RawBind<R> {
    task: R,
    inputs: Side,
    outputs: Side,
    /// Whether an output is variable: its frames are empty before each batch.
    empties: bool,
    /// The batch of one frame that it gets inside a region.
    single: Batch,
    /// Of one that takes frames one by one: where these lie, and where that comes from.
    frames: FramePlaces,
}

/// Where a frame lies at all sockets.
struct FramePlaces {
    places: Box<[FramePlace]>,
    sockets: Box<[Place]>,
}

// SAFETY: its pointers are set for each frame, and used as long as that is there.
unsafe impl Send for FramePlaces {}

impl FramePlaces {
    fn new(sockets: Box<[Place]>) -> Self {
        let nowhere = FramePlace { data: std::ptr::null_mut(), len: 0, capacity: 0 };
        Self { places: vec![nowhere; sockets.len()].into(), sockets }
    }

    /// Those of the frame at a position, whatever was done with the ones before.
    #[inline(always)]
    fn at(&mut self, table: &[*mut u8], position: usize) -> &mut [FramePlace] {
        for (place, &Place { wire, len, stride }) in self.places.iter_mut().zip(&self.sockets) {
            *place = FramePlace { data: table[wire].wrapping_add(position * stride), len, capacity: len };
        }
        &mut self.places
    }
}

impl<R> RawBind<R> {
    fn new(task: R, inputs: Side, outputs: Side) -> Self {
        let empties = outputs.bound.iter().any(|output| output.variable);
        let frames = FramePlaces::new([&*inputs.places, &*outputs.places].concat().into());
        Self { task, inputs, outputs, empties, single: Batch::new(1), frames }
    }
}

impl<R: RawTask> RawBind<R> {
    /// Lets a task that takes frames one by one work on a frame; whether the stream goes on after it.
    #[inline(always)]
    fn work_on(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize, position: usize) -> Result<bool> {
        *at = position;
        let number = Some(batch.first + position as u64);
        match self.task.frame(number, self.frames.at(table, position))? {
            Flow::Next => {}
            Flow::Skip => batch.skip(position),
            Flow::Stop => {
                (batch.count, batch.last) = (position, true);
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline(never)]
    fn work_one_by_one(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize) -> Result<()> {
        for position in 0..batch.count {
            if batch.is_live(position) && !self.work_on(table, batch, at, position)? {
                break;
            }
        }
        Ok(())
    }
}

/// Lets the task work on the frames of a batch, of which the first lies at position `base` of every buffer.
///
/// # Safety
/// As [`Step::run_frame`], for these frames and the wires that both sides are bound to.
#[inline(always)]
unsafe fn work(
    task: &mut impl RawTask,
    (inputs, outputs, empties): (&Side, &Side, bool),
    table: &[*mut u8],
    base: usize,
    frames: BatchFrames<'_>,
) -> Result<()> {
    let count = frames.batch.count;
    if empties {
        for output in outputs.bound.iter().filter(|output| output.variable) {
            // SAFETY: the caller promises a length for each of these frames, which nobody else uses meanwhile.
            unsafe { variable::length(table, output.socket, base).write_bytes(0, count) };
        }
    }
    let [inputs, outputs] =
        [inputs, outputs].map(|side| Sockets { bound: &side.bound, places: &side.places, table, base, count });
    task.run(&mut BatchView { frames, inputs, outputs })
}

impl<R: RawTask> Step for RawBind<R> {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        let Self { task, inputs, outputs, empties, single, frames } = self;
        if R::BY_FRAME {
            return task.frame(None, frames.at(table, position)).map(Turn::Flow);
        }
        single.renew(0);
        let frames = BatchFrames { batch: single, at: &mut 0, is_numbered: false };
        // SAFETY: passed on to the caller.
        unsafe { work(task, (inputs, outputs, *empties), table, position, frames)? };
        Ok(Turn::Flow(match (single.last, single.is_empty()) {
            (true, true) => Flow::Stop,
            (false, true) => Flow::Skip,
            (false, false) => Flow::Next,
            (true, false) => {
                return Err(Error::new(
                    "inside a loop, a path or a feedback the stream ends with the frame or without a `stop`: stop at position 0",
                ));
            }
        }))
    }

    unsafe fn run(&mut self, table: &[*mut u8], batch: &mut Batch, at: &mut usize) -> Result<()> {
        if R::BY_FRAME {
            // Batches of one frame have least latency, and most calls: nothing is kept from one frame to the next.
            if batch.count == 1 && batch.is_live(0) {
                return self.work_on(table, batch, at, 0).map(drop);
            }
            return self.work_one_by_one(table, batch, at);
        }
        let Some(first) = (0..batch.count).find(|&position| batch.is_live(position)) else { return Ok(()) };
        *at = first;
        let Self { task, inputs, outputs, empties, .. } = self;
        let frames = BatchFrames { batch, at, is_numbered: true };
        // SAFETY: passed on to the caller.
        unsafe { work(task, (inputs, outputs, *empties), table, 0, frames) }
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        let task = self.task.replica()?;
        let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
        Some(Box::new(Self::new(task, inputs, outputs)))
    }

    fn lost(&self) -> u64 {
        self.task.lost()
    }

    fn figures(&self, figures: &mut Figures) {
        self.task.figures(figures);
    }

    fn due(&mut self) -> Option<Instant> {
        self.task.due()
    }

    fn finish(&mut self) -> Result<()> {
        self.task.finish()
    }

    fn reset(&mut self) -> Result<()> {
        self.task.reset()
    }
}
