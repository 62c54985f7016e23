//! Pipes: each time that a thread wakes to read a little costs more than what it reads.

use std::io::{self, Read};
use std::thread;
use std::time::Duration;

/// Bytes that a pipe may hold: as many as anybody may ask for.
#[cfg(target_os = "linux")]
const WIDE: usize = 1 << 20;
/// After a read of fewer bytes there is a pause before the next one, in which more arrive.
const LARGE: usize = 1 << 18;
/// How long it is: what a camera sends meanwhile fits into the pipe.
pub(super) const PAUSE: Duration = Duration::from_micros(800);

/// Lets a pipe hold more, so that the program that writes into it need not wait.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: &impl std::os::fd::AsFd) {
    // What is no pipe stays as it is, and so does one where the user has too many.
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, WIDE);
}

/// Elsewhere pipes have the size that they have.
#[cfg(not(target_os = "linux"))]
pub(super) fn widen<P>(_: &P) {}

/// A reader that may be asked to read in large parts.
pub(super) struct Parts {
    reader: Box<dyn Read + Send>,
    pub(super) pause: Option<Duration>,
    was_small: bool,
}

impl Parts {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, pause: None, was_small: false }
    }
}

impl Read for Parts {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if let Some(pause) = self.pause.filter(|_| self.was_small) {
            thread::sleep(pause);
        }
        let count = self.reader.read(space)?;
        self.was_small = count < space.len().min(LARGE);
        Ok(count)
    }
}
