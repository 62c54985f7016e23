//! How many cores of each kind.

use std::{fmt, iter, slice, vec};

/// How many cores of each kind a stage has, in the order of the kinds' names.
///
/// Schedules have up to hundreds of stages, with cores of one or very few kinds each: these lie in one short list.
///
/// ```
/// use bief_schedule::Stage;
///
/// let cores = Stage::mixed(1, [("little", 1), ("big", 2)]).cores;
/// assert_eq!((cores.len(), cores.get("big"), cores.get("gpu")), (2, Some(&2), None));
/// assert!(cores.keys().eq(["big", "little"]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct CoresByKind(Vec<(String, u32)>);

impl CoresByKind {
    /// So many of one kind.
    pub(crate) fn of_one(kind: String, cores: u32) -> Self {
        Self(vec![(kind, cores)])
    }

    /// How many kinds there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no kind.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many cores of a kind there are; `None` where the kind is not named.
    pub fn get(&self, kind: &str) -> Option<&u32> {
        self.iter().find(|&(name, _)| name == kind).map(|(_, cores)| cores)
    }

    /// Whether the kind is named.
    pub fn contains_key(&self, kind: &str) -> bool {
        self.get(kind).is_some()
    }

    /// Each kind with its cores.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&String, &u32)> + Clone {
        self.into_iter()
    }

    /// The kinds.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &String> + Clone {
        self.iter().map(|(kind, _)| kind)
    }

    /// The cores of each kind.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &u32> + Clone {
        self.iter().map(|(_, cores)| cores)
    }
}

impl<'a> IntoIterator for &'a CoresByKind {
    type Item = (&'a String, &'a u32);
    type IntoIter = iter::Map<slice::Iter<'a, (String, u32)>, fn(&'a (String, u32)) -> Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(kind, cores)| (kind, cores))
    }
}

impl IntoIterator for CoresByKind {
    type Item = (String, u32);
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// What is said last of a kind counts.
impl<K: Into<String>> FromIterator<(K, u32)> for CoresByKind {
    fn from_iter<I: IntoIterator<Item = (K, u32)>>(cores: I) -> Self {
        let mut all: Vec<(String, u32)> = Vec::new();
        for (kind, cores) in cores {
            let kind = kind.into();
            match all.binary_search_by(|(name, _)| name.cmp(&kind)) {
                Ok(place) => all[place].1 = cores,
                Err(place) => all.insert(place, (kind, cores)),
            }
        }
        Self(all)
    }
}

impl fmt::Debug for CoresByKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}
