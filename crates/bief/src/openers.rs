//! What opens an address: files and standard streams here, and what crates register for their schemes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};
use crate::gaps::Gaps;
use crate::parameters::refused;
use crate::suggest::suggestion;

/// Opens addresses of a scheme, such as those of a network protocol or a radio.
///
/// ```
/// use std::io::{Cursor, Read};
/// use bief::kinds::{Address, ByteSource, Opener, Openers};
/// use bief::Result;
///
/// struct Text;
///
/// impl Opener for Text {
///     fn reader(&self, address: &Address) -> Result<ByteSource> {
///         Ok(ByteSource::new(Cursor::new(address.rest().as_bytes().to_vec())))
///     }
/// }
///
/// let mut openers = Openers::new();
/// openers.add("text", Text);
/// let mut text = String::new();
/// openers.reader(&"text:hello".parse()?)?.reader.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// let refused = openers.writer(&"text:hello".parse()?).err().unwrap();
/// assert_eq!(refused.to_string(), "text:hello: nothing can be written there");
/// # Ok::<(), bief::Error>(())
/// ```
pub trait Opener: Send + Sync {
    /// Opens an address to read from it.
    ///
    /// # Errors
    /// What it names is not there, or is not read.
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        Err(Error::build(format!("{address}: nothing can be read there")))
    }

    /// Opens an address to write to it.
    ///
    /// # Errors
    /// What it names is not there, or is not written.
    fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        Err(Error::build(format!("{address}: nothing can be written there")))
    }

    /// Looks whether an address can be written, as far as that can be known without opening it.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_writer(&self, _address: &Address) -> Result<()> {
        Ok(())
    }
}

/// Bytes to read, with their known properties.
#[non_exhaustive]
pub struct ByteSource {
    /// The bytes.
    pub reader: Box<dyn Read + Send>,
    /// How many they are; `None` where that cannot be known before the end.
    pub bytes: Option<u64>,
    /// What they are, such as a sample format, where the source tells it.
    pub format: Option<String>,
    /// Elements of that format per second, where the source tells it.
    pub rate: Option<f64>,
    /// What is missing in them, where the source knows.
    pub gaps: Option<Gaps>,
}

impl ByteSource {
    /// Bytes of which nothing is known.
    pub fn new(reader: impl Read + Send + 'static) -> Self {
        Self { reader: Box::new(reader), bytes: None, format: None, rate: None, gaps: None }
    }
}

/// The openers of addresses, by scheme. Files and standard input and output need none.
#[derive(Clone, Default)]
pub struct Openers {
    by_scheme: BTreeMap<String, Arc<dyn Opener>>,
    /// What makes files, where that is not [`File::create`].
    make: Option<Arc<MakeFile>>,
}

type MakeFile = dyn Fn(&Path) -> io::Result<File> + Send + Sync;

impl Openers {
    /// Those of files and standard streams alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an opener for a scheme, such as `udp`, in the place of one that was there.
    pub fn add(&mut self, scheme: impl Into<String>, opener: impl Opener + 'static) {
        self.by_scheme.insert(scheme.into(), Arc::new(opener));
    }

    /// Makes files that are written by `make`, in the place of [`File::create`]: a program may write them under other names until
    /// they are whole. What it gives must be open for writing, and empty.
    ///
    /// ```
    /// use bief::kinds::{Address, Openers};
    /// use std::{fs, io::Write};
    /// let folder = std::env::temp_dir().join(format!("bief-make-{}", std::process::id()));
    /// fs::create_dir_all(&folder)?;
    ///
    /// let mut openers = Openers::new();
    /// openers.make_files_by(|path| fs::File::create(path.with_extension("ts.part")));
    /// let mut out = openers.writer(&Address::of_path(folder.join("x.ts")))?;
    /// out.write_all(b"G")?;
    /// out.flush()?;
    /// assert!(folder.join("x.ts.part").exists() && !folder.join("x.ts").exists());
    /// # fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make_files_by(&mut self, make: impl Fn(&Path) -> io::Result<File> + Send + Sync + 'static) {
        self.make = Some(Arc::new(make));
    }

    fn make_file(&self, path: &Path) -> Result<File> {
        let made = self.make.as_ref().map_or_else(|| File::create(path), |make| make(path));
        made.map_err(|error| {
            let message = format!("{}: {error}", path.display());
            Error::from_source(error).saying(message).with_kind(ErrorKind::Build)
        })
    }

    /// The schemes that there are openers for.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.by_scheme.keys().map(String::as_str)
    }

    /// The address that a text is; relative paths are relative to `folder`. A text such as `a:b`, without `//` and with no
    /// opener for its scheme, is a path.
    ///
    /// # Errors
    /// What is no address; a scheme that there is no opener for.
    pub fn address(&self, text: &str, folder: &Path) -> Result<Address> {
        let address: Address = text.parse()?;
        match address.scheme() {
            Some(scheme) if !self.by_scheme.contains_key(scheme) => {
                if address.has_authority() {
                    return Err(self.unknown(&address));
                }
                Ok(Address::of_path(folder.join(text)))
            }
            _ => Ok(address.in_folder(folder)),
        }
    }

    fn unknown(&self, address: &Address) -> Error {
        let scheme = address.scheme().unwrap_or_default();
        let known = suggestion(scheme, ["file"].into_iter().chain(self.schemes()));
        Error::build(format!("{address}: nothing opens `{scheme}:`{known}"))
    }

    fn of(&self, address: &Address) -> Result<&dyn Opener> {
        let opener = address.scheme().and_then(|scheme| self.by_scheme.get(scheme));
        opener.map(|opener| &**opener).ok_or_else(|| self.unknown(address))
    }

    /// Opens an address to read from it.
    ///
    /// # Errors
    /// A file that cannot be opened; a scheme without an opener; what the opener says.
    pub fn reader(&self, address: &Address) -> Result<ByteSource> {
        if address.is_standard() {
            return Ok(ByteSource::new(io::stdin()));
        }
        let Some(path) = address.path() else { return self.of(address)?.reader(address) };
        let cannot = |error: io::Error| Error::build(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(cannot)?;
        let facts = file.metadata().map_err(cannot)?;
        if facts.is_dir() {
            return Err(cannot(io::ErrorKind::IsADirectory.into()));
        }
        Ok(ByteSource { bytes: facts.is_file().then_some(facts.len()), ..ByteSource::new(file) })
    }

    /// Opens an address to write to it: a file is made, or emptied.
    ///
    /// # Errors
    /// A file that cannot be made; a scheme without an opener; what the opener says.
    pub fn writer(&self, address: &Address) -> Result<Box<dyn Write + Send>> {
        if address.is_standard() {
            return Ok(Box::new(BufWriter::new(io::stdout())));
        }
        let Some(path) = address.path() else { return self.of(address)?.writer(address) };
        Ok(Box::new(BufWriter::new(self.make_file(path)?)))
    }

    /// Looks whether an address can be written, as far as that can be known without opening it.
    ///
    /// # Errors
    /// A folder, or a file in one that is not there; a scheme without an opener; what the opener says.
    pub fn check_writer(&self, address: &Address) -> Result<()> {
        if address.is_standard() {
            return Ok(());
        }
        let Some(path) = address.path() else { return self.of(address)?.check_writer(address) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match (path.is_dir(), folder.is_dir()) {
            (true, _) => Err(Error::build(format!("{} is a folder: name a file in it", path.display()))),
            (_, false) => Err(Error::build(format!("there is no folder {}: make it first", folder.display()))),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Openers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemes()).finish()
    }
}

/// An address that a parameter names, to be read: the value of [`Param::reads`](crate::kinds::Param::reads).
#[derive(Debug, Clone)]
pub struct InputAddress {
    address: Address,
    parameter: String,
    openers: Openers,
}

impl InputAddress {
    pub(crate) fn new(address: Address, parameter: String, openers: Openers) -> Self {
        Self { address, parameter, openers }
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What opens it.
    pub fn openers(&self) -> &Openers {
        &self.openers
    }

    /// Opens it. A task that a [rehearsal](crate::kinds::Piece::is_rehearsal) must not eat from gives back what it reads:
    /// [`Piece::reader`](crate::kinds::Piece::reader) does.
    ///
    /// # Errors
    /// Those of [`Openers::reader`], told at the parameter.
    pub fn open(&self) -> Result<ByteSource> {
        self.openers.reader(&self.address).map_err(|error| self.refuse(error))
    }

    /// An error that the parameter caused: in a chain file it is told at its line.
    pub fn refuse(&self, error: impl fmt::Display) -> Error {
        refused(&self.parameter, error)
    }
}

/// An address that a parameter names, to be written: the value of [`Param::writes`](crate::kinds::Param::writes).
#[derive(Debug, Clone)]
pub struct OutputAddress {
    address: Address,
    parameter: String,
    openers: Openers,
    is_rehearsal: bool,
}

impl OutputAddress {
    pub(crate) fn new(address: Address, parameter: String, openers: Openers, is_rehearsal: bool) -> Self {
        Self { address, parameter, openers, is_rehearsal }
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The file; `None` where it is no file, for tasks that write nothing else.
    pub fn path(&self) -> Option<PathBuf> {
        self.address.path().map(Path::to_owned)
    }

    /// Whether nothing may be written: [`writer`](Self::writer) writes nothing then.
    pub fn is_rehearsal(&self) -> bool {
        self.is_rehearsal
    }

    /// What writes there. It is opened at the first byte, or flush, and not at all in a rehearsal.
    pub fn writer(&self) -> AddressWriter {
        AddressWriter {
            to: if self.is_rehearsal { To::Open(Box::new(io::sink())) } else { To::Closed(self.openers.clone()) },
            address: self.address.clone(),
        }
    }

    /// Makes the file, for tasks that write its beginning again at the end.
    ///
    /// # Errors
    /// What is no file, or cannot be made.
    pub fn make_file(&self) -> Result<File> {
        match self.address.path() {
            Some(path) => self.openers.make_file(path),
            None => Err(Error::build(format!("{}: this is no file: give a path", self.address))),
        }
    }

    /// An error that the parameter caused: in a chain file it is told at its line.
    pub fn refuse(&self, error: impl fmt::Display) -> Error {
        refused(&self.parameter, error)
    }
}

/// Writes to an address that is opened at the first byte: see [`OutputAddress::writer`].
pub struct AddressWriter {
    to: To,
    address: Address,
}

enum To {
    Closed(Openers),
    Open(Box<dyn Write + Send>),
}

impl AddressWriter {
    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        if let To::Closed(openers) = &self.to {
            self.to = To::Open(openers.writer(&self.address).map_err(io::Error::other)?);
        }
        let To::Open(writer) = &mut self.to else { unreachable!("just opened") };
        act(writer).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.address)))
    }
}

impl Write for AddressWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|writer| writer.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Null;

    impl Opener for Null {
        fn writer(&self, _: &Address) -> Result<Box<dyn Write + Send>> {
            Ok(Box::new(io::sink()))
        }
    }

    fn openers() -> Openers {
        let mut openers = Openers::new();
        openers.add("null", Null);
        openers
    }

    #[test]
    fn a_text_is_an_address_or_is_refused_with_the_schemes() {
        let address = |text: &str| openers().address(text, Path::new("f"));
        assert_eq!(address("x").unwrap().path(), Some(Path::new("f/x")));
        assert_eq!(address("capture:1").unwrap().path(), Some(Path::new("f/capture:1")), "no scheme that there is");
        assert_eq!(address("null:x").unwrap().scheme(), Some("null"));
        assert_eq!(address("nul://x").unwrap_err().to_string(), "nul://x: nothing opens `nul:`: did you mean `null`?");
        assert_eq!(
            address("udp://x").unwrap_err().to_string(),
            "udp://x: nothing opens `udp:`: there are `file` and `null`"
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri opens no files")]
    fn files_are_read_and_written_and_others_by_their_opener() {
        let folder = std::env::temp_dir().join(format!("bief-openers-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = Address::of_path(folder.join("x"));
        let mut output = OutputAddress::new(path.clone(), "path".into(), openers(), false).writer();
        assert!(!folder.join("x").exists(), "opened at the first byte");
        output.write_all(b"abc").unwrap();
        output.flush().unwrap();
        let mut source = openers().reader(&path).unwrap();
        let mut read = Vec::new();
        source.reader.read_to_end(&mut read).unwrap();
        assert_eq!((read.as_slice(), source.bytes), (&b"abc"[..], Some(3)));

        let mut rehearsed = OutputAddress::new(path.clone(), "path".into(), openers(), true).writer();
        rehearsed.write_all(b"no").unwrap();
        rehearsed.flush().unwrap();
        assert_eq!(std::fs::read(folder.join("x")).unwrap(), b"abc");

        let told = |address: Address| openers().check_writer(&address).unwrap_err().to_string();
        assert!(told(Address::of_path(&folder)).ends_with("is a folder: name a file in it"));
        assert!(told(Address::of_path(folder.join("a/b"))).ends_with(": make it first"));
        openers().check_writer(&path).unwrap();
        let null: Address = "null:".parse().unwrap();
        openers().writer(&null).unwrap().write_all(b"x").unwrap();
        let input = InputAddress::new(null, "path".into(), openers());
        let error = input.open().err().unwrap();
        assert_eq!(error.to_string(), "parameter `path`: null:: nothing can be read there");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
