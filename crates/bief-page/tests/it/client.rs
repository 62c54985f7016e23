//! A run with a page, and clients that send whatever they like.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;

use bief::pipeline::Stopper;
use bief::{Chain, Figures, Flow, In, Report, Result, Task, sink, source};
use bief_page::{Page, Shown};

/// What tells figures of every kind, with text that nobody should trust.
pub(crate) const FOREIGN: &str = "<img src=x onerror=alert(1)>\"\n# EOF\n</script>";

struct Teller(u64);

impl Task for Teller {
    type In = In<u32>;
    type Out = ();
    fn lens(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, _: &[u32], (): ()) -> Result<Flow> {
        self.0 += 1;
        Ok(Flow::Next)
    }
    fn figures(&self, figures: &mut Figures) {
        figures.count("seen", "frames", self.0);
        figures.level("es_n0", "dB", 7.5, 1.0);
        figures.text("service_name", FOREIGN).of("service", 1);
        figures.scatter("symbols", "", vec![[0.7, -0.7]; 2000]);
        figures.curve("spectrum", "dB", (-0.5, 0.25), vec![-40.0, -3.0, f32::NAN, -40.0]);
    }
}

/// A run that goes on until it is stopped, and its page.
pub(crate) struct Running {
    pub(crate) address: String,
    pub(crate) token: String,
    pub(crate) shown: Option<Shown>,
    stopper: Stopper,
    run: Option<JoinHandle<Report>>,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self::at(":0")
    }

    pub(crate) fn at(address: &str) -> Self {
        let mut chain = Chain::new();
        let ticks = chain.add(
            source::from_fn(1, |tick: &mut [u32]| {
                std::thread::sleep(Duration::from_millis(1));
                tick[0] = 1;
                Ok(Flow::Next)
            }),
            (),
        );
        chain.stage("tell").threads(1);
        chain.add(Teller(0), &ticks);
        chain.add(sink::for_each(|_: &[u32]| Ok(Flow::Next)), &ticks);
        let mut pipeline = chain.build().unwrap().pipeline_as_marked().unwrap();
        let page = Page::bind(&address.parse().unwrap()).unwrap().title("a test");
        let url = page.url();
        let (address, token) = url.strip_prefix("http://").unwrap().split_once("/#").unwrap();
        let (address, token) = (address.replace("localhost", "127.0.0.1"), token.to_owned());
        let shown = Some(page.show(&mut pipeline).unwrap());
        let stopper = pipeline.stopper();
        let run = Some(std::thread::spawn(move || pipeline.run().unwrap()));
        Self { address, token, shown, stopper, run }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends these bytes, in which `@` is the address and `%` the token; all that comes back.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may be refused before all of it is sent.
        let _ = stream.write_all(bytes);
        everything(stream)
    }

    /// Sends a text in which `@` is the address and `%` the token.
    pub(crate) fn ask(&self, text: &str) -> String {
        self.send(text.replace('@', &self.address).replace('%', &self.token).as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: @\r\n\r\n"))
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.run.as_ref().unwrap().is_finished()
    }

    /// Ends the run, and its page behind it.
    pub(crate) fn end(&mut self) -> Report {
        self.stopper.stop();
        let report = self.run.take().unwrap().join().unwrap();
        self.shown = None;
        report
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.run.is_some() {
            self.end();
        }
    }
}

pub(crate) fn everything(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A connection that is reset has no more to say.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status of an answer; 0 where there was none.
pub(crate) fn status(answer: &str) -> u16 {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or(0)
}

pub(crate) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}
