//! What a client gets.

use std::fmt::Write;

/// An answer with a body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// Further lines of the head, each with its end.
    pub(crate) lines: String,
    pub(crate) body: Vec<u8>,
}

/// Why nothing is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    reason: &'static str,
    /// A header that goes with it.
    line: &'static str,
}

impl Refusal {
    pub(super) const fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason, line: "" }
    }

    pub(super) const fn bad(reason: &'static str) -> Self {
        Self::new(400, reason)
    }

    pub(super) const fn too_large() -> Self {
        Self::new(431, "8 kB and 64 headers at most")
    }

    pub(super) const fn unauthorized() -> Self {
        let reason = "the token is missing, or another one: open the address that was told when the run began";
        Self { line: "WWW-Authenticate: Bearer\r\n", ..Self::new(401, reason) }
    }

    /// `allow` is the header that says by which.
    pub(super) const fn not_allowed(allow: &'static str) -> Self {
        Self { line: allow, ..Self::new(405, "not by this method") }
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, reason, line } = refusal;
        Self { lines: line.to_owned(), ..Self::text(status, reason) }
    }
}

impl Reply {
    pub(crate) fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, content_type, lines: String::new(), body: body.into() }
    }

    /// A line of text.
    pub(crate) fn text(status: u16, text: &str) -> Self {
        Self { status, ..Self::new("text/plain; charset=utf-8", format!("{text}\n")) }
    }

    /// The head, with the length of the body where that is known.
    pub(super) fn head(&self, length: Option<usize>) -> String {
        let Self { status, content_type, lines, .. } = self;
        let mut head = format!(
            "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\n{lines}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n",
            reason(*status)
        );
        if !lines.contains("Content-Security-Policy") {
            head += "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
        }
        if let Some(length) = length {
            let _ = write!(head, "Content-Length: {length}\r\n");
        }
        head + "\r\n"
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}
