//! Chains from files: what they describe is built, and each thing that is wrong is shown where it stands.

use std::sync::{Arc, Mutex};

use crate::common::{Act, Add, Count, Pair, Probe};
use bief::{
    ChainFile, Error, ErrorKind, Flow, In, Kind, OutVar, Parameters, Registry, Result, Task, VarFrame, Waiting, sink,
    source,
};

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
    registry.add(
        Kind::new("test.count", "counts from 0", |p| Ok(Count::to(p.integer("end", 0..=1_000_000)?)))
            .required("end", "where to stop, 0 to 1000000"),
    );
    registry.add(
        Kind::new("test.zeros", "zeros for ever", |p| {
            let len = p.integer("len", 1..)?;
            Ok(source::from_fn(len, |_: &mut [u64]| Ok(Flow::Next)))
        })
        .with_default("len", 1, "elements of a frame"),
    );
    registry.add(Kind::new("test.add", "adds a number", |p| Ok(Add(p.integer("number", ..)?))).with_default(
        "number",
        1,
        "the number",
    ));
    registry.add(Kind::new("test.pass", "adds 1000", |_| Ok(Probe::new(Act::Pass))));
    registry.add(Kind::new("test.remember", "adds 1000", |_| Ok(Probe::sequential(Act::Pass))));
    registry.add(Kind::new("test.pair", "joins two", |_| Ok(Pair)));
    registry.add(Kind::new("test.even", "keeps even numbers", |_| Ok(Even)));
    registry.add(
        Kind::new("test.open", "counts the bytes of a file", |p| {
            let path = p.path("path")?;
            let bytes =
                p.about("path", std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display())))?;
            Ok(Count::to(bytes.len() as u64))
        })
        .required("path", "the file"),
    );
    registry.add(Kind::new("test.never", "cannot be made", |_| -> Result<Add> { Err(Error::new("the moon is full")) }));
    let store = Arc::clone(&result);
    registry.add(Kind::new("test.collect", "keeps all", move |_| {
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
    let (chain, wires) = file.build(&registry).unwrap();
    assert_eq!(wires.keys().collect::<Vec<_>>(), ["numbers", "passed"]);
    assert_eq!((wires["passed"].element(), wires["passed"].len()), ("u64".to_owned(), 1));
    assert_eq!(chain.build().unwrap().tasks().count(), 5);

    let expected: Vec<u64> = (1005..1025).collect();
    let mut pipeline = file.pipeline(&registry).unwrap();
    let report = pipeline.run().unwrap();
    assert_eq!(std::mem::take(&mut *result.lock().unwrap()), expected);
    let stages: Vec<_> = report.stages.iter().map(|stage| (&*stage.name, stage.threads, stage.tasks.len())).collect();
    assert_eq!(stages, [("count", 1, 1), ("work", 3, 3), ("out", 1, 1)]);
    // 3 + 3 rings of 2 batches of 4 frames, and 5 threads.
    assert_eq!((report.batch, report.frames, report.most_frames_in_flight), (4, 20, (6 * 2 + 5) * 4));

    let changed = file.clone().with_batch(2).with_depth(1).with_waiting(Waiting::Adaptive);
    let report = changed.pipeline(&registry).unwrap().run().unwrap();
    assert_eq!((report.batch, report.most_frames_in_flight), (2, (6 + 5) * 2));
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
    assert_eq!(number.default().unwrap().to_string(), "1");
    assert!(registry.kind("test.count").unwrap().parameters()[0].is_required());

    assert_eq!(registry.make("test.add", Parameters::new()).unwrap().name(), "Add");
    let told = |kind: &str, parameters| {
        let error = registry.make(kind, parameters).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Build);
        error.to_string()
    };
    assert_eq!(told("test.ad", Parameters::new()), "there is no kind of task `test.ad`: did you mean `test.add`?");
    assert_eq!(
        told("test.count", Parameters::new()),
        "parameter `end` of `test.count` is missing: where to stop, 0 to 1000000"
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
    let mut registry = registry;
    registry.add(Kind::new("test.never", "asks for what it has not", |p| Ok(Add(p.integer("x", ..)?))));
    assert_eq!(registry.make("test.never", Parameters::new()).unwrap_err().to_string(), "parameter `x` has no value");
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
    refused("«gain» = 2", "a chain file has no `gain`: there are `batch`, `depth`, `waiting`, `task` and `stage`");
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
    let told = "task `x`: parameter `end` of `test.count` is missing: where to stop, 0 to 1000000";
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
    refused("[[task]]\nname = 'x'\nkind = «'test.never'»", "task `x`: the moon is full");
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
    registry.add(Kind::new("test.fail", "fails", |_| Ok(Probe::new(Act::Fail(1)))));
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
    let open = |p: &mut Parameters| p.path("path").map(|_| Count::to(1));
    registry.add(Kind::new("test.open", "opens a file", open).required("path", "the file"));
    let save = |p: &mut Parameters| p.path_to_write("path").map(|_| Count::to(1));
    registry.add(Kind::new("test.save", "writes a file", save).required("path", "the file"));
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
    for (tasks, words) in [
        ([("open", "in"), ("save", "./in")], "x.toml:9: task `t1`: parameter `path`: task `t0` reads this file"),
        ([("save", "out"), ("open", "./out")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
        ([("save", "new"), ("save", "./new")], "x.toml:9: task `t1`: parameter `path`: task `t0` writes this file"),
    ] {
        let message = built(&tasks).unwrap_err();
        assert!(message.contains(words) && message.contains("name another"), "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
