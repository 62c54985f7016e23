//! What benches of the receiver hear.

/// Deterministic Gaussian noise: xorshift and the Box–Muller transform.
pub(crate) struct Noise(u64);

impl Noise {
    /// Different seeds give unrelated noise.
    pub(crate) fn new(seed: u64) -> Noise {
        Noise((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// 64 uniform bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Two independent samples of mean 0 and variance 1.
    pub(crate) fn pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cos, radius * sin)
    }
}
