//! Where a receiver ends: input streams are put together again and written.

use std::io::{self, Write};

use bief::report::Figures;
use bief::{Error, Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::{Delivered, Deslicer, Rejection, StreamId, StreamType};
use bief_dsp::transport::Services;

use super::decode::Decoding;
use super::services;
use super::streams::StreamFigures;
use super::tables::expect;

/// Where a stream goes.
type Open = dyn FnMut(StreamId) -> io::Result<Box<dyn Write + Send>> + Send;

/// Puts the input streams of a carrier together from BBFRAMEs, and writes each to an output of its own.
///
/// - A transport stream is written as packets of 188 bytes. Those of a frame that is not sound, and those that their CRC-8 tells to
///   be wrong, have their transport error indicator set; null packets that the sender left out are put back, time stamps (ISSY)
///   taken off and counted. A frame that cannot be read keeps its place where that is certain: see [`Deslicer`].
/// - Generic packets are written one after the other, their first byte what the header's SYNC says.
/// - A generic continuous stream is written as the bytes that its bits make.
///
/// Of a transport stream with a programme association table, its services are told, and the continuity and clocks of their PIDs.
///
/// The last packet is written when the stream ends. What is counted of each stream is told: [`Figures`](super::Figures) says under
/// which names.
///
/// # Sockets
/// - in: variable `u8`, a descrambled BBFRAME of kbch / 8 bytes; an empty frame (of a dummy PLFRAME) is passed over
/// - in: [`Decoding`], 1 per frame
///
/// # Errors
/// A stream that cannot be opened; a writer that fails: what it took before is kept.
///
/// # Source
/// EN 302 307-1, clauses 5.1.4 to 5.1.6 and Annex D.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, source};
/// use bief_dsp::dvbs2::{RollOff, Slicer};
/// use bief_radio::dvbs2::{Decoding, Deliver, Figures};
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let mut bbframe = vec![0; 1779];
/// Slicer::new(RollOff::R20).of_stream(7).finish(&packet, &mut bbframe).unwrap();
///
/// let mut chain = Chain::new();
/// let frames = chain.add(
///     source::from_fn_var(1779, move |mut frame: VarFrame<'_, u8>| {
///         frame.extend_from_slice(&bbframe)?;
///         Ok(Flow::Next)
///     }),
///     (),
/// );
/// let sound = Decoding { sound: true, ..Decoding::default() };
/// let decoding = chain.add(source::from_slice(&[sound], 1), ()); // ends after one frame
/// let open = |id| {
///     println!("found a {id}");
///     Ok(Box::new(std::io::sink()) as _)
/// };
/// chain.add(Deliver::new(open), (&frames, &decoding));
/// let report = chain.build()?.run()?;
/// let stream = Figures::of(&report.figures).streams[0];
/// assert_eq!((stream.isi, stream.packets), (Some(7), 1));
/// # Ok::<(), bief::Error>(())
/// ```
pub struct Deliver {
    deslicer: Deslicer,
    open: Box<Open>,
    /// In the order in which the streams were found: there are few.
    outputs: Vec<Output>,
    /// BBFRAMEs that belong to nobody knows which stream, because they could not be read.
    unreadable: u64,
    /// What one frame delivered.
    bytes: Vec<u8>,
}

/// A stream that was found.
struct Output {
    /// `None` when it is passed over.
    writer: Option<Box<dyn Write + Send>>,
    /// What has come of it in this run.
    figures: StreamFigures,
    /// What a transport stream carries.
    services: Option<Box<Services>>,
}

impl Output {
    fn new(writer: Option<Box<dyn Write + Send>>, id: StreamId) -> Self {
        let figures = StreamFigures::new(id, writer.is_some());
        let watched = writer.is_some() && id.kind == StreamType::Transport;
        Self { writer, figures, services: watched.then(Box::default) }
    }
}

impl Deliver {
    /// Writes each stream that is found to what `open` gives for it.
    pub fn new(open: impl FnMut(StreamId) -> io::Result<Box<dyn Write + Send>> + Send + 'static) -> Self {
        let (open, outputs, bytes) = (Box::new(open), Vec::new(), Vec::new());
        Self { deslicer: Deslicer::new(), open, outputs, unreadable: 0, bytes }
    }

    /// Writes the only stream of a carrier to `writer`. A second stream is an error.
    pub fn single(writer: impl Write + Send + 'static) -> Self {
        let mut unused = Some(writer);
        let open = move |id: StreamId| match unused.take() {
            Some(writer) => Ok(Box::new(writer) as Box<dyn Write + Send>),
            None => Err(io::Error::other(format!("the carrier has a second stream, a {id}: choose one by its ISI"))),
        };
        Self::new(open)
    }

    /// Delivers input stream `isi` alone; of the others frames are counted.
    #[must_use]
    pub fn of_stream(mut self, isi: u8) -> Self {
        self.deslicer = Deslicer::of_stream(isi);
        self
    }

    /// The output of a stream, opened when it is new.
    fn output(&mut self, id: StreamId, is_delivered: bool) -> Result<&mut Output> {
        let index = match self.outputs.iter().position(|output| output.figures.id() == id) {
            Some(known) => known,
            None => {
                let writer = if is_delivered { Some((self.open)(id)?) } else { None };
                self.outputs.push(Output::new(writer, id));
                self.outputs.len() - 1
            }
        };
        Ok(&mut self.outputs[index])
    }

    /// Writes and counts what the deslicer has delivered.
    fn write(&mut self, delivered: &Delivered) -> Result<()> {
        let Some(id) = delivered.stream else { return Ok(()) };
        let bytes = std::mem::take(&mut self.bytes);
        let output = self.output(id, true)?;
        output.figures.count(delivered, bytes.len());
        if let Some(services) = &mut output.services {
            services.push(&bytes);
        }
        let written = match &mut output.writer {
            Some(writer) => writer.write_all(&bytes),
            None => Ok(()),
        };
        self.bytes = bytes;
        Ok(written?)
    }
}

impl Task for Deliver {
    type In = (InVar<u8>, In<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "write packets".to_owned()
    }

    fn lens(&self, (_, decodings): (usize, usize)) -> Result<()> {
        expect("decoding", 1, decodings)
    }

    fn run(&mut self, (frame, decoding): (&[u8], &[Decoding]), (): ()) -> Result<Flow> {
        if frame.is_empty() {
            return Ok(Flow::Next);
        }
        let sound = decoding[0].sound;
        let delivered = self.deslicer.push(frame, sound, &mut self.bytes);
        match (delivered.rejected, delivered.stream) {
            (None, Some(id)) => self.output(id, true)?.figures.frames += 1,
            (Some(Rejection::OtherStream(id)), _) if sound => self.output(id, false)?.figures.frames += 1,
            _ => self.unreadable += 1,
        }
        self.write(&delivered)?;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(delivered) = self.deslicer.flush(&mut self.bytes) {
            outcome = outcome.and(self.write(&delivered));
        }
        for writer in self.outputs.iter_mut().filter_map(|output| output.writer.as_mut()) {
            outcome = outcome.and(writer.flush().map_err(Error::from));
        }
        outcome
    }

    fn figures(&self, figures: &mut Figures) {
        self.outputs.iter().for_each(|output| output.figures.tell(figures));
        for output in &self.outputs {
            if let Some(watched) = &output.services {
                services::tell(watched, output.figures.isi, figures);
            }
        }
        figures.count("unreadable_frames", "", self.unreadable);
    }

    fn reset(&mut self) -> Result<()> {
        for Output { figures, services, .. } in &mut self.outputs {
            *figures = StreamFigures::new(figures.id(), figures.delivered);
            *services = services.take().map(|_| Box::default());
        }
        self.unreadable = 0;
        Ok(())
    }
}
