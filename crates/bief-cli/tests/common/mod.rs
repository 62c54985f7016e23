//! The command, run as a user runs it, in a folder of its own.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of them")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is removed afterwards.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bief-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bief"));
        // What a command shows does not depend on drivers that are installed here.
        command.env("OCL_ICD_VENDORS", "/nonexistent");
        command.current_dir(&self.0).stdin(Stdio::null());
        command
    }

    /// Runs the command and answers what it printed; it must succeed.
    pub fn succeed<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        let output = self.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command and answers its message; it must fail, with an exit status that is told and without a panic.
    pub fn fail<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        self.failure(arguments).1
    }

    /// As [`fail`](Self::fail), with the exit status.
    pub fn failure<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> (i32, String) {
        let output = self.command().args(arguments).output().unwrap();
        let message = stderr(&output);
        let status = output.status.code().unwrap();
        assert!([1, 2, 65, 66, 74, 75].contains(&status), "{status}: {message}");
        assert!(message.starts_with("bief: ") && !message.contains("panicked"), "{message}");
        (status, message)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The samples of the recording that ships.
pub fn sample() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-data");
    std::fs::read(path).unwrap()
}

/// A transport stream of pseudo-random packets.
pub fn packets(count: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut stream = vec![0; count * 188];
    for (index, byte) in stream.iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = match index % 188 {
            0 => 0x47,
            1 => (state >> 24) as u8 & 0x7F,
            _ => (state >> 24) as u8,
        };
    }
    stream
}

/// A file that was written, as text.
pub fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

/// Tables fit a terminal.
pub fn assert_narrow(shown: &str) {
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

/// The options are refused by the parser, which names one of them.
pub fn assert_usage(folder: &Folder, arguments: &[&str], named: &str) {
    let output = folder.command().args(arguments).output().unwrap();
    let message = stderr(&output);
    assert!(output.status.code() == Some(2) && message.contains(named), "{arguments:?}: {message}");
}
