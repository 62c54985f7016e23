//! VL-SNR frames of DVB-S2X (EN 302 307-2): for Es/N0 down to -10 dB.
//!
//! A frame of set 1 (PLS 129) or set 2 (PLS 131) has a second header, of 900 symbols, which tells what it carries: QPSK, or π/2-BPSK
//! with every bit sent once or twice, codes of low rate that are shortened and punctured, and twice as many pilots.

use std::array;
use std::f32::consts::FRAC_1_SQRT_2;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use num_complex::Complex32;

use super::bch::{Bch, Outcome};
use super::ldpc::{Code, Decoded, Decoder, Encoder, GROUP};
use super::level::SignalLevel;
use super::plheader::{header_symbols, symbol_of_zero};
use super::scramble::PlScrambler;
use super::{Fec, FrameSize, HEADER, Layout, PILOT, PILOT_BLOCK, PILOT_PERIOD, Pls, Rate};
use crate::derotate::derotate;

/// Symbols of the header of a VL-SNR frame, which follows the PLHEADER.
pub const VL_SNR_HEADER: usize = 900;
/// Its bits, but for two zeros before and two behind, as rows of 56.
#[rustfmt::skip]
const ROWS: [u64; 16] = [
    0xFB_F23E_837F_9BC4, 0x98_708E_0B39_345E, 0xF6_A2C9_FE1B_1737, 0x84_18D9_5A6F_997A,
    0x7B_7D7B_3E9F_C9EA, 0x5E_78BA_03A6_D51A, 0x27_9CC2_6543_ECD0, 0x34_2B04_98BF_3D7D,
    0xAD_D036_E9D5_312F, 0x10_61C6_DF82_6237, 0x72_D3E0_9073_84C7, 0x3B_D5AC_EE25_E2C9,
    0x59_087D_8261_5ADA, 0xE9_AF01_72CF_9DA7, 0x3F_4835_A406_3F07, 0x23_C9AE_ECF2_ED41,
];
/// Which rows are sent as they are (the others are inverted), the first in the highest place, by header index.
#[rustfmt::skip]
const WALSH: [u16; 16] = [
    0b1111111111111111, 0b1010101010101010, 0b1100110011001100, 0b1001100110011001,
    0b1111000011110000, 0b1001011010010110, 0b1100110000110011, 0b1001100101100110,
    0b1111000000001111, 0b1100001111000011, 0b1010010110100101, 0b0000000011111111,
    0b1010101001010101, 0b1010010101011010, 0b1100001100111100, 0b1001011001101001,
];
pub(super) const ROW_BITS: usize = 56;
/// Errors that the BCH code corrects.
const BCH_T: usize = 12;
/// Frequencies tried on either side for the second header, and their distance in cycles per symbol.
const FREQUENCIES: i32 = 3;
const FREQUENCY_STEP: f64 = 3e-4;
/// Counts of an 8-bit LLR per unit, and the largest.
const COUNTS: f32 = 4.0;
const MAX: f32 = 127.0;

/// How bits become symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mapping {
    Qpsk,
    /// π/2-BPSK, every bit so many times.
    Bpsk(usize),
}

#[derive(Debug)]
struct Kind {
    /// Header index.
    index: u8,
    name: &'static str,
    mapping: Mapping,
    size: FrameSize,
    /// Identifier of the LDPC code.
    code: &'static str,
    kbch: usize,
    /// Information bits of the LDPC code that are zero and not sent.
    shortened: usize,
    /// Every so manieth parity bit is not sent, from the first one on, until so many are left out.
    period: usize,
    punctured: usize,
    /// Es/N0 in dB at which a frame in a hundred is lost, told by simulation.
    esn0_db: f32,
}

type Row = (u8, &'static str, Mapping, FrameSize, &'static str, [usize; 4], f32);

const fn kind((index, name, mapping, size, code, [kbch, shortened, period, punctured], esn0_db): Row) -> Kind {
    Kind { index, name, mapping, size, code, kbch, shortened, period, punctured, esn0_db }
}

static KINDS: [Kind; 9] = {
    use FrameSize::{Medium, Normal, Short};
    use Mapping::{Bpsk, Qpsk};
    [
        kind((0, "QPSK 2/9", Qpsk, Normal, "2/9", [14_208, 0, 15, 3_240], -3.3)),
        kind((1, "BPSK 1/5", Bpsk(1), Medium, "1/5", [5_660, 640, 25, 980], -7.24)),
        kind((2, "BPSK 11/45", Bpsk(1), Medium, "11/45", [7_740, 0, 15, 1_620], -5.78)),
        kind((3, "BPSK 1/3", Bpsk(1), Medium, "1/3", [10_620, 0, 13, 1_620], -4.27)),
        kind((4, "BPSK-S 1/5", Bpsk(2), Short, "1/4", [2_512, 560, 30, 250], -10.24)),
        kind((5, "BPSK-S 11/45", Bpsk(2), Short, "11/45", [3_792, 0, 15, 810], -8.67)),
        kind((9, "BPSK 1/5", Bpsk(1), Short, "1/4", [3_072, 0, 10, 1_224], -6.38)),
        kind((10, "BPSK 4/15", Bpsk(1), Short, "4/15", [4_152, 0, 8, 1_224], -5.13)),
        kind((11, "BPSK 1/3", Bpsk(1), Short, "1/3", [5_232, 0, 8, 1_224], -4.0)),
    ]
};

/// Header index of the first kind of set 2, and of a dummy frame of it.
const SET_2: u8 = 9;

/// A kind of VL-SNR frame: one of nine.
///
/// ```
/// use bief_dsp::dvbs2::{FrameSize, VlSnr};
///
/// let kind: VlSnr = "bpsk-1/5:medium".parse()?;
/// assert_eq!((kind.header_index(), kind.pls().value(), kind.kbch()), (1, 129, 5_660));
/// assert_eq!(kind.to_string(), "BPSK 1/5 medium");
/// assert_eq!(VlSnr::all().count(), 9);
/// # Ok::<(), bief_dsp::dvbs2::ParseVlSnrError>(())
/// ```
#[derive(Clone, Copy)]
pub struct VlSnr(&'static Kind);

impl PartialEq for VlSnr {
    fn eq(&self, other: &VlSnr) -> bool {
        self.0.index == other.0.index
    }
}

impl Eq for VlSnr {}

impl VlSnr {
    /// Every kind, in the order of header indices.
    pub fn all() -> impl Iterator<Item = VlSnr> + Clone {
        KINDS.iter().map(VlSnr)
    }

    /// The kind of that header index, 0 to 15; `None` of a dummy frame (12) and of those that are reserved.
    pub const fn of_header(index: u8) -> Option<VlSnr> {
        let mut place = 0;
        while place < KINDS.len() {
            if KINDS[place].index == index {
                return Some(VlSnr(&KINDS[place]));
            }
            place += 1;
        }
        None
    }

    /// What its second header says, 0 to 11.
    pub const fn header_index(self) -> u8 {
        self.0.index
    }

    /// What its PLHEADER says: set 1 or set 2.
    pub const fn pls(self) -> Pls {
        Pls::new(if self.0.index < SET_2 { 129 } else { 131 })
    }

    /// Length of its LDPC codewords.
    pub const fn frame_size(self) -> FrameSize {
        self.0.size
    }

    /// Bits of a BBFRAME: no multiple of 8 in medium frames.
    pub const fn kbch(self) -> usize {
        self.0.kbch
    }

    /// Bits of a BCH codeword.
    pub const fn nbch(self) -> usize {
        self.fec().nbch
    }

    /// Block lengths. The BCH codeword is shorter than the information of the LDPC code where that is shortened, and not all of the
    /// LDPC codeword is sent.
    pub(super) const fn fec(self) -> Fec {
        let Kind { kbch, shortened, .. } = *self.0;
        let nldpc = self.0.size.bits();
        let nbch = kbch + BCH_T * self.0.size.field_degree();
        Fec { kbch, nbch, nldpc, bch_t: BCH_T, q: (nldpc - nbch - shortened) / GROUP }
    }

    /// Information bits of the LDPC code that are zero and not sent, in bytes.
    pub const fn shortened_bytes(self) -> usize {
        self.0.shortened / 8
    }

    /// Bits of an LDPC codeword that are sent.
    pub fn sent_bits(self) -> usize {
        self.code().nldpc - self.0.shortened - self.0.punctured
    }

    /// Symbols that carry them.
    pub fn data_symbols(self) -> usize {
        match self.0.mapping {
            Mapping::Qpsk => self.sent_bits() / 2,
            Mapping::Bpsk(times) => times * self.sent_bits(),
        }
    }

    /// The LDPC code.
    pub fn code(self) -> &'static Code {
        let Kind { size, code, .. } = *self.0;
        let of_rate = || Code::get(size, *Rate::ALL.iter().find(|rate| rate.to_string() == code)?);
        Code::vl_snr(size, code).or_else(of_rate).expect("every kind has a code")
    }

    /// The BCH code.
    pub fn bch(self) -> Bch {
        Bch::of(self.0.size, self.0.kbch, self.nbch(), BCH_T)
    }

    /// Es/N0 in dB at which an ideal receiver loses one frame in a hundred, told by simulation.
    pub fn ideal_esn0_db(self) -> f32 {
        self.0.esn0_db
    }

    /// The 900 symbols of its header, which are not scrambled.
    pub fn header_symbols(self) -> [Complex32; VL_SNR_HEADER] {
        header_of(self.0.index)
    }

    /// Places in the PLFRAME of the data symbols, in runs, each with what pilots follow it.
    pub fn runs(self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + Clone {
        let layout = Layout::new(self.pls()).expect("both sets have a length");
        // Pilots between two regular blocks stand in the middle; in the last groups there are as many as in a regular block.
        let (more, few) = if self.0.index < SET_2 { (34, 3) } else { (32, 1) };
        let regular = layout.pilots();
        let groups = regular.len() - 1;
        let first = HEADER + VL_SNR_HEADER;
        let end = layout.symbols();
        let start_of = |block: usize| HEADER + PILOT_PERIOD - PILOT_BLOCK + block * PILOT_PERIOD;
        let head = std::iter::once((first..start_of(0), start_of(0)..start_of(0) + PILOT_BLOCK));
        let middle = (0..groups).flat_map(move |group| {
            let start = start_of(group) + PILOT_BLOCK;
            let pilots = if group < groups - few { more } else { PILOT_BLOCK };
            let data = (PILOT_PERIOD - PILOT_BLOCK - pilots) / 2;
            let extra = start + data..start + data + pilots;
            let next = start_of(group + 1);
            [(start..extra.start, extra.clone()), (extra.end..next, next..next + PILOT_BLOCK)]
        });
        let last = start_of(groups) + PILOT_BLOCK;
        head.chain(middle).chain(std::iter::once((last..end, end..end)))
    }

    /// For each bit of the LDPC codeword that is sent, its place in it, in the order of transmission.
    fn sent(self) -> impl Iterator<Item = usize> + Clone {
        let Kind { shortened, period, punctured, .. } = *self.0;
        let (kldpc, nldpc) = (self.code().kldpc, self.code().nldpc);
        let is_sent = move |parity: &usize| !parity.is_multiple_of(period) || parity / period >= punctured;
        (shortened..kldpc).chain((0..nldpc - kldpc).filter(is_sent).map(move |parity| kldpc + parity))
    }
}

impl VlSnr {
    /// For a device: of each bit of the codeword, which of those that are sent it is, in the order of transmission, `u32::MAX` where it
    /// is not sent, and one less where it is certainly 0; and how many symbols of BPSK carry a bit, 0 for QPSK.
    pub(super) fn sources(self) -> (Vec<u32>, u32) {
        let mut sources = vec![u32::MAX; self.0.size.bits()];
        sources[..self.0.shortened].fill(u32::MAX - 1);
        for (number, place) in (0..).zip(self.sent()) {
            sources[place] = number;
        }
        let times = match self.0.mapping {
            Mapping::Qpsk => 0,
            Mapping::Bpsk(times) => times as u32,
        };
        (sources, times)
    }
}

impl fmt::Display for VlSnr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}", self.0.name, self.0.size))
    }
}

impl fmt::Debug for VlSnr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VlSnr({}: {self})", self.0.index)
    }
}

/// A text that names no kind of VL-SNR frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of VL-SNR frame; use one of {names}", names = names())]
pub struct ParseVlSnrError(String);

/// The name used on command lines, as in `bpsk-s-11/45:short`.
fn name(kind: VlSnr) -> String {
    format!("{}:{}", kind.0.name.to_lowercase().replace(' ', "-"), kind.0.size)
}

fn names() -> String {
    VlSnr::all().map(name).collect::<Vec<_>>().join(", ")
}

impl FromStr for VlSnr {
    type Err = ParseVlSnrError;

    fn from_str(text: &str) -> Result<VlSnr, ParseVlSnrError> {
        let wanted = text.trim().to_lowercase();
        VlSnr::all().find(|kind| name(*kind) == wanted).ok_or_else(|| ParseVlSnrError(text.to_owned()))
    }
}

/// The header of an index, reserved or not.
fn header_of(index: u8) -> [Complex32; VL_SNR_HEADER] {
    let last = 2 + ROWS.len() * ROW_BITS;
    array::from_fn(|k| {
        let symbol = symbol_of_zero(k);
        if k < 2 || k >= last {
            return symbol;
        }
        let (row, bit) = ((k - 2) / ROW_BITS, (k - 2) % ROW_BITS);
        let is_one = ROWS[row] >> (ROW_BITS - 1 - bit) & 1 == 1;
        let is_inverted = WALSH[usize::from(index)] >> (15 - row) & 1 == 0;
        if is_one != is_inverted { -symbol } else { symbol }
    })
}

/// The header index that is most likely in 900 symbols, whatever their phase and amplitude, and how well it fits: from 0 to 1.
///
/// The phase must not turn by more than half a cycle over the header.
pub fn vl_snr_header(symbols: &[Complex32; VL_SNR_HEADER]) -> (u8, f32) {
    let sent = header_of(0);
    let aligned = |k: usize| symbols[k] * sent[k].conj();
    let ends: Complex32 = [0, 1, VL_SNR_HEADER - 2, VL_SNR_HEADER - 1].map(aligned).iter().sum();
    // Index 0 inverts no row.
    let rows: [Complex32; 16] = array::from_fn(|row| (2 + row * ROW_BITS..2 + (row + 1) * ROW_BITS).map(aligned).sum());
    let power = |index: u8| {
        let mut sum = ends;
        for (row, part) in rows.iter().enumerate() {
            sum += if WALSH[usize::from(index)] >> (15 - row) & 1 == 1 { *part } else { -part };
        }
        sum.norm_sqr()
    };
    let (index, best) = (0..16)
        .map(|index| (index, power(index)))
        .fold((0, -1.0), |best, found| if found.1 > best.1 { found } else { best });
    let bound = VL_SNR_HEADER as f32 * symbols.iter().map(Complex32::norm_sqr).sum::<f32>();
    (index, if bound > 0.0 { best / bound } else { 0.0 })
}

/// The rows of the second header, as they are in that of index 0, each with its place in it.
pub(super) fn rows() -> impl Iterator<Item = (usize, [Complex32; ROW_BITS])> {
    let header = header_of(0);
    (0..ROWS.len()).map(move |row| (2 + row * ROW_BITS, array::from_fn(|k| header[2 + row * ROW_BITS + k])))
}

/// What the second header of a VL-SNR frame says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers {
    /// `None` where it is none of the nine.
    pub(super) kind: Option<VlSnr>,
    /// How well it fits, 0 to 1.
    pub(super) quality: f32,
}

impl Headers {
    /// Of symbols from the PLHEADER on, whose frequency may be off by 1e-3 cycles per symbol.
    pub(super) fn best(symbols: &[Complex32]) -> Headers {
        let header = |frequency: i32| {
            let mut turned: [Complex32; VL_SNR_HEADER] = array::from_fn(|k| symbols[HEADER + k]);
            derotate(&mut turned, f64::from(frequency) * FREQUENCY_STEP, 0.0);
            vl_snr_header(&turned)
        };
        let all = (-FREQUENCIES..=FREQUENCIES).map(header);
        let (index, quality) = all.fold((0, -1.0), |best, found| if found.1 > best.1 { found } else { best });
        Headers { kind: VlSnr::of_header(index), quality }
    }
}

/// The kind of VL-SNR frame that symbols, from the PLHEADER on, begin with; `None` where that is none of the nine. The frequency
/// may be off by 1e-3 cycles per symbol.
///
/// # Panics
/// When there are fewer symbols than both headers have.
pub fn vl_snr_kind(symbols: &[Complex32]) -> Option<VlSnr> {
    Headers::best(symbols).kind
}

/// Makes PLFRAMEs of BBFRAMEs.
///
/// ```
/// use bief_dsp::Complex32;
/// use bief_dsp::dvbs2::{VlSnr, VlSnrDecoder, VlSnrEncoder, scramble::PlScrambler};
///
/// let kind = VlSnr::of_header(10).unwrap();
/// let (mut encoder, mut decoder) = (VlSnrEncoder::new(kind), VlSnrDecoder::new(kind, 50));
/// let bbframe = vec![0x5A; kind.kbch() / 8];
/// let mut frame = vec![Complex32::ZERO; encoder.symbols()];
/// encoder.build(&bbframe, PlScrambler::broadcast(), &mut frame);
/// let mut received = vec![0; bbframe.len()];
/// assert!(decoder.decode(&frame, PlScrambler::broadcast(), 1.0, &mut received).1);
/// assert_eq!(received, bbframe);
/// ```
#[derive(Clone, Debug)]
pub struct VlSnrEncoder {
    kind: VlSnr,
    bch: Bch,
    encoder: Encoder,
    codeword: Vec<u8>,
}

impl VlSnrEncoder {
    /// For frames of that kind. Allocates all that building needs.
    pub fn new(kind: VlSnr) -> VlSnrEncoder {
        let code = kind.code();
        VlSnrEncoder { kind, bch: kind.bch(), encoder: Encoder::new(code), codeword: vec![0; code.nldpc / 8] }
    }

    /// Symbols of a frame.
    pub fn symbols(&self) -> usize {
        Layout::new(self.kind.pls()).map_or(0, |layout| layout.symbols())
    }

    /// The bits that are sent for a BBFRAME (scrambled, packed; bits behind the last are ignored), packed, in the order of
    /// transmission; the last byte is filled up with zeros.
    ///
    /// # Panics
    /// When `bbframe` has not the bytes that kbch bits take.
    pub fn encode(&mut self, bbframe: &[u8]) -> Vec<u8> {
        let mut sent = vec![0; self.kind.sent_bits().div_ceil(8)];
        self.fill_codeword(bbframe);
        for (k, place) in self.kind.sent().enumerate() {
            sent[k / 8] |= bit(&self.codeword, place) << (7 - k % 8);
        }
        sent
    }

    /// The BCH codeword of a BBFRAME, packed.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_bch(&self, bbframe: &[u8]) -> Vec<u8> {
        assert_eq!(bbframe.len(), self.bch.message_bytes(), "bytes of a BBFRAME");
        let mut codeword = vec![0; self.bch.codeword_bytes()];
        codeword[..bbframe.len()].copy_from_slice(bbframe);
        self.bch.complete(&mut codeword);
        codeword
    }

    fn fill_codeword(&mut self, bbframe: &[u8]) {
        assert_eq!(bbframe.len(), self.bch.message_bytes(), "bytes of a BBFRAME");
        let (zeros, rest) = self.codeword.split_at_mut(self.kind.0.shortened / 8);
        zeros.fill(0);
        let bch = &mut rest[..self.bch.codeword_bytes()];
        bch[..bbframe.len()].copy_from_slice(bbframe);
        self.bch.complete(bch);
        self.encoder.encode(&mut self.codeword);
    }

    /// Makes a PLFRAME of a BBFRAME (scrambled, packed; bits behind the last are ignored). Allocates nothing.
    ///
    /// # Panics
    /// When `bbframe` has not the bytes that kbch bits take, or `frame` not [`symbols`](Self::symbols).
    pub fn build(&mut self, bbframe: &[u8], scrambler: &PlScrambler, frame: &mut [Complex32]) {
        self.fill_codeword(bbframe);
        self.kind.build(&self.codeword, scrambler, frame);
    }
}

impl VlSnr {
    /// Makes a PLFRAME of a whole LDPC codeword, packed; what is not sent is left out.
    ///
    /// # Panics
    /// When `codeword` has not the bytes of a codeword, or `frame` not the symbols of a frame of this kind.
    pub fn build(self, codeword: &[u8], scrambler: &PlScrambler, frame: &mut [Complex32]) {
        assert_eq!(8 * codeword.len(), self.0.size.bits(), "bits of a codeword");
        assert_eq!(Some(frame.len()), Layout::new(self.pls()).map(|layout| layout.symbols()), "symbols of a PLFRAME");
        frame[..HEADER].copy_from_slice(&header_symbols(self.pls()));
        frame[HEADER..HEADER + VL_SNR_HEADER].copy_from_slice(&self.header_symbols());
        let rotations = scrambler.rotations();
        let mut bits = self.sent().map(|place| bit(codeword, place));
        let (mut symbol, mut last) = (0, 0);
        for (data, pilots) in self.runs() {
            for place in data {
                let turns = rotations[place - HEADER];
                frame[place] = match self.0.mapping {
                    Mapping::Qpsk => {
                        let mut part = || FRAC_1_SQRT_2 * (1.0 - 2.0 * f32::from(bits.next().unwrap_or(0)));
                        let point = Complex32::new(part(), part());
                        point * turned(turns)
                    }
                    Mapping::Bpsk(times) => {
                        if symbol % times == 0 {
                            last = bits.next().unwrap_or(0);
                        }
                        let is_negative = (last ^ turns) & 1 == 1;
                        let point = symbol_of_zero(symbol);
                        if is_negative { -point } else { point }
                    }
                };
                symbol += 1;
            }
            for place in pilots {
                frame[place] = PILOT * turned(rotations[place - HEADER]);
            }
        }
    }
}

/// j to that power.
fn turned(turns: u8) -> Complex32 {
    [Complex32::ONE, Complex32::I, -Complex32::ONE, -Complex32::I][usize::from(turns % 4)]
}

fn bit(bytes: &[u8], place: usize) -> u8 {
    bytes[place / 8] >> (7 - place % 8) & 1
}

impl VlSnr {
    /// LLRs of a frame, of every bit of the LDPC codeword: positive for 0, 4 counts per unit. Bits that were not sent are certain
    /// or unknown. `received` is how strong and how noisy symbols are.
    ///
    /// # Panics
    /// When `frame` is shorter than a frame of this kind, or `llrs` not as long as a codeword.
    pub fn demap(self, frame: &[Complex32], scrambler: &PlScrambler, received: SignalLevel, llrs: &mut [i8]) {
        assert_eq!(llrs.len(), self.0.size.bits(), "LLRs");
        llrs.fill(0);
        llrs[..self.0.shortened].fill(MAX as i8);
        let scale = COUNTS * (received.gain() / received.n0);
        let rotations = scrambler.rotations();
        let mut places = self.sent();
        let mut put = |value: f32| {
            if let Some(place) = places.next() {
                llrs[place] = (scale * value).round_ties_even().clamp(-MAX, MAX) as i8;
            }
        };
        let (mut symbol, mut sum) = (0, 0.0);
        for place in self.runs().flat_map(|(data, _)| data) {
            let turns = rotations[place - HEADER];
            match self.0.mapping {
                Mapping::Qpsk => {
                    let point = frame[place] * turned(turns).conj() * (4.0 * FRAC_1_SQRT_2);
                    put(point.re);
                    put(point.im);
                }
                Mapping::Bpsk(times) => {
                    let along = 4.0 * (frame[place] * symbol_of_zero(symbol).conj()).re;
                    sum += if turns & 1 == 1 { -along } else { along };
                    if symbol % times == times - 1 {
                        put(sum);
                        sum = 0.0;
                    }
                }
            }
            symbol += 1;
        }
    }
}

/// Makes BBFRAMEs of PLFRAMEs whose carrier, phase and amplitude are known and removed.
///
/// [`VlSnrEncoder`] has an example.
#[derive(Clone, Debug)]
pub struct VlSnrDecoder {
    kind: VlSnr,
    bch: Bch,
    decoder: Decoder,
    llrs: Vec<i8>,
    information: Vec<u8>,
}

impl VlSnrDecoder {
    /// For frames of that kind; gives up after `max_iterations`. Allocates all that decoding needs.
    pub fn new(kind: VlSnr, max_iterations: u32) -> VlSnrDecoder {
        let code = kind.code();
        VlSnrDecoder {
            kind,
            bch: kind.bch(),
            decoder: Decoder::new(code, max_iterations),
            llrs: vec![0; code.nldpc],
            information: vec![0; code.kldpc / 8],
        }
    }

    /// Decodes a frame into a BBFRAME, still scrambled; bits behind the last are 0. Tells how the LDPC decoder ended, and whether the
    /// frame is free of errors as far as both codes can tell. Allocates nothing.
    ///
    /// # Panics
    /// When `frame` is shorter than a frame of this kind, or `bbframe` has not the bytes that kbch bits take.
    pub fn decode(
        &mut self,
        frame: &[Complex32],
        scrambler: &PlScrambler,
        n0: f32,
        bbframe: &mut [u8],
    ) -> (Decoded, bool) {
        assert_eq!(bbframe.len(), self.bch.message_bytes(), "bytes of a BBFRAME");
        self.kind.demap(frame, scrambler, SignalLevel { amplitude: 1.0, n0 }, &mut self.llrs);
        let decoded = self.decoder.decode(&self.llrs, &mut self.information);
        let codeword = &mut self.information[self.kind.0.shortened / 8..];
        let is_sound = matches!(self.bch.decode(codeword), Outcome::Corrected(_));
        bbframe.copy_from_slice(&codeword[..bbframe.len()]);
        if let Some(last) = bbframe.last_mut().filter(|_| !self.kind.kbch().is_multiple_of(8)) {
            *last &= 0xFFu8 << (8 - self.kind.kbch() % 8);
        }
        (decoded, is_sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Channel;

    /// A BBFRAME of random bits.
    fn bbframe(kind: VlSnr, random: &mut fastrand::Rng) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..kind.kbch().div_ceil(8)).map(|_| random.u8(..)).collect();
        if !kind.kbch().is_multiple_of(8) {
            *bytes.last_mut().unwrap() &= 0xFF << (8 - kind.kbch() % 8);
        }
        bytes
    }

    #[test]
    fn runs_tile_the_frame() {
        for kind in VlSnr::all() {
            let (mut position, mut data) = (HEADER + VL_SNR_HEADER, 0);
            for (run, pilots) in kind.runs() {
                assert_eq!((run.start, pilots.start), (position, run.end), "{kind}");
                data += run.len();
                position = pilots.end;
            }
            assert_eq!(position, Layout::new(kind.pls()).unwrap().symbols(), "{kind}");
            assert_eq!(data, kind.data_symbols(), "{kind}");
            assert_eq!(kind.sent().count(), kind.sent_bits(), "{kind}");
            assert_eq!(name(kind).parse(), Ok(kind));
        }
        let error = "bpsk-1/5".parse::<VlSnr>().unwrap_err().to_string();
        assert!(error.starts_with("`bpsk-1/5` is no kind of VL-SNR frame; use one of qpsk-2/9:normal, "), "{error}");
    }

    #[test]
    fn headers_are_orthogonal_and_found_in_noise() {
        for a in 0..16 {
            for b in 0..a {
                let sum: Complex32 =
                    header_of(a)[2..898].iter().zip(&header_of(b)[2..898]).map(|(a, b)| a * b.conj()).sum();
                assert!(sum.norm() < 1e-3, "{a} {b}");
            }
            for seed in 0..20 {
                let noise_power = Channel::noise_for(-11.0, 1.0);
                let channel = Channel { noise_power, carrier: 2e-4, phase: 2.0, gain: 0.01, seed, ..Channel::clear() };
                let received = channel.apply(&header_of(a));
                let (index, quality) = vl_snr_header(received[..].try_into().unwrap());
                assert!(index == a && quality > 0.01, "{a}: {index}, {quality}");
            }
        }
        assert_eq!(vl_snr_header(&[Complex32::ZERO; VL_SNR_HEADER]), (0, 0.0));
    }

    #[test]
    fn frames_are_decoded_where_an_ideal_receiver_does() {
        let scrambler = PlScrambler::broadcast();
        for kind in VlSnr::all() {
            let (mut encoder, mut decoder) = (VlSnrEncoder::new(kind), VlSnrDecoder::new(kind, 50));
            let mut random = fastrand::Rng::with_seed(u64::from(kind.header_index()));
            let mut frame = vec![Complex32::ZERO; encoder.symbols()];
            // What follows from simulation with the best check rule at 1 frame in 100, and 0.7 dB.
            let es_n0 = f64::from(kind.ideal_esn0_db()) + 0.7;
            for seed in 0..2 {
                let sent = bbframe(kind, &mut random);
                encoder.build(&sent, scrambler, &mut frame);
                assert!(frame.iter().all(|symbol| (symbol.norm() - 1.0).abs() < 1e-6));
                let channel = Channel { noise_power: Channel::noise_for(es_n0, 1.0), seed, ..Channel::clear() };
                let received = channel.apply(&frame);
                let mut bits = vec![0xFF; sent.len()];
                let n0 = 10f32.powf(-0.1 * es_n0 as f32);
                let (decoded, is_sound) = decoder.decode(&received, scrambler, n0, &mut bits);
                assert!(is_sound && bits == sent, "{kind}, {es_n0} dB: {decoded:?}");
            }
            // Noise alone is no frame.
            let noise = Channel { noise_power: 1.0, ..Channel::clear() }.apply(&vec![Complex32::ZERO; frame.len()]);
            let (decoded, is_sound) = decoder.decode(&noise, scrambler, 1.0, &mut vec![0; kind.kbch().div_ceil(8)]);
            assert!(!decoded.converged && !is_sound, "{kind}");
        }
    }
}
