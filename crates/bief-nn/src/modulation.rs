//! A small network that is built in: which modulation a signal has.
//!
//! Trained on signals of 2, 3 or 4 samples per symbol, roll-off 0.2, 0.25 or 0.35, of any timing and phase, with a carrier within 1 % of the sampling
//! rate and 5 dB less to 20 dB more power than the noise in the sampled band. Of its test signals it tells 73 % rightly; what it takes for
//! another is mostly QPSK for 8PSK, and 16QAM for 16APSK: a demonstration.

use bief::Result;

use crate::network::NeuralNetwork;

/// The modulations, by the numbers of the network's results.
pub const CLASSES: [&str; 10] = ["bpsk", "qpsk", "8psk", "16apsk", "32apsk", "16qam", "2fsk", "fm", "am", "noise"];

/// Samples of a signal that it looks at: a frame has as many real parts, then as many imaginary ones, of unit power together.
pub const SAMPLES: usize = 1024;

/// The network.
///
/// ```
/// use bief_nn::modulation;
///
/// let network = modulation::network()?;
/// assert_eq!(network.input().dims(), [1, 2, modulation::SAMPLES]);
/// assert_eq!(network.output().len(), modulation::CLASSES.len());
/// # Ok::<(), bief::Error>(())
/// ```
///
/// # Errors
/// None: it is read as any other.
pub fn network() -> Result<NeuralNetwork> {
    NeuralNetwork::from_bytes("modulation", include_bytes!("../data/modulation.onnx").as_slice())
}
