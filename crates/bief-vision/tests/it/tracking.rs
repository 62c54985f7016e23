//! Motion, places and tracks.

use bief_vision::{Component, Detection, Detector, Grid, Kind, Rigid, Size, Track, Tracker};
use proptest::prelude::*;

use crate::common::Scene;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_grid_finds_what_looking_at_all_finds(
        seed: u64,
        (count, reach) in prop_oneof![(0_usize..200, 0.1_f64..60.0), (0_usize..2000, 0.1_f64..4.0)],
        is_whole: bool,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let side = |random: &mut fastrand::Rng, side: f64| {
            let place = random.f64() * (side + 40.0) - 20.0;
            if is_whole { place.round() } else { place }
        };
        let place = |random: &mut fastrand::Rng| [side(random, 300.0), side(random, 220.0)];
        let places: Vec<[f64; 2]> = (0..count).map(|_| place(&mut random)).collect();
        let mut grid = Grid::new(300, 220);
        grid.fill(places.iter().copied());
        let from = place(&mut random);
        let far = |index: usize| (places[index][0] - from[0]).hypot(places[index][1] - from[1]);
        let mut near = Vec::new();
        grid.near(from, reach, |number| near.push(number));
        near.sort_unstable();
        prop_assert_eq!(near, (0..count).filter(|&index| far(index) <= reach).collect::<Vec<_>>());
        let nearest = (0..count).filter(|&index| far(index) <= reach).min_by(|&a, &b| far(a).total_cmp(&far(b)));
        prop_assert_eq!(grid.nearest(from, reach), nearest);
    }

    #[test]
    fn a_motion_is_found_among_wrong_pairs(turn in -0.2_f64..0.2, x in -20.0_f64..20.0, y in -20.0_f64..20.0, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let motion = Rigid::new(turn, [x, y]);
        let mut pairs: Vec<_> = (0..60).map(|index| {
            let before = [random.f64() * 1000.0, random.f64() * 700.0];
            let mut after = motion.apply(before);
            // A fifth is wrong by some pixels.
            let off = if index % 5 == 0 { 6.0 } else { 0.05 };
            after.iter_mut().for_each(|side| *side += (random.f64() - 0.5) * off);
            (before, after)
        }).collect();
        let (found, kept) = Rigid::fit_trimmed(&mut pairs, 6.0).unwrap();
        prop_assert!(kept >= 40);
        for corner in [[0.0, 0.0], [1000.0, 700.0]] {
            let (a, b) = (found.apply(corner), motion.apply(corner));
            prop_assert!((a[0] - b[0]).hypot(a[1] - b[1]) < 0.1, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_grid_tells_places_apart_whose_numbers_do_not_fit_16_bits() {
    let places: Vec<[f64; 2]> =
        (0..70_000).map(|number| [10.0 * (number % 300) as f64, 10.0 * (number / 300) as f64]).collect();
    let mut grid = Grid::new(3000, 2400);
    grid.fill(places.iter().copied());
    for number in [0, 65_533, 65_534, 65_535, 65_536, 69_999] {
        let [x, y] = places[number];
        assert_eq!(grid.nearest([x + 0.5, y], 1.5), Some(number));
    }
}

/// A place, the way per frame, and light.
type Object = ([f64; 2], [f64; 2], f64);

/// The tracks of a scene in which the sky moves by `drift`, and in each frame there are these things.
fn tracks<O: IntoIterator<Item = Object>>(
    frames: u64,
    drift: impl Fn(u64) -> [f64; 2],
    objects: impl Fn(u64) -> O,
) -> (Vec<Track>, Tracker) {
    let size = Size::new(480, 320).unwrap();
    let mut scene = Scene::new(480, 320, 160);
    let mut detector = Detector::new(size, Detection::default());
    let mut tracker = Tracker::new(size, 25.0);
    let mut found = Vec::new();
    for frame in 0..frames {
        let shift = drift(frame);
        let streak = |([x, y], way, light): Object| {
            let (x, y) = (x + shift[0], y + shift[1]);
            ([x, y], [x + 0.9 * way[0], y + 0.9 * way[1]], light)
        };
        let picture = scene.frame(shift, &objects(frame).into_iter().map(streak).collect::<Vec<_>>());
        let components = detector.components(&picture);
        found.extend(tracker.follow(components, frame, frame as i64 * 40_000));
    }
    found.extend(tracker.finish());
    (found, tracker)
}

fn meteor(frame: u64, way: [f64; 2]) -> Option<Object> {
    let step = frame.checked_sub(20).filter(|&step| step < 14)? as f64;
    let light = 1600.0 * (1.0 - ((step - 6.5) / 7.5).powi(2));
    Some(([120.0 + way[0] * step, 90.0 + way[1] * step], way, light))
}

/// One meteor, seen by a camera that moves so, which crosses the view in this way (pixels a frame).
fn is_found(view: &dyn Fn(u64) -> [f64; 2], way: [f64; 2]) {
    let (found, tracker) = tracks(70, view, |frame| meteor(frame, way));
    let meteors: Vec<&Track> = found.iter().filter(|track| track.kind == Kind::Meteor).collect();
    assert_eq!(meteors.len(), 1, "{found:?}");
    let track = meteors[0];
    assert!(
        (19..=21).contains(&track.begin()) && (32..=34).contains(&track.end()),
        "{} {}",
        track.begin(),
        track.end()
    );
    let speed = way[0].hypot(way[1]);
    assert!((track.speed - speed).abs() < 0.3, "{}", track.speed);
    let mut sum = 0.0;
    for sighting in &track.sightings {
        let Some(([x, y], ..)) = meteor(sighting.frame, way) else { continue };
        let shift = view(sighting.frame);
        let middle = [x + 0.45 * way[0] + shift[0], y + 0.45 * way[1] + shift[1]];
        let off = (sighting.x - middle[0]).hypot(sighting.y - middle[1]);
        sum += off / track.sightings.len() as f64;
        assert!(off < 2.5, "{off} px: {sighting:?}");
    }
    assert!(sum < 0.4, "{sum} px");
    assert!(tracker.unregistered() <= 1);
}

fn drift(frame: u64) -> [f64; 2] {
    [-2.4 * frame as f64, 1.3 * frame as f64]
}

#[test]
fn a_meteor_is_found_while_the_view_drifts() {
    is_found(&drift, [4.0, 2.0]);
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_meteor_is_found_whatever_the_view_does() {
    let jump = |frame: u64| if frame < 26 { [0.0; 2] } else { [14.0, -9.0] };
    let shake =
        |frame: u64| [1.5 * ((frame * 37 % 11) as f64 / 5.0 - 1.0), 1.5 * ((frame * 53 % 13) as f64 / 6.0 - 1.0)];
    let views: [&dyn Fn(u64) -> [f64; 2]; 4] = [&|_| [0.0; 2], &drift, &shake, &jump];
    for view in views {
        for way in [[4.0, 2.0], [16.0, 7.0]] {
            is_found(view, way);
        }
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn what_lasts_or_is_slow_is_no_meteor() {
    let satellite = |frame: u64| Some(([30.0 + 2.2 * frame as f64, 60.0 + 0.8 * frame as f64], [2.2, 0.8], 900.0));
    let (found, _) = tracks(120, |_| [0.0; 2], satellite);
    assert!(found.iter().all(|track| track.kind != Kind::Meteor), "{found:?}");
    assert!(found.iter().any(|track| track.kind == Kind::Satellite), "{found:?}");
    // On the sensor, while the sky moves.
    let drift = |frame: u64| [-2.0 * frame as f64, 0.7 * frame as f64];
    let hot = |frame: u64| Some(([200.0 - drift(frame)[0], 150.0 - drift(frame)[1]], [0.0; 2], 700.0));
    let (found, _) = tracks(60, drift, hot);
    assert!(found.iter().all(|track| track.kind != Kind::Meteor), "{found:?}");
}

#[test]
fn meteors_side_by_side_are_no_plane() {
    let beside = |([x, y], way, light): Object| ([x - 9.0, y + 24.0], way, light);
    let kinds = |objects: &dyn Fn(u64) -> Vec<Object>| {
        let (found, _) = tracks(70, |_| [0.0; 2], objects);
        found.iter().map(|track| track.kind).collect::<Vec<_>>()
    };
    let both = |frame: u64, late: u64| {
        let meteor = |frame: u64| meteor(frame, [5.0, 2.0]);
        meteor(frame).into_iter().chain(frame.checked_sub(late).and_then(meteor).map(beside)).collect()
    };
    for late in [0, 2] {
        assert_eq!(kinds(&|frame| both(frame, late)), [Kind::Meteor; 2], "{late} frames later");
    }
    // Two lights that neither flare up nor go out.
    let steady = |frame: u64| both(frame, 0).into_iter().map(|(at, way, _)| (at, way, 900.0)).collect();
    assert_eq!(kinds(&steady), [Kind::Plane; 2]);
}

#[test]
fn a_star_that_noise_moves_stays_one_star() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut tracker = Tracker::new(Size::new(480, 320).unwrap(), 25.0);
    for frame in 0..2000 {
        let spot = |star: u32| {
            let off = if random.f32() < 0.02 { 1.6 } else { 0.3 * random.f32() };
            let turn = std::f32::consts::TAU * random.f32();
            let (x, y) = (30.0 + 50.0 * (star % 9) as f32, 30.0 + 50.0 * (star / 9) as f32);
            Component {
                x: x + off * turn.cos(),
                y: y + off * turn.sin(),
                light: 200.0,
                strength: 2.0,
                ..Component::default()
            }
        };
        let spots: Vec<Component> = (0..50).map(spot).collect();
        tracker.follow(&spots, frame, 0).for_each(drop);
    }
    assert_eq!(tracker.stars(), 50);
}

#[test]
fn components_that_are_none_do_no_harm() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut tracker = Tracker::new(Size::new(480, 320).unwrap(), 25.0);
    for frame in 0..300 {
        let number = |random: &mut fastrand::Rng, usual: f32| match random.u32(0..40) {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::MAX,
            3 => -1e9,
            4 => 0.0,
            _ => usual,
        };
        let spot = |star: usize| {
            let (x, y) = (30.0 + 50.0 * (star % 9) as f32 + 2.0 * (frame % 8) as f32, 30.0 + 50.0 * (star / 9) as f32);
            let random = &mut random;
            Component {
                x: number(random, x),
                y: number(random, y),
                light: number(random, 200.0),
                peak: number(random, 30.0),
                strength: number(random, 2.0),
                xx: number(random, 1.0),
                yy: number(random, 1.0),
                xy: number(random, 0.0),
                pixels: random.u32(0..9),
                left: random.u16(..),
                right: random.u16(..),
                top: random.u16(..),
                bottom: random.u16(..),
            }
        };
        let spots: Vec<Component> = (0..50).map(spot).collect();
        tracker.follow(&spots, frame, frame as i64).for_each(drop);
    }
    tracker.finish().for_each(drop);
}

#[test]
fn a_repeated_frame_splits_no_track() {
    let size = Size::new(480, 320).unwrap();
    let mut scene = Scene::new(480, 320, 160);
    let mut detector = Detector::new(size, Detection::default());
    let mut tracker = Tracker::new(size, 25.0);
    let (mut found, mut last) = (Vec::new(), Vec::new());
    for frame in 0..70 {
        let streak =
            meteor(frame, [5.0, 2.0]).map(|(at, way, light)| (at, [at[0] + 4.5, at[1] + 1.8], light * way[0] / way[0]));
        let picture = scene.frame([0.0; 2], streak.as_slice());
        if frame != 27 {
            last = detector.components(&picture).to_vec();
        }
        found.extend(tracker.follow(&last, frame, frame as i64));
    }
    found.extend(tracker.finish());
    let meteors: Vec<&Track> = found.iter().filter(|track| track.kind == Kind::Meteor).collect();
    assert_eq!(meteors.len(), 1, "{found:?}");
    assert!(meteors[0].begin() <= 21 && meteors[0].end() >= 32 && meteors[0].sightings[7].is_repeated, "{meteors:?}");
}

#[test]
#[ignore = "long: part of .ci/run"]
fn noise_alone_has_no_tracks() {
    let (found, tracker) = tracks(100, |_| [0.0; 2], |_| None);
    assert!(found.iter().all(|track| track.kind == Kind::Noise), "{found:?}");
    assert!(tracker.stars() > 20);
    // Not even stars.
    let size = Size::new(480, 320).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let mut tracker = Tracker::new(size, 25.0);
    for frame in 0..100 {
        let spot = |random: &mut fastrand::Rng| Component {
            x: random.f32() * 480.0,
            y: random.f32() * 320.0,
            light: 30.0 + 20.0 * random.f32(),
            strength: 2.0,
            ..Component::default()
        };
        let spots: Vec<Component> = (0..frame % 300).map(|_| spot(&mut random)).collect();
        assert!(tracker.follow(&spots, frame, 0).all(|track| track.kind != Kind::Meteor));
    }
    assert!(tracker.finish().all(|track| track.kind != Kind::Meteor));
}
