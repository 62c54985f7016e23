//! What a ZMQ socket sends: frames, keys, GNU Radio's headers with tags. Whatever it is, samples come or an error, in bounded memory.
#![no_main]

use bief_net::read_for_fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, Option<&str>, &[u8])| {
    let (has_tags, key, bytes) = input;
    assert!(read_for_fuzzing(bytes, has_tags, key) <= bytes.len());
});
