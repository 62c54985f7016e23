//! Messages of a link: whatever comes is refused, or is a message that is written as it came.
#![no_main]

use bief_link::Message;
use bief_link::message::Outcome;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::read(bytes) else { return };
    match &message {
        Message::Frame { wires, .. } | Message::Answer { outcome: Outcome::Next(wires), .. } => {
            assert!(wires.iter().map(|(_, bytes)| bytes.len() + 8).sum::<usize>() < bytes.len());
        }
        _ => {}
    }
    let mut again = Vec::new();
    message.write(&mut again);
    assert_eq!(again, bytes);
});
