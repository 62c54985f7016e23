//! A chain file as what a planner plans.

use super::ChainFile;
use crate::error::Result;
use crate::planner::Application;
use crate::program::Program;
use crate::registry::Registry;

/// A chain file as an application, with the kinds of a registry; made by [`ChainFile::application`].
#[derive(Debug, Clone, Copy)]
pub struct FileApplication<'f> {
    file: &'f ChainFile,
    registry: &'f Registry,
}

impl ChainFile {
    /// This chain, built from the kinds of a registry, as an application for a [`Planner`](crate::Planner). Its
    /// rehearsals are those of [`rehearsal`](Self::rehearsal).
    ///
    /// ```
    /// use bief::kinds::Kind;
    /// use bief::{ChainFile, Flow, Machine, Planner, Registry, source};
    ///
    /// let mut registry = Registry::new();
    /// registry.add(Kind::new("test.zeros", "1000 frames of zeros", (), |()| {
    ///     let mut left = 1000;
    ///     Ok(source::from_fn(8, move |_: &mut [f32]| {
    ///         left -= 1;
    ///         Ok(if left < 0 { Flow::Stop } else { Flow::Next })
    ///     }))
    /// }));
    /// let file = ChainFile::parse("[[task]]\nname = 'zeros'\nkind = 'test.zeros'\nout = ['_']", "zeros.toml")?;
    /// let mut zeros = file.application(&registry);
    /// let planned = Planner::new(Machine::here()).plan(&zeros)?;
    /// assert_eq!(planned.pipeline(&mut zeros)?.run()?.frames, 1000);
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn application<'f>(&'f self, registry: &'f Registry) -> FileApplication<'f> {
        FileApplication { file: self, registry }
    }
}

impl Application for FileApplication<'_> {
    fn program(&mut self) -> Result<Program> {
        self.file.program(self.registry)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        self.file.rehearsal(self.registry, frames)
    }
}
