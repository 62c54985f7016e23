//! A dongle on another machine, behind the program `rtl_tcp`.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::str::FromStr;
use std::time::{Duration, Instant};

use bief::kinds::{Address, AddressOptions, ByteSource, Gaps, Opener};
use bief::{Error, Result};

use crate::tcp::connect;

/// The port of `rtl_tcp`.
const PORT: u16 = 1234;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(5);
/// Samples that come so soon after the settings were made before them.
const SETTLING: Duration = Duration::from_millis(150);
/// Half a sample of nothing.
const SILENT: u8 = 128;
/// Between two tries to reach a server again.
const AGAIN: Duration = Duration::from_millis(500);
/// The clock of an RTL2832, in Hz, and its steps.
const CRYSTAL: f64 = 28.8e6;
const STEPS: f64 = (1 << 22) as f64;

/// What a dongle is set to.
///
/// The samples are `cu8`. The rate is what the chip makes of the one that is wanted: it divides its clock in steps.
///
/// | option | what it is |
/// | --- | --- |
/// | `frequency=HZ` | the centre; needed |
/// | `rate=HZ` | samples per second; needed: 225001 to 300000 or 900001 to 3200000 |
/// | `gain=DB` | of the tuner; left out, or `auto`, the tuner finds it |
/// | `ppm=N` | the error of its crystal |
/// | `bias_tee=on` | feeds an amplifier through the cable |
/// | `direct_sampling=i`, `=q` | for short waves, past the tuner |
/// | `reconnect=on` | a server that goes away is waited for; the samples meanwhile are missing, and are counted by the clock |
///
/// ```
/// use bief_net::{Gain, RtlTcp};
/// let dongle = RtlTcp { gain: Gain::Decibels(30.0), ..RtlTcp::new(433.92e6, 1.024e6) };
/// assert_eq!(dongle.actual_rate()?, 1.024e6);
/// assert!((RtlTcp::new(1e9, 2.5e6).actual_rate()? - 2.5e6).abs() > 0.1);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtlTcp {
    /// The centre of what is received, in Hz.
    pub frequency: f64,
    /// Samples per second that are wanted.
    pub rate: f64,
    /// Of the tuner.
    pub gain: Gain,
    /// The error of the crystal, in parts per million.
    pub ppm: i32,
    /// Whether the cable has a voltage, for an amplifier.
    pub bias_tee: bool,
    /// The input that is sampled past the tuner.
    pub direct_sampling: Option<Direct>,
    /// Whether a server that goes away is waited for.
    pub reconnect: bool,
}

/// The gain of a tuner.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Gain {
    /// The tuner finds it.
    #[default]
    Auto,
    /// So much: a tuner takes the nearest that it has.
    Decibels(f64),
}

impl FromStr for Gain {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.parse::<f64>() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(gain) if (-100.0..=200.0).contains(&gain) => Ok(Self::Decibels(gain)),
            _ => Err(format!("`{text}` is no gain: give auto, or dB")),
        }
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Decibels(gain) => gain.fmt(f),
        }
    }
}

/// The input of the chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direct {
    /// The first.
    I,
    /// The second, which most dongles for short waves use.
    Q,
}

impl FromStr for Direct {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "i" => Ok(Self::I),
            "q" => Ok(Self::Q),
            _ => Err(format!("`{text}` is no input of the chip: give i or q")),
        }
    }
}

impl RtlTcp {
    /// A dongle on a frequency, in Hz, at so many samples per second; its gain is automatic.
    pub fn new(frequency: f64, rate: f64) -> Self {
        Self { frequency, rate, gain: Gain::Auto, ppm: 0, bias_tee: false, direct_sampling: None, reconnect: false }
    }

    /// The rate that the chip makes of the one that is wanted.
    ///
    /// # Errors
    /// One that it cannot make.
    pub fn actual_rate(&self) -> Result<f64> {
        let can = |rate: f64| (225_001.0..=300_000.0).contains(&rate) || (900_001.0..=3_200_000.0).contains(&rate);
        if !can(self.rate) {
            let reason = "an RTL-SDR makes 225001 to 300000 or 900001 to 3200000";
            return Err(Error::new(format!("{} samples per second: {reason}", self.rate)));
        }
        // The ratio has 28 bits, of which the last two are not used.
        let ratio = (CRYSTAL * STEPS / self.rate) as u64 & 0x0FFF_FFFC;
        Ok(CRYSTAL * STEPS / (ratio | (ratio & 0x0800_0000) << 1) as f64)
    }

    /// Connects, sets the dongle, and gives its samples from then on.
    ///
    /// # Errors
    /// Settings that it cannot have; a server that is not there, is silent, or is another program.
    pub fn open(&self, address: &Address) -> Result<ByteSource> {
        let told = |error: &dyn fmt::Display| Error::new(format!("{address}: {error}"));
        let rate = self.actual_rate().map_err(|error| told(&error))?;
        if !(0.0..=f64::from(u32::MAX)).contains(&self.frequency) {
            return Err(told(&format!("a frequency of {} Hz: give 0 to 4294967295", self.frequency)));
        }
        let (stream, _) = self.connect(address)?;
        let gaps = Gaps::new(SILENT);
        let mut source = ByteSource::new(Samples {
            stream: Some(stream),
            address: address.clone(),
            settings: *self,
            rate,
            odd: 0,
            heard: Instant::now(),
            gaps: gaps.clone(),
        });
        (source.format, source.rate, source.gaps) = (Some("cu8".to_owned()), Some(rate), Some(gaps));
        Ok(source)
    }

    /// The connection, behind its head and the settings; and the tuner's number.
    fn connect(&self, address: &Address) -> Result<(TcpStream, u32)> {
        let told = |error: &dyn fmt::Display| Error::new(format!("{address}: {error}"));
        let mut stream = connect(address, Some(PORT))?;
        let mut head = [0; 12];
        let heard = stream.set_read_timeout(Some(SILENCE)).and_then(|()| stream.read_exact(&mut head));
        heard.map_err(|error| told(&silent(error)))?;
        if head[..4] != *b"RTL0" {
            return Err(told(&"this is no rtl_tcp server: it does not begin with RTL0"));
        }
        stream.write_all(&self.commands()).map_err(|error| told(&error))?;
        let (since, mut before) = (Instant::now(), [0; 16384]);
        let mut thrown = 0;
        // A whole number of samples is thrown away.
        while since.elapsed() < SETTLING || thrown % 2 != 0 {
            let some = if thrown % 2 == 0 { before.len() } else { 1 };
            match stream.read(&mut before[..some]) {
                Ok(0) => return Err(told(&"the server has gone away")),
                Ok(bytes) => thrown += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(told(&silent(error))),
            }
        }
        Ok((stream, u32::from_be_bytes([head[4], head[5], head[6], head[7]])))
    }

    /// The commands that set the dongle, the rate first.
    fn commands(&self) -> Vec<u8> {
        let mut commands = vec![(2_u8, self.rate.round() as u32)];
        if let Some(input) = self.direct_sampling {
            commands.push((9, 1 + u32::from(input == Direct::Q)));
        }
        if self.ppm != 0 {
            commands.push((5, self.ppm.cast_unsigned()));
        }
        commands.push((1, self.frequency.round() as u32));
        match self.gain {
            Gain::Auto => commands.push((3, 0)),
            Gain::Decibels(gain) => commands.extend([(3, 1), (4, ((gain * 10.0).round() as i32).cast_unsigned())]),
        }
        commands.push((14, self.bias_tee.into()));
        commands.iter().flat_map(|(number, value)| [*number].into_iter().chain(value.to_be_bytes())).collect()
    }
}

/// An error of a read, in words.
fn silent(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let text = format!("the server has sent nothing for {} s", SILENCE.as_secs());
            io::Error::new(io::ErrorKind::TimedOut, text)
        }
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "the server has gone away"),
        _ => error,
    }
}

/// The samples of a dongle.
struct Samples {
    /// `None` while the server is away.
    stream: Option<TcpStream>,
    address: Address,
    settings: RtlTcp,
    /// Samples per second.
    rate: f64,
    /// Whether half a sample was given.
    odd: usize,
    /// When the last sample came.
    heard: Instant,
    gaps: Gaps,
}

impl Read for Samples {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(stream) = &mut self.stream else { return self.again(buffer) };
        match stream.read(buffer) {
            Ok(bytes) if bytes > 0 || buffer.is_empty() => {
                self.odd = (self.odd + bytes) % 2;
                self.heard = Instant::now();
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            _ if self.settings.reconnect => {
                self.stream = None;
                Err(io::ErrorKind::Interrupted.into())
            }
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                format!("{}: the server has gone away", self.address),
            )),
            Err(error) => {
                let error = silent(error);
                Err(io::Error::new(error.kind(), format!("{}: {error}", self.address)))
            }
        }
    }
}

impl Samples {
    /// Looks whether the server is there again.
    fn again(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let (1, Some(half)) = (self.odd, buffer.first_mut()) {
            // The other half of the last sample is lost: I and Q must not change places.
            (*half, self.odd) = (SILENT, 0);
            return Ok(1);
        }
        match self.settings.connect(&self.address) {
            Ok((stream, _)) => {
                self.stream = Some(stream);
                self.gaps.lose(2 * (self.heard.elapsed().as_secs_f64() * self.rate) as u64);
            }
            Err(_) => std::thread::sleep(AGAIN),
        }
        // Whoever reads looks whether it should go on.
        Err(io::ErrorKind::Interrupted.into())
    }
}

/// Opens `rtl_tcp://`.
pub(crate) struct RtlTcpOpener;

impl Opener for RtlTcpOpener {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        let mut options = AddressOptions::of(address)?;
        let number = |value: &f64| value.is_finite();
        let needed = |what: &str| Error::new(format!("{address}: its {what}, as in ?frequency=433.92e6&rate=1.024e6"));
        let frequency = options.value("frequency", "Hz", number)?.ok_or_else(|| needed("frequency is needed"))?;
        let rate = options.value("rate", "samples per second", number)?.ok_or_else(|| needed("rate is needed"))?;
        let settings = RtlTcp {
            gain: options.value("gain", "auto, or dB", |_| true)?.unwrap_or_default(),
            ppm: options
                .value("ppm", "parts per million, -1000 to 1000", |ppm| (-1000..=1000).contains(ppm))?
                .unwrap_or(0),
            bias_tee: options.is_on("bias_tee")?,
            direct_sampling: options.value("direct_sampling", "i or q", |_| true)?,
            reconnect: options.is_on("reconnect")?,
            ..RtlTcp::new(frequency, rate)
        };
        options.end(false)?;
        settings.open(address)
    }
}
