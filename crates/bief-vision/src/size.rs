//! How large a picture is.

use std::fmt;
use std::str::FromStr;

use bief::{Error, Result};

/// The longest side of a picture: places of pixels fit 16 bits.
pub const LONGEST_SIDE: usize = 1 << 15;
/// The most pixels of a picture.
const MOST_PIXELS: usize = 1 << 27;

/// Columns and rows of a picture; both from 1 to 32768, and at most 2^27 pixels.
///
/// ```
/// use bief_vision::Size;
///
/// let size = Size::new(1920, 1080)?;
/// assert_eq!((size.pixels(), size.to_string()), (2_073_600, "1920x1080".into()));
/// assert!(Size::new(0, 1080).is_err());
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Size {
    width: usize,
    height: usize,
}

impl Size {
    /// A picture of so many columns and rows.
    ///
    /// # Errors
    /// A side of 0 or above 32768, more than 2^27 pixels.
    pub fn new(width: usize, height: usize) -> Result<Self> {
        let sides = 1..=LONGEST_SIDE;
        if !sides.contains(&width) || !sides.contains(&height) || width * height > MOST_PIXELS {
            return Err(Error::new(format!(
                "a picture of {width}x{height} pixels cannot be: a side has 1 to {LONGEST_SIDE}, all of it at most {MOST_PIXELS}"
            )));
        }
        Ok(Self { width, height })
    }

    /// Columns.
    pub fn width(self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(self) -> usize {
        self.height
    }

    /// Columns times rows.
    pub fn pixels(self) -> usize {
        self.width * self.height
    }
}

/// As in `1920x1080`.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let sides = text.split_once(['x', 'X']);
        let sides = sides.and_then(|(width, height)| Some((width.trim().parse().ok()?, height.trim().parse().ok()?)));
        let (width, height) =
            sides.ok_or_else(|| Error::new(format!("`{text}` is no size: give it as in 1920x1080")))?;
        Self::new(width, height)
    }
}
