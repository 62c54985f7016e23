//! What is wrong is said before a thread starts, in words that name both ends.

use crate::common::{Act, Add, Count, Pair, Probe};
use bief::error::ErrorKind;
use bief::placement::{Placement, Policy};
use bief::schedule::strategy::{Exact, Strategy};
use bief::schedule::{CoreKind, Platform, Profile, TaskProfile};
use bief::{Chain, Error, Flow, In, Machine, Out, Result, Task, Wire, sink, source};

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
    assert_eq!(
        text,
        "task `Collect`: input 0 is a wire of another chain, made there by task `Count`: bind `Collect` to wires that this \
         chain made"
    );
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
    assert!(chain(1).unwrap().batch(0).unwrap_err().to_string().contains("batch of 0"));
    let text = chain(1).unwrap().batch(usize::MAX / 8).unwrap_err().to_string();
    assert!(text.contains("task `Count`") && text.ends_with("in a batch: that is more than memory can hold"), "{text}");
}

#[test]
fn what_no_memory_holds() {
    let chain = |threads| {
        let mut chain = Chain::new();
        let mut wire = chain.add(Count::to(1), ());
        chain.stage("wide").threads(threads);
        chain.add(Add(1), &mut wire);
        chain
    };
    let marked = |threads| chain(threads).build().unwrap().pipeline_as_marked();
    for depth in [1 << 50, usize::MAX] {
        let text = marked(2).unwrap().depth(depth).unwrap().run().unwrap_err().to_string();
        let slots = depth.saturating_mul(2);
        assert_eq!(
            text,
            format!(
                "rings that hold up to {slots} batches of 1 frame(s) are more than memory can hold: give a smaller batch or depth"
            )
        );
    }
    for threads in [1 << 50, usize::MAX] {
        let text = marked(threads).unwrap_err().to_string();
        assert!(text.ends_with("are more than memory can hold: give a smaller batch or fewer threads"), "{text}");
    }
    // As many elements without a size are too many as well.
    let refused = |batch| {
        let mut chain = Chain::new().batch(batch);
        chain.add(source::from_fn(usize::MAX, |_: &mut [()]| Ok(Flow::Stop)), ());
        chain.build()
    };
    assert!(refused(2).unwrap_err().to_string().ends_with("more than memory can hold"));
    let marked = marked(1).unwrap();
    assert!(marked.batch(1 << 50).unwrap_err().to_string().ends_with("more than memory can hold"));
    let profile = chain(1).build().unwrap().profile(usize::MAX);
    assert_eq!(profile.unwrap().tasks().len(), 2, "as many executions as the source has");
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
    let text = program().pipeline(&schedule).unwrap().compare_with(&profile).unwrap_err().to_string();
    assert!(text.contains("profile has 3 tasks"), "{text}");
    let elsewhere = TaskProfile::sequential("Add", [0, 5]).not_on(0);
    let profile = Profile::new(["core", "other"], [TaskProfile::sequential("Count", [5, 5]), elsewhere]).unwrap();
    let text = program().pipeline(&schedule).unwrap().compare_with(&profile).unwrap_err().to_string();
    assert!(text.contains("the profile has a task of stage") && text.contains("that cannot run on `core`"), "{text}");
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

#[test]
fn frames_that_no_memory_holds() {
    let mut chain = Chain::new().batch(1000);
    chain.add(source::from_fn(usize::MAX / 100, |_: &mut [u64]| Ok(Flow::Stop)), ());
    let text = refused(chain);
    assert!(text.contains("task `source`") && text.contains("1000 in a batch"), "{text}");
}

/// Whether the number is 3.
#[derive(Clone)]
struct Three;

impl Task for Three {
    type In = In<u64>;
    type Out = Out<bool>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[u64], three: &mut [bool]) -> Result<Flow> {
        three[0] = x[0] == 3;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// What is said of a chain of one number and what `write` adds.
fn refused_after(write: impl FnOnce(&mut Chain, &mut Wire<u64>)) -> String {
    let mut chain = Chain::new();
    let mut wire = chain.add(Count::to(1), ());
    write(&mut chain, &mut wire);
    refused(chain)
}

#[test]
fn a_wire_that_leaves_its_loop_or_path() {
    let told = "made by task `Three` inside a `repeat`, which may not have run: let the task inside rewrite a wire that was \
                made before (`Chain::blank` makes one), and read that";
    let text = refused_after(|chain, x| {
        let mut inside = None;
        chain.repeat(3, |chain| inside = Some(chain.add(Three, x)));
        chain.add(sink::collect().0, &inside.unwrap());
    });
    assert_eq!(text, format!("task `Collect`: input 0 is {told}"));
    // From one path to another, into a loop, out of a path by a feedback, and as a choice.
    let text = refused_after(|chain, x| {
        let three = chain.add(Three, x);
        let mut inside = None;
        chain.select(&three, |paths| {
            paths.path(|chain| inside = Some(chain.add(Three, x)));
            paths.path(|chain| chain.add(sink::collect().0, inside.as_ref().unwrap()));
        });
    });
    assert!(text.contains("inside a path of a `select`"), "{text}");
    let text = refused_after(|chain, x| {
        chain.feedback(&[false], |chain, _| {
            let mut inside = None;
            chain.repeat(3, |chain| inside = Some(chain.add(Three, x)));
            inside.unwrap()
        });
    });
    assert_eq!(text, format!("task `feedback`: input 0 is {told}"));
    let text = refused_after(|chain, x| {
        let mut inside = None;
        chain.repeat(3, |chain| inside = Some(chain.add(Three, x)));
        chain.repeat(3, |chain| chain.leave_if(inside.as_ref().unwrap()));
    });
    assert_eq!(text, format!("task `leave_if`: input 0 is {told}"));
}

#[test]
fn regions_that_mean_nothing() {
    let text = refused_after(|chain, _| chain.repeat(3, |_| {}));
    assert_eq!(text, "task `repeat`: the body has no tasks: add those that it repeats");
    let text = refused_after(|chain, x| {
        let three = chain.add(Three, x);
        chain.leave_if(&three);
    });
    assert!(text.contains("stands in no loop"), "{text}");
    let text = refused_after(|chain, x| {
        let three = chain.add(Three, x);
        chain.repeat(3, |chain| {
            chain.feedback(&[false], |chain, _| {
                chain.leave_if(&three);
                chain.add(Three, x)
            });
        });
    });
    assert!(text.contains("`leave_if`") && text.contains("leave a `feedback`"), "{text}");
    let text = refused_after(|chain, x| {
        let three = chain.add(Three, x);
        chain.select(&three, |_| {});
    });
    assert!(text.contains("has no paths"), "{text}");
    let text = refused_after(|chain, x| {
        let three = chain.add(Three, x);
        chain.select(&three, |paths| (0..3).for_each(|_| paths.path(|_| {})));
    });
    assert!(text.contains("choice of bool has at most 2 paths, not 3"), "{text}");
    let text = refused_after(|chain, _| {
        chain.repeat(3, |chain| {
            chain.stage("inner");
            chain.add(Count::to(1), ());
        });
    });
    assert!(text.contains("stage `inner` begins inside a `repeat`"), "{text}");
}

#[test]
fn choices_and_feedback_of_the_wrong_length_name_who_made_them() {
    let text = refused_after(|chain, _| {
        let long = chain.add(source::from_slice(&[0_u8; 4], 4), ());
        chain.select(&long, |paths| paths.path(|_| {}));
    });
    assert_eq!(text, "task `select`: it reads 1 u8 per frame, not 4 from task `SliceSource`");
    let text = refused_after(|chain, _| {
        let long = chain.add(source::from_slice(&[false; 2], 2), ());
        chain.repeat(2, |chain| chain.leave_if(&long));
    });
    assert_eq!(text, "task `leave_if`: it reads 1 bool per frame, not 2 from task `SliceSource`");
    let text = refused_after(|chain, x| {
        chain.feedback(&[false; 3], |chain, _| chain.add(Three, x));
    });
    assert_eq!(
        text,
        "task `feedback`: the value from task `Three` has 1 elements, the initial one 3: they must be as long as each other"
    );
}

#[test]
fn a_region_that_remembers_is_not_replicated() {
    let mut chain = Chain::new();
    let wire = chain.add(Count::to(1), ());
    chain.stage("twice").threads(2);
    chain.repeat(2, |chain| drop(chain.add(Probe::sequential(Act::Pass), &wire)));
    let text = chain.build().unwrap().pipeline_as_marked().unwrap_err().to_string();
    assert!(text.contains("task `repeat(Probe)` remembers"), "{text}");
}

#[test]
fn a_chain_exchanged_inside_a_region() {
    let exchanged = |write: fn(&mut Chain, &mut Chain, &mut Wire<u64>)| {
        let mut chain = Chain::new();
        let mut wire = chain.add(Count::to(1), ());
        let mut other = Chain::new();
        other.add(Count::to(1), ());
        write(&mut chain, &mut other, &mut wire);
        [refused(chain), refused(other)]
    };
    let [this, other] = exchanged(|chain, other, _| {
        chain.repeat(2, |chain| {
            chain.add(Count::to(1), ());
            std::mem::swap(chain, other);
        });
    });
    assert!(this.contains("exchanged the chain"), "{this}");
    assert!(other.contains("a `repeat` was begun and not ended"), "{other}");
    let [this, other] = exchanged(|chain, other, x| {
        let three = chain.add(Three, x);
        chain.select(&three, |paths| {
            paths.path(|chain| chain.add(Add(1), x));
            paths.path(|chain| std::mem::swap(chain, other));
        });
    });
    assert!(this.contains("exchanged the chain"), "{this}");
    assert!(other.contains("a path of a `select` was begun and not ended"), "{other}");
}

#[test]
fn a_profile_of_another_chain_names_the_first_task_that_differs() {
    let program = || {
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(1), ());
        chain.add(Probe::new(Act::Pass), &wire);
        chain.build().unwrap()
    };
    let profile = |tasks: &[(&str, bool)]| {
        let task = |&(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, [5]) };
        Profile::new(["cpu"], tasks.iter().map(task)).unwrap()
    };
    program().fits(&profile(&[("Count", false), ("Probe", true)])).unwrap();
    program()
        .fits(&profile(&[("Count", false), ("Probe", false)]))
        .expect("a profile may keep one from being replicated");
    for (tasks, told) in [
        (&[("Count", false)][..], "the profile has 1 task, but this chain has 2: profile this chain"),
        (
            &[("Count", false), ("Prove", true)],
            "task 2 of the profile is `Prove`, of this chain it is `Probe`: profile this chain",
        ),
        (
            &[("Count", true), ("Probe", false)],
            "task 1 of the profile, `Count`, may be replicated there, but not in this chain: profile this chain",
        ),
    ] {
        let error = program().fits(&profile(tasks)).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Build, told));
    }
}

#[test]
fn places_that_cannot_be_are_named_with_their_stage() {
    let pipeline = || {
        let mut chain = Chain::new();
        let wire = chain.add(Count::to(1), ());
        chain.stage("work").threads(2);
        chain.add(Probe::new(Act::Pass), &wire);
        chain.build().unwrap().pipeline_as_marked().unwrap()
    };
    let here = Machine::here();
    let thread = here.cores()[0].threads[0];
    let told = |stages: String| {
        let text = format!(r#"{{"format": 1, "policy": "by hand", "stages": [{stages}]}}"#);
        let placement = Placement::from_json(&text).unwrap();
        pipeline()
            .place_as(placement, &here)
            .map(|pipeline| pipeline.placement().unwrap().to_json())
            .map_err(|e| e.to_string())
    };
    let first = format!(r#"{{"name": "a", "threads": [[{thread}]]}}"#);
    let second = |threads: &str| format!(r#"{first}, {{"name": "b", "threads": {threads}}}"#);
    told(second(&format!("[[{thread}], [{thread}]]"))).unwrap();
    for (stages, part) in [
        (first.clone(), "the placement is for 1 stage, the pipeline has 2: place this pipeline"),
        (second("[[0]]"), "stage `work`: it has 1 place, the stage has 2 threads: give one for each"),
        (second("[[], []]"), "stage `b`: replica 0 has no hardware thread to run on"),
        (
            second(&format!("[[{thread}], [8000]]")),
            "stage `b`: replica 1 wants hardware thread 8000, which this process may not use",
        ),
    ] {
        let error = told(stages).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
    let error = "8000".parse::<Policy>().unwrap().check(&here).unwrap_err().to_string();
    assert!(error.starts_with("`8000`: this process has no `8000`; it has hardware threads"), "{error}");
    for policy in ["packed".to_owned(), format!("*; c0 | cluster0 | {thread}")] {
        policy.parse::<Policy>().unwrap().check(&here).unwrap();
    }
    // A chain on the calling thread is not moved.
    let mut chain = Chain::new();
    chain.add(Count::to(1), ());
    let error = chain.build().unwrap().one_core().unwrap().place(&Policy::Packed, &here).unwrap_err();
    assert!(error.to_string().contains("runs on the calling thread, which is not placed"), "{error}");
}
