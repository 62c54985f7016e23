//! The input streams that were found on a carrier, and what was delivered of each, to be looked at while a receiver runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bief_dsp::dvbs2::{Delivered, StreamId, StreamType};
use serde::{Serialize, Serializer};

/// Counters of the streams of a carrier: written by the task that delivers them, read by whoever shows them.
#[derive(Debug, Default)]
pub struct Streams {
    found: Mutex<Vec<Arc<Counters>>>,
    unreadable: AtomicU64,
}

/// What is counted of one stream.
#[derive(Debug)]
pub(super) struct Counters {
    id: StreamId,
    delivered: bool,
    frames: AtomicU64,
    bytes: AtomicU64,
    packets: AtomicU64,
    errors: AtomicU64,
    replaced: AtomicU64,
    restored: AtomicU64,
    gaps: AtomicU64,
    stamps: AtomicU64,
    last_stamp: AtomicU64,
}

/// What was received of one stream, at one moment.
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

impl StreamFigures {
    /// The stream.
    pub fn id(&self) -> StreamId {
        StreamId { isi: self.isi, kind: self.kind }
    }
}

fn in_words<S: Serializer>(kind: &StreamType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kind)
}

impl Streams {
    /// The figures of this moment, in the order in which the streams were found.
    pub fn figures(&self) -> Vec<StreamFigures> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|counters| counters.figures()).collect()
    }

    /// BBFRAMEs that belong to nobody knows which stream, because they could not be read, or carry what DVB-S2 does not define.
    pub fn unreadable(&self) -> u64 {
        self.unreadable.load(Relaxed)
    }

    /// Notes a new stream.
    pub(super) fn add(&self, id: StreamId, delivered: bool) -> Arc<Counters> {
        let counters = Arc::new(Counters::new(id, delivered));
        self.found.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&counters));
        counters
    }

    pub(super) fn count_unreadable(&self) {
        self.unreadable.fetch_add(1, Relaxed);
    }
}

impl Counters {
    fn new(id: StreamId, delivered: bool) -> Self {
        let zero = AtomicU64::default;
        Self {
            id,
            delivered,
            frames: zero(),
            bytes: zero(),
            packets: zero(),
            errors: zero(),
            replaced: zero(),
            restored: zero(),
            gaps: zero(),
            stamps: zero(),
            last_stamp: zero(),
        }
    }

    pub(super) fn count_frame(&self) {
        self.frames.fetch_add(1, Relaxed);
    }

    pub(super) fn count(&self, delivered: &Delivered, bytes: usize) {
        let add = |counter: &AtomicU64, count: usize| {
            counter.fetch_add(count as u64, Relaxed);
        };
        add(&self.bytes, bytes);
        add(&self.packets, delivered.packets);
        add(&self.errors, delivered.errors);
        add(&self.replaced, delivered.replaced);
        add(&self.restored, delivered.restored);
        add(&self.gaps, delivered.gaps);
        add(&self.stamps, delivered.stamps);
        if let Some(stamp) = delivered.last_stamp {
            self.last_stamp.store(stamp.into(), Relaxed);
        }
    }

    fn figures(&self) -> StreamFigures {
        let stamps = self.stamps.load(Relaxed);
        StreamFigures {
            isi: self.id.isi,
            kind: self.id.kind,
            delivered: self.delivered,
            frames: self.frames.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            packets: self.packets.load(Relaxed),
            errors: self.errors.load(Relaxed),
            replaced: self.replaced.load(Relaxed),
            restored: self.restored.load(Relaxed),
            gaps: self.gaps.load(Relaxed),
            stamps,
            last_stamp: (stamps > 0).then(|| self.last_stamp.load(Relaxed) as u32),
        }
    }
}
