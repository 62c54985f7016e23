//! Plans with an emulated device and their runs, by what limits the chain, cores, lanes and executions of a launch.

use bief::machine::DeviceSpec;
use bief::placement::Policy;
use bief::plan::Load;
use bief::schedule::{Profile, Schedule, Stage};
use bief::{Error, Machine, Result};
use bief_cli::draw::plot::Figure;
use bief_cli::rx::built_in_receiver;
use bief_cli::text::counted;
use bief_cli::units::significant;
use serde_json::{Value, json};

use super::figure::{COLORS, Series, legend, panel};
use super::subject::{self, Find, Subject};
use super::trial::{Bench, gap};
use super::work::{Step, Work};
use super::{Case, Setting, in_json, percent};
use crate::bench::output::Findings;

/// What a plan is to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    /// Cores beside the device: 1 or 2.
    cores: usize,
    lanes: u32,
    gather: u32,
    device: Emulated,
    /// The part of this machine's cores that a plan may need: a device is emulated by them, too.
    room: f64,
}

/// What a device is like, where no file tells of another one.
#[derive(Debug, Clone, Copy)]
struct Emulated {
    speed: f64,
    copy_gb_per_s: f64,
}

/// Lanes and executions of a launch.
const SETTINGS: [(u32, u32); 4] = [(1, 1), (3, 1), (1, 8), (3, 8)];

/// That part for tasks that only compute, however busy the cores are.
const ROOM: f64 = 0.9;
/// And for the receiver, which shares caches with what stands for the device.
const ROOM_OF_RECEIVER: f64 = 0.69;

/// Slow, so that it takes little of the cores that stand for it, and its copies limit one of the chains.
const SLOW: Emulated = Emulated { speed: 0.25, copy_gb_per_s: 0.16 };
/// With a bus, as the receiver's frames are large.
const FAST: Emulated = Emulated { speed: 0.5, copy_gb_per_s: 8.0 };

/// Frames of a batch of the receiver. In small batches a lane spends much of its time on waking up, and on filling the caches of the core
/// that it wakes on: there, 4 frames are decoded in 62 us; without a break, in 50.
const BATCH: usize = 32;

impl Emulated {
    /// A device for chains of about half a millisecond.
    fn spec(self) -> DeviceSpec {
        let Self { speed, copy_gb_per_s } = self;
        let spec = DeviceSpec::of_backend("", "device");
        DeviceSpec { backend: None, launch_us: 50.0, copy_gb_per_s: Some(copy_gb_per_s), speed, ..spec }
    }
}

/// Chains that are limited by a core, by the tasks on the device, by its launches and by its copies; and the receiver. All with one core
/// and with two, but the receiver, which begins and ends on cores.
pub(super) fn subjects() -> Vec<(Subject, Given)> {
    let core = |us| Step { us, replicable: false };
    let device = |us| Step { us, replicable: true };
    // What is before the device and behind it, what is on it, and bytes of a frame.
    let chains = [
        ("core", [500, 100], vec![device(50)], 1 << 10),
        ("tasks", [405, 120], vec![device(100)], 1 << 10),
        ("launches", [300, 120], vec![device(5); 8], 1 << 10),
        ("copies", [300, 250], vec![device(25)], 1 << 16),
    ];
    let mut subjects = Vec::new();
    for cores in [1, 2] {
        for (name, [before, behind], on_device, bytes) in &chains {
            let last = (cores == 2).then(|| core(*behind));
            let steps = [core(*before)].into_iter().chain(on_device.iter().copied()).chain(last);
            let work = Work { steps: steps.collect(), bytes: *bytes, sink_is_replicable: cores == 1, is_timed: true };
            subjects.extend(with_settings(name, (cores, SLOW, ROOM), || work.clone().find()));
        }
    }
    let receiver = || -> Find { Box::new(|| Ok(Box::new(built_in_receiver()?.batch(BATCH)))) };
    subjects.extend(with_settings("receiver", (2, FAST, ROOM_OF_RECEIVER), receiver));
    subjects
}

fn with_settings(
    name: &str,
    (cores, device, room): (usize, Emulated, f64),
    find: impl Fn() -> Find,
) -> impl Iterator<Item = (Subject, Given)> {
    SETTINGS.into_iter().map(move |(lanes, gather)| {
        let name = format!("{name}/{cores}+device/{lanes}x{gather}");
        (
            Subject::new((name, find(), subject::Cut::Exact { max_cores: u32::MAX })),
            Given { cores, lanes, gather, device, room },
        )
    })
}

/// What one round found.
pub(super) struct Round {
    planned_ns: f64,
    measured_ns: f64,
    /// Cores of this machine that the plan needs, those that are the device included.
    needs: f64,
    /// Executions of a launch, in the mean.
    per_launch: f64,
    plan: String,
}

impl Round {
    fn gap(&self) -> f64 {
        gap(self.measured_ns, self.planned_ns)
    }
}

/// Profiles, plans and runs.
pub(super) fn follow(bench: &mut Bench, subject: &Subject, given: Given) -> Result<Round> {
    let spec = bench.machine.devices().first().cloned().unwrap_or_else(|| given.device.spec());
    let spec = DeviceSpec { lanes: given.lanes, gather: given.gather, ..spec };
    let machine = bench.machine.clone().with_devices_where(|_| false).with_device(spec.clone())?;
    let profile = subject.profile(&machine, Load::Busy)?;
    let Cut { schedule, planned_ns, needs } = cut(&profile, &machine, &spec, given)?;
    let trial = bench.run_on(&machine, subject, &profile, &schedule, &Policy::Packed)?;
    let device = trial.report.stages.iter().find_map(|stage| stage.device.as_ref());
    let per_launch = device.map_or(0.0, |device| device.executions_per_launch);
    let stages: Vec<String> = schedule.stages().iter().map(Stage::to_string).collect();
    Ok(Round { planned_ns, measured_ns: trial.measured_ns(), needs, per_launch, plan: stages.join(", ") })
}

/// A plan.
struct Cut {
    schedule: Schedule,
    planned_ns: f64,
    needs: f64,
}

/// The shortest plan with one stage on the device that the cores have room for, if there is one: they do the work of the device, too, which
/// no strategy reckons with.
fn cut(profile: &Profile, machine: &Machine, spec: &DeviceSpec, given: Given) -> Result<Cut> {
    let room = given.room * machine.cores().len() as f64;
    let core = &machine.kinds()[0].name;
    let [on_core, on_device] = [core, &spec.name].map(|name| profile.kind(name));
    let (Some(on_core), Some(on_device)) = (on_core, on_device) else {
        return Err(Error::new(format!("no task can run on `{}`: is its chain that of this bench?", spec.name)));
    };
    let tasks = profile.tasks().len();
    let ends = if given.cores == 1 { tasks..tasks + 1 } else { 2..tasks };
    let all = ends.flat_map(|end| (1..end).map(move |start| start..end));
    let cuts = all.filter(|tasks| profile.can_run(tasks.clone(), on_device)).map(|there| {
        let stages = [(0..there.start, core), (there.clone(), &spec.name), (there.end..tasks, core)];
        let stages = stages.into_iter().filter(|(tasks, _)| !tasks.is_empty()).map(|(tasks, kind)| {
            let stage = Stage::new(tasks.len(), 1, kind);
            if *kind == spec.name { stage.gathering(given.gather) } else { stage }
        });
        let schedule = Schedule::new("hand", stages, profile)?;
        let planned_ns = schedule.period(profile)?.ns();
        let work_ns = profile.stage_ns(0..tasks, on_core).unwrap_or(0);
        Ok(Cut { schedule, planned_ns, needs: work_ns as f64 / planned_ns })
    });
    let mut cuts = cuts.collect::<Result<Vec<Cut>>>()?;
    // Where there is room for none, the one that needs least of it is the nearest.
    let rank = |cut: &Cut| if cut.needs <= room { (0.0, cut.planned_ns) } else { (cut.needs, cut.planned_ns) };
    cuts.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("no part of it is NaN"));
    cuts.into_iter().next().ok_or_else(|| Error::new(format!("no task can run on `{}`", spec.name)))
}

pub(super) fn findings(cases: &[Case<Round>], setting: &Setting) -> Findings {
    Findings {
        table: table(cases, setting),
        csv: csv(cases),
        figure: figure(cases),
        json: setting.to_json(cases.iter().map(to_json).collect()),
    }
}

fn table(cases: &[Case<Round>], setting: &Setting) -> String {
    let us = |ns: f64| significant(ns / 1e3);
    let rounds = counted(cases[0].rounds.len(), "round");
    let mut lines =
        vec![format!("Plans with an emulated device and their runs; medians of {rounds}: us."), String::new()];
    lines.push(format!(
        "{:24} {:>8} {:>8} {:>15} {:>6} {:>6} {:>6}",
        "case", "planned", "measured", "min..max", "gap %", "launch", "cores"
    ));
    for case in cases {
        let (planned, measured) = (case.sample(|round| round.planned_ns), case.sample(|round| round.measured_ns));
        lines.push(format!(
            "{:24} {:>8} {:>8} {:>15} {:>6} {:>6.1} {:>6.2}",
            case.subject.name,
            us(planned.median()),
            us(measured.median()),
            format!("{}..{}", us(measured.quantile(0.0)), us(measured.max())),
            percent(case.sample(Round::gap).median()),
            case.sample(|round| round.per_launch).median(),
            case.sample(|round| round.needs).median()
        ));
    }
    lines.push(String::new());
    lines.extend(setting.facts(cases, vec![
        "3x8: three lanes, up to eight executions a launch. Gap: measured over planned period, less one; planned with a profile of busy \
         cores, corrected by no run. Launch: executions that one had, in the mean. Cores: that the plan needs, with those that are the \
         device."
            .to_owned(),
    ]));
    lines.join("\n")
}

fn csv(cases: &[Case<Round>]) -> String {
    let mut text = "case,round,taken_by_others,planned_ns,measured_ns,gap,per_launch,cores,plan\n".to_owned();
    for case in cases {
        for (index, round) in case.rounds.iter().enumerate() {
            let (Round { planned_ns, measured_ns, needs, per_launch, plan }, gap) = (&round.of, round.of.gap());
            text += &format!(
                "{},{},{:.4},{planned_ns:.3},{measured_ns:.3},{gap:.6},{per_launch:.3},{needs:.4},\"{plan}\"\n",
                case.subject.name,
                index + 1,
                round.taken
            );
        }
    }
    text
}

fn figure(cases: &[Case<Round>]) -> Figure {
    let values = cases.iter().map(|case| case.sample(|round| 100.0 * round.gap())).collect();
    let series = [Series { label: "run".to_owned(), color: COLORS[0], values }];
    let names = cases.iter().map(|case| case.subject.name.clone()).collect();
    Figure {
        title: "Bief: plans with an emulated device".to_owned(),
        caption: format!("medians and quartiles of {}", counted(cases[0].rounds.len(), "round")),
        legend: legend(&series),
        panel: (1600, 400),
        rows: vec![vec![panel("", names, &series, "measured over planned period, less one, in %")]],
    }
}

fn to_json(case: &Case<Round>) -> Value {
    let of = |figure: fn(&Round) -> f64| in_json(&case.sample(figure));
    json!({
        "case": case.subject.name, "rounds": case.rounds.len(), "planned_ns": of(|round| round.planned_ns),
        "measured_ns": of(|round| round.measured_ns), "gap": of(Round::gap), "per_launch": of(|round| round.per_launch),
        "cores": of(|round| round.needs), "plan": case.rounds[0].of.plan,
    })
}

#[cfg(test)]
mod tests {
    use bief::schedule::TaskProfile;

    use super::*;

    #[test]
    fn the_device_has_one_stage_that_the_cores_have_room_for() {
        let machine = Machine::emulated("[[device]]\nname = 'gpu'\nspeed = 0.5", &Machine::here()).unwrap();
        let kind = machine.kinds()[0].name.clone();
        let on_core = |name: &str, ns| TaskProfile::sequential(name, [ns, 0]).not_on(1);
        let tasks = [
            on_core("source", 100),
            on_core("before", 900),
            TaskProfile::replicable("there", [600, 1200]),
            TaskProfile::replicable("sink", [100, 200]),
        ];
        let profile = Profile::new([kind.as_str(), "gpu"], tasks).unwrap().with_lanes([None, Some(3)]).unwrap();
        let of = |cores, gather, room| {
            let room = room / machine.cores().len() as f64;
            let given = Given { cores, lanes: 3, gather, device: SLOW, room };
            let cut = cut(&profile, &machine, &machine.devices()[0], given).unwrap();
            (cut.schedule.stages().iter().map(Stage::to_string).collect::<Vec<_>>(), cut.needs)
        };
        let on = |cores: u32, tasks: usize| format!("{tasks} on {cores} {kind}");
        assert_eq!(of(1, 8, 2.0), (vec![on(1, 2), "2 on 1 gpu by up to 8".to_owned()], 1700.0 / 1400.0));
        assert_eq!(of(2, 1, 2.0), (vec![on(1, 2), "1 on 1 gpu".to_owned(), on(1, 1)], 1700.0 / 1200.0));
        // With less room it takes longer, so that fewer are busy.
        assert_eq!(of(1, 1, 1.1), (vec![on(1, 3), "1 on 1 gpu".to_owned()], 1700.0 / 1600.0));
        assert_eq!(of(1, 1, 0.5), of(1, 1, 1.1), "the nearest");
    }
}
