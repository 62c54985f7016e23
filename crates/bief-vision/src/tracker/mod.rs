//! What moves over the sky, from the components of each picture in turn.
//!
//! 1. The motion of the view since the last picture, from stars that are known.
//! 2. Components where stars are, or where the sensor has hot pixels, are explained.
//! 3. Paths go on: what moves is looked for where a line through its sightings leads.
//! 4. Three components in a row that nothing explains begin a path, if they lie on a line at equal distances.
//! 5. Paths that have ended become objects; pieces of one object are put together; an object gets its kind once nothing more is to
//!    come of it.

mod birth;
mod classify;
mod fixed;
mod large;
mod object;
mod path;
mod register;
mod restless;

use crate::component::Component;
use crate::grid::Grid;
use crate::motion::{Rigid, apart, length, square_apart};
use crate::size::Size;
use birth::Past;
use fixed::{FIXED, Fixture, Fixtures};
use large::Large;
use object::Objects;
use path::Path;
use register::Registration;
use restless::Restless;

pub use classify::Kind;
pub use object::{Area, Track};
pub use path::Sighting;

/// How far from its place a star may be seen, in pixels.
const STAR_REACH: f64 = 1.5;
/// How far from its place a hot pixel may be seen.
const SENSOR_REACH: f64 = 0.8;
/// A component as bright as so many times the star in it, and more, is more than that star.
const MORE_THAN_STAR: f32 = 2.2;
/// Frames in a row that a star may be hidden in something larger.
const HIDDEN: u32 = 6;
/// Pixels by which the view jumps, and by which it moves, at least.
const JUMP: f64 = 8.0;
const MOVED: f64 = 0.3;
/// Frames in a row in which a path may not be seen.
const MISSES: u32 = 3;
/// Of what nothing explains, so many are brighter than clutter is, and one more for so many pixels.
const CLUTTER: usize = 2;
const PIXELS_OF_CLUTTER: usize = 400_000;
/// Sightings from which on a path is no chance.
const SURE: usize = 5;
/// The most grey levels of a component that may be looked for in another: beyond it they are of different things.
const MOST_RATIO: f32 = 12.0;

/// Follows what moves. Give it the components of each picture, in order; tracks come out when their kind is sure.
///
/// ```
/// use bief_vision::{Component, Kind, Size, Tracker};
///
/// let spot = |x: f32, y: f32, light: f32| Component {
///     x, y, light, peak: light / 6.0, strength: 5.0, xx: 1.5, yy: 1.5, pixels: 12, ..Component::default()
/// };
/// let mut tracker = Tracker::new(Size::new(640, 480)?, 25.0);
/// let mut tracks = Vec::new();
/// for frame in 0..60 {
///     let mut seen: Vec<Component> = (0..20).map(|star| spot(30.0 * star as f32, (star * 97 % 480) as f32, 300.0)).collect();
///     if (20..32).contains(&frame) {
///         let step = (frame - 20) as f32;
///         seen.push(spot(100.0 + 5.0 * step, 200.0 + 3.0 * step, 900.0 - 20.0 * (step - 6.0).powi(2)));
///     }
///     tracks.extend(tracker.follow(&seen, frame, frame as i64 * 40_000));
/// }
/// tracks.extend(tracker.finish());
/// assert_eq!(tracks.len(), 1);
/// assert_eq!((tracks[0].kind, tracks[0].sightings.len()), (Kind::Meteor, 12));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tracker {
    size: Size,
    grid: Grid,
    stars: Fixtures,
    hot: Fixtures,
    restless: Restless,
    past: Past,
    paths: Vec<Path>,
    objects: Objects,
    registration: Registration,
    motion: Rigid,
    /// Of the sky, on the whole: what the motion is most likely next time.
    drift: Rigid,
    moved: bool,
    frames: u64,
    unregistered: u64,
    found: Vec<Option<usize>>,
    large: Large,
    notes: Vec<Note>,
    width_of_stars: f32,
    clutter: f32,
    lights: Vec<f32>,
}

/// What is known of a component of this frame.
#[derive(Debug, Clone, Copy, Default)]
struct Note {
    /// The light of the known stars in it, and its first moments.
    star_light: f32,
    star_x: f32,
    star_y: f32,
    /// It was seen at its place before, if only once.
    is_familiar: bool,
    is_hot: bool,
    /// It was seen at its place on the sensor before, if only once.
    is_on_sensor: bool,
    is_taken: bool,
    /// Its number among those that nothing explains.
    loose: Option<u32>,
}

impl Note {
    /// Nothing like it was at its place before.
    fn is_unknown(&self) -> bool {
        !(self.is_taken | self.is_hot | self.is_familiar)
    }
}

impl Tracker {
    /// For pictures of this size, so many of them in a second.
    pub fn new(size: Size, frames_per_second: f64) -> Self {
        let (width, height) = (size.width(), size.height());
        Self {
            size,
            grid: Grid::new(width, height),
            stars: Fixtures::default(),
            hot: Fixtures::default(),
            restless: Restless::new(width, height),
            past: Past::new(width, height),
            paths: Vec::new(),
            objects: Objects::new(size, frames_per_second),
            registration: Registration::default(),
            motion: Rigid::STILL,
            drift: Rigid::STILL,
            moved: false,
            frames: 0,
            unregistered: 0,
            found: Vec::new(),
            large: Large::new(width, height),
            notes: Vec::new(),
            width_of_stars: 1.2,
            clutter: 0.0,
            lights: Vec::new(),
        }
    }

    /// The size of its pictures.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The motion of the view before the latest picture.
    pub fn motion(&self) -> Rigid {
        self.motion
    }

    /// Pictures whose motion could not be told.
    pub fn unregistered(&self) -> u64 {
        self.unregistered
    }

    /// Stars that are known.
    pub fn stars(&self) -> usize {
        self.stars.known.iter().filter(|star| star.seen >= FIXED).count()
    }

    /// Takes the components of the next picture: its number, which rises, and its time in microseconds. Answers the tracks that are
    /// complete.
    pub fn follow(&mut self, components: &[Component], frame: u64, time_us: i64) -> impl Iterator<Item = Track> {
        self.grid.fill(components.iter().map(place));
        self.notes.clear();
        self.notes.resize(components.len(), Note::default());
        self.see_motion(components);
        self.stars.next(frame, &self.motion);
        self.hot.next(frame, &Rigid::STILL);
        self.see_stars(components);
        self.go_on(components, frame, time_us);
        self.see_hot(components);
        self.begin(components, frame, time_us);
        self.learn(components);
        self.end(frame);
        self.frames += 1;
        self.objects.complete(frame, &self.paths, self.width_of_stars);
        self.objects.take()
    }

    /// The tracks that are left, at the end of the video.
    pub fn finish(&mut self) -> impl Iterator<Item = Track> {
        for path in self.paths.drain(..) {
            self.objects.add(path, true);
        }
        self.objects.complete(u64::MAX, &[], self.width_of_stars);
        self.objects.take()
    }

    fn see_motion(&mut self, components: &[Component]) {
        let found = self.registration.find(components, &self.grid, self.drift);
        if self.frames > 0 && found.is_none() {
            self.unregistered += 1;
        }
        let motion = found.unwrap_or(self.drift);
        let known = self.stars.known.iter().filter(|star| star.seen > 2 * FIXED && star.missed < 3);
        let known = known.map(|star| (star.light, star.at));
        let motion = self.registration.find_known(known, components, &self.grid, motion).unwrap_or(motion);
        let (turn, [x, y]) = (motion.turn(), motion.shift());
        let middle = [0.5 * self.size.width() as f64, 0.5 * self.size.height() as f64];
        // A jump tells nothing of the next motion.
        if apart(motion.apply(middle), self.drift.apply(middle)) < JUMP {
            let follow = |known: f64, new: f64| known + 0.2 * (new - known);
            let [known_x, known_y] = self.drift.shift();
            self.drift = Rigid::new(follow(self.drift.turn(), turn), [follow(known_x, x), follow(known_y, y)]);
        }
        self.moved = apart(motion.apply(middle), middle) > MOVED || turn.abs() * middle[0] > MOVED;
        self.motion = motion;
        self.past.follow(&motion);
        self.paths.iter_mut().for_each(|path| path.follow(&motion));
        self.objects.follow(&motion);
    }

    /// Finds known stars among the components, and moves them to where they are seen.
    fn see_stars(&mut self, components: &[Component]) {
        self.stars.find(&self.grid, STAR_REACH, &mut self.found);
        self.large.fill(components);
        let (mut widths, mut wide) = (0.0, 0.0);
        for index in 0..self.stars.known.len() {
            let star = self.stars.known[index];
            let Some(seen) = self.found[index].or_else(|| self.hidden_in(components, &star)) else {
                self.stars.known[index].missed += 1;
                continue;
            };
            let component = &components[seen];
            let note = &mut self.notes[seen];
            let is_near = square_apart(place(component), star.at) < STAR_REACH * STAR_REACH;
            // The component is a star that is known for longer. What noise has moved from its place would be a second star there for ever.
            let is_other = is_near && note.is_familiar;
            note.is_familiar |= is_near;
            if star.seen >= FIXED {
                note.star_light += star.light;
                note.star_x += star.light * star.at[0] as f32;
                note.star_y += star.light * star.at[1] as f32;
            }
            if is_near && star.seen + 1 == FIXED - 1 {
                self.past.explain(star.origin);
            }
            if !is_other && component.light > MORE_THAN_STAR * star.light && star.seen >= FIXED {
                // Something else is there, too: it does not tell where the star is.
                self.stars.known[index].missed = 0;
                continue;
            }
            if is_near && !is_other {
                self.stars.seen(index, place(component), component.light);
                if component.strength > 2.0 && component.peak < 150.0 {
                    widths += component.axes().1;
                    wide += 1.0;
                }
            } else {
                self.stars.known[index].missed += 1;
            }
        }
        if wide >= 5.0 {
            self.width_of_stars += 0.1 * (widths / wide - self.width_of_stars);
        }
    }

    /// The component whose box a known star lies in: a larger one, that has taken it in.
    fn hidden_in(&self, components: &[Component], star: &Fixture) -> Option<usize> {
        if star.seen < FIXED || star.missed > HIDDEN {
            return None;
        }
        self.large.around(star.at, components, &self.grid)
    }

    /// Finds paths again.
    fn go_on(&mut self, components: &[Component], frame: u64, time_us: i64) {
        // Who has been seen longest has the first choice.
        self.paths.sort_by_key(|path| std::cmp::Reverse(path.sightings.len()));
        for path in &mut self.paths {
            let (at, velocity) = path.predict(frame);
            let speed = length(velocity);
            let gap = (frame - path.last().frame) as f64;
            let young = if path.sightings.len() < SURE { 1.3 } else { 1.0 };
            let (along, across) = (young * (1.2 + 0.25 * speed + 0.5 * (gap - 1.0)), young * (1.2 + 0.06 * speed));
            let direction = if speed > 0.0 { [velocity[0] / speed, velocity[1] / speed] } else { [1.0, 0.0] };
            let light = path.last().light;
            let mut best: Option<(f64, usize, [f64; 2], f32)> = None;
            self.grid.near(at, along.max(across) + 6.0, |index| {
                let (component, note) = (&components[index], &self.notes[index]);
                if note.is_taken {
                    return;
                }
                let Some((seen, own)) = without_stars(component, note) else { return };
                if own > MOST_RATIO * light || light > MOST_RATIO * own {
                    return;
                }
                let (dx, dy) = (seen[0] - at[0], seen[1] - at[1]);
                let (ahead, aside) = (dx * direction[0] + dy * direction[1], dy * direction[0] - dx * direction[1]);
                let off = (ahead / along).powi(2) + (aside / across).powi(2);
                let cost = off + 0.3 * f64::from((own / light).ln().abs());
                if off <= 1.0 && best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, index, seen, own));
                }
            });
            if let Some((_, index, seen, own)) = best {
                let is_restless = self.restless.is_restless(place(&components[index]));
                let component = Component { light: own, ..components[index] };
                path.sightings.push(Sighting::of(&component, seen, frame, time_us, is_restless).over(self.clutter));
                path.missed = 0;
                self.notes[index].is_taken = true;
                continue;
            }
            // A repeated frame shows it where it was.
            let last = *path.last();
            let was = self.grid.nearest([last.x, last.y], 0.7).filter(|&index| {
                let ratio = components[index].light / last.light;
                !self.notes[index].is_taken && (0.75..1.35).contains(&ratio) && gap == 1.0 && speed > 1.5
            });
            if let Some(index) = was {
                let at = place(&components[index]);
                let sighting = Sighting::of(&components[index], at, frame, time_us, false);
                path.sightings.push(Sighting { is_repeated: true, ..sighting });
                self.notes[index].is_taken = true;
                continue;
            }
            path.missed += 1;
        }
    }

    /// Finds what stays on the sensor while the sky moves.
    fn see_hot(&mut self, components: &[Component]) {
        self.hot.find(&self.grid, SENSOR_REACH, &mut self.found);
        for index in 0..self.hot.known.len() {
            match self.found[index] {
                Some(seen) if !self.notes[seen].is_on_sensor => {
                    self.notes[seen].is_hot = self.hot.known[index].seen >= FIXED - 1;
                    self.notes[seen].is_on_sensor = true;
                    let was = self.hot.known[index];
                    self.hot.seen(index, place(&components[seen]), components[seen].light);
                    if was.seen + 1 == FIXED {
                        self.past.explain(was.origin);
                    }
                }
                _ => self.hot.known[index].missed += 1,
            }
        }
    }

    /// Begins paths from what nothing explains.
    fn begin(&mut self, components: &[Component], frame: u64, time_us: i64) {
        self.past.next(frame, time_us, self.clutter);
        let is_crowd = self.notes.iter().filter(|note| note.is_unknown()).count() > birth::MOST;
        for (index, component) in components.iter().enumerate() {
            let note = &self.notes[index];
            if note.is_taken || note.is_hot {
                continue;
            }
            let Some((at, light)) = without_stars(component, note) else { continue };
            if note.is_familiar && note.star_light == 0.0 {
                continue;
            }
            let [x, y] = at.map(|side| side as f32);
            let is_restless = self.restless.is_restless(at);
            let component = Component { x, y, light, ..*component };
            self.notes[index].loose = self.past.push(index as u32, component, is_restless, is_crowd);
        }
        self.past.begin(&mut self.paths, &mut self.notes);
        self.see_clutter(components);
    }

    /// Learns how bright what nothing explains is, without it being anything.
    fn see_clutter(&mut self, components: &[Component]) {
        self.lights.resize(components.len(), 0.0);
        let mut unknown = 0;
        // Without a branch: which ones are unknown cannot be foretold.
        for (component, note) in components.iter().zip(&self.notes) {
            self.lights[unknown] = component.light;
            unknown += usize::from(note.is_unknown() & (note.star_light == 0.0));
        }
        self.lights.truncate(unknown);
        let brightest = CLUTTER + self.size.pixels() / PIXELS_OF_CLUTTER;
        let light = match self.lights.len() > brightest {
            true => *self.lights.select_nth_unstable_by(brightest, |a, b| b.total_cmp(a)).1,
            false => 0.0,
        };
        // At first all stars are unknown.
        if self.frames > 3 {
            let share = (1.0 / (self.frames - 3) as f32).max(0.1);
            self.clutter += share * (light - self.clutter);
        }
    }

    /// Remembers what is new, and where things flicker.
    fn learn(&mut self, components: &[Component]) {
        self.restless.fade();
        for (component, note) in components.iter().zip(&self.notes) {
            if note.is_taken || note.star_light > 0.0 {
                continue;
            }
            if !note.is_familiar {
                self.stars.add(place(component), component.light, note.loose);
                if self.frames > 3 {
                    self.restless.add(place(component));
                }
            }
            if self.moved && !note.is_on_sensor {
                self.hot.add(place(component), component.light, note.loose);
            }
        }
        let (width, height) = (self.size.width() as f64, self.size.height() as f64);
        self.stars.forget(width, height);
        self.hot.forget(width, height);
    }

    /// Ends the paths that are not seen any more.
    fn end(&mut self, frame: u64) {
        let (width, height) = (self.size.width() as f64, self.size.height() as f64);
        let objects = &mut self.objects;
        self.paths.retain_mut(|path| {
            let ([x, y], _) = path.predict(frame + 1);
            let is_outside = !(-4.0..width + 4.0).contains(&x) || !(-4.0..height + 4.0).contains(&y);
            let misses = if path.sightings.len() < SURE { 1 } else { MISSES };
            let is_over = path.missed > misses || path.missed > 0 && is_outside;
            if is_over {
                let sightings = std::mem::take(&mut path.sightings);
                objects.add(Path { sightings, missed: path.missed }, false);
            }
            !is_over
        });
    }
}

fn place(component: &Component) -> [f64; 2] {
    [component.x.into(), component.y.into()]
}

fn is_in(component: &Component, [x, y]: [f64; 2], margin: f64) -> bool {
    let within =
        |place: f64, first: u16, last: u16| (f64::from(first) - margin..=f64::from(last) + margin).contains(&place);
    within(x, component.left, component.right) && within(y, component.top, component.bottom)
}

/// Place and light of what a component is beyond the stars in it; `None` if it is no more than they are.
fn without_stars(component: &Component, note: &Note) -> Option<([f64; 2], f32)> {
    if note.star_light <= 0.0 {
        return Some((place(component), component.light));
    }
    if component.light < MORE_THAN_STAR * note.star_light {
        return None;
    }
    let own = component.light - note.star_light;
    let x = (component.light * component.x - note.star_x) / own;
    let y = (component.light * component.y - note.star_y) / own;
    let place = [f64::from(x), f64::from(y)];
    is_in(component, place, 2.0).then_some((place, own))
}
