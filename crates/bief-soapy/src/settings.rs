//! What a radio is set to.

use std::fmt;
use std::str::FromStr;

use bief::kinds::{Address, AddressOptions};
use bief::{Error, Result};

/// What a radio is set to: the options of its address.
///
/// | option | what it is |
/// | --- | --- |
/// | `frequency=HZ` | the centre; needed |
/// | `rate=HZ` | samples per second; needed. What the radio makes of it is what counts |
/// | `gain=DB`, `gain=NAME=DB,NAME=DB` | as a whole, or of the parts that the radio names; to receive, left out or `auto`, the radio finds it |
/// | `antenna=NAME` | the socket; left out, the driver's choice |
/// | `bandwidth=HZ` | of the radio's filter; left out, the driver's choice |
/// | `ppm=N` | the error of its crystal |
/// | `bias_tee=on` | feeds an amplifier through the cable |
/// | `setting=KEY=VALUE,KEY=VALUE` | whatever else a driver knows |
/// | `channel=N` | of a radio that has several; 0 if left out |
/// | `reconnect=on` | a radio that goes away is waited for; the samples meanwhile are missing |
///
/// ```
/// use bief_soapy::{Gain, Settings};
/// let (radio, settings) = Settings::of(&"soapy:driver=lime?frequency=1e8&rate=2e6&gain=LNA=20,PGA=10".parse()?)?;
/// assert_eq!(radio, "driver=lime");
/// assert_eq!(settings.gain, Some(Gain::Elements(vec![("LNA".into(), 20.0), ("PGA".into(), 10.0)])));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// The centre, in Hz.
    pub frequency: f64,
    /// Samples per second that are wanted.
    pub rate: f64,
    /// `None` where nobody said one.
    pub gain: Option<Gain>,
    /// The socket, as the radio calls it.
    pub antenna: Option<String>,
    /// Of the radio's filter, in Hz.
    pub bandwidth: Option<f64>,
    /// The error of the crystal, in parts per million.
    pub ppm: Option<f64>,
    /// Whether the cable has a voltage, for an amplifier.
    pub bias_tee: bool,
    /// What else a driver knows: keys and values.
    pub settings: Vec<(String, String)>,
    /// Of a radio that has several.
    pub channel: usize,
    /// Whether a radio that goes away is waited for.
    pub reconnect: bool,
}

/// The gain of a radio.
#[derive(Debug, Clone, PartialEq)]
pub enum Gain {
    /// The radio finds it.
    Auto,
    /// So many dB, which the driver spreads over the parts that it has.
    Decibels(f64),
    /// Parts by their names, in dB.
    Elements(Vec<(String, f64)>),
}

impl FromStr for Gain {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let decibels = |text: &str| text.parse().ok().filter(|gain| (-200.0..=200.0).contains(gain));
        let wrong = || format!("`{text}` is no gain: give auto, dB, or NAME=DB,NAME=DB");
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if !text.contains('=') {
            return decibels(text).map(Self::Decibels).ok_or_else(wrong);
        }
        let element = |part: &str| {
            let (name, gain) = part.split_once('=')?;
            Some((name.to_owned(), decibels(gain)?)).filter(|(name, _)| !name.is_empty())
        };
        text.split(',').map(element).collect::<Option<_>>().map(Self::Elements).ok_or_else(wrong)
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Decibels(gain) => gain.fmt(f),
            Self::Elements(gains) => {
                let gains: Vec<String> = gains.iter().map(|(name, gain)| format!("{name}={gain}")).collect();
                f.write_str(&gains.join(","))
            }
        }
    }
}

impl Settings {
    /// A radio on a frequency, in Hz, at so many samples per second, and all else as its driver has it.
    pub fn new(frequency: f64, rate: f64) -> Self {
        Self {
            frequency,
            rate,
            gain: None,
            antenna: None,
            bandwidth: None,
            ppm: None,
            bias_tee: false,
            settings: Vec::new(),
            channel: 0,
            reconnect: false,
        }
    }

    /// The radio that an address names, in SoapySDR's words, and its settings.
    ///
    /// # Errors
    /// A radio without a name; options that are none, or that are needed and not there.
    pub fn of(address: &Address) -> Result<(String, Self)> {
        let told = |what: &str| Error::new(format!("{address}: {what}"));
        let mut options = AddressOptions::of(address)?;
        let radio = options.path().to_owned();
        // Without a name every driver would look for its radios; some never return.
        if !radio.split(',').any(|part| part.trim().starts_with("driver=")) {
            return Err(told("names no radio: write driver=NAME, as `bief radio` lists them"));
        }
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        let needed = |what: &str| told(&format!("its {what}, as in ?frequency=433.92e6&rate=1.024e6"));
        let frequency = options
            .value("frequency", "Hz", |value: &f64| value.is_finite() && *value >= 0.0)?
            .ok_or_else(|| needed("frequency is needed"))?;
        let rate = options.value("rate", "samples per second", positive)?.ok_or_else(|| needed("rate is needed"))?;
        let settings = Self {
            gain: options.value("gain", "auto, dB, or NAME=DB,NAME=DB", |_| true)?,
            antenna: options.text("antenna").map(str::to_owned),
            bandwidth: options.value("bandwidth", "Hz", positive)?,
            ppm: options.value("ppm", "parts per million, -1000 to 1000", |ppm| (-1000.0..=1000.0).contains(ppm))?,
            bias_tee: options.is_on("bias_tee")?,
            settings: match options.text("setting") {
                None => Vec::new(),
                Some(text) => {
                    let pairs = text.split(',').map(|pair| pair.split_once('='));
                    let owned = pairs.map(|pair| pair.map(|(key, value)| (key.to_owned(), value.to_owned())));
                    let all: Option<_> = owned.collect();
                    all.ok_or_else(|| told(&format!("`setting={text}`: give KEY=VALUE,KEY=VALUE")))?
                }
            },
            channel: options.value("channel", "a number from 0 on", |_| true)?.unwrap_or(0),
            reconnect: options.is_on("reconnect")?,
            ..Self::new(frequency, rate)
        };
        options.end(true)?;
        Ok((radio, settings))
    }

    /// Looks whether somebody said what a transmission must not guess.
    ///
    /// # Errors
    /// No gain, or one that the radio would find; what only a reception has.
    pub fn check_transmission(&self) -> Result<()> {
        match self.gain {
            None | Some(Gain::Auto) => Err(Error::new("a transmission needs its gain, in dB: it has no default")),
            Some(_) if self.reconnect => Err(Error::new("`reconnect` is for receiving: leave it out")),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_radio_and_settings() {
        let text = "soapy:driver=play,path=/x.ci16?frequency=1e8&rate=2e6&gain=auto&antenna=TX/RX&bandwidth=1.5e6&ppm=-2.5&bias_tee=on\
                    &setting=a=1,b=c&channel=1&reconnect=on";
        let (radio, settings) = Settings::of(&text.parse().unwrap()).unwrap();
        assert_eq!(radio, "driver=play,path=/x.ci16");
        let expected = Settings {
            gain: Some(Gain::Auto),
            antenna: Some("TX/RX".into()),
            bandwidth: Some(1.5e6),
            ppm: Some(-2.5),
            bias_tee: true,
            settings: vec![("a".into(), "1".into()), ("b".into(), "c".into())],
            channel: 1,
            reconnect: true,
            ..Settings::new(1e8, 2e6)
        };
        assert_eq!(settings, expected);
        for gain in ["auto", "29.7", "LNA=20,IF=-3.5"] {
            assert_eq!(gain.parse::<Gain>().unwrap().to_string(), gain);
        }
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (text, words) in [
            ("soapy:", "names no radio"),
            ("soapy:serial=1?frequency=1&rate=1", "names no radio"),
            ("soapy:driver=x?rate=1", "its frequency is needed"),
            ("soapy:driver=x?frequency=1e6", "its rate is needed"),
            ("soapy:driver=x?frequency=-1&rate=1", "give Hz"),
            ("soapy:driver=x?frequency=nan&rate=1", "give Hz"),
            ("soapy:driver=x?frequency=1&rate=inf", "give samples per second"),
            ("soapy:driver=x?frequency=1&rate=1&gain=loud", "give auto, dB"),
            ("soapy:driver=x?frequency=1&rate=1&gain=LNA=", "give auto, dB"),
            ("soapy:driver=x?frequency=1&rate=1&setting=x", "KEY=VALUE"),
            ("soapy:driver=x?frequency=1&rate=1&freq=1", "no option is called `freq`"),
        ] {
            let refused = Settings::of(&text.parse().unwrap()).unwrap_err().to_string();
            assert!(refused.contains(words), "{text}: {refused}");
        }
        assert!(Settings::new(1e6, 1e6).check_transmission().unwrap_err().to_string().contains("no default"));
    }
}
