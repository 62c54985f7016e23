//! Where a transmitter begins: a transport stream is read and cut into BBFRAMEs.

use std::io::Read;

use bief::{Error, Flow, Out, Result, Task};
use bief_dsp::dvbs2::{BBHEADER, FrameSize, PACKET, Rate, RollOff, SYNC_BYTE, Slicer};

use super::encode::fec;

/// Reads a transport stream and cuts it into BBFRAMEs.
///
/// The stream ends with a BBFRAME that is filled as far as packets reach, and one without data behind it.
///
/// # Sockets
/// - out: `u8`, kbch / 8 bytes of packed bits: BBHEADER, data field, padding
///
/// # Errors
/// At build, a rate that the frame size does not have. After the packets before it were sent: a packet that does not begin
/// with 0x47, a stream that ends inside a packet, a reader that fails.
///
/// # Source
/// EN 302 307-1, clauses 5.1.4 to 5.1.6 and 5.2.1.
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_dsp::dvbs2::{FrameSize, Rate, RollOff};
/// use bief_radio::dvbs2::SliceTransportStream;
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let mut chain = Chain::new();
/// let slice = SliceTransportStream::new(std::io::Cursor::new(packet), FrameSize::Short, Rate::R8_9, RollOff::R20)?;
/// let frames = chain.add(slice, ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &frames);
/// let report = chain.build()?.run()?;
/// assert_eq!((report.frames, result.take()[0]), (2, 0xF2));
/// # Ok::<(), bief::Error>(())
/// ```
pub struct SliceTransportStream {
    reader: Box<dyn Read + Send>,
    slicer: Slicer,
    frame_bytes: usize,
    /// Whole packets read, of which the bytes before `sent` are in frames already.
    buffer: Vec<u8>,
    sent: usize,
    /// Packets ever put into the buffer.
    packets: u64,
    state: State,
    /// Why the stream ended early; told when everything before it is out.
    fault: Option<Error>,
}

enum State {
    Reading,
    /// The reader has nothing more; the buffer may have.
    Draining,
    /// One empty frame is to come, so that a receiver has all of the last full one.
    Trailing,
    Done,
}

/// Packets read at a time.
const CHUNK: usize = 64;

impl SliceTransportStream {
    /// Cuts what `reader` gives for frames of this size and rate; `roll_off` is what the BBHEADERs announce.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(reader: impl Read + Send + 'static, size: FrameSize, rate: Rate, roll_off: RollOff) -> Result<Self> {
        let frame_bytes = fec(size, rate)?.kbch / 8;
        Ok(Self {
            reader: Box::new(reader),
            slicer: Slicer::new(roll_off),
            frame_bytes,
            buffer: Vec::with_capacity(frame_bytes + CHUNK * PACKET),
            sent: 0,
            packets: 0,
            state: State::Reading,
            fault: None,
        })
    }

    /// Bytes of a full data field.
    fn room(&self) -> usize {
        self.frame_bytes - BBHEADER
    }

    /// Reads until there is enough for a frame, or nothing more.
    fn refill(&mut self) {
        while matches!(self.state, State::Reading) && self.buffer.len() - self.sent < self.room() {
            self.buffer.drain(..self.sent);
            self.sent = 0;
            let start = self.buffer.len();
            let chunk = (CHUNK * PACKET) as u64;
            if let Err(error) = (&mut self.reader).take(chunk).read_to_end(&mut self.buffer) {
                self.end(start, Some(Error::from_source(error)));
                return;
            }
            let read = self.buffer.len() - start;
            let whole = read / PACKET * PACKET;
            let packets = self.buffer[start..start + whole].chunks_exact(PACKET);
            if let Some(good) = packets.into_iter().position(|packet| packet[0] != SYNC_BYTE) {
                let offset = (self.packets + good as u64) * PACKET as u64;
                self.end(start + good * PACKET, Some(Error::new(format!(
                    "not a transport stream from byte {offset} on: a packet of 188 bytes begins with 0x47, not {:#04x}",
                    self.buffer[start + good * PACKET]
                ))));
                return;
            }
            self.packets += (whole / PACKET) as u64;
            if read < CHUNK * PACKET {
                let rest = read - whole;
                self.end(
                    start + whole,
                    (rest > 0).then(|| {
                        Error::new(format!("the transport stream ends inside a packet: {rest} bytes of 188 are there"))
                    }),
                );
            }
        }
    }

    fn end(&mut self, buffered: usize, fault: Option<Error>) {
        self.buffer.truncate(buffered);
        self.fault = fault;
        self.state = State::Draining;
    }
}

impl Task for SliceTransportStream {
    type In = ();
    type Out = Out<u8>;

    fn name(&self) -> String {
        "slice packets".to_owned()
    }

    fn lens(&self, (): ()) -> Result<usize> {
        Ok(self.frame_bytes)
    }

    fn run(&mut self, (): (), frame: &mut [u8]) -> Result<Flow> {
        self.refill();
        let rest = &self.buffer[self.sent..];
        match self.state {
            State::Reading | State::Draining if rest.len() >= self.room() => {
                self.sent += self.slicer.fill(rest, frame).map_err(Error::from_source)?;
            }
            State::Reading | State::Draining => {
                let complete = self.slicer.finish(rest, frame).map_err(Error::from_source)?;
                self.sent = self.buffer.len();
                self.state = if complete { State::Trailing } else { State::Draining };
            }
            State::Trailing => {
                self.slicer.finish(&[], frame).map_err(Error::from_source)?;
                self.state = State::Done;
            }
            State::Done => return Ok(Flow::Stop),
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }
}
