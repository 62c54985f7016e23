//! Normal deviates by the ziggurat method.

use std::sync::LazyLock;

/// Layers of equal area that the density is cut into.
const LAYERS: usize = 256;
/// Where the tail begins, below which the lowest layer lies, and the area of a layer, which includes the tail in the lowest.
const TAIL: f64 = 3.654_152_885_361_009;
const AREA: f64 = 4.928_673_233_99e-3;

/// Edges of the layers, the lowest and widest first, and the density (without its factor) at them.
struct Ziggurat {
    edges: [f64; LAYERS + 1],
    densities: [f64; LAYERS + 1],
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let mut edges = [0.0; LAYERS + 1];
    (edges[0], edges[1]) = (AREA / density(TAIL), TAIL);
    for layer in 2..LAYERS {
        edges[layer] = (-2.0 * (AREA / edges[layer - 1] + density(edges[layer - 1])).ln()).sqrt();
    }
    Ziggurat { edges, densities: edges.map(density) }
});

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

/// A source of independent normal deviates of mean 0 and variance 1 (Marsaglia and Tsang, *The Ziggurat Method for Generating
/// Random Variables*, 2000).
pub(super) struct Gaussian {
    random: fastrand::Rng,
    ziggurat: &'static Ziggurat,
}

impl Gaussian {
    pub(super) fn with_seed(seed: u64) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), ziggurat: &ZIGGURAT }
    }

    #[inline]
    pub(super) fn next(&mut self) -> f64 {
        let Ziggurat { edges, densities } = self.ziggurat;
        loop {
            // The layer from the lowest bits, a number from -1 to 1 from the 53 highest.
            let bits = self.random.u64(..);
            let layer = (bits % LAYERS as u64) as usize;
            let x = ((bits >> 11) as f64 * (2.0 / (1_u64 << 53) as f64) - 1.0) * edges[layer];
            if x.abs() < edges[layer + 1] {
                return x;
            }
            if layer == 0 {
                return self.tail().copysign(x);
            }
            let (low, high) = (densities[layer], densities[layer + 1]);
            if low + (high - low) * self.random.f64() < density(x) {
                return x;
            }
        }
    }

    /// A deviate beyond the edge of the tail.
    #[cold]
    fn tail(&mut self) -> f64 {
        loop {
            let x = -(1.0 - self.random.f64()).ln() / TAIL;
            let y = -(1.0 - self.random.f64()).ln();
            if 2.0 * y > x * x {
                return TAIL + x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_the_same_area() {
        let Ziggurat { edges, densities } = &*ZIGGURAT;
        for layer in 1..LAYERS {
            let area = edges[layer] * (densities[layer + 1] - densities[layer]);
            assert!((area - AREA).abs() < 1e-9, "layer {layer}: {area}");
        }
    }

    #[test]
    fn deviates_are_normal() {
        const COUNT: usize = 4_000_000;
        let mut gaussian = Gaussian::with_seed(1);
        // The distribution function at some points, among them inside the tail.
        let points = [
            (-4.0, 3.167_124e-5),
            (-3.654_152_885, 1.290_23e-4),
            (-2.0, 0.022_750_13),
            (-0.5, 0.308_537_54),
            (0.0, 0.5),
            (0.25, 0.598_706_33),
            (1.0, 0.841_344_75),
            (3.0, 0.998_650_1),
            (4.2, 0.999_986_654),
        ];
        let mut below = [0_u32; 9];
        let (mut square, mut product, mut last) = (0.0, 0.0, 0.0);
        for _ in 0..COUNT {
            let x = gaussian.next();
            for (below, (point, _)) in below.iter_mut().zip(points) {
                *below += u32::from(x < point);
            }
            square += x * x;
            product += x * last;
            last = x;
        }
        let count = COUNT as f64;
        for (below, (point, share)) in below.into_iter().zip(points) {
            let deviation = (share * (1.0 - share) / count).sqrt();
            assert!((f64::from(below) / count - share).abs() < 4.0 * deviation, "{below} below {point}");
        }
        assert!((square / count - 1.0).abs() < 4.0 * (2.0 / count).sqrt(), "{square}");
        assert!((product / count).abs() < 4.0 / count.sqrt(), "{product}");
    }
}
