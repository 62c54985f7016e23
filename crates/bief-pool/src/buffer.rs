//! Bytes of messages, in memory that is used again.

use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the memory of messages comes from, and goes back to: as many pieces as were in use at a time. Clones are the same.
#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// An empty buffer: the one that came back last, as caches may have it still.
    pub fn take(&self) -> Buffer {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Buffer { bytes: free.unwrap_or_default(), home: Some(self.clone()) }
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Buffers")
    }
}

/// Bytes that are being put together, or came. Their memory goes back where it is from.
#[derive(Debug)]
pub struct Buffer {
    bytes: Vec<u8>,
    home: Option<Buffers>,
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, home: None }
    }
}

impl Deref for Buffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(home) = self.home.take() else { return };
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        home.0.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

/// The end of a buffer that nobody changes any more: the wires of a frame, which all users share.
#[derive(Debug, Clone)]
pub struct Payload {
    buffer: Arc<Buffer>,
    start: usize,
}

impl Payload {
    /// The bytes from a place on, which is within them.
    pub(crate) fn new(buffer: Buffer, start: usize) -> Self {
        Self { buffer: Arc::new(buffer), start }
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_when_its_last_user_has_gone() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take();
        buffer.extend([1, 2, 3]);
        let place = buffer.as_ptr();
        let payload = Payload::new(buffer, 1);
        let other = payload.clone();
        drop(payload);
        assert_eq!(other.as_ref(), [2, 3]);
        assert!(buffers.take().as_ptr() != place, "it is in use");
        drop(other);
        let again = buffers.take();
        assert!(again.as_ptr() == place && again.is_empty());
    }
}
