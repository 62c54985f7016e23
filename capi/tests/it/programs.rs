//! Programs in C and C++: compiled by the system's compilers against the header, linked with the library, run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the library lies that these tests are built with: beside the folder of this program.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// A folder in which the library has the name that programs look for, and in which they are compiled; one for each test.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let place = std::env::temp_dir().join(format!("bief-capi-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        std::os::unix::fs::symlink(built().join("libbief.so"), place.join("libbief.so.0")).unwrap();
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Whether the system has this program; what it lacks is told.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("skipped: there is no `{program}` here");
    }
    found
}

/// What a package needs of the compiler, if it is installed.
fn package(name: &str) -> Option<Vec<String>> {
    let output = Command::new("pkg-config").args(["--cflags", "--libs", name]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    match output.status.success() {
        true => Some(text.split_whitespace().map(str::to_owned).collect()),
        false => {
            println!("skipped: pkg-config finds no `{name}` here");
            None
        }
    }
}

/// Compiles and runs a program; answers what it wrote to standard output.
fn run(source: &Path, more: &[String], arguments: &[&Path]) -> Option<String> {
    let is_c = source.extension().is_some_and(|extension| extension == "c");
    let (compiler, standard) = if is_c { ("cc", "-std=c11") } else { ("c++", "-std=c++17") };
    if !has(compiler) {
        return None;
    }
    let name = source.file_stem().unwrap().to_str().unwrap();
    let place = Place::new(name);
    let program = place.0.join(name);
    let compiled = Command::new(compiler)
        .args([
            standard,
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-O1",
            "-g",
            "-pthread",
            "-D_POSIX_C_SOURCE=200809L",
        ])
        .arg("-I")
        .arg(folder("include"))
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(built())
        .arg("-lbief")
        .args(more)
        .arg("-lm")
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{name} does not compile:\n{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).args(arguments).env("LD_LIBRARY_PATH", &place.0).output().unwrap();
    let (shown, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{name}:\n{shown}{errors}");
    assert!(output.status.success(), "{name} fails: {}", output.status);
    Some(shown.into_owned())
}

#[test]
fn the_c_program_finds_all_as_the_header_says() {
    run(&folder("tests/programs/behaviour.c"), &[], &[&folder("../data")]);
}

#[test]
fn the_cpp_program_finds_all_as_the_header_says() {
    run(&folder("tests/programs/wrapper.cpp"), &[], &[&folder("../data")]);
}

#[test]
fn examples_run() {
    for name in ["first.c", "first.cpp", "modules.cpp"] {
        if let Some(shown) = run(&folder("examples").join(name), &[], &[]) {
            assert!(!shown.is_empty(), "{name} shows nothing");
        }
    }
}

#[test]
fn the_example_of_liquid_and_volk_runs() {
    let (Some(volk), true) = (package("volk"), Path::new("/usr/include/liquid/liquid.h").exists()) else {
        println!("skipped: install what Debian calls libliquid-dev and libvolk2-dev");
        return;
    };
    let more = [volk, vec!["-lliquid".to_owned()]].concat();
    run(&folder("examples/filters.cpp"), &more, &[]);
}

/// What the header declares is what the library exports, and nothing else.
#[test]
fn the_library_exports_what_the_header_declares() {
    if !has("nm") {
        return;
    }
    let library = built().join("libbief.so");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let symbols = String::from_utf8(output.stdout).unwrap();
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let header = std::fs::read_to_string(folder("include/bief.h")).unwrap();
    let code = header.lines().filter(|line| !line.starts_with("//"));
    let mut declared: Vec<&str> = code
        .filter(|line| line.contains('(') && !line.starts_with([' ', '}', '#']) && !line.starts_with("typedef"))
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("bief_"))
        .collect();
    exported.sort_unstable();
    declared.sort_unstable();
    assert!(declared.len() > 20);
    assert_eq!(exported, declared);
}
