//! What a lane of a device does: kernels, one after the other.

use std::fmt;
use std::ops::Deref;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bief::Result;
use bief::device::Copied;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::error_codes::ClError;
use opencl3::event::{CL_COMPLETE, Event};

use crate::buffer::{AllPinned, Buffer, Memory};
use crate::device::OpenCl;
use crate::error::failed;

/// A queue of a device, for one lane: what is asked of it is done in order.
pub struct Queue {
    pub(crate) context: Arc<Context>,
    pub(crate) pinned: Arc<AllPinned>,
    pub(crate) queue: Arc<Commands>,
    pub(crate) memory: Memory,
    pub(crate) most: u64,
    pub(crate) svm: u64,
    is_pocl: bool,
}

/// The driver's queue, and how long frames were copied to the device and back since that was last asked.
pub(crate) struct Commands {
    queue: CommandQueue,
    copies: Mutex<Copies>,
}

/// Copies under way and done, those to the device first.
#[derive(Default)]
struct Copies {
    /// Which of the two are being made, where they are frames.
    way: Option<usize>,
    events: [Vec<Event>; 2],
    done: [Copied; 2],
}

impl Deref for Commands {
    type Target = CommandQueue;

    fn deref(&self) -> &CommandQueue {
        &self.queue
    }
}

impl Commands {
    /// Notes a copy that was asked for: it counts if it is of frames.
    pub(crate) fn copies(&self, event: Event) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(way) = copies.way {
            copies.events[way].push(event);
        }
    }

    /// Notes how much is copied: it counts if it is of frames.
    pub(crate) fn copies_bytes(&self, bytes: usize) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(way) = copies.way {
            copies.done[way].bytes += bytes as u64;
        }
    }

    /// Does something that copies frames that way, and counts it.
    fn counted<T>(&self, way: usize, act: impl FnOnce() -> T) -> T {
        let copies = || self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        copies().way = Some(way);
        let start = Instant::now();
        let done = act();
        let mut copies = copies();
        copies.done[way].time += start.elapsed();
        copies.way = None;
        done
    }
}

/// A kernel with its own arguments: each lane has one.
#[derive(Debug)]
pub struct Kernel {
    kernel: opencl3::kernel::Kernel,
    /// It ran before.
    has_run: AtomicBool,
}

// SAFETY: OpenCL lets one thread at a time use a kernel, whichever that is; nobody else has this one.
unsafe impl Send for Kernel {}

/// A wait that is not worth falling asleep for.
const SHORT: Duration = Duration::from_micros(20);

/// How long a thread sleeps at a time.
const LONGEST: Duration = Duration::from_millis(1);

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// A `__global` or `__constant` pointer.
    Buffer(&'a Buffer),
    /// A `uint`.
    Number(u32),
}

impl Queue {
    /// A queue of its own.
    ///
    /// # Errors
    /// One that the device refuses.
    pub fn new(device: &OpenCl) -> Result<Self> {
        let context = Arc::clone(&device.context);
        // SAFETY: the device is that of the context.
        let queue = unsafe { CommandQueue::create(&context, context.default_device(), CL_QUEUE_PROFILING_ENABLE) };
        let queue = queue.map_err(|error| failed("making a queue", error))?;
        let queue = Commands { queue, copies: Mutex::default() };
        Ok(Self {
            context,
            pinned: Arc::clone(&device.pinned),
            queue: Arc::new(queue),
            memory: device.memory,
            most: device.most,
            svm: device.svm,
            is_pocl: device.is_pocl,
        })
    }

    /// A kernel of a program, which is compiled when a device first gets it.
    ///
    /// # Errors
    /// A program that does not compile, with what the compiler says; a kernel that it has not, or whose work-groups are too large for the
    /// device.
    pub fn kernel(&self, device: &OpenCl, source: &'static str, name: &str) -> Result<Kernel> {
        let program = device.program(source)?;
        let kernel = opencl3::kernel::Kernel::create(&program, name);
        let kernel = kernel.map(|kernel| Kernel { kernel, has_run: AtomicBool::new(false) });
        kernel.map_err(|error| failed(&format!("the kernel `{name}`"), error))
    }

    /// Has `groups` groups of `items` work items run a kernel, after all that was asked before.
    ///
    /// # Errors
    /// A device that refuses; arguments of other kinds than the kernel has.
    ///
    /// # Safety
    /// With these arguments, the kernel reads and writes within their buffers.
    pub unsafe fn launch(&self, kernel: &Kernel, (groups, items): (usize, usize), args: &[Arg<'_>]) -> Result<()> {
        for (index, arg) in (0..).zip(args) {
            // SAFETY: the buffers live until the queue is done, as each waits for that before it goes.
            let set = unsafe {
                match arg {
                    Arg::Buffer(buffer) => buffer.bind(&kernel.kernel, index),
                    Arg::Number(number) => kernel.kernel.set_arg(index, number),
                }
            };
            set.map_err(|error| failed(&format!("argument {index} of a kernel"), error))?;
        }
        let all = groups * items;
        // PoCL 3.1 loads the code of a kernel when it runs, twice where two queues run it for the first time at once, and then aborts.
        static FIRST_RUNS: Mutex<()> = Mutex::new(());
        let is_first = self.is_pocl && !kernel.has_run.swap(true, Ordering::Relaxed);
        let _alone = is_first.then(|| FIRST_RUNS.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: one dimension, as the two numbers; the caller promises the rest.
        let launched = unsafe {
            self.queue.enqueue_nd_range_kernel(kernel.kernel.get(), 1, null(), &raw const all, &raw const items, &[])
        };
        let done = launched.and_then(|_| if is_first { self.queue.finish() } else { Ok(()) });
        done.map_err(|error| failed("starting a kernel", error))
    }

    /// Lets the device begin what was asked.
    ///
    /// # Errors
    /// A device that is lost.
    pub fn flush(&self) -> Result<()> {
        self.queue.flush().map_err(|error| failed("starting", error))
    }

    /// Waits until all is done that was asked, asleep: looks at it again and again, after an eighth of the time that it has taken. Waits of
    /// drivers would take a whole core, and their calls come late: with NVIDIA's, after tens of milliseconds.
    ///
    /// # Errors
    /// A device that is lost, or a kernel that failed.
    pub fn wait(&self) -> Result<()> {
        self.look().map_err(|error| failed("waiting for the device", error))?;
        self.finish()
    }

    /// The same in the driver's own way, which may take a whole core.
    pub(crate) fn finish(&self) -> Result<()> {
        self.queue.finish().map_err(|error| failed("waiting for the device", error))
    }

    fn look(&self) -> Result<(), ClError> {
        // SAFETY: it waits for no other event.
        let marker = unsafe { self.queue.enqueue_marker_with_wait_list(&[])? };
        self.queue.flush()?;
        let start = Instant::now();
        loop {
            // A negative one is an error.
            let status = marker.command_execution_status()?.0;
            if status <= CL_COMPLETE {
                return if status < CL_COMPLETE { Err(ClError(status)) } else { Ok(()) };
            }
            match start.elapsed() {
                taken if taken < SHORT => std::thread::yield_now(),
                taken => std::thread::sleep((taken / 8).min(LONGEST)),
            }
        }
    }

    /// Does something that copies frames to the device, whose time is that of [`copied`](Self::copied).
    pub fn entering<T>(&self, act: impl FnOnce() -> T) -> T {
        self.queue.counted(0, act)
    }

    /// The same of what copies frames back.
    pub fn leaving<T>(&self, act: impl FnOnce() -> T) -> T {
        self.queue.counted(1, act)
    }

    /// What was copied of frames to the device and back since this was last asked, by the thread and by the device; what is still under way
    /// is told the next time.
    pub fn copied(&self) -> [Copied; 2] {
        let mut copies = self.queue.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let Copies { events, done, .. } = &mut *copies;
        for (events, done) in events.iter_mut().zip(&mut *done) {
            events.retain(|event| {
                let (start, end) = (event.profiling_command_start(), event.profiling_command_end());
                let (Ok(start), Ok(end)) = (start, end) else {
                    // Some drivers tell no time of some copies.
                    return !event.command_execution_status().is_ok_and(|status| status.0 <= CL_COMPLETE);
                };
                done.time += Duration::from_nanos(end.saturating_sub(start));
                false
            });
        }
        std::mem::take(done)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("memory", &self.memory).finish_non_exhaustive()
    }
}
