//! Where a page listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use bief::{Error, Result};

/// Where a [`Page`](crate::Page) listens: `:PORT` for this machine alone, `HOST:PORT` for whoever reaches that address of it, `*:PORT` on
/// all of them; port 0 is any that is free. IPv6 addresses stand in brackets.
///
/// ```
/// use bief_page::PageAddress;
/// let address: PageAddress = ":8090".parse()?;
/// assert_eq!(address.to_string(), "127.0.0.1:8090");
/// assert!("receiver".parse::<PageAddress>().is_err());
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAddress {
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Ip(IpAddr),
    Name(String),
}

impl PageAddress {
    /// The sockets that it means.
    pub(crate) fn sockets(&self) -> std::io::Result<Vec<SocketAddr>> {
        match &self.host {
            Host::Ip(ip) => Ok(vec![(*ip, self.port).into()]),
            Host::Name(name) => Ok((name.as_str(), self.port).to_socket_addrs()?.collect()),
        }
    }

    /// The name that it was given by, which browsers may use.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Name(name) => Some(name),
            Host::Ip(_) => None,
        }
    }
}

impl FromStr for PageAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let forms = "give :PORT for this machine alone, HOST:PORT, or *:PORT for whoever reaches it";
            Error::new(format!("{text:?} is no address of a page: {forms}"))
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        // Not `+80`, which is a number as well.
        let digits = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or_else(wrong)?;
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = |name: &str| {
            let part =
                |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c));
            name.len() <= 253 && name.split('.').all(part)
        };
        let host = match (host, bracketed) {
            ("", _) => Host::Ip(Ipv4Addr::LOCALHOST.into()),
            ("*", _) => Host::Ip(Ipv4Addr::UNSPECIFIED.into()),
            (_, Some(inner)) => Host::Ip(IpAddr::V6(inner.parse().map_err(|_| wrong())?)),
            (host, None) => match host.parse::<Ipv4Addr>() {
                Ok(ip) => Host::Ip(ip.into()),
                Err(_) if is_name(host) => Host::Name(host.to_owned()),
                Err(_) => return Err(wrong()),
            },
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for PageAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(ip) => SocketAddr::from((*ip, self.port)).fmt(f),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            (":0", "127.0.0.1:0"),
            ("*:8090", "0.0.0.0:8090"),
            ("192.168.1.2:1", "192.168.1.2:1"),
            ("[::1]:65535", "[::1]:65535"),
            ("[::]:80", "[::]:80"),
            ("radio.lan:8090", "radio.lan:8090"),
        ] {
            assert_eq!(text.parse::<PageAddress>().unwrap().to_string(), expected);
        }
        for text in [
            "",
            "8090",
            ":",
            ":x",
            ":65536",
            ":-1",
            ":+1",
            "::1:80",
            "[::1]",
            "[x]:1",
            "a b:1",
            "http://x:1",
            "a..b:1",
            "x/y:1",
        ] {
            assert!(text.parse::<PageAddress>().is_err(), "{text}");
        }
    }
}
