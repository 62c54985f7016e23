//! The DVB-S2 transmitter: input streams become a recording.

use std::io::{Read, Write};

use bief::{Chain, Result};
use bief_dsp::dvbs2::{Pls, RollOff};

use super::encode::{EncodeBch, EncodeLdpc, ScrambleBb};
use super::input::InputStream;
use super::plframe::BuildPlframe;
use super::shaping::{Quantise, ShapePulses};
use super::slice::Slice;
use crate::files::WriteBytes;
use crate::iq::SampleFormat;

/// What to transmit, and how.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, Pls, RollOff};
/// use bief_radio::SampleFormat;
/// use bief_radio::dvbs2::{Transmitter, frame_list};
///
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let pls = Pls::from_parts("8psk-3/5".parse().unwrap(), FrameSize::Short, true).unwrap();
/// let transmitter = Transmitter { roll_off: RollOff::R25, level: 0.4, ..Transmitter::new(pls) };
/// let chain = transmitter.chain(std::io::Cursor::new(packet.clone()), std::io::sink())?;
/// let report = chain.build()?.run()?;
/// assert_eq!(report.frames, 2); // the packet's frame, and an empty one behind it
///
/// let frames = frame_list("qpsk-1/4:short,32apsk-9/10:normal:pilots,dummy")?;
/// let transmitter = Transmitter { frames, ..transmitter };
/// transmitter.chain(std::io::Cursor::new(packet), std::io::sink())?.build()?.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transmitter {
    /// MODCOD, frame size and pilots of the PLFRAMEs, which follow each other in this order, over and over.
    pub frames: Vec<Pls>,
    /// Gold code of the scrambler of symbols, 0 (broadcast) to 262141.
    pub gold_code: u32,
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
    /// PLFRAMEs of this one kind, Gold code 0, roll-off 0.20, two 16-bit samples per symbol at a level of 0.35: pulses reach about
    /// twice that.
    pub fn new(pls: Pls) -> Self {
        Self {
            frames: vec![pls],
            gold_code: 0,
            roll_off: RollOff::R20,
            samples_per_symbol: 2.0,
            format: SampleFormat::Ci16,
            level: 0.35,
        }
    }

    /// The chain that reads transport-stream packets from `packets` and writes samples to `out`.
    ///
    /// # Errors
    /// PLFRAMEs that DVB-S2 does not define, or none that carries data; a Gold code that does not exist; samples per symbol that
    /// cannot be made.
    pub fn chain(&self, packets: impl Read + Send + 'static, out: impl Write + Send + 'static) -> Result<Chain> {
        self.chain_of([InputStream::transport(packets)], out)
    }

    /// As [`chain`](Self::chain), for input streams of any kind; several share the carrier.
    ///
    /// # Errors
    /// As [`chain`](Self::chain); no streams, or several that do not have an ISI each.
    pub fn chain_of(
        &self,
        inputs: impl IntoIterator<Item = InputStream>,
        out: impl Write + Send + 'static,
    ) -> Result<Chain> {
        let mut tx = Chain::new();
        let (mut bbframes, pls) = tx.add(Slice::new(inputs, self.frames.clone(), self.roll_off)?, ());
        tx.add(ScrambleBb, &mut bbframes);
        let mut codewords = tx.add(EncodeBch::new(), (&bbframes, &pls));
        tx.add(EncodeLdpc::new(), (&mut codewords, &pls));
        let symbols = tx.add(BuildPlframe::new(self.gold_code)?, (&codewords, &pls));
        let samples = tx.add(ShapePulses::new(self.roll_off.value().into(), self.samples_per_symbol)?, &symbols);
        let bytes = tx.add(Quantise::variable(self.format, self.level), &samples);
        tx.add(WriteBytes::variable(out), &bytes);
        Ok(tx)
    }
}
