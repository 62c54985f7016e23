//! A stream without packets: bits of data fields, written as bytes.

use super::super::bits;
use super::Output;

/// The bits that do not fill a byte yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Continuous {
    /// Left-aligned; the others are 0.
    bits: u8,
    held: usize,
    /// Whether the last frame could not be read.
    lost: bool,
}

impl Continuous {
    /// Appends the first `count` bits of a data field.
    pub(super) fn take(&mut self, count: usize, field: &[u8], sound: bool, output: &mut Output<'_>) {
        self.lost = false;
        output.delivered.errors += usize::from(!sound);
        let (whole, rest) = (count / 8, count % 8);
        if self.held == 0 {
            output.bytes.extend_from_slice(&field[..whole]);
        } else {
            for &byte in &field[..whole] {
                output.bytes.push(self.bits | byte >> self.held);
                self.bits = byte << (8 - self.held);
            }
        }
        if rest > 0 {
            let last = bits::read(field, 8 * whole, rest) << (8 - rest);
            self.bits |= last >> self.held;
            if self.held + rest >= 8 {
                output.bytes.push(self.bits);
                self.bits = ((u16::from(last) << 8) >> self.held) as u8;
            }
            self.held = (self.held + rest) % 8;
        }
    }

    /// A frame could not be read: what comes next begins with a byte of its own.
    pub(super) fn lose(&mut self, output: &mut Output<'_>) {
        if !std::mem::replace(&mut self.lost, true) {
            self.complete(output);
            output.delivered.gaps += 1;
        }
    }

    /// Writes the last bits; zeros complete their byte.
    pub(super) fn complete(&mut self, output: &mut Output<'_>) {
        if std::mem::take(&mut self.held) > 0 {
            output.bytes.push(std::mem::take(&mut self.bits));
        }
    }
}
