//! Pipelines: run, reported, and stopped from elsewhere.

use std::ffi::c_char;

use runtime::pipeline::{Stopper, Waiting};
use runtime::placement::Policy;
use runtime::schedule::{Profile, Schedule};
use runtime::{Machine, Pipeline, Program};

use crate::chain::bief_chain;
use crate::fault::{Fault, Result, free_handle, give_handle, guarded, handle};
use crate::sized::{self, Versioned};
use crate::text::{give, optional};

/// A chain cut into stages, on threads of its own. It can be run any number of times.
pub struct bief_pipeline {
    pub(crate) pipeline: Pipeline,
}

/// Ends a run of a pipeline from elsewhere.
pub struct bief_stopper {
    stopper: Stopper,
}

/// How a chain is run. All fields but the size may be 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_options {
    /// sizeof(bief_options), set by the program.
    pub size: usize,
    /// The schedule to run, a JSON document; NULL for the stages as they are marked, or the calling thread where none is.
    pub schedule: *const c_char,
    /// The profile to stand beside the measured times, a JSON document; NULL for none.
    pub profile: *const c_char,
    /// Where threads run: loose, guided, packed, distant, dynamic, or places such as "0; 1-3 | little"; NULL leaves it to the
    /// system.
    pub place: *const c_char,
    /// How threads wait for each other's frames: adaptive, passive or active; NULL for adaptive.
    pub waiting: *const c_char,
    /// How many batches may lie between two stages for each replica; 0 for 4.
    pub depth: usize,
    /// Not 0: the report tells the times of each task, latency, and how full the rings were.
    pub observe: i32,
}

// SAFETY: `repr(C)`, the size first; zeros are null pointers and numbers.
unsafe impl Versioned for bief_options {
    const NAME: &'static str = "bief_options";
}

/// The pipeline of a program.
///
/// # Safety
/// `options` is null or options as the header asks.
unsafe fn made(program: Program, is_marked: bool, options: *const bief_options) -> Result<Pipeline> {
    if options.is_null() {
        return Ok(if is_marked { program.pipeline_as_marked() } else { program.one_core() }?);
    }
    // SAFETY: passed on to the caller.
    let (options, schedule, profile, place, waiting) = unsafe {
        let options = sized::read(options)?;
        (
            options,
            optional(options.schedule, "bief_options.schedule")?,
            optional(options.profile, "bief_options.profile")?,
            optional(options.place, "bief_options.place")?,
            optional(options.waiting, "bief_options.waiting")?,
        )
    };
    let place = place.map(str::parse::<Policy>).transpose()?;
    let waiting = waiting.map(str::parse::<Waiting>).transpose()?;
    let staged = schedule.is_some() || is_marked;
    if !staged && (waiting.is_some() || options.depth > 0 || place.is_some()) {
        return Err(Fault::argument(
            "bief_options: depth, waiting and place are about stages, and none is marked: call bief_chain_stage, or give a schedule",
        ));
    }
    let mut pipeline = match schedule {
        Some(text) => program.pipeline(&Schedule::from_json(text)?)?,
        None if is_marked => program.pipeline_as_marked()?,
        None => program.one_core()?,
    };
    if options.depth > 0 {
        pipeline = pipeline.depth(options.depth)?;
    }
    if let Some(waiting) = waiting {
        pipeline = pipeline.waiting(waiting);
    }
    if let Some(place) = place {
        pipeline = pipeline.place(&place, &Machine::here())?;
    }
    if let Some(text) = profile {
        pipeline = pipeline.compare_with(&Profile::from_json(text)?)?;
    }
    Ok(if options.observe == 0 { pipeline } else { pipeline.observe() })
}

/// Cuts a chain into stages: those of a schedule, or those that are marked. Without any it is run by the calling thread.
///
/// # Safety
/// `chain` is a chain, `options` are NULL or options, `pipeline` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_pipeline(
    chain: *mut bief_chain,
    options: *const bief_options,
    pipeline: *mut *mut bief_pipeline,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let chain = unsafe { handle(chain, "chain")? };
        let make = || {
            let (program, is_marked) = chain.program()?;
            // SAFETY: passed on to the caller.
            Ok(bief_pipeline { pipeline: unsafe { made(program, is_marked, options)? } })
        };
        // SAFETY: passed on to the caller.
        unsafe { give_handle(pipeline, "pipeline", make) }
    })
}

/// Runs a chain, by its marked stages or on the calling thread, and gives a report, a JSON document.
///
/// # Safety
/// `chain` is a chain, `report` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_run(chain: *mut bief_chain, report: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (program, is_marked) = unsafe { handle(chain, "chain")? }.program()?;
        // SAFETY: there are no options.
        let mut pipeline = unsafe { made(program, is_marked, std::ptr::null())? };
        let outcome = reported(&mut pipeline);
        let closed = pipeline.close();
        let text = outcome?;
        closed?;
        // SAFETY: passed on to the caller.
        unsafe { give(report, text) }
    })
}

/// Runs a pipeline once; the report is a JSON document.
fn reported(pipeline: &mut Pipeline) -> Result<String> {
    let report = pipeline.run()?;
    serde_json::to_string_pretty(&report).map_err(|error| Fault::argument(format!("the report: {error}")))
}

/// Runs a pipeline until its source stops, a task stops the stream, or a stopper does, and gives a report, a JSON document. A
/// task that fails ends the run: frames before it are delivered, and bief_last_error tells the task and the frame.
///
/// # Safety
/// `pipeline` is a pipeline, `report` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_pipeline_run(pipeline: *mut bief_pipeline, report: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let text = reported(unsafe { &mut handle(pipeline, "pipeline")?.pipeline })?;
        // SAFETY: passed on to the caller.
        unsafe { give(report, text) }
    })
}

/// Frees a pipeline, its tasks and their states, and ends its threads; NULL is none.
///
/// # Safety
/// `pipeline` is NULL or was made by this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_pipeline_free(pipeline: *mut bief_pipeline) {
    // SAFETY: passed on to the caller.
    unsafe { free_handle(pipeline) }
}

/// Makes what stops runs of a pipeline. It may outlive the pipeline.
///
/// # Safety
/// `pipeline` is a pipeline, `stopper` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_pipeline_stopper(pipeline: *mut bief_pipeline, stopper: *mut *mut bief_stopper) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let pipeline = unsafe { handle(pipeline, "pipeline")? };
        let make = || Ok(bief_stopper { stopper: pipeline.pipeline.stopper() });
        // SAFETY: passed on to the caller.
        unsafe { give_handle(stopper, "stopper", make) }
    })
}

/// Ends the run that goes on, or the next one before its first frame: what the first stage has taken is delivered. It does not
/// wait for that. Any thread may call it at any time, also a task, and so may a signal handler. NULL does nothing.
///
/// # Safety
/// `stopper` is NULL or a stopper that is not freed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_stopper_stop(stopper: *const bief_stopper) {
    // Not guarded: in a signal handler nothing may be allocated, and nothing here can panic.
    // SAFETY: passed on to the caller.
    if let Some(stopper) = unsafe { stopper.as_ref() } {
        stopper.stopper.stop();
    }
}

/// Frees a stopper; NULL is none.
///
/// # Safety
/// `stopper` is NULL or was made by this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_stopper_free(stopper: *mut bief_stopper) {
    // SAFETY: passed on to the caller.
    unsafe { free_handle(stopper) }
}
