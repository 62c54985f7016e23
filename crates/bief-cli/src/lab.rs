//! `bief lab`: the program `bief-lab`, which has the experiments, in place of this one.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::failure::Failure;

const NAME: &str = "bief-lab";
const BUILD: &str = "cargo build --release -p bief-lab";

/// Arguments of `bief lab`: all of them are the lab's.
#[derive(Args)]
pub(crate) struct LabArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Runs the lab; answers its exit status where it is a child of this process.
pub(crate) fn run(args: &LabArgs) -> Result<ExitCode, Failure> {
    let mut command = Command::new(program());
    command.args(&args.arguments);
    run_instead(&mut command).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let places = "it lies neither beside `bief` nor on the PATH";
            Failure::new(format!("no program `{NAME}`: {places}: build it with `{BUILD}`"))
        }
        _ => Failure::new(format!("{}: {error}", command.get_program().display())),
    })
}

/// What to say to one of the lab's commands that is asked of this one.
pub(crate) fn moved(command: &str) -> Failure {
    Failure::usage(format!("`{command}` is an experiment: `bief lab {command}` (build it with `{BUILD}`)"))
}

/// The program beside this one, else the one that the system finds on the PATH.
fn program() -> PathBuf {
    let name = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().map(|bief| bief.with_file_name(&name));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

/// The lab takes the place of this process: signals and exit status are its own.
#[cfg(unix)]
fn run_instead(command: &mut Command) -> std::io::Result<ExitCode> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run_instead(command: &mut Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
