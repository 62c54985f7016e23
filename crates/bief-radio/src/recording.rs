//! Recordings: where samples come from, in which format, and how fast they were taken. SigMF pairs, raw files, standard
//! input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::iq::SampleFormat;

/// Samples to be read, and what is known of them.
pub struct Recording {
    /// What to call it in messages.
    pub name: String,
    /// How samples are written.
    pub format: SampleFormat,
    /// Samples per second; `None` where it is not known.
    pub sample_rate: Option<f64>,
    /// Bytes of samples; `None` where it cannot be known before the end.
    pub bytes: Option<u64>,
    /// The bytes.
    pub reader: Box<dyn Read + Send>,
}

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file that cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file without samples.
    #[error("{}: is empty: there are no samples in it", .0.display())]
    Empty(PathBuf),
    /// A SigMF description without its data.
    #[error("{}: its data file {} is missing: both files of a SigMF recording are needed", meta.display(), data.display())]
    NoData {
        /// The description.
        meta: PathBuf,
        /// Where the samples should be.
        data: PathBuf,
    },
    /// A SigMF description that cannot be read.
    #[error("{}: not a SigMF description: {source}", path.display())]
    Meta {
        /// The description.
        path: PathBuf,
        /// Where it is wrong.
        source: serde_json::Error,
    },
    /// A SigMF description of something that cannot be received.
    #[error("{}: {reason}", path.display())]
    Unsupported {
        /// The description.
        path: PathBuf,
        /// What it says, and what can be read.
        reason: String,
    },
    /// A raw file of unknown format.
    #[error("{name}: its sample format is not known: give --format {}", SampleFormat::ALL.map(SampleFormat::name).join("|"))]
    NoFormat {
        /// The input.
        name: String,
    },
}

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

const META: &str = "sigmf-meta";
const DATA: &str = "sigmf-data";

impl Recording {
    /// Opens a recording: either file of a SigMF pair (or their common name), or a raw file.
    ///
    /// The format of a raw file is `format`, or told by an extension `cf32`, `ci16`, `ci8` or `cu8`; for SigMF a `format`
    /// takes the place of the described one.
    ///
    /// # Errors
    /// A file that is missing, empty, of unknown format, or a SigMF pair that is not complete or not understood.
    pub fn open(path: &Path, format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if matches!(extension, META | DATA) {
            return Self::open_sigmf(&path.with_extension(META), format);
        }
        if !path.exists() && with_suffix(path, META).exists() {
            return Self::open_sigmf(&with_suffix(path, META), format);
        }
        let (file, bytes) = open_file(path)?;
        let name = path.display().to_string();
        let Some(format) = format.or_else(|| extension.parse().ok()) else {
            return Err(RecordingError::NoFormat { name });
        };
        Ok(Self { name, format, sample_rate: None, bytes, reader: Box::new(file) })
    }

    /// Samples of the given format from standard input.
    ///
    /// # Errors
    /// No format: nothing tells it.
    pub fn from_stdin(format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let name = "standard input".to_owned();
        let Some(format) = format else { return Err(RecordingError::NoFormat { name }) };
        Ok(Self { name, format, sample_rate: None, bytes: None, reader: Box::new(io::stdin()) })
    }

    /// Samples in memory.
    ///
    /// ```
    /// use bief_radio::{Recording, SampleFormat};
    /// let recording = Recording::from_memory("a test", SampleFormat::Ci8, vec![0; 100]);
    /// assert_eq!(recording.bytes, Some(100));
    /// ```
    pub fn from_memory(name: &str, format: SampleFormat, bytes: impl Into<std::sync::Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let length = Some(bytes.len() as u64);
        let reader = Box::new(io::Cursor::new(bytes));
        Self { name: name.to_owned(), format, sample_rate: None, bytes: length, reader }
    }

    fn open_sigmf(meta_path: &Path, format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let text = std::fs::read_to_string(meta_path).map_err(|source| io_error(meta_path, source))?;
        let meta: Meta = serde_json::from_str(&text)
            .map_err(|source| RecordingError::Meta { path: meta_path.to_owned(), source })?;
        let unsupported = |reason: String| Err(RecordingError::Unsupported { path: meta_path.to_owned(), reason });
        let Some(format) = format.or_else(|| SampleFormat::from_datatype(&meta.global.datatype)) else {
            let known = SampleFormat::ALL.map(SampleFormat::datatype).join(", ");
            return unsupported(format!("core:datatype `{}` is not one of {known}", meta.global.datatype));
        };
        if let Some(channels @ (0 | 2..)) = meta.global.channels {
            return unsupported(format!("core:num_channels is {channels}: only recordings of one channel can be read"));
        }
        if let Some(rate) = meta.global.sample_rate
            && !(rate.is_finite() && rate > 0.0)
        {
            return unsupported(format!("core:sample_rate {rate} is not a rate"));
        }
        let data_path = match &meta.global.dataset {
            Some(name) if Path::new(name).file_name() == Some(name.as_ref()) => meta_path.with_file_name(name),
            Some(name) => return unsupported(format!("core:dataset `{name}` is not the name of a file beside it")),
            None => meta_path.with_extension(DATA),
        };
        if !data_path.exists() {
            return Err(RecordingError::NoData { meta: meta_path.to_owned(), data: data_path });
        }
        let (mut file, bytes) = open_file(&data_path)?;
        let skipped = meta.captures.first().and_then(|capture| capture.header_bytes).unwrap_or(0);
        io::copy(&mut (&mut file).take(skipped), &mut io::sink()).map_err(|source| io_error(&data_path, source))?;
        let bytes =
            bytes.map(|bytes| bytes.saturating_sub(skipped).saturating_sub(meta.global.trailing_bytes.unwrap_or(0)));
        let reader: Box<dyn Read + Send> = match bytes {
            Some(bytes) => Box::new(file.take(bytes)),
            None => Box::new(file),
        };
        Ok(Self { name: meta_path.display().to_string(), format, sample_rate: meta.global.sample_rate, bytes, reader })
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, format, sample_rate, bytes, .. } = self;
        write!(f, "Recording {{ {name}, {format}, sample rate {sample_rate:?}, bytes {bytes:?} }}")
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn io_error(path: &Path, source: io::Error) -> RecordingError {
    RecordingError::Io { path: path.to_owned(), source }
}

/// Opens a file that has something in it; pipes and devices have no length.
fn open_file(path: &Path) -> Result<(File, Option<u64>), RecordingError> {
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let facts = file.metadata().map_err(|source| io_error(path, source))?;
    if facts.is_dir() {
        return Err(io_error(path, io::ErrorKind::IsADirectory.into()));
    }
    if !facts.is_file() {
        return Ok((file, None));
    }
    if facts.len() == 0 {
        return Err(RecordingError::Empty(path.to_owned()));
    }
    Ok((file, Some(facts.len())))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bief-recording-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
        fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, content).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn message(path: &Path) -> String {
        Recording::open(path, None).unwrap_err().to_string()
    }

    #[test]
    fn a_pair_is_found_by_either_file_and_by_its_name() {
        let folder = Folder::new("pair");
        let meta = folder.write("a.b.sigmf-meta", sigmf_meta(SampleFormat::Ci8, 2.0, ""));
        let data = folder.write("a.b.sigmf-data", [1, 2, 3, 4]);
        for path in [&meta, &data, &folder.0.join("a.b")] {
            let mut recording = Recording::open(path, None).unwrap();
            assert_eq!(
                (recording.format, recording.sample_rate, recording.bytes),
                (SampleFormat::Ci8, Some(2.0), Some(4))
            );
            let mut bytes = Vec::new();
            recording.reader.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, [1, 2, 3, 4]);
        }
    }

    #[test]
    fn header_and_trailing_bytes_are_left_out() {
        let folder = Folder::new("header");
        let meta = folder.write(
            "x.sigmf-meta",
            r#"{"global": {"core:datatype": "cu8", "core:dataset": "x.raw", "core:trailing_bytes": 1},
                "captures": [{"core:header_bytes": 3}]}"#,
        );
        folder.write("x.raw", [9, 9, 9, 1, 2, 3, 4, 9]);
        let mut recording = Recording::open(&meta, None).unwrap();
        let mut bytes = Vec::new();
        recording.reader.read_to_end(&mut bytes).unwrap();
        assert_eq!((bytes, recording.bytes), (vec![1, 2, 3, 4], Some(4)));
    }

    #[test]
    fn raw_files_need_a_format() {
        let folder = Folder::new("raw");
        let named = folder.write("x.ci16", [0; 4]);
        assert_eq!(Recording::open(&named, None).unwrap().format, SampleFormat::Ci16);
        let raw = folder.write("x.bin", [0; 4]);
        assert!(message(&raw).contains("give --format cf32|ci16|ci8|cu8"));
        assert_eq!(Recording::open(&raw, Some(SampleFormat::Cu8)).unwrap().format, SampleFormat::Cu8);
        assert!(Recording::from_stdin(None).unwrap_err().to_string().contains("standard input"));
    }

    #[test]
    fn each_fault_names_the_file_and_the_remedy() {
        let folder = Folder::new("faults");
        assert!(message(&folder.0.join("absent.cf32")).contains("absent.cf32"));
        assert!(message(&folder.write("empty.cf32", "")).contains("empty"));
        assert!(message(&folder.0).contains("directory"));
        let meta = sigmf_meta(SampleFormat::Ci8, 2.0, "");
        assert!(message(&folder.write("lonely.sigmf-meta", &meta)).contains("lonely.sigmf-data is missing"));
        assert!(message(&folder.write("cut.sigmf-meta", &meta[..50])).contains("not a SigMF description"));
        let wrong = |key: &str, from: &str, to: &str| {
            folder.write(&format!("{key}.sigmf-data"), [0; 4]);
            message(&folder.write(&format!("{key}.sigmf-meta"), meta.replace(from, to)))
        };
        assert!(wrong("type", "\"ci8\"", "\"rf64_be\"").contains("`rf64_be` is not one of cf32_le, ci16_le"));
        assert!(wrong("rate", "2.0", "-2.0").contains("core:sample_rate -2"));
        assert!(wrong("channels", "\"core:num_channels\": 1", "\"core:num_channels\": 2").contains("one channel"));
    }

    #[test]
    fn a_description_cannot_name_a_file_elsewhere() {
        let folder = Folder::new("elsewhere");
        folder.write("x.raw", [0; 4]);
        let refusal = |name: &str| {
            let text = format!(
                r#"{{"global": {{"core:datatype": "ci8", "core:dataset": "{name}"}}, "captures": [{{"core:header_bytes": {}}}]}}"#,
                u64::MAX
            );
            message(&folder.write("x.sigmf-meta", text))
        };
        // The first would be read without end.
        for name in ["/dev/zero", "../x.raw", "a/x.raw", "..", ""] {
            assert!(refusal(name).contains(&format!("core:dataset `{name}` is not the name of a file beside it")));
        }
    }
}
