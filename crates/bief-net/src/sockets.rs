//! The sockets that an address means.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use bief::kinds::{Address, AddressOptions};
use bief::{Error, Result};

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

/// Formats of samples, and their bytes.
const FORMATS: [(&str, usize); 8] =
    [("cf32", 8), ("ci16", 4), ("ci8", 2), ("cu8", 2), ("f32", 4), ("s16", 2), ("s8", 1), ("u8", 1)];

/// What an address says samples are: the option `format`, and the bytes of a sample.
///
/// # Errors
/// A format that is none.
pub(crate) fn sample_format(
    address: &Address,
    options: &mut AddressOptions<'_>,
) -> Result<Option<(&'static str, usize)>> {
    let Some(text) = options.text("format") else { return Ok(None) };
    match FORMATS.into_iter().find(|(name, _)| *name == text) {
        Some(format) => Ok(Some(format)),
        None => {
            let known = FORMATS.map(|(name, _)| name).join(", ");
            Err(Error::new(format!("{address}: `format={text}`: give one of {known}")))
        }
    }
}

/// What the system said of an address.
pub(crate) fn failed(address: &Address, error: &std::io::Error) -> Error {
    Error::new(format!("{address}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
