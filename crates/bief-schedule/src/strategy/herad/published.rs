//! The published pseudo-code, line by line. Tasks and cells are numbered from 1 as they are there, the kinds
//! are 0 and 1. It is read as its authors' program does: the start of Algorithm 7, line 6, is 1, the loop of
//! Algorithm 9, line 4, ends at 2, since Algorithm 8 covers 1, and a sequential stage has one core only.

use std::ops::Range;

use super::Chosen;
use crate::period::Period;
use crate::profile::Profile;

pub(super) struct Solution {
    pub(super) period: Period,
    pub(super) acc: [u32; 2],
    pub(super) stages: Vec<Chosen>,
}

#[derive(Clone, Copy)]
struct Cell {
    period: Period,
    prev: [u32; 2],
    acc: [u32; 2],
    kind: usize,
    start: usize,
}

struct Matrix<'a> {
    profile: &'a Profile,
    cells: Vec<Vec<Vec<Cell>>>,
}

/// Algorithm 7.
pub(super) fn herad(profile: &Profile, [b, l]: [u32; 2]) -> Solution {
    let infinite = Period::from(u64::MAX);
    let cell = Cell { period: infinite, prev: [0, 0], acc: [0, 0], kind: 1, start: 1 };
    let tasks = profile.tasks().len();
    let mut matrix = Matrix { profile, cells: vec![vec![vec![cell; l as usize + 1]; b as usize + 1]; tasks + 1] };
    matrix.single_stage(1, b, l);
    for e in 2..=tasks {
        matrix.single_stage(e, b, l);
        for ub in 0..=b {
            for ul in 0..=l {
                if ub != 0 || ul != 0 {
                    matrix.recompute(e, ub, ul);
                }
            }
        }
    }
    let cell = matrix.at(tasks, b, l);
    let stages = matrix.extract(tasks, b, l);
    Solution { period: cell.period, acc: cell.acc, stages }
}

/// Algorithm 10.
fn better(current: Cell, new: Cell) -> Cell {
    let ([cb, cl], [nb, nl]) = (current.acc, new.acc);
    let equal = current.period == new.period;
    if current.period > new.period || equal && cl < nl && cb > nb || equal && cl >= nl && cb >= nb {
        new
    } else {
        current
    }
}

impl Matrix<'_> {
    fn at(&self, j: usize, b: u32, l: u32) -> Cell {
        self.cells[j][b as usize][l as usize]
    }

    fn set(&mut self, j: usize, b: u32, l: u32, cell: Cell) {
        self.cells[j][b as usize][l as usize] = cell;
    }

    /// Where every task can run.
    fn stage_period(&self, tasks: Range<usize>, cores: u32, kind: usize) -> Period {
        self.profile.stage_period(tasks, cores, kind).unwrap()
    }

    /// Algorithm 8.
    fn single_stage(&mut self, t: usize, b: u32, l: u32) {
        let replicable = self.profile.is_replicable(0..t);
        for rl in 1..=l {
            let period = self.stage_period(0..t, rl, 1);
            let acc = [0, if replicable { rl } else { 1 }];
            self.set(t, 0, rl, Cell { period, acc, ..self.at(t, 0, rl) });
        }
        for rb in 1..=b {
            let period = self.stage_period(0..t, rb, 0);
            let acc = [if replicable { rb } else { 1 }, 0];
            for rl in 0..=l {
                let little = self.at(t, 0, rl);
                let cell = if period < little.period {
                    Cell { period, acc, kind: 0, ..self.at(t, rb, rl) }
                } else {
                    Cell { period: little.period, acc: little.acc, ..self.at(t, rb, rl) }
                };
                self.set(t, rb, rl, cell);
            }
        }
    }

    /// Algorithm 9.
    fn recompute(&mut self, j: usize, b: u32, l: u32) {
        let mut c = self.at(j, b, l);
        if l > 0 {
            c = better(c, self.at(j, b, l - 1));
        }
        if b > 0 {
            c = better(c, self.at(j, b - 1, l));
        }
        for i in (2..=j).rev() {
            let replicable = self.profile.is_replicable(i - 1..j);
            for u in 1..=if replicable { b } else { b.min(1) } {
                let before = self.at(i - 1, b - u, l);
                let period = before.period.max(self.stage_period(i - 1..j, u, 0));
                let [ab, al] = before.acc;
                c = better(c, Cell { period, acc: [ab + u, al], prev: [b - u, al], kind: 0, start: i });
            }
            for u in 1..=if replicable { l } else { l.min(1) } {
                let before = self.at(i - 1, b, l - u);
                let period = before.period.max(self.stage_period(i - 1..j, u, 1));
                let [ab, al] = before.acc;
                c = better(c, Cell { period, acc: [ab, al + u], prev: [ab, l - u], kind: 1, start: i });
            }
        }
        self.set(j, b, l, c);
    }

    /// Algorithm 11, without the merge.
    fn extract(&self, tasks: usize, b: u32, l: u32) -> Vec<Chosen> {
        let (mut e, mut rb, mut rl) = (tasks, b, l);
        let mut stages = Vec::new();
        while e >= 1 {
            let Cell { start: s, acc: [mut ub, mut ul], kind, prev: [pb, pl], .. } = self.at(e, rb, rl);
            if s > 1 {
                let [cb, cl] = self.at(s - 1, pb, pl).acc;
                (ub, ul) = (ub - cb, ul - cl);
            }
            stages.insert(0, Chosen { tasks: s - 1..e, cores: if kind == 0 { ub } else { ul }, kind });
            (e, rb, rl) = (s - 1, pb, pl);
        }
        stages
    }
}
