//! The tasks of DVB-S2 that parameters alone can make, as kinds of a registry.

use std::fs::File;
use std::sync::Arc;

use bief::{Error, Kind, Parameters, Result};
use bief_dsp::dvbs2::RollOff;
use bief_dsp::dvbs2::scramble::PlScrambler;

use super::decode::{DecodeBch, DecodeLdpc};
use super::deliver::Deliver;
use super::demap::Demap;
use super::encode::{EncodeBch, EncodeLdpc, ScrambleBb};
use super::frame_list::frame_list;
use super::input::InputStream;
use super::plframe::BuildPlframe;
use super::shaping::ShapePulses;
use super::slice::Slice;
use super::symbols::{CorrectPhase, MeasureLevel};
use crate::files::NewFile;

/// Iterations of the LDPC decoder that a parameter can ask for at most.
const MOST_ITERATIONS: u32 = 1000;

/// What the parameter `gold` means.
const GOLD: &str = "Gold code of the scrambling, 0 (broadcast) to 262141";

/// The kinds, their names those of the tasks.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    let transmitting = [
        Kind::new("dvbs2.slice_packets", "reads an input stream and cuts it into BBFRAMEs", |p| {
            let frames = p.string("frames")?;
            let frames = p.about("frames", frame_list(&frames))?;
            let roll_off = roll_off(p)?;
            let path = p.path("path")?;
            let file = p.about("path", File::open(&path).map_err(|error| format!("{}: {error}", path.display())))?;
            let input = match (&*p.string("content")?, p.bool("delete_null_packets")?) {
                ("transport", false) => InputStream::transport(file),
                ("transport", true) => InputStream::without_null_packets(file),
                ("continuous", false) => InputStream::continuous(file),
                ("continuous", true) => {
                    return p.about("delete_null_packets", Err("only a transport stream has null packets"));
                }
                _ => return p.about("content", Err("it is \"transport\" or \"continuous\"")),
            };
            let input = input.named(path.display());
            let input = if p.has("isi") { input.of_isi(p.integer("isi", ..)?) } else { input };
            let slice = Slice::new([input], frames, roll_off);
            p.about("frames", slice)
        })
        .required("path", "the stream: packets of 188 bytes, or any bytes")
        .required("frames", "PLFRAMEs in turn, over and over, as in \"qpsk-8/9:short:pilots, 8psk-3/5:normal, dummy\"")
        .with_default("roll_off", 0.2, "what BBHEADERs announce: 0.35, 0.25 or 0.2")
        .with_default("content", "transport", "\"transport\", or \"continuous\" for any bytes")
        .with_default("delete_null_packets", false, "whether null packets are left out, for a receiver to put back")
        .optional("isi", "input stream identifier, 0 to 255, on a carrier of several"),
        Kind::new("dvbs2.scramble_bits", "scrambles or descrambles BBFRAMEs", |_| Ok(ScrambleBb)),
        Kind::new("dvbs2.encode_bch", "appends BCH parity, and leaves room for that of LDPC", |_| Ok(EncodeBch::new())),
        Kind::new("dvbs2.encode_ldpc", "fills in LDPC parity", |_| Ok(EncodeLdpc::new())),
        Kind::new("dvbs2.build_plframe", "maps codewords to symbols and builds PLFRAMEs", |p| {
            let code = p.integer("gold_code", ..)?;
            p.about("gold_code", BuildPlframe::new(code))
        })
        .with_default("gold_code", 0, GOLD),
        Kind::new("dvbs2.shape_pulses", "shapes symbols by root-raised-cosine pulses", |p| {
            let roll_off = p.f64("roll_off", 0.0..=1.0)?;
            let samples_per_symbol = p.f64("samples_per_symbol", 1.0..=64.0)?;
            p.about("samples_per_symbol", ShapePulses::new(roll_off, samples_per_symbol))
        })
        .with_default("roll_off", 0.2, "0 to 1")
        .with_default("samples_per_symbol", 2.0, "1 to 64, a ratio of small numbers"),
        Kind::new("dvbs2.deliver", "puts an input stream together from BBFRAMEs and writes it", |p| {
            let deliver = Deliver::single(NewFile::of_parameter(p, "path")?, Arc::default());
            Ok(if p.has("isi") { deliver.of_stream(p.integer("isi", ..)?) } else { deliver })
        })
        .required("path", "the file; it is made, or emptied, when the chain runs")
        .optional("isi", "input stream identifier, 0 to 255, on a carrier of several"),
    ];
    let receiving = [
        Kind::new("dvbs2.correct_phase", "takes the carrier phase out of PLFRAMEs", |p| {
            Ok(CorrectPhase::new(scrambler(p)?))
        })
        .with_default("gold_code", 0, GOLD),
        Kind::new("dvbs2.measure_level", "measures amplitude and noise of PLFRAMEs, and scales them", |p| {
            Ok(MeasureLevel::new(scrambler(p)?))
        })
        .with_default("gold_code", 0, GOLD),
        Kind::new("dvbs2.demap", "undoes the scrambling of PLFRAMEs and demaps their payload to LLRs", |p| {
            Ok(Demap::new(scrambler(p)?))
        })
        .with_default("gold_code", 0, GOLD),
        Kind::new("dvbs2.decode_ldpc", "decodes LDPC codewords", |p| {
            Ok(DecodeLdpc::new(p.integer("iterations", 1..=MOST_ITERATIONS)?))
        })
        .with_default("iterations", 50, "gives up after so many, 1 to 1000"),
        Kind::new("dvbs2.decode_bch", "corrects what the LDPC decoder left, and leaves the BBFRAME", |_| {
            Ok(DecodeBch::new())
        }),
    ];
    transmitting.into_iter().chain(receiving)
}

fn scrambler(p: &mut Parameters) -> Result<Arc<PlScrambler>> {
    let code = p.integer("gold_code", 0..=262_141)?;
    p.about("gold_code", PlScrambler::new(code).map(Arc::new))
}

fn roll_off(p: &mut Parameters) -> Result<RollOff> {
    let wanted = p.f64("roll_off", ..)? as f32;
    let known = [RollOff::R35, RollOff::R25, RollOff::R20].into_iter().find(|roll_off| roll_off.value() == wanted);
    p.about("roll_off", known.ok_or_else(|| Error::new("DVB-S2 has the roll-offs 0.35, 0.25 and 0.2")))
}
