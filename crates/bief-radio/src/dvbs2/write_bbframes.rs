//! BBFRAMEs as they are, for programs that take them apart themselves.

use std::io::Write;

use bief::report::Figures;
use bief::{Flow, In, InVar, Result, Task};
use bief_dsp::dvbs2::{BBHEADER, BbHeader, FrameSize, Pls, SignalLevel};
use bief_ip::bbframes::L3_HEADER;

use super::decode::Decoding;
use super::tables::expect;

/// What a receiver's header begins with.
const L3_SYNC: u8 = 0xB8;

/// Writes sound BBFRAMEs one after the other, each as long as its data field: 10 bytes and DFL / 8, rounded up.
///
/// With headers of a receiver (L.3), four bytes come before each: 0xB8, MODCOD with bit 6 for short frames and bit 5 for pilots,
/// 8 Es/N0 (dB) + 9, and the number of the frame, in which those that are not written count. It tells `bbframes_written`.
///
/// # Sockets
/// - in: variable `u8`, a descrambled BBFRAME of kbch / 8 bytes; an empty frame (of a dummy PLFRAME) is passed over
/// - in: [`Decoding`], 1 per frame
/// - in: [`Pls`], 1 per frame
/// - in: [`SignalLevel`], 1 per frame
///
/// # Errors
/// A writer that fails: what it took before is kept.
///
/// # Source
/// EN 302 307-1, clause 5.1.6 and Annex I.
///
/// # Example
/// [`Receiver::to_bbframes`](super::Receiver::to_bbframes) adds it to a receiver.
pub struct WriteBbframes {
    writer: Box<dyn Write + Send>,
    isi: Option<u8>,
    has_l3: bool,
    number: u8,
    written: u64,
}

impl WriteBbframes {
    /// Writes to `writer`, and flushes it at the end.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self { writer: Box::new(writer), isi: None, has_l3: false, number: 0, written: 0 }
    }

    /// Puts a receiver's header before each.
    #[must_use]
    pub fn with_l3(self) -> Self {
        Self { has_l3: true, ..self }
    }

    /// Writes those of input stream `isi` alone.
    #[must_use]
    pub fn of_stream(self, isi: u8) -> Self {
        Self { isi: Some(isi), ..self }
    }
}

/// The header of a receiver before a frame.
fn l3(pls: Pls, level: SignalLevel, number: u8) -> [u8; L3_HEADER] {
    let short = u8::from(pls.frame_size() == FrameSize::Short) << 6;
    // Five bits have no room for the MODCODs of DVB-S2X: 0 there.
    let modcod = if pls.value() < 128 { pls.value() >> 2 } else { 0 };
    let acm = short | u8::from(pls.pilots()) << 5 | modcod;
    let es_n0_db = -10.0 * level.n0.log10();
    // Casts from float to integer saturate; 0 would say that there is no signal.
    let cni = (8.0 * es_n0_db + 9.0).round().max(1.0) as u8;
    [L3_SYNC, acm, cni, number]
}

impl Task for WriteBbframes {
    type In = (InVar<u8>, In<Decoding>, In<Pls>, In<SignalLevel>);
    type Out = ();

    fn name(&self) -> String {
        "write BBFRAMEs".to_owned()
    }

    fn lens(&self, (_, decodings, pls, levels): (usize, usize, usize, usize)) -> Result<()> {
        expect("decoding", 1, decodings)?;
        expect("PLS", 1, pls)?;
        expect("level", 1, levels)
    }

    fn run(
        &mut self,
        (frame, decoding, pls, level): (&[u8], &[Decoding], &[Pls], &[SignalLevel]),
        (): (),
    ) -> Result<Flow> {
        if frame.is_empty() {
            return Ok(Flow::Next);
        }
        let number = self.number;
        self.number = number.wrapping_add(1);
        let header = BbHeader::parse(frame).ok().filter(|_| decoding[0].sound);
        let Some(header) = header.filter(|header| self.isi.is_none() || self.isi == header.isi) else {
            return Ok(Flow::Next);
        };
        if self.has_l3 {
            self.writer.write_all(&l3(pls[0], level[0], number))?;
        }
        self.writer.write_all(&frame[..BBHEADER + usize::from(header.dfl).div_ceil(8)])?;
        self.written += 1;
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }

    fn figures(&self, figures: &mut Figures) {
        figures.count("bbframes_written", "", self.written);
    }

    fn reset(&mut self) -> Result<()> {
        (self.number, self.written) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receivers_header_tells_kind_noise_and_number() {
        let level = |es_n0_db: f32| SignalLevel { amplitude: 1.0, n0: 10_f32.powf(-es_n0_db / 10.0) };
        let pls = Pls::new;
        // QPSK 8/9 short, pilots: as another program writes it.
        assert_eq!(l3(pls(43), level(7.5), 5), [0xB8, 0x6A, 69, 5]);
        assert_eq!(l3(pls(4), level(-2.0), 255), [0xB8, 0x01, 1, 255]);
        assert_eq!(l3(pls(5), level(99.0), 0), [0xB8, 0x21, 255, 0]);
        assert_eq!(l3(pls(5), level(f32::NAN), 0)[2], 1);
    }
}
