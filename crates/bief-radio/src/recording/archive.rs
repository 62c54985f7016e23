//! SigMF archives: both files of a recording in one tar file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tar::{Archive, EntryType};

use super::sigmf::{self, DATA, Described, META, unsupported};
use super::{Recording, RecordingError, Samples, Stored, io_error};
use crate::iq::SampleFormat;

/// Where the mark of a tar file stands in its first block, and what it begins with.
const MARK_AT: usize = 257;
const MARK: &[u8] = b"ustar";
/// Files of an archive that are looked at.
const MOST_FILES: usize = 10_000;

/// Whether a file that begins so is a tar file.
pub(super) fn is_archive(head: &[u8]) -> bool {
    head.get(MARK_AT..).is_some_and(|head| head.starts_with(MARK))
}

/// A file in an archive, and where its bytes are.
struct Member {
    path: PathBuf,
    start: u64,
    bytes: u64,
}

/// Opens the only recording in an archive.
pub(super) fn open(mut file: File, path: &Path, format: Option<SampleFormat>) -> Result<Recording, RecordingError> {
    let members = members(&file, path)?;
    let of_extension = |wanted: &str| {
        let wanted = OsStr::new(wanted).to_owned();
        members.iter().filter(move |member| member.path.extension() == Some(&wanted))
    };
    let metas: Vec<&Member> = of_extension(META).collect();
    let [meta] = metas[..] else {
        let reason = match metas.len() {
            0 => format!("an archive without a .{META} file is no SigMF recording"),
            count => format!("holds {count} recordings: unpack it, and name one"),
        };
        return Err(unsupported(path, reason));
    };
    let mut text = Vec::new();
    read_at(&mut file, meta.start, meta.bytes.min(sigmf::LONGEST + 1), &mut text)
        .map_err(|error| io_error(path, error))?;
    let described = sigmf::describe(&text, path, format)?;
    let Some(data) = of_extension(DATA).find(|data| data.path == meta.path.with_extension(DATA)) else {
        return Err(unsupported(path, format_args!("its .{DATA} file is missing: an archive holds both")));
    };
    let bytes = described.samples_in(data.bytes, path)?;
    let Described { format, sample_rate, header_bytes, .. } = described;
    let stored = Stored::file(file, data.start + header_bytes, bytes);
    Ok(Recording {
        name: path.display().to_string(),
        format,
        sample_rate,
        bytes: Some(bytes),
        files: vec![path.to_owned()],
        samples: Samples::Stored(stored),
        gaps: None,
    })
}

/// The plain files in an archive.
fn members(file: &File, path: &Path) -> Result<Vec<Member>, RecordingError> {
    let mut archive = Archive::new(file);
    let mut members = Vec::new();
    let entries = archive.entries_with_seek().map_err(|error| io_error(path, error))?;
    for (index, entry) in entries.enumerate() {
        if index == MOST_FILES {
            let reason = format_args!("an archive of more than {MOST_FILES} files: unpack it, and name a recording");
            return Err(unsupported(path, reason));
        }
        let entry = entry.map_err(|error| io_error(path, error))?;
        if matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Continuous) {
            let name = entry.path().map_err(|error| io_error(path, error))?.into_owned();
            members.push(Member { path: name, start: entry.raw_file_position(), bytes: entry.size() });
        }
    }
    Ok(members)
}

fn read_at(file: &mut File, start: u64, bytes: u64, text: &mut Vec<u8>) -> io::Result<usize> {
    file.seek(SeekFrom::Start(start))?;
    file.take(bytes).read_to_end(text)
}
