//! Networks as planned pipelines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bief::plan::Profiling;
use bief::schedule::{Stage, TaskProfile};
use bief::{Application, Flow, Machine, Planner, Result};
use bief_nn::{Engine, Frames, Inference, NeuralNetwork};

use crate::common::{engines, own};

const FRAMES: usize = 200;

/// Frames that differ: each is `k` of a noise.
fn frame(number: usize, frame: &mut [f32]) {
    let mut state = number as u32 + 1;
    for x in frame {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *x = (state >> 28) as f32 - 8.0;
    }
}

type Made = Arc<Mutex<Vec<f32>>>;

/// The network with frames that differ, and what comes out.
fn inference(network: &NeuralNetwork, engine: &Engine) -> (Inference, Made) {
    let (made, mut number) = (Made::default(), 0);
    let collected = Arc::clone(&made);
    let read = move |slot: &mut [f32]| {
        frame(number, slot);
        number += 1;
        Ok(if number > FRAMES { Flow::Stop } else { Flow::Next })
    };
    let deliver = move |y: &[f32]| {
        collected.lock().unwrap().extend_from_slice(y);
        Ok(Flow::Next)
    };
    (Inference::new(network.clone(), engine.clone()).reads(read).delivers(deliver), made)
}

/// What comes out frame by frame.
fn expected(network: &NeuralNetwork, engine: &Engine) -> Vec<f32> {
    let whole = Inference::new(network.clone(), engine.clone()).whole();
    let mut slot = vec![0.0; network.input().len()];
    let made = (0..FRAMES).map(|number| {
        frame(number, &mut slot);
        whole.run(&slot).unwrap()
    });
    made.flatten().collect()
}

#[test]
fn replicas_and_cuts_give_the_same_in_order() {
    for engine in engines() {
        let network = own("tiny_exact.onnx");
        let expected = expected(&network, &engine);
        let stages = [
            vec![Stage::new(6, 1, "")],
            vec![Stage::new(1, 1, ""), Stage::new(4, 3, ""), Stage::new(1, 1, "")],
            vec![Stage::new(2, 1, ""), Stage::new(1, 2, ""), Stage::new(2, 3, ""), Stage::new(1, 1, "")],
            vec![Stage::new(1, 1, ""), Stage::new(1, 2, ""), Stage::new(1, 1, ""), Stage::new(3, 1, "")],
        ];
        for stages in stages {
            let (mut inference, made) = inference(&network, &engine);
            let report = inference.program().unwrap().cut(&stages).unwrap().run().unwrap();
            assert_eq!(report.frames, FRAMES as u64);
            assert_eq!(*made.lock().unwrap(), expected, "{engine} {stages:?}");
        }
    }
}

#[test]
fn frames_that_are_known_by_number_need_no_order() {
    for engine in engines() {
        let network = own("tiny_exact.onnx");
        let expected = expected(&network, &engine);
        for (stages, batch) in [(vec![Stage::new(6, 3, "")], 1), (vec![Stage::new(2, 2, ""), Stage::new(4, 3, "")], 7)]
        {
            let made = Arc::new(Mutex::new(vec![0.0; expected.len()]));
            let collected = Arc::clone(&made);
            let read = |number: u64, slot: &mut [f32]| {
                frame(number as usize, slot);
                Ok(if number < FRAMES as u64 { Flow::Next } else { Flow::Stop })
            };
            let deliver = move |number: u64, y: &[f32]| {
                let start = number as usize * y.len();
                collected.lock().unwrap()[start..start + y.len()].copy_from_slice(y);
                Ok(Flow::Next)
            };
            let inference = Inference::new(network.clone(), engine.clone()).batch(batch);
            let mut inference = inference.reads_at(read).delivers_at(deliver);
            assert!(inference.rehearsal(5).unwrap().tasks().all(|(_, is_replicable)| is_replicable));
            let report = inference.program().unwrap().cut(&stages).unwrap().run().unwrap();
            assert_eq!(report.frames, FRAMES as u64);
            assert_eq!(*made.lock().unwrap(), expected, "{engine} {stages:?}");
        }
    }
}

/// Frames that differ, in memory.
struct Kept {
    frames: Vec<f32>,
    len: usize,
}

impl Kept {
    fn of(network: &NeuralNetwork) -> Self {
        let len = network.input().len();
        let mut frames = vec![0.0; FRAMES * len];
        frames.chunks_mut(len).enumerate().for_each(|(number, slot)| frame(number, slot));
        Self { frames, len }
    }
}

impl Frames for Kept {
    fn frame(&self, number: u64) -> Result<Option<&[f32]>> {
        Ok(self.frames.chunks(self.len).nth(number as usize))
    }
}

#[test]
fn frames_in_memory_are_taken_where_they_lie() {
    for engine in engines() {
        for (name, stages, batch) in [
            ("tiny_exact.onnx", vec![Stage::new(5, 2, ""), Stage::new(1, 1, "")], 1),
            ("tiny_exact.onnx", vec![Stage::new(1, 1, ""), Stage::new(2, 2, ""), Stage::new(3, 1, "")], 7),
            ("tiny_batch.onnx", vec![Stage::new(2, 2, ""), Stage::new(3, 3, ""), Stage::new(1, 1, "")], 1),
            ("tiny_batch.onnx", vec![Stage::new(2, 2, ""), Stage::new(3, 3, ""), Stage::new(1, 1, "")], 7),
        ] {
            let network = own(name);
            let expected = expected(&network, &engine);
            let (inference, made) = inference(&network, &engine);
            let mut inference = inference.batch(batch).reads_from(Kept::of(&network));
            assert_eq!(inference.rehearsal(9).unwrap().run().unwrap().frames, 9);
            let report = inference.program().unwrap().cut(&stages).unwrap().run().unwrap();
            assert_eq!(report.frames, FRAMES as u64);
            assert_eq!(*made.lock().unwrap(), expected, "{engine} {name} {stages:?}");
            let short = Kept { len: 63, ..Kept::of(&network) };
            let mut short = inference.reads_from(short).delivers(|_| Ok(Flow::Next));
            let told = short.program().unwrap().run().unwrap_err().to_string();
            assert!(told.contains("frame 0 has 63 numbers, and the network takes frames of 64"), "{told}");
        }
    }
}

#[test]
fn batches_go_in_one_call_and_come_out_one_by_one() {
    for engine in engines() {
        let network = own("tiny_batch.onnx");
        let expected = expected(&network, &engine);
        for batch in [1, 7, 64] {
            let (inference, made) = inference(&network, &engine);
            let mut inference = inference.batch(batch);
            inference.program().unwrap().run().unwrap();
            assert_eq!(*made.lock().unwrap(), expected, "{engine} {batch}");
        }
    }
}

#[test]
fn a_plan_joins_the_segments_of_a_stage() {
    for engine in engines() {
        let network = own("modulation.onnx");
        let expected = expected(&network, &engine);
        let (inference, made) = inference(&network, &engine);
        let segments = network.segments().len();
        let planner = || Planner::new(Machine::here());
        let profile = inference.profile_on(&Machine::here(), Profiling::default()).unwrap();
        assert_eq!(profile.tasks().len(), segments + 2);
        let network_tasks: &[TaskProfile] = &profile.tasks()[1..=segments];
        assert!(network_tasks.iter().all(|task| task.replicable));
        let (planned, mut inference) = inference.plan(&planner(), &planner()).unwrap();
        // There is a core for each stage, and a task of the network in each stage that has some.
        assert!(inference.tasks().len() <= Machine::here().cores().len(), "{:?}", inference.tasks());
        assert_eq!(planned.pipeline(&mut inference).unwrap().run().unwrap().frames, FRAMES as u64);
        let made = made.lock().unwrap();
        let worst = made.iter().zip(&expected).fold(0_f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(made.len() == expected.len() && worst < 1e-3, "{engine}: {worst}");
        // The source is used up.
        assert!(inference.program().unwrap_err().to_string().contains("no reads"));
    }
}

#[test]
fn big_and_little_cores_keep_the_order() {
    let here = Machine::here();
    let [big, little, ..] = here.cores() else { return eprintln!("skipped: there is one core") };
    let (big, little) = (big.threads[0], little.threads[0]);
    let kinds =
        format!("[[kind]]\nname = 'big'\ncores = '{big}'\n[[kind]]\nname = 'little'\ncores = '{little}'\nspeed = 0.4");
    let machine = Machine::emulated(&kinds, &here).unwrap();
    let profiling = Profiling { limit: Duration::from_millis(50), ..Profiling::default() };
    let planner = || Planner::new(machine.clone()).profiling(profiling);
    for engine in engines() {
        let network = own("tiny_exact.onnx");
        let expected = expected(&network, &engine);
        let (inference, made) = inference(&network, &engine);
        let (planned, mut inference) = inference.plan(&planner(), &planner()).unwrap();
        assert_eq!(planned.pipeline(&mut inference).unwrap().run().unwrap().frames, FRAMES as u64);
        assert_eq!(*made.lock().unwrap(), expected, "{engine} {:?}", planned.schedule);
    }
}

#[test]
fn tasks_are_all_segments_in_order() {
    for engine in engines() {
        let inference = || Inference::new(own("tiny_exact.onnx"), engine.clone());
        assert!(inference().joined([0..2, 2..4]).is_ok());
        for wrong in [[0..2, 2..3], [0..2, 3..4], [0..0, 0..4], [0..4, 4..5], [1..4, 0..1]] {
            let told = inference().joined(wrong).err().unwrap().to_string();
            assert!(told.contains("are not its segments 0 to 4 in order"), "{told}");
        }
        let schedule = bief::schedule::Schedule::new(
            "test",
            vec![Stage::new(1, 1, "core"), Stage::new(3, 1, "core"), Stage::new(2, 1, "core")],
            &bief::schedule::Profile::new(["core"], (0..6).map(|task| TaskProfile::replicable(task.to_string(), [1])))
                .unwrap(),
        );
        assert_eq!(inference().along(&schedule.unwrap()), [0..3, 3..4]);
    }
}

#[test]
fn noise_is_rehearsed_or_what_is_given() {
    for engine in engines() {
        let inference = || Inference::new(own("tiny_exact.onnx"), engine.clone());
        assert_eq!(inference().rehearsal(9).unwrap().run().unwrap().frames, 9);
        assert_eq!(inference().rehearses(vec![1.0; 128]).unwrap().rehearsal(5).unwrap().run().unwrap().frames, 5);
        for wrong in [0, 63, 65] {
            assert!(inference().rehearses(vec![0.0; wrong]).err().unwrap().to_string().contains("no whole frames"));
        }
    }
}
