//! The tasks of DVB-S2 as kinds of a registry: all of the receiver and of the transmitter.

use std::sync::Arc;

use bief::kinds::{InputAddress, Kind, OutputAddress, Param, Piece};
use bief::raw::DynWire;
use bief::{Error, Result, Task};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Modcod, Pls, RollOff};
use bief_dsp::filter::MatchedFilter;

use super::decode::{DecodeBch, DecodeLdpc};
use super::deliver::Deliver;
use super::demap::Demap;
use super::encode::{EncodeBch, EncodeLdpc, ScrambleBb};
use super::frame_list::frame_list;
use super::input::InputStream;
use super::keep_symbols::KeepSymbols;
use super::modcods::Modcods;
use super::observe::Observe;
use super::plframe::BuildPlframe;
use super::receiver::{MIN_SAMPLE_RATE, Receiver, Settings};
use super::roll_off::ROLL_OFF;
use super::shaping::ShapePulses;
use super::slice::Slice;
use super::symbols::{CorrectPhase, FilterSymbols};
use crate::iq::SampleFormat;
use crate::kinds::{format, open, recording};

/// Iterations of the LDPC decoder that a parameter can ask for at most.
const MOST_ITERATIONS: u32 = 1000;
const LAST_GOLD_CODE: u32 = 262_141;
/// Bytes of a stream's front that are recorded at a time for a rehearsal: whole packets.
const PACKETS: usize = 8 * 188;

/// What the source has found of a signal, or was told: a fact of its wires.
struct Found {
    format: SampleFormat,
    filter: MatchedFilter,
    scrambler: Arc<PlScrambler>,
}

/// The kinds, their names those of the tasks.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    let transmitting = [
        slice_packets(),
        Kind::new("dvbs2.scramble_bits", "scrambles or descrambles BBFRAMEs", (), |()| Ok(ScrambleBb)),
        Kind::new("dvbs2.encode_bch", "appends BCH parity, and leaves room for that of LDPC", (), |()| {
            Ok(EncodeBch::new())
        }),
        Kind::new("dvbs2.encode_ldpc", "fills in LDPC parity", (), |()| Ok(EncodeLdpc::new())),
        build_plframe(),
        shape_pulses(),
    ];
    let receiving = [
        cut_frames(),
        filter_symbols(),
        scrambled(
            "dvbs2.correct_phase",
            "takes the carrier phase out of PLFRAMEs, and measures their level",
            1,
            CorrectPhase::new,
        )
        .rewrites("variable Complex<f32>: symbols")
        .reads("Pls")
        .makes("SignalLevel"),
        scrambled("dvbs2.keep_symbols", "keeps some symbols of each frame, to be looked at", 1, KeepSymbols::new)
            .reads("variable Complex<f32>: symbols")
            .reads("SignalLevel")
            .reads("Pls"),
        scrambled("dvbs2.demap", "undoes the scrambling of PLFRAMEs and demaps their payload to LLRs", 2, Demap::new)
            .reads("variable Complex<f32>: symbols")
            .reads("SignalLevel")
            .reads("Pls")
            .makes("variable i8: LLRs"),
        decode_ldpc(),
        Kind::new("dvbs2.decode_bch", "corrects what the LDPC decoder left, and leaves the BBFRAME", (), |()| {
            Ok(DecodeBch::new())
        }),
        observe(),
        deliver(),
    ];
    transmitting.into_iter().chain(receiving)
}

fn isi(meaning: &str) -> Param<Option<u8>> {
    Param::new("isi", meaning).range(0..=u8::MAX).optional()
}

fn gold_code() -> Param<u32> {
    Param::new("gold_code", "Gold code of the scrambling; broadcasts use 0").range(0..=LAST_GOLD_CODE).default(0)
}

fn samples_per_symbol(meaning: &str) -> Param<Option<f64>> {
    Param::new("samples_per_symbol", meaning).range(1.5..=8.0).optional()
}

fn roll_off(value: f64) -> Result<RollOff> {
    let unknown = "DVB-S2 has the roll-offs 0.35, 0.25 and 0.2, and DVB-S2X 0.15, 0.1 and 0.05";
    RollOff::of(value as f32).ok_or_else(|| Error::new(unknown))
}

fn slice_packets() -> Kind {
    const CONTENTS: [(&str, bool); 2] = [("transport", true), ("continuous", false)];
    let list = "PLFRAMEs in turn, over and over, as in \"qpsk-8/9:short:pilots, 8psk-3/5:normal, dummy\"";
    let frames = Param::<String>::new("frames", list);
    let null_packets = "whether null packets are left out, for a receiver to put back";
    let delete_null_packets = Param::<bool>::new("delete_null_packets", null_packets).default(false);
    let (frames_refused, nulls_refused) = (frames.clone(), delete_null_packets.clone());
    let parameters = (
        Param::reads("path", "the stream: packets of 188 bytes, or any bytes; \"-\" for standard input, or an address"),
        frames.map(|list| frame_list(&list)),
        Param::new("roll_off", "what BBHEADERs announce: 0.35, 0.25, 0.2, 0.15, 0.1 or 0.05")
            .default(0.2)
            .map(roll_off),
        Param::<String>::new("content", "packets, or any bytes").default("transport").one_of(&CONTENTS),
        delete_null_packets,
        isi("input stream identifier, on a carrier of several"),
    );
    type Values = (InputAddress, Vec<Pls>, RollOff, bool, bool, Option<u8>);
    let make = move |values: Values, piece: &mut Piece<'_>| {
        let (path, frames, roll_off, is_transport, delete_null_packets, isi) = values;
        let make = match (is_transport, delete_null_packets) {
            (true, false) => InputStream::transport,
            (true, true) => InputStream::without_null_packets,
            (false, false) => InputStream::continuous,
            (false, true) => return Err(nulls_refused.refuse("only a transport stream has null packets")),
        };
        let input = make(piece.reader(&path, PACKETS)?);
        let name = if path.address().is_standard() { "standard input".to_owned() } else { path.address().to_string() };
        let input = isi.into_iter().fold(input.named(name), InputStream::of_isi);
        let slice = Slice::new([input], frames, roll_off).map_err(|error| frames_refused.refuse(error))?;
        piece.task(slice, &[])
    };
    let kind = Kind::piece("dvbs2.slice_packets", "reads an input stream and cuts it into BBFRAMEs", parameters, make);
    kind.makes("variable u8: BBFRAMEs").makes("Pls")
}

fn build_plframe() -> Kind {
    let summary = "maps codewords to symbols and builds PLFRAMEs";
    Kind::new("dvbs2.build_plframe", summary, gold_code(), BuildPlframe::new)
}

fn shape_pulses() -> Kind {
    let per_symbol = Param::new("samples_per_symbol", "a ratio of small numbers").range(1.0..=64.0).default(2.0);
    let refused = per_symbol.clone();
    let roll_off = Param::new("roll_off", "of the pulses").range(0.0..=1.0).default(0.2);
    let summary = "shapes symbols by root-raised-cosine pulses";
    Kind::new("dvbs2.shape_pulses", summary, (roll_off, per_symbol), move |(roll_off, per_symbol): (f64, f64)| {
        // As exact as BBHEADERs tell it.
        ShapePulses::new(f64::from(roll_off as f32), per_symbol).map_err(|error| refused.refuse(error))
    })
}

fn cut_frames() -> Kind {
    let modcods = Param::<Vec<String>>::new("modcods", "MODCODs to receive, such as qpsk-8/9; left out, all of them");
    let parameters = (
        recording(),
        format("of the samples, where nothing else tells it").optional(),
        samples_per_symbol("left out, what the recording tells, or else the signal shows"),
        gold_code(),
        modcods.map(|names| names.iter().map(|name| name.parse::<Modcod>()).collect::<Result<Modcods, _>>()).optional(),
        Param::<bool>::new(
            "live",
            "whether samples come from a radio, which does not wait: what is too much is dropped",
        )
        .default(false),
    );
    type Values = (InputAddress, Option<SampleFormat>, Option<f64>, u32, Option<Modcods>, bool);
    let make = |values: Values, piece: &mut Piece<'_>| {
        let (path, format, samples_per_symbol, gold_code, modcods, live) = values;
        let mut receiver = match piece.kept::<Receiver>() {
            Some(receiver) => receiver,
            None => {
                let recording = open(&path, format)?;
                let told = recording.sample_rate.filter(|&rate| rate < MIN_SAMPLE_RATE);
                let samples_per_symbol = samples_per_symbol.or(told);
                let modcods = modcods.unwrap_or_default();
                let settings = Settings { samples_per_symbol, gold_code, modcods, isi: None };
                Receiver::find(recording, settings, |_| ()).map_err(|error| path.refuse(error))?
            }
        };
        if live {
            // So that the rehearsal has the tasks of the run.
            receiver = receiver.streamed()?;
        }
        let (format, filter, scrambler) = receiver.found();
        let source = if piece.is_rehearsal() {
            // The chain ends it.
            let source = receiver.rehearsed_source(u64::MAX);
            piece.keep(receiver);
            source
        } else {
            receiver = if live { receiver.live()? } else { receiver };
            receiver.source()
        };
        let made = source.add_piece(piece)?;
        let found = Arc::new(Found { format, filter, scrambler });
        for wire in &made {
            piece.chain().note(wire, Arc::clone(&found));
        }
        Ok(made)
    };
    let summary = "finds the signal of a recording, and cuts it into the windows of PLFRAMEs";
    let kind = Kind::piece("dvbs2.cut_frames", summary, parameters, make);
    kind.makes("variable u8: windows of samples").makes("Option<FrameSync>: places").makes("Pls")
}

/// What the source has found, by one of the wires that it made.
fn found(piece: &mut Piece<'_>, input: usize) -> Option<Arc<Found>> {
    let wire = &piece.wires()[input];
    piece.chain().fact(wire)
}

/// Adds the one task of a piece to all its wires.
pub(super) fn all_wires(piece: &mut Piece<'_>, task: impl Task) -> Result<Vec<DynWire>> {
    let wires: Vec<&DynWire> = piece.wires().iter().collect();
    piece.task(task, &wires)
}

fn filter_symbols() -> Kind {
    let summary = "removes the carrier from windows of samples, filters them, and takes their symbols";
    let per_symbol = samples_per_symbol("left out, what the source found");
    let roll_off = Param::new("roll_off", "of the filter; left out, what suits the source, or 0.25").range(0.01..=1.0);
    let format = format("of the samples; left out, what the source found");
    let parameters = (per_symbol, roll_off.optional(), format.optional());
    type Values = (Option<f64>, Option<f64>, Option<SampleFormat>);
    let kind = Kind::piece("dvbs2.filter_symbols", summary, parameters, |(rate, roll_off, format): Values, piece| {
        let found = found(piece, 1);
        let filter = match (rate, roll_off, found.as_ref().map(|found| &found.filter)) {
            (None, None, Some(found)) => found.clone(),
            (rate, roll_off, found) => {
                let unknown = "the samples per symbol of its input are unknown: give `samples_per_symbol`";
                let rate = rate.or_else(|| found.map(MatchedFilter::samples_per_symbol));
                MatchedFilter::new(roll_off.unwrap_or(ROLL_OFF), rate.ok_or_else(|| Error::new(unknown))?)
            }
        };
        let unknown = "the sample format of its input is unknown: give a `format`";
        let format = format.or(found.map(|found| found.format)).ok_or_else(|| Error::new(unknown))?;
        all_wires(piece, FilterSymbols::new(&filter, format))
    });
    kind.reads("variable u8: windows of samples")
        .reads("Option<FrameSync>: places")
        .makes("variable Complex<f32>: symbols")
}

/// What undoes the scrambling: by the Gold code that is given, or that of the source, or else that of broadcasts.
fn scrambler(piece: &mut Piece<'_>, given: Option<u32>, pls: usize) -> Result<Arc<PlScrambler>> {
    match (given, found(piece, pls)) {
        (None, Some(found)) => Ok(Arc::clone(&found.scrambler)),
        (code, _) => PlScrambler::new(code.unwrap_or(0)).map(Arc::new).map_err(Error::from_source),
    }
}

fn scrambling() -> Param<Option<u32>> {
    let meaning = "Gold code of the scrambling; left out, that of the source, or 0, that of broadcasts";
    Param::new("gold_code", meaning).range(0..=LAST_GOLD_CODE).optional()
}

/// A kind of one task that undoes the scrambling; input `pls` tells it of the source.
fn scrambled<T: Task>(name: &str, summary: &str, pls: usize, make: fn(Arc<PlScrambler>) -> T) -> Kind {
    Kind::piece(name, summary, scrambling(), move |code, piece| {
        let scrambler = scrambler(piece, code, pls)?;
        all_wires(piece, make(scrambler))
    })
}

fn decode_ldpc() -> Kind {
    let iterations = Param::new("iterations", "the most iterations per frame").range(1..=MOST_ITERATIONS).default(50);
    Kind::new("dvbs2.decode_ldpc", "decodes LDPC codewords", iterations, |iterations| Ok(DecodeLdpc::new(iterations)))
}

fn observe() -> Kind {
    let per_symbol = samples_per_symbol("left out, what the source found");
    let kind = Kind::piece("dvbs2.observe", "shows figures of the frames", per_symbol, |given: Option<f64>, piece| {
        let given = given.or_else(|| found(piece, 0).map(|found| found.filter.samples_per_symbol()));
        let unknown = "the samples per symbol of the source are unknown: give `samples_per_symbol`";
        let per_symbol = given.ok_or_else(|| Error::new(unknown))?;
        all_wires(piece, Observe::new(per_symbol))
    });
    kind.reads("Option<FrameSync>: places").reads("SignalLevel").reads("Decoding")
}

fn deliver() -> Kind {
    let path = Param::writes("path", "the file, \"-\" for standard output, or an address; opened when the chain runs");
    let parameters = (path, isi("input stream identifier, on a carrier of several"));
    let summary = "assembles an input stream from BBFRAMEs and writes it";
    let make = |(path, isi): (OutputAddress, Option<u8>), piece: &mut Piece<'_>| {
        all_wires(piece, isi.into_iter().fold(Deliver::single(path.writer()), Deliver::of_stream))
    };
    let kind = Kind::piece("dvbs2.deliver", summary, parameters, make);
    kind.reads("variable u8: BBFRAMEs").reads("Decoding")
}
