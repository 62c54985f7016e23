//! Connections: a thread for each of a few, none of which lasts but those that listen to events.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::reply::{Refusal, Reply};
use super::request::{MOST_BYTES, Method, Request, Site, Target, judge};

/// Clients that listen to events, and clients in all, at a time.
const LISTENERS: usize = 8;
const CLIENTS: usize = 16;
/// How long a request may take to come, and an answer or an event to be taken.
const ASK: Duration = Duration::from_secs(5);
const TAKE: Duration = Duration::from_secs(5);
/// From one event to the next.
const TICK: Duration = Duration::from_millis(100);
/// What a client still sends when it is answered already is passed over, for so long and so many bytes, so that it reads the answer.
const LINGER: Duration = Duration::from_millis(300);
const PASSED_OVER: usize = 1 << 16;
/// How long those that listen get to hear of the end.
const REST: Duration = Duration::from_secs(2);

/// What answers.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers all but events.
    fn answer(&self, request: Request) -> Reply;
    /// The next event, or the last one.
    fn event(&self, last: bool) -> Arc<str>;
}

/// Answers clients until it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    local: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    site: Site,
    service: Box<dyn Service>,
    clients: AtomicUsize,
    listeners: AtomicUsize,
    ended: AtomicBool,
    /// Those who listen wait here, and are woken at the end.
    wait: (Mutex<()>, Condvar),
}

impl Server {
    /// # Errors
    /// A thread that the system refuses.
    pub(crate) fn start(listener: TcpListener, site: Site, service: impl Service) -> io::Result<Self> {
        let local = listener.local_addr()?;
        let shared = Arc::new(Shared {
            site,
            service: Box::new(service),
            clients: AtomicUsize::new(0),
            listeners: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            wait: Default::default(),
        });
        let accepting = Arc::clone(&shared);
        let thread = thread::Builder::new().name("page".to_owned()).spawn(move || accept(&listener, &accepting))?;
        Ok(Self { shared, local, thread: Some(thread) })
    }
}

/// Those who listen hear of the end; nobody is waited for for long.
impl Drop for Server {
    fn drop(&mut self) {
        {
            let _waiting = self.shared.wait.0.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.ended.store(true, Ordering::Release);
        }
        self.shared.wait.1.notify_all();
        // The thread waits for a client: this is the last one.
        let mut own = self.local;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { IpAddr::V6(Ipv6Addr::LOCALHOST) });
        }
        let is_woken = TcpStream::connect_timeout(&own, Duration::from_secs(1)).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_woken) {
            let _ = thread.join();
        }
        let until = Instant::now() + REST;
        while self.shared.listeners.load(Ordering::Acquire) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.has_ended() {
            return;
        }
        let Ok(client) = client else {
            // Such as too many files that are open: others may close some.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let place = Place::take(shared, |shared| &shared.clients, CLIENTS);
        let Some(place) = place else {
            let _ = client.set_nonblocking(true);
            let reply = Reply::from(Refusal::new(503, "too many ask at once: try again later"));
            let _ = (&client).write(reply.head(Some(reply.body.len())).as_bytes());
            let _ = (&client).write(&reply.body);
            continue;
        };
        // A thread that is refused leaves the client without an answer.
        let _ = thread::Builder::new().name("page client".to_owned()).spawn(move || {
            // An error of its connection is its end.
            let _ = answer(&client, &place.shared);
        });
    }
}

impl Shared {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// One of so many places, given back when it goes.
struct Place {
    shared: Arc<Shared>,
    count: fn(&Shared) -> &AtomicUsize,
}

impl Place {
    fn take(shared: &Arc<Shared>, count: fn(&Shared) -> &AtomicUsize, most: usize) -> Option<Self> {
        let place = Self { shared: Arc::clone(shared), count };
        (count(shared).fetch_add(1, Ordering::AcqRel) < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        (self.count)(&self.shared).fetch_sub(1, Ordering::AcqRel);
    }
}

fn answer(client: &TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut space = [0; MOST_BYTES];
    let asked = match read(client, &mut space) {
        Ok(bytes) => judge(bytes, &shared.site),
        Err(Some(refusal)) => Err(refusal),
        Err(None) => return Ok(()),
    };
    let reply = match asked {
        Ok(request @ Request { target: Target::Events, .. }) => {
            match Place::take(shared, |shared| &shared.listeners, LISTENERS) {
                Some(_place) => return listen(client, shared, request.method == Method::Head),
                None => Refusal::new(503, "as many listen as may: close another window, or try again later").into(),
            }
        }
        Ok(request) => {
            let reply = shared.service.answer(request);
            let head = reply.head(Some(reply.body.len()));
            return match request.method {
                Method::Head => close(client, &[head.as_bytes()]),
                _ => close(client, &[head.as_bytes(), &reply.body]),
            };
        }
        Err(refusal) => Reply::from(refusal),
    };
    close(client, &[reply.head(Some(reply.body.len())).as_bytes(), &reply.body])
}

/// Sends the rest, and waits a little for what the client still sends: else it may lose the answer.
fn close(mut client: &TcpStream, parts: &[&[u8]]) -> io::Result<()> {
    send(client, &parts.concat())?;
    client.shutdown(Shutdown::Write)?;
    let (until, mut passed_over, mut space) = (Instant::now() + LINGER, 0, [0; 4096]);
    while passed_over < PASSED_OVER {
        match wait_to_read(client, until).and_then(|()| client.read(&mut space)) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => passed_over += bytes,
        }
    }
    Ok(())
}

/// Sends all of it within [`TAKE`].
fn send(mut client: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + TAKE;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        client.set_write_timeout(Some(left))?;
        match client.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait_to_read(client: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    client.set_read_timeout(Some(left))
}

/// Reads up to the empty line, and what has come with it. A client that goes away is refused nothing.
fn read<'s>(mut client: &TcpStream, space: &'s mut [u8; MOST_BYTES]) -> Result<&'s [u8], Option<Refusal>> {
    let until = Instant::now() + ASK;
    let mut read = 0;
    loop {
        let late = || Refusal::new(408, "5 seconds were not enough to ask");
        wait_to_read(client, until).map_err(|_| Some(late()))?;
        match client.read(&mut space[read..]) {
            Ok(0) => return Err(None),
            Ok(bytes) => read += bytes,
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Err(Some(late())),
                _ => return Err(None),
            },
        }
        if is_whole(&space[..read]) {
            return Ok(&space[..read]);
        }
        if read == MOST_BYTES {
            return Err(Some(Refusal::too_large()));
        }
    }
}

/// Whether an empty line is there, however it ends: what is no request is refused at once.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|end| end == b"\r\n\r\n") || bytes.windows(2).any(|end| end == b"\n\n")
}

/// Sends an event each tick, until the client goes or the server ends.
fn listen(client: &TcpStream, shared: &Shared, only_head: bool) -> io::Result<()> {
    let head = Reply::new("text/event-stream", []).head(None);
    if only_head {
        return close(client, &[head.as_bytes()]);
    }
    send(client, head.as_bytes())?;
    loop {
        // What is sent after the end tells it.
        let ended = shared.has_ended();
        let name = if ended { "event: end\n" } else { "" };
        send(client, format!("{name}data: {}\n\n", shared.service.event(ended)).as_bytes())?;
        if ended {
            return close(client, &[]);
        }
        let (waiting, end) = &shared.wait;
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let _woken = end.wait_timeout_while(waiting, TICK, |()| !shared.has_ended());
    }
}
