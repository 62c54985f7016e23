//! The two decoders as tasks.

use bief::device::{Device, OffloadOf};
use bief::{Flow, In, InOut, InOutVar, InVar, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::Pls;
use bief_dsp::dvbs2::bch::{Bch, Outcome};
use bief_dsp::dvbs2::ldpc::Decoder;

use super::opencl::DecodeThere;
use super::tables::{Coding, Tables, code, expect, expect_of};

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

impl Decoding {
    /// Iterations, bits and the two flags, little endian: for whoever sends frames elsewhere.
    ///
    /// ```
    /// use bief_radio::dvbs2::Decoding;
    ///
    /// let decoding = Decoding { iterations: 7, converged: true, corrected: 258, sound: false };
    /// assert_eq!(decoding.to_bytes(), [7, 0, 0, 0, 2, 1, 0, 0, 1]);
    /// assert_eq!(Decoding::from_bytes(decoding.to_bytes()), Some(decoding));
    /// assert_eq!(Decoding::from_bytes([255; 9]), None);
    /// ```
    pub fn to_bytes(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[..4].copy_from_slice(&self.iterations.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.corrected.to_le_bytes());
        bytes[8] = u8::from(self.converged) | u8::from(self.sound) << 1;
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave; `None` of other bytes.
    pub fn from_bytes(bytes: [u8; 9]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, flags] = bytes;
        (flags < 4).then_some(Self {
            iterations: u32::from_le_bytes([a, b, c, d]),
            corrected: u32::from_le_bytes([e, f, g, h]),
            converged: flags & 1 != 0,
            sound: flags & 2 != 0,
        })
    }
}

/// Decodes LDPC codewords layer by layer, by A-min*.
///
/// # Sockets
/// - in: `i8`, variable: nldpc LLRs in the order of transmission, positive for 0, 4 counts per unit
/// - in: `Pls`, 1 per frame
/// - out: `u8`, variable: nbch / 8 bytes of packed bits
/// - out: [`Decoding`], 1 per frame
///
/// # Errors
/// A frame without data, or of another length than its PLS says. A frame that does not converge is passed on and says so.
///
/// # Source
/// EN 302 307-1, clause 5.3.2 and Annexes B and C (the code).
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, sink, source};
/// use bief_dsp::dvbs2::Pls;
/// use bief_radio::dvbs2::{DecodeBch, DecodeLdpc};
/// let mut chain = Chain::new();
/// let pls = chain.add(source::from_slice(&[Pls::new(43)], 1), ()); // QPSK 8/9 short
/// let llrs = source::from_fn_var(16_200, |mut llrs: VarFrame<'_, i8>| {
///     llrs.set_len(16_200)?;
///     llrs.fill(20); // all bits 0
///     llrs[123] = -5;
///     Ok(Flow::Next)
/// });
/// let llrs = chain.add(llrs, ());
/// let (mut codewords, mut decoding) = chain.add(DecodeLdpc::new(20), (&llrs, &pls));
/// chain.add(DecodeBch::new(), (&mut codewords, &mut decoding, &pls));
/// let (collect, result) = sink::collect();
/// chain.add(collect, &decoding);
/// chain.build()?.run()?;
/// assert!(result.take()[0].sound);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct DecodeLdpc {
    max_iterations: u32,
    decoders: Tables<Coding, Decoder>,
}

impl DecodeLdpc {
    /// For frames of any kind; gives up after `max_iterations`.
    pub fn new(max_iterations: u32) -> Self {
        Self { max_iterations, decoders: Tables::default() }
    }
}

impl Task for DecodeLdpc {
    type In = (InVar<i8>, In<Pls>);
    type Out = (OutVar<u8>, Out<Decoding>);

    fn name(&self) -> String {
        "decode LDPC".to_owned()
    }

    fn lens(&self, (llrs, pls): (usize, usize)) -> Result<(usize, usize)> {
        expect("PLS", 1, pls)?;
        Ok((llrs.div_ceil(8), 1))
    }

    fn run(
        &mut self,
        (llrs, pls): (&[i8], &[Pls]),
        (mut bits, decoding): (VarFrame<'_, u8>, &mut [Decoding]),
    ) -> Result<Flow> {
        let coding = code(pls[0])?;
        let decoder = self.decoders.get(coding, || Ok(Decoder::new(coding.ldpc(), self.max_iterations)))?;
        expect_of(pls[0], "LLRs", decoder.code().nldpc, llrs.len())?;
        bits.set_len(decoder.code().kldpc / 8)?;
        let decoded = decoder.decode(llrs, &mut bits);
        if coding.zeros() > 0 {
            let rest = bits.len() - coding.zeros();
            bits.copy_within(coding.zeros().., 0);
            bits.set_len(rest)?;
        }
        decoding[0] = Decoding { iterations: decoded.iterations, converged: decoded.converged, ..Decoding::default() };
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        match device.driver() {
            Some(driver) => Some(
                DecodeThere::new(device, driver, self.max_iterations)
                    .map(|there| -> OffloadOf<Self> { Box::new(there) }),
            ),
            None => device.emulate(self.clone()),
        }
    }
}

/// Corrects what the LDPC decoder left, leaves the BBFRAME, and says whether it is sound.
///
/// # Sockets
/// - in-place: `u8`, variable: nbch / 8 bytes of packed bits become kbch / 8
/// - in-place: [`Decoding`], 1 per frame, of which `corrected` and `sound` are written
/// - in: `Pls`, 1 per frame
///
/// # Errors
/// A frame without data, or of another length than its PLS says. A frame that cannot be corrected is passed on as it is and
/// says so.
///
/// # Source
/// EN 302 307-1, clause 5.3.1.
///
/// # Example
/// See [`DecodeLdpc`].
#[derive(Clone, Default)]
pub struct DecodeBch {
    codes: Tables<Coding, Bch>,
}

impl DecodeBch {
    /// For frames of any kind.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Task for DecodeBch {
    type In = (InOutVar<u8>, InOut<Decoding>, In<Pls>);
    type Out = ();

    fn name(&self) -> String {
        "decode BCH".to_owned()
    }

    fn lens(&self, (_, decodings, pls): (usize, usize, usize)) -> Result<()> {
        expect("decoding", 1, decodings)?;
        expect("PLS", 1, pls)
    }

    fn run(
        &mut self,
        (mut codeword, decoding, pls): (VarFrame<'_, u8>, &mut [Decoding], &[Pls]),
        (): (),
    ) -> Result<Flow> {
        let coding = code(pls[0])?;
        let bch = self.codes.get(coding, || Ok(coding.bch()))?;
        expect_of(pls[0], "bytes", bch.codeword_bytes(), codeword.len())?;
        match bch.decode(&mut codeword) {
            Outcome::Corrected(bits) => (decoding[0].corrected, decoding[0].sound) = (bits as u32, true),
            Outcome::Uncorrectable => (decoding[0].corrected, decoding[0].sound) = (0, false),
        }
        codeword.set_len(bch.message_bytes())?;
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
