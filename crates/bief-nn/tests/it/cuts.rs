//! Where networks are cut, and parts that join up again.

use bief_nn::NeuralNetwork;
use proptest::prelude::*;

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

/// A network from `x` to `y` on 4 numbers: of each node what it uses, what it makes, and its operator. The shapes of `told` are in the file.
fn network(nodes: &[(&[&str], &str, &str)], told: &[&str]) -> Vec<u8> {
    let mut graph: Vec<u8> = Vec::new();
    for (uses, makes, operator) in nodes {
        let uses: Vec<u8> = uses.iter().flat_map(|name| field(1, name.as_bytes())).collect();
        let node = [uses, field(2, makes.as_bytes()), field(4, operator.as_bytes())].concat();
        graph.extend(field(1, &node));
    }
    let shape = [[8, 1], [8, 4]].map(|dim| field(1, &dim)).concat();
    let tensor = field(2, &field(1, &[vec![8, 1], field(2, &shape)].concat()));
    for (number, name) in [(11, "x"), (12, "y")].into_iter().chain(told.iter().map(|&name| (13, name))) {
        graph.extend(field(number, &[field(1, name.as_bytes()), tensor.clone()].concat()));
    }
    [vec![8, 8], field(7, &graph), field(8, &[16, 17])].concat()
}

/// A network of so many nodes, one behind the other.
fn long(nodes: usize) -> Vec<u8> {
    let name = |number: usize| match number {
        0 => "x".to_owned(),
        last if last == nodes => "y".to_owned(),
        _ => format!("t{number}"),
    };
    let names: Vec<String> = (0..=nodes).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let nodes: Vec<_> = names.windows(2).map(|names| (&names[..1], names[1], "Softmax")).collect();
    network(&nodes, &[])
}

/// The operators of each segment; each can be read as a network of its own.
fn segments(bytes: Vec<u8>) -> Vec<String> {
    let network = NeuralNetwork::from_bytes("it", bytes).unwrap();
    for (number, segment) in network.segments().iter().enumerate() {
        let part = NeuralNetwork::from_bytes("a part", network.part(number..number + 1).unwrap()).unwrap();
        assert_eq!((part.input(), part.output()), (segment.input(), segment.output()));
        assert_eq!(part.segments().len(), 1);
        assert_eq!(part.segments()[0].operators(), segment.operators());
    }
    network.segments().iter().map(|segment| segment.operators().join(" ")).collect()
}

#[test]
fn nodes_that_do_not_lead_to_the_output_are_left_out() {
    let nodes: &[(&[&str], &str, &str)] = &[
        (&["x"], "none", "Exp"),
        (&["x"], "a", "Softmax"),
        (&["a"], "lost", "Exp"),
        (&["a", "lost"], "lost too", "Add"),
        (&["a"], "b", "Softmax"),
        // Nobody knows this operator, or what it makes.
        (&["b"], "odd", "Frobnicate"),
        (&["b"], "y", "LogSoftmax"),
        (&["y"], "more", "Exp"),
    ];
    assert_eq!(segments(network(nodes, &[])), ["Softmax", "Softmax", "LogSoftmax"]);
    // An input that only such nodes use is none.
    let nodes: &[(&[&str], &str, &str)] = &[(&["x"], "none", "Exp"), (&[], "r", "RandomUniform"), (&["r"], "y", "Exp")];
    let told = NeuralNetwork::from_bytes("it", network(nodes, &["r"])).unwrap_err().to_string();
    assert!(told.contains("its output `y` does not depend on its input"), "{told}");
}

#[test]
fn a_part_keeps_the_shapes_that_only_the_file_tells() {
    let nodes: &[(&[&str], &str, &str)] =
        &[(&["x"], "a", "Softmax"), (&["a"], "b", "ReverseSequence"), (&["b"], "y", "Relu")];
    assert_eq!(segments(network(nodes, &["b"])), ["Softmax", "ReverseSequence Relu"]);
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

proptest! {
    /// However nodes are connected, and whatever of it leads nowhere, each segment is a network, and no node is in two of them.
    #[test]
    fn any_network_is_cut_into_networks(
        nodes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5_usize), 1..30)
    ) {
        let names: Vec<String> = (0..nodes.len()).map(|number| format!("t{number}")).collect();
        let mut names: Vec<&str> = std::iter::once("x").chain(names.iter().map(String::as_str)).collect();
        names[nodes.len()] = "y";
        let used: Vec<[&str; 2]> = nodes
            .iter()
            .enumerate()
            // Mostly what was made just before.
            .map(|(node, (one, other, _))| [names[node - one.index(node.min(2) + 1)], names[node - other.index(node + 1)]])
            .collect();
        let operators = ["Softmax", "Relu", "Add", "Add", "ReverseSequence"];
        let all: Vec<(&[&str], &str, &str)> = nodes
            .iter()
            .enumerate()
            .map(|(node, &(_, _, operator))| {
                let operator = operators[operator];
                (&used[node][..if operator == "Add" { 2 } else { 1 }], names[node + 1], operator)
            })
            .collect();
        let segments = segments(network(&all, &names[1..]));
        prop_assert!(segments.iter().map(|segment| segment.split(' ').count()).sum::<usize>() <= nodes.len());
    }
}
