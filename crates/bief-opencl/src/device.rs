//! Which devices there are, and what is open of one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bief::device::Device;
use bief::machine::DeviceSpec;
use bief::{Error, Result};
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU};
use opencl3::platform::get_platforms;
use opencl3::program::Program;

use crate::buffer::{AllPinned, Memory};
use crate::error::{failed, nothing};

/// What drives its devices in a [`DeviceSpec`].
const BACKEND: &str = "opencl";

/// What PoCL calls its platform.
const POCL: &str = "Portable Computing Language";

/// A device of this machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Found {
    /// What it is called in plans: of its own name, in small letters and digits, joined by `-`; the cores under PoCL are `pocl`. A second
    /// one of the same name is `-2`.
    pub name: String,
    /// What it and its platform call themselves.
    pub title: String,
    /// It is made of the cores, which it takes from the other stages.
    pub is_cpu: bool,
    /// Bytes of its memory.
    pub bytes: u64,
    id: usize,
}

/// The devices of this machine. Drivers may take a tenth of a second or more for it.
///
/// # Errors
/// No library, no driver, or one that fails: what to install.
pub fn find() -> Result<Vec<Found>> {
    // Some drivers set their devices up when they are first asked for, and do not expect two threads to ask (PoCL 3.1).
    static FINDS: Mutex<()> = Mutex::new(());
    let _one = FINDS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut all: Vec<Found> = Vec::new();
    for platform in get_platforms().map_err(nothing)? {
        let of_platform = platform.name().unwrap_or_default();
        // A platform without devices says so by an error.
        for id in platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let device = opencl3::device::Device::new(id);
            let title = device.name().map_err(|error| failed("asking for the name of a device", error))?;
            let is_cpu = device.dev_type().is_ok_and(|kind| kind & CL_DEVICE_TYPE_CPU != 0);
            let is_pocl = is_cpu && of_platform.starts_with(POCL);
            let mut name = if is_pocl { "pocl".to_owned() } else { name_of(&title) };
            let same = all.iter().filter(|found| base(&found.name) == name).count();
            if same > 0 {
                name = format!("{name}-{}", same + 1);
            }
            let bytes = device.global_mem_size().unwrap_or(0);
            let title = format!("{}, {}", title.trim(), of_platform.trim());
            all.push(Found { name, title, is_cpu, bytes, id: id as usize });
        }
    }
    Ok(all)
}

/// A name without the number of those that others share.
fn base(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((base, number)) if number.parse::<usize>().is_ok() => base,
        _ => name,
    }
}

/// Letters and digits of a title, in words.
fn name_of(title: &str) -> String {
    let lower = title.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "device".to_owned() } else { words.join("-") }
}

/// Executions that a launch has at most: their frames are all in memory at once.
const GATHER: u32 = 64;

/// Opens a device with a kind of memory, for this process: what the machine is to [have](bief::Machine::with_device).
///
/// # Errors
/// A device that does not open, or lacks that memory.
pub fn open(found: &Found, memory: Memory) -> Result<DeviceSpec> {
    let driver = OpenCl::open(found, memory)?;
    let mut spec = DeviceSpec::of_backend(BACKEND, &found.name);
    spec.gather = GATHER;
    Device::provide(&spec, driver);
    Ok(spec)
}

/// A device that is open: what [`Device::driver`] gives a task for [`Queue::new`](crate::Queue::new).
pub struct OpenCl {
    name: String,
    pub(crate) memory: Memory,
    /// Bytes of its largest buffer.
    pub(crate) most: u64,
    /// How its memory may be shared.
    pub(crate) svm: u64,
    /// Its driver takes it amiss if two threads start a kernel for the first time.
    pub(crate) is_pocl: bool,
    pub(crate) context: Arc<Context>,
    pub(crate) pinned: Arc<AllPinned>,
    /// Compiled once, by their text.
    programs: Mutex<HashMap<&'static str, Arc<Program>>>,
}

impl OpenCl {
    pub(crate) fn open(found: &Found, memory: Memory) -> Result<Self> {
        let device = opencl3::device::Device::new(found.id as opencl3::types::cl_device_id);
        let svm = device.svm_mem_capability();
        if memory == Memory::Shared && svm == 0 {
            return Err(Error::new(format!("the device `{}` shares no memory: take copy, pinned or host", found.name)));
        }
        let context = Context::from_device(&device).map_err(|error| failed("opening the device", error))?;
        let most = device.max_mem_alloc_size().map_err(|error| failed("asking for the largest buffer", error))?;
        let (name, context, pinned) = (found.name.clone(), Arc::new(context), Arc::default());
        let is_pocl = found.title.ends_with(POCL);
        Ok(Self { name, memory, most, svm, is_pocl, context, pinned, programs: Mutex::default() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program of a text, compiled when it is first asked for.
    pub(crate) fn program(&self, source: &'static str) -> Result<Arc<Program>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(source) {
            return Ok(Arc::clone(program));
        }
        let program = Program::create_and_build_from_source(&self.context, source, "-cl-std=CL1.2");
        // The error is what the compiler printed, with lines.
        let program = program.map_err(|log| {
            Error::new(format!("OpenCL: a kernel does not compile on `{}`:\n{}", self.name, log.trim_end()))
        })?;
        let program = Arc::new(program);
        programs.insert(source, Arc::clone(&program));
        Ok(program)
    }
}

impl fmt::Debug for OpenCl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCl").field("name", &self.name).field("memory", &self.memory).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert_eq!(name_of("NVIDIA H200"), "nvidia-h200");
        assert_eq!(name_of("Intel(R) UHD Graphics [0x9a60]"), "intel-r-uhd-graphics-0x9a60");
        assert_eq!((name_of("??").as_str(), base("pocl-2"), base("nvidia-h200")), ("device", "pocl", "nvidia-h200"));
    }

    #[test]
    fn a_kernel_that_does_not_compile_tells_its_line() {
        let Some(found) = find().ok().and_then(|found| found.into_iter().next()) else {
            eprintln!("left out: no OpenCL device is here");
            return;
        };
        let machine = bief::Machine::here().with_device(open(&found, Memory::Copy).unwrap()).unwrap();
        assert!(machine.to_string().contains("(opencl)"), "{machine}");
        let driver = OpenCl::open(&found, Memory::Copy).unwrap();
        let error =
            driver.program("__kernel void f(__global int *x) {\n    x[0] = nothing;\n}").unwrap_err().to_string();
        assert!(error.contains("nothing") && error.contains('2'), "{error}");
    }
}
