//! Which threads a process has.

use std::time::Duration;

use super::files::{self, Tasks};

/// How often it is looked whether threads have come, and whether somebody else has set the affinity of those that are mapped.
pub(super) const LISTING: Duration = Duration::from_millis(50);
/// Where nothing tells of a change, the threads are listed this often all the same.
const AT_LEAST: Duration = Duration::from_secs(1);

/// The threads of a process, listed again only where they may be others: to list sixty takes longer than to look at them.
pub(super) struct Listing {
    /// The folder of the process.
    pub(super) process: String,
    /// Ascending; none where it has ended.
    pub(super) threads: Vec<i32>,
    /// Opened when they are listed first.
    tasks: Option<Tasks>,
    links: Option<u64>,
    again: Duration,
}

impl Listing {
    pub(super) fn new(process: String) -> Self {
        Self { process, threads: Vec::new(), tasks: None, links: None, again: Duration::ZERO }
    }

    /// Lists the threads if they may have changed; answers whether it did. `one_has_ended`: since it was asked before.
    pub(super) fn update(&mut self, now: Duration, one_has_ended: bool) -> bool {
        if self.tasks.is_none() {
            self.tasks = Tasks::open(&self.process).ok();
        }
        let links = self.tasks.as_ref().and_then(Tasks::links);
        // The last thread stays when it has ended, and the number of threads with it.
        let is_same = self.threads.len() > 1 && links.is_some() && links == self.links;
        if is_same && !one_has_ended && now < self.again {
            return false;
        }
        if files::list(&self.process, &mut self.threads).is_err() {
            self.threads.clear();
        }
        self.links = links.filter(|links| *links == self.threads.len() as u64 + 2);
        self.again = now + AT_LEAST;
        true
    }
}

#[cfg(all(test, target_os = "linux", not(any(miri, bief_loom, bief_shuttle))))]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{self, JoinHandle};

    use super::*;

    /// A thread that waits until nobody can tell it anything.
    fn waiting() -> (Sender<()>, JoinHandle<()>) {
        let (stop, stopped) = channel();
        (stop, thread::spawn(move || stopped.recv().unwrap_or_default()))
    }

    #[test]
    fn threads_are_listed_again_when_they_have_changed() {
        // Of a process of its own: other tests start threads.
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let mut one = Listing::new(files::of_process(Some(child.id())));
        assert!(one.update(Duration::ZERO, false) && one.threads.contains(&(child.id() as i32)));
        child.kill().unwrap();
        // Not reaped yet, it is still there.
        let gone = (0..10_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            one.update(Duration::ZERO, false) && one.threads.is_empty()
        });
        assert!(gone);
        child.wait().unwrap();

        let mut own = Listing::new(files::of_process(None));
        let (first, second) = (waiting(), waiting());
        assert!(own.update(Duration::ZERO, false));
        let listed = own.threads.len();
        assert!(listed >= 3 && own.threads.is_sorted());
        assert!(own.update(Duration::ZERO, true) && own.update(AT_LEAST, false), "asked for, or too long ago");
        let third = waiting();
        // Whatever other tests did meanwhile.
        let is_new = (0..10_000).any(|_| own.update(Duration::ZERO, false));
        assert!(is_new || own.links.is_none());
        for (stop, thread) in [first, second, third] {
            drop(stop);
            thread.join().unwrap();
        }
    }
}
