//! The program `ffmpeg`, which reads what this crate does not: as a child that sends y4m.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::{Error, Result};

use super::{VideoSettings, pipe};

/// The program, unless the environment names another.
const PROGRAM: &str = "ffmpeg";
const NAMED_BY: &str = "BIEF_FFMPEG";
/// How long it may take to end once it sends no more, and how often that is looked at.
const GRACE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(2);
/// Characters of what it says that are kept: the last ones.
const HEARD: usize = 2000;

/// A running `ffmpeg`. It is ended when this goes.
pub(super) struct Running {
    child: Child,
    listener: Option<JoinHandle<String>>,
}

/// Whether this has no end: a camera, or an address.
pub(super) fn is_live(input: &str) -> bool {
    let is_address = ["rtsp://", "rtmp://", "udp://", "rtp://", "srt://", "tcp://"];
    is_camera(input) || is_address.iter().any(|scheme| input.starts_with(scheme))
}

fn is_camera(input: &str) -> bool {
    input.starts_with("/dev/video")
}

/// Starts it.
pub(super) fn start(input: &str, settings: VideoSettings) -> Result<(Box<dyn Read + Send>, Running)> {
    let program = std::env::var_os(NAMED_BY).unwrap_or_else(|| PROGRAM.into());
    let mut command = Command::new(&program);
    command.args(["-nostdin", "-hide_banner", "-loglevel", "error"]);
    if is_camera(input) {
        command.args(["-f", "v4l2"]);
        if let Some(size) = settings.size {
            command.args(["-video_size", &size.to_string()]);
        }
        if let Some(rate) = settings.rate {
            command.args(["-framerate", &rate.to_string()]);
        }
    }
    // A name that begins with a dash, or looks like an address, is a file all the same.
    let input = if Path::new(input).exists() && !is_camera(input) { format!("file:{input}") } else { input.to_owned() };
    command.arg("-i").arg(input);
    command.args(["-map", "0:v:0", "-an", "-sn", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-strict", "-1"]);
    command.args(["-f", "yuv4mpegpipe", "pipe:1"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::new(format!(
            "this form of video needs the program `{}`, which is not here: install it (Debian: apt install ffmpeg), or send y4m, \
             PGM or raw grey",
            Path::new(&program).display()
        )),
        _ => Error::new(format!("{}: {error}", Path::new(&program).display())),
    })?;
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Error::new("ffmpeg: no pipe to it"));
    };
    pipe::widen(&output);
    let listener = thread::Builder::new().name("ffmpeg".to_owned()).spawn(|| listen(errors));
    let listener = Some(listener.map_err(Error::from_source)?);
    Ok((Box::new(output), Running { child, listener }))
}

/// Hears the program out, so that it never waits; keeps the end.
fn listen(mut errors: impl Read) -> String {
    let (mut heard, mut part) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = errors.read(&mut part) {
        heard.extend_from_slice(&part[..count]);
        let excess = heard.len().saturating_sub(HEARD);
        heard.drain(..excess);
    }
    String::from_utf8_lossy(&heard).into_owned()
}

impl Running {
    /// Waits for its end.
    ///
    /// # Errors
    /// What it says, if it failed.
    pub(super) fn ended(mut self) -> Result<()> {
        let until = Instant::now() + GRACE;
        let status = loop {
            match self.child.try_wait().map_err(Error::from_source)? {
                Some(status) => break status,
                // It has more to send, which nobody wants.
                None if Instant::now() > until => return Ok(()),
                None => thread::sleep(LOOK),
            }
        };
        let said = self.listener.take().and_then(|listener| listener.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = said.last().map_or_else(String::new, |line| format!(": {line}"));
        Err(Error::new(format!("ffmpeg ended with {status}{said}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It is gone already, or is not needed any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
