//! The chain that a command examines: a receiver by its name, or a chain file.

use std::path::Path;

use bief::{Application, ChainFile, Registry};
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::files::Files;
use crate::rx::SignalArgs;
use crate::{meteors, nbfm, nn, registry, rx};

/// The receivers that have a name.
const NAMED: [(&str, Make); 4] =
    [("rx", rx::examined), ("nbfm", nbfm::examined), ("meteors", meteors::examined), ("nn", nn::examined)];

/// Makes a receiver of the signal that the options tell.
type Make = fn(&SignalArgs, &mut Files, &ProgressBar) -> Result<Box<dyn Application>, Failure>;

/// A chain to examine.
pub(crate) struct Subject {
    /// What messages call it.
    pub(crate) name: String,
    origin: Origin,
}

enum Origin {
    Named(Make),
    File(Box<ChainFile>, Registry),
}

/// The receiver of that name.
fn named(chain: &Path) -> Option<Make> {
    NAMED.iter().find(|(name, _)| chain == Path::new(name)).map(|(_, make)| *make)
}

/// Whether this is the name of a receiver.
pub(crate) fn is_named(chain: &Path) -> bool {
    named(chain).is_some()
}

impl Subject {
    /// The receiver of that name, or else the chain file; notes the files that it reads and writes.
    pub(crate) fn of(chain: &Path, signal: &SignalArgs, files: &mut Files) -> Result<Self, Failure> {
        signal.claim(files)?;
        let name = chain.display().to_string();
        if let Some(make) = named(chain) {
            return Ok(Self { name, origin: Origin::Named(make) });
        }
        if signal.is_given() {
            return Err(Failure::usage(format!(
                "{name}: a chain file names its input itself: INPUT and the options of a signal go with `rx`"
            )));
        }
        let registry = registry::all();
        let file = ChainFile::read(chain).map_err(Failure::from_error)?;
        files.read(chain)?;
        files.chain(&file, &registry)?;
        Ok(Self { name, origin: Origin::File(Box::new(file), registry) })
    }

    /// The chain, to be rehearsed.
    pub(crate) fn application(
        &self,
        signal: &SignalArgs,
        files: &mut Files,
        bar: &ProgressBar,
    ) -> Result<Box<dyn Application + '_>, Failure> {
        match &self.origin {
            Origin::Named(make) => make(signal, files, bar),
            Origin::File(file, registry) => Ok(Box::new(file.application(registry))),
        }
    }

    /// An error of its rehearsal; the receivers' own name what they read.
    pub(crate) fn failure(&self, error: bief::Error) -> Failure {
        match self.origin {
            Origin::Named(_) => Failure::from_error(error),
            Origin::File(..) => Failure::usage(format!("{}: {error}", self.name)),
        }
    }
}
