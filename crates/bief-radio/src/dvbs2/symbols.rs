//! From the samples of a PLFRAME to its symbols, as tasks: filtered without their carrier, then without what is left of its phase.

use std::sync::Arc;

use bief::chain::Input;
use bief::device::{Device, OffloadOf};
use bief::memory::prefetch;
use bief::{Error, Flow, In, InOutVar, InVar, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::scramble::PlScrambler;
use bief_dsp::dvbs2::{CarrierPhase, FrameSync, HEADER, MAX_SYMBOLS, Pls, SignalLevel};
use bief_dsp::filter::{IntegerFilter, MatchedFilter};
use num_complex::Complex32;

use super::opencl::{FilterThere, PhaseThere};
use super::stream::Stretch;
use super::tables::{expect, layout, whole};
use crate::iq::SampleFormat;

/// The place of a frame in its window: each window comes with one.
pub(super) fn placed(sync: &[Option<FrameSync>]) -> Result<FrameSync> {
    sync[0].ok_or_else(|| Error::new("a window came without the place of its frame"))
}

/// Makes the symbols of a frame out of its window: removes DC, spectral inversion and the carrier, as far as the header tells it, from
/// samples as they were recorded, and filters at the symbol instants. Matched filter, interpolation and decimation are one, on 16-bit
/// integers: processors multiply twice as many of them as of floats.
///
/// # Sockets
/// - in: `u8`, variable: the window, samples as they were recorded; of a recording in memory where it lies, 1 per frame
/// - in: `Option<FrameSync>`, 1 per frame
/// - out: `Complex32`, variable: the symbols of the PLFRAME and the 90 that follow it; zeros where the window ends before
///
/// # Errors
/// A window without the place of its frame.
///
/// # Source
/// EN 302 307-1, clause 5.6; the carrier is what the receiver's oscillator is off.
///
/// # Example
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Debug, Clone)]
pub struct FilterSymbols<W = OnWire> {
    pub(super) format: SampleFormat,
    pub(super) filter: IntegerFilter,
    pub(super) windows: W,
}

impl FilterSymbols {
    /// With this filter, for samples of this format.
    pub fn new(filter: &MatchedFilter, format: SampleFormat) -> Self {
        Self::of(filter, format, OnWire)
    }
}

impl FilterSymbols<InMemory> {
    /// The same, for a recording in memory: nobody copies its windows.
    pub(super) fn in_memory(filter: &MatchedFilter, format: SampleFormat, recording: Arc<[u8]>) -> Self {
        Self::of(filter, format, InMemory(recording))
    }
}

impl<W> FilterSymbols<W> {
    fn of(filter: &MatchedFilter, format: SampleFormat, windows: W) -> Self {
        // Windows lie in the memory of a recording, or in the caches of the core that read them.
        Self { format, filter: IntegerFilter::new(filter).prefetching(prefetch), windows }
    }
}

/// Where [`FilterSymbols`] finds windows.
pub trait Windows: Clone + Send + 'static {
    /// What a wire tells of a window.
    type In: Input;

    /// The window, samples as they were recorded.
    fn window<'w, 't: 'w>(&'w self, told: <Self::In as Input>::Slice<'t>) -> &'w [u8];
}

/// Windows are what the wire carries.
#[derive(Debug, Clone, Copy)]
pub struct OnWire;

impl Windows for OnWire {
    type In = InVar<u8>;

    fn window<'w, 't: 'w>(&'w self, window: &'t [u8]) -> &'w [u8] {
        window
    }
}

/// Windows lie in this recording; the wire tells where.
#[derive(Debug, Clone)]
pub struct InMemory(Arc<[u8]>);

impl Windows for InMemory {
    type In = In<Stretch>;

    fn window<'w, 't: 'w>(&'w self, stretch: &'t [Stretch]) -> &'w [u8] {
        stretch[0].of(&self.0)
    }
}

impl<W: Windows> Task for FilterSymbols<W> {
    type In = (W::In, In<Option<FrameSync>>);
    type Out = OutVar<Complex32>;

    fn name(&self) -> String {
        "filter symbols".to_owned()
    }

    fn lens(&self, (_, sync): (usize, usize)) -> Result<usize> {
        expect("place", 1, sync)?;
        Ok(MAX_SYMBOLS + HEADER)
    }

    fn run(
        &mut self,
        (told, sync): (<W::In as Input>::Slice<'_>, &[Option<FrameSync>]),
        mut symbols: VarFrame<'_, Complex32>,
    ) -> Result<Flow> {
        let sync = placed(sync)?;
        symbols.set_len(layout(sync.pls)?.symbols() + HEADER)?;
        let Self { format, filter, windows } = self;
        sync.cut_recorded(filter, format.recorded(windows.window(told)), &mut symbols);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        match device.driver() {
            Some(driver) => {
                let there = FilterThere::new(device, driver, self);
                Some(there.map(|there| -> OffloadOf<Self> { Box::new(there) }))
            }
            None => device.emulate(self.clone()),
        }
    }
}

/// Measures the carrier phase along a frame and takes it out: by header and pilots; without pilots, by the payload. Measures amplitude and
/// noise, too, from moments that are summed in the same pass.
///
/// # Sockets
/// - in-place: `Complex32`, variable: the symbols of a PLFRAME, still scrambled, and the 90 that follow it where they are there
/// - in: `Pls`, 1 per frame
/// - out: [`SignalLevel`], 1 per frame
///
/// # Errors
/// A frame that is shorter than its PLS says.
///
/// # Source
/// EN 302 307-1, clause 5.5 (what is known of a frame).
///
/// # Example
/// ```
/// use bief_radio::dvbs2::CorrectPhase;
/// use bief_dsp::dvbs2::scramble::PlScrambler;
/// let task = CorrectPhase::new(PlScrambler::broadcast().clone().into());
/// ```
/// The chain of a [`Receiver`](super::Receiver) has it in its place.
#[derive(Clone)]
pub struct CorrectPhase {
    phase: CarrierPhase,
    scrambler: Arc<PlScrambler>,
}

impl CorrectPhase {
    /// Corrects frames that are scrambled so.
    pub fn new(scrambler: Arc<PlScrambler>) -> Self {
        Self { phase: CarrierPhase::new(), scrambler }
    }
}

impl Task for CorrectPhase {
    type In = (InOutVar<Complex32>, In<Pls>);
    type Out = Out<SignalLevel>;

    fn name(&self) -> String {
        "correct phase".to_owned()
    }

    fn lens(&self, (_, pls): (usize, usize)) -> Result<usize> {
        expect("PLS", 1, pls)?;
        Ok(1)
    }

    fn run(
        &mut self,
        (mut symbols, pls): (VarFrame<'_, Complex32>, &[Pls]),
        level: &mut [SignalLevel],
    ) -> Result<Flow> {
        whole(pls[0], symbols.len())?;
        let Self { phase, scrambler } = self;
        phase.estimate(pls[0], &symbols, scrambler);
        phase.correct(&mut symbols);
        level[0] = SignalLevel::measure_from(pls[0], phase.moments(), &symbols, scrambler);
        Ok(Flow::Next)
    }

    fn replica(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn on_device(&self, device: &Device) -> Option<Result<OffloadOf<Self>>> {
        match device.driver() {
            Some(driver) => {
                let there = PhaseThere::new(device, driver, Arc::clone(&self.scrambler));
                Some(there.map(|there| -> OffloadOf<Self> { Box::new(there) }))
            }
            None => device.emulate(self.clone()),
        }
    }
}
