//! The bit side of a transmitter as tasks: BBFRAMEs scrambled, and the parity of both codes.

use bief::{Error, Flow, In, InOutVar, InVar, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::bch::Bch;
use bief_dsp::dvbs2::ldpc::Encoder;
use bief_dsp::dvbs2::scramble::scramble_bbframe;
use bief_dsp::dvbs2::{Fec, FrameSize, Pls, Rate};

use super::tables::{Coding, Tables, code, expect, expect_of};

/// Bytes of the longest BBFRAME.
pub(super) const LONGEST: usize = Fec::new(FrameSize::Normal, Rate::R9_10).expect("defined").kbch / 8;
/// Bytes of the longest BBFRAME of short FECFRAMEs. BBFRAMEs of normal ones are longer.
const MOST_SHORT: usize = Fec::new(FrameSize::Short, Rate::R8_9).expect("defined").kbch / 8;

/// Scrambles or descrambles BBFRAMEs: the same operation.
///
/// # Sockets
/// - in-place: variable `u8`, a BBFRAME of packed bits, first bit in the most significant place; an empty one stays so
///
/// # Errors
/// A frame of more than 7274 bytes, which no BBFRAME has.
///
/// # Source
/// EN 302 307-1, clause 5.2.2.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, VarFrame, sink, source};
/// use bief_radio::dvbs2::ScrambleBb;
/// let mut chain = Chain::new();
/// let zeros = source::from_fn_var(1779, |mut frame: VarFrame<'_, u8>| {
///     frame.extend_from_slice(&[0; 1779])?;
///     Ok(Flow::Next)
/// });
/// let mut frames = chain.add(zeros, ());
/// chain.add(ScrambleBb, &mut frames);
/// chain.add(
///     sink::for_each_var(|frame: &[u8]| {
///         assert_eq!(frame[..4], [0x03, 0xF6, 0x08, 0x34]);
///         Ok(Flow::Stop)
///     }),
///     &frames,
/// );
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ScrambleBb;

impl Task for ScrambleBb {
    type In = InOutVar<u8>;
    type Out = ();

    fn name(&self) -> String {
        "scramble bits".to_owned()
    }

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, mut frame: VarFrame<'_, u8>, (): ()) -> Result<Flow> {
        if frame.len() > LONGEST {
            return Err(Error::new(format!("a BBFRAME has at most {LONGEST} bytes, not {}", frame.len())));
        }
        scramble_bbframe(&mut frame);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(*self)
    }
}

/// Appends the parity of the BCH code, and leaves room for that of the LDPC code.
///
/// The tables of a code are made when a frame of it first comes.
///
/// # Sockets
/// - in: variable `u8`, kbch / 8 bytes of packed bits; nothing for a dummy frame
/// - in: [`Pls`], 1 per frame
/// - out: variable `u8`, nldpc / 8 bytes: message, BCH parity, and zeros to be filled by [`EncodeLdpc`]; nothing for a dummy frame
///
/// # Errors
/// A PLS that DVB-S2 does not define, a frame of another length than it tells.
///
/// # Source
/// EN 302 307-1, clause 5.3.1.
///
/// # Example
/// See [`EncodeLdpc`].
#[derive(Clone, Default)]
pub struct EncodeBch {
    codes: Tables<Coding, Bch>,
}

impl EncodeBch {
    /// For frames of every size and rate.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Task for EncodeBch {
    type In = (InVar<u8>, In<Pls>);
    type Out = OutVar<u8>;

    fn name(&self) -> String {
        "encode BCH".to_owned()
    }

    fn lens(&self, (bytes, pls): (usize, usize)) -> Result<usize> {
        expect("PLS", 1, pls)?;
        let size = if bytes > MOST_SHORT { FrameSize::Normal } else { FrameSize::Short };
        Ok(size.bits() / 8)
    }

    fn run(&mut self, (message, pls): (&[u8], &[Pls]), mut codeword: VarFrame<'_, u8>) -> Result<Flow> {
        if pls[0].is_dummy() {
            return Ok(Flow::Next);
        }
        let coding = code(pls[0])?;
        let bch = self.codes.get(coding, || Ok(coding.bch()))?;
        expect_of(pls[0], "bytes", bch.message_bytes(), message.len())?;
        codeword.set_len(coding.ldpc().nldpc / 8)?;
        codeword.fill(0);
        let codeword = &mut codeword[coding.zeros()..][..bch.codeword_bytes()];
        codeword[..message.len()].copy_from_slice(message);
        bch.complete(codeword);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Fills in the parity of the LDPC code.
///
/// # Sockets
/// - in-place: variable `u8`, nldpc / 8 bytes of packed bits, of which the last nldpc − nbch bits are written; nothing for a dummy
///   frame
/// - in: [`Pls`], 1 per frame
///
/// # Errors
/// A PLS that DVB-S2 does not define, a frame of another length than it tells.
///
/// # Source
/// EN 302 307-1, clause 5.3.2.
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_dsp::dvbs2::{Pls, RollOff};
/// use bief_radio::dvbs2::{EncodeBch, EncodeLdpc, InputStream, ScrambleBb, Slice};
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let mut chain = Chain::new();
/// let input = InputStream::transport(std::io::Cursor::new(packet));
/// let slice = Slice::new([input], [Pls::new(43)], RollOff::R20)?;
/// let (mut frames, pls) = chain.add(slice, ());
/// chain.add(ScrambleBb, &mut frames);
/// let mut codewords = chain.add(EncodeBch::new(), (&frames, &pls));
/// chain.add(EncodeLdpc::new(), (&mut codewords, &pls));
/// chain.add(sink::for_each_var(|codeword: &[u8]| {
///     assert_eq!(codeword.len(), 2025); // QPSK 8/9 short: 16200 bits
///     Ok(bief::Flow::Next)
/// }), &codewords);
/// chain.build()?.run()?;
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct EncodeLdpc {
    encoders: Tables<Coding, Encoder>,
}

impl EncodeLdpc {
    /// For frames of every size and rate.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Task for EncodeLdpc {
    type In = (InOutVar<u8>, In<Pls>);
    type Out = ();

    fn name(&self) -> String {
        "encode LDPC".to_owned()
    }

    fn lens(&self, (_, pls): (usize, usize)) -> Result<()> {
        expect("PLS", 1, pls)
    }

    fn run(&mut self, (mut codeword, pls): (VarFrame<'_, u8>, &[Pls]), (): ()) -> Result<Flow> {
        if pls[0].is_dummy() {
            return Ok(Flow::Next);
        }
        let coding = code(pls[0])?;
        let encoder = self.encoders.get(coding, || Ok(Encoder::new(coding.ldpc())))?;
        expect_of(pls[0], "bytes", coding.ldpc().nldpc / 8, codeword.len())?;
        encoder.encode(&mut codeword);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
