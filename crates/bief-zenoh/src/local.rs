//! The cores of the machine that reads, in a worker's place: they do what workers that have gone left undone.

use std::sync::Arc;
use std::thread;

use bief::Result;
use bief_link::{Leaving, WorkerId};
use bief_pool::{Front, HERE, Payload, Segment, Workplace};

use crate::route::Routes;

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
        let answer = move |head: &[u8], behind: Option<Payload>| {
            let mut message = to.buffers().take();
            message.extend_from_slice(head);
            behind.iter().for_each(|behind| message.extend_from_slice(behind.as_ref()));
            to.take(message).expect("a workplace writes messages");
        };
        let workplace = Workplace::silent(worker.0, &self.segment, self.cores, 2 * self.cores, answer)?;
        let workplace = Arc::new(workplace);
        let takes = Arc::clone(&workplace);
        routes.open(worker, None, move |letter| {
            takes.take_letter(letter).expect("a front sends what a worker takes");
        })?;
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
