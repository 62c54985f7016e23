//! Frames of any length travel as they were made, up to their capacity.

use std::sync::{Arc, Mutex};

use crate::common::{Add, Count, watched};
use bief::chain::Element;
use bief::error::ErrorKind;
use bief::{Chain, Error, Flow, In, InOutVar, InVar, Out, OutVar, Result, Task, VarFrame, sink};
use proptest::prelude::*;

/// The numbers below x: a frame as long as its number, which must not be above `most`.
#[derive(Clone)]
struct Below {
    most: usize,
}

impl Task for Below {
    type In = In<u64>;
    type Out = OutVar<u64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(self.most)
    }
    fn run(&mut self, x: &[u64], mut below: VarFrame<'_, u64>) -> Result<Flow> {
        assert!(below.is_empty(), "a frame begins empty");
        for number in 0..x[0] {
            below.push(number)?;
        }
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Twice over, in place: each frame is appended to itself, unless there is no room.
#[derive(Clone)]
struct Twice;

impl Task for Twice {
    type In = InOutVar<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, mut frame: VarFrame<'_, u64>, (): ()) -> Result<Flow> {
        let len = frame.len();
        if 2 * len <= frame.capacity() {
            frame.space().copy_within(..len, len);
            frame.set_len(2 * len)?;
        }
        frame.iter_mut().for_each(|x| *x += 1);
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

fn twice(mut frame: Vec<u64>, capacity: usize) -> Vec<u64> {
    if 2 * frame.len() <= capacity {
        frame.extend_from_within(..);
    }
    frame.iter().map(|x| x + 1).collect()
}

/// Keeps every frame as it is.
struct Keep<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T: Element> Task for Keep<T> {
    type In = InVar<T>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &[T], (): ()) -> Result<Flow> {
        self.0.lock().unwrap().push(frame.to_vec());
        Ok(Flow::Next)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn frames_keep_their_lengths(frames in 1_u64..30, room in 0_usize..40, batch in 1_usize..9, threads in 0_usize..4) {
        let most = frames as usize + room;
        let frames_kept = Arc::new(Mutex::new(Vec::new()));
        let mut chain = Chain::new().batch(batch);
        let mut x = chain.add(Count::to(frames), ());
        let mut below = chain.add(Below { most }, &x);
        prop_assert_eq!(below.capacity(), most);
        chain.stage("twice").threads(threads.max(1));
        chain.add(Twice, &mut below);
        chain.stage("jumped over").threads(2);
        chain.add(Add(1), &mut x);
        chain.stage("out");
        chain.add(Keep(Arc::clone(&frames_kept)), &below);
        let program = chain.build().unwrap();
        if threads == 0 {
            program.run().unwrap();
        } else {
            watched(move || program.pipeline_as_marked().unwrap().depth(1).unwrap().run().unwrap());
        }
        let expected: Vec<_> = (0..frames).map(|x| twice((0..x).collect(), most)).collect();
        prop_assert_eq!(&*frames_kept.lock().unwrap(), &expected);
    }
}

#[test]
fn a_frame_above_its_capacity_is_an_error_that_names_the_task() {
    let mut chain = Chain::new();
    let x = chain.add(Count::to(9), ());
    chain.add(Below { most: 6 }, &x);
    let error = chain.build().unwrap().run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Task);
    assert_eq!(
        error.to_string(),
        "task `Below` (stage `chain`, frame 7): a frame of 7 elements is longer than the capacity of 6: return a larger \
         capacity from `lens`"
    );
}

/// What a frame allows, on frames that other calls left their traces in.
struct Rules;

impl Task for Rules {
    type In = ();
    type Out = OutVar<u8>;
    fn lens(&self, (): ()) -> Result<usize> {
        Ok(4)
    }
    fn run(&mut self, (): (), mut frame: VarFrame<'_, u8>) -> Result<Flow> {
        assert_eq!((frame.len(), frame.capacity(), frame.space().len()), (0, 4, 4));
        frame.extend_from_slice(&[1, 2, 3])?;
        assert!(frame.extend_from_slice(&[4, 5]).is_err(), "two do not fit");
        assert_eq!(*frame, [1, 2, 3], "a refused call changes nothing");
        assert!(frame.set_len(5).is_err());
        frame.push(4)?;
        assert!(frame.push(5).is_err());
        assert_eq!(*frame, [1, 2, 3, 4]);
        frame[0] = 9;
        frame.set_len(2)?;
        assert_eq!(*frame, [9, 2]);
        frame.clear();
        assert!(frame.is_empty());
        frame.extend_from_slice(&[])?;
        Ok(Flow::Stop)
    }
}

#[test]
fn a_frame_grows_up_to_its_capacity_and_no_further() {
    let mut chain = Chain::new();
    chain.add(Rules, ());
    chain.build().unwrap().run().unwrap();
}

/// Elements of no size have lengths too.
struct Marks;

impl Task for Marks {
    type In = In<u64>;
    type Out = (OutVar<()>, Out<u64>);
    fn lens(&self, len: usize) -> Result<(usize, usize)> {
        Ok((usize::MAX, len))
    }
    fn run(&mut self, x: &[u64], (mut marks, y): (VarFrame<'_, ()>, &mut [u64])) -> Result<Flow> {
        marks.set_len(usize::MAX)?;
        assert!(marks.extend_from_slice(&[(); 3]).is_err(), "lengths do not overflow");
        marks.set_len(x[0] as usize)?;
        y[0] = 7 * x[0];
        Ok(Flow::Next)
    }
}

struct Lengths;

impl Task for Lengths {
    type In = (InVar<()>, In<u64>);
    type Out = Out<[u64; 2]>;
    fn lens(&self, (_, len): (usize, usize)) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, (marks, y): (&[()], &[u64]), both: &mut [[u64; 2]]) -> Result<Flow> {
        both[0] = [marks.len() as u64, y[0]];
        Ok(Flow::Next)
    }
}

#[test]
fn fixed_and_variable_sockets_stand_in_one_tuple() {
    let mut chain = Chain::new();
    let x = chain.add(Count::to(4), ());
    let (marks, y) = chain.add(Marks, &x);
    let both = chain.add(Lengths, (&marks, &y));
    let (collect, result) = sink::collect();
    chain.add(collect, &both);
    chain.build().unwrap().run().unwrap();
    assert_eq!(result.take(), [[0, 0], [1, 7], [2, 14], [3, 21]]);
}

#[test]
fn paths_fill_a_blank_of_any_length() {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let mut chain = Chain::new().batch(3);
    let x = chain.add(Count::to(7), ());
    let choice = chain.add(Third, &x);
    let mut frame = chain.blank_var::<u64>(2);
    chain.select(&choice, |paths| {
        paths.path(|_| {});
        paths.path(|chain| chain.add(Append, (&mut frame, &x)));
        paths.path(|chain| chain.repeat(2, |chain| chain.add(Append, (&mut frame, &x))));
    });
    chain.add(Keep(Arc::clone(&kept)), &frame);
    chain.build().unwrap().run().unwrap();
    let kept = kept.lock().unwrap();
    assert_eq!(*kept, [vec![], vec![1], vec![2, 2], vec![], vec![4], vec![5, 5], vec![]]);
}

struct Third;

impl Task for Third {
    type In = In<u64>;
    type Out = Out<u8>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[u64], third: &mut [u8]) -> Result<Flow> {
        third[0] = (x[0] % 3) as u8;
        Ok(Flow::Next)
    }
}

struct Append;

impl Task for Append {
    type In = (InOutVar<u64>, In<u64>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (mut frame, x): (VarFrame<'_, u64>, &[u64]), (): ()) -> Result<Flow> {
        frame.extend_from_slice(x)?;
        Ok(Flow::Next)
    }
}

struct Picky;

impl Task for Picky {
    type In = InVar<u64>;
    type Out = ();
    fn lens(&self, capacity: usize) -> Result<()> {
        Err(Error::new(format!("holds 4 values, not {capacity}")))
    }
    fn run(&mut self, _: &[u64], (): ()) -> Result<Flow> {
        Ok(Flow::Next)
    }
}

#[test]
fn a_capacity_that_does_not_fit_names_both_ends() {
    let mut chain = Chain::new();
    let x = chain.add(Count::to(1), ());
    let below = chain.add(Below { most: 5 }, &x);
    chain.add(Picky, &below);
    assert_eq!(
        chain.build().unwrap_err().to_string(),
        "task `Picky`: holds 4 values, not 5 (input 0 is up to 5 x u64 from task `Below`)"
    );
}

#[test]
fn closures_make_and_take_frames_of_any_length() {
    use std::sync::{Arc, Mutex};
    let taken = Arc::new(Mutex::new(Vec::new()));
    for threads in [0, 1] {
        let mut chain = Chain::new().batch(2);
        let mut next = 0_u8;
        let fill = move |mut frame: VarFrame<'_, u8>| {
            assert!(frame.is_empty());
            next += 1;
            (0..next).try_for_each(|number| frame.push(number))?;
            Ok(if next == 4 { Flow::Stop } else { Flow::Next })
        };
        let wire = chain.add(bief::source::from_fn_var(4, fill), ());
        chain.stage("out");
        let sink = Arc::clone(&taken);
        let take = move |frame: &[u8]| {
            sink.lock().unwrap().push(frame.to_vec());
            Ok(Flow::Next)
        };
        chain.add(bief::sink::for_each_var(take), &wire);
        let program = chain.build().unwrap();
        let mut pipeline = if threads == 0 { program.one_core() } else { program.pipeline_as_marked() }.unwrap();
        pipeline.run().unwrap();
        assert_eq!(std::mem::take(&mut *taken.lock().unwrap()), [vec![0], vec![0, 1], vec![0, 1, 2]]);
    }
    let mut chain = Chain::new();
    chain.add(bief::source::from_fn_var(0, |_: VarFrame<'_, u8>| Ok(Flow::Next)), ());
    assert!(chain.build().unwrap_err().to_string().contains("a frame of no elements"));
}
