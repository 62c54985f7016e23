//! ONNX Runtime, which is loaded when it is asked for.
//!
//! Calls go past the safe interface of `ort`, which asks for a session of one's own (`&mut`): one session that all replicas share is
//! faster than one for each, since the weights are in the caches once. And tensors of inputs and outputs are the frames themselves.

use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};

use bief::{Error, Result};
use ort::AsPointer;
use ort::logging::LogLevel;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::sys::{ONNXTensorElementDataType, OrtStatusPtr, OrtValue};

use super::{Library, Part, Port};
use crate::onnx::MOST_DIMS;

/// What the library is called.
#[cfg(target_os = "macos")]
const LIBRARIES: [&str; 2] = ["libonnxruntime.dylib", "libonnxruntime.1.dylib"];
#[cfg(windows)]
const LIBRARIES: [&str; 1] = ["onnxruntime.dll"];
#[cfg(not(any(target_os = "macos", windows)))]
const LIBRARIES: [&str; 2] = ["libonnxruntime.so", "libonnxruntime.so.1"];

/// The environment's name of the library, as other programs have it.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The library, loaded.
pub(super) struct OnnxRuntime {
    path: PathBuf,
}

impl OnnxRuntime {
    pub(super) fn load(given: Option<&Path>) -> Result<Self> {
        // A process loads one.
        static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let named = given.map(Path::to_owned).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
        if let Some(path) = &*loaded {
            return match given {
                Some(other) if absolute(other) != *path => Err(Error::new(format!(
                    "{}: another ONNX Runtime is loaded already, {}",
                    other.display(),
                    path.display()
                ))),
                _ => Ok(Self { path: path.clone() }),
            };
        }
        let path = match named {
            Some(path) => {
                let path = absolute(&path);
                start(&path).map_err(|reason| {
                    Error::new(format!("{}: this is no ONNX Runtime of version 1.17 or later: {reason}", path.display()))
                })?;
                path
            }
            None => LIBRARIES.iter().map(PathBuf::from).find(|name| start(name).is_ok()).ok_or_else(|| {
                Error::new(format!(
                    "there is no ONNX Runtime ({}) where the system looks for libraries: get it from \
                     https://github.com/microsoft/onnxruntime/releases, or by `pip download onnxruntime`, and name its library \
                     (--library FILE, or {VARIABLE})",
                    LIBRARIES[0]
                ))
            })?,
        };
        *loaded = Some(path.clone());
        Ok(Self { path })
    }
}

/// As seen from here, not from where this program is.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

fn start(path: &Path) -> Result<(), String> {
    let environment = ort::init_from(path).map_err(|error| error.to_string())?;
    environment.with_name("bief").with_telemetry(false).commit();
    Ok(())
}

impl fmt::Display for OnnxRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        write!(f, "onnxruntime ({file})")
    }
}

impl Library for OnnxRuntime {
    fn session(&self, part: &Part) -> Result<Arc<dyn super::Session>, String> {
        let load = || -> ort::Result<Loaded> {
            let session = Session::builder()?
                .with_log_level(LogLevel::Fatal)?
                .with_intra_threads(1)?
                .with_inter_threads(1)?
                .with_optimization_level(GraphOptimizationLevel::Level3)?
                .commit_from_memory(&part.model)?;
            let memory = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?;
            let memory = Memory(memory);
            Ok(Loaded { session, memory, input: Named::new(&part.input)?, output: Named::new(&part.output)? })
        };
        Ok(Arc::new(load().map_err(|error| error.to_string())?))
    }
}

/// A port with its name as C wants it.
struct Named {
    name: CString,
    port: Port,
}

impl Named {
    fn new(port: &Port) -> ort::Result<Self> {
        let name = CString::new(port.name.as_str()).map_err(ort::Error::wrap)?;
        Ok(Self { name, port: port.clone() })
    }
}

/// Where tensors lie: in the memory of this process.
struct Memory(MemoryInfo<'static>);

// SAFETY: it describes memory, and nothing changes it.
unsafe impl Send for Memory {}
// SAFETY: as before.
unsafe impl Sync for Memory {}

/// A part that is loaded.
struct Loaded {
    session: Session,
    memory: Memory,
    input: Named,
    output: Named,
}

impl Loaded {
    /// A tensor whose elements are those of a slice of so many frames.
    ///
    /// # Safety
    /// The elements live and, if the tensor is written, are nobody else's as long as it is there.
    unsafe fn tensor(&self, port: &Port, data: *mut f32, len: usize) -> Result<Tensor> {
        // Their number is bounded where the network is read.
        let mut dims = [0_i64; MOST_DIMS];
        let rank = port.dims.len().min(dims.len());
        dims.iter_mut().zip(&port.dims).for_each(|(dim, &size)| *dim = size as i64);
        dims[0] *= (len / port.len()) as i64;
        let mut value = null_mut();
        // SAFETY: the data has `len` elements of f32, as many as the shape; the caller promises that they live.
        let status = unsafe {
            (ort::api().CreateTensorWithDataAsOrtValue)(
                self.memory.0.ptr(),
                data.cast(),
                len * size_of::<f32>(),
                dims.as_ptr(),
                rank,
                ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                &mut value,
            )
        };
        checked(status)?;
        Ok(Tensor(value))
    }
}

impl super::Session for Loaded {
    fn run(&self, input: &[f32], output: &mut [f32]) -> Result<()> {
        // SAFETY: both slices are borrowed longer than the tensors live; inputs are not written.
        let (input, output) = unsafe {
            (
                self.tensor(&self.input.port, input.as_ptr().cast_mut(), input.len())?,
                self.tensor(&self.output.port, output.as_mut_ptr(), output.len())?,
            )
        };
        let (session, inputs) = (self.session.ptr().cast_mut(), [input.0.cast_const()]);
        let mut outputs = [output.0];
        // SAFETY: names and tensors live; ONNX Runtime lets several threads run one session at once.
        let status = unsafe {
            (ort::api().Run)(
                session,
                std::ptr::null(),
                [self.input.name.as_ptr()].as_ptr(),
                inputs.as_ptr(),
                1,
                [self.output.name.as_ptr()].as_ptr(),
                1,
                outputs.as_mut_ptr(),
            )
        };
        checked(status)
    }
}

/// A tensor of the library, whose elements are somebody else's.
struct Tensor(*mut OrtValue);

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, and is released once.
        unsafe { (ort::api().ReleaseValue)(self.0) };
    }
}

fn checked(status: OrtStatusPtr) -> Result<()> {
    // SAFETY: the status comes from a call just made, and is not used again.
    unsafe { ort::Error::<()>::result_from_status(status) }.map_err(|error| Error::new(format!("onnxruntime: {error}")))
}
