//! ZMTP 3.0: greeting, frames and commands.

use std::io::{self, Read, Write};

/// Flags of a frame.
pub(super) const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Bytes of a command at most.
const LONGEST_COMMAND: u64 = 4096;

/// A kind of socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Push,
    Pull,
    Pub,
    Sub,
}

impl Kind {
    /// That of a scheme.
    pub(super) fn of(scheme: &str) -> Option<Self> {
        [Self::Push, Self::Pull, Self::Pub, Self::Sub]
            .into_iter()
            .find(|kind| scheme.strip_prefix("zmq+").is_some_and(|name| name.eq_ignore_ascii_case(kind.name())))
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Push => "PUSH",
            Self::Pull => "PULL",
            Self::Pub => "PUB",
            Self::Sub => "SUB",
        }
    }

    pub(super) fn is_input(self) -> bool {
        matches!(self, Self::Pull | Self::Sub)
    }

    /// What the other end may be.
    fn others(self) -> [&'static str; 2] {
        match self {
            Self::Push => ["PULL", "PULL"],
            Self::Pull => ["PUSH", "PUSH"],
            Self::Pub => ["SUB", "XSUB"],
            Self::Sub => ["PUB", "XPUB"],
        }
    }
}

/// What begins a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) has_more: bool,
    pub(super) is_command: bool,
    pub(super) length: u64,
}

impl Head {
    /// Bytes of the head of a frame of so many bytes, and how many of them count.
    pub(super) fn bytes(flags: u8, length: usize) -> ([u8; 9], usize) {
        let mut bytes = [0; 9];
        if let Ok(short) = u8::try_from(length) {
            (bytes[0], bytes[1]) = (flags, short);
            return (bytes, 2);
        }
        bytes[0] = flags | LONG;
        bytes[1..].copy_from_slice(&(length as u64).to_be_bytes());
        (bytes, 9)
    }

    /// Reads one; `None` where the stream ends before it.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut first = [0];
        loop {
            match from.read(&mut first) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let [flags] = first;
        if flags & !(MORE | LONG | COMMAND) != 0 || flags & COMMAND != 0 && flags & MORE != 0 {
            return Err(wrong(format!("a frame begins with {flags:#04x}, which ZMTP does not know")));
        }
        let length = if flags & LONG == 0 {
            let mut length = [0];
            from.read_exact(&mut length)?;
            length[0].into()
        } else {
            let mut length = [0; 8];
            from.read_exact(&mut length)?;
            u64::from_be_bytes(length)
        };
        let head = Self { has_more: flags & MORE != 0, is_command: flags & COMMAND != 0, length };
        if head.is_command && length > LONGEST_COMMAND || length > i64::MAX as u64 {
            return Err(wrong(format!("a frame of {length} bytes")));
        }
        Ok(Some(head))
    }
}

/// An error in what the other end sends.
pub(super) fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn greeting() -> [u8; 64] {
    let mut greeting = [0; 64];
    (greeting[0], greeting[9], greeting[10]) = (0xFF, 0x7F, 3);
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

fn property(name: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![name.len() as u8];
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend((value.len() as u32).to_be_bytes());
    bytes.extend_from_slice(value);
    bytes
}

/// The command by which a socket tells its kind.
fn ready(kind: Kind) -> Vec<u8> {
    let body =
        [&b"\x05READY"[..], &property("Socket-Type", kind.name().as_bytes()), &property("Identity", b"")].concat();
    [&[COMMAND, body.len() as u8][..], &body].concat()
}

/// The value of a property of a READY command.
fn value_of<'a>(command: &'a [u8], wanted: &str) -> Option<&'a [u8]> {
    let mut left = command;
    while let Some((&length, rest)) = left.split_first() {
        let (name, rest) = rest.split_at_checked(length.into())?;
        let (value_length, rest) = rest.split_first_chunk::<4>()?;
        let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*value_length) as usize)?;
        if name.eq_ignore_ascii_case(wanted.as_bytes()) {
            return Some(value);
        }
        left = rest;
    }
    None
}

/// Reads the body of a command.
pub(super) fn command(from: &mut impl Read, head: Head) -> io::Result<Vec<u8>> {
    let mut body = vec![0; head.length.min(LONGEST_COMMAND) as usize];
    from.read_exact(&mut body)?;
    Ok(body)
}

/// Greets the other end, which must be a socket that fits.
pub(super) fn shake_hands(kind: Kind, link: &mut (impl Read + Write)) -> io::Result<()> {
    link.write_all(&greeting())?;
    let mut other = [0; 64];
    // What is no ZMQ shows it at once, and may never send 64 bytes.
    link.read_exact(&mut other[..10])?;
    if other[0] != 0xFF || other[9] & 1 == 0 {
        return Err(wrong("this is no ZMQ socket"));
    }
    link.read_exact(&mut other[10..])?;
    if other[10] < 3 {
        return Err(wrong(format!("a ZMQ socket that speaks ZMTP {}: 3 or later is needed (libzmq 4)", other[10])));
    }
    let mechanism = other[12..32].split(|byte| *byte == 0).next().unwrap_or_default();
    if mechanism != b"NULL" {
        let name = String::from_utf8_lossy(mechanism).escape_debug().to_string();
        return Err(wrong(format!("the socket wants the security mechanism {name}: only NULL is known here")));
    }
    link.write_all(&ready(kind))?;
    let head = Head::read(link)?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    if !head.is_command {
        return Err(wrong("no READY came from the other socket"));
    }
    let body = command(link, head)?;
    if let Some(reason) = body.strip_prefix(b"\x05ERROR") {
        let reason = String::from_utf8_lossy(reason.get(1..).unwrap_or_default()).escape_debug().to_string();
        return Err(wrong(format!("the other socket says: {reason}")));
    }
    let Some(other) = body.strip_prefix(b"\x05READY").and_then(|body| value_of(body, "Socket-Type")) else {
        return Err(wrong("no READY came from the other socket"));
    };
    if !kind.others().iter().any(|name| name.as_bytes() == other) {
        let other = String::from_utf8_lossy(other).escape_debug().to_string();
        return Err(wrong(format!("a {} socket is there, and {} takes {}", other, kind.name(), kind.others()[0])));
    }
    Ok(())
}

/// The frame by which a subscriber asks for messages whose first frame begins so.
pub(super) fn subscription(prefix: &[u8]) -> Vec<u8> {
    let (head, count) = Head::bytes(0, prefix.len() + 1);
    [&head[..count], &[1], prefix].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes from the other end, and what it gets.
    struct Link<'a> {
        from: &'a [u8],
        to: Vec<u8>,
    }

    impl Read for Link<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.from.read(buffer)
        }
    }

    impl Write for Link<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.to.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shaken(kind: Kind, from: &[u8]) -> Result<Vec<u8>, String> {
        let mut link = Link { from, to: Vec::new() };
        shake_hands(kind, &mut link).map(|()| link.to).map_err(|error| error.to_string())
    }

    #[test]
    fn sockets_greet_as_the_protocol_says() {
        // As libzmq 4.3 sends it.
        let mut other = greeting().to_vec();
        other[11] = 1;
        other.extend(b"\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03PUB");
        let sent = shaken(Kind::Sub, &other).unwrap();
        let mut expected = [0; 64];
        (expected[0], expected[9], expected[10]) = (0xFF, 0x7F, 3);
        expected[12..16].copy_from_slice(b"NULL");
        assert_eq!(sent[..64], expected);
        assert_eq!(&sent[64..], b"\x04\x26\x05READY\x0bSocket-Type\0\0\0\x03SUB\x08Identity\0\0\0\0");
        assert_eq!(shaken(Kind::Pull, &other).unwrap_err(), "a PUB socket is there, and PULL takes PUSH");
        for cut in [0, 5, 64, 70, other.len() - 1] {
            assert!(shaken(Kind::Sub, &other[..cut]).is_err(), "{cut}");
        }
        for (at, byte, words) in [
            (0, 0, "no ZMQ socket"),
            (10, 2, "ZMTP 2"),
            (12, b'P', "mechanism PULL"),
            (64, 0, "no READY"),
            (66, 9, "no READY"),
        ] {
            let mut wrong = other.clone();
            wrong[at] = byte;
            assert!(shaken(Kind::Sub, &wrong).unwrap_err().contains(words), "{at}");
        }
        assert!(shaken(Kind::Sub, b"SSH-2.0-OpenSSH_9.2").unwrap_err().contains("no ZMQ socket"));
        let mut refused = greeting().to_vec();
        refused.extend(b"\x04\x0a\x05ERROR\x03\x1bno");
        assert_eq!(shaken(Kind::Sub, &refused).unwrap_err(), "the other socket says: \\u{1b}no");
    }

    #[test]
    fn frames_have_short_and_long_heads() {
        for (flags, length) in [(0, 0), (MORE, 255), (0, 256), (MORE, 100_000)] {
            let (bytes, count) = Head::bytes(flags, length);
            let head = Head::read(&mut &bytes[..count]).unwrap().unwrap();
            assert_eq!(head, Head { has_more: flags == MORE, is_command: false, length: length as u64 });
        }
        assert_eq!(Head::read(&mut &b""[..]).unwrap(), None);
        for wrong in
            [&b"\x08\x01"[..], b"\x05\x01", b"\x02\xff\xff\xff\xff\xff\xff\xff\xff", b"\x06\0\0\0\0\0\x01\0\0", b"\0"]
        {
            assert!(Head::read(&mut &*wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(subscription(b""), [0, 1, 1]);
        assert_eq!(subscription(b"ab"), [0, 3, 1, b'a', b'b']);
    }
}
