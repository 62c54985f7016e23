//! Recordings of a signal after a channel, made in memory.

use std::sync::Arc;

use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::Pls;
use bief_radio::SampleFormat;
use bief_radio::dvbs2::Transmitter;

use super::tests::{PACKET, packets, recorded, samples, transmitter};

/// Samples per symbol, and their format.
pub(crate) const SAMPLES_PER_SYMBOL: f64 = 2.0;
pub(crate) const FORMAT: SampleFormat = SampleFormat::Ci16;

/// Frames of one kind at this Es/N0, with offsets of carrier and clock; roll-off 0.20.
pub(crate) fn recording(pls: Pls, es_n0_db: f64, frames: usize) -> Arc<[u8]> {
    let field = pls.fec().unwrap().kbch / 8 - 10;
    let transmitter = Transmitter { frames: vec![pls], ..transmitter(true) };
    let sent = samples(&transmitter, &packets(frames * field / PACKET, 7));
    let channel = Channel {
        clock_ppm: 20.0,
        start: 0.3,
        carrier: 0.004,
        phase: 1.0,
        noise_power: Channel::noise_for(es_n0_db, SAMPLES_PER_SYMBOL),
        gain: 0.25,
        ..Channel::clear()
    };
    recorded(&sent, channel).into()
}
