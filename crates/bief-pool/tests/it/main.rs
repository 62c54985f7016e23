//! A chain whose tasks are elsewhere does what it does here.

mod cut;
mod plan;
mod pool;
