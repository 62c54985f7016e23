//! The shape of a frame: what its elements mean side by side. To a task a frame stays a slice.

use std::fmt;
use std::sync::Arc;

/// The layout of a frame's elements, the last dimension fastest: `1080 x 1920 x 3` is a picture of 1080 rows of 1920
/// pixels of three colours. Without a declared shape a wire has one dimension, its length.
///
/// ```
/// use bief::raw::Shape;
///
/// let picture = Shape::from([1080, 1920, 3]);
/// assert_eq!((picture.len(), picture.to_string()), (6_220_800, "1080 x 1920 x 3".to_owned()));
/// assert_eq!(Shape::from(64).dims(), [64]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape(Arc<[usize]>);

impl Shape {
    /// The numbers, from the slowest to the fastest.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// How many elements a frame of this shape has; as many as can be counted if there are more.
    #[allow(clippy::len_without_is_empty, reason = "a frame's length, not a collection's")]
    pub fn len(&self) -> usize {
        // Nothing is nothing, however many of it are counted first.
        if self.0.contains(&0) { 0 } else { self.0.iter().fold(1, |len: usize, &dim| len.saturating_mul(dim)) }
    }
}

impl From<usize> for Shape {
    fn from(len: usize) -> Self {
        Self([len].into())
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Self(dims.into())
    }
}

impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self(dims.into())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("1");
        }
        self.0.iter().enumerate().try_for_each(|(index, dim)| match index {
            0 => write!(f, "{dim}"),
            _ => write!(f, " x {dim}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_as_many_elements_as_its_product() {
        let lens = [Shape::from(7), [2, 3, 4].into(), [].into(), [usize::MAX, 3, 0].into(), [usize::MAX, 3].into()];
        assert_eq!(lens.map(|shape| shape.len()), [7, 24, 1, 0, usize::MAX]);
        assert_eq!([Shape::from([2, 3]), [].into()].map(|shape| shape.to_string()), ["2 x 3", "1"]);
    }
}
