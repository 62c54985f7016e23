//! See the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bief_cli::main()
}
