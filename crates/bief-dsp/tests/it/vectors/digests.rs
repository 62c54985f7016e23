//! The transmitter against digests of reference data, so that a copy of the repository alone can tell a
//! transmitter that obeys the standard from one that does not.
//!
//! The digests are of what GNU Radio 3.10.5.1 (gr-dtv) makes of the same transport stream, equal to that of an
//! independent model of EN 302 307-1; the tables were also compared with other published transcriptions.

use super::transmit::{sha256, two_frames};
use bief_dsp::dvbs2::plheader::pls_codeword;
use bief_dsp::dvbs2::scramble::{PlScrambler, scramble_bbframe};
use bief_dsp::dvbs2::{FrameSize, Modcod, Pls};

/// Start of the SHA-256 of the symbol labels (one byte each) of frames 0 and 1.
#[rustfmt::skip]
const LABELS: [(&str, FrameSize, &str, &str); 52] = [
    ("qpsk-1/4", FrameSize::Normal, "43b560b7aaea6e88", "55eb6875f695ef22"),
    ("qpsk-1/4", FrameSize::Short, "c8963094a50a688d", "e6f867167d25fbcf"),
    ("qpsk-1/3", FrameSize::Normal, "87190a7f97f18e57", "6e7e1277235fcb72"),
    ("qpsk-1/3", FrameSize::Short, "21b07ff1bd2285cc", "6cac074f4c23622b"),
    ("qpsk-2/5", FrameSize::Normal, "160234aaf104f3c1", "9beb2144297c0b9b"),
    ("qpsk-2/5", FrameSize::Short, "855f17543ae824d3", "eefdbe1f37dacd7b"),
    ("qpsk-1/2", FrameSize::Normal, "5f924246fe58fa40", "c53176a5fa192249"),
    ("qpsk-1/2", FrameSize::Short, "59c22a785f3894b3", "3be96b0a2c289a1b"),
    ("qpsk-3/5", FrameSize::Normal, "effcc3d634e9358b", "17d95bd360d6d694"),
    ("qpsk-3/5", FrameSize::Short, "6fe38e911bc05fc9", "dd1422277eb5ed84"),
    ("qpsk-2/3", FrameSize::Normal, "0a5e1c5007f3142a", "dd91997dd2d45236"),
    ("qpsk-2/3", FrameSize::Short, "303da09a85844290", "9c4159c9e8924256"),
    ("qpsk-3/4", FrameSize::Normal, "a65ed01307bd9a61", "e2dca310a4ac997d"),
    ("qpsk-3/4", FrameSize::Short, "a44be7cef30de9e7", "b80f10ccdeea96e3"),
    ("qpsk-4/5", FrameSize::Normal, "2e58203d30dd7ed1", "71f80724e26fc2ad"),
    ("qpsk-4/5", FrameSize::Short, "5f03b34ca7f9d766", "d357f549f87fc0db"),
    ("qpsk-5/6", FrameSize::Normal, "b52d3a6f4890cfed", "e03272af149f4c0c"),
    ("qpsk-5/6", FrameSize::Short, "1d1944b0c0015ff3", "d4989f9bf4183dc0"),
    ("qpsk-8/9", FrameSize::Normal, "4c2796758643331b", "ebab80c4a03c245d"),
    ("qpsk-8/9", FrameSize::Short, "209a7a3fb3e3ae26", "9bddf06369f28768"),
    ("qpsk-9/10", FrameSize::Normal, "9b16edf9c67b9c4b", "18359c9787c6dd93"),
    ("8psk-3/5", FrameSize::Normal, "7a5c1dfee58fd6cb", "a05055c027b5542f"),
    ("8psk-3/5", FrameSize::Short, "26a030eea9468c44", "a96c7d7c42d1d7ed"),
    ("8psk-2/3", FrameSize::Normal, "38fd4ffbe041a023", "afaaf86ad5c221d5"),
    ("8psk-2/3", FrameSize::Short, "ca2df246ea0ebc68", "996a07a1bb62b9fe"),
    ("8psk-3/4", FrameSize::Normal, "afd5337750d25728", "429c51c3bd2e5fdb"),
    ("8psk-3/4", FrameSize::Short, "273b50cfee1dd04d", "9d315f45574bb435"),
    ("8psk-5/6", FrameSize::Normal, "85dd4f4547ec1773", "7cc33c7eac20a0d0"),
    ("8psk-5/6", FrameSize::Short, "66041f21c7b6ac91", "194e0c2ea0b46faa"),
    ("8psk-8/9", FrameSize::Normal, "762bc049aa16fd30", "06e0c2c462749abf"),
    ("8psk-8/9", FrameSize::Short, "4439f235fb04f028", "5c1b5bdb5ceed98b"),
    ("8psk-9/10", FrameSize::Normal, "f8ed193f7b04ed85", "f93fdd80dc8bdf00"),
    ("16apsk-2/3", FrameSize::Normal, "a5389f43f3d998ad", "c727a1bf1e2e6240"),
    ("16apsk-2/3", FrameSize::Short, "7b1a803cd14d94ef", "4a5f0eb3163d0aa3"),
    ("16apsk-3/4", FrameSize::Normal, "55cdaa715c337f36", "37e91203c5ad2ea1"),
    ("16apsk-3/4", FrameSize::Short, "cd00612e760e1639", "3a0f692139b2e31d"),
    ("16apsk-4/5", FrameSize::Normal, "0b8fadf2236284a4", "aad43ffd814d6b66"),
    ("16apsk-4/5", FrameSize::Short, "3e908ec7bcbfc3cd", "4eabdb5d29506916"),
    ("16apsk-5/6", FrameSize::Normal, "ffa483f3ce5cf65a", "1175c666475b8756"),
    ("16apsk-5/6", FrameSize::Short, "35ff6263c8d7c4ad", "94217bdf5e3460ee"),
    ("16apsk-8/9", FrameSize::Normal, "1cd67313e62300ca", "44db7b23c4c10615"),
    ("16apsk-8/9", FrameSize::Short, "a3850d3a522cd6ae", "f7f68986686bb3c8"),
    ("16apsk-9/10", FrameSize::Normal, "a4a7665dc3d87b26", "3698eae88a831a1e"),
    ("32apsk-3/4", FrameSize::Normal, "9b8eff2b7f61ec63", "6e668a3503a5278b"),
    ("32apsk-3/4", FrameSize::Short, "4b9b345bcf763331", "d7a348972bfe28c6"),
    ("32apsk-4/5", FrameSize::Normal, "3f2c84e6ec956fff", "469b6ae13f13a9c2"),
    ("32apsk-4/5", FrameSize::Short, "ba9922e60c81aebd", "8b66bab84356a667"),
    ("32apsk-5/6", FrameSize::Normal, "2a6663b9fdefba43", "589a0ad0832cd9d4"),
    ("32apsk-5/6", FrameSize::Short, "9b2da9560c791bf2", "c2c08caf5bc0ff98"),
    ("32apsk-8/9", FrameSize::Normal, "df82c294e30c0639", "cab581733bb4f575"),
    ("32apsk-8/9", FrameSize::Short, "66b157396f59221e", "1b17fcd7e80e0325"),
    ("32apsk-9/10", FrameSize::Normal, "12ecc9c93bcbbe0c", "13dd196d38d743a2"),
];

#[test]
fn labels_of_every_modcod_have_the_published_digest() {
    for (name, size, first, second) in LABELS {
        let modcod: Modcod = name.parse().unwrap();
        for (frame, digest) in two_frames(modcod, size).iter().zip([first, second]) {
            assert!(sha256(&frame.labels).starts_with(digest), "{modcod} {size}");
        }
    }
}

#[test]
fn the_bb_scrambler_has_the_published_digest() {
    let mut sequence = [0; 7_274];
    scramble_bbframe(&mut sequence);
    let digest = "b17ed9150167d273bed8dabe48c554e038ba9f97cdfdc5b6849190b83f6aac4a";
    assert_eq!(sha256(&sequence), digest);
}

#[test]
fn the_pl_scrambler_has_the_published_digest() {
    let digest = "c0689524ecd6b59688028c69bc8b5610a536d59cd4db8a6e502488d69fe00bba";
    assert_eq!(sha256(PlScrambler::broadcast().rotations()), digest);
}

#[test]
fn the_pls_code_has_the_published_digest() {
    let codewords: Vec<u8> = Pls::of_s2().flat_map(|pls| pls_codeword(pls).to_be_bytes()).collect();
    let digest = "f67e3e3d9ffa915ee5ecf1dd4b62e9741af63c889554511e724d60edb20f66f3";
    assert_eq!(sha256(&codewords), digest);
}
