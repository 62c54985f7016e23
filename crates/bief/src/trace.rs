//! The latest batches of a run on a time line, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`.
//!
//! The format is the JSON of Chrome's trace events: tracks are threads, slices are complete events, and the way of a batch
//! from stage to stage is a flow.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::observe::{TaskTime, Visit};

/// A wait shorter than this is not drawn.
const VISIBLE: Duration = Duration::from_micros(1);

/// The latest batches of a run at every worker; returned by [`Pipeline::last_trace`](crate::Pipeline::last_trace).
#[derive(Debug, Clone)]
pub struct Trace {
    tracks: Vec<Track>,
}

/// What one replica of a stage did.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) stage: usize,
    pub(crate) name: String,
    pub(crate) tasks: Vec<Arc<str>>,
    pub(crate) visits: Vec<(Visit, Vec<TaskTime>)>,
}

/// One trace event. Times are microseconds.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    pid: u32,
    tid: usize,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// Joins a flow to the slice that is open then, not to the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Args<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Name { name: &'a str },
    Order { sort_index: usize },
    Batch { first_frame: u64, frames: u64 },
}

impl Trace {
    pub(crate) fn new(tracks: Vec<Track>) -> Self {
        Self { tracks }
    }

    /// Writes it as JSON that [Perfetto](https://ui.perfetto.dev) opens: a track for each replica, named by its stage and
    /// its number; on it a slice for each batch, in it one for each task where the batch was timed, and between them the
    /// waits of a microsecond and more; arrows join the slices of a batch. Times count from the first thing shown.
    ///
    /// # Errors
    /// Those of the writer, which is flushed.
    pub fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        let visits = self.tracks.iter().flat_map(|track| &track.visits);
        let zero = visits.map(|(visit, _)| visit.asked).min().unwrap_or_else(Instant::now);
        let ways = self.ways();
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut writer = Writer { out: &mut out, zero, tid: 0, events: 0 };
        writer.about("process_name", Args::Name { name: "bief" })?;
        for (index, track) in self.tracks.iter().enumerate() {
            writer.tid = index + 1;
            writer.about("thread_name", Args::Name { name: &track.name })?;
            writer.about("thread_sort_index", Args::Order { sort_index: index })?;
            writer.track(track, &ways)?;
        }
        out.write_all(b"\n]}\n")?;
        out.flush()
    }

    /// For each batch that more than one stage shows, the first and the last of them.
    fn ways(&self) -> HashMap<u64, (usize, usize)> {
        let mut ways = HashMap::new();
        for track in &self.tracks {
            for (visit, _) in track.visits.iter().filter(|(visit, _)| visit.frames.is_some()) {
                let (first, last) = ways.entry(visit.first).or_insert((track.stage, track.stage));
                (*first, *last) = (track.stage.min(*first), track.stage.max(*last));
            }
        }
        ways.retain(|_, (first, last)| first < last);
        ways
    }
}

/// Events of one track after the other.
struct Writer<W> {
    out: W,
    /// The instant that times count from.
    zero: Instant,
    tid: usize,
    events: usize,
}

impl<W: io::Write> Writer<W> {
    fn track(&mut self, track: &Track, ways: &HashMap<u64, (usize, usize)>) -> io::Result<()> {
        for (index, (visit, tasks)) in track.visits.iter().enumerate() {
            self.wait("wait for input", visit.asked, visit.begin)?;
            if let Some(frames) = visit.frames {
                let batch = Args::Batch { first_frame: visit.first, frames };
                self.slice("batch", "batch", visit.begin, visit.end - visit.begin, Some(batch))?;
                // After the slice that it belongs to, and before those inside, which may begin at the same time.
                if let Some(&(first, last)) = ways.get(&visit.first) {
                    let phase = match track.stage {
                        stage if stage == first => "s",
                        stage if stage == last => "f",
                        _ => "t",
                    };
                    self.flow(phase, visit)?;
                }
                for (name, time) in track.tasks.iter().zip(tasks) {
                    if let &Some((start, time)) = time {
                        self.slice(name, "task", start, time, None)?;
                    }
                }
            }
            // The next batch is asked for once this one is handed on.
            if let Some((next, _)) = track.visits.get(index + 1) {
                self.wait("wait for output", visit.end, next.asked)?;
            }
        }
        Ok(())
    }

    fn wait(&mut self, name: &str, from: Instant, to: Instant) -> io::Result<()> {
        let time = to.saturating_duration_since(from);
        if time >= VISIBLE { self.slice(name, "wait", from, time, None) } else { Ok(()) }
    }

    fn slice(
        &mut self,
        name: &str,
        cat: &'static str,
        start: Instant,
        time: Duration,
        args: Option<Args<'_>>,
    ) -> io::Result<()> {
        let (ts, dur) = (self.time(start), Some(microseconds(time)));
        self.event(Event { name, cat, ph: "X", pid: 1, tid: self.tid, ts, dur, id: None, bp: None, args })
    }

    fn flow(&mut self, ph: &'static str, visit: &Visit) -> io::Result<()> {
        let (ts, id) = (self.time(visit.begin), Some(visit.first));
        let bp = (ph != "s").then_some("e");
        self.event(Event { name: "batch", cat: "flow", ph, pid: 1, tid: self.tid, ts, dur: None, id, bp, args: None })
    }

    /// What is told of the process or of a track.
    fn about(&mut self, name: &str, args: Args<'_>) -> io::Result<()> {
        let (cat, ph, args) = ("__metadata", "M", Some(args));
        self.event(Event { name, cat, ph, pid: 1, tid: self.tid, ts: 0.0, dur: None, id: None, bp: None, args })
    }

    fn event(&mut self, event: Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.events == 0 { b"\n" } else { b",\n" })?;
        self.events += 1;
        serde_json::to_writer(&mut self.out, &event).map_err(io::Error::from)
    }

    fn time(&self, instant: Instant) -> f64 {
        microseconds(instant.saturating_duration_since(self.zero))
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}
