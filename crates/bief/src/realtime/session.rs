//! The classes of a pipeline's threads for one run: set before it begins, given back when it has ended, however it does.

use std::io;
use std::thread;
use std::time::Duration;

use bief_machine::class::{self, Before, Class, Demand, Forecast, Order, Reservation, SIGNAL, ThreadId, refusal};

use super::report::{RealTimeReport, StageClass};
use super::settings::{Mode, RealTime, Wanted};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::placement::StageSlots;

/// How much of what a budget has beyond the execution time is asked for, one after the other while the system is busy: others
/// may have reservations that no file tells of.
const SURPLUS: [f64; 4] = [1.0, 0.5, 0.25, 0.0];

/// Classes that are set. Dropped, it gives every thread back what it had.
pub(crate) struct Session<'s> {
    stages: &'s [StageSlots],
    /// One for each thread, in the order of the stages.
    held: Vec<Held>,
    /// What was said before the run, and the margin that the budgets have, if there are reservations.
    forecast: Option<Forecast>,
    tells_overruns: bool,
    is_locked: bool,
    notes: Vec<String>,
    stolen: Option<Duration>,
}

/// A thread.
struct Held {
    stage: usize,
    thread: ThreadId,
    /// `Some` while its class is not what it was.
    before: Option<Before>,
    reservation: Option<Reservation>,
    interruptions: Option<u64>,
}

/// What a run had.
pub(crate) struct Outcome {
    pub(crate) report: RealTimeReport,
    pub(crate) notes: Vec<String>,
}

impl Held {
    fn set(&mut self, order: Order) -> io::Result<()> {
        let before = if self.before.is_none() { Some(Before::of(self.thread)?) } else { None };
        class::set(self.thread, order)?;
        self.before = self.before.take().or(before);
        Ok(())
    }

    fn reserve(&mut self, reservation: Reservation, order: impl Fn(Reservation) -> Order) -> io::Result<()> {
        self.set(order(reservation))?;
        self.reservation = Some(reservation);
        Ok(())
    }

    /// Gives back what it had.
    fn restore(&mut self) {
        self.reservation = None;
        if let Some(before) = self.before.take() {
            // Nothing more can be done: what a thread had needs no right that a higher class does not.
            let _ = before.restore(self.thread);
        }
    }
}

impl<'s> Session<'s> {
    /// Sets what is wanted for these threads, as many for each stage as that has, which are all parked.
    ///
    /// # Errors
    /// What was refused, if it is required; every thread has again what it had.
    pub(crate) fn begin(settings: &RealTime, stages: &'s [StageSlots], threads: &[ThreadId]) -> Result<Self> {
        let of_stage = |(stage, seats): (usize, &StageSlots)| std::iter::repeat_n(stage, seats.threads);
        let held = stages.iter().enumerate().flat_map(of_stage).zip(threads);
        let held =
            held.map(|(stage, &thread)| Held { stage, thread, before: None, reservation: None, interruptions: None });
        let mut session = Self {
            stages,
            held: held.collect(),
            forecast: None,
            tells_overruns: false,
            is_locked: false,
            notes: Vec::new(),
            stolen: None,
        };
        let refused = match settings.wanted {
            Wanted::Ordinary => Vec::new(),
            Wanted::Fifo { priority } => session.prefer(priority),
            Wanted::Deadline { .. } => session.reserve(settings),
        };
        if let Some((stage, reason)) = refused.first()
            && settings.mode == Mode::Require
        {
            let place = Place { stage: Some(stages[*stage].name.as_str().into()), ..Place::default() };
            return Err(Error::new(reason).with_kind(ErrorKind::RealTime).at(place));
        }
        session.release(refused);
        if settings.locks_memory {
            match class::lock_memory() {
                Ok(()) => session.is_locked = true,
                Err(error) => session.notes.push(format!("real time: {}", refusal::of_memory(&error))),
            }
        }
        for held in &mut session.held {
            held.interruptions = class::interruptions(held.thread);
        }
        session.stolen = class::stolen();
        Ok(session)
    }

    /// Gives every thread this priority; answers whom the system refused it.
    fn prefer(&mut self, priority: u32) -> Vec<(usize, String)> {
        let refused = self.held.iter_mut().filter_map(|held| {
            let error = held.set(Order::Fifo { priority }).err()?;
            Some((held.stage, refusal::of_fifo(priority, &error)))
        });
        refused.collect()
    }

    /// Reserves time for every thread: as much as the forecast says, or less if the system is busy. Answers whom it refused
    /// any.
    fn reserve(&mut self, settings: &RealTime) -> Vec<(usize, String)> {
        let demands = settings.demands(self.stages);
        let forecast = Forecast::here(&demands);
        self.tells_overruns = self.watch_budgets();
        let (reclaims, tells) = (settings.reclaims(), self.tells_overruns);
        let order = |reservation| Order::Deadline { reservation, reclaims, tells };
        let parts = if forecast.margin > 0.0 { &SURPLUS[..] } else { &[0.0] };
        let mut pause = demands.iter().map(Demand::period).max();
        for part in parts {
            let margin = part * forecast.margin;
            let mut outcome = self.reserve_all(&demands, margin, order);
            if outcome.as_ref().is_err_and(refusal::is_busy)
                && let Some(period) = pause.take()
            {
                // What a run before this one had reserved is free again only after its period.
                thread::sleep(period);
                outcome = self.reserve_all(&demands, margin, order);
            }
            self.forecast = Some(Forecast { margin, ..forecast });
            match outcome {
                Ok(()) => return Vec::new(),
                Err(error) if refusal::is_busy(&error) => {}
                Err(_) => break,
            }
        }
        // As many as there is room for.
        let total = self.total(&demands, &forecast);
        let mut refused = Vec::new();
        for (held, demand) in self.held.iter_mut().zip(&demands).filter(|(held, _)| held.reservation.is_none()) {
            if let Err(error) = held.reserve(demand.reserve(0.0), order) {
                refused.push((held.stage, refusal::of_deadline(held.thread, &error, &total)));
            }
        }
        refused
    }

    fn reserve_all(&mut self, demands: &[Demand], margin: f64, order: impl Fn(Reservation) -> Order) -> io::Result<()> {
        let mut all = self.held.iter_mut().zip(demands);
        all.try_for_each(|(held, demand)| held.reserve(demand.reserve(margin), &order))
    }

    /// What was asked for, the stages that ask for most first.
    fn total(&self, demands: &[Demand], forecast: &Forecast) -> String {
        let mut each: Vec<(&str, f64)> = self.stages.iter().map(|stage| (&*stage.name, 0.0)).collect();
        for (held, demand) in self.held.iter().zip(demands) {
            each[held.stage].1 += demand.share(0.0);
        }
        each.sort_by(|one, other| other.1.total_cmp(&one.1));
        let each: Vec<String> = each.iter().map(|(name, share)| format!("`{name}` {share:.2}")).collect();
        let others = if forecast.fits() { ", where other programs have reservations" } else { "" };
        format!(
            "reservations total {:.2} of {:.2} cores{others} ({})",
            forecast.least,
            forecast.capacity,
            each.join(", ")
        )
    }

    /// Makes used up budgets known; answers whether they are.
    fn watch_budgets(&mut self) -> bool {
        let outcome = if self.held.iter().any(|held| class::blocks(held.thread, SIGNAL)) {
            Err("the program blocks SIGXCPU")
        } else {
            class::count_signals().map_err(|_| "the program has a use of its own for SIGXCPU")
        };
        if let Err(reason) = outcome {
            self.notes.push(format!("real time: used up budgets are not counted: {reason}"));
        }
        outcome.is_ok()
    }

    /// Leaves a stage of which a thread was refused in its ordinary class as a whole, and says why.
    fn release(&mut self, refused: Vec<(usize, String)>) {
        let mut causes: Vec<(String, Vec<usize>)> = Vec::new();
        for (stage, cause) in refused {
            self.held.iter_mut().filter(|held| held.stage == stage).for_each(Held::restore);
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, stages)) if stages.contains(&stage) => {}
                Some((_, stages)) => stages.push(stage),
                None => causes.push((cause, vec![stage])),
            }
        }
        let told = causes.into_iter().map(|(cause, stages)| {
            let names: Vec<String> = stages.iter().map(|&stage| format!("`{}`", self.stages[stage].name)).collect();
            let noun = if names.len() == 1 { "stage" } else { "stages" };
            format!("real time, {noun} {}: {cause}. The ordinary class is used: no bound holds.", names.join(", "))
        });
        self.notes.extend(told.collect::<Vec<_>>());
    }

    /// Ends it after the run, in which the threads got so many signals each.
    pub(crate) fn end(mut self, settings: &RealTime, signals: &[u64]) -> Outcome {
        let stolen = self.stolen.zip(class::stolen()).map(|(before, after)| after.saturating_sub(before));
        let stages = self.stages.iter().enumerate().map(|(stage, seats)| {
            let held = || self.held.iter().zip(signals).filter(move |(held, _)| held.stage == stage);
            let interruptions = held()
                .map(|(held, _)| Some(class::interruptions(held.thread)?.saturating_sub(held.interruptions?)))
                .sum::<Option<u64>>();
            let reservation = held().next().and_then(|(held, _)| held.reservation);
            StageClass {
                name: seats.name.clone(),
                class: match settings.wanted {
                    Wanted::Fifo { priority } if held().all(|(held, _)| held.before.is_some()) => {
                        Class::Fifo { priority }
                    }
                    Wanted::Deadline { .. } if reservation.is_some() => Class::Deadline,
                    _ => Class::Ordinary,
                },
                reservation,
                overruns: (reservation.is_some() && self.tells_overruns)
                    .then(|| held().map(|(_, signals)| signals).sum()),
                interruptions,
            }
        });
        let had = self.held.iter().filter_map(|held| held.reservation);
        let reserved = had.map(|had| had.budget_ns as f64 / had.period_ns as f64).sum();
        let report = RealTimeReport {
            stages: stages.collect(),
            reservations: self.forecast.map(|forecast| Forecast { reserved, ..forecast }),
            memory_is_locked: self.is_locked,
            stolen_seconds: stolen.map(|time| time.as_secs_f64()),
            bound: None,
        };
        Outcome { report, notes: std::mem::take(&mut self.notes) }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.held.iter_mut().for_each(Held::restore);
    }
}
