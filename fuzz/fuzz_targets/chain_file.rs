//! A text is refused with a line of it, or is a chain that can be built and run.
#![no_main]

use std::sync::LazyLock;

use bief::chain::BuiltChain;
use bief::error::ErrorKind;
use bief::kinds::{Kind, Param};
use bief::{ChainFile, Flow, In, InOut, InVar, Out, OutVar, Registry, Result, Task, VarFrame, sink, source};
use libfuzzer_sys::fuzz_target;

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::new();
    let len = Param::new("len", "elements of a frame").range(1..=64).default(1);
    let numbers = Param::<Vec<f64>>::new("numbers", "what is played").default(vec![1.0, 2.0]);
    registry.add(Kind::new("play", "plays numbers", (len, numbers), |(len, numbers): (usize, _)| {
        Ok(source::from_slice(&numbers.iter().copied().cycle().take(4 * len).collect::<Vec<_>>(), len))
    }));
    let parameters = (
        Param::<f64>::new("number", "what is added").range(-1.0..=1e9).unit("Hz"),
        Param::<String>::new("to", "to what").one_of(&[("all", 0), ("none", 1)]).default("all"),
        Param::<String>::new("name of it", "nothing").default(""),
        Param::reads("path", "nothing").default("x"),
        Param::<Vec<String>>::new("names", "nothing").default(Vec::<&str>::new()),
        Param::<bool>::new("skips", "skips frames").optional(),
    );
    registry
        .add(Kind::new("add", "adds", parameters, |(number, _, _, _, _, skips)| Ok(Add(number, skips == Some(true)))));
    registry.add(Kind::new("join", "joins two", (), |()| Ok(Join)));
    registry.add(Kind::new("some", "keeps some", (), |()| Ok(KeepSome)));
    registry.add(Kind::new("count", "counts", (), |()| Ok(Count)));
    registry.add(Kind::new("end", "takes numbers", (), |()| Ok(sink::for_each(|_: &[f64]| Ok(Flow::Next)))));
    let twice = Kind::piece("twice", "adds twice", (), |(), piece| {
        let wire = &piece.wires()[0];
        if wire.len() == 7 {
            return Err(piece.unfit(0, "other numbers of elements than 7"));
        }
        piece.part("first", Add(1.0, false), &[wire])?;
        piece.task(Add(2.0, false), &[wire])
    });
    registry.add(twice.rewrites("numbers, in frames of other lengths than 7"));
    registry
});

#[derive(Clone)]
struct Add(f64, bool);

impl Task for Add {
    type In = InOut<f64>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, x: &mut [f64], (): ()) -> Result<Flow> {
        x.iter_mut().for_each(|x| *x += self.0);
        Ok(if self.1 && x[0] > 1.0 { Flow::Skip } else { Flow::Next })
    }
    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }
}

struct Join;

impl Task for Join {
    type In = (In<f64>, InOut<f64>);
    type Out = (Out<f64>, Out<u8>);
    fn lens(&self, (a, b): (usize, usize)) -> Result<(usize, usize)> {
        if a == b { Ok((a, 1)) } else { Err(bief::Error::new(format!("{a} and {b} differ"))) }
    }
    fn run(&mut self, (a, b): (&[f64], &mut [f64]), (sum, one): (&mut [f64], &mut [u8])) -> Result<Flow> {
        for ((a, b), sum) in a.iter().zip(b).zip(sum) {
            *sum = a + *b;
            *b = 0.0;
        }
        one[0] = 1;
        Ok(Flow::Next)
    }
}

struct KeepSome;

impl Task for KeepSome {
    type In = In<f64>;
    type Out = OutVar<f64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[f64], mut some: VarFrame<'_, f64>) -> Result<Flow> {
        x.iter().filter(|&&x| x > 1.5).try_for_each(|&x| some.push(x))?;
        Ok(Flow::Next)
    }
    fn replica(&self) -> Option<Self> {
        Some(Self)
    }
}

struct Count;

impl Task for Count {
    type In = InVar<f64>;
    type Out = Out<f64>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, x: &[f64], count: &mut [f64]) -> Result<Flow> {
        count[0] = x.len() as f64;
        Ok(Flow::Next)
    }
}

fuzz_target!(|text: &str| {
    let built = ChainFile::parse(text, "fuzz").and_then(|file| Ok((file.build(&REGISTRY)?, file)));
    match built {
        Ok((BuiltChain { chain, wires, pieces }, file)) => {
            let named: usize = file.tasks().map(|task| task.outputs().filter(|&name| name != "_").count()).sum();
            assert_eq!(wires.len(), named);
            assert_eq!(pieces.len(), file.tasks().count());
            assert_eq!(chain.build().unwrap().tasks().count(), pieces.last().unwrap().end);
            file.rehearsal(&REGISTRY, 2).unwrap().run().unwrap();
            // Few frames, whatever the text asks for. Every chain ends: tasks that read need one that plays.
            file.without_stages().with_batch(3).pipeline(&REGISTRY).unwrap().run().unwrap();
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Build);
            let told = error.to_string();
            let lines: Vec<&str> = told.split('\n').collect();
            let (place, _) = lines[0].strip_prefix("fuzz:").unwrap().split_once(": ").unwrap();
            assert!((1..=1 + text.matches('\n').count()).contains(&place.parse().unwrap()), "{told}");
            assert!(lines.len() == 4 && lines[3].ends_with('^'), "{told}");
            assert!(!told.contains(|c: char| c.is_control() && c != '\n'), "{told:?}");
        }
    }
});
