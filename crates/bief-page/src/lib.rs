//! What a [`bief`] pipeline does, in a browser and for collectors of metrics, while it goes on.
//!
//! One call beside a run opens a page, which any browser shows and no other host is asked for:
//!
//! ```
//! use bief::{Chain, Flow, sink, source};
//! use bief_page::Page;
//!
//! let numbers: Vec<u32> = (0..1000).collect();
//! let mut chain = Chain::new();
//! let frames = chain.add(source::from_slice(&numbers, 10), ());
//! chain.stage("out");
//! chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &frames);
//! let mut pipeline = chain.build()?.pipeline_as_marked()?;
//!
//! let page = Page::bind(&":0".parse()?)?; // a free port, for this machine alone
//! println!("{}", page.url());
//! let shown = page.title("numbers").show(&mut pipeline)?;
//! let report = pipeline.run()?;
//! drop(shown); // tells browsers that the run is over
//! # assert_eq!(report.frames, 100);
//! # Ok::<(), bief::Error>(())
//! ```
//!
//! | what is asked | answer |
//! | --- | --- |
//! | `GET /` | the page |
//! | `GET /events` | the state ten times a second, as server-sent events; the last one is called `end` |
//! | `GET /state` | the state, once: JSON |
//! | `GET /metrics` | counts and levels in Prometheus' text format, or as OpenMetrics if `Accept` asks for it |
//! | `POST /replan` | the plan is made anew, where the run [adapts](bief::Planned::run_adapting) |
//! | `POST /stop` | the run ends in order |
//!
//! Everything is what [`Watch`](bief::pipeline::Watch) tells. A run that nobody looks at is asked for nothing; however many look, it is
//! asked ten times a second at most.
//!
//! # Who may
//! Whoever reaches the address may look: on loopback the users of this machine, unless another address is given. Each `POST` needs the
//! token of the [URL](Page::url), on loopback too. What pages of other sites make a browser ask is refused: requests say this host, and
//! no other origin. What is sent is bounded, in bytes, time and number.

#![forbid(unsafe_code)]

mod address;
mod base64;
mod http;
mod look;
mod metrics;
mod page;
mod state;
mod token;

pub use address::PageAddress;
pub use page::{Page, Shown};
