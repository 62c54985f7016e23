//! What does not belong to a pool, and what is wrong in one.

use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use bief_zenoh::{Pool, Reach, Without};
use zenoh::{Config, Session, Wait};

use crate::chain::{away, here};
use crate::process::{Process, Role, free, reach};

/// A session of somebody else, which reaches these places.
fn stranger(places: &[&str], listens: &str) -> Session {
    let mut config = Config::default();
    let endpoints = |places: &[&str]| {
        let quoted: Vec<String> = places.iter().map(|place| format!("\"tcp/{place}\"")).collect();
        format!("[{}]", quoted.join(","))
    };
    let listens: Vec<&str> = Some(listens).into_iter().filter(|place| !place.is_empty()).collect();
    for (key, value) in [
        ("mode", "\"peer\"".to_owned()),
        ("connect/endpoints", endpoints(places)),
        ("listen/endpoints", endpoints(&listens)),
        ("scouting/multicast/enabled", "false".to_owned()),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    zenoh::open(config).wait().unwrap()
}

fn worker(name: &str, place: &str) -> Process {
    Process::worker(&Role { name, place: place.to_owned(), ..Role::default() })
}

#[test]
fn a_second_worker_of_a_name_is_left_out_and_told() {
    let (frames, places) = (3000, [free(), free()]);
    let _workers = [worker("rack3", &places[0]), worker("rack3", &places[1])];
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |_| thread::sleep(Duration::from_secs(1)));
    outcome.check("two of a name", &here(frames));
    assert_eq!(outcome.tally.len(), 1);
    assert!(outcome.has_said("a second worker is called rack3, at 127.0.0.1:"), "{:?}", outcome.said);
}

#[test]
fn another_protocol_is_refused_in_a_sentence() {
    let (frames, place, other) = (1000, free(), free());
    let _worker = worker("rack3", &place);
    let stranger = stranger(&[&place], &other);
    let _token = stranger.liveliness().declare_token("bief/9/worker/abc/rack4/rack4:7447").wait().unwrap();
    let outcome =
        away((frames, ""), &reach(&[place, other]), Without::Wait(1), |_| thread::sleep(Duration::from_secs(1)));
    outcome.check("another protocol", &here(frames));
    assert!(
        outcome.has_said("worker rack4 speaks protocol 9, this is 2: bring both to one version"),
        "{:?}",
        outcome.said
    );
}

#[test]
fn a_worker_without_the_kind_refuses_by_its_name() {
    let (frames, places) = (2000, [free(), free()]);
    let poor = Role { name: "poor", place: places[0].clone(), is_poor: true, ..Role::default() };
    let _workers = [Process::worker(&poor), worker("rich", &places[1])];
    let outcome = away((frames, ""), &reach(&places), Without::Wait(1), |_| thread::sleep(Duration::from_secs(1)));
    outcome.check("a kind that is not there", &here(frames));
    let said = outcome.said.join("\n");
    assert!(said.contains("worker poor cannot do the work: ") && said.contains("test.mix"), "{said}");
}

#[test]
fn what_is_no_message_disturbs_nobody() {
    let (frames, place, other) = (20_000, free(), free());
    let _worker = worker("rack3", &place);
    let stranger = stranger(&[&place], &other);
    let outcome = away((frames, ""), &reach(&[place, other]), Without::Wait(1), |_| {
        let tokens = stranger.liveliness().get("bief/2/*/**").wait().unwrap();
        let keys: Vec<String> =
            tokens.into_iter().filter_map(|reply| Some(reply.into_result().ok()?.key_expr().to_string())).collect();
        let part = |key: &str, at: usize| key.split('/').nth(at).unwrap().to_owned();
        for key in &keys {
            let to = format!("bief/2/to/{}/{}", part(key, 2), part(key, 3));
            let mut rest = fastrand::Rng::with_seed(7);
            for length in [0, 1, 2, 12, 13, 14, 100, 5000, 1 << 20] {
                for kind in 0..=12 {
                    let mut bytes: Vec<u8> = (0..length).map(|_| rest.u8(..)).collect();
                    let head = [b'B', b'L', 2, 0, kind];
                    let shared = head.len().min(length);
                    bytes[..shared].copy_from_slice(&head[..shared]);
                    stranger.put(&to, bytes).wait().unwrap();
                }
            }
        }
        assert!(!keys.is_empty());
    });
    outcome.check("garbage", &here(frames));
}

#[test]
fn workers_tell_of_themselves() {
    let place = free();
    let _worker = worker("rack3", &place);
    let pool = Pool::open(&reach([&place])).unwrap();
    let workers = pool.workers(Duration::from_secs(10), 1).unwrap();
    assert_eq!((workers.len(), &*workers[0].name, &*workers[0].address), (1, "rack3", &*place));
    assert_eq!((workers[0].cores, workers[0].runs, workers[0].frames), (1, 0, 0));
    let nobody = Pool::open(&Reach::default()).unwrap().workers(Duration::ZERO, 1).unwrap();
    assert!(nobody.is_empty());
}

#[test]
fn who_connects_and_says_nothing_keeps_nobody_out() {
    let place = free();
    let _worker = worker("rack3", &place);
    let pool = Pool::open(&reach([&place])).unwrap();
    assert_eq!(pool.workers(Duration::from_secs(10), 1).unwrap().len(), 1);
    drop(pool);
    let _silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&place).unwrap()).collect();
    let pool = Pool::open(&reach([&place])).unwrap();
    assert_eq!(pool.workers(Duration::from_secs(5), 1).unwrap().len(), 1);
}
