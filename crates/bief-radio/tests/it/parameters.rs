//! Numbers that make no sense are refused where a task or a receiver is made, whatever they are.

use bief::Application;
use bief_dsp::dvbs2::{FrameSize, Pls};
use bief_dsp::low_pass::Window;
use bief_radio::dvbs2::{Receiver, Settings, ShapePulses, Transmitter};
use bief_radio::{
    Agc, DeEmphasis, DemodulateFm, Discriminate, LowPass, NarrowbandFm, Recording, RemoveDc, SampleFormat, Shift,
};

/// No rate, frequency, time or level.
const SENSELESS: [f64; 9] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, -1e300, f64::MIN_POSITIVE, 5e-324];

type Make = (&'static str, fn(f64) -> bief::Result<()>);

#[test]
fn tasks_refuse_them() {
    let tasks: [Make; 18] = [
        ("demodulate, rate", |x| DemodulateFm::new(x, 5e3, 8e3, 3e3).map(drop)),
        ("demodulate, deviation", |x| DemodulateFm::new(48e3, x, 8e3, 3e3).map(drop)),
        ("demodulate, cutoff", |x| DemodulateFm::new(48e3, 5e3, x, 3e3).map(drop)),
        ("demodulate, transition", |x| DemodulateFm::new(48e3, 5e3, 8e3, x).map(drop)),
        ("demodulate, follow", |x| DemodulateFm::new(48e3, 5e3, 8e3, 3e3)?.following(x).map(drop)),
        ("discriminate, rate", |x| Discriminate::new(x, 5e3).map(drop)),
        ("discriminate, deviation", |x| Discriminate::new(48e3, x).map(drop)),
        ("de-emphasis, rate", |x| DeEmphasis::new(x, 50e-6).map(drop)),
        ("de-emphasis, time", |x| DeEmphasis::new(48e3, x).map(drop)),
        ("remove dc, rate", |x| RemoveDc::new(x, 20.0).map(drop)),
        ("remove dc, corner", |x| RemoveDc::new(48e3, x).map(drop)),
        ("low-pass, rate", |x| LowPass::<f32>::new(x, 3e3, 1e3, Window::Hann, 1).map(drop)),
        ("low-pass, cutoff", |x| LowPass::<f32>::new(48e3, x, 1e3, Window::Hann, 1).map(drop)),
        ("low-pass, transition", |x| LowPass::<f32>::new(48e3, 3e3, x, Window::Hann, 1).map(drop)),
        ("shift, rate", |x| Shift::new(x, 1e3).map(drop)),
        ("agc, target", |x| Agc::new(x, 1e4).map(drop)),
        ("agc, gain", |x| Agc::new(1.0, x).map(drop)),
        ("pulses, samples per symbol", |x| ShapePulses::new(0.2, x).map(drop)),
    ];
    for (name, make) in tasks {
        for value in SENSELESS {
            assert!(make(value).is_err(), "{name}: {value}");
        }
    }
    // Zero is a shift and a roll-off, and what is nearly zero, too.
    for value in SENSELESS.into_iter().filter(|value| !(0.0..1.0).contains(value)) {
        assert!(ShapePulses::new(value, 2.0).is_err(), "{value}");
        assert!(value == -1.0 || Shift::new(48e3, value).is_err(), "{value}");
    }
}

#[test]
fn the_dvb_s2_chains_refuse_them() {
    let recording = || Recording::from_memory("test", SampleFormat::Ci8, vec![1; 1000]);
    let pls = Pls::from_parts("qpsk-1/2".parse().unwrap(), FrameSize::Short, true).unwrap();
    for samples_per_symbol in SENSELESS {
        let found = Receiver::find(recording(), Settings::at(samples_per_symbol), |_| ());
        let said = found.err().unwrap().to_string();
        assert!(said.contains("samples per symbol: give 1.5 to 8"), "{said}");
        let transmitter = Transmitter { samples_per_symbol, ..Transmitter::new(pls) };
        assert!(transmitter.chain(std::io::empty(), std::io::sink()).is_err(), "{samples_per_symbol}");
    }
}

/// A change of one field.
type Change = (&'static str, fn(&mut NarrowbandFm, f64));

#[test]
fn the_narrowband_receiver_refuses_them_before_it_reads() {
    let changes: [Change; 10] = [
        ("rate", |fm, x| fm.sample_rate = x),
        ("deviation", |fm, x| fm.deviation = x),
        ("bandwidth", |fm, x| fm.bandwidth = x),
        ("channel rate", |fm, x| fm.channel_rate = x),
        ("channel transition", |fm, x| fm.channel_transition = x),
        ("audio transition", |fm, x| fm.audio_transition = x),
        ("follow", |fm, x| fm.follow = Some(x)),
        ("made with rate", |fm, x| *fm = NarrowbandFm::new(x, 0.0, 5e3, 48_000)),
        ("made with deviation", |fm, x| *fm = NarrowbandFm::new(576e3, 0.0, x, 48_000)),
        ("deviation and block", |fm, x| (fm.deviation, fm.block) = (x, usize::MAX)),
    ];
    let samples = || Recording::from_memory("test", SampleFormat::Ci8, vec![1; 1_000_000]);
    let outcomes = |fm: NarrowbandFm| {
        // Whether a carrier is found does not matter here, nor what only one of them looks at.
        let _ = (fm.decimation(), fm.refine(samples()).map(drop), fm.find(samples()).map(drop));
        let wav = std::io::Cursor::new(Vec::new());
        [fm.delay().map(drop), fm.source(samples()).map(drop), fm.on(samples()).to_wav(|| Ok(wav)).program().map(drop)]
    };
    for (name, change) in changes {
        // The audit's, which once ended in a panic, beside those that never make sense.
        for value in SENSELESS.into_iter().chain([1e10, 3e5]) {
            let mut fm = NarrowbandFm::new(576e3, 0.0, 5e3, 48_000);
            change(&mut fm, value);
            let refused = outcomes(fm).into_iter().filter(|outcome| outcome.is_err()).count();
            assert_eq!(refused, 3, "{name}: {value}");
        }
    }
    for carrier in [f64::NAN, f64::INFINITY, 1e300, -1e300] {
        let fm = NarrowbandFm { carrier, ..NarrowbandFm::new(576e3, 0.0, 5e3, 48_000) };
        assert!(outcomes(fm)[2].is_err() && fm.refine(samples()).is_err(), "{carrier}");
    }
    for deviation in [f64::NAN, f64::INFINITY, 1e10] {
        let said = NarrowbandFm::new(576e3, 0.0, deviation, 48_000).find(samples()).unwrap_err().to_string();
        assert!(!said.contains("no carrier"), "{said}");
    }
}
