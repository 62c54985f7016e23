//! A stream for players over HTTP: one ring for all of them, in which each reads at a place of its own.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::PACKET;

/// Bytes that a player may be behind: a whole number of packets.
const RING: usize = PACKET * 22_000;
/// Bytes that are sent to a player at a time.
const AT_ONCE: usize = PACKET * 340;
/// Players at a time, bytes of what they ask, and how long they may take to ask, and to take anything.
const PLAYERS: usize = 8;
const HEAD: usize = 8192;
const ASK: Duration = Duration::from_secs(5);
const TAKE: Duration = Duration::from_secs(30);
/// How long players get for the rest.
const REST: Duration = Duration::from_secs(2);

/// The last packets.
pub(super) struct Ring {
    state: Mutex<State>,
    come: Condvar,
    players: AtomicUsize,
    listeners: AtomicU64,
    skipped: AtomicU64,
}

struct State {
    bytes: Box<[u8]>,
    /// Bytes since the beginning.
    written: u64,
    ended: bool,
}

impl Ring {
    fn new() -> Self {
        let state = State { bytes: vec![0; RING].into(), written: 0, ended: false };
        Self {
            state: Mutex::new(state),
            come: Condvar::new(),
            players: AtomicUsize::new(0),
            listeners: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
        }
    }

    /// Players that came, and packets that were left out for them.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.listeners.load(Ordering::Relaxed), self.skipped.load(Ordering::Relaxed))
    }

    /// Adds whole packets, in the place of the oldest.
    pub(super) fn push(&self, packets: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for packet in packets.chunks_exact(PACKET) {
            let at = (state.written % RING as u64) as usize;
            state.bytes[at..at + PACKET].copy_from_slice(packet);
            state.written += PACKET as u64;
        }
        drop(state);
        self.come.notify_all();
    }

    fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.come.notify_all();
    }

    /// Where the stream is.
    fn place(&self) -> u64 {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// Copies what comes after a place, and moves it on; 0 bytes at the end.
    fn read(&self, place: &mut u64, buffer: &mut [u8]) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.come.wait_while(state, |state| state.written == *place && !state.ended);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        if state.written - *place > RING as u64 {
            // Half of the ring is left to it: a few long gaps, not many short ones.
            let next = state.written - (RING / PACKET / 2 * PACKET) as u64;
            self.skipped.fetch_add((next - *place) / PACKET as u64, Ordering::Relaxed);
            *place = next;
        }
        let at = (*place % RING as u64) as usize;
        let some = ((state.written - *place) as usize).min(buffer.len()).min(RING - at);
        buffer[..some].copy_from_slice(&state.bytes[at..at + some]);
        *place += some as u64;
        some
    }
}

/// Answers players.
pub(super) struct Server {
    ring: Arc<Ring>,
    local: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// What may be asked.
struct Served {
    path: String,
    /// The name that the address gave, which clients may use.
    host: Option<String>,
}

impl Server {
    pub(super) fn open(at: SocketAddr, host: Option<String>, path: String) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        let local = listener.local_addr()?;
        let ring = Arc::new(Ring::new());
        let (served, answering) = (Arc::new(Served { path, host }), Arc::clone(&ring));
        let thread =
            thread::Builder::new().name("http".to_owned()).spawn(move || accept(&listener, &answering, &served))?;
        Ok(Self { ring, local, thread: Some(thread) })
    }

    pub(super) fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    pub(super) fn local(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ring.end();
        // The thread waits for a client: this is the last one.
        let mut own = self.local;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        let is_woken = TcpStream::connect_timeout(&own, Duration::from_secs(1)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_woken) {
            let _ = thread.join();
        }
        let until = Instant::now() + REST;
        while self.ring.players.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn accept(listener: &TcpListener, ring: &Arc<Ring>, served: &Arc<Served>) {
    for client in listener.incoming() {
        if ring.state.lock().unwrap_or_else(PoisonError::into_inner).ended {
            return;
        }
        let Ok(client) = client else {
            // Such as too many files that are open: others may close some.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let player = Player::new(Arc::clone(ring));
        if player.is_too_many {
            let _ = client.set_write_timeout(Some(Duration::from_millis(100)));
            let _ = refuse(&client, "503 Service Unavailable", "as many listen as may: try again later\n");
            continue;
        }
        let served = Arc::clone(served);
        // A thread that is refused leaves the client without an answer.
        let _ = thread::Builder::new().name("player".to_owned()).spawn(move || answer(client, &player.ring, &served));
    }
}

/// One client, counted as long as it is there.
struct Player {
    ring: Arc<Ring>,
    is_too_many: bool,
}

impl Player {
    fn new(ring: Arc<Ring>) -> Self {
        let is_too_many = ring.players.fetch_add(1, Ordering::AcqRel) >= PLAYERS;
        Self { ring, is_too_many }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.ring.players.fetch_sub(1, Ordering::AcqRel);
    }
}

fn refuse(mut client: &TcpStream, status: &str, reason: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\
         X-Content-Type-Options: nosniff\r\n\r\n{reason}",
        reason.len()
    );
    client.write_all(head.as_bytes())
}

/// Answers one client; an error of its connection is its end.
fn answer(mut client: TcpStream, ring: &Ring, served: &Served) -> io::Result<()> {
    client.set_write_timeout(Some(TAKE))?;
    // Packets go at their time, however few they are.
    client.set_nodelay(true)?;
    let mut head = [0; HEAD];
    let head = match read_head(&mut client, &mut head)? {
        Some(bytes) => &head[..bytes],
        None => return refuse(&client, "431 Request Header Fields Too Large", "more than 8 kB were asked\n"),
    };
    let is_head = match asked(head, served) {
        Ok(is_head) => is_head,
        Err((status, reason)) => return refuse(&client, status, reason),
    };
    client.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nCache-Control: no-store\r\nConnection: close\r\n\
          X-Content-Type-Options: nosniff\r\n\r\n",
    )?;
    if is_head {
        return Ok(());
    }
    ring.listeners.fetch_add(1, Ordering::Relaxed);
    let (mut place, mut buffer) = (ring.place(), vec![0; AT_ONCE]);
    loop {
        match ring.read(&mut place, &mut buffer) {
            0 => return Ok(()),
            bytes => client.write_all(&buffer[..bytes])?,
        }
    }
}

/// Reads up to the empty line; `None` where that is too far away.
fn read_head(client: &mut TcpStream, head: &mut [u8; HEAD]) -> io::Result<Option<usize>> {
    let until = Instant::now() + ASK;
    let mut read = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut head[read..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => read += bytes,
        }
        if head[..read].windows(4).any(|end| end == b"\r\n\r\n") {
            return Ok(Some(read));
        }
        if read == HEAD {
            return Ok(None);
        }
    }
}

/// Whether the stream, or only its head, may be given; else why not.
fn asked(head: &[u8], served: &Served) -> Result<bool, (&'static str, &'static str)> {
    let bad = |reason| ("400 Bad Request", reason);
    let head = std::str::from_utf8(head).map_err(|_| bad("that is no text\n"))?;
    let (head, _) = head.split_once("\r\n\r\n").unwrap_or((head, ""));
    let mut lines = head.split("\r\n");
    let parts: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] = parts[..] else {
        return Err(bad("that is no request of HTTP 1\n"));
    };
    let mut hosts = Vec::new();
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { return Err(bad("a header has no colon\n")) };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("a header has no name\n"));
        }
        if name.eq_ignore_ascii_case("host") {
            hosts.push(value.trim());
        }
    }
    match hosts[..] {
        [] if version == "HTTP/1.0" => {}
        [host] if is_known(host, served) => {}
        _ => return Err(("421 Misdirected Request", "one Host that is an IP address, localhost or the name given\n")),
    }
    let is_head = match method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(("405 Method Not Allowed", "only GET and HEAD\n")),
    };
    if target.split('?').next() != Some(&served.path) {
        return Err(("404 Not Found", "nothing is there\n"));
    }
    Ok(is_head)
}

/// Whether a page of another site cannot have that name point here.
fn is_known(host: &str, served: &Served) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => name,
        _ => host,
    };
    let plain = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    plain.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || served.host.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_wrongly_is_refused() {
        let served = Served { path: "/ts".to_owned(), host: Some("tv.lan".to_owned()) };
        let status = |text: &str| asked(text.as_bytes(), &served).map_err(|(status, _)| &status[..3]);
        for (text, expected) in [
            ("GET /ts HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", Ok(false)),
            ("GET /ts?x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", Ok(false)),
            ("HEAD /ts HTTP/1.1\r\nhost: LOCALHOST\r\n\r\n", Ok(true)),
            ("GET /ts HTTP/1.1\r\nHost: tv.lan:1\r\n\r\n", Ok(false)),
            ("GET /ts HTTP/1.0\r\n\r\n", Ok(false)),
            ("GET /ts HTTP/1.1\r\n\r\n", Err("421")),
            ("GET /ts HTTP/1.1\r\nHost: evil.example\r\n\r\n", Err("421")),
            ("GET /ts HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n", Err("421")),
            ("GET /ts HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", Err("421")),
            ("GET http://127.0.0.1/ts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Err("404")),
            ("GET /tsx HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Err("404")),
            ("GET /../ts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Err("404")),
            ("POST /ts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Err("405")),
            ("GET /ts HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n", Err("400")),
            ("GET  /ts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", Err("400")),
            ("GET /ts HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n", Err("400")),
            ("GET /ts HTTP/1.1\r\n: x\r\nHost: 127.0.0.1\r\n\r\n", Err("400")),
            ("\r\n\r\n", Err("400")),
        ] {
            assert_eq!(status(text), expected, "{text:?}");
        }
        assert!(asked(b"GET /\xFF HTTP/1.1\r\n\r\n", &served).is_err());
    }

    #[test]
    fn a_slow_player_loses_packets_and_whole_ones() {
        let ring = Ring::new();
        let packet = |number: u32| {
            let mut packet = [0; PACKET];
            packet[..4].copy_from_slice(&number.to_be_bytes());
            packet
        };
        let count = (RING / PACKET) as u32 + 5;
        let mut place = ring.place();
        (0..count).for_each(|number| ring.push(&packet(number)));
        let mut buffer = vec![0; AT_ONCE];
        let bytes = ring.read(&mut place, &mut buffer);
        let (_, skipped) = ring.counts();
        assert_eq!(u32::from_be_bytes(buffer[..4].try_into().unwrap()), skipped as u32);
        assert!(bytes.is_multiple_of(PACKET) && skipped == (RING / PACKET / 2) as u64 + 5);
        ring.end();
        let mut total = bytes;
        loop {
            match ring.read(&mut place, &mut buffer) {
                0 => break,
                bytes => total += bytes,
            }
        }
        assert_eq!((total / PACKET) as u64 + skipped, u64::from(count));
    }
}
