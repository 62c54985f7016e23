//! Where the findings go: a table to the terminal, and CSV, SVG and JSON to files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use bief_cli::draw::plot::Figure;
use bief_cli::failure::Failure;
use bief_cli::files::is_dash;
use bief_cli::json::{JsonArgs, print};
use clap::Args;
use serde_json::Value;

/// Which files.
#[derive(Args)]
pub(super) struct OutputArgs {
    /// Write the figures as CSV to FILE; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the figures as SVG into FILE; - writes to standard output instead of the table
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

/// What a bench found.
pub(super) struct Findings {
    /// For the terminal, at most 80 columns wide.
    pub(super) table: String,
    pub(super) csv: String,
    pub(super) figure: Figure,
    pub(super) json: Value,
}

impl OutputArgs {
    /// Finds out before the measurements whether their results can be delivered.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.on_stdout() > 1 {
            let message = "only one of --csv, --svg and --json can go to standard output: give the others files";
            return Err(Failure::new(message));
        }
        let files = [&self.csv, &self.svg].into_iter().flatten().map(PathBuf::as_path).filter(|path| !is_dash(path));
        for path in files.chain(self.json.file()) {
            File::options().append(true).create(true).open(path).map_err(|error| cannot_write(path, &error))?;
        }
        Ok(())
    }

    /// How many results take the place of the table.
    fn on_stdout(&self) -> usize {
        let files = [&self.csv, &self.svg].into_iter().flatten();
        files.filter(|path| is_dash(path)).count() + usize::from(self.json.on_stdout())
    }

    pub(super) fn deliver(&self, findings: &Findings) -> Result<(), Failure> {
        if let Some(path) = &self.csv {
            write(path, &findings.csv)?;
        }
        if let Some(path) = &self.svg {
            write(path, &findings.figure.svg()?)?;
        }
        self.json.write(|| format!("{:#}", findings.json))?;
        if self.on_stdout() > 0 { Ok(()) } else { print(&findings.table) }
    }
}

/// Writes text, whose last line may be ended or not, to the file or to standard output.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let text = text.trim_end();
    if is_dash(path) {
        return print(text);
    }
    fs::write(path, format!("{text}\n")).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: cannot write: {error}; name another file", path.display()))
}
