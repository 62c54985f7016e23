//! From BBFRAMEs back to the input streams (EN 302 307-1, clauses 5.1.4 to 5.1.6).

mod continuous;
mod fields;
mod packets;

use std::collections::BTreeMap;

use super::bbheader::{BBHEADER, BbHeader, BbHeaderError, StreamId, StreamType};
use continuous::Continuous;
use fields::Fields;
use packets::Packets;

/// Puts the input streams of a carrier together again from the data fields of consecutive BBFRAMEs, and checks them.
///
/// - **Transport streams.** A packet is delivered when the byte behind it, its CRC-8, has come; one found wrong has its transport
///   error indicator set. Null packets that the sender left out are put back where they were (the count behind a packet that is
///   wrong is not believed); time stamps (ISSY) are taken off and told in [`Delivered`].
/// - **Generic packets** are delivered one after the other, their first byte what the header's SYNC says.
/// - **Generic continuous streams** are delivered bit by bit, in bytes; at their end, and where frames are missing, zeros complete
///   a byte. Packets of no common length (UPL 0), and GSE-HEM, come in the same way.
///
/// A frame that cannot be read keeps its place in a transport stream where it is certain which packets it held: when the carrier
/// has this stream alone, no null packets were left out, the data fields before were of one length (or all full), and the next
/// packet starts where it then has to. A null packet that has its transport error indicator set stands for each packet that was
/// lost. In all other cases, and when frames are missing without a sign, the packet that they cut is dropped, one that lacks
/// nothing but its CRC-8 is delivered as wrong, delivery goes on with the first packet that starts in the next good frame, and
/// a gap is counted.
///
/// ```
/// use bief_dsp::dvbs2::{Deslicer, RollOff, Slicer};
///
/// let mut stream = [0; 10 * 188];
/// for packet in stream.chunks_exact_mut(188) {
///     packet[0] = 0x47;
/// }
/// let (mut slicer, mut deslicer) = (Slicer::new(RollOff::R20), Deslicer::new());
/// let mut frame = [0; 384]; // QPSK 1/4 short
/// let (mut taken, mut received, mut packets) = (0, Vec::new(), Vec::new());
/// while taken < stream.len() {
///     taken += slicer.fill(&stream[taken..], &mut frame)?;
///     deslicer.push(&frame, true, &mut packets);
///     received.extend_from_slice(&packets);
/// }
/// assert_eq!(received[..stream.len()], stream);
/// # Ok::<(), bief_dsp::dvbs2::SliceError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Deslicer {
    /// The input stream to deliver, when it is not all of them.
    wanted: Option<u8>,
    streams: BTreeMap<StreamId, Stream>,
    /// Whether there are streams that are not delivered.
    others: bool,
}

/// What a call delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The stream that it belongs to.
    pub stream: Option<StreamId>,
    /// Packets delivered: wrong ones, those put back and those in the place of lost ones included.
    pub packets: usize,
    /// Those of them whose transport error indicator was set here; of generic packets those that are wrong; of a continuous
    /// stream data fields that are.
    pub errors: usize,
    /// Those of the errors that stand for packets that were lost.
    pub replaced: usize,
    /// Null packets put back that the sender had left out.
    pub restored: usize,
    /// Times that something is missing, nobody knows how much.
    pub gaps: usize,
    /// Packets with a time stamp (ISSY).
    pub stamps: usize,
    /// The last of these, its 2 or 3 bytes as a number.
    pub last_stamp: Option<u32>,
    /// Why the data field of this frame was not used.
    pub rejected: Option<Rejection>,
}

/// Why the data field of a BBFRAME is not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The frame was not decoded.
    #[error(transparent)]
    Header(#[from] BbHeaderError),
    /// The frame has errors, and its header tells of a stream that no good frame told of.
    #[error("BBFRAME with errors, which seem to have made up a {0}")]
    Doubtful(StreamId),
    /// The frame belongs to an input stream that is not to be delivered.
    #[error("BBFRAME belongs to a {0}, which is not the one to be received")]
    OtherStream(StreamId),
}

impl Rejection {
    /// Whether the frame is damaged, rather than of another kind than wanted.
    pub const fn is_damage(self) -> bool {
        matches!(self, Rejection::Header(_) | Rejection::Doubtful(_))
    }
}

/// Where the result of one call goes.
struct Output<'a> {
    bytes: &'a mut Vec<u8>,
    delivered: Delivered,
}

impl<'a> Output<'a> {
    fn new(bytes: &'a mut Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, delivered: Delivered::default() }
    }
}

impl Deslicer {
    /// Delivers every input stream.
    pub fn new() -> Deslicer {
        Deslicer::default()
    }

    /// Delivers input stream `isi` of a carrier with several; frames of the others are passed over.
    pub fn of_stream(isi: u8) -> Deslicer {
        Deslicer { wanted: Some(isi), ..Deslicer::default() }
    }

    /// Takes the next BBFRAME (descrambled) and puts into `out`, in the place of what was there, the bytes that it completes.
    ///
    /// `sound` says whether the outer code found the frame free of errors. If not, its packets are still
    /// delivered, but marked: an 8-bit CRC alone would pass one wrong packet in 256.
    pub fn push(&mut self, frame: &[u8], sound: bool, out: &mut Vec<u8>) -> Delivered {
        let mut output = Output::new(out);
        match self.accept(frame, sound) {
            Ok(header) => {
                let id = header.stream_id();
                output.delivered.stream = Some(id);
                let stream = self.streams.entry(id).or_insert_with(|| Stream::new(&header));
                stream.take(&header, &frame[BBHEADER..], sound, &mut output);
            }
            Err(rejection) => {
                if rejection.is_damage() {
                    self.lose(8 * frame.len().saturating_sub(BBHEADER), &mut output);
                }
                output.delivered.rejected = Some(rejection);
            }
        }
        output.delivered
    }

    /// Ends one of the streams: delivers a last packet whose CRC-8 has not come, unchecked, and drops an incomplete one.
    /// `None` when all have ended; what is pushed afterwards are new streams.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Option<Delivered> {
        let mut output = Output::new(out);
        let Some((id, mut stream)) = self.streams.pop_first() else {
            self.others = false;
            return None;
        };
        output.delivered.stream = Some(id);
        stream.content.flush(&mut output);
        Some(output.delivered)
    }

    fn accept(&mut self, frame: &[u8], sound: bool) -> Result<BbHeader, Rejection> {
        let header = BbHeader::parse(frame)?;
        let id = header.stream_id();
        let is_other = self.wanted.is_some() && self.wanted != id.isi;
        let is_known = if is_other { self.others } else { self.streams.contains_key(&id) };
        // Of a wrong header that the CRC-8 accepts the other checks find most, but not a wrong ISI, and there are few for generic
        // streams. So a frame with errors may begin the first stream, if that is a transport stream, and no further one.
        let may_begin = header.stream == StreamType::Transport && !is_other && self.streams.is_empty() && !self.others;
        if !sound && !is_known && !may_begin {
            return Err(Rejection::Doubtful(id));
        }
        if is_other {
            self.others = true;
            return Err(Rejection::OtherStream(id));
        }
        Ok(header)
    }

    /// A frame with room for so many bits of data could not be read.
    fn lose(&mut self, room: usize, output: &mut Output<'_>) {
        if self.streams.len() == 1 && !self.others {
            let (id, stream) = self.streams.iter_mut().next().expect("there is one");
            output.delivered.stream = Some(*id);
            stream.lose(room, output);
        } else {
            self.streams.values_mut().for_each(|stream| stream.content.doubt());
        }
    }
}

/// An input stream that is being received.
#[derive(Clone, Debug)]
struct Stream {
    fields: Fields,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Packets(Packets),
    Continuous(Continuous),
}

impl Stream {
    fn new(header: &BbHeader) -> Stream {
        Stream { fields: Fields::default(), content: Content::new(header) }
    }

    fn take(&mut self, header: &BbHeader, field: &[u8], sound: bool, output: &mut Output<'_>) {
        if !self.content.is_of(header) {
            self.content.flush(output);
            output.delivered.gaps = 1;
            *self = Stream::new(header);
        }
        self.fields.note(header.dfl.into(), 8 * field.len());
        match &mut self.content {
            Content::Packets(packets) => packets.take(header, field, sound, output),
            Content::Continuous(bits) => bits.take(header.dfl.into(), field, sound, output),
        }
    }

    fn lose(&mut self, room: usize, output: &mut Output<'_>) {
        match &mut self.content {
            Content::Packets(packets) => packets.lose(self.fields.expected(room), output),
            Content::Continuous(bits) => bits.lose(output),
        }
    }
}

impl Content {
    fn new(header: &BbHeader) -> Content {
        if header.has_packets() {
            Content::Packets(Packets::new(header))
        } else {
            Content::Continuous(Continuous::default())
        }
    }

    /// Whether frames with that header go on with it.
    fn is_of(&self, header: &BbHeader) -> bool {
        match self {
            Content::Packets(packets) => header.has_packets() && packets.are_of(header),
            Content::Continuous(_) => !header.has_packets(),
        }
    }

    /// A frame is missing that may have been this stream's, or another's.
    fn doubt(&mut self) {
        if let Content::Packets(packets) = self {
            packets.doubt();
        }
    }

    fn flush(&mut self, output: &mut Output<'_>) {
        match self {
            Content::Packets(packets) => packets.flush(output),
            Content::Continuous(bits) => bits.complete(output),
        }
    }
}
