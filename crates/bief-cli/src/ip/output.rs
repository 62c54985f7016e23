//! Where a command sends IP packets, or BBFRAMEs.

use std::io::Write;
use std::path::{Path, PathBuf};

use bief::kinds::{Address, Openers};
use bief_radio::ip::IpOutput;

use crate::failure::Failure;
use crate::files::{Files, is_dash};
use crate::input::{address, is_address};

/// A pcap file, standard output, or a device.
#[derive(Debug, Clone)]
pub(crate) struct PacketOutput {
    path: PathBuf,
    address: Address,
}

impl PacketOutput {
    /// The output that an argument names: a file is noted as that of `what`.
    pub(crate) fn named(path: &Path, what: &str, openers: &Openers, files: &mut Files) -> Result<Self, Failure> {
        let output = Self::of(path, openers)?;
        if !is_address(path) {
            files.write(path, what)?;
        }
        Ok(output)
    }

    /// As [`named`](Self::named), of a name that nobody typed: a file that is there is kept unless `force`.
    pub(crate) fn unnamed(
        path: &Path,
        what: &str,
        force: bool,
        openers: &Openers,
        files: &mut Files,
    ) -> Result<Self, Failure> {
        let output = Self::of(path, openers)?;
        files.write_unnamed(path, what, force)?;
        Ok(output)
    }

    fn of(path: &Path, openers: &Openers) -> Result<Self, Failure> {
        let address = address(path, openers)?;
        if !is_dash(path) {
            openers.check_writer(&address).map_err(Failure::from_error)?;
        }
        Ok(Self { path: path.to_owned(), address })
    }

    /// Opens it; packets that come now are written at once.
    pub(crate) fn open(&self, openers: &Openers, is_live: bool) -> Result<IpOutput, Failure> {
        let output = IpOutput::at(&self.address, self.writer(openers)?);
        Ok(if is_live { output.live() } else { output })
    }

    /// Opens it for other bytes.
    pub(crate) fn writer(&self, openers: &Openers) -> Result<Box<dyn Write + Send>, Failure> {
        openers.writer(&self.address).map_err(|error| Failure::unmade(&self.address, error))
    }

    pub(crate) fn is_stdout(&self) -> bool {
        is_dash(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
