//! The folder that the results of an experiment go to.

use std::fs;
use std::path::PathBuf;

use bief_cli::failure::Failure;
use clap::Args;

/// Which folder.
#[derive(Args)]
pub(crate) struct FolderArgs {
    /// Folder for the CSV and SVG files; it is created if missing, and files of the same names are replaced
    #[arg(short, long, value_name = "DIR", default_value = "campaign")]
    output: PathBuf,
}

/// A folder that takes files.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if it is missing. A folder that takes no files is found out here, before hours of computing.
    pub(crate) fn open(args: &FolderArgs) -> Result<Self, Failure> {
        let folder = Self(args.output.clone());
        fs::create_dir_all(&folder.0).map_err(|error| {
            Failure::new(format!(
                "{}: cannot make this folder: {error}; name another with --output",
                folder.0.display()
            ))
        })?;
        let probe = folder.0.join(".bief-writes-here");
        fs::write(&probe, "").and_then(|()| fs::remove_file(&probe)).map_err(|error| {
            let folder = folder.0.display();
            Failure::new(format!("{folder}: cannot write to this folder: {error}; name another with --output"))
        })?;
        Ok(folder)
    }

    /// Writes a file and answers its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<String, Failure> {
        let path = self.0.join(name);
        fs::write(&path, content)
            .map_err(|error| Failure::new(format!("{}: cannot write: {error}", path.display())))?;
        Ok(path.display().to_string())
    }
}
