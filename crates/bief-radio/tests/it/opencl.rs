//! The receiver with its LDPC decoder on the devices that OpenCL has here: none is no fault, but with `BIEF_DEVICE=require`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::common::Shared;
use bief::schedule::{Profile, Schedule, Stage, TaskProfile};
use bief::{Application, Chain, Flow, InVar, Machine, Pipeline, Program, Report, Result, Task, VarFrame, sink, source};
use bief_dsp::dvbs2::Pls;
use bief_dsp::dvbs2::ldpc::{Code, Decoder};
use bief_opencl::{Memory, find, open};
use bief_radio::Recording;
use bief_radio::dvbs2::{DecodeLdpc, Decoding, Figures, Receiver, Settings};

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
            assert_eq!(decodings[number], *decoding, "frame {number}, {}", all[number]);
            assert!(all_bits[number] == *bits, "frame {number}, {}", all[number]);
        }
    }
}

/// A chain in stages of so many tasks, on these kinds.
fn pipeline_cut(program: Program, cut: &[(usize, &str)], machine: &Machine) -> Pipeline {
    let mut kinds: Vec<&str> = cut.iter().map(|(_, kind)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let tasks: Vec<TaskProfile> = program
        .tasks()
        .map(|(name, replicable)| TaskProfile { replicable, ..TaskProfile::sequential(name, vec![1; kinds.len()]) })
        .collect();
    let stages: Vec<Stage> = cut.iter().map(|&(tasks, kind)| Stage::new(tasks, 1, kind)).collect();
    let schedule = Schedule::new("hand", stages, &Profile::new(kinds, tasks).unwrap()).unwrap();
    program.pipeline_on(&schedule, machine).unwrap()
}

/// Keeps what comes.
struct Keep(Arc<Mutex<Vec<Vec<u8>>>>);

impl Task for Keep {
    type In = InVar<u8>;
    type Out = ();

    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn run(&mut self, bits: &[u8], (): ()) -> Result<Flow> {
        self.0.lock().unwrap().push(bits.to_vec());
        Ok(Flow::Next)
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

/// With the LDPC decoder there.
fn receive(written: Shared, machine: &Machine, device: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    let receiver = Receiver::find(Recording::open(&path, None).unwrap(), Settings::at(2.0), |_| ()).unwrap();
    let program = receiver.to(written).program().unwrap();
    let names: Vec<String> = program.tasks().map(|(name, _)| name.to_string()).collect();
    let first = names.iter().position(|name| name == "decode LDPC").unwrap();
    pipeline_cut(program, &[(first, "cpu"), (1, device), (names.len() - first - 1, "cpu")], machine).run().unwrap()
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
            let written = Shared::default();
            let report = receive(written.clone(), &machine, &devices[0]);
            assert!(written.take() == alone, "{memory}, {lanes} lanes");
            assert_eq!(Figures::of(&report.figures), Figures::of(&expected.figures));
            assert_eq!(report.stages[1].threads, lanes as usize);
        }
    }
}
