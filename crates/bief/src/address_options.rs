//! What an address says at its end: options.

use std::str::FromStr;

use crate::address::Address;
use crate::error::{Error, Result};
use crate::openers::ByteSource;

/// The options at the end of an address, `?name=value&name=value`, for who opens it. Each is taken once, and none may be left.
///
/// ```
/// use bief::kinds::{Address, AddressOptions};
/// let address: Address = "soapy:driver=rtlsdr?frequency=1e8&rate=2e6".parse()?;
/// let mut options = AddressOptions::of(&address)?;
/// assert_eq!(options.path(), "driver=rtlsdr");
/// assert_eq!(options.value("rate", "samples per second", |rate: &f64| *rate > 0.0)?, Some(2e6));
/// let refused = options.end(true).unwrap_err().to_string();
/// assert!(refused.ends_with("no option is called `frequency` here; there are: rate"));
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug)]
pub struct AddressOptions<'a> {
    address: &'a Address,
    path: &'a str,
    left: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

impl<'a> AddressOptions<'a> {
    /// Those behind the `?` of an address.
    ///
    /// # Errors
    /// What is no `name=value`, or a name that comes twice.
    pub fn of(address: &'a Address) -> Result<Self> {
        let part = if address.has_authority() { address.resource() } else { address.rest() };
        let (path, query) = part.split_once('?').unwrap_or((part, ""));
        let mut left: Vec<(&str, &str)> = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let Some((name, value)) = option.split_once('=') else {
                return Err(Error::build(format!("{address}: `{option}` is no option: write NAME=VALUE")));
            };
            if left.iter().any(|(known, _)| *known == name) {
                return Err(Error::build(format!("{address}: `{name}` is given twice")));
            }
            left.push((name, value));
        }
        Ok(Self { address, path, left, known: Vec::new() })
    }

    /// What is before the options: the path behind a host, or all behind a scheme without one.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The text of an option.
    pub fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let at = self.left.iter().position(|(known, _)| *known == name)?;
        Some(self.left.swap_remove(at).1)
    }

    /// The value of an option, which must be `what`.
    ///
    /// # Errors
    /// A text that is none.
    pub fn value<T: FromStr>(&mut self, name: &'static str, what: &str, is: impl Fn(&T) -> bool) -> Result<Option<T>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse().ok().filter(is) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::build(format!("{}: `{name}={text}`: give {what}", self.address))),
        }
    }

    /// Whether an option is `on`: not where it is left out, or `off`.
    ///
    /// # Errors
    /// Another text.
    pub fn is_on(&mut self, name: &'static str) -> Result<bool> {
        match self.text(name) {
            None | Some("off") => Ok(false),
            Some("on") => Ok(true),
            Some(text) => Err(Error::build(format!("{}: `{name}={text}`: give on or off", self.address))),
        }
    }

    /// Sets what the address tells of samples: `format` and `rate`.
    ///
    /// # Errors
    /// A rate that is none.
    pub fn samples(&mut self, source: &mut ByteSource) -> Result<()> {
        source.format = self.text("format").map(str::to_owned).or(source.format.take());
        let rate = self.value("rate", "samples per second", |rate: &f64| rate.is_finite() && *rate > 0.0)?;
        source.rate = rate.or(source.rate);
        Ok(())
    }

    /// Looks that nothing is left.
    ///
    /// # Errors
    /// An option that nobody took, or a path where there can be none.
    pub fn end(self, may_have_path: bool) -> Result<()> {
        if let Some((name, _)) = self.left.first() {
            let known = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
            return Err(Error::build(format!(
                "{}: no option is called `{name}` here; there are: {known}",
                self.address
            )));
        }
        if !may_have_path && !matches!(self.path, "" | "/") {
            return Err(Error::build(format!("{}: nothing follows the port: leave out `{}`", self.address, self.path)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_once_and_none_is_left() {
        let address: Address = "http://:8080/ts?ttl=3&pace=live".parse().unwrap();
        let mut options = AddressOptions::of(&address).unwrap();
        assert_eq!(options.value("ttl", "a number", |_: &u8| true).unwrap(), Some(3));
        assert_eq!((options.path(), options.text("size")), ("/ts", None));
        let refused = options.end(true).unwrap_err().to_string();
        assert_eq!(refused, format!("{address}: no option is called `pace` here; there are: ttl, size"));
        for wrong in ["udp://a:1?x", "udp://a:1?x=1&x=2"] {
            assert!(AddressOptions::of(&wrong.parse().unwrap()).is_err(), "{wrong}");
        }
        let address = "udp://a:1?ttl=300".parse().unwrap();
        let refused = AddressOptions::of(&address).unwrap().value("ttl", "1 to 255", |_: &u8| true).unwrap_err();
        assert_eq!(refused.to_string(), "udp://a:1?ttl=300: `ttl=300`: give 1 to 255");
        let address = "udp://a:1/x".parse().unwrap();
        assert!(AddressOptions::of(&address).unwrap().end(false).is_err());
    }
}
