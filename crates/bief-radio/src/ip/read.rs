//! Where BBFRAMEs and transport streams come from that no radio receives.

use std::io::Read;

use bief::report::Figures;
use bief::{Error, Flow, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::PACKET;
use bief_ip::bbframes::{BbframeReader, Item, LONGEST_FRAME, Layout, PacketReader};

use crate::dvbs2::Decoding;

/// Packets of a transport stream that are read at a time at most.
const MOST_PACKETS: usize = 32;

/// Reads BBFRAMEs that lie one after the other, each as long as its data field, or all of one length; with a receiver's header
/// (L.3) before each or without.
///
/// A frame whose header is not valid comes as one byte that is not sound. It tells `read` (bytes of frames).
///
/// # Sockets
/// - out: variable `u8`, a BBFRAME without padding
/// - out: [`Decoding`], 1 per frame: `sound` where the header is valid
///
/// # Errors
/// A reader that fails, an end inside a frame: told when the frames before it are delivered.
///
/// # Source
/// EN 302 307-1, clause 5.1.6, and Annex I for the header (L.3).
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_dsp::dvbs2::{BbHeader, RollOff};
/// use bief_radio::ip::ReadBbframes;
/// let file = [&BbHeader::transport(RollOff::R20, 8 * 374).to_bytes()[..], &[0; 374]].concat();
/// let mut chain = Chain::new();
/// let (_frames, decoding) = chain.add(ReadBbframes::new(std::io::Cursor::new(file.repeat(3)), None)?, ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &decoding);
/// chain.build()?.run()?;
/// assert!(result.take().iter().all(|decoding| decoding.sound));
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ReadBbframes {
    frames: BbframeReader<Box<dyn Read + Send>>,
    /// Frames that are still read, where not all are.
    left: u64,
    bytes: u64,
    fault: Option<Error>,
}

impl ReadBbframes {
    /// Reads from `reader` by this layout, or by the one that its front shows.
    ///
    /// # Errors
    /// A reader that fails; a front that shows no BBFRAMEs.
    pub fn new(reader: impl Read + Send + 'static, layout: Option<Layout>) -> Result<Self> {
        let reader: Box<dyn Read + Send> = Box::new(reader);
        let frames = BbframeReader::new(reader, layout).map_err(Error::from_source)?;
        Ok(Self { frames, left: u64::MAX, bytes: 0, fault: None })
    }

    /// Ends after so many frames.
    pub(super) fn limited(self, frames: u64) -> Self {
        Self { left: frames, ..self }
    }
}

impl Task for ReadBbframes {
    type In = ();
    type Out = (OutVar<u8>, Out<Decoding>);

    fn name(&self) -> String {
        "read BBFRAMEs".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        Ok((LONGEST_FRAME, 1))
    }

    fn run(&mut self, (): (), (mut frame, decoding): (VarFrame<'_, u8>, &mut [Decoding])) -> Result<Flow> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(Flow::Stop) };
        self.left = left;
        let (bytes, sound): (&[u8], bool) = match self.frames.next_frame() {
            Ok(Some(Item::Frame(bytes))) => (bytes, true),
            Ok(Some(Item::Damaged)) => (&[0], false),
            Ok(Some(Item::Short(bytes))) => {
                let told = format!("ends inside a BBFRAME ({bytes} bytes of it): is it cut short?");
                self.fault = Some(Error::new(told));
                return Ok(Flow::Stop);
            }
            Ok(None) => return Ok(Flow::Stop),
            Err(error) => {
                self.fault = Some(Error::from_source(error));
                return Ok(Flow::Stop);
            }
        };
        self.bytes += bytes.len() as u64;
        frame.extend_from_slice(bytes)?;
        decoding[0] = Decoding { sound, ..Decoding::default() };
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("read", "bytes", self.bytes);
    }
}

/// Reads the packets of a transport stream, up to 32 at a time; what lies between them is passed over.
///
/// It tells `read` (bytes of packets) and `damaged` (places where something was passed over).
///
/// # Sockets
/// - out: variable `u8`, packets of 188 bytes
///
/// # Errors
/// A reader that fails, an end inside a packet: told when the packets before it are delivered.
///
/// # Source
/// ISO/IEC 13818-1, clause 2.4.3.
///
/// # Example
/// See [`DeliverTransportIp`](super::DeliverTransportIp).
pub struct ReadPackets {
    packets: PacketReader<Box<dyn Read + Send>>,
    left: u64,
    bytes: u64,
    fault: Option<Error>,
}

impl ReadPackets {
    /// Reads from `reader`.
    ///
    /// # Errors
    /// A reader that fails; a front without packets.
    pub fn new(reader: impl Read + Send + 'static) -> Result<Self> {
        let reader: Box<dyn Read + Send> = Box::new(reader);
        let packets = PacketReader::new(reader).map_err(Error::from_source)?;
        Ok(Self { packets, left: u64::MAX, bytes: 0, fault: None })
    }

    /// Ends after so many frames.
    pub(super) fn limited(self, frames: u64) -> Self {
        Self { left: frames, ..self }
    }
}

impl Task for ReadPackets {
    type In = ();
    type Out = OutVar<u8>;

    fn name(&self) -> String {
        "read packets".to_owned()
    }

    fn lens(&self, (): ()) -> Result<usize> {
        Ok(MOST_PACKETS * PACKET)
    }

    fn run(&mut self, (): (), mut frame: VarFrame<'_, u8>) -> Result<Flow> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(Flow::Stop) };
        self.left = left;
        match self.packets.next_packets() {
            Ok(Some(packets)) => {
                self.bytes += packets.len() as u64;
                frame.extend_from_slice(packets)?;
                Ok(Flow::Next)
            }
            Ok(None) => {
                let short = self.packets.short();
                let told = |bytes| format!("ends inside a packet ({bytes} of {PACKET} bytes of it): is it cut short?");
                self.fault = short.map(|bytes| Error::new(told(bytes)));
                Ok(Flow::Stop)
            }
            Err(error) => {
                self.fault = Some(Error::from_source(error));
                Ok(Flow::Stop)
            }
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("read", "bytes", self.bytes);
        figures.count("damaged", "", self.packets.losses());
    }
}
