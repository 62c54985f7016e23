//! A part of a machine: fewer cores.

use super::{Cache, Core, Machine};

impl Machine {
    /// The same machine with so many cores of each kind at most: those that are nearest to each other, the first ones.
    ///
    /// ```
    /// use bief_machine::Machine;
    ///
    /// let here = Machine::here();
    /// let one = here.with_cores_at_most(|_| 1);
    /// assert_eq!(one.cores().len(), here.kinds().iter().enumerate().filter(|&(kind, _)| here.count(kind) > 0).count());
    /// assert_eq!(one.cores()[0].threads, here.cores()[0].threads);
    /// ```
    #[must_use]
    pub fn with_cores_at_most(&self, most: impl Fn(&str) -> usize) -> Self {
        let mut left: Vec<usize> = self.kinds.iter().map(|kind| most(&kind.name)).collect();
        let stays = |core: &Core| {
            let left = &mut left[core.kind];
            let stays = *left > 0;
            *left = left.saturating_sub(1);
            stays
        };
        let stays: Vec<bool> = self.cores.iter().map(stays).collect();
        let place = |core: usize| stays[..core].iter().filter(|stays| **stays).count();
        let cores = self.cores.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(core, _)| core.clone());
        let cache = |cache: &Cache| {
            let cores = cache.cores.iter().filter(|&&core| stays[core]).map(|&core| place(core)).collect();
            Cache { cores, ..cache.clone() }
        };
        let caches = self.caches.iter().map(cache).filter(|cache| !cache.cores.is_empty());
        Self { cores: cores.collect(), caches: caches.collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_those_of_the_cores_that_stay() {
        let core = |number: usize| {
            format!(
                r#"{{"threads": [{number}], "kind": {}, "cluster": {}, "package": 0, "node": 0}}"#,
                number / 4,
                number / 2
            )
        };
        let cores: Vec<String> = (0..8).map(core).collect();
        let json = format!(
            r#"{{"format": 1, "model": "A board", "kinds": [{{"name": "big"}}, {{"name": "little"}}], "cores": [{}],
                "caches": [{{"level": 2, "holds": "both", "cores": [0, 1]}}, {{"level": 2, "holds": "both", "cores": [2, 3]}},
                           {{"level": 3, "holds": "both", "cores": [0, 1, 2, 3, 4, 5, 6, 7]}}]}}"#,
            cores.join(",")
        );
        let machine = Machine::from_json(&json).unwrap();
        let part = machine.with_cores_at_most(|kind| if kind == "big" { 1 } else { 3 });
        assert_eq!(part.cores().iter().map(|core| core.threads[0]).collect::<Vec<_>>(), [0, 4, 5, 6]);
        let shared: Vec<&[usize]> = part.caches().iter().map(|cache| &cache.cores[..]).collect();
        assert_eq!(shared, [&[0][..], &[0, 1, 2, 3]]);
        assert_eq!(machine.with_cores_at_most(|_| usize::MAX), machine);
    }
}
