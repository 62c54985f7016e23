//! The cores that a run may use, which may become fewer and more while it goes on.

use bief_machine::affinity::Mask;
use bief_machine::thread_list;

use crate::machine::Machine;

/// The machine of a plan, as it is now.
pub(super) struct Cores {
    machine: Machine,
    /// What the process might use when it was last looked; `None` where that is not followed.
    allowed: Option<Mask>,
}

impl Cores {
    /// Follows the cores of this machine if it is the one that this runs on, as it is. A plan for part of it, for another one or for
    /// emulated kinds keeps the cores that it was made for.
    pub(super) fn of(machine: &Machine) -> Self {
        let is_here = Machine::here().cores() == machine.cores() && !machine.is_emulated();
        let allowed = if is_here { of_process() } else { None };
        Self { machine: machine.clone(), allowed }
    }

    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Says so if the cores are others than when it was last looked.
    pub(super) fn look(&mut self) -> Option<String> {
        let allowed = self.allowed.as_mut()?;
        let now = of_process().filter(|now| now != allowed)?;
        *allowed = now;
        self.machine = Machine::here();
        Some(format!("the hardware threads that may be used are {} now", thread_list(allowed.threads())))
    }
}

/// What the main thread may use, which [`Machine::here`] looks at as well: Bief binds other threads alone.
fn of_process() -> Option<Mask> {
    Mask::of_thread(i32::try_from(std::process::id()).ok()?).ok()
}
