//! DVB-S2 on arrays and files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bief_cli::files::{Files, put};
use bief_cli::tx::roll_off;
use bief_dsp::dvbs2::{FrameSize, Modcod, Pls, StreamId};
use bief_radio::dvbs2::{
    Figures, InputStream, KeepSymbols, MIN_SAMPLE_RATE, Receiver, Settings, Transmitter, frame_list,
};
use bief_radio::{Recording, SampleFormat, sigmf_meta};
use numpy::{Complex32, PyArray1, PyUntypedArray};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::error::{OrRaise, refused};
use crate::held::Held;
use crate::run::{How, Outcome, away, run_here};

/// Where samples or bytes come from: a path, or an array.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Path(PathBuf),
    Array(Bound<'py, PyUntypedArray>),
}

impl Source<'_> {
    /// A recording in this format, at this rate where that is known.
    pub(crate) fn recording(
        &self,
        py: Python<'_>,
        format: Option<&str>,
        rate: Option<f64>,
        files: &mut Files,
    ) -> PyResult<Recording> {
        let format = format
            .map(|name| name.parse::<SampleFormat>().map_err(|error| refused(py, &error.to_string())))
            .transpose()?;
        let mut recording = match self {
            Self::Path(path) => {
                files.read(path).or_raise(py)?;
                let recording = Recording::open(path, format).map_err(|error| refused(py, &error.to_string()))?;
                recording.files.iter().try_for_each(|path| files.read(path)).or_raise(py)?;
                recording
            }
            Self::Array(array) => {
                let held = Held::new(array)?;
                let format = format.unwrap_or(SampleFormat::Cf32);
                let bytes = Some(held.bytes().len() as u64);
                Recording { bytes, ..Recording::from_reader("the array", format, held.reader()) }
            }
        };
        recording.sample_rate = rate.or(recording.sample_rate);
        Ok(recording)
    }
}

/// Bytes that a run writes and Python gets afterwards.
#[derive(Clone, Default)]
pub(crate) struct Gathered(Arc<Mutex<Vec<u8>>>);

impl Gathered {
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reception {
    format: Option<String>,
    sample_rate: Option<f64>,
    samples_per_symbol: Option<f64>,
    symbol_rate: Option<f64>,
    gold_code: u32,
    modcods: Option<Vec<String>>,
    isi: Option<u8>,
    keep_symbols: bool,
    output: Option<PathBuf>,
}

type Streams<'py> = Vec<(String, Bound<'py, PyArray1<u8>>)>;
type Symbols<'py> = Vec<(String, Bound<'py, PyArray1<Complex32>>)>;

/// Receives: the bytes of each stream (by JSON of what it is), the figures, symbols by kinds of frames, and the run.
#[pyfunction]
#[pyo3(signature = (source, settings, how, progress))]
pub(crate) fn dvbs2_receive<'py>(
    py: Python<'py>,
    source: Source<'py>,
    settings: &str,
    how: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Streams<'py>, String, Symbols<'py>, Outcome)> {
    let settings: Reception = serde_json::from_str(settings).map_err(|error| refused(py, &error.to_string()))?;
    let how = How::from_json(py, how)?;
    let mut files = Files::default();
    let recording = source.recording(py, settings.format.as_deref(), settings.sample_rate, &mut files)?;
    if let Some(path) = &settings.output {
        files.write(path, "output").or_raise(py)?;
    }
    let rate = recording.sample_rate;
    let samples_per_symbol = match (settings.samples_per_symbol, settings.symbol_rate, rate) {
        (Some(_), Some(_), _) => return Err(refused(py, "give samples_per_symbol or symbol_rate, not both")),
        (Some(per_symbol), None, _) => Some(per_symbol),
        (None, Some(symbols), Some(rate)) if symbols > 0.0 => Some(rate / symbols),
        (None, Some(_), Some(_)) => return Err(refused(py, "symbol_rate must be above 0")),
        (None, Some(_), None) => return Err(refused(py, "symbol_rate needs sample_rate beside it")),
        (None, None, rate) => rate.filter(|&rate| rate < MIN_SAMPLE_RATE),
    };
    let modcods = match &settings.modcods {
        None => Default::default(),
        Some(names) => names
            .iter()
            .map(|name| name.parse::<Modcod>().map_err(|error| refused(py, &error.to_string())))
            .collect::<PyResult<_>>()?,
    };
    let wanted = Settings { samples_per_symbol, gold_code: settings.gold_code, modcods, isi: settings.isi };
    let streams: Arc<Mutex<BTreeMap<String, Gathered>>> = Arc::default();
    let (opened, output) = (Arc::clone(&streams), settings.output.clone());
    let received: bief::Result<_> = away(py, progress, move |control| {
        let receiver = Receiver::find(recording, wanted, |_| ())?;
        let receiver = if settings.keep_symbols { receiver.keep_symbols() } else { receiver };
        let found = receiver.samples_per_symbol();
        let mut receiver = receiver.to_streams(move |id| open(id, output.as_deref(), &mut files, &opened));
        let (outcome, report) = run_here(&mut receiver, &how, false, control)?;
        Ok((outcome, report, found))
    })?;
    let (outcome, report, found): (Outcome, bief::Report, f64) = received.or_raise(py)?;
    let figures = json!({
        "figures": Figures::of(&report.figures),
        "samples_per_symbol": found,
        "symbol_rate": rate.filter(|&rate| rate >= MIN_SAMPLE_RATE).map(|rate| rate / found),
    });
    let symbols = KeepSymbols::kept(&report.figures);
    let symbols = symbols.into_iter().map(|(pls, symbols)| (pls.to_string(), PyArray1::from_vec(py, symbols)));
    let streams = std::mem::take(&mut *streams.lock().unwrap_or_else(PoisonError::into_inner));
    let streams = streams.into_iter().map(|(id, bytes)| (id, PyArray1::from_vec(py, bytes.take()))).collect();
    Ok((streams, figures.to_string(), symbols.collect(), outcome))
}

/// Where a stream goes that was found: to memory, or to a file that has its ISI in its name.
fn open(
    id: StreamId,
    output: Option<&Path>,
    files: &mut Files,
    streams: &Mutex<BTreeMap<String, Gathered>>,
) -> io::Result<Box<dyn Write + Send>> {
    let told = json!({ "isi": id.isi, "kind": id.kind.to_string() }).to_string();
    let Some(output) = output else {
        let gathered = Gathered::default();
        streams.lock().unwrap_or_else(PoisonError::into_inner).insert(told, gathered.clone());
        return Ok(Box::new(gathered));
    };
    let path = match id.isi {
        Some(isi) => {
            let extension = output.extension().map_or_else(String::new, |extension| extension.display().to_string());
            output.with_extension(format!("isi{isi}.{extension}").trim_end_matches('.'))
        }
        None => output.to_owned(),
    };
    if path != output {
        files.write(&path, &format!("a {id}")).map_err(|refusal| io::Error::other(refusal.message))?;
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    Ok(Box::new(BufWriter::new(File::create(&path).map_err(named)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Transmission {
    /// A list of PLFRAMEs.
    vcm: Option<String>,
    modcod: Option<String>,
    frame: Option<String>,
    pilots: bool,
    gold_code: u32,
    roll_off: f64,
    samples_per_symbol: f64,
    level: f32,
    format: String,
    isi: Vec<u8>,
    /// Nothing for transport streams, 0 for any bytes, else the bytes of a packet.
    packet: Option<u16>,
    delete_nulls: bool,
    output: Option<PathBuf>,
    symbol_rate: Option<f64>,
}

/// Transmits: the bytes of the samples (none where they go to a file), and the run.
#[pyfunction]
#[pyo3(signature = (sources, settings, progress))]
pub(crate) fn dvbs2_transmit<'py>(
    py: Python<'py>,
    sources: Vec<Source<'py>>,
    settings: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<u8>>, Outcome)> {
    let given: Transmission = serde_json::from_str(settings).map_err(|error| refused(py, &error.to_string()))?;
    let wrong = |reason: String| refused(py, &reason);
    let frames = match (&given.vcm, &given.modcod, &given.frame) {
        (Some(list), None, None) => frame_list(list).map_err(|error| wrong(format!("vcm: {error}")))?,
        (None, Some(modcod), Some(frame)) => {
            let modcod = modcod.parse::<Modcod>().map_err(|error| wrong(error.to_string()))?;
            let size = match &**frame {
                "normal" => FrameSize::Normal,
                "short" => FrameSize::Short,
                other => return Err(wrong(format!("frame must be normal or short, not {other:?}"))),
            };
            let pls = Pls::from_parts(modcod, size, given.pilots);
            vec![pls.ok_or_else(|| wrong(format!("there is no {modcod} in {frame} frames: give the other size")))?]
        }
        _ => return Err(wrong("give modcod and frame, or vcm alone".to_owned())),
    };
    if !given.isi.is_empty() && given.isi.len() != sources.len() || given.isi.is_empty() && sources.len() > 1 {
        return Err(wrong(format!("{} inputs share the carrier: give isi a number for each", sources.len())));
    }
    let transmitter = Transmitter {
        frames,
        gold_code: given.gold_code,
        roll_off: roll_off(&given.roll_off.to_string()).map_err(wrong)?,
        samples_per_symbol: given.samples_per_symbol,
        format: given.format.parse().map_err(wrong)?,
        level: given.level,
    };
    let mut files = Files::default();
    let mut inputs = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let (reader, name): (Box<dyn Read + Send>, String) = match source {
            Source::Path(path) => {
                files.read(path).or_raise(py)?;
                let file = File::open(path).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
                (Box::new(file), path.display().to_string())
            }
            Source::Array(array) => (Box::new(Held::new(array)?.reader()), format!("input {number}")),
        };
        let stream = match given.packet {
            Some(0) => InputStream::continuous(reader),
            Some(bytes) => InputStream::packets(reader, bytes),
            None if given.delete_nulls => InputStream::without_null_packets(reader),
            None => InputStream::transport(reader),
        };
        let stream = stream.named(name);
        inputs.push(given.isi.get(number).copied().into_iter().fold(stream, InputStream::of_isi));
    }
    // Built once before a file is touched, so that a refusal leaves none behind.
    let nothing = || InputStream::transport(Cursor::new(Vec::new()));
    let isis: Vec<Option<u8>> =
        if given.isi.is_empty() { vec![None] } else { given.isi.iter().copied().map(Some).collect() };
    let trial = isis.iter().map(|isi| isi.iter().fold(nothing(), |stream, &isi| stream.of_isi(isi)));
    transmitter.chain_of(trial, io::sink()).and_then(bief::Chain::build).or_raise(py)?;
    let gathered = Gathered::default();
    let out: Box<dyn Write + Send> = match &given.output {
        None => Box::new(gathered.clone()),
        Some(meta) => {
            if meta.extension().is_none_or(|extension| extension != "sigmf-meta") {
                return Err(wrong(format!("{}: the output must be named *.sigmf-meta", meta.display())));
            }
            let data = meta.with_extension("sigmf-data");
            files.write(&data, "the recording").or_raise(py)?;
            files.write(meta, "its description").or_raise(py)?;
            let rate = given.samples_per_symbol * given.symbol_rate.unwrap_or(1.0);
            let file = File::create(&data).map_err(|error| wrong(format!("{}: {error}", data.display())))?;
            put(meta, &sigmf_meta(transmitter.format, rate, "DVB-S2")).map_err(|error| wrong(error.to_string()))?;
            Box::new(BufWriter::new(file))
        }
    };
    let outcome: bief::Result<Outcome> = away(py, progress, |control| {
        let mut pipeline = transmitter.chain_of(inputs, out)?.build()?.one_core()?;
        let report = control.run(&mut pipeline);
        let closed = pipeline.close();
        let report = report?;
        closed?;
        Ok(Outcome::new(None, Some(&report)))
    })?;
    let outcome = outcome.or_raise(py)?;
    Ok((PyArray1::from_vec(py, gathered.take()), outcome))
}
