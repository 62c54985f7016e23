//! What a page tells, and what it lets those do who may.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use bief::plan::Adapting;
use bief::schedule::{Profile, TaskProfile};
use bief::{Application, Chain, Flow, Machine, Planner, Program, Result, sink, source};
use bief_page::Page;
use serde_json::Value;

use crate::client::{FOREIGN, Running, body, status};

#[test]
fn the_state_is_what_the_run_tells() {
    let running = Running::new();
    let look = || {
        let answer = running.get("/state");
        assert_eq!(status(&answer), 200);
        serde_json::from_str::<Value>(body(&answer)).unwrap()
    };
    // Its tasks answer between two frames, of which the first must have come.
    let has_told = |state: &Value| {
        let figures = state["figures"].as_array().unwrap();
        figures.iter().any(|figure| figure["name"] == "seen" && figure["count"].as_u64() > Some(9))
    };
    let until = Instant::now() + Duration::from_secs(20);
    let state = std::iter::repeat_with(look).find(|state| has_told(state) || Instant::now() > until).unwrap();
    assert_eq!((state["title"].as_str(), state["status"]["is_running"].as_bool()), (Some("a test"), Some(true)));
    let stages = state["status"]["stages"].as_array().unwrap();
    assert_eq!(stages.iter().map(|stage| stage["name"].as_str().unwrap()).collect::<Vec<_>>()[1], "tell");
    assert_eq!(state["status"]["rings"][0]["stage"], 1);
    assert!(state["status"]["rings"][0]["slots"].as_u64().unwrap() >= 4);
    let figure =
        |name: &str| state["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == name).unwrap();
    assert!(figure("seen")["count"].as_u64().unwrap() > 0);
    assert_eq!(figure("es_n0")["level"], 7.5);
    assert_eq!(figure("service_name")["text"], FOREIGN);
    // 1024 pairs of bytes, as base64.
    assert_eq!(figure("symbols")["scatter"]["points"].as_str().unwrap().len(), 2048_usize.div_ceil(3) * 4);
    assert_eq!(figure("spectrum")["curve"]["high"], -3.0);
    // The same to whoever asks for the head alone.
    let head = running.ask("HEAD /state HTTP/1.1\r\nHost: @\r\n\r\n");
    assert!(status(&head) == 200 && body(&head).is_empty() && head.contains("Content-Length: "));
}

#[test]
fn the_page_may_run_its_own_script_alone() {
    let running = Running::new();
    let answer = running.get("/");
    assert_eq!(status(&answer), 200);
    let policy = answer.lines().find_map(|line| line.strip_prefix("Content-Security-Policy: ")).unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && policy.contains("connect-src 'self'"));
    assert!(!policy.contains("unsafe"));
    assert!(body(&answer).contains("<title>bief</title>") && !answer.contains(&running.token));
    // A link elsewhere leads here.
    let linked = "GET / HTTP/1.1\r\nHost: @\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n";
    assert_eq!(status(&running.ask(linked)), 200);
}

#[test]
fn metrics_have_two_formats() {
    let running = Running::new();
    let text = running.get("/metrics");
    assert!(text.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    assert!(body(&text).lines().any(|line| line.starts_with("bief_seen_frames_total{task=\"Teller\"} ")), "{text}");
    assert!(!body(&text).contains("# EOF\n"));
    let open =
        running.ask("GET /metrics HTTP/1.1\r\nHost: @\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
    assert!(open.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
    assert!(open.ends_with("\n# EOF\n") && body(&open).matches("\n# EOF\n").count() == 1, "{open}");
}

#[test]
fn events_come_ten_times_a_second_and_end_with_the_run() {
    let mut running = Running::new();
    let mut stream = running.connect();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", running.address).unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert!(head.iter().any(|line| line == "Content-Type: text/event-stream"), "{head:?}");
    let state = |line: String| serde_json::from_str::<Value>(line.strip_prefix("data: ").unwrap()).unwrap();
    let frames = |state: &Value| state["status"]["frames"].as_u64().unwrap();
    let begun = Instant::now();
    let mut last = 0;
    for _ in 0..5 {
        let next = frames(&state(lines.next().unwrap()));
        assert!(next > last, "{next} after {last}");
        assert_eq!(lines.next().unwrap(), "");
        last = next;
    }
    assert!(begun.elapsed() > Duration::from_millis(300));
    let report = running.end();
    let mut end = lines.skip_while(|line| line != "event: end");
    assert_eq!(end.next().as_deref(), Some("event: end"));
    let state = state(end.next().unwrap());
    assert_eq!((frames(&state), state["status"]["is_running"].as_bool()), (report.frames, Some(false)));
    let seen = state["figures"].as_array().unwrap().iter().find(|figure| figure["name"] == "seen").unwrap();
    assert_eq!(seen["count"], report.frames);
}

#[test]
fn who_has_the_token_may_stop_the_run() {
    let mut running = Running::new();
    let post = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: @\r\nOrigin: http://@\r\nAuthorization: bearer %\r\nContent-Length: 0\r\n\r\n"
        )
    };
    assert_eq!(status(&running.ask(&post("/replan"))), 409, "it does not adapt");
    assert_eq!(status(&running.ask(&post("/stop"))), 202);
    let until = Instant::now() + Duration::from_secs(20);
    while running.is_running() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(running.shown.as_ref().unwrap().was_stopped());
    running.end();
}

#[test]
fn an_address_that_is_taken_is_told() {
    let running = Running::new();
    let error = Page::bind(&running.address.parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains(&running.address) && error.contains("another port"), "{error}");
}

#[test]
fn a_page_that_nobody_sees_asks_for_nothing() {
    let mut chain = Chain::new();
    let numbers = chain.add(source::from_slice(&[1_u8; 100], 1), ());
    chain.add(sink::for_each(|_: &[u8]| Ok(Flow::Next)), &numbers);
    let mut pipeline = chain.build().unwrap().one_core().unwrap();
    let shown = Page::bind(&":0".parse().unwrap()).unwrap().show(&mut pipeline).unwrap();
    assert_eq!(pipeline.run().unwrap().frames, 100);
    assert!(!shown.was_stopped());
}

/// Two tasks that take as long as each other, for as long as it is let.
struct Endless;

impl Application for Endless {
    fn program(&mut self) -> Result<Program> {
        let mut chain = Chain::new();
        let work = |x: &mut [u64]| {
            std::thread::sleep(Duration::from_millis(1));
            x[0] += 1;
            Ok(Flow::Next)
        };
        let numbers = chain.add(source::from_fn(1, work), ());
        chain.add(sink::for_each(|_: &[u64]| Ok(Flow::Next)), &numbers);
        chain.build()
    }

    fn rehearsal(&self, _: u64) -> Result<Program> {
        Endless.program()
    }
}

#[test]
fn who_has_the_token_may_have_the_plan_made_anew() {
    let profile = Profile::new(
        ["cpu"],
        [TaskProfile::sequential("source", [1_000_000]), TaskProfile::sequential("sink", [900_000])],
    )
    .unwrap();
    let planner = Planner::new(Machine::here()).goal("max-throughput".parse().unwrap()).profile(profile, "a test");
    let planned = planner.plan(&Endless).unwrap();
    let mut pipeline = planned.pipeline(&mut Endless).unwrap();
    let page = Page::bind(&":0".parse().unwrap()).unwrap().replan(planned.goal_handle());
    let url = page.url();
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#").unwrap();
    let shown = page.show(&mut pipeline).unwrap();
    let stopper = pipeline.stopper();
    let ask = |request: String| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        crate::client::everything(stream)
    };
    let state = || -> Value {
        let answer = ask(format!("GET /state HTTP/1.1\r\nHost: {address}\r\n\r\n"));
        serde_json::from_str(body(&answer)).unwrap()
    };
    std::thread::scope(|scope| {
        let run = scope.spawn(|| planned.run_adapting(&mut pipeline, Adapting::default()).unwrap());
        assert_eq!((state()["replans"].as_bool(), state()["replanned"].as_str()), (Some(true), None));
        let answer = ask(format!("POST /replan HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"));
        assert_eq!(status(&answer), 202, "{answer}");
        let until = Instant::now() + Duration::from_secs(20);
        let outcome = loop {
            if let Some(outcome) = state()["replanned"].as_str() {
                break outcome.to_owned();
            }
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(outcome.starts_with("planned again: "), "{outcome}");
        stopper.stop();
        run.join().unwrap();
    });
    drop(shown);
}
