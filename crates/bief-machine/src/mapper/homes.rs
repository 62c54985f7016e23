//! Where threads may run: what they had, and that for each kind of core. Nothing here asks the system.

use crate::affinity::Mask;

/// The masks of threads: those that they had, and those that they are given in their place.
pub(super) struct Homes {
    /// The hardware threads of each kind.
    kinds: Vec<Mask>,
    homes: Vec<Home>,
}

/// A mask that threads had before they were mapped.
struct Home {
    original: Mask,
    /// What is left of it on each kind: never more. `None` where nothing is.
    of_kind: Vec<Option<Mask>>,
    /// For each kind, whether a thread was given that.
    given: Vec<bool>,
}

impl Homes {
    pub(super) fn new(kinds: Vec<Mask>) -> Self {
        Self { kinds, homes: Vec::new() }
    }

    /// The home of a thread that was found with this mask.
    ///
    /// A thread that is born has the mask of the one that started it. Where that is one which threads were given here, it is not
    /// the one that the new thread would have without: it gets what those had. Where threads that had different masks were
    /// given the same, nobody can tell which of them it comes from, and it gets what all of them had.
    pub(super) fn of(&mut self, mask: &Mask) -> usize {
        let alike = self.homes.iter().filter(|home| home.has(mask)).map(|home| home.original.clone());
        let original = alike.reduce(|all, other| all.and(&other)).unwrap_or_else(|| mask.clone());
        if let Some(home) = self.homes.iter().position(|home| home.original == original) {
            return home;
        }
        let of_kind = self.kinds.iter().map(|kind| Some(kind.and(&original)).filter(|mask| !mask.is_empty()));
        self.homes.push(Home { of_kind: of_kind.collect(), original, given: vec![false; self.kinds.len()] });
        self.homes.len() - 1
    }

    /// What its threads had.
    pub(super) fn original(&self, home: usize) -> &Mask {
        &self.homes[home].original
    }

    /// Notes that a thread was given what is left on a kind.
    pub(super) fn give(&mut self, home: usize, kind: usize) {
        self.homes[home].given[kind] = true;
    }

    /// What its threads are given: on one kind, or what they had.
    pub(super) fn mask(&self, home: usize, kind: Option<usize>) -> &Mask {
        let home = &self.homes[home];
        kind.and_then(|kind| home.of_kind[kind].as_ref()).unwrap_or(&home.original)
    }

    /// The kind that a mask of the home stands for, if it is one of those that its threads were given.
    pub(super) fn kind_of(&self, home: usize, mask: &Mask) -> Option<usize> {
        self.homes[home].kind_of(mask)
    }

    pub(super) fn allows(&self, home: usize, kind: usize) -> bool {
        self.homes[home].of_kind[kind].is_some()
    }

    /// The kinds that its threads may run on.
    pub(super) fn kinds(&self, home: usize) -> impl Iterator<Item = usize> {
        (0..self.kinds.len()).filter(move |&kind| self.allows(home, kind))
    }

    /// Whether there is anything to choose for its threads.
    pub(super) fn has_choice(&self, home: usize) -> bool {
        self.kinds(home).nth(1).is_some()
    }
}

impl Home {
    fn has(&self, mask: &Mask) -> bool {
        self.original == *mask || self.kind_of(mask).is_some()
    }

    fn kind_of(&self, mask: &Mask) -> Option<usize> {
        let mut kinds = self.of_kind.iter().zip(&self.given);
        kinds.position(|(of_kind, &given)| given && of_kind.as_ref() == Some(mask)).filter(|_| self.original != *mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(threads: &[usize]) -> Mask {
        Mask::of(threads).unwrap()
    }

    /// Two kinds of two cores each.
    fn homes() -> Homes {
        Homes::new(vec![mask(&[0, 1]), mask(&[2, 3])])
    }

    /// A home of which both kinds were given.
    fn given(homes: &mut Homes, threads: &[usize]) -> usize {
        let home = homes.of(&mask(threads));
        homes.give(home, 0);
        homes.give(home, 1);
        home
    }

    #[test]
    fn a_thread_is_given_no_more_than_it_had() {
        let mut homes = homes();
        let home = given(&mut homes, &[1, 2, 3, 9]);
        assert_eq!(*homes.mask(home, Some(0)), mask(&[1]));
        assert_eq!(*homes.mask(home, Some(1)), mask(&[2, 3]));
        assert_eq!(*homes.mask(home, None), mask(&[1, 2, 3, 9]), "also what the machine does not know");
        assert!(homes.has_choice(home));
        assert_eq!(homes.kind_of(home, &mask(&[2, 3])), Some(1));
        assert_eq!(homes.kind_of(home, &mask(&[3])), None);
    }

    #[test]
    fn who_may_run_on_one_kind_has_no_choice() {
        let mut homes = homes();
        for only in [&[0, 1][..], &[3], &[9]] {
            let home = given(&mut homes, only);
            assert!(!homes.has_choice(home));
            assert_eq!((homes.mask(home, Some(0)), homes.mask(home, Some(1))), (&mask(only), &mask(only)));
            assert_eq!(homes.kind_of(home, &mask(only)), None, "it had that");
        }
    }

    #[test]
    fn a_child_of_a_mapped_thread_has_what_that_one_had() {
        let mut homes = homes();
        let all = given(&mut homes, &[0, 1, 2, 3]);
        assert_eq!(homes.of(&mask(&[0, 1])), all);
        assert_eq!(homes.of(&mask(&[2, 3])), all);
        assert_eq!(homes.of(&mask(&[0, 1, 2, 3])), all);
        // One that was given to nobody is its own.
        let own = given(&mut homes, &[1, 2]);
        assert_eq!((own == all, homes.original(own)), (false, &mask(&[1, 2])));
        // From here on {1} may be of that one, and {0, 1} cannot.
        assert_eq!(homes.of(&mask(&[1])), own);
        assert_eq!(homes.of(&mask(&[0, 1])), all);
    }

    #[test]
    fn what_was_given_to_nobody_is_its_own() {
        let mut homes = homes();
        let all = homes.of(&mask(&[0, 1, 2, 3]));
        homes.give(all, 1);
        let pinned = homes.of(&mask(&[0, 1]));
        assert_eq!(*homes.original(pinned), mask(&[0, 1]));
        assert_eq!((homes.of(&mask(&[2, 3])), homes.kind_of(all, &mask(&[0, 1]))), (all, None));
        // Given from now on, it is still what one of them had.
        homes.give(all, 0);
        assert_eq!(homes.of(&mask(&[0, 1])), pinned);
    }

    #[test]
    fn in_doubt_a_child_has_what_all_had() {
        let mut homes = homes();
        given(&mut homes, &[0, 1, 2]);
        given(&mut homes, &[0, 1, 3]);
        let both = homes.of(&mask(&[0, 1]));
        assert_eq!(*homes.original(both), mask(&[0, 1]));
        // From whichever of the three it comes.
        assert_eq!(homes.of(&mask(&[0, 1])), both);
    }
}
