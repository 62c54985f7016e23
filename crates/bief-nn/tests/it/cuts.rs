//! Where networks are cut, and parts that join up again.

use bief_nn::NeuralNetwork;

use crate::common::{models, own};

#[test]
fn residual_blocks_stay_whole() {
    let network = own("tiny_exact.onnx");
    let operators: Vec<String> = network.segments().iter().map(|segment| segment.operators().join(" ")).collect();
    assert_eq!(operators, ["Conv Relu", "Conv Relu Add", "MaxPool Flatten", "Gemm"]);
    assert_eq!(own("tiny_uncuttable.onnx").segments().len(), 1);
}

#[test]
fn the_networks_have_as_many_segments_as_are_known() {
    let Some(folder) = models() else { return };
    for (name, segments) in [("mobilenet_like", 34), ("resnet18_like", 12), ("modulation", 8)] {
        let network = NeuralNetwork::open(&folder.join(format!("{name}.onnx"))).unwrap();
        assert_eq!(network.segments().len(), segments, "{name}");
    }
}

#[test]
fn parts_join_up_to_the_network() {
    let network = own("modulation.onnx");
    let count = network.segments().len();
    for cut in 1..count {
        let parts = [0..cut, cut..count]
            .map(|range| NeuralNetwork::from_bytes("a part", network.part(range).unwrap()).unwrap());
        assert_eq!((parts[0].input(), parts[1].output()), (network.input(), network.output()));
        assert_eq!(parts[0].output(), parts[1].input());
        let [operators, work, bytes] = [0, 1, 2].map(|what| {
            let tell = |segment: &bief_nn::Segment| match what {
                0 => segment.operators().len() as u64,
                1 => segment.multiply_adds(),
                _ => segment.weight_bytes() as u64,
            };
            let sum = |network: &NeuralNetwork| network.segments().iter().map(tell).sum::<u64>();
            (sum(&parts[0]) + sum(&parts[1]), sum(&network))
        });
        assert!(operators.0 == operators.1 && work.0 == work.1 && bytes.0 == bytes.1, "{cut}");
    }
    assert!(network.part(3..3).is_err() && network.part(0..count + 1).unwrap_err().to_string().contains("not 0 to"));
}

#[test]
fn a_part_with_a_free_batch_keeps_it() {
    let network = own("tiny_batch.onnx");
    let part = NeuralNetwork::from_bytes("a part", network.part(1..2).unwrap()).unwrap();
    assert!(part.takes_batches());
}
