//! PLFRAME: header, payload and pilots, scrambled (EN 302 307-1, clause 5.5).

use std::borrow::Borrow;
use std::f32::consts::FRAC_1_SQRT_2;

use num_complex::Complex32;

use super::plheader::header_symbols;
use super::scramble::PlScrambler;
use super::{Constellation, HEADER, Interleaver, Layout, Pls, SLOT};

/// A pilot symbol, and a payload symbol of a dummy PLFRAME, before scrambling.
pub const PILOT: Complex32 = Complex32::new(FRAC_1_SQRT_2, FRAC_1_SQRT_2);

/// A PLS value that describes no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}: DVB-S2 defines no such PLFRAME")]
pub struct UndefinedFrameError(Pls);

/// Makes the PLFRAMEs of one PLS value at one sample per symbol. The scrambler is lent or shared: `S` is a `&PlScrambler` or an
/// `Arc<PlScrambler>`.
///
/// ```
/// use bief_dsp::{Complex32, dvbs2::{Pls, PlframeBuilder, scramble::PlScrambler}};
///
/// let builder = PlframeBuilder::new(Pls::new(43), PlScrambler::broadcast())?;
/// let codeword = [0; 2_025]; // QPSK 8/9 short: 16200 bits
/// let mut frame = vec![Complex32::ZERO; builder.layout().symbols()];
/// builder.build(&codeword, &mut frame);
/// assert!(frame.iter().all(|symbol| (symbol.norm() - 1.0).abs() < 1e-6));
/// # Ok::<(), bief_dsp::dvbs2::UndefinedFrameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlframeBuilder<S> {
    header: [Complex32; HEADER],
    layout: Layout,
    scrambler: S,
    /// `None` for a dummy frame.
    mapping: Option<(Interleaver, Constellation)>,
    /// Bytes of a codeword; 0 for a dummy frame.
    codeword: usize,
}

impl<S: Borrow<PlScrambler>> PlframeBuilder<S> {
    /// A builder for the frames that `pls` announces.
    ///
    /// # Errors
    /// When there are none: reserved values, rate 9/10 with short frames. VL-SNR frames are not made here.
    pub fn new(pls: Pls, scrambler: S) -> Result<PlframeBuilder<S>, UndefinedFrameError> {
        let has_frame = pls.is_dummy() || pls.fec().is_some();
        let layout = Layout::new(pls).filter(|_| has_frame).ok_or(UndefinedFrameError(pls))?;
        Ok(PlframeBuilder {
            header: header_symbols(pls),
            layout,
            scrambler,
            mapping: pls.modcod().map(|modcod| {
                let interleaver = Interleaver::new(modcod, pls.frame_size());
                (interleaver, Constellation::new(modcod, pls.frame_size()))
            }),
            codeword: pls.fec().map_or(0, |fec| fec.nldpc / 8),
        })
    }

    /// Lengths and positions in the frames made.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Makes a frame from an LDPC codeword (packed bits), or a dummy frame from nothing.
    ///
    /// # Panics
    /// When `codeword` is not one of 64 800 or 16 200 bits as the PLS says (empty for a dummy frame), or
    /// `frame` has not the length of the layout.
    pub fn build(&self, codeword: &[u8], frame: &mut [Complex32]) {
        assert_eq!(codeword.len(), self.codeword, "bytes of a codeword");
        assert_eq!(frame.len(), self.layout.symbols(), "symbols of a PLFRAME");
        frame[..HEADER].copy_from_slice(&self.header);
        match &self.mapping {
            Some((interleaver, constellation)) => {
                let mut first = 0;
                let mut labels = [0; SLOT];
                for run in self.layout.payload_runs() {
                    for slot in frame[run].chunks_exact_mut(SLOT) {
                        interleaver.labels(codeword, first, &mut labels);
                        constellation.map(&labels, slot);
                        first += SLOT;
                    }
                }
                for block in self.layout.pilots() {
                    frame[block].fill(PILOT);
                }
            }
            None => frame[HEADER..].fill(PILOT),
        }
        self.scrambler.borrow().scramble(0, &mut frame[HEADER..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undefined_frame_is_refused_by_name() {
        let build = |value| PlframeBuilder::new(Pls::new(value), PlScrambler::broadcast());
        let error = build(46).unwrap_err().to_string();
        assert_eq!(error, "QPSK 9/10 short: DVB-S2 defines no such PLFRAME");
        assert!(build(119).is_err() && build(129).is_err() && build(255).is_err());
        assert!(build(0).is_ok());
    }
}
