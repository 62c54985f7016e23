//! Radio tasks for [`bief`]: recordings and their formats, filters, audio; the DVB-S2 chains and a narrowband FM receiver.
//!
//! A recording becomes a transport stream, on a pipeline that is planned for this machine:
//!
//! ```
//! use bief::{Machine, Planner};
//! use bief_radio::Recording;
//! use bief_radio::dvbs2::{Receiver, Settings};
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
//! # let out = std::io::sink();
//!
//! let recording = Recording::open(path.as_ref(), None)?;
//! let receiver = Receiver::find(recording, Settings::default(), |_| ())?; // rate, timing, carrier, MODCOD: from the signal
//! let mut receiver = receiver.to(out);
//! let planned = Planner::new(Machine::here()).plan(&receiver)?; // each task measured, the best stages and replicas
//! let report = planned.pipeline(&mut receiver)?.run()?;
//! println!("{report}"); // each stage measured beside its plan
//! # assert_eq!(report.frames, 41);
//! # Ok::<(), bief::Error>(())
//! ```

#![deny(unsafe_code)]

mod audio;
pub mod dvbs2;
mod feed;
mod files;
mod fm;
mod fm_receiver;
mod frontend;
pub mod ip;
mod iq;
mod keep_spectrum;
mod kinds;
mod live;
mod low_pass;
mod narrowband_fm;
mod open;
mod parameter;
mod raw_audio;
mod recording;
mod registry;
mod signal;
mod text;
mod wav;

pub use audio::{DeEmphasis, Discriminate, RemoveDc};
pub use files::{ReadBlocks, WriteBytes};
pub use fm::{DemodulateFm, FmFigures};
pub use fm_receiver::FmReceiver;
pub use frontend::{Agc, ReadSamples, Shift};
pub use iq::{Convert, SampleFormat};
pub use keep_spectrum::KeepSpectrum;
pub use live::ReadLive;
pub use low_pass::{History, LowPass};
pub use narrowband_fm::NarrowbandFm;
pub use open::open_recording;
pub use raw_audio::{AudioFormat, WriteAudio};
pub use recording::{Recording, RecordingError, Samples, Stored, sigmf_meta};
pub use registry::{register, registry};
pub use signal::Signal;
pub use wav::WriteWav;
