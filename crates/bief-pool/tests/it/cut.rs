//! Chain files of which some tasks leave.

use std::sync::{Arc, Mutex};

use bief::kinds::{Kind, Param};
use bief::{ChainFile, Flow, Registry, Result, sink};
use bief_link::Limits;
use bief_pool::{Candidates, Cut, Front, OwnCores, WireKind};

use crate::pool::Hub;

const TEXT: &str = "
    [[task]]\nname = 'play'\nkind = 'test.play'\nout = ['numbers', 'rest']
    [[task]]\nname = 'double'\nkind = 'test.scale'\nin = ['numbers']\nby = 2
    [[task]]\nname = 'sum'\nkind = 'test.sum'\nin = ['numbers', 'rest']\nout = ['sums']
    [[task]]\nname = 'scale'\nkind = 'test.scale'\nin = ['sums']\nby = 5
    [[task]]\nname = 'keep'\nkind = 'test.keep'\nin = ['sums']
    [[task]]\nname = 'write'\nkind = 'test.write'\nin = ['numbers']\npath = 'nowhere'";

mod kinds {
    use bief::{Flow, In, InOut, Out, Result, Task};

    pub(super) struct Play(pub(super) u32);

    impl Task for Play {
        type In = ();
        type Out = (Out<u32>, Out<u32>);
        fn lens(&self, (): ()) -> Result<(usize, usize)> {
            Ok((4, 1))
        }
        fn run(&mut self, (): (), (numbers, rest): (&mut [u32], &mut [u32])) -> Result<Flow> {
            (0..).zip(numbers).for_each(|(place, number)| *number = self.0 + place);
            rest[0] = self.0;
            self.0 += 1;
            Ok(if self.0 > 500 { Flow::Stop } else { Flow::Next })
        }
    }

    #[derive(Clone)]
    pub(super) struct Scale(pub(super) u32);

    impl Task for Scale {
        type In = InOut<u32>;
        type Out = ();
        fn lens(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, numbers: &mut [u32], (): ()) -> Result<Flow> {
            numbers.iter_mut().for_each(|number| *number *= self.0);
            Ok(Flow::Next)
        }
        fn replica(&self) -> Option<Self> {
            Some(self.clone())
        }
    }

    /// Changes each element by itself.
    pub(super) struct Turn<T>(fn(&mut T));

    impl<T> Turn<T> {
        pub(super) fn new(change: fn(&mut T)) -> Self {
            Self(change)
        }
    }

    impl<T: Copy + Default + Send + Sync + 'static> Task for Turn<T> {
        type In = InOut<T>;
        type Out = ();
        fn lens(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn run(&mut self, elements: &mut [T], (): ()) -> Result<Flow> {
            elements.iter_mut().for_each(self.0);
            Ok(Flow::Next)
        }
        fn replica(&self) -> Option<Self> {
            Some(Self(self.0))
        }
    }

    #[derive(Clone)]
    pub(super) struct Sum;

    impl Task for Sum {
        type In = (In<u32>, In<u32>);
        type Out = Out<u32>;
        fn lens(&self, _: (usize, usize)) -> Result<usize> {
            Ok(1)
        }
        fn run(&mut self, (numbers, rest): (&[u32], &[u32]), sum: &mut [u32]) -> Result<Flow> {
            sum[0] = numbers.iter().sum::<u32>() + rest[0];
            Ok(if sum[0].is_multiple_of(11) { Flow::Skip } else { Flow::Next })
        }
        fn replica(&self) -> Option<Self> {
            Some(self.clone())
        }
    }
}

/// What each of the last two tasks sees.
type Kept = Arc<Mutex<[Vec<u32>; 2]>>;

/// The kinds, and what the last two tasks see.
fn registry() -> (Arc<Registry>, Kept) {
    let (mut registry, kept) = (Registry::new(), Kept::default());
    registry.add(Kind::new("test.play", "numbers", (), |()| Ok(kinds::Play(0))));
    let by = || Param::new("by", "the factor");
    registry.add(Kind::new("test.scale", "times a factor", by(), |by: u32| Ok(kinds::Scale(by))));
    registry.add(Kind::new("test.sum", "the sum", (), |()| Ok(kinds::Sum)));
    let keep = |place: usize| {
        let kept = Arc::clone(&kept);
        move || {
            let kept = Arc::clone(&kept);
            sink::for_each(move |numbers: &[u32]| {
                kept.lock().unwrap()[place].extend(numbers);
                Ok(Flow::Next)
            })
        }
    };
    let (of_keep, of_write) = (keep(0), keep(1));
    registry.add(Kind::new("test.keep", "keeps numbers", (), move |()| Ok(of_keep())));
    let path = Param::writes("path", "where they go");
    registry.add(Kind::new("test.write", "keeps numbers", path, move |_: bief::kinds::OutputAddress| Ok(of_write())));
    (Arc::new(registry), kept)
}

fn here(file: &ChainFile) -> [Vec<u32>; 2] {
    let (registry, kept) = registry();
    file.build(&registry).unwrap().chain.build().unwrap().run().unwrap();
    let kept = kept.lock().unwrap();
    kept.clone()
}

#[test]
fn tasks_of_a_file_leave_and_their_wires_come_back() -> Result<()> {
    let file = ChainFile::parse(TEXT, "x.toml")?;
    let expected = here(&file);
    for (tasks, inputs, outputs) in [
        (1..4, &["numbers", "rest"][..], &["numbers", "sums"][..]),
        (2..4, &["numbers", "rest"], &["sums"]),
        (1..2, &["numbers"], &["numbers"]),
    ] {
        let (registry, kept) = registry();
        let cut = Cut::new(&file, tasks, &registry)?;
        assert!(cut.inputs() == inputs && cut.outputs() == outputs, "{cut:?}");
        let hub = Hub::default();
        // Some frames, all and none leave.
        for (alone, helping, workers) in [(2, 1, 2), (0, 0, 2), (2, 0, 0)] {
            *kept.lock().unwrap() = Default::default();
            let own = OwnCores { alone, helping };
            let mut pipeline = cut.pipeline(&registry, (3, 6), own, None, |segment, frames| {
                let limits = Limits { frames, ..Limits::default() };
                let front = Front::new(1, limits, own, hub.clone())?;
                (0..workers).for_each(|name| hub.start(&front, segment, (name, 1, 3), || true));
                Ok(front)
            })?;
            pipeline.run()?;
            hub.stop();
            assert!(*kept.lock().unwrap() == expected, "{alone} {helping} {workers}");
        }
    }
    Ok(())
}

#[test]
fn what_cannot_leave_is_named() {
    let file = ChainFile::parse(TEXT, "x.toml").unwrap();
    let (registry, _) = registry();
    let refused = |tasks| Cut::new(&file, tasks, &registry).unwrap_err().to_string();
    assert!(refused(5..6).contains("task `write` names what is on its machine, by `path`"));
    assert!(refused(2..9).contains("there are no tasks 2..9 to leave: there are 6"));
    assert!(refused(2..2).contains("there are no tasks 2..2"));
    assert!(refused(3..5).contains("task `keep` makes nothing for other tasks"));
    let cut = Cut::new(&file, 0..2, &registry).unwrap();
    let front = |_: &_, _| -> Result<Front> { unreachable!("it is not reached") };
    let error = cut.pipeline(&registry, (1, 4), OwnCores::default(), None, front).unwrap_err().to_string();
    assert!(error.contains("task `play` remembers something from frame to frame"), "{error}");
}

#[test]
fn tasks_travel_as_a_text() -> Result<()> {
    let (registry, _) = registry();
    // Names and values that need care.
    let text = TEXT.replace("'double'", r#""comes \" \\ é""#).replace("'scale'", "'goes'").replace("numbers", "a b");
    for text in [TEXT, &text] {
        let file = ChainFile::parse(text, "x.toml")?;
        let cut = Cut::new(&file, 1..4, &registry)?;
        let wires: Vec<WireKind> = [4, 1]
            .map(|len| WireKind { elements: "u32".parse().unwrap(), shape: len.into(), variable: false })
            .to_vec();
        let piece = cut.text(&wires);
        let (read, inputs) = Cut::read(&piece, &registry)?;
        assert_eq!(inputs, wires, "{piece}");
        assert_eq!((read.inputs(), read.outputs()), (cut.inputs(), cut.outputs()), "{piece}");
        let names = |cut: &Cut| cut.leaving().map(|task| task.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&read), names(&cut));
        assert!(
            read.segment(inputs, Arc::clone(&registry))?.outputs()
                == cut.segment(wires, Arc::clone(&registry))?.outputs()
        );
    }
    Ok(())
}

#[test]
fn elements_that_are_no_numbers_travel_as_their_codec_says() -> Result<()> {
    use bief::raw::DynWire;
    use bief::{Chain, source};
    use bief_pool::{Codec, Elements};

    /// A flag, and a count.
    #[derive(Debug, Clone, Copy, Default, PartialEq)]
    struct Mark(bool, u16);

    fn write(&Mark(flag, count): &Mark) -> [u8; 3] {
        let [low, high] = count.to_le_bytes();
        [flag.into(), low, high]
    }

    fn read(&[flag, low, high]: &[u8; 3]) -> Option<Mark> {
        (flag < 2).then_some(Mark(flag == 1, u16::from_le_bytes([low, high])))
    }

    Codec::register::<Mark, 3>("test.mark", write, read)?;
    Codec::register::<Mark, 3>("test.mark", write, read)?;
    let other = Codec::register::<char, 1>("test.mark", |_| [0], |_| None).unwrap_err().to_string();
    assert!(other.contains("another type are called test.mark"), "{other}");
    assert!(Codec::register::<char, 1>("[u8; 4]", |_| [0], |_| None).unwrap_err().to_string().contains("numbers"));

    let elements: Elements = "test.mark".parse()?;
    assert_eq!((elements.to_string(), elements.size()), ("test.mark".to_owned(), 3));
    let mut chain = Chain::new();
    let marks = chain.add(source::from_slice(&[Mark(true, 700); 4], 2), ());
    let kind = WireKind::of(&DynWire::from(&marks))?;
    assert_eq!((kind.elements == elements, kind.bytes()), (true, 6));

    let mut registry = Registry::new();
    registry.add(Kind::new("test.marks", "marks", (), |()| {
        let marks: Vec<Mark> = (0..600).map(|count| Mark(count % 3 == 0, count)).collect();
        Ok(source::from_slice(&marks, 2))
    }));
    let turn = |Mark(flag, count): &mut Mark| {
        *flag ^= true;
        *count += 1;
    };
    registry.add(Kind::new("test.turn", "turns flags", (), move |()| Ok(kinds::Turn::new(turn))));
    let kept = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&kept);
    registry.add(Kind::new("test.see", "keeps marks", (), move |()| {
        let to = Arc::clone(&to);
        Ok(sink::for_each(move |marks: &[Mark]| {
            to.lock().unwrap().extend_from_slice(marks);
            Ok(Flow::Next)
        }))
    }));
    let text = "
        [[task]]\nname = 'marks'\nkind = 'test.marks'\nout = ['marks']
        [[task]]\nname = 'turn'\nkind = 'test.turn'\nin = ['marks']
        [[task]]\nname = 'see'\nkind = 'test.see'\nin = ['marks']";
    let (file, registry) = (ChainFile::parse(text, "x.toml")?, Arc::new(registry));
    let cut = Candidates::of(&file, &registry)?.longest()?;
    let hub = Hub::default();
    let mut pipeline = cut.pipeline(&registry, (2, 4), OwnCores::default(), None, |segment, frames| {
        let front = Front::new(1, Limits { frames, ..Limits::default() }, OwnCores::default(), hub.clone())?;
        hub.start(&front, segment, (1, 2, 5), || true);
        Ok(front)
    })?;
    pipeline.run()?;
    hub.stop();
    let expected: Vec<Mark> = (0..600).map(|count| Mark(count % 3 != 0, count + 1)).collect();
    assert!(*kept.lock().unwrap() == expected);
    Ok(())
}

#[test]
fn texts_that_are_none_are_refused() {
    let (registry, _) = registry();
    let file = ChainFile::parse(TEXT, "x.toml").unwrap();
    let kind = |shape: bief::raw::Shape| WireKind { elements: "u32".parse().unwrap(), shape, variable: false };
    let text = Cut::new(&file, 1..2, &registry).unwrap().text(&[kind(4.into())]);
    let refused = |text: &str| Cut::read(text, &registry).unwrap_err().to_string();
    assert!(Cut::read(&text, &registry).is_ok());
    assert!(refused(&text.replace("test.scale", "test.other")).contains("test.other"));
    assert!(refused(&text.replace("\"u32\"", "\"u33\"")).contains("u33"));
    assert!(refused(&text.replace("[[4,],]", "[[1000000000,1000000000,],]")).contains("is longer than"));
    let foreign = "no text of tasks that leave";
    for (part, other) in [
        ("[[4,],]", "[[-4,],]"),
        ("[[4,],]", "[4,]"),
        ("[[4,],]", "[]"),
        ("pool.comes", "pool.came"),
        ("pool.goes", "pool.went"),
        ("\"variable\"", "\"constant\""),
    ] {
        assert!(
            refused(&text.replace(part, other)).contains(foreign),
            "{part} {other}: {}",
            refused(&text.replace(part, other))
        );
    }
    assert!(refused(&" ".repeat(1 << 21)).contains("bytes of text"));
    // All that may stand anywhere: nothing panics.
    for end in 0..text.len() {
        let _ = Cut::read(&text[..end], &registry);
        let _ = Cut::read(&format!("{}{}", &text[..end], &text[end + 1..]), &registry);
    }
}

#[test]
fn as_many_tasks_leave_as_may() -> Result<()> {
    let (registry, _) = registry();
    let file = ChainFile::parse(TEXT, "x.toml")?;
    let names = |cut: &Cut| cut.leaving().map(|task| task.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&Candidates::of(&file, &registry)?.longest()?), ["double", "sum", "scale"]);
    assert_eq!(names(&Candidates::of(&file, &registry)?.between("sum", "scale")?), ["sum", "scale"]);
    let refused = |first, last| Candidates::of(&file, &registry).unwrap().between(first, last).unwrap_err().to_string();
    assert!(refused("summ", "scale").contains("there is no task `summ`: there are `play`, `double`"));
    assert!(refused("scale", "sum").contains("write sum..scale"));
    let two = &TEXT[..TEXT.find("    [[task]]\nname = 'double'").unwrap()];
    let file = ChainFile::parse(&two.replace("['numbers', 'rest']", "['_', '_']"), "x.toml")?;
    let refused = Candidates::of(&file, &registry)?.longest().unwrap_err().to_string();
    assert!(refused.contains("no task may leave this machine: task `play` remembers something"), "{refused}");
    Ok(())
}
