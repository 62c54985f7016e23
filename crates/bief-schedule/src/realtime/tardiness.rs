//! How late jobs may be on cores that the tasks share, by the global-EDF theory of soft real-time tasks.

use serde::Serialize;

/// Up to this, sums of utilisations that are equal may differ by rounding.
pub(super) const ROUNDING: f64 = 1e-12;

/// The published tardiness bound to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// No tardiness where *U* ≤ *M* - (*M* - 1) max *u* (Goossens, Funk and Baruah 2003), and else that of
    /// [`RefinedCompliantVector`](Self::RefinedCompliantVector).
    #[default]
    Automatic,
    /// Devi and Anderson 2005: *e* + *x* with *x* = (sum of the *L* greatest *e* - least *e*) / (*M* - sum of the *L* -
    /// 1 greatest *u*), *L* = ⌈*U*⌉ - 1, and 0 where that is negative.
    DeviAnderson,
    /// Erickson, Devi and Baruah 2010: *e* + (*s* - *e*)/*M*, and 0 where that is negative, with the least *s* =
    /// *G*(*s*), the sum of the ⌈*U*⌉ - 1 greatest *e* + *u* max(0, (*s* - *e*)/*M*).
    CompliantVector,
    /// The same with a smaller *G*: of the ⌈*U*⌉ - 1 tasks one, whichever makes the sum the greatest, counts *e* only
    /// (Erickson, Anderson and Ward 2014).
    RefinedCompliantVector,
    /// For jobs that are ordered by *P* - *e* (*M* - 1)/*M* after their release instead of by *P* (G-FL; Erickson,
    /// Anderson and Ward 2014). It makes the greatest lateness least, and helps where costs are unequal and the cores
    /// nearly full.
    FairLateness,
}

/// The basis of the response bounds on shared cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// No node shares cores: jobs wait for nobody.
    OwnCores,
    /// All tasks fit on one core, of which EDF leaves nothing idle that is due: no job is late.
    OneCore,
    /// The utilisation test of Goossens, Funk and Baruah ([`Method::Automatic`]): no job is late.
    UtilisationTest,
    /// [`Method::DeviAnderson`].
    DeviAnderson,
    /// [`Method::CompliantVector`].
    CompliantVector,
    /// [`Method::RefinedCompliantVector`].
    RefinedCompliantVector,
    /// [`Method::FairLateness`].
    FairLateness,
}

/// A sporadic task on shared cores, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub period: f64,
    pub cost: f64,
}

impl Task {
    pub(super) fn utilisation(self) -> f64 {
        self.cost / self.period
    }
}

/// How soon after its release a job of a task is done, and the point after the release by which jobs are ordered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub response: f64,
    pub priority_point: f64,
}

/// The responses of tasks on `cores` cores, which they do not overload: no task needs more than a core, and all
/// together no more than there are. And what they rest on.
pub(super) fn responses(tasks: &[Task], cores: u32, method: Method) -> (Vec<Response>, Basis) {
    let shared = Shared::new(tasks, cores);
    let basis = match method {
        _ if tasks.is_empty() => Basis::OwnCores,
        Method::FairLateness => Basis::FairLateness,
        // EDF is optimal on one core; on more, this is what the sum of the utilisations comes to.
        _ if cores == 1 || shared.total <= 1.0 + ROUNDING => Basis::OneCore,
        Method::Automatic if shared.meets_all_deadlines() => Basis::UtilisationTest,
        Method::DeviAnderson => Basis::DeviAnderson,
        Method::CompliantVector => Basis::CompliantVector,
        Method::Automatic | Method::RefinedCompliantVector => Basis::RefinedCompliantVector,
    };
    let late = match basis {
        Basis::OwnCores | Basis::OneCore | Basis::UtilisationTest => vec![0.0; tasks.len()],
        Basis::DeviAnderson => shared.devi_anderson(),
        Basis::CompliantVector => shared.late(shared.fixed_point(|s| shared.plain(s))),
        Basis::RefinedCompliantVector => shared.late(shared.fixed_point(|s| shared.refined(s))),
        Basis::FairLateness => return (shared.fair_lateness(), basis),
    };
    let response = |(task, late): (&Task, f64)| Response { response: task.period + late, priority_point: task.period };
    (tasks.iter().zip(late).map(response).collect(), basis)
}

/// A value at *s* and how it grows with *s*, on the straight line that it lies on there.
#[derive(Debug, Clone, Copy)]
struct Line {
    value: f64,
    slope: f64,
}

impl Line {
    fn sum(lines: impl IntoIterator<Item = Self>) -> Self {
        let zero = Self { value: 0.0, slope: 0.0 };
        lines.into_iter().fold(zero, |sum, line| Self { value: sum.value + line.value, slope: sum.slope + line.slope })
    }
}

struct Shared<'a> {
    tasks: &'a [Task],
    cores: f64,
    total: f64,
    /// ⌈*U*⌉ - 1: how many tasks may run while a core is idle.
    carried: usize,
}

impl<'a> Shared<'a> {
    fn new(tasks: &'a [Task], cores: u32) -> Self {
        let total: f64 = tasks.iter().map(|task| task.utilisation()).sum();
        let carried = ((total - ROUNDING).ceil() as usize).saturating_sub(1);
        Self { tasks, cores: f64::from(cores), total, carried }
    }

    fn meets_all_deadlines(&self) -> bool {
        let most = self.tasks.iter().map(|task| task.utilisation()).fold(0.0, f64::max);
        self.total <= self.cores - (self.cores - 1.0) * most + ROUNDING
    }

    fn devi_anderson(&self) -> Vec<f64> {
        let greatest = |mut values: Vec<f64>, count: usize| -> f64 {
            values.sort_by(|a, b| b.total_cmp(a));
            values.iter().take(count).sum()
        };
        let costs: Vec<f64> = self.tasks.iter().map(|task| task.cost).collect();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let busy = self.tasks.iter().map(|task| task.utilisation()).collect();
        let over = greatest(costs, self.carried) - least;
        let x = (over / (self.cores - greatest(busy, self.carried.saturating_sub(1)))).max(0.0);
        self.tasks.iter().map(|task| x + task.cost).collect()
    }

    /// The tardiness by a solution of *s* = *G*(*s*).
    fn late(&self, s: f64) -> Vec<f64> {
        self.tasks.iter().map(|task| ((s - task.cost) / self.cores + task.cost).max(0.0)).collect()
    }

    /// *e* + *u* max(0, (*s* - *e*)/*M*).
    fn demand(&self, task: Task, s: f64) -> Line {
        let slope = if s > task.cost { task.utilisation() / self.cores } else { 0.0 };
        Line { value: task.cost + slope * (s - task.cost), slope }
    }

    /// The demands of all tasks, the greatest first, each with its task.
    fn demands(&self, s: f64) -> Vec<(Line, Task)> {
        let mut demands: Vec<_> = self.tasks.iter().map(|&task| (self.demand(task, s), task)).collect();
        demands.sort_by(|a, b| b.0.value.total_cmp(&a.0.value));
        demands
    }

    fn plain(&self, s: f64) -> Line {
        Line::sum(self.demands(s).into_iter().take(self.carried).map(|demand| demand.0))
    }

    fn refined(&self, s: f64) -> Line {
        let demands = self.demands(s);
        // Which of the tasks counts its cost only: beside it go the greatest demands of all others.
        let others = self.carried - 1;
        let before = Line::sum(demands.iter().take(others).map(|demand| demand.0));
        let sums = demands.iter().enumerate().map(|(index, &(demand, task))| {
            let mut sum = before;
            if index < others {
                let next = demands[others].0;
                sum =
                    Line { value: sum.value - demand.value + next.value, slope: sum.slope - demand.slope + next.slope };
            }
            Line { value: sum.value + task.cost, ..sum }
        });
        sums.max_by(|a, b| a.value.total_cmp(&b.value)).expect("more than one core is used, so there are tasks")
    }

    fn fair_lateness(&self) -> Vec<Response> {
        let point = |task: Task| task.period - (self.cores - 1.0) / self.cores * task.cost;
        let extra = |task: Task| task.cost * (1.0 - point(task) / task.period).max(0.0);
        let extras: f64 = self.tasks.iter().map(|&task| extra(task)).sum();
        let s = self.fixed_point(|s| {
            let mut lines: Vec<Line> = self
                .demands(s)
                .into_iter()
                .map(|(demand, task)| Line { value: demand.value - extra(task), ..demand })
                .collect();
            lines.sort_by(|a, b| b.value.total_cmp(&a.value));
            let most = Line::sum(lines.into_iter().take(self.carried));
            Line { value: most.value + extras, ..most }
        });
        let response = |&task: &Task| {
            let priority_point = point(task);
            let late = if self.cores == 1.0 { 0.0 } else { ((s - task.cost) / self.cores).max(0.0) + task.cost };
            Response { response: priority_point + late, priority_point }
        };
        self.tasks.iter().map(response).collect()
    }

    /// The least *s* = *G*(*s*). *G* is the greatest of finitely many lines that rise by less than 1: where the line
    /// that passes through *G*(*s*) meets *s* = *G*, the solution lies there or beyond, and each line is taken once.
    fn fixed_point(&self, greatest: impl Fn(f64) -> Line) -> f64 {
        let mut s = 0.0;
        loop {
            let line = greatest(s);
            let next = (line.value - line.slope * s) / (1.0 - line.slope);
            if next <= s * (1.0 + 1e-15) {
                return s;
            }
            s = next;
        }
    }
}
