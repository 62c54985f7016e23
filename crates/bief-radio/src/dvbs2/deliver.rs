//! Where a receiver ends: packets are put together again and written.

use std::io::Write;
use std::sync::Arc;

use bief::{Error, Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::{Deslicer, PACKET};

use super::decode::Decoding;
use super::encode::expect;
use super::status::Status;

/// Puts transport-stream packets together from BBFRAMEs and writes them.
///
/// Packets of a frame that is not sound are written with their transport error indicator set. The last packet is written
/// when the stream ends.
///
/// # Sockets
/// - in: `u8`, packed bits, of which the first kbch / 8 bytes are the descrambled BBFRAME; [`Decoding`], 1 per frame
///
/// # Errors
/// At build, a frame shorter than the BBFRAME. A writer that fails: what it took before is kept. A stream that is not a
/// single transport stream.
///
/// # Source
/// EN 302 307-1, clauses 5.1.4 to 5.1.6.
///
/// # Example
/// ```
/// use bief::{Chain, source};
/// use bief_dsp::dvbs2::{FrameSize, Rate, RollOff, Slicer};
/// use bief_radio::dvbs2::{Decoding, Status, WriteTransportStream};
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let mut frame = vec![0; 1779];
/// Slicer::new(RollOff::R20).finish(&packet, &mut frame).unwrap();
///
/// let status = std::sync::Arc::new(Status::default());
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&frame, 1779), ());
/// let sound = Decoding { sound: true, ..Decoding::default() };
/// let decoding = chain.add(source::from_slice(&[sound], 1), ());
/// let write = WriteTransportStream::new(std::io::sink(), FrameSize::Short, Rate::R8_9, status.clone())?;
/// chain.add(write, (&frames, &decoding));
/// chain.build()?.run()?;
/// assert_eq!(status.figures().packets, 1);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct WriteTransportStream {
    deslicer: Deslicer,
    packets: Box<[u8]>,
    writer: Box<dyn Write + Send>,
    status: Arc<Status>,
}

impl WriteTransportStream {
    pub fn new(writer: impl Write + Send + 'static, status: Arc<Status>) -> Self {
        let packets = vec![0; Deslicer::room(58192 / 8).max(PACKET)].into();
        Self { deslicer: Deslicer::new(), packets, writer: Box::new(writer), status }
    }
}

impl Task for WriteTransportStream {
    type In = (InVar<u8>, In<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "write packets".to_owned()
    }

    fn lens(&self, (_, decodings): (usize, usize)) -> Result<()> {
        expect("decoding", 1, decodings)
    }

    fn run(&mut self, (frame, decoding): (&[u8], &[Decoding]), (): ()) -> Result<Flow> {
        let delivered = self.deslicer.push(frame, decoding[0].sound, &mut self.packets);
        self.status.count_packets(&delivered);
        self.writer.write_all(&self.packets[..delivered.bytes()])?;
        match delivered.rejected {
            // A damaged header is one frame lost; another kind of stream would never give a packet.
            Some(rejection) if decoding[0].sound && !rejection.is_damage() => Err(Error::from_source(rejection)),
            _ => Ok(Flow::Next),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let delivered = self.deslicer.flush(&mut self.packets);
        self.status.count_packets(&delivered);
        self.writer.write_all(&self.packets[..delivered.bytes()])?;
        self.writer.flush()?;
        Ok(())
    }
}
