//! Regions while they are being written.

use crate::task::Node;

/// The tasks between a region's braces, while they are being written.
pub(crate) struct Block {
    /// Its place in `Chain::blocks`, counted from 1.
    pub(crate) number: usize,
    pub(crate) kind: BlockKind,
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Loop,
    Path,
    Feedback,
}
