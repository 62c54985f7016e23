//! Buffers, and where their bytes are while cores write and read them.

use std::fmt;
use std::ptr::{NonNull, null_mut};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bief::Result;
use opencl3::context::Context;
use opencl3::error_codes::ClError;
use opencl3::kernel::Kernel;
use opencl3::memory::{
    self as cl, CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, CL_MEM_SVM_FINE_GRAIN_BUFFER,
    ClMem,
};
use opencl3::types::{CL_FALSE, CL_TRUE, cl_map_flags};

use crate::error::{failed, too_much};
use crate::queue::{Commands, Queue};

/// How cores and a device have the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// In ordinary memory and in the device's: the driver copies.
    #[default]
    Copy,
    /// As `Copy`, out of and into memory that the device reaches by itself: one copy less.
    Pinned,
    /// In memory of the cores that the device works on in place, and that is theirs while it does not.
    Host,
    /// In memory that both address (shared virtual memory): nothing moves, or the driver moves pages.
    Shared,
}

impl Memory {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Copy, Self::Pinned, Self::Host, Self::Shared];
}

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|memory| memory.to_string() == text);
        known.ok_or_else(|| "write copy, pinned, host or shared".to_owned())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Copy => "copy",
            Self::Pinned => "pinned",
            Self::Host => "host",
            Self::Shared => "shared",
        })
    }
}

/// Bytes that kernels of a queue, and one thread, work on in turn.
pub struct Buffer {
    queue: Arc<Commands>,
    /// It lives at least as long.
    context: Arc<Context>,
    bytes: usize,
    place: Place,
}

enum Place {
    /// The device's, and what is copied to it and from it.
    Apart { there: cl::Buffer<u8>, here: Vec<u8> },
    /// The same, with memory that the device reaches by itself for the copies.
    Staged { there: cl::Buffer<u8>, here: Arc<Pinned> },
    /// The driver's, mapped while the thread has it.
    Mapped { there: cl::Buffer<u8>, here: Option<NonNull<u8>> },
    /// Where both address it; mapped while the thread has it, unless that is not needed.
    Shared { there: NonNull<u8>, is_fine: bool, is_mapped: bool },
}

/// Memory of the cores that the device reaches by itself: a buffer of the driver's, mapped for good by a queue that lives as long.
///
/// It takes the driver a third of a millisecond per MiB to make it, so a context keeps what is not used any more: the lanes of the next
/// pipeline want as much as those of the last.
pub(crate) struct Pinned {
    queue: Arc<Commands>,
    buffer: cl::Buffer<u8>,
    bytes: usize,
    here: NonNull<u8>,
}

// SAFETY: it only tells where its memory is; the one buffer that has it uses that.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    fn new(queue: &Queue, bytes: usize) -> Result<Self, ClError> {
        // SAFETY: no memory of ours is named.
        let buffer = unsafe {
            cl::Buffer::create(&queue.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, null_mut())?
        };
        let here = map(&queue.queue, &buffer, bytes, CL_MAP_READ | CL_MAP_WRITE, true)?;
        Ok(Self { queue: Arc::clone(&queue.queue), buffer, bytes, here })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: it is mapped there.
        let _ = unsafe { self.queue.enqueue_unmap_mem_object(self.buffer.get(), self.here.as_ptr().cast(), &[]) };
        let _ = self.queue.finish();
    }
}

/// The pinned memory of a context: what only this has, nobody uses.
#[derive(Default)]
pub(crate) struct AllPinned(Mutex<Vec<Arc<Pinned>>>);

impl AllPinned {
    /// Some that nobody uses, with room for so many bytes but not many more, or else new. Where the driver has no more, it gets back first
    /// what nobody uses.
    fn take(&self, queue: &Queue, bytes: usize) -> Result<Arc<Pinned>, ClError> {
        if let Some(pinned) = self.unused(bytes) {
            return Ok(pinned);
        }
        let made = match Pinned::new(queue, bytes) {
            Err(_) if self.give_back() => Pinned::new(queue, bytes),
            made => made,
        };
        let made = Arc::new(made?);
        self.all().push(Arc::clone(&made));
        Ok(made)
    }

    fn unused(&self, bytes: usize) -> Option<Arc<Pinned>> {
        let fits = |pinned: &&mut Arc<Pinned>| (bytes..=bytes.saturating_mul(2)).contains(&pinned.bytes);
        let mut all = self.all();
        let unused = all.iter_mut().filter(fits).filter_map(|pinned| (!is_used(pinned)).then_some(&*pinned));
        unused.min_by_key(|pinned| pinned.bytes).cloned()
    }

    /// Gives all that nobody uses back to the driver; whether there was any.
    fn give_back(&self) -> bool {
        let mut all = self.all();
        let before = all.len();
        all.retain_mut(is_used);
        all.len() < before
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Pinned>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_used(pinned: &mut Arc<Pinned>) -> bool {
    Arc::get_mut(pinned).is_none()
}

// SAFETY: who has the buffer has its memory alone, but for the device, which is waited for.
unsafe impl Send for Buffer {}
// SAFETY: a shared one only tells its argument.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer with the memory of the queue's device.
    ///
    /// # Errors
    /// More bytes than there are: how many are asked for, and there.
    pub fn new(queue: &Queue, bytes: usize) -> Result<Self> {
        Self::with_memory(queue, bytes, queue.memory)
    }

    /// A buffer that the device alone works on, or that is filled once.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_device(queue: &Queue, bytes: usize) -> Result<Self> {
        Self::with_memory(queue, bytes, Memory::Copy)
    }

    fn with_memory(queue: &Queue, bytes: usize, memory: Memory) -> Result<Self> {
        let bytes = bytes.max(1);
        if bytes as u64 > queue.most {
            return Err(too_much(bytes, queue.most));
        }
        let wrong = |error| failed(&format!("making a buffer of {bytes} bytes, of {} at most", queue.most), error);
        let make = |flags| {
            // SAFETY: no memory of ours is named.
            unsafe { cl::Buffer::create(&queue.context, flags, bytes, null_mut()) }.map_err(wrong)
        };
        let place = match memory {
            Memory::Copy => Place::Apart { there: make(CL_MEM_READ_WRITE)?, here: Vec::new() },
            Memory::Pinned => {
                let there = make(CL_MEM_READ_WRITE)?;
                Place::Staged { there, here: queue.pinned.take(queue, bytes).map_err(wrong)? }
            }
            Memory::Host => Place::Mapped { there: make(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR)?, here: None },
            Memory::Shared => {
                let is_fine = queue.svm & opencl3::device::CL_DEVICE_SVM_FINE_GRAIN_BUFFER != 0;
                let flags = CL_MEM_READ_WRITE | if is_fine { CL_MEM_SVM_FINE_GRAIN_BUFFER } else { 0 };
                // SAFETY: the context lives, and has this device.
                let there = unsafe { cl3_svm(&queue.context, flags, bytes) }.map_err(wrong)?;
                Place::Shared { there, is_fine, is_mapped: false }
            }
        };
        Ok(Self { queue: Arc::clone(&queue.queue), context: Arc::clone(&queue.context), bytes, place })
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has none: never.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Lets the thread write its first bytes, for the kernels that are launched next. Nothing that was asked before may still use it.
    ///
    /// # Errors
    /// A device that refuses.
    ///
    /// # Panics
    /// With more bytes than there are.
    pub fn fill(&mut self, bytes: usize, write: impl FnOnce(&mut [u8])) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let wrong = |error| failed("giving a device its input", error);
        let queue = &self.queue;
        queue.copies_bytes(bytes);
        // SAFETY: each place has `self.bytes` bytes, which are the thread's while they are mapped or the device has its own; the device
        // reads them before they change again, as all waits until the queue is done.
        unsafe {
            match &mut self.place {
                Place::Apart { there, here } => {
                    here.resize(self.bytes, 0);
                    write(&mut here[..bytes]);
                    queue.enqueue_write_buffer(there, CL_FALSE, 0, &here[..bytes], &[]).map(|event| queue.copies(event))
                }
                Place::Staged { there, here } => {
                    let here = std::slice::from_raw_parts_mut(here.here.as_ptr(), bytes);
                    write(here);
                    queue.enqueue_write_buffer(there, CL_FALSE, 0, here, &[]).map(|event| queue.copies(event))
                }
                Place::Mapped { there, here: None } => {
                    map(queue, there, self.bytes, CL_MAP_WRITE, true).and_then(|here| {
                        write(std::slice::from_raw_parts_mut(here.as_ptr(), bytes));
                        queue
                            .enqueue_unmap_mem_object(there.get(), here.as_ptr().cast(), &[])
                            .map(|event| queue.copies(event))
                    })
                }
                Place::Mapped { here: Some(_), .. } => unreachable!("what was fetched was read"),
                Place::Shared { there, is_fine, .. } => {
                    let here = std::slice::from_raw_parts_mut(there.as_ptr(), bytes);
                    if *is_fine {
                        write(here);
                        Ok(())
                    } else {
                        queue.enqueue_svm_map(CL_TRUE, CL_MAP_WRITE, here, &[]).and_then(|_| {
                            write(here);
                            queue.enqueue_svm_unmap(here, &[]).map(|event| queue.copies(event))
                        })
                    }
                }
            }
        }
        .map_err(wrong)
    }

    /// Asks for its first bytes: [`fetched`](Self::fetched) gives them, once the queue is done.
    ///
    /// # Errors
    /// A device that refuses.
    ///
    /// # Panics
    /// With more bytes than there are.
    pub fn fetch(&mut self, bytes: usize) -> Result<()> {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let queue = &self.queue;
        queue.copies_bytes(bytes);
        // SAFETY: as in `fill`; what is read into stays where it is until then.
        unsafe {
            match &mut self.place {
                Place::Apart { there, here } => {
                    here.resize(self.bytes, 0);
                    queue
                        .enqueue_read_buffer(there, CL_FALSE, 0, &mut here[..bytes], &[])
                        .map(|event| queue.copies(event))
                }
                Place::Staged { there, here } => {
                    let here = std::slice::from_raw_parts_mut(here.here.as_ptr(), bytes);
                    queue.enqueue_read_buffer(there, CL_FALSE, 0, here, &[]).map(|event| queue.copies(event))
                }
                Place::Mapped { there, here } => {
                    map(queue, there, self.bytes, CL_MAP_READ, false).map(|place| *here = Some(place))
                }
                Place::Shared { is_fine: true, .. } => Ok(()),
                Place::Shared { there, is_mapped, .. } => {
                    let here = std::slice::from_raw_parts_mut(there.as_ptr(), bytes);
                    queue.enqueue_svm_map(CL_FALSE, CL_MAP_READ, here, &[]).map(|event| {
                        queue.copies(event);
                        *is_mapped = true;
                    })
                }
            }
        }
        .map_err(|error| failed("taking the output of a device", error))
    }

    /// What was [fetched](Self::fetch), after [`Queue::wait`] and until [`release`](Self::release).
    ///
    /// # Panics
    /// With more bytes than there are, or where nothing was fetched.
    pub fn fetched(&self, bytes: usize) -> &[u8] {
        assert!(bytes <= self.bytes, "{bytes} of {} bytes", self.bytes);
        let here = match &self.place {
            Place::Apart { here, .. } => return &here[..bytes],
            Place::Staged { here, .. } => here.here,
            Place::Mapped { here, .. } => here.expect("it was fetched"),
            Place::Shared { there, .. } => *there,
        };
        // SAFETY: so many bytes are there, and the thread's, as in `fill`.
        unsafe { std::slice::from_raw_parts(here.as_ptr(), bytes) }
    }

    /// Gives back what was fetched, before kernels use it again.
    ///
    /// # Errors
    /// A device that refuses.
    pub fn release(&mut self) -> Result<()> {
        let queue = &self.queue;
        // SAFETY: what is mapped is unmapped once.
        unsafe {
            match &mut self.place {
                Place::Apart { .. } | Place::Staged { .. } => Ok(()),
                Place::Mapped { there, here } => match here.take() {
                    Some(here) => queue.enqueue_unmap_mem_object(there.get(), here.as_ptr().cast(), &[]).map(drop),
                    None => Ok(()),
                },
                Place::Shared { there, is_mapped, .. } => match std::mem::take(is_mapped) {
                    true => {
                        let here = std::slice::from_raw_parts(there.as_ptr(), self.bytes);
                        queue.enqueue_svm_unmap(here, &[]).map(drop)
                    }
                    false => Ok(()),
                },
            }
        }
        .map_err(|error| failed("giving a buffer back", error))
    }

    /// Makes it the argument of a kernel.
    ///
    /// # Safety
    /// The buffer lives until the kernel is done.
    pub(crate) unsafe fn bind(&self, kernel: &Kernel, index: u32) -> Result<(), ClError> {
        // SAFETY: passed on to the caller.
        unsafe {
            match &self.place {
                Place::Apart { there, .. } | Place::Staged { there, .. } | Place::Mapped { there, .. } => {
                    kernel.set_arg(index, &there.get())
                }
                Place::Shared { there, .. } => kernel.set_arg_svm_pointer(index, there.as_ptr().cast()),
            }
        }
    }
}

/// Maps all of a buffer; waits for it, if it is to be there at once.
fn map(
    queue: &Commands,
    buffer: &cl::Buffer<u8>,
    bytes: usize,
    flags: cl_map_flags,
    waits: bool,
) -> Result<NonNull<u8>, ClError> {
    let mut here = null_mut();
    // SAFETY: the buffer has so many bytes, and is not mapped.
    let event = unsafe {
        queue.enqueue_map_buffer(buffer, if waits { CL_TRUE } else { CL_FALSE }, flags, 0, bytes, &mut here, &[])?
    };
    if !waits {
        queue.copies(event);
    }
    NonNull::new(here.cast()).ok_or(ClError(-12))
}

/// Memory that the device addresses as the cores do.
///
/// # Safety
/// The context's device has such memory.
unsafe fn cl3_svm(context: &Context, flags: u64, bytes: usize) -> Result<NonNull<u8>, ClError> {
    // SAFETY: passed on to the caller.
    let there = unsafe { opencl3::memory::svm_alloc(context.get(), flags, bytes, 0)? };
    NonNull::new(there.cast()).ok_or(ClError(-4))
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The device may still work on it.
        let _ = self.queue.finish();
        match &self.place {
            Place::Apart { .. } | Place::Staged { .. } | Place::Mapped { here: None, .. } => {}
            Place::Mapped { there, here: Some(here) } => {
                // SAFETY: it is mapped there.
                let _ = unsafe { self.queue.enqueue_unmap_mem_object(there.get(), here.as_ptr().cast(), &[]) };
                let _ = self.queue.finish();
            }
            Place::Shared { there, .. } => {
                // SAFETY: it was allocated for this context, and nothing uses it any more.
                let _ = unsafe { opencl3::memory::svm_free(self.context.get(), there.as_ptr().cast()) };
            }
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{OpenCl, find};

    #[test]
    fn pinned_memory_is_used_again_by_the_next_that_wants_about_as_much() {
        let Some(found) = find().ok().and_then(|found| found.into_iter().next()) else {
            eprintln!("left out: no OpenCL device is here");
            return;
        };
        let device = OpenCl::open(&found, Memory::Pinned).unwrap();
        let place = |queue: &Queue, bytes: usize| {
            let mut buffer = Buffer::new(queue, bytes).unwrap();
            buffer.fill(bytes, |there| there.fill(7)).unwrap();
            buffer.fetch(bytes).unwrap();
            queue.wait().unwrap();
            let fetched = buffer.fetched(bytes);
            assert!(fetched.iter().all(|&byte| byte == 7));
            fetched.as_ptr()
        };
        let of = |bytes| place(&Queue::new(&device).unwrap(), bytes);
        let first = of(100_000);
        assert_eq!(of(60_000), first, "by another queue");
        assert_ne!(of(200_000), first);
        let queue = Queue::new(&device).unwrap();
        let held = Buffer::new(&queue, 100_000).unwrap();
        assert_eq!(pinned_of(&held), Some(first));
        assert_ne!(place(&queue, 100_000), first, "it is in use");
        assert!(device.pinned.give_back() && !device.pinned.give_back());
    }

    fn pinned_of(buffer: &Buffer) -> Option<*const u8> {
        match &buffer.place {
            Place::Staged { here, .. } => Some(here.here.as_ptr().cast_const()),
            _ => None,
        }
    }
}
