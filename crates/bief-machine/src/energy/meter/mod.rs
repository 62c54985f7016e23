//! External power meters: lines of readings, as they come.

mod line;
mod log;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(super) use self::line::MAX_WATTS;
use self::line::{Format, Line, Lines};
pub use self::log::MeterLog;
use super::background::{Background, Told};
use super::integral::Integral;
use super::tree::{open, printable};
use crate::error::{Error, Result};

/// How often the thread looks for what has come.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes that are taken at one look, so that what has no end leaves the processor to others: 800 kB a second.
const CHUNK: usize = 1 << 14;
/// Bytes at the start of a file in which its header is looked for.
const HEAD: u64 = 4096;
/// Readings that are further apart, in seconds by the meter's clock, are not joined.
const LONGEST_GAP: f64 = 60.0;
/// Characters that a message shows of a damaged line.
const SHOWN: usize = 40;

/// A power meter that writes its readings into a file that grows, a pipe or a serial line.
///
/// A line is `time,watts` or `watts`. Between fields stands `,` or `;`, a tab or blanks; with `;` numbers may have a comma for
/// their point. A header may name the columns, of which there may be more then: `time`, `seconds`, `s`, `timestamp` or `ms`, `us`;
/// `watts`, `W`, `power` or `mW`, `power_mw`, `uW`. Times are numbers, of seconds where no name says otherwise. Lines that start
/// with `#` are remarks; what is no reading is counted and passed over, and so is a power below 0 or above 100 kW.
///
/// What a file held before is passed over but for its header. A serial line must be set up before, as by
/// `stty -F /dev/ttyUSB0 115200 raw`, and its first line is passed over, since its beginning may be missing.
///
/// A thread of its own looks for new lines 50 times a second and never waits inside the system: a pipe that nobody writes into
/// and a line that is silent hold up nothing. Dropping the meter tells the thread to end and waits for that, which takes no longer
/// than one look; where a file system does not answer, no longer than 2 seconds.
///
/// Give it to [`EnergyMeter::with_meter`](super::EnergyMeter::with_meter); a file that is finished is for [`MeterLog`].
///
/// ```
/// use bief_machine::energy::{EnergyMeter, Meter};
///
/// let path = std::env::temp_dir().join(format!("bief-meter-example-{}.csv", std::process::id()));
/// std::fs::write(&path, "time,watts\n")?;
/// let meter = EnergyMeter::find().with_meter(Meter::open(&path)?);
/// assert!(meter.sources().iter().any(|source| source.name() == "meter"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), bief_machine::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    path: PathBuf,
    state: Arc<Mutex<State>>,
    thread: Background<()>,
}

/// What the thread and measurements look at in turn.
#[derive(Debug)]
struct State {
    file: File,
    lines: Lines,
    format: Format,
    /// Where the time of readings that tell none begins.
    start: Instant,
    /// When it was looked at before.
    looked: Instant,
    /// Measurements that go on, by a number that is theirs alone.
    windows: Vec<(u64, Window)>,
    next: u64,
    /// Why nothing comes any more.
    fault: Option<String>,
}

/// Readings of one measurement.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) integral: Integral,
    /// When the first and the last came, by our clock.
    pub(super) came: Option<(Instant, Instant)>,
    pub(super) passed_over: u64,
    /// The last of these lines.
    pub(super) example: String,
}

impl Meter {
    /// Opens a file, a pipe or a serial line, and starts to listen.
    ///
    /// # Errors
    /// It cannot be opened, or is none of these.
    pub fn open(path: &Path) -> Result<Self> {
        let fault = |what: &dyn std::fmt::Display| Error::unavailable(format!("{}: {what}", path.display()));
        if std::fs::metadata(path).map_err(|error| fault(&error))?.is_dir() {
            return Err(fault(&"is a folder: a meter is a file that grows, a pipe or a serial line"));
        }
        let file = open(path).map_err(|error| fault(&error))?;
        let state = Arc::new(Mutex::new(State::new(file).map_err(|error| fault(&error))?));
        let shared = Arc::clone(&state);
        let listen = move |told: &Told| while !told.to_end_within(LOOK) && lock(&shared).look() {};
        let thread = Background::start("meter", listen).map_err(|error| fault(&error))?;
        Ok(Self { path: path.to_owned(), state, thread })
    }

    /// What was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to sum up the readings that come from now on; answers the number of the sum.
    pub(super) fn begin(&self) -> u64 {
        let mut state = lock(&self.state);
        state.look();
        let number = state.next;
        state.next += 1;
        let integral = Integral::new(LONGEST_GAP);
        state.windows.push((number, Window { integral, came: None, passed_over: 0, example: String::new() }));
        number
    }

    /// Ends the sum with that number, with all that has come.
    ///
    /// # Errors
    /// What the meter says cannot be understood, or it went away.
    pub(super) fn end(&self, number: u64) -> Result<Window, String> {
        let mut state = lock(&self.state);
        state.look();
        let index = state.windows.iter().position(|(of, _)| *of == number);
        let window = index.map(|index| state.windows.swap_remove(index).1);
        let path = self.path.display();
        match (&state.fault, window) {
            (Some(fault), _) => Err(format!("{path}: {fault}")),
            (None, _) if state.format.lacks_power() => {
                Err(format!("{path}: the header names no power: one column must be `watts` or `power_mw`"))
            }
            (None, window) => window.ok_or_else(|| format!("{path}: was not begun")),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.thread.end();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn new(mut file: File) -> std::io::Result<Self> {
        let (mut lines, mut format) = (Lines::default(), Format::default());
        let kind = file.metadata()?;
        if kind.is_file() {
            let mut head = Vec::new();
            file.by_ref().take(HEAD).read_to_end(&mut head)?;
            // The whole file may be one line that goes on.
            if let Some(end) = head.iter().position(|byte| b"\r\n".contains(byte)) {
                format.read(&head[..end]);
            }
            if let Some(before_last) = file.seek(SeekFrom::End(0))?.checked_sub(1) {
                file.seek(SeekFrom::Start(before_last))?;
                let mut last = [b'\n'];
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    lines = Lines::cut();
                }
            }
        } else if !is_pipe(&kind) {
            lines = Lines::cut();
        }
        let now = Instant::now();
        Ok(Self { file, lines, format, start: now, looked: now, windows: Vec::new(), next: 0, fault: None })
    }

    /// Takes what has come since the look before; tells whether more may come.
    fn look(&mut self) -> bool {
        let mut chunk = [0; CHUNK];
        let length = match self.file.read(&mut chunk) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => {
                self.fault = Some(error.to_string());
                return false;
            }
        };
        let now = Instant::now();
        let before = std::mem::replace(&mut self.looked, now);
        let (mut readings, mut passed_over, mut example) = (Vec::new(), 0, None);
        let (format, lines) = (&mut self.format, &mut self.lines);
        lines.feed(&chunk[..length], |line| match line.map_or(Line::Garbage, |line| format.read(line)) {
            Line::Reading { seconds, watts } => readings.push((seconds, watts)),
            Line::Other => {}
            Line::Garbage => {
                passed_over += 1;
                example = Some(printable(&String::from_utf8_lossy(line.unwrap_or(b"a line without end")), SHOWN));
            }
        });
        // Readings without a time are spread over the time since the look before.
        let (first, step) = (before - self.start, (now - before).as_secs_f64() / readings.len().max(1) as f64);
        for (_, window) in &mut self.windows {
            for (index, (seconds, watts)) in readings.iter().enumerate() {
                let arrived = || first.as_secs_f64() + (index + 1) as f64 * step;
                window.integral.add(seconds.unwrap_or_else(arrived), *watts);
            }
            if !readings.is_empty() {
                window.came = Some((window.came.map_or(now, |(first, _)| first), now));
            }
            window.passed_over += passed_over;
            if let Some(example) = &example {
                window.example.clone_from(example);
            }
        }
        true
    }
}

#[cfg(unix)]
fn is_pipe(kind: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&kind.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &std::fs::Metadata) -> bool {
    false
}
