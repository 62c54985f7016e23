//! Files that are read, and files that must be refused.

use bief_nn::NeuralNetwork;
use proptest::prelude::*;

use crate::common::{models, own};

fn tiny() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/tiny_exact.onnx")).unwrap()
}

#[test]
fn shapes_and_work_are_told_before_anything_runs() {
    let Some(folder) = models() else { return };
    let facts = [
        ("modulation", "1 x 2 x 1024", "1 x 10", 3.1),
        ("mobilenet_like", "1 x 3 x 224 x 224", "1 x 100", 91.0),
        ("resnet18_like", "1 x 3 x 224 x 224", "1 x 100", 283.0),
    ];
    for (name, input, output, millions) in facts {
        let network = NeuralNetwork::open(&folder.join(format!("{name}.onnx"))).unwrap();
        assert_eq!(
            (network.input().to_string(), network.output().to_string()),
            (input.into(), output.into()),
            "{name}"
        );
        assert!(!network.takes_batches(), "{name}");
        let work: u64 = network.segments().iter().map(|segment| segment.multiply_adds()).sum();
        assert!((work as f64 / 1e6 / millions - 1.0).abs() < 0.02, "{name}: {work}");
    }
    assert!(own("tiny_batch.onnx").takes_batches());
}

#[test]
fn each_bad_file_is_refused_in_its_words() {
    let Some(folder) = models() else { return };
    let files = [
        ("bad_op", "node `mystery` (Frobnicate): ONNX has no operator of this name"),
        ("bad_shape", "node `fc` (Gemm): 4 columns are multiplied by 5 rows"),
        ("bad_huge", "its input `x`: a tensor of [1, 1048576, 1048576, 1048576] has more than"),
        ("bad_missing_weight", "node `sum` (Add) uses `w`, which is no weight, and which no node makes"),
        ("bad_cycle", "node `a` (Add) uses `b_out`, which node `b` (Relu) makes behind it"),
        ("bad_truncated", "is it whole?"),
        ("bad_garbage", "the file is damaged at byte"),
        ("tiny_two_inputs", "it has 2 inputs (`x`, `y`), and one is supported"),
    ];
    for (name, words) in files {
        let path = folder.join(format!("{name}.onnx"));
        let told = NeuralNetwork::open(&path).unwrap_err().to_string();
        assert!(told.starts_with(&path.display().to_string()) && told.contains(words), "{told}");
    }
}

#[test]
fn what_is_no_model_is_refused() {
    for (bytes, words) in
        [(&b""[..], "it has no graph"), (b"\x3a\x00", "no version of its operators"), (b"hello", "damaged")]
    {
        let told = NeuralNetwork::from_bytes("it", bytes).unwrap_err().to_string();
        assert!(told.starts_with("it: ") && told.contains(words), "{told}");
    }
    let told = NeuralNetwork::open("/nonexistent/x.onnx".as_ref()).unwrap_err().to_string();
    assert!(told.contains("/nonexistent/x.onnx"), "{told}");
}

/// A model with these fields of a graph, each of fewer than 128 bytes.
fn model(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let graph: Vec<u8> = fields.iter().flat_map(|&(number, bytes)| field(number, bytes)).collect();
    [vec![8, 8], field(7, &graph), field(8, &[16, 17])].concat()
}

#[test]
fn an_output_depends_on_the_input() {
    let declared =
        |name: &str| [&[10, 1][..], name.as_bytes(), &[18, 14, 10, 12, 8, 1, 18, 8, 10, 2, 8, 1, 10, 2, 8, 4]].concat();
    // A weight of 1 x 4, a node that makes `z` of it, and one that makes `y` of the input.
    let weight: Vec<u8> = [&[8, 1, 8, 4, 16, 1, 66, 1, b'w', 74, 16][..], &[0; 16]].concat();
    let node = |used: u8, made: u8| vec![10, 1, used, 18, 1, made, 34, 4, b'R', b'e', b'l', b'u'];
    let read = |output: &str| {
        let (x, y) = (declared("x"), declared(output));
        let fields: &[(u8, &[u8])] =
            &[(1, &node(b'w', b'z')), (1, &node(b'x', b'y')), (5, &weight), (11, &x), (12, &y)];
        NeuralNetwork::from_bytes("it", model(fields))
    };
    assert_eq!(read("y").unwrap().segments().len(), 1);
    for output in ["z", "w", "x"] {
        let told = read(output).unwrap_err().to_string();
        assert!(told.contains(&format!("its output `{output}` does not depend on its input")), "{told}");
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_refused() {
    let whole = tiny();
    let read = |len: usize| NeuralNetwork::from_bytes("it", &whole[..len]);
    let mut read_as_whole = 0;
    for len in 0..whole.len() {
        // The last field is the version of the operators.
        read_as_whole += usize::from(read(len).is_ok());
    }
    assert_eq!(read_as_whole, 0);
    assert!(read(whole.len()).is_ok());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(NeuralNetwork::from_bytes("it", bytes).is_err());
    }

    /// A network that is read is one of which each part can be read, too.
    #[test]
    fn nor_do_damaged_files(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = tiny();
        for (place, byte) in flips {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(network) = NeuralNetwork::from_bytes("it", bytes) {
            for segment in 0..network.segments().len() {
                let part = network.part(segment..segment + 1).unwrap();
                let part = NeuralNetwork::from_bytes("its part", part).unwrap();
                prop_assert_eq!(part.output(), network.segments()[segment].output());
            }
        }
    }
}
