//! SigMF descriptions: what they say of samples, and what of them is not samples.

use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;

use super::RecordingError;
use crate::iq::SampleFormat;
use crate::text::printable;

/// Extensions of both files of a recording.
pub(super) const META: &str = "sigmf-meta";
pub(super) const DATA: &str = "sigmf-data";
/// Bytes of the longest description: annotations make some of them long.
pub(super) const LONGEST: u64 = 64 << 20;

/// The part of a SigMF description that matters here (SigMF specification, `global` and `captures`).
#[derive(Debug, Deserialize)]
struct Meta {
    global: Global,
    #[serde(default)]
    captures: Vec<Capture>,
}

#[derive(Debug, Deserialize)]
struct Global {
    #[serde(rename = "core:datatype")]
    datatype: String,
    #[serde(rename = "core:sample_rate")]
    sample_rate: Option<f64>,
    #[serde(rename = "core:num_channels")]
    channels: Option<u64>,
    #[serde(rename = "core:dataset")]
    dataset: Option<String>,
    #[serde(rename = "core:trailing_bytes")]
    trailing_bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Capture {
    #[serde(rename = "core:header_bytes")]
    header_bytes: Option<u64>,
}

/// What a description says.
#[derive(Debug, PartialEq)]
pub(super) struct Described {
    pub(super) format: SampleFormat,
    pub(super) sample_rate: Option<f64>,
    /// The name of the data file, where it is not that of the description.
    pub(super) dataset: Option<String>,
    /// Bytes before and behind the samples.
    pub(super) header_bytes: u64,
    pub(super) trailing_bytes: u64,
}

/// Reads the description `path`, whose text this is; `format` takes the place of the described one.
pub(super) fn describe(text: &[u8], path: &Path, format: Option<SampleFormat>) -> Result<Described, RecordingError> {
    if text.len() as u64 > LONGEST {
        return Err(unsupported(path, format_args!("a description of more than {} MiB", LONGEST >> 20)));
    }
    let meta: Meta =
        serde_json::from_slice(text).map_err(|source| RecordingError::Meta { path: path.to_owned(), source })?;
    let Global { datatype, sample_rate, channels, dataset, trailing_bytes } = meta.global;
    let Some(format) = format.or_else(|| SampleFormat::from_datatype(&datatype)) else {
        let known = SampleFormat::ALL.map(SampleFormat::datatype).join(", ");
        let datatype = printable(&datatype);
        return Err(unsupported(path, format_args!("core:datatype `{datatype}` is not one of {known}")));
    };
    if let Some(channels @ (0 | 2..)) = channels {
        let reason = format_args!("core:num_channels is {channels}: only recordings of one channel can be read");
        return Err(unsupported(path, reason));
    }
    if let Some(rate) = sample_rate
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(unsupported(path, format_args!("core:sample_rate {rate} is not a rate")));
    }
    if let Some(name) = &dataset
        && Path::new(name).file_name() != Some(name.as_ref())
    {
        let name = printable(name);
        return Err(unsupported(path, format_args!("core:dataset `{name}` is not the name of a file beside it")));
    }
    let header_bytes = meta.captures.first().and_then(|capture| capture.header_bytes).unwrap_or(0);
    Ok(Described { format, sample_rate, dataset, header_bytes, trailing_bytes: trailing_bytes.unwrap_or(0) })
}

impl Described {
    /// Bytes of samples in so many bytes of data.
    pub(super) fn samples_in(&self, bytes: u64, path: &Path) -> Result<u64, RecordingError> {
        let Self { header_bytes, trailing_bytes, .. } = self;
        let samples = bytes.checked_sub(*header_bytes).and_then(|rest| rest.checked_sub(*trailing_bytes));
        samples.filter(|samples| *samples > 0).ok_or_else(|| {
            let reason = format_args!(
                "core:header_bytes {header_bytes} and core:trailing_bytes {trailing_bytes} leave no samples in {bytes} bytes"
            );
            unsupported(path, reason)
        })
    }
}

pub(super) fn unsupported(path: &Path, reason: impl Display) -> RecordingError {
    RecordingError::Unsupported { path: path.to_owned(), reason: reason.to_string() }
}

/// The text of a SigMF description of samples of this format, taken at this rate.
///
/// ```
/// let text = bief_radio::sigmf_meta(bief_radio::SampleFormat::Ci16, 2.0, "QPSK 8/9 short");
/// assert!(text.contains("\"core:datatype\": \"ci16_le\""));
/// ```
pub fn sigmf_meta(format: SampleFormat, sample_rate: f64, description: &str) -> String {
    let meta = serde_json::json!({
        "global": {
            "core:datatype": format.datatype(),
            "core:sample_rate": sample_rate,
            "core:version": "1.0.0",
            "core:num_channels": 1,
            "core:recorder": concat!("bief ", env!("CARGO_PKG_VERSION")),
            "core:description": description,
        },
        "captures": [{ "core:sample_start": 0 }],
        "annotations": [],
    });
    format!("{meta:#}\n")
}
