//! `bief ip`, and the IP packets of `bief rx` and `bief tx`.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bief_dsp::dvbs2::RollOff;
use bief_ip::gse::Encapsulator;
use bief_ip::pcap::{PcapReader, PcapWriter};

use crate::common::{Folder, sample, stderr};

/// IP packets of many lengths.
pub(crate) fn packets(count: u16) -> Vec<Vec<u8>> {
    let packet = |number: u16| {
        let len = 20 + number * 97 % 1481;
        let mut packet: Vec<u8> = (0..len).map(|byte| ((byte * 7) ^ number) as u8).collect();
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet
    };
    (0..count).map(packet).collect()
}

/// A capture of them.
pub(crate) fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file).unwrap();
    packets.iter().for_each(|packet| writer.write(packet, None).unwrap());
    file
}

fn read(file: &[u8]) -> Vec<Vec<u8>> {
    let (mut reader, mut all, mut packet) = (PcapReader::new(file).unwrap(), Vec::new(), Vec::new());
    while reader.read(&mut packet).unwrap() {
        all.push(packet.clone());
    }
    all
}

/// BBFRAMEs of 384 bytes with these packets.
fn bbframes(packets: &[Vec<u8>]) -> Vec<u8> {
    let (mut encapsulator, mut waiting) = (Encapsulator::new(RollOff::R20), packets.iter());
    let mut file = Vec::new();
    let mut frame = [0; 384];
    while encapsulator.fill(&mut frame, |next| waiting.next().map(|packet| next.clone_from(packet)).is_some()) {
        file.extend_from_slice(&frame);
    }
    file
}

#[test]
#[ignore = "long: part of .ci/run"]
fn packets_that_are_transmitted_come_back() {
    let folder = Folder::new("ip-loop");
    let sent = packets(25);
    folder.write("in.pcap", pcap(&sent));
    folder.succeed("tx in.pcap --gse -o x.sigmf-meta --modcod 8psk-8/9 --frame short".split(' '));
    let table = folder.succeed("rx x.sigmf-meta --ip out.pcap --cores 1".split(' '));
    assert!(table.contains("IP packets      25 (") && table.contains("IP packets to   out.pcap"), "{table}");
    assert_eq!(read(&folder.read("out.pcap")), sent);
    assert!(!folder.path("x.bin").exists() && !folder.path("x.ts").exists(), "IP packets alone were asked for");
    folder.succeed("rx x.sigmf-meta --bbframes --cores 1".split(' '));
    folder.succeed("rx x.sigmf-meta --bbframes --l3 -o l3.bbf --ip again.pcap --cores 1".split(' '));
    assert_eq!(read(&folder.read("again.pcap")), sent);
    assert_eq!(folder.read("l3.bbf")[0], 0xB8);
    for (file, told) in [("x.bbf", "BBFRAMEs without padding"), ("l3.bbf", "with headers of a receiver (L.3)")] {
        let table = folder.succeed(["ip", file, "-o", "y.pcap", "--cores", "1"]);
        assert!(table.contains(told), "{table}");
        assert_eq!(read(&folder.read("y.pcap")), sent, "{file}");
    }
    // Both at once, each to its file.
    let json = folder.succeed("rx x.sigmf-meta --ip both.pcap -o both.bin --cores 1 --json".split(' '));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["outputs"], serde_json::json!(["both.bin", "both.pcap"]));
    assert_eq!((&json["ip"][0]["packets"], &json["ip"][0]["encapsulation"]), (&25.into(), &"GSE".into()));
    assert_eq!(read(&folder.read("both.pcap")), sent);
    assert!(!folder.read("both.bin").is_empty());
}

#[test]
#[ignore = "long: part of .ci/run"]
fn published_streams_give_every_packet() {
    let shared = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ip"));
    if !shared.is_dir() {
        println!("skipped: {} not found", shared.display());
        return;
    }
    let folder = Folder::new("ip-published");
    for (file, option, expected) in [
        ("gse_hem.bbf", "", "gse_hem"),
        ("gse_mis.bbf", "--isi=7", "gse_mis.isi7"),
        ("gse_damaged.bbf", "--observe", "gse_damaged"),
        ("mpe.ts", "--pid=514", "mpe.pid514"),
        ("ule.ts", "", "ule"),
    ] {
        let input = shared.join(file);
        let options = ["ip", input.to_str().unwrap(), "-o", "out.pcap", "--cores=1", option];
        folder.succeed(options.into_iter().filter(|option| !option.is_empty()));
        let expected = std::fs::read(shared.join(format!("{expected}.expected.pcap"))).unwrap();
        assert!(read(&folder.read("out.pcap")) == read(&expected), "{file} {option}");
    }
}

#[test]
fn what_comes_through_a_pipe_goes_through_a_pipe() {
    let folder = Folder::new("ip-pipe");
    let sent = packets(30);
    let input = folder.write("x.bbf", bbframes(&sent));
    let output = folder.command().args(["ip", "-", "-o", "-"]).stdin(File::open(&input).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(read(&output.stdout), sent);
    assert!(stderr(&output).contains("standard input: BBFRAMEs of 384 bytes"), "{}", stderr(&output));
    // Nobody reads what is written.
    let mut child = folder
        .command()
        .args(["ip", "x.bbf", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
#[ignore = "long: part of .ci/run"]
fn wrong_inputs_and_outputs_are_told() {
    let folder = Folder::new("ip-wrong");
    let frames = bbframes(&packets(30));
    folder.write("x.bbf", &frames);
    folder.write("cut.bbf", &frames[..frames.len() - 100]);
    folder.write("empty", "");
    folder.write("text", "neither of these\n".repeat(100));
    folder.write("x.ci8", sample());
    folder.write("there.pcap", "mine");
    folder.write("there.bbf", &frames);
    let null: Vec<u8> = [&[0x47, 0x1F, 0xFF, 0x10][..], &[0xFF; 184]].concat();
    folder.write("null.ts", null.repeat(20));
    folder.write("cut.ts", &null.repeat(20)[..20 * 188 - 38]);
    folder.write("ng.pcap", [0x0A, 0x0D, 0x0D, 0x0A].repeat(20));
    for (command, told) in [
        ("ip absent.bbf", "No such file"),
        ("ip . -o a.pcap", "directory"),
        ("ip empty", "is empty"),
        ("ip text", "neither BBFRAMEs nor a transport stream"),
        ("ip x.ci8", "received by `bief rx --ip`"),
        ("ip null.ts --isi 3", "leave out --isi"),
        ("ip null.ts -o a.pcap", "carries none by GSE, MPE or ULE"),
        ("ip null.ts -o a.pcap --pid 5", "does PID 5 carry"),
        ("ip x.bbf --isi 3 -o a.pcap", "have an input stream 3"),
        ("ip cut.bbf -o cut.pcap", "ends inside a BBFRAME (284 bytes of it)"),
        ("ip cut.ts -o a.pcap", "ends inside a packet (150 of 188 bytes of it)"),
        ("ip x.bbf -o x.bbf", "would replace the input"),
        ("ip x.bbf -o a.pcap --json ./a.pcap", "would replace"),
        ("ip there.bbf", "--force"),
        ("ip x.bbf -o /dev/full", "No space left"),
        ("ip x.bbf -o absent/x.pcap", "there is no folder"),
        ("ip x.bbf -o tun:0123456789abcdef", "1 to 15 letters or digits"),
        ("ip x.bbf -o zigbee://x:1", "nothing opens `zigbee:`"),
        ("ip -", "give -o OUT.pcap"),
        ("ip x.bbf -o - --json", "give --json a file"),
        ("rx --ip - -o -", "cannot both go to standard output"),
        ("rx --ip - --json", "give --json a file"),
        ("rx --ip none.pcap --force --cores 1", "it carries no IP packets"),
        ("rx --ip a.pcap --bbframes -o a.pcap", "would replace"),
        ("rx --ip there.bbf/x", "there is no folder"),
        ("tx ng.pcap --gse -o y.sigmf-meta --modcod qpsk-1/2 --frame short", "editcap -F pcap"),
        ("tx text --gse -o y.sigmf-meta --modcod qpsk-1/2 --frame short", "text: not a pcap file"),
    ] {
        let message = folder.fail(command.split(' '));
        assert!(message.contains(told), "{command}: {message}");
    }
    assert_eq!(folder.read("there.pcap"), b"mine");
    assert_eq!(folder.read("x.bbf"), frames);
    assert!(read(&folder.read("cut.pcap.part")).len() > 20, "what came before the cut is kept");
}

#[test]
fn packets_reach_this_machines_network() {
    let folder = Folder::new("ip-tun");
    folder.write("x.bbf", bbframes(&packets(30)));
    // Namespaces of users and networks are not allowed everywhere.
    let in_namespace = |command: &str| {
        Command::new("unshare").args(["-rn", "sh", "-c", command]).current_dir(folder.path("")).output()
    };
    let is_allowed = in_namespace("test -w /dev/net/tun && ip link show lo");
    if !is_allowed.is_ok_and(|output| output.status.success()) {
        println!("skipped: no TUN device in a namespace of one's own (unshare -rn)");
        return;
    }
    let bief = env!("CARGO_BIN_EXE_bief");
    let script = format!(
        "ip tuntap add mode tun name sat0 && {bief} ip x.bbf -o tun:sat0 --cores 1 && echo RECEIVED && ip -s link show sat0"
    );
    let output = in_namespace(&script).unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = String::from_utf8_lossy(&output.stdout);
    let (table, link) = told.split_once("RECEIVED").unwrap();
    assert!(table.contains("IP packets  30 (") && table.contains("tun:sat0"), "{table}");
    let received = link.lines().skip_while(|line| !line.contains("RX:")).nth(1).unwrap();
    assert_eq!(received.split_whitespace().nth(1), Some("30"), "{link}");
}
