//! Addresses that are opened, as programs open them.

mod bytes;
mod dongle;
mod players;
mod zmq;
