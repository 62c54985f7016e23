//! Sizes of buffers: `4096`, `4KiB`, `16 MiB`.

use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size(pub(super) usize);

const UNITS: [(&str, u32); 4] = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
const MOST: Size = Size(1 << 30);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let with_unit = UNITS.iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, *power)));
        let (number, power) = with_unit.unwrap_or((text, 0));
        let number: usize =
            number.trim().parse().map_err(|_| "write a size as 4096, 4KiB or 16MiB, several with commas".to_owned())?;
        let bytes = number.checked_mul(1 << power).filter(|bytes| (1..=MOST.0).contains(bytes));
        bytes.map(Self).ok_or_else(|| format!("a buffer has 1 byte to {MOST}"))
    }
}

/// In the greatest unit of which it is a whole number, or nearly.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().find(|(_, power)| self.0.is_multiple_of(1 << power) && self.0 >> power > 0);
        let (unit, power) = match exact {
            // So many of a small unit are hard to read.
            Some(&(unit, power)) if self.0 >> power < 100_000 => (unit, power),
            _ => *UNITS.iter().find(|(_, power)| self.0 >> power > 0).unwrap_or(&("B", 0)),
        };
        let whole = self.0 >> power;
        if whole << power == self.0 {
            write!(f, "{whole} {unit}")
        } else {
            write!(f, "{:.1} {unit}", self.0 as f64 / f64::from(1 << power))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, bytes) in [("4096", 4096), ("1B", 1), ("4KiB", 4096), (" 3 MiB ", 3 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "KiB", "4kb", "-1", "1.5MiB", "99999999999999999999"] {
            assert!(text.parse::<Size>().unwrap_err().contains("write a size as"), "{text}");
        }
        for text in ["0", "2GiB", "18446744073709551615", "18446744073709551615KiB"] {
            assert!(text.parse::<Size>().unwrap_err().contains("1 byte to 1 GiB"), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_unit_that_suits_them() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1000, "1000 B"),
            (1 << 10, "1 KiB"),
            (1536, "1536 B"),
            (16 << 20, "16 MiB"),
            (45 << 24, "720 MiB"),
            ((3 << 30) + (1 << 29) + 7, "3.5 GiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), shown);
        }
    }
}
