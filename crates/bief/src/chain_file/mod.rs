//! Chains described in files: read, checked, and built of the kinds of a [`Registry`].

mod application;
mod machines;
mod parse;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bief_machine::toml_file::{At, Span, Text};

use crate::chain::Chain;
use crate::dyn_wire::DynWire;
use crate::dynamic::Refusal;
use crate::error::{Error, Result};
use crate::making::Making;
use crate::parameters::{Parameters, Value, refused};
use crate::pipeline::Pipeline;
use crate::program::Program;
use crate::registry::{Kind, KindSocket, Registry};
use crate::rehearsal::Kept;
use crate::wait::Waiting;
pub use application::FileApplication;
pub use machines::Machines;
use parse::{Description, NOBODY, TaskEntry};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A chain described in a file, in [TOML](https://toml.io).
///
/// ```toml
/// batch = 16                    # frames that travel together [1]
/// depth = 4                     # batches that wait between two stages, for each replica [4, or what 4 MB hold]
/// waiting = "adaptive"          # how threads wait: "adaptive", "passive" or "active" ["adaptive"]
///
/// [[task]]                      # tasks run in the order in which they are written
/// name = "read"
/// kind = "radio.read"           # what it is: a kind of the registry
/// out = ["iq"]                  # names for the wires that it makes; "_" for one that nobody reads
/// path = "capture.sigmf-meta"   # all other keys are parameters of the kind
///
/// [[task]]
/// name = "quantise"
/// kind = "radio.quantise"
/// stage = "convert"             # begins a stage, which goes on until a task names another
/// in = ["iq"]                   # wires that it reads, or rewrites in place
/// out = ["bytes"]
///
/// [[task]]
/// name = "write"
/// kind = "file.write"
/// stage = "out"
/// in = ["bytes"]
/// path = "capture.ci16"         # relative to the folder of this file
///
/// [stage.convert]
/// threads = 2                   # replicas that run it [1]
/// machines = "farm"             # other machines that its tasks may leave for [none]
///
/// [machines.farm]
/// connect = "rack3,rack4:7447"  # workers, by where they listen; or
/// # router = "gate"             # a router that they are connected to, or
/// # find = true                 # whoever is in the local network
/// keys = "pool"                 # a folder of keys, relative to that of this file
/// ```
///
/// What some kinds make is a piece of several tasks: `name`, and `name/part` beside it. A stage begins at the first of them; one of
/// several threads behind those that remember something from frame to frame.
///
/// Every error names file and line, and shows the line with what is wrong underlined:
///
/// ```
/// use bief::chain::BuiltChain;
/// use bief::kinds::{Kind, Param};
/// use bief::{ChainFile, Registry, sink, source};
///
/// let mut registry = Registry::new();
/// let count = Param::new("count", "how many").range(1..=1000);
/// registry.add(Kind::new("test.ramp", "whole numbers from 0 on", count, |count: u32| {
///     Ok(source::from_slice(&(0..count).collect::<Vec<_>>(), 1))
/// }));
/// let text = r#"
/// [[task]]
/// name = "ramp"
/// kind = "test.ramp"
/// out = ["numbers"]
/// count = 3
/// "#;
/// // A program can go on where the file ends.
/// let BuiltChain { mut chain, wires, .. } = ChainFile::parse(text, "ramp.toml")?.build(&registry)?;
/// let (collect, result) = sink::collect();
/// chain.add(collect, &wires["numbers"].typed::<u32>()?);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [0, 1, 2]);
///
/// let text = text.replace("3", "0");
/// let error = ChainFile::parse(&text, "ramp.toml")?.build(&registry).unwrap_err();
/// assert_eq!(error.to_string(), "\
/// ramp.toml:6: task `ramp`: parameter `count` must be 1 to 1000, not 0
///   |
/// 6 | count = 0
///   |         ^");
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ChainFile {
    text: Text,
    folder: PathBuf,
    description: Description,
    /// What rehearsals keep for the run.
    kept: Kept,
}

/// A chain built from a [`ChainFile`].
#[derive(Debug)]
pub struct BuiltChain {
    /// The chain, with its stages marked.
    pub chain: Chain,
    /// The wires by their names, for tasks that a program adds.
    pub wires: BTreeMap<String, DynWire>,
    /// Which tasks of the chain each task of the file became.
    pub pieces: Vec<Range<usize>>,
}

/// A task of a [`ChainFile`].
#[derive(Debug, Clone, Copy)]
pub struct FileTask<'f> {
    entry: &'f TaskEntry,
    stage: Option<&'f str>,
}

impl<'f> FileTask<'f> {
    /// Its name.
    pub fn name(self) -> &'f str {
        &self.entry.name.value
    }

    /// The kind of task that it is.
    pub fn kind(self) -> &'f str {
        &self.entry.kind.value
    }

    /// The stage that it is in; `None` before the first stage that is named.
    pub fn stage(self) -> Option<&'f str> {
        self.stage
    }

    /// The wires that it reads or rewrites.
    pub fn inputs(self) -> impl Iterator<Item = &'f str> {
        self.entry.inputs.iter().map(|wire| &*wire.value)
    }

    /// The wires that it makes; `_` stands for an unread one.
    pub fn outputs(self) -> impl Iterator<Item = &'f str> {
        self.entry.outputs.iter().map(|wire| &*wire.value)
    }

    /// Its parameters that the file gives, as they are written.
    pub fn parameters(self) -> impl Iterator<Item = (&'f str, &'f Value)> {
        self.entry.parameters.iter().map(|(key, value)| (&*key.value, &value.value))
    }
}

/// A file, or a standard stream, that a task of a [`ChainFile`] uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// The task's name.
    pub task: String,
    /// Where it is, without links and detours, as far as it is there; `-` for standard input or output.
    pub path: PathBuf,
    /// Whether the task writes it; it reads it otherwise.
    pub is_written: bool,
}

impl UsedFile {
    /// Whether it is standard input or output.
    pub fn is_standard(&self) -> bool {
        self.path.as_os_str() == "-"
    }

    /// Whether the two get into each other's way.
    fn disturbs(&self, other: &Self) -> bool {
        let is_used_up = if self.is_standard() { self.is_written == other.is_written } else { false };
        self.path == other.path && (is_used_up || !self.is_standard() && (self.is_written || other.is_written))
    }
}

impl ChainFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, or of more than 1 MiB; all errors of [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let cannot = |error: IoError| match error.kind() {
            ErrorKind::InvalidData => Error::build(format!("{name}: is no text: give a chain file, in TOML")),
            ErrorKind::IsADirectory => Error::build(format!("{name}: is a folder: give a chain file in it")),
            _ => Error::build(format!("{name}: {error}")),
        };
        let mut text = String::new();
        let file = File::open(path).map_err(cannot)?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(Error::build(format!("{name}: is longer than {MOST_BYTES} bytes: give a chain file, in TOML")));
        }
        Ok(Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), ..Self::parse(&text, &name)? })
    }

    /// Reads a text that errors call `name`. Relative paths in it are relative to the current folder.
    ///
    /// # Errors
    /// What is no TOML; keys that there are not or of another type; a task without name or kind, or of a name that another
    /// has; a wire that is made twice, or not before it is used; a stage that is no run of tasks, or without tasks.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let text = Text { name: name.to_owned(), text: text.to_owned() };
        let description = parse::parse(&text)?;
        Ok(Self { text, folder: PathBuf::new(), description, kept: Kept::default() })
    }

    /// Sets the frames per batch, instead of the file's value.
    #[must_use]
    pub fn with_batch(mut self, frames: usize) -> Self {
        self.description.batch = Some(frames);
        self
    }

    /// Sets how many batches may wait between two stages, instead of the file's value.
    #[must_use]
    pub fn with_depth(mut self, batches: usize) -> Self {
        self.description.depth = Some(At { value: batches, span: self.outside() });
        self
    }

    /// Sets how threads wait, instead of the file's value.
    #[must_use]
    pub fn with_waiting(mut self, waiting: Waiting) -> Self {
        self.description.waiting = Some(At { value: waiting, span: self.outside() });
        self
    }

    /// Leaves out the stages and their settings.
    #[must_use]
    pub fn without_stages(mut self) -> Self {
        self.description.stages.clear();
        (self.description.depth, self.description.waiting) = (None, None);
        self
    }

    /// Its tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = FileTask<'_>> {
        self.description.tasks.iter().enumerate().map(|(index, entry)| {
            let stage = self.description.stages.iter().rfind(|stage| stage.first_task <= index);
            FileTask { entry, stage: stage.map(|stage| &*stage.name) }
        })
    }

    /// The stages that its tasks name, in order, and the threads of each.
    pub fn stages(&self) -> impl Iterator<Item = (&str, usize)> {
        self.description.stages.iter().map(|stage| (&*stage.name, stage.threads))
    }

    /// The machines that the tasks of a stage may leave for, and its tasks, by their places in the file.
    ///
    /// ```
    /// use bief::ChainFile;
    ///
    /// let text = r#"
    /// [[task]]
    /// name = "read"
    /// kind = "radio.read"
    /// out = ["iq"]
    /// path = "capture.sigmf-meta"
    ///
    /// [[task]]
    /// name = "quantise"
    /// kind = "radio.quantise"
    /// stage = "convert"
    /// in = ["iq"]
    /// out = ["_"]
    ///
    /// [stage.convert]
    /// machines = "farm"
    ///
    /// [machines.farm]
    /// connect = "rack3"
    /// "#;
    /// let file = ChainFile::parse(text, "chain.toml")?;
    /// let (farm, tasks) = file.machines().unwrap();
    /// assert_eq!((farm.connect.as_deref(), tasks), (Some("rack3"), 1..2));
    /// # Ok::<(), bief::Error>(())
    /// ```
    pub fn machines(&self) -> Option<(Machines, Range<usize>)> {
        let Description { stages, tasks, .. } = &self.description;
        let (index, machines) =
            stages.iter().enumerate().find_map(|(index, stage)| Some((index, stage.machines.clone()?)))?;
        let end = stages.get(index + 1).map_or(tasks.len(), |next| next.first_task);
        let keys = machines.keys.map(|keys| self.folder.join(keys));
        Some((Machines { keys, ..machines }, stages[index].first_task..end))
    }

    /// The frames per batch.
    pub fn batch(&self) -> usize {
        self.description.batch.unwrap_or(1)
    }

    /// The batches that may wait between two stages, where that was set.
    pub fn depth(&self) -> Option<usize> {
        self.description.depth.as_ref().map(|depth| depth.value)
    }

    /// The files and standard streams that its tasks read and write, by their parameters: nothing is opened.
    ///
    /// # Errors
    /// A kind or an address that there is not; a file that is written while another task uses it.
    pub fn files(&self, registry: &Registry) -> Result<Vec<UsedFile>> {
        let mut files = Vec::new();
        for entry in &self.description.tasks {
            let kind = self.kind(entry, registry)?;
            self.use_files(entry, kind, registry, &mut files)?;
        }
        Ok(files)
    }

    /// Builds the chain, with its stages marked, of the kinds of a registry.
    ///
    /// # Errors
    /// Kinds and parameters that there are not, are missing or do not fit; wires that do not fit their tasks; more threads
    /// for a stage than its tasks allow; a depth or a way to wait where there are no stages; all with their lines.
    pub fn build(&self, registry: &Registry) -> Result<BuiltChain> {
        let Description { depth, waiting, stages, .. } = &self.description;
        if stages.is_empty() {
            let spans =
                [("depth", depth.as_ref().map(|at| &at.span)), ("waiting", waiting.as_ref().map(|at| &at.span))];
            if let Some((key, span)) = spans.into_iter().find_map(|(key, span)| Some((key, span?))) {
                return Err(self.error(span, &format!("`{key}` is about stages, but no task names a stage")));
            }
        }
        self.assemble(registry, None)
    }

    /// Adds some of its tasks to a chain that a program makes, by their places in the file. `wires` has what they read, by name, and gets
    /// what they make. Batch, depth, waiting and stages of the file are left out.
    ///
    /// ```
    /// use bief::kinds::{Kind, Param};
    /// use bief::{Chain, ChainFile, Registry, sink, source};
    /// use std::collections::BTreeMap;
    ///
    /// let mut registry = Registry::new();
    /// registry.add(Kind::new("test.seven", "sevens for ever", (), |()| Ok(source::from_slice(&[7_u8], 1))));
    /// let text = "[[task]]\nname = 'seven'\nkind = 'test.seven'\nout = ['sevens']";
    /// let file = ChainFile::parse(text, "sevens.toml")?;
    ///
    /// let (mut chain, mut wires) = (Chain::new(), BTreeMap::new());
    /// file.add_to(&mut chain, 0..1, &mut wires, &registry)?;
    /// let (collect, result) = sink::collect();
    /// chain.add(collect, &wires["sevens"].typed::<u8>()?);
    /// chain.build()?.run()?;
    /// assert_eq!(result.take(), [7]);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`build`](Self::build) about the tasks; places beyond the last task; a wire that is not there.
    pub fn add_to(
        &self,
        chain: &mut Chain,
        tasks: Range<usize>,
        wires: &mut BTreeMap<String, DynWire>,
        registry: &Registry,
    ) -> Result<()> {
        let entries = self.description.tasks.get(tasks.clone()).ok_or_else(|| {
            let count = self.description.tasks.len();
            self.error(&self.outside(), &format!("there are no tasks {tasks:?}: there are {count}, counted from 0"))
        })?;
        for entry in entries {
            if let Some(missing) = entry.inputs.iter().find(|wire| !wires.contains_key(&wire.value)) {
                let message = format!("task `{}`: wire `{}` is not there", entry.name.value, missing.value);
                return Err(self.error(&missing.span, &message));
            }
            let made = self.add(chain, entry, registry, wires, None)?;
            wires.extend(named(entry, made));
        }
        Ok(())
    }

    fn assemble(&self, registry: &Registry, rehearsal: Option<u64>) -> Result<BuiltChain> {
        let Description { batch, depth, waiting, tasks, stages } = &self.description;
        self.files(registry)?;
        let mut chain = Chain::new().batch(batch.unwrap_or(1));
        if let Some(depth) = depth {
            chain = chain.depth(depth.value);
        }
        if let Some(waiting) = waiting {
            chain = chain.waiting(waiting.value);
        }
        let mut wires = BTreeMap::new();
        let (mut pieces, mut begins) = (Vec::new(), Vec::new());
        for (index, entry) in tasks.iter().enumerate() {
            let first_task = chain.count();
            let made = self.add(&mut chain, entry, registry, &wires, rehearsal)?;
            let piece = first_task..chain.count();
            if let Some(stage) = stages.iter().find(|stage| stage.first_task == index) {
                // What a piece of several tasks must remember goes before the threads that share its work.
                let begin = if stage.threads > 1 { chain.first_replicable(piece.clone()) } else { first_task };
                chain.mark(&stage.name, begin, stage.threads);
                begins.push(begin);
            }
            pieces.push(piece);
            wires.extend(named(entry, made));
        }
        for (index, stage) in stages.iter().enumerate() {
            let end = begins.get(index + 1).copied().unwrap_or(chain.count());
            chain
                .check_stage(&stage.name, begins[index]..end, stage.threads)
                .map_err(|error| self.error(&stage.span, &error.to_string()))?;
        }
        chain.check().map_err(|error| {
            let is_of = |entry: &&TaskEntry| {
                let part = error.place().task.as_deref().and_then(|task| task.strip_prefix(&*entry.name.value));
                part.is_some_and(|part| part.is_empty() || part.starts_with('/'))
            };
            let entry = tasks.iter().find(is_of);
            self.error(entry.map_or(&self.outside(), |entry| &entry.name.span), &error.to_string())
        })?;
        Ok(BuiltChain { chain, wires, pieces })
    }

    /// Builds the chain and cuts it into its stages: one on the calling thread where no task names a stage.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn pipeline(&self, registry: &Registry) -> Result<Pipeline> {
        let program = self.build(registry)?.chain.build()?;
        let is_cut = !self.description.stages.is_empty();
        if is_cut { program.pipeline_as_marked() } else { program.one_core() }
    }

    /// Builds the chain, to be run, or cut into stages that it does not mark; depth and waiting are the file's.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), but for depth and waiting where it marks no stages.
    pub fn program(&self, registry: &Registry) -> Result<Program> {
        self.assemble(registry, None)?.chain.build()
    }

    /// Builds the chain for a trial: to be measured, or run for a number of frames. It has the same tasks, uses up no
    /// input and touches no output. Sources repeat a bounded front of their input; the part that they read is kept in
    /// this file (and its clones), and the next run begins with it, so that even a pipe loses nothing.
    ///
    /// ```
    /// use bief::kinds::{Kind, Param};
    /// use bief::{ChainFile, Registry, sink, source};
    ///
    /// let mut registry = Registry::new();
    /// registry.add(Kind::new("test.zeros", "zeros for ever", (), |()| {
    ///     Ok(source::from_fn(8, |_: &mut [f32]| Ok(bief::Flow::Next)))
    /// }));
    /// let text = "[[task]]\nname = 'zeros'\nkind = 'test.zeros'\nout = ['_']";
    /// let file = ChainFile::parse(text, "zeros.toml")?;
    /// assert_eq!(file.rehearsal(&registry, 100)?.run()?.frames, 100);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`program`](Self::program).
    pub fn rehearsal(&self, registry: &Registry, frames: u64) -> Result<Program> {
        self.trial(registry, frames)?.chain.build()
    }

    /// As [`rehearsal`](Self::rehearsal), before the chain is a program: its wires and the places of its tasks are there to see.
    ///
    /// # Errors
    /// Those of [`program`](Self::program).
    pub fn trial(&self, registry: &Registry, frames: u64) -> Result<BuiltChain> {
        self.assemble(registry, Some(frames))
    }

    fn add(
        &self,
        chain: &mut Chain,
        entry: &TaskEntry,
        registry: &Registry,
        wires: &BTreeMap<String, DynWire>,
        rehearsal: Option<u64>,
    ) -> Result<Vec<DynWire>> {
        let (name, kind) = (&entry.name.value, self.kind(entry, registry)?);
        let parameters = self.parameters(entry);
        let making = Making { kind: kind.name(), parameters: &parameters, openers: registry.openers(), rehearsal };
        self.check_outputs(entry, kind)?;
        let inputs: Vec<DynWire> = entry.inputs.iter().map(|wire| wires[&wire.value].clone()).collect();
        kind.make(&making, chain, name, &inputs, &self.kept).map_err(|Refusal { input, error }| {
            let input = input.and_then(|input| entry.inputs.get(input)).map(|input| &input.span);
            let span = match error.parameter() {
                Some(parameter) => parameter_span(entry, kind, parameter),
                // What has a place was found when wires were joined.
                None if error.place().task.is_some() => {
                    input.or(entry.inputs_span.as_ref()).unwrap_or(&entry.kind.span)
                }
                None => &entry.kind.span,
            };
            self.refused(entry, span, &error)
        })
    }

    fn kind<'r>(&self, entry: &TaskEntry, registry: &'r Registry) -> Result<&'r Kind> {
        registry.kind(&entry.kind.value).map_err(|error| self.refused(entry, &entry.kind.span, &error))
    }

    fn parameters(&self, entry: &TaskEntry) -> Parameters {
        let parameters = Parameters::new().in_folder(&self.folder);
        let given = entry.parameters.iter();
        given.fold(parameters, |parameters, (key, value)| parameters.with(&key.value, value.value.clone()))
    }

    /// Refuses other numbers of names than the kind makes wires.
    fn check_outputs(&self, entry: &TaskEntry, kind: &Kind) -> Result<()> {
        let made: Vec<String> = kind.outputs().iter().map(KindSocket::to_string).collect();
        if made.len() == entry.outputs.len() {
            return Ok(());
        }
        let wanted = match &made[..] {
            [] => "makes no wires".to_owned(),
            [only] => format!("makes 1 wire ({only})"),
            made => format!("makes {} wires ({})", made.len(), made.join(", ")),
        };
        let remedy = match made.len() {
            0 => "leave `out` out".to_owned(),
            _ => format!("give each a name, `{NOBODY}` where nobody reads it"),
        };
        let (name, named) = (&entry.name.value, entry.outputs.len());
        let message = format!("task `{name}`: it {wanted}, but `out` names {named}: {remedy}");
        Err(self.error(entry.outputs_span.as_ref().unwrap_or(&entry.kind.span), &message))
    }

    /// Notes the files of a task, which no other may write, or use when this one writes them.
    fn use_files(&self, entry: &TaskEntry, kind: &Kind, registry: &Registry, files: &mut Vec<UsedFile>) -> Result<()> {
        let mut own = Vec::new();
        for parameter in kind.parameters() {
            let Some(role) = parameter.address else { continue };
            let given = entry.parameters.iter().find(|(key, _)| key.value == parameter.name());
            let Some(Value::Text(text)) = given.map(|(_, value)| &value.value).or(parameter.default()) else {
                continue;
            };
            // What is no address is told when the task is made.
            let Ok(address) = registry.openers().address(text, &self.folder) else { continue };
            let paths = match address.path() {
                Some(path) => (role.files)(path).iter().map(|path| where_it_is(path)).collect(),
                None if address.is_standard() => vec![PathBuf::from("-")],
                None => Vec::new(),
            };
            for path in paths {
                let file = UsedFile { task: entry.name.value.clone(), path, is_written: role.is_written };
                if let Some(other) = files.iter().find(|other| file.disturbs(other)) {
                    let (user, does) = (&other.task, if other.is_written { "writes" } else { "reads" });
                    let error = refused(parameter.name(), format!("task `{user}` {does} this file: name another"));
                    return Err(self.refused(entry, parameter_span(entry, kind, parameter.name()), &error));
                }
                own.push(file);
            }
        }
        files.extend(own);
        Ok(())
    }

    fn refused(&self, entry: &TaskEntry, span: &Span, error: &Error) -> Error {
        match error.place().task {
            Some(_) => self.error(span, &error.to_string()),
            None => self.error(span, &format!("task `{}`: {error}", entry.name.value)),
        }
    }

    /// An error at a place of the text, or of the file as a whole where a program has set what is wrong.
    fn error(&self, span: &Span, message: &str) -> Error {
        if *span == self.outside() {
            return Error::build(format!("{}: {message}", self.text.name));
        }
        self.text.error(span, message).into()
    }

    /// Stands for the place of what the text does not say.
    fn outside(&self) -> Span {
        let end = self.text.text.len();
        end + 1..end + 1
    }
}

/// The wires that a task made, by the names that somebody reads.
fn named(entry: &TaskEntry, made: Vec<DynWire>) -> impl Iterator<Item = (String, DynWire)> {
    let named = entry.outputs.iter().map(|wire| wire.value.clone()).zip(made);
    named.filter(|(name, _)| name != NOBODY)
}

/// Where a parameter of a task is written: its value; its name, where there is no such parameter; the kind, where it is left out.
fn parameter_span<'e>(entry: &'e TaskEntry, kind: &Kind, parameter: &str) -> &'e Span {
    match entry.parameters.iter().find(|(key, _)| key.value == parameter) {
        Some((key, _)) if !kind.parameters().iter().any(|known| known.name() == parameter) => &key.span,
        Some((_, value)) => &value.span,
        None => &entry.kind.span,
    }
}

/// A path without links and detours, as far as it is there.
fn where_it_is(path: &Path) -> PathBuf {
    let there = path.canonicalize().or_else(|error| match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            Ok(folder.canonicalize()?.join(name))
        }
        _ => Err(error),
    });
    there.unwrap_or_else(|_| path.to_owned())
}
