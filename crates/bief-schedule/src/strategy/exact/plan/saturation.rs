//! The least power where one kind of core saturates.
//!
//! In a given period let `x` be the busy cores of the kind that saturates, and `y` what all other cores draw. Power grows
//! with both and is concave: straight in `y`, bent in `x`. Three facts make the search exact:
//!
//! 1. *Prices suffice.* Lay the straight line through the schedule of least power that has the slope of the bend there. A
//!    concave function lies below such a line: a schedule that is cheaper by the line would draw less still. So the schedule
//!    of least power is the cheapest where a busy core of the kind has that slope as its price.
//! 2. *The cheapest schedules are corners.* From the price at no work down to that with all cores busy they are the corners
//!    of the convex hull of all (`x`, `y`), and there is one between two others if and only if it is cheaper than both at the
//!    price at which these cost the same.
//! 3. *Most corners need not be found.* What lies between two corners lies in the triangle of the two and of the point where
//!    the lines of their prices meet. In a triangle a concave function is least at a corner: where that point has no less
//!    power than the best schedule so far, nothing between the two has.

use super::{Planned, Planner};
use crate::error::Error;
use crate::period::Period;
use crate::platform::CoreKind;
use crate::share::shared_period;
use crate::strategy::exact::cost::Prices;
use crate::strategy::exact::instance::Kind;
use crate::strategy::exact::search::Refused;

/// The highest price in the solver's whole numbers: finer than what watts are known to.
const HIGHEST_PRICE: f64 = (1u64 << 40) as f64;

/// A kind of core that saturates, among others that do not.
pub(super) struct Saturating {
    pub(super) kind: CoreKind,
    /// What the first busy core of each kind of the instance draws, in watts.
    pub(super) watts: Vec<f64>,
    /// Which of them is the one.
    pub(super) position: usize,
}

impl Saturating {
    /// What the cores draw above idle.
    fn power(&self, busy: f64, others: f64) -> f64 {
        self.kind.power(busy).expect("checked: a kind that saturates has watts") + others
    }

    /// The prices of busy cores, in whole numbers.
    fn prices(&self, price: f64) -> Vec<u64> {
        let mut watts = self.watts.clone();
        watts[self.position] = price;
        let highest = watts.iter().copied().fold(0.0, f64::max);
        let unit = if highest > 0.0 { HIGHEST_PRICE / highest } else { 0.0 };
        watts.into_iter().map(|watts| (watts * unit).round() as u64).collect()
    }
}

/// A cheapest schedule.
struct Corner {
    planned: Planned,
    /// The price of a busy core of the kind that saturates, in watts.
    price: f64,
    busy: f64,
    others: f64,
    /// What all cores draw above idle.
    watts: f64,
}

impl Corner {
    /// What it costs at a price.
    fn cost(&self, price: f64) -> f64 {
        price * self.busy + self.others
    }
}

impl Planner<'_> {
    /// The schedule of least power that fits in the period and meets the demands.
    pub(super) fn least_power(&self, saturating: &Saturating, period: Period) -> Result<Option<Planned>, Error> {
        let first_core = saturating.watts[saturating.position];
        let all_cores = f64::from(saturating.kind.cores);
        let last_core = first_core * (-all_cores / saturating.kind.saturation.unwrap_or(f64::INFINITY)).exp();
        let (Some(most), Some(fewest)) =
            (self.corner(saturating, period, last_core)?, self.corner(saturating, period, first_core)?)
        else {
            return Ok(None);
        };
        let rank = |corner: &Corner| (corner.watts, corner.planned.0.len());
        let mut corners = vec![most, fewest];
        let mut best = if rank(&corners[0]) <= rank(&corners[1]) { 0 } else { 1 };
        let mut between = vec![(0, 1)];
        while let Some((a, b)) = between.pop() {
            let (more, fewer) = (&corners[a], &corners[b]);
            if more.busy <= fewer.busy {
                continue;
            }
            let busy = (fewer.cost(fewer.price) - more.cost(more.price)) / (fewer.price - more.price);
            let others = more.cost(more.price) - more.price * busy;
            if saturating.power(busy, others) >= corners[best].watts {
                continue;
            }
            let price = (fewer.others - more.others) / (more.busy - fewer.busy);
            let Some(corner) = self.corner(saturating, period, price)? else { break };
            let new = fewer.busy < corner.busy && corner.busy < more.busy;
            if new && corner.cost(price) < more.cost(price).min(fewer.cost(price)) {
                corners.push(corner);
                let middle = corners.len() - 1;
                if rank(&corners[middle]) < rank(&corners[best]) {
                    best = middle;
                }
                between.extend([(a, middle), (middle, b)]);
            }
        }
        Ok(Some(corners.swap_remove(best).planned))
    }

    /// The cheapest schedule at a price.
    fn corner(&self, saturating: &Saturating, period: Period, price: f64) -> Result<Option<Corner>, Error> {
        let prices = Prices { of_kinds: saturating.prices(price), ..self.prices.clone() };
        let Some(planned) = self.best(&self.costs_of(period, &prices)?) else { return Ok(None) };
        let (mut busy, mut others, mut start) = (0.0, 0.0, 0);
        for stage in &planned.0 {
            let tasks = start..start + stage.tasks;
            start = tasks.end;
            let cores = |kind: &Kind<'_>| stage.cores.get(&self.profile.kinds()[kind.position]).copied().unwrap_or(0);
            let works = self.instance.works(tasks.start, tasks.end);
            let shares = self.instance.kinds().iter().filter_map(|kind| Some((works[kind.axis]?, cores(kind))));
            let own = shared_period(shares).ok_or_else(|| self.refused(Refused::TooLong))?;
            // All cores of a stage are as busy.
            let share = if period == Period::ZERO { 0.0 } else { own.ns() / period.ns() };
            for (position, kind) in self.instance.kinds().iter().enumerate() {
                let on_kind = share * f64::from(cores(kind));
                if position == saturating.position {
                    busy += on_kind;
                } else {
                    others += on_kind * saturating.watts[position];
                }
            }
        }
        let watts = saturating.power(busy, others);
        Ok(Some(Corner { planned, price, busy, others, watts }))
    }
}
