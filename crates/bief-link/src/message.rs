//! Messages as bytes, little endian, and back.
//!
//! What is read borrows from the bytes that came, and nothing is allocated: a hostile message costs no more memory than it has bytes.
//! Each message begins with `BL`, the protocol as `u16`, its kind as `u8` and the run as `u64`.

use crate::PROTOCOL;
use crate::bytes::{Reader, put_slice};

/// What every message begins with.
const MAGIC: [u8; 2] = *b"BL";

/// A message between the two sides of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A run begins: a worker makes its tasks, and is [ready](Self::Ready) or [refuses](Self::Refused).
    Begin {
        /// The run.
        run: u64,
        /// Its tasks, in the words of whoever runs them.
        tasks: &'a str,
    },
    /// A worker cannot take part in a run.
    Refused {
        /// The run.
        run: u64,
        /// Why, and what to do.
        reason: &'a str,
    },
    /// A worker goes by its own will, or does not know a run that it was sent something of.
    Leave {
        /// The run.
        run: u64,
    },
    /// A worker is ready for a run: it works on so many frames at a time, and takes so many.
    Ready {
        /// The run.
        run: u64,
        /// Frames at a time.
        cores: u32,
        /// Frames here at a time.
        credit: u32,
    },
    /// A frame for a worker.
    Frame {
        /// The run.
        run: u64,
        /// The number of this message among those with frames to this worker.
        sequence: u64,
        /// The number of the frame.
        number: u64,
        /// The frame.
        wires: Wires<'a>,
    },
    /// What became of a frame, and what the worker holds behind it.
    Answer {
        /// The run.
        run: u64,
        /// The number of the frame.
        number: u64,
        /// What became of it.
        outcome: Outcome<'a>,
        /// What the worker holds now.
        holding: Holding<'a>,
    },
    /// A question to a worker: what does it hold? It answers with a report.
    Ask {
        /// The run.
        run: u64,
        /// Messages with frames to this worker so far.
        sent: u64,
    },
    /// What a worker holds.
    Report {
        /// The run.
        run: u64,
        /// What it holds now.
        holding: Holding<'a>,
    },
    /// A question to a worker: what do its tasks tell of their work? It answers with what they have [told](Self::Told).
    Tell {
        /// The run.
        run: u64,
    },
    /// What the tasks of a worker told of the run so far.
    Told {
        /// The run.
        run: u64,
        /// Their figures, in the words of whoever runs them.
        figures: &'a str,
    },
    /// The run is over: a worker says what its tasks have [told](Self::Told), and forgets it.
    End {
        /// The run.
        run: u64,
    },
}

/// What tasks made of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The frame goes on, with these wires.
    Next(Wires<'a>),
    /// The frame goes nowhere.
    Skip,
    /// The stream ends with this frame.
    Stop,
    /// A task failed.
    Failed {
        /// Its name.
        task: &'a str,
        /// What it said.
        message: &'a str,
    },
}

/// What a worker holds: as [`Held`](crate::Held), in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding<'a> {
    /// Messages with frames that have come, or will not come any more.
    pub seen: u64,
    /// Numbers of frames, 8 bytes each.
    numbers: &'a [u8],
}

/// The values on wires: for each, in their order, how many elements it has, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wires<'a>(&'a [u8]);

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No message of a link.
    #[error("this is no message of a link: does something else use its key?")]
    Foreign,
    /// Of another protocol.
    #[error("the other side speaks protocol {0}, this one {PROTOCOL}: bring both to one version of Bief")]
    Protocol(u16),
    /// A kind of message, or of outcome, that there is not.
    #[error("there is no message of kind {0}")]
    Kind(u8),
    /// It ends too early.
    #[error("the message ends in its midst: was it cut short?")]
    Short,
    /// It goes on behind its end.
    #[error("the message has {0} bytes behind its end")]
    Long(usize),
    /// A text that is no UTF-8.
    #[error("a text of the message is no UTF-8")]
    Text,
}

const READY: u8 = 1;
const FRAME: u8 = 2;
const ANSWER: u8 = 3;
const REPORT: u8 = 4;
const END: u8 = 5;
const ASK: u8 = 6;
const BEGIN: u8 = 7;
const REFUSED: u8 = 8;
const LEAVE: u8 = 9;
const TELL: u8 = 10;
const TOLD: u8 = 11;

const NEXT: u8 = 0;
const SKIP: u8 = 1;
const STOP: u8 = 2;
const FAILED: u8 = 3;

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// Why the bytes are none.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes.strip_prefix(&MAGIC).ok_or(Malformed::Foreign)?);
        let protocol = rest.u16()?;
        if protocol != PROTOCOL {
            return Err(Malformed::Protocol(protocol));
        }
        let (kind, run) = (rest.u8()?, rest.u64()?);
        Ok(match kind {
            READY => {
                let (cores, credit) = (rest.u32()?, rest.u32()?);
                rest.end()?;
                Self::Ready { run, cores, credit }
            }
            FRAME => {
                let (sequence, number) = (rest.u64()?, rest.u64()?);
                Self::Frame { run, sequence, number, wires: Wires::read(rest)? }
            }
            ANSWER => {
                let (number, holding) = (rest.u64()?, Holding::read(&mut rest)?);
                Self::Answer { run, number, holding, outcome: Outcome::read(rest)? }
            }
            REPORT => {
                let holding = Holding::read(&mut rest)?;
                rest.end()?;
                Self::Report { run, holding }
            }
            ASK => {
                let sent = rest.u64()?;
                rest.end()?;
                Self::Ask { run, sent }
            }
            END => {
                rest.end()?;
                Self::End { run }
            }
            BEGIN => {
                let tasks = rest.text()?;
                rest.end()?;
                Self::Begin { run, tasks }
            }
            REFUSED => {
                let reason = rest.text()?;
                rest.end()?;
                Self::Refused { run, reason }
            }
            LEAVE => {
                rest.end()?;
                Self::Leave { run }
            }
            TELL => {
                rest.end()?;
                Self::Tell { run }
            }
            TOLD => {
                let figures = rest.text()?;
                rest.end()?;
                Self::Told { run, figures }
            }
            kind => return Err(Malformed::Kind(kind)),
        })
    }

    /// Appends the bytes of a message.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut begin = |kind: u8, run: &u64| write_head(kind, *run, out);
        match self {
            Self::Begin { run, tasks } => {
                begin(BEGIN, run);
                put_slice(out, tasks.as_bytes());
            }
            Self::Refused { run, reason } => {
                begin(REFUSED, run);
                put_slice(out, reason.as_bytes());
            }
            Self::Leave { run } => begin(LEAVE, run),
            Self::Ready { run, cores, credit } => {
                begin(READY, run);
                out.extend(cores.to_le_bytes());
                out.extend(credit.to_le_bytes());
            }
            Self::Frame { run, sequence, number, wires } => {
                Self::write_frame_head(*run, *sequence, *number, out);
                out.extend(wires.0);
            }
            Self::Answer { run, number, outcome, holding } => {
                begin(ANSWER, run);
                out.extend(number.to_le_bytes());
                holding.write(out);
                outcome.write(out);
            }
            Self::Tell { run } => begin(TELL, run),
            Self::Told { run, figures } => {
                begin(TOLD, run);
                put_slice(out, figures.as_bytes());
            }
            Self::Ask { run, sent } => {
                begin(ASK, run);
                out.extend(sent.to_le_bytes());
            }
            Self::Report { run, holding } => {
                begin(REPORT, run);
                holding.write(out);
            }
            Self::End { run } => begin(END, run),
        }
    }

    /// Appends all of a [`Frame`](Self::Frame) but its wires, whose [bytes](Wires::bytes) follow: they need not be copied for each
    /// worker.
    pub fn write_frame_head(run: u64, sequence: u64, number: u64, out: &mut Vec<u8>) {
        write_head(FRAME, run, out);
        out.extend(sequence.to_le_bytes());
        out.extend(number.to_le_bytes());
    }

    /// Appends all of an [`Answer`](Self::Answer) with [wires](Outcome::Next) but these, whose [bytes](Wires::bytes) follow.
    pub fn write_answer_head(run: u64, number: u64, holding: Holding<'_>, out: &mut Vec<u8>) {
        write_head(ANSWER, run, out);
        out.extend(number.to_le_bytes());
        holding.write(out);
        out.push(NEXT);
    }

    /// Reads what [`write_frame_head`](Self::write_frame_head) wrote: the run, and the numbers of the message and of the frame.
    ///
    /// # Errors
    /// Why the bytes are no head of a frame.
    pub fn read_frame_head(head: &[u8]) -> Result<(u64, u64, u64), Malformed> {
        let mut rest = Reader(head.strip_prefix(&MAGIC).ok_or(Malformed::Foreign)?);
        match (rest.u16()?, rest.u8()?) {
            (PROTOCOL, FRAME) => {}
            (PROTOCOL, kind) => return Err(Malformed::Kind(kind)),
            (protocol, _) => return Err(Malformed::Protocol(protocol)),
        }
        let (run, sequence, number) = (rest.u64()?, rest.u64()?, rest.u64()?);
        rest.end()?;
        Ok((run, sequence, number))
    }

    /// The run that it belongs to: others pass it over.
    pub fn run(&self) -> u64 {
        match *self {
            Self::Begin { run, .. }
            | Self::Refused { run, .. }
            | Self::Leave { run }
            | Self::Ready { run, .. }
            | Self::Frame { run, .. }
            | Self::Answer { run, .. }
            | Self::Ask { run, .. }
            | Self::Report { run, .. }
            | Self::Tell { run }
            | Self::Told { run, .. }
            | Self::End { run } => run,
        }
    }
}

fn write_head(kind: u8, run: u64, out: &mut Vec<u8>) {
    out.extend(MAGIC);
    out.extend(PROTOCOL.to_le_bytes());
    out.push(kind);
    out.extend(run.to_le_bytes());
}

impl<'a> Outcome<'a> {
    fn read(mut rest: Reader<'a>) -> Result<Self, Malformed> {
        let outcome = match rest.u8()? {
            NEXT => return Wires::read(rest).map(Self::Next),
            SKIP => Self::Skip,
            STOP => Self::Stop,
            FAILED => Self::Failed { task: rest.text()?, message: rest.text()? },
            kind => return Err(Malformed::Kind(kind)),
        };
        rest.end()?;
        Ok(outcome)
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Next(wires) => {
                out.push(NEXT);
                out.extend(wires.0);
            }
            Self::Skip => out.push(SKIP),
            Self::Stop => out.push(STOP),
            Self::Failed { task, message } => {
                out.push(FAILED);
                put_slice(out, task.as_bytes());
                put_slice(out, message.as_bytes());
            }
        }
    }
}

impl<'a> Holding<'a> {
    /// What a [`Worker`](crate::Worker) tells; the numbers are put into `buffer`.
    pub fn of(held: crate::Held<'_>, buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend(held.held.iter().flat_map(|number| number.to_le_bytes()));
        Self { seen: held.seen, numbers: buffer }
    }

    /// The numbers of the frames.
    pub fn numbers(&self) -> impl ExactSizeIterator<Item = u64> + 'a {
        self.numbers.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number))
    }

    fn read(rest: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (seen, count) = (rest.u64()?, rest.u32()?);
        let length = (count as usize).checked_mul(8).ok_or(Malformed::Short)?;
        Ok(Self { seen, numbers: rest.bytes(length)? })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.seen.to_le_bytes());
        let count = u32::try_from(self.numbers.len() / 8).expect("a worker holds fewer than 2^32 frames");
        out.extend(count.to_le_bytes());
        out.extend(self.numbers);
    }
}

impl<'a> Wires<'a> {
    /// Puts wires into `buffer`: of each, how many elements it has, and their bytes.
    pub fn of<'b>(wires: impl IntoIterator<Item = (u32, &'b [u8])>, buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend([0; 2]);
        let mut count = 0_u16;
        for (elements, bytes) in wires {
            buffer.extend(elements.to_le_bytes());
            put_slice(buffer, bytes);
            count = count.checked_add(1).expect("tasks have fewer than 2^16 wires");
        }
        buffer[..2].copy_from_slice(&count.to_le_bytes());
        Self(buffer)
    }

    /// Wires as [`bytes`](Self::bytes) gives them, of a frame that was kept.
    ///
    /// # Errors
    /// Bytes that are no wires.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Malformed> {
        Self::read(Reader(bytes))
    }

    /// All of them as they are in a message.
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }

    /// How many elements each wire has, and their bytes.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a [u8])> + use<'a> {
        let mut rest = Reader(self.0);
        // They were counted when the message was read.
        let count = rest.u16().unwrap_or(0);
        (0..count).map_while(move |_| Some((rest.u32().ok()?, rest.slice().ok()?)))
    }

    /// All that is left of a message.
    fn read(rest: Reader<'a>) -> Result<Self, Malformed> {
        let all = rest.0;
        let mut rest = rest;
        for _ in 0..rest.u16()? {
            rest.u32()?;
            rest.slice()?;
        }
        rest.end()?;
        Ok(Self(all))
    }
}
