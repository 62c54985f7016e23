//! The two decoders as tasks.

use bief::{Flow, In, InOut, Out, Result, Task};
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::{Code, Decoder};
use bief_dsp::dvbs2::{FrameSize, Rate};

use super::encode::{expect, fec};

/// How the decoding of one frame went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decoding {
    /// Iterations of the LDPC decoder.
    pub iterations: u32,
    /// Whether the LDPC decoder ended on a codeword.
    pub converged: bool,
    /// Bits that the BCH decoder corrected.
    pub corrected: u32,
    /// Whether the frame is a BCH codeword now: free of errors as far as the codes can tell.
    pub sound: bool,
}

/// Decodes LDPC codewords by layered offset min-sum.
///
/// # Sockets
/// - in: `i8`, nldpc LLRs in the order of transmission, positive for 0, 4 counts per unit
/// - out: `u8`, nbch / 8 bytes of packed bits; [`Decoding`], 1 per frame
///
/// # Errors
/// At build, another frame length, or a rate that the frame size does not have. A frame that does not converge is passed on
/// and says so.
///
/// # Source
/// EN 302 307-1, clause 5.3.2 and Annexes B and C (the code).
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::{FrameSize, Rate};
/// use bief_radio::dvbs2::{DecodeBch, DecodeLdpc};
/// let (size, rate) = (FrameSize::Short, Rate::R8_9);
/// let mut chain = Chain::new();
/// let mut llrs = vec![20_i8; 16_200]; // all bits 0
/// llrs[123] = -5;
/// let llrs = chain.add(source::from_slice(&llrs, 16_200), ());
/// let (mut codewords, mut decoding) = chain.add(DecodeLdpc::new(size, rate, 20)?, &llrs);
/// chain.add(DecodeBch::new(size, rate)?, (&mut codewords, &mut decoding));
/// let (collect, result) = sink::collect();
/// chain.add(collect, &decoding);
/// chain.build()?.run()?;
/// assert!(result.take()[0].sound);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct DecodeLdpc {
    decoder: Decoder,
}

impl DecodeLdpc {
    /// For frames of this size and rate; gives up after `max_iterations`.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(size: FrameSize, rate: Rate, max_iterations: u32) -> Result<Self> {
        fec(size, rate)?;
        let code = Code::get(size, rate).expect("every rate with a Fec has an LDPC code");
        Ok(Self { decoder: Decoder::new(code, max_iterations) })
    }
}

impl Task for DecodeLdpc {
    type In = In<i8>;
    type Out = (Out<u8>, Out<Decoding>);

    fn name(&self) -> String {
        "decode LDPC".to_owned()
    }

    fn lens(&self, llrs: usize) -> Result<(usize, usize)> {
        expect("LLRs", self.decoder.code().nldpc, llrs)?;
        Ok((self.decoder.code().kldpc / 8, 1))
    }

    fn run(&mut self, llrs: &[i8], (bits, decoding): (&mut [u8], &mut [Decoding])) -> Result<Flow> {
        let decoded = self.decoder.decode(llrs, bits);
        decoding[0] = Decoding { iterations: decoded.iterations, converged: decoded.converged, ..Decoding::default() };
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Corrects what the LDPC decoder left, and says whether the frame is sound.
///
/// # Sockets
/// - in-place: `u8`, nbch / 8 bytes of packed bits; [`Decoding`], 1 per frame, of which `corrected` and `sound` are written
///
/// # Errors
/// At build, another frame length, or a rate that the frame size does not have. A frame that cannot be corrected is passed
/// on as it is and says so.
///
/// # Source
/// EN 302 307-1, clause 5.3.1.
///
/// # Example
/// See [`DecodeLdpc`].
#[derive(Clone)]
pub struct DecodeBch {
    bch: Bch,
}

impl DecodeBch {
    /// For frames of this size and rate.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(size: FrameSize, rate: Rate) -> Result<Self> {
        fec(size, rate)?;
        Ok(Self { bch: Bch::new(size, rate).expect("every rate with a Fec has a BCH code") })
    }
}

impl Task for DecodeBch {
    type In = (InOut<u8>, InOut<Decoding>);
    type Out = ();

    fn name(&self) -> String {
        "decode BCH".to_owned()
    }

    fn lens(&self, (bytes, decodings): (usize, usize)) -> Result<()> {
        expect("bytes", self.bch.codeword_bytes(), bytes)?;
        expect("decoding", 1, decodings)
    }

    fn run(&mut self, (codeword, decoding): (&mut [u8], &mut [Decoding]), (): ()) -> Result<Flow> {
        match self.bch.decode(codeword) {
            Outcome::Corrected(bits) => (decoding[0].corrected, decoding[0].sound) = (bits as u32, true),
            Outcome::Uncorrectable => (decoding[0].corrected, decoding[0].sound) = (0, false),
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
