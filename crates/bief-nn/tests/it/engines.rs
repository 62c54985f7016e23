//! What engines make of the networks, whole and in parts, beside what is expected.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bief::schedule::Stage;
use bief::{Application, Flow};
use bief_nn::{Engine, Inference, NeuralNetwork};

use crate::common::{classes, engines, floats, models, own};

/// The input of the tiny networks.
fn counted(len: usize) -> Vec<f32> {
    (0..len).map(|k| (7 * k % 11) as f32 - 5.0).collect()
}

/// The largest difference, over one more than the largest value that is expected.
fn difference(made: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(made.len(), expected.len());
    let largest = expected.iter().fold(0_f32, |most, y| most.max(y.abs()));
    made.iter().zip(expected).fold(0_f32, |most, (y, expected)| most.max((y - expected).abs())) / (1.0 + largest)
}

#[test]
fn the_tiny_networks_are_exact_whole_and_in_parts() {
    for engine in engines() {
        let inference = Inference::new(own("tiny_exact.onnx"), engine.clone());
        assert_eq!(inference.run(&counted(64)).unwrap(), [-2552.0, 94.0, 3099.0], "{engine}");
        assert_eq!(inference.whole().run(&counted(64)).unwrap(), [-2552.0, 94.0, 3099.0], "{engine}");
        let told = Inference::new(own("tiny_exact.onnx"), engine.clone()).run(&[0.0; 63]).unwrap_err().to_string();
        assert!(told.contains("64 numbers (1 x 1 x 8 x 8), and this one has 63"), "{told}");
        let Some(folder) = models() else { continue };
        let uncut = Inference::new(own("tiny_uncuttable.onnx"), engine.clone());
        let expected = floats(&folder.join("tiny_uncuttable.output.f32"));
        assert_eq!(uncut.run(&counted(64)).unwrap(), expected, "{engine}");
        let batch = Inference::new(own("tiny_batch.onnx"), engine.clone());
        let expected = floats(&folder.join("tiny_batch.output.f32"));
        for (frame, expected) in counted(192).chunks(64).zip(expected.chunks(3)) {
            assert_eq!(batch.run(frame).unwrap(), expected, "{engine}");
        }
    }
}

/// Frames that a pipeline works off.
const FRAMES: usize = 4;

/// What a pipeline with so many replicas of each stage makes of the same frame again and again, and the inference, to be used again.
fn piped(inference: Inference, input: &[f32], replicas: &[u32]) -> (Vec<f32>, Inference) {
    let made: Arc<Mutex<Vec<f32>>> = Arc::default();
    let (collected, frame) = (Arc::clone(&made), input.to_vec());
    let read = move |number: u64, slot: &mut [f32]| {
        slot.copy_from_slice(&frame);
        Ok(if number < FRAMES as u64 { Flow::Next } else { Flow::Stop })
    };
    let deliver = move |number: u64, y: &[f32]| {
        let mut collected = collected.lock().unwrap();
        collected.resize(FRAMES * y.len(), f32::NAN);
        collected[number as usize * y.len()..][..y.len()].copy_from_slice(y);
        Ok(Flow::Next)
    };
    let mut inference = inference.reads_at(read).delivers_at(deliver);
    // The first stage has the source, too, and the last one the sink.
    let tasks = |stage: usize| 1 + usize::from(stage == 0) + usize::from(stage + 1 == replicas.len());
    let stages: Vec<Stage> =
        replicas.iter().enumerate().map(|(stage, &replicas)| Stage::new(tasks(stage), replicas, "")).collect();
    assert_eq!(inference.program().unwrap().cut(&stages).unwrap().run().unwrap().frames, FRAMES as u64);
    let made = made.lock().unwrap().clone();
    (made, inference)
}

/// A network whole, in all its segments, and cut in two at each place, with several numbers of replicas.
fn compare(folder: &Path, name: &str, engine: &Engine) {
    let network = NeuralNetwork::open(&folder.join(format!("{name}.onnx"))).unwrap();
    let (input, expected) =
        (floats(&folder.join(format!("{name}.input.f32"))), floats(&folder.join(format!("{name}.output.f32"))));
    let count = network.segments().len();
    let all = Inference::new(network.clone(), engine.clone());
    let mut worst = difference(&all.run(&input).unwrap(), &expected);
    for cut in 0..count {
        let tasks = [0..cut, cut..count].into_iter().filter(|task| !task.is_empty());
        let parts = Inference::new(network.clone(), engine.clone()).joined(tasks).unwrap();
        let made = parts.run(&input).unwrap();
        assert_eq!(made, parts.run(&input).unwrap(), "the same from run to run");
        worst = worst.max(difference(&made, &expected));
        let replicas: &[&[u32]] = if cut == 0 { &[&[1], &[2], &[3]] } else { &[&[1, 2], &[3, 1]] };
        let mut inference = parts;
        for replicas in replicas {
            let all;
            (all, inference) = piped(inference, &input, replicas);
            assert_eq!(all, made.repeat(FRAMES), "{name} cut at {cut}, replicas {replicas:?}");
        }
    }
    eprintln!(
        "{name} on {engine}: {worst:e} in {count} segments, and whole, and in two at each place, 1 to 3 replicas of each"
    );
    assert!(worst <= 1e-4, "{name}: {worst}");
}

#[test]
fn modulation_is_as_expected_however_it_is_cut() {
    let Some(folder) = models() else { return };
    engines().iter().for_each(|engine| compare(&folder, "modulation", engine));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn images_are_as_expected_however_they_are_cut() {
    let Some(folder) = models() else { return };
    for engine in engines() {
        compare(&folder, "mobilenet_like", &engine);
        compare(&folder, "resnet18_like", &engine);
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn all_signals_are_classed_as_expected() {
    let Some(folder) = models() else { return };
    let signals = std::fs::read(folder.join("modulation.test.i8")).unwrap();
    let labels = std::fs::read(folder.join("modulation.test.labels.u8")).unwrap();
    let expected = floats(&folder.join("modulation.test.logits.f32"));
    for engine in engines() {
        let inference = Inference::new(own("modulation.onnx"), engine.clone()).whole();
        let (mut right, mut worst) = (0, 0_f32);
        for ((signal, &label), expected) in signals.chunks(2048).zip(&labels).zip(expected.chunks(10)) {
            let signal: Vec<f32> = signal.iter().map(|&byte| f32::from(byte as i8) / 24.0).collect();
            let made = inference.run(&signal).unwrap();
            assert_eq!(classes(&made)[0], classes(expected)[0], "{engine}");
            right += usize::from(classes(&made)[0] == usize::from(label));
            worst = worst.max(difference(&made, expected));
        }
        eprintln!("{engine}: {right} of {} right, {worst:e}", labels.len());
        assert_eq!((labels.len(), right), (1500, 1099), "{engine}");
    }
}

#[test]
fn a_library_that_is_none_is_refused_again_and_again() {
    use bief_nn::EngineKind::OnnxRuntime;
    let folder = std::env::temp_dir().join(format!("bief-nn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libother.so");
    std::fs::write(&library, "no library").unwrap();
    for _ in 0..2 {
        for path in [&library, &folder.join("absent.so")] {
            let told = Engine::open(OnnxRuntime, Some(path)).unwrap_err().to_string();
            assert!(told.starts_with(&path.canonicalize().unwrap_or(path.clone()).display().to_string()), "{told}");
            assert!(told.contains("cannot be loaded: ") || told.contains("is loaded already"), "{told}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!("nothing".parse::<bief_nn::EngineKind>().unwrap_err().to_string().contains("choose from onnxruntime"));
}
