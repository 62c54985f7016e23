//! Narrowband FM on arrays and files.

use std::path::PathBuf;

use bief_cli::files::Files;
use bief_cli::nbfm::audio_rate;
use bief_radio::{AudioFormat, FmFigures, NarrowbandFm};
use numpy::PyArray1;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::error::{OrRaise, refused};
use crate::radio::{Gathered, Source};
use crate::run::{How, Outcome, away, run_here};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reception {
    format: Option<String>,
    sample_rate: Option<f64>,
    carrier: Option<f64>,
    /// The carrier is exact: it is neither measured nor followed.
    fixed: bool,
    deviation: f64,
    audio_rate: Option<u32>,
    de_emphasis: Option<f64>,
    high_pass: Option<f64>,
    block: Option<usize>,
    output: Option<PathBuf>,
}

/// Receives: the bytes of the audio (32-bit floats; none where it goes to a file), what was received and how, and the run.
#[pyfunction]
#[pyo3(signature = (source, settings, how, progress))]
pub(crate) fn nbfm_receive<'py>(
    py: Python<'py>,
    source: Source<'py>,
    settings: &str,
    how: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<u8>>, String, Outcome)> {
    let given: Reception = serde_json::from_str(settings).map_err(|error| refused(py, &error.to_string()))?;
    let how = How::from_json(py, how)?;
    let mut files = Files::default();
    let recording = source.recording(py, given.format.as_deref(), given.sample_rate, &mut files)?;
    let Some(rate) = recording.sample_rate else {
        return Err(refused(py, &format!("{}: its sample rate is not known: give sample_rate, in Hz", recording.name)));
    };
    let audio = given.audio_rate.or_else(|| audio_rate(rate)).ok_or_else(|| {
        refused(
            py,
            &format!("{rate} samples per second are no whole multiple of a rate of audio of 8 kHz or more: resample, or correct sample_rate"),
        )
    })?;
    if given.fixed && given.carrier.is_none() {
        return Err(refused(py, "fixed is said of a carrier: give carrier, in Hz above the centre"));
    }
    if let Some(path) = &given.output {
        files.write(path, "output").or_raise(py)?;
    }
    let settings = NarrowbandFm::new(rate, given.carrier.unwrap_or(0.0), given.deviation, audio);
    let settings = NarrowbandFm {
        de_emphasis: given.de_emphasis,
        high_pass: given.high_pass,
        block: given.block.unwrap_or(settings.block),
        follow: settings.follow.filter(|_| !given.fixed),
        ..settings
    };
    let gathered = Gathered::default();
    let (out, output) = (gathered.clone(), given.output.clone());
    let received: bief::Result<_> = away(py, progress, move |control| {
        let (settings, recording) = match given.carrier {
            None => settings.find(recording)?,
            Some(_) if given.fixed => (settings, recording),
            Some(_) => settings.refine(recording)?,
        };
        let receiver = settings.on(recording);
        let mut receiver = match output {
            None => receiver.to_raw(move || Ok(out), AudioFormat::F32),
            Some(path) => receiver.to_wav(move || {
                let file = std::fs::File::create(&path)
                    .map_err(|error| bief::Error::new(format!("{}: {error}", path.display())))?;
                Ok(std::io::BufWriter::new(file))
            }),
        };
        let (outcome, report) = run_here(&mut receiver, &how, false, control)?;
        Ok((outcome, FmFigures::of(&report.figures), settings))
    })?;
    let (outcome, heard, settings): (Outcome, FmFigures, NarrowbandFm) = received.or_raise(py)?;
    let told = json!({
        "sample_rate": settings.sample_rate, "audio_rate": settings.audio_rate, "carrier": settings.carrier,
        "deviation": settings.deviation, "block": settings.block, "figures": heard,
    });
    Ok((PyArray1::from_vec(py, gathered.take()), told.to_string(), outcome))
}
