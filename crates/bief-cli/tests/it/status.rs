//! What the exit status tells whoever started a command: a queue of jobs does something else for each.

use std::net::TcpListener;

use crate::common::{Folder, packets, sample};

#[test]
#[ignore = "long: part of .ci/run"]
fn each_kind_of_failure_has_a_status() {
    let folder = Folder::new("status");
    folder.write("x.ci8", sample());
    folder.write("cut.ci8", &sample()[..200_001]);
    folder.write("noise.ci8", packets(1000));
    folder.write("empty.ci8", "");
    folder.write("text.sigmf-meta", "{");
    folder.write("in.ts", packets(10));
    folder.write("short.ts", &packets(10)[..200]);
    folder.write("good.toml", "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'absent.ci8'\n");
    folder.write("bad.toml", "[[task]]\nname = 'read'\nkind = 'radio.raed'\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("--page=:{}", taken.local_addr().unwrap().port());
    // A port that nobody listens to, now that it is free again.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let away = format!("tcp://127.0.0.1:{free}?format=cu8");
    let tx = "-o t.sigmf-meta --modcod qpsk-1/2 --frame short";
    for (command, status) in [
        ("rx x.ci8 --sps 2", 0),
        // Wrong use: of options, of chain files, of plans, of files that are there.
        ("rx x.ci8 --sps two", 2),
        ("rx x.ci8 --sps 99", 2),
        ("rx x.ci8 --sps 2 --gold 262142", 2),
        ("rx x.ci8 --sps 2", 2),
        ("rx x.ci8 --sps 2 -o x.ci8", 2),
        ("rx x.ci8 --sps 2 -o no/folder", 2),
        ("rx --strategy nonsense", 2),
        ("nbfm x.ci8 --rate 576e3 --deviation -1 -o n.wav", 2),
        ("run bad.toml", 2),
        ("plan text.sigmf-meta", 2),
        ("tx in.ts -o t.iq --modcod qpsk-1/2 --frame short", 2),
        // No signal.
        ("rx noise.ci8 --sps 2", 65),
        ("rx noise.ci8", 65),
        ("rx --isi 3", 65),
        ("rx --ip out.pcap", 65),
        ("ip in.ts", 65),
        // Input that is not there, or is no such input.
        ("rx absent.ci8 --sps 2", 66),
        ("rx empty.ci8 --sps 2", 66),
        ("rx text.sigmf-meta", 66),
        ("nbfm absent.ci8 --rate 576e3", 66),
        ("ip absent.bbf", 66),
        ("ip text.sigmf-meta", 66),
        ("meteors absent.y4m", 66),
        ("run absent.toml", 66),
        ("run good.toml", 66),
        ("plan absent.json", 66),
        (&format!("tx absent.ts {tx}"), 66),
        // Received, or transmitted, in part.
        ("rx cut.ci8 --sps 2", 74),
        (&format!("tx short.ts {tx}"), 74),
        // What others have, or that is not there now.
        (&format!("rx x.ci8 --sps 2 -o y.ts {page}"), 75),
        (&format!("rx {away} --sps 2 -o y.ts"), 75),
    ] {
        let output = folder.command().args(command.split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let left = |name: &str| folder.path(name).exists();
    assert!(left("cut.ts.part") && left("t.sigmf-data.part") && left("t.sigmf-meta.part"));
    assert!(!left("n.wav") && !left("y.ts") && !left("y.ts.part") && !left("t.sigmf-meta"));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn a_machine_that_cannot_is_another_failure_than_wrong_use() {
    let folder = Folder::new("status-machine");
    let Ok(full) = std::fs::File::create("/dev/full") else {
        eprintln!("skipped: there is no /dev/full");
        return;
    };
    let output = folder.command().args(["plan", "mac_studio"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (status, message) = folder.failure(["rx", "-o", "/dev/full"]);
    assert_eq!(status, 74, "{message}");
}
