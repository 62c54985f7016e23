//! Mathematics held to vectors and to naive code.

mod packets;
mod synchronise;
mod transport;
mod vectors;
