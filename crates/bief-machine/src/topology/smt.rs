//! Hardware threads of cores (SMT) as places of their own.

use super::arrange::in_order;
use super::{Core, CoreSpec, Machine};

impl Machine {
    /// The kind whose cores have the hardware threads that this kind are, and how many each; `None` for a kind of cores.
    pub(super) fn whole_kind(&self, kind: usize) -> Option<(usize, usize)> {
        let smt = self.kinds[kind].smt.as_ref()?;
        let whole = self.kinds.iter().position(|whole| whole.name == smt.of)?;
        Some((whole, smt.threads as usize))
    }

    /// The same machine with so many places on [hardware threads](CoreSpec::smt) of each kind that `places` tells of: as many cores as
    /// have these, the last of their kind, become a core for each of their threads. What is left works whole.
    ///
    /// ```
    /// use bief_machine::Machine;
    ///
    /// let machine = Machine::from_json(
    ///     r#"{"format": 1, "model": "A board",
    ///         "kinds": [{"name": "cpu"}, {"name": "thread", "smt": {"of": "cpu", "threads": 2}}],
    ///         "cores": [{"threads": [0, 2], "kind": 0, "cluster": 0, "package": 0, "node": 0},
    ///                   {"threads": [1, 3], "kind": 0, "cluster": 0, "package": 0, "node": 0}]}"#,
    /// )?;
    /// let divided = machine.divided(|kind| if kind == "thread" { 2 } else { 1 });
    /// let cores: Vec<_> = divided.cores().iter().map(|core| (&core.threads[..], core.kind)).collect();
    /// assert_eq!(cores, [(&[0, 2][..], 0), (&[1], 1), (&[3], 1)]);
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    pub fn divided(&self, places: impl Fn(&str) -> u32) -> Self {
        if self.kinds.iter().all(|kind| kind.smt.is_none()) {
            return self.clone();
        }
        let mut whole = self.cores.clone();
        let mut caches = self.caches.clone();
        // A cluster is of one kind; the threads of a core are nearest to each other.
        let mut clusters = self.cores.iter().map(|core| core.cluster + 1).max().unwrap_or(0);
        let mut parts: Vec<Core> = Vec::new();
        for kind in 0..self.kinds.len() {
            let Some((of, threads)) = self.whole_kind(kind) else { continue };
            let wanted = (places(&self.kinds[kind].name) as usize).div_ceil(threads);
            let last = (0..self.cores.len()).rev().filter(|&core| self.cores[core].kind == of).take(wanted);
            for core in last {
                let Core { package, node, .. } = whole[core];
                let threads = std::mem::take(&mut whole[core].threads);
                let first = whole.len() + parts.len();
                for cache in caches.iter_mut().filter(|cache| cache.cores.contains(&core)) {
                    cache.cores.extend(first..first + threads.len());
                }
                let part = |thread| Core { threads: vec![thread], kind, cluster: clusters, package, node };
                parts.extend(threads.into_iter().map(part));
                clusters += 1;
            }
        }
        whole.extend(parts);
        let kinds = self.kinds.iter().map(|kind| CoreSpec { smt: None, ..kind.clone() }).collect();
        let (cores, kinds, caches) = in_order(whole, kinds, caches);
        Self { cores, kinds, caches, ..self.clone() }
    }

    /// A machine on which all cores that can be are [divided](Self::divided).
    pub fn all_divided(&self) -> Self {
        self.divided(|_| u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(kind: &str) -> Result<Machine, crate::Error> {
        let core = |number: usize, kind: usize| {
            format!(
                r#"{{"threads": [{number}, {}], "kind": {kind}, "cluster": {kind}, "package": 0, "node": 0}}"#,
                number + 8
            )
        };
        let cores: Vec<String> = (0..4).map(|number| core(number, number / 2)).collect();
        Machine::from_json(&format!(
            r#"{{"format": 1, "model": "m", "kinds": [{{"name": "big"}}, {{"name": "little"}}, {kind}], "cores": [{}],
                "caches": [{{"level": 1, "holds": "data", "cores": [1]}}, {{"level": 3, "holds": "both", "cores": [0, 1, 2, 3]}}]}}"#,
            cores.join(", ")
        ))
    }

    #[test]
    fn a_core_becomes_a_core_for_each_of_its_threads() {
        let machine = board(r#"{"name": "half", "smt": {"of": "big", "threads": 2}}"#).unwrap();
        assert_eq!((machine.count(2), machine.platform().cores("half")), (4, 4));
        assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
        let divided = machine.divided(|kind| u32::from(kind == "half"));
        let names: Vec<(Vec<usize>, &str)> =
            divided.cores().iter().map(|core| (core.threads.clone(), &*divided.kinds()[core.kind].name)).collect();
        let little = |thread: usize| (vec![thread, thread + 8], "little");
        assert_eq!(names, [(vec![0, 8], "big"), (vec![1], "half"), (vec![9], "half"), little(2), little(3)]);
        let of = |level: u8| divided.caches().iter().find(|cache| cache.level == level).unwrap().cores.clone();
        assert_eq!((of(1), of(3)), (vec![1, 2], vec![0, 1, 2, 3, 4]));
        assert_eq!(Machine::from_json(&divided.to_json()).unwrap(), divided);
        assert_eq!(machine.all_divided().cores().len(), 6);
        assert_eq!(machine.divided(|_| 0).cores(), machine.cores());
    }

    #[test]
    fn threads_that_cores_do_not_have_are_refused() {
        for (kind, said) in [
            (r#"{"name": "half", "smt": {"of": "huge", "threads": 2}}"#, "no kind of whole cores `huge`"),
            (r#"{"name": "half", "smt": {"of": "big", "threads": 4}}"#, "a core of `big` has 2 hardware threads"),
        ] {
            let error = board(kind).unwrap_err().to_string();
            assert!(error.contains("kinds[2].smt") && error.contains(said), "{error}");
        }
    }

    #[cfg(feature = "toml")]
    #[test]
    fn a_file_lets_cores_have_the_threads_of_others() {
        let plain = board(r#"{"name": "half", "smt": {"of": "big", "threads": 2}}"#).unwrap().divided(|_| 0);
        let of = |smt: &str| {
            Machine::emulated(
                &format!(
                    "[[kind]]\nname = 'a'\ncores = '0,8,1'\n[[kind]]\nname = 'b'\ncores = '2-3'\nspeed = 0.5\n{smt}"
                ),
                &plain,
            )
        };
        let machine = of("smt = 'c'\nthread_speed = 0.5").unwrap();
        let kinds: Vec<_> = machine.kinds().iter().map(|kind| (&*kind.name, kind.speed)).collect();
        assert_eq!(kinds, [("a", 1.0), ("b", 0.5), ("c", 0.25)]);
        assert_eq!((machine.count(1), machine.count(2)), (2, 4));
        let joined = of("smt = 'c'\nthreads = 2").unwrap();
        assert_eq!((joined.count(1), joined.count(2)), (1, 4));
        assert_eq!(joined.cores()[2].threads, [2, 3, 10, 11]);
        for (smt, said) in [
            ("smt = 'a'", "two kinds `a`"),
            ("smt = 'b'", "two kinds `b`"),
            ("threads = 2", "name the kind that they are"),
            ("smt = 'c'\nthreads = 3", "cannot stand for cores of 3 threads"),
            ("smt = 'c'\nthread_speed = 1.5", "must be above 0 and at most 1"),
            ("smt = 'c='", "`smt`"),
        ] {
            let error = of(smt).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
