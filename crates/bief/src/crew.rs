//! The threads of a pipeline: started once, parked between runs, ended with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::error::{Error, ErrorKind, Place, Result};
use crate::halt::Halt;
use crate::worker::{Fault, Worker};

/// A thread for each worker, in the same order. They wait for work until the crew is dropped, and have ended then.
#[derive(Default)]
pub(crate) struct Crew(Vec<Hand>);

/// A thread, and where to leave work for it.
struct Hand {
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

/// A worker for one run, which comes back by `done`.
struct Job {
    worker: Worker,
    halt: Arc<Halt>,
    fault: Arc<Fault>,
    done: Sender<Worker>,
}

impl Crew {
    /// Starts the threads that these workers still need.
    ///
    /// # Errors
    /// A thread that the system refuses; those already started wait.
    pub(crate) fn enlist(&mut self, workers: &[Worker]) -> Result<()> {
        for worker in &workers[self.0.len()..] {
            let name = worker.name();
            let (jobs, left) = channel();
            let thread = thread::Builder::new().name(name.clone()).spawn(move || serve(&left)).map_err(|error| {
                let place = Place { stage: Some(name.into()), ..Place::default() };
                Error::from_source(error).with_kind(ErrorKind::Build).at(place)
            })?;
            self.0.push(Hand { jobs, thread });
        }
        Ok(())
    }

    /// Lets every worker work on its own thread until all have ended; answers them in the same order.
    pub(crate) fn run(&self, workers: Vec<Worker>, halt: &Arc<Halt>, fault: &Arc<Fault>) -> Vec<Worker> {
        let (done, ended) = channel();
        for (hand, worker) in self.0.iter().zip(workers) {
            let job = Job { worker, halt: Arc::clone(halt), fault: Arc::clone(fault), done: done.clone() };
            assert!(hand.jobs.send(job).is_ok(), "a thread ends after its crew");
        }
        drop(done);
        let mut workers: Vec<Worker> = ended.into_iter().collect();
        workers.sort_by_key(Worker::position);
        workers
    }
}

fn serve(jobs: &Receiver<Job>) {
    for Job { mut worker, halt, fault, done } in jobs {
        // Tasks that panic are caught in their stage: this is for what surrounds them, so that the neighbours end too.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| worker.work(&halt, &fault))) {
            fault.note(Error::panic(&*payload));
            worker.leave();
        }
        // It is only refused by a pipeline that is being unwound.
        let _ = done.send(worker);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // Without anything to wait for, a thread ends.
        let threads: Vec<JoinHandle<()>> = self.0.drain(..).map(|hand| hand.thread).collect();
        for thread in threads {
            // Nothing is lost with a thread: a worker that panics is caught in it.
            let _ = thread.join();
        }
    }
}
