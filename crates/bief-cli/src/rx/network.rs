//! Received packets that go to players or programs over a network.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bief::kinds::Address;
use bief_net::{Pace, TsHandle, TsOut, ZmqHandle, ZmqOut};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{address, is_address};
use crate::registry;

/// The output of one stream, open from the start: that a port is taken is told before anything is received.
#[derive(Clone)]
pub(super) struct Network {
    address: Address,
    /// Until a stream takes it.
    writer: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
    handle: Option<Handle>,
}

/// What tells how much was sent.
#[derive(Clone)]
enum Handle {
    /// Of transport streams at their pace.
    Ts(TsHandle),
    Zmq(ZmqHandle),
}

impl Network {
    /// The address that an output names, if it is one; checked, not opened.
    pub(super) fn address(output: &Path) -> Result<Option<Address>, Failure> {
        if !is_address(output) {
            return Ok(None);
        }
        let registry = registry::all();
        let address = address(output, registry.openers())?;
        if address.scheme().is_none() {
            return Ok(None);
        }
        registry.openers().check_writer(&address).map_err(Failure::from_error)?;
        Ok(Some(address))
    }

    pub(super) fn open(address: Address, is_live: bool) -> Result<Self, Failure> {
        let away = |error| Failure::unopened(&address, error);
        let (writer, handle): (Box<dyn Write + Send>, _) = match address.scheme() {
            Some("udp" | "rtp" | "http") => {
                let pace = if is_live { Pace::Live } else { Pace::Pcr };
                let out = TsOut::open(&address, pace).map_err(away)?;
                let handle = Handle::Ts(out.handle());
                (Box::new(out), Some(handle))
            }
            Some(scheme) if scheme.starts_with("zmq+") => {
                let out = ZmqOut::open(&address).map_err(away)?;
                let handle = Handle::Zmq(out.handle());
                (Box::new(out), Some(handle))
            }
            _ => (registry::all().openers().writer(&address).map_err(away)?, None),
        };
        Ok(Self { address, writer: Arc::new(Mutex::new(Some(writer))), handle })
    }

    /// Gives the writer to a stream, once.
    pub(super) fn take(&self) -> Option<Box<dyn Write + Send>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Refuses what players do not understand.
    pub(super) fn check(&self, id: bief_dsp::dvbs2::StreamId) -> io::Result<()> {
        if matches!(self.handle, Some(Handle::Ts(_))) && id.kind != bief_dsp::dvbs2::StreamType::Transport {
            return Err(io::Error::other(format!(
                "the carrier has a {id}, and {} takes transport streams: name a file with -o",
                self.address
            )));
        }
        Ok(())
    }

    /// What was sent, in words and for `--json`.
    pub(super) fn told(&self) -> Option<(String, Value)> {
        let handle = match self.handle.as_ref()? {
            Handle::Ts(handle) => handle,
            Handle::Zmq(handle) => {
                let counts = handle.counts();
                let (messages, bytes, takers, dropped) = (counts.messages, counts.bytes, counts.takers, counts.dropped);
                let text =
                    format!("{messages} messages, {bytes} bytes, {takers} takers, {dropped} left out for slow ones");
                return Some((
                    text,
                    json!({ "messages": messages, "bytes": bytes, "takers": takers, "dropped": dropped }),
                ));
            }
        };
        let counts = handle.counts();
        let mut text = format!("{} packets", counts.sent);
        if counts.lost > 0 {
            text += &format!(", {} lost", counts.lost);
        }
        if let Some(error) = &counts.error {
            text += &format!(" ({error})");
        }
        let is_http = self.address.scheme() == Some("http");
        if is_http {
            text += &format!(", {} players, {} packets left out for slow ones", counts.listeners, counts.skipped);
        }
        let value = json!({
            "packets": counts.sent, "lost": counts.lost, "error": counts.error,
            "players": is_http.then_some(counts.listeners), "skipped": is_http.then_some(counts.skipped),
        });
        Some((text, value))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}
