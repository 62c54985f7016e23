//! The bit side of a transmitter as tasks: BBFRAMEs scrambled, and the parity of both codes.

use bief::{Error, Flow, In, InOut, Out, Result, Task};
use bief_dsp::dvbs2::bch::Bch;
use bief_dsp::dvbs2::ldpc::{Code, Encoder};
use bief_dsp::dvbs2::{Fec, FrameSize, Rate, scramble::scramble_bbframe};

pub(super) fn expect(what: &str, wanted: usize, got: usize) -> Result<()> {
    if wanted == got {
        return Ok(());
    }
    Err(Error::new(format!("needs frames of {wanted} {what}, not {got}")))
}

pub(super) fn fec(size: FrameSize, rate: Rate) -> Result<Fec> {
    Fec::new(size, rate).ok_or_else(|| Error::new(format!("DVB-S2 has no rate {rate} for {size} frames")))
}

/// Scrambles or descrambles BBFRAMEs: the same operation.
///
/// # Sockets
/// - in-place: `u8`, packed bits, first bit in the most significant place; the first kbch / 8 bytes are the BBFRAME, what
///   follows (parity) is left alone
///
/// # Errors
/// At build, a frame shorter than the BBFRAME, or a rate that the frame size does not have.
///
/// # Source
/// EN 302 307-1, clause 5.2.2.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::{FrameSize, Rate};
/// use bief_radio::dvbs2::ScrambleBb;
/// let mut chain = Chain::new();
/// let mut frames = chain.add(source::from_slice(&[0_u8; 1779], 1779), ());
/// chain.add(ScrambleBb::new(FrameSize::Short, Rate::R8_9)?, &mut frames);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &frames);
/// chain.build()?.run()?;
/// assert_eq!(result.take()[..4], [0x03, 0xF6, 0x08, 0x34]);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ScrambleBb {
    bytes: usize,
}

impl ScrambleBb {
    /// For BBFRAMEs of this size and rate.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(size: FrameSize, rate: Rate) -> Result<Self> {
        Ok(Self { bytes: fec(size, rate)?.kbch / 8 })
    }
}

impl Task for ScrambleBb {
    type In = InOut<u8>;
    type Out = ();

    fn name(&self) -> String {
        "scramble bits".to_owned()
    }

    fn lens(&self, bytes: usize) -> Result<()> {
        if bytes < self.bytes {
            return expect("bytes or more", self.bytes, bytes);
        }
        Ok(())
    }

    fn run(&mut self, frame: &mut [u8], (): ()) -> Result<Flow> {
        scramble_bbframe(&mut frame[..self.bytes]);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Appends the parity of the BCH code, and leaves room for that of the LDPC code.
///
/// # Sockets
/// - in: `u8`, kbch / 8 bytes of packed bits
/// - out: `u8`, nldpc / 8 bytes: message, BCH parity, and zeros to be filled by [`EncodeLdpc`]
///
/// # Errors
/// At build, another frame length, or a rate that the frame size does not have.
///
/// # Source
/// EN 302 307-1, clause 5.3.1.
///
/// # Example
/// See [`EncodeLdpc`].
#[derive(Clone)]
pub struct EncodeBch {
    bch: Bch,
    fec: Fec,
}

impl EncodeBch {
    /// For frames of this size and rate.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(size: FrameSize, rate: Rate) -> Result<Self> {
        let fec = fec(size, rate)?;
        Ok(Self { bch: Bch::new(size, rate).expect("every rate with a Fec has a BCH code"), fec })
    }
}

impl Task for EncodeBch {
    type In = In<u8>;
    type Out = Out<u8>;

    fn name(&self) -> String {
        "encode BCH".to_owned()
    }

    fn lens(&self, bytes: usize) -> Result<usize> {
        expect("bytes", self.fec.kbch / 8, bytes)?;
        Ok(self.fec.nldpc / 8)
    }

    fn run(&mut self, message: &[u8], codeword: &mut [u8]) -> Result<Flow> {
        codeword[..message.len()].copy_from_slice(message);
        let (parity, rest) = codeword[message.len()..].split_at_mut((self.fec.nbch - self.fec.kbch) / 8);
        self.bch.encode(message, parity);
        rest.fill(0);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Fills in the parity of the LDPC code.
///
/// # Sockets
/// - in-place: `u8`, nldpc / 8 bytes of packed bits, of which the last nldpc − nbch bits are written
///
/// # Errors
/// At build, another frame length, or a rate that the frame size does not have.
///
/// # Source
/// EN 302 307-1, clause 5.3.2.
///
/// # Example
/// ```
/// use bief::{Chain, sink, source};
/// use bief_dsp::dvbs2::{FrameSize, Rate};
/// use bief_radio::dvbs2::{EncodeBch, EncodeLdpc};
/// let (size, rate) = (FrameSize::Short, Rate::R8_9);
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&[0_u8; 1779], 1779), ());
/// let mut codewords = chain.add(EncodeBch::new(size, rate)?, &frames);
/// chain.add(EncodeLdpc::new(size, rate)?, &mut codewords);
/// let (collect, result) = sink::collect();
/// chain.add(collect, &codewords);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [0; 2025]); // zeros are a codeword
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Clone)]
pub struct EncodeLdpc {
    encoder: Encoder,
    bytes: usize,
}

impl EncodeLdpc {
    /// For frames of this size and rate.
    ///
    /// # Errors
    /// A rate that the frame size does not have.
    pub fn new(size: FrameSize, rate: Rate) -> Result<Self> {
        let fec = fec(size, rate)?;
        let code = Code::get(size, rate).expect("every rate with a Fec has an LDPC code");
        Ok(Self { encoder: Encoder::new(code), bytes: fec.nldpc / 8 })
    }
}

impl Task for EncodeLdpc {
    type In = InOut<u8>;
    type Out = ();

    fn name(&self) -> String {
        "encode LDPC".to_owned()
    }

    fn lens(&self, bytes: usize) -> Result<()> {
        expect("bytes", self.bytes, bytes)
    }

    fn run(&mut self, codeword: &mut [u8], (): ()) -> Result<Flow> {
        self.encoder.encode(codeword);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}
