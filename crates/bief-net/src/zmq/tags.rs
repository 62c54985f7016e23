//! What GNU Radio puts before samples: where they are in the stream, and tags.

use std::fmt;
use std::io::{self, Read};

use super::wire::wrong;

/// How a header begins: its magic number and version.
pub(super) const MAGIC: [u8; 3] = [0xF0, 0x5F, 1];
/// Tags of one message, and bytes of their header, at most.
const MOST_TAGS: u64 = 10_000;
const MOST_BYTES: u64 = 1 << 20;
/// How deep values may lie in values.
const DEEPEST: u32 = 16;

/// A tag on a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    /// The sample, counted from the beginning of the stream.
    pub offset: u64,
    /// What it is about, such as `rx_freq`.
    pub key: String,
    /// What it says.
    pub value: TagValue,
}

/// What a tag says: the values of GNU Radio's PMT that are plain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TagValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A text.
    Symbol(String),
    /// A number.
    Int(i32),
    /// A number.
    Float(f64),
    /// A number.
    U64(u64),
    /// A value that is made of others, which is passed over.
    Other,
}

impl fmt::Display for TagValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Symbol(text) => text.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::Other => f.write_str("…"),
        }
    }
}

/// Bytes of a header, which must not be too many.
struct Limited<'a, R> {
    from: &'a mut R,
    left: u64,
}

impl<R: Read> Limited<'_, R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.left = self.left.checked_sub(N as u64).ok_or_else(|| wrong("tags that do not end"))?;
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(count).ok_or_else(|| wrong("tags that do not end"))?;
        match io::copy(&mut self.from.by_ref().take(count), &mut io::sink())? {
            copied if copied == count => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn value(&mut self, depth: u32) -> io::Result<TagValue> {
        let Some(deeper) = depth.checked_sub(1) else { return Err(wrong("values too deep in values")) };
        Ok(match self.bytes::<1>()?[0] {
            0 => TagValue::Bool(true),
            1 => TagValue::Bool(false),
            2 => {
                let length = u16::from_be_bytes(self.bytes()?);
                self.left = self.left.checked_sub(length.into()).ok_or_else(|| wrong("tags that do not end"))?;
                let mut text = vec![0; length.into()];
                self.from.read_exact(&mut text)?;
                TagValue::Symbol(String::from_utf8_lossy(&text).into_owned())
            }
            3 => TagValue::Int(i32::from_be_bytes(self.bytes()?)),
            4 => TagValue::Float(f64::from_be_bytes(self.bytes()?)),
            6 => TagValue::Null,
            0x0B => TagValue::U64(u64::from_be_bytes(self.bytes()?)),
            // A complex number, a pair, a list of values, a map, an array, a tuple, a long number: passed over.
            5 => self.other(|this| this.skip(16))?,
            7 | 9 => self.other(|this| this.values(2, deeper))?,
            8 | 0x0C => {
                let count = u32::from_be_bytes(self.bytes()?);
                self.other(|this| this.values(count, deeper))?
            }
            0x0A => self.other(Self::array)?,
            0x0D => self.other(|this| this.skip(8))?,
            code => return Err(wrong(format!("a tag's value of kind {code:#04x}, which is not known here"))),
        })
    }

    fn other(&mut self, pass: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<TagValue> {
        pass(self).map(|()| TagValue::Other)
    }

    fn values(&mut self, count: u32, depth: u32) -> io::Result<()> {
        (0..count).try_for_each(|_| self.value(depth).map(drop))
    }

    fn array(&mut self) -> io::Result<()> {
        let [kind] = self.bytes()?;
        let count = u64::from(u32::from_be_bytes(self.bytes()?));
        let [padding] = self.bytes()?;
        let each = match kind {
            0 | 1 => 1,
            2 | 3 => 2,
            4 | 5 | 8 => 4,
            6 | 7 | 9 | 10 => 8,
            11 => 16,
            _ => return Err(wrong(format!("an array of kind {kind:#04x} in a tag"))),
        };
        self.skip(u64::from(padding) + each * count)
    }
}

/// Reads a header; the number of the first sample behind it, and how many bytes it has. Tags go to `tag`.
pub(super) fn read(from: &mut impl Read, mut tag: impl FnMut(Tag)) -> io::Result<(u64, u64)> {
    let mut from = Limited { from, left: MOST_BYTES };
    if from.bytes::<3>()? != MAGIC {
        return Err(wrong("the sender sends no tags: leave out tags=on"));
    }
    let (offset, count) = (u64::from_le_bytes(from.bytes()?), u64::from_le_bytes(from.bytes()?));
    if count > MOST_TAGS {
        return Err(wrong(format!("{count} tags in one message")));
    }
    for _ in 0..count {
        let offset = u64::from_le_bytes(from.bytes()?);
        let key = match from.value(DEEPEST)? {
            TagValue::Symbol(key) => key,
            other => other.to_string(),
        };
        let value = from.value(DEEPEST)?;
        from.value(DEEPEST)?;
        tag(Tag { offset, key, value });
    }
    Ok((offset, MOST_BYTES - from.left))
}

/// Writes a header.
pub(super) fn write(offset: u64, tags: &[Tag], to: &mut Vec<u8>) {
    to.extend(MAGIC);
    to.extend(offset.to_le_bytes());
    to.extend((tags.len() as u64).to_le_bytes());
    let symbol = |text: &str, to: &mut Vec<u8>| {
        let bytes = &text.as_bytes()[..text.len().min(u16::MAX.into())];
        to.push(2);
        to.extend((bytes.len() as u16).to_be_bytes());
        to.extend_from_slice(bytes);
    };
    for tag in tags {
        to.extend(tag.offset.to_le_bytes());
        symbol(&tag.key, to);
        match &tag.value {
            TagValue::Bool(value) => to.push(u8::from(!value)),
            TagValue::Symbol(text) => symbol(text, to),
            TagValue::Int(value) => {
                to.push(3);
                to.extend(value.to_be_bytes());
            }
            TagValue::Float(value) => {
                to.push(4);
                to.extend(value.to_be_bytes());
            }
            TagValue::U64(value) => {
                to.push(0x0B);
                to.extend(value.to_be_bytes());
            }
            TagValue::Null | TagValue::Other => to.push(6),
        }
        // Who made it: nobody says.
        to.push(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut bytes: &[u8]) -> io::Result<(u64, u64, Vec<Tag>)> {
        let mut tags = Vec::new();
        let (offset, count) = read(&mut bytes, |tag| tags.push(tag))?;
        Ok((offset, count, tags))
    }

    #[test]
    fn tags_are_read_as_they_were_written() {
        let tag = |key: &str, value| Tag { offset: 1 << 40, key: key.to_owned(), value };
        let tags = [
            tag("rx_freq", TagValue::Float(433.92e6)),
            tag("lost", TagValue::U64(77)),
            tag("a", TagValue::Int(-5)),
            tag("b", TagValue::Bool(true)),
            tag("c", TagValue::Bool(false)),
            tag("d", TagValue::Symbol("text".to_owned())),
            tag("", TagValue::Null),
        ];
        let mut bytes = Vec::new();
        write(12_345, &tags, &mut bytes);
        let length = bytes.len();
        bytes.extend([9; 8]);
        let (offset, count, read) = read_all(&bytes).unwrap();
        assert_eq!((offset, count as usize, &read[..]), (12_345, length, &tags[..]));
        for cut in 0..length {
            assert!(read_all(&bytes[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn bytes_are_those_of_gnu_radio() {
        // Made by GNU Radio 3.10: pmt.serialize_str of a symbol, a double, and #f.
        let expected = b"\xf0\x5f\x01\x05\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x02\x00\x07rx_freq\x04\x41\x2e\x84\x80\0\0\0\0\x01";
        let mut bytes = Vec::new();
        write(5, &[Tag { offset: 7, key: "rx_freq".to_owned(), value: TagValue::Float(1e6) }], &mut bytes);
        let (head, value) = expected.split_at(expected.len() - 9);
        assert_eq!(bytes[..head.len()], *head);
        assert_eq!(bytes[head.len()..][..8], 1e6_f64.to_be_bytes());
        assert_eq!(bytes.last(), value.last());
    }

    #[test]
    fn what_lies_is_refused_in_bounded_memory() {
        let mut head = MAGIC.to_vec();
        head.extend(0_u64.to_le_bytes());
        let with = |count: u64, rest: &[u8]| [&head[..], &count.to_le_bytes(), rest].concat();
        let one = |value: &[u8]| with(1, &[&[0; 8][..], b"\x02\0\x01k", value, b"\x01"].concat());
        assert!(read_all(&with(u64::MAX, &[])).unwrap_err().to_string().contains("tags in one message"));
        assert!(read_all(&one(&[7; 40])).unwrap_err().to_string().contains("too deep"));
        assert!(read_all(&one(b"\x08\xff\xff\xff\xff")).is_err());
        assert!(read_all(&one(b"\x0a\x0b\xff\xff\xff\xff\0")).unwrap_err().to_string().contains("do not end"));
        assert!(read_all(&one(b"\x99")).unwrap_err().to_string().contains("0x99"));
        assert!(read_all(b"\0\0\0").unwrap_err().to_string().contains("sends no tags"));
        // A complex number, a pair, a vector, an array of floats, a tuple, a long integer.
        for value in [
            &[5; 17][..],
            b"\x07\x06\x06",
            b"\x08\0\0\0\x02\x00\x01",
            b"\x0a\x08\0\0\0\x02\x01\0abcdefgh",
            b"\x0c\0\0\0\x01\x03\0\0\0\x01",
            b"\x0d\0\0\0\0\0\0\0\x01",
        ] {
            assert_eq!(read_all(&one(value)).unwrap().2[0].value, TagValue::Other);
        }
    }
}
