//! One radio, used by one thread.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};

use bief::{Error, Result};

use crate::api::{Api, HAS_TIME, Handle, Kwargs, NOT_SUPPORTED, OVERFLOW, RX, RawRange, TIMEOUT, TX, UNDERFLOW};
use crate::probe::{Direction, Found, Gains, Range};
use crate::settings::{Gain, Settings};
use crate::worker::{Beat, Step};

/// How long a read or a write may take, in us.
const WAIT: c_long = 100_000;

/// A radio. It is made, used and given back by one thread; `beat` knows which function of its driver runs.
pub(crate) struct Device<'a> {
    api: Api,
    handle: Handle,
    beat: &'a Beat,
}

/// A stream of a radio.
pub(crate) struct Stream<'d, 'a> {
    device: &'d Device<'a>,
    handle: Handle,
    is_active: bool,
    /// How its samples are written, as everyone but SoapySDR calls it; and their bytes.
    pub(crate) format: &'static str,
    pub(crate) each: usize,
    /// Samples that are read or written at once.
    pub(crate) mtu: usize,
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// So many samples; the time of the first in ns, where it is known.
    Samples(usize, Option<i64>),
    Nothing,
    /// The radio lost samples, or the driver did.
    Overflow,
}

/// SoapySDR's names of formats, ours, and the bytes of a sample.
const FORMATS: [(&CStr, &str, usize); 4] =
    [(c"CF32", "cf32", 8), (c"CS16", "ci16", 4), (c"CS8", "ci8", 2), (c"CU8", "cu8", 2)];

/// Settings that feed an amplifier through the cable, by driver.
const BIAS_TEES: [(&str, &str); 8] = [
    ("rtlsdr", "biastee"),
    ("airspy", "biastee"),
    ("airspyhf", "biastee"),
    ("hackrf", "bias_tx"),
    ("sdrplay", "biasT_ctrl"),
    ("bladerf", "biastee_rx"),
    ("harogic", "biastee"),
    ("fobos", "biastee"),
];

/// A text for C.
fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::new(format!("`{text}` has a character 0 in it: leave it out")))
}

impl Api {
    /// A text that the library made, which is given back.
    fn owned(&self, text: *mut c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: it is a text of the library, which is freed once, by the library.
        unsafe {
            let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.free)(text.cast());
            owned
        }
    }

    /// Texts that the library made, which are given back.
    fn list(&self, mut texts: *mut *mut c_char, length: usize) -> Vec<String> {
        if texts.is_null() {
            return Vec::new();
        }
        // SAFETY: it is a list of so many texts, which is cleared once.
        unsafe {
            let text = |at| CStr::from_ptr(*texts.add(at)).to_string_lossy().into_owned();
            let owned = (0..length).map(text).collect();
            (self.clear_strings)(&raw mut texts, length);
            owned
        }
    }

    fn ranges(&self, ranges: *mut RawRange, length: usize) -> Vec<Range> {
        if ranges.is_null() {
            return Vec::new();
        }
        // SAFETY: it is a list of so many, which is freed once.
        unsafe {
            let owned = std::slice::from_raw_parts(ranges, length).iter().map(|&range| range.into()).collect();
            (self.free)(ranges.cast());
            owned
        }
    }

    fn pairs(kwargs: &Kwargs) -> Vec<(String, String)> {
        // SAFETY: a map of the library has so many keys and values, all of them texts.
        let text = |list: *mut *mut c_char, at| unsafe { CStr::from_ptr(*list.add(at)).to_string_lossy().into_owned() };
        (0..kwargs.size).map(|at| (text(kwargs.keys, at), text(kwargs.vals, at))).collect()
    }

    /// The radios that a driver finds.
    pub(crate) fn found(&self, radio: &str) -> Result<Vec<Found>> {
        let (text, mut length) = (c_text(radio)?, 0);
        // SAFETY: the text lives as long as the call; the list has as many maps as it says, and is cleared once.
        unsafe {
            let list = (self.enumerate)(text.as_ptr(), &raw mut length);
            if list.is_null() {
                return Ok(Vec::new());
            }
            let found = (0..length).map(|at| Found { properties: Self::pairs(&*list.add(at)) }).collect();
            (self.clear_found)(list, length);
            Ok(found)
        }
    }

    fn last_error(&self) -> String {
        // SAFETY: the text stays until the next call of this thread.
        let text = unsafe { (self.last_error)() };
        // SAFETY: as above.
        if text.is_null() { String::new() } else { unsafe { CStr::from_ptr(text).to_string_lossy().into_owned() } }
    }
}

impl From<RawRange> for Range {
    fn from(range: RawRange) -> Self {
        Self { from: range.minimum, to: range.maximum }
    }
}

impl<'a> Device<'a> {
    /// Opens a radio, in SoapySDR's words.
    pub(crate) fn open(api: Api, radio: &str, beat: &'a Beat) -> Result<Self> {
        let text = c_text(radio)?;
        // SAFETY: the text lives as long as the call.
        let handle = beat.during(Step::Open, || unsafe { (api.make)(text.as_ptr()) });
        if handle.is_null() {
            let reason = api.last_error();
            return Err(Error::new(format!(
                "{reason}: `bief radio` lists those that are there; each driver is a module (Debian: soapysdr-module-rtlsdr, or another)"
            )));
        }
        Ok(Self { api, handle, beat })
    }

    /// Calls a function that answers 0, or an error.
    fn set(&self, step: Step, call: impl FnOnce(&Api, Handle) -> c_int) -> Result<()> {
        match self.beat.during(step, || call(&self.api, self.handle)) {
            0 => Ok(()),
            _ => Err(Error::new(format!("the radio does not {}: {}", step.words(), self.api.last_error()))),
        }
    }

    fn ask<T>(&self, call: impl FnOnce(&Api, Handle) -> T) -> T {
        self.beat.during(Step::Answer, || call(&self.api, self.handle))
    }

    /// The driver, and the radio, as it calls them.
    pub(crate) fn names(&self) -> (String, String) {
        // SAFETY: here and below, the handle is that of a radio that is open, and texts live as long as the calls.
        self.ask(|api, handle| unsafe { (api.owned((api.driver)(handle)), api.owned((api.hardware)(handle))) })
    }

    pub(crate) fn properties(&self) -> Vec<(String, String)> {
        self.ask(|api, handle| {
            // SAFETY: the map is cleared once.
            let mut info = unsafe { (api.hardware_info)(handle) };
            let pairs = Api::pairs(&info);
            // SAFETY: as above.
            unsafe { (api.clear_kwargs)(&raw mut info) };
            pairs
        })
    }

    /// What a direction can; `None` for one that the radio does not have.
    pub(crate) fn direction(&self, direction: c_int) -> Option<Direction> {
        let texts = |list: unsafe extern "C" fn(Handle, c_int, usize, *mut usize) -> *mut *mut c_char| {
            self.ask(|api, handle| {
                let mut length = 0;
                // SAFETY: see `names`.
                let texts = unsafe { list(handle, direction, 0, &raw mut length) };
                api.list(texts, length)
            })
        };
        let ranges = |list: unsafe extern "C" fn(Handle, c_int, usize, *mut usize) -> *mut RawRange| {
            self.ask(|api, handle| {
                let mut length = 0;
                // SAFETY: see `names`.
                let ranges = unsafe { list(handle, direction, 0, &raw mut length) };
                api.ranges(ranges, length)
            })
        };
        // SAFETY: see `names`.
        let channels = self.ask(|api, handle| unsafe { (api.channels)(handle, direction) });
        if channels == 0 {
            return None;
        }
        let elements = texts(self.api.gains).into_iter().filter_map(|name| {
            let text = c_text(&name).ok()?;
            // SAFETY: see `names`.
            let range =
                self.ask(|api, handle| unsafe { (api.gain_element_range)(handle, direction, 0, text.as_ptr()) });
            Some((name, range.into()))
        });
        let gains = Gains {
            elements: elements.collect(),
            // SAFETY: see `names`.
            whole: self.ask(|api, handle| unsafe { (api.gain_range)(handle, direction, 0) }).into(),
            // SAFETY: see `names`.
            has_auto: self.ask(|api, handle| unsafe { (api.has_agc)(handle, direction, 0) }),
        };
        Some(Direction {
            channels,
            antennas: texts(self.api.antennas),
            gains,
            frequencies: ranges(self.api.frequency_ranges),
            rates: ranges(self.api.rate_ranges),
            formats: texts(self.api.formats),
            native: self.native(direction, 0),
        })
    }

    fn native(&self, direction: c_int, channel: usize) -> String {
        let mut full_scale = 0.0;
        // SAFETY: see `names`.
        self.ask(|api, handle| unsafe {
            api.owned((api.native_format)(handle, direction, channel, &raw mut full_scale))
        })
    }

    /// Sets everything, in the order in which drivers take it; the rate that the radio makes.
    pub(crate) fn tune(&self, direction: c_int, settings: &Settings) -> Result<f64> {
        let channel = settings.channel;
        // SAFETY: here and below: see `names`.
        let channels = self.ask(|api, handle| unsafe { (api.channels)(handle, direction) });
        if channel >= channels {
            let what = if direction == RX { "receive" } else { "transmit" };
            return Err(Error::new(match channels {
                0 => format!("the radio cannot {what}"),
                _ => format!("channel {channel}: the radio has {channels} to {what}, counted from 0"),
            }));
        }
        // SAFETY: as above.
        self.set(Step::Rate, |api, handle| unsafe { (api.set_rate)(handle, direction, channel, settings.rate) })?;
        if let Some(bandwidth) = settings.bandwidth {
            // SAFETY: as above.
            self.set(Step::Bandwidth, |api, handle| unsafe {
                (api.set_bandwidth)(handle, direction, channel, bandwidth)
            })?;
        }
        if let Some(antenna) = &settings.antenna {
            let antennas = self.direction(direction).map_or(Vec::new(), |direction| direction.antennas);
            if !antennas.is_empty() && !antennas.contains(antenna) {
                return Err(Error::new(format!("no antenna is called `{antenna}`: there are {}", antennas.join(", "))));
            }
            let text = c_text(antenna)?;
            // SAFETY: as above.
            self.set(Step::Antenna, |api, handle| unsafe {
                (api.set_antenna)(handle, direction, channel, text.as_ptr())
            })?;
        }
        if let Some(ppm) = settings.ppm.filter(|ppm| *ppm != 0.0) {
            // SAFETY: as above.
            if !self.ask(|api, handle| unsafe { (api.has_ppm)(handle, direction, channel) }) {
                return Err(Error::new("the radio does not correct its crystal: leave ppm out"));
            }
            // SAFETY: as above.
            self.set(Step::Ppm, |api, handle| unsafe { (api.set_ppm)(handle, direction, channel, ppm) })?;
        }
        self.set_frequency(direction, settings)?;
        self.set_gain(direction, settings)?;
        for (key, value) in &settings.settings {
            self.write_setting(key, value)?;
        }
        if settings.bias_tee {
            let (driver, _) = self.names();
            let key = BIAS_TEES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&driver));
            let Some((_, key)) = key else {
                return Err(Error::new(format!(
                    "which setting of driver {driver} feeds the cable is not known here: give it by --setting KEY=VALUE"
                )));
            };
            self.write_setting(key, "true")?;
        }
        // SAFETY: as above.
        let rate = self.ask(|api, handle| unsafe { (api.rate)(handle, direction, channel) });
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::new(format!("the radio says that its sample rate is {rate}")));
        }
        Ok(rate)
    }

    fn set_frequency(&self, direction: c_int, settings: &Settings) -> Result<()> {
        let (channel, frequency) = (settings.channel, settings.frequency);
        let ranges = self.ask(|api, handle| {
            let mut length = 0;
            // SAFETY: see `names`.
            let ranges = unsafe { (api.frequency_ranges)(handle, direction, channel, &raw mut length) };
            api.ranges(ranges, length)
        });
        if !ranges.is_empty() && !ranges.iter().any(|range| (range.from..=range.to).contains(&frequency)) {
            let ranges: Vec<String> = ranges.iter().map(Range::to_string).collect();
            return Err(Error::new(format!("{frequency} Hz: the radio has {} Hz", ranges.join(", "))));
        }
        let none = Kwargs::NONE;
        // SAFETY: see `names`; the map is empty.
        self.set(Step::Frequency, |api, handle| unsafe {
            (api.set_frequency)(handle, direction, channel, frequency, &raw const none)
        })
    }

    fn set_gain(&self, direction: c_int, settings: &Settings) -> Result<()> {
        let channel = settings.channel;
        // SAFETY: here and below: see `names`.
        let has_agc = self.ask(|api, handle| unsafe { (api.has_agc)(handle, direction, channel) });
        let gain = settings.gain.as_ref();
        if direction == RX && has_agc {
            let is_auto = matches!(gain, None | Some(Gain::Auto));
            // SAFETY: as above.
            self.set(Step::Agc, |api, handle| unsafe { (api.set_agc)(handle, direction, channel, is_auto) })?;
        }
        match gain {
            Some(Gain::Auto) if direction == TX || !has_agc => {
                Err(Error::new("the radio does not find its gain: give it in dB"))
            }
            None | Some(Gain::Auto) => Ok(()),
            Some(Gain::Decibels(gain)) => {
                // SAFETY: as above.
                self.set(Step::Gain, |api, handle| unsafe { (api.set_gain)(handle, direction, channel, *gain) })
            }
            Some(Gain::Elements(gains)) => {
                let known = self.ask(|api, handle| {
                    let mut length = 0;
                    // SAFETY: as above.
                    let names = unsafe { (api.gains)(handle, direction, channel, &raw mut length) };
                    api.list(names, length)
                });
                for (name, gain) in gains {
                    if !known.contains(name) {
                        return Err(Error::new(format!("no gain is called `{name}`: there are {}", known.join(", "))));
                    }
                    let text = c_text(name)?;
                    // SAFETY: as above.
                    self.set(Step::Gain, |api, handle| unsafe {
                        (api.set_gain_element)(handle, direction, channel, text.as_ptr(), *gain)
                    })?;
                }
                Ok(())
            }
        }
    }

    fn write_setting(&self, key: &str, value: &str) -> Result<()> {
        let (key, value) = (c_text(key)?, c_text(value)?);
        // SAFETY: see `names`.
        self.set(Step::Setting, |api, handle| unsafe { (api.set_setting)(handle, key.as_ptr(), value.as_ptr()) })
    }

    /// Begins a stream: to receive in the radio's own format where that is known here, to transmit as `cf32`.
    pub(crate) fn stream(&self, direction: c_int, channel: usize) -> Result<Stream<'_, 'a>> {
        let native = if direction == RX { self.native(direction, channel) } else { String::new() };
        let is_native = |(name, _, _): &&(&CStr, &str, usize)| name.to_bytes() == native.as_bytes();
        let none = Kwargs::NONE;
        let first = FORMATS.iter().find(is_native).unwrap_or(&FORMATS[0]);
        let formats = if direction == TX { &FORMATS[..1] } else { &FORMATS[..3] };
        for &(name, format, each) in [first].into_iter().chain(formats) {
            // SAFETY: see `names`; one channel, and an empty map.
            let handle = self.beat.during(Step::Setup, || unsafe {
                (self.api.setup)(self.handle, direction, name.as_ptr(), &raw const channel, 1, &raw const none)
            });
            if handle.is_null() {
                continue;
            }
            // SAFETY: the stream is open.
            let mtu = self.ask(|api, device| unsafe { (api.mtu)(device, handle) });
            let mut stream =
                Stream { device: self, handle, is_active: false, format, each, mtu: mtu.clamp(1024, 65_536) };
            // SAFETY: the stream is open.
            self.set(Step::Activate, |api, device| unsafe { (api.activate)(device, handle, 0, 0, 0) })?;
            stream.is_active = true;
            return Ok(stream);
        }
        Err(Error::new(format!("the radio gives no stream: {}", self.api.last_error())))
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: streams are gone before; the handle is not used any more.
        self.beat.during(Step::Unmake, || unsafe { (self.api.unmake)(self.handle) });
    }
}

impl Stream<'_, '_> {
    fn failed(&self, what: &str, code: c_int) -> Error {
        // SAFETY: its texts are constant.
        let name = unsafe {
            let name = (self.device.api.error_name)(code);
            if name.is_null() { code.to_string().into() } else { CStr::from_ptr(name).to_string_lossy() }
        };
        Error::new(format!("the radio {what}: {name}"))
    }

    /// Reads as many samples as there are, up to what `to` takes.
    pub(crate) fn read(&self, to: &mut [u8]) -> Result<Came> {
        let samples = (to.len() / self.each).min(self.mtu);
        let (buffers, mut flags, mut time) = ([to.as_mut_ptr().cast::<c_void>()], 0, 0);
        // SAFETY: the stream is open, of one channel, and the buffer has room for so many samples of its format.
        let read = self.device.beat.during(Step::Read, || unsafe {
            (self.device.api.read)(
                self.device.handle,
                self.handle,
                buffers.as_ptr(),
                samples,
                &raw mut flags,
                &raw mut time,
                WAIT,
            )
        });
        match read {
            1.. => Ok(Came::Samples((read as usize).min(samples), (flags & HAS_TIME != 0).then_some(time))),
            0 | TIMEOUT => Ok(Came::Nothing),
            OVERFLOW => Ok(Came::Overflow),
            code => Err(self.failed("gives no samples any more", code)),
        }
    }

    /// Writes `cf32` samples; how many the radio took. `flags` as SoapySDR has them.
    pub(crate) fn write(&self, samples: &[[f32; 2]], flags: c_int) -> Result<usize> {
        let count = samples.len().min(self.mtu);
        let (buffers, mut flags) = ([samples.as_ptr().cast::<c_void>()], flags);
        // SAFETY: the stream is open, of one channel and this format, and the buffer has so many samples.
        let written = self.device.beat.during(Step::Write, || unsafe {
            (self.device.api.write)(self.device.handle, self.handle, buffers.as_ptr(), count, &raw mut flags, 0, WAIT)
        });
        match written {
            0.. => Ok((written as usize).min(count)),
            TIMEOUT | UNDERFLOW => Ok(0),
            code => Err(self.failed("takes no samples any more", code)),
        }
    }

    /// Whether the radio says that it ran out of samples, since it was asked the last time; `None` from one that never says.
    pub(crate) fn underflow(&self) -> Option<bool> {
        let (mut channels, mut flags, mut time) = (1, 0, 0);
        // SAFETY: the stream is open.
        let status = self.device.ask(|api, device| unsafe {
            (api.status)(device, self.handle, &raw mut channels, &raw mut flags, &raw mut time, 0)
        });
        (status != NOT_SUPPORTED).then_some(status == UNDERFLOW)
    }
}

impl Drop for Stream<'_, '_> {
    fn drop(&mut self) {
        let Self { device, handle, is_active, .. } = self;
        if *is_active {
            // SAFETY: the stream is open.
            device.beat.during(Step::Deactivate, || unsafe { (device.api.deactivate)(device.handle, *handle, 0, 0) });
        }
        // SAFETY: the stream is not used any more.
        device.beat.during(Step::Close, || unsafe { (device.api.close)(device.handle, *handle) });
    }
}
