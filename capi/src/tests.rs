//! What C programs cannot show: panics of tasks of Rust, and of this library.

use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

use runtime::kinds::{Kind, Param};
use runtime::{Flow, Registry, source};

use crate::*;

/// A kind whose task panics at a frame.
pub(crate) fn register(registry: &mut Registry) {
    let at = Param::new("at", "the frame").range(0..=u32::MAX);
    registry.add(Kind::new("test.panic", "panics", at, |at: u32| {
        let mut next = 0;
        Ok(source::from_fn(1, move |_: &mut [u8]| {
            assert!(next < at, "the frame is {next}");
            next += 1;
            Ok(Flow::Next)
        }))
    }));
}

fn last() -> (i32, i64, String) {
    let mut error = bief_error {
        size: size_of::<bief_error>(),
        status: 0,
        code: 0,
        message: null(),
        stage: null(),
        task: null(),
        frame: 0,
        text: null(),
    };
    // SAFETY: the size is set, and the text lives until something fails on this thread.
    unsafe {
        assert_eq!(bief_last_error(&mut error), BIEF_OK);
        (error.status, error.frame, CStr::from_ptr(error.text).to_str().unwrap().to_owned())
    }
}

#[test]
fn a_panic_of_a_task_ends_the_run_with_task_and_frame() {
    let text = |text: &str| CString::new(text).unwrap();
    let (name, kind, at) = (text("boom"), text("test.panic"), text(r#"{"at": 5}"#));
    let (mut chain, mut wire, mut report) = (null_mut(), 0, null_mut::<c_char>());
    // SAFETY: all that the functions ask for.
    unsafe {
        assert_eq!(bief_chain_new(&mut chain), BIEF_OK);
        let made = bief_chain_make(chain, name.as_ptr(), kind.as_ptr(), at.as_ptr(), null(), 0, &mut wire, 1);
        assert_eq!(made, BIEF_OK);
        assert_eq!(bief_chain_run(chain, &mut report), BIEF_ERROR_PANIC);
        assert!(report.is_null());
        bief_chain_free(chain);
    }
    let told = "task `boom` (stage `chain`, frame 5): panicked: the frame is 5";
    assert_eq!(last(), (BIEF_ERROR_PANIC, 5, told.to_owned()));
}

#[test]
fn a_panic_of_the_library_is_an_error() {
    assert_eq!(fault::guarded(|| panic!("that was {}", "not meant")), BIEF_ERROR_PANIC);
    assert_eq!(last(), (BIEF_ERROR_PANIC, -1, "the library panicked: that was not meant".to_owned()));
    assert_eq!(fault::guarded(|| Ok(())), BIEF_OK);
    assert_eq!(last().0, BIEF_ERROR_PANIC, "what succeeds leaves it alone");
}

#[test]
fn plans_are_those_of_the_command() {
    let profile = include_str!("../../data/profiles/ai370.json");
    let platform = include_str!("../../data/platforms/ai370.json");
    let text = |text: &str| CString::new(text).unwrap();
    let (given, cores, goal) = (text(profile), text("big=2,little=6"), text("least-power,rate=30Mb/s"));
    let known = text(platform);
    let mut schedule = null_mut();
    // SAFETY: zeros are a value of it.
    let mut planning: bief_planning = unsafe { std::mem::zeroed() };
    planning.size = size_of::<bief_planning>();
    (planning.profile, planning.cores) = (given.as_ptr(), cores.as_ptr());
    (planning.goal, planning.platform) = (goal.as_ptr(), known.as_ptr());
    // SAFETY: all texts live.
    let planned = unsafe {
        assert_eq!(bief_plan(&planning, &mut schedule), BIEF_OK);
        let planned = CStr::from_ptr(schedule).to_str().unwrap().to_owned();
        bief_text_free(schedule);
        planned
    };
    use runtime::schedule::{Platform, Profile, strategy};
    let profile = Profile::from_json(profile).unwrap();
    let platform = Platform::from_json(platform).unwrap();
    let platform = Platform::parse_cores("big=2,little=6", &profile).unwrap().with_power_of(&platform);
    let goal = "least-power,rate=30Mb/s".parse().unwrap();
    let wanted = strategy("exact").unwrap().plan(&profile, &platform, &goal).unwrap();
    assert_eq!(planned, wanted.to_json().trim_end());
}
