//! Finds ONNX Runtime's library, and loads it.
//!
//! `ort` could do that itself. But once a library could not be loaded, it takes the next one that it is asked for to be there (2.0.0-rc.13).

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bief::{Error, Result};
use libloading::Library;
use ort::sys::{ORT_API_VERSION, OrtApiBase};

/// What the library is called.
#[cfg(target_os = "macos")]
const NAMES: [&str; 2] = ["libonnxruntime.dylib", "libonnxruntime.1.dylib"];
#[cfg(windows)]
const NAMES: [&str; 1] = ["onnxruntime.dll"];
#[cfg(not(any(target_os = "macos", windows)))]
const NAMES: [&str; 2] = ["libonnxruntime.so", "libonnxruntime.so.1"];

/// The environment's name of the library, as other programs have it.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The library that this process has.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    path: PathBuf,
    pub(super) version: String,
}

/// Loads the library that is named, or that the environment names, or that the system finds; or finds it loaded.
pub(super) fn load(given: Option<&Path>) -> Result<Loaded> {
    // A process loads one.
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = &*loaded {
        return match given {
            Some(other) if absolute(other) != loaded.path => {
                let (other, path) = (other.display(), loaded.path.display());
                Err(Error::new(format!("{other}: another ONNX Runtime is loaded already, {path}")))
            }
            _ => Ok(loaded.clone()),
        };
    }
    let named = given.map(Path::to_owned).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let found = match named {
        Some(path) => {
            let path = absolute(&path);
            let version = start(&path).map_err(|reason| Error::new(format!("{}: {reason}", path.display())))?;
            Loaded { path, version }
        }
        None => {
            let start = |name: &&str| Some(Loaded { path: name.into(), version: start(name.as_ref()).ok()? });
            NAMES.iter().find_map(start).ok_or_else(|| {
                Error::new(format!(
                    "there is no ONNX Runtime ({}) where the system looks for libraries: get one from \
                     https://github.com/microsoft/onnxruntime/releases or by `pip download onnxruntime`, and name it in {VARIABLE}",
                    NAMES[0]
                ))
            })?
        }
    };
    *loaded = Some(found.clone());
    Ok(found)
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Loads a library, for good; answers its version.
fn start(path: &Path) -> Result<String, String> {
    // SAFETY: whoever names a library wants it to run.
    let library = unsafe { Library::new(path) }.map_err(|error| match std::error::Error::source(&error) {
        Some(reason) => format!("this library cannot be loaded: {reason}"),
        None => format!("this library cannot be loaded: {error}"),
    })?;
    // SAFETY: every ONNX Runtime has a function of this name and type.
    let base = unsafe { library.get::<unsafe extern "C" fn() -> *const OrtApiBase>(c"OrtGetApiBase") };
    let base = base.map_err(|_| "this library is no ONNX Runtime: it has no OrtGetApiBase".to_owned())?;
    // SAFETY: it takes nothing, and returns what lives as long as the library, or null.
    let base = unsafe { base().as_ref() }.ok_or("this ONNX Runtime has no interface")?;
    // SAFETY: the version is text that lives as long as the library; the interface is null if it is not there.
    let (version, api) =
        unsafe { (CStr::from_ptr((base.GetVersionString)()), (base.GetApi)(ORT_API_VERSION).as_ref()) };
    let version = version.to_string_lossy().into_owned();
    // An older one says so on standard error, and has none.
    let api =
        api.ok_or_else(|| format!("this is ONNX Runtime {version}, and 1.{ORT_API_VERSION} or later is needed"))?;
    // SAFETY: the interface is a table of functions, which a copy is as good as.
    ort::set_api(unsafe { std::ptr::read(api) });
    ort::init().with_name("bief").with_telemetry(false).commit();
    // Its functions are used from now on.
    std::mem::forget(library);
    Ok(version)
}
