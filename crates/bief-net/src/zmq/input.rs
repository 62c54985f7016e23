//! PULL and SUB: messages become a stream of bytes.

use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use bief::Result;
use bief::kinds::{Address, ByteSource, Gaps};

use super::tags::{self, MAGIC, Tag};
use super::wire::{self, Head, Kind, wrong};
use super::{Asked, failed};

/// Bytes that are read ahead: heads of frames, but hardly samples.
const AHEAD: usize = 256;
/// Tags that are kept until someone asks.
const KEPT_TAGS: usize = 1000;

/// Samples that come over ZMQ: what `zmq+pull://` and `zmq+sub://` addresses open. `HOST:PORT` connects, `:PORT` and `*:PORT` listen; one
/// sender is heard at a time.
///
/// | option | what it is |
/// | --- | --- |
/// | `format=cf32`, `rate=HZ` | what the samples are |
/// | `tags=on` | the sender passes tags on: what is missing between messages is noticed |
/// | `key=TEXT` | messages with this key alone |
/// | `reconnect=on` | a sender that goes away is waited for; otherwise the stream ends then |
pub struct ZmqIn {
    asked: Asked,
    listener: Option<TcpListener>,
    messages: Messages,
    gaps: Gaps,
    tags: TagHandle,
}

/// Tags that came, the last thousand of them.
#[derive(Debug, Clone, Default)]
pub struct TagHandle(Arc<Mutex<VecDeque<Tag>>>);

impl TagHandle {
    /// Those that came since this was asked the last time.
    pub fn take(&self) -> Vec<Tag> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    fn add(&self, tag: Tag) {
        let mut tags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tags.len() == KEPT_TAGS {
            tags.pop_front();
        }
        tags.push_back(tag);
    }
}

impl ZmqIn {
    /// Opens an address; one that listens waits for its sender.
    ///
    /// # Errors
    /// An address that cannot be; nobody there for 5 s; what is no ZMQ socket, or one that does not send.
    pub fn open(address: &Address) -> Result<Self> {
        let asked = Asked::of(address, true)?;
        let listener = if asked.is_listening() { Some(asked.listen()?) } else { None };
        let (gaps, tags) =
            (Gaps::new(if asked.format.as_deref() == Some("cu8") { 128 } else { 0 }), TagHandle::default());
        let messages = Self::meet(&asked, listener.as_ref(), &gaps, &tags)?;
        Ok(Self { asked, listener, messages, gaps, tags })
    }

    fn meet(asked: &Asked, listener: Option<&TcpListener>, gaps: &Gaps, tags: &TagHandle) -> Result<Messages> {
        let mut stream = asked.meet(listener)?;
        if asked.kind == Kind::Sub {
            let wanted = wire::subscription(asked.key.as_deref().unwrap_or("").as_bytes());
            stream.write_all(&wanted).map_err(|error| failed(&asked.address, &error))?;
        }
        let mut messages = Messages::new(Box::new(stream), asked.has_tags, asked.item, asked.key.clone());
        (messages.gaps, messages.tags) = (gaps.clone(), tags.clone());
        Ok(messages)
    }

    /// What tells tags, with `tags=on`.
    pub fn tags(&self) -> TagHandle {
        self.tags.clone()
    }

    /// The samples, with what is known of them.
    pub fn source(self) -> ByteSource {
        let (format, rate) = (self.asked.format.clone(), self.asked.rate);
        // Of a sender that does not count its samples, nobody knows what is missing.
        let gaps = self.asked.has_tags.then(|| self.gaps.clone());
        let mut source = ByteSource::new(self);
        (source.format, source.rate, source.gaps) = (format, rate, gaps);
        source
    }
}

impl Read for ZmqIn {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let named = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{}: {error}", self.asked.address)),
        };
        match self.messages.read(buffer) {
            Ok(0) if !buffer.is_empty() => {}
            Err(error) if is_gone(&error) => {}
            outcome => return outcome.map_err(named),
        }
        if !self.asked.reconnect {
            return Ok(0);
        }
        let half = self.messages.half_sample();
        let next = Self::meet(&self.asked, self.listener.as_ref(), &self.gaps, &self.tags);
        self.messages = next.map_err(|error| io::Error::other(error.to_string()))?;
        if half == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        // Samples stay whole where a sender went away inside one.
        let bytes = half.min(buffer.len());
        buffer[..bytes].fill(self.gaps.filler());
        Ok(bytes)
    }
}

/// The other end has gone away.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// The samples of messages.
pub(super) struct Messages {
    from: BufReader<Box<dyn Read + Send>>,
    has_tags: bool,
    item: u64,
    key: Option<String>,
    /// Bytes of samples that are left in the frame.
    left: u64,
    /// The frame that comes next is not the first of its message, and belongs to one that is passed over.
    is_inside: bool,
    passes_over: bool,
    /// Bytes given so far, and the sample that comes next, where senders count.
    given: u64,
    next: Option<u64>,
    gaps: Gaps,
    tags: TagHandle,
}

impl Messages {
    pub(super) fn new(from: Box<dyn Read + Send>, has_tags: bool, item: usize, key: Option<String>) -> Self {
        Self {
            from: BufReader::with_capacity(AHEAD, from),
            has_tags,
            item: item as u64,
            key,
            left: 0,
            is_inside: false,
            passes_over: false,
            given: 0,
            next: None,
            gaps: Gaps::new(0),
            tags: TagHandle::default(),
        }
    }

    /// Bytes that are missing to a whole sample.
    fn half_sample(&self) -> usize {
        (self.given.next_multiple_of(self.item) - self.given) as usize
    }

    fn pass_over(&mut self, bytes: u64) -> io::Result<()> {
        match io::copy(&mut self.from.by_ref().take(bytes), &mut io::sink())? {
            passed if passed == bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Goes to the next frame with samples; `false` at the end. `Interrupted`: something is missing before it.
    fn next_frame(&mut self) -> io::Result<bool> {
        while self.left == 0 {
            let Some(head) = Head::read(&mut self.from)? else { return Ok(false) };
            if head.is_command {
                wire::command(&mut self.from, head)?;
                continue;
            }
            let is_first = !std::mem::replace(&mut self.is_inside, head.has_more);
            match (&self.key, is_first, head.has_more) {
                (None, _, true) => return Err(wrong("the sender sends a key before its samples: add key=TEXT")),
                (None, _, false) => {}
                (Some(_), true, false) => return Err(wrong("the sender sends no key: leave out key=")),
                (Some(key), true, true) => {
                    // A subscription is for keys that begin so.
                    let is_ours = head.length == key.len() as u64 && {
                        let mut came = vec![0; key.len()];
                        self.from.read_exact(&mut came)?;
                        came == key.as_bytes()
                    };
                    self.passes_over = !is_ours;
                    if head.length != key.len() as u64 {
                        self.pass_over(head.length)?;
                    }
                    continue;
                }
                (Some(_), false, _) if self.passes_over => {
                    self.pass_over(head.length)?;
                    continue;
                }
                (Some(_), false, true) => return Err(wrong("a message of three frames: a key and samples have two")),
                (Some(_), false, false) => {}
            }
            self.left = head.length;
            if self.begin_samples()? {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(true)
    }

    /// Reads what is before the samples of a frame; whether samples are missing before them.
    fn begin_samples(&mut self) -> io::Result<bool> {
        if !self.has_tags {
            // Three bytes of samples may be the same by chance, but hardly the first three of all.
            if self.given == 0 && self.left >= 19 {
                let mut front = [0; 3];
                self.from.read_exact(&mut front)?;
                if front == MAGIC {
                    return Err(wrong("the sender sends tags, too: add tags=on"));
                }
                self.from = with_front(front, &mut self.from);
            }
            return Ok(false);
        }
        let tags = &self.tags;
        let (offset, bytes) = tags::read(&mut self.from.by_ref().take(self.left), |tag| tags.add(tag))?;
        self.left -= bytes;
        let missing = match self.next {
            Some(next) => offset.saturating_sub(next),
            None => 0,
        };
        self.next = Some(offset.saturating_add(self.left / self.item));
        self.gaps.lose(missing.saturating_mul(self.item));
        Ok(missing > 0)
    }
}

/// The same stream, with bytes before it that were read from it.
fn with_front(front: [u8; 3], from: &mut BufReader<Box<dyn Read + Send>>) -> BufReader<Box<dyn Read + Send>> {
    let ahead: Vec<u8> = front.iter().chain(from.buffer()).copied().collect();
    let rest = std::mem::replace(from.get_mut(), Box::new(io::empty()));
    BufReader::with_capacity(AHEAD, Box::new(io::Cursor::new(ahead).chain(rest)))
}

impl Read for Messages {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || !self.next_frame()? {
            return Ok(0);
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        match self.from.read(&mut buffer[..most])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => {
                self.left -= bytes as u64;
                self.given += bytes as u64;
                Ok(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(flags: u8, body: &[u8]) -> Vec<u8> {
        let (head, count) = Head::bytes(flags, body.len());
        [&head[..count], body].concat()
    }

    fn read(bytes: Vec<u8>, has_tags: bool, key: Option<&str>) -> (Vec<u8>, Gaps, Vec<Tag>, String) {
        let mut messages = Messages::new(Box::new(io::Cursor::new(bytes)), has_tags, 2, key.map(str::to_owned));
        let mut all = Vec::new();
        let error = messages.read_to_end(&mut all).err().map_or(String::new(), |error| error.to_string());
        (all, messages.gaps, messages.tags.take(), error)
    }

    #[test]
    fn messages_make_one_stream() {
        let long: Vec<u8> = (0..1000).map(|k| k as u8).collect();
        let bytes = [frame(0, &long), frame(4, b"\x04PINGxx"), frame(0, b""), frame(0, &long[..7])].concat();
        let (all, _, _, error) = read(bytes.clone(), false, None);
        assert_eq!((all, error.as_str()), ([&long[..], &long[..7]].concat(), ""));
        assert!(!read(bytes[..bytes.len() - 1].to_vec(), false, None).3.is_empty());
    }

    #[test]
    fn keys_choose_messages() {
        let bytes =
            [frame(1, b"ab"), frame(0, b"1234"), frame(1, b"abc"), frame(0, b"no"), frame(1, b"xy"), frame(0, b"no")];
        let bytes = [&bytes.concat()[..], &frame(1, b"ab"), &frame(0, b"56")].concat();
        assert_eq!(read(bytes.clone(), false, Some("ab")).0, b"123456");
        assert!(read(bytes, false, None).3.contains("add key=TEXT"));
        assert!(read(frame(0, b"1234"), false, Some("ab")).3.contains("leave out key="));
    }

    #[test]
    fn tags_tell_what_is_missing() {
        let message = |offset: u64, samples: &[u8]| {
            let mut body = Vec::new();
            let tag = Tag { offset, key: "k".to_owned(), value: tags::TagValue::U64(offset) };
            tags::write(offset, &[tag], &mut body);
            body.extend_from_slice(samples);
            frame(0, &body)
        };
        let bytes = [message(10, b"1234"), message(12, b"56"), message(20, b"78")].concat();
        let (all, gaps, tags, _) = read(bytes.clone(), true, None);
        assert_eq!((all.as_slice(), gaps.take()), (&b"12345678"[..], 14));
        assert_eq!(tags.iter().map(|tag| tag.offset).collect::<Vec<_>>(), [10, 12, 20]);
        assert!(read(bytes, false, None).3.contains("add tags=on"));
        assert!(read(frame(0, &[7; 100]), true, None).3.contains("leave out tags=on"));
        assert_eq!(read(frame(0, &[7; 100]), false, None).0, [7; 100]);
    }
}
