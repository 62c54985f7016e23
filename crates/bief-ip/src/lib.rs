//! IP packets in and out of satellite streams: mathematics on slices, and what reads and writes their files.
//!
//! | from | by |
//! | --- | --- |
//! | bytes to BBFRAMEs | [`bbframes`], with the headers of a receiver (L.3) or without |
//! | BBFRAMEs to IP packets, and back | [`gse`] |
//! | a transport stream to IP packets | [`transport`]: MPE and ULE |
//! | IP packets to a file, and back | [`pcap`] |
//! | IP packets to this machine's network | [`tun`] |
//!
//! All of it takes hostile input: memory is bounded, and nothing panics. [`Counts`] tells what came of a stream.
//!
//! ```
//! use bief_ip::pcap::{PcapReader, PcapWriter};
//! let mut packet = [0; 20];
//! (packet[0], packet[3]) = (0x45, 20);
//! let mut file = Vec::new();
//! PcapWriter::new(&mut file)?.write(&packet, None)?;
//! let mut read = Vec::new();
//! assert!(PcapReader::new(&file[..])?.read(&mut read)?);
//! assert_eq!(read, packet);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)] // Allowed where the kernel is asked for a TUN device.

pub mod bbframes;
mod counts;
pub mod gse;
pub mod pcap;
pub mod pdu;
pub mod transport;
pub mod tun;

pub use counts::Counts;
