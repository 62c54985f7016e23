//! Workers in network namespaces of their own, where root allows: real interfaces, of which the cable is pulled.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use bief_zenoh::Without;

use crate::chain::{away, here, long, until};
use crate::process::{Process, Role, reach};

/// A namespace with an interface that leads here.
pub(crate) struct Namespace {
    pub(crate) name: String,
    /// Where a worker in it listens.
    pub(crate) place: String,
}

fn ip(arguments: &str) -> bool {
    let done = Command::new("ip").args(arguments.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

impl Namespace {
    /// `None` where there is no `ip`, or nobody may make one.
    pub(crate) fn new(number: usize) -> Option<Self> {
        let name = format!("bief-{}-{number}", std::process::id());
        let (link, net) = (format!("bief{number}"), format!("10.213.{number}"));
        ip(&format!("netns add {name}")).then_some(())?;
        let made = Self { name: name.clone(), place: format!("{net}.2:7447") };
        let all = ip(&format!("link add {link} type veth peer name eth0 netns {name}"))
            && ip(&format!("addr add {net}.1/30 dev {link}"))
            && ip(&format!("link set {link} up"))
            && ip(&format!("netns exec {name} ip addr add {net}.2/30 dev eth0"))
            && made.plug(true);
        all.then_some(made)
    }

    /// Whether the cable is in.
    fn plug(&self, is_in: bool) -> bool {
        ip(&format!("netns exec {} ip link set eth0 {}", self.name, if is_in { "up" } else { "down" }))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Its interface goes with it.
        ip(&format!("netns del {}", self.name));
    }
}

#[test]
#[ignore = "long: part of .ci/deep workers"]
fn a_cable_that_is_pulled_holds_up_nothing() {
    let spaces = [Namespace::new(0), Namespace::new(1)];
    let [Some(first), Some(second)] = &spaces else {
        println!("skipped: no network namespaces can be made here");
        return;
    };
    let frames = long(40_000);
    let role = |name, space: &Namespace| Role {
        name,
        place: space.place.clone(),
        namespace: space.name.clone(),
        time_us: 100,
        cores: 1,
        ..Role::default()
    };
    let mut workers = [Some(Process::worker(&role("a", first))), Some(Process::worker(&role("b", second)))];
    let places = [first.place.clone(), second.place.clone()];
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |seen| {
        for round in 1..=2 {
            until(seen, frames * round / 5);
            assert!(first.plug(false));
            thread::sleep(Duration::from_secs(3));
            assert!(first.plug(true));
        }
        until(seen, frames * 3 / 5);
        workers[1].take().unwrap().kill();
        workers[1] = Some(Process::worker(&role("b", second)));
    });
    outcome.check("cable pulled twice, and a worker killed", &here(frames));
}
