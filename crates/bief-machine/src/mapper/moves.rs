//! Which of the threads that should go to another kind of core go now. Nothing here asks the system.

use std::cmp::Ordering;

/// A thread that the mapping wants on another kind of core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wish {
    pub(super) thread: usize,
    /// Where it is, if it is on a kind already, and where it should go.
    pub(super) from: Option<usize>,
    pub(super) to: usize,
    pub(super) demand: f64,
    /// For how many intervals it has been where it is.
    pub(super) stayed: u64,
}

/// What is granted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'r> {
    /// How fast each kind is.
    pub(super) capacities: &'r [f64],
    /// The share of a core's time from which on a thread that is busy for so long is taken to need more.
    pub(super) saturated: f64,
    /// Whether a thread goes to a slower kind because that is enough for it, and not only to make room.
    pub(super) saves_power: bool,
    pub(super) residency: u32,
    pub(super) most: usize,
}

impl Rules<'_> {
    fn goes_down(&self, wish: &Wish) -> bool {
        wish.from.is_some_and(|from| self.capacities[wish.to] < self.capacities[from])
    }

    /// Whether the thread gets what it needs where it is.
    fn is_met(&self, wish: &Wish) -> bool {
        wish.from.is_some_and(|from| wish.demand < self.saturated * self.capacities[from])
    }

    /// Threads that get more first, those that need the most before others; of those that make room, those that need the
    /// least.
    fn order(&self, one: &Wish, other: &Wish) -> Ordering {
        let down = self.goes_down(one);
        let demands = if down { one.demand.total_cmp(&other.demand) } else { other.demand.total_cmp(&one.demand) };
        down.cmp(&self.goes_down(other)).then(demands).then(one.thread.cmp(&other.thread))
    }

    /// Keeps of these those that are granted, in their order: of threads that have been where they are for the residency, no more
    /// than the most. A thread goes to a faster kind if it does not get what it needs where it is, and to a slower one if
    /// that saves power or if there are more threads on its kind than should be: `surplus` tells for each kind by how many, and is told of
    /// what is granted. What is not granted now is wished again if it still should be.
    pub(super) fn grant(&self, wishes: &mut Vec<Wish>, surplus: &mut [i64]) {
        wishes.retain(|wish| wish.from.is_none() || wish.stayed >= u64::from(self.residency));
        wishes.sort_unstable_by(|one, other| self.order(one, other));
        wishes.retain(|wish| {
            let is_granted = match wish.from {
                Some(from) if self.goes_down(wish) => self.saves_power || surplus[from] > 0,
                _ => !self.is_met(wish),
            };
            if is_granted {
                surplus[wish.to] += 1;
                wish.from.inspect(|&from| surplus[from] -= 1);
            }
            is_granted
        });
        wishes.truncate(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { capacities: &[1.0, 0.4], saturated: 0.95, saves_power: false, residency: 2, most: 9 };

    fn wish(thread: usize, from: Option<usize>, to: usize, demand: f64) -> Wish {
        Wish { thread, from, to, demand, stayed: 9 }
    }

    fn granted(rules: Rules, wishes: &[Wish], mut surplus: [i64; 2]) -> Vec<usize> {
        let mut wishes = wishes.to_vec();
        rules.grant(&mut wishes, &mut surplus);
        wishes.iter().map(|wish| wish.thread).collect()
    }

    #[test]
    fn who_has_just_come_stays() {
        let since = |thread, stayed| Wish { stayed, ..wish(thread, Some(1), 0, 1.0) };
        let wishes = [since(0, 1), since(1, 2), Wish { stayed: 0, ..wish(2, None, 0, 1.0) }];
        assert_eq!(granted(RULES, &wishes, [0, 0]), [1, 2]);
        assert_eq!(granted(Rules { residency: 1000, ..RULES }, &wishes, [0, 0]), [2], "who is nowhere has not come");
    }

    #[test]
    fn who_needs_the_most_goes_first_and_then_who_makes_room() {
        let wishes = [
            wish(0, Some(0), 1, 0.2),
            wish(1, Some(1), 0, 0.7),
            wish(2, Some(1), 0, 0.9),
            wish(3, Some(0), 1, 0.1),
            wish(4, None, 1, 0.1),
        ];
        assert_eq!(granted(RULES, &wishes, [0, 0]), [2, 1, 4, 3, 0]);
        assert_eq!(granted(Rules { most: 3, ..RULES }, &wishes, [0, 0]), [2, 1, 4]);
    }

    #[test]
    fn nobody_moves_where_all_get_what_they_need() {
        let wishes = [wish(0, Some(1), 0, 0.3), wish(1, Some(0), 1, 0.2)];
        assert!(granted(RULES, &wishes, [0, 0]).is_empty());
        // One that should not be there goes all the same, and one whom a slower core is enough for where power is saved.
        assert_eq!(granted(RULES, &wishes, [1, -1]), [1]);
        assert_eq!(granted(Rules { saves_power: true, ..RULES }, &wishes, [0, 0]), [1]);
        // Needed is what the slow core may not have.
        assert_eq!(granted(RULES, &[wish(0, Some(1), 0, 0.39), wish(1, Some(0), 1, 0.2)], [0, 0]), [0, 1]);
    }

    #[test]
    fn no_more_make_room_than_there_are_that_come() {
        let mut wishes = vec![wish(0, None, 0, 1.0)];
        wishes.extend((1..5).map(|thread| wish(thread, Some(0), 1, 0.1 * thread as f64)));
        assert_eq!(granted(RULES, &wishes, [0, 0]), [0, 1]);
        // One who may not come yet needs no room.
        wishes[0] = Wish { stayed: 0, ..wish(0, Some(1), 0, 1.0) };
        assert!(granted(RULES, &wishes, [0, 0]).is_empty());
    }
}
