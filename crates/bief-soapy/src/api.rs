//! SoapySDR's C interface, as its headers of version 0.8 declare it.

use std::ffi::{CStr, c_char, c_int, c_long, c_longlong, c_void};
use std::sync::OnceLock;

use bief::{Error, Result};
use libloading::Library;

/// What the library is called.
#[cfg(target_os = "macos")]
const LIBRARY: &str = "libSoapySDR.0.8.dylib";
#[cfg(windows)]
const LIBRARY: &str = "SoapySDR.dll";
#[cfg(not(any(target_os = "macos", windows)))]
const LIBRARY: &str = "libSoapySDR.so.0.8";

/// The ABI that is declared here.
const ABI: &str = "0.8";

/// Directions.
pub(crate) const TX: c_int = 0;
pub(crate) const RX: c_int = 1;
/// A flag of a read: its time is known.
pub(crate) const HAS_TIME: c_int = 1 << 2;
/// A flag of a write: nothing follows.
pub(crate) const END_BURST: c_int = 1 << 1;
/// What a read or a write answers instead of a number of samples.
pub(crate) const TIMEOUT: c_int = -1;
pub(crate) const OVERFLOW: c_int = -4;
pub(crate) const NOT_SUPPORTED: c_int = -5;
pub(crate) const UNDERFLOW: c_int = -7;

/// A radio, and a stream of it.
pub(crate) type Handle = *mut c_void;

/// `SoapySDRRange`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RawRange {
    pub(crate) minimum: f64,
    pub(crate) maximum: f64,
    pub(crate) step: f64,
}

/// `SoapySDRKwargs`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kwargs {
    pub(crate) size: usize,
    pub(crate) keys: *mut *mut c_char,
    pub(crate) vals: *mut *mut c_char,
}

impl Kwargs {
    pub(crate) const NONE: Self = Self { size: 0, keys: std::ptr::null_mut(), vals: std::ptr::null_mut() };
}

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($type:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions that are used. A copy is the same functions.
        #[derive(Clone, Copy)]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($type),*) $(-> $answer)?,)*
        }

        impl Api {
            /// # Safety
            /// The library is SoapySDR, with this ABI, and stays loaded.
            unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of the headers of that ABI.
                unsafe { Ok(Self { $($name: *library.get($symbol)?,)* }) }
            }
        }
    };
}

functions! {
    enumerate = c"SoapySDRDevice_enumerateStrArgs": fn(*const c_char, *mut usize) -> *mut Kwargs;
    clear_found = c"SoapySDRKwargsList_clear": fn(*mut Kwargs, usize);
    clear_kwargs = c"SoapySDRKwargs_clear": fn(*mut Kwargs);
    clear_strings = c"SoapySDRStrings_clear": fn(*mut *mut *mut c_char, usize);
    free = c"SoapySDR_free": fn(*mut c_void);
    set_log_level = c"SoapySDR_setLogLevel": fn(c_int);
    make = c"SoapySDRDevice_makeStrArgs": fn(*const c_char) -> Handle;
    unmake = c"SoapySDRDevice_unmake": fn(Handle) -> c_int;
    last_error = c"SoapySDRDevice_lastError": fn() -> *const c_char;
    error_name = c"SoapySDR_errToStr": fn(c_int) -> *const c_char;
    driver = c"SoapySDRDevice_getDriverKey": fn(Handle) -> *mut c_char;
    hardware = c"SoapySDRDevice_getHardwareKey": fn(Handle) -> *mut c_char;
    hardware_info = c"SoapySDRDevice_getHardwareInfo": fn(Handle) -> Kwargs;
    channels = c"SoapySDRDevice_getNumChannels": fn(Handle, c_int) -> usize;
    antennas = c"SoapySDRDevice_listAntennas": fn(Handle, c_int, usize, *mut usize) -> *mut *mut c_char;
    set_antenna = c"SoapySDRDevice_setAntenna": fn(Handle, c_int, usize, *const c_char) -> c_int;
    has_agc = c"SoapySDRDevice_hasGainMode": fn(Handle, c_int, usize) -> bool;
    set_agc = c"SoapySDRDevice_setGainMode": fn(Handle, c_int, usize, bool) -> c_int;
    gains = c"SoapySDRDevice_listGains": fn(Handle, c_int, usize, *mut usize) -> *mut *mut c_char;
    set_gain = c"SoapySDRDevice_setGain": fn(Handle, c_int, usize, f64) -> c_int;
    set_gain_element = c"SoapySDRDevice_setGainElement": fn(Handle, c_int, usize, *const c_char, f64) -> c_int;
    gain_range = c"SoapySDRDevice_getGainRange": fn(Handle, c_int, usize) -> RawRange;
    gain_element_range = c"SoapySDRDevice_getGainElementRange": fn(Handle, c_int, usize, *const c_char) -> RawRange;
    has_ppm = c"SoapySDRDevice_hasFrequencyCorrection": fn(Handle, c_int, usize) -> bool;
    set_ppm = c"SoapySDRDevice_setFrequencyCorrection": fn(Handle, c_int, usize, f64) -> c_int;
    set_frequency = c"SoapySDRDevice_setFrequency": fn(Handle, c_int, usize, f64, *const Kwargs) -> c_int;
    frequency_ranges = c"SoapySDRDevice_getFrequencyRange": fn(Handle, c_int, usize, *mut usize) -> *mut RawRange;
    set_rate = c"SoapySDRDevice_setSampleRate": fn(Handle, c_int, usize, f64) -> c_int;
    rate = c"SoapySDRDevice_getSampleRate": fn(Handle, c_int, usize) -> f64;
    rate_ranges = c"SoapySDRDevice_getSampleRateRange": fn(Handle, c_int, usize, *mut usize) -> *mut RawRange;
    set_bandwidth = c"SoapySDRDevice_setBandwidth": fn(Handle, c_int, usize, f64) -> c_int;
    set_setting = c"SoapySDRDevice_writeSetting": fn(Handle, *const c_char, *const c_char) -> c_int;
    formats = c"SoapySDRDevice_getStreamFormats": fn(Handle, c_int, usize, *mut usize) -> *mut *mut c_char;
    native_format = c"SoapySDRDevice_getNativeStreamFormat": fn(Handle, c_int, usize, *mut f64) -> *mut c_char;
    setup = c"SoapySDRDevice_setupStream": fn(Handle, c_int, *const c_char, *const usize, usize, *const Kwargs) -> Handle;
    close = c"SoapySDRDevice_closeStream": fn(Handle, Handle) -> c_int;
    mtu = c"SoapySDRDevice_getStreamMTU": fn(Handle, Handle) -> usize;
    activate = c"SoapySDRDevice_activateStream": fn(Handle, Handle, c_int, c_longlong, usize) -> c_int;
    deactivate = c"SoapySDRDevice_deactivateStream": fn(Handle, Handle, c_int, c_longlong) -> c_int;
    read = c"SoapySDRDevice_readStream": fn(Handle, Handle, *const *mut c_void, usize, *mut c_int, *mut c_longlong, c_long) -> c_int;
    write = c"SoapySDRDevice_writeStream": fn(Handle, Handle, *const *const c_void, usize, *mut c_int, c_longlong, c_long) -> c_int;
    status = c"SoapySDRDevice_readStreamStatus": fn(Handle, Handle, *mut usize, *mut c_int, *mut c_longlong, c_long) -> c_int;
}

/// SoapySDR tells problems, and not each step of a driver.
const LOG_WARNINGS: c_int = 4;

/// The library, loaded once.
///
/// # Errors
/// It is not there, or is of another ABI: what to install.
pub(crate) fn loaded() -> Result<Api> {
    static API: OnceLock<Result<Api, String>> = OnceLock::new();
    API.get_or_init(load).clone().map_err(Error::new)
}

fn load() -> Result<Api, String> {
    let remedy = "install SoapySDR 0.8 and the module of your radio (Debian: libsoapysdr0.8 and soapysdr-module-rtlsdr, or another)";
    // SAFETY: what a library does when it is loaded is trusted, as that of any library that a program is linked to.
    let library = unsafe { Library::new(LIBRARY) }.map_err(|_| format!("{LIBRARY} is not there: {remedy}"))?;
    // It stays loaded: drivers have threads of their own.
    let library = Box::leak(Box::new(library));
    // SAFETY: every version has this function, with this type; its text is constant.
    let abi = unsafe {
        let version: Result<libloading::Symbol<'_, unsafe extern "C" fn() -> *const c_char>, _> =
            library.get(c"SoapySDR_getABIVersion");
        version.ok().map(|version| CStr::from_ptr(version()).to_string_lossy().into_owned())
    };
    match abi {
        Some(abi) if abi.starts_with(ABI) => {}
        Some(abi) => return Err(format!("{LIBRARY} has ABI {abi}, and this program knows {ABI}: {remedy}")),
        None => return Err(format!("{LIBRARY} is no SoapySDR: {remedy}")),
    }
    // SAFETY: it says that it is of this ABI, and is never closed.
    let api = unsafe { Api::of(library) }.map_err(|error| format!("{LIBRARY}: {error}: {remedy}"))?;
    if std::env::var_os("SOAPY_SDR_LOG_LEVEL").is_none() {
        // SAFETY: it sets a number.
        unsafe { (api.set_log_level)(LOG_WARNINGS) };
    }
    Ok(api)
}
