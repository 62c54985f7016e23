//! What tasks of the receiver would take if the machine did nothing but their arithmetic.

use bief_dsp::dvbs2::ldpc::Code;
use bief_dsp::dvbs2::{HEADER, Layout, Pls};
use bief_dsp::filter::MatchedFilter;

use super::layer::edges_per_second;

/// How fast this machine is.
pub(crate) struct Machine {
    /// Floating-point operations per second that the reference filter makes.
    flops: f64,
    /// Updates of an edge per second.
    edges: f64,
}

impl Machine {
    /// Measured now: `fir` is the speed of the reference filter in Msamples/s: 80 real taps on complex samples, one output of two samples.
    pub(crate) fn new(fir: f64) -> Self {
        Self { flops: fir * 1e6 * 160.0, edges: edges_per_second() }
    }

    /// Microseconds per frame at these speeds, and what the limit is; `None` for tasks that are neither.
    pub(crate) fn limit(
        &self,
        task: &str,
        pls: Pls,
        samples_per_symbol: f64,
        iterations: f64,
    ) -> Option<(f64, &'static str)> {
        let symbols = (Layout::new(pls)?.symbols() + HEADER) as f64;
        let samples = symbols * samples_per_symbol;
        let taps = 2.0 * MatchedFilter::new(0.25, samples_per_symbol).half_length() as f64;
        let modcod = pls.modcod()?;
        let points = (1 << modcod.modulation().bits_per_symbol()) as f64;
        let code = Code::get(pls.frame_size(), modcod.rate(pls.frame_size()))?;
        let edges = code.rows.iter().map(|row| 360 * row.len()).sum::<usize>() + 2 * code.parity() - 1;
        let flop = |operations: f64| Some((1e6 * operations / self.flops, "arithmetic"));
        match task {
            // A real tap on a complex sample is two multiplications and two additions, the rotation of a sample twice as many, of which
            // there are twice as many at once on integers.
            "filter symbols" => flop(2.0 * taps * symbols + 4.0 * samples),
            // Modulus, its inverse and the fourth power of a symbol; a rotation, and that of the phasor; second and fourth moment.
            "correct phase" => flop(40.0 * symbols),
            // Tables are looked up.
            "demap" if pls.is_s2x() || points > 16.0 => None,
            "demap" => flop((2.0 + 5.0 * (points - 4.0) + 4.0) * symbols),
            "decode LDPC" => Some((1e6 * edges as f64 * iterations / self.edges, "edges")),
            _ => None,
        }
    }
}
