//! Requests of the page: what there is, what a profile holds, the plan of a profile, and its simulation.

use bief_schedule::simulate::{Pipeline, Times};
use bief_schedule::strategy::Strategy;
use bief_schedule::{
    Aim, ClockPlan, Error, Goal, Limit, Period, Platform, Power, Profile, Schedule, gains, strategies, strategy,
};
use fastrand::Rng;
use serde_json::{Value, json};

/// The profiles that ship, with the machines that they were measured on.
const SHIPPED: [(&str, &str, &str, &str); 4] = [
    shipped("orange_pi_5_plus", "Orange Pi 5 Plus", ORANGE_PI.0, ORANGE_PI.1),
    shipped("mac_studio", "Mac Studio", MAC_STUDIO.0, MAC_STUDIO.1),
    shipped("ai370", "Ryzen AI 9 HX 370", AI370.0, AI370.1),
    shipped("x7_ti", "Core Ultra 9 185H", X7_TI.0, X7_TI.1),
];

macro_rules! data {
    ($name:literal) => {
        (
            include_str!(concat!("../../../data/profiles/", $name, ".json")),
            include_str!(concat!("../../../data/platforms/", $name, ".json")),
        )
    };
}

const ORANGE_PI: (&str, &str) = data!("orange_pi_5_plus");
const MAC_STUDIO: (&str, &str) = data!("mac_studio");
const AI370: (&str, &str) = data!("ai370");
const X7_TI: (&str, &str) = data!("x7_ti");

const fn shipped(
    name: &'static str,
    title: &'static str,
    profile: &'static str,
    platform: &'static str,
) -> (&'static str, &'static str, &'static str, &'static str) {
    (name, title, profile, platform)
}

/// Answers a request, a JSON object with the key `ask`:
///
/// - `start`: the profiles that ship, and all strategies.
/// - `profile`, with `profile` (the text) and `platform` (the text, or null): tasks, kinds, and the cores of the platform.
/// - `plan`, with these, and `cores` (of each kind), `goal` and `strategy`: the schedule, as `bief plan --json` prints it, and
///   what is to be said of it.
/// - `simulate`, with these, and `spread` (0 to 1), `depth` and `executions`: what varying times make of it.
///
/// What cannot be is answered by `{"error": "…"}`.
pub(crate) fn answer(request: &str) -> String {
    let answered =
        serde_json::from_str(request).map_err(|error| error.to_string()).and_then(
            |request: Value| match request["ask"].as_str() {
                Some("start") => Ok(start()),
                Some("profile") => profile(&request),
                Some("plan") => Question::read(&request)?.plan(),
                Some("simulate") => Question::read(&request)?.simulate(&request),
                _ => Err("ask for start, profile, plan or simulate".to_owned()),
            },
        );
    answered.unwrap_or_else(|error| json!({ "error": error })).to_string()
}

fn start() -> Value {
    let shipped = SHIPPED.map(|(name, title, profile, platform)| {
        json!({ "name": name, "title": title, "profile": profile, "platform": platform })
    });
    let strategies = strategies().iter().map(|strategy| {
        let can = strategy.capabilities();
        json!({ "name": strategy.name(), "summary": strategy.summary(), "kinds": can.max_kinds, "goals": can.goals })
    });
    json!({ "shipped": shipped, "strategies": strategies.collect::<Vec<_>>() })
}

/// The profile of a request, and the platform if there is one.
fn documents(request: &Value) -> Result<(Profile, Option<Platform>), String> {
    let profile = Profile::from_json(request["profile"].as_str().unwrap_or_default()).map_err(told)?;
    let platform = request["platform"].as_str().filter(|text| !text.trim().is_empty());
    Ok((profile, platform.map(Platform::from_json).transpose().map_err(told)?))
}

fn profile(request: &Value) -> Result<Value, String> {
    let (profile, platform) = documents(request)?;
    let tasks =
        profile.tasks().iter().map(|task| json!({ "name": task.name, "replicable": task.replicable, "ns": task.ns }));
    let cores = profile.kinds().iter().map(|kind| platform.as_ref().map(|platform| platform.cores(kind)));
    Ok(json!({
        "machine": profile.machine(),
        "kinds": profile.kinds(),
        "cores": cores.collect::<Vec<_>>(),
        "most": Platform::MAX_CORES,
        "tasks": tasks.collect::<Vec<_>>(),
        "bits": profile.bits_per_frame(),
    }))
}

/// What is to be planned.
struct Question {
    profile: Profile,
    platform: Platform,
    goal: Goal,
    strategy: &'static dyn Strategy,
}

impl Question {
    fn read(request: &Value) -> Result<Self, String> {
        let (profile, known) = documents(request)?;
        let cores = request["cores"].as_str().unwrap_or_default();
        let platform = Platform::parse_cores(cores, &profile).map_err(told)?;
        let platform = match known {
            Some(known) => platform.with_power_of(&known),
            None => platform,
        };
        let goal = match request["goal"].as_str() {
            Some(text) => text.parse().map_err(told)?,
            None => Goal::default(),
        };
        let strategy = strategy(request["strategy"].as_str().unwrap_or("exact")).map_err(told)?;
        Ok(Self { profile, platform, goal, strategy })
    }

    /// The schedule, and the profile and the platform that it is of: its own clocks and busy cores.
    fn found(&self) -> Result<(Schedule, Profile, Platform), String> {
        let found = ClockPlan::find(self.strategy, &self.profile, &self.platform, &self.goal).map_err(told)?;
        Ok((found.schedule, found.profile, found.platform))
    }

    /// The period at which a schedule is to run, where the goal demands one.
    fn pace(&self) -> Result<Option<Period>, String> {
        if !self.strategy.capabilities().goals || self.goal.aim == Aim::MaxThroughput {
            return Ok(None);
        }
        self.goal.longest_period(&self.profile).map_err(told)
    }

    fn plan(&self) -> Result<Value, String> {
        let (schedule, profile, platform) = &self.found()?;
        let period = schedule.planned_period();
        let pace = self.pace()?;
        let power = Power::paced(schedule, profile, platform, pace.unwrap_or(period)).map_err(told)?;
        let loads = schedule.loads(profile).map_err(told)?;
        let stages = schedule.stages().iter().zip(&loads).map(|(stage, load)| {
            // Where it has cores of several kinds, its work is that on the slowest.
            let slowest = load.works_ns.iter().find(|(_, work)| **work == load.work_ns);
            json!({
                "first": load.tasks.start,
                "tasks": stage.tasks,
                "cores": stage.replicas(),
                "on": stage.core_list(),
                "kind": slowest.map(|(kind, _)| kind),
                "replicable": load.replicable,
                "period_ns": load.period.ns(),
                "work_ns": load.work_ns,
                "busy": load.utilisation(period),
            })
        });
        let front = schedule.front().iter().map(|point| json!({ "cores": point.cores, "stages": point.stages.len() }));
        let more = match self.strategy.name() {
            "exact" if pace.is_none() => gains(profile, platform).map_err(told)?,
            _ => Vec::new(),
        };
        let limit = match schedule.limit(profile).map_err(told)? {
            Limit::Stage(stage) => json!({ "stage": stage }),
            Limit::Cores(kind) => json!({ "kind": kind }),
        };
        Ok(json!({
            "schedule": schedule.to_json().trim_end(),
            "period_ns": period.ns(),
            "frames_per_second": profile.frames_per_second(period.ns()),
            "mbps": schedule.mbps(profile),
            "latency_ns": schedule.latency_ns(profile).map_err(told)?,
            "pace_ns": pace.map(|pace| pace.ns()),
            "watts": power.map(|power| power.watts),
            "joules_per_frame": power.map(|power| power.joules_per_frame),
            "joules_per_bit": power.and_then(|power| power.joules_per_bit),
            "used": schedule.cores(),
            "oversubscribed": schedule.is_oversubscribed(),
            "limit": limit,
            "stages": stages.collect::<Vec<_>>(),
            "front": front.collect::<Vec<_>>(),
            "gains": more.iter().map(|gain| json!({ "kind": gain.kind, "period_ns": gain.period.ns() })).collect::<Vec<_>>(),
        }))
    }

    fn simulate(&self, request: &Value) -> Result<Value, String> {
        let (schedule, profile, _) = self.found()?;
        let number = |key: &str, usual: u64| request[key].as_u64().unwrap_or(usual);
        let spread = request["spread"].as_f64().unwrap_or(0.0);
        let mut pipeline = Pipeline::new(&profile, &schedule)
            .and_then(|pipeline| pipeline.depth(number("depth", 4)))
            .and_then(|pipeline| pipeline.times(if spread > 0.0 { Times::Uniform { spread } } else { Times::Constant }))
            .map_err(told)?;
        if let Some(pace) = self.pace()?.filter(|pace| *pace > schedule.planned_period()) {
            pipeline = pipeline.paced(pace);
        }
        let report = pipeline.run(number("executions", 4000), &mut Rng::with_seed(1)).map_err(told)?;
        serde_json::to_value(report).map_err(|error| error.to_string())
    }
}

fn told(error: Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use bief_schedule::{Busy, TaskProfile};

    use super::*;

    fn asked(request: Value) -> Value {
        serde_json::from_str(&answer(&request.to_string())).unwrap()
    }

    #[test]
    fn busy_cores_and_clocks_are_planned_with() {
        let tasks = [TaskProfile::sequential("read", [300]), TaskProfile::replicable("decode", [600])];
        let busy = Busy { cores: 4, ns: vec![Some(600), Some(1200)] };
        let profile = Profile::new(["cpu"], tasks).unwrap();
        let busy = profile.clone().with_busy([Some(busy)]).unwrap();
        let plan = asked(json!({ "ask": "plan", "profile": busy.to_json(), "cores": "4" }));
        // As the command tells it: with three cores at work.
        assert_eq!((&plan["period_ns"], &plan["used"]), (&json!(500.0), &json!({ "cpu": 3 })));
        let platform = r#"{"format": 1, "kinds": [
            {"name": "cpu", "cores": 4, "watts": 8.0, "clocks": [{"mhz": 1000, "slowdown": 2.0, "watts": 2.5}]}]}"#;
        let goal = "least-power,period=1us";
        let request =
            json!({ "ask": "plan", "profile": profile.to_json(), "platform": platform, "cores": "4", "goal": goal });
        let schedule = Schedule::from_json(asked(request)["schedule"].as_str().unwrap()).unwrap();
        assert_eq!(schedule.clocks()["cpu"], 1000);
    }

    #[test]
    fn what_ships_is_planned_and_simulated() {
        let start = asked(json!({ "ask": "start" }));
        assert_eq!(start["strategies"].as_array().unwrap().len(), strategies().len());
        for shipped in start["shipped"].as_array().unwrap() {
            let (profile, platform) = (&shipped["profile"], &shipped["platform"]);
            let facts = asked(json!({ "ask": "profile", "profile": profile, "platform": platform }));
            assert_eq!(facts["tasks"].as_array().unwrap().len(), 23);
            let cores = format!("big={},little={}", facts["cores"][0], facts["cores"][1]);
            let mut request = json!({ "ask": "plan", "profile": profile, "platform": platform, "cores": cores });
            let plan = asked(request.clone());
            let schedule = Schedule::from_json(plan["schedule"].as_str().unwrap()).unwrap();
            assert_eq!(schedule.strategy(), "exact");
            assert!(plan["watts"].as_f64().unwrap() > 1.0 && !plan["front"].as_array().unwrap().is_empty());
            request["ask"] = "simulate".into();
            let simulated = asked(request.clone());
            // Nearly: cores of unlike speed share a stage, and the last of its frames end one after the other.
            let period_ns = |told: &Value| told["period_ns"].as_f64().unwrap();
            let beyond = period_ns(&simulated) / period_ns(&plan) - 1.0;
            assert!((0.0..1e-3).contains(&beyond), "constant times keep the plan, but for {beyond}");
            request["spread"] = 0.3.into();
            assert!(asked(request)["period_ns"].as_f64() >= plan["period_ns"].as_f64());
        }
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |request: Value| asked(request)["error"].as_str().unwrap().to_owned();
        assert_eq!(error(json!({})), "ask for start, profile, plan or simulate");
        assert!(error(json!({ "ask": "plan", "profile": "{" })).contains("profile"));
        let plan = |cores: &str, goal: &str, strategy: &str| {
            let profile = MAC_STUDIO.0;
            error(json!({ "ask": "plan", "profile": profile, "cores": cores, "goal": goal, "strategy": strategy }))
        };
        assert!(plan("big=0,little=0", "fewest-big", "exact").contains("cores"));
        assert!(plan("big=1", "fastest", "exact").contains("`fastest` is no aim"));
        assert!(plan("big=1", "fewest-big", "best").contains("best"));
        assert!(
            plan("big=1", "least-power", "exact").contains("watts")
                || plan("big=1", "least-power", "exact").contains("power")
        );
        assert!(serde_json::from_str::<Value>(&answer("no JSON")).unwrap()["error"].is_string());
    }
}
