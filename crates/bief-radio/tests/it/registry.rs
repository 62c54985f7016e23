//! Every kind of the registry can be made, and chain files of them do what programs do.

use std::path::{Path, PathBuf};

use bief::kinds::{Kind, Parameters, Value};
use bief::raw::DynWire;
use bief::{Application, Chain, ChainFile, Registry, Result};
use bief_dsp::dvbs2::{BbHeader, FrameSync, Pls, RollOff, SignalLevel};
use bief_radio::dvbs2::{Decoding, Figures, KeepSymbols, Receiver, Settings};
use bief_radio::{NarrowbandFm, Recording};
use num_complex::Complex32;

/// A folder that is removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bief-registry-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Packets with a counter in them.
fn packets(count: u8) -> Vec<u8> {
    (0..count).flat_map(|number| [0x47, 0x01, 0x00].into_iter().chain([number; 185])).collect()
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(name)
}

/// A wire that an input of a kind takes.
fn wire(chain: &mut Chain, input: &str) -> DynWire {
    let carries = |element: &str| input.split([' ', ':', ',']).any(|word| word == element);
    match input.contains("variable") {
        true if carries("Complex<f32>") => (&chain.blank_var::<Complex32>(64)).into(),
        true if input.contains("[i16; 2]") => (&chain.blank_var::<[i16; 2]>(64)).into(),
        true if carries("i8") => (&chain.blank_var::<i8>(64)).into(),
        true if carries("u8") => (&chain.blank_var::<u8>(64)).into(),
        false if carries("Complex<f32>") => (&chain.blank::<Complex32>(48)).into(),
        false if carries("Option<FrameSync>") => (&chain.blank::<Option<FrameSync>>(1)).into(),
        false if carries("SignalLevel") => (&chain.blank::<SignalLevel>(1)).into(),
        false if carries("Decoding") => (&chain.blank::<Decoding>(1)).into(),
        false if carries("Pls") => (&chain.blank::<Pls>(1)).into(),
        false if carries("f32") => (&chain.blank::<f32>(48)).into(),
        false if carries("u8") => (&chain.blank::<u8>(48)).into(),
        _ => panic!("`{input}` tells of no wire"),
    }
}

fn make(registry: &Registry, kind: &Kind, parameters: Parameters) -> Result<usize> {
    let mut chain = Chain::new();
    let wires: Vec<DynWire> = kind.inputs().iter().map(|input| wire(&mut chain, &input.to_string())).collect();
    let wires: Vec<&DynWire> = wires.iter().collect();
    let made = registry.make(&mut chain, "it", kind.name(), parameters, &wires)?;
    let program = chain.build()?;
    let own = program.tasks().filter(|(name, _)| *name == "it" || name.starts_with("it/")).count();
    assert!(own > 0 && own + kind.inputs().len() == program.tasks().count());
    Ok(made.len())
}

#[test]
fn every_kind_can_be_made_and_says_what_it_is() {
    let folder = Folder::new("make");
    std::fs::write(folder.0.join("x.ci8"), packets(1)).unwrap();
    std::fs::write(folder.0.join("x.bbf"), BbHeader::transport(RollOff::R20, 0).to_bytes()).unwrap();
    let registry = bief_radio::registry();
    assert!(registry.kinds().count() >= 30);
    for kind in registry.kinds() {
        let mut parameters = Parameters::new().in_folder(&folder.0);
        for parameter in kind.parameters() {
            let value: Value = match (parameter.name(), kind.name()) {
                ("path", "dvbs2.cut_frames") => data("dvbs2_qpsk_8-9_short.sigmf-meta").to_str().unwrap().into(),
                ("path", "ip.read_bbframes") => "x.bbf".into(),
                ("path", _) => "x.ci8".into(),
                ("frames", _) => "qpsk-3/4:normal".into(),
                // What a wire of a source would tell.
                ("sample_rate", _) => 48_000.into(),
                ("samples_per_symbol", _) => 2.into(),
                ("format", _) => "ci8".into(),
                ("samples", _) => 8.into(),
                ("shift" | "cutoff" | "transition" | "deviation", _) => 1e3.into(),
                ("time_constant", _) => 5e-5.into(),
                (other, name) if parameter.is_required() => panic!("`{name}` needs a `{other}`"),
                _ => continue,
            };
            parameters = parameters.with(parameter.name(), value);
        }
        let made = make(&registry, kind, parameters).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(made, kind.outputs().len());
        let words = [kind.summary()].into_iter().chain(kind.parameters().iter().map(|parameter| parameter.meaning()));
        assert!(words.into_iter().all(|words| words.len() > 5 && !words.ends_with('.')), "{kind:?}");
    }
    // What is only made leaves no file, and empties none.
    assert_eq!(std::fs::read(folder.0.join("x.ci8")).unwrap(), packets(1));
}

#[test]
fn parameters_that_do_not_fit_name_the_remedy() {
    let folder = Folder::new("refuse");
    let registry = bief_radio::registry();
    let told = |kind: &str, parameters: Parameters| {
        let kind = registry.kind(kind).unwrap();
        make(&registry, kind, parameters.in_folder(&folder.0)).unwrap_err().to_string()
    };
    let text = told("dvbs2.decode_ldpc", Parameters::new().with("iterations", 0));
    assert!(text.contains("parameter `iterations`"), "{text}");
    let text = told("dvbs2.correct_phase", Parameters::new().with("gold_code", 262_142));
    assert!(text.contains("parameter `gold_code`"), "{text}");
    let slice = || Parameters::new().with("path", "x.ts").with("frames", "qpsk-8/9:short");
    let text = told("dvbs2.slice_packets", slice().with("roll_off", 0.3));
    assert_eq!(
        text,
        "parameter `roll_off`: DVB-S2 has the roll-offs 0.35, 0.25 and 0.2, and DVB-S2X 0.15, 0.1 and 0.05"
    );
    let text = told("dvbs2.slice_packets", slice());
    assert!(text.contains("parameter `path`: ") && text.contains("x.ts: No such file"), "{text}");
    let text = told("dvbs2.slice_packets", slice().with("frames", "qpsk-8/9:short, 8psk-1/2:short"));
    assert!(text.starts_with("parameter `frames`: `8psk-1/2:short`: `8psk-1/2` is no DVB-S2 MODCOD"), "{text}");
    std::fs::write(folder.0.join("x.ts"), packets(1)).unwrap();
    let text = told("dvbs2.slice_packets", slice().with("frames", "dummy"));
    assert_eq!(text, "parameter `frames`: no PLFRAME carries data: give at least one MODCOD");
    let text = told("dvbs2.slice_packets", slice().with("content", "packets"));
    assert_eq!(text, "parameter `content`: there is no \"packets\": there are `transport` and `continuous`");
    let continuous = slice().with("content", "continuous").with("delete_null_packets", true);
    let text = told("dvbs2.slice_packets", continuous);
    assert_eq!(text, "parameter `delete_null_packets`: only a transport stream has null packets");
    let text = told("dvbs2.build_plframe", Parameters::new().with("gold_code", 262_142));
    assert_eq!(text, "parameter `gold_code` must be 0 to 262141, not 262142");
    let text = told("dvbs2.shape_pulses", Parameters::new().with("samples_per_symbol", std::f64::consts::PI));
    assert!(text.contains("parameter `samples_per_symbol`: 3.14") && text.contains("ratio of small numbers"), "{text}");
    assert!(told("radio.read", Parameters::new().with("path", "x.bin")).contains("x.bin: No such file"));
    let text = told("radio.read", Parameters::new().with("path", "-"));
    assert!(text.contains("standard input: its sample format is not known: give a `format`: cf32"), "{text}");
    assert!(told("radio.quantise", Parameters::new().with("format", "cs32")).contains("choose one of cf32"));
    let text = told("file.write", Parameters::new().with("path", "a/b/x.bin"));
    assert!(text.contains("there is no folder") && text.contains("make it first"), "{text}");
    let text = told("radio.shift", Parameters::new().with("shift", 1));
    assert!(text.starts_with("the sample rate of its input is unknown: give a `sample_rate`"), "{text}");
    let text = told("dvbs2.filter_symbols", Parameters::new());
    assert!(text.ends_with("give `samples_per_symbol`"), "{text}");
    let text = told("dvbs2.filter_symbols", Parameters::new().with("samples_per_symbol", 2));
    assert!(text.ends_with("give a `format`"), "{text}");
    let text = told("radio.write_wav", Parameters::new().with("path", "x.wav").with("sample_rate", 8000.5));
    assert!(text.ends_with("a WAV file has a whole number of 32 bits"), "{text}");
    let text = told("radio.write_wav", Parameters::new().with("path", "-"));
    assert_eq!(text, "parameter `path`: its beginning is written again at the end: give a path");
    std::fs::write(folder.0.join("noise.ci8"), [7; 4000]).unwrap();
    let text = told("dvbs2.cut_frames", Parameters::new().with("path", "noise.ci8").with("samples_per_symbol", 2));
    assert!(text.starts_with("parameter `path`: ") && text.contains("no DVB-S2 signal"), "{text}");
    let text = told("dvbs2.cut_frames", Parameters::new().with("path", "x").with("modcods", vec!["qpsk-8/7"]));
    assert!(text.starts_with("parameter `modcods`: ") && text.contains("qpsk-8/7"), "{text}");
    let path = folder.0.to_str().unwrap();
    assert!(told("file.write", Parameters::new().with("path", path)).contains("is a folder: name a file in it"));
}

#[test]
fn the_transmitter_that_ships_makes_what_the_program_makes() {
    use bief_dsp::dvbs2::{FrameSize, Pls};
    use bief_radio::dvbs2::Transmitter;

    let folder = Folder::new("tx");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/chains/dvbs2_tx.toml");
    let chain = folder.0.join("tx.toml");
    std::fs::copy(file, &chain).unwrap();
    std::fs::write(folder.0.join("packets.ts"), packets(150)).unwrap();
    let registry = bief_radio::registry();
    let file = ChainFile::read(&chain).unwrap();
    let report = file.pipeline(&registry).unwrap().run().unwrap();
    assert_eq!(report.stages.iter().map(|stage| stage.threads).collect::<Vec<_>>(), [1, 2, 1, 1]);

    let transmitter = Transmitter::new(Pls::from_parts("qpsk-8/9".parse().unwrap(), FrameSize::Short, true).unwrap());
    let expected = folder.0.join("expected");
    let out = std::io::BufWriter::new(std::fs::File::create(&expected).unwrap());
    let program = transmitter.chain(std::io::Cursor::new(packets(150)), out).unwrap();
    assert_eq!(report.frames, program.build().unwrap().run().unwrap().frames);
    let [ours, theirs] = [folder.0.join("samples.ci16"), expected].map(|path| std::fs::read(path).unwrap());
    assert_eq!(ours.len() / 4 / 8370 / 2, report.frames as usize);
    assert!(ours == theirs, "the same samples");
}

/// The receiver that ships, of this recording, with its packets in this file.
fn receiver(recording: &Path, packets: &Path) -> ChainFile {
    receiver_with("", recording, packets)
}

/// The same with one more task before the demapper.
fn receiver_with(task: &str, recording: &Path, packets: &Path) -> ChainFile {
    let text = std::fs::read_to_string(data("chains/dvbs2_rx.toml")).unwrap();
    let demap = "[[task]]\nname = \"demap\"";
    assert!(text.contains(demap));
    let text = text.replace(demap, &format!("{task}{demap}"));
    let text = text.replace("\"../dvbs2_qpsk_8-9_short.sigmf-meta\"", &format!("{recording:?}"));
    ChainFile::parse(&text.replace("\"packets.ts\"", &format!("{packets:?}")), "dvbs2_rx.toml").unwrap()
}

#[test]
fn the_receiver_that_ships_receives_what_the_program_receives() {
    let folder = Folder::new("rx");
    let [ours, theirs] = ["file.ts", "library.ts"].map(|name| folder.0.join(name));
    let sample = data("dvbs2_qpsk_8-9_short.sigmf-meta");
    let registry = bief_radio::registry();
    let file = receiver(&sample, &ours);
    let built = file.build(&registry).unwrap();
    let program = built.chain.build().unwrap();
    let names: Vec<String> = program.tasks().map(|(name, _)| name.to_owned()).collect();
    let report = program.pipeline_as_marked().unwrap().run().unwrap();
    assert_eq!(report.stages.iter().map(|stage| stage.threads).collect::<Vec<_>>(), [1, 1, 2, 1]);

    let receiver = Receiver::find(Recording::open(&sample, None).unwrap(), Settings::at(2.0), |_| ()).unwrap();
    let out = std::io::BufWriter::new(std::fs::File::create(&theirs).unwrap());
    let program = receiver.to(out).program().unwrap();
    assert_eq!(names.len(), program.tasks().count(), "every task of the receiver");
    let theirs_told = program.run().unwrap().figures;
    let [ours, theirs] = [ours, theirs].map(|path| std::fs::read(path).unwrap());
    assert!(!ours.is_empty() && ours == theirs, "the same packets");
    assert_eq!(Figures::of(&report.figures), Figures::of(&theirs_told));
    let profile = file.rehearsal(&registry, u64::MAX).unwrap().profile(9).unwrap();
    assert_eq!(profile.bits_per_frame(), Some(14_232));
}

#[test]
fn a_chain_file_keeps_symbols() {
    let folder = Folder::new("symbols");
    let keep = "[[task]]\nname = 'keep'\nkind = 'dvbs2.keep_symbols'\nin = ['symbols', 'level', 'pls']\n\n";
    let file = receiver_with(keep, &data("dvbs2_qpsk_8-9_short.sigmf-meta"), &folder.0.join("x.ts"));
    let report = file.pipeline(&bief_radio::registry()).unwrap().run().unwrap();
    let kept = KeepSymbols::kept(&report.figures);
    assert_eq!((kept.len(), kept[0].0.value(), kept[0].1.len()), (1, 43, 4096));
}

#[test]
fn a_file_is_read_by_a_task_of_its_own_unless_it_plays_a_radio() {
    let path = data("dvbs2_qpsk_8-9_short.sigmf-meta");
    let registry = bief_radio::registry();
    for (live, expected) in [(false, &["cut", "cut/read", "filter"][..]), (true, &["cut", "filter"])] {
        let text = format!(
            "[[task]]\nname = 'cut'\nkind = 'dvbs2.cut_frames'\nout = ['windows', 'places', 'pls']\npath = {path:?}
            live = {live}
            [[task]]\nname = 'filter'\nkind = 'dvbs2.filter_symbols'\nin = ['windows', 'places']\nout = ['symbols']"
        );
        let file = ChainFile::parse(&text, "live.toml").unwrap();
        let rehearsal = file.rehearsal(&registry, 5).unwrap();
        let tasks = |program: &bief::Program| program.tasks().map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(tasks(&rehearsal), expected);
        assert_eq!(rehearsal.run().unwrap().frames, 5);
        let program = file.program(&registry).unwrap();
        assert_eq!(tasks(&program), expected);
        assert_eq!(program.run().unwrap().frames, 41);
    }
}

#[cfg(unix)]
#[test]
fn a_rehearsed_receiver_loses_nothing_of_a_pipe_and_writes_no_packet() {
    let folder = Folder::new("rehearse");
    let [fifo, out] = ["in.ci8", "out.ts"].map(|name| folder.0.join(name));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let (to, sent) = (fifo.clone(), std::fs::read(data("dvbs2_qpsk_8-9_short.sigmf-data")).unwrap());
    let writer = std::thread::spawn(move || std::fs::write(to, sent));
    let registry = bief_radio::registry();
    let file = receiver(&fifo, &out);
    assert_eq!(file.files(&registry).unwrap().len(), 2);
    for frames in [3, 100] {
        let report = file.rehearsal(&registry, frames).unwrap().run().unwrap();
        assert_eq!(report.frames, frames, "more than there are");
    }
    assert!(!out.exists());
    file.pipeline(&registry).unwrap().run().unwrap();
    writer.join().unwrap().unwrap();
    let expected = folder.0.join("expected.ts");
    let sample = data("dvbs2_qpsk_8-9_short.sigmf-meta");
    receiver(&sample, &expected).pipeline(&registry).unwrap().run().unwrap();
    let [received, expected] = [out, expected].map(|path| std::fs::read(path).unwrap());
    assert!(!received.is_empty() && received == expected);
}

#[test]
fn rates_lengths_and_what_filters_hold_back_follow_from_the_wires() {
    let folder = Folder::new("rates");
    let recording = data("nbfm_tones.sigmf-meta");
    let text = std::fs::read_to_string(data("chains/nbfm.toml")).unwrap();
    let wav = folder.0.join("x.wav");
    let text = text.replace("\"../nbfm_tones.sigmf-meta\"", &format!("{recording:?}"));
    let text = text.replace("\"nbfm_tones.wav\"", &format!("{wav:?}"));
    let registry = bief_radio::registry();
    // The work of a filter may be shared; what it remembers stays before its stage.
    let file = ChainFile::parse(&format!("{text}[stage.decimate]\nthreads = 2"), "nbfm.toml").unwrap();
    let report = file.pipeline(&registry).unwrap().run().unwrap();
    let stages: Vec<_> = report.stages.iter().map(|stage| (stage.threads, stage.tasks[0].name.clone())).collect();
    assert_eq!(stages[1], (2, "decimate".to_owned()));
    let shared = std::fs::read(&wav).unwrap();
    let file = ChainFile::parse(&text, "nbfm.toml").unwrap();
    file.rehearsal(&registry, 500).unwrap().run().unwrap();
    assert!(std::fs::read(&wav).unwrap() == shared, "a rehearsal writes nothing");
    file.pipeline(&registry).unwrap().run().unwrap();
    assert!(std::fs::read(&wav).unwrap() == shared);
    let message = ChainFile::parse(&text.replace("decimation = 12", "decimation = 13"), "nbfm.toml").unwrap();
    let message = message.build(&registry).unwrap_err().to_string();
    assert!(message.contains("task `decimate`") && message.contains("less than twice the cutoff"), "{message}");
}

#[test]
fn streams_come_back_from_the_symbols_of_every_frame() {
    let folder = Folder::new("loop");
    let stream = packets(100);
    std::fs::write(folder.0.join("in.ts"), &stream).unwrap();
    let registry = bief_radio::registry();
    for (parameters, gold) in [
        ("frames = 'qpsk-8/9:short:pilots'", 0),
        ("frames = '8psk-3/5:short:pilots, qpsk-1/4:normal, 32apsk-9/10:normal'", 12_345),
        ("frames = 'qpsk-1/4:short, 16apsk-2/3:short'\nisi = 9\ndelete_null_packets = true", 0),
        ("frames = 'qpsk-1/2:short'\ncontent = 'continuous'\nroll_off = 0.35", 262_141),
    ] {
        let task = |kind: &str, wires: &str, more: &str| {
            format!("[[task]]\nname = '{kind}'\nkind = 'dvbs2.{kind}'\n{wires}\n{more}\n")
        };
        let gold = &format!("gold_code = {gold}");
        let text = [
            task("slice_packets", "out = ['bb', 'pls']", &format!("path = 'in.ts'\n{parameters}")),
            task("scramble_bits", "in = ['bb']", ""),
            task("encode_bch", "in = ['bb', 'pls']\nout = ['code']", ""),
            task("encode_ldpc", "in = ['code', 'pls']", ""),
            task("build_plframe", "in = ['code', 'pls']\nout = ['pl']", gold),
            task("correct_phase", "in = ['pl', 'pls']\nout = ['level']", gold),
            task("demap", "in = ['pl', 'level', 'pls']\nout = ['llrs']", gold),
            task("decode_ldpc", "in = ['llrs', 'pls']\nout = ['bits', 'decoding']", ""),
            task("decode_bch", "in = ['bits', 'decoding', 'pls']", ""),
            task("scramble_bits", "in = ['bits']", "").replace("name = 'scramble_bits'", "name = 'descramble_bits'"),
            task("deliver", "in = ['bits', 'decoding']", "path = 'out.ts'"),
        ]
        .concat();
        std::fs::write(folder.0.join("loop.toml"), &text).unwrap();
        let file = ChainFile::read(folder.0.join("loop.toml")).unwrap();
        file.pipeline(&registry).unwrap().run().unwrap();
        assert!(std::fs::read(folder.0.join("out.ts")).unwrap() == stream, "{parameters}");
    }
}

#[test]
fn zeros_fill_the_last_frame_of_a_recording() {
    let folder = Folder::new("read");
    std::fs::write(folder.0.join("x.cu8"), [0, 255, 1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let registry = bief_radio::registry();
    let read = "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = 'x.cu8'\nframe = 2\n";
    let quantise =
        "[[task]]\nname = 'quantise'\nkind = 'radio.quantise'\nin = ['iq']\nout = ['bytes']\nformat = 'cu8'\n";
    let write = "[[task]]\nname = 'write'\nkind = 'file.write'\nin = ['bytes']\npath = 'out'\n";
    std::fs::write(folder.0.join("x.toml"), [read, quantise, write].concat()).unwrap();
    let file = ChainFile::read(folder.0.join("x.toml")).unwrap();
    assert!(!folder.0.join("out").exists());
    let mut pipeline = file.pipeline(&registry).unwrap();
    assert_eq!(pipeline.run().unwrap().frames, 3);
    // The middle of the unsigned scale lies between two steps; it is rounded up.
    assert_eq!(std::fs::read(folder.0.join("out")).unwrap(), [0, 255, 1, 2, 3, 4, 5, 6, 7, 8, 128, 128]);
    // Nothing is left of the recording for a second run.
    assert_eq!(pipeline.run().unwrap().frames, 0);
}

#[test]
fn the_narrowband_fm_chain_that_ships_is_the_one_of_the_library() {
    let folder = Folder::new("nbfm");
    let chains = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/chains");
    let text = std::fs::read_to_string(chains.join("nbfm.toml")).unwrap();
    let [ours, theirs] = ["file.wav", "library.wav"].map(|name| folder.0.join(name));
    let recording = chains.join("../nbfm_tones.sigmf-meta");
    let text = text.replace("\"nbfm_tones.wav\"", &format!("{ours:?}"));
    let text = text.replace("\"../nbfm_tones.sigmf-meta\"", &format!("{recording:?}"));
    let file = ChainFile::parse(&text, "nbfm.toml").unwrap();
    let report = file.pipeline(&bief_radio::registry()).unwrap().run().unwrap();
    assert_eq!(report.stages.len(), 3);

    let recording = Recording::open(&recording, None).unwrap();
    let wav = std::fs::File::create(&theirs).unwrap();
    NarrowbandFm::new(576e3, 1200.0, 5000.0, 48_000).on(recording).to_wav(|| Ok(wav)).program().unwrap().run().unwrap();
    let [ours, theirs] = [ours, theirs].map(|path| std::fs::read(path).unwrap());
    assert!(ours.len() > 48_000, "half a second: {} bytes", ours.len());
    assert!(ours == theirs, "the same samples");
}
