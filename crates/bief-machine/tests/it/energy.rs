//! Energy of recorded machines, whole, damaged and hostile, and of external meters.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bief_machine::energy::{Energy, EnergyMeter, Measured, Meter, MeterLog, Scope};
use proptest::prelude::*;

const INTEL_LAPTOP: &str = include_str!("energy/intel_laptop.txt");
const AMD_DESKTOP: &str = include_str!("energy/amd_desktop.txt");
const TWO_SOCKETS: &str = include_str!("energy/two_sockets.txt");
const JETSON: &str = include_str!("energy/jetson.txt");
const LONE_INA226: &str = include_str!("energy/lone_ina226.txt");
const ASAHI: &str = include_str!("energy/asahi.txt");
const NOTHING: &str = include_str!("energy/nothing.txt");
const MACHINES: [&str; 7] = [INTEL_LAPTOP, AMD_DESKTOP, TWO_SOCKETS, JETSON, LONE_INA226, ASAHI, NOTHING];

const PACKAGE: &str = "sys/class/powercap/intel-rapl:0";

/// A machine's files in a folder that is removed afterwards.
struct Tree(PathBuf);

impl Tree {
    /// Unpacks lines of `path: content`.
    fn new(machine: &str) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("bief-energy-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let tree = Self(std::env::temp_dir().join(name));
        for line in machine.lines().filter(|line| !line.starts_with('#')) {
            let (path, content) = line.split_once(": ").unwrap();
            tree.set(path, content);
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Replaces the file as a whole, as the kernel does, so that nobody reads a half of it.
    fn set(&self, path: &str, content: impl ToString) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let new = self.path("new");
        fs::write(&new, content.to_string() + "\n").unwrap();
        fs::rename(new, path).unwrap();
    }

    fn meter(&self) -> EnergyMeter {
        EnergyMeter::under(&self.0)
    }

    /// Measures while something happens to the machine.
    fn measured(&self, happens: impl FnOnce(&Self)) -> Measured {
        let measurement = self.meter().start().expect("a source");
        happens(self);
        measurement.stop()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Name, scope and whether it can be read, of each source.
fn listed(meter: &EnergyMeter) -> Vec<(&str, Scope, bool)> {
    let sources = meter.sources().iter();
    sources.map(|source| (source.name(), source.scope(), source.unreadable().is_none())).collect()
}

fn why<'a>(meter: &'a EnergyMeter, name: &str) -> &'a str {
    meter.sources().iter().find(|source| source.name() == name).unwrap().unreadable().unwrap()
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

fn near(energy: &Energy, watts: f64) -> bool {
    (energy.watts - watts).abs() < 1e-6 * watts && (energy.joules - energy.watts * energy.seconds).abs() < 1e-9
}

#[test]
fn every_machine_shows_its_sources_in_the_order_of_trust() {
    use Scope::{Battery, Board, Package, Part};
    let trees = MACHINES.map(Tree::new);
    let meters = trees.each_ref().map(Tree::meter);
    let expected: [&[(&str, Scope, bool)]; 7] = [
        &[
            ("rapl:psys", Board, true),
            ("rapl:package", Package, true),
            ("rapl:core", Part, true),
            ("rapl:dram", Part, true),
            ("rapl:uncore", Part, true),
            ("perf:package", Package, false),
            ("battery", Battery, true),
        ],
        &[("rapl:package", Package, true), ("rapl:core", Part, true), ("amdgpu:PPT", Part, true)],
        &[("rapl:package", Package, true), ("rapl:dram", Part, true), ("power_meter:power1", Board, true)],
        &[("ina3221:VDD_IN", Board, true), ("ina3221:VDD_CPU_GPU_CV", Part, true), ("ina3221:VDD_SOC", Part, true)],
        &[("ina226:power1", Board, true)],
        &[
            ("macsmc_hwmon:Total-System-Power", Board, true),
            ("macsmc_hwmon:AC-Input-Power", Board, true),
            ("macsmc_hwmon:Heatpipe-Power", Part, true),
            ("macsmc_hwmon:3.8-V-Rail-Power", Part, true),
            ("battery", Battery, false),
        ],
        &[],
    ];
    for (meter, expected) in meters.iter().zip(expected) {
        assert_eq!(listed(meter), expected);
    }
    let note = meters[4].sources()[0].note().unwrap();
    assert_eq!(note, "no label tells its rail: taken for the board's input");
    assert!(why(&meters[0], "perf:package").contains("another machine's kernel"));
    assert!(why(&meters[5], "battery").contains("macsmc-battery is being charged"));
    let counts = meters[0].sources().iter().map(|source| source.counts());
    assert_eq!(counts.collect::<Vec<_>>(), [true, true, true, true, true, true, false]);
}

#[test]
fn a_counter_goes_round_once() {
    let tree = Tree::new(AMD_DESKTOP);
    tree.set(&format!("{PACKAGE}/energy_uj"), 65_532_610_987_u64 - 1_000_000);
    let measured = tree.measured(|tree| {
        pause(30);
        tree.set(&format!("{PACKAGE}/energy_uj"), 2_000_000);
    });
    let energy = measured.energy.unwrap();
    assert_eq!((energy.source.as_str(), energy.scope), ("rapl:package", Scope::Package));
    assert!((energy.joules - 3.0).abs() < 1e-9, "{energy:?}");
    assert!(energy.seconds >= 0.03 && near(&energy, 3.0 / energy.seconds));
    assert!(measured.others.is_empty() && measured.notes.is_empty());
}

#[test]
fn packages_are_added_and_their_parts_are_not() {
    let tree = Tree::new(TWO_SOCKETS);
    let count = |tree: &Tree| {
        tree.set(&format!("{PACKAGE}/energy_uj"), 1_000_000 + 2_000_000);
        tree.set("sys/class/powercap/intel-rapl:1/energy_uj", 2_000_000 + 3_000_000);
        tree.set(&format!("{PACKAGE}:0/energy_uj"), 5_000_000 + 500_000);
        tree.set("sys/class/powercap/intel-rapl:1:0/energy_uj", 6_000_000 + 250_000);
    };
    let measured = tree.measured(count);
    let board = measured.energy.unwrap();
    assert_eq!((board.source.as_str(), board.scope), ("power_meter:power1", Scope::Board));
    assert!(near(&board, 212.0), "{board:?}");
    let [package] = &measured.others[..] else { panic!("{:?}", measured.others) };
    assert_eq!((package.source.as_str(), package.scope), ("rapl:package", Scope::Package));
    assert!((package.joules - 5.0).abs() < 1e-9, "{package:?}");

    let tree = Tree::new(TWO_SOCKETS);
    let measurement = tree.meter().only("rapl:dram").unwrap().start().unwrap();
    count(&tree);
    let memory = measurement.stop().energy.unwrap();
    assert!((memory.joules - 0.75).abs() < 1e-9 && memory.scope == Scope::Part, "{memory:?}");
}

#[test]
fn the_widest_scope_that_tells_anything_counts() {
    let tree = Tree::new(INTEL_LAPTOP);
    let count = |tree: &Tree, psys: u64| {
        pause(20);
        tree.set("sys/class/powercap/intel-rapl:1/energy_uj", psys);
        // Half a joule to its range, and one beyond.
        tree.set(&format!("{PACKAGE}/energy_uj"), 1_000_000);
    };
    let measured = tree.measured(|tree| count(tree, 24_000_000));
    let battery = measured.energy.unwrap();
    assert_eq!((battery.source.as_str(), battery.scope), ("battery", Scope::Battery));
    assert!(near(&battery, 9.638), "{battery:?}");
    let others: Vec<_> = measured.others.iter().map(|energy| (energy.source.as_str(), energy.scope)).collect();
    assert_eq!(others, [("rapl:psys", Scope::Board), ("rapl:package", Scope::Package)]);
    assert!((measured.others[0].joules - 4.0).abs() < 1e-9 && (measured.others[1].joules - 1.5).abs() < 1e-9);

    // On mains, with a counter of the platform that nobody has wired: it stands still.
    let tree = Tree::new(INTEL_LAPTOP);
    tree.set("sys/class/power_supply/BAT0/status", "Charging");
    let measured = tree.measured(|tree| count(tree, 20_000_000));
    assert_eq!(measured.energy.unwrap().source, "rapl:package");
    assert!(measured.others.is_empty());
    let [note] = &measured.notes[..] else { panic!("{:?}", measured.notes) };
    assert!(note.starts_with("rapl:psys: a counter did not advance in 0."), "{note}");
}

#[test]
fn sensors_are_read_in_their_units() {
    for (machine, watts, source) in [
        (JETSON, 6.0, "ina3221:VDD_IN"),
        (LONE_INA226, 4.925, "ina226:power1"),
        (ASAHI, 17.4, "macsmc_hwmon:Total-System-Power"),
    ] {
        let tree = Tree::new(machine);
        let energy = tree.measured(|_| pause(20)).energy.unwrap();
        assert_eq!(energy.source, source);
        assert!(near(&energy, watts) && energy.seconds >= 0.02, "{energy:?}");
    }
    let tree = Tree::new(JETSON);
    let soc = tree.meter().only("ina3221:VDD_SOC").unwrap().start().unwrap();
    pause(20);
    assert!(near(&soc.stop().energy.unwrap(), 1.5));
}

#[test]
fn a_sensor_that_changes_is_integrated() {
    let tree = Tree::new(LONE_INA226);
    let file = "sys/class/hwmon/hwmon0/power1_input";
    tree.set(file, 1_000_000);
    let energy = tree.measured(|tree| {
        pause(150);
        tree.set(file, 3_000_000);
    });
    let energy = energy.energy.unwrap();
    assert!(energy.watts > 1.0 && energy.watts < 3.0, "{energy:?}");
}

#[test]
fn batteries_tell_power_only_while_they_discharge() {
    let battery = |lines: &str| {
        let lines: String = lines.split(", ").map(|line| format!("sys/class/power_supply/{line}\n")).collect();
        Tree::new(&lines)
    };
    // The one feeds the machine, the other waits; some drivers count what flows out as negative.
    let two = battery(
        "BAT0/type: Battery, BAT0/status: Discharging, BAT0/current_now: -500000, BAT0/voltage_now: 12000000, \
         BAT1/type: Battery, BAT1/status: Not charging, BAT1/power_now: 0",
    );
    assert!(near(&two.measured(|_| pause(20)).energy.unwrap(), 6.0));
    let full = battery("BAT0/type: Battery, BAT0/status: Full, BAT0/power_now: 0");
    assert!(full.meter().start().is_none());
    assert!(why(&full.meter(), "battery").contains("does not discharge: a battery tells"));
    let coarse = battery("BAT0/type: Battery, BAT0/status: Discharging, BAT0/energy_now: 40000000");
    assert_eq!(why(&coarse.meter(), "battery"), "BAT0 tells neither power_now nor current_now and voltage_now");
    let absent = battery("BAT0/type: Battery, BAT0/present: 0, BAT0/status: Discharging, BAT0/power_now: 1000000");
    assert!(absent.meter().sources().is_empty());
    // The plug is put in.
    let measured = two.measured(|tree| tree.set("sys/class/power_supply/BAT0/status", "Charging"));
    assert_eq!(measured.energy, None);
    assert!(measured.notes[0].starts_with("battery: BAT0 is being charged"), "{:?}", measured.notes);
}

#[test]
fn where_nothing_can_be_read_there_is_no_figure() {
    let tree = Tree::new(NOTHING);
    assert!(tree.meter().start().is_none());
    assert!(EnergyMeter::under(Path::new("/nonexistent")).start().is_none());
    // Parts alone are not what a machine uses.
    let gpu: String =
        AMD_DESKTOP.lines().filter(|line| line.contains("hwmon")).map(|line| line.to_owned() + "\n").collect();
    let tree = Tree::new(&gpu);
    assert_eq!(listed(&tree.meter()), [("amdgpu:PPT", Scope::Part, true)]);
    assert!(tree.meter().start().is_none());
    assert!(tree.meter().only("amdgpu:PPT").unwrap().start().is_some());
}

#[test]
fn a_source_that_there_is_not_is_refused_by_name() {
    let tree = Tree::new(ASAHI);
    let refusal = |name| tree.meter().only(name).unwrap_err().to_string();
    let near = "there is no source `batery`: did you mean `battery`?";
    assert_eq!(refusal("batery"), near);
    assert!(refusal("battery").starts_with("source `battery` cannot be read: macsmc-battery is being charged"));
    let nothing = EnergyMeter::under(Path::new("/nonexistent")).only("rapl:package").unwrap_err();
    assert_eq!(nothing.to_string(), "there is no source `rapl:package`: there are none");
}

/// What happens to a counter, and what the note about it says.
type Case<'a> = (&'a str, &'a dyn Fn(&Tree), &'a str);

#[test]
fn counters_that_go_wrong_midway_give_a_note_and_no_figure() {
    let energy = format!("{PACKAGE}/energy_uj");
    let cases: [Case; 5] = [
        ("backwards", &|tree| tree.set(&energy, 40_000_000), "rapl:package: went backwards, from 41000000 to 40000000"),
        ("a jump", &|tree| tree.set(&energy, 60_000_000_000_u64), "rapl:package: jumped, from 41000000 to 60000000000"),
        ("text", &|tree| tree.set(&energy, "x\u{7}y"), "holds no number that fits: `x?y`"),
        ("gone", &|tree| fs::remove_file(tree.path(&energy)).unwrap(), "is not there"),
        ("stands still", &|_| pause(1), "rapl:package: a counter did not advance in 0."),
    ];
    for (name, happens, expected) in cases {
        let measured = Tree::new(AMD_DESKTOP).measured(happens);
        assert_eq!(measured.energy, None, "{name}");
        let [note] = &measured.notes[..] else { panic!("{name}: {:?}", measured.notes) };
        assert!(note.starts_with("rapl:package: ") && note.contains(expected), "{name}: {note}");
    }
    // One of two packages that stands still makes their sum wrong.
    let tree = Tree::new(TWO_SOCKETS);
    let measurement = tree.meter().only("rapl:package").unwrap().start().unwrap();
    tree.set(&energy, 2_000_000);
    assert_eq!(measurement.stop().energy, None);
}

#[test]
fn zones_that_are_damaged_say_why_they_cannot_be_read() {
    let refused = |path: &str, content: &str| {
        let tree = Tree::new(AMD_DESKTOP);
        tree.set(path, content);
        why(&tree.meter(), "rapl:package").to_owned()
    };
    for (content, expected) in [
        ("-5", "holds no number that fits: `-5`"),
        ("99999999999999999999999999", "holds no number that fits"),
        ("", "holds no number that fits: ``"),
        ("1 2", "holds no number that fits: `1 2`"),
    ] {
        let why = refused(&format!("{PACKAGE}/energy_uj"), content);
        assert!(why.contains("energy_uj: ") && why.contains(expected), "{why}");
    }
    let short = refused(&format!("{PACKAGE}/max_energy_range_uj"), "1000000");
    assert_eq!(short, "begins anew after 1 J, so soon that readings cannot follow");
    let long = refused(&format!("{PACKAGE}/energy_uj"), &"7".repeat(1 << 20));
    assert!(long.ends_with("energy_uj: is too long"), "{long}");

    // A package that cannot be read makes the sum of both wrong.
    let tree = Tree::new(TWO_SOCKETS);
    fs::remove_file(tree.path("sys/class/powercap/intel-rapl:1/energy_uj")).unwrap();
    assert!(why(&tree.meter(), "rapl:package").ends_with("intel-rapl:1/energy_uj: is not there"));
    // A zone that is shown twice is not added twice.
    let tree = Tree::new(AMD_DESKTOP);
    tree.set("sys/class/powercap/intel-rapl:1/name", "package-0");
    tree.set("sys/class/powercap/intel-rapl:1/energy_uj", "5");
    tree.set("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "65532610987");
    let energy = tree.measured(|tree| tree.set(&format!("{PACKAGE}/energy_uj"), 42_000_000)).energy.unwrap();
    assert!((energy.joules - 1.0).abs() < 1e-9);
}

#[test]
fn events_that_are_damaged_say_why_they_cannot_be_read() {
    let folder = "sys/bus/event_source/devices/power";
    for (file, content, expected) in [
        ("events/energy-pkg", "event=0x02,umask=0x1", "is no plain number of an event: `event=0x02,umask=0x1`"),
        ("events/energy-pkg.unit", "Watts", "is not Joules: `Watts`"),
        ("events/energy-pkg.scale", "1e9", "1000000000 J cannot be what one count is"),
        ("events/energy-pkg.scale", "NaN", "NaN J cannot be what one count is"),
        ("type", "x", "type: holds no number that fits: `x`"),
        ("cpumask", "-", "cpumask: names no processor"),
    ] {
        let tree = Tree::new(INTEL_LAPTOP);
        tree.set(&format!("{folder}/{file}"), content);
        let shown = why(&tree.meter(), "perf:package").to_owned();
        assert!(shown.contains(expected), "{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_that_stands_in_place_of_a_file_makes_anybody_wait() {
    let start = Instant::now();
    let files = ["energy_uj", "max_energy_range_uj", "name"].map(|name| format!("{PACKAGE}/{name}"));
    for file in files.iter().map(String::as_str).chain(["sys/class/hwmon/hwmon2/power1_average"]) {
        for place in ["folder", "zero", "pipe", "loop", "dangling"] {
            let tree = Tree::new(AMD_DESKTOP);
            let path = tree.path(file);
            fs::remove_file(&path).unwrap();
            match place {
                "folder" => fs::create_dir(&path).unwrap(),
                "zero" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                "loop" => std::os::unix::fs::symlink(&path, &path).unwrap(),
                "dangling" => std::os::unix::fs::symlink("nowhere", &path).unwrap(),
                _ => make_pipe(&path),
            }
            let readable = tree.meter().sources().iter().filter(|source| source.unreadable().is_none()).count();
            assert_eq!(readable, 2, "{file} is a {place}: {:?}", listed(&tree.meter()));
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "something was waited for");
}

#[cfg(target_os = "linux")]
fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What somebody did to a file of a machine.
#[derive(Debug, Clone)]
enum Damage {
    Removed,
    Folder,
    Content(Vec<u8>),
    Renamed(String),
}

fn damage() -> impl Strategy<Value = Damage> {
    let numbers = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        Just(u128::MAX.to_string()),
        Just("0".to_owned()),
    ];
    prop_oneof![
        Just(Damage::Removed),
        Just(Damage::Folder),
        numbers.prop_map(|number| Damage::Content(number.into_bytes())),
        prop::sample::select(vec![
            "package-0",
            "psys",
            "core",
            "ina3221",
            "power_meter",
            "Battery",
            "Discharging",
            "Charging"
        ])
        .prop_map(|text| Damage::Content(text.into())),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Damage::Content),
        prop::sample::select(vec![
            "power9_input",
            "energy1_input",
            "in1_input",
            "curr1_input",
            "name",
            "NaN_input",
            "_input"
        ])
        .prop_map(|name| Damage::Renamed(name.to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn however_a_machine_is_damaged_no_figure_is_impossible(
        machine in prop::sample::select(MACHINES.to_vec()),
        damages in prop::collection::vec((any::<prop::sample::Index>(), damage(), any::<bool>()), 1..8),
    ) {
        let tree = Tree::new(machine);
        let files: Vec<&str> = machine.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        let hurt = |during: bool| {
            for (index, damage, _) in damages.iter().filter(|(.., later)| *later == during) {
                let path = tree.path(files[index.index(files.len())]);
                // Somebody was here before.
                let _ = fs::remove_file(&path);
                match damage {
                    Damage::Removed => {}
                    Damage::Folder => { let _ = fs::create_dir(&path); }
                    Damage::Content(bytes) => { let _ = fs::write(&path, bytes); }
                    Damage::Renamed(name) => { let _ = fs::write(path.with_file_name(name), "1234567"); }
                }
            }
        };
        hurt(false);
        let meter = tree.meter();
        let names: std::collections::BTreeSet<&str> = meter.sources().iter().map(|source| source.name()).collect();
        prop_assert_eq!(names.len(), meter.sources().len());
        prop_assert!(meter.sources().iter().all(|source| source.name().chars().all(|c| c.is_ascii_graphic())));
        if let Some(measurement) = meter.start() {
            hurt(true);
            let measured = measurement.stop();
            for energy in measured.energy.iter().chain(&measured.others) {
                prop_assert!(energy.joules > 0.0 && energy.watts <= 1e6 && energy.seconds > 0.0, "{:?}", energy);
                prop_assert!(energy.scope > Scope::Part);
            }
            prop_assert!(measured.energy.is_some() || !measured.notes.is_empty());
        }
    }
}

/// Measures again where the system was so busy that readings came late, which a note tells; `None` on one that stays so.
fn covered(mut measure: impl FnMut() -> Measured) -> Option<Measured> {
    let is_covered = |measured: &Measured| !measured.notes.iter().any(|note| note.contains("its readings cover"));
    let covered = (0..20).map(|_| measure()).find(is_covered);
    if covered.is_none() {
        println!("skipped: this system is too busy for readings to come in time");
    }
    covered
}

/// A meter that writes lines into a file, one each few milliseconds, as a machine is measured.
fn metered(lines: &[&str], before: &str, between: u64) -> Measured {
    let tree = Tree::new(NOTHING);
    let path = tree.path("meter.csv");
    fs::write(&path, before).unwrap();
    let measurement = tree.meter().with_meter(Meter::open(&path).unwrap()).start().unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    for line in lines {
        pause(between);
        file.write_all(line.as_bytes()).unwrap();
    }
    pause(between);
    measurement.stop()
}

#[test]
fn a_meter_is_the_widest_scope() {
    let tree = Tree::new(TWO_SOCKETS);
    let path = tree.path("meter.csv");
    fs::write(&path, "").unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    let Some(measured) = covered(|| {
        let measurement = tree.meter().with_meter(Meter::open(&path).unwrap()).start().unwrap();
        for _ in 0..20 {
            pause(10);
            file.write_all(b"300\n").unwrap();
        }
        measurement.stop()
    }) else {
        return;
    };
    let energy = measured.energy.unwrap();
    assert_eq!((energy.source.as_str(), energy.scope), ("meter", Scope::Meter));
    assert!(near(&energy, 300.0), "{energy:?}");
    assert_eq!(measured.others[0].source, "power_meter:power1");
}

#[test]
fn readings_of_a_meter_that_grows_are_weighed_by_its_own_clock() {
    // 1 W for most of its time, and 100 W for a moment; what was there before does not count, but for the header.
    let lines = ["0,1\n", "10,1\n", "20,1\n", "20.001,100\n", "20.002,100\n", "20.003,1\n", "30,1\n", "40,1\n"];
    let Some(measured) = covered(|| metered(&lines, "seconds,watts\n-9,5000\n-8,5000\n", 30)) else { return };
    let energy = measured.energy.unwrap();
    let mean = (20.0 + 0.0505 + 0.1 + 0.0505 + 19.997) / 40.0;
    assert!(near(&energy, mean), "{energy:?} {mean}");
    assert_eq!(measured.notes, [] as [String; 0]);
}

#[test]
fn lines_that_are_no_readings_are_counted_and_told() {
    let with_first = |first| [&[first][..], &["5\n"; 24]].concat();
    let Some(measured) = covered(|| metered(&with_first("5\nx\u{1b}y\n-3\n"), "", 10)) else { return };
    assert!(near(&measured.energy.unwrap(), 5.0));
    assert_eq!(measured.notes, ["meter: 2 lines that are no readings were passed over, such as `-3`"]);
    // The rest of a line that was half written before is none of them.
    let Some(measured) = covered(|| metered(&with_first("9.5\n"), "100\n12", 10)) else { return };
    assert!(near(&measured.energy.unwrap(), 5.0));
}

#[test]
fn a_meter_that_says_too_little_gives_a_note_and_no_figure() {
    for (lines, before, expected) in [
        (&[][..], "1,5\n2,5\n", "meter: no reading came in 0."),
        (&["1,5\n"], "", "meter: one reading came in 0."),
        (&["1,5\n", "1,5\n", "1,5\n"], "", "meter: its times stand still, or are more than a minute apart"),
        (&["0,5\n", "1000,5\n", "2000,5\n"], "", "as in `ms,watts`"),
        (&["1,5\n", "2,5\n"], "time,volts\n", "the header names no power: one column must be `watts`"),
        (&["1,0\n", "2,0\n", "3,0\n"], "", "meter: shows 0 W all the time"),
        (&["1,5\n2,5\n", "", "", "", ""], "", "measure for longer"),
    ] {
        let measured = metered(lines, before, 30);
        assert_eq!(measured.energy, None, "{expected}");
        let [note] = &measured.notes[..] else { panic!("{expected}: {:?}", measured.notes) };
        assert!(note.contains(expected), "{note}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_are_listened_to_and_silent_ones_hold_up_nobody() {
    let tree = Tree::new(NOTHING);
    let path = tree.path("pipe");
    make_pipe(&path);
    let start = Instant::now();
    // Nobody writes.
    drop(Meter::open(&path).unwrap());
    let measured = EnergyMeter::under(&tree.0).with_meter(Meter::open(&path).unwrap()).start().unwrap().stop();
    assert_eq!(measured.energy, None);
    // Somebody could, and says nothing.
    let open_end = File::options().read(true).write(true).open(&path).unwrap();
    drop(Meter::open(&path).unwrap());
    drop(open_end);
    assert!(start.elapsed() < Duration::from_secs(60), "a silent pipe was waited for");

    let meter = EnergyMeter::under(&tree.0).with_meter(Meter::open(&path).unwrap());
    let mut writer = File::options().write(true).open(&path).unwrap();
    for _ in 0..2 {
        let Some(measured) = covered(|| {
            let measurement = meter.start().unwrap();
            for _ in 0..10 {
                pause(20);
                writer.write_all(b"2,5;7,5\r\n3,5;7,5\r\n").unwrap();
            }
            measurement.stop()
        }) else {
            return;
        };
        assert!(near(&measured.energy.unwrap(), 7.5));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_meter_without_end_is_no_trouble() {
    let meter = EnergyMeter::under(Path::new("/nonexistent")).with_meter(Meter::open(Path::new("/dev/zero")).unwrap());
    let measurement = meter.start().unwrap();
    pause(100);
    let measured = measurement.stop();
    assert_eq!(measured.energy, None);
    assert!(measured.notes[0].contains("no reading came"), "{:?}", measured.notes);
}

#[test]
fn what_is_no_meter_is_refused_with_its_path() {
    let folder = std::env::temp_dir();
    let refusal = Meter::open(&folder).unwrap_err().to_string();
    assert!(refusal.starts_with(&folder.display().to_string()) && refusal.contains("is a folder"), "{refusal}");
    assert!(Meter::open(Path::new("/nonexistent")).unwrap_err().to_string().starts_with("/nonexistent: "));
}

#[test]
fn recorded_files_are_integrated_between_two_of_their_times() {
    let tree = Tree::new(NOTHING);
    let path = tree.path("log.csv");
    let read = |content: &str| {
        fs::write(&path, content).unwrap();
        MeterLog::read(&path)
    };
    let log = read("Time (ms);Power (mW)\n1000;2000,0\nError\n2000;4000\n4000;4000").unwrap();
    assert_eq!((log.span(), log.passed_over()), (Some((1.0, 4.0)), 1));
    let energy = log.between(1.0, 4.0).unwrap();
    assert!((energy.joules - 11.0).abs() < 1e-9 && energy.seconds == 3.0 && energy.scope == Scope::Meter);
    for (content, expected) in [
        ("", "has no line of `time,watts`"),
        ("5\n6\n", "has no column of times"),
        ("time,volts\n1,2\n", "its header names no power"),
    ] {
        let refusal = read(content).unwrap_err().to_string();
        assert!(refusal.contains("log.csv: ") && refusal.contains(expected), "{refusal}");
    }
    assert!(MeterLog::read(&tree.0).unwrap_err().to_string().contains("is no file that has an end"));
    assert!(MeterLog::read(&tree.path("absent")).is_err());
}
