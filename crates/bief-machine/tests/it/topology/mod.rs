//! Machines: those that others have recorded, damaged ones, and documents.

mod damaged;
mod documents;
mod recorded;
mod tree;
