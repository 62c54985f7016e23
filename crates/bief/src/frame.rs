//! Buffers that frames live in: allocated once, 64-byte aligned, moved by pointer.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::TypeId;
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::memory::{CACHE_LINE, Memory, fetch_lines};

/// What a wire may carry: plain values that can be copied and have a default.
///
/// Implemented for every such type: numbers, arrays of them, `Complex<f32>`, and small structs that derive
/// `Clone, Copy, Default`.
pub trait Element: Copy + Default + Send + Sync + 'static {}

impl<T: Copy + Default + Send + Sync + 'static> Element for T {}

/// The type of a wire's elements, known at run time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    pub(crate) id: TypeId,
    /// The type's name with all its paths.
    pub(crate) name: &'static str,
    size: usize,
    align: usize,
    /// Writes `count` default values at a pointer to that much memory of this type.
    fill: unsafe fn(*mut u8, usize),
}

impl Format {
    pub(crate) fn of<T: Element>() -> Self {
        /// # Safety
        /// `memory` is valid and aligned for writing `count` values of `T`.
        unsafe fn fill<T: Element>(memory: *mut u8, count: usize) {
            let memory = memory.cast::<T>();
            // One value without a size is all of them.
            let count = if size_of::<T>() == 0 { count.min(1) } else { count };
            for index in 0..count {
                // SAFETY: the caller promises memory for `count` values, and `index < count`.
                unsafe { memory.add(index).write(T::default()) };
            }
        }
        Self {
            id: TypeId::of::<T>(),
            name: std::any::type_name::<T>(),
            size: size_of::<T>(),
            align: align_of::<T>(),
            fill: fill::<T>,
        }
    }

    /// The type's name as it is read: `Complex<f32>` where the compiler says `num_complex::Complex<f32>`.
    pub(crate) fn element(self) -> String {
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
        let mut readable = String::new();
        let mut rest = self.name;
        while !rest.is_empty() {
            let (path, after) = rest.split_at(rest.find(|c| !is_path(c)).unwrap_or(rest.len()));
            readable.push_str(path.rsplit("::").next().unwrap_or(path));
            let (between, after) = after.split_at(after.find(is_path).unwrap_or(after.len()));
            readable.push_str(between);
            rest = after;
        }
        readable
    }

    /// Bytes of one element.
    #[inline]
    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// Bytes of a buffer for a batch of frames of this length; not a whole number, so that there is no greatest.
    pub(crate) fn bytes(self, len: usize, batch: usize) -> f64 {
        let elements = len as f64 * batch as f64;
        // Elements without a size take no memory, but are counted.
        if elements > usize::MAX as f64 { f64::INFINITY } else { elements * self.size as f64 }
    }
}

/// Whether the system gives so much memory. It may promise more in parts than it has: it is asked for all at once.
pub(crate) fn can_allocate(bytes: f64) -> bool {
    // So much there is, and the question would cost more than the answer: an allocator that is given back a large piece may
    // keep pieces of that size from then on.
    const ALWAYS: f64 = 64.0 * 1024.0 * 1024.0;
    if bytes <= ALWAYS {
        return true;
    }
    let mut memory = Vec::<u8>::new();
    // Not optimised away, as memory that nobody uses may be.
    bytes <= isize::MAX as f64 / 2.0 && black_box(&mut memory).try_reserve_exact(bytes as usize).is_ok()
}

/// One wire's memory for a batch of frames. Always initialised; owned, so it can travel between threads.
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: NonNull<u8>,
    origin: Origin,
}

/// Where a buffer's memory goes back to.
#[derive(Debug)]
enum Origin {
    /// To the program's allocator.
    Plain(Layout),
    /// To another memory, which gave this block.
    Lent(Box<Lent>),
}

/// A block of another memory, and what it was asked for.
#[derive(Debug)]
struct Lent {
    lender: Arc<dyn Memory>,
    block: NonNull<[u8]>,
    layout: Layout,
}

/// Bytes of a buffer that are prefetched.
const BEGINNING: usize = 4096;

// SAFETY: a buffer owns its memory, which may be used and given back from any thread, and `Element` requires the values in it
// to be `Send` and `Sync`.
unsafe impl Send for Buffer {}
// SAFETY: a shared buffer only tells where its values are; whoever reads them there promises that nobody writes.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory for `count` default values; every buffer begins on a cache line of its own.
    pub(crate) fn new(format: Format, count: usize) -> Self {
        let layout = Self::layout(format, count).expect("a buffer fits the address space");
        // SAFETY: the layout's size is at least 1.
        let memory = unsafe { alloc(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: the memory was allocated with room for `count` values and their alignment.
        unsafe { (format.fill)(memory.as_ptr(), count) };
        Self { memory, origin: Origin::Plain(layout) }
    }

    /// As [`new`](Self::new), of a memory that the user chose.
    ///
    /// # Errors
    /// What that memory refuses, and a block that is not what was wanted, with how much that was.
    pub(crate) fn lent(lender: &Arc<dyn Memory>, format: Format, count: usize) -> Result<Self> {
        let layout =
            Self::layout(format, count).ok_or_else(|| Error::new("a buffer is longer than the address space"))?;
        let refused = |error: Error| {
            let name = Error::catch(|| Ok(lender.name())).unwrap_or_else(|_| "a memory".to_owned());
            Error::build(format!("{name} refuses a block of {} bytes: {}", layout.size(), error.message()))
        };
        let block = Error::catch(|| lender.alloc(layout)).map_err(refused)?;
        let memory = block.cast::<u8>();
        // From here on the block goes back, whatever happens.
        let lent = Lent { lender: Arc::clone(lender), block, layout };
        let buffer = Self { memory, origin: Origin::Lent(Box::new(lent)) };
        if block.len() < layout.size() {
            return Err(refused(Error::new(format!("it gave one of {} bytes", block.len()))));
        }
        if !(memory.as_ptr() as usize).is_multiple_of(layout.align()) {
            return Err(refused(Error::new(format!(
                "it gave one that does not begin at a multiple of {}",
                layout.align()
            ))));
        }
        // SAFETY: the block has room for `count` values and their alignment, and is nobody else's, as `Memory` promises.
        unsafe { (format.fill)(memory.as_ptr(), count) };
        Ok(buffer)
    }

    /// Asks for all of it to come to the core of this thread, to be written.
    pub(crate) fn fetch(&self) {
        fetch_lines::<true>(self.memory.as_ptr(), self.size());
    }

    /// Asks for its beginning to come, to be read: processors go on with what follows by themselves.
    pub(crate) fn prefetch(&self) {
        fetch_lines::<false>(self.memory.as_ptr(), self.size().min(BEGINNING));
    }

    /// Bytes that were asked for.
    fn size(&self) -> usize {
        match &self.origin {
            Origin::Plain(layout) => layout.size(),
            Origin::Lent(lent) => lent.layout.size(),
        }
    }

    /// What `count` values need.
    fn layout(format: Format, count: usize) -> Option<Layout> {
        let size = format.size.checked_mul(count)?;
        Some(Layout::from_size_align(size.max(1), format.align.max(CACHE_LINE)).ok()?.pad_to_align())
    }

    /// Memory that holds a copy of `values`.
    pub(crate) fn holding<T: Element>(values: &[T]) -> Self {
        let buffer = Self::new(Format::of::<T>(), values.len());
        // SAFETY: the buffer was just made with room for these values, and is nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), buffer.as_ptr().cast(), values.len()) };
        buffer
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }
}

/// Where buffers begin that somebody outside may still look at, and whether there are any.
static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static ANY_LEAKED: AtomicBool = AtomicBool::new(false);

/// Never gives the buffer back that begins there.
pub(crate) fn leak(start: *mut u8) {
    let mut leaked = LEAKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !leaked.contains(&start.addr()) {
        leaked.push(start.addr());
    }
    // Whoever drops the buffer got it, with this, from the thread that was here.
    ANY_LEAKED.store(true, Ordering::Relaxed);
}

fn is_leaked(start: *mut u8) -> bool {
    ANY_LEAKED.load(Ordering::Relaxed) && LEAKED.lock().unwrap_or_else(PoisonError::into_inner).contains(&start.addr())
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if is_leaked(self.as_ptr()) {
            return;
        }
        // `Element` values are `Copy`: they have no destructor.
        match &self.origin {
            // SAFETY: allocated in `new` with this layout.
            Origin::Plain(layout) => unsafe { dealloc(self.memory.as_ptr(), *layout) },
            Origin::Lent(lent) => {
                let Lent { lender, block, layout } = &**lent;
                // Whoever panics here keeps the block: there is nothing else that could be done with it.
                let _ = Error::catch(|| {
                    // SAFETY: the lender gave this block for this layout, and it is used by nobody from here on.
                    unsafe { lender.free(*block, *layout) };
                    Ok(())
                });
            }
        }
    }
}

/// Which frames of a batch are there, and where they stand in the stream.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Number of the first frame, as the source counts.
    pub(crate) first: u64,
    /// Frames in this batch: positions `0..count` of every buffer.
    pub(crate) count: usize,
    /// For each position, whether its frame was skipped. Nobody looks unless `any_skipped`.
    skipped: Box<[bool]>,
    any_skipped: bool,
    /// Nothing follows this batch.
    pub(crate) last: bool,
}

impl Batch {
    pub(crate) fn new(capacity: usize) -> Self {
        let skipped = vec![false; capacity].into();
        Self { first: 0, count: 0, skipped, any_skipped: false, last: false }
    }

    /// A full batch of new frames, for a source to make.
    pub(crate) fn renew(&mut self, first: u64) {
        self.first = first;
        self.count = self.capacity();
        if self.any_skipped {
            self.skipped.fill(false);
            self.any_skipped = false;
        }
        self.last = false;
    }

    /// The most frames that it may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.skipped.len()
    }

    /// Takes the frame at `position` out: no later task sees it.
    #[inline]
    pub(crate) fn skip(&mut self, position: usize) {
        self.skipped[position] = true;
        self.any_skipped = true;
    }

    /// Whether the frame at `position` still travels.
    #[inline]
    pub(crate) fn is_live(&self, position: usize) -> bool {
        !(self.any_skipped && self.skipped[position])
    }

    /// Frames that still travel.
    pub(crate) fn live(&self) -> usize {
        let skipped = || self.skipped[..self.count].iter().filter(|&&skipped| skipped).count();
        self.count - if self.any_skipped { skipped() } else { 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live() == 0
    }
}

/// What one stage hands to the next: a batch and the buffers of every wire that crosses. By default there is no memory for either.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) batch: Batch,
    pub(crate) buffers: Box<[Buffer]>,
    /// When the source was asked for the batch, if the run is observed.
    pub(crate) begun: Option<Moment>,
}

impl Slot {
    /// Whether it is more than what a slot leaves behind that was handed over.
    pub(crate) fn has_memory(&self) -> bool {
        self.batch.capacity() > 0
    }
}

// Stages look through them for every batch.
const _: () = assert!(size_of::<Buffer>() <= 3 * size_of::<usize>());
// A hand-over exchanges one cache line and the buffers that it tells of.
const _: () = assert!(size_of::<Slot>() <= 64);

/// Refuses frames of no elements.
pub(crate) fn whole_frames(len: usize) -> Result<usize> {
    if len == 0 {
        return Err(crate::Error::new("a frame of no elements would never end: give a length of at least 1"));
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_aligned_and_holds_defaults() {
        let buffer = Buffer::new(Format::of::<[f32; 3]>(), 5);
        assert_eq!(buffer.as_ptr() as usize % 64, 0);
        // SAFETY: the buffer holds five initialised values of this type.
        let values = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<[f32; 3]>(), 5) };
        assert_eq!(values, [[0.0; 3]; 5]);
    }

    #[test]
    fn names_of_types_are_read_without_their_paths() {
        let names = [Format::of::<f32>(), Format::of::<[Option<std::time::Duration>; 2]>(), Format::of::<(u8, bool)>()];
        assert_eq!(names.map(Format::element), ["f32", "[Option<Duration>; 2]", "(u8, bool)"]);
    }

    #[test]
    fn an_empty_buffer_and_a_zero_sized_element_are_fine() {
        Buffer::new(Format::of::<u64>(), 0);
        Buffer::new(Format::of::<()>(), 7);
    }

    #[test]
    fn a_batch_counts_the_frames_that_live() {
        let mut batch = Batch::new(4);
        assert!(batch.is_empty());
        batch.renew(8);
        batch.skip(1);
        batch.count = 3;
        assert_eq!((batch.first, batch.live(), batch.is_empty()), (8, 2, false));
    }
}
