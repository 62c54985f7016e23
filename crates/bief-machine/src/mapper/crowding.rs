//! Whether there are more threads that want to run than cores. Nothing here asks the system.

/// Threads are many where they want more than this share of all cores.
const MANY: f64 = 1.1;
/// They are few again after so many intervals in which they want less than this share.
const FEW: f64 = 0.9;
const CALM: u32 = 20;

/// Tells whether cores are too few, and does not change its mind at every interval.
#[derive(Debug, Default)]
pub(super) struct Crowding {
    is_crowded: bool,
    calm: u32,
}

impl Crowding {
    /// Takes what all threads wanted in an interval, as shares of its time, waits included. Threads that are not more than the cores
    /// never want more than these.
    pub(super) fn update(&mut self, wanted: f64, cores: usize) -> bool {
        let share = wanted / cores as f64;
        self.calm = if share < FEW { self.calm + 1 } else { 0 };
        self.is_crowded = if self.is_crowded { self.calm < CALM } else { share > MANY };
        self.is_crowded
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.is_crowded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_gone_when_it_has_been_for_a_while() {
        let mut crowding = Crowding::default();
        let mut tell = |wanted: f64| crowding.update(wanted, 2);
        assert!(!tell(2.0) && !tell(2.1) && tell(2.3) && tell(1.9));
        for _ in 0..3 {
            // Again and again it is calm for a while, and then it is not.
            assert!((1..CALM).all(|_| tell(1.0)) && tell(1.9));
        }
        assert!((1..CALM).all(|_| tell(1.0)) && !tell(1.0) && !tell(2.1) && tell(2.3));
    }
}
