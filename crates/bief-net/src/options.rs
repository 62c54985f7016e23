//! What an address says behind its host: options, and the sockets that it means.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use bief::kinds::{Address, ByteSource};
use bief::{Error, Result};

/// The options of an address, `?name=value&name=value`. Each is taken once, and none may be left.
pub(crate) struct Options<'a> {
    address: &'a Address,
    path: &'a str,
    left: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> Options<'a> {
    /// # Errors
    /// What is no `name=value`, or a name that comes twice.
    pub(crate) fn of(address: &'a Address) -> Result<Self> {
        let (path, query) = address.resource().split_once('?').unwrap_or((address.resource(), ""));
        let mut left: Vec<(&str, &str)> = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let Some((name, value)) = option.split_once('=') else {
                return Err(Error::new(format!("{address}: `{option}` is no option: write NAME=VALUE")));
            };
            if left.iter().any(|(known, _)| *known == name) {
                return Err(Error::new(format!("{address}: `{name}` is given twice")));
            }
            left.push((name, value));
        }
        Ok(Self { address, path, left, known: Vec::new() })
    }

    /// The path before the options.
    pub(crate) fn path(&self) -> &'a str {
        self.path
    }

    /// The text of an option.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let at = self.left.iter().position(|(known, _)| *known == name)?;
        Some(self.left.swap_remove(at).1)
    }

    /// The value of an option, which must be `what`.
    ///
    /// # Errors
    /// A text that is none.
    pub(crate) fn value<T: FromStr>(
        &mut self,
        name: &'static str,
        what: &str,
        is: impl Fn(&T) -> bool,
    ) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse().ok().filter(is) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::new(format!("{}: `{name}={text}`: give {what}", self.address))),
        }
    }

    /// Sets what the address tells of samples.
    ///
    /// # Errors
    /// A rate that is none.
    pub(crate) fn samples(&mut self, source: &mut ByteSource) -> Result<()> {
        source.format = self.text("format").map(str::to_owned).or(source.format.take());
        let rate = self.value("rate", "samples per second", |rate: &f64| rate.is_finite() && *rate > 0.0)?;
        source.rate = rate.or(source.rate);
        Ok(())
    }

    /// # Errors
    /// An option that nobody took, or a path where there can be none.
    pub(crate) fn end(self, may_have_path: bool) -> Result<()> {
        if let Some((name, _)) = self.left.first() {
            let known = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
            return Err(Error::new(format!("{}: no option is called `{name}` here; there are: {known}", self.address)));
        }
        if !may_have_path && !matches!(self.path, "" | "/") {
            return Err(Error::new(format!("{}: nothing follows the port: leave out `{}`", self.address, self.path)));
        }
        Ok(())
    }
}

/// The port of an address, or the usual one.
///
/// # Errors
/// None is given and none is usual.
fn port(address: &Address, usual: Option<u16>) -> Result<u16> {
    address.port().or(usual).ok_or_else(|| Error::new(format!("{address}: names no port: write HOST:PORT")))
}

/// The socket that an address names; what names no host is on loopback, and `*` is every interface.
///
/// # Errors
/// A host that is not known.
pub(crate) fn socket(address: &Address, usual: Option<u16>) -> Result<SocketAddr> {
    let port = port(address, usual)?;
    let ip = match address.host() {
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some("*") => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Some(host) => {
            let mut found = (host, port).to_socket_addrs().map_err(|error| failed(address, &error))?;
            return found.next().ok_or_else(|| Error::new(format!("{address}: the host has no address")));
        }
    };
    Ok(SocketAddr::new(ip, port))
}

/// What the system said of an address.
pub(crate) fn failed(address: &Address, error: &std::io::Error) -> Error {
    Error::new(format!("{address}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_once_and_none_is_left() {
        let address: Address = "http://:8080/ts?ttl=3&pace=live".parse().unwrap();
        let mut options = Options::of(&address).unwrap();
        assert_eq!(options.value("ttl", "a number", |_: &u8| true).unwrap(), Some(3));
        assert_eq!((options.path(), options.text("size")), ("/ts", None));
        let refused = options.end(true).unwrap_err().to_string();
        assert_eq!(refused, format!("{address}: no option is called `pace` here; there are: ttl, size"));
        for wrong in ["udp://a:1?x", "udp://a:1?x=1&x=2"] {
            assert!(Options::of(&wrong.parse().unwrap()).is_err(), "{wrong}");
        }
        let address = "udp://a:1?ttl=300".parse().unwrap();
        let refused = Options::of(&address).unwrap().value("ttl", "1 to 255", |_: &u8| true).unwrap_err();
        assert_eq!(refused.to_string(), "udp://a:1?ttl=300: `ttl=300`: give 1 to 255");
        let address = "udp://a:1/x".parse().unwrap();
        assert!(Options::of(&address).unwrap().end(false).is_err());
    }

    #[test]
    fn what_names_no_host_is_on_loopback() {
        for (text, expected) in
            [("tcp://:80", "127.0.0.1:80"), ("tcp://*:80", "0.0.0.0:80"), ("tcp://[::1]:80", "[::1]:80")]
        {
            assert_eq!(socket(&text.parse().unwrap(), None).unwrap(), expected.parse().unwrap());
        }
        assert!(socket(&"tcp://127.0.0.1".parse().unwrap(), None).unwrap_err().to_string().contains("names no port"));
    }
}
