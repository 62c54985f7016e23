//! Radios for [`bief`], through [SoapySDR](https://github.com/pothosware/SoapySDR): what opens `soapy:` addresses.
//!
//! `soapy:driver=rtlsdr,serial=1?frequency=433.92e6&rate=2e6` is a radio, as SoapySDR names it, and its [`Settings`]. Read, it gives its
//! samples, in its own format where that is one of `ci8`, `ci16` and `cu8` and else as `cf32`; written, it transmits samples that are
//! `cf32`. SoapySDR's C interface, ABI 0.8, is loaded when the first radio is asked for.
//!
//! ```
//! let mut registry = bief::Registry::new();
//! bief_soapy::register(&mut registry);
//! let address = "soapy:driver=rtlsdr?rate=2e6".parse()?;
//! let refused = registry.openers().reader(&address).err().unwrap();
//! assert!(refused.to_string().contains("its frequency"));
//! # Ok::<(), bief::Error>(())
//! ```

#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod api;
#[allow(unsafe_code)]
mod device;
#[cfg(test)]
#[allow(unsafe_code)]
mod fake;
mod losses;
mod probe;
mod ramp;
mod receive;
mod settings;
mod transmit;
mod worker;

use std::io::Write;

use bief::kinds::{Address, ByteSource, Opener};
use bief::{Registry, Result};

pub use probe::{DRIVERS, Direction, Found, Gains, Probe, Range, find, probe};
pub use settings::{Gain, Settings};
pub use transmit::{Sent, Transmission};

/// Adds the opener of `soapy:` to a registry, for commands, chain files and programs.
pub fn register(registry: &mut Registry) {
    registry.open("soapy", Soapy);
}

/// Opens `soapy:`.
struct Soapy;

impl Opener for Soapy {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        let (radio, settings) = Settings::of(address)?;
        receive::open(api::loaded()?, radio, settings)
    }

    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        let (radio, settings) = Settings::of(address)?;
        Ok(Box::new(Transmission::open(&radio, &settings)?))
    }

    fn check_writer(&self, address: &Address) -> Result<()> {
        Settings::of(address)?.1.check_transmission()
    }
}
