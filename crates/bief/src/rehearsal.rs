//! Chains that are tried before they run: they use up no input, and touch no output.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Result;
use crate::figures::Figures;
use crate::task::{Flow, Step, Turn};

/// Frames and bytes of an input that are recorded for rehearsals at most; one frame at least.
const FRAMES: usize = 64;
const BYTES: usize = 1 << 20;
/// Frames that a source may skip one after the other: in a front that gives none, no more would come of it.
const SKIPPED: u64 = 10_000;

/// Records the front of an input, and plays it for ever; the input begins anew.
pub(crate) fn record(input: &mut Box<dyn Read + Send>, frame_bytes: usize) -> io::Result<Repeat> {
    let frame = frame_bytes.max(1);
    let most = (BYTES / frame).clamp(1, FRAMES).saturating_mul(frame);
    let mut front = Vec::new();
    let read = input.take(most as u64).read_to_end(&mut front);
    let front: Arc<[u8]> = front.into();
    let rest = std::mem::replace(input, Box::new(io::empty()));
    *input = Box::new(Cursor::new(Arc::clone(&front)).chain(rest));
    read?;
    // Whole frames where there are any, so that each is followed by another's beginning.
    let played = if front.len() >= frame { front.len() / frame * frame } else { front.len() };
    Ok(Repeat { front, played, position: 0 })
}

/// Bytes over and over.
#[derive(Debug)]
pub(crate) struct Repeat {
    front: Arc<[u8]>,
    played: usize,
    position: usize,
}

impl Read for Repeat {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut rest = &self.front[self.position..self.played];
        let read = rest.read(bytes)?;
        self.position = (self.position + read) % self.played.max(1);
        Ok(read)
    }
}

/// What kinds keep between the rehearsals of an application and its run, by the names of tasks: the front of an input, say, that
/// a rehearsal has read. Copies share it.
///
/// ```
/// use bief::kinds::{Kept, Kind, Parameters};
/// use bief::{Application, Chain, Flow, Machine, Planner, Program, Registry, Result, source};
///
/// /// A chain of built-in kinds that a program puts together.
/// struct Zeros {
///     registry: Registry,
///     kept: Kept,
/// }
///
/// impl Zeros {
///     fn chain(&self, kept: &Kept) -> Result<Program> {
///         let mut chain = Chain::new();
///         self.registry.make_kept(&mut chain, "zeros", "test.zeros", Parameters::new(), &[], kept)?;
///         chain.build()
///     }
/// }
///
/// impl Application for Zeros {
///     fn program(&mut self) -> Result<Program> {
///         self.chain(&self.kept)
///     }
///     fn rehearsal(&self, frames: u64) -> Result<Program> {
///         self.chain(&self.kept.rehearsal(frames))
///     }
/// }
///
/// let mut registry = Registry::new();
/// registry.add(Kind::new("test.zeros", "1000 frames of zeros", (), |()| {
///     let mut left = 1000;
///     Ok(source::from_fn(8, move |_: &mut [f32]| {
///         left -= 1;
///         Ok(if left < 0 { Flow::Stop } else { Flow::Next })
///     }))
/// }));
/// let mut zeros = Zeros { registry, kept: Kept::new() };
/// assert_eq!(zeros.rehearsal(10)?.run()?.frames, 10);
/// let planned = Planner::new(Machine::here()).plan(&zeros)?;
/// assert_eq!(planned.pipeline(&mut zeros)?.run()?.frames, 1000);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Kept {
    things: Arc<Mutex<HashMap<String, Box<dyn Any + Send>>>>,
    /// The frames of a rehearsal; `None` for the run.
    rehearsal: Option<u64>,
}

impl Kept {
    /// Nothing yet, for the run.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, for a rehearsal of so many frames at most: kinds use up no input and touch no output.
    #[must_use]
    pub fn rehearsal(&self, frames: u64) -> Self {
        Self { rehearsal: Some(frames), ..self.clone() }
    }

    pub(crate) fn rehearsed(&self) -> Option<u64> {
        self.rehearsal
    }

    pub(crate) fn keep(&self, task: &str, what: impl Any + Send) {
        self.things.lock().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), Box::new(what));
    }

    pub(crate) fn take<T: Any>(&self, task: &str) -> Option<T> {
        let kept = self.things.lock().unwrap_or_else(PoisonError::into_inner).remove(task)?;
        kept.downcast().ok().map(|kept| *kept)
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.things.lock().unwrap_or_else(PoisonError::into_inner).keys()).finish()
    }
}

/// A source that stops after so many frames.
pub(crate) struct Bounded {
    source: Box<dyn Step>,
    frames: u64,
    made: u64,
    /// Frames skipped since the last one that was made.
    skipped: u64,
}

impl Bounded {
    pub(crate) fn new(source: Box<dyn Step>, frames: u64) -> Self {
        Self { source, frames, made: 0, skipped: 0 }
    }
}

impl Step for Bounded {
    unsafe fn run_frame(&mut self, table: &[*mut u8], position: usize) -> Result<Turn> {
        if self.made == self.frames || self.skipped == SKIPPED {
            return Ok(Turn::Flow(Flow::Stop));
        }
        // SAFETY: passed on to the caller.
        let turn = unsafe { self.source.run_frame(table, position)? };
        match turn {
            Turn::Flow(Flow::Skip) => self.skipped += 1,
            _ => (self.made, self.skipped) = (self.made + 1, 0),
        }
        Ok(turn)
    }

    fn replica(&self) -> Option<Box<dyn Step>> {
        None
    }

    fn lost(&self) -> u64 {
        self.source.lost()
    }

    fn figures(&self, figures: &mut Figures) {
        self.source.figures(figures);
    }

    fn due(&mut self) -> Option<Instant> {
        self.source.due()
    }

    fn finish(&mut self) -> Result<()> {
        self.source.finish()
    }

    fn reset(&mut self) -> Result<()> {
        (self.made, self.skipped) = (0, 0);
        self.source.reset()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_is_played_for_ever_and_the_input_begins_anew() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut input: Box<dyn Read + Send> = Box::new(Cursor::new(bytes.clone()));
        for _ in 0..3 {
            let mut played = [0; 25];
            record(&mut input, 8).unwrap().read_exact(&mut played).unwrap();
            assert_eq!(played, bytes[..25]);
        }
        let mut played = vec![0; 200];
        record(&mut input, 8).unwrap().read_exact(&mut played).unwrap();
        assert_eq!(played, [&bytes[..96], &bytes[..96], &bytes[..8]].concat(), "whole frames");
        record(&mut input, 300).unwrap().read_exact(&mut played).unwrap();
        assert_eq!(played, [&bytes[..], &bytes[..]].concat(), "what there is");
        let mut rest = Vec::new();
        input.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, bytes);
        assert_eq!(record(&mut (Box::new(io::empty()) as Box<dyn Read + Send>), 8).unwrap().read(&mut [1]).unwrap(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "bytes by the million take minutes there")]
    fn a_bounded_part_of_the_input_is_recorded() {
        let recorded = |frame| {
            let mut input: Box<dyn Read + Send> = Box::new(io::repeat(7));
            record(&mut input, frame).unwrap().front.len()
        };
        assert_eq!([recorded(10), recorded(100_000), recorded(3 << 20)], [640, 1_000_000, 3 << 20]);
    }
}
