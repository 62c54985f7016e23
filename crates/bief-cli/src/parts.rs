//! Outputs that appear under their names when they are whole: until then, `NAME.part` lies beside, whatever ends the program.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::{folder, place};

/// What the name of an output ends in until it is whole.
const ENDING: &str = ".part";

/// Partial files that were renamed, by a run that ended, between looking for one and having it: more are none.
const MOST_TRIES: usize = 100;

/// The outputs of a run that are not whole yet. Clones are of the same run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts(Arc<Mutex<Vec<Part>>>);

/// A file that is written under another name, which no other run may write meanwhile.
#[derive(Debug)]
struct Part {
    /// Open as long as this is: the lock ends with it, also where the program is killed.
    file: File,
    partial: PathBuf,
    target: PathBuf,
    /// As it was named.
    name: PathBuf,
}

impl Parts {
    /// Makes the file, or empties the partial one that an earlier run left. What is no file, as a pipe or a device, is opened as it is.
    ///
    /// # Errors
    /// What the system says, with the name; [`ErrorKind::ResourceBusy`] where another run writes the file.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        let Some(target) = target(path) else { return File::create(path).map_err(|error| named(path, error)) };
        let part = Part::new(path, target)?;
        let file = part.file.try_clone()?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(part);
        Ok(file)
    }

    /// Gives all files their names, in the order in which they were made. Nothing may be left to be written.
    ///
    /// # Errors
    /// The first that cannot be written to its end, or renamed; it and those behind it stay partial.
    pub(crate) fn publish(&self) -> io::Result<()> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !parts.is_empty() {
            parts[0].publish()?;
            parts.remove(0);
        }
        Ok(())
    }

    /// Leaves files partial; removes those that got nothing. Answers the others.
    pub(crate) fn leave(&self) -> Vec<PathBuf> {
        let parts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let got = |part: &Part| part.file.metadata().is_ok_and(|facts| facts.len() > 0);
        let (left, empty): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(got);
        // One that cannot be removed stays; what went wrong before is told.
        empty.iter().for_each(|part| drop(fs::remove_file(&part.partial)));
        left.iter().map(|part| partial(&part.name)).collect()
    }
}

impl Part {
    fn new(name: &Path, target: PathBuf) -> io::Result<Self> {
        // A file that may not be written is not replaced either.
        let mode = match OpenOptions::new().write(true).open(&target) {
            Ok(there) => Some(there.metadata()?.permissions()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(named(name, error)),
        };
        let partial = partial(&target);
        let told = |error| named(&self::partial(name), error);
        let file = locked(&partial).map_err(told)?;
        file.set_len(0).map_err(told)?;
        if let Some(mode) = mode {
            file.set_permissions(mode).map_err(told)?;
        }
        Ok(Self { file, partial, target, name: name.to_owned() })
    }

    /// Nothing of it is lost under its name, not by a power cut either.
    fn publish(&self) -> io::Result<()> {
        let told = |error| named(&self.name, error);
        self.file.sync_all().map_err(told)?;
        fs::rename(&self.partial, &self.target).map_err(told)?;
        // Not every file system lets a folder be synchronised: the name is there in any case.
        let _ = File::open(folder(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// The name of an output until it is whole.
pub(crate) fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ENDING);
    name.into()
}

/// Writes a file that appears as a whole, at once; where that fails, nothing is left behind.
pub(crate) fn put(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let parts = Parts::default();
    let written = parts.create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out).and_then(|()| out.flush()).map_err(|error| named(path, error))
    });
    written.and_then(|()| parts.publish()).inspect_err(|_| parts.discard())
}

impl Parts {
    fn discard(&self) {
        let parts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        parts.iter().for_each(|part| drop(fs::remove_file(&part.partial)));
    }
}

/// Opens a partial file, of which no other run has a lock.
fn locked(partial: &Path) -> io::Result<File> {
    for _ in 0..MOST_TRIES {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(partial)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let reason = "another run writes it: wait for its end, or name another file";
                return Err(io::Error::new(ErrorKind::ResourceBusy, reason));
            }
            // Not every file system has locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // The run that had it may have given it its name meanwhile: then it is an output that is whole.
        let (mine, there) = (file.metadata()?, partial.metadata());
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())) {
            return Ok(file);
        }
    }
    Err(io::Error::new(ErrorKind::ResourceBusy, "other runs write it again and again"))
}

/// Where a file is, or will be, behind all links; `None` for what is no file, or only a name of one that is open.
fn target(path: &Path) -> Option<PathBuf> {
    if ["/dev/fd", "/proc"].iter().any(|open| path.starts_with(open)) {
        return None;
    }
    match path.metadata() {
        Ok(facts) if facts.is_file() => path.canonicalize().ok(),
        Ok(_) => None,
        Err(_) => place(path.to_owned()),
    }
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bief-parts-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path.canonicalize().unwrap())
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<_> =
                fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = Folder::new("whole");
        let (path, empty) = (folder.0.join("x.ts"), folder.0.join("empty"));
        fs::write(&path, "of an earlier run").unwrap();
        fs::write(partial(&path), "what a run that was killed left, and was longer").unwrap();
        let parts = Parts::default();
        let mut file = parts.create(&path).unwrap();
        file.write_all(b"some").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"of an earlier run");
        assert_eq!(fs::read(partial(&path)).unwrap(), b"some");
        parts.create(&empty).unwrap();
        parts.clone().publish().unwrap();
        assert_eq!(folder.names(), ["empty", "x.ts"]);
        assert_eq!(fs::read(&path).unwrap(), b"some");
        assert_eq!(parts.leave(), [] as [PathBuf; 0], "whole");
    }

    #[test]
    fn a_file_that_is_left_is_partial_unless_it_got_nothing() {
        let folder = Folder::new("left");
        let parts = Parts::default();
        parts.create(&folder.0.join("some")).unwrap().write_all(b"x").unwrap();
        parts.create(&folder.0.join("none")).unwrap();
        assert_eq!(parts.leave(), [folder.0.join("some.part")]);
        assert_eq!(folder.names(), ["some.part"]);
        put(&folder.0.join("document"), |out| out.write_all(b"{").and(Err(io::Error::other("no more")))).unwrap_err();
        assert_eq!(folder.names(), ["some.part"]);
        put(&folder.0.join("document"), |out| out.write_all(b"{}")).unwrap();
        assert_eq!(fs::read(folder.0.join("document")).unwrap(), b"{}");
    }

    #[test]
    fn two_runs_do_not_write_one_file() {
        let folder = Folder::new("two");
        let path = folder.0.join("x");
        let (first, second) = (Parts::default(), Parts::default());
        first.create(&path).unwrap().write_all(b"first").unwrap();
        let refusal = second.create(&path).unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::ResourceBusy);
        assert!(refusal.to_string().ends_with("x.part: another run writes it: wait for its end, or name another file"));
        first.publish().unwrap();
        second.create(&path).unwrap().write_all(b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first", "until the second is whole");
        second.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn links_modes_and_what_is_no_file_stay_as_they_are() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("links");
        let (link, target, new) = (folder.0.join("link"), folder.0.join("target"), folder.0.join("new"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        std::os::unix::fs::symlink("not-there-yet", &new).unwrap();
        for path in [&link, &new] {
            put(path, |out| out.write_all(b"new")).unwrap();
            assert!(path.symlink_metadata().unwrap().is_symlink());
        }
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(folder.names(), ["link", "new", "not-there-yet", "target"]);
        put(Path::new("/dev/null"), |out| out.write_all(b"x")).unwrap();
        assert!(!Path::new("/dev/null.part").exists());
        let refusal = put(&folder.0, |_| Ok(())).unwrap_err().to_string();
        assert!(refusal.contains("directory"), "{refusal}");
    }
}
