//! ONNX Runtime, which is loaded when it is asked for.
//!
//! Calls go past the safe interface of `ort`, which asks for a session of one's own (`&mut`): one session that all replicas share is
//! faster than one for each, since the weights are in the caches once. And tensors of inputs and outputs are the frames themselves.

mod library;

use std::ffi::CString;
use std::fmt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

use bief::{Error, Result};
use ort::AsPointer;
use ort::ep::ExecutionProviderDispatch;
use ort::logging::LogLevel;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::sys::{ONNXTensorElementDataType, OrtStatusPtr, OrtValue};

use self::library::Loaded;
use super::{Library, Part, Port};
use crate::onnx::MOST_DIMS;

/// The library, loaded.
pub(super) struct OnnxRuntime {
    library: Loaded,
}

impl OnnxRuntime {
    pub(super) fn load(given: Option<&Path>) -> Result<Self> {
        Ok(Self { library: library::load(given)? })
    }
}

impl fmt::Display for OnnxRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "onnxruntime {}", self.library.version)
    }
}

impl Library for OnnxRuntime {
    fn session(&self, part: &Part, threads: usize) -> Result<Arc<dyn super::Session>, String> {
        let load = || -> ort::Result<LoadedPart> {
            let session = Session::builder()?
                .with_log_level(LogLevel::Fatal)?
                .with_intra_threads(threads)?
                .with_inter_threads(1)?
                .with_optimization_level(GraphOptimizationLevel::Level3)?
                .with_execution_providers([no_arena()])?
                .commit_from_memory(&part.model)?;
            let memory = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::Default)?;
            let memory = Memory(memory);
            Ok(LoadedPart { session, memory, input: Named::new(&part.input)?, output: Named::new(&part.output)? })
        };
        Ok(Arc::new(load().map_err(|error| error.to_string())?))
    }
}

/// Intermediate tensors come from the system's allocator, which keeps memory by thread. The library's own arena belongs to the session: it
/// gives memory that is in one core's caches to another core, which costs a small network on two threads 2 to 3 %.
fn no_arena() -> ExecutionProviderDispatch {
    ort::ep::CPU::default().with_arena_allocator(false).build()
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
struct LoadedPart {
    session: Session,
    memory: Memory,
    input: Named,
    output: Named,
}

impl LoadedPart {
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

impl super::Session for LoadedPart {
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
