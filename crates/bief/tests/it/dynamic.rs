//! Chains built at run time do what typed ones do, and what types would refuse is refused when a task is added.

use std::sync::{Arc, Mutex};

use crate::common::{Act, Add, Count, Pair, Probe};
use bief::error::ErrorKind;
use bief::raw::{Direction, DynTask, DynWire, Shape};
use bief::report::StageReport;
use bief::{Chain, Error, Flow, In, InOut, InOutVar, InVar, Out, OutVar, Report, Result, Task, VarFrame, sink, source};
use proptest::prelude::*;

/// Adds the first input to the second, in place.
#[derive(Clone)]
struct AddTo;

impl Task for AddTo {
    type In = (In<u64>, InOut<u64>);
    type Out = ();
    fn lens(&self, (a, b): (usize, usize)) -> Result<()> {
        if a == b { Ok(()) } else { Err(Error::new(format!("both inputs must have the same length, not {a} and {b}"))) }
    }
    fn run(&mut self, (a, b): (&[u64], &mut [u64]), (): ()) -> Result<Flow> {
        b.iter_mut().zip(a).for_each(|(b, a)| *b = b.wrapping_add(*a));
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Two wires of one.
#[derive(Clone)]
struct Multiply;

impl Task for Multiply {
    type In = In<u64>;
    type Out = (Out<u64>, Out<u64>);
    fn lens(&self, len: usize) -> Result<(usize, usize)> {
        Ok((len, len))
    }
    fn run(&mut self, x: &[u64], (double, triple): (&mut [u64], &mut [u64])) -> Result<Flow> {
        for (x, (double, triple)) in x.iter().zip(double.iter_mut().zip(triple)) {
            (*double, *triple) = (x.wrapping_mul(2), x.wrapping_mul(3));
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The numbers that are even, with room for one more.
#[derive(Clone)]
struct Even;

impl Task for Even {
    type In = In<u64>;
    type Out = OutVar<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len + 1)
    }
    fn run(&mut self, x: &[u64], mut even: VarFrame<'_, u64>) -> Result<Flow> {
        x.iter().filter(|x| x.is_multiple_of(2)).try_for_each(|&x| even.push(x))?;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Puts a 7 behind, where there is room.
#[derive(Clone)]
struct Append;

impl Task for Append {
    type In = InOutVar<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, mut x: VarFrame<'_, u64>, (): ()) -> Result<Flow> {
        if x.len() < x.capacity() {
            x.push(7)?;
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// The sum and the length of what is there.
#[derive(Clone)]
struct Sum;

impl Task for Sum {
    type In = InVar<u64>;
    type Out = Out<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(2)
    }
    fn run(&mut self, x: &[u64], sum: &mut [u64]) -> Result<Flow> {
        sum.copy_from_slice(&[x.iter().fold(0, |sum: u64, x| sum.wrapping_add(*x)), x.len() as u64]);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn new_collect() -> (DynTask, sink::Collected<u64>) {
    let (collect, result) = sink::collect::<u64>();
    (DynTask::new(collect), result)
}

fn shape(report: &Report) -> impl PartialEq + std::fmt::Debug + use<> {
    let tasks = |stage: &StageReport| stage.tasks.iter().map(|task| task.name.clone()).collect::<Vec<_>>();
    let stages = report.stages.iter().map(|s| (s.name.clone(), tasks(s), s.threads, s.kind.clone(), s.frames));
    (report.batch, report.executions, report.frames, report.max_frames_in_flight, stages.collect::<Vec<_>>())
}

#[test]
fn a_typed_and_a_dynamic_chain_are_the_same() {
    let typed = |threads: usize| {
        let mut chain = Chain::new().batch(3);
        let numbers = chain.add(Count::to(100), ());
        chain.stage("work").threads(threads);
        let mut passed = chain.add(Probe::new(Act::KeepEvery(2)), &numbers);
        chain.add(Add(5), &mut passed);
        let pairs = chain.add(Pair, (&numbers, &passed));
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &pairs);
        (chain, result)
    };
    let dynamic = |threads: usize| {
        let mut chain = Chain::new().batch(3);
        let numbers = chain.add_dyn(DynTask::new(Count::to(100)), &[]).unwrap().remove(0);
        chain.stage("work").threads(threads);
        let passed = chain.add_dyn(DynTask::new(Probe::new(Act::KeepEvery(2))), &[&numbers]).unwrap().remove(0);
        assert!(chain.add_dyn(DynTask::new(Add(5)), &[&passed]).unwrap().is_empty());
        let pairs = chain.add_dyn(DynTask::new(Pair), &[&numbers, &passed]).unwrap().remove(0);
        assert_eq!((pairs.element(), pairs.len(), pairs.is_variable()), ("[u64; 2]".to_owned(), 1, false));
        chain.stage("out");
        let (collect, result) = sink::collect();
        chain.add(collect, &pairs.typed().unwrap());
        (chain, result)
    };
    for threads in [1, 3] {
        let [(typed, expected), (dynamic, result)] = [typed(threads), dynamic(threads)];
        let report = typed.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
        let other = dynamic.build().unwrap().pipeline_as_marked().unwrap().run().unwrap();
        let expected = expected.take();
        assert_eq!((expected.len(), expected[1]), (50, [2, 1007]));
        assert_eq!(result.take(), expected);
        assert_eq!(shape(&other), shape(&report));
    }
    let [(typed, expected), (dynamic, result)] = [typed(1), dynamic(1)];
    let mut pipeline = dynamic.build().unwrap().one_core().unwrap();
    assert_eq!(shape(&pipeline.run().unwrap()), shape(&typed.build().unwrap().run().unwrap()));
    assert_eq!(result.take(), expected.take());
    // And once more, on the same thread.
    assert_eq!(pipeline.run().unwrap().frames, 50);
    assert_eq!(result.take().len(), 50);
}

#[test]
fn a_task_tells_its_sockets() {
    let task = DynTask::new(AddTo).named("add");
    let kinds = |sockets: Vec<bief::raw::SocketKind>| sockets.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    assert_eq!((task.name(), kinds(task.inputs())), ("add", vec!["in u64".to_owned(), "in-place u64".to_owned()]));
    assert_eq!(kinds(DynTask::new(Even).outputs()), ["out variable u64"]);
    assert_eq!(format!("{task:?}"), "DynTask add (in u64, in-place u64)");
    let socket = DynTask::new(Append).inputs()[0];
    assert_eq!((socket.direction(), socket.is_variable(), &*socket.element()), (Direction::InOut, true, "u64"));
}

/// A chain with a wire of one number, one of two bytes, one of variable length and one of one complex-like element.
struct Rig {
    chain: Chain,
    number: DynWire,
    bytes: DynWire,
    several: DynWire,
}

fn rig() -> Rig {
    let mut chain = Chain::new();
    let number = chain.add(Count::to(3), ());
    let bytes = chain.add(source::from_slice(&[0_u8; 8], 2), ());
    let several = chain.add(Even, &number);
    Rig { number: (&number).into(), bytes: (&bytes).into(), several: (&several).into(), chain }
}

/// What is said of the task at once; the chain goes on as if nothing had been.
fn refused(mut rig: Rig, task: DynTask, wires: &[&DynWire]) -> String {
    let before = format!("{:?}", rig.chain);
    let error = rig.chain.add_dyn(task, wires).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build);
    assert_eq!(format!("{:?}", rig.chain), before);
    let (collect, result) = new_collect();
    rig.chain.add_dyn(collect, &[&rig.number]).unwrap();
    rig.chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [0, 1, 2]);
    error.to_string()
}

#[test]
fn the_number_of_wires() {
    let rig0 = rig();
    let number = rig0.number.clone();
    assert_eq!(
        refused(rig0, DynTask::new(Pair), &[&number]),
        "task `Pair`: it has 2 inputs (in u64, in u64), but 1 wire was given (input 0 is 1 x u64 from task `Count`)"
    );
    assert_eq!(
        refused(rig(), DynTask::new(Add(1)), &[]),
        "task `Add`: it has 1 input (in-place u64), but none was given"
    );
    let rig = rig();
    let (number, several) = (rig.number.clone(), rig.several.clone());
    assert_eq!(
        refused(rig, DynTask::new(Count::to(1)).named("count"), &[&number, &several]),
        "task `count`: it has no inputs, but 2 wires were given (input 0 is 1 x u64 from task `Count`, input 1 is up to 2 x \
         u64 from task `Even`)"
    );
}

mod other {
    /// Another type of a name that there is already.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct Sample;
}

#[derive(Clone, Copy, Default)]
struct Sample;

#[test]
fn element_types_and_variable_lengths() {
    let rig0 = rig();
    let (number, bytes) = (rig0.number.clone(), rig0.bytes.clone());
    assert_eq!(
        refused(rig0, DynTask::new(Pair), &[&number, &bytes]),
        "task `Pair`: input 1 reads u64, but gets u8 from task `SliceSource`"
    );
    let rig1 = rig();
    let (bytes, several) = (rig1.bytes.clone(), rig1.several.clone());
    assert_eq!(
        refused(rig1, DynTask::new(Add(1)), &[&bytes]),
        "task `Add`: input 0 rewrites u64, but gets u8 from task `SliceSource`"
    );
    assert_eq!(several.typed_var::<u64>().unwrap().capacity(), 2);
    let (rig2, rig3) = (rig(), rig());
    let (number, several) = (rig3.number.clone(), rig2.several.clone());
    assert_eq!(
        refused(rig2, DynTask::new(Add(1)), &[&several]),
        "task `Add`: input 0 rewrites frames of one length, but gets frames of variable length from task `Even`"
    );
    assert_eq!(
        refused(rig3, DynTask::new(Sum), &[&number]),
        "task `Sum`: input 0 reads frames of variable length, but gets frames of one length from task `Count`"
    );
    let told = |result: Result<()>| result.unwrap_err().to_string();
    assert_eq!(told(number.typed::<f32>().map(drop)), "a wire of f32 is wanted, not of u64 from task `Count`");
    assert_eq!(
        told(number.typed_var::<u64>().map(drop)),
        "a wire of frames of variable length is wanted, not of frames of one length from task `Count`"
    );
    let mut chain = Chain::new();
    let sample = DynWire::from(&chain.add(source::from_slice(&[Sample], 1), ()));
    let text = told(sample.typed::<other::Sample>().map(drop));
    assert!(text.contains("other::Sample is wanted") && text.contains("dynamic::Sample from"), "{text}");
}

#[test]
fn a_length_that_does_not_fit() {
    let mut rig = rig();
    let long = DynWire::from(&rig.chain.add(source::from_slice(&[0_u64; 8], 2), ()));
    let number = rig.number.clone();
    assert_eq!(
        refused(rig, DynTask::new(AddTo), &[&number, &long]),
        "task `AddTo`: both inputs must have the same length, not 1 and 2 (input 0 is 1 x u64 from task `Count`, input 1 is \
         2 x u64 from task `SliceSource 2`)"
    );
}

#[test]
fn a_wire_rewritten_and_bound_twice() {
    let told = "task `AddTo`: inputs 0 and 1 are the same wire, from task `Count`, and input 1 rewrites it: give each a wire \
                of its own";
    let rig0 = rig();
    let number = rig0.number.clone();
    assert_eq!(refused(rig0, DynTask::new(AddTo), &[&number, &number]), told);

    // Reading it twice is fine.
    let mut rig = rig();
    rig.chain.add_dyn(DynTask::new(Pair), &[&rig.number, &rig.number]).unwrap();

    // What a copy makes of the borrows of typed wires is seen too.
    let (read, mut rewritten) = (rig.number.typed::<u64>().unwrap(), rig.number.typed::<u64>().unwrap());
    rig.chain.add(AddTo, (&read, &mut rewritten));
    assert_eq!(rig.chain.build().unwrap_err().to_string(), told);

    struct Swap;
    impl Task for Swap {
        type In = (InOut<u64>, In<u8>, In<u64>);
        type Out = ();
        fn lens(&self, _: (usize, usize, usize)) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, _: (&mut [u64], &[u8], &[u64]), (): ()) -> Result<Flow> {
            Ok(Flow::Next)
        }
    }
    let rig = self::rig();
    let (number, bytes) = (rig.number.clone(), rig.bytes.clone());
    let text = refused(rig, DynTask::new(Swap), &[&number, &bytes, &number]);
    assert!(text.contains("inputs 0 and 2 are the same wire") && text.contains("input 0 rewrites it"), "{text}");
}

#[test]
fn what_can_only_be_read() {
    let mut rig = rig();
    let constant = rig.chain.constant(&[1_u64]);
    let constant = DynWire::from(&*constant);
    let told = "task `Add`: input 0 rewrites its wire, but a constant can only be read";
    assert_eq!(refused(rig, DynTask::new(Add(1)), &[&constant]), told);
    let mut chain = Chain::new();
    let constant = DynWire::from(chain.constant(&[1_u64]).wire());
    chain.add(Add(1), &mut constant.typed().unwrap());
    assert_eq!(chain.build().unwrap_err().to_string(), told);

    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(3), ());
    let mut told = None;
    let mut kept = None;
    let sums = chain.feedback(&[0_u64], |chain, previous| {
        kept = Some(DynWire::from(previous));
        told = chain.add_dyn(DynTask::new(Add(1)), &[&previous.into()]).err();
        let sums = chain.add_dyn(DynTask::new(Pair), &[&previous.into(), &DynWire::from(&numbers)]).unwrap().remove(0);
        let sums = sums.typed::<[u64; 2]>().unwrap();
        chain.add(Total, &sums)
    });
    assert_eq!(
        told.unwrap().to_string(),
        "task `Add`: input 0 rewrites its wire, but a `feedback`, of the frame before can only be read"
    );
    let error = chain.add_dyn(new_collect().0, &[&kept.unwrap()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task `Collect`: input 0 is a `feedback`, of the frame before, which is there in its body alone: bind `Collect` to \
         the wire that `feedback` returns"
    );
    let (collect, result) = sink::collect();
    chain.add(collect, &sums);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [0, 1, 3]);

    let mut chain = Chain::new();
    chain.feedback(&[0_u64], |_, previous| DynWire::from(previous).typed().unwrap());
    let text = chain.build().unwrap_err().to_string();
    assert!(text.contains("task `feedback`: input 0 is a `feedback`, of the frame before"), "{text}");
}

/// The sum of both numbers.
struct Total;

impl Task for Total {
    type In = In<[u64; 2]>;
    type Out = Out<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[[u64; 2]], total: &mut [u64]) -> Result<Flow> {
        total[0] = x[0][0] + x[0][1];
        Ok(Flow::Next)
    }
}

#[test]
fn wires_of_other_chains_and_of_blocks_that_have_ended() {
    let foreign = rig().number;
    assert_eq!(
        refused(rig(), new_collect().0, &[&foreign]),
        "task `Collect`: input 0 is a wire of another chain, made there by task `Count`: bind `Collect` to wires that this \
         chain made"
    );
    let mut rig = rig();
    let mut inside = None;
    let number = rig.number.clone();
    rig.chain.repeat(2, |chain| {
        inside = chain.add_dyn(DynTask::new(Probe::new(Act::Pass)), &[&number]).ok().map(|mut made| made.remove(0));
    });
    assert_eq!(
        refused(rig, new_collect().0, &[&inside.unwrap()]),
        "task `Collect`: input 0 is made by task `Probe` inside a `repeat`, which may not have run: let the task inside \
         rewrite a wire that was made before (`Chain::blank` makes one), and read that"
    );
}

#[test]
fn after_a_typed_fault_the_first_fault_is_told() {
    let mut chain = Chain::new();
    let nothing = chain.add(source::from_slice(&[1_u64], 0), ());
    let error = chain.add_dyn(new_collect().0, &[&DynWire::from(&nothing)]).unwrap_err();
    assert_eq!(error.to_string(), chain.build().unwrap_err().to_string());
}

#[test]
fn names_that_are_taken_get_a_number() {
    let mut chain = Chain::new();
    for _ in 0..2 {
        chain.add_dyn(DynTask::new(Count::to(1)).named("count"), &[]).unwrap();
    }
    let program = chain.build().unwrap();
    assert_eq!(program.tasks().map(|(name, _)| name).collect::<Vec<_>>(), ["count", "count 2"]);
}

/// A step of a random chain: what it does, and the wires that it is given (by number, modulo those there are).
#[derive(Debug, Clone, Copy)]
enum Op {
    Add(u64, usize),
    AddTo(usize, usize),
    Multiply(usize),
    Even(usize),
    Append(usize),
    Sum(usize),
    Keep(usize),
    Mark,
}

fn op() -> impl Strategy<Value = Op> {
    let wire = || 0..64_usize;
    prop_oneof![
        (0..9_u64, wire()).prop_map(|(number, wire)| Op::Add(number, wire)),
        (wire(), wire()).prop_map(|(a, b)| Op::AddTo(a, b)),
        wire().prop_map(Op::Multiply),
        wire().prop_map(Op::Even),
        wire().prop_map(Op::Append),
        wire().prop_map(Op::Sum),
        wire().prop_map(Op::Keep),
        Just(Op::Mark),
    ]
}

/// Skips the frames whose first number is a multiple of 3.
#[derive(Clone)]
struct Keep;

impl Task for Keep {
    type In = In<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &[u64], (): ()) -> Result<Flow> {
        Ok(if x[0].is_multiple_of(3) { Flow::Skip } else { Flow::Next })
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Keeps each frame.
struct Frames<S>(Arc<Mutex<Vec<Vec<u64>>>>, std::marker::PhantomData<fn() -> S>);

impl<S> Frames<S> {
    fn new(frames: &Arc<Mutex<Vec<Vec<u64>>>>) -> Self {
        Self(Arc::clone(frames), std::marker::PhantomData)
    }
}

impl<S> Task for Frames<S>
where
    S: for<'a> bief::chain::Input<Slice<'a> = &'a [u64]> + 'static,
{
    type In = S;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &[u64], (): ()) -> Result<Flow> {
        self.0.lock().unwrap().push(frame.to_vec());
        Ok(Flow::Next)
    }
}

/// What the interpreter knows of a wire.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Known {
    len: usize,
    variable: bool,
}

/// Whether the step may be added, and the wires that it makes: by its meaning, without a chain.
fn meaning(op: Op, wires: &[Known]) -> Option<Vec<Known>> {
    let at = |index: usize| wires[index % wires.len()];
    let fixed = |index| Some(at(index)).filter(|wire| !wire.variable);
    let variable = |index| Some(at(index)).filter(|wire| wire.variable);
    Some(match op {
        Op::Mark => vec![],
        Op::Add(_, wire) | Op::Keep(wire) => fixed(wire).map(|_| vec![])?,
        Op::AddTo(a, b) => {
            let (one, other) = (fixed(a)?, fixed(b)?);
            let apart = a % wires.len() != b % wires.len();
            (one.len == other.len && apart).then(Vec::new)?
        }
        Op::Multiply(wire) => vec![fixed(wire)?; 2],
        Op::Even(wire) => vec![Known { len: fixed(wire)?.len + 1, variable: true }],
        Op::Append(wire) => variable(wire).map(|_| vec![])?,
        Op::Sum(wire) => variable(wire).map(|_| vec![Known { len: 2, variable: false }])?,
    })
}

/// Does the step on the frame's wires; `false` where the frame is skipped.
fn interpret(op: Op, frame: &mut Vec<Vec<u64>>, wires: &[Known]) -> bool {
    let at = |index: usize| index % frame.len();
    match op {
        Op::Mark => {}
        Op::Add(number, wire) => {
            let wire = at(wire);
            frame[wire][0] += number;
        }
        Op::AddTo(a, b) => {
            let (a, b) = (frame[at(a)].clone(), at(b));
            frame[b].iter_mut().zip(a).for_each(|(b, a)| *b = b.wrapping_add(a));
        }
        Op::Multiply(wire) => {
            let wire = frame[at(wire)].clone();
            frame.extend([2, 3].map(|factor| wire.iter().map(|x| x.wrapping_mul(factor)).collect::<Vec<u64>>()));
        }
        Op::Even(wire) => {
            let even = frame[at(wire)].iter().copied().filter(|x| x.is_multiple_of(2)).collect();
            frame.push(even);
        }
        Op::Append(wire) => {
            let wire = at(wire);
            if frame[wire].len() < wires[wire].len {
                frame[wire].push(7);
            }
        }
        Op::Sum(wire) => {
            let wire = &frame[at(wire)];
            let sum = wire.iter().fold(0_u64, |sum, x| sum.wrapping_add(*x));
            let len = wire.len() as u64;
            frame.push(vec![sum, len]);
        }
        Op::Keep(wire) => return !frame[at(wire)][0].is_multiple_of(3),
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// What the interpreter can do is added and does the same; what it cannot is refused.
    #[test]
    fn random_chains_do_what_an_interpreter_does(
        sources in prop::collection::vec(1..4_usize, 1..4),
        ops in prop::collection::vec(op(), 0..25),
        batch in 1..5_usize,
        threads in 1..3_usize,
    ) {
        const FRAMES: usize = 11;
        let mut chain = Chain::new().batch(batch);
        let (mut wires, mut known) = (Vec::new(), Vec::new());
        let mut expected: Vec<Option<Vec<Vec<u64>>>> = vec![Some(Vec::new()); FRAMES];
        for (number, &len) in sources.iter().enumerate() {
            let values: Vec<u64> = (0..(len * FRAMES) as u64).map(|value| value + 100 * number as u64).collect();
            wires.extend(chain.add_dyn(DynTask::new(source::from_slice(&values, len)), &[]).unwrap());
            known.push(Known { len, variable: false });
            let frames = expected.iter_mut().flatten().zip(values.chunks(len));
            frames.for_each(|(frame, values)| frame.push(values.to_vec()));
        }
        // The sources remember: stages of several threads begin behind them.
        chain.stage("first").threads(threads);
        let mut empty = true;
        for op in ops {
            let at = |index: usize| &wires[index % wires.len()];
            let made = match op {
                Op::Mark => {
                    if !empty {
                        chain.stage("next").threads(threads);
                        empty = true;
                    }
                    continue;
                }
                Op::Add(number, wire) => chain.add_dyn(DynTask::new(Add(number)), &[at(wire)]),
                Op::AddTo(a, b) => chain.add_dyn(DynTask::new(AddTo), &[at(a), at(b)]),
                Op::Multiply(wire) => chain.add_dyn(DynTask::new(Multiply), &[at(wire)]),
                Op::Even(wire) => chain.add_dyn(DynTask::new(Even), &[at(wire)]),
                Op::Append(wire) => chain.add_dyn(DynTask::new(Append), &[at(wire)]),
                Op::Sum(wire) => chain.add_dyn(DynTask::new(Sum), &[at(wire)]),
                Op::Keep(wire) => chain.add_dyn(DynTask::new(Keep), &[at(wire)]),
            };
            let Some(makes) = meaning(op, &known) else {
                prop_assert!(made.is_err(), "{op:?} was added to {known:?}");
                continue;
            };
            empty = false;
            for frame in &mut expected {
                if frame.as_mut().is_some_and(|frame| !interpret(op, frame, &known)) {
                    *frame = None;
                }
            }
            wires.extend(made.unwrap());
            known.extend(makes);
            let told = wires.iter().map(|wire| Known { len: wire.len(), variable: wire.is_variable() });
            prop_assert_eq!(told.collect::<Vec<_>>(), known.clone());
        }
        if !empty {
            chain.stage("out");
        }
        let results: Vec<Arc<Mutex<Vec<Vec<u64>>>>> = wires.iter().map(|_| Arc::default()).collect();
        for ((wire, known), frames) in wires.iter().zip(&known).zip(&results) {
            let keep = if known.variable {
                DynTask::new(Frames::<InVar<u64>>::new(frames))
            } else {
                DynTask::new(Frames::<In<u64>>::new(frames))
            };
            chain.add_dyn(keep, &[wire]).unwrap();
        }
        let program = chain.build().unwrap();
        let program = if empty { program.one_core() } else { program.pipeline_as_marked() };
        program.unwrap().run().unwrap();
        for (wire, frames) in results.iter().enumerate() {
            let expected: Vec<_> = expected.iter().flatten().map(|frame| frame[wire].clone()).collect();
            prop_assert_eq!(&*frames.lock().unwrap(), &expected, "wire {}", wire);
        }
    }
}

/// Half as many rows of as many columns.
#[derive(Clone)]
struct Halve {
    /// What it says of its output.
    shapes: Option<Vec<Shape>>,
}

impl Task for Halve {
    type In = In<u64>;
    type Out = Out<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len / 2)
    }
    fn shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        match (&self.shapes, inputs[0].dims()) {
            (Some(shapes), _) => Ok(shapes.clone()),
            (None, &[rows, columns]) => Ok(vec![[rows / 2, columns].into()]),
            (None, _) => Err(Error::new("it halves rows and columns")),
        }
    }
    fn run(&mut self, x: &[u64], y: &mut [u64]) -> Result<Flow> {
        y.copy_from_slice(&x[..y.len()]);
        Ok(Flow::Next)
    }
}

#[test]
fn shapes_go_from_task_to_task_and_are_checked() {
    let mut chain = Chain::new();
    let flat = chain.blank::<u64>(12);
    assert_eq!(flat.shape().dims(), [12]);
    let refused = |chain: &mut Chain, wire: &DynWire, shapes: Option<Vec<Shape>>| {
        chain.add_dyn(DynTask::new(Halve { shapes }), &[wire]).unwrap_err().to_string()
    };
    let wire = DynWire::from(&flat);
    assert_eq!(
        refused(&mut chain, &wire, None),
        "task `Halve`: it halves rows and columns (input 0 is 12 x u64 from task `blank`)"
    );
    assert_eq!(
        refused(&mut chain, &wire, Some(vec![[2, 2].into()])),
        "task `Halve`: output 0 has the shape 2 x 2, but 6 elements: let `shapes` and `lens` agree (input 0 is 12 x u64 from task \
         `blank`)"
    );
    assert_eq!(
        refused(&mut chain, &wire, Some(vec![6.into(), 6.into()])),
        "task `Halve`: it has 1 output, but its `shapes` gives 2 shapes: give one for each, or none (input 0 is 12 x u64 from task \
         `blank`)"
    );
    let picture = chain.add(Halve { shapes: Some(vec![[2, 3].into()]) }, &flat);
    assert_eq!((picture.len(), picture.shape().dims()), (6, &[2, 3][..]));
    let row = chain.add_dyn(DynTask::new(Halve { shapes: None }), &[&DynWire::from(&picture)]).unwrap().remove(0);
    assert_eq!((row.shape().dims(), row.dtype().unwrap().to_string()), (&[1, 3][..], "u64".to_owned()));
    let (collect, _) = sink::collect::<f32>();
    let error = chain.add_dyn(DynTask::new(collect), &[&row]).unwrap_err().to_string();
    assert_eq!(error, "task `Collect`: input 0 reads f32, but gets u64 from task `Halve 2`");
    // A slice stays a slice, and what is rewritten keeps its shape.
    let mut picture = picture;
    chain.add(Add(1), &mut picture);
    assert_eq!(picture.shape().dims(), [2, 3]);
}
