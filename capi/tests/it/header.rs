//! The header that ships is the one that the code makes, and changes only with its version.

use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// What cbindgen makes, without what is said to callers from Rust alone.
fn made() -> String {
    let config = cbindgen::Config::from_file(folder().join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new().with_crate(folder()).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    let mut lines: Vec<&str> = Vec::new();
    let mut is_safety = false;
    let text = String::from_utf8(text).unwrap();
    for line in text.lines() {
        if line == "// # Safety" {
            is_safety = true;
            lines.pop_if(|line| *line == "//");
        }
        is_safety &= line.starts_with("//");
        if !is_safety {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

fn kept() -> String {
    std::fs::read_to_string(folder().join("include/bief.h")).unwrap()
}

/// What programs are compiled with: no comments, no spaces.
fn declarations(header: &str) -> String {
    let code = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect::<String>();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).flat_map(str::split_whitespace).collect()
}

#[test]
fn the_header_is_the_one_that_the_code_makes() {
    if std::env::var_os("KEEP_HEADER").is_some() {
        std::fs::write(folder().join("include/bief.h"), made()).unwrap();
    }
    assert!(
        made() == kept(),
        "include/bief.h is not what the code makes: run KEEP_HEADER=1 cargo test --manifest-path capi/Cargo.toml header, and look at \
         the difference"
    );
}

/// `include/versions` tells of each version of the interface what its declarations were, as a number. What is there stays.
#[test]
fn declarations_change_only_with_their_version() {
    let header = kept();
    let number = |name: &str| {
        let line = header.lines().find(|line| line.starts_with(&format!("#define {name} "))).unwrap();
        line.rsplit(' ').next().unwrap()
    };
    let version = format!("{}.{}", number("BIEF_ABI_MAJOR"), number("BIEF_ABI_MINOR"));
    // FNV-1a: the same number everywhere, for ever.
    let hash = declarations(&header)
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let now = format!("{hash:016x}");
    let versions = std::fs::read_to_string(folder().join("include/versions")).unwrap();
    let known = versions.lines().filter_map(|line| line.split_once(' ')).find(|(known, _)| *known == version);
    assert_eq!(
        known,
        Some((&*version, &*now)),
        "the declarations of bief.h changed: raise BIEF_ABI_MINOR for an addition, BIEF_ABI_MAJOR and the soname for anything else, and \
         add the line `version {now}` to include/versions"
    );
}

#[test]
fn the_version_of_the_soname_is_the_major_one() {
    assert!(include_str!("../../build.rs").contains("libbief.so.0"));
    assert!(kept().contains("#define BIEF_ABI_MAJOR 0\n"));
}
