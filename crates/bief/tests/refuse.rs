//! What is wrong is said before a thread starts, in words that name both ends.

mod common;

use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, TaskProfile};
use bief::{Chain, Error, ErrorKind, Flow, In, Result, Task, sink, source};
use common::{Act, Add, Count, Pair, Probe};

fn refused(chain: Chain) -> String {
    let error = chain.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    error.to_string()
}

#[test]
fn a_length_that_does_not_fit_names_both_ends() {
    let mut chain = Chain::new();
    let short = chain.add(source::from_slice(&[0_u64; 4], 1), ());
    let long = chain.add(source::from_slice(&[0_u64; 4], 2), ());
    let pairs = chain.add(Pair, (&short, &long));
    // What follows a refused task is refused silently: the first fault is the one told.
    chain.add(sink::collect::<[u64; 2]>().0, &pairs);
    assert_eq!(
        refused(chain),
        "task `Pair`: both inputs must have the same length, not 1 and 2 (input 0 is 1 x u64 from task `SliceSource`, \
         input 1 is 2 x u64 from task `SliceSource 2`)"
    );
}

#[test]
fn a_wire_of_another_chain() {
    let mut other = Chain::new();
    let foreign = other.add(Count::to(1), ());
    let mut chain = Chain::new();
    chain.add(sink::collect::<u64>().0, &foreign);
    let text = refused(chain);
    assert!(text.contains("`Collect`") && text.contains("wire of another chain"), "{text}");
}

#[test]
fn empty_things() {
    assert!(refused(Chain::new()).contains("no tasks"));
    let mut chain = Chain::new().batch(0);
    chain.add(Count::to(1), ());
    assert!(refused(chain).contains("batch of 0"));
    let mut chain = Chain::new();
    chain.add(Count::to(1), ());
    chain.stage("nothing");
    assert!(refused(chain).contains("stage `nothing` has no tasks"));
    let mut chain = Chain::new();
    chain.add(source::from_slice(&[1_u8], 0), ());
    assert!(refused(chain).contains("at least 1"));
}

#[test]
fn a_task_that_remembers_is_not_replicated() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(1), ());
    chain.stage("twice").threads(2);
    chain.add(Probe::sequential(Act::Pass), &wire);
    let error = chain.build().unwrap().pipeline_as_marked().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    let text = error.to_string();
    assert!(text.contains("stage `twice`") && text.contains("task `Probe`") && text.contains("1 thread"), "{text}");
}

#[test]
fn a_stage_without_threads_and_a_ring_without_depth() {
    let chain = |threads| {
        let mut chain = Chain::new();
        let mut wire = chain.add(Count::to(1), ());
        chain.stage("idle").threads(threads);
        chain.add(Add(1), &mut wire);
        chain.build().unwrap().pipeline_as_marked()
    };
    assert!(chain(0).unwrap_err().to_string().contains("no threads"));
    assert!(chain(1).unwrap().depth(0).unwrap_err().to_string().contains("depth 0"));
}

#[test]
fn a_schedule_or_a_profile_of_another_chain() {
    let program = || {
        let mut chain = Chain::new();
        let mut wire = chain.add(Count::to(1), ());
        chain.add(Add(1), &mut wire);
        chain.build().unwrap()
    };
    let task = |name: &str| TaskProfile::sequential(name, [5]);
    let profile = Profile::new(["core"], [task("a"), task("b"), task("c")]).unwrap();
    let platform = Platform::new([CoreKind::new("core", 2)]).unwrap();
    let schedule = Exact.schedule(&profile, &platform).unwrap();
    let text = program().pipeline(&schedule).unwrap_err().to_string();
    assert!(text.contains("3 tasks") && text.contains("has 2"), "{text}");
    let pair = Profile::new(["core"], [task("a"), task("b")]).unwrap();
    let schedule = Exact.schedule(&pair, &platform).unwrap();
    let text = program().pipeline(&schedule).unwrap().beside(&profile).unwrap_err().to_string();
    assert!(text.contains("profile has 3 tasks"), "{text}");
}

#[test]
fn a_profile_of_nothing() {
    let mut chain = Chain::new();
    let mut wire = chain.add(Count::to(0), ());
    chain.add(Add(1), &mut wire);
    let text = chain.build().unwrap().profile(10).unwrap_err().to_string();
    assert!(text.contains("nothing to profile"), "{text}");
}

struct Picky;

impl Task for Picky {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, len: usize) -> Result<()> {
        Err(Error::new(format!("wants 16200 values, not {len}")))
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

#[test]
fn a_picky_task_says_what_fits() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(1), ());
    chain.add(Picky, &wire);
    assert_eq!(refused(chain), "task `Picky`: wants 16200 values, not 1 (input 0 is 1 x u64 from task `Count`)");
}
