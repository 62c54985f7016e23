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

/// A protobuf field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 1 << 14);
    [&[number << 3 | 2, (bytes.len() & 127) as u8 | 128, (bytes.len() >> 7) as u8], bytes].concat()
}

/// A network of so many nodes, one behind the other, on 4 numbers.
fn long(nodes: usize) -> Vec<u8> {
    let name = |number: usize| format!("t{number}").into_bytes();
    let mut graph: Vec<u8> = Vec::new();
    for number in 0..nodes {
        let node = [field(1, &name(number)), field(2, &name(number + 1)), field(4, b"Softmax")].concat();
        graph.extend(field(1, &node));
    }
    let shape = [[8, 1], [8, 4]].map(|dim| field(1, &dim)).concat();
    let tensor = field(2, &field(1, &[vec![8, 1], field(2, &shape)].concat()));
    graph.extend(field(11, &[field(1, &name(0)), tensor.clone()].concat()));
    graph.extend(field(12, &[field(1, &name(nodes)), tensor].concat()));
    [vec![8, 8], field(7, &graph), field(8, &[16, 17])].concat()
}

#[test]
fn many_segments_are_joined_to_few_of_much_the_same_work() {
    let few = NeuralNetwork::from_bytes("few", long(64)).unwrap();
    assert_eq!(few.segments().len(), 64);
    let many = NeuralNetwork::from_bytes("many", long(400)).unwrap();
    let lens: Vec<usize> = many.segments().iter().map(|segment| segment.operators().len()).collect();
    assert!(lens.len() <= 64 && lens.len() > 50, "{lens:?}");
    assert_eq!(lens.iter().sum::<usize>(), 400);
    assert!(lens.iter().all(|&len| len <= 8), "{lens:?}");
}
