//! The kinds of frames that DVB-S2X adds (EN 302 307-2 V1.3.1, Tables 9a, 9b, 17a and 17b), and its tables as texts.

use super::{FrameSize, Modcod, Modulation, Rate};

/// A MODCOD in a frame size: what the PLS values `pls` and, with pilots, `pls` + 1 mean.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) pls: u8,
    pub(super) modulation: Modulation,
    /// What follows the modulation in the name of the MODCOD: not always the name of the code.
    pub(super) name: &'static str,
    pub(super) rate: Rate,
    pub(super) size: FrameSize,
    /// Ideal Es/N0 in dB.
    pub(super) esn0_db: f32,
    /// The column of the interleaver that each label bit comes from; nothing for QPSK.
    pub(super) columns: &'static [usize],
    pub(super) shape: Shape,
}

/// The points of a frame's symbols.
#[derive(Debug)]
pub(super) enum Shape {
    /// Those of DVB-S2.
    Psk,
    /// Rings of a table of [`CONSTELLATIONS`] (4+12APSK: that of DVB-S2), and their radii relative to the innermost one.
    Rings(&'static str, &'static [f64]),
    /// A table of points in [`CONSTELLATIONS`].
    Points(&'static str),
}

/// Constellations, in a form that is told there.
pub(super) const CONSTELLATIONS: &str = include_str!("s2x/constellations.txt");
/// Address tables of LDPC codes, in a form that is told there.
pub(super) const LDPC: &str = include_str!("s2x/ldpc.txt");

/// Those of VL-SNR frames.
pub(super) const LDPC_VL_SNR: &str = include_str!("s2x/ldpc_vl_snr.txt");

/// PLS values of VL-SNR frames, set 1 and set 2, which are as long as frames of other kinds.
const VL_SNR: [(u8, usize); 2] = [(129, 360), (131, 180)];
/// PLS values that are reserved, and payload slots of their frames, so that they can be passed over.
const RESERVED: [(u8, usize); 16] = [
    (128, 240),
    (130, 180),
    (176, 144),
    (177, 144),
    (188, 120),
    (189, 120),
    (192, 120),
    (193, 120),
    (196, 120),
    (197, 120),
    (250, 240),
    (251, 180),
    (252, 144),
    (253, 120),
    (254, 90),
    (255, 72),
];

/// Normal frames, and short ones of the same MODCOD.
const OF_BOTH_SIZES: [(u8, u8); 3] = [(154, 240), (156, 242), (178, 248)];

/// Places in [`FRAMES`] by PLS value; beyond its end where there is none.
const PLACES: [u8; 256] = {
    let mut places = [u8::MAX; 256];
    let mut index = 0;
    while index < FRAMES.len() {
        places[FRAMES[index].pls as usize] = index as u8;
        places[FRAMES[index].pls as usize + 1] = index as u8;
        index += 1;
    }
    places
};

/// What a PLS value means, with or without pilots.
pub(super) const fn frame(pls: u8) -> Option<&'static Frame> {
    match PLACES[pls as usize] {
        u8::MAX => None,
        place => Some(&FRAMES[place as usize]),
    }
}

/// The kind of frame of a MODCOD in a frame size.
pub(super) const fn frame_of(modcod: Modcod, size: FrameSize) -> Option<&'static Frame> {
    let mut twin = 0;
    while twin < OF_BOTH_SIZES.len() {
        let (normal, short) = OF_BOTH_SIZES[twin];
        if modcod.number() == normal && matches!(size, FrameSize::Short) {
            return frame(short);
        }
        twin += 1;
    }
    match frame(modcod.number()) {
        Some(frame) if frame.size as u8 == size as u8 => Some(frame),
        _ => None,
    }
}

/// Payload slots of a frame that carries nothing that is decoded here, and whether it has pilots.
pub(super) const fn passed_over(pls: u8) -> Option<(usize, bool)> {
    if pls < 128 || frame(pls).is_some() {
        return None;
    }
    let mut index = 0;
    while index < RESERVED.len() {
        if RESERVED[index].0 == pls {
            // The last six values are all with pilots.
            return Some((RESERVED[index].1, pls & 1 == 1 || pls >= 250));
        }
        index += 1;
    }
    let mut set = 0;
    while set < VL_SNR.len() {
        if VL_SNR[set].0 == pls {
            return Some((VL_SNR[set].1, true));
        }
        set += 1;
    }
    None
}

/// What a frame that is passed over is called.
pub(super) const fn is_vl_snr(pls: u8) -> bool {
    pls == VL_SNR[0].0 || pls == VL_SNR[1].0
}

impl Frame {
    /// The MODCOD, which has the number of its first frame.
    pub(super) const fn modcod(&self) -> Modcod {
        let mut number = self.pls;
        let mut twin = 0;
        while twin < OF_BOTH_SIZES.len() {
            let (normal, short) = OF_BOTH_SIZES[twin];
            number = if number == short { normal } else { number };
            twin += 1;
        }
        Modcod::of_frame(number)
    }
}

type Row = (u8, Modulation, &'static str, Rate, FrameSize, f32, &'static [usize], Shape);

const fn kind((pls, modulation, name, rate, size, esn0_db, columns, shape): Row) -> Frame {
    Frame { pls, modulation, name, rate, size, esn0_db, columns, shape }
}

/// Every kind, in the order of PLS values.
static FRAMES: [Frame; 55] = {
    use FrameSize::{Normal, Short};
    use Modulation::*;
    use Rate::*;
    use Shape::{Points, Psk, Rings};
    [
        kind((132, Qpsk, "13/45", R13_45, Normal, -2.03, &[], Psk)),
        kind((134, Qpsk, "9/20", R9_20, Normal, 0.22, &[], Psk)),
        kind((136, Qpsk, "11/20", R11_20, Normal, 1.45, &[], Psk)),
        kind((138, Apsk8, "5/9-L", R100_180, Normal, 4.73, &[0, 1, 2], Rings("2+4+2APSK", &[5.32, 6.8]))),
        kind((140, Apsk8, "26/45-L", R104_180, Normal, 5.13, &[0, 1, 2], Rings("2+4+2APSK", &[6.39, 8.0]))),
        kind((142, Psk8, "23/36", R23_36, Normal, 6.12, &[0, 1, 2], Psk)),
        kind((144, Psk8, "25/36", R25_36, Normal, 7.02, &[1, 0, 2], Psk)),
        kind((146, Psk8, "13/18", R13_18, Normal, 7.49, &[1, 0, 2], Psk)),
        kind((148, Apsk16, "1/2-L", R90_180, Normal, 5.97, &[3, 2, 1, 0], Rings("8+8APSK", &[2.19]))),
        kind((150, Apsk16, "8/15-L", R96_180, Normal, 6.55, &[2, 3, 1, 0], Rings("8+8APSK", &[2.19]))),
        kind((152, Apsk16, "5/9-L", R100_180, Normal, 6.84, &[2, 3, 0, 1], Rings("8+8APSK", &[2.19]))),
        kind((154, Apsk16, "26/45", R26_45, Normal, 7.51, &[3, 2, 0, 1], Rings("4+12APSK", &[3.7]))),
        kind((156, Apsk16, "3/5", R3_5, Normal, 7.8, &[3, 2, 1, 0], Rings("4+12APSK", &[3.7]))),
        kind((158, Apsk16, "3/5-L", R18_30, Normal, 7.41, &[0, 1, 2, 3], Points("16APSK 3/5-L"))),
        kind((160, Apsk16, "28/45", R28_45, Normal, 8.1, &[3, 0, 1, 2], Rings("4+12APSK", &[3.5]))),
        kind((162, Apsk16, "23/36", R23_36, Normal, 8.38, &[3, 0, 2, 1], Rings("4+12APSK", &[3.1]))),
        kind((164, Apsk16, "2/3-L", R20_30, Normal, 8.43, &[0, 1, 2, 3], Points("16APSK 2/3-L"))),
        kind((166, Apsk16, "25/36", R25_36, Normal, 9.27, &[2, 3, 1, 0], Rings("4+12APSK", &[3.1]))),
        kind((168, Apsk16, "13/18", R13_18, Normal, 9.71, &[3, 0, 2, 1], Rings("4+12APSK", &[2.85]))),
        kind((170, Apsk16, "7/9", R140_180, Normal, 10.65, &[3, 2, 1, 0], Rings("4+12APSK", &[3.6]))),
        kind((172, Apsk16, "77/90", R154_180, Normal, 11.99, &[0, 3, 2, 1], Rings("4+12APSK", &[3.2]))),
        kind((174, Apsk32, "2/3-L", R2_3, Normal, 11.1, &[2, 1, 4, 3, 0], Rings("4+12+16rbAPSK", &[2.85, 5.55]))),
        kind((
            178,
            Apsk32,
            "32/45",
            R128_180,
            Normal,
            11.75,
            &[4, 0, 3, 1, 2],
            Rings("4+8+4+16APSK", &[2.6, 2.99, 5.6]),
        )),
        kind((
            180,
            Apsk32,
            "11/15",
            R132_180,
            Normal,
            12.17,
            &[4, 0, 3, 1, 2],
            Rings("4+8+4+16APSK", &[2.6, 2.86, 5.6]),
        )),
        kind((182, Apsk32, "7/9", R140_180, Normal, 13.05, &[4, 0, 2, 1, 3], Rings("4+8+4+16APSK", &[2.8, 3.08, 5.6]))),
        kind((
            184,
            Apsk64,
            "32/45-L",
            R128_180,
            Normal,
            13.98,
            &[3, 0, 5, 2, 1, 4],
            Rings("16+16+16+16APSK", &[1.88, 2.72, 3.95]),
        )),
        kind((
            186,
            Apsk64,
            "11/15",
            R132_180,
            Normal,
            14.81,
            &[5, 2, 0, 1, 4, 3],
            Rings("4+12+20+28APSK", &[2.4, 4.3, 7.0]),
        )),
        kind((190, Apsk64, "7/9", R7_9, Normal, 15.47, &[2, 0, 1, 5, 4, 3], Rings("8+16+20+20APSK", &[2.2, 3.6, 5.2]))),
        kind((194, Apsk64, "4/5", R4_5, Normal, 15.87, &[1, 2, 4, 0, 5, 3], Rings("8+16+20+20APSK", &[2.2, 3.6, 5.2]))),
        kind((198, Apsk64, "5/6", R5_6, Normal, 16.55, &[4, 2, 1, 0, 5, 3], Rings("8+16+20+20APSK", &[2.2, 3.5, 5.0]))),
        kind((
            200,
            Apsk128,
            "3/4",
            R135_180,
            Normal,
            17.73,
            &[4, 2, 5, 0, 3, 1, 6],
            Rings("128APSK", &[1.715, 2.118, 2.681, 2.75, 3.819]),
        )),
        kind((
            202,
            Apsk128,
            "7/9",
            R140_180,
            Normal,
            18.53,
            &[4, 1, 3, 0, 2, 5, 6],
            Rings("128APSK", &[1.715, 2.118, 2.681, 2.75, 3.733]),
        )),
        kind((
            204,
            Apsk256,
            "29/45-L",
            R116_180,
            Normal,
            16.98,
            &[4, 0, 3, 7, 2, 1, 5, 6],
            Rings("256APSK", &[1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536]),
        )),
        kind((206, Apsk256, "2/3-L", R20_30, Normal, 17.24, &[0, 1, 2, 3, 4, 5, 6, 7], Points("256APSK 2/3-L"))),
        kind((
            208,
            Apsk256,
            "31/45-L",
            R124_180,
            Normal,
            18.1,
            &[4, 6, 3, 2, 0, 5, 7, 1],
            Rings("256APSK", &[1.791, 2.405, 2.98, 3.569, 4.235, 5.078, 6.536]),
        )),
        kind((
            210,
            Apsk256,
            "32/45",
            R128_180,
            Normal,
            18.59,
            &[7, 5, 6, 4, 2, 3, 0, 1],
            Rings("256APSK", &[1.794, 2.409, 2.986, 3.579, 4.045, 4.6, 5.4]),
        )),
        kind((212, Apsk256, "11/15-L", R22_30, Normal, 18.84, &[0, 1, 2, 3, 4, 5, 6, 7], Points("256APSK 11/15-L"))),
        kind((
            214,
            Apsk256,
            "3/4",
            R135_180,
            Normal,
            19.57,
            &[5, 0, 7, 4, 3, 6, 1, 2],
            Rings("256APSK", &[1.794, 2.409, 2.986, 3.579, 4.045, 4.5, 5.2]),
        )),
        kind((216, Qpsk, "11/45", R11_45, Short, -2.57, &[], Psk)),
        kind((218, Qpsk, "4/15", R4_15, Short, -2.24, &[], Psk)),
        kind((220, Qpsk, "14/45", R14_45, Short, -1.47, &[], Psk)),
        kind((222, Qpsk, "7/15", R7_15, Short, 0.7, &[], Psk)),
        kind((224, Qpsk, "8/15", R8_15, Short, 1.55, &[], Psk)),
        kind((226, Qpsk, "32/45", R32_45, Short, 3.77, &[], Psk)),
        kind((228, Psk8, "7/15", R7_15, Short, 3.82, &[1, 0, 2], Psk)),
        kind((230, Psk8, "8/15", R8_15, Short, 4.74, &[1, 0, 2], Psk)),
        kind((232, Psk8, "26/45", R26_45, Short, 5.47, &[1, 0, 2], Psk)),
        kind((234, Psk8, "32/45", R32_45, Short, 7.62, &[0, 1, 2], Psk)),
        kind((236, Apsk16, "7/15", R7_15, Short, 6.06, &[2, 1, 0, 3], Rings("4+12APSK", &[3.32]))),
        kind((238, Apsk16, "8/15", R8_15, Short, 7.01, &[2, 1, 0, 3], Rings("4+12APSK", &[3.5]))),
        kind((240, Apsk16, "26/45", R26_45, Short, 7.72, &[2, 1, 3, 0], Rings("4+12APSK", &[3.7]))),
        kind((242, Apsk16, "3/5", R3_5, Short, 8.15, &[3, 2, 0, 1], Rings("4+12APSK", &[3.7]))),
        kind((244, Apsk16, "32/45", R32_45, Short, 9.87, &[0, 1, 2, 3], Rings("4+12APSK", &[2.85]))),
        kind((246, Apsk32, "2/3", R2_3, Short, 11.47, &[4, 1, 2, 3, 0], Rings("4+12+16rbAPSK", &[2.84, 5.54]))),
        kind((248, Apsk32, "32/45", R32_45, Short, 12.21, &[1, 0, 4, 2, 3], Rings("4+12+16rbAPSK", &[2.84, 5.26]))),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_name_are_one_modcod() {
        for a in &FRAMES {
            for b in &FRAMES {
                let same = (a.modulation, a.name) == (b.modulation, b.name);
                assert_eq!(a.modcod() == b.modcod(), same, "{} {}", a.pls, b.pls);
                assert!(!same || a.pls == b.pls || a.size != b.size);
            }
            assert!(std::ptr::eq(frame_of(a.modcod(), a.size).unwrap(), a));
            assert!(std::ptr::eq(frame(a.pls | 1).unwrap(), a));
        }
    }

    #[test]
    fn every_value_has_one_meaning() {
        for pls in 128..=255 {
            assert!(frame(pls).is_some() != passed_over(pls).is_some(), "{pls}");
        }
    }
}
