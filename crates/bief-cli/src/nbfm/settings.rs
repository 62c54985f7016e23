//! What is received, and how.

use std::time::Duration;

use bief_radio::{NarrowbandFm, Recording};
use clap::Args;

use crate::failure::Failure;
use crate::status::Status;
use crate::units::duration;

/// The audio rate that is wanted, where nobody says one.
const AUDIO_RATE: f64 = 48e3;
/// The least that is taken instead: speech has 3 kHz, filters need room.
const LEAST_AUDIO_RATE: f64 = 8e3;

/// Settings of the receiver.
#[derive(Args)]
pub(super) struct SettingArgs {
    /// Samples per second, if the recording does not say
    #[arg(long, value_name = "HZ")]
    rate: Option<f64>,
    /// Nominal carrier frequency above the centre of the recording [default: the strongest carrier]
    #[arg(long, value_name = "HZ", visible_alias = "offset", allow_hyphen_values = true)]
    carrier: Option<f64>,
    /// Take --carrier as exact: neither measure nor track the carrier
    #[arg(long, requires = "carrier")]
    fixed: bool,
    /// Deviation at full scale of the audio: 5000 for a channel spacing of 25 kHz, 2500 for 12.5 kHz
    #[arg(long, value_name = "HZ", default_value_t = 5000.0)]
    deviation: f64,
    /// Samples per second of the audio; must divide the sample rate [default: 48000, or the nearest divisor]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..))]
    audio_rate: Option<u32>,
    /// Undo the sender's pre-emphasis with this time constant, such as 50us, 75us or 750us [default: none]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    deemphasis: Option<Duration>,
    /// Remove DC and frequencies below this one [default: nothing]
    #[arg(long, value_name = "HZ")]
    high_pass: Option<f64>,
    /// Samples per block, a whole multiple of those per audio sample [default: 10 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    block: Option<u32>,
}

/// How the carrier is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Found,
    Measured,
    Told,
}

/// A receiver at its carrier, and the recording from its start.
pub(super) struct Tuned {
    pub(super) receiver: NarrowbandFm,
    pub(super) how: How,
    pub(super) recording: Recording,
}

impl SettingArgs {
    /// Tunes a receiver to the recording.
    pub(super) fn tune(&self, recording: Recording) -> Result<Tuned, Failure> {
        let Some(rate) = self.rate.or(recording.sample_rate) else {
            return Err(Failure::usage(format!("{}: its sample rate is not known: give --rate HZ", recording.name)));
        };
        let audio_rate = match self.audio_rate {
            Some(rate) => rate,
            None => audio_rate(rate).ok_or_else(|| {
                Failure::usage(format!(
                    "{}: {rate} samples per second are no whole multiple of a rate of audio of {LEAST_AUDIO_RATE} Hz or more: \
                     resample it, or correct --rate",
                    recording.name
                ))
            })?,
        };
        let receiver = NarrowbandFm::new(rate, self.carrier.unwrap_or(0.0), self.deviation, audio_rate);
        let receiver = NarrowbandFm {
            de_emphasis: self.deemphasis.map(|time| time.as_secs_f64()),
            high_pass: self.high_pass,
            block: self.block.map_or(receiver.block, |block| block as usize),
            follow: receiver.follow.filter(|_| !self.fixed),
            ..receiver
        };
        let name = recording.name.clone();
        let (receiver, recording, how) = match self.carrier {
            None => receiver.find(recording).map(|(receiver, recording)| (receiver, recording, How::Found)),
            Some(_) if self.fixed => Ok((receiver, recording, How::Told)),
            Some(_) => receiver.refine(recording).map(|(receiver, recording)| (receiver, recording, How::Measured)),
        }
        .map_err(|error| untuned(&name, &error))?;
        Ok(Tuned { receiver, how, recording })
    }
}

/// Why there is no carrier: the option that helps, where one does.
fn untuned(name: &str, error: &bief::Error) -> Failure {
    let told = error.to_string();
    match told.strip_prefix(name) {
        Some(reason) if reason.contains("no carrier stands out") => {
            Failure::new(format!("{told} with --carrier HZ")).with(Status::NoSignal)
        }
        Some(_) => Failure::new(told).with(Status::NoInput),
        None => Failure::usage(told),
    }
}

/// The rate nearest to 48 kHz of which the sample rate is a whole multiple.
pub fn audio_rate(sample_rate: f64) -> Option<u32> {
    let most = (sample_rate / LEAST_AUDIO_RATE).min(1e6) as u32;
    let rates = (1..=most).map(|decimation| sample_rate / f64::from(decimation));
    let whole = rates.filter(|rate| rate.fract() == 0.0 && *rate <= f64::from(u32::MAX));
    let nearest = whole.min_by(|a, b| (a / AUDIO_RATE).ln().abs().total_cmp(&(b / AUDIO_RATE).ln().abs()));
    nearest.map(|rate| rate as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audio_has_a_rate_that_divides() {
        for (rate, audio) in [
            (576e3, Some(48_000)),
            (2.4e6, Some(48_000)),
            (250e3, Some(50_000)),
            (1.024e6, Some(51_200)),
            (2.048e6, Some(51_200)),
            (48e3, Some(48_000)),
            (44.1e3, Some(44_100)),
            (12.5, None),
            (48_000.5, None),
        ] {
            assert_eq!(audio_rate(rate), audio, "{rate}");
        }
    }
}
