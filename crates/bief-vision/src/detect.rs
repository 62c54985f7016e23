//! From a picture to its components: sky, regions, and which of them are kept.

use fearless_simd::dispatch;

use crate::component::Component;
use crate::label::Labeller;
use crate::region::Region;
use crate::size::Size;
use crate::sky::{Sky, Threshold};

/// What becomes a component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// Where a pixel stops being sky.
    pub threshold: Threshold,
    /// The least grey level that one pixel has; 0 for any. FMDT's second threshold.
    pub strong: u8,
    /// The fewest pixels.
    pub least: u32,
    /// The most pixels.
    pub most: u32,
}

impl Default for Detection {
    fn default() -> Self {
        Self { threshold: Threshold::default(), strong: 0, least: 3, most: 20_000 }
    }
}

impl Detection {
    /// FMDT's way and its defaults: pixels from 55 on, one of 80, 3 to 1000 of them.
    pub fn fixed() -> Self {
        Self { threshold: Threshold::Fixed(55), strong: 80, least: 3, most: 1000 }
    }

    #[inline(always)]
    fn keeps(self, region: &Region) -> bool {
        region.max >= self.strong
    }

    /// Adds the components of a picture; `skies` is room. Inlined, as converting sums to numbers, which is most of it, is faster with
    /// vector instructions.
    #[inline(always)]
    fn describe(self, labeller: &Labeller, skies: &mut Vec<(f32, f32)>, components: &mut Vec<Component>) {
        // `extend` would not be inlined, and a region that an iterator hands over would go through memory.
        if let Threshold::Fixed(_) = self.threshold {
            for totals in labeller.totals() {
                let region = totals.region();
                if self.keeps(&region) {
                    components.push(Component::of_pixels(&region, self.strong.max(1)));
                }
            }
            return;
        }
        // All skies first: each of these steps waits long for what it needs itself, but not for the one before.
        skies.clear();
        for totals in labeller.totals() {
            let (x, y) = totals.region().middle();
            skies.push(labeller.sky().at(x, y));
        }
        for (totals, &sky) in labeller.totals().zip(&*skies) {
            let region = totals.region();
            if self.keeps(&region) {
                components.push(Component::over(&region, sky));
            }
        }
    }
}

/// Finds the components of pictures of one size. It keeps its room from picture to picture, and nothing else.
///
/// ```
/// use bief_vision::{Detection, Detector, Size};
///
/// let mut picture = vec![20; 64 * 48];
/// for (pixel, light) in [(64 * 10 + 29, 60), (64 * 10 + 30, 100), (64 * 10 + 31, 60)] {
///     picture[pixel] += light;
/// }
/// let mut detector = Detector::new(Size::new(64, 48)?, Detection::default());
/// let star = detector.components(&picture)[0];
/// assert!((star.x - 30.0).abs() < 0.01 && (star.y - 10.0).abs() < 0.01 && star.light > 219.0);
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Detector {
    detection: Detection,
    labeller: Labeller,
    skies: Vec<(f32, f32)>,
    components: Vec<Component>,
}

impl Detector {
    /// For pictures of this size.
    pub fn new(size: Size, detection: Detection) -> Self {
        let labeller = Labeller::new(Sky::new(size, detection.threshold));
        Self { detection, labeller, skies: Vec::new(), components: Vec::new() }
    }

    /// The components of a picture, in the order in which their first pixels are read, row by row.
    ///
    /// # Panics
    /// A picture of another size.
    pub fn components(&mut self, picture: &[u8]) -> &[Component] {
        let Self { detection, labeller, skies, components } = self;
        labeller.label(picture, detection.least, detection.most);
        components.clear();
        dispatch!(labeller.sky().level(), _ => detection.describe(labeller, skies, components));
        components
    }

    /// The regions of a picture that are components.
    pub fn regions(&mut self, picture: &[u8]) -> impl Iterator<Item = Region> {
        self.labeller.label(picture, self.detection.least, self.detection.most);
        self.labeller.regions().filter(|region| self.detection.keeps(region))
    }
}
