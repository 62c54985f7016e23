//! The inner code: low-density parity-check codes with a 360-fold structure.

mod decode;
mod encode;
mod sum_product;
mod tables;

use std::sync::LazyLock;

use super::{Fec, FrameSize, Rate, s2x};

pub use decode::{Decoded, Decoder, KernelTables};
pub use encode::Encoder;
pub use sum_product::SumProduct;

/// Information bits that share one row of an address table, and lanes of one layer of checks.
pub const GROUP: usize = 360;

/// One of the 21 LDPC codes of DVB-S2, or of the 34 that DVB-S2X adds (clause 5.3.2 and Annexes B and C of EN 302 307-1 and
/// EN 302 307-2).
///
/// Information bit 360 g + m (m in 0..360) takes part in check (x + m q) mod parity for every address x of
/// row g. Check j is the sum of those bits, of parity bit j and, for j > 0, of parity bit j - 1; it is 0 in
/// a codeword.
#[derive(Debug)]
pub struct Code {
    /// Information bits: the length of a BCH codeword.
    pub kldpc: usize,
    /// Bits of a codeword.
    pub nldpc: usize,
    /// Step between the addresses of neighbouring information bits: parity / 360.
    pub q: usize,
    /// Parity addresses of every 360th information bit, in the order of the standard.
    pub rows: &'static [&'static [u16]],
}

impl Code {
    const fn new(size: FrameSize, rate: Rate, rows: &'static [&'static [u16]]) -> Code {
        let Some(fec) = Fec::new(size, rate) else {
            panic!("no such FECFRAME");
        };
        assert!(rows.len() * GROUP == fec.nbch);
        Code { kldpc: fec.nbch, nldpc: fec.nldpc, q: fec.q, rows }
    }

    /// The code of a frame size and a rate; `None` where there is none, as for 9/10 short.
    ///
    /// ```
    /// use bief_dsp::dvbs2::{FrameSize, Rate, ldpc::Code};
    ///
    /// let code = Code::get(FrameSize::Short, Rate::R8_9).unwrap();
    /// assert_eq!((code.kldpc, code.parity(), code.q), (14_400, 1_800, 5));
    /// ```
    pub fn get(size: FrameSize, rate: Rate) -> Option<&'static Code> {
        let of_s2 = CODES.iter().find(|(key, _)| *key == (size, rate)).map(|(_, code)| code);
        of_s2.or_else(|| S2X_CODES.iter().find(|(key, _)| *key == (size, rate)).map(|(_, code)| code))
    }

    /// A code that VL-SNR frames alone use, by its identifier.
    pub(in crate::dvbs2) fn vl_snr(size: FrameSize, name: &str) -> Option<&'static Code> {
        let is_it = |known: &&(FrameSize, &str, Code)| (known.0, known.1) == (size, name);
        VL_SNR_CODES.iter().find(is_it).map(|(.., code)| code)
    }

    /// Parity bits, as many as checks.
    pub const fn parity(&self) -> usize {
        self.nldpc - self.kldpc
    }
}

/// The codes of DVB-S2X, read when one of them is first asked for.
static S2X_CODES: LazyLock<Vec<((FrameSize, Rate), Code)>> = LazyLock::new(|| {
    let sections = s2x::LDPC.split("\ncode ").skip(1);
    sections.map(read).collect()
});

/// Those of VL-SNR frames.
static VL_SNR_CODES: LazyLock<Vec<(FrameSize, &str, Code)>> = LazyLock::new(|| {
    let sections = s2x::LDPC_VL_SNR.split("\ncode ").skip(1).map(rows_of);
    let code = |(size, name, rows): (FrameSize, _, &'static [&'static [u16]])| {
        let (kldpc, nldpc) = (rows.len() * GROUP, size.bits());
        (size, name, Code { kldpc, nldpc, q: (nldpc - kldpc) / GROUP, rows })
    };
    sections.map(code).collect()
});

/// Reads the table of a code with a [`Rate`].
fn read(section: &'static str) -> ((FrameSize, Rate), Code) {
    let (size, name, rows) = rows_of(section);
    let rate = *Rate::ALL.iter().find(|known| known.to_string() == name).expect("a table of a known rate");
    ((size, rate), Code::new(size, rate, rows))
}

/// Reads a table: a line with its frame size and identifier, and one for each row.
fn rows_of(section: &'static str) -> (FrameSize, &'static str, &'static [&'static [u16]]) {
    let mut lines = section.lines();
    let (size, name) = lines.next().and_then(|title| title.split_once(' ')).expect("a table has a title");
    let size = match size {
        "short" => FrameSize::Short,
        "medium" => FrameSize::Medium,
        _ => FrameSize::Normal,
    };
    let address = |text: &str| text.parse::<u16>().expect("tables consist of addresses");
    let row = |line: &str| &*line.split(' ').map(address).collect::<Vec<_>>().leak();
    let rows: Vec<&'static [u16]> = lines.map(row).collect();
    (size, name, rows.leak())
}

macro_rules! codes {
    ($($size:ident $rate:ident $rows:ident),* $(,)?) => {
        &[$((
            (FrameSize::$size, Rate::$rate),
            Code::new(FrameSize::$size, Rate::$rate, tables::$rows),
        )),*]
    };
}

/// Every code of DVB-S2 with its frame size and rate.
static CODES: &[((FrameSize, Rate), Code)] = codes![
    Normal R1_4 NORMAL_1_4,
    Normal R1_3 NORMAL_1_3,
    Normal R2_5 NORMAL_2_5,
    Normal R1_2 NORMAL_1_2,
    Normal R3_5 NORMAL_3_5,
    Normal R2_3 NORMAL_2_3,
    Normal R3_4 NORMAL_3_4,
    Normal R4_5 NORMAL_4_5,
    Normal R5_6 NORMAL_5_6,
    Normal R8_9 NORMAL_8_9,
    Normal R9_10 NORMAL_9_10,
    Short R1_4 SHORT_1_4,
    Short R1_3 SHORT_1_3,
    Short R2_5 SHORT_2_5,
    Short R1_2 SHORT_1_2,
    Short R3_5 SHORT_3_5,
    Short R2_3 SHORT_2_3,
    Short R3_4 SHORT_3_4,
    Short R4_5 SHORT_4_5,
    Short R5_6 SHORT_5_6,
    Short R8_9 SHORT_8_9,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_a_check_and_no_row_names_one_twice() {
        assert_eq!((CODES.len(), S2X_CODES.len(), VL_SNR_CODES.len()), (21, 30, 4));
        let named = CODES.iter().chain(&*S2X_CODES).map(|((size, rate), code)| (size, rate.to_string(), code));
        let of_vl_snr = VL_SNR_CODES.iter().map(|(size, name, code)| (size, (*name).to_owned(), code));
        for (size, rate, code) in named.chain(of_vl_snr) {
            assert_eq!(code.q * GROUP, code.parity());
            for row in code.rows {
                let mut row = row.to_vec();
                row.sort_unstable();
                assert!(row.windows(2).all(|pair| pair[0] < pair[1]), "{size} {rate}");
                assert!((row[row.len() - 1] as usize) < code.parity(), "{size} {rate}");
            }
        }
        assert!(Code::get(FrameSize::Short, Rate::R9_10).is_none());
    }
}
