//! What a lane of a device does: kernels, one after the other.

use std::fmt;
use std::ptr::null;
use std::sync::Arc;

use bief::{Error, Result};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;

use crate::buffer::{Buffer, Memory};
use crate::device::OpenCl;
use crate::error::failed;

/// A queue of a device, for one lane: what is asked of it is done in order.
pub struct Queue {
    pub(crate) context: Arc<Context>,
    pub(crate) queue: Arc<CommandQueue>,
    pub(crate) memory: Memory,
    pub(crate) most: u64,
    pub(crate) svm: u64,
}

/// A kernel with its own arguments: each lane has one.
#[derive(Debug)]
pub struct Kernel(opencl3::kernel::Kernel);

// SAFETY: OpenCL lets one thread at a time use a kernel, whichever that is; nobody else has this one.
unsafe impl Send for Kernel {}

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
        let queue = unsafe { CommandQueue::create(&context, context.default_device(), 0) };
        let queue = queue.map_err(|error| failed("making a queue", error))?;
        Ok(Self { context, queue: Arc::new(queue), memory: device.memory, most: device.most, svm: device.svm })
    }

    /// A kernel of a program, which is compiled when a device first gets it.
    ///
    /// # Errors
    /// A program that does not compile, with what the compiler says; a kernel that it has not, or whose work-groups are too large for the
    /// device.
    pub fn kernel(&self, device: &OpenCl, source: &'static str, name: &str) -> Result<Kernel> {
        let program = device.program(source)?;
        let kernel = opencl3::kernel::Kernel::create(&program, name);
        kernel.map(Kernel).map_err(|error| failed(&format!("the kernel `{name}`"), error))
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
                    Arg::Buffer(buffer) => buffer.bind(&kernel.0, index),
                    Arg::Number(number) => kernel.0.set_arg(index, number),
                }
            };
            set.map_err(|error| failed(&format!("argument {index} of a kernel"), error))?;
        }
        let all = groups * items;
        // SAFETY: one dimension, as the two numbers; the caller promises the rest.
        let launched = unsafe {
            self.queue.enqueue_nd_range_kernel(kernel.0.get(), 1, null(), &raw const all, &raw const items, &[])
        };
        launched.map(drop).map_err(|error| failed("starting a kernel", error))
    }

    /// Lets the device begin what was asked.
    ///
    /// # Errors
    /// A device that is lost.
    pub fn flush(&self) -> Result<()> {
        self.queue.flush().map_err(|error| failed("starting", error))
    }

    /// Waits until all is done that was asked.
    ///
    /// # Errors
    /// A device that is lost, or a kernel that failed.
    pub fn wait(&self) -> Result<()> {
        self.queue.finish().map_err(|error| {
            Error::new(format!("{}; the device may be lost: --device off does without it", failed("waiting", error)))
        })
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("memory", &self.memory).finish_non_exhaustive()
    }
}
