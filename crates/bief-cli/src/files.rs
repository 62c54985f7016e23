//! Which files a command reads and writes, so that no output replaces its input, another output, or what nobody named.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bief::{ChainFile, Registry};

use crate::failure::Failure;
use crate::parts::{self, Parts};
use crate::text::listed;

/// Links that are followed to a file that is not there yet; more are a circle.
const MOST_LINKS: usize = 40;

/// The files of a command, and who has each. Standard output is one of them from the start, where it goes to a file.
///
/// Clones claim their own files from then on; what they write belongs to one run.
#[derive(Debug, Clone)]
pub struct Files {
    claims: Vec<Claim>,
    parts: Parts,
}

#[derive(Debug, Clone)]
struct Claim {
    file: Identity,
    /// As it was named.
    path: PathBuf,
    owner: String,
    is_written: bool,
}

/// A file, however it is named: what the system knows it by, if it is there, and where it is, or would be made. Nothing is known of
/// what content cannot be lost of, such as a pipe or `/dev/null`, and where no file can be.
#[derive(Debug, Clone, Default)]
struct Identity {
    /// Device and inode: names that are links to one file have one.
    number: Option<(u64, u64)>,
    place: Option<PathBuf>,
}

impl Default for Files {
    fn default() -> Self {
        let owner = "standard output";
        let file = Identity::of_open(io::stdout().as_fd());
        let claims = vec![Claim { file, path: owner.into(), owner: owner.to_owned(), is_written: true }];
        Self { claims, parts: Parts::default() }
    }
}

impl Files {
    /// Notes an input, `-` for standard input, that nothing may be written to.
    pub fn read(&mut self, path: &Path) -> Result<(), Failure> {
        let file = if is_dash(path) { Identity::of_open(io::stdin().as_fd()) } else { Identity::of(path) };
        if let Some(taken) = self.claims.iter().find(|claim| claim.is_written && claim.file.is(&file)) {
            return Err(replaces(&taken.path, &taken.owner, "the input"));
        }
        self.claims.push(Claim { file, path: path.to_owned(), owner: "the input".to_owned(), is_written: false });
        Ok(())
    }

    /// Notes what the tasks of a chain read and write.
    pub fn chain(&mut self, chain: &ChainFile, registry: &Registry) -> Result<(), Failure> {
        for file in chain.files(registry).map_err(Failure::from_error)? {
            match file.is_written {
                true => self.write(&file.path, &format!("task `{}`", file.task))?,
                false => self.read(&file.path)?,
            }
        }
        Ok(())
    }

    /// Notes that `what` writes the file, which must be free, in a folder that exists. `-` is standard output.
    pub fn write(&mut self, path: &Path, what: &str) -> Result<(), Failure> {
        if is_dash(path) {
            return Ok(());
        }
        if !folder(path).is_dir() {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path}: No such file or directory: {what} needs a folder that exists"
            )));
        }
        let file = Identity::of(path);
        if let Some(taken) = self.claims.iter().find(|claim| claim.file.is(&file)) {
            return Err(replaces(path, what, &taken.owner));
        }
        self.claims.push(Claim { file, path: path.to_owned(), owner: what.to_owned(), is_written: true });
        Ok(())
    }

    /// As [`write`](Self::write), of a name that nobody typed: what is there is somebody's, and kept unless `force`.
    pub fn write_unnamed(&mut self, path: &Path, what: &str, force: bool) -> Result<(), Failure> {
        self.write(path, what)?;
        if !force && path.is_file() {
            let path = path.display();
            let remedy = "name another file with -o, or give --force";
            return Err(Failure::usage(format!("{path}: {what} would replace this file, which is there: {remedy}")));
        }
        Ok(())
    }

    /// Makes a file of a run, which is `NAME.part` until the run has [ended](Self::end) well; pipes and devices are opened as they are.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.parts.create(path)
    }

    /// A registry of all kinds, and openers, whose files are those of the run.
    pub(crate) fn registry(&self) -> Registry {
        let mut registry = crate::registry::all();
        let parts = self.parts.clone();
        registry.make_files_by(move |path| parts.create(path));
        registry
    }

    /// Ends the run. Its files get their names if it ended well, in the order in which they were made; else they stay partial, and
    /// the failure names them. All that writes them must be gone.
    pub(crate) fn end(&self, outcome: Result<(), Failure>) -> Result<(), Failure> {
        let outcome = outcome.and_then(|()| self.parts.publish().map_err(Failure::from_error));
        outcome.map_err(|mut failure| {
            let left: Vec<String> = self.parts.leave().iter().map(|path| path.display().to_string()).collect();
            if !left.is_empty() {
                failure.message += &format!(": see {}", listed(&left));
            }
            failure
        })
    }
}

/// Writes a file that appears as a whole; where that fails, nothing is left behind. An error names the file.
pub fn put(path: &Path, content: &str) -> io::Result<()> {
    parts::put(path, |out| out.write_all(content.as_bytes()))
}

/// Whether a path stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn replaces(path: &Path, what: &str, owner: &str) -> Failure {
    Failure::usage(format!("{}: {what} would replace {owner}: name another file", path.display()))
}

impl Identity {
    fn of(path: &Path) -> Self {
        match path.metadata() {
            Ok(facts) => Self { place: path.canonicalize().ok(), ..Self::default() }.known_by(&facts),
            Err(_) => Self { number: None, place: place(path.to_owned()) },
        }
    }

    /// Of what standard input or output is.
    fn of_open(stream: BorrowedFd<'_>) -> Self {
        let facts = stream.try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
        facts.map_or_else(|_| Self::default(), |facts| Self::default().known_by(&facts))
    }

    fn known_by(self, facts: &Metadata) -> Self {
        if facts.is_file() { Self { number: Some((facts.dev(), facts.ino())), ..self } } else { Self::default() }
    }

    fn is(&self, other: &Self) -> bool {
        let same_number = self.number.is_some() && self.number == other.number;
        same_number || self.place.is_some() && self.place == other.place
    }
}

/// Where a file would be made that is not there: links may lead to it.
pub(crate) fn place(mut path: PathBuf) -> Option<PathBuf> {
    for _ in 0..MOST_LINKS {
        let Ok(target) = path.read_link() else { break };
        path = folder(&path).join(target);
    }
    Some(folder(&path).canonicalize().ok()?.join(path.file_name()?))
}

/// The folder that a file is in, or would be.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_has_one_owner_however_it_is_named() {
        let mut files = Files::default();
        files.read(Path::new("Cargo.toml")).unwrap();
        files.write(Path::new("new.ts"), "-o").unwrap();
        for (path, owner) in [
            ("Cargo.toml", "the input"),
            ("src/../Cargo.toml", "the input"),
            ("./new.ts", "-o"),
            ("src/../new.ts", "-o"),
        ] {
            let refusal = files.write(Path::new(path), "--json").unwrap_err().message;
            assert!(refusal.contains(&format!("--json would replace {owner}")), "{refusal}");
        }
        for free in ["src/new.ts", "/dev/null", "/dev/null", "-", "-"] {
            files.write(Path::new(free), "--json").unwrap();
        }
        let refusal = files.write(Path::new("absent/x"), "--json").unwrap_err().message;
        assert_eq!(refusal, "absent/x: No such file or directory: --json needs a folder that exists");
        // An input that is found to be one later.
        let refusal = files.read(Path::new("./new.ts")).unwrap_err().message;
        assert_eq!(refusal, "new.ts: -o would replace the input: name another file");
    }

    #[test]
    fn links_are_the_files_that_they_lead_to() {
        let folder = std::env::temp_dir().join(format!("bief-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("x"), "x").unwrap();
        fs::hard_link(folder.join("x"), folder.join("hard")).unwrap();
        for (target, link) in [("x", "soft"), ("new", "dangling"), ("dangling", "twice"), ("circle", "circle")] {
            std::os::unix::fs::symlink(target, folder.join(link)).unwrap();
        }
        let mut files = Files::default();
        files.read(&folder.join("x")).unwrap();
        files.write(&folder.join("new"), "-o").unwrap();
        for (name, owner) in [("hard", "the input"), ("soft", "the input"), ("dangling", "-o"), ("twice", "-o")] {
            let refusal = files.write(&folder.join(name), "--json").unwrap_err().message;
            assert!(refusal.contains(&format!("--json would replace {owner}")), "{name}: {refusal}");
        }
        let _ = files.write(&folder.join("circle"), "--json");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_nobody_named_is_kept() {
        let folder = std::env::temp_dir().join(format!("bief-unnamed-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let there = folder.join("there");
        fs::write(&there, "x").unwrap();
        let refusal = Files::default().write_unnamed(&there, "the audio", false).unwrap_err().message;
        assert!(refusal.contains("the audio would replace this file") && refusal.contains("--force"), "{refusal}");
        Files::default().write_unnamed(&there, "the audio", true).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
