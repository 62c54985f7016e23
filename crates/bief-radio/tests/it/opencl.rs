//! The receiver with its LDPC decoder on the devices that OpenCL has here: none is no fault, but with `BIEF_DEVICE=require`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::common::Shared;
use bief::chain::Element;
use bief::device::{Device, DeviceBatch, Offload, OffloadOf};
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{
    Application, Chain, Flow, InOut, InVar, Machine, OutVar, Pipeline, Planner, Program, Report, Result, Task,
    VarFrame, sink, source,
};
use bief_dsp::channel::Channel;
use bief_dsp::dvbs2::ldpc::{Code, Decoder};
use bief_dsp::dvbs2::plheader::header_symbols;
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{FrameSize, FrameSync, Layout, PlframeBuilder, Pls, SignalLevel, VlSnr, VlSnrEncoder};
use bief_dsp::filter::MatchedFilter;
use bief_dsp::simd::Level;
use bief_opencl::{Memory, find, open};
use bief_radio::dvbs2::{CorrectPhase, DecodeLdpc, Decoding, Demap, Figures, FilterSymbols, Receiver, Settings};
use bief_radio::{Recording, SampleFormat};
use num_complex::Complex32;

/// A device stays what it was last opened as.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// This machine with its first devices, at most so many, and their names; `None` where there is none.
fn with_devices(count: usize, memory: Memory, lanes: u32) -> Option<(Machine, Vec<String>)> {
    let found = match find() {
        Ok(found) if !found.is_empty() => found,
        none => {
            let is_required = std::env::var("BIEF_DEVICE").is_ok_and(|value| value == "require");
            assert!(!is_required, "a device is required: {none:?}");
            eprintln!("left out: no OpenCL device is here");
            return None;
        }
    };
    let found = &found[..found.len().min(count)];
    let machine = found.iter().fold(Machine::here(), |machine, found| {
        let mut spec = open(found, memory).unwrap();
        spec.lanes = lanes;
        machine.with_device(spec).unwrap()
    });
    Some((machine, found.iter().map(|found| found.name.clone()).collect()))
}

/// LLRs of a PLS: zeros sent with much noise, saturated or not.
fn llrs(pls: Pls, count: usize, random: &mut fastrand::Rng) -> Vec<Vec<i8>> {
    let bits = pls.frame_size().bits();
    let frame = |number: usize, random: &mut fastrand::Rng| match number % 3 {
        0 => (0..bits).map(|_| random.i8(-14..40)).collect(),
        1 => (0..bits).map(|_| if random.u8(..) < 6 { -128 } else { 127 }).collect(),
        _ => (0..bits).map(|_| random.i8(..)).collect(),
    };
    (0..count).map(|number| frame(number, random)).collect()
}

/// Whether frames of these kinds are decoded as on cores, by a decoder on each of the devices.
fn decodes_as_on_cores(kinds: &[Pls], iterations: u32, machine: &Machine, devices: &[String]) {
    let mut random = fastrand::Rng::with_seed(7);
    let frames: Vec<(Pls, Vec<i8>)> =
        kinds.iter().flat_map(|&pls| llrs(pls, 3, &mut random).into_iter().map(move |llrs| (pls, llrs))).collect();
    let expected: Vec<(Vec<u8>, Decoding)> = frames
        .iter()
        .map(|(pls, llrs)| {
            let code = Code::get(pls.frame_size(), pls.modcod().unwrap().rate(pls.frame_size())).unwrap();
            let mut bits = vec![0; code.kldpc / 8];
            let decoded = Decoder::new(code, iterations).decode(llrs, &mut bits);
            (bits, Decoding { iterations: decoded.iterations, converged: decoded.converged, ..Decoding::default() })
        })
        .collect();

    let mut chain = Chain::new().batch(4);
    let all: Vec<Pls> = frames.iter().map(|(pls, _)| *pls).collect();
    let count = frames.len();
    let pls = chain.add(source::from_slice(&all, 1), ());
    let mut rest = frames.into_iter();
    let given = source::from_fn_var(64_800, move |mut frame: VarFrame<'_, i8>| {
        let Some((_, llrs)) = rest.next() else { return Ok(Flow::Stop) };
        frame.set_len(llrs.len())?;
        frame.copy_from_slice(&llrs);
        Ok(Flow::Next)
    });
    let given = chain.add(given, ());
    let decoded: Vec<_> = devices.iter().map(|_| chain.add(DecodeLdpc::new(iterations), (&given, &pls))).collect();
    let mut came = Vec::new();
    for (bits, decoding) in &decoded {
        let (collect, decodings) = sink::collect();
        chain.add(collect, decoding);
        let kept = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        chain.add(Keep(Arc::clone(&kept)), bits);
        came.push((decodings, kept));
    }
    let cut: Vec<(usize, &str)> = [(2, "cpu")]
        .into_iter()
        .chain(devices.iter().map(|device| (1, device.as_str())))
        .chain([(2 * devices.len(), "cpu")])
        .collect();
    let report = pipeline_cut(chain.build().unwrap(), &cut, machine).run().unwrap();
    assert_eq!(report.frames, count as u64);
    for (decodings, kept) in came {
        let (decodings, all_bits) = (decodings.take(), kept.lock().unwrap());
        for (number, (bits, decoding)) in expected.iter().enumerate() {
            let (there, pls) = (&decodings[number], all[number]);
            // Cores update the last checks one by one, for which a device goes on.
            assert!(
                there.converged == decoding.converged && there.iterations >= decoding.iterations,
                "{number}, {pls}"
            );
            assert!(decoding.converged || there == decoding, "frame {number}, {pls}");
            assert!(all_bits[number] == *bits, "frame {number}, {pls}");
        }
    }
}

/// A chain in stages of so many tasks, on these kinds.
fn pipeline_cut(program: Program, cut: &[(usize, &str)], machine: &Machine) -> Pipeline {
    pipeline_gathering(program, cut, 1, machine)
}

/// The same with launches of so many batches.
fn pipeline_gathering(program: Program, cut: &[(usize, &str)], gather: u32, machine: &Machine) -> Pipeline {
    let mut kinds: Vec<&str> = cut.iter().map(|(_, kind)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let tasks: Vec<TaskProfile> = program
        .tasks()
        .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, vec![1; kinds.len()]) })
        .collect();
    let stages: Vec<Stage> = cut
        .iter()
        .map(|&(tasks, kind)| Stage::new(tasks, 1, kind).gathering(if kind == "cpu" { 1 } else { gather }))
        .collect();
    let schedule = Schedule::new("hand", stages, &Profile::new(kinds, tasks).unwrap()).unwrap();
    program.pipeline_on(&schedule, machine).unwrap()
}

/// Keeps what comes.
struct Keep<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T: Element> Task for Keep<T> {
    type In = InVar<T>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, frame: &[T], (): ()) -> Result<Flow> {
        self.0.lock().unwrap().push(frame.to_vec());
        Ok(Flow::Next)
    }
}

/// Gives these frames.
fn given<T: Element>(frames: Vec<Vec<T>>) -> impl Task<In = (), Out = OutVar<T>> {
    let most = frames.iter().map(Vec::len).max().unwrap_or(0);
    let mut rest = frames.into_iter();
    source::from_fn_var(most, move |mut frame: VarFrame<'_, T>| {
        let Some(next) = rest.next() else { return Ok(Flow::Stop) };
        frame.set_len(next.len())?;
        frame.copy_from_slice(&next);
        Ok(Flow::Next)
    })
}

type Window = Vec<u8>;

/// Frames of windows in a format, with their places: noise, at rates that tiles serve and at others, beyond both ends.
fn windows(format: SampleFormat) -> (MatchedFilter, Vec<Window>, Vec<Option<FrameSync>>) {
    let mut random = fastrand::Rng::with_seed(3);
    let filter = MatchedFilter::new(0.2, 2.0);
    let kinds = [(43, 2.0), (42, 2.000_1), (55, 2.1), (43, 1.9), (75, 2.0)];
    let (mut windows, mut places) = (Vec::new(), Vec::new());
    for (number, (value, step)) in kinds.into_iter().enumerate() {
        let symbols = Layout::new(Pls::new(value)).unwrap().symbols() + 90;
        let missing = [0, 700, 0, 0, 40][number];
        let samples = (symbols as f64 * step) as usize + 100 - missing;
        let mut part = || 0.27 * (2.0 * random.f32() - 1.0);
        let noise: Vec<Complex32> = (0..samples).map(|_| Complex32::new(part(), part())).collect();
        let mut window = vec![0; samples * format.bytes()];
        format.write(&noise, &mut window);
        windows.push(window);
        places.push(Some(FrameSync {
            pls: Pls::new(value),
            position: [40.3, -20.7, 33.0, 12.99, 60.5][number],
            step,
            frequency: 0.003,
            phase: 1.0,
            amplitude: 0.3 + number as f32,
            quality: 0.9,
            measured: true,
            inverted: number % 2 == 1,
            dc: Complex32::new(0.02, -0.01),
        }));
    }
    (filter, windows, places)
}

#[test]
fn windows_are_filtered_as_on_cores() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let run = |format: SampleFormat, machine: Option<(&Machine, &str)>| {
        let (filter, windows, places) = windows(format);
        let mut chain = Chain::new().batch(3);
        let place = chain.add(source::from_slice(&places, 1), ());
        let window = chain.add(given(windows), ());
        let symbols = chain.add(FilterSymbols::new(&filter, format), (&window, &place));
        let kept = Arc::<Mutex<Vec<Vec<Complex32>>>>::default();
        chain.add(Keep(Arc::clone(&kept)), &symbols);
        let program = chain.build().unwrap();
        let mut pipeline = match machine {
            None => program.one_core().unwrap(),
            Some((machine, device)) => pipeline_cut(program, &[(2, "cpu"), (1, device), (1, "cpu")], machine),
        };
        pipeline.run().unwrap();
        std::mem::take(&mut *kept.lock().unwrap())
    };
    let formats = [SampleFormat::Ci16, SampleFormat::Ci8, SampleFormat::Cu8, SampleFormat::Cf32];
    for ((memory, lanes), format) in Memory::ALL.into_iter().zip([1, 3, 1, 3]).zip(formats) {
        let Some((machine, devices)) = with_devices(1, memory, lanes) else { return };
        let expected = run(format, None);
        let made = run(format, Some((&machine, &devices[0])));
        assert_eq!((made.len(), expected.len()), (5, 5));
        // Integers of floats that were rounded twice may be those next to them.
        let is_exact = format != SampleFormat::Cf32 || ["AVX2", "AVX-512"].contains(&Level::best().name());
        for (frame, (made, expected)) in made.iter().zip(&expected).enumerate() {
            let allowed = if is_exact { 0.0 } else { 0.01 * (0.3 + frame as f32) };
            let far = |(made, expected): (&Complex32, &Complex32)| (made - expected).norm() > allowed;
            let differs = made.iter().zip(expected).position(far);
            let first = differs.map(|index| (index, made[index], expected[index]));
            assert!(first.is_none() && made.len() == expected.len(), "frame {frame}, {format:?}, {memory}: {first:?}");
        }
    }
}

/// Received PLFRAMEs of all ways to follow a phase, to tell a level and to demap, each with the header of the next one.
fn plframes() -> Vec<(Pls, Vec<Complex32>)> {
    let s2x = ["8apsk-5/9-l", "64apsk-11/15", "128apsk-3/4"]
        .map(|name| Pls::from_parts(name.parse().unwrap(), FrameSize::Normal, true).unwrap());
    let vl_snr = VlSnr::all().filter(|kind| [0, 2, 5].contains(&kind.header_index())).map(Pls::of_vl_snr);
    let kinds = [43, 42, 6, 54, 55, 50, 72, 75, 97, 98].map(Pls::new).into_iter().chain(s2x).chain(vl_snr);
    let scrambler = PlScrambler::broadcast();
    let receive = |(seed, pls): (usize, Pls)| {
        let mut random = fastrand::Rng::with_seed(seed as u64);
        let mut sent = vec![Complex32::ZERO; Layout::new(pls).unwrap().symbols()];
        match pls.vl_snr() {
            Some(kind) => {
                let bits: Vec<u8> = (0..kind.kbch().div_ceil(8)).map(|_| random.u8(..)).collect();
                VlSnrEncoder::new(kind).build(&bits, scrambler, &mut sent);
            }
            None => {
                let codeword: Vec<u8> = (0..pls.fec().unwrap().nldpc / 8).map(|_| random.u8(..)).collect();
                PlframeBuilder::new(pls, scrambler).unwrap().build(&codeword, &mut sent);
            }
        }
        sent.extend(header_symbols(Pls::new(43)));
        let es_n0 = pls.vl_snr().map_or_else(|| pls.modcod().unwrap().ideal_esn0_db(), VlSnr::ideal_esn0_db) + 1.0;
        let noise_power = Channel::noise_for(es_n0.into(), 1.0);
        let channel =
            Channel { noise_power, carrier: 2e-5, phase: 1.0, gain: 0.3, seed: seed as u64, ..Channel::clear() };
        (pls, channel.apply(&sent))
    };
    kinds.enumerate().map(receive).collect()
}

/// What becomes of them: symbols, levels, LLRs and how they were decoded. Where symbols and LLRs are not kept, they stay on a device.
#[derive(Default)]
struct Became {
    symbols: Vec<Vec<Complex32>>,
    levels: Vec<SignalLevel>,
    llrs: Vec<Vec<i8>>,
    decodings: Vec<Decoding>,
    bits: Vec<Vec<u8>>,
}

fn demap(frames: &[(Pls, Vec<Complex32>)], keeps: bool, machine: Option<(&Machine, &str)>) -> Became {
    let scrambler = || Arc::new(PlScrambler::broadcast().clone());
    let mut chain = Chain::new().batch(4);
    let all: Vec<Pls> = frames.iter().map(|(pls, _)| *pls).collect();
    let pls = chain.add(source::from_slice(&all, 1), ());
    let mut symbols = chain.add(given(frames.iter().map(|(_, symbols)| symbols.clone()).collect()), ());
    let level = chain.add(CorrectPhase::new(scrambler()), (&mut symbols, &pls));
    let llrs = chain.add(Demap::new(scrambler()), (&symbols, &level, &pls));
    let (bits, decoding) = chain.add(DecodeLdpc::new(2), (&llrs, &pls));
    let (kept_symbols, kept_llrs, kept_bits) = <(Arc<Mutex<_>>, Arc<Mutex<_>>, Arc<Mutex<_>>)>::default();
    let (collect, levels) = sink::collect();
    chain.add(collect, &level);
    let (collect, decodings) = sink::collect();
    chain.add(collect, &decoding);
    chain.add(Keep(Arc::clone(&kept_bits)), &bits);
    if keeps {
        chain.add(Keep(Arc::clone(&kept_symbols)), &symbols);
        chain.add(Keep(Arc::clone(&kept_llrs)), &llrs);
    }
    let program = chain.build().unwrap();
    let rest = program.tasks().count() - 5;
    let mut pipeline = match machine {
        None => program.one_core().unwrap(),
        Some((machine, device)) => pipeline_cut(program, &[(2, "cpu"), (3, device), (rest, "cpu")], machine),
    };
    pipeline.run().unwrap();
    let became = Became {
        symbols: std::mem::take(&mut *kept_symbols.lock().unwrap()),
        levels: levels.take(),
        llrs: std::mem::take(&mut *kept_llrs.lock().unwrap()),
        decodings: decodings.take(),
        bits: std::mem::take(&mut *kept_bits.lock().unwrap()),
    };
    assert_eq!(became.bits.len(), frames.len());
    became
}

#[test]
#[ignore = "long: part of .ci/run"]
fn plframes_are_corrected_and_demapped_as_on_cores() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let frames = plframes();
    let expected = demap(&frames, true, None);
    for (memory, lanes) in Memory::ALL.into_iter().zip([3, 1, 3, 1]) {
        let Some((machine, devices)) = with_devices(1, memory, lanes) else { return };
        let kept = demap(&frames, true, Some((&machine, &devices[0])));
        let stayed = demap(&frames, false, Some((&machine, &devices[0])));
        for (frame, (pls, _)) in frames.iter().enumerate() {
            let place = format!("{pls}, {memory}");
            let (made, symbols) = (&kept.symbols[frame], &expected.symbols[frame]);
            assert_eq!(made.len(), symbols.len(), "{place}");
            for (index, (made, symbol)) in made.iter().zip(symbols).enumerate() {
                assert!((made - symbol).norm() < 1e-5, "{place}, symbol {index}: {made}, not {symbol}");
            }
            let (made, level) = (kept.levels[frame], expected.levels[frame]);
            assert!((made.n0 / level.n0 - 1.0).abs() < 1e-4, "{place}: {made:?}, not {level:?}");
            let (made, llrs) = (&kept.llrs[frame], &expected.llrs[frame]);
            let beside = made.iter().zip(llrs).filter(|(made, llr)| made != llr).count();
            assert!(beside * 200 < llrs.len(), "{place}: {beside} LLRs");
            // A cell of a table away where a symbol lies at its border.
            let far = made.iter().zip(llrs).filter(|(made, llr)| made.abs_diff(**llr) > 1).count();
            assert!(far * 2000 < llrs.len(), "{place}: {far} LLRs");
            // What stays there is the same as what was kept and copied.
            assert_eq!(stayed.levels[frame], kept.levels[frame], "{place}");
            assert_eq!(stayed.decodings[frame], kept.decodings[frame], "{place}");
            assert!(stayed.bits[frame] == kept.bits[frame], "{place}");
        }
    }
}

/// QPSK frames of all rates of DVB-S2: all its 21 codes.
fn all_codes() -> Vec<Pls> {
    let sizes = (1..=11).flat_map(|modcod| [Pls::new(4 * modcod), Pls::new(4 * modcod + 2)]);
    let codes: Vec<Pls> = sizes.filter(|pls| pls.fec().is_some()).collect();
    assert_eq!(codes.len(), 21);
    codes
}

#[test]
#[ignore = "long: part of .ci/run"]
fn short_codes_are_decoded_as_on_cores_with_every_memory() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // Two codes in a batch, which differ in length.
    let kinds = [Pls::new(43), Pls::new(4 * 5 + 2)];
    for (memory, lanes) in Memory::ALL.into_iter().zip([1, 3, 1, 3]) {
        let Some((machine, devices)) = with_devices(1, memory, lanes) else { return };
        decodes_as_on_cores(&kinds, 3, &machine, &devices);
    }
}

#[test]
#[ignore = "long: part of .ci/deep device"]
fn all_codes_are_decoded_as_on_cores() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((machine, devices)) = with_devices(1, Memory::Copy, 2) else { return };
    for pls in all_codes() {
        decodes_as_on_cores(&[pls], 5, &machine, &devices);
    }
}

#[test]
fn a_fault_there_ends_the_run_with_its_place() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((machine, devices)) = with_devices(1, Memory::Copy, 1) else { return };
    let mut chain = Chain::new();
    let pls = chain.add(source::from_slice(&[Pls::new(43); 9], 1), ());
    let mut number = 0;
    let given = source::from_fn_var(64_800, move |mut frame: VarFrame<'_, i8>| {
        number += 1;
        frame.set_len(if number == 6 { 16_199 } else { 16_200 })?;
        frame.fill(20);
        Ok(Flow::Next)
    });
    let given = chain.add(given, ());
    let (_, decoding) = chain.add(DecodeLdpc::new(1), (&given, &pls));
    let (collect, decodings) = sink::collect();
    chain.add(collect, &decoding);
    let cut = [(2, "cpu"), (1, devices[0].as_str()), (1, "cpu")];
    let error = pipeline_cut(chain.build().unwrap(), &cut, &machine).run().unwrap_err().to_string();
    for part in ["decode LDPC", "frame 5", "needs frames of 16200 LLRs, not 16199"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(decodings.take().len(), 5, "the frames before it are delivered");
}

#[test]
fn two_devices_work_at_once() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((machine, devices)) = with_devices(2, Memory::Host, 2) else { return };
    if devices.len() < 2 {
        eprintln!("left out: there is one OpenCL device here (POCL_DEVICES=\"basic pthread\" makes two)");
        return;
    }
    decodes_as_on_cores(&[Pls::new(43)], 3, &machine, &devices);
}

/// The tasks that have kernels.
const THERE: [&str; 4] = ["filter symbols", "correct phase", "demap", "decode LDPC"];

/// With these tasks there.
fn receive(written: Shared, machine: &Machine, device: &str, (tasks, gather): (&[&str], u32)) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    let receiver = Receiver::find(Recording::open(&path, None).unwrap(), Settings::at(2.0), |_| ()).unwrap();
    let program = receiver.to(written).program().unwrap();
    let names: Vec<String> = program.tasks().map(|(name, _)| name.to_string()).collect();
    let first = names.iter().position(|name| name == tasks[0]).unwrap();
    assert_eq!(names[first..first + tasks.len()], *tasks);
    let rest = names.len() - first - tasks.len();
    pipeline_gathering(program, &[(first, "cpu"), (tasks.len(), device), (rest, "cpu")], gather, machine).run().unwrap()
}

#[test]
#[ignore = "long: part of .ci/deep device"]
fn a_recording_gives_the_same_packets_with_every_memory() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    let alone = Shared::default();
    let receiver = Receiver::find(Recording::open(&path, None).unwrap(), Settings::at(2.0), |_| ()).unwrap();
    let expected = receiver.to(alone.clone()).program().unwrap().one_core().unwrap().run().unwrap();
    let alone = alone.take();
    assert_eq!(alone.len(), 385 * 188);
    for memory in Memory::ALL {
        for lanes in [1, 3] {
            let Some((machine, devices)) = with_devices(1, memory, lanes) else { return };
            for (tasks, gather) in [
                (&THERE[3..], 1),
                (&THERE[..], 1),
                (&THERE[..], 4),
                (&THERE[..2], 2),
                (&THERE[1..], 2),
                (&THERE[1..3], 2),
            ] {
                let written = Shared::default();
                let report = receive(written.clone(), &machine, &devices[0], (tasks, gather));
                assert!(written.take() == alone, "{memory}, {lanes} lanes, {tasks:?}");
                let device = report.stages[1].device.as_ref().unwrap();
                assert!(device.copy_in_ns > 0.0 && device.tasks_ns > 0.0 && device.copy_out_ns > 0.0, "{report}");
                // Symbols of a frame come once, and return once at most.
                assert!(device.copied_bytes.iter().all(|bytes| *bytes < 1.05 * 8.0 * 8460.0), "{tasks:?}: {device:?}");
                let (mut told, expected) = (Figures::of(&report.figures), Figures::of(&expected.figures));
                // The sums that tell the noise are made in another order there.
                for (told, expected) in
                    [(&mut told.es_n0_db, expected.es_n0_db), (&mut told.margin_db, expected.margin_db)]
                {
                    assert!((told.unwrap() - expected.unwrap()).abs() < 1e-5, "{told:?}, not {expected:?}");
                    *told = expected;
                }
                // Cores update the last checks one by one.
                assert!(told.mean_iterations >= expected.mean_iterations, "{told:?}, not {expected:?}");
                told.mean_iterations = expected.mean_iterations;
                assert_eq!(told, expected);
                assert_eq!(report.stages[1].threads, lanes as usize);
            }
        }
    }
}

/// Takes long on a core, and no time on a device.
#[derive(Clone)]
struct Slow;

impl Task for Slow {
    type In = InOut<f32>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, _: &mut [f32], (): ()) -> Result<Flow> {
        std::thread::sleep(Duration::from_millis(2));
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_device(&self, _: &Device) -> Option<Result<OffloadOf<Self>>> {
        Some(Ok(Box::new(self.clone())))
    }
}

impl Offload<InOut<f32>, ()> for Slow {
    fn enqueue(&mut self, _: &mut DeviceBatch<'_, InOut<f32>, ()>) -> Result<()> {
        Ok(())
    }
}

struct Slowly;

impl Slowly {
    fn chain(frames: u64) -> Result<Program> {
        let mut chain = Chain::new();
        let mut left = frames.min(1000);
        let frames = source::from_fn(4, move |_: &mut [f32]| {
            left = left.saturating_sub(1);
            Ok(if left > 0 { Flow::Next } else { Flow::Stop })
        });
        let mut frames = chain.add(frames, ());
        chain.add(Slow, &mut frames);
        chain.add(sink::for_each(|_: &[f32]| Ok(Flow::Next)), &frames);
        chain.build()
    }
}

impl Application for Slowly {
    fn program(&mut self) -> Result<Program> {
        Self::chain(u64::MAX)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        Self::chain(frames)
    }
}

#[test]
fn a_plan_with_lanes_that_share_a_device_is_tried() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((machine, devices)) = with_devices(1, Memory::Copy, 3) else { return };
    let planner = Planner::new(machine);
    let planned = planner.plan(&Slowly).unwrap();
    let kind = planned.profile.kind(&devices[0]).unwrap();
    assert!(planned.profile.overlaps(kind) && planned.schedule.cores().get(&devices[0]) == Some(&1));
    let rounds = planned.refined.as_ref().unwrap().rounds.len();
    assert!((1..=3).contains(&rounds), "{rounds}");
    let report = planned.pipeline(&mut Slowly).unwrap().run().unwrap();
    let device = report.stages.iter().find_map(|stage| stage.device.as_ref()).unwrap();
    assert!(device.overlaps && device.first_launch_seconds > 0.0);
    assert!(report.to_string().contains("first launch of a lane"), "{report}");
    let given = planner.clone().profile(planned.profile.clone(), "the profile");
    for untried in [planner.refine(0), given] {
        assert!(untried.plan(&Slowly).unwrap().refined.is_none());
    }
}
