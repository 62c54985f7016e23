//! All that is asked of zenoh.

use std::fmt::Display;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use bief::{Error, Result};
use bief_link::Message;
use bief_pool::{Buffer, Buffers, Payload};
use zenoh::liveliness::LivelinessToken;
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;
use zenoh::{Config, Session, Wait};

use crate::address::Address;
use crate::keys::Keys;

/// Whoever is silent for so long is gone, in milliseconds.
const LEASE_MS: u32 = 1000;
/// Keep-alive messages in that time.
const KEEP_ALIVE: u32 = 4;
/// So many may have connected and not said yet who they are, each for so long, in milliseconds: others are turned away meanwhile. A process
/// may have 1024 files open, mostly.
const MOST_STRANGERS: u32 = 500;
const SILENT_MS: u32 = 3000;
/// A link that takes nothing for so long is closed, in microseconds.
const WAIT_US: u32 = 2_000_000;
/// What is read of a link lies in so many bytes at most; beyond that each piece is allocated anew.
const RX_BYTES: usize = 1 << 20;
/// Messages lie in pieces of this many bytes until they go out, or of fewer where segments of the link make that even (65 160 by Ethernet,
/// 49 152 on the link of a machine to itself); up to so many pieces of each link: whoever sends more waits.
const PIECE: usize = u16::MAX as usize;
/// The least of them.
const LEAST_PIECE: usize = 48 << 10;
const PIECES: usize = 16;
/// Of a piece, what says of which message it is, and more.
const OF_A_PIECE: usize = 512;
/// How long a router may take to answer when a session begins, in seconds; one that goes later is awaited without end.
const ROUTER_S: u32 = 5;
/// Questions that wait for an answer.
const MOST_QUERIES: usize = 16;
/// The longest message that is put together again, in bytes, and the longest frame: the head of a message is shorter than a MiB.
const MOST_BYTES: usize = 256 << 20;
pub(crate) const MOST_FRAME: usize = MOST_BYTES - (1 << 20);

/// What the environment of a process must say before it begins, where links are TLS: zenoh 1.10 reads and writes a connection of rustls on
/// two threads at once, which that does not allow: links break with "handshake not complete". With one thread for all they do not. Links
/// without keys work either way, but threads that wake each other cost a tenth more for each frame.
///
/// An environment cannot be changed safely in a process that has threads: whoever starts it sets the variable.
pub const RUNTIME: (&str, &str) = (
    "ZENOH_RUNTIME",
    "(app: (handover: net), acc: (handover: net), rx: (handover: net), tx: (handover: net), net: (worker_threads: 1))",
);

/// How the machines of a pool reach each other.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Workers, by where they listen.
    pub workers: Vec<Address>,
    /// A zenoh router between them.
    pub router: Option<Address>,
    /// Whether whoever is there is found, by multicast in the local network.
    pub find: bool,
    /// The keys of the pool; without them all is plain TCP.
    pub keys: Option<Keys>,
}

impl Reach {
    /// Whether what is sent stays on this machine, or both sides of each link show keys.
    pub fn is_safe(&self) -> bool {
        let is_here = self.workers.iter().chain(&self.router).all(Address::is_loopback) && !self.find;
        self.keys.is_some() || is_here
    }
}

/// How many frames of these bytes at most never wait for room on a link where nothing else goes. One piece may hold other messages.
pub(crate) fn at_once(longest: usize) -> usize {
    (PIECES - 1) / (longest / (LEAST_PIECE - OF_A_PIECE) + 1)
}

/// A session with the network.
pub(crate) struct Network(Session);

/// Something that others see as long as this process is there, and reached.
pub(crate) struct Token(#[expect(dead_code, reason = "others see it as long as it is kept")] LivelinessToken);

/// Where messages to one key go in.
pub(crate) struct Mouth(zenoh::pubsub::Publisher<'static>);

impl Network {
    /// Joins the network; who is not there yet is tried again and again, but for a router.
    ///
    /// # Errors
    /// An address where nothing can listen; a router that is not there; keys that are none; keys without [`RUNTIME`].
    pub(crate) fn open(reach: &Reach, listen: Option<&Address>) -> Result<Self> {
        let (name, value) = RUNTIME;
        if reach.keys.is_some() && std::env::var(name).ok().as_deref() != Some(value) {
            return Err(Error::new(format!("links with keys need a variable in the environment: {name}='{value}'")));
        }
        // What the engine does is told where RUST_LOG asks for it.
        zenoh::try_init_log_from_env();
        let session = config(reach, listen).and_then(|config| zenoh::open(config).wait());
        session.map(Self).map_err(|error| match (&reach.router, listen) {
            (Some(router), _) => {
                failed(&format!("{router}: no router answered in {ROUTER_S} s, or it has other keys"), error)
            }
            (None, Some(address)) => failed(&format!("{address}: cannot listen"), error),
            (None, None) => failed("cannot join the workers", error),
        })
    }

    /// What tells this session from others.
    pub(crate) fn id(&self) -> String {
        self.0.zid().to_string()
    }

    /// Lets others see a key.
    pub(crate) fn announce(&self, key: &str) -> Result<Token> {
        self.0.liveliness().declare_token(key.to_owned()).wait().map(Token).map_err(|error| failed(key, error))
    }

    /// Calls `seen` with each key of a pattern that others announce, and whether it has come or gone.
    pub(crate) fn watch(&self, keys: &str, seen: impl Fn(&str, bool) + Send + Sync + 'static) -> Result<()> {
        let subscriber = self.0.liveliness().declare_subscriber(keys.to_owned()).history(true);
        let told =
            subscriber.callback(move |sample| seen(sample.key_expr().as_str(), sample.kind() == SampleKind::Put));
        told.background().wait().map_err(|error| failed(keys, error))
    }

    /// The keys of a pattern that others announce now.
    pub(crate) fn announced(&self, keys: &str, patience: Duration) -> Result<Vec<String>> {
        let replies = self.0.liveliness().get(keys.to_owned()).timeout(patience).wait();
        let replies = replies.map_err(|error| failed(keys, error))?;
        let key = |reply: zenoh::query::Reply| Some(reply.into_result().ok()?.key_expr().as_str().to_owned());
        Ok(replies.into_iter().filter_map(key).collect())
    }

    /// Calls `heard` with each message to a key, on a thread of the network: it must not send anything that may wait. Messages lie in these
    /// buffers.
    pub(crate) fn hear(
        &self,
        key: &str,
        buffers: Buffers,
        heard: impl Fn(Buffer) + Send + Sync + 'static,
    ) -> Result<()> {
        let subscriber = self.0.declare_subscriber(key.to_owned());
        let told = subscriber.callback(move |sample| {
            let mut message = buffers.take();
            sample.payload().slices().for_each(|part| message.extend_from_slice(part));
            heard(message);
        });
        told.background().wait().map_err(|error| failed(key, error))
    }

    /// Sends messages to a key. Nothing is dropped for want of room: whoever sends waits, until the link is taken for dead.
    pub(crate) fn mouth(&self, key: &str) -> Result<Mouth> {
        let publisher = self.0.declare_publisher(key.to_owned()).congestion_control(CongestionControl::Block);
        publisher.wait().map(Mouth).map_err(|error| failed(key, error))
    }

    /// Asks whoever answers for keys of a pattern.
    pub(crate) fn ask(&self, keys: &str, patience: Duration) -> Result<Vec<Vec<u8>>> {
        let replies = self.0.get(keys.to_owned()).timeout(patience).wait().map_err(|error| failed(keys, error))?;
        let payload = |reply: zenoh::query::Reply| Some(reply.into_result().ok()?.payload().to_bytes().into_owned());
        Ok(replies.into_iter().filter_map(payload).collect())
    }

    /// Answers whoever asks for a key, on a thread of its own: one of the network's must not wait for the network.
    pub(crate) fn answer(&self, key: &str, answer: impl Fn() -> Vec<u8> + Send + 'static) -> Result<()> {
        let own = key.to_owned();
        let (to, queries) = sync_channel::<zenoh::query::Query>(MOST_QUERIES);
        let reply = move || {
            for query in queries {
                // Whoever asked may have gone.
                drop(query.reply(own.clone(), answer()).wait());
            }
        };
        std::thread::Builder::new().name("answers".into()).spawn(reply)?;
        let queryable = self.0.declare_queryable(key.to_owned()).callback(move |query| {
            // Those that are too many get no answer.
            let _ = to.try_send(query);
        });
        queryable.background().wait().map_err(|error| failed(key, error))
    }

    /// Leaves the network, in order.
    pub(crate) fn close(&self) {
        // What cannot be closed is gone with the process.
        drop(self.0.close().wait());
    }
}

impl Mouth {
    /// Sends a message; one that goes nowhere is lost, as with a link that breaks.
    pub(crate) fn say(&self, head: Vec<u8>, payload: Option<Payload>) {
        let bytes = match payload {
            None => head.into(),
            Some(payload) => {
                let mut writer = zenoh::bytes::ZBytes::writer();
                writer.append(head.into());
                writer.append(bytes::Bytes::from_owner(payload).into());
                writer.finish()
            }
        };
        drop(self.0.put(bytes).wait());
    }

    /// Sends a message that is short.
    pub(crate) fn tell(&self, message: &Message<'_>) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.say(bytes, None);
    }
}

fn config(reach: &Reach, listen: Option<&Address>) -> zenoh::Result<Config> {
    let mut config = Config::default();
    let protocol = if reach.keys.is_some() { "tls" } else { "tcp" };
    let endpoints = |addresses: &mut dyn Iterator<Item = &Address>| {
        let quoted: Vec<String> = addresses.map(|address| text(format!("{protocol}/{address}"))).collect();
        format!("[{}]", quoted.join(","))
    };
    let mut set = |key: &str, value: String| config.insert_json5(key, &value);
    set("mode", text(if reach.router.is_some() { "client" } else { "peer" }))?;
    set("connect/endpoints", endpoints(&mut reach.workers.iter().chain(&reach.router)))?;
    let patience = reach.router.as_ref().map_or(-1, |_| i64::from(1000 * ROUTER_S));
    set("connect/timeout_ms", patience.to_string())?;
    set("connect/exit_on_failure", "false".to_owned())?;
    set("connect/retry", "{period_init_ms: 250, period_max_ms: 1000, period_increase_factor: 2}".to_owned())?;
    set("listen/endpoints", endpoints(&mut listen.into_iter()))?;
    set("scouting/multicast/enabled", reach.find.to_string())?;
    set("scouting/gossip/enabled", "false".to_owned())?;
    set("transport/unicast/accept_pending", MOST_STRANGERS.to_string())?;
    set("transport/unicast/accept_timeout", SILENT_MS.to_string())?;
    set("transport/link/tx/lease", LEASE_MS.to_string())?;
    set("transport/link/tx/keep_alive", KEEP_ALIVE.to_string())?;
    set("transport/link/tx/queue/congestion_control/block/wait_before_close", WAIT_US.to_string())?;
    set("transport/link/tx/queue/size/data", PIECES.to_string())?;
    set("transport/link/tx/batch_size", PIECE.to_string())?;
    set("transport/link/rx/max_message_size", MOST_BYTES.to_string())?;
    set("transport/link/rx/buffer_size", RX_BYTES.to_string())?;
    if let Some(keys) = &reach.keys {
        let [authority, certificate, key] = [0, 1, 2].map(|index| text(keys.file(index)));
        set("transport/link/tls/root_ca_certificate", authority)?;
        for side in ["listen", "connect"] {
            set(&format!("transport/link/tls/{side}_certificate"), certificate.clone())?;
            set(&format!("transport/link/tls/{side}_private_key"), key.clone())?;
        }
        set("transport/link/tls/enable_mtls", "true".to_owned())?;
        set("transport/link/tls/verify_name_on_connect", "true".to_owned())?;
        set("transport/link/tls/close_link_on_expiration", "true".to_owned())?;
    }
    Ok(config)
}

/// A text in JSON.
fn text(words: impl Into<String>) -> String {
    serde_json::Value::from(words.into()).to_string()
}

fn failed(what: &str, error: impl Display) -> Error {
    Error::new(format!("{what}: {}", without_sources(&error.to_string())))
}

/// An error of zenoh without the places in its sources: ` at /…/unicast.rs:338.`
fn without_sources(error: &str) -> String {
    let (mut rest, mut plain) = (error, String::new());
    while let Some((before, place)) = rest.split_once(" at /") {
        plain.push_str(before);
        let Some((_, behind)) = place.split_once(".rs:") else { return plain };
        rest = behind.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_no_sources() {
        let error = "cannot bind: [in use (os error 98) at /a/b-1.10.2/src/tcp.rs:61.] at /c/unicast.rs:338.";
        assert_eq!(without_sources(error), "cannot bind: [in use (os error 98)]");
        assert_eq!(without_sources("plain"), "plain");
    }
}
