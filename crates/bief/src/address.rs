//! Addresses: where bytes come from or go to, one grammar for commands, chain files and programs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::Error;

/// Where bytes are read from or written to.
///
/// | address | what it is |
/// | --- | --- |
/// | `-` | standard input or output |
/// | `capture.ci16`, `file:capture.ci16`, `file:///tmp/x` | a file |
/// | `SCHEME://HOST:PORT/REST` | what is opened by that scheme, such as `tcp://host:port`; no host to listen, as in `tcp://:port`, and `*` for all, as in `zmq+push://*:port` |
/// | `SCHEME:REST` | the same without a host, such as `soapy:driver=rtlsdr` |
///
/// A scheme has two letters or more, so that `C:\x` is a path; a path that looks like one begins with `./`.
///
/// ```
/// use bief::kinds::Address;
/// let address: Address = "tcp://localhost:4000/iq".parse()?;
/// assert_eq!(address.scheme(), Some("tcp"));
/// assert_eq!((address.host(), address.port(), address.resource()), (Some("localhost"), Some(4000), "/iq"));
/// let address: Address = "tcp://:4000".parse()?;
/// assert_eq!((address.host(), address.port()), (None, Some(4000)));
/// let address: Address = "soapy:driver=rtlsdr,serial=1".parse()?;
/// assert_eq!((address.scheme(), address.rest()), (Some("soapy"), "driver=rtlsdr,serial=1"));
/// let address: Address = "captures/x.ci16".parse()?;
/// assert_eq!(address.path(), Some("captures/x.ci16".as_ref()));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address(Form);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    Standard,
    File(PathBuf),
    Other { text: String, scheme: usize, host: Option<String>, port: Option<u16>, resource: usize },
}

impl Address {
    /// The address of a file, whatever its name looks like; `-` is standard input or output.
    pub fn of_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self(if path.as_os_str() == "-" { Form::Standard } else { Form::File(path) })
    }

    /// Whether it is standard input, or output.
    pub fn is_standard(&self) -> bool {
        self.0 == Form::Standard
    }

    /// The path of a file.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Form::File(path) => Some(path),
            _ => None,
        }
    }

    /// The scheme; `None` for a file or a standard stream.
    pub fn scheme(&self) -> Option<&str> {
        match &self.0 {
            Form::Other { text, scheme, .. } => Some(&text[..*scheme]),
            _ => None,
        }
    }

    /// The part after the scheme, its colon and `//`; empty without a scheme.
    pub fn rest(&self) -> &str {
        match &self.0 {
            Form::Other { text, scheme, .. } => {
                let rest = &text[scheme + 1..];
                rest.strip_prefix("//").unwrap_or(rest)
            }
            _ => "",
        }
    }

    /// Whether `//` follows the scheme.
    pub(crate) fn has_authority(&self) -> bool {
        matches!(&self.0, Form::Other { text, scheme, .. } if text[scheme + 1..].starts_with("//"))
    }

    /// The host after `//`, without the brackets of an IPv6 address; `None` without one, as for an address to listen
    /// on.
    pub fn host(&self) -> Option<&str> {
        match &self.0 {
            Form::Other { host, .. } => host.as_deref(),
            _ => None,
        }
    }

    /// The port after the host.
    pub fn port(&self) -> Option<u16> {
        match &self.0 {
            Form::Other { port, .. } => *port,
            _ => None,
        }
    }

    /// The part after host and port, starting at its `/`; empty if there is none.
    pub fn resource(&self) -> &str {
        match &self.0 {
            Form::Other { text, resource, .. } => &text[*resource..],
            _ => "",
        }
    }

    /// The same address; the relative path of a file is relative to this folder.
    #[must_use]
    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        match self.0 {
            Form::File(path) => Self(Form::File(folder.join(path))),
            _ => self,
        }
    }
}

/// Characters of a scheme before the colon; 0 where there is none.
fn scheme_of(text: &str) -> usize {
    let Some((scheme, _)) = text.split_once(':') else { return 0 };
    let may_follow = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(may_follow);
    if is_scheme && scheme.len() > 1 { scheme.len() } else { 0 }
}

impl FromStr for Address {
    type Err = Error;

    /// # Errors
    /// An empty text; a port that is none.
    fn from_str(text: &str) -> Result<Self, Error> {
        let scheme = scheme_of(text);
        if text.is_empty() {
            return Err(Error::build("an address is empty: give a path, `-`, or SCHEME://…"));
        }
        if scheme == 0 {
            return Ok(Self::of_path(text));
        }
        let rest = &text[scheme + 1..];
        if text[..scheme].eq_ignore_ascii_case("file") {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            if path.is_empty() {
                return Err(Error::build(format!("`{text}` names no file: give a path behind `file:`")));
            }
            return Ok(Self(Form::File(path.into())));
        }
        let Some(rest) = rest.strip_prefix("//") else {
            return Ok(Self(Form::Other {
                text: text.to_owned(),
                scheme,
                host: None,
                port: None,
                resource: text.len(),
            }));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let (host, port) = match authority.rfind(':').filter(|&at| !authority[at..].contains(']')) {
            Some(at) => (&authority[..at], Some(&authority[at + 1..])),
            None => (authority, None),
        };
        let port = port.map(|port| {
            let number = port.parse::<u16>().ok().filter(|_| port.bytes().all(|digit| digit.is_ascii_digit()));
            number.ok_or_else(|| Error::build(format!("`{text}`: `{port}` is no port: give 0 to 65535")))
        });
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Ok(Self(Form::Other {
            text: text.to_owned(),
            scheme,
            host: (!host.is_empty()).then(|| host.to_owned()),
            port: port.transpose()?,
            resource: text.len() - rest.len() + end,
        }))
    }
}

/// As it is written: `standard input or output` has no name of its own but `-`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Standard => f.write_str("-"),
            Form::File(path) => path.display().fmt(f),
            Form::Other { text, .. } => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn files_and_standard_streams() {
        assert!(parsed("-").is_standard() && parsed("-").path().is_none());
        for path in ["x", "./a:b", "C:\\x", "/tmp/a b.ts", "2026-01-01T10:00.ci16", "a b:c", ":4000"] {
            assert_eq!(parsed(path).path(), Some(Path::new(path)));
            assert_eq!(parsed(path).to_string(), path);
        }
        for (text, path) in [("file:x", "x"), ("file:///a/b", "/a/b"), ("FILE:a:b", "a:b"), ("file:-", "-")] {
            assert_eq!(parsed(text).path(), Some(Path::new(path)));
        }
        assert_eq!(parsed("x").in_folder(Path::new("a")).path(), Some(Path::new("a/x")));
        assert_eq!(parsed("file:/x").in_folder(Path::new("a")).path(), Some(Path::new("/x")));
        assert!(parsed("-").in_folder(Path::new("a")).is_standard());
    }

    #[test]
    fn hosts_ports_and_the_rest() {
        for (text, scheme, host, port, resource) in [
            ("udp://239.0.0.1:5004", "udp", Some("239.0.0.1"), Some(5004), ""),
            ("http://:8080/ts", "http", None, Some(8080), "/ts"),
            ("zmq+push://*:5555", "zmq+push", Some("*"), Some(5555), ""),
            ("rtl_tcp://host", "rtl_tcp", Some("host"), None, ""),
            ("tcp://[::1]:80?ttl=1", "tcp", Some("::1"), Some(80), "?ttl=1"),
            ("tcp://[fe80::1]", "tcp", Some("fe80::1"), None, ""),
            ("soapy:driver=x:y", "soapy", None, None, ""),
        ] {
            let address = parsed(text);
            assert_eq!(address.scheme(), Some(scheme), "{text}");
            assert_eq!((address.host(), address.port(), address.resource()), (host, port, resource), "{text}");
            assert_eq!((address.to_string(), address.path()), (text.to_owned(), None));
        }
        assert_eq!(parsed("tcp://a:1/x").rest(), "a:1/x");
    }

    #[test]
    fn what_is_no_address() {
        let told = |text: &str| text.parse::<Address>().unwrap_err().to_string();
        assert_eq!(told(""), "an address is empty: give a path, `-`, or SCHEME://…");
        assert_eq!(told("file://"), "`file://` names no file: give a path behind `file:`");
        assert_eq!(told("tcp://host:65536"), "`tcp://host:65536`: `65536` is no port: give 0 to 65535");
        assert_eq!(told("tcp://host:+1"), "`tcp://host:+1`: `+1` is no port: give 0 to 65535");
    }
}
