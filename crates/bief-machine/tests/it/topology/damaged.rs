//! Files that are missing, damaged, or made to do harm.

use std::fs;
use std::path::Path;

use bief_machine::Machine;
use proptest::prelude::*;

use super::documents::EMULATION;
use super::tree::{CPUS, Tree, check, clusters, files, kinds, with, xml};

#[test]
fn a_tree_without_files_is_a_machine_of_one_core() {
    for root in ["/nonexistent", ""] {
        let machine = Machine::under(Path::new(root));
        check(&machine);
        assert_eq!(kinds(&machine), [("cpu", 1)]);
        assert_eq!((machine.model(), machine.kinds()[0].capacity, machine.quota()), ("unknown", None, None));
        assert_eq!(machine.notes(), ["sys/devices/system/cpu tells no processor: 1 supposed."]);
    }
}

#[test]
fn a_tree_with_nothing_but_folders_counts_them() {
    let files = [0, 1, 5].map(|cpu| (format!("{CPUS}/cpu{cpu}/uevent"), String::new()));
    let machine = Tree::new(&files.into_iter().collect()).machine();
    assert_eq!(clusters(&machine), [("cpu", vec![0, 1, 5])]);
}

#[test]
fn what_makes_no_sense_is_noted_and_not_used() {
    let note = |path: &str, content: &str| {
        let machine = with("orange_pi_5_plus", &[(path, content)]);
        assert_eq!(machine.cores().len(), 8, "{path}");
        machine.notes().join(" ")
    };
    let cpu = |rest: &str| format!("{CPUS}/cpu1/{rest}");
    for (path, content, expected) in [
        (cpu("cpu_capacity"), "99999999999999999999", "reads \"99999999999999999999\": it is not used."),
        (cpu("cpu_capacity"), "0", "The capacity of 7 of 8 cores is known: it tells no kinds."),
        (cpu("topology/core_cpus_list"), "0-7,9-4", "core_cpus_list reads \"0-7,9-4\""),
        (cpu("topology/core_cpus_list"), "2", "core_cpus_list does not tell the threads of this core"),
        (cpu("topology/core_cpus_list"), "0-7000", "core_cpus_list does not tell the threads of this core"),
        (cpu("topology/physical_package_id"), "-7", "physical_package_id reads \"-7\""),
        (cpu("cache/index0/shared_cpu_list"), "3", "index0/shared_cpu_list does not name this processor"),
        (cpu("cache/index3/size"), "big", "index3/size reads \"big\""),
        ("proc/self/status".to_owned(), "Cpus_allowed_list:\t99\n", "allows no processor that is online"),
        ("sys/devices/system/node/online".to_owned(), "0-999999999999", "node/online reads"),
        (format!("{CPUS}/online"), "\u{1b}[31m0-\u{0}", "cpu/online reads \"\\u{1b}[31m0-\\0\""),
    ] {
        let told = note(&path, content);
        assert!(told.contains(expected), "{path}: {told}");
    }
    // A claim of one side alone joins no threads.
    let machine = with("orange_pi_5_plus", &[(&cpu("topology/core_cpus_list"), "0-1")]);
    assert_eq!(machine.core_of(1).unwrap().threads, [1]);
}

#[cfg(unix)]
#[test]
fn files_without_end_and_links_out_of_the_tree_are_not_read() {
    use std::os::unix::fs::symlink;

    let tree = Tree::new(&files("orange_pi_5_plus"));
    let replace = |path: &str| {
        let path = tree.0.join(path);
        fs::remove_file(&path).unwrap();
        path
    };
    symlink("/dev/zero", replace("proc/cpuinfo")).unwrap();
    symlink("/proc/self/status", replace("proc/self/status")).unwrap();
    symlink("online", replace(&format!("{CPUS}/online"))).unwrap();
    fs::create_dir(replace(&format!("{CPUS}/cpu0/cpu_capacity"))).unwrap();
    fs::File::create(replace(&format!("{CPUS}/cpu1/cpu_capacity"))).unwrap().set_len(1 << 40).unwrap();
    let pipe = replace(&format!("{CPUS}/cpu2/cpu_capacity"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success());
    // Links inside the tree are what such trees are made of.
    let moved = tree.0.join("capacity");
    fs::rename(tree.0.join(format!("{CPUS}/cpu3/cpu_capacity")), &moved).unwrap();
    symlink(&moved, tree.0.join(format!("{CPUS}/cpu3/cpu_capacity"))).unwrap();

    let machine = tree.machine();
    assert_eq!(kinds(&machine), [("big", 4), ("little", 4)], "the clocks tell");
    let notes = machine.notes().join(" ");
    let expected =
        ["proc/cpuinfo is a link that leaves the folder", "cpu0/cpu_capacity is not a file", "cpu1/cpu_capacity reads"];
    assert!(expected.iter().all(|note| notes.contains(note)), "{notes}");
    assert!(!made || notes.contains("cpu2/cpu_capacity is not a file"), "{notes}");
    assert!(notes.contains("The capacity of 5 of 8 cores is known"), "{notes}");
}

#[test]
fn a_list_of_many_processors_is_a_machine_of_many_cores() {
    let files = [(format!("{CPUS}/online"), "0-8191\n".to_owned())];
    let machine = Tree::new(&files.into_iter().collect()).machine();
    assert_eq!((machine.cores().len(), machine.usable()), (8192, 8192));
}

/// A damage to one of many things: which, how, and what is put there.
fn damage() -> impl Strategy<Value = (prop::sample::Index, u8, String)> {
    let content = prop_oneof![
        "[0-9]{1,3}(-[0-9]{1,4})?(,[0-9]{1,2}){0,3}",
        Just("0-8191".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("-1".to_owned()),
        ".{0,40}",
    ];
    (any::<prop::sample::Index>(), any::<u8>(), content)
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_damaged_tree_is_a_machine_all_the_same() {
    for name in ["orange_pi_5_plus", "x7_ti"] {
        let files: Vec<(String, String)> = files(name).into_iter().collect();
        let tree = Tree::new(&files.iter().cloned().collect());
        let config = ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() };
        proptest!(config, |(damages in prop::collection::vec(damage(), 1..40))| {
            for (which, how, content) in &damages {
                let (path, original) = which.get(&files);
                match how % 4 {
                    0 => drop(fs::remove_file(tree.0.join(path))),
                    1 => tree.write(path, &original[..original.len() / 2]),
                    2 => tree.write(path, content.bytes().chain([0xFF, 0]).collect::<Vec<u8>>()),
                    _ => tree.write(path, content),
                }
            }
            tree.machine();
            for (which, ..) in &damages {
                let (path, original) = which.get(&files);
                tree.write(path, original);
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_documents_are_refused_or_machines(
        form in 0..3_usize,
        damages in prop::collection::vec(damage(), 1..10),
    ) {
        let here = Machine::from_hwloc_xml(&xml("x7_ti")).unwrap();
        let mut text = [xml("x7_ti"), here.to_json(), EMULATION.to_owned()][form].clone();
        for (which, how, content) in damages {
            let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let Some(&start) = starts.get(which.index(starts.len().max(1))) else { break };
            let end = starts.iter().copied().find(|&at| at > start + usize::from(how % 8)).unwrap_or(text.len());
            text.replace_range(start..end, &content);
        }
        let machine = match form {
            0 => Machine::from_hwloc_xml(&text),
            1 => Machine::from_json(&text),
            _ => Machine::emulated(&text, &here),
        };
        if let Ok(machine) = machine {
            prop_assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
        }
    }
}
