//! Where a worker or a router listens.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use bief::{Error, Result};

/// The port where nobody names one.
const PORT: u16 = 7447;

/// A host and a port: `rack3`, `rack3:7447`, `192.0.2.7:7447`, `[::1]:7447`.
///
/// ```
/// use bief_zenoh::Address;
///
/// let address: Address = "rack3".parse()?;
/// assert_eq!(address.to_string(), "rack3:7447");
/// assert!("[::1]".parse::<Address>()?.is_loopback() && !address.is_loopback());
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// Whether only this machine reaches it.
    pub fn is_loopback(&self) -> bool {
        let ip = self.host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether it stands for all networks of this machine.
    pub(crate) fn is_any(&self) -> bool {
        matches!(&*self.host, "0.0.0.0" | "[::]")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::new(format!("`{text}` is no address: {why}, as in rack3:7447 or [::1]:7447"));
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (ip, rest) = rest.split_once(']').ok_or_else(|| wrong("`]` is missing"))?;
                let is_ip = ip.parse::<std::net::Ipv6Addr>().is_ok();
                (is_ip.then(|| format!("[{ip}]")).ok_or_else(|| wrong("no address stands in brackets"))?, rest)
            }
            None => {
                let end = text.find(':').unwrap_or(text.len());
                (text[..end].to_owned(), &text[end..])
            }
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._[]:%".contains(letter);
        if host.is_empty() || host.len() > 253 || !host.chars().all(is_name) {
            return Err(wrong("write HOST or HOST:PORT"));
        }
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong("a port is a number up to 65535"))?,
            None if port.is_empty() => PORT,
            None => return Err(wrong("behind `]` goes `:PORT`")),
        };
        Ok(Self { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read_and_others_refused() {
        for (text, shown) in [
            ("rack3", "rack3:7447"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[fe80::1]", "[fe80::1]:7447"),
            ("[::]:1", "[::]:1"),
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), shown);
        }
        for text in ["", ":80", "rack3:", "rack3:70000", "::1", "[::1", "[x]:1", "[::1]80", "tcp/rack3", "a b", "a?b:1"]
        {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert!("127.8.0.1".parse::<Address>().unwrap().is_loopback());
        assert!(!"0.0.0.0".parse::<Address>().unwrap().is_loopback());
    }
}
