//! A run of tasks on workers: a [`Dispatch`] and a [`Collect`] take its place in a chain.
//!
//! The tasks of a [`Segment`] remember nothing, so each frame may go to another worker, and again to another where one is gone.
//! [`Dispatch`] sends frames, [`Collect`] has the results in the order of the frames; [`Front`] is what both share. A [`Workplace`] has
//! the same segment on the cores of a worker. What carries messages between them is a [`Carrier`]; `bief-link` has the protocol.
//!
//! Between `Dispatch` and `Collect` lies a ring of the pipeline: the frames that it holds, and those in the hands of both, are all
//! that is under way. A window that takes as many never fills, and whoever makes frames waits for the ring as for any other.
//!
//! ```
//! use bief::raw::{DynTask, DynWire};
//! use bief::{Chain, Flow, In, Out, Result, Task, sink, source};
//! use bief_link::{Limits, WorkerId};
//! use bief_pool::{Carrier, Collect, Dispatch, Front, Payload, Segment, WireKind, Workplace};
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
//! struct Wire(mpsc::Sender<Vec<u8>>);
//!
//! impl Carrier for Wire {
//!     fn send(&mut self, _: WorkerId, head: &[u8], payload: Option<&Payload>) {
//!         let _ = self.0.send([head, payload.map_or(&[], |payload| payload)].concat());
//!     }
//! }
//!
//! let numbers = WireKind { elements: "f32".parse()?, shape: 4.into(), variable: false };
//! let segment = Segment::new(vec![numbers], |chain, wires| chain.add_dyn(DynTask::new(Double), &[&wires[0]]))?;
//!
//! let (to_worker, messages) = mpsc::channel();
//! let front = Front::new(1, Limits::default(), Wire(to_worker))?;
//! let (to_front, worker) = (front.clone(), front.welcome("rack3"));
//! let answer = move |message: &[u8]| drop(to_front.take(message.to_vec()).expect("it is one"));
//! let workplace = Workplace::start(worker.0, &segment, 2, 5, answer)?;
//! std::thread::spawn(move || messages.into_iter().for_each(|message| workplace.take(&message).expect("it is one")));
//!
//! let mut chain = Chain::new();
//! let numbers = chain.add(source::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], 4), ());
//! let sent = chain.add_dyn(DynTask::raw(Dispatch::new(&front, &segment)), &[&DynWire::from(&numbers)])?;
//! let doubled = chain.add_dyn(DynTask::raw(Collect::new(&front, &segment)), &[&sent[0]])?;
//! let (collect, result) = sink::collect();
//! chain.add(collect, &doubled[0].typed::<f32>()?);
//! chain.build()?.run()?;
//! assert_eq!(result.take(), [2.0, 4.0, 6.0, 8.0]);
//! front.end();
//! # Ok::<(), bief::Error>(())
//! ```
//!
//! What may be known of a wire while a chain is built ([`Chain::fact`](bief::Chain::fact)) stays on its machine.

#![forbid(unsafe_code)]

mod candidates;
mod collect;
mod cut;
mod dispatch;
mod elements;
mod front;
mod piece;
pub mod plan;
mod segment;
mod tally;
mod wires;
mod workplace;

pub use candidates::Candidates;
pub use collect::Collect;
pub use cut::Cut;
pub use dispatch::Dispatch;
pub use elements::{Codec, Elements};
pub use front::{Carrier, Front, Payload, Told};
pub use segment::Segment;
pub use tally::WorkerTally;
pub use wires::WireKind;
pub use workplace::Workplace;
