//! Engines: libraries that run a network, or a part of it.

mod onnxruntime;
#[cfg(feature = "tract")]
mod tract;

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use bief::{Error, Result};

/// A library that runs networks, each call on the thread that makes it.
///
/// ```
/// use bief_nn::{Engine, EngineKind, NeuralNetwork};
///
/// match Engine::open(EngineKind::OnnxRuntime, None) {
///     Ok(engine) => println!("{engine}"),
///     Err(none) => println!("{none}"), // it says what to install
/// }
/// ```
#[derive(Clone)]
pub struct Engine {
    library: Arc<dyn Library>,
    threads: usize,
}

/// Which library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EngineKind {
    /// ONNX Runtime: fast, and loaded when it is asked for.
    #[default]
    OnnxRuntime,
    /// tract, which is built in: for machines without the other one.
    #[cfg(feature = "tract")]
    Tract,
}

impl EngineKind {
    /// Those that this program has or can load.
    pub const ALL: &'static [Self] = &[
        Self::OnnxRuntime,
        #[cfg(feature = "tract")]
        Self::Tract,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnnxRuntime => "onnxruntime",
            #[cfg(feature = "tract")]
            Self::Tract => "tract",
        }
    }
}

impl FromStr for EngineKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            let missing = match name {
                "tract" => " (this program was built without tract: `--features tract`)",
                _ => "",
            };
            Error::new(format!("there is no engine `{name}`{missing}: choose from {}", names.join(", ")))
        })
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Engine {
    /// Opens an engine. ONNX Runtime's library is the one that is given, or that the environment names (`ORT_DYLIB_PATH`), or that
    /// the system finds; once loaded, it stays.
    ///
    /// # Errors
    /// A library that is not there, too old, or no such library: what to install. A path for an engine that is built in.
    pub fn open(kind: EngineKind, library: Option<&Path>) -> Result<Self> {
        let library: Arc<dyn Library> = match kind {
            EngineKind::OnnxRuntime => Arc::new(onnxruntime::OnnxRuntime::load(library)?),
            #[cfg(feature = "tract")]
            EngineKind::Tract => match library {
                None => Arc::new(tract::Tract),
                Some(path) => {
                    return Err(Error::new(format!("{}: tract is built in, and loads no library", path.display())));
                }
            },
        };
        Ok(Self { library, threads: 1 })
    }

    /// Lets each call use so many threads of the engine's own, at least 1, if it has any: for comparisons, since a plan knows nothing of
    /// them.
    #[must_use]
    pub fn with_own_threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    pub(crate) fn session(&self, part: &Part) -> Result<Arc<dyn Session>> {
        let told = |reason: String| Error::new(format!("{}: {}: {reason}", part.name, self.library));
        self.library.session(part, self.threads).map_err(told)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.library, f)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({self})")
    }
}

/// A network, or a part of one, to be loaded.
pub(crate) struct Part {
    /// What errors call it.
    pub(crate) name: String,
    /// The ONNX file.
    pub(crate) model: Vec<u8>,
    pub(crate) input: Port,
    pub(crate) output: Port,
}

/// The tensor that a part gets or gives.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) name: String,
    /// With one frame in a batch.
    pub(crate) dims: Vec<usize>,
}

impl Port {
    /// Elements of a frame.
    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }
}

/// An engine.
trait Library: fmt::Display + Send + Sync {
    /// With so many threads of its own in each call, if it has any.
    fn session(&self, part: &Part, threads: usize) -> Result<Arc<dyn Session>, String>;
}

/// A part that is loaded. Several threads may call it at once: replicas share weights.
pub(crate) trait Session: Send + Sync {
    /// Works on one frame or, where the part takes batches, on any number of them: as many as `input` and `output` have.
    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<()>;
}
