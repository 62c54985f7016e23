//! Bytes are refused as a network, or each of its segments is a network in its turn, with the shapes that the whole has there.
#![no_main]

use bief_nn::NeuralNetwork;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(network) = NeuralNetwork::from_bytes("fuzz", bytes) else { return };
    let segments = network.segments();
    assert_eq!((network.input(), network.output()), (segments[0].input(), segments[segments.len() - 1].output()));
    for (number, segment) in segments.iter().enumerate() {
        let part = network.part(number..number + 1).unwrap();
        let part = NeuralNetwork::from_bytes("a part", part).unwrap();
        assert_eq!((part.input(), part.output()), (segment.input(), segment.output()));
    }
});
