//! The tables that tell what a transport stream carries.

use super::crc32;

/// What a section with a long header carries, when its CRC-32 is right.
struct Long<'a> {
    extension: u16,
    version: u8,
    content: &'a [u8],
}

impl<'a> Long<'a> {
    /// A section that is in force, of a table.
    fn of(section: &'a [u8], table: u8) -> Option<Self> {
        let (head, rest) = section.split_at_checked(8)?;
        let content = rest.get(..rest.len().checked_sub(4)?)?;
        let is_ours = head[0] == table && head[1] & 0x80 != 0 && head[5] & 1 != 0 && crc32(section) == 0;
        is_ours.then(|| Self { extension: u16::from_be_bytes([head[3], head[4]]), version: head[5] >> 1 & 31, content })
    }
}

fn word(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

/// Takes a block whose length the last 12 bits of two bytes say; one that lies ends with the section.
fn block<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_at_checked(2)?;
    let (block, rest) = rest.split_at(usize::from(word(length) & 0x0FFF).min(rest.len()));
    *bytes = rest;
    Some(block)
}

/// Descriptors, one after the other: tag and content. The last one ends with the bytes.
///
/// ```
/// use bief_dsp::transport::Descriptors;
/// let all: Vec<_> = Descriptors::new(&[0x52, 1, 7, 0x0A, 9, 1]).collect();
/// assert_eq!(all, [(0x52, &[7][..])]); // the second one is cut
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Descriptors<'a>(&'a [u8]);

impl<'a> Descriptors<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Descriptors<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_at_checked(2)?;
        let (content, rest) = rest.split_at_checked(head[1].into())?;
        self.0 = rest;
        Some((head[0], content))
    }
}

/// A programme association table: which PID tells of which service.
#[derive(Debug, Clone, Copy)]
pub struct Pat<'a> {
    /// The transport stream.
    pub stream: u16,
    /// Counts changes, 0 to 31.
    pub version: u8,
    content: &'a [u8],
}

impl<'a> Pat<'a> {
    /// Reads a section; `None` for another, or one with errors.
    pub fn new(section: &'a [u8]) -> Option<Self> {
        Long::of(section, 0).map(|long| Self { stream: long.extension, version: long.version, content: long.content })
    }

    /// Services and the PIDs of their tables.
    pub fn services(&self) -> impl Iterator<Item = (u16, u16)> + use<'a> {
        let all = self.content.as_chunks::<4>().0.iter();
        all.map(|four| (word(four), word(&four[2..]) & 0x1FFF)).filter(|(service, _)| *service != 0)
    }
}

/// A programme map table: which streams a service has.
#[derive(Debug, Clone, Copy)]
pub struct Pmt<'a> {
    /// The service.
    pub service: u16,
    /// The PID of its clock.
    pub clock: u16,
    streams: &'a [u8],
}

/// A stream of a service.
#[derive(Debug, Clone, Copy)]
pub struct Elementary<'a> {
    /// Where it is.
    pub pid: u16,
    /// What it is: see [`stream_type_name`].
    pub kind: u8,
    /// What else is told of it.
    pub descriptors: Descriptors<'a>,
}

impl<'a> Pmt<'a> {
    /// Reads a section; `None` for another, or one with errors.
    pub fn new(section: &'a [u8]) -> Option<Self> {
        let long = Long::of(section, 2)?;
        let (clock, mut streams) = long.content.split_at_checked(2)?;
        block(&mut streams)?;
        Some(Self { service: long.extension, clock: word(clock) & 0x1FFF, streams })
    }

    /// Its streams.
    pub fn streams(&self) -> impl Iterator<Item = Elementary<'a>> + use<'a> {
        let mut left = self.streams;
        std::iter::from_fn(move || {
            let (head, rest) = left.split_at_checked(3)?;
            left = rest;
            let descriptors = Descriptors(block(&mut left)?);
            Some(Elementary { kind: head[0], pid: word(&head[1..]) & 0x1FFF, descriptors })
        })
    }
}

/// A service description table (EN 300 468) of the stream that it is in: names.
#[derive(Debug, Clone, Copy)]
pub struct Sdt<'a> {
    services: &'a [u8],
}

/// What a service is called: texts are as they are sent, see [`text`](super::text).
#[derive(Debug, Clone, Copy)]
pub struct Service<'a> {
    /// Its number, as in the [`Pat`].
    pub service: u16,
    /// Whether something of it is scrambled.
    pub is_scrambled: bool,
    /// What it is: 1 television, 2 radio, 0x0C data, 0x19 high definition.
    pub kind: u8,
    /// Who provides it.
    pub provider: &'a [u8],
    /// Its name.
    pub name: &'a [u8],
}

impl<'a> Sdt<'a> {
    /// Reads a section; `None` for another, or one with errors.
    pub fn new(section: &'a [u8]) -> Option<Self> {
        let long = Long::of(section, 0x42)?;
        Some(Self { services: long.content.get(3..)? })
    }

    /// The services that have a name.
    pub fn services(&self) -> impl Iterator<Item = Service<'a>> + use<'a> {
        let mut left = self.services;
        let all = std::iter::from_fn(move || {
            let (head, rest) = left.split_at_checked(3)?;
            let is_scrambled = rest.first()? & 0x10 != 0;
            left = rest;
            let mut descriptors = Descriptors(block(&mut left)?);
            Some(descriptors.find(|(tag, _)| *tag == 0x48).and_then(|(_, content)| {
                let (kind, rest) = content.split_first()?;
                let (provider, rest) =
                    rest.split_first().and_then(|(length, rest)| rest.split_at_checked((*length).into()))?;
                let (name, _) =
                    rest.split_first().and_then(|(length, rest)| rest.split_at_checked((*length).into()))?;
                Some(Service { service: word(head), is_scrambled, kind: *kind, provider, name })
            }))
        });
        all.flatten()
    }
}

/// What the streams of a type are, where most have it.
pub fn stream_type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x01 => "MPEG-1 video",
        0x02 => "MPEG-2 video",
        0x03 => "MPEG-1 audio",
        0x04 => "MPEG-2 audio",
        0x05 => "private sections",
        0x06 => "private data",
        0x0B | 0x0D => "DSM-CC sections",
        0x0F => "AAC audio",
        0x10 => "MPEG-4 video",
        0x11 => "LATM AAC audio",
        0x1B => "H.264 video",
        0x24 => "H.265 video",
        0x33 => "H.266 video",
        0x81 => "AC-3 audio",
        _ => return None,
    })
}
