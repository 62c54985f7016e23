//! Time per frame of each step, beside a copy of the frame in the same run: 720p and 1080p, clear and under moon glow.

use bief_vision::{Component, Detection, Detector, Labeller, Size, Sky, Threshold, Tracker};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// Frames that are gone through in turn: more than a cache holds.
const FRAMES: usize = 12;

/// Frames of a sky with stars and noise, and a glow of so many grey levels.
fn sky(size: Size, glow: f64) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(1);
    let (width, height) = (size.width(), size.height());
    let level = |x: usize, y: usize| {
        let (dx, dy) = (x as f64 / width as f64 - 0.9, y as f64 / height as f64 - 0.1);
        18.0 + 6.0 * y as f64 / height as f64 + glow * (-(dx * dx + dy * dy) / 0.08).exp()
    };
    let mut light: Vec<f64> = (0..size.pixels()).map(|pixel| level(pixel % width, pixel / width)).collect();
    for _ in 0..size.pixels() / 2500 {
        let (x, y) = (random.usize(3..width - 3), random.usize(3..height - 3));
        let star = 6.0 * (1.0 - random.f64()).powf(-0.8).min(40.0);
        for row in y - 3..=y + 3 {
            for column in x - 3..=x + 3 {
                let square = (column as f64 - x as f64).powi(2) + (row as f64 - y as f64).powi(2);
                light[row * width + column] += star * (-square / 2.42).exp();
            }
        }
    }
    let noise = |random: &mut fastrand::Rng| (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 2.6;
    let frame = |random: &mut fastrand::Rng| {
        light.iter().map(|light| (light + noise(random)).round().clamp(0.0, 255.0) as u8).collect()
    };
    (0..FRAMES).map(|_| frame(&mut random)).collect()
}

fn detect(criterion: &mut Criterion) {
    for (name, width, height, glow) in
        [("720p", 1280, 720, 0.0), ("1080p", 1920, 1080, 0.0), ("1080p_glow", 1920, 1080, 120.0)]
    {
        let size = Size::new(width, height).expect("a size that can be");
        let frames = sky(size, glow);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(size.pixels() as u64));
        let mut turn = 0;
        let mut next = move || {
            turn = (turn + 1) % FRAMES;
            turn
        };
        let mut copy = vec![0; size.pixels()];
        group.bench_function("copy", |bench| bench.iter(|| copy.copy_from_slice(black_box(&frames[next()]))));
        let mut measured = Sky::new(size, Threshold::default());
        group.bench_function("sky", |bench| bench.iter(|| measured.measure(&frames[next()])));
        for (name, threshold) in [("sky_and_label", Threshold::default()), ("label_fixed", Threshold::Fixed(55))] {
            let mut labeller = Labeller::new(Sky::new(size, threshold));
            group.bench_function(name, |bench| {
                bench.iter(|| {
                    labeller.label(&frames[next()], 3, 20_000);
                    labeller.regions().count()
                });
            });
        }
        let mut detector = Detector::new(size, Detection::default());
        let components: Vec<Vec<Component>> = frames.iter().map(|frame| detector.components(frame).to_vec()).collect();
        let (mut tracker, mut frame) = (Tracker::new(size, 25.0), 0);
        group.bench_function("track", |bench| {
            bench.iter(|| {
                frame += 1;
                tracker.follow(&components[next()], frame, 0).count()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, detect);
criterion_main!(benches);
