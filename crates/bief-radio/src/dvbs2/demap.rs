//! From the symbols of PLFRAMEs to soft bits, as a task.

use std::sync::Arc;

use bief::device::{Device, OffloadOf};
use bief::{Flow, In, InVar, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{Demapper, FrameSize, Layout, Pls, SignalLevel, VlSnr};
use num_complex::Complex32;

use super::opencl::DemapThere;
use super::tables::{Coding, Tables, code, expect, layout, whole};

/// Demaps the payload of PLFRAMEs to soft bits, in the order of the codeword: scrambling undone, header and pilots left out,
/// demapped and deinterleaved in one pass.
///
/// # Sockets
/// - in: `Complex32`, variable: the symbols of a PLFRAME, still scrambled; what follows it is left out
/// - in: [`SignalLevel`], 1 per frame
/// - in: `Pls`, 1 per frame
/// - out: `i8`, variable: nldpc LLRs, positive for 0, 4 counts per unit
///
/// # Errors
/// A frame without data, or shorter than its PLS says.
///
/// # Source
/// EN 302 307-1, clauses 5.3.3, 5.4 and 5.5.4 (what is undone); LLRs by the nearest points.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Clone)]
pub struct Demap {
    scrambler: Arc<PlScrambler>,
    kinds: Tables<Pls, Kind>,
}

/// What is needed for one kind of frame.
#[derive(Clone)]
struct Kind {
    layout: Layout,
    rule: Rule,
    /// The least noise that is believed.
    least_n0: f32,
}

#[derive(Clone)]
enum Rule {
    Of(Box<Demapper>),
    VlSnr(VlSnr),
}

/// An estimate of Es/N0 that lies further above a MODCOD's threshold than this is not believed: LLRs would saturate.
const MARGIN_DB: f32 = 6.0;

impl Kind {
    fn new(pls: Pls) -> Result<Self> {
        let rule = match (code(pls)?, pls.modcod()) {
            (Coding::VlSnr(kind), _) => Rule::VlSnr(kind),
            (Coding::Of(size, _), modcod) => {
                Rule::Of(Box::new(Demapper::new(modcod.expect("frames with data have one"), size)))
            }
        };
        Ok(Self { layout: layout(pls)?, rule, least_n0: least_n0(pls)? })
    }
}

/// The least noise that is believed of a kind of frame.
pub(super) fn least_n0(pls: Pls) -> Result<f32> {
    let ideal_db = match (code(pls)?, pls.modcod()) {
        (Coding::VlSnr(kind), _) => kind.ideal_esn0_db(),
        (Coding::Of(..), modcod) => modcod.expect("frames with data have one").ideal_esn0_db(),
    };
    Ok(10_f32.powf(-0.1 * (ideal_db + MARGIN_DB)))
}

impl Demap {
    /// For frames of any kind that are scrambled so.
    pub fn new(scrambler: Arc<PlScrambler>) -> Self {
        Self { scrambler, kinds: Tables::default() }
    }
}

impl Task for Demap {
    type In = (InVar<Complex32>, In<SignalLevel>, In<Pls>);
    type Out = OutVar<i8>;

    fn name(&self) -> String {
        "demap".to_owned()
    }

    fn lens(&self, (_, levels, pls): (usize, usize, usize)) -> Result<usize> {
        expect("level", 1, levels)?;
        expect("PLS", 1, pls)?;
        Ok(FrameSize::Normal.bits())
    }

    fn run(
        &mut self,
        (symbols, level, pls): (&[Complex32], &[SignalLevel], &[Pls]),
        mut llrs: VarFrame<'_, i8>,
    ) -> Result<Flow> {
        let frame = &symbols[..whole(pls[0], symbols.len())?];
        let Kind { layout, rule, least_n0 } = self.kinds.get(pls[0], || Kind::new(pls[0]))?;
        let level = SignalLevel { n0: level[0].n0.max(*least_n0), ..level[0] };
        llrs.set_len(pls[0].frame_size().bits())?;
        match rule {
            Rule::Of(demapper) => demapper.demap_plframe(frame, layout, &self.scrambler, level, &mut llrs),
            Rule::VlSnr(kind) => kind.demap(frame, &self.scrambler, level, &mut llrs),
        }
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        match device.driver() {
            Some(driver) => {
                let there = DemapThere::new(device, driver, &self.scrambler);
                Some(there.map(|there| -> OffloadOf<Self> { Box::new(there) }))
            }
            None => device.emulate(self.clone()),
        }
    }
}
