//! Which radios there are, and what they can.

use std::fmt;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Duration;

use bief::{Error, Result};

use crate::api::{self, Api, RX, TX};
use crate::device::Device;
use crate::worker::{Beat, Limits};

/// How long a driver may look for its radios.
const LOOKING: Duration = Duration::from_secs(15);

/// Drivers that look for their radios on this computer, and return.
pub const DRIVERS: [&str; 16] = [
    "airspy", "airspyhf", "bladerf", "fobos", "hackrf", "harogic", "hydrasdr", "iris", "lime", "miri", "osmosdr",
    "plutosdr", "rfspace", "rtlsdr", "sdrplay", "uhd",
];

/// A radio that a driver found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// What it is known by: `driver`, `serial`, `label` and others.
    pub properties: Vec<(String, String)>,
}

impl Found {
    /// A property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(known, _)| known == key).map(|(_, value)| &**value)
    }

    /// What names it in an address: its driver, and its serial number where it has one.
    pub fn radio(&self) -> String {
        let part =
            |key: &str| self.property(key).filter(|value| !value.is_empty()).map(|value| format!("{key}={value}"));
        [part("driver"), part("serial")].into_iter().flatten().collect::<Vec<_>>().join(",")
    }
}

/// A range of values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Range {
    /// The least.
    pub from: f64,
    /// The most.
    pub to: f64,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to { self.from.fmt(f) } else { write!(f, "{} to {}", self.from, self.to) }
    }
}

/// What a radio is, and what it can.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Probe {
    /// Its driver, and what the driver calls the hardware.
    pub driver: String,
    /// What the driver calls the hardware.
    pub hardware: String,
    /// What else the driver tells of it.
    pub properties: Vec<(String, String)>,
    /// Receiving; `None` for what only transmits.
    pub receive: Option<Direction>,
    /// Transmitting; `None` for what only receives.
    pub transmit: Option<Direction>,
}

/// What a radio can in one direction, on its first channel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Direction {
    /// How many channels there are.
    pub channels: usize,
    /// The names of its sockets.
    pub antennas: Vec<String>,
    /// What amplifies.
    pub gains: Gains,
    /// In Hz.
    pub frequencies: Vec<Range>,
    /// Samples per second.
    pub rates: Vec<Range>,
    /// Formats of samples in SoapySDR's words.
    pub formats: Vec<String>,
    /// The one that costs nothing.
    pub native: String,
}

/// Gains in dB.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Gains {
    /// Of all parts together.
    pub whole: Range,
    /// Of each part.
    pub elements: Vec<(String, Range)>,
    /// Whether the radio finds it by itself.
    pub has_auto: bool,
}

/// The radios that a driver finds: `driver=rtlsdr`, or more in SoapySDR's words. Never all drivers at once: some never return.
///
/// # Errors
/// SoapySDR is not there; no driver is named; one that does not return.
pub fn find(radio: &str) -> Result<Vec<Found>> {
    find_by(api::loaded()?, radio)
}

fn find_by(api: Api, radio: &str) -> Result<Vec<Found>> {
    if !radio.split(',').any(|part| part.trim().starts_with("driver=")) {
        return Err(Error::new(format!("`{radio}` names no driver: write driver=NAME")));
    }
    let ((found, heard), owned) = (sync_channel(1), radio.to_owned());
    let look = move || drop(found.send(api.found(&owned)));
    thread::Builder::new().name("radio".to_owned()).spawn(look).map_err(Error::from_source)?;
    heard.recv_timeout(LOOKING).unwrap_or_else(|_| {
        Err(Error::new(format!("{radio}: the driver hangs: it has looked for radios for {} s", LOOKING.as_secs())))
    })
}

/// Opens a radio and asks what it can.
///
/// # Errors
/// SoapySDR is not there, or no such radio.
pub fn probe(radio: &str) -> Result<Probe> {
    probe_by(api::loaded()?, radio)
}

fn probe_by(api: Api, radio: &str) -> Result<Probe> {
    let beat = Beat::new(Limits::default());
    let device = Device::open(api, radio, &beat)?;
    let (driver, hardware) = device.names();
    Ok(Probe {
        driver,
        hardware,
        properties: device.properties(),
        receive: device.direction(RX),
        transmit: device.direction(TX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn radios_are_found_by_their_driver_and_tell_what_they_can() {
        let found = find_by(fake::API, "driver=fake").unwrap();
        assert_eq!((found[0].radio().as_str(), found[0].property("label")), ("driver=fake", Some("a radio")));
        assert!(find_by(fake::API, "serial=1").unwrap_err().to_string().contains("names no driver"));
        let probe = probe_by(fake::API, "driver=fake,name=probe,reads=1").unwrap();
        let receive = probe.receive.unwrap();
        assert_eq!((receive.antennas, receive.native.as_str()), (vec!["RX".into(), "TX/RX".into()], "CS16"));
        assert_eq!(receive.gains.elements[1], ("IF".into(), Range { from: 0.0, to: 40.0 }));
        assert_eq!(receive.frequencies[0].to_string(), "24000000 to 1766000000");
    }
}
