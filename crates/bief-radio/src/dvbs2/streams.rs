//! The input streams that were found on a carrier, and what was delivered of each: told, and read back.

use bief::report::{Figure, Reading};
use bief_dsp::dvbs2::{Delivered, StreamId, StreamType};
use serde::{Serialize, Serializer};

/// What becomes of a stream.
const DELIVERED: &str = "delivered";
const PASSED_OVER: &str = "passed over";

/// What was received of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StreamFigures {
    /// Input stream identifier; `None` on a carrier of a single stream.
    pub isi: Option<u8>,
    /// What it consists of.
    #[serde(serialize_with = "in_words")]
    pub kind: StreamType,
    /// Whether it is delivered, rather than passed over because another was asked for.
    pub delivered: bool,
    /// BBFRAMEs of the stream that could be read.
    pub frames: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Packets written, all of them; of a generic continuous stream none.
    pub packets: u64,
    /// Of these, packets with errors, marked by their transport error indicator (generic ones are only counted); of a
    /// continuous stream data fields with errors.
    pub errors: u64,
    /// Of the errors, null packets that stand for packets of frames which could not be read.
    pub replaced: u64,
    /// Null packets put back that the sender had left out.
    pub restored: u64,
    /// Places where something is missing, nobody knows how much.
    pub gaps: u64,
    /// Packets with a time stamp (ISSY), which was taken off.
    pub stamps: u64,
    /// The last time stamp, its 2 or 3 bytes as a number.
    pub last_stamp: Option<u32>,
}

fn in_words<S: Serializer>(kind: &StreamType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

impl StreamFigures {
    /// Of a stream of which nothing has come.
    pub(super) fn new(StreamId { isi, kind }: StreamId, delivered: bool) -> Self {
        Self {
            isi,
            kind,
            delivered,
            frames: 0,
            bytes: 0,
            packets: 0,
            errors: 0,
            replaced: 0,
            restored: 0,
            gaps: 0,
            stamps: 0,
            last_stamp: None,
        }
    }

    /// The stream.
    pub fn id(&self) -> StreamId {
        StreamId { isi: self.isi, kind: self.kind }
    }

    /// Counts what was delivered.
    pub(super) fn count(&mut self, delivered: &Delivered, bytes: usize) {
        self.bytes += bytes as u64;
        self.packets += delivered.packets as u64;
        self.errors += delivered.errors as u64;
        self.replaced += delivered.replaced as u64;
        self.restored += delivered.restored as u64;
        self.gaps += delivered.gaps as u64;
        self.stamps += delivered.stamps as u64;
        self.last_stamp = delivered.last_stamp.or(self.last_stamp);
    }

    /// Tells it, if anything has come.
    pub(super) fn tell(&self, figures: &mut bief::report::Figures) {
        if *self == Self::new(self.id(), self.delivered) {
            return;
        }
        let of = |figure: &mut Figure| {
            if let Some(isi) = self.isi {
                figure.of("isi", isi);
            }
            figure.of("kind", self.kind);
        };
        of(figures.text("stream", if self.delivered { DELIVERED } else { PASSED_OVER }));
        of(figures.count("stream_frames", "", self.frames));
        if !self.delivered {
            return;
        }
        of(figures.count("written", "bytes", self.bytes));
        of(figures.count("packets", "", self.packets));
        of(figures.count("packet_errors", "", self.errors));
        of(figures.count("replaced", "packets", self.replaced));
        of(figures.count("restored", "packets", self.restored));
        of(figures.count("gaps", "", self.gaps));
        of(figures.count("stamps", "packets", self.stamps));
        if let Some(stamp) = self.last_stamp {
            of(figures.text("last_stamp", stamp.to_string()));
        }
    }

    /// Those that are told, in the order in which the streams were found.
    pub(super) fn all(told: &bief::report::Figures) -> Vec<Self> {
        let mut all: Vec<(&str, Self)> = Vec::new();
        for figure in told.iter() {
            let Some(id) = stream_of(figure) else { continue };
            if let ("stream", Reading::Text(state)) = (&*figure.name, &figure.reading) {
                all.push((&figure.task, Self::new(id, state == DELIVERED)));
            } else if let Some((_, stream)) =
                all.iter_mut().find(|(task, stream)| *task == figure.task && stream.id() == id)
            {
                stream.read(figure);
            }
        }
        all.into_iter().map(|(_, stream)| stream).collect()
    }

    /// Takes over one figure of the stream.
    fn read(&mut self, figure: &Figure) {
        let count = match &*figure.name {
            "stream_frames" => &mut self.frames,
            "written" => &mut self.bytes,
            "packets" => &mut self.packets,
            "packet_errors" => &mut self.errors,
            "replaced" => &mut self.replaced,
            "restored" => &mut self.restored,
            "gaps" => &mut self.gaps,
            "stamps" => &mut self.stamps,
            "last_stamp" => {
                if let Reading::Text(stamp) = &figure.reading {
                    self.last_stamp = stamp.parse().ok();
                }
                return;
            }
            _ => return,
        };
        if let Reading::Count(told) = figure.reading {
            *count = told;
        }
    }
}

/// The stream that a figure is of.
fn stream_of(figure: &Figure) -> Option<StreamId> {
    let kind = figure.label("kind")?;
    let kinds =
        [StreamType::Transport, StreamType::GenericPacketised, StreamType::GenericContinuous, StreamType::GseHem];
    let kind = kinds.into_iter().find(|known| known.to_string() == kind)?;
    let isi = figure.label("isi").map(str::parse).transpose().ok()?;
    Some(StreamId { isi, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_streams_is_read_back() {
        let [single, other, unseen] = [(None, StreamType::GenericContinuous), (Some(255), StreamType::Transport)]
            .into_iter()
            .chain([(Some(3), StreamType::Transport)])
            .map(|(isi, kind)| StreamId { isi, kind })
            .collect::<Vec<_>>()[..]
        else {
            unreachable!("three streams")
        };
        let delivered =
            Delivered { packets: 9, errors: 1, gaps: 2, last_stamp: Some(0xABCDEF), ..Delivered::default() };
        let mut streams = [StreamFigures::new(single, true), StreamFigures::new(other, false)];
        streams[0].count(&delivered, 77);
        streams[1].frames = 5;
        let mut told = bief::report::Figures::default();
        streams.iter().for_each(|stream| stream.tell(&mut told));
        StreamFigures::new(unseen, true).tell(&mut told);
        assert_eq!(StreamFigures::all(&told), streams);
        assert_eq!((streams[0].bytes, streams[0].last_stamp), (77, Some(0xABCDEF)));
    }
}
