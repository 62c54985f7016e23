//! PUSH and PUB: a stream of bytes becomes messages.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bief::kinds::Address;
use bief::{Error, Result};

use super::tags::{self, Tag, TagValue};
use super::wire::{self, Head, Kind, MORE};
use super::{Asked, greeted};

/// Bytes of samples of a message, and how long the first of them wait for the last.
const MESSAGE: usize = 64 << 10;
const WAIT: Duration = Duration::from_millis(20);
/// Messages that wait for a subscriber that is slow; and subscribers.
const WAITING: usize = 256;
const MOST_PEERS: usize = 8;
/// Prefixes that a subscriber may ask for, and bytes of each.
const MOST_PREFIXES: usize = 64;
const LONGEST_PREFIX: u64 = 256;
/// How long the end waits for who still takes something.
const LINGER: Duration = Duration::from_secs(5);

/// Samples that go over ZMQ: what `zmq+push://` and `zmq+pub://` addresses open. `HOST:PORT` connects, `:PORT` and `*:PORT` listen.
///
/// PUSH sends to one taker at a time, waits for the first with what is written or flushed, and is held back by one that is slow. PUB sends to up to eight subscribers,
/// each from when it comes, and leaves messages out for one that is 256 of them behind: they are counted.
///
/// | option | what it is |
/// | --- | --- |
/// | `format=cf32` | what the samples are: messages are whole samples |
/// | `tags=on` | tells where each message is in the stream, and [tags](Self::tag) |
/// | `key=TEXT` | a key before each message, for subscribers |
/// | `reconnect=on` | a taker that goes away is waited for; otherwise that is an error |
///
/// ```
/// use std::io::{Read, Write};
/// use bief_net::{ZmqIn, ZmqOut};
/// let mut out = ZmqOut::open(&"zmq+push://:0".parse()?)?;
/// let taker = format!("zmq+pull://127.0.0.1:{}", out.port());
/// let taken = std::thread::spawn(move || {
///     let mut bytes = Vec::new();
///     ZmqIn::open(&taker.parse()?)?.read_to_end(&mut bytes).map_err(bief::Error::from_source)?;
///     Ok::<_, bief::Error>(bytes)
/// });
/// out.write_all(b"samples").and_then(|()| out.flush()).map_err(bief::Error::from_source)?;
/// drop(out);
/// assert_eq!(taken.join().unwrap()?, b"samples");
/// # Ok::<(), bief::Error>(())
/// ```
pub struct ZmqOut {
    asked: Asked,
    port: u16,
    way: Way,
    /// Samples that wait for their message, and since when.
    waiting: Vec<u8>,
    since: Instant,
    /// The sample that comes next, and tags since the last message.
    next: u64,
    tags: Vec<Tag>,
    /// What is before the samples of a message.
    header: Vec<u8>,
    handle: ZmqHandle,
}

enum Way {
    Push { listener: Option<TcpListener>, taker: Option<TcpStream> },
    Publish(Arc<Publisher>),
}

/// What was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZmqCounts {
    /// Messages, and bytes of samples in them; those of PUB count once, whoever takes them.
    pub messages: u64,
    /// Bytes of samples.
    pub bytes: u64,
    /// Takers that came.
    pub takers: u64,
    /// Messages that PUB left out for takers that were slow.
    pub dropped: u64,
}

/// Tells what an output has sent, while it does and afterwards.
#[derive(Debug, Clone, Default)]
pub struct ZmqHandle(Arc<[AtomicU64; 4]>);

impl ZmqHandle {
    /// What was sent so far.
    pub fn counts(&self) -> ZmqCounts {
        let [messages, bytes, takers, dropped] = [0, 1, 2, 3].map(|at| self.0[at].load(Ordering::Relaxed));
        ZmqCounts { messages, bytes, takers, dropped }
    }

    fn add(&self, at: usize, count: u64) {
        self.0[at].fetch_add(count, Ordering::Relaxed);
    }
}

impl ZmqOut {
    /// Opens an address; one that listens waits for its taker at the first message.
    ///
    /// # Errors
    /// An address that cannot be; nobody there for 5 s; what is no ZMQ socket, or one that does not take.
    pub fn open(address: &Address) -> Result<Self> {
        let asked = Asked::of(address, false)?;
        let listener = if asked.is_listening() { Some(asked.listen()?) } else { None };
        let port = match &listener {
            Some(listener) => listener.local_addr().map_err(Error::from_source)?.port(),
            None => address.port().unwrap_or(0),
        };
        let handle = ZmqHandle::default();
        let way = match asked.kind {
            Kind::Pub => Way::Publish(Publisher::start(&asked, listener, &handle)?),
            _ => {
                let taker = if listener.is_none() { Some(asked.meet(None)?) } else { None };
                handle.add(2, taker.is_some().into());
                Way::Push { listener, taker }
            }
        };
        Ok(Self {
            asked,
            port,
            way,
            waiting: Vec::with_capacity(MESSAGE),
            since: Instant::now(),
            next: 0,
            tags: Vec::new(),
            header: Vec::with_capacity(MESSAGE),
            handle,
        })
    }

    /// The port: of an address with port 0, the one that the system chose.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What tells how much was sent.
    pub fn handle(&self) -> ZmqHandle {
        self.handle.clone()
    }

    /// Puts a tag on the sample that is written next, where the address says `tags=on`.
    pub fn tag(&mut self, key: impl Into<String>, value: TagValue) {
        if self.asked.has_tags {
            let offset = self.next + (self.waiting.len() / self.asked.item) as u64;
            self.tags.push(Tag { offset, key: key.into(), value });
        }
    }

    /// Sends a message: first of what waits, or of these samples straight.
    fn send(&mut self, samples: Option<&[u8]>) -> io::Result<()> {
        let item = self.asked.item;
        let samples = match samples {
            Some(samples) => samples,
            // A part of a sample waits on.
            None => &self.waiting[..self.waiting.len() / item * item],
        };
        if samples.is_empty() {
            return Ok(());
        }
        self.header.clear();
        if let Some(key) = &self.asked.key {
            let (head, count) = Head::bytes(MORE, key.len());
            self.header.extend_from_slice(&head[..count]);
            self.header.extend_from_slice(key.as_bytes());
        }
        if self.asked.has_tags {
            // Its length comes before it.
            let begun = self.header.len();
            tags::write(self.next, &self.tags, &mut self.header);
            let (head, count) = Head::bytes(0, self.header.len() - begun + samples.len());
            self.header.splice(begun..begun, head[..count].iter().copied());
        } else {
            let (head, count) = Head::bytes(0, samples.len());
            self.header.extend_from_slice(&head[..count]);
        }
        let sent = match &mut self.way {
            Way::Publish(publisher) => {
                publisher.publish(&self.header, samples);
                Ok(())
            }
            Way::Push { listener, taker } => {
                push(&self.asked, listener.as_ref(), taker, &self.header, samples, &self.handle)
            }
        };
        let address = &self.asked.address;
        sent.map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
        self.handle.add(0, 1);
        self.handle.add(1, samples.len() as u64);
        self.next += (samples.len() / item) as u64;
        self.tags.clear();
        Ok(())
    }

    fn send_waiting(&mut self) -> io::Result<()> {
        self.send(None)?;
        let whole = self.waiting.len() / self.asked.item * self.asked.item;
        self.waiting.drain(..whole);
        Ok(())
    }
}

/// Sends a message to the taker, or to the next one.
fn push(
    asked: &Asked,
    listener: Option<&TcpListener>,
    taker: &mut Option<TcpStream>,
    header: &[u8],
    samples: &[u8],
    handle: &ZmqHandle,
) -> io::Result<()> {
    loop {
        let stream = match taker {
            Some(stream) => stream,
            None => {
                let stream = asked.meet(listener).map_err(|error| io::Error::other(error.to_string()))?;
                handle.add(2, 1);
                taker.insert(stream)
            }
        };
        match write_both(stream, header, samples) {
            Ok(()) => return Ok(()),
            // Nobody knows how much of it the last one took.
            Err(_) if asked.reconnect => *taker = None,
            Err(error) => return Err(io::Error::new(error.kind(), format!("the taker has gone away ({error})"))),
        }
    }
}

fn write_both(to: &mut impl Write, header: &[u8], samples: &[u8]) -> io::Result<()> {
    let mut parts = [IoSlice::new(header), IoSlice::new(samples)];
    let mut left = &mut parts[..];
    while !left.is_empty() {
        match to.write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => IoSlice::advance_slices(&mut left, bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Write for ZmqOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let item = self.asked.item;
        if self.waiting.is_empty() && bytes.len() >= MESSAGE {
            // Without a copy.
            let whole = MESSAGE / item * item;
            self.send(Some(&bytes[..whole]))?;
            return Ok(whole);
        }
        if self.waiting.is_empty() {
            self.since = Instant::now();
        }
        let some = bytes.len().min(MESSAGE - self.waiting.len());
        self.waiting.extend_from_slice(&bytes[..some]);
        if self.waiting.len() == MESSAGE || self.since.elapsed() > WAIT {
            self.send_waiting()?;
        }
        Ok(some)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_waiting()
    }
}

impl Drop for ZmqOut {
    fn drop(&mut self) {
        // Without a taker that came, nothing was sent, and nobody is waited for now.
        let has_taker = !matches!(&self.way, Way::Push { taker: None, .. });
        if has_taker {
            let _ = self.send_waiting();
        }
        match &mut self.way {
            Way::Push { taker, .. } => drop(taker.take().map(close)),
            Way::Publish(publisher) => publisher.end(),
        }
    }
}

/// Closes a connection once the other end has taken all: what it sends is read, or the system would throw away what it has not.
fn close(mut stream: TcpStream) {
    let until = Instant::now() + LINGER;
    let quiet = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(LINGER)));
    let mut some = [0; 256];
    while quiet.is_ok() && Instant::now() < until && matches!(stream.read(&mut some), Ok(1..)) {}
}

/// One ring of messages for all subscribers.
struct Publisher {
    ring: Mutex<Ring>,
    news: Condvar,
    handle: ZmqHandle,
    key: Option<String>,
}

/// A place of the ring: a message, and where its first frame's body begins and ends, by which subscribers choose.
#[derive(Default)]
struct Place {
    bytes: Vec<u8>,
    first: (usize, usize),
}

struct Ring {
    places: Vec<Place>,
    /// Messages so far.
    written: u64,
    has_ended: bool,
    /// Subscribers that are there.
    peers: usize,
}

impl Publisher {
    fn start(asked: &Asked, listener: Option<TcpListener>, handle: &ZmqHandle) -> Result<Arc<Self>> {
        let places = (0..WAITING).map(|_| Place::default()).collect();
        let publisher = Arc::new(Self {
            ring: Mutex::new(Ring { places, written: 0, has_ended: false, peers: 0 }),
            news: Condvar::new(),
            handle: handle.clone(),
            key: asked.key.clone(),
        });
        match listener {
            None => publisher.serve(asked.meet(None)?).map_err(Error::from_source)?,
            Some(listener) => {
                listener.set_nonblocking(true).map_err(Error::from_source)?;
                let publisher = Arc::clone(&publisher);
                let accept = move || publisher.accept(&listener);
                thread::Builder::new().name("zmq".to_owned()).spawn(accept).map_err(Error::from_source)?;
            }
        }
        Ok(publisher)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets subscribers in until the end.
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while !self.ring().has_ended {
            match listener.accept() {
                Ok((stream, _)) if self.ring().peers < MOST_PEERS => {
                    let publisher = Arc::clone(self);
                    let greet = move || {
                        // Who is no subscriber is sent away.
                        let greeted = stream.set_nonblocking(false).and_then(|()| greeted(Kind::Pub, stream));
                        drop(greeted.and_then(|stream| publisher.serve(stream)));
                    };
                    let _ = thread::Builder::new().name("zmq".to_owned()).spawn(greet);
                }
                Ok(_) => {}
                Err(_) => thread::sleep(WAIT),
            }
        }
    }

    /// Starts the two threads of a subscriber: one hears what it wants, one sends.
    fn serve(self: &Arc<Self>, stream: TcpStream) -> io::Result<()> {
        let wanted = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let (hears, theirs) = (stream.try_clone()?, Arc::clone(&wanted));
        let hear = move || drop(hear(hears, &theirs));
        let from = {
            let mut ring = self.ring();
            ring.peers += 1;
            ring.written
        };
        self.handle.add(2, 1);
        let publisher = Arc::clone(self);
        let send = move || {
            publisher.send(&stream, &wanted, from);
            publisher.ring().peers -= 1;
            publisher.news.notify_all();
            close(stream);
        };
        thread::Builder::new().name("zmq".to_owned()).spawn(hear)?;
        thread::Builder::new().name("zmq".to_owned()).spawn(send).map(drop)
    }

    /// Sends a subscriber what it wants, until the end or until it is gone.
    fn send(&self, mut to: &TcpStream, wanted: &Mutex<Vec<Vec<u8>>>, mut next: u64) {
        let mut message = Vec::new();
        loop {
            {
                let mut ring = self.ring();
                while ring.written == next {
                    if ring.has_ended {
                        return;
                    }
                    ring = self.news.wait(ring).unwrap_or_else(PoisonError::into_inner);
                }
                let oldest = ring.written.saturating_sub(WAITING as u64);
                if next < oldest {
                    self.handle.add(3, oldest - next);
                    next = oldest;
                }
                let Place { bytes, first: (begin, end) } = &ring.places[(next % WAITING as u64) as usize];
                next += 1;
                let wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
                if !wanted.iter().any(|prefix| bytes[*begin..*end].starts_with(prefix)) {
                    continue;
                }
                message.clear();
                message.extend_from_slice(bytes);
            }
            if to.write_all(&message).is_err() {
                return;
            }
        }
    }

    fn publish(&self, header: &[u8], samples: &[u8]) {
        let mut ring = self.ring();
        let place = (ring.written % WAITING as u64) as usize;
        let Place { bytes, first } = &mut ring.places[place];
        bytes.clear();
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(samples);
        // The head of a key is short.
        let head = if bytes[0] & 2 == 0 { 2 } else { 9 };
        *first = (head, self.key.as_ref().map_or(bytes.len(), |key| head + key.len()));
        ring.written += 1;
        drop(ring);
        self.news.notify_all();
    }

    /// Ends, once subscribers have taken what waits for them, or are too slow for that.
    fn end(&self) {
        let mut ring = self.ring();
        ring.has_ended = true;
        self.news.notify_all();
        let until = Instant::now() + LINGER;
        while ring.peers > 0 {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return };
            ring = self.news.wait_timeout(ring, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Hears which messages a subscriber wants.
fn hear(mut from: TcpStream, wanted: &Mutex<Vec<Vec<u8>>>) -> io::Result<()> {
    while let Some(head) = Head::read(&mut from)? {
        if head.is_command {
            wire::command(&mut from, head)?;
            continue;
        }
        if head.length == 0 || head.length > LONGEST_PREFIX {
            return Err(wire::wrong("no subscription"));
        }
        let mut body = vec![0; head.length as usize];
        from.read_exact(&mut body)?;
        let mut wanted = wanted.lock().unwrap_or_else(PoisonError::into_inner);
        match body[0] {
            1 if wanted.len() < MOST_PREFIXES => wanted.push(body.split_off(1)),
            0 => {
                if let Some(at) = wanted.iter().position(|prefix| prefix[..] == body[1..]) {
                    wanted.swap_remove(at);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

impl fmt::Debug for ZmqOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.asked.address.fmt(f)
    }
}
