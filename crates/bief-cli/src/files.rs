//! Which files a command reads and writes, so that no output replaces its input or another output.

use std::path::{Path, PathBuf};

use bief::{ChainFile, Registry};

use crate::failure::Failure;

/// The files of a command, each where it really is, and who has it.
#[derive(Debug, Clone, Default)]
pub struct Files(Vec<(PathBuf, String)>);

impl Files {
    /// Notes an input.
    pub fn read(&mut self, path: &Path) {
        if !is_dash(path) {
            self.0.extend(place(path).map(|place| (place, "the input".to_owned())));
        }
    }

    /// Notes what the tasks of a chain read and write.
    pub fn chain(&mut self, chain: &ChainFile, registry: &Registry) -> Result<(), Failure> {
        for file in chain.files(registry).map_err(Failure::from_error)? {
            match file.is_written {
                true => self.write(&file.path, &format!("task `{}`", file.task))?,
                false => self.read(&file.path),
            }
        }
        Ok(())
    }

    /// Notes that `what` writes the file, which must be free, in a folder that exists.
    pub fn write(&mut self, path: &Path, what: &str) -> Result<(), Failure> {
        if !is_dash(path) && !folder(path).is_dir() {
            let path = path.display();
            return Err(Failure::new(format!("{path}: No such file or directory: {what} needs a folder that exists")));
        }
        let Some(place) = place(path).filter(|_| !is_dash(path)) else { return Ok(()) };
        if let Some((_, owner)) = self.0.iter().find(|(taken, _)| *taken == place) {
            return Err(Failure::new(format!("{}: {what} would replace {owner}: name another file", path.display())));
        }
        self.0.push((place, what.to_owned()));
        Ok(())
    }
}

/// Whether a path stands for standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Where a file is, or would be made, without links. `None` for what content cannot be lost of, such as `/dev/null` or a pipe, and
/// where no file can be.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(place) = path.canonicalize() {
        return place.is_file().then_some(place);
    }
    Some(folder(path).canonicalize().ok()?.join(path.file_name()?))
}

/// The folder that a file is in, or would be.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_owner_however_it_is_named() {
        let mut files = Files::default();
        files.read(Path::new("Cargo.toml"));
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
    }
}
