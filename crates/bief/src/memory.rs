//! Where the frames of a boundary lie: [`Memory`] that a pipeline asks for every slot and gives back after a run.

use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::ptr::NonNull;

use crate::error::{Error, Result};

/// What gives and takes back the memory of a boundary's slots: ordinary memory, huge pages, what a device can reach.
///
/// [`Pipeline::memory`](crate::Pipeline::memory) chooses one. It is asked once for each wire of each slot before a run, and
/// given back all of it when the run has ended; nothing is asked for while frames travel. Blocks go from thread to thread.
///
/// ```
/// use std::alloc::Layout;
/// use std::ptr::NonNull;
/// use std::sync::Arc;
///
/// use bief::memory::{Memory, Plain};
/// use bief::{Chain, Error, Flow, Result, sink, source};
///
/// /// Ordinary memory, but no more than so much in one piece.
/// #[derive(Debug)]
/// struct Frugal {
///     most: usize,
/// }
///
/// // SAFETY: blocks are those of `Plain`, and go back there.
/// unsafe impl Memory for Frugal {
///     fn name(&self) -> String {
///         "frugal memory".to_owned()
///     }
///     fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>> {
///         if layout.size() > self.most {
///             return Err(Error::new("that is too much at once"));
///         }
///         Plain.alloc(layout)
///     }
///     unsafe fn free(&self, block: NonNull<[u8]>, layout: Layout) {
///         // SAFETY: passed on to the caller.
///         unsafe { Plain.free(block, layout) }
///     }
/// }
///
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&[0.0_f32; 4096], 64), ());
/// chain.stage("out");
/// chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &frames);
/// let pipeline = chain.build()?.pipeline_as_marked()?;
/// let report = pipeline.memory(0, Arc::new(Frugal { most: 1 << 20 }))?.run()?;
/// assert_eq!(report.frames, 64);
/// # Ok::<(), bief::Error>(())
/// ```
///
/// # Safety
/// A block that [`alloc`](Self::alloc) gives can be read and written, all of it, from any thread, by whoever asked for it and
/// by nobody else, until it is given to [`free`](Self::free). What it is used for is the pipeline's: its length and alignment
/// are checked before.
pub unsafe trait Memory: fmt::Debug + Send + Sync {
    /// What it is called in errors.
    fn name(&self) -> String;

    /// A block of at least so many bytes (never 0), at a multiple of the alignment. What is in it does not matter.
    ///
    /// # Errors
    /// Why there is none: the run does not start. A block that is too small, or lies elsewhere, is given back and refused.
    fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>>;

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from [`alloc`](Self::alloc) with the same layout, is given back once, and nobody uses it any more.
    unsafe fn free(&self, block: NonNull<[u8]>, layout: Layout);
}

/// Memory of the program's allocator: the default of boundaries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

// SAFETY: the allocator's blocks are the caller's alone until they are freed.
unsafe impl Memory for Plain {
    fn name(&self) -> String {
        "plain memory".to_owned()
    }

    fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>> {
        // SAFETY: whoever asks wants at least one byte.
        let block = NonNull::new(unsafe { alloc(layout) });
        let block = block.ok_or_else(|| Error::new("the allocator has no more"))?;
        Ok(NonNull::slice_from_raw_parts(block, layout.size()))
    }

    unsafe fn free(&self, block: NonNull<[u8]>, layout: Layout) {
        // SAFETY: allocated with this layout, by the caller's promise.
        unsafe { dealloc(block.as_ptr().cast(), layout) }
    }
}

/// Memory in huge pages of 2 MiB, where Linux has them to give: fewer misses of the processor's page tables for frames of
/// many megabytes. Every block takes whole pages, so it suits large frames and batches alone.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, Default)]
pub struct HugePages;

#[cfg(target_os = "linux")]
impl HugePages {
    const PAGE: usize = 2 << 20;

    /// Bytes that are mapped for a block.
    fn mapped(layout: Layout) -> Result<usize> {
        if layout.align() > Self::PAGE {
            return Err(Error::new(format!("blocks begin at multiples of 2 MiB, not of {} bytes", layout.align())));
        }
        layout.size().checked_next_multiple_of(Self::PAGE).ok_or_else(|| Error::new("there is not so much memory"))
    }
}

// SAFETY: each block is a private mapping of its own, until it is unmapped.
#[cfg(target_os = "linux")]
unsafe impl Memory for HugePages {
    fn name(&self) -> String {
        "huge pages".to_owned()
    }

    fn alloc(&self, layout: Layout) -> Result<NonNull<[u8]>> {
        let refused = |what: &str| Error::new(format!("{what}: {}", std::io::Error::last_os_error()));
        let size = Self::mapped(layout)?;
        // A page more than is wanted: of that a part before and behind is given back, so that the rest begins at a page.
        let whole = size.checked_add(Self::PAGE).ok_or_else(|| Error::new("there is not so much memory"))?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, wherever the system likes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), whole, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused("the system maps no more"));
        }
        let before = start.align_offset(Self::PAGE);
        // SAFETY: both parts lie in the mapping, on either side of the block, and are multiples of the system's pages.
        let block = unsafe {
            let block = start.byte_add(before);
            for (part, length) in [(start, before), (block.byte_add(size), Self::PAGE - before)] {
                if length > 0 {
                    libc::munmap(part, length);
                }
            }
            block
        };
        // SAFETY: advice about the mapping that was just made.
        if unsafe { libc::madvise(block, size, libc::MADV_HUGEPAGE) } != 0 {
            let error = refused("the system has no huge pages (transparent_hugepage)");
            // SAFETY: nobody uses the block.
            unsafe { libc::munmap(block, size) };
            return Err(error);
        }
        let block = NonNull::new(block.cast()).ok_or_else(|| Error::new("the system maps no more"))?;
        Ok(NonNull::slice_from_raw_parts(block, size))
    }

    unsafe fn free(&self, block: NonNull<[u8]>, _: Layout) {
        // SAFETY: the block is a mapping of this length that nobody uses any more, by the caller's promise.
        unsafe { libc::munmap(block.as_ptr().cast(), block.len()) };
    }
}

/// Bytes that a core fetches at a time.
pub(crate) const CACHE_LINE: usize = 64;

/// Asks for these values to come to this core's second-level cache: they will be read later, and meanwhile there is other work. A hint:
/// nothing is read, and on processors other than x86-64 nothing happens.
///
/// ```
/// let rows = [[3_u8; 1920]; 100];
/// let mut sum = 0;
/// for (number, row) in rows.iter().enumerate() {
///     rows.get(number + 40).iter().for_each(|row| bief::memory::prefetch(&row[..]));
///     sum += row.iter().map(|&pixel| u32::from(pixel)).sum::<u32>();
/// }
/// assert_eq!(sum, 3 * 1920 * 100);
/// ```
#[inline(always)]
pub fn prefetch<T>(values: &[T]) {
    fetch_lines::<false>(values.as_ptr().cast(), size_of_val(values));
}

/// Asks for so many bytes from an address on: to be read, as [`prefetch`] does, or, where `WRITE`, to be written in the nearest cache:
/// other cores give up their copies then.
#[inline(always)]
pub(crate) fn fetch_lines<const WRITE: bool>(start: *const u8, bytes: usize) {
    (0..bytes).step_by(CACHE_LINE).for_each(|offset| fetch::<WRITE>(start.wrapping_add(offset)));
}

/// Asks for the cache line at an address. A hint: nothing is read or written.
#[inline(always)]
pub(crate) fn fetch<const WRITE: bool>(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T1, _mm_prefetch};
        let address = address.cast();
        // SAFETY: any address will do.
        unsafe { if WRITE { _mm_prefetch::<_MM_HINT_ET0>(address) } else { _mm_prefetch::<_MM_HINT_T1>(address) } };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_memory_is_as_large_and_aligned_as_it_is_wanted() {
        let layout = Layout::from_size_align(100, 64).unwrap();
        let block = Plain.alloc(layout).unwrap();
        assert_eq!((block.len(), block.as_ptr().cast::<u8>() as usize % 64), (100, 0));
        // SAFETY: it came from there.
        unsafe { Plain.free(block, layout) };
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn huge_pages_begin_at_a_page_or_are_refused_in_words() {
        for size in [1, 2 << 20, (2 << 20) + 1] {
            let layout = Layout::from_size_align(size, 64).unwrap();
            match HugePages.alloc(layout) {
                Ok(block) => {
                    assert_eq!(block.len(), size.next_multiple_of(2 << 20));
                    assert_eq!(block.as_ptr().cast::<u8>() as usize % (2 << 20), 0);
                    // SAFETY: it came from there, and is written before it goes back.
                    unsafe {
                        block.as_ptr().cast::<u8>().write_bytes(7, block.len());
                        HugePages.free(block, layout);
                    }
                }
                Err(error) => assert!(error.to_string().contains("huge pages"), "{error}"),
            }
        }
        let layout = Layout::from_size_align(isize::MAX as usize / 2, 64).unwrap();
        assert!(HugePages.alloc(layout).is_err());
    }
}
