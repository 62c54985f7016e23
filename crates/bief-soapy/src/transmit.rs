//! Samples to a radio.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use bief::{Error, Result};

use crate::api::{self, Api, END_BURST, TX};
use crate::device::{Device, Stream};
use crate::ramp::Ramp;
use crate::settings::Settings;
use crate::worker::{Beat, LOOK, Limits, Worker};

/// Samples that are handed over at once, and how often; a second of a slow radio.
const CHUNK: usize = 16_384;
const CHUNKS: usize = 16;
/// Part of a rate by which the radio's may be another: receivers follow a clock that is so wrong.
const SAME_RATE: f64 = 20e-6;
/// Seconds of zeros behind the last sample: what radios hold back is sent by then.
const ZEROS: f64 = 0.02;

/// A radio that transmits what is written to it: samples that are `cf32`, whole. What is written at once waits no longer than
/// 16 times 16384 samples.
///
/// The transmission begins with a ramp, and ends with another and with zeros when this is dropped or [finished](Self::finish). Who may
/// transmit where, and how, the law says.
pub struct Transmission {
    /// `None` once it is finished.
    full: Option<SyncSender<Vec<[f32; 2]>>>,
    free: Receiver<Vec<[f32; 2]>>,
    chunk: Vec<[f32; 2]>,
    /// Bytes of a sample that is not whole.
    part: [u8; 8],
    part_bytes: usize,
    rate: f64,
    sent: Sent,
    name: String,
    worker: Worker,
}

/// What was sent, while it is and afterwards.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    samples: AtomicU64,
    underflows: AtomicU64,
    is_silent: AtomicU64,
    fault: Mutex<Option<Error>>,
}

impl Sent {
    /// Samples that the radio took, with ramps and zeros.
    pub fn samples(&self) -> u64 {
        self.0.samples.load(Ordering::Relaxed)
    }

    /// Times that the radio ran out of samples; `None` from a driver that never says.
    pub fn underflows(&self) -> Option<u64> {
        (self.0.is_silent.load(Ordering::Relaxed) == 0).then(|| self.0.underflows.load(Ordering::Relaxed))
    }

    /// What went wrong when a transmission that was not [finished](Transmission::finish) was dropped.
    pub fn fault(&self) -> Option<Error> {
        self.0.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Transmission {
    /// Opens a radio, in SoapySDR's words, and sets it.
    ///
    /// # Errors
    /// SoapySDR is not there, or no such radio; settings that it cannot have, such as a rate that it does not make; a gain that nobody
    /// said.
    pub fn open(radio: &str, settings: &Settings) -> Result<Self> {
        settings.check_transmission()?;
        Self::open_within(api::loaded()?, radio, settings.clone(), Limits::default())
    }

    fn open_within(api: Api, radio: &str, settings: Settings, limits: Limits) -> Result<Self> {
        let ((full, chunks), (used, free)) = (sync_channel(CHUNKS), sync_channel(CHUNKS));
        (1..CHUNKS).try_for_each(|_| used.send(Vec::with_capacity(CHUNK))).expect("it has room for all");
        let (ready, opened) = sync_channel(1);
        let sent = Sent::default();
        let (name, counts, radio) = (format!("soapy:{radio}"), sent.clone(), radio.to_owned());
        let mut worker = Worker::start(limits, move |beat, _| {
            let device = Device::open(api, &radio, beat)?;
            let rate = device.tune(TX, &settings)?;
            // Before anything is switched on: a signal that is faster or slower is another one.
            if (rate / settings.rate - 1.0).abs() > SAME_RATE {
                let wanted = settings.rate;
                return Err(Error::new(format!(
                    "the radio makes {rate} samples per second of {wanted}: ask for a rate that it makes"
                )));
            }
            let stream = device.stream(TX, settings.channel)?;
            // Nobody is there any more when it is refused.
            let _ = ready.send(rate);
            Sender { stream, counts, limits, beat, asks: true }.transmit(&chunks, &used, rate)
        })?;
        let rate = loop {
            let error = match opened.recv_timeout(LOOK) {
                Ok(rate) => break rate,
                Err(RecvTimeoutError::Timeout) => match worker.beat.check() {
                    Ok(()) => continue,
                    Err(error) => error,
                },
                Err(RecvTimeoutError::Disconnected) => {
                    worker.outcome().err().unwrap_or_else(|| Error::new("the radio has ended"))
                }
            };
            return Err(Error::new(format!("{name}: {error}")));
        };
        let chunk = Vec::with_capacity(CHUNK);
        Ok(Self { full: Some(full), free, chunk, part: [0; 8], part_bytes: 0, rate, sent, name, worker })
    }

    /// Samples per second that the radio makes of what was wanted.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// What tells how much was sent.
    pub fn sent(&self) -> Sent {
        self.sent.clone()
    }

    /// Ends the transmission, once the radio has taken all of it.
    ///
    /// # Errors
    /// A radio that went away, or a driver that hangs.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let last = self.hand_over();
        self.full = None;
        let ended = self.worker.wait().map_err(|error| Error::new(format!("{}: {error}", self.name)));
        ended.and(last.map_err(Error::from_source))
    }

    fn fault(&mut self) -> io::Error {
        let error = self.worker.wait().err().unwrap_or_else(|| Error::new("the transmission has ended"));
        io::Error::other(format!("{}: {error}", self.name))
    }

    /// Hands over what was written, and takes an empty chunk.
    fn hand_over(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let Some(full) = &self.full else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut next = loop {
            match self.free.recv_timeout(LOOK) {
                Ok(next) => break next,
                Err(RecvTimeoutError::Timeout) => {
                    self.worker.beat.check().map_err(|error| io::Error::other(format!("{}: {error}", self.name)))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.fault()),
            }
        };
        next.clear();
        // It has room for all chunks that there are.
        match full.send(std::mem::replace(&mut self.chunk, next)) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.fault()),
        }
    }
}

impl Write for Transmission {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.chunk.len() == CHUNK {
            self.hand_over()?;
        }
        if self.part_bytes > 0 || bytes.len() < 8 {
            let some = bytes.len().min(8 - self.part_bytes);
            self.part[self.part_bytes..][..some].copy_from_slice(&bytes[..some]);
            self.part_bytes = (self.part_bytes + some) % 8;
            if self.part_bytes == 0 && some > 0 {
                self.chunk.push(sample(self.part));
            }
            return Ok(some);
        }
        let whole = (bytes.len() / 8).min(CHUNK - self.chunk.len());
        let (samples, _) = bytes[..8 * whole].as_chunks();
        self.chunk.extend(samples.iter().map(|&bytes| sample(bytes)));
        Ok(8 * whole)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

fn sample([a, b, c, d, e, f, g, h]: [u8; 8]) -> [f32; 2] {
    [f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h])]
}

impl Drop for Transmission {
    fn drop(&mut self) {
        if self.full.is_some() {
            let fault = self.end().err();
            *self.sent.0.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
        }
    }
}

impl fmt::Debug for Transmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transmission").field("radio", &self.name).field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The thread's side.
struct Sender<'d, 'a> {
    stream: Stream<'d, 'a>,
    counts: Sent,
    limits: Limits,
    beat: &'a Beat,
    /// Whether the driver tells underflows.
    asks: bool,
}

impl Sender<'_, '_> {
    fn transmit(mut self, chunks: &Receiver<Vec<[f32; 2]>>, used: &SyncSender<Vec<[f32; 2]>>, rate: f64) -> Result<()> {
        let mut ramp = Ramp::new();
        let mut has_begun = false;
        while let Ok(chunk) = chunks.recv() {
            has_begun = true;
            ramp.push(&chunk, &mut |samples: &[[f32; 2]]| self.send(samples, 0))?;
            // Who writes may be gone.
            let _ = used.send(chunk);
        }
        if !has_begun {
            return Ok(());
        }
        ramp.finish(&mut |samples: &[[f32; 2]]| self.send(samples, 0))?;
        let zeros = vec![[0.0; 2]; (ZEROS * rate) as usize + self.stream.mtu];
        let (most, last) = zeros.split_at(zeros.len() - 1);
        self.send(most, 0)?;
        self.send(last, END_BURST)
    }

    /// Sends all of these; the radio takes them when it has room.
    fn send(&mut self, mut samples: &[[f32; 2]], flags: i32) -> Result<()> {
        let mut since = self.beat.elapsed();
        while !samples.is_empty() {
            let sent = self.stream.write(samples, flags)?;
            samples = &samples[sent..];
            self.counts.0.samples.fetch_add(sent as u64, Ordering::Relaxed);
            let now = self.beat.elapsed();
            if sent > 0 {
                since = now;
            } else if now.saturating_sub(since) > self.limits.silence {
                let seconds = self.limits.silence.as_secs_f64();
                return Err(Error::new(format!("the radio has taken no samples for {seconds} s: is it still there?")));
            }
            self.count_underflows();
        }
        Ok(())
    }

    fn count_underflows(&mut self) {
        while self.asks {
            match self.stream.underflow() {
                Some(true) => drop(self.counts.0.underflows.fetch_add(1, Ordering::Relaxed)),
                Some(false) => return,
                None => {
                    self.counts.0.is_silent.store(1, Ordering::Relaxed);
                    self.asks = false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fake;
    use crate::ramp::RAMP;

    fn open(radio: &str, limits: Limits) -> Transmission {
        let mut settings = Settings::new(433.92e6, 28.8e6 / 14.0);
        settings.gain = Some("20".parse().unwrap());
        Transmission::open_within(fake::API, &format!("driver=fake,reads=100000,{radio}"), settings, limits).unwrap()
    }

    fn signal(samples: usize) -> (Vec<[f32; 2]>, Vec<u8>) {
        let samples: Vec<_> = (0..samples).map(|k| [k as f32, -(k as f32)]).collect();
        let bytes = samples.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        (samples, bytes)
    }

    #[test]
    fn samples_are_sent_whole_between_ramps_and_zeros() {
        let (samples, bytes) = signal(100_000);
        let mut radio = open("name=tx,hangs=1", Limits::default());
        let counts = radio.sent();
        // In pieces that end inside samples.
        bytes.chunks(10_001).try_for_each(|piece| radio.write_all(piece)).unwrap();
        radio.finish().unwrap();
        let sent = fake::sent("tx");
        assert_eq!(sent[RAMP..RAMP + samples.len()], samples);
        let behind = &sent[2 * RAMP + samples.len()..];
        assert!(behind.len() >= 40_000 && behind.iter().all(|&x| x == [0.0; 2]));
        assert_eq!((counts.samples(), counts.underflows()), (sent.len() as u64, None));
        let expected =
            ["rate 2057142.857142857", "frequency 433920000", "gain 20", "setup CF32", "activate", "end of burst"];
        assert_eq!(fake::log("tx")[..6], expected);
        assert_eq!(fake::log("tx")[6..], ["deactivate", "close", "unmake"]);
    }

    #[test]
    fn what_is_dropped_ends_with_its_ramp() {
        let (samples, bytes) = signal(3000);
        let mut radio = open("name=dropped,hangs=1", Limits::default());
        radio.write_all(&bytes).unwrap();
        drop(radio);
        let sent = fake::sent("dropped");
        assert_eq!(sent[RAMP..RAMP + 3000], samples);
        assert_eq!(sent.last(), Some(&[0.0; 2]));
        assert!(fake::log("dropped").contains(&"unmake".to_owned()));
        // Nothing is sent of nothing.
        drop(open("name=nothing,hangs=1", Limits::default()));
        assert!(fake::sent("nothing").is_empty());
    }

    #[test]
    fn a_radio_that_goes_away_is_an_error() {
        let (_, bytes) = signal(1_000_000);
        let mut settings = Settings::new(433.92e6, 28.8e6 / 14.0);
        settings.gain = Some("20".parse().unwrap());
        let limits = Limits { silence: Duration::from_millis(500), ..Limits::default() };
        let broken = "driver=fake,reads=50,breaks=1,name=tx-gone";
        let mut radio = Transmission::open_within(fake::API, broken, settings, limits).unwrap();
        let error = radio.write_all(&bytes).and_then(|()| radio.flush()).unwrap_err().to_string();
        assert!(error.contains("takes no samples any more: STREAM_ERROR"), "{error}");
        let mut settings = Settings::new(433.92e6, 2e6);
        settings.gain = Some("20".parse().unwrap());
        let other = Transmission::open_within(fake::API, "driver=fake,reads=1,name=rate", settings, limits);
        assert!(other.unwrap_err().to_string().contains("makes 2057142.857142857 samples per second of 2000000"));
        assert!(!fake::log("rate").contains(&"activate".to_owned()));
        let unsaid = Settings::new(433.92e6, 28.8e6 / 14.0);
        assert!(Transmission::open("driver=fake", &unsaid).unwrap_err().to_string().contains("gain"));
    }

    #[test]
    fn underflows_are_counted() {
        let (_, bytes) = signal(20_000);
        let mut radio = open("name=under", Limits::default());
        let counts = radio.sent();
        radio.write_all(&bytes).unwrap();
        radio.finish().unwrap();
        assert!(counts.underflows().unwrap() > 0);
    }
}
