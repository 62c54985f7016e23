//! Input streams through the tasks that slice and deliver them: several on a carrier, frames of every kind, frames lost.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

use crate::common::{PACKET, Shared, packets};
use bief::schedule::{Schedule, Stage};
use bief::{Chain, Flow, InOutVar, Out, Task, VarFrame};
use bief_dsp::dvbs2::{Pls, RollOff, StreamId, StreamType};
use bief_radio::dvbs2::{
    Decoding, Deliver, Figures, InputStream, ScrambleBb, Slice, StreamFigures, Transmitter, frame_list,
};
use proptest::prelude::*;

/// A channel that spoils the BBFRAMEs of those numbers, so that they cannot be read.
struct Spoil {
    spoilt: Vec<usize>,
    next: usize,
}

impl Task for Spoil {
    type In = InOutVar<u8>;
    type Out = Out<Decoding>;
    fn lens(&self, _: usize) -> bief::Result<usize> {
        Ok(1)
    }
    fn run(&mut self, mut frame: VarFrame<'_, u8>, decoding: &mut [Decoding]) -> bief::Result<Flow> {
        let sound = !self.spoilt.contains(&self.next);
        self.next += 1;
        decoding[0] = Decoding { sound, ..Decoding::default() };
        if let (Some(byte), false) = (frame.get_mut(5), sound) {
            *byte ^= 0x55;
        }
        Ok(Flow::Next)
    }
}

/// The outputs, by stream.
type Outputs = Arc<Mutex<BTreeMap<StreamId, Shared>>>;

/// Opens an output for each stream that is found, once.
fn opener(outputs: &Outputs) -> impl FnMut(StreamId) -> io::Result<Box<dyn Write + Send>> + Send + 'static {
    let outputs = Arc::clone(outputs);
    move |id| {
        let output = Shared::default();
        assert!(outputs.lock().unwrap().insert(id, output.clone()).is_none(), "{id} is opened twice");
        Ok(Box::new(output))
    }
}

/// Slices and delivers; what came out, the figures, and BBFRAMEs that could not be read.
fn through(
    inputs: Vec<InputStream>,
    frames: Vec<Pls>,
    isi: Option<u8>,
    spoilt: Vec<usize>,
) -> (BTreeMap<StreamId, Vec<u8>>, Vec<StreamFigures>, u64) {
    let outputs = Outputs::default();
    let mut chain = Chain::new();
    let (mut bbframes, _) = chain.add(Slice::new(inputs, frames, RollOff::R20).unwrap(), ());
    chain.add(ScrambleBb, &mut bbframes);
    chain.add(ScrambleBb, &mut bbframes);
    let decoding = chain.add(Spoil { spoilt, next: 0 }, &mut bbframes);
    let deliver = isi.into_iter().fold(Deliver::new(opener(&outputs)), Deliver::of_stream);
    chain.add(deliver, (&bbframes, &decoding));
    let figures = Figures::of(&chain.build().unwrap().run().unwrap().figures);
    let outputs = outputs.lock().unwrap().iter().map(|(&id, output)| (id, output.take())).collect();
    (outputs, figures.streams, figures.unreadable_frames)
}

fn frame_kinds() -> impl Strategy<Value = Vec<Pls>> {
    let kinds: Vec<Pls> = Pls::of_s2().filter(|pls| pls.fec().is_some() || *pls == Pls::DUMMY).collect();
    let lists = prop::collection::vec(prop::sample::select(kinds), 1..6);
    lists.prop_filter("some data", |list| list.iter().any(|pls| !pls.is_dummy()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_stream_of_a_carrier_comes_back(
        kinds in prop::collection::vec((0u8..4, 0usize..200), 1..5),
        frames in frame_kinds(),
        isi in prop::option::of(0u8..5),
        seed in any::<u64>(),
    ) {
        let mut sent = BTreeMap::new();
        let alone = kinds.len() == 1 && isi.is_none();
        let inputs = kinds.iter().zip(0u8..).map(|(&(kind, count), isi)| {
            let mut stream = packets(count, seed ^ u64::from(isi));
            let (input, kind) = match kind {
                0 => (InputStream::transport(Cursor::new(stream.clone())), StreamType::Transport),
                1 => {
                    for packet in stream.chunks_exact_mut(PACKET) {
                        packet[2] = 0;
                        if packet[3] > 100 {
                            packet.fill(0xFF);
                            packet[..4].copy_from_slice(&[0x47, 0x1F, 0xFF, 0x10]);
                        }
                    }
                    (InputStream::without_null_packets(Cursor::new(stream.clone())), StreamType::Transport)
                }
                2 => {
                    stream.truncate(stream.len() / 94 * 94);
                    stream.iter_mut().step_by(94).for_each(|byte| *byte = 0xB8);
                    (InputStream::packets(Cursor::new(stream.clone()), 94), StreamType::GenericPacketised)
                }
                _ => {
                    stream.truncate(stream.len().saturating_sub(3));
                    (InputStream::continuous(Cursor::new(stream.clone())), StreamType::GenericContinuous)
                }
            };
            let isi = (!alone).then_some(isi);
            sent.insert(StreamId { isi, kind }, stream);
            if let Some(isi) = isi { input.of_isi(isi) } else { input }
        });
        let inputs = inputs.collect();
        let (received, figures, unreadable) = through(inputs, frames, isi, vec![]);
        if isi.is_some() {
            sent.retain(|id, _| id.isi == isi);
        }
        prop_assert!(received == sent, "{:?} sent", sent.keys());
        prop_assert_eq!((figures.len(), unreadable), (kinds.len(), 0));
        for figures in figures {
            prop_assert_eq!(figures.delivered, isi.is_none() || figures.isi == isi);
            let bytes = sent.get(&figures.id()).map_or(0, |stream| stream.len() as u64);
            prop_assert_eq!((figures.bytes, figures.errors, figures.gaps), (bytes, 0, 0));
            let unit = if figures.kind == StreamType::Transport { PACKET as u64 } else { 94 };
            let counted = if figures.kind == StreamType::GenericContinuous { 0 } else { bytes / unit };
            prop_assert_eq!(figures.packets, counted);
        }
    }

    #[test]
    fn lost_frames_keep_the_number_of_packets(
        frames in frame_kinds(),
        spoilt in prop::collection::vec(4usize..40, 0..12),
        seed in any::<u64>(),
    ) {
        // So many frames with data, in full ones; dummy frames carry none, and nothing of them is lost.
        let data = |index: &usize| !frames[index % frames.len()].is_dummy();
        let numbers: Vec<usize> = (0..1_000).filter(data).take(48).collect();
        let bytes: usize = numbers.iter().map(|&n| frames[n % frames.len()].fec().unwrap().max_dfl() / 8).sum();
        let stream = packets(bytes / PACKET, seed);
        let spoilt: Vec<usize> = spoilt.iter().map(|&nth| numbers[nth]).collect();
        let input = InputStream::transport(Cursor::new(stream.clone()));
        let (received, figures, unreadable) = through(vec![input], frames, None, spoilt.clone());
        let received = received.values().next().unwrap();
        prop_assert_eq!(received.len(), stream.len());
        let mut wrong = 0;
        for (received, sent) in received.chunks(PACKET).zip(stream.chunks(PACKET)) {
            prop_assert!(received == sent || received[1] & 0x80 != 0);
            wrong += u64::from(received[1] & 0x80 != 0);
        }
        prop_assert_eq!((figures[0].errors, figures[0].gaps), (wrong, 0));
        let mut distinct = spoilt;
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(unreadable, distinct.len() as u64);
        prop_assert!(figures[0].replaced >= 1 || distinct.is_empty());
    }
}

#[test]
fn a_transmitter_makes_the_same_on_many_cores() {
    let frames = frame_list("qpsk-1/4:short,8psk-3/5:normal:pilots,dummy,32apsk-9/10:normal,16apsk-2/3:short").unwrap();
    let transmitter =
        Transmitter { frames, gold_code: 262_141, samples_per_symbol: 2.5, ..Transmitter::new(Pls::DUMMY) };
    let stream = packets(300, 1);
    let make = |out: Shared| {
        let chain = transmitter.chain(Cursor::new(stream.clone()), out).unwrap();
        chain.build().unwrap()
    };
    let [alone, many] = [Shared::default(), Shared::default()];
    let report = make(alone.clone()).run().unwrap();
    let profile = make(Shared::default()).profile(5).unwrap();
    let kind = &profile.kinds()[0];
    let replicable = profile.tasks().iter().filter(|task| task.replicable).count();
    assert_eq!((profile.tasks().len(), replicable), (8, 5));
    let stages = [Stage::new(1, 1, kind), Stage::new(4, 3, kind), Stage::new(3, 1, kind)];
    let schedule = Schedule::new("by hand", stages, &profile).unwrap();
    make(many.clone()).pipeline(&schedule).unwrap().run().unwrap();
    let (alone, many) = (alone.take(), many.take());
    let symbols = [8_190, 22_194, 3_330, 13_050, 4_140];
    let frames = report.frames as usize;
    let expected: usize = (0..frames).map(|frame| symbols[frame % 5]).sum();
    assert_eq!(alone.len(), expected * 5 / 2 * 4);
    assert!(alone == many);
}

#[test]
fn a_second_stream_has_no_place_in_a_single_output() {
    let inputs = [1, 2].map(|isi| InputStream::transport(Cursor::new(packets(30, 1))).of_isi(isi));
    let mut chain = Chain::new();
    let (mut frames, _) = chain.add(Slice::new(inputs, [Pls::new(43)], RollOff::R20).unwrap(), ());
    let decoding = chain.add(Spoil { spoilt: vec![], next: 0 }, &mut frames);
    chain.add(Deliver::single(Shared::default()), (&frames, &decoding));
    let error = chain.build().unwrap().run().unwrap_err().to_string();
    assert!(
        error.contains("the carrier has a second stream, a transport stream of ISI 2: choose one by its ISI"),
        "{error}"
    );
}

/// What is said of inputs that cannot be.
fn refused(inputs: Vec<InputStream>, frames: &[Pls]) -> String {
    Slice::new(inputs, frames, RollOff::R20).err().unwrap().to_string()
}

#[test]
fn inputs_that_cannot_be_are_refused() {
    let input = || InputStream::transport(io::empty());
    let pls = [Pls::new(43)];
    assert_eq!(refused(vec![], &pls), "there is no input stream: give at least one");
    let told = refused(vec![input().of_isi(1), input()], &pls);
    assert_eq!(told, "several input streams need an input stream identifier (ISI) each");
    let told = refused(vec![input().of_isi(3), input().of_isi(3)], &pls);
    assert_eq!(told, "two input streams have ISI 3: give each its own");
    let told = refused(vec![InputStream::packets(io::empty(), 9_000)], &pls);
    assert_eq!(told, "generic packets have 2 to 8191 bytes, not 9000");
    let told = refused(vec![input()], &[Pls::new(46)]);
    assert_eq!(told, "QPSK 9/10 short: DVB-S2 defines no such PLFRAME");
    assert_eq!(refused(vec![input()], &[Pls::DUMMY]), "no PLFRAME carries data: give at least one MODCOD");
}

#[test]
fn what_came_before_a_fault_is_sent() {
    let mut stream = packets(40, 1);
    stream[20 * PACKET] = 0;
    for (input, told, whole) in [
        (InputStream::transport(Cursor::new(stream.clone())), "not a transport stream from byte 3760 on", 20 * PACKET),
        (
            InputStream::transport(Cursor::new(stream[..1_000].to_vec())),
            "the transport stream ends inside a packet: 60 bytes of 188 are there",
            940,
        ),
        (
            InputStream::packets(Cursor::new(stream[..1_000].to_vec()), 94),
            "not a stream of such packets from byte 94 on: a packet of 94 bytes begins with 0x47",
            94,
        ),
    ] {
        let outputs = Outputs::default();
        let mut chain = Chain::new();
        let (mut frames, _) = chain.add(Slice::new([input], [Pls::new(42)], RollOff::R20).unwrap(), ());
        let decoding = chain.add(Spoil { spoilt: vec![], next: 0 }, &mut frames);
        chain.add(Deliver::new(opener(&outputs)), (&frames, &decoding));
        let error = chain.build().unwrap().run().unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        let received = outputs.lock().unwrap().values().next().unwrap().take();
        assert!(received == stream[..whole], "{} bytes", received.len());
    }
}
