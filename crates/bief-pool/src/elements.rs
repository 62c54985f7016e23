//! What the elements of a wire are on both machines: plain numbers, or a type that a [`Codec`] turns into bytes.

use std::any::TypeId;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use bief::raw::{Direction, Dtype, DynWire, SocketKind, SocketView, SocketViewMut};
use bief::{Error, Result};

/// The elements of a wire that leaves: printed and parsed as a text, which means the same on both machines.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Numbers, arrays and structs of them, as they lie in memory.
    Plain(Dtype),
    /// Of a type that is registered with the bytes that stand for it.
    Coded(Codec),
}

/// How elements of a type that is not [`Portable`](bief::raw::Portable) leave their machine: so many bytes each, under a name that both sides know.
#[derive(Clone)]
pub struct Codec(Arc<Inner>);

struct Inner {
    name: String,
    /// Of an element.
    bytes: usize,
    id: TypeId,
    is_of: fn(&DynWire) -> bool,
    socket: fn(Direction, bool) -> SocketKind,
    write: Box<Write>,
    read: Box<Read>,
}

type Write = dyn Fn(SocketView<'_>, usize, &mut Vec<u8>) -> Result<()> + Send + Sync;
type Read = dyn Fn(&mut SocketViewMut<'_>, usize, &[u8]) -> Result<()> + Send + Sync;

static CODECS: RwLock<Vec<Codec>> = RwLock::new(Vec::new());

impl Codec {
    /// Registers a type for the whole process: wires of it may leave. Each element becomes `N` bytes, the same on any machine; bytes that
    /// are none are refused. Registering a type under its name again has no effect.
    ///
    /// ```
    /// use bief_pool::Codec;
    ///
    /// Codec::register::<bool, 1>("test.bool", |flag| [u8::from(*flag)], |[byte]| match byte {
    ///     0 => Some(false),
    ///     1 => Some(true),
    ///     _ => None,
    /// })?;
    /// assert_eq!("test.bool".parse::<bief_pool::Elements>()?.size(), 1);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name that another type has, or that means [numbers](Dtype).
    pub fn register<T: Copy + Default + Send + Sync + 'static, const N: usize>(
        name: &str,
        write: fn(&T) -> [u8; N],
        read: fn(&[u8; N]) -> Option<T>,
    ) -> Result<()> {
        if name.parse::<Dtype>().is_ok() {
            return Err(Error::new(format!("elements cannot be called {name}: these are numbers")));
        }
        let mut codecs = CODECS.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(Self(other)) = codecs.iter().find(|codec| codec.0.name == name) {
            return match other.id == TypeId::of::<T>() {
                true => Ok(()),
                false => Err(Error::new(format!("elements of another type are called {name}: choose another name"))),
            };
        }
        let named = name.to_owned();
        codecs.push(Self(Arc::new(Inner {
            name: name.to_owned(),
            bytes: N,
            id: TypeId::of::<T>(),
            is_of: |wire| wire.typed::<T>().is_ok() || wire.typed_var::<T>().is_ok(),
            socket: |direction, variable| match variable {
                true => SocketKind::variable::<T>(direction),
                false => SocketKind::fixed::<T>(direction),
            },
            write: Box::new(move |socket, position, buffer| {
                buffer.extend(socket.frame::<T>(position)?.iter().flat_map(write));
                Ok(())
            }),
            read: Box::new(move |socket, position, bytes| {
                for (element, bytes) in socket.frame::<T>(position)?.iter_mut().zip(bytes.as_chunks().0) {
                    *element = read(bytes).ok_or_else(|| Error::new(format!("{bytes:?} are no {named}")))?;
                }
                Ok(())
            }),
        })));
        Ok(())
    }

    fn find(wanted: impl Fn(&Inner) -> bool) -> Option<Self> {
        let codecs = CODECS.read().unwrap_or_else(PoisonError::into_inner);
        codecs.iter().find(|codec| wanted(&codec.0)).cloned()
    }
}

impl Elements {
    /// Those of a wire.
    pub(crate) fn of(wire: &DynWire) -> Result<Self> {
        let plain = wire.dtype().map(Self::Plain);
        let elements = plain.or_else(|| Codec::find(|codec| (codec.is_of)(wire)).map(Self::Coded)).ok_or_else(|| {
            Error::new(format!(
                "a wire of {} cannot leave this machine: make the type `Portable` or give it a `Codec`, and register it, or cut elsewhere",
                wire.element()
            ))
        })?;
        elements.can_lie()?;
        Ok(elements)
    }

    /// Numbers travel as they lie in memory, which is little endian wherever Bief was built so far.
    fn can_lie(&self) -> Result<()> {
        match self {
            Self::Plain(dtype) if cfg!(target_endian = "big") && dtype.align() > 1 => {
                Err(Error::new("numbers do not leave a machine whose numbers are big endian"))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of an element in a message.
    pub fn size(&self) -> usize {
        match self {
            Self::Plain(dtype) => dtype.size(),
            Self::Coded(codec) => codec.0.bytes,
        }
    }

    /// A socket for them; an element type that is not known here is refused.
    pub(crate) fn socket(&self, direction: Direction, variable: bool) -> Result<SocketKind> {
        match self {
            Self::Plain(dtype) => SocketKind::of(dtype, direction, variable),
            Self::Coded(codec) => Ok((codec.0.socket)(direction, variable)),
        }
    }

    /// Appends a frame where it is not plain bytes already.
    pub(crate) fn write(&self, socket: SocketView<'_>, position: usize, buffer: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Coded(codec) => (codec.0.write)(socket, position, buffer),
        }
    }

    /// Puts a frame, of as many bytes as it has, into its place.
    pub(crate) fn read(&self, socket: &mut SocketViewMut<'_>, position: usize, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Plain(dtype) => {
                let start = position * socket.view().stride() * dtype.size();
                socket.bytes()?[start..start + bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            Self::Coded(codec) => (codec.0.read)(socket, position, bytes),
        }
    }
}

impl FromStr for Elements {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(codec) = Codec::find(|codec| codec.name == text) {
            return Ok(Self::Coded(codec));
        }
        let elements = text.parse().map(Self::Plain)?;
        elements.can_lie()?;
        Ok(elements)
    }
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(dtype) => dtype.fmt(f),
            Self::Coded(codec) => f.write_str(&codec.0.name),
        }
    }
}

impl PartialEq for Codec {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Codec").field(&self.0.name).finish()
    }
}
