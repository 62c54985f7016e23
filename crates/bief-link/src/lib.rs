//! The protocol by which frames of one stream go to workers on other machines, and come back in order.
//!
//! A [`Window`] is the machine that reads the stream: it numbers frames, gives each to the worker with the most free credit, gives
//! those of a worker that is gone, and those that are late, to another, and has the results in order, each once. A [`Worker`] takes as
//! many frames as its credit, and tells with each answer what it still holds. A [`Message`] is what goes between them.
//!
//! Nothing here reads a clock or opens a socket. Time is a [`Duration`](std::time::Duration) since any beginning.
//!
//! The network may lose, double, delay and reorder messages, and workers may go at any time: frames are lost only with all of their
//! workers, as the tasks that they run remember nothing. What a network must do is to tell who is there.
//!
//! ```
//! use bief_link::{Limits, Window, Worker, WorkerId};
//! use std::time::Duration;
//!
//! let mut window = Window::new(Limits { frames: 4, ..Limits::default() });
//! let mut rack3 = Worker::new(2);
//! window.join(WorkerId(3), 1, 2);
//! (0..4).for_each(|frame| assert_eq!(window.push(frame * 10), Ok(frame)));
//! assert!(!window.has_room(), "whoever reads waits");
//!
//! let now = Duration::from_millis(1);
//! while let Some(sending) = window.send(now) {
//!     rack3.take(sending.sequence, sending.number, sending.payload)?;
//! }
//! assert_eq!(rack3.held().len(), 2, "its credit");
//! let (number, payload) = rack3.next().unwrap();
//! let held = rack3.done(number);
//! window.answer(WorkerId(3), number, payload + 1, now);
//! window.report(WorkerId(3), held.seen, held.held);
//! assert_eq!(window.collect(), Some((0, Ok(1))));
//! # Ok::<(), bief_link::Overrun>(())
//! ```

#![forbid(unsafe_code)]

mod bytes;
mod lateness;
mod member;
pub mod message;
mod window;
mod worker;

pub use message::Message;
pub use window::{Answered, Asking, Counts, Leaving, Limits, Poison, Sending, Window, WorkerId};
pub use worker::{Held, Overrun, Worker};

/// The version of the protocol. Both sides of a link have the same, or none.
pub const PROTOCOL: u16 = 2;
