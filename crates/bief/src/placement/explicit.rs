//! Places as a person tells them; the grammar is described at [`Policy`](super::Policy).

use std::fmt;

use super::{PlacedStage, StageSlots, all_threads};
use crate::error::{Error, Result, counted};
use crate::machine::{Core, Machine, thread_list};

/// Explicit places, one list per stage; parsed with [`Policy`](super::Policy).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    text: String,
    /// For each stage, for each replica, what it may run on.
    stages: Vec<Vec<Vec<Item>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Threads(usize, usize),
    Core(usize),
    Cluster(usize),
    Package(usize),
    Node(usize),
    Kind(String),
    All,
}

/// More hardware threads than any machine has.
const MOST: usize = 1 << 16;

impl Places {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let place = |place: &str| place.split(',').map(|item| Item::parse(item.trim(), text)).collect();
        let stage = |stage: &str| stage.split(';').map(place).collect();
        let stages = text.split('|').map(stage).collect::<Result<_>>()?;
        Ok(Self { text: text.trim().to_owned(), stages })
    }

    pub(super) fn check(&self, machine: &Machine) -> Result<()> {
        let mut items = self.stages.iter().flatten().flatten();
        items.try_for_each(|item| self.threads(std::slice::from_ref(item), machine).map(drop))
    }

    pub(super) fn place(&self, machine: &Machine, stages: &[StageSlots]) -> Result<Vec<PlacedStage>> {
        if self.stages.len() != stages.len() {
            let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
            return Err(Error::build(format!(
                "`{}` places {}, the pipeline has {}: {}",
                self.text,
                counted(self.stages.len(), "stage"),
                stages.len(),
                names.join(" | ")
            )));
        }
        let placed = self.stages.iter().zip(stages).map(|(places, stage)| {
            let sets = places.iter().map(|items| self.threads(items, machine)).collect::<Result<Vec<_>>>()?;
            let threads = match <[Vec<usize>; 1]>::try_from(sets) {
                Ok([one]) => vec![one; stage.threads],
                Err(sets) if sets.len() == stage.threads => sets,
                Err(sets) => {
                    return Err(Error::build(format!(
                        "`{}` has {} for stage `{}`, which has {}: give one for each, or one for all",
                        self.text,
                        counted(sets.len(), "place"),
                        stage.name,
                        counted(stage.threads, "thread")
                    )));
                }
            };
            Ok(PlacedStage { name: stage.name.clone(), threads })
        });
        placed.collect()
    }

    /// The hardware threads of a list, ascending.
    fn threads(&self, items: &[Item], machine: &Machine) -> Result<Vec<usize>> {
        let mut threads = Vec::new();
        for item in items {
            let found = item.threads(machine);
            if found.is_empty() {
                let there: Vec<&str> = machine.kinds().iter().map(|kind| kind.name.as_str()).collect();
                return Err(Error::build(format!(
                    "`{}`: this process has no `{item}`; it has hardware threads {} and cores of the kind {}",
                    self.text,
                    thread_list(all_threads(machine)),
                    there.join(", ")
                )));
            }
            threads.extend(found);
        }
        threads.sort_unstable();
        threads.dedup();
        Ok(threads)
    }
}

impl Item {
    fn parse(item: &str, whole: &str) -> Result<Self> {
        let number = |digits: &str| digits.trim().parse().ok().filter(|&number: &usize| number < MOST);
        let numbered = |prefix: &str| item.strip_prefix(prefix).and_then(number);
        let range = |(first, last)| Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last);
        let is_name = |name: &str| name.starts_with(char::is_alphabetic) && !name.contains(char::is_whitespace);
        let parsed = if item == "*" {
            Some(Self::All)
        } else if let Some(thread) = number(item) {
            Some(Self::Threads(thread, thread))
        } else if let Some((first, last)) = item.split_once('-').and_then(range) {
            Some(Self::Threads(first, last))
        } else {
            numbered("cluster")
                .map(Self::Cluster)
                .or_else(|| numbered("package").map(Self::Package))
                .or_else(|| numbered("numa").map(Self::Node))
                .or_else(|| numbered("c").map(Self::Core))
                .or_else(|| is_name(item).then(|| Self::Kind(item.to_owned())))
        };
        // A lone word is more likely a policy that is misspelt than a kind of core.
        let lone = matches!(parsed, Some(Self::Kind(_))) && item == whole.trim();
        parsed.filter(|_| !lone || ["big", "medium", "little", "cpu"].contains(&item)).ok_or_else(|| {
            Error::build(format!(
                "placement `{whole}`: `{item}` is neither a policy (loose, guided, packed, distant, dynamic) nor a place: \
                 write for example `0; 1-3 | c2 | cluster0 | package0 | numa1 | little | *`"
            ))
        })
    }

    fn threads(&self, machine: &Machine) -> Vec<usize> {
        let of = |is: &dyn Fn(usize, &Core) -> bool| {
            let cores = machine.cores().iter().enumerate().filter(|(index, core)| is(*index, core));
            cores.flat_map(|(_, core)| core.threads.clone()).collect::<Vec<_>>()
        };
        match self {
            // A range that is not there as a whole is not there.
            &Self::Threads(first, last) => match (first..=last).all(|thread| machine.core_of(thread).is_some()) {
                true => (first..=last).collect(),
                false => Vec::new(),
            },
            Self::Core(number) => of(&|index, _| index == *number),
            Self::Cluster(number) => of(&|_, core| core.cluster == *number),
            Self::Package(number) => of(&|_, core| core.package == *number),
            Self::Node(number) => of(&|_, core| core.node == *number),
            Self::Kind(name) => of(&|_, core| machine.kinds()[core.kind].name == *name),
            Self::All => of(&|_, _| true),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(first, last) if first == last => write!(f, "{first}"),
            Self::Threads(first, last) => write!(f, "{first}-{last}"),
            Self::Core(number) => write!(f, "c{number}"),
            Self::Cluster(number) => write!(f, "cluster{number}"),
            Self::Package(number) => write!(f, "package{number}"),
            Self::Node(number) => write!(f, "numa{number}"),
            Self::Kind(name) => f.write_str(name),
            Self::All => f.write_str("*"),
        }
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use super::super::Policy;
    use super::super::tests::{illustrated, seats};

    fn placed(text: &str, stages: &[(&str, Option<&str>, usize)]) -> Result<Vec<Vec<Vec<usize>>>, String> {
        let placement = text.parse::<Policy>().and_then(|policy| policy.place(&illustrated(), &seats(stages)));
        let placement = placement.map_err(|error| error.to_string())?;
        Ok(placement.stages().iter().map(|stage| stage.threads.clone()).collect())
    }

    #[test]
    fn every_kind_of_place_is_understood() {
        let one = |text: &str| placed(&format!("{text}|*"), &[("a", None, 1), ("b", None, 1)]).unwrap()[0][0].clone();
        assert_eq!(one("3"), [3]);
        assert_eq!(one("4-6"), [4, 5, 6]);
        assert_eq!(one("c0"), [1]);
        assert_eq!(one("cluster3"), [7, 8]);
        assert_eq!(one("package1"), [5, 6, 7, 8]);
        assert_eq!(one("numa0"), [1, 2, 3, 4]);
        assert_eq!(one(" little , 1"), [1, 3, 4, 7, 8]);
        assert_eq!(one("*").len(), 8);
    }

    #[test]
    fn replicas_have_a_place_each_or_one_for_all() {
        let stages = [("a", None, 2), ("b", Some("little"), 3)];
        assert_eq!(placed("1; 2-3 | little", &stages).unwrap(), [vec![vec![1], vec![2, 3]], vec![vec![3, 4, 7, 8]; 3]]);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place() {
        let stages = [("front", None, 1), ("decode", None, 2)];
        let says = |text: &str, part: &str| {
            let error = placed(text, &stages).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        };
        says("1", "places 1 stage, the pipeline has 2: front | decode");
        says("1 | 2; 3; 4", "3 places for stage `decode`, which has 2 threads");
        says("9 | 1", "`9 | 1`: this process has no `9`; it has hardware threads 1-8");
        says("1 | 7-12", "no `7-12`");
        says("1 | c8", "no `c8`");
        says("1 | huge", "no `huge`");
        says("1 | 5-2", "`5-2` is neither");
        says("1 |", "`` is neither");
        says("1 | 99999999999999999999", "is neither");
        says("pakced", "`pakced` is neither a policy");
    }
}
