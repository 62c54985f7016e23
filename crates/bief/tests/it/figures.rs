//! What tasks tell: put together over replicas, seen while a run goes on, and still there after a fault.

use std::sync::mpsc;

use bief::plan::Profiling;
use bief::report::Reading;
use bief::{Chain, Error, Figures, Flow, InOut, Machine, Result, Task};

use crate::common::{Add, Count, watched};

/// Counts the frames that it saw, by whether their number is even.
#[derive(Clone, Default)]
struct Parity {
    seen: [u64; 2],
    fails_at: Option<u64>,
    panics: bool,
}

impl Task for Parity {
    type In = InOut<u64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
        if self.fails_at == Some(frame[0]) {
            return Err(Error::new("told to fail"));
        }
        self.seen[(frame[0] % 2) as usize] += 1;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self { seen: [0; 2], ..self.clone() })
    }
    fn figures(&self, figures: &mut Figures) {
        assert!(!self.panics, "nothing to tell");
        figures.count("frames", "frames", self.seen[0]).of("parity", "even");
        figures.count("frames", "frames", self.seen[1]).of("parity", "odd");
    }
    fn reset(&mut self) -> Result<()> {
        self.seen = [0; 2];
        Ok(())
    }
}

fn by_parity(figures: &Figures) -> Vec<(String, String, u64)> {
    let count = |figure: &bief::report::Figure| match figure.reading {
        Reading::Count(count) => (figure.task.clone(), figure.label("parity").unwrap().to_owned(), count),
        _ => panic!("{figure:?}"),
    };
    figures.all("frames").map(count).collect()
}

#[test]
fn replicas_tell_together_and_each_run_anew() {
    watched(|| {
        let mut chain = Chain::new().batch(3);
        let mut numbers = chain.add(Count::to(101), ());
        chain.stage("tell").threads(3);
        chain.add(Parity::default(), &mut numbers);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        for _ in 0..2 {
            let figures = pipeline.run().unwrap().figures;
            let expected = [("even", 51), ("odd", 50)].map(|(parity, count)| ("Parity".into(), parity.into(), count));
            assert_eq!(by_parity(&figures), expected);
        }
    });
}

#[test]
fn a_task_in_a_region_tells_under_its_own_name() {
    let mut chain = Chain::new();
    let mut numbers = chain.add(Count::to(4), ());
    chain.repeat(2, |chain| chain.add(Parity::default(), &mut numbers));
    let figures = chain.build().unwrap().run().unwrap().figures;
    assert_eq!((figures.counted("frames"), &*figures.get("frames").unwrap().task), (8, "Parity"));
}

#[test]
fn they_are_seen_while_a_run_goes_on_and_after_a_fault() {
    watched(|| {
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let mut next = 0;
        let mut chain = Chain::new();
        let source = bief::source::from_fn(1, move |frame: &mut [u64]| {
            if may_go_on.recv().is_err() {
                return Ok(Flow::Stop);
            }
            frame[0] = next;
            next += 1;
            Ok(Flow::Next)
        });
        let mut numbers = chain.add(source, ());
        chain.stage("tell");
        chain.add(Parity { fails_at: Some(20), ..Parity::default() }, &mut numbers);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        let mut watch = pipeline.watch();
        assert!(watch.figures().is_empty(), "nothing was told yet");
        let run = std::thread::spawn(move || (pipeline.run().unwrap_err(), pipeline));
        // What is asked for is told with the next batch.
        let mut sent = 0;
        while watch.figures().counted("frames") == 0 {
            assert!(sent < 20, "nothing is told");
            go_on.send(()).unwrap();
            sent += 1;
            while watch.status().frames < sent {
                std::thread::yield_now();
            }
        }
        (sent..21).for_each(|_| go_on.send(()).unwrap());
        drop(go_on);
        let (error, _pipeline) = run.join().unwrap();
        assert!(error.to_string().contains("told to fail"), "{error}");
        assert_eq!(watch.figures().counted("frames"), 20);
    });
}

#[test]
fn a_task_that_panics_when_it_is_asked_tells_nothing() {
    let mut chain = Chain::new();
    let mut numbers = chain.add(Count::to(4), ());
    chain.add(Parity { panics: true, ..Parity::default() }, &mut numbers);
    chain.add(Add(1), &mut numbers);
    let report = chain.build().unwrap().run().unwrap();
    assert!(report.figures.is_empty() && report.frames == 4);
}

#[test]
fn a_profile_has_the_bits_per_frame_that_a_task_tells() {
    /// Passes every second frame on, of `bits` bits.
    struct Halve {
        bits: u64,
        unit: &'static str,
        frames: u64,
    }

    impl Task for Halve {
        type In = InOut<u64>;
        type Out = ();
        fn lens(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, frame: &mut [u64], (): ()) -> Result<Flow> {
            let passes = frame[0].is_multiple_of(2);
            self.frames += u64::from(passes);
            Ok(if passes { Flow::Next } else { Flow::Skip })
        }
        fn figures(&self, figures: &mut Figures) {
            figures.count("information", self.unit, self.bits * self.frames);
        }
    }

    for (bits, unit, expected) in [(100, "bits", Some(100)), (0, "bits", None), (100, "bytes", None)] {
        let program = || {
            let mut chain = Chain::new().batch(4);
            let mut numbers = chain.add(Count::to(1000), ());
            chain.add(Halve { bits, unit, frames: 0 }, &mut numbers);
            chain.add(Add(1), &mut numbers);
            chain.build().unwrap()
        };
        assert_eq!(program().profile(50).unwrap().bits_per_frame(), expected, "{bits} {unit}");
        let profiling = Profiling { executions: 5.try_into().unwrap(), ..Profiling::default() };
        let profile = program().profile_on(&Machine::here(), profiling).unwrap();
        assert_eq!(profile.bits_per_frame(), expected, "{bits} {unit}");
    }
}
