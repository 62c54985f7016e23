//! `bief machine`: the cores that this process may use.

use bief::Machine;
use clap::Args;

use crate::failure::Failure;
use crate::json::{JsonArgs, print};
use crate::table::facts;

/// Arguments of `bief machine`.
#[derive(Args)]
pub(crate) struct MachineArgs {
    #[command(flatten)]
    json: JsonArgs,
}

/// Shows this machine.
pub(crate) fn run(args: MachineArgs) -> Result<(), Failure> {
    let machine = Machine::here();
    args.json.write(|| {
        let kinds: Vec<_> = machine
            .kinds()
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                let ids: Vec<usize> =
                    machine.cores().iter().filter(|core| core.kind == index).map(|core| core.threads[0]).collect();
                serde_json::json!({ "name": kind.name, "capacity": kind.capacity, "cores": ids })
            })
            .collect();
        format!("{:#}", serde_json::json!({ "model": machine.model(), "kinds": kinds }))
    })?;
    if args.json.on_stdout() {
        return Ok(());
    }
    let mut rows = vec![("processor", machine.model().to_owned())];
    for (index, kind) in machine.kinds().iter().enumerate() {
        let ids: Vec<String> =
            machine.cores().iter().filter(|core| core.kind == index).map(|core| core.threads[0].to_string()).collect();
        let capacity = kind.capacity.map_or_else(String::new, |capacity| format!(", capacity {capacity} of 1024"));
        rows.push((&kind.name, format!("{} (number {}{capacity})", ids.len(), ids.join(", "))));
    }
    print(&facts(&rows))
}
