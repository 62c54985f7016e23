//! A worker that has several batches at a time: a lane of a device, which is launched for all that wait, so many at most. One batch goes as
//! soon as the lane is free; under load, launches are large.

use std::time::Instant;

use crate::boundary::{Inlet, Outlet};
use crate::clock::Laps;
use crate::error::Result;
use crate::frame::Batch;
use crate::halt::Halt;
use crate::observe::Visit;
use crate::worker::{Worker, drops};

/// The batches that a lane has at a time: they lie here while it works on them, their frames in the slots of inlet and outlet.
pub(crate) struct Gathered {
    batches: Box<[Batch]>,
    /// The numbers of all but the first.
    numbers: Vec<u64>,
}

impl Gathered {
    /// With room for so many.
    pub(crate) fn new(places: usize) -> Self {
        Self { batches: (0..places).map(|_| Batch::new(0)).collect(), numbers: Vec::with_capacity(places) }
    }
}

/// How many batches a worker with these ends takes beside one.
pub(crate) fn places(inlet: &Inlet, outlet: Option<&Outlet>) -> usize {
    let taken = inlet.further.len();
    outlet.map_or(taken, |outlet| taken.min(outlet.further.len()))
}

impl Worker {
    /// As [`work`](Self::work)'s loop for one batch at a time.
    pub(crate) fn run_gathered(&mut self, halt: &Halt) -> Result<()> {
        let mut laps = Laps::start();
        loop {
            let asked = laps.mark();
            let sampled = self.samples()?;
            if !self.next_batch(halt) {
                return Ok(());
            }
            laps.lap();
            let begin = laps.mark();
            self.load();
            self.gather();
            self.exchange();
            let taken = self.taken();
            let mut frames = None;
            if taken.iter().any(|batch| batch.count > 0) {
                let batches = taken.iter().filter(|batch| batch.count > 0).count() as u64;
                let live = taken.iter().map(|batch| batch.live() as u64).sum();
                // SAFETY: the slots of all batches were just loaded, and are this worker's own until they are sent.
                unsafe { self.run_gathered_in_lane(sampled)? };
                self.count.batches += batches;
                self.count.frames += live;
                frames = Some(live);
            }
            self.has_ended = self.taken().iter().any(|batch| batch.last);
            let first = self.taken()[0].first;
            self.exchange();
            self.count.busy += laps.lap();
            let (launch, end) = (frames.and_then(|_| self.launch()), laps.mark());
            self.note_ended(end);
            self.note(Visit { first, frames, asked, begin, end, sampled, launch });
            if !self.give_all() || self.has_ended || !self.take() {
                return Ok(());
            }
            laps.lap();
        }
    }

    /// Takes what waits behind the batch that it has, as far as there is room, and points the stage's tables at all of it.
    fn gather(&mut self) {
        let Self { gathered: Some(gathered), inlet: Some(inlet), outlet, carried, stage, .. } = self else { return };
        gathered.numbers.clear();
        stage.load_at(0, &inlet.wires, &inlet.slot);
        let mut is_last = inlet.slot.batch.last;
        if let Some(outlet) = outlet {
            stage.load_at(0, &outlet.wires, &outlet.slot);
            is_last = outlet.slot.batch.last;
        }
        for place in 0..places(inlet, outlet.as_ref()) {
            if is_last {
                break;
            }
            let Some(number) = inlet.receive_waiting(place) else { break };
            let from = &mut inlet.further[place];
            is_last = from.batch.last;
            if let Some(outlet) = outlet {
                let to = &mut outlet.further[place];
                std::mem::swap(&mut from.batch, &mut to.batch);
                for &(index, other) in &*carried {
                    std::mem::swap(&mut from.buffers[index], &mut to.buffers[other]);
                }
                to.begun = from.begun;
            }
            stage.load_at(place + 1, &inlet.wires, from);
            // Carried wires are now on the outlet's side, so its buffers are noted last.
            if let Some(outlet) = outlet {
                stage.load_at(place + 1, &outlet.wires, &outlet.further[place]);
            }
            gathered.numbers.push(number);
        }
    }

    /// Exchanges the batches that are here with those in the slots: the outlet's, or the inlet's where nothing follows.
    fn exchange(&mut self) {
        let Self { gathered: Some(gathered), inlet, outlet, .. } = self else { return };
        let (slot, slots) = match (inlet, outlet) {
            (_, Some(outlet)) => (&mut outlet.slot, &mut outlet.further),
            (Some(inlet), None) => (&mut inlet.slot, &mut inlet.further),
            (None, None) => return,
        };
        let (first, further) = gathered.batches.split_at_mut(1);
        std::mem::swap(&mut first[0], &mut slot.batch);
        for ((batch, slot), _) in further.iter_mut().zip(slots).zip(&gathered.numbers) {
            std::mem::swap(batch, &mut slot.batch);
        }
    }

    /// Notes those batches behind the first that go no further than this worker, as [`note`](Self::note) does the first.
    fn note_ended(&mut self, end: Instant) {
        let Self { gathered: Some(gathered), inlet: Some(inlet), outlet: None, observer, ended, .. } = self else {
            return;
        };
        for slot in
            inlet.further.iter().zip(&gathered.numbers).map(|(slot, _)| slot).filter(|slot| slot.batch.count > 0)
        {
            *ended += 1;
            if let Some(observer) = observer {
                observer.delivered(slot.begun, slot.batch.live() as u64, end);
            }
        }
    }

    /// The batches that are here.
    fn taken(&mut self) -> &mut [Batch] {
        match &mut self.gathered {
            Some(gathered) => &mut gathered.batches[..=gathered.numbers.len()],
            None => &mut [],
        }
    }

    /// Runs every task on the batches that are here, on the device of its lane, and lets the observer note the times, if it `samples`
    /// them: the share of one batch.
    ///
    /// # Safety
    /// As [`Stage::run_gathered`](crate::stage::Stage::run_gathered).
    unsafe fn run_gathered_in_lane(&mut self, samples: bool) -> Result<()> {
        let further = self.gathered.as_ref().map_or(0, |gathered| gathered.numbers.len());
        let (start, waits) = (self.begin_launch(further), self.waits());
        let Self { lane: Some(lane), gathered: Some(gathered), stage, observer, .. } = self else { return Ok(()) };
        let batches = &mut gathered.batches[..=gathered.numbers.len()];
        let mut observer = observer.as_mut().filter(|_| samples);
        if let Some(observer) = &mut observer {
            observer.begin();
        }
        let count = batches.len() as u32;
        let frames = batches.iter().map(|batch| batch.live() as u64).sum();
        lane.pass(start, (frames, batches.len()), waits, |note| {
            // SAFETY: passed on to the caller.
            unsafe { stage.run_gathered(batches, note)? };
            Ok(stage.copied())
        })?;
        if let Some(observer) = &mut observer {
            lane.tasks().for_each(|(task, time)| observer.task(task, time, count));
        }
        Ok(())
    }

    /// Hands all of its batches on, in order, for which it has to [`take`](Self::take) slots; `false` when nobody receives them any more.
    fn give_all(&mut self) -> bool {
        let Self { gathered: Some(gathered), outlet: Some(outlet), replicas, .. } = self else { return true };
        let gives = |outlet: &mut Outlet, further: Option<(usize, u64)>| {
            let batch = further.map_or(&outlet.slot.batch, |(place, _)| &outlet.further[place].batch);
            if drops(batch, *replicas) {
                return true;
            }
            // What replicas hand on has the number of what they got.
            if let Some((_, number)) = further.filter(|_| *replicas > 1) {
                outlet.number(number);
            }
            outlet.give(further.map(|(place, _)| place))
        };
        gives(outlet, None)
            && gathered.numbers.iter().enumerate().all(|(place, &number)| gives(outlet, Some((place, number))))
    }

    /// Hands on those batches, and those frames of the next one, that come before the one on which a task failed.
    pub(crate) fn deliver_gathered(&mut self) -> Result<()> {
        // They lie here while the stage works.
        let Self { gathered: Some(gathered), stage, .. } = self else { return Ok(()) };
        let batches = &mut gathered.batches[..=gathered.numbers.len()];
        // SAFETY: the stage has just failed on these batches, whose slots are loaded and still this worker's own.
        let (failed, outcome) = unsafe { stage.run_gathered_before_fault(batches) };
        let delivered = &mut batches[..=failed];
        let frames: u64 = delivered.iter().map(|batch| batch.live() as u64).sum();
        let is_partial = delivered[failed].count > 0;
        delivered[failed].last = true;
        // Of the one with the fault nothing is sent if nothing of it is left: the stream ends before its number.
        let sent = if is_partial { failed + 1 } else { failed };
        let end = failed.checked_sub(1).map(|place| gathered.numbers[place]);
        gathered.numbers.truncate(sent.saturating_sub(1));
        self.exchange();
        if sent > 0 {
            self.count.batches += sent as u64;
            self.count.frames += frames;
            self.show();
            self.give_all();
        }
        if let (false, Some(end), Some(outlet)) = (is_partial, end, &mut self.outlet)
            && self.replicas > 1
        {
            outlet.number(end);
        }
        outcome
    }
}
