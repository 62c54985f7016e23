//! What the tasks of a receiver tell: the same on any number of cores, and still there after a fault.

use std::io::{self, Write};
use std::path::Path;

use crate::common::Shared;
use bief::schedule::Stage;
use bief::{Application, Pipeline};
use bief_radio::Recording;
use bief_radio::dvbs2::{Figures, KeepSymbols, Receiver, Settings};

fn receiver() -> Receiver {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    Receiver::find(Recording::open(&path, None).unwrap(), Settings::at(2.0), |_| ()).unwrap().keep_symbols()
}

/// On one core, or with everything between source and sink on so many.
fn pipeline(mut receiver: Receiver, replicas: u32) -> Pipeline {
    let program = receiver.program().unwrap();
    let replicable: Vec<bool> = program.tasks().map(|(_, replicable)| replicable).collect();
    let front = replicable.iter().position(|replicable| *replicable).unwrap();
    let middle = replicable[front..].iter().take_while(|replicable| **replicable).count();
    assert_eq!((front, middle, replicable.len()), (1, 9, 12), "symbols are kept by any number of replicas");
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
