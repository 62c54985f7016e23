//! Constants are read anywhere, by anyone, from one place.

use std::sync::{Arc, Mutex};

use crate::common::{Count, Pair, watched};
use bief::{Chain, Error, Flow, In, Result, Task, sink};

/// Notes where its second input is, and passes both on as a pair would.
#[derive(Clone)]
struct Look {
    places: Arc<Mutex<Vec<usize>>>,
    expected: Vec<u64>,
}

impl Task for Look {
    type In = (In<u64>, In<u64>);
    type Out = ();
    fn lens(&self, (_, constant): (usize, usize)) -> Result<()> {
        if constant == self.expected.len() { Ok(()) } else { Err(Error::new("wants all values of the constant")) }
    }
    fn run(&mut self, (_, constant): (&[u64], &[u64]), (): ()) -> Result<Flow> {
        assert_eq!(constant, self.expected);
        self.places.lock().unwrap().push(constant.as_ptr() as usize);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

#[test]
fn all_stages_and_replicas_and_positions_read_one_buffer() {
    for (batch, threads) in [(1, 1), (4, 1), (3, 3)] {
        let look = Look { places: Arc::default(), expected: vec![5, 6, 7] };
        let mut chain = Chain::new().batch(batch);
        let x = chain.add(Count::to(20), ());
        let constant = chain.constant(&[5_u64, 6, 7]);
        chain.add(look.clone(), (&x, &constant));
        chain.stage("replicated").threads(threads);
        chain.add(look.clone(), (&x, &constant));
        chain.repeat(2, |chain| chain.add(look.clone(), (&x, constant.wire())));
        chain.stage("last");
        chain.add(look.clone(), (&x, &constant));
        watched(move || chain.build().unwrap().pipeline_as_marked().unwrap().run().unwrap());
        let places = look.places.lock().unwrap();
        assert_eq!(places.len(), 20 * 5);
        assert!(places.iter().all(|place| *place == places[0]), "batch {batch}, {threads} threads");
    }
}

#[test]
fn a_constant_is_an_input_like_another() {
    let mut chain = Chain::new().batch(2);
    let x = chain.add(Count::to(3), ());
    let seven = chain.constant(&[7_u64]);
    let pairs = chain.add(Pair, (&x, &seven));
    let (collect_pairs, pairs_seen) = sink::collect();
    chain.add(collect_pairs, &pairs);
    let (collect, seen) = sink::collect::<u64>();
    chain.add(collect, &seven);
    assert_eq!(seven.len(), 1);
    chain.build().unwrap().run().unwrap();
    assert_eq!(pairs_seen.take(), [[0, 7], [1, 7], [2, 7]]);
    assert_eq!(seen.take(), [7, 7, 7]);
}

#[test]
fn a_constant_made_inside_a_region_may_be_read_after_it() {
    let mut chain = Chain::new();
    let x = chain.add(Count::to(2), ());
    let mut inside = None;
    chain.repeat(0, |chain| {
        let constant = chain.constant(&[3_u64]);
        chain.add(Pair, (&x, &constant));
        inside = Some(constant);
    });
    let pairs = chain.add(Pair, (&x, &inside.unwrap()));
    let (collect, result) = sink::collect();
    chain.add(collect, &pairs);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [[0, 3], [1, 3]]);
}

#[test]
fn a_constant_that_does_not_fit_is_named() {
    let mut chain = Chain::new();
    let x = chain.add(Count::to(2), ());
    let constant = chain.constant(&[1_u64, 2]);
    chain.add(Pair, (&x, &constant));
    assert_eq!(
        chain.build().unwrap_err().to_string(),
        "task `Pair`: both inputs must have the same length, not 1 and 2 (input 0 is 1 x u64 from task `Count`, input 1 is \
         2 x u64 from a constant)"
    );
}
