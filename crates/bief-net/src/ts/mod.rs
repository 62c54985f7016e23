//! Transport streams for players: whole packets, at the pace of the stream, to whoever listens.

mod http;
mod pace;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bief::kinds::{Address, AddressOptions, Opener};
use bief::{Error, Result};

use self::http::Server;
pub use self::pace::Pace;
use self::pace::Pacer;
use crate::udp::{Link, Way};

/// Bytes of a packet, and of a datagram: seven packets fit any network.
const PACKET: usize = 188;
pub(crate) const DATAGRAM: usize = 7 * PACKET;
/// Bytes of an RTP header.
const RTP: usize = 12;
/// Datagrams that wait to be sent at most: more of a live stream are lost.
const QUEUE: usize = 4096;
/// How long before they are due packets of a file are taken.
const AHEAD: Duration = Duration::from_millis(200);
/// How long the end waits for packets that are due.
const GRACE: Duration = Duration::from_secs(2);

/// Sends a transport stream to players: over UDP or RTP, or over HTTP to as many as ask for it.
///
/// A thread of its own sends packets when they are due, as [`Pace`] says, so that players neither stutter nor overflow. Datagrams
/// have seven packets, none is cut, the last may have fewer. Nobody need listen, and nobody who listens holds the chain up: what
/// cannot be sent in time is lost and counted. Over HTTP, up to eight players get the stream from where it is when they come; for one
/// that is too slow packets are left out.
///
/// | address | |
/// | --- | --- |
/// | `udp://HOST:PORT`, `rtp://HOST:PORT` | `?ttl=N` (of a multicast group 1 unless told), `?interface=ADDRESS` for a group, `?pace=` |
/// | `http://:PORT/PATH` | on loopback; `*:PORT` for everyone, without a password. `?pace=` |
///
/// ```
/// use std::io::Write;
/// use bief_net::{Pace, TsOut};
/// let player = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// let mut out = TsOut::open(&format!("udp://{}", player.local_addr()?).parse()?, Pace::None)?;
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// out.write_all(&packet.repeat(8))?;
/// out.flush()?;
/// let mut datagram = [0; 2000];
/// assert_eq!((player.recv(&mut datagram)?, player.recv(&mut datagram)?), (7 * 188, 188));
/// assert_eq!(out.handle().counts().sent, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TsOut {
    pacer: Pacer,
    /// The datagram that is being filled, and those that wait to know when they are due.
    filling: Box<Datagram>,
    held: VecDeque<Box<Datagram>>,
    #[expect(clippy::vec_box, reason = "they go through queues as they are")]
    free: Vec<Box<Datagram>>,
    /// Where they come back.
    freed: Receiver<Box<Datagram>>,
    queue: Option<SyncSender<Box<Datagram>>>,
    queued: u64,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    local: Option<SocketAddr>,
}

/// Up to seven packets, behind room for a header.
struct Datagram {
    bytes: [u8; RTP + DATAGRAM],
    len: usize,
    /// The number of its first packet, and of the first with the clock that the pace follows.
    first: u64,
    clock: Option<u64>,
    due: Instant,
}

impl Datagram {
    fn packets(&self) -> u64 {
        (self.len / PACKET) as u64
    }
}

/// What the sending thread tells.
#[derive(Default)]
struct Shared {
    /// Datagrams taken from the queue.
    taken: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
    ended: AtomicBool,
    error: Mutex<Option<String>>,
    server: Option<Arc<http::Ring>>,
}

/// What has become of packets so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TsCounts {
    /// Packets sent, or over HTTP put where players get them.
    pub sent: u64,
    /// Packets that could not be sent: the queue was full, or the network refused them.
    pub lost: u64,
    /// What the network said first.
    pub error: Option<String>,
    /// Players that have asked over HTTP.
    pub listeners: u64,
    /// Packets that were left out for players that were too slow, of all of them.
    pub skipped: u64,
}

/// Tells what has become of packets while [`TsOut`] is elsewhere.
#[derive(Clone)]
pub struct TsHandle(Arc<Shared>);

impl TsHandle {
    /// What has become of packets so far.
    pub fn counts(&self) -> TsCounts {
        let Shared { sent, lost, error, server, .. } = &*self.0;
        let (listeners, skipped) = server.as_ref().map_or((0, 0), |ring| ring.counts());
        TsCounts {
            sent: sent.load(Ordering::Relaxed),
            lost: lost.load(Ordering::Relaxed),
            error: error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            listeners,
            skipped,
        }
    }
}

/// Where the thread sends to.
enum Sink {
    Udp(Link),
    Rtp { link: Link, number: u16, source: u32, begun: Instant },
    Http(Server),
}

impl Sink {
    fn send(&mut self, datagram: &mut Datagram) -> io::Result<()> {
        let end = RTP + datagram.len;
        match self {
            Self::Udp(link) => link.send(&datagram.bytes[RTP..end]),
            Self::Rtp { link, number, source, begun } => {
                // The clock of 90 kHz runs over, as it may.
                let stamp = (datagram.due.saturating_duration_since(*begun).as_nanos() * 9 / 100_000) as u32;
                datagram.bytes[..2].copy_from_slice(&[0x80, 33]);
                datagram.bytes[2..4].copy_from_slice(&number.to_be_bytes());
                datagram.bytes[4..8].copy_from_slice(&stamp.to_be_bytes());
                datagram.bytes[8..RTP].copy_from_slice(&source.to_be_bytes());
                *number = number.wrapping_add(1);
                link.send(&datagram.bytes[..end])
            }
            Self::Http(server) => {
                server.ring().push(&datagram.bytes[RTP..end]);
                Ok(())
            }
        }
    }
}

impl TsOut {
    /// Opens an address of `udp:`, `rtp:` or `http:`; its `?pace=` goes before `pace`.
    ///
    /// # Errors
    /// Another address, an option that is none, a host that is not known, a port that is taken.
    pub fn open(address: &Address, pace: Pace) -> Result<Self> {
        let Asked { way, pace } = asked(address, pace)?;
        let (sink, server) = match way {
            Asking::Datagrams { way, rtp } => {
                let link = way.open(address)?;
                let (number, source) = (fastrand::u16(..), fastrand::u32(..));
                let rtp = rtp.then(Instant::now);
                (
                    match rtp {
                        Some(begun) => Sink::Rtp { link, number, source, begun },
                        None => Sink::Udp(link),
                    },
                    None,
                )
            }
            Asking::Players { at, host, path } => {
                let server = Server::open(at, host, path).map_err(|error| crate::sockets::failed(address, &error))?;
                let ring = Arc::clone(server.ring());
                (Sink::Http(server), Some(ring))
            }
        };
        let local = match &sink {
            Sink::Http(server) => Some(server.local()),
            _ => None,
        };
        let shared = Arc::new(Shared { server, ..Shared::default() });
        let (queue, queued) = sync_channel::<Box<Datagram>>(QUEUE);
        let (back, freed) = sync_channel(QUEUE);
        let told = Arc::clone(&shared);
        let work = move || send_all(sink, &queued, &back, &told);
        let thread = thread::Builder::new().name("ts out".to_owned()).spawn(work).map_err(Error::from_source)?;
        Ok(Self {
            pacer: Pacer::new(pace),
            filling: empty(),
            held: VecDeque::new(),
            free: Vec::new(),
            freed,
            queue: Some(queue),
            queued: 0,
            thread: Some(thread),
            shared,
            local,
        })
    }

    /// What tells how it goes.
    pub fn handle(&self) -> TsHandle {
        TsHandle(Arc::clone(&self.shared))
    }

    /// Where players are listened to: the port that the system chose where 0 was asked for. `None` unless over HTTP.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Puts the datagram with those that wait; a new one is filled.
    fn hold(&mut self) {
        self.free.extend(self.freed.try_iter());
        let mut next = self.free.pop().unwrap_or_else(empty);
        (next.len, next.clock) = (0, None);
        self.held.push_back(std::mem::replace(&mut self.filling, next));
    }

    /// Hands over what waits, as many as have known times.
    fn hand_over(&mut self, known: u64) {
        while self.held.front().is_some_and(|datagram| datagram.first < known) {
            let Some(mut datagram) = self.held.pop_front() else { return };
            // Players set their clocks by it: it comes when it says, and what is sent with it may come a little earlier or later.
            datagram.due = self.pacer.due(datagram.clock.unwrap_or(datagram.first));
            let packets = datagram.packets();
            let Some(queue) = &self.queue else { return };
            if self.pacer.waits() {
                thread::sleep(datagram.due.saturating_duration_since(Instant::now() + AHEAD));
                // It fails when the thread has gone, which then has lost everything.
                if queue.send(datagram).is_ok() {
                    self.queued += 1;
                }
                continue;
            }
            match queue.try_send(datagram) {
                Ok(()) => self.queued += 1,
                Err(TrySendError::Full(datagram) | TrySendError::Disconnected(datagram)) => {
                    self.shared.lost.fetch_add(packets, Ordering::Relaxed);
                    self.free.push(datagram);
                }
            }
        }
    }
}

fn empty() -> Box<Datagram> {
    Box::new(Datagram { bytes: [0; RTP + DATAGRAM], len: 0, first: 0, clock: None, due: Instant::now() })
}

/// Sends each datagram when it is due, until the queue is closed.
fn send_all(mut sink: Sink, queue: &Receiver<Box<Datagram>>, back: &SyncSender<Box<Datagram>>, shared: &Shared) {
    while let Ok(mut datagram) = queue.recv() {
        if !shared.ended.load(Ordering::Relaxed) {
            thread::sleep(datagram.due.saturating_duration_since(Instant::now()));
        }
        let packets = datagram.packets();
        match sink.send(&mut datagram) {
            Ok(()) => shared.sent.fetch_add(packets, Ordering::Relaxed),
            Err(error) => {
                shared.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
                shared.lost.fetch_add(packets, Ordering::Relaxed)
            }
        };
        shared.taken.fetch_add(1, Ordering::Release);
        // It is refused only when nobody fills it again.
        let _ = back.try_send(datagram);
    }
}

impl Write for TsOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let now = Instant::now();
        let mut left = bytes;
        while !left.is_empty() {
            let cut = self.filling.len % PACKET;
            if cut == 0 && left[0] != 0x47 {
                let number = self.pacer.packets();
                return Err(io::Error::other(format!(
                    "packet {number} begins with {:#04x}, not 0x47: only transport streams are sent so",
                    left[0]
                )));
            }
            let some = left.len().min(PACKET - cut);
            let (packet, rest) = left.split_at(some);
            let at = RTP + self.filling.len;
            self.filling.bytes[at..at + some].copy_from_slice(packet);
            self.filling.len += some;
            left = rest;
            if !self.filling.len.is_multiple_of(PACKET) {
                continue;
            }
            let end = RTP + self.filling.len;
            if self.filling.len == PACKET {
                self.filling.first = self.pacer.packets();
            }
            let number = self.pacer.packets();
            let known = self.pacer.packet(&self.filling.bytes[end - PACKET..end], now);
            if self.pacer.clock() == Some(number) {
                self.filling.clock.get_or_insert(number);
            }
            if self.filling.len == DATAGRAM {
                self.hold();
            }
            if let Some(known) = known {
                self.hand_over(known);
            }
        }
        let first = self.held.front().map(|datagram| datagram.first);
        if let Some(known) = self.pacer.end_of_write(now, first) {
            self.hand_over(known);
        }
        Ok(bytes.len())
    }

    /// Sends what waits, and returns when it is sent.
    fn flush(&mut self) -> io::Result<()> {
        self.filling.len -= self.filling.len % PACKET;
        if self.filling.len > 0 {
            self.hold();
        }
        self.pacer.end();
        self.hand_over(u64::MAX);
        let until = Instant::now() + AHEAD + GRACE;
        while self.shared.taken.load(Ordering::Acquire) < self.queued && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        let TsCounts { sent, error, .. } = self.handle().counts();
        match error {
            Some(error) if sent == 0 => Err(io::Error::other(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for TsOut {
    fn drop(&mut self) {
        let _ = self.flush();
        self.shared.ended.store(true, Ordering::Relaxed);
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing more to wait for.
            let _ = thread.join();
        }
    }
}

/// Opens `rtp:` and `http:`, and `udp:` with a pace.
pub(crate) struct TsOpener;

impl Opener for TsOpener {
    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        Ok(Box::new(TsOut::open(address, Pace::Pcr)?))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        asked(address, Pace::Pcr).map(drop)
    }
}

/// What an address asks for.
struct Asked {
    way: Asking,
    pace: Pace,
}

enum Asking {
    Datagrams { way: Way, rtp: bool },
    Players { at: SocketAddr, host: Option<String>, path: String },
}

fn asked(address: &Address, pace: Pace) -> Result<Asked> {
    let mut options = AddressOptions::of(address)?;
    let pace = options.value("pace", "pcr, live or none", |_: &Pace| true)?.unwrap_or(pace);
    let way = match address.scheme() {
        Some(scheme @ ("udp" | "rtp")) => {
            Asking::Datagrams { way: Way::of(address, &mut options)?, rtp: scheme == "rtp" }
        }
        Some("http") => {
            let path = if options.path().is_empty() { "/" } else { options.path() };
            let host = address.host().filter(|host| *host != "*").map(str::to_owned);
            Asking::Players { at: crate::sockets::socket(address, None)?, host, path: path.to_owned() }
        }
        _ => return Err(Error::new(format!("{address}: transport streams go to udp:, rtp: or http:"))),
    };
    options.end(matches!(way, Asking::Players { .. }))?;
    Ok(Asked { way, pace })
}
