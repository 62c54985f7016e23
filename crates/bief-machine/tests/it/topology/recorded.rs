//! Machines that others have recorded: what they are known to be.

use bief_machine::CacheContent;

use super::tree::{CPUS, Tree, caches, clusters, files, kinds, machine, with};

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
