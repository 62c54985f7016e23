//! The keys of a pool: who may take part.

use std::path::{Path, PathBuf};

use bief::{Error, Result};

/// A folder with the certificate of a pool's authority, and one that it gave to this machine: both sides of every link show theirs.
#[derive(Debug, Clone)]
pub struct Keys {
    folder: PathBuf,
}

impl Keys {
    /// The names of the files: the authority's certificate, this machine's, and its private key, all in PEM.
    pub const FILES: [&'static str; 3] = ["ca.pem", "cert.pem", "key.pem"];

    /// The keys in a folder.
    ///
    /// # Errors
    /// A file that is not there, cannot be read, or holds no PEM.
    pub fn read(folder: &Path) -> Result<Self> {
        for name in Self::FILES {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path).map_err(|error| {
                let names = Self::FILES.join(", ");
                Error::new(format!("{}: {error}: a folder of keys has {names}", path.display()))
            })?;
            if !text.contains("-----BEGIN ") {
                return Err(Error::new(format!("{}: this is no PEM: it has no line `-----BEGIN`", path.display())));
            }
        }
        let folder = folder.canonicalize().map_err(|error| Error::new(format!("{}: {error}", folder.display())))?;
        Ok(Self { folder })
    }

    pub(crate) fn file(&self, index: usize) -> String {
        self.folder.join(Self::FILES[index]).display().to_string()
    }
}
