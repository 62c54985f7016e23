//! A SoapySDR that is played here: radios that count, and that break as their names say.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_longlong, c_void};
use std::sync::Mutex;
use std::time::Duration;

use crate::api::{Api, HAS_TIME, Handle, Kwargs, NOT_SUPPORTED, OVERFLOW, RX, RawRange, TIMEOUT, UNDERFLOW};

/// What each radio was told, by its name; and what it was sent.
static LOGS: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
static SENT: Mutex<BTreeMap<String, Vec<[f32; 2]>>> = Mutex::new(BTreeMap::new());

/// Samples of a read.
const MTU: usize = 1024;
/// An error of a stream.
const BROKEN: c_int = -2;

/// What a radio was told.
pub(crate) fn log(name: &str) -> Vec<String> {
    LOGS.lock().unwrap().get(name).cloned().unwrap_or_default()
}

/// What a radio was sent.
pub(crate) fn sent(name: &str) -> Vec<[f32; 2]> {
    SENT.lock().unwrap().get(name).cloned().unwrap_or_default()
}

/// `driver=fake,name=N,reads=COUNT`: gives COUNT reads of numbered samples, then nothing; with `breaks=1` an error, with `hangs=1` never
/// returns. `sleeps=1` never opens.
struct Radio {
    name: String,
    reads: u32,
    calls: u32,
    next: u32,
    breaks: bool,
    hangs: bool,
    rate: f64,
}

impl Radio {
    fn of<'a>(handle: Handle) -> &'a mut Self {
        // SAFETY: `make` gave it, `unmake` has not come, and one thread uses it.
        unsafe { &mut *handle.cast::<Self>() }
    }

    fn note(&self, what: String) -> c_int {
        LOGS.lock().unwrap().entry(self.name.clone()).or_default().push(what);
        0
    }
}

fn text(text: *const c_char) -> String {
    // SAFETY: the crate gives texts.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn owned(text: &str) -> *mut c_char {
    CString::new(text).unwrap().into_raw()
}

fn list(texts: &[&str], length: *mut usize) -> *mut *mut c_char {
    // SAFETY: the crate gives a place for the length.
    unsafe { *length = texts.len() };
    Box::into_raw(texts.iter().map(|text| owned(text)).collect::<Box<[_]>>()).cast()
}

fn ranges(of: &[(f64, f64)], length: *mut usize) -> *mut RawRange {
    // SAFETY: as above. It is never given back: nobody knows its size.
    unsafe { *length = of.len() };
    let all: Box<[_]> = of.iter().map(|&(minimum, maximum)| RawRange { minimum, maximum, step: 0.0 }).collect();
    Box::leak(all).as_mut_ptr()
}

extern "C" fn enumerate(_: *const c_char, length: *mut usize) -> *mut Kwargs {
    // SAFETY: as above.
    unsafe { *length = 1 };
    let map = Kwargs {
        size: 2,
        keys: Box::into_raw(Box::new([owned("driver"), owned("label")])).cast(),
        vals: Box::into_raw(Box::new([owned("fake"), owned("a radio")])).cast(),
    };
    Box::into_raw(Box::new(map))
}
extern "C" fn clear_found(_: *mut Kwargs, _: usize) {}
extern "C" fn clear_kwargs(_: *mut Kwargs) {}
extern "C" fn clear_strings(_: *mut *mut *mut c_char, _: usize) {}
extern "C" fn free(_: *mut c_void) {}
extern "C" fn set_log_level(_: c_int) {}

extern "C" fn make(arguments: *const c_char) -> Handle {
    let arguments = text(arguments);
    let of = |key: &str| arguments.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    if of("sleeps").is_some() {
        std::thread::sleep(Duration::from_secs(1000));
    }
    let Some(reads) = of("reads") else { return std::ptr::null_mut() };
    let radio = Radio {
        name: of("name").unwrap().to_owned(),
        reads: reads.parse().unwrap(),
        calls: 0,
        next: 7,
        breaks: of("breaks").is_some(),
        hangs: of("hangs").is_some(),
        rate: 0.0,
    };
    Box::into_raw(Box::new(radio)).cast()
}
extern "C" fn unmake(radio: Handle) -> c_int {
    Radio::of(radio).note("unmake".to_owned());
    // SAFETY: as `Radio::of`; it is not used any more.
    drop(unsafe { Box::from_raw(radio.cast::<Radio>()) });
    0
}
extern "C" fn last_error() -> *const c_char {
    c"too fast, or no match".as_ptr()
}
extern "C" fn error_name(_: c_int) -> *const c_char {
    c"STREAM_ERROR".as_ptr()
}
extern "C" fn driver(_: Handle) -> *mut c_char {
    owned("fake")
}
extern "C" fn hardware(_: Handle) -> *mut c_char {
    owned("none")
}
extern "C" fn hardware_info(_: Handle) -> Kwargs {
    Kwargs::NONE
}
extern "C" fn channels(_: Handle, _: c_int) -> usize {
    1
}
extern "C" fn antennas(_: Handle, _: c_int, _: usize, length: *mut usize) -> *mut *mut c_char {
    list(&["RX", "TX/RX"], length)
}
extern "C" fn set_antenna(radio: Handle, _: c_int, _: usize, name: *const c_char) -> c_int {
    Radio::of(radio).note(format!("antenna {}", text(name)))
}
extern "C" fn has_agc(_: Handle, direction: c_int, _: usize) -> bool {
    direction == RX
}
extern "C" fn set_agc(radio: Handle, _: c_int, _: usize, on: bool) -> c_int {
    Radio::of(radio).note(format!("agc {on}"))
}
extern "C" fn gains(_: Handle, _: c_int, _: usize, length: *mut usize) -> *mut *mut c_char {
    list(&["LNA", "IF"], length)
}
extern "C" fn set_gain(radio: Handle, _: c_int, _: usize, gain: f64) -> c_int {
    Radio::of(radio).note(format!("gain {gain}"))
}
extern "C" fn set_gain_element(radio: Handle, _: c_int, _: usize, name: *const c_char, gain: f64) -> c_int {
    Radio::of(radio).note(format!("gain {} {gain}", text(name)))
}
extern "C" fn gain_range(_: Handle, _: c_int, _: usize) -> RawRange {
    RawRange { minimum: 0.0, maximum: 80.0, step: 1.0 }
}
extern "C" fn gain_element_range(_: Handle, _: c_int, _: usize, _: *const c_char) -> RawRange {
    RawRange { minimum: 0.0, maximum: 40.0, step: 1.0 }
}
extern "C" fn has_ppm(_: Handle, _: c_int, _: usize) -> bool {
    true
}
extern "C" fn set_ppm(radio: Handle, _: c_int, _: usize, ppm: f64) -> c_int {
    Radio::of(radio).note(format!("ppm {ppm}"))
}
extern "C" fn set_frequency(radio: Handle, _: c_int, _: usize, frequency: f64, _: *const Kwargs) -> c_int {
    Radio::of(radio).note(format!("frequency {frequency}"))
}
extern "C" fn frequency_ranges(_: Handle, _: c_int, _: usize, length: *mut usize) -> *mut RawRange {
    ranges(&[(24e6, 1766e6)], length)
}
extern "C" fn set_rate(radio: Handle, _: c_int, _: usize, rate: f64) -> c_int {
    let radio = Radio::of(radio);
    radio.rate = 28.8e6 / (28.8e6 / rate).round();
    if rate > 1e8 { -1 } else { radio.note(format!("rate {rate}")) }
}
extern "C" fn rate(radio: Handle, _: c_int, _: usize) -> f64 {
    Radio::of(radio).rate
}
extern "C" fn rate_ranges(_: Handle, _: c_int, _: usize, length: *mut usize) -> *mut RawRange {
    ranges(&[(0.9e6, 28.8e6)], length)
}
extern "C" fn set_bandwidth(radio: Handle, _: c_int, _: usize, bandwidth: f64) -> c_int {
    Radio::of(radio).note(format!("bandwidth {bandwidth}"))
}
extern "C" fn set_setting(radio: Handle, key: *const c_char, value: *const c_char) -> c_int {
    Radio::of(radio).note(format!("setting {} {}", text(key), text(value)))
}
extern "C" fn formats(_: Handle, _: c_int, _: usize, length: *mut usize) -> *mut *mut c_char {
    list(&["CS16"], length)
}
extern "C" fn native_format(_: Handle, _: c_int, _: usize, _: *mut f64) -> *mut c_char {
    owned("CS16")
}
extern "C" fn setup(
    radio: Handle,
    _: c_int,
    format: *const c_char,
    _: *const usize,
    _: usize,
    _: *const Kwargs,
) -> Handle {
    Radio::of(radio).note(format!("setup {}", text(format)));
    radio
}
extern "C" fn close(radio: Handle, _: Handle) -> c_int {
    Radio::of(radio).note("close".to_owned())
}
extern "C" fn mtu(_: Handle, _: Handle) -> usize {
    MTU
}
extern "C" fn activate(radio: Handle, _: Handle, _: c_int, _: c_longlong, _: usize) -> c_int {
    Radio::of(radio).note("activate".to_owned())
}
extern "C" fn deactivate(radio: Handle, _: Handle, _: c_int, _: c_longlong) -> c_int {
    Radio::of(radio).note("deactivate".to_owned())
}
extern "C" fn read(
    radio: Handle,
    _: Handle,
    buffers: *const *mut c_void,
    samples: usize,
    flags: *mut c_int,
    time: *mut c_longlong,
    _: c_long,
) -> c_int {
    let radio = Radio::of(radio);
    radio.calls += 1;
    if radio.reads == 0 {
        std::thread::sleep(Duration::from_secs(if radio.hangs { 1000 } else { 0 }) + Duration::from_millis(5));
        return if radio.breaks { BROKEN } else { TIMEOUT };
    }
    if radio.calls.is_multiple_of(5) {
        return TIMEOUT;
    }
    if radio.calls.is_multiple_of(7) && !radio.breaks {
        radio.next += 1000;
        return OVERFLOW;
    }
    radio.reads -= 1;
    for at in 0..samples {
        // SAFETY: the buffer has room for so many samples of 4 bytes.
        unsafe { (*buffers).cast::<u32>().add(at).write_unaligned(radio.next.to_le()) };
        radio.next += 1;
    }
    // SAFETY: the crate gives places for both.
    unsafe {
        *flags = HAS_TIME;
        *time = (f64::from(radio.next - samples as u32) / radio.rate * 1e9).round() as c_longlong;
    }
    samples as c_int
}
extern "C" fn write(
    radio: Handle,
    _: Handle,
    buffers: *const *const c_void,
    samples: usize,
    flags: *mut c_int,
    _: c_longlong,
    _: c_long,
) -> c_int {
    let radio = Radio::of(radio);
    radio.calls += 1;
    if radio.breaks && radio.calls > radio.reads {
        return BROKEN;
    }
    // Some writes find no room, and others take less than is offered.
    match radio.calls % 4 {
        1 => return TIMEOUT,
        2 => return UNDERFLOW,
        _ => {}
    }
    let samples = samples.min(700);
    // SAFETY: the buffer has so many samples, aligned as the crate made them.
    let taken = unsafe { std::slice::from_raw_parts((*buffers).cast::<[f32; 2]>(), samples) };
    SENT.lock().unwrap().entry(radio.name.clone()).or_default().extend_from_slice(taken);
    // SAFETY: the crate gives a place.
    if unsafe { *flags } != 0 {
        radio.note("end of burst".to_owned());
    }
    samples as c_int
}
extern "C" fn status(radio: Handle, _: Handle, _: *mut usize, _: *mut c_int, _: *mut c_longlong, _: c_long) -> c_int {
    match Radio::of(radio).calls {
        _ if Radio::of(radio).hangs => NOT_SUPPORTED,
        calls if calls.is_multiple_of(10) => {
            Radio::of(radio).calls += 1;
            UNDERFLOW
        }
        _ => TIMEOUT,
    }
}

/// All of it.
pub(crate) const API: Api = Api {
    enumerate,
    clear_found,
    clear_kwargs,
    clear_strings,
    free,
    set_log_level,
    make,
    unmake,
    last_error,
    error_name,
    driver,
    hardware,
    hardware_info,
    channels,
    antennas,
    set_antenna,
    has_agc,
    set_agc,
    gains,
    set_gain,
    set_gain_element,
    gain_range,
    gain_element_range,
    has_ppm,
    set_ppm,
    set_frequency,
    frequency_ranges,
    set_rate,
    rate,
    rate_ranges,
    set_bandwidth,
    set_setting,
    formats,
    native_format,
    setup,
    close,
    mtu,
    activate,
    deactivate,
    read,
    write,
    status,
};
