//! What the tasks of a receiver tell: the same on any number of cores, and still there after a fault.

use std::io::{self, Write};
use std::path::Path;

use crate::common::Shared;
use bief::placement::Policy;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Application, Machine, Pipeline};
use bief_radio::Recording;
use bief_radio::dvbs2::{Figures, KeepSymbols, Receiver, Settings};

fn receiver() -> Receiver {
    plain().keep_symbols()
}

fn plain() -> Receiver {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    Receiver::find(Recording::open(&path, None).unwrap(), Settings::at(2.0), |_| ()).unwrap()
}

/// On one core, or with everything between source and sink on so many.
fn pipeline(mut receiver: Receiver, replicas: u32) -> Pipeline {
    let program = receiver.program().unwrap();
    let replicable: Vec<bool> = program.tasks().map(|(_, replicable)| replicable).collect();
    let front = replicable.iter().position(|replicable| *replicable).unwrap();
    let middle = replicable[front..].iter().take_while(|replicable| **replicable).count();
    assert_eq!((front, middle, replicable.len()), (1, 8, 11), "symbols are kept by any number of replicas");
    if replicas == 1 {
        return program.one_core().unwrap();
    }
    program.cut(&[Stage::new(front, 1, ""), Stage::new(middle, replicas, ""), Stage::new(2, 1, "")]).unwrap()
}

#[test]
fn replicas_tell_what_one_core_tells() {
    let told = [1, 2, 3].map(|replicas| pipeline(receiver().to(io::sink()), replicas).run().unwrap().figures);
    let [one, others @ ..] = &told;
    assert_eq!(Figures::of(one).frames, 41);
    for other in others {
        assert_eq!(Figures::of(other), Figures::of(one));
        for (told, of_one) in other.iter().zip(one.iter()).filter(|(told, _)| told.name != "symbols") {
            assert_eq!(told, of_one);
        }
        let kept = KeepSymbols::kept(other);
        assert_eq!((kept.len(), kept[0].0.value(), kept[0].1.len()), (1, 43, 4096));
        // QPSK of unit energy at 8.5 dB.
        let energy: f32 = kept[0].1.iter().map(|symbol| symbol.norm_sqr()).sum::<f32>() / 4096.0;
        assert!((energy - 1.14).abs() < 0.05, "{energy}");
    }
}

/// With some of the tasks between source and sink on an emulated device.
fn on_device(mut receiver: Receiver, lanes: u32, on_device: &[&str]) -> Pipeline {
    let machine = format!("[[device]]\nname = 'gpu'\nlanes = {lanes}\nlaunch_us = 100\ncopy_gb_per_s = 1");
    let machine = Machine::emulated(&machine, &Machine::here()).unwrap();
    let program = receiver.program().unwrap();
    let tasks: Vec<TaskProfile> = program
        .tasks()
        .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, [1, 1]) })
        .collect();
    let first = tasks.iter().position(|task| task.name == on_device[0]).unwrap();
    let names: Vec<&str> = tasks[first..first + on_device.len()].iter().map(|task| &*task.name).collect();
    assert_eq!(names, on_device);
    let rest = tasks.len() - first - on_device.len();
    let stages = [Stage::new(first, 1, "cpu"), Stage::new(on_device.len(), 1, "gpu"), Stage::new(rest, 1, "cpu")];
    let schedule = Schedule::new("hand", stages, &Profile::new(["cpu", "gpu"], tasks).unwrap()).unwrap();
    let pipeline = program.pipeline_on(&schedule, &machine).unwrap();
    pipeline.place(&Policy::Packed, &machine).unwrap()
}

#[test]
fn a_device_gives_the_same_packets_and_tells_the_same() {
    let [alone, ldpc, all] = [Shared::default(), Shared::default(), Shared::default()];
    let expected = plain().to(alone.clone()).program().unwrap().one_core().unwrap().run().unwrap().figures;
    let front = ["filter symbols", "correct phase", "demap", "decode LDPC"];
    for (written, lanes, tasks) in [(&ldpc, 1, &front[3..]), (&ldpc, 3, &front[3..]), (&all, 3, &front[..])] {
        let report = on_device(plain().to(written.clone()), lanes, tasks).run().unwrap();
        assert_eq!(report.stages[1].threads, lanes as usize);
        assert_eq!(Figures::of(&report.figures), Figures::of(&expected));
    }
    let alone = alone.take();
    assert_eq!(alone.len(), 385 * 188);
    assert!(ldpc.take() == [&alone[..], &alone[..]].concat(), "with one lane, and with three");
    assert!(all.take() == alone);
}

/// Takes so many bytes.
struct Full(usize, Shared);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("the disk is full"))?;
        self.1.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_a_fault_they_tell_what_came_before_it() {
    for replicas in [1, 2] {
        let written = Shared::default();
        let mut pipeline = pipeline(receiver().to(Full(20 * 1769, written.clone())), replicas);
        let mut watch = pipeline.watch();
        let error = pipeline.run().unwrap_err().to_string();
        assert!(error.contains("the disk is full"), "{error}");
        let told = watch.figures();
        let figures = Figures::of(&told);
        // The packets that could not be written are counted too.
        let packets = written.take().len() as u64 / 188;
        assert!((150..190).contains(&packets) && figures.packets >= packets, "{figures:?}");
        assert!((20..=22).contains(&figures.frames) && figures.es_n0_db.is_some(), "{figures:?}");
        assert!(figures.bytes > 0 && !KeepSymbols::kept(&told).is_empty());
        // What is left of the recording is another run's.
        let _ = pipeline.run();
        assert!(Figures::of(&watch.figures()).frames < 41 - 19);
    }
}
