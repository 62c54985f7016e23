//! The cores of the machine that reads: they work where no worker is there.

use std::sync::Arc;
use std::thread;

use bief::Result;
use bief_link::{Leaving, WorkerId};
use bief_pool::{Front, Segment, Workplace};

use crate::route::Routes;

/// What reports call these cores.
pub(crate) const HERE: &str = "this machine";

/// Cores of this machine, in a worker's place.
pub(crate) struct Local {
    segment: Segment,
    cores: usize,
    working: Option<(WorkerId, Arc<Workplace>)>,
}

impl Local {
    pub(crate) fn new(segment: &Segment, cores: usize) -> Self {
        Self { segment: segment.clone(), cores, working: None }
    }

    pub(crate) fn is_working(&self) -> bool {
        self.working.is_some()
    }

    /// Begins to work.
    pub(crate) fn start(&mut self, front: &Front, routes: &Routes) -> Result<()> {
        let (worker, to) = (front.welcome(HERE), front.clone());
        let answer = move |message: &[u8]| {
            to.take(message.to_vec()).expect("a workplace writes messages");
        };
        let workplace = Workplace::silent(worker.0, &self.segment, self.cores, 2 * self.cores, answer)?;
        let workplace = Arc::new(workplace);
        routes.open_here(worker, Arc::clone(&workplace));
        workplace.greet();
        self.working = Some((worker, workplace));
        Ok(())
    }

    /// Leaves its frames to others.
    pub(crate) fn stop(&mut self, front: &Front, routes: &Routes) {
        let Some((worker, workplace)) = self.working.take() else { return };
        routes.close(worker);
        front.gone(worker, Leaving::InOrder);
        // It ends when its cores have done what they work on.
        thread::spawn(move || drop(workplace));
    }
}
