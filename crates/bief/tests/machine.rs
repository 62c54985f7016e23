//! Machines that others have recorded: what they are known to be, and what damage does to them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bief::{CacheContent, Machine};
use proptest::prelude::*;

const CPUS: &str = "sys/devices/system/cpu";

/// The files of a machine, by path.
type Files = BTreeMap<String, String>;

/// Reads `path = content` lines of `tests/machines/NAME.txt`.
fn files(name: &str) -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.txt"));
    let text = fs::read_to_string(path).unwrap();
    let mut files = Files::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(" = ").unwrap();
        let content = content.replace("\\t", "\t").replace("\\n", "\n") + "\n";
        match path.split_once('{') {
            None => {
                files.insert(path.to_owned(), content);
            }
            Some((before, rest)) => {
                let (list, after) = rest.split_once('}').unwrap();
                for number in numbers(list) {
                    files.insert(format!("{before}{number}{after}"), content.replace("{}", &number.to_string()));
                }
            }
        }
    }
    files
}

fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

/// A folder of such files, removed when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &Files) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        // Thousands of small files: in memory, where there is such a folder.
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let root = base.join(format!("bief-machine-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let tree = Self(root);
        files.iter().for_each(|(path, content)| tree.write(path, content));
        tree
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The machine, which must be one that can be written and read back.
    fn machine(&self) -> Machine {
        let machine = Machine::under(&self.0);
        check(&machine);
        machine
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn machine(name: &str) -> Machine {
    Tree::new(&files(name)).machine()
}

fn xml(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/machines/{name}.xml"))).unwrap()
}

/// The machine after some of its files got other contents.
fn with(name: &str, changes: &[(&str, &str)]) -> Machine {
    let mut files = files(name);
    files.extend(changes.iter().map(|&(path, content)| (path.to_owned(), content.to_owned())));
    Tree::new(&files).machine()
}

/// What holds of every machine.
fn check(machine: &Machine) {
    assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), *machine, "its contents do not contradict themselves");
    assert!((1..=machine.cores().len()).contains(&machine.usable()));
    let kinds = 0..machine.kinds().len();
    assert_eq!(kinds.clone().map(|kind| machine.usable_of(kind)).sum::<usize>(), machine.usable());
    assert!(kinds.clone().all(|kind| machine.count(kind) > 0), "every kind has cores");
    assert_eq!(machine.platform().kinds().len(), kinds.len());
}

/// Kind, number of cores.
fn kinds(machine: &Machine) -> Vec<(&str, usize)> {
    machine.kinds().iter().enumerate().map(|(index, kind)| (kind.name.as_str(), machine.count(index))).collect()
}

/// Of each cluster, kind and first hardware threads.
fn clusters(machine: &Machine) -> Vec<(&str, Vec<usize>)> {
    let mut clusters: Vec<(&str, Vec<usize>)> = Vec::new();
    for core in machine.cores() {
        if core.cluster == clusters.len() {
            clusters.push((&machine.kinds()[core.kind].name, Vec::new()));
        }
        clusters[core.cluster].1.push(core.threads[0]);
    }
    clusters
}

/// Level, content, KiB and number of cores of the caches.
fn caches(machine: &Machine, level: u8, holds: CacheContent) -> Vec<(u64, usize)> {
    let caches = machine.caches().iter().filter(|cache| (cache.level, cache.holds) == (level, holds));
    caches.map(|cache| (cache.bytes.unwrap() >> 10, cache.cores.len())).collect()
}

#[test]
fn orange_pi_5_plus() {
    let machine = machine("orange_pi_5_plus");
    assert_eq!(machine.model(), "Xunlong Orange Pi 5 Plus");
    assert_eq!(kinds(&machine), [("big", 4), ("little", 4)], "a pair that is binned lower is of the same kind");
    let capacities: Vec<_> = machine.kinds().iter().map(|kind| (kind.capacity, kind.max_mhz)).collect();
    assert_eq!(capacities, [(Some(1024), Some(2400)), (Some(397), Some(1800))]);
    assert_eq!(clusters(&machine), [("little", vec![0, 1, 2, 3]), ("big", vec![4, 5]), ("big", vec![6, 7])]);
    assert_eq!(caches(&machine, 3, CacheContent::Both), [(3072, 8)]);
    assert_eq!(machine.notes(), [""; 0]);

    // Older systems call each cluster a package.
    let mut old = files("orange_pi_5_plus");
    old.retain(|path, _| !path.ends_with("cluster_cpus_list"));
    for (thread, package) in [(4, 1), (5, 1), (6, 2), (7, 2)] {
        old.insert(format!("{CPUS}/cpu{thread}/topology/physical_package_id"), format!("{package}\n"));
    }
    assert_eq!(clusters(&Tree::new(&old).machine()), clusters(&machine));
}

#[test]
fn mac_studio() {
    let machine = machine("mac_studio");
    assert_eq!(machine.model(), "Apple Mac Studio (M1 Ultra, 2022)");
    assert_eq!(kinds(&machine), [("big", 16), ("little", 4)]);
    let firestorm = |first: usize| ("big", (first..first + 4).collect());
    let expected =
        [("little", vec![0, 1]), firestorm(2), firestorm(6), ("little", vec![10, 11]), firestorm(12), firestorm(16)];
    assert_eq!(clusters(&machine), expected);
    // The caches tell the same.
    let mut files = files("mac_studio");
    files.retain(|path, _| !path.ends_with("cluster_cpus_list"));
    assert_eq!(clusters(&Tree::new(&files).machine()), expected);
}

#[test]
fn ai370() {
    let machine = machine("ai370");
    assert_eq!(machine.model(), "AMD Ryzen AI 9 HX 370 w/ Radeon 890M");
    assert_eq!(kinds(&machine), [("big", 4), ("little", 8)]);
    assert_eq!(machine.kinds()[1].max_mhz, Some(3306));
    assert_eq!(clusters(&machine), [("big", (0..4).collect()), ("little", (4..12).collect())]);
    assert!(machine.cores().iter().all(|core| core.threads == [core.threads[0], core.threads[0] + 12]));
    assert_eq!(caches(&machine, 3, CacheContent::Both), [(16384, 4), (8192, 8)]);

    // Without clocks the performance levels tell, however the system ranks cores of one kind.
    let mut files = files("ai370");
    files.retain(|path, _| !path.contains("cpufreq"));
    assert_eq!(kinds(&Tree::new(&files).machine()), [("big", 4), ("little", 8)]);
}

#[test]
fn x7_ti() {
    let machine = machine("x7_ti");
    assert_eq!(kinds(&machine), [("big", 6), ("medium", 8), ("little", 2)], "favourites of the turbo are no kind");
    let expected = [
        ("big", vec![0, 2, 4, 6, 8, 10]),
        ("medium", vec![12, 13, 14, 15]),
        ("medium", vec![16, 17, 18, 19]),
        ("little", vec![20, 21]),
    ];
    assert_eq!(clusters(&machine), expected);
    assert_eq!(machine.core_of(3).unwrap().threads, [2, 3]);
    assert_eq!(caches(&machine, 3, CacheContent::Both), [(24576, 14)]);

    // Without clocks the lists of hybrid processors part the cores, in their order.
    let mut files = files("x7_ti");
    files.retain(|path, _| !path.contains("cpufreq"));
    files.insert("sys/devices/cpu_lowpower/cpus".into(), "20-21\n".into());
    files.insert("sys/devices/cpu_atom/cpus".into(), "12-19\n".into());
    assert_eq!(kinds(&Tree::new(&files).machine()), kinds(&machine));
}

#[test]
fn server() {
    let machine = machine("server");
    assert_eq!(kinds(&machine), [("cpu", 64)]);
    let places: Vec<_> = machine.cores().chunks(16).map(|cores| (cores[0].package, cores[0].node)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 2), (1, 3)]);
    let sixteen = |first: usize| ("cpu", (first..first + 16).collect());
    assert_eq!(clusters(&machine), [sixteen(0), sixteen(16), sixteen(32), sixteen(48)], "the L3 of a node");
    assert_eq!(caches(&machine, 3, CacheContent::Both), [(49152, 32), (49152, 32)]);
}

#[test]
fn raspberry_pi_5() {
    let machine = machine("raspberry_pi_5");
    assert_eq!(machine.model(), "Raspberry Pi 5 Model B Rev 1.0");
    assert_eq!(kinds(&machine), [("cpu", 4)]);
    assert_eq!(machine.kinds()[0].capacity, Some(1024));
    assert_eq!(clusters(&machine), [("cpu", vec![0, 1, 2, 3])]);
}

#[test]
fn only_what_the_process_may_use_counts() {
    let allowed =
        |name: &str, list: &str| with(name, &[("proc/self/status", &format!("Cpus_allowed_list:\t{list}\n"))]);
    let machine = allowed("orange_pi_5_plus", "1-2,7");
    assert_eq!(clusters(&machine), [("little", vec![1, 2]), ("big", vec![7])]);
    assert_eq!(caches(&machine, 3, CacheContent::Both), [(3072, 3)]);
    // Kinds are those of the whole machine, and so are clusters: the two Firestorm share no cache.
    assert_eq!(kinds(&allowed("orange_pi_5_plus", "2")), [("little", 1)]);
    assert_eq!(clusters(&allowed("mac_studio", "2,6")), [("big", vec![2]), ("big", vec![6])]);
    // One thread of a core.
    let machine = allowed("x7_ti", "1,3,12");
    assert_eq!(machine.cores().iter().map(|core| &core.threads[..]).collect::<Vec<_>>(), [[1], [3], [12]]);
    // Processors that are off.
    let machine = with("ai370", &[(&format!("{CPUS}/online"), "0-2,12-13\n")]);
    assert_eq!(clusters(&machine), [("cpu", vec![0, 1, 2])]);
    assert_eq!(machine.core_of(13).unwrap().threads, [1, 13]);
    assert_eq!(machine.core_of(2).unwrap().threads, [2]);
    // A container counts those that are online anew; where they really are is told by what is allowed.
    let machine =
        with("ai370", &[(&format!("{CPUS}/online"), "0-1\n"), ("proc/self/status", "Cpus_allowed_list:\t8-9\n")]);
    assert_eq!(clusters(&machine).len(), 1);
    assert_eq!(machine.cores()[1].threads, [9]);
}

#[test]
fn a_quota_leaves_out_the_slowest() {
    let group = "proc/self/cgroup";
    let quota = |files: &[(&str, &str)]| {
        let machine = with("x7_ti", files);
        let usable = [0, 1, 2].map(|kind| machine.usable_of(kind));
        assert_eq!(machine.cores().len(), 16, "the cores are there all the same");
        (machine.quota(), usable)
    };
    assert_eq!(quota(&[]), (None, [6, 8, 2]));
    let v2 = |limit| [(group, "0::/a/b\n"), ("sys/fs/cgroup/a/b/cpu.max", limit)];
    assert_eq!(quota(&v2("max 100000\n")), (None, [6, 8, 2]));
    assert_eq!(quota(&v2("850000 100000\n")), (Some(8.5), [6, 2, 0]));
    assert_eq!(quota(&v2("20000 50000\n")), (Some(0.4), [1, 0, 0]));
    assert_eq!(quota(&v2("100000000000000 100000\n")), (Some(1e9), [6, 8, 2]));
    // The narrowest of all groups.
    let groups = [
        (group, "0::/a/b\n"),
        ("sys/fs/cgroup/cpu.max", "300000 100000\n"),
        ("sys/fs/cgroup/a/cpu.max", "250000 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"),
    ];
    assert_eq!(quota(&groups), (Some(2.5), [2, 0, 0]));
    // Version 1; in a container the group is seen where the hierarchy is mounted.
    let v1 = [
        (group, "5:memory:/m\n4:cpu,cpuacct:/docker/1\n0::/\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "700000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n"),
    ];
    assert_eq!(quota(&v1), (Some(7.0), [6, 1, 0]));
    // Groups outside of what can be seen, and values that are none.
    assert_eq!(quota(&[(group, "0::/../../x\n"), ("sys/fs/cgroup/cpu.max", "100000 0\n")]), (None, [6, 8, 2]));
    let machine = with("x7_ti", &v2("nan 100000\n"));
    assert_eq!(machine.notes(), ["sys/fs/cgroup/a/b/cpu.max is no quota of processor time: it is not used."]);
}

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

#[test]
fn hwloc_tells_the_same() {
    for name in ["orange_pi_5_plus", "x7_ti"] {
        let imported = Machine::from_hwloc_xml(&xml(name)).unwrap();
        check(&imported);
        let recorded = machine(name);
        assert_eq!(imported.model(), recorded.model());
        assert_eq!(imported.kinds(), recorded.kinds());
        assert_eq!(imported.cores(), recorded.cores());
        assert_eq!(imported.caches(), recorded.caches());
        assert_eq!(imported.notes(), [""; 0]);
    }
}

#[test]
fn hwloc_without_measures_tells_kinds_by_their_order() {
    let mut text = xml("x7_ti");
    for name in ["FrequencyMaxMHz", "CoreType"] {
        text = text.replace(name, "Other");
    }
    let machine = Machine::from_hwloc_xml(&text).unwrap();
    let order = [("kind1", 2), ("kind2", 4), ("kind3", 8), ("kind4", 2)];
    assert_eq!(kinds(&machine), order, "the favoured cores come first, the slowest last");
    // What was not allowed is left out.
    let text = xml("x7_ti").replace("allowed_cpuset=\"0x003fffff\"", "allowed_cpuset=\"0x00301002\"");
    let machine = Machine::from_hwloc_xml(&text).unwrap();
    assert_eq!(clusters(&machine), [("big", vec![1]), ("medium", vec![12]), ("little", vec![20, 21])]);
}

#[test]
fn what_is_no_topology_is_refused() {
    let deep = "<a>".repeat(100_000);
    let ones = "0xffffffff,".repeat(1000);
    for (text, expected) in [
        ("", "hwloc XML"),
        ("<topology version=\"2.0\"><object></topology>", "at 1:33"),
        ("<!DOCTYPE t [<!ENTITY a \"b\">]><t/>", "hwloc XML: it declares entities"),
        ("<html/>", "its root is `html`, not `topology`: write a file by `lstopo"),
        ("<topology><object type=\"Machine\"/></topology>", "it is of version 1, and only version 2 is read"),
        ("<topology version=\"20\"/>", "it is of version 20"),
        ("<topology version=\"2.0\"/>", "it has no processor"),
        ("<topology version=\"2.0\"><object type=\"PU\" os_index=\"99999\"/></topology>", "it has no processor"),
        (&deep, "hwloc XML"),
    ] {
        let error = Machine::from_hwloc_xml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for set in ["0xg", "x", "0xf...f", "0x1ffffffff", &ones] {
        let text = format!(
            "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x1\">\n<object type=\"L2Cache\" depth=\"2\" \
             cpuset=\"{set}\"/><object type=\"PU\" os_index=\"0\"/></object></topology>"
        );
        let machine = Machine::from_hwloc_xml(&text).unwrap();
        assert_eq!(machine.notes(), ["Line 2, object L2Cache, cpuset, is no set of processors: it is not used."]);
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

const EMULATION: &str = r#"
[[kind]]
name = "slow"
cores = "12-13,17"
speed = 0.25

[[kind]]
name = "fast"
cores = "1,4"
[kind.tasks]
"decode LDPC" = 0.30
"#;

#[test]
fn kinds_that_are_not_here_are_emulated() {
    let here = machine("x7_ti");
    let machine = Machine::emulated(EMULATION, &here).unwrap();
    check(&machine);
    assert!(machine.is_emulated() && !here.is_emulated());
    assert_eq!(kinds(&machine), [("fast", 2), ("slow", 3)], "from the fastest to the slowest");
    assert_eq!(clusters(&machine), [("fast", vec![0, 4]), ("slow", vec![12, 13]), ("slow", vec![17])]);
    let [fast, slow] = machine.kinds() else { panic!("two kinds") };
    assert_eq!((fast.speed, fast.task_speeds["decode LDPC"], slow.speed), (1.0, 0.3, 0.25));
    assert_eq!(slow.max_mhz, Some(3800), "what is emulated does not change what the core is");
    assert_eq!(machine.cores()[0].threads, [0, 1]);
    // Two kinds on one cluster are two clusters.
    let halves = "[[kind]]\nname = \"a\"\ncores = \"12-13\"\n[[kind]]\nname = \"b\"\ncores = \"14-15\"\nspeed = 0.5\n";
    let machine = Machine::emulated(halves, &here).unwrap();
    assert_eq!(clusters(&machine), [("a", vec![12, 13]), ("b", vec![14, 15])]);
}

#[test]
fn emulations_that_cannot_be_are_refused_with_line_and_remedy() {
    let here = machine("x7_ti");
    let kind = |rest: &str| format!("[[kind]]\nname = \"a\"\n{rest}\n");
    for (text, expected) in [
        (String::new(), "machine:1: there is no kind: write [[kind]] with a `name` and `cores`"),
        ("kinds = 1".into(), "machine:1: a machine has no `kinds`: did you mean `kind`?"),
        ("[[kind]]\ncores = \"0\"".into(), "machine:1: a kind needs a `name`"),
        (kind(""), "machine:1: a kind needs `cores`, as in cores = \"0-3\""),
        (kind("cores = 0"), "machine:3: `cores` must be text in quotes, not an integer"),
        (kind("cores = \"\""), "machine:3: `cores` must be numbers of cores"),
        (kind("cores = \"0-99\""), "machine:3: there is no core 22 here: there are 0,2,4,6,8,10,12-21"),
        (kind("cores = \"10-12\""), "machine:3: `cores` are of two kinds here, big and medium: give core 12 a kind"),
        (kind("cores = \"0\"\nspeed = 0"), "machine:4: `speed` must be above 0 and at most 1"),
        (kind("cores = \"0\"\nspeed = 1.5"), "machine:4: `speed` must be above 0 and at most 1"),
        (kind("cores = \"0\"\nspeed = nan"), "machine:4: `speed` must be above 0 and at most 1"),
        (kind("cores = \"0\"\nspeed = \"1\""), "machine:4: `speed` must be a number, not a string"),
        (kind("cores = \"0\"\n[kind.tasks]\nx = 2"), "machine:5: the speed of `x` must be above 0 and at most 1"),
        (kind("cores = \"0\"\nsped = 1"), "machine:4: a kind has no `sped`: did you mean `speed`?"),
        (kind("cores = \"0\"") + &kind("cores = \"2\""), "machine:5: there are two kinds `a`"),
        (
            kind("cores = \"0\"") + "[[kind]]\nname = \"b\"\ncores = \"1\"",
            "machine:6: core 0 of `cores` is of kind `a`, too: name it once",
        ),
        ("[[kind]]\nname = \"a b\"\ncores = \"0\"".into(), "machine:2: `name`: \"a b\" has a space"),
    ] {
        let error = Machine::emulated(&text, &here).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn documents_that_contradict_themselves_are_refused_with_their_key() {
    let machine = Machine::from_hwloc_xml(&xml("x7_ti")).unwrap();
    let text = machine.to_json();
    for (from, to, expected) in [
        ("\"format\": 1", "\"format\": 2", "machine, line 2 column 13: format 2 is unknown"),
        ("\"model\"", "\"mode\"", "unknown field `mode`"),
        ("\"name\": \"medium\"", "\"name\": \"big\"", "machine, kinds[1].name: `big` is named twice"),
        ("\"name\": \"big\"", "\"name\": \"b=\"", "machine, kinds[0].name: \"b=\" has a space, `=` or `,`"),
        ("\"max_mhz\": 5100", "\"max_mhz\": 0", "machine, kinds[0].max_mhz: must be 1 or more"),
        ("\"max_mhz\": 5100", "\"capacity\": 1025", "machine, kinds[0].capacity: must be 1 to 1024"),
        ("\"max_mhz\": 5100", "\"speed\": 1.1", "machine, kinds[0].speed: must be above 0 and at most 1"),
        ("\"max_mhz\": 5100", "\"task_speeds\": {\"x\": 0}", "kinds[0].task_speeds: of `x` must be above 0"),
        ("[0,1], \"kind\": 0", "[0,1], \"kind\": 3", "machine, cores[0].kind: there is no kind 3 among the 3 kinds"),
        (
            "[0,1], \"kind\": 0",
            "[1,0], \"kind\": 0",
            "machine, cores[0].threads: must be one or more numbers, ascending",
        ),
        ("[2,3], \"kind\": 0", "[1,3], \"kind\": 0", "machine, cores[1].threads: 1 is of another core, too"),
        ("[2,3], \"kind\": 0", "[2,8192], \"kind\": 0", "machine, cores[1].threads: 8192 must be below 8192"),
        (
            "[2,3], \"kind\": 0",
            "[2,3], \"kind\": 1",
            "machine, cores[1].cluster: is of one cluster with a core of another",
        ),
        (
            "[2,3], \"kind\": 0, \"cluster\": 0",
            "[2,3], \"kind\": 0, \"cluster\": 1",
            "machine, cores[2]: must come after",
        ),
        ("{\"level\": 3", "{\"level\": 0", "must be 1 to 9"),
        ("{\"level\": 3", "{\"level\": 2", "core 0 has another cache of that level, too"),
        ("\"cores\": [14,15]", "\"cores\": [14,16]", "there is no core 16 among the 16 cores"),
        ("\"bytes\": 25165824", "\"bytes\": 0", "bytes: must be 1 or more"),
        ("\"caches\"", "\"quota\": 0, \"caches\"", "machine, quota: must be a number of cores above 0"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = Machine::from_json(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let none = r#"{"format": 1, "model": "", "kinds": [{"name": "a"}], "cores": []}"#;
    assert!(Machine::from_json(none).unwrap_err().to_string().contains("no core at all"));
}

#[test]
fn a_file_is_read_whatever_its_form() {
    let tree = Tree::new(&Files::new());
    let read = |content: &[u8]| {
        tree.write("machine", content);
        Machine::read(&tree.0.join("machine"))
    };
    let imported = Machine::from_hwloc_xml(&xml("x7_ti")).unwrap();
    assert_eq!(read(xml("x7_ti").as_bytes()).unwrap(), imported);
    assert_eq!(read(format!("\u{feff}\n {}", imported.to_json()).as_bytes()).unwrap(), imported);
    let core = Machine::here().cores()[0].threads[0];
    let emulation = format!("# One core\n[[kind]]\nname = \"slow\"\ncores = \"{core}\"\nspeed = 0.5\n");
    assert_eq!(kinds(&read(emulation.as_bytes()).unwrap()), [("slow", 1)]);

    let name = tree.0.join("machine").display().to_string();
    for (content, expected) in [
        (&b"{}"[..], "machine, line 1 column 2: missing field `format`"),
        (b"", "there is no kind: write [[kind]]"),
        (b"<", "hwloc XML"),
        (b"\xFF", "it is no text"),
        (b"[[kind]]\nname = 1\n", "2: `name` must be text in quotes"),
    ] {
        let error = read(content).unwrap_err().to_string();
        assert!(error.starts_with(&name) && error.contains(expected), "{error}");
    }
    let error = Machine::read(&tree.0).unwrap_err().to_string();
    assert!(error.contains("it is a folder"), "{error}");
    let error = Machine::read(&tree.0.join("absent")).unwrap_err().to_string();
    assert!(error.contains("absent: No such file"), "{error}");
    fs::File::create(tree.0.join("long")).unwrap().set_len(1 << 40).unwrap();
    let error = Machine::read(&tree.0.join("long")).unwrap_err().to_string();
    assert!(error.contains("longer than 16 MiB"), "{error}");
}
