//! Samples of a radio.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use bief::kinds::{ByteSource, Gaps};
use bief::{Error, Result};

use crate::api::{Api, RX};
use crate::device::{Came, Device};
use crate::losses::Losses;
use crate::settings::Settings;
use crate::worker::{Beat, LOOK, Limits, Worker};

/// Bytes that wait at most for who reads, and the number of blocks that they are in.
const WAITING: usize = 64 << 20;
const FEWEST_BLOCKS: usize = 16;
const MOST_BLOCKS: usize = 4096;

/// Samples that came with one read.
struct Block {
    bytes: Box<[u8]>,
    len: usize,
    /// Samples missing before these.
    lost: u64,
}

/// What the thread tells when the radio is open.
struct Opened {
    format: &'static str,
    each: usize,
    rate: f64,
    full: Receiver<Block>,
    free: SyncSender<Box<[u8]>>,
}

/// Opens a radio, sets it, and gives its samples.
pub(crate) fn open(api: Api, radio: String, settings: Settings) -> Result<ByteSource> {
    open_within(api, radio, settings, Limits::default())
}

/// The same, with other limits of patience.
pub(crate) fn open_within(api: Api, radio: String, settings: Settings, limits: Limits) -> Result<ByteSource> {
    let (ready, opened) = sync_channel(1);
    let name = format!("soapy:{radio}");
    let mut worker =
        Worker::start(limits, move |beat, end| Listener { api, radio, settings, limits, beat, end }.listen(&ready))?;
    let named = |error: &Error| Error::new(format!("{name}: {error}"));
    let opened: Opened = loop {
        match opened.recv_timeout(LOOK) {
            Ok(opened) => break opened,
            Err(RecvTimeoutError::Timeout) => worker.beat.check().map_err(|error| named(&error))?,
            Err(RecvTimeoutError::Disconnected) => {
                let error = worker.outcome().err().unwrap_or_else(|| Error::new("the radio has ended"));
                return Err(named(&error));
            }
        }
    };
    let Opened { format, each, rate, full, free } = opened;
    let gaps = Gaps::new(if format == "cu8" { 128 } else { 0 });
    let samples = Samples { full, free, block: None, read: 0, each: each as u64, gaps: gaps.clone(), name, worker };
    let mut source = ByteSource::new(samples);
    (source.format, source.rate, source.gaps) = (Some(format.to_owned()), Some(rate), Some(gaps));
    Ok(source)
}

/// The thread's side.
struct Listener<'a> {
    api: Api,
    radio: String,
    settings: Settings,
    limits: Limits,
    beat: &'a Beat,
    end: &'a AtomicBool,
}

/// What stays when a radio goes away and comes back.
struct Link {
    full: SyncSender<Block>,
    freed: Receiver<Box<[u8]>>,
    free: Vec<Box<[u8]>>,
    /// The one that is filled next.
    block: Box<[u8]>,
    /// What there was no room for, in samples, and what else is missing before the next ones.
    lost: u64,
    /// What the radio was, and when it was last heard.
    format: &'static str,
    rate: f64,
    heard: Instant,
}

impl Listener<'_> {
    fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    fn listen(&self, ready: &SyncSender<Opened>) -> Result<()> {
        let mut link = None;
        loop {
            match self.connection(&mut link, ready) {
                Err(_) if self.settings.reconnect && link.is_some() => {}
                outcome => return outcome,
            }
            let until = Instant::now() + self.limits.again;
            while Instant::now() < until {
                if self.is_over() {
                    return Ok(());
                }
                thread::sleep(LOOK.min(self.limits.again));
            }
        }
    }

    /// Opens the radio, and passes on its samples until it is told to end, or cannot.
    fn connection(&self, link: &mut Option<Link>, ready: &SyncSender<Opened>) -> Result<()> {
        let device = Device::open(self.api, &self.radio, self.beat)?;
        let rate = device.tune(RX, &self.settings)?;
        let stream = device.stream(RX, self.settings.channel)?;
        let mut losses = Losses::new(rate);
        let link = match link {
            Some(link) => {
                if (link.format, link.rate) != (stream.format, rate) {
                    return Err(Error::new("the radio came back with another format or sample rate"));
                }
                link
            }
            None => {
                let bytes = stream.mtu * stream.each;
                let blocks = (WAITING / bytes).clamp(FEWEST_BLOCKS, MOST_BLOCKS);
                let ((full, heard), (free, freed)) = (sync_channel(blocks), sync_channel(blocks));
                let opened = Opened { format: stream.format, each: stream.each, rate, full: heard, free };
                if ready.send(opened).is_err() {
                    return Ok(());
                }
                let new = || vec![0; bytes].into_boxed_slice();
                let free = (0..blocks).map(|_| new()).collect();
                let (format, heard) = (stream.format, Instant::now());
                link.insert(Link { full, freed, free, block: new(), lost: 0, format, rate, heard })
            }
        };
        // Of a radio that came back, what is missing is known when it gives something.
        let mut is_back = link.heard.elapsed() > self.limits.again;
        let mut quiet = Instant::now();
        while !self.is_over() {
            match stream.read(&mut link.block)? {
                Came::Samples(count, stamp) => {
                    let now = Instant::now();
                    let missing = match std::mem::take(&mut is_back) {
                        true => {
                            let missing = losses.after_pause(now.duration_since(link.heard), rate);
                            losses.before(count, stamp, now);
                            missing.saturating_sub(count as u64)
                        }
                        false => losses.before(count, stamp, now),
                    };
                    (link.heard, quiet) = (now, now);
                    link.lost += missing;
                    link.pass_on(count, stream.each);
                }
                Came::Overflow => losses.overflow(),
                Came::Nothing if quiet.elapsed() > self.limits.silence => {
                    return Err(Error::new(format!(
                        "the radio has given no samples for {} s: is it still there?",
                        self.limits.silence.as_secs_f64()
                    )));
                }
                Came::Nothing => {}
            }
        }
        Ok(())
    }
}

impl Link {
    /// Passes on so many samples of the block, or drops them.
    fn pass_on(&mut self, count: usize, each: usize) {
        self.free.extend(self.freed.try_iter());
        match self.free.pop() {
            Some(next) => {
                let bytes = std::mem::replace(&mut self.block, next);
                let block = Block { bytes, len: count * each, lost: std::mem::take(&mut self.lost) };
                // It is refused only when nobody reads any more, who tells this thread to end.
                let _ = self.full.try_send(block);
            }
            None => self.lost += count as u64,
        }
    }
}

/// The samples, for who reads them.
struct Samples {
    full: Receiver<Block>,
    free: SyncSender<Box<[u8]>>,
    /// What is being read, and how far.
    block: Option<Block>,
    read: usize,
    each: u64,
    gaps: Gaps,
    name: String,
    worker: Worker,
}

impl Read for Samples {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(block) = &self.block {
            let bytes = buffer.len().min(block.len - self.read);
            buffer[..bytes].copy_from_slice(&block.bytes[self.read..self.read + bytes]);
            self.read += bytes;
            if let Some(block) = self.block.take_if(|block| self.read == block.len) {
                // It is refused only when the thread has ended.
                let _ = self.free.try_send(block.bytes);
            }
            return Ok(bytes);
        }
        let named = |error: Error| io::Error::other(format!("{}: {error}", self.name));
        match self.full.recv_timeout(LOOK) {
            Ok(block) => {
                let lost = block.lost;
                (self.block, self.read) = (Some(block), 0);
                if lost == 0 {
                    return self.read(buffer);
                }
                self.gaps.lose(lost * self.each);
            }
            Err(RecvTimeoutError::Timeout) => self.worker.beat.check().map_err(named)?,
            Err(RecvTimeoutError::Disconnected) => return self.worker.outcome().map(|()| 0).map_err(named),
        }
        // Whoever reads looks what is missing, and whether it should go on.
        Err(io::ErrorKind::Interrupted.into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fake;

    const LIMITS: Limits = Limits {
        open: Duration::from_secs(1),
        call: Duration::from_secs(1),
        silence: Duration::from_millis(200),
        again: Duration::from_millis(50),
    };

    fn opened(radio: &str, change: impl FnOnce(&mut Settings)) -> Result<ByteSource> {
        let mut settings = Settings::new(433.92e6, 2e6);
        change(&mut settings);
        open_within(fake::API, format!("driver=fake,{radio}"), settings, LIMITS)
    }

    /// All numbers of samples that come, with what is missing before each block of them, and what ended it.
    fn heard(mut source: ByteSource) -> (Vec<u32>, u64, String) {
        let gaps = source.gaps.take().unwrap();
        let (mut numbers, mut missing, mut buffer) = (Vec::new(), 0, [0; 4096]);
        loop {
            match source.reader.read(&mut buffer) {
                Ok(0) => return (numbers, missing, String::new()),
                Ok(bytes) => {
                    let numbered = |sample: &[u8]| u32::from_le_bytes(sample.try_into().unwrap());
                    let first = numbered(&buffer[..4]);
                    let told = gaps.take() / 4;
                    let expected = numbers.last().map_or(u64::from(first), |last| u64::from(last + 1) + told);
                    assert_eq!(u64::from(first), expected, "{told} are missing, as it says");
                    missing += told;
                    numbers.extend(buffer[..bytes].chunks_exact(4).map(numbered));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (numbers, missing, error.to_string()),
            }
        }
    }

    #[test]
    fn samples_come_whole_behind_timeouts_and_overflows() {
        let source = opened("name=whole,reads=60", |_| ()).unwrap();
        assert_eq!((source.format.as_deref(), source.rate), (Some("ci16"), Some(28.8e6 / 14.0)));
        let (numbers, missing, ended) = heard(source);
        assert!(ended.contains("no samples for 0.2 s: is it still there?"), "{ended}");
        // Every 5th read times out, every 7th is an overflow behind which 1000 samples are missing.
        assert_eq!(numbers.len(), 60 * 1024);
        assert!((9_000..=14_000).contains(&missing) && missing % 1000 == 0, "{missing}");
        assert!(fake::log("whole").ends_with(&["deactivate".into(), "close".into(), "unmake".into()]));
    }

    #[test]
    fn everything_is_set_in_order() {
        let source = opened("name=set,reads=1", |settings| {
            settings.bandwidth = Some(1.5e6);
            settings.antenna = Some("RX".to_owned());
            settings.ppm = Some(-2.0);
            settings.gain = Some("LNA=20,IF=10".parse().unwrap());
            settings.settings = vec![("key".to_owned(), "value".to_owned())];
        });
        drop(source.unwrap());
        let expected = [
            "rate 2000000",
            "bandwidth 1500000",
            "antenna RX",
            "ppm -2",
            "frequency 433920000",
            "agc false",
            "gain LNA 20",
            "gain IF 10",
            "setting key value",
            "setup CS16",
            "activate",
            "deactivate",
            "close",
            "unmake",
        ];
        assert_eq!(fake::log("set"), expected);
        let auto = opened("name=auto,reads=1", |_| ());
        drop(auto.unwrap());
        assert_eq!(fake::log("auto")[..3], ["rate 2000000", "frequency 433920000", "agc true"]);
    }

    #[test]
    fn what_the_radio_cannot_is_refused() {
        let refused = |radio: &str, change: fn(&mut Settings)| opened(radio, change).err().unwrap().to_string();
        assert!(refused("name=none", |_| ()).contains("`bief radio` lists those that are there"));
        for (change, words) in [
            (
                (|settings| settings.antenna = Some("LOOP".into())) as fn(&mut Settings),
                "no antenna is called `LOOP`: there are RX, TX/RX",
            ),
            (|settings| settings.gain = Some("VGA=1".parse().unwrap()), "no gain is called `VGA`: there are LNA, IF"),
            (|settings| settings.frequency = 5e9, "5000000000 Hz: the radio has 24000000 to 1766000000 Hz"),
            (|settings| settings.channel = 1, "channel 1: the radio has 1 to receive"),
            (|settings| settings.bias_tee = true, "which setting of driver fake feeds the cable"),
            (|settings| settings.antenna = Some("a\0".into()), "no antenna is called"),
            (|settings| settings.settings = vec![("a\0".into(), String::new())], "a character 0"),
            (|settings| settings.rate = 1e9, "the radio does not take the sample rate: too fast"),
        ] {
            let message = refused("name=refuse,reads=1", change);
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn a_radio_that_goes_away_is_waited_for_when_asked() {
        let (numbers, _, ended) = heard(opened("name=gone,reads=20,breaks=1", |_| ()).unwrap());
        assert!(ended.contains("soapy:driver=fake,name=gone") && ended.contains("STREAM_ERROR"), "{ended}");
        assert_eq!(numbers.len(), 20 * 1024, "what came before is given");

        let mut source = opened("name=back,reads=20,breaks=1", |settings| settings.reconnect = true).unwrap();
        let gaps = source.gaps.take().unwrap();
        let begun = Instant::now();
        let mut bytes = vec![0; 50 * 1024 * 4];
        source.reader.read_exact(&mut bytes).unwrap();
        let elapsed = begun.elapsed().as_secs_f64();
        // Two pauses of 50 ms at least, by the clock.
        let (missing, rate) = (gaps.total() / 4, 28.8e6 / 14.0);
        assert!((0.09..elapsed).contains(&(missing as f64 / rate)), "{missing} in {elapsed} s");
        assert!(fake::log("back").iter().filter(|line| *line == "activate").count() >= 3);
    }

    #[test]
    fn a_driver_that_hangs_is_told_of_and_left() {
        let (numbers, _, ended) = heard(opened("name=hang,reads=5,hangs=1", |_| ()).unwrap());
        assert!(ended.contains("the driver hangs: told to give samples, it has not returned"), "{ended}");
        assert_eq!(numbers.len(), 5 * 1024);
        let refused = opened("name=stuck,sleeps=1", |_| ()).err().unwrap().to_string();
        assert!(refused.contains("told to open"), "{refused}");
    }

    #[test]
    fn what_nobody_reads_is_dropped_and_counted() {
        let ((full, heard), (free, freed)) = (sync_channel(2), sync_channel(2));
        let new = || vec![0; 4096].into_boxed_slice();
        let (blocks, now) = (vec![new(), new()], Instant::now());
        let mut link = Link { full, freed, free: blocks, block: new(), lost: 3, format: "ci16", rate: 1e6, heard: now };
        for count in [1024, 1000, 10, 20] {
            link.pass_on(count, 4);
        }
        let taken: Vec<Block> = heard.try_iter().collect();
        assert_eq!(taken.iter().map(|block| (block.len, block.lost)).collect::<Vec<_>>(), [(4096, 3), (4000, 0)]);
        free.try_send(new()).unwrap();
        link.pass_on(5, 4);
        let block = heard.try_recv().unwrap();
        assert_eq!((block.len, block.lost), (20, 30));
    }
}
