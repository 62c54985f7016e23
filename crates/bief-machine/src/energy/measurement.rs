//! From start to stop: a thread for each source, which reads it often enough, and what comes of all of them.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::background::{Background, Told};
use super::integral::Integral;
use super::meter::Window;
use super::reader::{Counter, Power, Reader};
use super::source::{Scope, Source};

/// Readings in a row that may fail.
const MAX_MISSES: u32 = 2;
/// Reading takes one part in so many of its thread's time at most.
const SHARE: u32 = 20;
/// Longest pause for that reason.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long the first readings are waited for.
const READY: Duration = Duration::from_secs(2);
/// Share of a measurement that a meter's readings must cover; below the second, a note says so.
const MIN_COVER: f64 = 0.5;
const GOOD_COVER: f64 = 0.75;

/// Energy that a source told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Energy {
    /// Energy, in joules: more than 0.
    pub joules: f64,
    /// Mean power, in watts.
    pub watts: f64,
    /// Time in which it was used, in seconds.
    pub seconds: f64,
    /// Name of the source.
    pub source: String,
    /// Of what it is the energy.
    pub scope: Scope,
}

/// What a measurement came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Measured {
    /// The energy of the widest scope that could be measured; `None` where nothing could be, which is not 0.
    pub energy: Option<Energy>,
    /// What other sources told, from the widest to the narrowest scope. They hold each other: nothing of this is to be added.
    pub others: Vec<Energy>,
    /// What went wrong, and what limits what was measured, each with the name of its source.
    pub notes: Vec<String>,
}

/// A measurement that goes on; see [`EnergyMeter::start`](super::EnergyMeter::start). Dropped, it ends.
#[derive(Debug)]
pub struct Measurement {
    running: Vec<(Source, Background<Result<Taken, String>>)>,
    so_far: SoFar,
    notes: Vec<String>,
}

/// What a measurement has come to so far, to be looked at from elsewhere; made by [`Measurement::so_far`].
#[derive(Debug, Clone, Default)]
pub struct SoFar(Arc<[(String, Scope, Latest)]>);

/// The joules and seconds of a source when it was read last.
type Latest = Arc<Mutex<Option<(f64, f64)>>>;

impl SoFar {
    /// The energy so far, as sources told it when they were read last. Those that tell nothing before the end, as an external
    /// [`Meter`](super::Meter), and those that fail, are left out.
    pub fn look(&self) -> Measured {
        let energy = |(source, scope, latest): &(String, Scope, Latest)| {
            let (joules, seconds) = (*latest.lock().unwrap_or_else(PoisonError::into_inner))?;
            let energy = Energy { joules, watts: joules / seconds, seconds, source: source.clone(), scope: *scope };
            (joules > 0.0 && seconds > 0.0).then_some(energy)
        };
        Measured::of(self.0.iter().filter_map(energy).collect(), Vec::new())
    }
}

impl Measured {
    /// The widest scope first; of two with one scope the one that was found first is trusted more.
    fn of(mut energies: Vec<Energy>, notes: Vec<String>) -> Self {
        energies.sort_by_key(|energy: &Energy| std::cmp::Reverse(energy.scope));
        let mut energies = energies.into_iter();
        Self { energy: energies.next(), others: energies.collect(), notes }
    }
}

/// What one source came to.
#[derive(Debug)]
struct Taken {
    joules: f64,
    seconds: f64,
    note: Option<String>,
}

impl Measurement {
    /// Starts to measure with these sources; `None` where none can be read.
    pub(super) fn start<'a>(sources: impl Iterator<Item = &'a Source>) -> Option<Self> {
        let (ready, all_ready) = sync_channel(0);
        let (mut running, mut so_far, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            let Some(reader) = source.reader() else { continue };
            let (ready, latest) = (ready.clone(), Latest::default());
            let told_so_far = Arc::clone(&latest);
            match Background::start("energy", move |told| follow(&reader, told, ready, &told_so_far)) {
                Ok(thread) => {
                    so_far.push((source.name().to_owned(), source.scope(), latest));
                    running.push((source.clone(), thread));
                }
                Err(error) => notes.push(format!("{}: no thread to read it: {error}", source.name())),
            }
        }
        drop(ready);
        // Each thread lets go of its end when it has read for the first time.
        let _ = all_ready.recv_timeout(READY);
        (!running.is_empty()).then_some(Self { running, so_far: SoFar(so_far.into()), notes })
    }

    /// What it has come to so far, for whoever wants to look before it is stopped.
    pub fn so_far(&self) -> SoFar {
        self.so_far.clone()
    }

    /// Ends the measurement. A source that does not answer within 2 seconds is given up.
    pub fn stop(mut self) -> Measured {
        let (mut energies, mut notes) = (Vec::new(), std::mem::take(&mut self.notes));
        for (_, thread) in &mut self.running {
            thread.tell_to_end();
        }
        for (source, thread) in &mut self.running {
            let taken = thread.end().unwrap_or_else(|| Err("did not answer for 2 s".to_owned()));
            let note = match taken {
                Ok(Taken { joules, seconds, note }) => {
                    let (name, scope) = (source.name().to_owned(), source.scope());
                    energies.push(Energy { joules, watts: joules / seconds, seconds, source: name, scope });
                    note
                }
                Err(why) => Some(why),
            };
            notes.extend(note.map(|note| format!("{}: {note}", source.name())));
        }
        Measured::of(energies, notes)
    }
}

/// Reads a source until it is told to end, and says how far it is.
fn follow(reader: &Reader, told: &Told, ready: SyncSender<()>, latest: &Latest) -> Result<Taken, String> {
    let tell = |so_far| *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(so_far);
    match reader {
        Reader::Counters(counters) => {
            let mut counted = Counted::begin(counters)?;
            drop(ready);
            repeat(told, reader.interval(), || counted.look().map(|()| tell(counted.so_far())))?;
            counted.end()
        }
        Reader::Power(power) => {
            let mut sampled = Sampled::begin(power)?;
            drop(ready);
            repeat(told, reader.interval(), || sampled.look().map(|()| tell(sampled.so_far())))?;
            sampled.end()
        }
        Reader::Meter(meter) => {
            let (number, start) = (meter.begin(), Instant::now());
            drop(ready);
            while !told.to_end_within(reader.interval()) {}
            let seconds = start.elapsed().as_secs_f64();
            heard(&meter.end(number)?, seconds)
        }
    }
}

/// Why a look at a source brought nothing.
enum Miss {
    /// It may be there at the next look.
    Unread(String),
    /// What it says cannot be, and makes all of it worthless.
    Wrong(String),
}

/// Looks again and again, the last time when it is told to end.
fn repeat(told: &Told, interval: Duration, mut look: impl FnMut() -> Result<(), Miss>) -> Result<(), String> {
    let (mut pause, mut misses) = (interval, 0);
    loop {
        let is_last = told.to_end_within(pause);
        let begun = Instant::now();
        match look() {
            Ok(()) => misses = 0,
            Err(Miss::Unread(_)) if misses < MAX_MISSES && !is_last => misses += 1,
            Err(Miss::Unread(why) | Miss::Wrong(why)) => return Err(why),
        }
        if is_last {
            return Ok(());
        }
        pause = (begun.elapsed() * SHARE).min(LONGEST_PAUSE).max(interval);
    }
}

/// What counters count.
struct Counted<'a> {
    /// Each with its last count, and what it has counted in joules.
    counters: Vec<(&'a Counter, u64, f64)>,
    start: Instant,
    last: Instant,
}

impl<'a> Counted<'a> {
    fn begin(counters: &'a [Counter]) -> Result<Self, String> {
        let counters = counters.iter().map(|counter| Ok((counter, counter.read()?, 0.0)));
        let counters = counters.collect::<Result<_, String>>()?;
        let start = Instant::now();
        Ok(Self { counters, start, last: start })
    }

    fn look(&mut self) -> Result<(), Miss> {
        let counts = self.counters.iter().map(|(counter, ..)| counter.read());
        let counts = counts.collect::<Result<Vec<u64>, String>>().map_err(Miss::Unread)?;
        let now = Instant::now();
        for ((counter, last, joules), count) in self.counters.iter_mut().zip(counts) {
            *joules += counter.between(*last, count, now - self.last).map_err(Miss::Wrong)?;
            *last = count;
        }
        self.last = now;
        Ok(())
    }

    fn so_far(&self) -> (f64, f64) {
        (self.counters.iter().map(|(.., joules)| joules).sum(), (self.last - self.start).as_secs_f64())
    }

    fn end(self) -> Result<Taken, String> {
        let (joules, seconds) = self.so_far();
        // One that stands still makes the sum wrong.
        if self.counters.iter().any(|&(.., joules)| joules <= 0.0) {
            return Err(format!("a counter did not advance in {seconds:.2} s"));
        }
        Ok(Taken { joules, seconds, note: None })
    }
}

/// What a sensor shows, over time.
struct Sampled<'a> {
    power: &'a Power,
    integral: Integral,
    start: Instant,
}

impl<'a> Sampled<'a> {
    fn begin(power: &'a Power) -> Result<Self, String> {
        let mut integral = Integral::new(f64::INFINITY);
        integral.add(0.0, power.watts()?);
        Ok(Self { power, integral, start: Instant::now() })
    }

    fn look(&mut self) -> Result<(), Miss> {
        let watts = self.power.watts().map_err(Miss::Unread)?;
        self.integral.add(self.start.elapsed().as_secs_f64(), watts);
        Ok(())
    }

    fn so_far(&self) -> (f64, f64) {
        (self.integral.joules, self.integral.seconds)
    }

    fn end(self) -> Result<Taken, String> {
        let (joules, seconds) = self.so_far();
        if joules > 0.0 { Ok(Taken { joules, seconds, note: None }) } else { Err("shows 0 W all the time".to_owned()) }
    }
}

/// What a meter's readings mean for a measurement of so many seconds: their mean is taken for all of it, so that the meter's clock
/// need not be ours.
fn heard(window: &Window, seconds: f64) -> Result<Taken, String> {
    let Window { integral, came, passed_over, example } = window;
    let damaged = match passed_over {
        0 => String::new(),
        lines => format!("{lines} lines that are no readings were passed over, such as `{example}`"),
    };
    let also = |text: String| if damaged.is_empty() { text } else { format!("{text}; {damaged}") };
    let Some(watts) = integral.watts() else {
        return Err(also(match (integral.readings, integral.breaks) {
            (0, _) => format!("no reading came in {seconds:.1} s: does it still write?"),
            (1, _) => format!("one reading came in {seconds:.1} s, and two are needed: measure for longer"),
            _ => "its times stand still, or are more than a minute apart: a header must name the unit of times, as in \
                  `ms,watts`"
                .to_owned(),
        }));
    };
    if watts <= 0.0 {
        return Err(also("shows 0 W all the time".to_owned()));
    }
    let covered = came.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    let cover = format!("its readings cover {covered:.1} s of {seconds:.1} s");
    if covered < MIN_COVER * seconds {
        return Err(also(format!("{cover}: measure for longer")));
    }
    let note = match (covered < GOOD_COVER * seconds, damaged.is_empty()) {
        (true, _) => Some(also(cover)),
        (false, false) => Some(damaged),
        (false, true) => None,
    };
    Ok(Taken { joules: watts * seconds, seconds, note })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Looks that bring something (`+`), nothing (`-`) or what cannot be (`!`), and then something for ever.
    fn looked(script: &str) -> Result<(), String> {
        let (all_seen, seen) = channel();
        let mut script = script.chars().collect::<Vec<_>>().into_iter();
        let mut look = move || match script.next() {
            Some('-') => Err(Miss::Unread("unread".to_owned())),
            Some('!') => Err(Miss::Wrong("wrong".to_owned())),
            Some(_) => Ok(()),
            None => {
                let _ = all_seen.send(());
                Ok(())
            }
        };
        let mut thread =
            Background::start("test", move |told| repeat(told, Duration::from_millis(1), &mut look)).unwrap();
        // Where a look ends it, nothing is sent any more.
        let _ = seen.recv_timeout(Duration::from_secs(60));
        thread.end().unwrap()
    }

    #[test]
    fn a_look_that_fails_is_made_again_but_not_for_ever() {
        assert_eq!(looked("+--+--+"), Ok(()));
        assert_eq!(looked("+---+"), Err("unread".to_owned()));
        assert_eq!(looked("+!+"), Err("wrong".to_owned()));
    }

    /// A meter that said 4 W all the time, from one second to another of ten.
    fn said(from: u64, to: u64, passed_over: u64) -> Result<Taken, String> {
        let start = Instant::now();
        let mut integral = Integral::new(60.0);
        (0..5).for_each(|second| integral.add(f64::from(second), 4.0));
        let at = |second| start + Duration::from_secs(second);
        let example = "x".to_owned();
        heard(&Window { integral, came: Some((at(from), at(to))), passed_over, example }, 10.0)
    }

    #[test]
    fn what_a_meter_said_in_a_part_of_the_time_is_told() {
        let taken = said(1, 9, 0).unwrap();
        assert_eq!((taken.joules, taken.seconds, taken.note), (40.0, 10.0, None));
        assert_eq!(said(1, 8, 0).unwrap().note.unwrap(), "its readings cover 7.0 s of 10.0 s");
        let damaged = "3 lines that are no readings were passed over, such as `x`";
        assert_eq!(said(1, 9, 3).unwrap().note.unwrap(), damaged);
        let refusal = said(3, 7, 3).unwrap_err();
        assert_eq!(refusal, format!("its readings cover 4.0 s of 10.0 s: measure for longer; {damaged}"));
    }
}
