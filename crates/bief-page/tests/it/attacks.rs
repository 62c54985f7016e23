//! What must not succeed, however it is tried. None of it may end the run, hold it up, or say more than a refusal.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Running, everything, status};

/// Each request, in which `@` is the page's address and `%` its token, and the status that it must get.
const REQUESTS: &[(&str, u16)] = &[
    // Names that a foreign name server may have point here.
    ("GET /state HTTP/1.1\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: localhost.evil.example:8090\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: 192.168.0.1:8090\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: user@127.0.0.1\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: 2130706433\r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: \r\n\r\n", 421),
    ("GET /state HTTP/1.1\r\nHost: @, evil.example\r\n\r\n", 421),
    ("POST /stop HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer %\r\n\r\n", 421),
    // Two of a header of which one counts.
    ("GET /state HTTP/1.1\r\nHost: @\r\nHost: @\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost: @\r\nhost: evil.example\r\n\r\n", 400),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer x\r\nAuthorization: Bearer %\r\n\r\n", 400),
    (
        "POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: http://@\r\nOrigin: http://evil.example\r\nAuthorization: Bearer %\r\n\r\n",
        400,
    ),
    (
        "POST /stop HTTP/1.1\r\nHost: @\r\nContent-Length: 0\r\nContent-Length: 0\r\nAuthorization: Bearer %\r\n\r\n",
        400,
    ),
    // Pages of other sites, with the token even.
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: http://evil.example\r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: null\r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: https://@\r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: http://@.evil.example\r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: http://127.0.0.1:1\r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nOrigin: \r\nAuthorization: Bearer %\r\n\r\n", 403),
    ("GET /state HTTP/1.1\r\nHost: @\r\nOrigin: http://evil.example\r\n\r\n", 403),
    ("GET /state HTTP/1.1\r\nHost: @\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n", 403),
    ("GET /events HTTP/1.1\r\nHost: @\r\nSec-Fetch-Site: same-site\r\n\r\n", 403),
    ("GET /metrics HTTP/1.1\r\nHost: @\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\r\n", 403),
    ("GET / HTTP/1.1\r\nHost: @\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n", 403),
    // Without the token, or with what is almost one.
    ("POST /stop HTTP/1.1\r\nHost: @\r\n\r\n", 401),
    ("POST /replan HTTP/1.1\r\nHost: @\r\nOrigin: http://@\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: \r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer 00000000000000000000000000000000\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %0\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer  %\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Basic %\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: %\r\n\r\n", 401),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nCookie: token=%\r\nX-Token: %\r\n\r\n", 401),
    // By another method, or another way to write it.
    ("GET /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 405),
    ("GET /stop HTTP/1.1\r\nHost: @\r\nX-HTTP-Method-Override: POST\r\nAuthorization: Bearer %\r\n\r\n", 405),
    ("PUT /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 405),
    ("post /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 405),
    ("OPTIONS /stop HTTP/1.1\r\nHost: @\r\nOrigin: http://@\r\nAccess-Control-Request-Method: POST\r\n\r\n", 405),
    ("POST /state HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 405),
    ("DELETE / HTTP/1.1\r\nHost: @\r\n\r\n", 405),
    ("TRACE / HTTP/1.1\r\nHost: @\r\n\r\n", 405),
    ("POST /stop?token=% HTTP/1.1\r\nHost: @\r\n\r\n", 404),
    ("POST /%73top HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 404),
    ("POST //stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 404),
    ("POST /stop/ HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 404),
    ("POST /STOP HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 404),
    ("POST /./stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 404),
    ("GET /../../../../etc/passwd HTTP/1.1\r\nHost: @\r\n\r\n", 404),
    ("GET /..%2f..%2fetc/passwd HTTP/1.1\r\nHost: @\r\n\r\n", 404),
    ("GET /.git/config HTTP/1.1\r\nHost: @\r\n\r\n", 404),
    // As to a proxy.
    ("GET http://@/state HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    ("GET http://evil.example/ HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    ("POST http://@/stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 400),
    ("CONNECT evil.example:443 HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    ("OPTIONS * HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    // Where does it end? A second request hidden in the first, for a proxy between.
    (
        "GET / HTTP/1.1\r\nHost: @\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /stop HTTP/1.1\r\nHost: @\r\n\r\n",
        400,
    ),
    ("GET / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: @\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: @\r\n\r\nPOST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\n\r\n", 400),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: 1000000000000\r\n\r\n", 413),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: 4\r\n\r\n", 413),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: -1\r\n\r\n", 400),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: +0\r\n\r\n", 400),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: 0, 0\r\n\r\n", 400),
    (
        "POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        413,
    ),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nAuthorization: Bearer %\r\nExpect: 100-continue\r\n\r\n", 417),
    // Lines that one program sees, and another does not.
    ("GET /state HTTP/1.1\nHost: @\n\n", 400),
    ("POST /stop HTTP/1.1\r\nHost: @\r\nX: y\nAuthorization: Bearer %\r\n\r\n", 400),
    ("\r\nGET /state HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    ("\nGET /state HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost: @\r\n X-Folded: y\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost : @\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\n: y\r\nHost: @\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost @\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost: @\r\nX: a\0b\r\n\r\n", 400),
    ("GET /state HTTP/1.1\r\nHost: @\r\nX: a\rb\r\n\r\n", 400),
    ("GET /sta te HTTP/1.1\r\nHost: @\r\n\r\n", 505),
    ("GET  /state HTTP/1.1\r\nHost: @\r\n\r\n", 400),
    // Other protocols.
    ("GET /state HTTP/1.0\r\nHost: @\r\n\r\n", 505),
    ("GET /state HTTP/9.9\r\nHost: @\r\n\r\n", 505),
    ("GET /state\r\n\r\n", 400),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", 400),
    ("\r\n\r\n", 400),
];

#[test]
fn none_of_a_hundred_requests_is_answered() {
    let mut running = Running::new();
    for (request, expected) in REQUESTS {
        let answer = running.ask(request);
        assert_eq!(status(&answer), *expected, "{request:?}: {answer}");
        assert!(!answer.contains("frames_per_second") && !answer.contains(&running.token), "{request:?}: {answer}");
        assert!(!answer.to_ascii_lowercase().contains("access-control-"), "{answer}");
        assert!(answer.contains("Connection: close\r\n") && answer.contains("nosniff"), "{answer}");
        assert!(!answer.contains("evil.example"), "what was asked is not said again: {answer}");
    }
    assert!(REQUESTS.len() >= 80 && running.is_running() && !running.shown.as_ref().unwrap().was_stopped());
    // It still does what it may.
    assert_eq!(status(&running.get("/state")), 200);
    assert!(running.end().frames > 0);
}

#[test]
fn heads_are_bounded() {
    let running = Running::new();
    let long = |bytes: usize| format!("GET /state HTTP/1.1\r\nHost: @\r\nX: {}\r\n\r\n", "y".repeat(bytes));
    assert_eq!(status(&running.ask(&long(7000))), 200);
    for (name, request) in [
        ("a header", long(8192)),
        ("a megabyte", long(1 << 20)),
        ("a target", format!("GET /{} HTTP/1.1\r\nHost: @\r\n\r\n", "a".repeat(9000))),
        ("no end of line", "A".repeat(1 << 16)),
        ("headers", format!("GET /state HTTP/1.1\r\nHost: @\r\n{}\r\n", "X: y\r\n".repeat(65))),
        ("one line behind an empty one", "\r\n".to_owned() + &"G".repeat(9000)),
    ] {
        let answer = running.ask(&request);
        assert_eq!(status(&answer), 431, "{name}: {answer}");
    }
    // Bytes that are no text, in each place.
    for bytes in [
        &b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"[..],
        b"G\xffT / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    ] {
        assert!((400..500).contains(&status(&running.send(bytes))), "{bytes:?}");
    }
}

#[test]
#[ignore = "long: part of .ci/run"]
fn who_is_slow_or_silent_is_left_and_holds_nobody_up() {
    let running = Running::new();
    let begun = Instant::now();
    thread::scope(|scope| {
        // One says nothing, one goes on for ever, one goes away in the middle.
        let silent = scope.spawn(|| everything(running.connect()));
        let dripping = scope.spawn(|| {
            let mut stream = running.connect();
            for byte in b"GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ".iter().chain(std::iter::repeat(&b'y')) {
                if stream.write_all(&[*byte]).is_err() || begun.elapsed() > Duration::from_secs(20) {
                    break;
                }
                thread::sleep(Duration::from_millis(100));
                if begun.elapsed() > Duration::from_millis(5500) {
                    break;
                }
            }
            everything(stream)
        });
        let mut gone = running.connect();
        gone.write_all(b"GET /sta").unwrap();
        drop(gone);
        // Meanwhile others are answered.
        assert_eq!(status(&running.get("/state")), 200);
        assert!(begun.elapsed() < Duration::from_secs(4));
        assert_eq!(status(&silent.join().unwrap()), 408);
        assert!([0, 408].contains(&status(&dripping.join().unwrap())));
    });
    let took = begun.elapsed();
    assert!((Duration::from_millis(4900)..Duration::from_secs(15)).contains(&took), "{took:?}");
}

#[test]
fn few_may_listen_and_few_may_ask_at_once() {
    let running = Running::new();
    let listen = || {
        let mut stream = running.connect();
        write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", running.address).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        (stream, String::from_utf8_lossy(&start).into_owned())
    };
    let listeners: Vec<(TcpStream, String)> = (0..8).map(|_| listen()).collect();
    assert!(listeners.iter().all(|(_, start)| start == "HTTP/1.1 200"));
    assert_eq!(listen().1, "HTTP/1.1 503");
    // Who asks once is answered all the same, and who may stops the run.
    assert_eq!(status(&running.get("/metrics")), 200);
    // Further ones that say nothing take the rest of the places: then nobody is answered, and the run does not notice.
    let silent: Vec<TcpStream> = (0..40).map(|_| running.connect()).collect();
    let begun = Instant::now();
    // They are let in one after the other, and sent away after 5 s.
    while status(&running.get("/state")) != 503 {
        assert!(begun.elapsed() < Duration::from_secs(4), "all places are taken");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(running.is_running());
    drop((silent, listeners));
    let until = Instant::now() + Duration::from_secs(15);
    while status(&running.get("/state")) != 200 {
        assert!(Instant::now() < until, "places are given back");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn who_listens_and_does_not_read_is_left() {
    let mut running = Running::new();
    let deaf: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = running.connect();
            write!(stream, "GET /events HTTP/1.1\r\nHost: {}\r\n\r\n", running.address).unwrap();
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    assert!(running.end().frames > 0);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    drop(deaf);
}

#[test]
fn elsewhere_the_token_counts_as_well() {
    let running = Running::at("*:0");
    let stop = |host: &str, more: &str| running.ask(&format!("POST /stop HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"));
    assert_eq!(status(&stop("192.168.7.7:8090", "")), 401);
    assert_eq!(status(&stop("radio.lan:8090", "Authorization: Bearer %\r\n")), 421, "a name that nobody gave");
    assert_eq!(status(&running.get("/state")), 200);
    assert_eq!(status(&stop("192.168.7.7:8090", "Authorization: Bearer %\r\n")), 202);
}
