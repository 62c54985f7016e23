//! Chains described in files: read, checked, and built of the kinds of a [`Registry`].

mod parse;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bief_machine::toml_file::{At, Span, Text};
use bief_schedule::Schedule;

use crate::chain::Chain;
use crate::dynamic::{DynTask, DynWire};
use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::pipeline::Pipeline;
use crate::program::Program;
use crate::registry::Registry;
use crate::wait::Waiting;
use parse::{Description, NOBODY, TaskEntry};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// A chain described in a file, in [TOML](https://toml.io).
///
/// ```toml
/// batch = 16                    # frames that travel together [1]
/// depth = 4                     # batches that wait between two stages [4]
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
/// ```
///
/// Every error names file and line, and shows the line with what is wrong underlined:
///
/// ```
/// use bief::{ChainFile, DynTask, Kind, Registry, sink, source};
///
/// let mut registry = Registry::new();
/// registry.add(
///     Kind::new("test.ramp", "whole numbers from 0 on", |parameters| {
///         let numbers: Vec<u32> = (0..parameters.integer("count", 1..=1000)?).collect();
///         Ok(source::from_slice(&numbers, 1))
///     })
///     .required("count", "how many, 1 to 1000"),
/// );
/// let text = r#"
/// [[task]]
/// name = "ramp"
/// kind = "test.ramp"
/// out = ["numbers"]
/// count = 3
/// "#;
/// // A program can go on where the file ends.
/// let (mut chain, wires) = ChainFile::parse(text, "ramp.toml")?.build(&registry)?;
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

    /// The wires that it makes; `_` are those that nobody reads.
    pub fn outputs(self) -> impl Iterator<Item = &'f str> {
        self.entry.outputs.iter().map(|wire| &*wire.value)
    }
}

/// A file that a task of a [`ChainFile`] uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFile {
    /// The task's name.
    pub task: String,
    /// Where it is, without links and detours, as far as it is there.
    pub path: PathBuf,
    /// Whether the task writes it; it reads it otherwise.
    pub is_written: bool,
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
        Ok(Self { text, folder: PathBuf::new(), description })
    }

    /// Puts other frames into a batch than the file says.
    #[must_use]
    pub fn with_batch(mut self, frames: usize) -> Self {
        self.description.batch = Some(frames);
        self
    }

    /// Lets other numbers of batches wait between two stages than the file says.
    #[must_use]
    pub fn with_depth(mut self, batches: usize) -> Self {
        self.description.depth = Some(At { value: batches, span: self.outside() });
        self
    }

    /// Lets threads wait otherwise than the file says.
    #[must_use]
    pub fn with_waiting(mut self, waiting: Waiting) -> Self {
        self.description.waiting = Some(At { value: waiting, span: self.outside() });
        self
    }

    /// Leaves out the stages, and what is said of them.
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

    /// The files that its tasks read and write.
    ///
    /// # Errors
    /// Those of [`build`](Self::build) that are about single tasks.
    pub fn files(&self, registry: &Registry) -> Result<Vec<UsedFile>> {
        let mut files = Vec::new();
        self.description.tasks.iter().try_for_each(|entry| self.make(entry, registry, &mut files).map(drop))?;
        Ok(files)
    }

    /// Builds the chain, with its stages marked, of the kinds of a registry. Returns the wires by their names too, for tasks
    /// that the program adds.
    ///
    /// # Errors
    /// Kinds and parameters that there are not, are missing or do not fit; wires that do not fit their tasks; more threads
    /// for a stage than its tasks allow; a depth or a way to wait where there are no stages; all with their lines.
    pub fn build(&self, registry: &Registry) -> Result<(Chain, BTreeMap<String, DynWire>)> {
        let Description { depth, waiting, stages, .. } = &self.description;
        if stages.is_empty() {
            let spans =
                [("depth", depth.as_ref().map(|at| &at.span)), ("waiting", waiting.as_ref().map(|at| &at.span))];
            if let Some((key, span)) = spans.into_iter().find_map(|(key, span)| Some((key, span?))) {
                return Err(self.error(span, &format!("`{key}` is about stages, but no task names a stage")));
            }
        }
        self.assemble(registry)
    }

    fn assemble(&self, registry: &Registry) -> Result<(Chain, BTreeMap<String, DynWire>)> {
        let Description { batch, tasks, stages, .. } = &self.description;
        let mut chain = Chain::new().batch(batch.unwrap_or(1));
        let mut wires = BTreeMap::new();
        let mut files = Vec::new();
        for (index, entry) in tasks.iter().enumerate() {
            if let Some(stage) = stages.iter().find(|stage| stage.first_task == index) {
                chain.stage(&stage.name).threads(stage.threads);
            }
            let made = self.add(&mut chain, entry, registry, &wires, &mut files)?;
            let named = entry.outputs.iter().map(|wire| wire.value.clone()).zip(made);
            wires.extend(named.filter(|(name, _)| name != NOBODY));
        }
        for (index, stage) in stages.iter().enumerate() {
            let end = stages.get(index + 1).map_or(tasks.len(), |next| next.first_task);
            chain
                .check_stage(&stage.name, stage.first_task..end, stage.threads)
                .map_err(|error| self.error(&stage.span, &error.to_string()))?;
        }
        chain.check().map_err(|error| {
            let entry = tasks.iter().find(|entry| error.place().task.as_deref() == Some(&*entry.name.value));
            self.error(entry.map_or(&self.outside(), |entry| &entry.name.span), &error.to_string())
        })?;
        Ok((chain, wires))
    }

    /// Builds the chain and cuts it into its stages: one on the calling thread where no task names a stage.
    ///
    /// # Errors
    /// Those of [`build`](Self::build).
    pub fn pipeline(&self, registry: &Registry) -> Result<Pipeline> {
        let program = self.build(registry)?.0.build()?;
        let is_cut = !self.description.stages.is_empty();
        self.tuned(if is_cut { program.pipeline_as_marked()? } else { program.one_core()? })
    }

    /// Builds the chain and cuts it into the stages of a schedule, in place of those that it marks; depth and waiting are the
    /// file's.
    ///
    /// # Errors
    /// Those of [`build`](Self::build) and of [`Program::pipeline`](crate::Program::pipeline).
    pub fn pipeline_of(&self, registry: &Registry, schedule: &Schedule) -> Result<Pipeline> {
        self.tuned(self.program(registry)?.pipeline(schedule)?)
    }

    /// Builds the chain, to be profiled or cut into stages that it does not mark.
    ///
    /// # Errors
    /// Those of [`build`](Self::build), but for depth and waiting, which are then another's.
    pub fn program(&self, registry: &Registry) -> Result<Program> {
        self.assemble(registry)?.0.build()
    }

    /// The pipeline with the file's depth and way to wait.
    fn tuned(&self, mut pipeline: Pipeline) -> Result<Pipeline> {
        let Description { depth, waiting, .. } = &self.description;
        if let Some(depth) = depth {
            pipeline = pipeline.depth(depth.value)?;
        }
        Ok(match waiting {
            Some(waiting) => pipeline.waiting(waiting.value),
            None => pipeline,
        })
    }

    fn add(
        &self,
        chain: &mut Chain,
        entry: &TaskEntry,
        registry: &Registry,
        wires: &BTreeMap<String, DynWire>,
        files: &mut Vec<UsedFile>,
    ) -> Result<Vec<DynWire>> {
        let task = self.make(entry, registry, files)?;
        let name = &entry.name.value;
        let made: Vec<String> = task.outputs().iter().map(|socket| socket.to_string()).collect();
        if made.len() != entry.outputs.len() {
            let wanted = match &made[..] {
                [] => "makes no wires".to_owned(),
                [only] => format!("makes 1 wire ({only})"),
                made => format!("makes {} wires ({})", made.len(), made.join(", ")),
            };
            let remedy = match made.len() {
                0 => "leave `out` out".to_owned(),
                _ => format!("give each a name, `{NOBODY}` where nobody reads it"),
            };
            let message = format!("task `{name}`: it {wanted}, but `out` names {}: {remedy}", entry.outputs.len());
            return Err(self.error(entry.outputs_span.as_ref().unwrap_or(&entry.kind.span), &message));
        }
        let inputs: Vec<DynWire> = entry.inputs.iter().map(|wire| wires[&wire.value].clone()).collect();
        chain.attach(task, &inputs).map_err(|refusal| {
            let input = refusal.input.and_then(|input| entry.inputs.get(input)).map(|input| &input.span);
            let span = input.or(entry.inputs_span.as_ref()).unwrap_or(&entry.kind.span);
            self.error(span, &refusal.error.to_string())
        })
    }

    fn make(&self, entry: &TaskEntry, registry: &Registry, files: &mut Vec<UsedFile>) -> Result<DynTask> {
        let (name, kind) = (&entry.name.value, &entry.kind);
        let refused = |span: &Span, error: &Error| self.error(span, &format!("task `{name}`: {error}"));
        let found = registry.kind(&kind.value).map_err(|error| refused(&kind.span, &error))?;
        let mut parameters = Parameters::new().in_folder(&self.folder);
        for (key, value) in &entry.parameters {
            parameters = parameters.with(&key.value, value.value.clone());
        }
        let made = found.make(&mut parameters).map_err(|error| {
            let blamed = entry.parameters.iter().find(|(key, _)| Some(&*key.value) == parameters.blamed());
            let span = match blamed {
                Some((key, _)) if !found.parameters().iter().any(|known| known.name() == key.value) => &key.span,
                Some((_, value)) => &value.span,
                None => &kind.span,
            };
            refused(span, &error)
        });
        let made = made?;
        for file in parameters.files() {
            let same = |other: &&UsedFile| other.path == file.path && (other.is_written || file.is_written);
            if let Some(other) = files.iter().find(same) {
                let user = &other.task;
                let does = if other.is_written { "writes" } else { "reads" };
                let error = Error::build(format!(
                    "parameter `{}`: task `{user}` {does} this file: name another",
                    file.parameter
                ));
                let named = entry.parameters.iter().find(|(key, _)| key.value == file.parameter);
                return Err(refused(named.map_or(&kind.span, |(_, value)| &value.span), &error));
            }
        }
        files.extend(parameters.files().iter().map(|file| UsedFile {
            task: name.clone(),
            path: file.path.clone(),
            is_written: file.is_written,
        }));
        Ok(made.named(name))
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
