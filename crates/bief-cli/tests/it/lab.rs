//! `bief lab`: the program beside the command, or on the PATH, in its place.

#![cfg(unix)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::stderr;

/// Folders `here`, in which the command lies alone, and `path`; removed afterwards.
struct Places(PathBuf);

impl Places {
    fn new(name: &str) -> Self {
        // In the target folder, so that the command can be linked: the program beside it is sought where it really lies.
        let places = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id())));
        ["here", "path"].iter().for_each(|folder| std::fs::create_dir_all(places.0.join(folder)).unwrap());
        std::fs::hard_link(env!("CARGO_BIN_EXE_bief"), places.0.join("here/bief")).unwrap();
        places
    }

    /// A shell stands for the lab in that folder.
    fn put_lab(&self, folder: &str) {
        symlink("/bin/sh", self.0.join(folder).join("bief-lab")).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.0.join("here/bief"));
        command.args(arguments).env("PATH", self.0.join("path")).output().unwrap()
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_lab_runs_in_place_of_the_command_with_all_arguments() {
    for folder in ["here", "path"] {
        let places = Places::new(&format!("lab-{folder}"));
        places.put_lab(folder);
        let output = places.run(&["lab", "-c", "echo $0 $1 $2 $$ $PPID; exit 7", "--help", "-x", "--"]);
        let shown = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(shown.starts_with("--help -x -- "), "{shown} {}", stderr(&output));
        // No process stands between it and who started it.
        assert!(shown.trim_end().ends_with(&format!(" {}", std::process::id())), "{shown}");
        assert_eq!(output.status.code(), Some(7));
    }
}

#[test]
fn a_lab_that_is_not_there_is_told_with_the_remedy() {
    let places = Places::new("lab-absent");
    for (arguments, words) in [
        (&["lab", "campaign", "table2"][..], "no program `bief-lab`"),
        (&["lab", "--help"], "no program `bief-lab`"),
        (&["lab"], "no program `bief-lab`"),
        (&["bench", "runtime", "--rounds", "1"], "`bief lab bench`"),
        (&["campaign", "--help"], "`bief lab campaign`"),
        (&["fer"], "`bief lab fer`"),
    ] {
        let output = places.run(arguments);
        let message = stderr(&output);
        assert!([1, 2].contains(&output.status.code().unwrap()), "{message}");
        assert!(message.starts_with("bief: ") && message.contains(words), "{message}");
        assert!(message.contains("`cargo build --release -p bief-lab`"), "{message}");
    }
}
