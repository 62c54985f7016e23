//! Recordings: where samples come from, in which format, and how fast they were taken. SigMF pairs and archives, WAV files, raw
//! files, standard input.

mod archive;
mod sigmf;
mod stored;
mod wav;

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bief::kinds::Gaps;

use self::sigmf::{DATA, Described, META, unsupported};
use crate::iq::SampleFormat;
use crate::text::printable;

pub use self::sigmf::sigmf_meta;
pub use self::stored::Stored;

/// Bytes that tell the kind of a file.
const HEAD: u64 = 512;
/// Bytes before the samples of what has no length and must be read to be passed over.
const MOST_PASSED_OVER: u64 = 64 << 20;

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
    /// Every file that it consists of: none of them may be written to while it is read.
    pub files: Vec<PathBuf>,
    /// The bytes.
    pub samples: Samples,
    /// What is missing in them, where the source knows: of a radio.
    pub gaps: Option<Gaps>,
}

/// The bytes of a recording.
pub enum Samples {
    /// They come once, in order, as from a pipe.
    Once(Box<dyn Read + Send>),
    /// They stay where they are: in a file, or in memory.
    Stored(Stored),
}

impl Samples {
    /// Reads them in order.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self {
            Self::Once(reader) => reader,
            Self::Stored(stored) => Box::new(stored.reader(0)),
        }
    }
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
    #[error("{}: not a SigMF description: {}", path.display(), printable(&source.to_string()))]
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

impl From<RecordingError> for bief::Error {
    fn from(error: RecordingError) -> Self {
        Self::from_source(error)
    }
}

impl Recording {
    /// Opens a recording: either file of a SigMF pair (or their common name), a SigMF archive, a WAV file of two channels (left I,
    /// right Q), or a raw file. What a file holds tells archives and WAV files, whatever they are called.
    ///
    /// The format of a raw file is `format`, or told by an extension `cf32`, `ci16`, `ci8` or `cu8`; for SigMF and WAV a `format`
    /// takes the place of the described one.
    ///
    /// # Errors
    /// A file that is missing, empty, of unknown format, or a SigMF pair, an archive or a WAV file that is not complete or not
    /// understood.
    pub fn open(path: &Path, format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if matches!(extension, META | DATA) {
            return Self::open_sigmf(&path.with_extension(META), format);
        }
        if !path.exists() && with_suffix(path, META).exists() {
            return Self::open_sigmf(&with_suffix(path, META), format);
        }
        let (mut file, bytes) = open_file(path)?;
        if let Some(length) = bytes {
            let mut head = Vec::new();
            let read = (&mut file).take(HEAD).read_to_end(&mut head);
            read.and_then(|_| file.rewind()).map_err(|source| io_error(path, source))?;
            if wav::is_wav(&head) {
                return wav::open(file, length, path, format);
            }
            if archive::is_archive(&head) {
                return archive::open(file, path, format);
            }
        }
        let name = path.display().to_string();
        let Some(format) = format.or_else(|| extension.parse().ok()) else {
            return Err(RecordingError::NoFormat { name });
        };
        Ok(Self {
            name,
            format,
            sample_rate: None,
            bytes,
            files: vec![path.to_owned()],
            // While a raw file is being written, it is read up to where it then ends.
            samples: match bytes {
                Some(_) => Samples::Stored(Stored::file(file, 0, u64::MAX)),
                None => Samples::Once(Box::new(file)),
            },
            gaps: None,
        })
    }

    /// Samples of the given format from standard input.
    ///
    /// # Errors
    /// No format: nothing tells it.
    pub fn from_stdin(format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let name = "standard input";
        let Some(format) = format else { return Err(RecordingError::NoFormat { name: name.to_owned() }) };
        Ok(Self::from_reader(name, format, io::stdin()))
    }

    /// Samples that come once, in order; how many is not known.
    pub fn from_reader(name: &str, format: SampleFormat, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.to_owned(),
            format,
            sample_rate: None,
            bytes: None,
            files: Vec::new(),
            samples: Samples::Once(Box::new(reader)),
            gaps: None,
        }
    }

    /// Samples in memory.
    ///
    /// ```
    /// use bief_radio::{Recording, SampleFormat};
    /// let recording = Recording::from_memory("a test", SampleFormat::Ci8, vec![0; 100]);
    /// assert_eq!(recording.bytes, Some(100));
    /// ```
    pub fn from_memory(name: &str, format: SampleFormat, bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self {
            name: name.to_owned(),
            format,
            sample_rate: None,
            bytes: Some(bytes.len() as u64),
            files: Vec::new(),
            samples: Samples::Stored(Stored::memory(bytes)),
            gaps: None,
        }
    }

    fn open_sigmf(meta_path: &Path, format: Option<SampleFormat>) -> Result<Self, RecordingError> {
        let mut text = Vec::new();
        let meta = File::open(meta_path).map_err(|source| io_error(meta_path, source))?;
        meta.take(sigmf::LONGEST + 1).read_to_end(&mut text).map_err(|source| io_error(meta_path, source))?;
        let described = sigmf::describe(&text, meta_path, format)?;
        let data_path = match &described.dataset {
            Some(name) => meta_path.with_file_name(name),
            None => meta_path.with_extension(DATA),
        };
        if !data_path.exists() {
            return Err(RecordingError::NoData { meta: meta_path.to_owned(), data: data_path });
        }
        let (mut file, bytes) = open_file(&data_path)?;
        let failed = |source| io_error(&data_path, source);
        let bytes = bytes.map(|bytes| described.samples_in(bytes, meta_path)).transpose()?;
        let Described { format, sample_rate, header_bytes, .. } = described;
        let samples = match bytes {
            Some(bytes) => Samples::Stored(Stored::file(file, header_bytes, bytes)),
            None if header_bytes > MOST_PASSED_OVER => {
                let most = MOST_PASSED_OVER >> 20;
                let reason =
                    format_args!("core:header_bytes {header_bytes}: of a pipe or a device, {most} MiB at most");
                return Err(unsupported(meta_path, reason));
            }
            None => {
                io::copy(&mut (&mut file).take(header_bytes), &mut io::sink()).map_err(failed)?;
                Samples::Once(Box::new(file))
            }
        };
        let files = vec![meta_path.to_owned(), data_path];
        Ok(Self { name: meta_path.display().to_string(), format, sample_rate, bytes, files, samples, gaps: None })
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
            let recording = Recording::open(path, None).unwrap();
            assert_eq!(
                (recording.format, recording.sample_rate, recording.bytes),
                (SampleFormat::Ci8, Some(2.0), Some(4))
            );
            let Samples::Stored(stored) = &recording.samples else { panic!("a file") };
            let mut again = Vec::new();
            stored.reader(1).read_to_end(&mut again).unwrap();
            assert_eq!(again, [2, 3, 4]);
            assert_eq!(samples(recording), [1, 2, 3, 4]);
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
        assert_eq!(samples(Recording::open(&meta, None).unwrap()), [1, 2, 3, 4]);
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

    /// All bytes of samples.
    fn samples(recording: Recording) -> Vec<u8> {
        let mut bytes = Vec::new();
        recording.samples.into_reader().read_to_end(&mut bytes).unwrap();
        assert_eq!(recording.bytes, Some(bytes.len() as u64));
        bytes
    }

    /// A chunk of a WAV file, with another length where it is told.
    fn chunk(name: &str, content: &[u8], length: Option<u32>) -> Vec<u8> {
        let length = length.unwrap_or(content.len() as u32).to_le_bytes();
        let pad = vec![0; content.len() % 2];
        [name.as_bytes(), &length, content, &pad].concat()
    }

    fn wav(mark: &str, chunks: &[Vec<u8>]) -> Vec<u8> {
        [mark.as_bytes(), &[0; 4], b"WAVE", &chunks.concat()].concat()
    }

    fn format_chunk(code: u16, channels: u16, rate: u32, bits: u16) -> Vec<u8> {
        let each = channels * bits / 8;
        let rates = [rate.to_le_bytes(), (rate * u32::from(each)).to_le_bytes()].concat();
        let [code, channels, each, bits] = [code, channels, each, bits].map(u16::to_le_bytes);
        chunk("fmt ", &[&code[..], &channels, &rates, &each, &bits].concat(), None)
    }

    #[test]
    fn wav_files_of_two_channels_are_recordings() {
        let folder = Folder::new("wav");
        let samples_of = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        for (code, bits, format) in
            [(1, 8, SampleFormat::Cu8), (1, 16, SampleFormat::Ci16), (3, 32, SampleFormat::Cf32)]
        {
            let chunks = [
                format_chunk(code, 2, 96_000, bits),
                chunk("auxi", &[7; 5], None),
                chunk("data", &samples_of, None),
                chunk("LIST", &[9; 4], None),
            ];
            for name in ["x.wav", "x", "x.ci8"] {
                let path = folder.write(name, wav("RIFF", &chunks));
                let recording = Recording::open(&path, None).unwrap();
                assert_eq!((recording.format, recording.sample_rate), (format, Some(96_000.0)));
                assert_eq!(recording.files, [path]);
                assert_eq!(samples(recording), samples_of);
            }
        }
        // The format that is told further behind; lengths that were never written, and one of a long file.
        let mut extensible = [&[0xFE, 0xFF, 2, 0][..], &48_000u32.to_le_bytes(), &[0; 4], &[4, 0, 16, 0]].concat();
        extensible.extend([22, 0, 16, 0, 3, 0, 0, 0, 1, 0]);
        let sizes = [0u64.to_le_bytes(), 4u64.to_le_bytes(), 0u64.to_le_bytes()].concat();
        for (file, expected) in [
            (wav("RIFF", &[chunk("fmt ", &extensible, None), chunk("data", &samples_of, Some(0))]), 16),
            (wav("RIFF", &[format_chunk(1, 2, 1, 16), chunk("data", &samples_of, Some(u32::MAX))]), 16),
            (wav("RIFF", &[format_chunk(1, 2, 1, 16), chunk("data", &samples_of, Some(1000))]), 16),
            (
                wav(
                    "RF64",
                    &[
                        chunk("ds64", &sizes, None),
                        format_chunk(1, 2, 1, 16),
                        chunk("data", &samples_of, Some(u32::MAX)),
                    ],
                ),
                4,
            ),
        ] {
            let recording = Recording::open(&folder.write("y.wav", file), None).unwrap();
            assert_eq!(recording.format, SampleFormat::Ci16);
            assert_eq!(samples(recording), samples_of[..expected]);
        }
    }

    #[test]
    fn wav_files_that_are_no_recordings_are_refused() {
        let folder = Folder::new("no-wav");
        let data = chunk("data", &[0; 8], None);
        for (chunks, words) in [
            (
                vec![format_chunk(1, 1, 48_000, 16), data.clone()],
                "1 channels: a recording of IQ samples has two, I and Q",
            ),
            (vec![format_chunk(1, 2, 48_000, 24), data.clone()], "24 bits, code 1: 8 or 16 bits"),
            (vec![data.clone()], "does not tell its format"),
            (vec![format_chunk(1, 2, 48_000, 16)], "ends before its samples"),
            (vec![format_chunk(1, 2, 48_000, 16), chunk("data", &[], None)], "is empty"),
            (vec![chunk("junk", &[], None); 1001], "more than 1000 chunks"),
        ] {
            let said = message(&folder.write("x.wav", wav("RIFF", &chunks)));
            assert!(said.contains(words) && said.contains("x.wav"), "{said}");
        }
    }

    /// A tar file of these files.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn an_archive_is_read_as_its_two_files() {
        let folder = Folder::new("archive");
        let meta = r#"{"global": {"core:datatype": "cu8", "core:sample_rate": 8, "core:trailing_bytes": 1},
            "captures": [{"core:header_bytes": 2}]}"#;
        let files = [("x/a.sigmf-data", &[9, 9, 1, 2, 3, 4, 9][..]), ("x/a.sigmf-meta", meta.as_bytes())];
        for name in ["x.sigmf", "x.tar", "x"] {
            let path = folder.write(name, archive(&files));
            let recording = Recording::open(&path, None).unwrap();
            assert_eq!((recording.format, recording.sample_rate), (SampleFormat::Cu8, Some(8.0)));
            assert_eq!(recording.files, [path]);
            assert_eq!(samples(recording), [1, 2, 3, 4]);
        }
        let refused = |files: &[(&str, &[u8])]| message(&folder.write("x.sigmf", archive(files)));
        assert!(refused(&files[..1]).contains("without a .sigmf-meta file"));
        assert!(refused(&files[1..]).contains("its .sigmf-data file is missing"));
        assert!(refused(&[files, files].concat()).contains("holds 2 recordings: unpack it"));
        assert!(refused(&[files[0], ("x/a.sigmf-meta", b"{")]).contains("x.sigmf: not a SigMF description"));
        let mut cut = archive(&files);
        cut.truncate(1200);
        assert!(message(&folder.write("x.sigmf", cut)).contains("x.sigmf"));
    }

    #[test]
    fn every_file_of_a_recording_is_told() {
        let folder = Folder::new("files");
        let meta = folder.write("a.sigmf-meta", sigmf_meta(SampleFormat::Ci8, 2.0, ""));
        let data = folder.write("a.sigmf-data", [0; 4]);
        for path in [&meta, &data, &folder.0.join("a")] {
            assert_eq!(Recording::open(path, None).unwrap().files, [meta.clone(), data.clone()]);
        }
        let text = r#"{"global": {"core:datatype": "ci8", "core:dataset": "b.ts"}}"#;
        let (meta, data) = (folder.write("b.sigmf-meta", text), folder.write("b.ts", [0; 4]));
        assert_eq!(Recording::open(&meta, None).unwrap().files, [meta, data]);
        let raw = folder.write("c.cu8", [0; 4]);
        assert_eq!(Recording::open(&raw, None).unwrap().files, [raw]);
        assert!(Recording::from_stdin(Some(SampleFormat::Cu8)).unwrap().files.is_empty());
    }

    #[test]
    fn foreign_text_does_not_reach_the_terminal_as_it_is() {
        let folder = Folder::new("text");
        folder.write("x.sigmf-data", [0; 4]);
        let long = "x".repeat(100_000);
        for (datatype, dataset) in
            [("\\u001b[31mred\\u0007", "x"), (&*long, "x"), ("ci8", "../\\u001b[2J"), ("ci8", &format!("/{long}"))]
        {
            let text = format!(r#"{{"global": {{"core:datatype": "{datatype}", "core:dataset": "{dataset}"}}}}"#);
            let said = message(&folder.write("x.sigmf-meta", text));
            assert!(!said.contains(char::is_control) && said.len() < 400 && said.contains("core:data"), "{said:?}");
        }
        let text = format!(r#"{{"global": {{"core:datatype": "ci8", "core:sample_rate": "{long}"}}}}"#);
        let said = message(&folder.write("x.sigmf-meta", text));
        assert!(said.contains("not a SigMF description: invalid type") && said.len() < 400, "{said:?}");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_read_without_an_end() {
        let folder = Folder::new("endless");
        let endless = |name: &str| {
            let path = folder.0.join(name);
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            path
        };
        assert!(message(&endless("x.sigmf-meta")).contains("a description of more than 64 MiB"));
        let header = |data: &str, bytes: u64| {
            let text = format!(
                r#"{{"global": {{"core:datatype": "ci8", "core:dataset": "{data}"}}, "captures": [{{"core:header_bytes": {bytes}}}]}}"#
            );
            message(&folder.write("y.sigmf-meta", text))
        };
        folder.write("y.raw", [0; 8]);
        for bytes in [8, 9, u64::MAX] {
            let words = format!("core:header_bytes {bytes} and core:trailing_bytes 0 leave no samples in 8 bytes");
            assert!(header("y.raw", bytes).contains(&words));
        }
        endless("zero.raw");
        assert!(header("zero.raw", u64::MAX).contains("of a pipe or a device, 64 MiB at most"));
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
