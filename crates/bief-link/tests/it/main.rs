//! The protocol as its users see it.

mod messages;
mod simulation;
mod window;
