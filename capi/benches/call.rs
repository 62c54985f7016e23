//! What a call of a task of C costs beside that of a task of Rust: chains of 10 and 100 tasks that do nothing, on one core, in batches
//! of 1 and 16 frames. All shapes in turn, eleven rounds; the least and the median time of one call, everything around it included.
//!
//! `in place` tasks all rewrite one wire, `joined` tasks each read what the one before made.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use bief::{BIEF_NEXT, BIEF_OK, BIEF_STOP, bief_call, bief_slice, bief_task, bief_wire};
use runtime::{Chain, Flow, In, InOut, Out, Result, Task};

const CALLS: usize = 2_000_000;
const ROUNDS: usize = 11;

struct Source(usize);

impl Task for Source {
    type In = ();
    type Out = Out<u8>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (): (), _: &mut [u8]) -> Result<Flow> {
        let Some(frames) = self.0.checked_sub(1) else { return Ok(Flow::Stop) };
        self.0 = frames;
        Ok(Flow::Next)
    }
}

struct InPlace;

impl Task for InPlace {
    type In = InOut<u8>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &mut [u8], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

struct Joined;

impl Task for Joined {
    type In = In<u8>;
    type Out = Out<u8>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, _: &[u8], _: &mut [u8]) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

/// Nanoseconds per call of tasks of Rust.
fn rust(tasks: usize, joined: bool, batch: usize) -> f64 {
    let frames = CALLS / tasks;
    let mut chain = Chain::new().batch(batch);
    let mut wire = chain.add(Source(frames), ());
    for _ in 1..tasks {
        if joined {
            wire = chain.add(Joined, &wire);
        } else {
            chain.add(InPlace, &mut wire);
        }
    }
    let report = chain.build().and_then(|program| program.run()).expect("empty tasks do not fail");
    assert_eq!(report.frames, frames as u64);
    1e9 * report.seconds / CALLS as f64
}

unsafe extern "C" fn source(left: *mut c_void, _: *mut bief_slice, _: *mut bief_call) -> i32 {
    // SAFETY: the state of this task is a number.
    let left = unsafe { &mut *left.cast::<usize>() };
    let Some(frames) = left.checked_sub(1) else { return BIEF_STOP };
    *left = frames;
    BIEF_NEXT
}

unsafe extern "C" fn empty(_: *mut c_void, _: *mut bief_slice, _: *mut bief_call) -> i32 {
    BIEF_NEXT
}

/// Nanoseconds per call of tasks of C, which the compiler cannot look into either.
fn c(tasks: usize, joined: bool, batch: usize) -> f64 {
    let frames = CALLS / tasks;
    let (mut chain, mut left, mut wire) = (null_mut(), frames, 0_u64);
    // SAFETY: zeros are a value of it.
    let mut task: bief_task = unsafe { std::mem::zeroed() };
    task.size = size_of::<bief_task>();
    task.name = c"task".as_ptr();
    // SAFETY: all that the functions ask for.
    let report = unsafe {
        assert_eq!(bief::bief_chain_new(&mut chain), BIEF_OK);
        assert_eq!(bief::bief_chain_batch(chain, batch), BIEF_OK);
        let add = |task: &bief_task, inputs: &[bief_wire], outputs: &mut [bief_wire]| {
            let made =
                bief::bief_chain_add(chain, task, inputs.as_ptr(), inputs.len(), outputs.as_mut_ptr(), outputs.len());
            assert_eq!(made, BIEF_OK);
        };
        let first =
            bief_task { sockets: c"out 1 x u8".as_ptr(), state: (&raw mut left).cast(), run: Some(source), ..task };
        add(&first, &[], std::slice::from_mut(&mut wire));
        for _ in 1..tasks {
            let sockets = if joined { c"in u8, out u8" } else { c"in-place u8" };
            let task = bief_task { sockets: sockets.as_ptr(), run: Some(empty), ..task };
            let mut made = [wire];
            add(&task, &[wire], &mut made[..usize::from(joined)]);
            wire = made[0];
        }
        let mut report = null_mut::<c_char>();
        assert_eq!(bief::bief_chain_run(chain, &mut report), BIEF_OK);
        bief::bief_chain_free(chain);
        let text = CStr::from_ptr(report).to_str().expect("reports are text").to_owned();
        bief::bief_text_free(report);
        text
    };
    let report: serde_json::Value = serde_json::from_str(&report).expect("reports are JSON");
    assert_eq!(report["frames"], frames);
    1e9 * report["seconds"].as_f64().expect("a report has a time") / CALLS as f64
}

fn main() {
    // What `cargo test` runs is shown to work, not measured.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("ns per call of an empty task   Rust: least  median   C: least  median");
    for tasks in [10, 100] {
        for (joined, batch) in [(false, 1), (false, 16), (true, 1), (true, 16)] {
            let mut times: [Vec<f64>; 2] = Default::default();
            for _ in 0..ROUNDS {
                times[0].push(rust(tasks, joined, batch));
                times[1].push(c(tasks, joined, batch));
            }
            times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
            let shape = format!("{tasks} tasks {}, batch {batch}", if joined { "joined" } else { "in place" });
            let [rust, c] = times.map(|times| (times[0], times[ROUNDS / 2]));
            println!("{shape:<30} {:>12.2} {:>7.2} {:>10.2} {:>7.2}", rust.0, rust.1, c.0, c.1);
        }
    }
}
