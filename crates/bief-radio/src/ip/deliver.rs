//! The tasks that take IP packets out of BBFRAMEs and out of transport streams.

use bief::report::Figures;
use bief::{Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::{BBHEADER, BbHeader, Deslicer, PACKET, StreamId, StreamType};
use bief_ip::gse::Gse;
use bief_ip::transport::TransportIp;

use super::figures::IpStream;
use super::output::IpOutput;
use crate::dvbs2::{Decoding, expect};

/// Takes the IP packets out of BBFRAMEs, and writes them: GSE and GSE-HEM, and of transport streams MPE and ULE, of each input
/// stream apart.
///
/// A frame that is not sound, or missing, costs the packets that were in it.
/// What is counted of each stream is told: [`IpFigures`](super::IpFigures) says under which names.
///
/// # Sockets
/// - in: variable `u8`, a descrambled BBFRAME with padding or without; an empty frame is passed over
/// - in: [`Decoding`], 1 per frame
///
/// # Errors
/// A writer that fails: what it took before is kept.
///
/// # Source
/// TS 102 606-1 (GSE), EN 301 192 (MPE), RFC 4326 (ULE).
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, source};
/// use bief_dsp::dvbs2::RollOff;
/// use bief_ip::gse::Encapsulator;
/// use bief_radio::dvbs2::Decoding;
/// use bief_radio::ip::{DeliverIp, IpFigures, IpOutput};
/// let mut packet = vec![0; 20];
/// (packet[0], packet[3]) = (0x45, 20);
/// let mut bbframe = vec![0; 384];
/// let mut packets = vec![packet];
/// Encapsulator::new(RollOff::R20).fill(&mut bbframe, |next| packets.pop().map(|packet| *next = packet).is_some());
///
/// let mut chain = Chain::new();
/// let frames = source::from_fn_var(384, move |mut frame: VarFrame<'_, u8>| {
///     frame.extend_from_slice(&bbframe)?;
///     Ok(Flow::Next)
/// });
/// let frames = chain.add(frames, ());
/// let sound = Decoding { sound: true, ..Decoding::default() };
/// let decoding = chain.add(source::from_slice(&[sound], 1), ()); // ends after one frame
/// chain.add(DeliverIp::new(IpOutput::pcap(std::io::sink())), (&frames, &decoding));
/// let report = chain.build()?.run()?;
/// assert_eq!(IpFigures::of(&report.figures).packets, 1);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct DeliverIp {
    output: IpOutput,
    isi: Option<u8>,
    pid: Option<u16>,
    /// Puts transport streams together.
    deslicer: Deslicer,
    packets: Vec<u8>,
    /// In the order in which they were found.
    streams: Vec<(StreamId, Stream)>,
    frames: u64,
    damaged: u64,
}

enum Stream {
    Gse(Box<Gse>),
    Transport(Box<TransportIp>),
}

impl Stream {
    fn new(kind: StreamType, pid: Option<u16>) -> Option<Self> {
        match kind {
            StreamType::GenericContinuous | StreamType::GseHem => Some(Self::Gse(Box::default())),
            StreamType::Transport => Some(Self::Transport(Box::new(transport(pid)))),
            StreamType::GenericPacketised => None,
        }
    }
}

fn transport(pid: Option<u16>) -> TransportIp {
    pid.map_or_else(TransportIp::new, TransportIp::of_pid)
}

impl DeliverIp {
    /// Writes the packets of all streams.
    pub fn new(output: IpOutput) -> Self {
        Self {
            output,
            isi: None,
            pid: None,
            deslicer: Deslicer::new(),
            packets: Vec::new(),
            streams: Vec::new(),
            frames: 0,
            damaged: 0,
        }
    }

    /// Takes input stream `isi` alone.
    #[must_use]
    pub fn of_stream(self, isi: u8) -> Self {
        Self { isi: Some(isi), deslicer: Deslicer::of_stream(isi), ..self }
    }

    /// Of transport streams, takes this PID alone.
    #[must_use]
    pub fn of_pid(self, pid: u16) -> Self {
        Self { pid: Some(pid), ..self }
    }

    /// Takes a frame; `None` for one that cannot be read.
    fn take(&mut self, frame: &[u8], header: Option<&BbHeader>) -> Result<()> {
        let Self { output, isi, pid, deslicer, packets, streams, .. } = self;
        let mut outcome = Ok(());
        let mut write = |packet: &[u8]| {
            if outcome.is_ok() {
                outcome = output.write(packet);
            }
        };
        let wanted = header.filter(|header| isi.is_none_or(|isi| header.isi == Some(isi)));
        if let Some(header) = wanted
            && !streams.iter().any(|(id, _)| *id == header.stream_id())
        {
            streams.extend(Stream::new(header.stream, *pid).map(|stream| (header.stream_id(), stream)));
        }
        let mut delivered = None;
        if header.is_none_or(|header| header.stream == StreamType::Transport) {
            delivered = deslicer.push(frame, header.is_some(), packets).stream;
        }
        for (id, stream) in streams {
            match stream {
                Stream::Gse(gse) => match wanted.filter(|header| header.stream_id() == *id) {
                    Some(header) => gse.push(header, &frame[BBHEADER..], &mut write),
                    None if header.is_none() => gse.lose(),
                    None => {}
                },
                Stream::Transport(ip) if delivered == Some(*id) => take_packets(packets, ip, &mut write),
                Stream::Transport(_) => {}
            }
        }
        Ok(outcome?)
    }
}

fn take_packets(packets: &[u8], ip: &mut TransportIp, write: &mut impl FnMut(&[u8])) {
    packets.as_chunks::<PACKET>().0.iter().for_each(|packet| ip.push(packet, write));
}

fn tell_pids(isi: Option<u8>, ip: &TransportIp, figures: &mut Figures) {
    ip.streams().for_each(|(pid, kind, counts)| IpStream::new(isi, Some(pid), kind, counts).tell(figures));
}

impl Task for DeliverIp {
    type In = (InVar<u8>, In<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "take IP packets".to_owned()
    }

    fn lens(&self, (_, decodings): (usize, usize)) -> Result<()> {
        expect("decoding", 1, decodings)
    }

    fn run(&mut self, (frame, decoding): (&[u8], &[Decoding]), (): ()) -> Result<Flow> {
        if frame.is_empty() {
            return Ok(Flow::Next);
        }
        let header = BbHeader::parse(frame).ok().filter(|_| decoding[0].sound);
        *if header.is_some() { &mut self.frames } else { &mut self.damaged } += 1;
        self.take(frame, header.as_ref())?;
        self.output.end_frame()?;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.output.flush()?)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("bbframes", "", self.frames);
        figures.count("damaged", "", self.damaged);
        for (id, stream) in &self.streams {
            match stream {
                Stream::Gse(gse) => {
                    let name = if id.kind == StreamType::GseHem { "GSE-HEM" } else { "GSE" };
                    IpStream::new(id.isi, None, name, gse.counts()).tell(figures);
                }
                Stream::Transport(ip) => tell_pids(id.isi, ip, figures),
            }
        }
    }

    fn reset(&mut self) -> Result<()> {
        self.streams.clear();
        self.deslicer = self.isi.map_or_else(Deslicer::new, Deslicer::of_stream);
        (self.frames, self.damaged) = (0, 0);
        Ok(())
    }
}

/// Takes the IP packets out of a transport stream, and writes them: MPE and ULE.
///
/// What is counted of each PID is told: [`IpFigures`](super::IpFigures) says under which names.
///
/// # Sockets
/// - in: variable `u8`, packets of 188 bytes
///
/// # Errors
/// Frames that are no whole packets; a writer that fails: what it took before is kept.
///
/// # Source
/// EN 301 192 (MPE), RFC 4326 (ULE).
///
/// # Example
/// ```
/// use bief::Chain;
/// use bief_radio::ip::{DeliverTransportIp, IpOutput, ReadPackets};
/// let null = [&[0x47, 0x1F, 0xFF, 0x10][..], &[0xFF; 184]].concat();
/// let mut chain = Chain::new();
/// let packets = chain.add(ReadPackets::new(std::io::Cursor::new(null.repeat(100)))?, ());
/// chain.add(DeliverTransportIp::new(IpOutput::pcap(std::io::sink())), &packets);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
pub struct DeliverTransportIp {
    output: IpOutput,
    pid: Option<u16>,
    ip: TransportIp,
}

impl DeliverTransportIp {
    /// Writes the packets of all PIDs.
    pub fn new(output: IpOutput) -> Self {
        Self { output, pid: None, ip: TransportIp::new() }
    }

    /// Takes this PID alone.
    #[must_use]
    pub fn of_pid(self, pid: u16) -> Self {
        Self { pid: Some(pid), ip: TransportIp::of_pid(pid), ..self }
    }
}

impl Task for DeliverTransportIp {
    type In = InVar<u8>;
    type Out = ();

    fn name(&self) -> String {
        "take IP packets".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, packets: &[u8], (): ()) -> Result<Flow> {
        if !packets.len().is_multiple_of(PACKET) {
            return Err(bief::Error::new(format!("{} bytes are no whole packets of {PACKET}", packets.len())));
        }
        let Self { output, ip, .. } = self;
        let mut outcome = Ok(());
        take_packets(packets, ip, &mut |packet: &[u8]| {
            if outcome.is_ok() {
                outcome = output.write(packet);
            }
        });
        outcome?;
        self.output.end_frame()?;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.output.flush()?)
    }

    fn figures(&self, figures: &mut Figures) {
        tell_pids(None, &self.ip, figures);
    }

    fn reset(&mut self) -> Result<()> {
        self.ip = transport(self.pid);
        Ok(())
    }
}
