//! The whole receiver allocates nothing per frame, whether frames are of one kind or of many.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bief::{Application, Chain, source};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::RollOff;
use bief_ip::gse::Encapsulator;
use bief_radio::dvbs2::{Figures, Receiver, Settings, Transmitter, frame_list};
use bief_radio::ip::{IpFigures, IpOutput, IpReceiver, IpSettings};
use bief_radio::{AudioFormat, NarrowbandFm, Recording, SampleFormat, WriteAudio};
use common::{packets, recorded, samples, transmitter};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Frames received of the first so many bytes, which can be read at any place or once, and allocations that the run took.
fn run(bytes: &[u8], is_stored: bool) -> (u64, u64) {
    let recording = match is_stored {
        true => Recording::from_memory("test", SampleFormat::Ci16, bytes),
        false => Recording::from_reader("test", SampleFormat::Ci16, std::io::Cursor::new(bytes.to_vec())),
    };
    let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap();
    let program = receiver.keep_symbols().keep_spectrum().to(std::io::sink()).program().unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let report = program.run().unwrap();
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let figures = Figures::of(&report.figures);
    assert_eq!((figures.frame_errors, figures.losses), (0, 0));
    (figures.frames, allocations)
}

/// The counter is one for all.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn narrowband_fm_allocates_nothing_per_frame() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |samples: usize| {
        let receiver = NarrowbandFm { block: 744, ..NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000) };
        let mut chain = Chain::new();
        let noise: Vec<u8> = (0..2 * samples).map(|k| (k * k / 7) as u8).collect();
        let recording = Recording::from_memory("test", SampleFormat::Ci8, noise);
        let mut samples = chain.add(receiver.source(recording).unwrap(), ());
        chain.add(source::pace(1e9).0, &mut samples);
        let audio = receiver.receive(&mut chain, &mut samples).unwrap();
        chain.add(WriteAudio::new(std::io::sink(), AudioFormat::S16), &audio);
        let program = chain.build().unwrap();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        program.run().unwrap();
        ALLOCATIONS.load(Ordering::Relaxed) - before
    };
    run(744_000);
    assert_eq!(run(744_000), run(74_400));
}

#[test]
fn twice_the_frames_take_no_more_allocations() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let lists = ["qpsk-8/9:short:pilots", "qpsk-3/4:short, 8psk-3/5:short:pilots, dummy, 32apsk-3/4:normal:pilots"];
    for (list, is_stored) in [(lists[0], true), (lists[1], true), (lists[0], false)] {
        let frames = frame_list(list).unwrap();
        let stream = packets(3000, 1);
        let sent = samples(&Transmitter { frames, ..transmitter(true) }, &stream);
        let channel = Channel { gain: 0.2, noise_power: Channel::noise_for(16.0, 2.0), ..Channel::clear() };
        let bytes = recorded(&sent, channel);
        let half = bytes.len() / 8 * 4;
        // The first run of the process makes what all share.
        run(&bytes[..half], is_stored);
        let (some, allocations) = run(&bytes[..half], is_stored);
        let (twice, more) = run(&bytes, is_stored);
        assert!(some > 20 && twice > 3 * some / 2 && allocations > 0, "{some} and {twice} frames");
        // What is kept for the last kind of frame may come with the later ones.
        assert!(more <= allocations + 8, "{list}: {allocations} for {some} frames, {more} for {twice}");
    }
}

#[test]
fn ip_packets_allocate_nothing_per_frame() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut packet = vec![7; 1500];
    (packet[0], packet[2], packet[3]) = (0x45, 5, 220);
    let mut encapsulator = Encapsulator::new(RollOff::R20);
    let mut frames = |count: usize| -> Vec<u8> {
        let frame = |_| {
            let mut frame = vec![0; 879];
            encapsulator.fill(&mut frame, |next| {
                next.clone_from(&packet);
                true
            });
            frame
        };
        (0..count).flat_map(frame).collect()
    };
    let mut run = |count: usize| {
        let receiver = IpReceiver::find(std::io::Cursor::new(frames(count)), IpSettings::default()).unwrap();
        let program = receiver.to(IpOutput::pcap(std::io::sink())).program().unwrap();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let report = program.run().unwrap();
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        let figures = IpFigures::of(&report.figures);
        assert_eq!((figures.bbframes, figures.damaged), (count as u64, 0));
        assert!(figures.packets as usize > count / 2);
        allocations
    };
    // What runs the tests may allocate meanwhile, too, but not each time.
    let mut least = |count| (0..3).map(|_| run(count)).min();
    assert_eq!(least(200), least(1000));
}
