//! A page: bound to an address first, and shown beside a run then.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use bief::pipeline::Stopper;
use bief::plan::GoalHandle;
use bief::{Error, Pipeline, Result};

use crate::address::PageAddress;
use crate::base64;
use crate::http::{Reply, Request, Server, Service, Site, Target};
use crate::look::Looker;
use crate::metrics::{Format, metrics};
use crate::token::Token;

/// All of it: no other file belongs to it.
const HTML: &str = include_str!("page.html");

/// A page that is about to be shown: it has its address, and answers nobody yet. See the [crate](crate) for what it is.
pub struct Page {
    listener: TcpListener,
    local: SocketAddr,
    site: Site,
    title: String,
    replan: Option<GoalHandle>,
}

impl Page {
    /// Takes an address.
    ///
    /// # Errors
    /// One that the system refuses, as it is taken or none of this machine.
    pub fn bind(address: &PageAddress) -> Result<Self> {
        let failed = |error: io::Error| {
            let remedy = match error.kind() {
                io::ErrorKind::AddrInUse => ": another program has it, give another port, or 0 for any that is free",
                _ => "",
            };
            Error::new(format!("the page on {address}: {error}{remedy}"))
        };
        let listener = address.sockets().and_then(|sockets| TcpListener::bind(&*sockets)).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let token = Token::random().map_err(failed)?;
        let site = Site { is_loopback: local.ip().is_loopback(), name: address.name().map(str::to_owned), token };
        Ok(Self { listener, local, site, title: String::new(), replan: None })
    }

    /// What the page is called.
    #[must_use]
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Lets the page ask for another plan of a run that [adapts](bief::Planned::run_adapting).
    #[must_use]
    pub fn replan(self, handle: GoalHandle) -> Self {
        Self { replan: Some(handle), ..self }
    }

    /// Where it is, with the token that its buttons need behind `#`: who has that may stop the run.
    pub fn url(&self) -> String {
        let port = self.local.port();
        let token = self.site.token.text();
        match &self.site.name {
            Some(name) => format!("http://{name}:{port}/#{token}"),
            None if self.local.ip().is_unspecified() => format!("http://localhost:{port}/#{token}"),
            None => format!("http://{}/#{token}", self.local),
        }
    }

    /// Shows what this pipeline does, from now on.
    ///
    /// # Errors
    /// A thread that the system refuses.
    pub fn show(self, pipeline: &mut Pipeline) -> Result<Shown> {
        let Self { listener, site, title, replan, .. } = self;
        let looker = Looker::new(title, pipeline.watch(), replan);
        let stopped = Arc::<AtomicBool>::default();
        let view = View { looker, stopper: pipeline.stopper(), stopped: Arc::clone(&stopped) };
        let server = Server::start(listener, site, view);
        server
            .map(|server| Shown { stopped, _server: server })
            .map_err(|error| Error::new(format!("the page: {error}")))
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the token.
        write!(f, "Page on {}", self.local)
    }
}

/// A page that is shown, until this is dropped: then browsers hear that the run is over, and see it as it was last.
pub struct Shown {
    stopped: Arc<AtomicBool>,
    _server: Server,
}

impl Shown {
    /// Whether someone stopped the run on the page.
    pub fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shown")
    }
}

/// A run, for those who look at it.
struct View {
    looker: Looker,
    stopper: Stopper,
    stopped: Arc<AtomicBool>,
}

impl Service for View {
    fn answer(&self, request: Request) -> Reply {
        match request.target {
            Target::Page => {
                let lines = format!("Content-Security-Policy: {}\r\n", *POLICY);
                Reply { lines, ..Reply::new("text/html; charset=utf-8", HTML) }
            }
            Target::State | Target::Events => Reply::new("application/json", self.looker.json(false).as_bytes()),
            Target::Metrics => {
                let format = if request.open_metrics { Format::OpenMetrics } else { Format::Text };
                Reply::new(format.content_type(), metrics(&self.looker.title, &self.looker.look(), format))
            }
            Target::Replan if self.looker.replan() => Reply::text(202, "a new plan is asked for"),
            Target::Replan => Reply::text(409, "this run keeps its plan: it does not adapt"),
            Target::Stop => {
                self.stopped.store(true, Ordering::Relaxed);
                self.stopper.stop();
                Reply::text(202, "the run ends")
            }
        }
    }

    fn event(&self, last: bool) -> Arc<str> {
        self.looker.json(last)
    }
}

/// What the page may do: run its own script in its own style, and ask where it is from.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |tag: &str| {
        let inner = HTML.split_once(&format!("<{tag}>")).and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
        base64::encode(&hmac_sha256::Hash::hash(inner.map_or("", |(inner, _)| inner).as_bytes()))
    };
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash("script"),
        hash("style")
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_small_file_that_asks_nobody_else() {
        assert!(HTML.len() < 40_000, "{} bytes", HTML.len());
        for tag in ["script", "style"] {
            assert_eq!(HTML.matches(&format!("<{tag}>")).count(), 1, "one {tag}, without attributes");
        }
        let page = HTML.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "//cdn", "innerHTML", "eval(", " style=", " onclick="] {
            assert!(!page.contains(word), "{word}");
        }
        assert_eq!(POLICY.matches("'sha256-").count(), 2);
    }
}
