//! What a client asks, and whether it may.

use std::net::IpAddr;

use httparse::{EMPTY_HEADER, Header, Status};

use super::reply::Refusal;
use crate::token::Token;

/// Bytes and headers of a request at most.
pub(super) const MOST_BYTES: usize = 8192;
const MOST_HEADERS: usize = 64;

/// A request that may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) target: Target,
    /// It wants OpenMetrics.
    pub(crate) open_metrics: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Page,
    Events,
    State,
    Metrics,
    Replan,
    Stop,
}

impl Target {
    fn of(path: &str) -> Option<Self> {
        Some(match path {
            "/" => Self::Page,
            "/events" => Self::Events,
            "/state" => Self::State,
            "/metrics" => Self::Metrics,
            "/replan" => Self::Replan,
            "/stop" => Self::Stop,
            _ => return None,
        })
    }

    fn changes_something(self) -> bool {
        matches!(self, Self::Replan | Self::Stop)
    }
}

/// What a client must know of the place that it asks.
pub(crate) struct Site {
    /// Only this machine reaches it.
    pub(crate) is_loopback: bool,
    /// The name that someone gave it.
    pub(crate) name: Option<String>,
    pub(crate) token: Token,
}

/// Headers, each of which may stand there once.
struct Headers<'h>(&'h [Header<'h>]);

impl<'h> Headers<'h> {
    fn one(&self, name: &str) -> Result<Option<&'h str>, Refusal> {
        let mut found = self.0.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (None, _) => Ok(None),
            (Some(header), None) => {
                let text = std::str::from_utf8(header.value).map_err(|_| Refusal::bad("a header is no text"))?;
                Ok(Some(text.trim_matches([' ', '\t'])))
            }
            _ => Err(Refusal::bad("a header that counts stands there twice")),
        }
    }
}

/// What the bytes up to the empty line ask, and those behind it.
pub(super) fn judge(bytes: &[u8], site: &Site) -> Result<Request, Refusal> {
    let mut space = [EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut space);
    let end = match parsed.parse(bytes) {
        Ok(Status::Complete(end)) => end,
        Ok(Status::Partial) => return Err(Refusal::bad("that is no whole request")),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::too_large()),
        Err(httparse::Error::Version) => return Err(Refusal::new(505, "only HTTP/1.1")),
        Err(_) => return Err(Refusal::bad("that is no request of HTTP/1.1")),
    };
    // The parser takes a line feed alone for the end of a line, and empty lines before the first; others may not, and see other
    // headers.
    let (head, behind) = bytes.split_at(end);
    let lines = head.split(|&byte| byte == b'\n').rev().skip(1);
    if head.starts_with(b"\r") || lines.into_iter().any(|line| line.last() != Some(&b'\r')) {
        return Err(Refusal::bad("a line does not end as it must"));
    }
    if !behind.is_empty() {
        return Err(Refusal::bad("something follows the request"));
    }
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(Refusal::bad("that is no whole request"));
    };
    if version != 1 {
        return Err(Refusal::new(505, "only HTTP/1.1"));
    }
    let headers = Headers(parsed.headers);
    let host = headers.one("host")?.filter(|host| site.is_called(host));
    let Some(host) = host else {
        return Err(Refusal::new(
            421,
            "this page is asked by an IP address of this machine, localhost, or the name that it was given",
        ));
    };
    check_body(&headers)?;
    if !target.starts_with('/') {
        return Err(Refusal::bad("a path is asked for, which begins with /"));
    }
    let target = Target::of(target).ok_or(Refusal::new(404, "nothing is there"))?;
    check_origin(&headers, host, target)?;
    let method = match method {
        "GET" if !target.changes_something() => Method::Get,
        "HEAD" if !target.changes_something() => Method::Head,
        "POST" if target.changes_something() => Method::Post,
        _ if target.changes_something() => return Err(Refusal::not_allowed("Allow: POST\r\n")),
        _ => return Err(Refusal::not_allowed("Allow: GET, HEAD\r\n")),
    };
    let authorization = headers.one("authorization")?;
    if method == Method::Post && !authorization.is_some_and(|given| site.is_proven(given)) {
        return Err(Refusal::unauthorized());
    }
    let accept = headers.0.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
    let open_metrics = accept.filter_map(|header| std::str::from_utf8(header.value).ok()).any(wants_open_metrics);
    Ok(Request { method, target, open_metrics })
}

/// Nothing here takes a body, and where one ends must not be a question.
fn check_body(headers: &Headers<'_>) -> Result<(), Refusal> {
    if headers.one("transfer-encoding")?.is_some() {
        return Err(Refusal::new(501, "no body is taken, and no transfer encoding"));
    }
    match headers.one("content-length")? {
        None | Some("0") => {}
        Some(length) if !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit()) => {
            return Err(Refusal::new(413, "no body is taken"));
        }
        Some(_) => return Err(Refusal::bad("that is no length")),
    }
    match headers.one("expect")? {
        None => Ok(()),
        Some(_) => Err(Refusal::new(417, "no body is taken")),
    }
}

/// Whether a page of another site made a browser ask this.
fn check_origin(headers: &Headers<'_>, host: &str, target: Target) -> Result<(), Refusal> {
    let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host));
    if headers.one("origin")?.is_some_and(|origin| !own(origin)) {
        return Err(Refusal::new(403, "a page of another site asks"));
    }
    // A link may lead to the page itself.
    let follows_link = headers.one("sec-fetch-mode")? == Some("navigate") && target == Target::Page;
    match headers.one("sec-fetch-site")? {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if follows_link => Ok(()),
        Some(_) => Err(Refusal::new(403, "a page of another site asks")),
    }
}

impl Site {
    /// Whether this is a name of this place that no other site can have point here: not one that a foreign name server gives.
    fn is_called(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                if port.parse::<u16>().is_err() || !port.bytes().all(|digit| digit.is_ascii_digit()) {
                    return false;
                }
                name
            }
            _ => host,
        };
        let ip = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse().ok().map(IpAddr::V6),
            None => name.parse().ok().map(IpAddr::V4),
        };
        match ip {
            Some(ip) => !self.is_loopback || ip.to_canonical().is_loopback(),
            None => {
                name.eq_ignore_ascii_case("localhost")
                    || self.name.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(name))
            }
        }
    }

    fn is_proven(&self, authorization: &str) -> bool {
        let (scheme, given) = authorization.split_once(' ').unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer") && self.token.is(given.as_bytes())
    }
}

fn wants_open_metrics(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let refused = |part: &str| {
            let weight = part.strip_prefix("q=").or(part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.parse() == Ok(0.0))
        };
        parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"))
            && !parts.any(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_called_as_no_foreign_name_can_be() {
        let site = |is_loopback, name: Option<&str>| Site {
            is_loopback,
            name: name.map(str::to_owned),
            token: Token::random().unwrap(),
        };
        let (here, open) = (site(true, None), site(false, Some("radio.lan")));
        for host in [
            "127.0.0.1",
            "127.0.0.1:8090",
            "localhost:1",
            "LOCALHOST",
            "[::1]:8090",
            "[::ffff:127.0.0.1]",
            "127.9.9.9:65535",
        ] {
            assert!(here.is_called(host) && open.is_called(host), "{host}");
        }
        for host in ["192.168.1.7:8090", "[2001:db8::1]:8090", "Radio.Lan:8090"] {
            assert!(open.is_called(host) && !here.is_called(host), "{host}");
        }
        for host in [
            "",
            ":8090",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.",
            "localhost.evil.example",
            "127.1",
            "2130706433",
            "0x7f.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:x",
            "127.0.0.1:+1",
            "127.0.0.1:99999",
            "user@127.0.0.1",
            "127.0.0.1, evil.example",
            "::1",
            "[::1",
            "[127.0.0.1]",
            "127.0.0.1:80:80",
            "127.0.0.1/",
            "radio.lan.",
        ] {
            assert!(!here.is_called(host) && !open.is_called(host), "{host}");
        }
    }

    #[test]
    fn open_metrics_are_wanted_by_those_who_say_so() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        assert!(wants_open_metrics(prometheus) && wants_open_metrics("text/plain, application/OpenMetrics-Text"));
        for accept in ["", "*/*", "text/plain", "application/openmetrics-text;q=0", "application/openmetrics-textx"] {
            assert!(!wants_open_metrics(accept), "{accept}");
        }
    }
}
