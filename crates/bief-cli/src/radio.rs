//! A radio as an input, the same in every command that receives.

use std::path::PathBuf;

use bief::kinds::Address;
use bief_net::Gain;
use clap::Args;

use crate::failure::Failure;
use crate::input::RecordingArgs;

/// The radio to receive with, in the place of a recording.
#[derive(Args)]
#[command(next_help_heading = "Radio")]
pub(crate) struct RadioArgs {
    /// Receive live with a radio, until Ctrl-C: rtl_tcp://HOST:PORT, an RTL-SDR behind the program rtl_tcp
    #[arg(long, value_name = "ADDRESS", requires_all = ["frequency", "sample_rate"])]
    radio: Option<Address>,
    /// Centre frequency; with --lnb that of the satellite
    #[arg(long, value_name = "HZ", requires = "radio")]
    frequency: Option<f64>,
    /// Samples per second; what the radio makes of it is what counts
    #[arg(long, value_name = "HZ", requires = "radio")]
    sample_rate: Option<f64>,
    /// Gain of the tuner: auto, or dB
    #[arg(long, value_name = "DB", requires = "radio", default_value_t = Gain::Auto)]
    gain: Gain,
    /// Error of the radio's crystal, in parts per million
    #[arg(long, value_name = "PPM", requires = "radio", default_value_t = 0, allow_hyphen_values = true)]
    ppm: i32,
    /// Feed an amplifier or LNB through the cable
    #[arg(long, requires = "radio")]
    bias_tee: bool,
    /// Local oscillator of a converter (LNB) before the radio, which is subtracted from --frequency
    #[arg(long, value_name = "HZ", requires = "radio")]
    lnb: Option<f64>,
    /// Wait for a radio that goes away, and go on
    #[arg(long, requires = "radio")]
    reconnect: bool,
}

impl RadioArgs {
    /// Makes the radio the input, if one is asked for.
    pub(crate) fn tune(&self, recording: &mut RecordingArgs) -> Result<bool, Failure> {
        let (Some(radio), Some(frequency), Some(rate)) = (&self.radio, self.frequency, self.sample_rate) else {
            return Ok(false);
        };
        if recording.is_given() {
            return Err(Failure::new(
                "--radio is the input, and tells its sample format: leave out INPUT and --format",
            ));
        }
        if radio.scheme() != Some("rtl_tcp") {
            let remedy = "name the computer where `rtl_tcp` runs, as in rtl_tcp://127.0.0.1:1234";
            return Err(Failure::new(format!("--radio {radio}: {remedy}")));
        }
        if radio.resource().contains('?') {
            return Err(Failure::new(format!("--radio {radio}: give settings by options, not behind the address")));
        }
        // The other way round for a converter whose oscillator is above the signal, which turns the spectrum: DVB-S2 is received so.
        let tuned = (frequency - self.lnb.unwrap_or(0.0)).abs();
        let mut address = format!("{radio}?frequency={tuned}&rate={rate}&gain={}&ppm={}", self.gain, self.ppm);
        if self.bias_tee {
            address += "&bias_tee=on";
        }
        if self.reconnect {
            address += "&reconnect=on";
        }
        recording.input = Some(PathBuf::from(address));
        Ok(true)
    }
}
