//! Machines in documents: XML of hwloc, JSON, and TOML that emulates.

use std::fs;

use bief_machine::Machine;

use super::tree::{Files, Tree, check, clusters, kinds, machine, xml};

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

pub(super) const EMULATION: &str = r#"
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
fn devices_stand_beside_cores() {
    let here = machine("x7_ti");
    let text = "[[device]]\nname = 'gpu'\nlaunch_us = 20\ncopy_gb_per_s = 12.5\nspeed = 0.5\n[device.tasks]\ndecode = 0.25\n\
                [[device]]\nname = 'npu'\nlanes = 1";
    let machine = Machine::emulated(text, &here).unwrap();
    assert_eq!((machine.cores(), machine.kinds()), (here.cores(), here.kinds()), "cores are as they are");
    let [gpu, npu] = machine.devices() else { panic!("two devices") };
    assert_eq!((gpu.lanes, npu.lanes, npu.launch_us, npu.copy_gb_per_s), (3, 1, 0.0, None));
    assert_eq!((gpu.task_ns("decode", 1000.0), gpu.task_ns("else", 1000.0)), (24_000.0, 22_000.0));
    assert_eq!((gpu.copy_ns(25_000), npu.copy_ns(25_000)), (2000.0, 0.0));
    assert_eq!((machine.platform().cores("gpu"), machine.platform().cores("big")), (1, here.platform().cores("big")));
    assert!(machine.to_string().ends_with(", device gpu (emulated), device npu (emulated)"), "{machine}");
    assert_eq!(Machine::from_json(&machine.to_json()).unwrap(), machine);
    assert_eq!(machine.with_devices_where(|device| device.name == "npu").devices().len(), 1);
    let both = Machine::emulated(&format!("{EMULATION}[[device]]\nname = 'gpu'"), &here).unwrap();
    assert_eq!((both.kinds().len(), both.devices().len()), (2, 1));

    let json = |device: &str| {
        let whole = both.to_json().replace(r#"{"name": "gpu"}"#, device);
        Machine::from_json(&whole).unwrap_err().to_string()
    };
    assert!(json(r#"{"name": "gpu", "lanes": 0}"#).ends_with("devices[0].lanes: must be 1 to 64"));
    assert!(json(r#"{"name": "fast"}"#).contains("devices[0].name: `fast` is named twice"));
    assert!(json(r#"{"name": "a=b"}"#).contains("devices[0].name"));
    for (rest, expected) in [
        ("", "machine:1: a device needs a `name`"),
        ("name = 'gpu'\nlanes = 65", "machine:3: `lanes` must be 1 to 64"),
        ("name = 'gpu'\nlaunch_us = -1", "machine:3: `launch_us` must be 0 to 60000000 microseconds"),
        ("name = 'gpu'\nlaunch_us = nan", "machine:3: `launch_us` must be"),
        ("name = 'gpu'\ncopy_gb_per_s = 0", "machine:3: `copy_gb_per_s` must be 0.000001 to 1000000 GB/s"),
        ("name = 'gpu'\nspeed = 2", "machine:3: `speed` must be above 0 and at most 1"),
        ("name = 'gpu'\n[device.tasks]\na = 0", "machine:4: the speed of `a` must be above 0"),
        ("name = 'big'", "machine:2: `big` is named twice: name each kind and device once"),
        ("name = 'a b'", "machine:2: `name`: \"a b\" has a space"),
        ("name = 'gpu'\nlane = 3", "machine:3: a device has no `lane`: did you mean `lanes`?"),
    ] {
        let error = Machine::emulated(&format!("[[device]]\n{rest}"), &here).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
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
#[ignore = "long: part of .ci/run"]
fn long_descriptions_are_read_or_refused() {
    let here = machine("x7_ti");
    // As many keys as a file may have take no longer than their number says.
    let tasks: String = (0..200_000).map(|task| format!("t{task} = 0.5\n")).collect();
    let text = format!("[[kind]]\nname = 'a'\ncores = '0'\n[kind.tasks]\n{tasks}");
    assert_eq!(Machine::emulated(&text, &here).unwrap().kinds()[0].task_speeds.len(), 200_000);
    let element = |attributes: usize| {
        let attributes: String = (0..attributes).map(|number| format!(" a{number}='1'")).collect();
        xml("x7_ti").replacen("<object type=\"Package\"", &format!("<object type=\"Package\"{attributes}"), 1)
    };
    assert_eq!(Machine::from_hwloc_xml(&element(50)).unwrap(), here);
    let refused = |text: String| Machine::from_hwloc_xml(&text).unwrap_err().to_string();
    assert!(refused(element(500_000)).contains("an element of more than 100 attributes"));
    let spaces: String = (0..100_000).map(|number| format!("<a xmlns:n{number}='u'>")).collect();
    assert!(refused(xml("x7_ti").replacen("<object", &format!("{spaces}<object"), 1)).contains("namespaces"));
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
