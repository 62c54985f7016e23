//! Chains from files: what they describe is built, and each thing that is wrong is shown where it stands.

use std::io::Read;
use std::sync::{Arc, Mutex};

use crate::common::{Act, Add, Count, Pair, Probe};
use bief::chain::BuiltChain;
use bief::error::ErrorKind;
use bief::kinds::{Kind, Param, Parameters};
use bief::pipeline::Waiting;
use bief::raw::DynWire;
use bief::{Chain, ChainFile, Error, Flow, In, OutVar, Registry, Result, Task, VarFrame, sink, source};

/// The numbers that are even.
struct Even;

impl Task for Even {
    type In = In<u64>;
    type Out = OutVar<u64>;
    fn lens(&self, len: usize) -> Result<usize> {
        Ok(len)
    }
    fn run(&mut self, x: &[u64], mut even: VarFrame<'_, u64>) -> Result<Flow> {
        x.iter().filter(|x| x.is_multiple_of(2)).try_for_each(|&x| even.push(x))?;
        Ok(Flow::Next)
    }
}

/// Kinds of small tasks, and what `test.collect` collects.
fn registry() -> (Registry, Arc<Mutex<Vec<u64>>>) {
    let result: Arc<Mutex<Vec<u64>>> = Arc::default();
    let mut registry = Registry::new();
    let end = Param::new("end", "where to stop").range(0..=1_000_000);
    registry.add(Kind::new("test.count", "counts from 0", end, |end| Ok(Count::to(end))));
    let len = Param::new("len", "elements of a frame").range(1..).default(1);
    registry.add(Kind::new("test.zeros", "zeros for ever", len, |len| {
        Ok(source::from_fn(len, |_: &mut [u64]| Ok(Flow::Next)))
    }));
    let number = Param::new("number", "the number").default(1);
    registry.add(Kind::new("test.add", "adds a number", number, |number| Ok(Add(number))));
    registry.add(Kind::new("test.pass", "adds 1000", (), |()| Ok(Probe::new(Act::Pass))));
    registry.add(Kind::new("test.remember", "adds 1000", (), |()| Ok(Probe::sequential(Act::Pass))));
    registry.add(Kind::new("test.pair", "joins two", (), |()| Ok(Pair)));
    registry.add(Kind::new("test.even", "keeps even numbers", (), |()| Ok(Even)));
    let path = Param::reads("path", "the file");
    registry.add(
        Kind::piece("test.open", "counts the bytes of a file", path, |path, piece| {
            let mut bytes = Vec::new();
            piece.reader(&path, 1)?.take(1000).read_to_end(&mut bytes)?;
            piece.task(Count::to(bytes.len() as u64), &[])
        })
        .makes("u64"),
    );
    registry.add(Kind::new("test.never", "cannot be made", (), |()| -> Result<Add> {
        Err(Error::new("the moon is full"))
    }));
    let store = Arc::clone(&result);
    registry.add(Kind::new("test.collect", "keeps all", (), move |()| {
        let store = Arc::clone(&store);
        Ok(sink::for_each(move |frame: &[u64]| {
            store.lock().unwrap().extend_from_slice(frame);
            Ok(Flow::Next)
        }))
    }));
    (registry, result)
}

const CHAIN: &str = r#"
batch = 4
depth = 2
waiting = "passive"

[[task]]
name = "count"
kind = "test.count"
out = ["numbers"]
end = 0x1_4

[[task]]
name = "add"
kind = "test.add"
stage = "work"
in = ["numbers"]
number = 5

[[task]]
name = "pass"
kind = "test.pass"
in = ["numbers"]
out = ["passed"]

[[task]]
name = "pair"
kind = "test.pair"
stage = "work"
in = ["numbers", "passed"]
out = ["_"]

[[task]]
name = "collect"
kind = "test.collect"
stage = "out"
in = ["passed"]

[stage.work]
threads = 3
"#;

#[test]
fn what_a_file_describes_is_built_and_runs() {
    let (registry, result) = registry();
    let file = ChainFile::parse(CHAIN, "x.toml").unwrap();
    assert_eq!(file.stages().collect::<Vec<_>>(), [("work", 3), ("out", 1)]);
    let tasks: Vec<_> = file.tasks().map(|task| (task.name(), task.kind(), task.stage())).collect();
    assert_eq!(tasks[0], ("count", "test.count", None));
    assert_eq!(tasks[2], ("pass", "test.pass", Some("work")));
    let pair = file.tasks().nth(3).unwrap();
    assert_eq!((pair.inputs().collect(), pair.outputs().collect()), (vec!["numbers", "passed"], vec!["_"]));
    let BuiltChain { chain, wires, pieces } = file.build(&registry).unwrap();
    assert_eq!(pieces, [0..1, 1..2, 2..3, 3..4, 4..5]);
    assert_eq!(wires.keys().collect::<Vec<_>>(), ["numbers", "passed"]);
    assert_eq!((wires["passed"].element(), wires["passed"].len()), ("u64".to_owned(), 1));
    assert_eq!(chain.build().unwrap().tasks().count(), 5);

    let expected: Vec<u64> = (1005..1025).collect();
    let mut pipeline = file.pipeline(&registry).unwrap();
    let report = pipeline.run().unwrap();
    assert_eq!(std::mem::take(&mut *result.lock().unwrap()), expected);
    let stages: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.threads, stage.tasks.len())).collect();
    assert_eq!(stages, [("count", 1, 1), ("work", 3, 3), ("out", 1, 1)]);
    // Two rings of 3 times 2 batches of 4 frames, and 5 threads.
    assert_eq!((report.batch, report.frames, report.max_frames_in_flight), (4, 20, (6 * 2 + 5) * 4));

    let changed = file.clone().with_batch(2).with_depth(1).with_waiting(Waiting::Adaptive);
    let report = changed.pipeline(&registry).unwrap().run().unwrap();
    assert_eq!((report.batch, report.max_frames_in_flight), (2, (6 + 5) * 2));
    assert_eq!(std::mem::take(&mut *result.lock().unwrap()), expected);

    let report = file.without_stages().pipeline(&registry).unwrap().run().unwrap();
    assert_eq!((report.stages.len(), report.frames), (1, 20));
    assert_eq!(std::mem::take(&mut *result.lock().unwrap()), expected);
}

#[test]
fn paths_are_relative_to_the_folder_of_the_file() {
    let folder = std::env::temp_dir().join(format!("bief-chain-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("three"), "abc").unwrap();
    let text = "[[task]]\nname = 'x'\nkind = 'test.open'\nout = ['n']\npath = 'three'\n";
    std::fs::write(folder.join("x.toml"), text).unwrap();
    let (registry, _) = registry();
    let report = ChainFile::read(folder.join("x.toml")).unwrap().pipeline(&registry).unwrap().run().unwrap();
    assert_eq!(report.frames, 3);
    let elsewhere = ChainFile::parse(text, "x.toml").unwrap().build(&registry).unwrap_err().to_string();
    assert!(elsewhere.contains("x.toml:5: task `x`: parameter `path`: three: No such file"), "{elsewhere}");

    std::fs::write(folder.join("long.toml"), "#".repeat((1 << 20) + 1)).unwrap();
    let long = ChainFile::read(folder.join("long.toml")).unwrap_err().to_string();
    assert!(long.contains("long.toml: is longer than 1048576 bytes"), "{long}");
    std::fs::write(folder.join("x.toml"), [0xFF]).unwrap();
    let binary = ChainFile::read(folder.join("x.toml")).unwrap_err().to_string();
    assert!(binary.contains("x.toml: is no text: give a chain file, in TOML"), "{binary}");
    let folder_message = ChainFile::read(&folder).unwrap_err().to_string();
    assert!(folder_message.ends_with(": is a folder: give a chain file in it"), "{folder_message}");
    let absent = ChainFile::read(folder.join("absent.toml")).unwrap_err();
    assert!(absent.to_string().contains("absent.toml: No such file") && absent.kind() == ErrorKind::Build);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_registry_makes_tasks_without_a_file() {
    let (registry, _) = registry();
    let names: Vec<&str> = registry.kinds().map(Kind::name).collect();
    assert!(names.is_sorted() && names.len() == 10, "{names:?}");
    let kind = registry.kind("test.add").unwrap();
    assert_eq!((kind.summary(), &*kind.inputs()[0].to_string()), ("adds a number", "in-place u64"));
    assert!(kind.outputs().is_empty());
    let number = &kind.parameters()[0];
    assert_eq!((number.name(), number.meaning(), number.is_required()), ("number", "the number", false));
    assert_eq!((number.default().unwrap().to_string(), &*number.form()), ("1".to_owned(), "whole number"));
    let end = &registry.kind("test.count").unwrap().parameters()[0];
    assert!(end.is_required());
    assert_eq!(end.form(), "whole number, 0 to 1000000");

    let made = |registry: &Registry, kind: &str, parameters| {
        let mut chain = Chain::new();
        let zeros = DynWire::from(&chain.add(source::from_slice(&[0_u64], 1), ()));
        let needs = !registry.kind(kind).is_ok_and(|kind| kind.inputs().is_empty());
        let wires = [&zeros];
        let made = registry.make(&mut chain, "x", kind, parameters, &wires[..usize::from(needs)]);
        made.map(|wires| (wires.len(), chain.build().unwrap().tasks().nth(1).unwrap().0.to_owned()))
    };
    assert_eq!(made(&registry, "test.add", Parameters::new()).unwrap(), (0, "x".to_owned()));
    let told = |kind: &str, parameters| {
        let error = made(&registry, kind, parameters).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Build);
        error.to_string()
    };
    assert_eq!(told("test.ad", Parameters::new()), "there is no kind of task `test.ad`: did you mean `test.add`?");
    assert_eq!(
        told("test.count", Parameters::new()),
        "parameter `end` of `test.count` is missing: where to stop (whole number, 0 to 1000000)"
    );
    assert_eq!(
        told("test.add", Parameters::new().with("numbers", 3)),
        "parameter `numbers`: `test.add` has no such parameter: did you mean `number`?"
    );
    assert_eq!(
        told("test.pass", Parameters::new().with("gain", 3)),
        "parameter `gain`: `test.pass` has no such parameter: there are none"
    );
    assert_eq!(
        told("test.add", Parameters::new().with("number", -3)),
        "parameter `number` must be a whole number that u64 holds, not -3"
    );
    assert_eq!(told("test.never", Parameters::new()), "the moon is full");
}

/// What is said of a text: `what` stands in it marked by `«` and `»`, and all the rest must be as told.
fn refused(marked: &str, message: &str) {
    let (before, rest) = marked.split_once('«').expect("the beginning is marked");
    let (what, after) = rest.split_once('»').expect("the end is marked");
    let text = format!("{before}{what}{after}");
    let (registry, _) = registry();
    let error = ChainFile::parse(&text, "x.toml").and_then(|file| file.build(&registry)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Build, "{error}");
    let number = 1 + before.matches('\n').count();
    let line = text.lines().nth(number - 1).unwrap_or("");
    let column = before.lines().last().filter(|_| !before.ends_with('\n')).map_or(0, |line| line.chars().count());
    let marks = what.lines().next().unwrap_or("").chars().count().max(1);
    let gutter = " ".repeat(number.to_string().len());
    let expected = format!(
        "x.toml:{number}: {message}\n{gutter} |\n{number} | {}\n{gutter} | {}{}",
        line.trim_end(),
        " ".repeat(column),
        "^".repeat(marks)
    );
    assert_eq!(error.to_string(), expected);
}

const COUNT: &str = "[[task]]\nname = 'count'\nkind = 'test.count'\nout = ['n']\nend = 3\n";

#[test]
fn what_is_no_chain_file() {
    refused("a = «»", "string values must be quoted, expected literal string");
    refused("batch = 1\n«batch» = 2", "duplicate key");
    refused("«»", "there is no task: begin each with [[task]]");
    refused("«bach» = 2", "a chain file has no `bach`: did you mean `batch`?");
    refused(
        "«gain» = 2",
        "a chain file has no `gain`: there are `batch`, `depth`, `waiting`, `task`, `stage` and `machines`",
    );
    refused("batch = «'2'»", "`batch` must be a whole number, not a string");
    refused("batch = «0»", "`batch` must be 1 to 65536");
    refused("depth = «99_999_999_999_999_999_999»", "`depth` must be 1 to 65536");
    refused("waiting = «'pasive'»", "there is no way to wait named `pasive`: did you mean `passive`?");
    refused("task = «3»", "`task` must be written as [[task]], not an integer");
    refused("task = [«3»]", "`task` must be written as [[task]], not an integer");
    refused("«[task]»\nname = 'x'", "`task` must be written as [[task]], not a table");
    refused("stage = «3»", "`stage` must be written as [stage.NAME], not an integer");
    refused("stage.x = «3»", "`stage` must be written as [stage.NAME], not an integer");
}

#[test]
fn tasks_and_their_keys() {
    refused("«[[task]]»\nkind = 'test.count'", "a task needs a `name`, as in name = \"…\"");
    refused("«[[task]]»\nname = 'x'", "a task needs a `kind`, as in kind = \"…\"");
    refused("[[task]]\nname = «3»", "`name` must be text in quotes, not an integer");
    refused("[[task]]\nname = «''»", "a name is 1 to 100 characters in one line");
    refused("[[task]]\nname = «\"a\\u001b[2J\"»", "a name is 1 to 100 characters in one line");
    refused(
        "[[task]]\nname = 'x'\nkind = 'k'\nin = «'n'»",
        "`in` must be a list of names of wires, as in [\"iq\"], not a string",
    );
    refused("[[task]]\nname = 'x'\nkind = 'k'\nout = ['n', «1.5»]", "`out` must be a list of texts, not a float");
    refused(
        &format!("{COUNT}[[task]]\nname = «'count'»\nkind = 'k'"),
        "two tasks are named `count`: line 2 has the other",
    );
    refused(
        "[[task]]\nname = 'x'\nkind = «'test.cuont'»",
        "task `x`: there is no kind of task `test.cuont`: did you mean `test.count`?",
    );
}

#[test]
fn parameters_of_tasks() {
    let told = "task `x`: parameter `end` of `test.count` is missing: where to stop (whole number, 0 to 1000000)";
    refused("[[task]]\nname = 'x'\nkind = «'test.count'»\nout = ['n']", told);
    let told = "task `count`: parameter `emd`: `test.count` has no such parameter: did you mean `end`?";
    refused(&COUNT.replace("end", "«emd»"), told);
    refused(&COUNT.replace('3', "«-1»"), "task `count`: parameter `end` must be 0 to 1000000, not -1");
    refused(&COUNT.replace('3', "«[1, 'a']»"), "task `count`: parameter `end` must be a whole number, not [1, \"a\"]");
    let told =
        "a parameter is text in quotes, true or false, a number (a whole one of 64 bits), or a list of these, not";
    refused(&COUNT.replace('3', "«{ a = 1 }»"), &format!("{told} a table"));
    refused(&COUNT.replace('3', "«2026-01-01»"), &format!("{told} a datetime"));
    refused(&COUNT.replace('3', "«[1, 99999999999999999999]»"), &format!("{told} an array"));
    refused(&format!("{COUNT}[[task]]\nname = 'x'\nkind = «'test.never'»\nin = ['n']"), "task `x`: the moon is full");
}

#[test]
fn wires_between_tasks() {
    let add = format!("{COUNT}[[task]]\nname = 'add'\nkind = 'test.add'\n");
    refused(&format!("{add}in = [«'m'»]"), "task `add`: wire `m` is made by no task: did you mean `n`?");
    refused(
        &format!("{add}in = ['n']\nout = [«'n'»]"),
        "wire `n` is made twice: by task `count` (line 4) and by task `add`",
    );
    let own = "task `add`: wire `own` is made by this task itself: what it rewrites in place is listed in `in` alone";
    refused(&format!("{add}in = [«'own'»]\nout = ['own']"), own);
    refused(
        &format!("{add}in = [«'later'»]\n{}", COUNT.replace("count'\nk", "again'\nk").replace("'n'", "'later'")),
        "task `add`: wire `later` is made later, by task `again` (line 13): tasks run in the order of the file, so put that \
         one before",
    );
    refused(&format!("{add}in = [«'_'»]"), "task `add`: wire `_` is made by no task: did you mean `n`?");
    let told = "task `add`: it makes no wires, but `out` names 1: leave `out` out";
    refused(&format!("{add}in = ['n']\nout = «['m']»"), told);
    let told =
        "task `count`: it makes 1 wire (out u64), but `out` names 0: give each a name, `_` where nobody reads it";
    refused("[[task]]\nname = 'count'\nkind = «'test.count'»\nend = 3", told);
    refused(
        &format!("{add}in = «['n', 'n']»"),
        "task `add`: it has 1 input (in-place u64), but 2 wires were given (input 0 is 1 x u64 from task `count`, input 1 is \
         1 x u64 from task `count`)",
    );
    let told = "task `add`: it has 1 input (in-place u64), but none was given";
    refused(&add.replace("'test.add'", "«'test.add'»"), told);
    let pair = format!("{COUNT}[[task]]\nname = 'pair'\nkind = 'test.pair'\nin = ['n', 'n']\nout = ['p']\n");
    let collect = "[[task]]\nname = 'collect'\nkind = 'test.collect'\n";
    let told = "task `collect`: input 0 reads u64, but gets [u64; 2] from task `pair`";
    refused(&format!("{pair}{collect}in = [«'p'»]"), told);
    let even = format!("{COUNT}[[task]]\nname = 'even'\nkind = 'test.even'\nin = ['n']\nout = ['e']\n");
    let told =
        "task `collect`: input 0 reads frames of one length, but gets frames of variable length from task `even`";
    refused(&format!("{even}{collect}in = [«'e'»]"), told);
    let zeros = "[[task]]\nname = 'zeros'\nkind = 'test.zeros'\nout = ['z']\nlen = 2\n";
    refused(
        &format!("{COUNT}{zeros}[[task]]\nname = 'pair'\nkind = 'test.pair'\nin = «['n', 'z']»\nout = ['p']"),
        "task `pair`: both inputs must have the same length, not 1 and 2 (input 0 is 1 x u64 from task `count`, input 1 is 2 x \
         u64 from task `zeros`)",
    );
    refused(
        &format!("batch = 16\n{}", zeros.replace("= 2", "= 1_000_000_000_000_000_000").replace("'zeros'", "«'zeros'»")),
        "task `zeros`: it makes frames of 1000000000000000000 x u64, 16 in a batch: that is more than memory can hold",
    );
}

#[test]
fn machines_of_a_stage() {
    let task = |name: &str| format!("[[task]]\nname = '{name}'\nkind = 'test.add'\nin = ['n']\nstage = '{name}'\n");
    let (a, b) = (task("a"), task("b"));
    let text = format!("{COUNT}{a}{b}[stage.a]\nmachines = 'farm'\n[machines.farm]\nfind = true\nkeys = 'pool'");
    let (farm, tasks) = ChainFile::parse(&text, "x.toml").unwrap().machines().unwrap();
    assert_eq!((&*farm.name, farm.find, farm.keys, tasks), ("farm", true, Some("pool".into()), 1..2));
    assert!(ChainFile::parse(&text, "x.toml").unwrap().without_stages().machines().is_none());
    let farm = "[machines.farm]\nconnect = 'rack3'\n";
    refused(
        &format!("{farm}{COUNT}{a}[stage.a]\nmachines = «'frm'»"),
        "there is no [machines.frm]: did you mean `farm`?",
    );
    refused(
        &format!("{farm}{COUNT}{a}{b}[stage.a]\nmachines = 'farm'\n[stage.b]\nmachines = «'farm'»"),
        "the tasks of stage `a` leave already: one stage may have `machines`",
    );
    refused(
        &format!("[machines.«farm»]\nconnect = 'rack3'\n{COUNT}{a}"),
        "no stage is for them: write machines = \"farm\" into a [stage.NAME], or leave them out",
    );
    refused(
        &format!("[machines.«farm»]\n{COUNT}{a}[stage.a]\nmachines = 'farm'"),
        "machines need `connect`, as in connect = \"rack3,rack4\", or `router`, or `find`",
    );
    refused(
        &format!("[machines.«farm»]\nfind = true\nrouter = 'gate'\n{COUNT}{a}"),
        "machines behind a `router` are found there: leave `connect` and `find` out",
    );
    refused(&format!("[machines.farm]\nfind = «3»\n{COUNT}{a}"), "`find` must be true or false, not an integer");
    refused(
        &format!("[machines.farm]\n«conect» = 'rack3'\n{COUNT}{a}"),
        "machines has no `conect`: did you mean `connect`?",
    );
}

#[test]
fn stages_of_tasks() {
    let task = |name: &str, stage: &str| format!("[[task]]\nname = '{name}'\nkind = 'test.add'\nin = ['n']\n{stage}\n");
    let (a, b) = (task("a", "stage = 'x'"), task("b", "stage = 'y'"));
    refused(
        &format!("{COUNT}{a}{}{b}{}", task("c", ""), task("d", "stage = «'x'»")),
        "stage `x` holds task `a` and cannot go on with task `d`: task `b` between them begins stage `y`; a stage is a run of \
         tasks",
    );
    refused(&format!("{COUNT}{a}{b}[stage.«z»]"), "no task names stage `z`: did you mean `x`?");
    refused(&format!("{COUNT}[stage.«z»]"), "no task names stage `z`: there are none");
    refused(&format!("{COUNT}{a}[stage.x]\n«thread» = 3"), "a stage has no `thread`: did you mean `threads`?");
    refused(&format!("{COUNT}{a}[stage.x]\nthreads = «0»"), "`threads` must be 1 to 1024");
    refused(&format!("{COUNT}{a}[stage.x]\nthreads = «1025»"), "`threads` must be 1 to 1024");
    refused(
        &format!("{COUNT}{a}{b}[stage.x]\nthreads = «1000»\n[stage.y]\nthreads = 25"),
        "the stages have 1025 threads in all: give them at most 1024",
    );
    refused(&format!("depth = «3»\n{COUNT}"), "`depth` is about stages, but no task names a stage");
    refused(&format!("waiting = «'active'»\n{COUNT}"), "`waiting` is about stages, but no task names a stage");
    let remember = a.replace("test.add", "test.remember").replace("in =", "out = ['m']\nin =");
    refused(
        &format!("{COUNT}{remember}[stage.x]\nthreads = «2»"),
        "stage `x` cannot have 2 threads: task `a` remembers from frame to frame (its `replica` is None); give the stage 1 \
         thread or put that task in a stage of its own",
    );
    // What a program sets has no line.
    let (registry, _) = registry();
    let file = ChainFile::parse(COUNT, "x.toml").unwrap();
    let told = |file: ChainFile| file.pipeline(&registry).unwrap_err().to_string();
    assert_eq!(told(file.clone().with_depth(3)), "x.toml: `depth` is about stages, but no task names a stage");
    assert_eq!(told(file.with_batch(0)), "x.toml: a batch of 0 frames never moves: give a batch of at least 1");
}

#[test]
fn a_run_names_the_tasks_of_the_file() {
    let (mut registry, _) = registry();
    registry.add(Kind::new("test.fail", "fails", (), |()| Ok(Probe::new(Act::Fail(1)))));
    let text = format!("{COUNT}[[task]]\nname = 'bad one'\nkind = 'test.fail'\nin = ['n']\nout = ['_']\n");
    let error = ChainFile::parse(&text, "x.toml").unwrap().pipeline(&registry).unwrap().run().unwrap_err();
    assert_eq!(error.to_string(), "task `bad one` (stage `chain`, frame 1): told to fail at 1");
}

#[test]
fn a_file_is_not_written_while_another_task_uses_it() {
    let folder = std::env::temp_dir().join(format!("bief-chain-file-written-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("in"), "content").unwrap();
    let mut registry = Registry::new();
    registry.add(Kind::new("test.open", "opens a file", Param::reads("path", "the file"), |_| Ok(Count::to(1))));
    registry.add(Kind::new("test.save", "writes a file", Param::writes("path", "the file"), |_| Ok(Count::to(1))));
    let built = |tasks: &[(&str, &str)]| {
        let mut text = String::new();
        for (number, (kind, path)) in tasks.iter().enumerate() {
            text +=
                &format!("[[task]]\nname = 't{number}'\nkind = 'test.{kind}'\npath = '{path}'\nout = ['w{number}']\n");
        }
        std::fs::write(folder.join("x.toml"), text).unwrap();
        ChainFile::read(folder.join("x.toml")).unwrap().build(&registry).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(built(&[("open", "in"), ("open", "./in"), ("save", "out"), ("save", "other")]), Ok(()));
    assert_eq!(built(&[("open", "-"), ("save", "-")]), Ok(()));
    for (tasks, words) in [
        ([("open", "in"), ("save", "./in")], "x.toml:9: task `t1`: parameter `path`: task `t0` reads this file"),
        ([("save", "out"), ("open", "./out")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
        ([("save", "new"), ("save", "./new")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
        ([("save", "file:new"), ("save", "new")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
        ([("save", "-"), ("save", "-")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
        ([("open", "-"), ("open", "-")], "x.toml:9: task `t1`: parameter `path`: task `t0` reads this file"),
        (
            [("open", "in"), ("save", "udp://x")],
            "x.toml:9: task `t1`: parameter `path`: udp://x: nothing opens `udp:`: there is `file`",
        ),
    ] {
        let message = built(&tasks).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A piece of two tasks that looks at its wire.
fn twice() -> Kind {
    let kind = Kind::piece("test.twice", "adds 1, then 2", (), |(), piece| {
        let wire = &piece.wires()[0];
        if wire.typed::<u64>().is_err() {
            return Err(piece.unfit(0, "u64, in frames of one length"));
        }
        piece.part("one", Add(1), &[wire])?;
        piece.task(Add(2), &[wire])
    });
    kind.rewrites("u64")
}

#[test]
fn a_kind_may_make_several_tasks() {
    let (mut registry, result) = registry();
    registry.add(twice());
    let pieces = Kind::piece("test.region", "adds in a loop", (), |(), piece| {
        let mut wire = piece.wires()[0].typed::<u64>()?;
        piece.chain().repeat(3, |chain| chain.add(Add(10), &mut wire));
        Ok(Vec::new())
    });
    registry.add(pieces.rewrites("u64"));
    let text = format!(
        "{COUNT}[[task]]\nname = 'both'\nkind = 'test.twice'\nin = ['n']\nstage = 'a'\n[[task]]\nname = 'loop'\nkind = \
         'test.region'\nin = ['n']\n[[task]]\nname = 'collect'\nkind = 'test.collect'\nin = ['n']\nstage = 'b'\n"
    );
    let file = ChainFile::parse(&format!("{text}[stage.a]\nthreads = 2"), "x.toml").unwrap();
    let built = file.build(&registry).unwrap();
    assert_eq!(built.pieces, [0..1, 1..3, 3..4, 4..5]);
    let program = built.chain.build().unwrap();
    let names: Vec<&str> = program.tasks().map(|(name, _)| name).collect();
    assert_eq!(names, ["count", "both/one", "both", "loop/repeat(loop/Add)", "collect"]);
    let report = file.pipeline(&registry).unwrap().run().unwrap();
    let stages: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.threads, stage.tasks.len())).collect();
    assert_eq!(stages, [("count", 1, 1), ("a", 2, 3), ("b", 1, 1)]);
    assert_eq!(*result.lock().unwrap(), [33, 34, 35]);
    let told = file.files(&Registry::new()).unwrap_err().to_string();
    assert!(told.contains("there is no kind of task `test.count`: there are none"), "{told}");
}

#[test]
fn what_a_piece_refuses_is_shown_where_it_stands() {
    let (mut registry, _) = registry();
    registry.add(twice());
    registry.add(Kind::piece("test.none", "makes nothing", (), |(), _| Ok(Vec::new())));
    registry.add(
        Kind::piece("test.less", "makes less", (), |(), piece| {
            piece.task(Count::to(1), &[])?;
            Ok(Vec::new())
        })
        .makes("u64"),
    );
    registry.add(
        Kind::piece("test.inner", "reads what is no pair", (), |(), piece| {
            let wires: Vec<&DynWire> = piece.wires().iter().collect();
            piece.part("even", Even, &wires)
        })
        .reads("u64")
        .makes("u64"),
    );
    let told = |text: &str| ChainFile::parse(text, "x.toml").unwrap().build(&registry).unwrap_err().to_string();
    let even = format!("{COUNT}[[task]]\nname = 'even'\nkind = 'test.even'\nin = ['n']\nout = ['e']\n");
    let task = |kind: &str, keys: &str| format!("{even}[[task]]\nname = 'x'\nkind = 'test.{kind}'\n{keys}");
    let message = told(&task("twice", "in = ['e']"));
    assert!(
        message.contains(
            "x.toml:14: task `x`: input 0 takes u64, in frames of one length, but gets u64, in frames of variable length, from \
             task `even`"
        ),
        "{message}"
    );
    assert!(message.ends_with("|       ^^^"), "{message}");
    let message = told(&task("twice", "in = ['n', 'n']"));
    assert!(
        message.contains("x.toml:14: task `x`: it has 1 input (in-place u64), but 2 wires were given"),
        "{message}"
    );
    let message = told(&task("twice", "in = ['n']\nout = ['m']"));
    assert!(message.contains("x.toml:15: task `x`: it makes no wires, but `out` names 1"), "{message}");
    let message = told(&task("inner", "in = ['e']\nout = ['m']"));
    assert!(
        message.contains("x.toml:14: task `x/even`: input 0 reads frames of one length")
            && message.ends_with("       ^^^"),
        "{message}"
    );
    let message = told(&task("none", ""));
    assert!(message.contains("x.toml:13: task `x`: `test.none` made no task"), "{message}");
    let message = told(&task("less", "out = ['m']"));
    assert!(message.contains("x.toml:13: task `x`: `test.less` made 0 wires, but declares 1 outputs"), "{message}");
}

/// What a rehearsal must not do: bytes are read from where they are gone then, and written.
const COPY: &str = "[[task]]\nname = 'in'\nkind = 'test.bytes'\npath = 'IN'\nout = ['b']\n[[task]]\nname = \
                    'out'\nkind = 'test.write'\npath = 'OUT'\nin = ['b']\n";

fn copying() -> Registry {
    let mut registry = Registry::new();
    let kind = Kind::piece("test.bytes", "reads bytes", Param::reads("path", "from where"), |path, piece| {
        let mut reader = piece.reader(&path, 1000)?;
        piece.task(
            source::from_fn(1000, move |bytes: &mut [u8]| {
                let read = std::io::copy(&mut (&mut reader).take(1000), &mut &mut bytes[..])?;
                Ok(if read == 1000 { Flow::Next } else { Flow::Stop })
            }),
            &[],
        )
    });
    registry.add(kind.makes("u8"));
    registry.add(Kind::new("test.write", "writes bytes", Param::writes("path", "where to"), |path| {
        let mut writer = path.writer();
        Ok(sink::for_each(move |bytes: &[u8]| {
            std::io::Write::write_all(&mut writer, bytes)?;
            std::io::Write::flush(&mut writer)?;
            Ok(Flow::Next)
        }))
    }));
    registry
}

#[cfg(unix)]
#[test]
fn a_rehearsal_eats_nothing_of_a_fifo_and_touches_no_output() {
    let folder = std::env::temp_dir().join(format!("bief-rehearsal-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap();
    assert!(made.success());
    std::fs::write(folder.join("kept"), "as it was").unwrap();
    let bytes: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
    let (fifo, sent) = (folder.join("fifo"), bytes.clone());
    let writer = std::thread::spawn(move || std::fs::write(fifo, sent));
    let registry = copying();
    for (out, exists) in [("new", false), ("kept", true)] {
        std::fs::write(folder.join("x.toml"), COPY.replace("IN", "fifo").replace("OUT", out)).unwrap();
        if exists {
            std::fs::write(folder.join("x.toml"), COPY.replace("IN", "new").replace("OUT", out)).unwrap();
        }
        let file = ChainFile::read(folder.join("x.toml")).unwrap();
        let used = file.files(&registry).unwrap();
        assert_eq!((used.len(), used[0].is_written, used[1].is_written), (2, false, true));
        for frames in [1, 1000, 70] {
            let report = file.rehearsal(&registry, frames).unwrap().run().unwrap();
            assert_eq!(report.frames, frames);
            assert_eq!(folder.join(out).exists(), exists);
        }
        let profile = file.rehearsal(&registry, u64::MAX).unwrap().profile(500).unwrap();
        assert_eq!(profile.tasks().len(), 2);
        if exists {
            assert_eq!(std::fs::read(folder.join(out)).unwrap(), b"as it was");
        }
        file.pipeline(&registry).unwrap().run().unwrap();
        assert!(std::fs::read(folder.join(out)).unwrap() == bytes, "{out}: all of it, and once");
    }
    writer.join().unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_rehearsal_counts_frames_that_are_made_and_ends_where_none_is() {
    let mut registry = Registry::new();
    for (name, one_of) in [("test.third", 3), ("test.nothing", u64::MAX)] {
        registry.add(Kind::new(name, "skips frames", (), move |()| {
            let mut frames = 0_u64;
            Ok(source::from_fn(1, move |_: &mut [u8]| {
                frames += 1;
                Ok(if frames.is_multiple_of(one_of) { Flow::Next } else { Flow::Skip })
            }))
        }));
    }
    let rehearsed = |kind: &str, frames| {
        let text = format!("batch = 4\n[[task]]\nname = 'x'\nkind = 'test.{kind}'\nout = ['_']");
        let file = ChainFile::parse(&text, "x.toml").unwrap();
        file.rehearsal(&registry, frames).unwrap().run().unwrap().frames
    };
    assert_eq!([rehearsed("third", 0), rehearsed("third", 7), rehearsed("nothing", u64::MAX)], [0, 7, 0]);
}

#[test]
fn a_crate_adds_an_opener() {
    struct Numbers;
    impl bief::kinds::Opener for Numbers {
        fn reader(&self, address: &bief::kinds::Address) -> Result<bief::kinds::ByteSource> {
            let count: usize = address.rest().parse().map_err(|_| Error::new(format!("{address}: give a number")))?;
            Ok(bief::kinds::ByteSource::new(std::io::Cursor::new(vec![7; count])))
        }
    }
    let mut registry = copying();
    registry.open("numbers", Numbers);
    let path = std::env::temp_dir().join(format!("bief-opener-{}", std::process::id()));
    let text = COPY.replace("IN", "numbers:5000").replace("OUT", path.to_str().unwrap());
    let file = ChainFile::parse(&text, "x.toml").unwrap();
    assert_eq!(file.files(&registry).unwrap().len(), 1, "what is no file is in nobody's way");
    assert_eq!(file.pipeline(&registry).unwrap().run().unwrap().frames, 5);
    assert_eq!(std::fs::read(&path).unwrap(), [7; 5000]);
    std::fs::remove_file(&path).unwrap();
    let told = |text: &str| ChainFile::parse(text, "x.toml").unwrap().build(&registry).unwrap_err().to_string();
    let message = told(&text.replace("numbers:5000", "numbers:x"));
    assert!(message.starts_with("x.toml:4: task `in`: parameter `path`: numbers:x: give a number\n"), "{message}");
    let message = told(&text.replace("numbers:5000", "nmbers://5000"));
    assert!(
        message.contains(
            "x.toml:4: task `in`: parameter `path`: nmbers://5000: nothing opens `nmbers:`: did you mean `numbers`?"
        ),
        "{message}"
    );
}
