//! Which of the threads that should go to another kind of core go now. Nothing here asks the system.

/// A thread that the mapping wants on another kind of core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wish {
    pub(super) thread: usize,
    pub(super) kind: usize,
    pub(super) demand: f64,
    /// For how many intervals it has been where it is; `None` for one that is on no kind yet.
    pub(super) stayed: Option<u64>,
}

/// Keeps of these those that are granted: threads that have been on their kind for `residency` intervals, no more than
/// `most`, those that need the most first. What is not granted now is wished again if it still should be.
pub(super) fn grant(wishes: &mut Vec<Wish>, residency: u32, most: usize) {
    wishes.retain(|wish| wish.stayed.is_none_or(|stayed| stayed >= u64::from(residency)));
    if wishes.len() > most {
        wishes.sort_unstable_by(|a, b| b.demand.total_cmp(&a.demand).then(a.thread.cmp(&b.thread)));
        wishes.truncate(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(wishes: &[(f64, Option<u64>)], residency: u32, most: usize) -> Vec<usize> {
        let wish = |(thread, &(demand, stayed))| Wish { thread, kind: 0, demand, stayed };
        let mut wishes: Vec<Wish> = wishes.iter().enumerate().map(wish).collect();
        grant(&mut wishes, residency, most);
        let mut threads: Vec<usize> = wishes.iter().map(|wish| wish.thread).collect();
        threads.sort_unstable();
        threads
    }

    #[test]
    fn who_has_just_come_stays() {
        let wishes = [(0.5, Some(1)), (0.5, Some(2)), (0.5, None), (0.5, Some(900))];
        assert_eq!(granted(&wishes, 2, 9), [1, 2, 3]);
        assert_eq!(granted(&wishes, 0, 9), [0, 1, 2, 3]);
        assert_eq!(granted(&wishes, 1000, 9), [2], "who is nowhere has not come");
    }

    #[test]
    fn who_needs_the_most_goes_first() {
        let wishes = [(0.1, Some(9)), (0.9, Some(9)), (0.5, None), (0.9, Some(9)), (1.0, Some(0))];
        assert_eq!(granted(&wishes, 1, 1), [1]);
        assert_eq!(granted(&wishes, 1, 3), [1, 2, 3]);
        assert_eq!(granted(&wishes, 1, 4), [0, 1, 2, 3]);
        assert_eq!(granted(&[], 1, 1), [0; 0]);
    }
}
