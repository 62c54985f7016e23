//! What proves that someone was shown the page's URL.

use std::fs::File;
use std::io::{self, Read};

/// 128 random bits, written as hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// A system that has no random bits to give.
    pub(crate) fn random() -> io::Result<Self> {
        const SOURCE: &str = "/dev/urandom";
        let mut bytes = [0; 16];
        let read = File::open(SOURCE).and_then(|mut source| source.read_exact(&mut bytes));
        read.map_err(|error| io::Error::new(error.kind(), format!("no random bits from {SOURCE}: {error}")))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is the same, in a time that does not tell where it differs.
    pub(crate) fn is(&self, given: &[u8]) -> bool {
        let own = self.0.as_bytes();
        own.len() == given.len() && own.iter().zip(given).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let (a, b) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(a.text().len() == 32 && a.text().bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert!(a.is(a.text().as_bytes()) && !a.is(b.text().as_bytes()) && !a.is(b"") && !a.is(&a.0.as_bytes()[1..]));
    }
}
