//! The latest batches of a run on a time line, for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`.
//!
//! The format is the JSON of Chrome's trace events: tracks are threads, slices are complete events, and the way of a batch
//! from stage to stage is a flow.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::observe::{Recorder, TaskTime, Visit};

/// A wait shorter than this is not drawn.
const VISIBLE: Duration = Duration::from_micros(1);

/// The latest batches of a run at every worker, in the plan that it ended with and in those before; returned by
/// [`Pipeline::last_trace`](crate::Pipeline::last_trace).
#[derive(Debug, Clone)]
pub struct Trace {
    /// At least one.
    plans: Vec<PlanTrace>,
}

/// What the replicas of one plan did.
#[derive(Debug, Clone)]
pub(crate) struct PlanTrace {
    /// What it began with, unless the run did.
    pub(crate) switch: Option<Switch>,
    pub(crate) tracks: Vec<Track>,
}

/// A change of plan: from when its source was last asked for a batch of the old one until the stages of the new one stood.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    pub(crate) from: Instant,
    pub(crate) until: Instant,
    pub(crate) reason: String,
}

/// What one replica of a stage did.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) stage: usize,
    pub(crate) name: String,
    pub(crate) tasks: Vec<Arc<str>>,
    /// What the lane is called on its device, if it is one.
    pub(crate) lane: Option<String>,
    pub(crate) recorder: Recorder,
}

/// One trace event. Times are microseconds.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'static str,
    ph: &'static str,
    pid: usize,
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
    Launch { first_frame: u64, frames: u64, batches: usize },
}

impl Trace {
    pub(crate) fn new(plans: Vec<PlanTrace>) -> Self {
        Self { plans }
    }

    /// Writes it as JSON that [Perfetto](https://ui.perfetto.dev) opens: a track for each replica, named by its stage and
    /// its number; on it a slice for each batch, in it one for each task where the batch was timed, and between them the
    /// waits of a microsecond and more; arrows join the slices of a batch. A lane of a device has a second track, behind all others, for
    /// what the device does: a slice for each launch, which tells how many batches it had, in it `copy in`, the tasks, and `copy out`;
    /// what is free between them is the device's work for other lanes. Each plan is a process with its tracks; where it
    /// follows another, its first track shows the pause between them, named by the reason. Times count from the first thing
    /// shown.
    ///
    /// # Errors
    /// Those of the writer, which is flushed.
    pub fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        let tracks = self.plans.iter().flat_map(|plan| &plan.tracks);
        let asked = tracks.flat_map(|track| track.recorder.visits().map(|(visit, _)| visit.begun()));
        let paused = self.plans.iter().filter_map(|plan| Some(plan.switch.as_ref()?.from));
        let zero = asked.chain(paused).min().unwrap_or_else(Instant::now);
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut writer = Writer { out: &mut out, zero, pid: 0, tid: 0, events: 0 };
        for (index, plan) in (1..).zip(&self.plans) {
            writer.pid = index;
            writer.plan(plan, self.plans.len() > 1)?;
        }
        out.write_all(b"\n]}\n")?;
        out.flush()
    }
}

impl PlanTrace {
    /// For each batch that more than one stage shows, the first and the last of them.
    fn ways(&self) -> HashMap<u64, (usize, usize)> {
        let mut ways = HashMap::new();
        for track in &self.tracks {
            for (visit, _) in track.recorder.visits().filter(|(visit, _)| visit.frames.is_some()) {
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
    pid: usize,
    tid: usize,
    events: usize,
}

impl<W: io::Write> Writer<W> {
    /// The tracks of a plan, by its number if there are `others`.
    fn plan(&mut self, plan: &PlanTrace, others: bool) -> io::Result<()> {
        self.tid = 0;
        let name = if others { format!("bief, plan {}", self.pid) } else { "bief".to_owned() };
        self.about("process_name", Args::Name { name: &name })?;
        if let Some(Switch { from, until, reason }) = &plan.switch {
            self.about("thread_name", Args::Name { name: "change of plan" })?;
            self.slice(reason, "plan", *from, until.saturating_duration_since(*from), None)?;
        }
        let ways = plan.ways();
        for (index, track) in plan.tracks.iter().enumerate() {
            self.tid = index + 1;
            self.about("thread_name", Args::Name { name: &track.name })?;
            self.about("thread_sort_index", Args::Order { sort_index: index })?;
            self.track(track, &ways)?;
        }
        let lanes = plan.tracks.iter().filter_map(|track| Some((track, track.lane.as_ref()?)));
        for (index, (track, name)) in (plan.tracks.len()..).zip(lanes) {
            self.tid = index + 1;
            self.about("thread_name", Args::Name { name })?;
            self.about("thread_sort_index", Args::Order { sort_index: index })?;
            self.launches(track)?;
        }
        Ok(())
    }

    /// What the device of a lane did.
    fn launches(&mut self, track: &Track) -> io::Result<()> {
        for (visit, tasks) in track.recorder.visits() {
            let (Some(launch), Some(frames)) = (visit.launch, visit.frames) else { continue };
            let [copy_in, work, copy_out] = launch.parts;
            let told = Args::Launch { first_frame: visit.first, frames, batches: launch.batches };
            let whole = launch.end().saturating_duration_since(copy_in.0);
            self.slice("launch", "device", copy_in.0, whole, Some(told))?;
            self.copy("copy in", copy_in)?;
            if tasks.is_empty() {
                self.slice("tasks", "task", work.0, work.1, None)?;
            }
            self.tasks(track, tasks)?;
            self.copy("copy out", copy_out)?;
        }
        Ok(())
    }

    fn copy(&mut self, name: &str, (start, time): (Instant, Duration)) -> io::Result<()> {
        if time.is_zero() { Ok(()) } else { self.slice(name, "copy", start, time, None) }
    }

    /// The tasks of a batch that was timed.
    fn tasks(&mut self, track: &Track, tasks: &[TaskTime]) -> io::Result<()> {
        for (name, time) in track.tasks.iter().zip(tasks) {
            if let &Some((start, time)) = time {
                self.slice(name, "task", start, time, None)?;
            }
        }
        Ok(())
    }

    fn track(&mut self, track: &Track, ways: &HashMap<u64, (usize, usize)>) -> io::Result<()> {
        let mut before: Option<Visit> = None;
        for (visit, tasks) in track.recorder.visits() {
            // The next batch is asked for once the one before is handed on.
            if let Some(before) = before.replace(visit) {
                self.wait("wait for output", before.end, visit.asked)?;
            }
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
                    self.flow(phase, &visit)?;
                }
                if track.lane.is_none() {
                    self.tasks(track, tasks)?;
                }
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
        self.event(Event { name, cat, ph: "X", pid: self.pid, tid: self.tid, ts, dur, id: None, bp: None, args })
    }

    fn flow(&mut self, ph: &'static str, visit: &Visit) -> io::Result<()> {
        let (ts, id) = (self.time(visit.begin), Some(visit.first));
        let bp = (ph != "s").then_some("e");
        self.event(Event {
            name: "batch",
            cat: "flow",
            ph,
            pid: self.pid,
            tid: self.tid,
            ts,
            dur: None,
            id,
            bp,
            args: None,
        })
    }

    /// What is told of the process or of a track.
    fn about(&mut self, name: &str, args: Args<'_>) -> io::Result<()> {
        let (cat, ph, args) = ("__metadata", "M", Some(args));
        self.event(Event { name, cat, ph, pid: self.pid, tid: self.tid, ts: 0.0, dur: None, id: None, bp: None, args })
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
