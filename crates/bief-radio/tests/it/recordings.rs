//! Real recordings: every packet of every whole frame, none wrong.

use std::path::{Path, PathBuf};

use crate::common::{PACKET, receive, receive_replicated};
use bief_radio::{Recording, SampleFormat};
use serde_json::Value;

fn shared(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if !folder.is_dir() {
        println!("skipped: {} not found", folder.display());
        return None;
    }
    Some(folder)
}

/// The DVB-S2 recordings and their descriptions.
fn recordings(folder: &Path) -> Vec<(PathBuf, Value)> {
    let mut found: Vec<(PathBuf, Value)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sigmf-meta"))
        .map(|path| {
            let meta: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            (path, meta["global"].clone())
        })
        .filter(|(_, facts)| facts["dvbs2:modcod"].is_number())
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_packet_of_every_whole_frame_is_received_and_none_is_wrong() {
    let Some(folder) = shared("iq") else { return };
    let mut decoded = 0;
    for (path, facts) in recordings(&folder) {
        let payload = std::fs::read(folder.join(facts["dvbs2:payload_file"].as_str().unwrap())).unwrap();
        let range = facts["dvbs2:ts_packets_complete"].as_array().unwrap();
        let [first, end] = [&range[0], &range[1]].map(|packet| packet.as_u64().unwrap() as usize);
        let samples_per_symbol = facts["core:sample_rate"].as_f64().unwrap();
        let mut one_core = None;
        for replicas in [1, 3] {
            let recording = Recording::open(&path, None).unwrap();
            let (received, figures) = receive_replicated(recording, samples_per_symbol, replicas);
            assert_eq!(one_core.get_or_insert(figures.clone()), &figures, "{}", path.display());
            let expected = &payload[first * PACKET..end * PACKET];
            assert!(
                received == expected,
                "{}: {} packets, not {}",
                path.display(),
                received.len() / PACKET,
                end - first
            );
        }
        decoded += 1;
    }
    assert_eq!(decoded, 17);
}

#[test]
fn recordings_of_s2x_are_received_whole() {
    let Some(folder) = shared("iq_s2x") else { return };
    let mut decoded = 0;
    for (path, facts) in recordings(&folder) {
        let payload = std::fs::read(folder.join(facts["dvbs2:payload_file"].as_str().unwrap())).unwrap();
        let range = facts["dvbs2:ts_packets_complete"].as_array().unwrap();
        let [first, end] = [&range[0], &range[1]].map(|packet| packet.as_u64().unwrap() as usize);
        let (received, _) = receive_replicated(Recording::open(&path, None).unwrap(), 2.0, 2);
        assert!(received == payload[first * PACKET..end * PACKET], "{}: {}", path.display(), received.len() / PACKET);
        decoded += 1;
    }
    assert_eq!(decoded, 16);
}

#[test]
fn frames_of_all_kinds_follow_each_other() {
    let Some(folder) = shared("iq_s2x") else { return };
    // Frames of DVB-S2 and DVB-S2X, dummy frames, a VL-SNR frame, and one of a reserved PLS, which is passed over by its length.
    let path = folder.join("dvbs2x_acm_mix_pilots_ro10_noisy.sigmf-meta");
    let payload = std::fs::read(folder.join("../iq/payload_dev.ts")).unwrap();
    let (received, figures) = receive_replicated(Recording::open(&path, None).unwrap(), 2.0, 2);
    assert_eq!((figures.frames, figures.frame_errors, figures.missed_headers, figures.losses), (26, 0, 0, 0));
    assert_eq!((figures.dummy_frames, figures.other_frames), (7, 1));
    assert_eq!((received.len() / PACKET, figures.packet_errors, figures.gaps), (348, 0, 0));
    assert!(received == payload[..348 * PACKET]);
}

#[test]
fn the_sample_that_ships_is_received_whole() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    let (received, figures) = receive_replicated(Recording::open(&path, None).unwrap(), 2.0, 2);
    // 41 whole frames after the cut one: packets 10 to 394, numbered in bytes 4 to 7.
    let numbers: Vec<u32> =
        received.chunks_exact(PACKET).map(|packet| u32::from_be_bytes(packet[4..8].try_into().unwrap())).collect();
    assert_eq!(numbers, (10..395).collect::<Vec<_>>());
    assert!(received.chunks_exact(PACKET).all(|packet| packet[..3] == [0x47, 0x01, 0x00]));
    let (same, on_one_core) =
        receive(std::fs::read(path.with_extension("sigmf-data")).unwrap(), SampleFormat::Ci8, 2.0);
    assert!(same == received);
    assert_eq!(figures, on_one_core, "what replicas tell is what one core tells");
    assert_eq!((figures.frames, figures.packets), (41, 385));
}
