//! The threads of a pipeline: started once, parked between runs, ended with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use bief_machine::class::{self, ThreadId};

use crate::error::{Error, ErrorKind, Place, Result};
use crate::halt::Halt;
use crate::placement::Pinning;
use crate::ring::{Consumer, Producer, pair};
use crate::sync::thread::{self, JoinHandle};
use crate::wait::WaitPolicy;
use crate::worker::{Fault, Worker};

/// A thread for each worker, in the same order. They wait for work until the pool is dropped, and have ended then.
#[derive(Default)]
pub(crate) struct WorkerPool(Vec<PoolThread>);

/// A thread, where to leave work for it, and where the worker comes back.
struct PoolThread {
    jobs: Producer<Option<Job>>,
    ended: Consumer<Option<Worker>>,
    /// Its number, which it tells when it starts.
    id: Arc<OnceLock<ThreadId>>,
    thread: JoinHandle<()>,
}

/// A worker for one run.
struct Job {
    worker: Worker,
    halt: Arc<Halt>,
    fault: Arc<Fault>,
    pinning: Option<Pinning>,
}

impl WorkerPool {
    /// Starts the threads that these workers still need.
    ///
    /// # Errors
    /// A thread that the system refuses; those already started wait.
    pub(crate) fn start_threads(&mut self, workers: &[Worker]) -> Result<()> {
        for worker in workers.get(self.0.len()..).unwrap_or_default() {
            let name = worker.name();
            let (jobs, left) = pair(vec![None], WaitPolicy::Park);
            let (done, ended) = pair(vec![None], WaitPolicy::Park);
            let id = Arc::<OnceLock<ThreadId>>::default();
            let told = Arc::clone(&id);
            let started = thread::Builder::new().name(name.clone()).spawn(move || {
                told.get_or_init(ThreadId::of_this_thread);
                serve(left, done);
            });
            let thread = started.map_err(|error| {
                let place = Place { stage: Some(name.into()), ..Place::default() };
                Error::from_source(error).with_kind(ErrorKind::Build).at(place)
            })?;
            self.0.push(PoolThread { jobs, ended, id, thread });
        }
        Ok(())
    }

    /// Its threads, as the kernel counts them: of each worker, in the same order.
    pub(crate) fn threads(&self) -> Vec<ThreadId> {
        self.0.iter().map(|thread| *thread.id.wait()).collect()
    }

    /// Lets every worker work on its own thread until all have ended; answers them in the same order. `pinning`: as for
    /// [`Worker::work`].
    pub(crate) fn run(
        &mut self,
        workers: Vec<Worker>,
        halt: &Arc<Halt>,
        fault: &Arc<Fault>,
        pinning: Option<Pinning>,
    ) -> Vec<Worker> {
        // There may be more threads than workers: a plan before this one needed them.
        let working = workers.len();
        for (thread, worker) in self.0.iter_mut().zip(workers) {
            let job = Job { worker, halt: Arc::clone(halt), fault: Arc::clone(fault), pinning };
            assert!(thread.jobs.send(&mut Some(job)), "a thread ends after its pool");
        }
        let back = |thread: &mut PoolThread| {
            let mut worker = None;
            let _ = thread.ended.receive(&mut worker);
            worker.expect("a thread gives back what it was given")
        };
        self.0.iter_mut().take(working).map(back).collect()
    }
}

fn serve(mut jobs: Consumer<Option<Job>>, mut done: Producer<Option<Worker>>) {
    let mut job = None;
    while jobs.receive(&mut job).is_ok()
        && let Some(Job { mut worker, halt, fault, pinning }) = job.take()
    {
        let signals = class::signals();
        // Tasks that panic are caught in their stage: this is for what surrounds them, so that the neighbours end too.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| worker.work(&halt, &fault, pinning))) {
            fault.note(Error::panic(payload));
            worker.leave();
        }
        worker.signals = class::signals() - signals;
        // It is only refused by a pipeline that is being unwound.
        done.send(&mut Some(worker));
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // Without anything to wait for, a thread ends.
        let threads: Vec<JoinHandle<()>> = self.0.drain(..).map(|thread| thread.thread).collect();
        for thread in threads {
            // Nothing is lost with a thread: a worker that panics is caught in it.
            let _ = thread.join();
        }
    }
}
