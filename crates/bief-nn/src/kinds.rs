//! The tasks of this crate, as kinds of a registry: what chain files name.

use std::ops::Range;
use std::path::Path;

use bief::kinds::{InputAddress, Kind, OutputAddress, Param};
use bief::{Registry, Result};

use crate::classes::WriteClasses;
use crate::engine::{Engine, EngineKind};
use crate::inference::Inference;
use crate::iq::RowsOfIq;
use crate::modulation;
use crate::network::NeuralNetwork;

/// Adds the kinds of tasks of this crate, for [`bief::ChainFile`] and [`Registry::make`].
///
/// ```
/// let mut registry = bief::Registry::new();
/// bief_nn::register(&mut registry);
/// assert!(registry.kind("nn.infer").is_ok());
/// ```
pub fn register(registry: &mut Registry) {
    for kind in [rows(), infer(), classes()] {
        registry.add(kind);
    }
}

fn rows() -> Kind {
    let summary = "makes of samples a row of real parts and one of imaginary parts, of unit power together";
    Kind::new("nn.iq", summary, (), |()| Ok(RowsOfIq))
}

fn infer() -> Kind {
    let parameters = (
        Param::reads("model", "the network, an ONNX file; without it, one that is built in and tells modulations")
            .optional(),
        Param::<usize>::new("parts", "tasks that the network is cut into, of much the same work, at most")
            .range(1..=64)
            .default(1),
        Param::<String>::new("engine", "the library that runs it: onnxruntime, or tract where it is built in")
            .parsed::<EngineKind>()
            .optional(),
        // An address, not a text: whoever sends tasks to another machine names nothing that is loaded there.
        Param::reads(
            "library",
            "the file of ONNX Runtime, in the stead of ORT_DYLIB_PATH or the one that the system finds",
        )
        .optional(),
    );
    let summary = "runs a neural network on each frame";
    let kind = Kind::piece("nn.infer", summary, parameters, |(model, parts, engine, library), piece| {
        let network = model.as_ref().map_or_else(modulation::network, open)?;
        let library = library.as_ref().map(|library| file(library, "a library is a file")).transpose()?;
        let engine = Engine::open(engine.unwrap_or_default(), library)?;
        let tasks = balanced(&network, parts);
        let inference = Inference::new(network, engine).joined(tasks)?;
        let wire = piece.wires()[0].clone();
        Ok(vec![inference.after(piece.chain(), &wire)?])
    });
    kind.reads("f32, a frame of the network").makes("f32, its result")
}

fn open(model: &InputAddress) -> Result<NeuralNetwork> {
    NeuralNetwork::open(file(model, "a network is a file")?)
}

fn file<'a>(address: &'a InputAddress, otherwise: &str) -> Result<&'a Path> {
    address.address().path().ok_or_else(|| address.refuse(otherwise))
}

fn classes() -> Kind {
    let parameters = (
        Param::writes("path", "where classes go, as CSV: the file, \"-\" for standard output, or an address"),
        Param::<Vec<String>>::new(
            "labels",
            "what the classes are called; without them, the modulations of the built-in network",
        )
        .optional(),
        Param::<u64>::new("mean_of", "frames of which the mean is taken").range(1..=1_000_000).default(1),
    );
    let summary = "writes the class with the largest value";
    Kind::new(
        "nn.classes",
        summary,
        parameters,
        |(path, labels, mean_of): (OutputAddress, Option<Vec<String>>, u64)| {
            let labels = labels.unwrap_or_else(|| modulation::CLASSES.map(str::to_owned).to_vec());
            Ok(WriteClasses::new(Box::new(path.writer()), labels, mean_of))
        },
    )
}

/// At most so many runs of segments, of which each begins where the work before it is its share.
fn balanced(network: &NeuralNetwork, parts: usize) -> Vec<Range<usize>> {
    let segments = network.segments();
    let all = segments.iter().map(|segment| segment.multiply_adds()).sum::<u64>().max(1) as f64;
    let (mut tasks, mut start, mut work) = (Vec::new(), 0, 0.0);
    for (index, segment) in segments.iter().enumerate() {
        work += segment.multiply_adds() as f64 / all;
        let is_last = index + 1 == segments.len();
        if is_last || tasks.len() + 1 < parts && work >= (tasks.len() + 1) as f64 / parts as f64 {
            tasks.push(start..index + 1);
            start = index + 1;
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_loaded_is_an_address() {
        let mut registry = Registry::new();
        register(&mut registry);
        let kind = registry.kind("nn.infer").unwrap();
        let addresses: Vec<&str> = kind
            .parameters()
            .iter()
            .filter(|parameter| parameter.is_address())
            .map(|parameter| parameter.name())
            .collect();
        assert_eq!(addresses, ["model", "library"]);
    }

    #[test]
    fn parts_are_of_much_the_same_work() {
        let network = modulation::network().unwrap();
        let count = network.segments().len();
        let work = |part: &Range<usize>| {
            network.segments()[part.clone()].iter().map(|segment| segment.multiply_adds()).sum::<u64>() as f64
        };
        let all = work(&(0..count));
        assert_eq!(balanced(&network, 1), [0..count; 1]);
        let halves = balanced(&network, 2);
        assert!(halves.len() == 2 && work(&halves[0]) / all > 0.4 && work(&halves[1]) / all > 0.3, "{halves:?}");
        let most = balanced(&network, 64);
        assert!(most.len() > 3 && most.iter().map(|part| part.len()).sum::<usize>() == count, "{most:?}");
    }
}
