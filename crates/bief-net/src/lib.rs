//! Networks for [`bief`]: what opens the addresses of TCP, UDP, RTP, HTTP, ZMQ and `rtl_tcp`.
//!
//! | address | to read | to write |
//! | --- | --- | --- |
//! | `tcp://HOST:PORT`, `tcp://:PORT` | bytes, of a server or of the first client | bytes, to a server or to the first client; a slow one holds the chain back |
//! | `udp://HOST:PORT` | bytes of datagrams that come there: `:PORT` on loopback, `*:PORT` from everywhere, a multicast group is joined | bytes, 1316 to a datagram or `?size=N` |
//! | `udp://HOST:PORT?pace=…` | | a transport stream: see [`TsOut`] |
//! | `rtp://HOST:PORT` | | a transport stream as RTP |
//! | `http://:PORT/PATH` | | a transport stream for players, several at once; on loopback unless a host or `*` is named |
//! | `zmq+pull://…`, `zmq+sub://…` | samples that a ZMQ socket sends, such as GNU Radio's: see [`ZmqIn`] | |
//! | `zmq+push://…`, `zmq+pub://…` | | samples for ZMQ sockets: see [`ZmqOut`] |
//! | `rtl_tcp://HOST:PORT` | samples of a dongle on another machine: see [`RtlTcp`] | |
//!
//! Options follow the address: `?format=ci16&rate=2e6` tell samples and their rate of an input, `format` what an output gets; `ttl`, `interface` and `pace` are
//! those of an output. An option that nothing reads is refused.
//!
//! ```
//! use bief::kinds::Openers;
//! use std::io::{Read, Write};
//! let mut registry = bief::Registry::new();
//! bief_net::register(&mut registry);
//! let server = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let address = format!("tcp://{}?format=cu8&rate=2e6", server.local_addr()?);
//! let source = registry.openers().reader(&address.parse()?)?;
//! assert_eq!((source.format.as_deref(), source.rate), (Some("cu8"), Some(2e6)));
//! # Ok::<(), bief::Error>(())
//! ```

#![forbid(unsafe_code)]

mod rtl_tcp;
mod sockets;
mod tcp;
mod ts;
mod udp;
mod zmq;

use bief::Registry;

pub use rtl_tcp::{Direct, Gain, RtlTcp};
pub use ts::{Pace, TsCounts, TsHandle, TsOut};
#[doc(hidden)]
pub use zmq::read_for_fuzzing;
pub use zmq::{Tag, TagHandle, TagValue, ZmqCounts, ZmqHandle, ZmqIn, ZmqOut};

/// Adds the openers of this crate to a registry, for commands, chain files and programs.
pub fn register(registry: &mut Registry) {
    registry.open("tcp", tcp::Tcp);
    registry.open("udp", udp::Udp);
    registry.open("rtp", ts::TsOpener);
    registry.open("http", ts::TsOpener);
    registry.open("rtl_tcp", rtl_tcp::RtlTcpOpener);
    for scheme in ["zmq+push", "zmq+pull", "zmq+pub", "zmq+sub"] {
        registry.open(scheme, zmq::Zmq);
    }
}
