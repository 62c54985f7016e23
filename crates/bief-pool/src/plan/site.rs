//! What there is beside this machine: workers, their links, and what a message costs.

use bief::machine::toml_file::{At, Table, Text};
use bief::{Error, Result};

/// Workers, and what it costs to reach them.
///
/// As a text, in TOML:
///
/// ```
/// use bief_pool::plan::Site;
///
/// let site = Site::parse(
///     r#"
///     link_mb_per_s = 1100          # of this machine, each way; left out, no limit
///
///     [message]                     # what one costs a core of this machine; each may be left out
///     send_us = 20
///     send_ns_per_byte = 0.6
///     receive_us = 15
///     receive_ns_per_byte = 0.3
///
///     [[worker]]
///     name = "rack3"
///     cores = 6
///     speed = 0.8                   # of a core, where one of this machine's first kind has 1; left out, 1
///     link_mb_per_s = 110           # each way; left out, no limit
///     "#,
///     "pool.toml",
/// )?;
/// assert_eq!((site.workers[0].cores, site.message.send_ns), (6, 20e3));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Site {
    /// In any order.
    pub workers: Vec<Worker>,
    /// What a message costs this machine.
    pub message: MessageCost,
    /// What the link of this machine carries each way, in bytes per second; `None` where nothing limits it.
    pub link: Option<f64>,
}

/// A worker, as a plan knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// Cores that it lends.
    pub cores: u32,
    /// The speed of one, where one of the first kind of the machine that reads has 1.
    pub speed: f64,
    /// What its link carries each way, in bytes per second; `None` where nothing limits it.
    pub link: Option<f64>,
}

/// What a message costs a core of the first kind of the machine that reads, in nanoseconds: so much, and for each byte so much more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageCost {
    /// To send one.
    pub send_ns: f64,
    /// For each byte of it.
    pub send_ns_per_byte: f64,
    /// To receive one.
    pub receive_ns: f64,
    /// For each byte of it.
    pub receive_ns_per_byte: f64,
}

impl Default for MessageCost {
    /// The middle of what was measured on the machine of the book's chapter on workers.
    fn default() -> Self {
        Self { send_ns: 20e3, send_ns_per_byte: 0.6, receive_ns: 15e3, receive_ns_per_byte: 0.3 }
    }
}

impl MessageCost {
    /// To send one of so many bytes.
    pub fn send(&self, bytes: f64) -> f64 {
        self.send_ns + self.send_ns_per_byte * bytes
    }

    /// To receive one of so many bytes.
    pub fn receive(&self, bytes: f64) -> f64 {
        self.receive_ns + self.receive_ns_per_byte * bytes
    }
}

/// The most cores of a worker.
const MOST_CORES: usize = 4096;

impl Site {
    /// Reads a text that errors call `name`.
    ///
    /// # Errors
    /// What is no such text, with the line.
    pub fn parse(text: &str, name: &str) -> Result<Self> {
        let text = Text { name: name.to_owned(), text: text.to_owned() };
        let mut file = Table::whole(&text, "a pool of workers").map_err(Error::from)?;
        let link = positive(&text, file.number("link_mb_per_s")?, "link_mb_per_s")?.map(|mega| 1e6 * mega);
        let mut message = MessageCost::default();
        for (key, At { value, span }) in file.numbers("message", "the cost of messages")? {
            let (field, unit) = match &*key.value {
                "send_us" => (&mut message.send_ns, 1e3),
                "send_ns_per_byte" => (&mut message.send_ns_per_byte, 1.0),
                "receive_us" => (&mut message.receive_ns, 1e3),
                "receive_ns_per_byte" => (&mut message.receive_ns_per_byte, 1.0),
                other => {
                    let known = "send_us, send_ns_per_byte, receive_us and receive_ns_per_byte";
                    return Err(text.error(&key.span, &format!("a message has no `{other}`: it has {known}")).into());
                }
            };
            if !(0.0..=1e9).contains(&value) {
                return Err(text.error(&span, &format!("`{}` must be 0 to 1e9", key.value)).into());
            }
            *field = unit * value;
        }
        let mut workers: Vec<Worker> = Vec::new();
        for mut entry in file.tables("worker", "a worker")? {
            let At { value: name, span } = entry.needed_name("name")?;
            if workers.iter().any(|other| other.name == name) {
                return Err(text.error(&span, &format!("two workers are called `{name}`: name each once")).into());
            }
            let start = entry.span.clone();
            let cores = entry.integer("cores", MOST_CORES)?;
            let cores = cores.ok_or_else(|| text.error(&start, "a worker needs `cores`, as in cores = 4"))?.value;
            let speed = positive(&text, entry.number("speed")?, "speed")?.unwrap_or(1.0);
            let link = positive(&text, entry.number("link_mb_per_s")?, "link_mb_per_s")?.map(|mega| 1e6 * mega);
            entry.nothing_else(&["name", "cores", "speed", "link_mb_per_s"])?;
            workers.push(Worker { name, cores: cores as u32, speed, link });
        }
        file.nothing_else(&["link_mb_per_s", "message", "worker"])?;
        if workers.is_empty() {
            return Err(text.error(&(0..0), "there is no worker: write [[worker]] with a `name` and `cores`").into());
        }
        Ok(Self { workers, message, link })
    }
}

fn positive(text: &Text, number: Option<At<f64>>, key: &str) -> Result<Option<f64>> {
    match number {
        Some(At { value, span }) if !(1e-6..=1e9).contains(&value) => {
            Err(text.error(&span, &format!("`{key}` must be above 0, and at most 1e9")).into())
        }
        number => Ok(number.map(|number| number.value)),
    }
}
