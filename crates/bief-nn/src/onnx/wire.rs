//! The fields of a protobuf message, one after the other, and messages that are written again.
//!
//! Messages are not decoded into structures: a model's nodes and weights are written again byte by byte into its parts, with all
//! that a newer file may tell of them, and a hostile file of many empty messages takes no memory.

use prost::bytes::{Buf, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

/// The value of a field.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A number, or the bits of a fixed one.
    Number(u64),
    /// Text, bytes, a message, or numbers side by side.
    Bytes(Bytes),
}

/// Why a message cannot be read.
pub(crate) type Damage = String;

/// The fields of a message, in order.
pub(crate) struct Fields {
    rest: Bytes,
    len: usize,
    what: &'static str,
}

impl Fields {
    /// Those of this message; `what` is what errors call it.
    pub(crate) fn of(message: Bytes, what: &'static str) -> Self {
        Self { len: message.len(), rest: message, what }
    }

    fn damage(&self, reason: impl std::fmt::Display) -> Damage {
        format!("{} is damaged at byte {} of it: {reason}", self.what, self.len - self.rest.len())
    }

    fn read(&mut self) -> Result<(u32, Value), Damage> {
        let (field, wire_type) = decode_key(&mut self.rest).map_err(|error| self.damage(error))?;
        let fixed = |rest: &mut Bytes, bytes: usize| {
            (rest.len() >= bytes).then(|| if bytes == 4 { u64::from(rest.get_u32_le()) } else { rest.get_u64_le() })
        };
        let value = match wire_type {
            WireType::Varint => decode_varint(&mut self.rest).map(Value::Number).map_err(|error| self.damage(error))?,
            WireType::SixtyFourBit | WireType::ThirtyTwoBit => {
                let bytes = if wire_type == WireType::SixtyFourBit { 8 } else { 4 };
                let read = fixed(&mut self.rest, bytes);
                Value::Number(read.ok_or_else(|| self.damage(format_args!("field {field} ends behind the message")))?)
            }
            WireType::LengthDelimited => {
                let len = decode_varint(&mut self.rest).map_err(|error| self.damage(error))?;
                let there = self.rest.len();
                match usize::try_from(len).ok().filter(|&len| len <= there) {
                    Some(len) => Value::Bytes(self.rest.split_to(len)),
                    None => {
                        let reason = format!("field {field} tells {len} bytes where {there} are left: is it whole?");
                        return Err(self.damage(reason));
                    }
                }
            }
            WireType::StartGroup | WireType::EndGroup => {
                return Err(self.damage(format_args!("field {field} is a group, which ONNX does not have")));
            }
        };
        Ok((field, value))
    }
}

impl Iterator for Fields {
    type Item = Result<(u32, Value), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.rest.clear();
        }
        Some(read)
    }
}

impl Value {
    /// The bytes of field `field`.
    pub(crate) fn bytes(self, field: u32) -> Result<Bytes, Damage> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(format!("field {field} is a number where bytes are due")),
        }
    }

    pub(crate) fn number(self, field: u32) -> Result<u64, Damage> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(format!("field {field} is bytes where a number is due")),
        }
    }

    pub(crate) fn text(self, field: u32) -> Result<String, Damage> {
        let bytes = self.bytes(field)?;
        Ok(std::str::from_utf8(&bytes).map_err(|error| format!("field {field} is no text: {error}"))?.to_owned())
    }

    /// Adds whole numbers, one or side by side; of too many, an error.
    pub(crate) fn numbers(self, field: u32, most: usize, numbers: &mut Vec<i64>) -> Result<(), Damage> {
        let mut add = |number: u64| {
            if numbers.len() == most {
                return Err(format!("field {field} has more than {most} numbers"));
            }
            numbers.push(number as i64);
            Ok(())
        };
        match self {
            Self::Number(number) => add(number),
            Self::Bytes(mut bytes) => {
                while !bytes.is_empty() {
                    add(decode_varint(&mut bytes).map_err(|error| format!("field {field}: {error}"))?)?;
                }
                Ok(())
            }
        }
    }
}

/// A message that is written.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Adds a field of bytes: text, or a message.
    pub(crate) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a number.
    pub(crate) fn number(mut self, field: u32, number: u64) -> Self {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(number, &mut self.0);
        self
    }

    /// Adds a message.
    pub(crate) fn message(self, field: u32, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u32, Value)>, Damage> {
        Fields::of(Bytes::copy_from_slice(bytes), "the test").collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let message =
            Message::default().number(1, u64::MAX).bytes(2, b"text").message(300, Message::default().number(7, 5));
        let fields = read(&message.finish()).unwrap();
        assert!(matches!(fields[0], (1, Value::Number(u64::MAX))));
        assert_eq!(fields[1].1.clone().text(2).unwrap(), "text");
        let inner = fields[2].1.clone().bytes(300).unwrap();
        assert!(matches!(read(&inner).unwrap()[..], [(7, Value::Number(5))]));
    }

    #[test]
    fn damage_is_told_with_its_place() {
        let cut = [&Message::default().number(1, 3).finish()[..], &[0x12, 9, b'a']].concat();
        let told = read(&cut).unwrap_err();
        assert!(told.contains("the test is damaged at byte 4") && told.contains("9 bytes where 1 are left"), "{told}");
        for damaged in [
            &[0x0B][..],
            &[0x09, 1, 2],
            &[0x08, 0xFF],
            &[0x00, 0x00],
            &[0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
        ] {
            assert!(read(damaged).is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn numbers_are_read_one_by_one_and_side_by_side_and_counted() {
        let mut numbers = Vec::new();
        Value::Number(3).numbers(1, 4, &mut numbers).unwrap();
        Value::Bytes(Bytes::from_static(&[1, 0xAC, 0x02, 5])).numbers(1, 4, &mut numbers).unwrap();
        assert_eq!(numbers, [3, 1, 300, 5]);
        assert!(Value::Number(1).numbers(1, 4, &mut numbers).unwrap_err().contains("more than 4"));
    }
}
