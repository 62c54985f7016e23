//! What a kind of task is made with.

use crate::openers::Openers;
use crate::parameters::Parameters;

/// What a kind is made with.
#[doc(hidden)]
#[derive(Debug)]
pub struct Making<'m> {
    pub(crate) kind: &'m str,
    pub(crate) parameters: &'m Parameters,
    pub(crate) openers: &'m Openers,
    /// The frames of a rehearsal, if it is one.
    pub(crate) rehearsal: Option<u64>,
}

impl Making<'_> {
    pub(crate) fn is_rehearsal(&self) -> bool {
        self.rehearsal.is_some()
    }
}
