//! What a device takes with each memory.

use std::time::{Duration, Instant};

use bief::{Error, Result};
use rustix::time::{ClockId, clock_gettime};

use crate::buffer::{Buffer, Memory};
use crate::device::{Found, OpenCl};
use crate::queue::{Arg, Kernel, Queue};

/// Adds 1 to each byte; `bytes` may be fewer than there are items.
const ADD: &str =
    "__kernel void add(__global uchar *data, uint bytes) { size_t i = get_global_id(0); if (i < bytes) data[i] += 1; }";

/// Items of a work-group.
const ITEMS: usize = 64;

/// What it takes to have a kernel add 1 to each byte of a buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// Making the buffer.
    pub allocate: Duration,
    /// Filling it for the first time, and the kernel: with what the driver does only then.
    pub first_run: Duration,
    /// The kernel again, on what is there.
    pub second_run: Duration,
    /// Reading it back.
    pub read_back: Duration,
    /// Filling, kernel and reading back, in the mean of all rounds.
    pub round: Duration,
    /// Of what is there already: giving it to the device, the shortest of all rounds.
    pub give: Duration,
    /// Taking it from the device, likewise.
    pub take: Duration,
    /// Of those rounds, the part of a core that the thread took while it waited for the device. Short waits take more of it: what it takes
    /// to fall asleep and to wake up.
    pub waiting_cpu: f64,
    /// Processor time that such a wait took, in the mean.
    pub waiting_time: Duration,
    /// Starting a kernel of one item, and waiting for it, in the mean.
    pub launch: Duration,
}

impl Probe {
    /// Measures, in so many rounds; each byte that is read back is checked.
    ///
    /// # Errors
    /// A device that lacks that memory, or so much of it; a byte that is wrong.
    pub fn measure(found: &Found, memory: Memory, bytes: usize, rounds: u32) -> Result<Self> {
        let device = OpenCl::open(found, memory)?;
        let queue = Queue::new(&device)?;
        let kernel = queue.kernel(&device, ADD, "add")?;
        let rounds = rounds.max(1);
        let launch = launch(&queue, &kernel, rounds)?;

        let (allocate, buffer) = timed(|| Buffer::new(&queue, bytes));
        let mut buffer = buffer?;
        let (first_run, done) = timed(|| {
            buffer.fill(bytes, |data| data.fill(0))?;
            run(&queue, &kernel, &buffer, bytes)
        });
        done?;
        let (second_run, done) = timed(|| run(&queue, &kernel, &buffer, bytes));
        done?;
        let (read_back, done) = timed(|| read(&queue, &mut buffer, bytes, 2));
        done?;
        let (mut give, mut take) = (Duration::MAX, Duration::MAX);
        for _ in 0..rounds {
            give = give.min(of_copy(&queue, || buffer.fill(bytes, |_| ()))?);
            take = take.min(of_copy(&queue, || buffer.fetch(bytes))?);
            buffer.release()?;
        }
        let (mut waited, mut cpu) = (Duration::ZERO, Duration::ZERO);
        let start = Instant::now();
        for number in 0..rounds {
            let value = number as u8;
            buffer.fill(bytes, |data| data.fill(value))?;
            launch_all(&queue, &kernel, &buffer, bytes)?;
            buffer.fetch(bytes)?;
            queue.flush()?;
            let (wall, before) = (Instant::now(), of_this_thread());
            queue.wait()?;
            waited += wall.elapsed();
            cpu += of_this_thread().saturating_sub(before);
            check(buffer.fetched(bytes), value.wrapping_add(1))?;
            buffer.release()?;
        }
        let round = start.elapsed() / rounds;
        let (waiting_cpu, waiting_time) = (cpu.as_secs_f64() / waited.as_secs_f64().max(1e-9), cpu / rounds);
        Ok(Self { allocate, first_run, second_run, read_back, round, give, take, waiting_cpu, waiting_time, launch })
    }
}

/// Starting a kernel of one item, and waiting for it, in the mean.
fn launch(queue: &Queue, kernel: &Kernel, rounds: u32) -> Result<Duration> {
    // So that nothing is compiled later.
    let mut one = Buffer::new(queue, 1)?;
    run(queue, kernel, &one, 1)?;
    let start = Instant::now();
    (0..rounds).try_for_each(|_| run(queue, kernel, &one, 1))?;
    let launch = start.elapsed() / rounds;
    one.release()?;
    Ok(launch)
}

/// What a copy takes, without falling asleep.
fn of_copy(queue: &Queue, copy: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let (time, done) = timed(|| copy().and_then(|()| queue.finish()));
    done.map(|()| time)
}

fn timed<T>(act: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = act();
    (start.elapsed(), done)
}

fn launch_all(queue: &Queue, kernel: &Kernel, buffer: &Buffer, bytes: usize) -> Result<()> {
    let count = u32::try_from(bytes).map_err(|_| Error::new("a probe has less than 4 GiB"))?;
    // SAFETY: the kernel adds to the first `bytes` bytes of the buffer, which has as many.
    unsafe { queue.launch(kernel, (bytes.div_ceil(ITEMS), ITEMS), &[Arg::Buffer(buffer), Arg::Number(count)]) }
}

fn run(queue: &Queue, kernel: &Kernel, buffer: &Buffer, bytes: usize) -> Result<()> {
    launch_all(queue, kernel, buffer, bytes)?;
    queue.wait()
}

fn read(queue: &Queue, buffer: &mut Buffer, bytes: usize, expected: u8) -> Result<()> {
    buffer.fetch(bytes)?;
    queue.wait()?;
    check(buffer.fetched(bytes), expected)?;
    buffer.release()
}

fn check(data: &[u8], expected: u8) -> Result<()> {
    match data.iter().position(|&byte| byte != expected) {
        None => Ok(()),
        Some(at) => Err(Error::new(format!("byte {at} came back as {}, and {expected} was expected", data[at]))),
    }
}

/// Processor time of the calling thread.
fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_gives_back_what_was_made_of_it() {
        let Some(found) = crate::find().ok().and_then(|found| found.into_iter().next()) else {
            eprintln!("left out: no OpenCL device is here");
            return;
        };
        for memory in Memory::ALL {
            for bytes in [1, 100, 70_000] {
                let probe = Probe::measure(&found, memory, bytes, 3).unwrap();
                assert!(!probe.round.is_zero() && !probe.launch.is_zero(), "{memory} {bytes}");
            }
        }
        let error = Probe::measure(&found, Memory::Copy, usize::MAX >> 8, 1).unwrap_err().to_string();
        assert!(error.contains("is asked for"), "{error}");
    }
}
