//! A program in two parts does together what it does alone; what cannot cross is refused.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use crate::common::{Act, Add, Count, Pair, Probe, rig, watched};
use bief::chain::Crossing;
use bief::raw::{BatchView, RawTask};
use bief::raw::{Direction, Dtype, DynTask, Shape, SocketKind};
use bief::schedule::Stage;
use bief::{Chain, Error, Flow, In, InOutVar, Out, OutVar, Program, Result, Task, VarFrame, sink};

/// Each frame that lives, as the bytes of each wire.
type Frame = Vec<Vec<u8>>;

struct Send {
    wires: Vec<Crossing>,
    link: Option<SyncSender<Frame>>,
}

impl RawTask for Send {
    fn inputs(&self) -> Vec<SocketKind> {
        self.wires.iter().map(|wire| wire.socket(Direction::In).unwrap()).collect()
    }
    fn outputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }
    fn lens(&self, inputs: &[Shape]) -> Result<Vec<Shape>> {
        assert!(inputs.iter().eq(self.wires.iter().map(|wire| &wire.shape)));
        Ok(Vec::new())
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in batch.frames.live() {
            let bytes = |socket| Ok(batch.inputs.get(socket)?.frame_bytes(position)?.to_vec());
            let frame = (0..self.wires.len()).map(bytes).collect::<Result<_>>()?;
            self.link.as_ref().expect("it runs once").send(frame).map_err(Error::from_source)?;
        }
        Ok(())
    }
    fn finish(&mut self) -> Result<()> {
        self.link = None;
        Ok(())
    }
}

struct Receive {
    wires: Vec<Crossing>,
    link: Receiver<Frame>,
}

impl RawTask for Receive {
    fn inputs(&self) -> Vec<SocketKind> {
        Vec::new()
    }
    fn outputs(&self) -> Vec<SocketKind> {
        self.wires.iter().map(|wire| wire.socket(Direction::Out).unwrap()).collect()
    }
    fn lens(&self, _: &[Shape]) -> Result<Vec<Shape>> {
        Ok(self.wires.iter().map(|wire| wire.shape.clone()).collect())
    }
    fn run(&mut self, batch: &mut BatchView<'_>) -> Result<()> {
        for position in 0..batch.frames.count() {
            let Ok(frame) = self.link.recv() else {
                batch.frames.stop(position);
                break;
            };
            for ((bytes, mut output), wire) in frame.iter().zip(batch.outputs.iter_mut()).zip(&self.wires) {
                let start = position * wire.bytes;
                output.bytes()?[start..start + bytes.len()].copy_from_slice(bytes);
                if wire.variable {
                    output.set_len(position, bytes.len() * wire.shape.len() / wire.bytes)?;
                }
            }
        }
        Ok(())
    }
}

/// Both parts, linked.
fn linked(program: Program, at: usize) -> (Program, Program) {
    let split = program.split(at).unwrap();
    let (sender, receiver) = sync_channel(2);
    let send = Send { wires: split.crossing(), link: Some(sender) };
    let receive = Receive { wires: split.crossing(), link: receiver };
    split.link(DynTask::raw(send), DynTask::raw(receive)).unwrap()
}

/// Runs both at a time.
fn run(program: Program, at: usize, marked: bool) {
    let (here, there) = linked(program, at);
    let run = move |program: Program| if marked { program.pipeline_as_marked()?.run() } else { program.run() };
    watched(move || {
        let first = std::thread::spawn(move || run(here).unwrap());
        run(there).unwrap();
        first.join().unwrap();
    });
}

/// Numbers below, as many as the remainder, and whether it is odd.
#[derive(Clone)]
struct Below;

impl Task for Below {
    type In = In<u64>;
    type Out = (OutVar<u64>, Out<u8>);
    fn lens(&self, _: usize) -> Result<(usize, usize)> {
        Ok((5, 1))
    }
    fn run(&mut self, x: &[u64], (mut below, odd): (VarFrame<'_, u64>, &mut [u8])) -> Result<Flow> {
        (0..x[0] % 5).try_for_each(|number| below.push(number))?;
        odd[0] = (x[0] % 2) as u8;
        Ok(Flow::Next)
    }
}

/// Their sum and the constant, and one more behind.
#[derive(Clone)]
struct Sum;

impl Task for Sum {
    type In = (InOutVar<u64>, In<u64>, In<u64>);
    type Out = Out<u64>;
    fn lens(&self, _: (usize, usize, usize)) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, (mut below, x, ten): (VarFrame<'_, u64>, &[u64], &[u64]), sum: &mut [u64]) -> Result<Flow> {
        sum[0] = x[0] + ten[0] + below.iter().sum::<u64>();
        below.clear();
        Ok(Flow::Next)
    }
}

/// A chain with wires that jump over tasks, of variable length, in a loop, and a constant.
fn chain(batch: usize) -> (Chain, Arc<Mutex<Vec<[u64; 2]>>>) {
    let result = Arc::<Mutex<Vec<[u64; 2]>>>::default();
    let mut chain = Chain::new().batch(batch);
    let ten = chain.constant(&[10_u64]);
    let numbers = chain.add(Count::to(100), ());
    let mut doubled = chain.add(Probe::new(Act::KeepEvery(3)), &numbers);
    chain.stage("below").threads(1);
    let (mut below, _) = chain.add(Below, &numbers);
    chain.repeat(2, |chain| chain.add(Add(1), &mut doubled));
    chain.stage("sum");
    let sum = chain.add(Sum, (&mut below, &numbers, &ten));
    let pairs = chain.add(Pair, (&sum, &doubled));
    let taken = Arc::clone(&result);
    let take = sink::for_each(move |pair: &[[u64; 2]]| {
        taken.lock().unwrap().push(pair[0]);
        Ok(Flow::Next)
    });
    chain.add(take, &pairs);
    (chain, result)
}

#[test]
fn both_parts_do_what_the_whole_does() {
    Dtype::register::<[u64; 2]>().unwrap();
    for batch in [1, 7] {
        let (whole, result) = chain(batch);
        whole.build().unwrap().run().unwrap();
        let expected = std::mem::take(&mut *result.lock().unwrap());
        assert_eq!((expected.len(), expected[1]), (34, [3 + 10 + 3, 1005]));
        for at in 1..7 {
            for marked in [false, true] {
                let (whole, result) = chain(batch);
                run(whole.build().unwrap(), at, marked);
                assert_eq!(*result.lock().unwrap(), expected, "batch {batch}, split at {at}");
            }
        }
    }
}

#[test]
fn what_crosses_is_told() {
    let program = chain(1).0.build().unwrap();
    let told = |at: usize| -> Vec<(String, String, usize, bool, usize)> {
        let crossing = program.crossing(at).unwrap();
        let told =
            |wire: Crossing| (wire.maker, wire.dtype.unwrap().to_string(), wire.shape.len(), wire.variable, wire.bytes);
        crossing.into_iter().map(told).collect()
    };
    let wire = |maker: &str, len, variable| (maker.to_owned(), "u64".to_owned(), len, variable, 8 * len);
    assert_eq!(told(1), [wire("Count", 1, false)]);
    assert_eq!(told(2), [wire("Count", 1, false), wire("Probe", 1, false)]);
    // What nobody uses does not cross.
    assert_eq!(told(4), [wire("Count", 1, false), wire("Probe", 1, false), wire("Below", 5, true)]);
    for at in [0, 7, 99] {
        let error = program.crossing(at).unwrap_err().to_string();
        assert_eq!(error, format!("a program of 7 tasks has no two parts at task {at}: give 1 to 6"));
    }
}

#[test]
fn stages_that_are_marked_stay() {
    let (here, there) = linked(rig(10, 1, [1, 3, 1], [Act::Pass; 3]).chain.build().unwrap(), 2);
    let stages = |program: Program| -> Vec<(String, usize)> {
        let pipeline = program.pipeline_as_marked().unwrap();
        pipeline.slots().into_iter().map(|stage| (stage.name, stage.threads)).collect()
    };
    let named =
        |stages: &[(&str, usize)]| stages.iter().map(|&(name, threads)| (name.to_owned(), threads)).collect::<Vec<_>>();
    assert_eq!(stages(here), named(&[("Count", 1), ("s0", 1), ("Send", 1)]));
    assert_eq!(stages(there), named(&[("Receive", 1), ("s1", 3), ("s2", 1), ("out", 1)]));
}

#[test]
fn a_wire_that_is_not_portable_does_not_cross() {
    let mut chain = Chain::new();
    let numbers = chain.add(Count::to(3), ());
    let flags = chain.blank::<bool>(4);
    chain.add(Add(1), &mut { numbers });
    chain.add(sink::for_each(|_: &[bool]| Ok(Flow::Next)), &flags);
    let program = chain.build().unwrap();
    assert_eq!(program.crossing(3).unwrap()[0].dtype, None);
    let error = program.split(3).unwrap_err().to_string();
    let expected = "task `blank`: its wire of bool to task `sink` cannot leave the process: bool is not known to be portable: let \
                    `portable!` say its fields, and call `Dtype::register::<bool>` before the wire is made, or split elsewhere";
    assert_eq!(error, expected);
}

#[test]
fn tasks_that_are_no_link_are_refused() {
    let split = || chain(1).0.build().unwrap().split(1).unwrap();
    let send = || {
        let link = sync_channel(1).0;
        DynTask::raw(Send { wires: split().crossing(), link: Some(link) })
    };
    let receive = |wires: Vec<Crossing>| DynTask::raw(Receive { wires, link: sync_channel(1).1 });
    let refused = |send, receive| split().link(send, receive).unwrap_err().to_string();
    let whole = || receive(split().crossing());
    assert_eq!(
        refused(DynTask::new(sink::collect::<f32>().0), whole()),
        "task `Collect`: input 0 reads f32, but gets u64 from task `Count`"
    );
    assert_eq!(
        refused(DynTask::new(Probe::new(Act::Pass)), whole()),
        "task `Probe`: it makes wires, but nothing comes after it: let it only read"
    );
    assert_eq!(
        refused(send(), DynTask::new(Probe::new(Act::Pass))),
        "task `Probe 2`: it reads wires, but nothing comes before it: let it only make some"
    );
    assert_eq!(refused(send(), receive(Vec::new())), "task `Receive`: it makes 0 wires, but 1 cross: let it make each");
    let mut wires = split().crossing();
    wires[0].shape = Shape::from([2, 2]);
    assert_eq!(
        refused(send(), receive(wires)),
        "task `Receive`: output 0 is 2 x 2 x u64, but what crosses is 1 x u64 from task `Count`: let them agree"
    );
}

#[test]
fn a_program_is_cut_without_a_plan() {
    let rig = rig(100, 1, [1; 3], [Act::Pass; 3]);
    let mut pipeline =
        rig.chain.build().unwrap().cut(&[Stage::new(1, 1, ""), Stage::new(3, 4, "big"), Stage::new(1, 1, "")]).unwrap();
    let stages: Vec<_> =
        pipeline.slots().into_iter().map(|stage| (stage.threads, stage.kinds.first().cloned())).collect();
    assert_eq!(stages, [(1, None), (4, Some("big".to_owned())), (1, None)]);
    let report = watched(move || pipeline.run().unwrap());
    assert_eq!((report.frames, report.planned_period_ns), (100, None));
    assert_eq!(rig.result.take(), (3000..3100).collect::<Vec<_>>());
    for stages in [&[Stage::new(1, 1, "")][..], &[], &[Stage::new(usize::MAX, 1, ""), Stage::new(5, 1, "")]] {
        let error = crate::common::rig(1, 1, [1; 3], [Act::Pass; 3]).chain.build().unwrap().cut(stages).unwrap_err();
        assert!(error.to_string().contains("tasks, but this chain has 5"), "{error}");
    }
}
