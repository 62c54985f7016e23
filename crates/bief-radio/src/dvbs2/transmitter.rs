//! The DVB-S2 transmitter: a transport stream becomes a recording.

use std::io::{Read, Write};

use bief::{Chain, Error, Result};
use bief_dsp::dvbs2::{Layout, Pls, RollOff};

use super::encode::{EncodeBch, EncodeLdpc, ScrambleBb};
use super::plframe::BuildPlframe;
use super::shaping::{Quantise, ShapePulses};
use super::slice::SliceTransportStream;
use crate::files::WriteBytes;
use crate::iq::SampleFormat;

/// What to transmit, and how.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Pls, RollOff};
/// use bief_radio::SampleFormat;
/// use bief_radio::dvbs2::Transmitter;
///
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let transmitter = Transmitter {
///     pls: Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, true),
///     roll_off: RollOff::R20,
///     samples_per_symbol: 2.0,
///     format: SampleFormat::Ci16,
///     level: 0.4,
/// };
/// let chain = transmitter.chain(std::io::Cursor::new(packet), std::io::sink())?;
/// let report = chain.build()?.run()?;
/// assert_eq!(report.frames, 2); // the packet's frame, and an empty one behind it
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Transmitter {
    /// MODCOD, frame size and pilots.
    pub pls: Pls,
    /// Roll-off of the pulses.
    pub roll_off: RollOff,
    /// Samples per symbol.
    pub samples_per_symbol: f64,
    /// How samples are written.
    pub format: SampleFormat,
    /// Share of full scale that a sample of magnitude 1 (the root mean square) gets.
    pub level: f32,
}

impl Transmitter {
    /// The chain that reads transport-stream packets from `packets` and writes samples to `out`.
    ///
    /// # Errors
    /// A PLS that carries no data or whose modulation is not QPSK, samples per symbol that cannot be made.
    pub fn chain(&self, packets: impl Read + Send + 'static, out: impl Write + Send + 'static) -> Result<Chain> {
        let Some(modcod) = self.pls.modcod() else {
            return Err(Error::new(format!("{}: this build transmits QPSK", self.pls)));
        };
        let (size, rate) = (self.pls.frame_size(), modcod.rate());
        let mut tx = Chain::new();
        let mut frames = tx.add(SliceTransportStream::new(packets, size, rate, self.roll_off)?, ());
        tx.add(ScrambleBb::new(size, rate)?, &mut frames);
        let mut codewords = tx.add(EncodeBch::new(size, rate)?, &frames);
        tx.add(EncodeLdpc::new(size, rate)?, &mut codewords);
        let symbols = tx.add(BuildPlframe::new(self.pls)?, &codewords);
        let samples = tx.add(ShapePulses::new(self.roll_off.value().into(), self.samples_per_symbol)?, &symbols);
        let bytes = tx.add(Quantise::new(self.format, self.level), &samples);
        tx.add(WriteBytes::new(out), &bytes);
        Ok(tx)
    }

    /// Bits of transport stream per PLFRAME, when frames are full.
    pub fn bits_per_frame(&self) -> Option<usize> {
        Some(self.pls.fec()?.kbch - 80)
    }

    /// Symbols per PLFRAME.
    pub fn symbols_per_frame(&self) -> Option<usize> {
        Some(Layout::new(self.pls)?.symbols())
    }
}
