//! DVB-S2, the second-generation satellite broadcasting waveform (ETSI EN 302 307-1 V1.4.1), and what DVB-S2X adds to it
//! (EN 302 307-2 V1.3.1): 52 MODCODs for normal and short frames, nine kinds of [VL-SNR frames](VlSnr), and smaller roll-offs.
//!
//! What a transmitter does, stage by stage; a receiver goes the other way:
//!
//! | stage | makes |
//! | --- | --- |
//! | [`Slicer`] | BBFRAMEs from packets or bytes ([`Deslicer`] puts them together again) |
//! | [`scramble::scramble_bbframe`] | the same with its bits scrambled |
//! | [`bch::Bch`], [`ldpc::Encoder`] | an LDPC codeword, the FECFRAME |
//! | [`Interleaver`], [`Constellation`] | payload symbols, the XFECFRAME |
//! | [`PlframeBuilder`] | a PLFRAME: both of these, [header](plheader), pilots, [`scramble::PlScrambler`] |
//!
//! One PLFRAME is described by its [`Pls`]: a [`Modcod`] (modulation and code rate), a [`FrameSize`], and
//! whether pilots are present. [`Fec`] gives the block lengths that follow, [`Layout`] the place of every
//! symbol.
//!
//! ```
//! use bief_dsp::Complex32;
//! use bief_dsp::dvbs2::bch::Bch;
//! use bief_dsp::dvbs2::ldpc::{Code, Encoder};
//! use bief_dsp::dvbs2::scramble::{PlScrambler, scramble_bbframe};
//! use bief_dsp::dvbs2::{FrameSize, Modcod, PlframeBuilder, Pls, RollOff, Slicer};
//!
//! let modcod: Modcod = "qpsk-8/9".parse()?;
//! let pls = Pls::from_parts(modcod, FrameSize::Short, true).unwrap();
//! let rate = modcod.rate(FrameSize::Short);
//! let bch = Bch::new(FrameSize::Short, rate).unwrap();
//! let code = Code::get(FrameSize::Short, rate).unwrap();
//! let plframes = PlframeBuilder::new(pls, PlScrambler::broadcast())?;
//!
//! let mut packet = [0; 188];
//! packet[0] = 0x47;
//! let mut codeword = vec![0; code.nldpc / 8];
//! let (bbframe, parity) = codeword.split_at_mut(bch.message_bytes());
//! Slicer::new(RollOff::R20).fill(&packet, bbframe)?;
//! scramble_bbframe(bbframe);
//! bch.encode(bbframe, &mut parity[..bch.codeword_bytes() - bch.message_bytes()]);
//! Encoder::new(code).encode(&mut codeword);
//! let mut plframe = vec![Complex32::ZERO; plframes.layout().symbols()];
//! plframes.build(&codeword, &mut plframe);
//! assert_eq!(plframe.len(), 8_370);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod acquire;
mod bbheader;
mod bits;
mod bytes;
mod candidate;
mod clock;
mod constellation;
mod decided;
mod demap;
mod deslicer;
mod fec;
mod interleaver;
mod jumps;
mod known;
mod layout;
mod level;
mod line;
mod modcod;
mod packet;
mod phase;
mod plframe;
mod pls;
mod powers;
#[cfg(test)]
mod random;
mod s2x;
mod slicer;
mod steady;
mod track;
mod transpose;
mod vl_snr;
mod walk;

pub mod bch;
pub mod crc;
pub mod ldpc;
pub mod plheader;
pub mod scramble;

pub use acquire::{Lock, NoSignal, acquire};
pub use bbheader::{BBHEADER, BbHeader, BbHeaderError, NO_PACKET_STARTS, RollOff, StreamId, StreamType};
pub use constellation::Constellation;
pub use demap::{DemapKernel, DemapTables, Demapper};
pub use deslicer::{Delivered, Deslicer, Rejection};
pub use fec::Fec;
pub use interleaver::Interleaver;
pub use layout::{HEADER, Layout, MAX_SYMBOLS, PILOT_BLOCK, PILOT_PERIOD, SLOT};
pub use level::{Moments, SignalLevel};
pub use modcod::{Modcod, Modulation, ParseModcodError, Rate};
pub use packet::{DeleteNullPackets, NULL_PACKET, PACKET, SYNC_BYTE};
pub use phase::{CarrierPhase, PhaseReads, PhaseReport, PhaseSegment};
pub use plframe::{PILOT, PlframeBuilder, UndefinedFrameError};
pub use pls::{FrameSize, Pls};
pub use slicer::{SliceError, Slicer};
pub use track::{FrameSync, Lost, Tracker};
pub use vl_snr::{ParseVlSnrError, VL_SNR_HEADER, VlSnr, VlSnrDecoder, VlSnrEncoder, vl_snr_header, vl_snr_kind};
