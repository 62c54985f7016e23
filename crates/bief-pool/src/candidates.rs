//! Which tasks of a chain file may leave.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bief::chain::BuiltChain;
use bief::raw::DynWire;
use bief::{ChainFile, Error, Registry, Result};

use crate::cut::Cut;
use crate::wires::WireKind;

/// The tasks of a chain file, of which some may leave. The chain is built for a trial: no input is used up, no output touched.
#[derive(Debug)]
pub struct Candidates<'f> {
    file: &'f ChainFile,
    registry: &'f Arc<Registry>,
    wires: BTreeMap<String, DynWire>,
    /// The tasks of the program that each task of the file became.
    pieces: Vec<Range<usize>>,
    /// Why a task may not leave, of those that may not.
    reasons: Vec<Option<String>>,
}

impl<'f> Candidates<'f> {
    /// Looks at each task.
    ///
    /// # Errors
    /// A chain that cannot be built.
    pub fn of(file: &'f ChainFile, registry: &'f Arc<Registry>) -> Result<Self> {
        let BuiltChain { chain, wires, pieces } = file.trial(registry, 1)?;
        let program = chain.build()?;
        let replicable: Vec<bool> = program.tasks().map(|(_, replicable)| replicable).collect();
        let reason = |(place, (task, piece)): (usize, (bief::chain::FileTask<'_>, &Range<usize>))| match Cut::new(
            file,
            place..place + 1,
            registry,
        ) {
            Err(error) => Some(error.message().to_owned()),
            Ok(_) if !replicable[piece.clone()].iter().all(|replicable| *replicable) => {
                Some(format!("task `{}` remembers something from frame to frame", task.name()))
            }
            Ok(_) => None,
        };
        let reasons = file.tasks().zip(&pieces).enumerate().map(reason).collect();
        Ok(Self { file, registry, wires, pieces, reasons })
    }

    /// Tasks that leave together, by their places in the file.
    ///
    /// # Errors
    /// Tasks that may not leave; wires that cannot; tasks that nothing reaches, or of which nothing comes back.
    pub fn cut(&self, tasks: Range<usize>) -> Result<Cut> {
        let reason = self.reasons.get(tasks.clone()).into_iter().flatten().flatten().next();
        if let Some(reason) = reason {
            return Err(Error::new(reason.clone()));
        }
        let cut = Cut::new(self.file, tasks, self.registry)?;
        if cut.inputs().is_empty() || cut.outputs().is_empty() {
            return Err(Error::new("a source or a sink brings nothing elsewhere"));
        }
        let kinds = cut.inputs().iter().map(|wire| WireKind::of(&self.wires[wire])).collect::<Result<_>>()?;
        cut.segment(kinds, Arc::clone(self.registry))?;
        Ok(cut)
    }

    /// The tasks of the file that became these tasks of the program, and no others.
    pub fn of_program(&self, tasks: Range<usize>) -> Option<Range<usize>> {
        let first = self.pieces.iter().position(|piece| piece.start == tasks.start && !piece.is_empty())?;
        let last = self.pieces.iter().rposition(|piece| piece.end == tasks.end && !piece.is_empty())?;
        (first <= last).then_some(first..last + 1)
    }

    /// The longest run of tasks that may leave: they remember nothing, name nothing that is on their machine, and their wires mean the
    /// same everywhere. Of several as long it is the first.
    ///
    /// # Errors
    /// A chain of which no task may leave, with the reason for each.
    pub fn longest(&self) -> Result<Cut> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for first in 0..self.reasons.len() {
            let end = first + self.reasons[first..].iter().take_while(|reason| reason.is_none()).count();
            runs.extend((first + 1..=end).map(|end| first..end));
        }
        runs.sort_by_key(|run| (std::cmp::Reverse(run.len()), run.start));
        let mut reasons: Vec<String> = self.reasons.iter().flatten().cloned().collect();
        for run in runs {
            match self.cut(run) {
                Ok(cut) => return Ok(cut),
                Err(error) => reasons.push(error.message().to_owned()),
            }
        }
        reasons.dedup();
        Err(Error::new(format!("no task may leave this machine: {}", reasons.join("; "))))
    }

    /// The tasks from one name to another, both of them.
    ///
    /// # Errors
    /// A name that no task has; those of [`cut`](Self::cut).
    pub fn between(&self, first: &str, last: &str) -> Result<Cut> {
        let place = |name: &str| {
            self.file.tasks().position(|task| task.name() == name).ok_or_else(|| {
                let names: Vec<_> = self.file.tasks().map(|task| format!("`{}`", task.name())).collect();
                Error::new(format!("there is no task `{name}`: there are {}", names.join(", ")))
            })
        };
        let (first_place, last_place) = (place(first)?, place(last)?);
        if last_place < first_place {
            return Err(Error::new(format!("task `{first}` is behind `{last}`: write {last}..{first}")));
        }
        self.cut(first_place..last_place + 1)
    }
}
