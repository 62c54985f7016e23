//! A run of tasks on workers: a [`Dispatch`] and a [`Collect`] take its place in a chain.
//!
//! The tasks of a [`Segment`] remember nothing, so each frame may go to another worker, and again to another where one is gone.
//! [`Dispatch`] sends frames, [`Collect`] has the results in the order of the frames; [`Front`] is what both share. A [`Workplace`] has
//! the same segment on the cores of a worker. What carries messages between them is a [`Carrier`]; `bief-link` has the protocol.
//!
//! The tasks are in the chain, too, between the two: frames for which no worker is there, or has room, are worked on where they lie,
//! as in any chain. So nothing is copied where nobody is there.
//!
//! Between `Dispatch` and `Collect` lie rings of the pipeline: the frames that they hold, and those in the hands of stages, are all
//! that is under way. A window that takes as many never fills, and whoever makes frames waits for the ring as for any other.
//!
//! ```
//! use bief::raw::DynTask;
//! use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
//! use bief_link::{Limits, WorkerId};
//! use bief_pool::{Carrier, Front, Letter, OwnCores, Payload, Segment, WireKind, Workplace};
//! use std::sync::mpsc;
//!
//! #[derive(Clone)]
//! struct Double;
//!
//! impl Task for Double {
//!     type In = In<f32>;
//!     type Out = Out<f32>;
//!     fn lens(&self, len: usize) -> Result<usize> {
//!         Ok(len)
//!     }
//!     fn run(&mut self, numbers: &[f32], doubled: &mut [f32]) -> Result<Flow> {
//!         doubled.iter_mut().zip(numbers).for_each(|(doubled, number)| *doubled = 2.0 * number);
//!         Ok(Flow::Next)
//!     }
//!     fn replica(&self) -> Option<Self> {
//!         Some(self.clone())
//!     }
//! }
//!
//! /// Messages to the only worker, which is a thread here.
//! struct Wire(mpsc::Sender<Letter>);
//!
//! impl Carrier for Wire {
//!     fn send(&self, _: WorkerId, letter: Letter) {
//!         let _ = self.0.send(letter);
//!     }
//! }
//!
//! let numbers = WireKind { elements: "f32".parse()?, shape: 4.into(), variable: false };
//! let segment = Segment::new(vec![numbers], |chain, wires| chain.add_dyn(DynTask::new(Double), &[&wires[0]]))?;
//!
//! let (to_worker, messages) = mpsc::channel();
//! let front = Front::new(1, Limits::default(), OwnCores::default(), Wire(to_worker))?;
//! let (to_front, worker) = (front.clone(), front.welcome("rack3"));
//! let answer = move |head: &[u8], behind: Option<Payload>| {
//!     let message = [head, behind.as_ref().map_or(&[], AsRef::as_ref)].concat();
//!     to_front.take(message).expect("it is one");
//! };
//! let workplace = Workplace::start(worker.0, &segment, 2, 5, answer)?;
//! std::thread::spawn(move || {
//!     messages.into_iter().for_each(|letter| workplace.take_letter(letter).expect("it is one"));
//! });
//!
//! let mut chain = Chain::new();
//! let numbers = chain.add(source::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], 4), ());
//! let doubled = segment.add_to(&mut chain, &[&(&numbers).into()], &front)?;
//! let (collect, result) = sink::collect();
//! chain.add(collect, &doubled[0].typed::<f32>()?);
//! chain.build()?.run()?;
//! assert_eq!(result.take(), [2.0, 4.0, 6.0, 8.0]);
//! # Ok::<(), bief::Error>(())
//! ```
//!
//! What may be known of a wire while a chain is built ([`Chain::fact`](bief::Chain::fact)) stays on its machine.

#![forbid(unsafe_code)]

mod buffer;
mod candidates;
mod collect;
mod cut;
mod dispatch;
mod elements;
mod front;
mod own;
mod piece;
pub mod plan;
mod segment;
mod tally;
mod told;
mod wires;
mod workplace;

pub use buffer::{Buffer, Buffers, Payload};
pub use candidates::Candidates;
pub use collect::Collect;
pub use cut::Cut;
pub use dispatch::{Dispatch, Done};
pub use elements::{Codec, Elements};
pub use front::{Carrier, Front, Letter, Told};
pub use own::{HERE, OwnCores};
pub use segment::Segment;
pub use tally::WorkerTally;
pub use wires::WireKind;
pub use workplace::Workplace;
