//! How workers are reached: the same options in every command.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use bief::chain::Machines;
use bief_zenoh::{Address, Keys, RUNTIME, Reach};
use clap::Args;

use crate::failure::Failure;
use crate::status::Status;
use crate::text::printable;

/// How workers are reached.
#[derive(Args)]
pub(crate) struct ReachArgs {
    /// Workers, by where they listen: HOST or HOST:PORT, port 7447 where none is named
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    workers: Vec<Address>,
    /// Find workers in the local network, by multicast
    #[arg(long)]
    find: bool,
    /// A zenoh router that workers are connected to: HOST or HOST:PORT
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["workers", "find"])]
    router: Option<Address>,
    /// A folder with ca.pem, cert.pem and key.pem: all links are TLS, both sides show certificates of that authority
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Talk to other machines without keys: whoever reaches them can read, change and add frames
    #[arg(long, conflicts_with = "keys")]
    insecure: bool,
}

impl ReachArgs {
    /// Whether workers are wanted.
    pub(crate) fn is_given(&self) -> bool {
        !self.workers.is_empty() || self.find || self.router.is_some()
    }

    /// How many workers were named.
    pub(crate) fn named(&self) -> usize {
        self.workers.len()
    }

    /// The way to workers.
    ///
    /// # Errors
    /// None was named; keys that are none, or are missing.
    pub(crate) fn reach(&self) -> Result<Reach, Failure> {
        if !self.is_given() {
            return Err(Failure::usage("no worker is named: give --workers ADDRESS, --find or --router ADDRESS"));
        }
        let reach = reach(&self.workers, self.router.as_ref(), self.find, self.keys.as_ref())?;
        secured(reach, self.insecure)
    }

    /// Takes the machines of a chain file, unless others were named.
    ///
    /// # Errors
    /// Addresses that are none.
    pub(super) fn follow(&mut self, machines: &Machines) -> Result<(), Failure> {
        let address = |text: &str| {
            let refused = |error| Failure::usage(format!("[machines.{}]: {error}", printable(&machines.name)));
            text.trim().parse::<Address>().map_err(refused)
        };
        let connect = machines.connect.iter().flat_map(|addresses| addresses.split(','));
        self.workers = connect.map(address).collect::<Result<_, _>>()?;
        self.router = machines.router.as_deref().map(address).transpose()?;
        self.find = machines.find;
        self.keys = self.keys.take().or_else(|| machines.keys.clone());
        self.check()
    }

    /// Refuses options that say how, where no worker is wanted.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match (self.is_given(), self.keys.is_some(), self.insecure) {
            (false, true, _) => Err(without("--keys")),
            (false, _, true) => Err(without("--insecure")),
            (false, false, false) => Ok(()),
            // Before anything is read or written.
            _ => with_environment(),
        }
    }
}

/// An option about workers, where there are none.
pub(super) fn without(option: &str) -> Failure {
    Failure::usage(format!(
        "{option} is about workers, and none is named: give --workers ADDRESS, --find or --router ADDRESS"
    ))
}

/// A way, with its keys.
pub(super) fn reach(
    workers: &[Address],
    router: Option<&Address>,
    find: bool,
    keys: Option<&PathBuf>,
) -> Result<Reach, Failure> {
    with_environment()?;
    let keys = keys.map(|folder| Keys::read(folder)).transpose();
    let keys = keys.map_err(|error| Failure::from_error(error).with(Status::NoInput))?;
    Ok(Reach { workers: workers.to_vec(), router: router.cloned(), find, keys })
}

/// Begins this process again with what links need in its environment, if it is not there: it cannot be changed once threads are there.
fn with_environment() -> Result<(), Failure> {
    let (name, value) = RUNTIME;
    if std::env::var(name).ok().as_deref() == Some(value) {
        return Ok(());
    }
    let program = std::env::current_exe().map_err(Failure::from_error)?;
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_else(|| "bief".into());
    // It returns where it fails.
    let error = Command::new(&program).arg0(called).args(arguments).env(name, value).exec();
    Err(Failure::new(format!("{}: {error}", program.display())))
}

/// Refuses what leaves this machine without keys, but where that was typed.
fn secured(reach: Reach, insecure: bool) -> Result<Reach, Failure> {
    match reach.is_safe() || insecure {
        true => Ok(reach),
        false => Err(open_to_all()),
    }
}

pub(super) fn open_to_all() -> Failure {
    Failure::usage(
        "other machines are reached with keys: give --keys DIR, or --insecure in a network where nobody can read or write but you",
    )
}
