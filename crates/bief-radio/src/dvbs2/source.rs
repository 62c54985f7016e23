//! What gives a receiver the windows of frames: one task that reads a stream, or two where samples can be read at any place.

use bief::kinds::Piece;
use bief::raw::DynWire;
use bief::{Chain, Result, VarWire, Wire};
use bief_dsp::dvbs2::{FrameSync, Pls};

use super::cut::CutFrames;
use super::read_frames::ReadFrames;
use super::stream::{Buffered, InPlace};

/// The first tasks of a receiver.
pub(super) enum Source {
    Streamed(CutFrames<Buffered>),
    /// The first looks at headers alone; the second may be replicated.
    Stored(CutFrames<InPlace>, ReadFrames),
}

impl Source {
    /// Windows, where the frame lies in each, and what kind of frame it is.
    pub(super) fn add(self, chain: &mut Chain) -> (VarWire<u8>, Wire<Option<FrameSync>>, Wire<Pls>) {
        match self {
            Self::Streamed(cut) => chain.add(cut, ()),
            Self::Stored(cut, read) => {
                let (place, sync, pls) = chain.add(cut, ());
                (chain.add(read, (&place, &sync)), sync, pls)
            }
        }
    }

    /// The same wires, of a kind's tasks.
    pub(super) fn add_piece(self, piece: &mut Piece<'_>) -> Result<Vec<DynWire>> {
        match self {
            Self::Streamed(cut) => piece.task(cut, &[]),
            Self::Stored(cut, read) => {
                let mut made = piece.task(cut, &[])?;
                made.splice(0..1, piece.part("read", read, &[&made[0], &made[1]])?);
                Ok(made)
            }
        }
    }

    /// The first task alone, where the second is a kind's of its own.
    pub(super) fn add_cut(piece: &mut Piece<'_>, source: Self) -> Result<Vec<DynWire>> {
        match source {
            Self::Streamed(cut) => piece.task(cut, &[]),
            Self::Stored(cut, _) => piece.task(cut, &[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Cursor, Read};
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};

    use bief::report::Reading;
    use bief::schedule::Stage;
    use bief::{Flow, In, InVar, Result, Task};
    use bief_dsp::channel::Channel;
    use num_complex::Complex32;

    use super::super::{Receiver, Settings, Transmitter, frame_list};
    use super::*;
    use crate::recording::{Recording, Samples, Stored};
    use crate::{SampleFormat, sigmf_meta};

    type Frame = (Vec<u8>, Option<FrameSync>, Pls);

    /// What the first tasks of a receiver make, and tell, of a recording.
    #[derive(Debug, Default, PartialEq)]
    struct Made {
        frames: Vec<Frame>,
        figures: Vec<(String, u64)>,
        error: Option<String>,
    }

    /// Keeps frames, and does something after each.
    struct Keep<F> {
        frames: Arc<Mutex<Vec<Frame>>>,
        after: F,
    }

    impl<F: FnMut(usize) + Send + 'static> Task for Keep<F> {
        type In = (InVar<u8>, In<Option<FrameSync>>, In<Pls>);
        type Out = ();

        fn lens(&self, _: (usize, usize, usize)) -> Result<()> {
            Ok(())
        }

        fn run(&mut self, (window, sync, pls): (&[u8], &[Option<FrameSync>], &[Pls]), (): ()) -> Result<Flow> {
            let mut frames = self.frames.lock().unwrap();
            frames.push((window.to_vec(), sync[0], pls[0]));
            (self.after)(frames.len());
            Ok(Flow::Next)
        }
    }

    fn found(recording: Recording) -> Receiver {
        Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap()
    }

    fn made(mut receiver: Receiver, replicas: u32, after: impl FnMut(usize) + Send + 'static) -> Made {
        let mut chain = Chain::new();
        let (window, sync, pls) = receiver.source().add(&mut chain);
        let frames = Arc::default();
        chain.add(Keep { frames: Arc::clone(&frames), after }, (&window, &sync, &pls));
        let program = chain.build().unwrap();
        let mut pipeline = match replicas {
            1 => program.one_core(),
            _ => program.cut(&[Stage::new(1, 1, ""), Stage::new(1, replicas, ""), Stage::new(1, 1, "")]),
        }
        .unwrap();
        let mut watch = pipeline.watch();
        let error = pipeline.run().err().map(|error| error.to_string());
        let count = |reading| if let Reading::Count(count) = reading { count } else { 0 };
        let told = watch.figures();
        let figures = told.iter().map(|figure| (figure.name.to_string(), count(figure.reading.clone()))).collect();
        Made { frames: std::mem::take(&mut *frames.lock().unwrap()), figures, error }
    }

    /// The same samples, which come once.
    fn once(bytes: u64, format: SampleFormat, reader: impl Read + Send + 'static) -> Recording {
        Recording { bytes: Some(bytes), ..Recording::from_reader("a pipe", format, reader) }
    }

    /// Both ways, of samples in memory: they make the same.
    fn both_ways(format: SampleFormat, bytes: &Arc<[u8]>) -> Made {
        let stored = made(found(Recording::from_memory("here", format, Arc::clone(bytes))), 2, |_| ());
        let streamed = made(found(once(bytes.len() as u64, format, Cursor::new(Arc::clone(bytes)))), 1, |_| ());
        assert_eq!(stored.figures, streamed.figures);
        assert_eq!(stored.frames.len(), streamed.frames.len());
        assert!(stored == streamed);
        streamed
    }

    fn figure(made: &Made, name: &str) -> u64 {
        made.figures.iter().find(|(told, _)| told == name).unwrap().1
    }

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// So many bytes of packets in PLFRAMEs of these kinds, through a channel; the recording begins inside a frame.
    fn recorded(frames: &str, bytes: usize, es_n0_db: f64) -> Arc<[u8]> {
        let frames = frame_list(frames).unwrap();
        let mut packet: Vec<u8> = (0..188).collect();
        packet[0] = 0x47;
        let stream = packet.repeat(bytes / 188);
        let out = Written::default();
        let transmitter =
            Transmitter { frames, format: SampleFormat::Cf32, level: 1.0, ..Transmitter::new(Pls::DUMMY) };
        transmitter.chain(Cursor::new(stream), out.clone()).unwrap().build().unwrap().run().unwrap();
        let sent = std::mem::take(&mut *out.0.lock().unwrap());
        let mut samples = vec![Complex32::ZERO; sent.len() / 8];
        SampleFormat::Cf32.read(&sent, &mut samples);
        let channel = Channel {
            clock_ppm: 30.0,
            start: 4321.5,
            carrier: 0.003,
            noise_power: Channel::noise_for(es_n0_db, 2.0),
            gain: 0.2,
            ..Channel::clear()
        };
        let received = channel.apply(&samples);
        let mut bytes = vec![0; 2 * received.len()];
        SampleFormat::Ci8.write(&received, &mut bytes);
        bytes.into()
    }

    fn shipped() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-data")
    }

    #[test]
    fn read_at_any_place_or_once_the_frames_are_the_same() {
        let bytes: Arc<[u8]> = std::fs::read(shipped()).unwrap().into();
        let whole = both_ways(SampleFormat::Ci8, &bytes);
        assert_eq!((whole.frames.len(), whole.error.as_deref()), (41, None));
        assert_eq!(figure(&whole, "read"), bytes.len() as u64);
        // Ended inside a frame, inside the header behind one, some symbols before the end of one, and inside a sample.
        let frame = 2 * 16_740;
        let [mut most, mut least] = [0, usize::MAX];
        for cut in [1, 130, 230, frame] {
            let made = both_ways(SampleFormat::Ci8, &bytes[..bytes.len() - cut].into());
            (most, least) = (most.max(made.frames.len()), least.min(made.frames.len()));
        }
        assert_eq!((most, least), (41, 40));
    }

    #[test]
    fn frames_of_many_kinds_and_lost_signals_are_the_same() {
        let mixed = recorded("qpsk-3/4:short, 8psk-3/5:short:pilots, dummy, 32apsk-3/4:normal:pilots", 40_000, 18.0);
        let made = both_ways(SampleFormat::Ci8, &mixed);
        assert!(made.frames.len() > 8 && figure(&made, "dummy_frames") > 2, "{:?}", made.figures);
        let very_low = recorded("qpsk-2/9:normal, bpsk-1/3:medium, qpsk-1/4:normal", 20_000, 12.0);
        let made = both_ways(SampleFormat::Ci8, &very_low);
        assert!(made.frames.iter().any(|(_, _, pls)| pls.is_vl_snr()), "{:?}", made.figures);
        // Samples that nobody marks as missing: headers are missed, and the signal is searched for.
        for piece in [100_000..101_001, 60_000..160_000] {
            let lossy = [&mixed[..piece.start * 2], &mixed[piece.end * 2..]].concat().into();
            let made = both_ways(SampleFormat::Ci8, &lossy);
            assert!(figure(&made, "losses") + figure(&made, "missed_headers") > 0, "{:?}", made.figures);
        }
        // Noise between two signals.
        let noise: Vec<u8> = (0..600_000_u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
        let made = both_ways(SampleFormat::Ci8, &[&mixed[..], &noise, &very_low].concat().into());
        assert!(figure(&made, "losses") > 0 && figure(&made, "passed_over") > 100_000, "{:?}", made.figures);
    }

    #[test]
    #[ignore = "long: part of .ci/run"]
    fn real_recordings_give_the_same_frames() {
        let mut seen = 0;
        for folder in ["iq", "iq_s2x"] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
            let Ok(entries) = std::fs::read_dir(&folder) else {
                println!("skipped: {} not found", folder.display());
                continue;
            };
            for path in entries.map(|entry| entry.unwrap().path()) {
                let is_meta = path.extension().is_some_and(|extension| extension == "sigmf-meta");
                if !is_meta || !path.file_name().unwrap().to_string_lossy().starts_with("dvbs2") {
                    continue;
                }
                let of_file = || Recording::open(&path, None).unwrap();
                let receiver = |recording: Recording| {
                    let rate = recording.sample_rate.filter(|&rate| rate < 64.0).unwrap_or(2.0);
                    Receiver::find(recording, Settings::at(rate), |_| ()).unwrap()
                };
                let mut once = of_file();
                once.samples = Samples::Once(once.samples.into_reader());
                let streamed = made(receiver(once), 1, |_| ());
                for replicas in [1, 2] {
                    let stored = made(receiver(of_file()), replicas, |_| ());
                    assert_eq!(stored.figures, streamed.figures, "{}", path.display());
                    assert!(stored == streamed && streamed.error.is_none(), "{}", path.display());
                }
                assert!(streamed.frames.len() > 2, "{}", path.display());
                seen += 1;
            }
        }
        println!("{seen} recordings");
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bief-source-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_that_is_cut_short_gives_what_a_stream_of_it_gives() {
        let folder = Folder::new("shrinks");
        let bytes = std::fs::read(shipped()).unwrap();
        let path = folder.0.join("x.ci8");
        let frame = 2 * 16_740;
        // Before the run, and after some frames of it.
        for after in [0, 5] {
            for end in [9 * frame + 1001, 10 * frame + 33, 11 * frame - 120, 20 * frame] {
                let run = |is_stored: bool| {
                    std::fs::write(&path, &bytes).unwrap();
                    let receiver = found(Recording::open(&path, None).unwrap());
                    let receiver = match is_stored {
                        true => receiver,
                        false => receiver.with(Samples::Once(Box::new(File::open(&path).unwrap()))),
                    };
                    let cut = {
                        let path = path.clone();
                        move || OpenOptions::new().write(true).open(&path).unwrap().set_len(end as u64).unwrap()
                    };
                    if after == 0 {
                        cut();
                    }
                    made(receiver, 1, move |frames| {
                        if frames == after {
                            cut()
                        }
                    })
                };
                let (stored, once) = (run(true), run(false));
                assert!(stored.error.is_none() && stored.frames.len() > 7);
                let frames = [stored.frames.len(), once.frames.len()];
                assert!(stored.frames == once.frames, "cut at {end} after {after}: {frames:?} frames");
            }
        }
    }

    #[test]
    fn a_raw_file_is_read_as_far_as_it_has_grown_and_a_described_one_as_far_as_it_went() {
        let folder = Folder::new("grows");
        let bytes = std::fs::read(shipped()).unwrap();
        std::fs::write(folder.0.join("x.sigmf-meta"), sigmf_meta(SampleFormat::Ci8, 2.0, "")).unwrap();
        for (name, expected) in [("x.ci8", 41), ("x.sigmf-data", 20)] {
            let path = folder.0.join(name);
            std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            let receiver = found(Recording::open(&path, None).unwrap());
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(made(receiver, 2, |_| ()).frames.len(), expected, "{name}");
        }
    }

    #[test]
    fn of_a_disk_that_fails_every_whole_frame_before_is_delivered_and_the_cause_is_told() {
        let bytes: Arc<[u8]> = std::fs::read(shipped()).unwrap().into();
        let frame = 2 * 16_740;
        for fails in [20 * frame, 20 * frame + 4800, 20 * frame + 5000, 30 * frame + 4560] {
            let receiver = || found(Recording::from_memory("here", SampleFormat::Ci8, Arc::clone(&bytes)));
            let failing = Stored::failing(Arc::clone(&bytes), fails);
            let once = made(receiver().with(Samples::Once(Box::new(failing.reader(0)))), 1, |_| ());
            assert!(once.error.as_ref().unwrap().contains("the disk is gone"), "{:?}", once.error);
            for replicas in [1, 2] {
                let stored = made(receiver().with(Samples::Stored(failing.clone())), replicas, |_| ());
                assert!(stored.error.as_ref().unwrap().contains("the disk is gone"), "{:?}", stored.error);
                assert!(stored.frames == once.frames, "{fails}: {}, not {}", stored.frames.len(), once.frames.len());
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_read_once() {
        let folder = Folder::new("pipe");
        let path = folder.0.join("x.ci8");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, std::fs::read(shipped()).unwrap()).unwrap()
        });
        let mut receiver = found(Recording::open(&path, None).unwrap());
        assert!(!receiver.is_stored() && matches!(receiver.rehearsed_source(1), Source::Streamed(_)));
        let mut chain = Chain::new();
        let (window, ..) = receiver.source().add(&mut chain);
        chain.add(bief::sink::for_each_var(|_: &[u8]| Ok(Flow::Next)), &window);
        let program = chain.build().unwrap();
        assert_eq!(program.tasks().count(), 2);
        assert_eq!(program.run().unwrap().frames, 41);
        writer.join().unwrap();
    }

    #[test]
    fn what_cannot_wait_is_read_once() {
        let receiver = found(Recording::open(&shipped(), None).unwrap());
        assert!(receiver.is_stored());
        let live = receiver.live().unwrap();
        assert!(!live.is_stored());
        assert_eq!(rehearsed(&live), rehearsed(&found(Recording::open(&shipped(), None).unwrap())));
        assert_eq!(made(live, 1, |_| ()).frames.len(), 41);
    }

    /// The frames of a rehearsal.
    fn rehearsed(receiver: &Receiver) -> Vec<Frame> {
        let mut chain = Chain::new();
        let (window, sync, pls) = receiver.rehearsed_source(60).add(&mut chain);
        let frames = Arc::default();
        chain.add(Keep { frames: Arc::clone(&frames), after: |_| () }, (&window, &sync, &pls));
        chain.build().unwrap().run().unwrap();
        std::mem::take(&mut *frames.lock().unwrap())
    }

    #[test]
    fn each_execution_of_a_rehearsal_has_a_frame() {
        let bytes: Arc<[u8]> = std::fs::read(shipped()).unwrap().into();
        // A search of what has no length ends with the first frame.
        let receiver = found(Recording::from_reader("a pipe", SampleFormat::Ci8, Cursor::new(bytes)));
        let mut chain = Chain::new();
        let (window, ..) = receiver.rehearsed_source(60).add(&mut chain);
        chain.add(bief::sink::for_each_var(|_: &[u8]| Ok(Flow::Next)), &window);
        let report = chain.build().unwrap().run().unwrap();
        assert_eq!(report.frames, 60);
        // One more sees the end.
        assert!(report.executions <= 61, "{} executions", report.executions);
    }

    #[test]
    fn a_rehearsal_goes_on_through_the_recording() {
        let frames = rehearsed(&found(Recording::open(&shipped(), None).unwrap()));
        assert_eq!(frames.len(), 60);
        let different = frames[..41].iter().enumerate().all(|(k, frame)| !frames[..k].contains(frame));
        assert!(different && frames[41..] == frames[..19]);
    }
}
