//! Which cores are wanted by threads that nobody can stand in for: where threads of a pipeline share cores, a replica lets the only thread
//! of another stage go first, as the whole pipeline waits for that one. The system would give both the same time.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::affinity;
use crate::sync::MODEL;

/// Cores beyond so many share a count with another one: a replica may give way in vain, at worst.
const CORES: usize = 256;

/// On a cache line of its own: mostly threads of one core write there.
#[repr(align(128))]
struct OnCore(AtomicUsize);

/// Threads on each core that have work to do, and that nobody can stand in for.
static READY: [OnCore; CORES] = [const { OnCore(AtomicUsize::new(0)) }; CORES];

thread_local! {
    /// The core on which this thread is counted.
    static COUNTED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The core of this thread, where the system tells; threads of a model are all on one.
fn core() -> Option<usize> {
    if MODEL { None } else { affinity::current().map(|core| core % CORES) }
}

fn count_on(core: Option<usize>) {
    let before = COUNTED.replace(core);
    if before == core {
        return;
    }
    if let Some(core) = core {
        READY[core].0.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(before) = before {
        READY[before].0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The calling thread counts until this is dropped.
pub(crate) struct Only(());

impl Only {
    pub(crate) fn new() -> Self {
        count_on(core());
        Self(())
    }

    /// Counts it where it is now: the system may have moved it.
    pub(crate) fn follow(&self) {
        count_on(core());
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        count_on(None);
    }
}

/// The calling thread, if it counts, has nothing to do until this is dropped.
pub(crate) struct Away {
    counts: bool,
}

impl Away {
    pub(crate) fn new() -> Self {
        let counts = COUNTED.get().is_some();
        if counts {
            count_on(None);
        }
        Self { counts }
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if self.counts {
            count_on(core());
        }
    }
}

/// Whether a thread that counts wants the core of the calling thread, which does not count.
pub(crate) fn is_wanted() -> bool {
    core().is_some_and(|core| READY[core].0.load(Ordering::Relaxed) > 0)
}

#[cfg(all(test, not(any(bief_loom, bief_shuttle))))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_core_is_wanted_while_a_thread_that_counts_has_work_there() {
        let Some(core) = affinity::current() else { return };
        let counts = || READY[core % CORES].0.load(Ordering::Relaxed);
        let (tell, told) = mpsc::channel::<bool>();
        let (answer, answers) = mpsc::channel();
        let thread = thread::spawn(move || {
            let is_there = affinity::pin(&[core]).is_ok();
            let only = Only::new();
            let counted = COUNTED.get();
            answer.send((is_there, counted)).unwrap();
            told.recv().unwrap();
            let away = Away::new();
            answer.send((is_there, COUNTED.get())).unwrap();
            told.recv().unwrap();
            drop(away);
            answer.send((is_there, COUNTED.get())).unwrap();
            drop(only);
            assert_eq!(COUNTED.get(), None);
        });
        let (is_there, counted) = answers.recv().unwrap();
        if is_there {
            assert_eq!(counted, Some(core % CORES));
            assert!(counts() > 0);
        }
        tell.send(true).unwrap();
        assert_eq!(answers.recv().unwrap().1, None, "it waits");
        tell.send(true).unwrap();
        assert_eq!(answers.recv().unwrap().1.is_some(), counted.is_some());
        thread.join().unwrap();
    }
}
