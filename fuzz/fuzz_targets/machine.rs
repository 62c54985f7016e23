//! A text is refused as a machine in every form, or it is written, read back and planned for.
#![no_main]

use std::sync::LazyLock;

use bief_machine::Machine;
use libfuzzer_sys::fuzz_target;

static HERE: LazyLock<Machine> =
    LazyLock::new(|| Machine::from_json(include_str!("../seeds/machine/board.json")).unwrap());

fuzz_target!(|text: &str| {
    let list = text.replace(['\\', '\'', '\n', '\r'], "");
    let with_list = format!("[[kind]]\nname = 'a'\ncores = '{list}'\n");
    let machines = [
        Machine::from_json(text),
        Machine::from_hwloc_xml(text),
        Machine::emulated(text, &HERE),
        Machine::emulated(&with_list, &HERE),
    ];
    for machine in machines.into_iter().flatten() {
        assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
        let cores: usize = (0..machine.kinds().len()).map(|kind| machine.usable_of(kind)).sum();
        assert_eq!(cores, machine.usable());
        let planned: u32 = machine.platform().kinds().iter().map(|kind| kind.cores).sum();
        assert_eq!(planned as usize, cores);
        for core in machine.cores() {
            assert_eq!(machine.core_of(core.threads[0]), Some(core));
        }
    }
});
