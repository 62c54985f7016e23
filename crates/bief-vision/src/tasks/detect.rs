//! Components of frames: the task that most of the time goes to, and that may be replicated.

use std::sync::Arc;

use bief::{Error, Figures, Flow, In, OutVar, Result, Task, VarFrame};

use super::read::check_frame;
use crate::component::Component;
use crate::detect::{Detection, Detector};
use crate::size::Size;

/// The most components of a frame: of more, the strongest are kept.
pub const MOST_COMPONENTS: usize = 8192;

/// Finds the components of each frame. It remembers nothing from frame to frame.
///
/// # Sockets
/// - in: `u8`, the pixels of a frame, row by row; of a live frame, 16 bytes behind them that are passed over
/// - out: [`Component`], up to [`MOST_COMPONENTS`] per frame, in the order in which their first pixels are read
///
/// # Errors
/// When it is added: frames of another size.
///
/// # Example
/// ```
/// use bief::{Chain, Flow, source};
/// use bief_vision::{DetectComponents, Detection, Size};
///
/// let mut frame = vec![10; 64 * 64];
/// frame[64 * 20 + 10..64 * 20 + 13].fill(200);
/// let mut chain = Chain::new();
/// let frames = chain.add(source::from_slice(&frame, 64 * 64), ());
/// let components = chain.add(DetectComponents::new(Size::new(64, 64)?, Detection::default(), None)?, &frames);
/// assert_eq!(chain.build()?.run()?.figures.measured("components"), Some(1.0));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DetectComponents {
    size: Size,
    detector: Detector,
    ignored: Option<Arc<[bool]>>,
    found: Vec<Component>,
    frames: u64,
    components: u64,
    crowded: u64,
}

impl DetectComponents {
    /// Finds components in frames of this size; not where `ignored` says so, pixel by pixel.
    ///
    /// # Errors
    /// A mask of another size.
    pub fn new(size: Size, detection: Detection, ignored: Option<Arc<[bool]>>) -> Result<Self> {
        if let Some(mask) = &ignored
            && mask.len() != size.pixels()
        {
            return Err(Error::new(format!("a mask of {} pixels, for frames of {size}", mask.len())));
        }
        let found = Vec::with_capacity(MOST_COMPONENTS);
        let detector = Detector::new(size, detection);
        Ok(Self { size, detector, ignored, found, frames: 0, components: 0, crowded: 0 })
    }
}

impl Task for DetectComponents {
    type In = In<u8>;
    type Out = OutVar<Component>;

    fn lens(&self, pixels: usize) -> Result<usize> {
        check_frame(self.size, pixels).map(|()| MOST_COMPONENTS)
    }

    fn run(&mut self, frame: &[u8], mut components: VarFrame<'_, Component>) -> Result<Flow> {
        let (width, ignored) = (self.size.width(), self.ignored.as_deref());
        let is_seen = |component: &Component| {
            ignored.is_none_or(|ignored| {
                let pixel = component.y.round() as usize * width + component.x.round() as usize;
                !ignored.get(pixel).is_some_and(|&is_ignored| is_ignored)
            })
        };
        self.found.clear();
        self.found.extend(self.detector.components(&frame[..self.size.pixels()]).iter().copied().filter(is_seen));
        if self.found.len() > MOST_COMPONENTS {
            self.crowded += 1;
            self.found.select_nth_unstable_by(MOST_COMPONENTS, |a, b| b.strength.total_cmp(&a.strength));
            self.found.truncate(MOST_COMPONENTS);
            self.found.sort_unstable_by_key(|component| (component.top, component.left));
        }
        components.space()[..self.found.len()].copy_from_slice(&self.found);
        components.set_len(self.found.len())?;
        self.frames += 1;
        self.components += self.found.len() as u64;
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(Self { frames: 0, components: 0, crowded: 0, ..self.clone() })
    }

    fn figures(&self, figures: &mut Figures) {
        figures.level("components", "per frame", self.components as f64 / self.frames as f64, self.frames as f64);
        figures.count("crowded", "frames", self.crowded);
    }
}
