//! The tasks of DVB-S2 that parameters alone can make, as kinds of a registry.

use std::fs::File;
use std::sync::Arc;

use bief::{Error, Kind, Parameters, Result};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, Modcod, Pls, Rate, RollOff};

use super::decode::{DecodeBch, DecodeLdpc};
use super::deliver::WriteTransportStream;
use super::demap::{Demap, TakePayload};
use super::encode::{EncodeBch, EncodeLdpc, ScrambleBb, fec};
use super::plframe::{BuildPlframe, layout};
use super::shaping::ShapePulses;
use super::slice::SliceTransportStream;
use super::status::Status;
use super::symbols::{CorrectPhase, DescramblePl, MeasureLevel};
use crate::files::NewFile;

/// Iterations of the LDPC decoder that a parameter can ask for at most.
const MOST_ITERATIONS: u32 = 1000;

/// What the parameter `gold` means.
const GOLD: &str = "Gold code of the scrambling, 0 (broadcast) to 262141";

/// The kinds, their names those of the tasks.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    let coding = [
        Kind::new("dvbs2.slice_packets", "reads a transport stream and cuts it into BBFRAMEs", |p| {
            let (size, rate) = code(p)?;
            let roll_off = roll_off(p)?;
            let path = p.path("path")?;
            let file = p.about("path", File::open(&path).map_err(|error| format!("{}: {error}", path.display())))?;
            SliceTransportStream::new(file, size, rate, roll_off)
        })
        .required("path", "transport stream of 188-byte packets")
        .with_default("roll_off", 0.2, "what BBHEADERs announce: 0.35, 0.25 or 0.2"),
        Kind::new("dvbs2.scramble_bits", "scrambles or descrambles BBFRAMEs", |p| {
            let (size, rate) = code(p)?;
            ScrambleBb::new(size, rate)
        }),
        Kind::new("dvbs2.encode_bch", "appends BCH parity, and leaves room for that of LDPC", |p| {
            let (size, rate) = code(p)?;
            EncodeBch::new(size, rate)
        }),
        Kind::new("dvbs2.encode_ldpc", "fills in LDPC parity", |p| {
            let (size, rate) = code(p)?;
            EncodeLdpc::new(size, rate)
        }),
    ];
    let framing = [Kind::new("dvbs2.build_plframe", "maps codewords to symbols and builds PLFRAMEs", |p| {
        code(p)?;
        BuildPlframe::new(pls(p)?)
    })]
    .map(|kind| kind.with_default("pilots", false, "whether PLFRAMEs have pilot symbols"));
    let shaping = Kind::new("dvbs2.shape_pulses", "shapes symbols by root-raised-cosine pulses", |p| {
        let roll_off = p.f64("roll_off", 0.0..=1.0)?;
        let samples_per_symbol = p.f64("samples_per_symbol", 1.0..=64.0)?;
        p.about("samples_per_symbol", ShapePulses::new(roll_off, samples_per_symbol))
    })
    .with_default("roll_off", 0.2, "0 to 1")
    .with_default("samples_per_symbol", 2.0, "1 to 64, a ratio of small numbers");
    let receiving = [
        Kind::new("dvbs2.correct_phase", "takes the carrier phase out of PLFRAMEs", |p| {
            Ok(CorrectPhase::new(scrambler(p)?))
        })
        .with_default("gold", 0, GOLD),
        Kind::new("dvbs2.measure_level", "measures amplitude and noise of PLFRAMEs, and scales them", |p| {
            Ok(MeasureLevel::new(scrambler(p)?))
        })
        .with_default("gold", 0, GOLD),
        Kind::new("dvbs2.descramble_symbols", "undoes the scrambling of PLFRAMEs", |p| {
            Ok(DescramblePl::new(scrambler(p)?))
        })
        .with_default("gold", 0, GOLD),
        Kind::new("dvbs2.take_payload", "leaves out header and pilots of PLFRAMEs", |_| Ok(TakePayload)),
        Kind::new("dvbs2.demap", "demaps payload symbols to LLRs", |_| Ok(Demap::new())),
        Kind::new("dvbs2.decode_ldpc", "decodes LDPC codewords", |p| {
            Ok(DecodeLdpc::new(p.integer("iterations", 1..=MOST_ITERATIONS)?))
        })
        .with_default("iterations", 50, "gives up after so many, 1 to 1000"),
        Kind::new("dvbs2.decode_bch", "corrects what the LDPC decoder left, and leaves the BBFRAME", |_| {
            Ok(DecodeBch::new())
        }),
        Kind::new("dvbs2.write_packets", "puts packets together from BBFRAMEs and writes a transport stream", |p| {
            Ok(WriteTransportStream::new(NewFile::of_parameter(p, "path")?, Arc::new(Status::default())))
        })
        .required("path", "the file; it is made, or emptied, when the chain runs"),
    ];
    let of_code = |kind: Kind| {
        kind.required("modcod", "modulation and code rate, as in \"qpsk-8/9\"")
            .required("frame", "FECFRAME size: \"short\" or \"normal\"")
    };
    coding.into_iter().chain(framing).map(of_code).chain([shaping]).chain(receiving)
}

fn scrambler(p: &mut Parameters) -> Result<Arc<PlScrambler>> {
    let code = p.integer("gold", 0..=262_141)?;
    p.about("gold", PlScrambler::new(code).map(Arc::new))
}

fn frame_size(p: &mut Parameters) -> Result<FrameSize> {
    p.choice("frame", &[("short", FrameSize::Short), ("normal", FrameSize::Normal)])
}

/// Size and rate of the codes; a rate that the size does not have is the fault of the MODCOD.
fn code(p: &mut Parameters) -> Result<(FrameSize, Rate)> {
    let (size, rate) = (frame_size(p)?, p.parse::<Modcod>("modcod")?.rate());
    p.about("modcod", fec(size, rate))?;
    Ok((size, rate))
}

fn pls(p: &mut Parameters) -> Result<Pls> {
    let pls = Pls::from_parts(p.parse("modcod")?, frame_size(p)?, p.bool("pilots")?);
    p.about("modcod", layout(pls))?;
    Ok(pls)
}

fn roll_off(p: &mut Parameters) -> Result<RollOff> {
    let wanted = p.f64("roll_off", ..)? as f32;
    let known = [RollOff::R35, RollOff::R25, RollOff::R20].into_iter().find(|roll_off| roll_off.value() == wanted);
    p.about("roll_off", known.ok_or_else(|| Error::new("DVB-S2 has the roll-offs 0.35, 0.25 and 0.2")))
}
