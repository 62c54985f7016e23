//! The compiled part of the Python package `bief`: what must be fast, or stands on Rust types. Documents cross as JSON text; what
//! Python shows of them is made there.

mod chain;
mod element;
mod error;
mod fm;
mod held;
mod plan;
mod radio;
mod recipe;
mod region;
mod run;
mod task;
mod thread;
mod view;

use pyo3::prelude::*;

/// The compiled part of the package `bief`.
#[pymodule(gil_used = false)]
mod _bief {
    use super::*;
    #[pymodule_export]
    use crate::chain::{Chain, Collected, Wire};
    #[pymodule_export]
    use crate::fm::nbfm_receive;
    #[pymodule_export]
    use crate::plan::{
        compare, fit_power, kinds, machine, plan, power, profile, shipped, shown, simulate, strategies, study,
    };
    #[pymodule_export]
    use crate::radio::{dvbs2_receive, dvbs2_transmit};
    #[pymodule_export]
    use crate::run::{Outcome, run_file};
    #[pymodule_export]
    use crate::task::Flow;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
