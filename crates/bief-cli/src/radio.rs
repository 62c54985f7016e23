//! Radios: as an input, the same in every command that receives; to transmit with; and `bief radio`, which lists them.

use std::path::PathBuf;

use bief_soapy::{DRIVERS, Direction, Found, Probe, Range, Settings, Transmission};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Failure, warn};
use crate::input::RecordingArgs;
use crate::json::{JsonArgs, print};
use crate::status::Status;
use crate::table::facts;

/// A radio, and what it is set to.
#[derive(Args)]
pub(crate) struct TunerArgs {
    /// The radio: driver=NAME,KEY=VALUE as `bief radio` lists those of SoapySDR, or rtl_tcp://HOST:PORT, an RTL-SDR behind the
    /// program rtl_tcp
    #[arg(long, value_name = "RADIO", requires = "frequency")]
    radio: Option<String>,
    /// Centre frequency
    #[arg(long, value_name = "HZ", requires = "radio")]
    frequency: Option<f64>,
    /// Gain: auto (to receive, the default), dB, or NAME=DB,NAME=DB
    #[arg(long, value_name = "DB", requires = "radio")]
    gain: Option<String>,
    /// Socket of the radio, by its name
    #[arg(long, value_name = "NAME", requires = "radio")]
    antenna: Option<String>,
    /// Width of the radio's filter
    #[arg(long, value_name = "HZ", requires = "radio")]
    bandwidth: Option<f64>,
    /// Error of the radio's crystal, in parts per million
    #[arg(long, value_name = "PPM", requires = "radio", allow_hyphen_values = true)]
    ppm: Option<f64>,
    /// Feed an amplifier or LNB through the cable
    #[arg(long, requires = "radio")]
    bias_tee: bool,
    /// Whatever else the driver knows; may be given again
    #[arg(long, value_name = "KEY=VALUE", requires = "radio")]
    setting: Vec<String>,
}

/// The radio to receive with, in the place of a recording: live, until Ctrl-C.
#[derive(Args)]
#[command(next_help_heading = "Radio")]
pub(crate) struct RadioArgs {
    #[command(flatten)]
    tuner: TunerArgs,
    /// Samples per second; what the radio makes of it is what counts
    #[arg(long, value_name = "HZ", requires = "radio")]
    sample_rate: Option<f64>,
    /// Local oscillator of a converter (LNB) before the radio, which is subtracted from --frequency
    #[arg(long, value_name = "HZ", requires = "radio")]
    lnb: Option<f64>,
    /// Wait for a radio that goes away, and go on
    #[arg(long, requires = "radio")]
    reconnect: bool,
}

impl TunerArgs {
    /// The radio that is asked for, if one is.
    pub(crate) fn is_given(&self) -> bool {
        self.radio.is_some()
    }

    /// Its address, with its settings: one grammar for options, chain files and programs.
    fn address(&self, tuned: f64, rate: f64) -> Result<Option<String>, Failure> {
        let Some(radio) = &self.radio else { return Ok(None) };
        if radio.contains('?') {
            return Err(Failure::usage(format!("--radio {radio}: give settings by options, not behind the radio")));
        }
        let scheme = if radio.starts_with("rtl_tcp://") || radio.starts_with("soapy:") { "" } else { "soapy:" };
        if !radio.contains("driver=") && !radio.starts_with("rtl_tcp://") {
            return Err(Failure::usage(format!(
                "--radio {radio}: write driver=NAME, as `bief radio` lists them, or rtl_tcp://HOST:PORT"
            )));
        }
        let mut address = format!("{scheme}{radio}?frequency={tuned}&rate={rate}");
        let mut add = |name: &str, value: Option<String>| match value {
            Some(value) if value.contains('&') => Err(Failure::usage(format!("--{name} {value}: leave out `&`"))),
            Some(value) => {
                address += &format!("&{name}={value}");
                Ok(())
            }
            None => Ok(()),
        };
        add("gain", self.gain.clone())?;
        add("antenna", self.antenna.clone())?;
        add("bandwidth", self.bandwidth.map(|width| width.to_string()))?;
        add("ppm", self.ppm.map(|ppm| ppm.to_string()))?;
        add("setting", (!self.setting.is_empty()).then(|| self.setting.join(",")))?;
        add("bias_tee", self.bias_tee.then(|| "on".to_owned()))?;
        Ok(Some(address))
    }

    /// Opens the radio to transmit at so many samples per second, if one is asked for.
    pub(crate) fn transmission(&self, rate: f64) -> Result<Option<Transmission>, Failure> {
        let Some(address) = self.address(self.frequency.unwrap_or_default(), rate)? else { return Ok(None) };
        if address.starts_with("rtl_tcp:") {
            return Err(Failure::usage("--radio: a dongle behind rtl_tcp only receives"));
        }
        let parsed = address.parse().and_then(|address| Settings::of(&address)).map_err(Failure::from_error)?;
        let opened = Transmission::open(&parsed.0, &parsed.1).map(Some);
        opened.map_err(|error| Failure::from_error(error).with(Status::TryAgain))
    }
}

impl RadioArgs {
    /// Makes the radio the input, if one is asked for.
    pub(crate) fn tune(&self, recording: &mut RecordingArgs) -> Result<bool, Failure> {
        // The other way round for a converter whose oscillator is above the signal, which turns the spectrum: DVB-S2 is received so.
        let tuned = (self.tuner.frequency.unwrap_or_default() - self.lnb.unwrap_or(0.0)).abs();
        let rate = self.sample_rate.unwrap_or_default();
        let Some(mut address) = self.tuner.address(tuned, rate)? else { return Ok(false) };
        if self.sample_rate.is_none() {
            return Err(Failure::usage("--radio needs --sample-rate, in samples per second"));
        }
        if recording.is_given() {
            return Err(Failure::usage(
                "--radio is the input, and tells its sample format: leave out INPUT and --format",
            ));
        }
        if self.reconnect {
            address += "&reconnect=on";
        }
        recording.input = Some(PathBuf::from(address));
        Ok(true)
    }
}

const EXAMPLES: &str = "\
Examples:
  bief radio                             the radios that are there
  bief radio driver=rtlsdr               those of one driver, and what each can
  bief radio driver=hackrf,serial=1234   one, and what it can
  bief rx --radio driver=rtlsdr --frequency 11.7e9 --lnb 10.6e9 \\
    --sample-rate 2.4e6 -o out.ts        receives with it

Radios are those of SoapySDR 0.8, whose drivers are modules (Debian:
soapysdr-module-rtlsdr and others). A driver that is not among the usual ones,
or looks for radios on a network, is asked when it is named.";

/// Arguments of `bief radio`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListArgs {
    /// Radios of one driver, in SoapySDR's words: each is opened and told of
    #[arg(value_name = "driver=NAME,KEY=VALUE")]
    radio: Option<String>,
    #[command(flatten)]
    json: JsonArgs,
}

/// Lists radios.
pub(crate) fn run(args: ListArgs) -> Result<(), Failure> {
    let drivers: Vec<String> = match &args.radio {
        Some(radio) => vec![radio.clone()],
        None => DRIVERS.iter().map(|driver| format!("driver={driver}")).collect(),
    };
    let mut radios = Vec::new();
    for driver in &drivers {
        match bief_soapy::find(driver) {
            Ok(found) => radios.extend(found),
            Err(error) if args.radio.is_some() || radios.is_empty() && driver == &drivers[0] => {
                return Err(Failure::from_error(error));
            }
            Err(error) => warn(&error.to_string()),
        }
    }
    if radios.is_empty() {
        let asked = args.radio.as_deref().unwrap_or("the usual drivers");
        let message = format!("no radio is there of {asked}: is it plugged in, and its module installed?");
        return Err(Failure::new(message).with(Status::TryAgain));
    }
    // What is named is opened: that may take it from another program.
    let probe = |found: &Found| match &args.radio {
        Some(radio) if radios.len() == 1 => bief_soapy::probe(radio).map(Some),
        Some(_) => bief_soapy::probe(&found.radio()).map(Some),
        None => Ok(None),
    };
    let probed = radios.iter().map(probe).collect::<Result<Vec<_>, _>>().map_err(Failure::from_error)?;
    let all: Vec<(&Found, Option<Probe>)> = radios.iter().zip(probed).collect();
    args.json.write(|| format!("{:#}", Value::from(all.iter().map(to_json).collect::<Vec<_>>())))?;
    if args.json.on_stdout() {
        return Ok(());
    }
    print(&all.iter().map(table).collect::<Vec<_>>().join("\n\n"))
}

fn table((found, probe): &(&Found, Option<Probe>)) -> String {
    let mut rows = vec![("radio", found.radio())];
    let others = found.properties.iter().filter(|(key, _)| !matches!(&**key, "driver" | "serial"));
    rows.extend(others.map(|(key, value)| (&**key, value.clone())));
    let Some(probe) = probe else { return facts(&rows) };
    rows.push(("hardware", probe.hardware.clone()));
    for (name, direction) in [("receives", &probe.receive), ("transmits", &probe.transmit)] {
        let Some(direction) = direction else { continue };
        let Direction { channels, antennas, gains, frequencies, rates, native, .. } = direction;
        let of = |ranges: &[Range]| ranges.iter().map(Range::to_string).collect::<Vec<_>>().join(", ");
        let elements = gains.elements.iter().map(|(name, range)| format!(", {name} {range}"));
        let auto = if gains.has_auto { ", or auto" } else { "" };
        rows.extend([
            (name, format!("on {channels} channels, {native}")),
            ("  frequency", format!("{} Hz", of(frequencies))),
            ("  sample rate", of(rates)),
            ("  gain", format!("{}{} dB{auto}", gains.whole, elements.collect::<String>())),
            ("  antenna", antennas.join(", ")),
        ]);
    }
    facts(&rows)
}

fn to_json((found, probe): &(&Found, Option<Probe>)) -> Value {
    let ranges = |ranges: &[Range]| ranges.iter().map(|range| json!([range.from, range.to])).collect::<Vec<_>>();
    let of = |direction: &Option<Direction>| {
        direction.as_ref().map(|direction| {
            let Direction { channels, antennas, gains, frequencies, rates, formats, native, .. } = direction;
            let elements: Vec<_> = gains
                .elements
                .iter()
                .map(|(name, range)| json!({ "name": name, "db": [range.from, range.to] }))
                .collect();
            json!({
                "channels": channels, "antennas": antennas, "frequencies_hz": ranges(frequencies),
                "sample_rates": ranges(rates), "formats": formats, "native_format": native,
                "gain_db": [gains.whole.from, gains.whole.to], "gains": elements, "auto_gain": gains.has_auto,
            })
        })
    };
    let properties: serde_json::Map<String, Value> =
        found.properties.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    json!({
        "radio": found.radio(),
        "properties": properties,
        "hardware": probe.as_ref().map(|probe| &probe.hardware),
        "receives": probe.as_ref().and_then(|probe| of(&probe.receive)),
        "transmits": probe.as_ref().and_then(|probe| of(&probe.transmit)),
    })
}
