//! A machine as a tree of text, in which equal parts are told once.

use bief::machine::{Machine, thread_list};

use super::parts::{Part, Parts, facts, own_caches};
use crate::text::{COLUMNS, kind_name, printable, shortened, wrapped};

/// The longest name of a kind, in characters.
const LONGEST_NAME: usize = 24;

/// The tree, ended without a line break; with devices beside the machine, by name.
pub(super) fn text(machine: &Machine, devices: Vec<(String, String)>) -> String {
    let mut facts = facts(machine);
    facts.extend(devices);
    let facts: Vec<(String, String)> =
        facts.into_iter().map(|(name, value)| (shortened(&name, LONGEST_NAME), value)).collect();
    let width = facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, value) in facts {
        hang(&mut lines, &format!("{name:<width$}  "), &value);
    }
    lines.push(String::new());
    let parts = Parts::of(machine);
    if !parts.caches.is_empty() {
        lines.push(format!("machine: {}", parts.caches));
    }
    let branches = folded(parts.packages.iter().map(|part| branch(machine, part)));
    branches.iter().for_each(|branch| branch.write(0, &mut lines));
    if !machine.notes().is_empty() {
        lines.push(String::new());
    }
    for note in machine.notes() {
        hang(&mut lines, "note: ", &printable(note));
    }
    lines.join("\n")
}

/// Adds a text in lines that begin below each other, the first behind `start`.
fn hang(lines: &mut Vec<String>, start: &str, text: &str) {
    let indent = start.chars().count();
    for (index, line) in wrapped(text, COLUMNS - indent).iter().enumerate() {
        lines.push(if index == 0 { format!("{start}{line}") } else { format!("{:indent$}{line}", "") });
    }
}

/// Parts that are alike, and what they are made of.
#[derive(Clone)]
struct Branch {
    /// How many of them are in each of the parts that they are in.
    count: usize,
    name: String,
    numbers: Vec<usize>,
    /// What is told of each.
    details: String,
    branches: Vec<Branch>,
}

fn branch(machine: &Machine, part: &Part) -> Branch {
    let is_cluster = part.parts.is_empty();
    let branches = if is_cluster {
        folded(part.cores.clone().map(|core| of_core(machine, core)))
    } else {
        folded(part.parts.iter().map(|part| branch(machine, part)))
    };
    let mut details = String::new();
    if is_cluster && machine.kinds().len() > 1 {
        let kind = &machine.kinds()[machine.cores()[part.cores.start].kind];
        details = format!(" of {} cores", kind_name(&printable(&kind.name)));
    }
    if !part.caches.is_empty() {
        details += &format!(": {}", part.caches);
    }
    Branch { count: 1, name: part.level.name().to_owned(), numbers: vec![part.number], details, branches }
}

fn of_core(machine: &Machine, core: usize) -> Branch {
    let threads = &machine.cores()[core].threads;
    let name = match threads.len() {
        1 => "core".to_owned(),
        several => format!("core with {several} threads,"),
    };
    let caches = own_caches(machine, core);
    let details = if caches.is_empty() { String::new() } else { format!(": {caches}") };
    Branch { count: 1, name, numbers: threads.clone(), details, branches: Vec::new() }
}

/// The branches, those that are alike as one.
fn folded(branches: impl Iterator<Item = Branch>) -> Vec<Branch> {
    let mut folded: Vec<Branch> = Vec::new();
    for branch in branches {
        match folded.iter_mut().find(|other| other.is_like(&branch)) {
            Some(like) => {
                like.count += 1;
                like.take_numbers(branch);
            }
            None => folded.push(branch),
        }
    }
    folded
}

impl Branch {
    /// Whether nothing but the numbers differ; how many there are of a branch outside another does not count.
    fn is_like(&self, other: &Self) -> bool {
        let inside = |one: &Self, other: &Self| one.count == other.count && one.is_like(other);
        self.name == other.name
            && self.details == other.details
            && self.branches.len() == other.branches.len()
            && self.branches.iter().zip(&other.branches).all(|(one, other)| inside(one, other))
    }

    /// Takes the numbers of one that is alike, and of all that is in it.
    fn take_numbers(&mut self, other: Self) {
        self.numbers.extend(other.numbers);
        self.branches.iter_mut().zip(other.branches).for_each(|(own, other)| own.take_numbers(other));
    }

    fn write(&self, indent: usize, lines: &mut Vec<String>) {
        let count = if self.count == 1 { String::new() } else { format!("{} x ", self.count) };
        let numbers = thread_list(self.numbers.iter().copied()).replace(',', ", ");
        let text = format!("{} {numbers}{}", self.name, self.details);
        hang(lines, &format!("{:indent$}{count}", ""), &text);
        self.branches.iter().for_each(|branch| branch.write(indent + 2, lines));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_are_told_once() {
        let expected = "\
processor  Intel(R) Core(TM) Ultra 9 185H
cores      16, 22 hardware threads
big        6, up to 5100 MHz
medium     8, up to 3800 MHz
little     2, up to 2500 MHz

package 0
  node 0: L3 24 MiB of 14 cores
    cluster 0 of big cores
      6 x core with 2 threads, 0-11: L1d 48 KiB, L1i 64 KiB, L2 2 MiB
    2 x cluster 1-2 of medium cores: L2 2 MiB
      4 x core 12-19: L1d 32 KiB, L1i 64 KiB
    cluster 3 of little cores: L2 2 MiB
      2 x core 20-21: L1d 32 KiB, L1i 64 KiB";
        assert_eq!(text(&super::super::x7_ti(), Vec::new()), expected);
    }

    #[test]
    fn a_large_machine_fits_the_page() {
        let shown = text(&super::super::server(2, 2, 4, 8), Vec::new());
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert!(shown.contains("quota      processor time of 2.50 cores: plan for 2 cpu\n"), "{shown}");
        let tree = "\
2 x package 0-1
  2 x node 0-3
    4 x cluster 0-15: L3 32 MiB
      8 x core with 2 threads, 0-255

note: It is none.";
        assert!(shown.contains(tree), "{shown}");
        // Parts that differ are told apart, however many lines that takes.
        let here = super::super::server(1, 2, 4, 8);
        let every_third: Vec<String> = (0..64).step_by(3).map(|core| core.to_string()).collect();
        let file = format!("[[kind]]\nname = \"slow\"\ncores = \"{}\"\nspeed = 0.5\n", every_third.join(","));
        let shown = text(&Machine::emulated(&file, &here).unwrap(), Vec::new());
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert!(shown.contains("slow       22, slowed down to 0.5 of that"), "{shown}");
        assert!(shown.contains("      3 x core with 2 threads, 0, 3, 6"), "{shown}");
    }
}
