//! Applications: chains that are measured and tried before they are run.

use std::ffi::{c_char, c_void};

use runtime::kinds::Kept;
use runtime::plan::Refined;
use runtime::{Application, ChainFile, Error, Planned, Program};
use serde_json::json;

use crate::chain::{bief_chain, registry};
use crate::fault::{Fault, Result, free_handle, give_handle, guarded, handle};
use crate::pipeline::bief_pipeline;
use crate::planning::{Planning, bief_planning};
use crate::sized::{self, Versioned};
use crate::task::{Call, bief_call};
use crate::text::{give, text};

/// What builds the chain of an application.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct bief_build {
    /// sizeof(bief_build), set by the program.
    pub size: usize,
    /// Handed to both functions.
    pub state: *mut c_void,
    /// Adds all tasks to an empty chain, which is not freed. `rehearsal` is 0 for the run that counts; else the chain is for a
    /// rehearsal: the same tasks, by name, on input that may be used up, for so many frames at most (UINT64_MAX for any number),
    /// writing nothing. Returns 0, or less than 0 and says why in `call`; where a function of this library failed, returning
    /// what it returned is enough.
    pub build: Option<
        unsafe extern "C" fn(state: *mut c_void, chain: *mut bief_chain, rehearsal: u64, call: *mut bief_call) -> i32,
    >,
    /// Frees the state.
    pub free: Option<unsafe extern "C" fn(state: *mut c_void)>,
}

// SAFETY: `repr(C)`, the size first; zeros are null pointers and functions that are not there.
unsafe impl Versioned for bief_build {
    const NAME: &'static str = "bief_build";
}

/// A chain that can be measured and tried before it is run.
pub struct bief_application {
    origin: Origin,
}

enum Origin {
    Build(Built),
    File(ChainFile),
}

/// A chain that C builds.
struct Built {
    build: bief_build,
    kept: Kept,
}

impl Drop for Built {
    fn drop(&mut self) {
        if let Some(free) = self.build.free {
            // SAFETY: the header asks that the state can be freed once; nobody uses it any more.
            unsafe { free(self.build.state) };
        }
    }
}

impl Built {
    fn chain(&self, kept: Kept, rehearsal: u64) -> runtime::Result<Program> {
        let build = self.build.build.expect("checked when it was made");
        let mut chain = bief_chain::new(kept);
        let mut call = Call::new();
        // SAFETY: the chain lives, and nobody else uses it; the header asks the rest.
        let code = unsafe { build(self.build.state, &mut chain, rehearsal, call.begin(-1, 0)) };
        if code < 0 {
            return Err(call.error_or_last(code));
        }
        chain.program().map(|(program, _)| program).map_err(Fault::into_error)
    }
}

impl Application for Built {
    fn program(&mut self) -> runtime::Result<Program> {
        self.chain(self.kept.clone(), 0)
    }

    fn rehearsal(&self, frames: u64) -> runtime::Result<Program> {
        self.chain(self.kept.rehearsal(frames), frames)
    }
}

impl bief_application {
    fn plan(&self, planning: &Planning<'_>) -> Result<Planned> {
        let planner = planning.planner()?;
        Ok(match &self.origin {
            Origin::Build(built) => planner.plan(built)?,
            Origin::File(file) => planner.plan(&file.application(registry()))?,
        })
    }
}

/// A plan of an application: its profile, the schedule, and where threads run.
pub struct bief_planned {
    planned: Planned,
}

/// Makes an application of what builds its chain. The state belongs to it from then on; if the function fails it is still the
/// caller's.
///
/// # Safety
/// `build` is as its documentation says, `application` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_new(
    build: *const bief_build,
    application: *mut *mut bief_application,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let build = unsafe { sized::read(build)? };
        if build.build.is_none() {
            return Err(Fault::argument("no bief_build.build: the pointer is NULL"));
        }
        let make = || Ok(bief_application { origin: Origin::Build(Built { build, kept: Kept::new() }) });
        // SAFETY: passed on to the caller.
        unsafe { give_handle(application, "application", make) }
    })
}

/// Makes an application of a chain file (TOML). Relative paths in it are relative to its folder.
///
/// # Safety
/// `path` ends with a zero, `application` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_read(path: *const c_char, application: *mut *mut bief_application) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let path = unsafe { text(path, "path")? };
        let make = || Ok(bief_application { origin: Origin::File(ChainFile::read(path)?) });
        // SAFETY: passed on to the caller.
        unsafe { give_handle(application, "application", make) }
    })
}

/// Makes an application of the text of a chain file, which errors call `name`.
///
/// # Safety
/// Texts end with a zero, `application` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_parse(
    chain: *const c_char,
    name: *const c_char,
    application: *mut *mut bief_application,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (chain, name) = unsafe { (text(chain, "chain")?, text(name, "name")?) };
        let make = || Ok(bief_application { origin: Origin::File(ChainFile::parse(chain, name)?) });
        // SAFETY: passed on to the caller.
        unsafe { give_handle(application, "application", make) }
    })
}

/// Frees an application; NULL is none. What was made of it lives on.
///
/// # Safety
/// `application` is NULL or was made by this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_free(application: *mut bief_application) {
    // SAFETY: passed on to the caller.
    unsafe { free_handle(application) }
}

/// Plans an application: measures its tasks unless a profile is given, schedules them for the goal, and refines the plan by
/// trials if that is asked for. `planning` NULL is all defaults.
///
/// # Safety
/// `application` is one, `planning` is NULL or as its documentation says, `planned` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_plan(
    application: *const bief_application,
    planning: *const bief_planning,
    planned: *mut *mut bief_planned,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (application, planning) =
            unsafe { (handle(application.cast_mut(), "application")?, Planning::read(planning)?) };
        let make = || Ok(bief_planned { planned: application.plan(&planning)? });
        // SAFETY: passed on to the caller.
        unsafe { give_handle(planned, "plan", make) }
    })
}

/// Makes the pipeline of an application by its plan: cut into stages, its threads placed, observed beside the plan.
///
/// # Safety
/// `application` and `planned` are such, `pipeline` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_application_pipeline(
    application: *mut bief_application,
    planned: *const bief_planned,
    pipeline: *mut *mut bief_pipeline,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (application, planned) =
            unsafe { (handle(application, "application")?, &handle(planned.cast_mut(), "plan")?.planned) };
        let make = || {
            let pipeline = match &mut application.origin {
                Origin::Build(built) => planned.pipeline(built)?,
                Origin::File(file) => planned.pipeline(&mut file.application(registry()))?,
            };
            Ok(bief_pipeline { pipeline })
        };
        // SAFETY: passed on to the caller.
        unsafe { give_handle(pipeline, "pipeline", make) }
    })
}

/// Gives a plan as a JSON document: `machine`, `profile`, `schedule`, `refined` (null, or how) and `notes`, as `bief run --json`
/// prints them.
///
/// # Safety
/// `planned` is a plan, `document` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_planned_json(planned: *const bief_planned, document: *mut *mut c_char) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let Planned { machine, profile, schedule, refined, notes, .. } =
            unsafe { &handle(planned.cast_mut(), "plan")?.planned };
        let refined: Option<&Refined> = refined.as_ref();
        let value = json!({
            "machine": machine,
            "profile": profile,
            "schedule": schedule,
            "refined": refined,
            "notes": notes,
        });
        // SAFETY: passed on to the caller.
        unsafe { give(document, format!("{value:#}")) }
    })
}

/// Frees a plan; NULL is none.
///
/// # Safety
/// `planned` is NULL or was made by this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_planned_free(planned: *mut bief_planned) {
    // SAFETY: passed on to the caller.
    unsafe { free_handle(planned) }
}

impl Call {
    /// Why a callback failed: what it says, or else what a function of this library said to it on this thread.
    fn error_or_last(&self, code: i32) -> Error {
        match self.is_silent().then(|| crate::fault::last(code)).flatten() {
            Some(error) => error,
            None => self.error(code),
        }
    }
}
