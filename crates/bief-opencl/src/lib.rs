//! Devices for [`bief`], through OpenCL 1.2 and, where there is, shared virtual memory.
//!
//! [`find`] lists the devices of this machine, [`open`] opens one under its name: then a [`Machine`](bief::Machine) that has its
//! [`DeviceSpec`] can run stages on it. A task that has a kernel for them takes a [`Queue`] in
//! [`on_device`](bief::Task::on_device), with [`Buffer`]s whose [`Memory`] is that of the device.
//!
//! The library is loaded when the first device is asked for: a program starts and works without any driver.
//!
//! ```
//! use bief_opencl::Memory;
//!
//! match bief_opencl::find() {
//!     Ok(found) => found.iter().for_each(|found| println!("{}: {}", found.name, found.title)),
//!     Err(none) => println!("{none}"),
//! }
//! assert_eq!("pinned".parse(), Ok(Memory::Pinned));
//! ```

mod buffer;
mod device;
mod error;
mod probe;
mod queue;

pub use bief::machine::DeviceSpec;
pub use buffer::{Buffer, Memory};
pub use device::{Found, OpenCl, find, open};
pub use probe::Probe;
pub use queue::{Arg, Kernel, Queue};
