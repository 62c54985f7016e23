//! Sky, regions and components, against flood fill and against what was put into a picture.

use bief_vision::{Component, Detection, Detector, LONGEST_SIDE, Labeller, Region, Size, Sky, Threshold, Tile};
use fearless_simd::Level;
use proptest::prelude::*;

use crate::common::{Naive, Scene, naive, videos};

fn sums(region: &Region) -> Naive {
    let Region { left, right, top, bottom, pixels, x, y, xx, yy, xy, sum, max, .. } = *region;
    let Region { grey_x, grey_y, grey_xx, grey_yy, grey_xy, .. } = *region;
    Naive {
        bounds: [left, right, top, bottom],
        sums: [pixels, x, y, xx, yy, xy, sum, max.into()],
        grey: [grey_x, grey_y, grey_xx, grey_yy, grey_xy],
    }
}

fn regions(picture: &[u8], sky: Sky, least: u32) -> Vec<Naive> {
    let mut labeller = Labeller::new(sky);
    labeller.label(picture, least, u32::MAX);
    labeller.regions().map(|region| sums(&region)).collect()
}

/// A tile's median and noise: of four rows of 32 pixels, by sorting.
fn naive_tile(picture: &[u8], size: Size, column: usize, row: usize) -> Tile {
    let (width, height) = (size.width(), size.height());
    let left = (32 * column).min(width.saturating_sub(32));
    let rows = [4, 12, 20, 28].map(|line| (32 * row + line).min(height - 1) * width);
    let mut looked_at: Vec<u8> =
        rows.iter().flat_map(|row| (left..left + 32).map(move |x| picture[row + x % width])).collect();
    looked_at.sort_unstable();
    let median = looked_at[64];
    let count = |is: fn(u8, u8) -> bool| looked_at.iter().filter(|&&grey| is(grey, median)).count() as f32;
    let beyond = (64.0 - count(|grey, median| grey < median)) / count(|grey, median| grey == median) - 0.5;
    let depths: f32 = looked_at.iter().map(|&grey| f32::from(median.saturating_sub(grey))).sum();
    let noise = (depths / 128.0 + 0.5 * beyond) / 0.398_942_3;
    Tile { sky: f32::from(median) + beyond, noise: noise.max(0.3) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn regions_are_those_of_flood_fill(
        (width, height) in (1_usize..1200, 1_usize..40),
        density in 0_u8..=255,
        least in 1_u32..6,
        seed: u64,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let picture: Vec<u8> = (0..width * height).map(|_| if random.u8(..) <= density { random.u8(100..) } else { 40 }).collect();
        let size = Size::new(width, height).unwrap();
        let mut expected = naive(&picture, width, |pixel| picture[pixel] >= 100);
        expected.retain(|region| region.sums[0] >= u64::from(least));
        for level in [Level::new(), Level::baseline()] {
            let sky = Sky::with_level(size, Threshold::Fixed(100), level);
            prop_assert_eq!(&regions(&picture, sky, least), &expected);
        }
    }

    #[test]
    fn a_tiles_sky_is_the_median_of_what_is_looked_at((width, height) in (1_usize..100, 1_usize..80), level: u8, noise in 0_u8..60, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = Size::new(width, height).unwrap();
        // Tiles of very different levels beside each other, as of clouds and lamps.
        let grey = |pixel: usize, random: &mut fastrand::Rng| {
            let step = (pixel % width / 32 * 97 + pixel / width / 32 * 41) as u8;
            level.wrapping_add(step).saturating_add(random.u8(0..=noise))
        };
        let picture: Vec<u8> = (0..size.pixels()).map(|pixel| grey(pixel, &mut random)).collect();
        for instructions in [Level::new(), Level::baseline()] {
            let mut sky = Sky::with_level(size, Threshold::default(), instructions);
            // What is known of one picture must not show in the next, be it alike or not.
            for change in [0, 0, 1, -2, 3, -90] {
                let picture: Vec<u8> = picture.iter().map(|grey| grey.saturating_add_signed(change)).collect();
                sky.measure(&picture);
                for (number, tile) in sky.tiles().iter().enumerate() {
                    let (column, row) = (number % width.div_ceil(32), number / width.div_ceil(32));
                    prop_assert_eq!(*tile, naive_tile(&picture, size, column, row));
                }
            }
        }
    }

    #[test]
    fn every_level_of_instructions_finds_the_same(width in 1_usize..1200, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = Size::new(width, 40).unwrap();
        let picture: Vec<u8> = (0..size.pixels()).map(|_| random.u8(10..30) + if random.u8(..) < 6 { 90 } else { 0 }).collect();
        let found = |level| {
            let mut labeller = Labeller::new(Sky::with_level(size, Threshold::default(), level));
            labeller.label(&picture, 1, u32::MAX);
            labeller.regions().collect::<Vec<_>>()
        };
        let best = Level::new();
        let fallback = Level::baseline();
        prop_assert_eq!(found(best), found(fallback));
    }

    #[test]
    fn light_is_weighted_as_pixel_by_pixel(seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let size = Size::new(96, 64).unwrap();
        let mut picture = vec![20; size.pixels()];
        for _ in 0..40 {
            let (x, y) = (random.usize(40..56), random.usize(24..40));
            picture[y * 96 + x] = random.u8(60..);
        }
        let mut labeller = Labeller::new(Sky::new(size, Threshold::Sky { noise: 3.0, levels: 6.0 }));
        labeller.label(&picture, 1, u32::MAX);
        let sky = labeller.sky();
        for region in labeller.regions() {
            // The sky is level here: what lies in the box of a region and is light belongs to it, or to another one.
            let component = Component::of_light(&region, sky);
            prop_assert!((f32::from(region.left) - 0.5..=f32::from(region.right) + 0.5).contains(&component.x));
            prop_assert!((f32::from(region.top) - 0.5..=f32::from(region.bottom) + 0.5).contains(&component.y));
            let level = sky.at(component.x, component.y).0;
            let expected = region.sum as f32 - level * region.pixels as f32;
            prop_assert!((component.light - expected).abs() < 0.5 + 0.02 * expected, "{component:?} {expected}");
        }
    }
}

#[test]
fn the_longest_rows_and_columns_are_added_up() {
    for (width, height) in [(LONGEST_SIDE, 3), (3, LONGEST_SIDE)] {
        let size = Size::new(width, height).unwrap();
        let mut labeller = Labeller::new(Sky::new(size, Threshold::Fixed(100)));
        labeller.label(&vec![255; size.pixels()], 3, u32::MAX);
        let regions: Vec<_> = labeller.regions().collect();
        // Sums of numbers below n, and of their squares.
        let [sums, squares] = [|n: u64| n * (n - 1) / 2, |n: u64| n * (n - 1) * (2 * n - 1) / 6];
        let (columns, rows) = (width as u64, height as u64);
        let expected = Region {
            left: 0,
            right: (width - 1) as u16,
            top: 0,
            bottom: (height - 1) as u16,
            pixels: columns * rows,
            x: rows * sums(columns),
            y: columns * sums(rows),
            xx: rows * squares(columns),
            yy: columns * squares(rows),
            xy: sums(columns) * sums(rows),
            sum: 255 * columns * rows,
            max: 255,
            grey_x: 255 * rows * sums(columns),
            grey_y: 255 * columns * sums(rows),
            grey_xx: 255 * rows * squares(columns),
            grey_yy: 255 * columns * squares(rows),
            grey_xy: 255 * sums(columns) * sums(rows),
        };
        assert_eq!(regions, [expected], "{size}");
    }
}

#[test]
fn as_many_runs_as_can_be_are_told_apart() {
    // Upright stripes of one pixel each, and a row of them that is moved by one, so that runs touch those above on both sides; some end early.
    for width in (1..70).chain([127, 128, 129, 511, 512, 513]) {
        for phase in 0..8 {
            let size = Size::new(width, 40).unwrap();
            let is_light = |pixel: usize| {
                let (x, y) = (pixel % width, pixel / width);
                (x + usize::from(y % 8 == phase)).is_multiple_of(2) && (y % 8 != phase || x <= width * phase / 8)
            };
            let picture: Vec<u8> = (0..size.pixels()).map(|pixel| if is_light(pixel) { 200 } else { 0 }).collect();
            for least in [1, 3] {
                let mut expected = naive(&picture, width, is_light);
                expected.retain(|region| region.sums[0] >= u64::from(least));
                assert_eq!(
                    regions(&picture, Sky::new(size, Threshold::Fixed(100)), least),
                    expected,
                    "{width} {phase}"
                );
            }
        }
    }
}

#[test]
fn a_spot_is_where_its_light_is_and_as_bright() {
    let mut scene = Scene::new(320, 240, 0);
    let size = Size::new(320, 240).unwrap();
    for (x, y) in [(100.0, 60.0), (200.3, 120.7), (31.5, 31.5), (250.25, 200.0)] {
        let picture = scene.frame([0.0; 2], &[([x, y], [x, y], 800.0)]);
        let mut detector = Detector::new(size, Detection::default());
        let brightest = detector.components(&picture).iter().max_by(|a, b| a.light.total_cmp(&b.light)).unwrap();
        let off = (f64::from(brightest.x) - x).hypot(f64::from(brightest.y) - y);
        assert!(off < 0.1, "{off} px");
        assert!((700.0..840.0).contains(&brightest.light), "{brightest:?}");
        let (long, short) = brightest.axes();
        assert!((0.7..1.3).contains(&short) && long < 1.4, "{long} {short}");
    }
}

#[test]
fn the_threshold_follows_a_sky_of_any_brightness() {
    let size = Size::new(640, 360).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    // A glow of 200 grey levels, with noise of about 1.5.
    let glow = |x: usize, y: usize| {
        15.0 + 200.0 * (-((x as f64 - 500.0).powi(2) + (y as f64 - 100.0).powi(2)) / 45_000.0).exp()
    };
    let mut picture: Vec<u8> = (0..size.pixels())
        .map(|pixel| {
            let noise: f64 = (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 2.6;
            (glow(pixel % 640, pixel / 640) + noise).round() as u8
        })
        .collect();
    let places = [(40, 40), (500, 100), (460, 140), (300, 300)];
    for (x, y) in places {
        for pixel in [y * 640 + x, y * 640 + x + 1, (y + 1) * 640 + x, (y + 1) * 640 + x + 1] {
            picture[pixel] = picture[pixel].saturating_add(30);
        }
    }
    let mut detector = Detector::new(size, Detection::default());
    let found = detector.components(&picture);
    let strong: Vec<&Component> = found.iter().filter(|component| component.strength > 1.6).collect();
    assert_eq!(strong.len(), places.len(), "{strong:?}");
}

#[test]
fn nothing_is_found_where_nothing_is() {
    for (level, side) in [(0, 200), (255, 200), (128, 33), (255, 1), (0, 7)] {
        let size = Size::new(side, side).unwrap();
        let mut detector = Detector::new(size, Detection::default());
        assert_eq!(detector.components(&vec![level; size.pixels()]), [], "{level} {side}");
    }
}

#[test]
fn fmdts_components_are_found_exactly() {
    let Some(folder) = videos() else { return };
    let mut video =
        bief_vision::Video::open(&folder.join("f_tiny.y4m"), bief_vision::VideoSettings::default()).unwrap();
    let table = std::fs::read_to_string(folder.join("f_tiny.components.csv")).unwrap();
    let wanted: Vec<Vec<u64>> =
        table.lines().skip(1).map(|line| line.split(',').map(|number| number.parse().unwrap()).collect()).collect();
    let mut detector = Detector::new(video.size(), Detection::fixed());
    let (mut frame, mut found) = (vec![0; video.size().pixels()], Vec::new());
    while video.read(&mut frame).unwrap() {
        let number = video.frames() - 1;
        found.extend(detector.regions(&frame).map(|region| {
            let Naive { bounds, sums, .. } = sums(&region);
            [number].into_iter().chain(bounds.map(u64::from)).chain(sums).collect::<Vec<u64>>()
        }));
    }
    assert_eq!((found.len(), wanted.len()), (582, 582));
    assert!(found == wanted);
}

#[test]
fn a_hundred_thousand_components_are_no_matter() {
    let size = Size::new(1280, 720).unwrap();
    let picture: Vec<u8> =
        (0..size.pixels()).map(|pixel| if pixel % 1280 % 3 == 0 && pixel / 1280 % 3 == 0 { 200 } else { 20 }).collect();
    let found = regions(&picture, Sky::new(size, Threshold::Fixed(100)), 1).len();
    assert_eq!(found, 427 * 240);
}
