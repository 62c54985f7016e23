//! Bytes in and out: the source that reads a recording, the sink that writes one.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::PathBuf;

use bief::kinds::OutputAddress;
use bief::{Error, Flow, In, InVar, Out, Result, Task};

/// Reads blocks of bytes and says how many of each are there; never ends by itself.
///
/// At the end of the input comes one block that is partly filled, then empty ones, so that tasks behind it can deliver what
/// they still hold and stop the stream when they have.
///
/// # Sockets
/// - out: `u8`, one block; behind the bytes read, zeros
/// - out: `u32`, 1 per frame: bytes read into this block
///
/// # Errors
/// A reader that fails is taken for the end of the input; its error is told when the stream has ended.
///
/// # Source
/// None: any bytes.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, sink};
/// use bief_radio::ReadBlocks;
/// let mut chain = Chain::new();
/// let (bytes, filled) = chain.add(ReadBlocks::new(&[1, 2, 3, 4, 5][..], 2), ());
/// chain.add(
///     sink::for_each(|filled: &[u32]| Ok(if filled[0] == 0 { Flow::Stop } else { Flow::Next })),
///     &filled,
/// );
/// let (collect, result) = sink::collect();
/// chain.add(collect, &bytes);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [1, 2, 3, 4, 5, 0]);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ReadBlocks {
    input: Input,
    block: usize,
}

impl ReadBlocks {
    /// Reads `block` bytes at a time.
    pub fn new(reader: impl Read + Send + 'static, block: usize) -> Self {
        Self { input: Input::new(Box::new(reader)), block }
    }
}

impl Task for ReadBlocks {
    type In = ();
    type Out = (Out<u8>, Out<u32>);

    fn name(&self) -> String {
        "read".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        match self.block {
            0 => Err(Error::new("a block of 0 bytes would never end: give at least 1")),
            1..=0x7FFF_FFFF => Ok((self.block, 1)),
            _ => Err(Error::new(format!("a block of {} bytes is too large: at most 2 GiB", self.block))),
        }
    }

    fn run(&mut self, (): (), (block, filled): (&mut [u8], &mut [u32])) -> Result<Flow> {
        let read = self.input.fill(block);
        block[read..].fill(0);
        filled[0] = read as u32;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.input.fault()
    }
}

/// A reader up to its end; one that fails has ended there.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    ended: bool,
    fault: Option<Error>,
}

impl Input {
    pub(crate) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, ended: false, fault: None }
    }

    /// Reads as many bytes as the block takes, fewer at the end; how many.
    pub(crate) fn fill(&mut self, block: &mut [u8]) -> usize {
        let mut read = 0;
        if !self.ended {
            while read < block.len() {
                match self.reader.read(&mut block[read..]) {
                    Ok(0) => break,
                    Ok(bytes) => read += bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => {
                        self.fault = Some(Error::from_source(error));
                        break;
                    }
                }
            }
            self.ended = read < block.len();
        }
        read
    }

    /// The error that ended it, told once.
    pub(crate) fn fault(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }
}

/// A file that is made, or emptied, when something is first written to it: a chain that is only built, or tried, leaves it alone.
pub(crate) struct NewFile {
    output: OutputAddress,
    path: PathBuf,
    to: To,
}

enum To {
    Closed,
    File(BufWriter<File>),
    /// Nothing is kept of what is written, but how long it is.
    Nowhere(Nowhere),
}

/// Takes what is written, and keeps nothing.
#[derive(Default)]
pub(crate) struct Nowhere {
    position: u64,
    end: u64,
}

impl NewFile {
    /// The file that a parameter names.
    ///
    /// # Errors
    /// What is no file.
    pub(crate) fn of(output: &OutputAddress) -> Result<Self, &'static str> {
        let path = output.path().ok_or("its beginning is written again at the end: give a path")?;
        Ok(Self {
            output: output.clone(),
            path,
            to: if output.is_rehearsal() { To::Nowhere(Nowhere::default()) } else { To::Closed },
        })
    }

    /// Does something with the file; an error names it.
    fn with<T>(&mut self, act: impl FnOnce(&mut dyn SeekWrite) -> io::Result<T>) -> io::Result<T> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.path.display()));
        if let To::Closed = self.to {
            self.to = To::File(BufWriter::new(self.output.make_file().map_err(io::Error::other)?));
        }
        match &mut self.to {
            To::File(file) => act(file),
            To::Nowhere(nowhere) => act(nowhere),
            To::Closed => unreachable!("just opened"),
        }
        .map_err(named)
    }
}

trait SeekWrite: Seek + Write {}

impl<W: Seek + Write> SeekWrite for W {}

impl Seek for NewFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.with(|file| file.seek(position))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|file| file.flush())
    }
}

impl Seek for Nowhere {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let moved = match position {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.position += bytes.len() as u64;
        self.end = self.end.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes every byte of the frames of its socket `S`: of one length ([`new`](Self::new)), or each with its own
/// ([`variable`](WriteBytes::variable)).
///
/// # Sockets
/// - in: `u8`, or variable `u8`, any frame length
///
/// # Errors
/// A writer that fails; what it took before is kept.
///
/// # Source
/// None: any bytes.
///
/// # Example
/// ```
/// use bief::{Chain, source};
/// use bief_radio::WriteBytes;
/// let mut chain = Chain::new();
/// let bytes = chain.add(source::from_slice(&[1_u8, 2], 1), ());
/// chain.add(WriteBytes::new(std::io::sink()), &bytes);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub struct WriteBytes<S = In<u8>> {
    writer: Box<dyn Write + Send>,
    socket: PhantomData<fn() -> S>,
}

impl WriteBytes {
    /// Writes frames of one length to `writer`, and flushes it at the end.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self { writer: Box::new(writer), socket: PhantomData }
    }
}

impl WriteBytes<InVar<u8>> {
    /// Writes frames of any length to `writer`, and flushes it at the end.
    pub fn variable(writer: impl Write + Send + 'static) -> Self {
        Self { writer: Box::new(writer), socket: PhantomData }
    }
}

impl<S> Task for WriteBytes<S>
where
    S: bief::chain::Input + 'static,
    for<'a> S::Slice<'a>: AsRef<[u8]>,
{
    type In = S;
    type Out = ();

    fn name(&self) -> String {
        "write".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, bytes: S::Slice<'_>, (): ()) -> Result<Flow> {
        self.writer.write_all(bytes.as_ref())?;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.writer.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bief::{Chain, sink};

    /// Gives some bytes, then fails.
    struct Failing(Vec<u8>);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Err(std::io::Error::other("the disk is gone"));
            }
            let count = self.0.len().min(buffer.len()).min(3);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn what_was_read_before_a_fault_is_delivered() {
        let mut chain = Chain::new();
        let (bytes, filled) = chain.add(ReadBlocks::new(Failing(vec![7; 10]), 4), ());
        let (collect, result) = sink::collect();
        chain.add(collect, &bytes);
        chain.add(sink::for_each(|filled: &[u32]| Ok(if filled[0] == 0 { Flow::Stop } else { Flow::Next })), &filled);
        let error = chain.build().unwrap().run().unwrap_err();
        assert!(error.to_string().contains("the disk is gone"), "{error}");
        assert_eq!(result.take()[..12], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0]);
    }
}
