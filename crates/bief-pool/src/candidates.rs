//! Which tasks of a chain file may leave.

use std::ops::Range;
use std::sync::Arc;

use bief::chain::BuiltChain;
use bief::{ChainFile, Error, Registry, Result};

use crate::cut::Cut;
use crate::wires::WireKind;

impl Cut {
    /// The longest run of tasks that may leave, of one frame each by itself: they remember nothing, name nothing that is on their machine,
    /// and their wires mean the same everywhere. Of several as long it is the first.
    ///
    /// The chain is built for a trial: no input is used up, no output touched.
    ///
    /// # Errors
    /// A chain that cannot be built; one of which no task may leave, with the reason for each.
    pub fn longest(file: &ChainFile, registry: &Arc<Registry>) -> Result<Self> {
        let BuiltChain { chain, wires, pieces } = file.trial(registry, 1)?;
        let program = chain.build()?;
        let replicable: Vec<bool> = program.tasks().map(|(_, replicable)| replicable).collect();
        let mut reasons = Vec::new();
        let tasks: Vec<_> = file.tasks().collect();
        let mut may = Vec::new();
        for (place, (task, piece)) in tasks.iter().zip(&pieces).enumerate() {
            let reason = match Self::new(file, place..place + 1, registry) {
                Err(error) => Some(error.message().to_owned()),
                Ok(_) if !replicable[piece.clone()].iter().all(|replicable| *replicable) => {
                    Some(format!("task `{}` remembers something from frame to frame", task.name()))
                }
                Ok(_) => None,
            };
            may.push(reason.is_none());
            reasons.extend(reason);
        }
        let mut runs: Vec<Range<usize>> = Vec::new();
        for first in 0..may.len() {
            let end = first + may[first..].iter().take_while(|may| **may).count();
            runs.extend((first + 1..=end).map(|end| first..end));
        }
        runs.sort_by_key(|run| (std::cmp::Reverse(run.len()), run.start));
        for run in runs {
            let cut = Self::new(file, run, registry)?;
            let kinds = cut.inputs().iter().map(|wire| WireKind::of(&wires[wire])).collect::<Result<Vec<_>>>();
            // What is a source or a sink brings nothing elsewhere.
            let is_between = !cut.inputs().is_empty() && !cut.outputs().is_empty();
            match kinds.and_then(|kinds| cut.segment(kinds, Arc::clone(registry))) {
                Ok(_) if is_between => return Ok(cut),
                Ok(_) => {}
                Err(error) => reasons.push(error.message().to_owned()),
            }
        }
        reasons.dedup();
        Err(Error::new(format!("no task may leave this machine: {}", reasons.join("; "))))
    }

    /// The tasks from one name to another, both of them.
    ///
    /// # Errors
    /// A name that no task has; those of [`new`](Self::new), of [`chain`](Self::chain) and of building a trial.
    pub fn between(file: &ChainFile, first: &str, last: &str, registry: &Arc<Registry>) -> Result<Self> {
        let place = |name: &str| {
            file.tasks().position(|task| task.name() == name).ok_or_else(|| {
                let names: Vec<_> = file.tasks().map(|task| format!("`{}`", task.name())).collect();
                Error::new(format!("there is no task `{name}`: there are {}", names.join(", ")))
            })
        };
        let (first_place, last_place) = (place(first)?, place(last)?);
        if last_place < first_place {
            return Err(Error::new(format!("task `{first}` is behind `{last}`: write {last}..{first}")));
        }
        let cut = Self::new(file, first_place..last_place + 1, registry)?;
        let wires = file.trial(registry, 1)?.wires;
        let kinds = cut.inputs().iter().map(|wire| WireKind::of(&wires[wire])).collect::<Result<_>>()?;
        cut.segment(kinds, Arc::clone(registry))?;
        Ok(cut)
    }
}
