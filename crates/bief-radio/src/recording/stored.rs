//! Bytes that can be read at any place: of a file, or in memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;

/// Bytes of a recording that can be read at any place, by any number of tasks at once, each as often as it likes.
///
/// ```
/// use bief_radio::{Recording, SampleFormat, Samples};
/// let recording = Recording::from_memory("a test", SampleFormat::Ci8, vec![1, 2, 3, 4]);
/// let Samples::Stored(stored) = recording.samples else { unreachable!("memory stays where it is") };
/// let mut bytes = [0; 2];
/// assert_eq!(stored.read_at(1, &mut bytes)?, 2);
/// assert_eq!(bytes, [2, 3]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Stored {
    place: Place,
    /// Where the first byte is in the file, and how many there are at most.
    start: u64,
    most: u64,
}

#[derive(Debug, Clone)]
enum Place {
    File(Arc<File>),
    Memory(Arc<[u8]>),
    /// As a file on a disk that fails from this byte on.
    #[cfg(test)]
    Failing(Arc<[u8]>, usize),
}

impl Stored {
    /// So many bytes of a file at most, from `start` on. It must be one with an end, whose bytes are at places.
    pub(super) fn file(file: File, start: u64, most: u64) -> Self {
        Self { place: Place::File(Arc::new(file)), start, most }
    }

    pub(super) fn memory(bytes: Arc<[u8]>) -> Self {
        Self { place: Place::Memory(bytes), start: 0, most: u64::MAX }
    }

    /// All of them, if they are in memory.
    pub(crate) fn in_memory(&self) -> Option<&Arc<[u8]>> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes),
            _ => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn failing(bytes: Arc<[u8]>, from: usize) -> Self {
        Self { place: Place::Failing(bytes, from), start: 0, most: u64::MAX }
    }

    /// Bytes that there are now: a file may grow, or be cut short.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn bytes(&self) -> io::Result<u64> {
        let end = match &self.place {
            Place::File(file) => file.metadata()?.len(),
            Place::Memory(bytes) => bytes.len() as u64,
            #[cfg(test)]
            Place::Failing(bytes, _) => bytes.len() as u64,
        };
        Ok(end.saturating_sub(self.start).min(self.most))
    }

    /// Reads some bytes from number `from` on, and says how many: 0 behind the last.
    ///
    /// # Errors
    /// What the system says of the file.
    pub fn read_at(&self, from: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let wanted = self.most.saturating_sub(from).min(bytes.len() as u64) as usize;
        let bytes = &mut bytes[..wanted];
        match &self.place {
            Place::File(file) => read_file_at(file, bytes, self.start.saturating_add(from)),
            Place::Memory(memory) => {
                let mut there = memory.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
                there.read(bytes)
            }
            #[cfg(test)]
            Place::Failing(memory, fails) => match fails.saturating_sub(from as usize).min(bytes.len()) {
                0 => Err(io::Error::other("the disk is gone")),
                most => (&memory[from as usize..]).read(&mut bytes[..most]),
            },
        }
    }

    /// Fills `bytes` from number `from` on, as far as there are any: how many, and what prevented more.
    pub(crate) fn fill_at(&self, from: u64, bytes: &mut [u8]) -> (usize, Option<io::Error>) {
        let mut read = 0;
        while read < bytes.len() {
            match self.read_at(from + read as u64, &mut bytes[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (read, Some(error)),
            }
        }
        (read, None)
    }

    /// Lets the system read ahead, so many bytes from number `from` on, unless they are in memory: who reads only some of them does not
    /// look to it as if it read them in order.
    pub(crate) fn read_ahead(&self, from: u64, bytes: u64) {
        if let Place::File(file) = &self.place {
            read_file_ahead(file, self.start + from, bytes);
        }
    }

    /// Reads them in order, from number `from` on.
    pub fn reader(&self, from: u64) -> impl Read + Send + 'static {
        InOrder { stored: self.clone(), next: from }
    }
}

struct InOrder {
    stored: Stored,
    next: u64,
}

impl Read for InOrder {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.stored.read_at(self.next, bytes)?;
        self.next += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_file_at(file: &File, bytes: &mut [u8], from: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, from)
}

/// It moves the file's own place, which nobody uses.
#[cfg(windows)]
fn read_file_at(file: &File, bytes: &mut [u8], from: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, from)
}

#[cfg(target_os = "linux")]
fn read_file_ahead(file: &File, from: u64, bytes: u64) {
    use std::io::IoSliceMut;

    use rustix::fs::{Advice, fadvise};
    use rustix::io::{ReadWriteFlags, preadv2};

    // To ask whether the last byte is in memory takes a fiftieth of the time in which the system looks at all that are.
    let mut last = [0];
    if preadv2(file, &mut [IoSliceMut::new(&mut last)], from + bytes - 1, ReadWriteFlags::NOWAIT).is_err() {
        // Nothing but time is lost where it does not listen.
        let _ = fadvise(file, from, std::num::NonZero::new(bytes), Advice::WillNeed);
    }
}

/// Other systems are left to find out for themselves.
#[cfg(not(target_os = "linux"))]
fn read_file_ahead(_: &File, _: u64, _: u64) {}
