//! What tracking needs to know of a region: place, light, form.

use serde::{Deserialize, Serialize};

use crate::region::Region;
use crate::sky::Sky;

/// A spot of light in a picture. Places are in pixels from the middle of the first one, x to the right and y down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Component {
    /// Middle of its light.
    pub x: f32,
    /// Middle of its light.
    pub y: f32,
    /// Light: the sum of grey levels above the sky.
    pub light: f32,
    /// The brightest pixel above the sky, in grey levels.
    pub peak: f32,
    /// The brightest pixel above the sky, over what was asked for there: 1 or more.
    pub strength: f32,
    /// Variance of its light along x, in square pixels.
    pub xx: f32,
    /// Variance of its light along y.
    pub yy: f32,
    /// Covariance of its light.
    pub xy: f32,
    /// Pixels.
    pub pixels: u32,
    /// First column.
    pub left: u16,
    /// Last column.
    pub right: u16,
    /// First row.
    pub top: u16,
    /// Last row.
    pub bottom: u16,
}

impl Component {
    /// Its fields in their order, little endian: for whoever sends components elsewhere.
    ///
    /// ```
    /// use bief_vision::Component;
    ///
    /// let spot = Component { x: 17.5, y: 3.25, peak: 80.0, pixels: 70_000, bottom: 9, ..Component::default() };
    /// assert_eq!(Component::from_bytes(spot.to_bytes()), Some(spot));
    /// assert_eq!(Component::from_bytes([255; 44]), None);
    /// ```
    pub fn to_bytes(self) -> [u8; 44] {
        let Self { x, y, light, peak, strength, xx, yy, xy, pixels, left, right, top, bottom } = self;
        let mut bytes = [0; 44];
        let (words, halves) = bytes.split_at_mut(36);
        let numbers = [x, y, light, peak, strength, xx, yy, xy].map(f32::to_le_bytes);
        let numbers = numbers.into_iter().chain([pixels.to_le_bytes()]);
        words.as_chunks_mut().0.iter_mut().zip(numbers).for_each(|(word, number)| *word = number);
        let sides = [left, right, top, bottom].map(u16::to_le_bytes);
        halves.as_chunks_mut().0.iter_mut().zip(sides).for_each(|(half, side)| *half = side);
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) gave; `None` where a number is not finite, or the last column or row comes before the first.
    pub fn from_bytes(bytes: [u8; 44]) -> Option<Self> {
        let (words, halves) = bytes.split_at(36);
        let (words, _) = words.as_chunks::<4>();
        let mut numbers = [0.0; 8];
        numbers.iter_mut().zip(words).for_each(|(number, word)| *number = f32::from_le_bytes(*word));
        let mut sides = [0; 4];
        sides.iter_mut().zip(halves.as_chunks().0).for_each(|(side, half)| *side = u16::from_le_bytes(*half));
        let ([x, y, light, peak, strength, xx, yy, xy], [left, right, top, bottom]) = (numbers, sides);
        let pixels = u32::from_le_bytes(words[8]);
        let component = Self { x, y, light, peak, strength, xx, yy, xy, pixels, left, right, top, bottom };
        let is_sound = numbers.iter().all(|number| number.is_finite()) && left <= right && top <= bottom;
        is_sound.then_some(component)
    }

    /// The spot that a region is, in this sky: its place is the middle of its light.
    pub fn of_light(region: &Region, sky: &Sky) -> Self {
        let (x, y) = region.middle();
        Self::over(region, sky.at(x, y))
    }

    /// The same, of a sky with this level, and a light that must be so much brighter.
    #[inline(always)]
    pub(crate) fn over(region: &Region, (level, margin): (f32, f32)) -> Self {
        let Region { pixels, x, y, xx, yy, xy, sum, grey_x, grey_y, grey_xx, grey_yy, grey_xy, .. } = *region;
        let all = [pixels, x, y, xx, yy, xy].map(|sum| sum as f64);
        let grey = [sum, grey_x, grey_y, grey_xx, grey_yy, grey_xy].map(|sum| sum as f64);
        let mut light = [0.0; 6];
        for (light, (grey, all)) in light.iter_mut().zip(grey.iter().zip(&all)) {
            *light = grey - f64::from(level) * all;
        }
        // A region that is larger than tiles may have no light on the whole.
        light[0] = light[0].max(1e-3 * all[0]);
        // One division, and not five: they take longer than all else here.
        let per_light = 1.0 / light[0];
        let [_, x, y, xx, yy, xy] = light.map(|light| light * per_light);
        let within = |place: f64, first: u16, last: u16| place.max(first.into()).min(last.into());
        let (x, y) = (within(x, region.left, region.right), within(y, region.top, region.bottom));
        let peak = f32::from(region.max) - level;
        Self {
            x: x as f32,
            y: y as f32,
            light: light[0] as f32,
            peak,
            strength: peak / margin.max(f32::MIN_POSITIVE),
            xx: (xx - x * x).max(0.0) as f32,
            yy: (yy - y * y).max(0.0) as f32,
            xy: (xy - x * y) as f32,
            ..Self::within(region)
        }
    }

    /// The spot that a region is where all of its pixels count alike, as FMDT has it. `strong` is the grey level that it has a
    /// strength of 1 from.
    pub fn of_pixels(region: &Region, strong: u8) -> Self {
        let count = region.pixels as f64;
        let (x, y) = (region.x as f64 / count, region.y as f64 / count);
        Self {
            x: x as f32,
            y: y as f32,
            light: region.sum as f32,
            peak: f32::from(region.max),
            strength: f32::from(region.max) / f32::from(strong),
            xx: (region.xx as f64 / count - x * x).max(0.0) as f32,
            yy: (region.yy as f64 / count - y * y).max(0.0) as f32,
            xy: (region.xy as f64 / count - x * y) as f32,
            ..Self::within(region)
        }
    }

    #[inline(always)]
    fn within(region: &Region) -> Self {
        Self {
            pixels: region.pixels.min(u64::from(u32::MAX)) as u32,
            left: region.left,
            right: region.right,
            top: region.top,
            bottom: region.bottom,
            ..Self::default()
        }
    }

    /// Standard deviations of its light along its longer and its shorter axis, in pixels.
    pub fn axes(&self) -> (f32, f32) {
        let (mean, half) = (0.5 * (self.xx + self.yy), 0.5 * (self.xx - self.yy));
        let apart = (half * half + self.xy * self.xy).sqrt();
        ((mean + apart).sqrt(), (mean - apart).max(0.0).sqrt())
    }
}
