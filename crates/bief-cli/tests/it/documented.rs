//! Commands of the README and the book, run as they are shown.

use crate::common::{Folder, packets, sample};
use crate::ip::{packets as ip_packets, pcap};
use crate::nn;

/// Each command of this program that begins a line between fences, without its comment.
fn shown(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut is_shell = false;
    let lines = text.lines().filter(|line| {
        if line.starts_with("```") {
            is_shell = *line == "```sh";
        }
        is_shell && line.starts_with("bief ")
    });
    lines.map(|line| line.split('#').next().unwrap().trim_end().to_owned()).collect()
}

/// What takes long, needs what is not here, or is a program of its own.
fn is_left_out(command: &str) -> bool {
    let elsewhere = [
        "bief lab ",
        "bief map ",
        "bief power read",
        "bief radio",
        "bief nbfm --pace",
        "bief realtime nbfm",
        "bief realtime rx",
        "bief run crates/",
    ];
    elsewhere.iter().any(|start| command.starts_with(start))
        || [" | ", "--refine", "--radio driver=rtlsdr", "chain.toml", ".mp4"].iter().any(|part| command.contains(part))
}

#[test]
#[ignore = "long: part of .ci/run"]
fn commands_do_what_the_pages_say() {
    let mut count = 0;
    for page in [
        "README.md",
        "book/src/plan.md",
        "book/src/dvbs2-receiver.md",
        "book/src/real-time.md",
        "book/src/mapping.md",
        "book/src/neural-networks.md",
    ] {
        let folder = Folder::new(&format!("documented-{}", page.replace('/', "-")));
        folder.write("in.ts", packets(60));
        let recording = |name: &str, rate: &str| {
            folder.write(&format!("{name}.sigmf-data"), sample());
            let meta = format!(r#"{{"global": {{"core:datatype": "ci8", "core:sample_rate": {rate}}}}}"#);
            folder.write(&format!("{name}.sigmf-meta"), meta);
        };
        recording("capture", "2.0");
        folder.write("in.pcap", pcap(&ip_packets(5)));
        folder.succeed("tx in.pcap --gse -o carrier.sigmf-meta --modcod qpsk-8/9 --frame short".split(' '));
        let profile = include_str!("../../data/profiles/ai370.json");
        folder.write("profile.json", profile);
        let here = bief::Machine::here().platform();
        let watts = |kind: &bief::schedule::CoreKind| bief::schedule::CoreKind { watts: Some(3.0), ..kind.clone() };
        let laptop = bief::schedule::Platform::new(here.kinds().iter().map(watts).collect::<Vec<_>>()).unwrap();
        folder.write("laptop.json", laptop.to_json());
        let has_engine = nn::prepare(&folder);
        std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data"), folder.path("data")).unwrap();
        let is_run =
            |command: &String| !is_left_out(command) && (has_engine || command.split(' ').nth(1) != Some("nn"));
        for command in shown(page).into_iter().filter(is_run) {
            let _ = std::fs::remove_file(folder.path("capture.ts"));
            match command.starts_with("bief nbfm capture") {
                // There is no voice in the recording that serves for all others.
                true => folder.succeed(["nbfm", "capture.sigmf-meta", "--rate", "576e3", "--carrier", "0", "--fixed"]),
                false => folder.succeed(words(&command)),
            };
            count += 1;
        }
    }
    assert!(count >= 15, "{count} commands");
}

/// Words, some of them in quotes, without the name of the program.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.skip(1).collect()
}
