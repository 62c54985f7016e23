//! Elements that mean the same in another process, on another machine or in another language: [`Portable`] types and what
//! describes them at run time, [`Dtype`].

use std::any::{TypeId, type_name};
use std::fmt;
use std::str::FromStr;
use std::sync::{OnceLock, PoisonError, RwLock};

use bytemuck::Pod;
use num_complex::Complex;

use crate::error::{Error, Result};
use crate::frame::{Element, Format};

/// An element type that can leave the process, or the language: plain bytes without padding, of which any are a value, and which
/// a [`Dtype`] describes. Numbers, complex numbers, arrays of them, and structs of those by [`portable!`](crate::portable).
///
/// `bool` and enums are none, since most of their bytes are no value: send a `u8`.
pub trait Portable: Element + Pod {
    /// What describes it.
    fn dtype() -> Dtype;
}

/// The type of a portable element: a number, a complex number, an array or a struct. It is printed and parsed as text:
/// `f32`, `complex<f32>`, `[u8; 16]`, `{start: f64, symbols: u64}`.
///
/// Sizes and alignments are those of this machine; nothing has padding, so a struct's fields lie one after the other.
///
/// ```
/// use bief::raw::Dtype;
///
/// let dtype: Dtype = "{start: f64, place: [u32; 2]}".parse()?;
/// assert_eq!((dtype.size(), dtype.align()), (16, 8));
/// assert_eq!(dtype.to_string(), "{start: f64, place: [u32; 2]}");
/// # Ok::<(), bief::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the numbers are what they are called")]
pub enum Dtype {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    /// Real part, then imaginary part.
    ComplexF32,
    /// Real part, then imaginary part.
    ComplexF64,
    /// Elements one after the other; made by [`Dtype::array`].
    #[non_exhaustive]
    Array {
        /// What each is.
        element: Box<Dtype>,
        /// How many there are.
        count: usize,
    },
    /// Fields one after the other; made by [`Dtype::structure`].
    #[non_exhaustive]
    Struct {
        /// In the order of their offsets.
        fields: Vec<Field>,
    },
}

/// A field of a [`Dtype::Struct`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Field {
    /// What it is called.
    pub name: String,
    /// Where it begins, in bytes from the start of the struct.
    pub offset: usize,
    /// What it is.
    pub dtype: Dtype,
}

/// The numbers, by their names.
const NUMBERS: [(&str, Dtype); 12] = [
    ("u8", Dtype::U8),
    ("i8", Dtype::I8),
    ("u16", Dtype::U16),
    ("i16", Dtype::I16),
    ("u32", Dtype::U32),
    ("i32", Dtype::I32),
    ("u64", Dtype::U64),
    ("i64", Dtype::I64),
    ("f32", Dtype::F32),
    ("f64", Dtype::F64),
    ("complex<f32>", Dtype::ComplexF32),
    ("complex<f64>", Dtype::ComplexF64),
];

impl Dtype {
    /// An array of elements of one type.
    ///
    /// # Errors
    /// More than an address can tell.
    pub fn array(element: Self, count: usize) -> Result<Self> {
        match element.size().checked_mul(count).filter(|&size| isize::try_from(size).is_ok()) {
            Some(_) => Ok(Self::Array { element: Box::new(element), count }),
            None => {
                Err(Error::build(format!("{count} of {element} are more than memory can hold: use a smaller array")))
            }
        }
    }

    /// A struct of named fields, in order.
    ///
    /// # Errors
    /// No fields, a name that is no identifier or is there twice, a field that would not lie where the one before ends, as `u32`
    /// after `u8`.
    pub fn structure<N: Into<String>>(fields: impl IntoIterator<Item = (N, Self)>) -> Result<Self> {
        let mut placed = Vec::<Field>::new();
        let (mut offset, mut align) = (0_usize, 1);
        for (name, dtype) in fields {
            let name = name.into();
            let is_identifier = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_identifier {
                return Err(Error::build(format!("`{name}` is no name of a field: use letters, digits and `_`")));
            }
            if placed.iter().any(|other| other.name == name) {
                return Err(Error::build(format!("two fields are called `{name}`: give each a name of its own")));
            }
            if !offset.is_multiple_of(dtype.align()) {
                return Err(Error::build(format!(
                    "field `{name}` of {dtype} would leave a gap before it, {offset} bytes from the start: put larger fields first, \
                     or fill the gap with a field"
                )));
            }
            align = align.max(dtype.align());
            let end = offset.checked_add(dtype.size()).filter(|&end| isize::try_from(end).is_ok());
            let end = end.ok_or_else(|| Error::build("the struct is more than memory can hold: use smaller arrays"))?;
            placed.push(Field { name, offset, dtype });
            offset = end;
        }
        if placed.is_empty() {
            return Err(Error::build("a struct without fields carries nothing: give it at least one"));
        }
        if !offset.is_multiple_of(align) {
            return Err(Error::build(format!(
                "the struct has {offset} bytes, and would have a gap at its end, since it begins at multiples of {align}: fill it with a \
                 field"
            )));
        }
        Ok(Self::Struct { fields: placed })
    }

    /// The struct found by [`portable!`](crate::portable): name, offset and kind of all fields of a type without
    /// padding.
    #[doc(hidden)]
    pub fn of_fields(fields: impl IntoIterator<Item = (&'static str, usize, Self)>) -> Self {
        let field = |(name, offset, dtype): (&str, usize, Self)| Field {
            name: name.trim_start_matches("r#").to_owned(),
            offset,
            dtype,
        };
        let mut fields: Vec<Field> = fields.into_iter().map(field).collect();
        fields.sort_by_key(|field| field.offset);
        Self::Struct { fields }
    }

    /// Bytes of one element.
    pub fn size(&self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::ComplexF32 => 8,
            Self::ComplexF64 => 16,
            Self::Array { element, count } => element.size() * count,
            Self::Struct { fields } => fields.iter().map(|field| field.dtype.size()).sum(),
        }
    }

    /// The alignment of an element, in bytes.
    pub fn align(&self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => align_of::<u16>(),
            Self::U32 | Self::I32 => align_of::<u32>(),
            Self::F32 | Self::ComplexF32 => align_of::<f32>(),
            Self::U64 | Self::I64 => align_of::<u64>(),
            Self::F64 | Self::ComplexF64 => align_of::<f64>(),
            Self::Array { element, .. } => element.align(),
            Self::Struct { fields } => fields.iter().map(|field| field.dtype.align()).max().unwrap_or(1),
        }
    }

    /// Registers this type for the whole process, so that wires know their elements
    /// ([`DynWire::dtype`](crate::raw::DynWire::dtype)). Numbers and complex numbers need no registration; others do, since
    /// a wire may carry any type. Registering a type again has no effect.
    ///
    /// ```
    /// use bief::raw::{Dtype, DynWire};
    /// use bief::{Chain, source};
    ///
    /// Dtype::register::<[f32; 3]>()?;
    /// let mut chain = Chain::new();
    /// let places = chain.add(source::from_slice(&[[0.0_f32; 3]; 8], 4), ());
    /// assert_eq!(DynWire::from(&places).dtype().expect("it is known").to_string(), "[f32; 3]");
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A type that is not as large, or not aligned as its [`dtype`](Portable::dtype) says; one made by
    /// [`portable!`](crate::portable) always is.
    pub fn register<T: Portable>() -> Result<()> {
        let dtype = T::dtype();
        if (dtype.size(), dtype.align()) != (size_of::<T>(), align_of::<T>()) {
            return Err(Error::build(format!(
                "{} has {} bytes at multiples of {}, but is said to be {dtype}: let `portable!` say it",
                type_name::<T>(),
                size_of::<T>(),
                align_of::<T>()
            )));
        }
        let mut known = known().write().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|(format, _)| format.id == TypeId::of::<T>()) {
            known.push((Format::of::<T>(), dtype));
        }
        Ok(())
    }

    /// What elements of this type are, if that is known. Such a type is [`Portable`].
    pub(crate) fn known(id: TypeId) -> Option<Self> {
        let known = known().read().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(format, _)| format.id == id).map(|(_, dtype)| dtype.clone())
    }

    /// The type whose elements are such.
    pub(crate) fn format(&self) -> Result<Format> {
        let known = known().read().unwrap_or_else(PoisonError::into_inner);
        let format = known.iter().find(|(_, dtype)| dtype == self).map(|(format, _)| *format);
        format.ok_or_else(|| {
            Error::build(format!(
                "no type is known that is {self}: call `Dtype::register` with the type that is, first"
            ))
        })
    }
}

/// Types that were registered, and what they are.
fn known() -> &'static RwLock<Vec<(Format, Dtype)>> {
    static KNOWN: OnceLock<RwLock<Vec<(Format, Dtype)>>> = OnceLock::new();
    fn entry<T: Portable>() -> (Format, Dtype) {
        (Format::of::<T>(), T::dtype())
    }
    KNOWN.get_or_init(|| {
        RwLock::new(vec![
            entry::<u8>(),
            entry::<i8>(),
            entry::<u16>(),
            entry::<i16>(),
            entry::<u32>(),
            entry::<i32>(),
            entry::<u64>(),
            entry::<i64>(),
            entry::<f32>(),
            entry::<f64>(),
            entry::<Complex<f32>>(),
            entry::<Complex<f64>>(),
        ])
    })
}

macro_rules! numbers {
    ($($Number:ty => $dtype:ident),+) => {$(
        impl Portable for $Number {
            fn dtype() -> Dtype {
                Dtype::$dtype
            }
        }
    )+};
}

numbers!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64, f32 => F32, f64 => F64);
numbers!(Complex<f32> => ComplexF32, Complex<f64> => ComplexF64);

impl<T: Portable, const N: usize> Portable for [T; N]
where
    Self: Element,
{
    fn dtype() -> Dtype {
        Dtype::Array { element: Box::new(T::dtype()), count: N }
    }
}

/// Makes a plain struct [`Portable`](crate::raw::Portable), by its fields: all of them, of any visibility, in any order.
///
/// The struct is `#[repr(C)]`, has no padding and no other alignment than its fields, and is `Pod` of the crate `bytemuck`, which
/// derives that. A field that is left out, of another type, or that leaves a gap does not compile.
///
/// ```
/// use bief::raw::{Dtype, Portable};
/// use bief::portable;
///
/// #[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Pulse {
///     start: f64,
///     place: [f32; 3],
///     channel: u32,
/// }
///
/// portable!(Pulse { start: f64, place: [f32; 3], channel: u32 });
/// assert_eq!(Pulse::dtype().to_string(), "{start: f64, place: [f32; 3], channel: u32}");
/// assert_eq!(Pulse::dtype().size(), 24);
/// Dtype::register::<Pulse>()?; // wires of pulses know it from here on
/// # Ok::<(), bief::Error>(())
/// ```
///
/// ```compile_fail,E0027
/// # use bief::portable;
/// # #[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
/// # #[repr(C)]
/// # struct Pulse { start: f32, channel: u32 }
/// portable!(Pulse { start: f32 }); // the channel is missing
/// ```
#[macro_export]
macro_rules! portable {
    ($Type:ident { $($field:ident: $Field:ty),+ $(,)? }) => {
        const _: () = {
            #[allow(dead_code, reason = "only its types count: all fields, and these")]
            fn fields($Type { $($field),+ }: $Type) -> ($($Field,)+) {
                ($($field,)+)
            }
            let sizes = 0 $(+ ::std::mem::size_of::<$Field>())+;
            assert!(sizes == ::std::mem::size_of::<$Type>(), "a portable struct has no padding");
            let mut align = 1;
            $(if ::std::mem::align_of::<$Field>() > align {
                align = ::std::mem::align_of::<$Field>();
            })+
            assert!(align == ::std::mem::align_of::<$Type>(), "a portable struct is aligned as its fields are");
        };
        impl $crate::raw::Portable for $Type {
            fn dtype() -> $crate::raw::Dtype {
                $crate::raw::Dtype::of_fields([$((
                    ::std::stringify!($field),
                    ::std::mem::offset_of!($Type, $field),
                    <$Field as $crate::raw::Portable>::dtype(),
                )),+])
            }
        }
    };
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array { element, count } => write!(f, "[{element}; {count}]"),
            Self::Struct { fields } => {
                f.write_str("{")?;
                for (index, field) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", field.name, field.dtype)?;
                }
                f.write_str("}")
            }
            number => f.write_str(NUMBERS.iter().find(|(_, dtype)| dtype == number).map_or("", |(name, _)| name)),
        }
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { rest: text };
        let dtype = parser.dtype(0).and_then(|dtype| match parser.rest.trim_start() {
            "" => Ok(dtype),
            rest => Err(Error::build(format!("nothing is expected at `{}`", shortened(rest)))),
        });
        dtype.map_err(|error| Error::build(format!("`{}` is no kind of element: {}", shortened(text), error.message())))
    }
}

/// What is left of a text that is being read.
struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn dtype(&mut self, depth: usize) -> Result<Dtype> {
        const DEEPEST: usize = 32;
        if depth > DEEPEST {
            return Err(Error::build(format!("it is more than {DEEPEST} levels deep")));
        }
        if self.takes('[') {
            let element = self.dtype(depth + 1)?;
            self.expects(';')?;
            let digits = self.word();
            let count = digits.parse();
            let count = count.map_err(|_| Error::build(format!("`{}` is no number of elements", shortened(digits))))?;
            self.expects(']')?;
            return Dtype::array(element, count);
        }
        if self.takes('{') {
            let mut fields = Vec::new();
            while !self.takes('}') {
                if !fields.is_empty() {
                    self.expects(',')?;
                    if self.takes('}') {
                        break;
                    }
                }
                let name = self.word();
                self.expects(':')?;
                fields.push((name, self.dtype(depth + 1)?));
            }
            return Dtype::structure(fields);
        }
        let mut name = self.word().to_owned();
        if name == "complex" {
            self.expects('<')?;
            name = format!("complex<{}>", self.word());
            self.expects('>')?;
        }
        let number = NUMBERS.iter().find(|(known, _)| *known == name).map(|(_, dtype)| dtype.clone());
        number.ok_or_else(|| {
            let name = if name.is_empty() { self.rest } else { &name };
            let known = NUMBERS.map(|(known, _)| known).join(", ");
            Error::build(format!("`{}` is none of {known}, [KIND; COUNT] and {{FIELD: KIND, …}}", shortened(name)))
        })
    }

    fn takes(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expects(&mut self, wanted: char) -> Result<()> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(Error::build(format!("`{wanted}` is missing at `{}`", shortened(self.rest))))
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest.trim_start();
        let (word, rest) = rest.split_at(rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len()));
        self.rest = rest;
        word
    }
}

/// The text, or its beginning if it is long.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        for text in
            ["u8", "i64", "complex<f32>", "[u8; 188]", "[[complex<f64>; 2]; 0]", "{a: f64, b: [u8; 4], _c: {d: u32}}"]
        {
            let dtype: Dtype = text.parse().unwrap();
            assert_eq!(dtype.to_string(), text);
        }
        for (text, dtype) in
            [(" { a :u32 ,b: complex < f32 >, } ", "{a: u32, b: complex<f32>}"), (" [ u8;3 ] ", "[u8; 3]")]
        {
            assert_eq!(text.parse::<Dtype>().unwrap().to_string(), dtype);
        }
    }

    #[test]
    fn what_is_no_kind_of_element_is_refused() {
        let deep = format!("{}u8{}", "[".repeat(100), "; 1]".repeat(100));
        for (text, reason) in [
            ("f16", "`f16` is none of u8, i8"),
            ("", "`` is none of"),
            ("complex<u8>", "`complex<u8>` is none of"),
            ("[u8; x]", "`x` is no number of elements"),
            ("[u8; 99999999999999999999]", "is no number of elements"),
            ("[u64; 9223372036854775807]", "more than memory can hold"),
            ("[u8 3]", "`;` is missing at ` 3]`"),
            ("{}", "without fields"),
            ("{a: u8, a: u8}", "two fields are called `a`"),
            ("{1a: u8}", "`1a` is no name of a field"),
            ("{a: u8, b: u32}", "field `b` of u32 would leave a gap before it, 1 bytes"),
            ("{a: u32, b: u8}", "a gap at its end"),
            ("u8 u8", "nothing is expected at `u8`"),
            (&deep, "levels deep"),
        ] {
            let error = text.parse::<Dtype>().unwrap_err();
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_and_alignments_are_those_of_the_types() {
        fn same<T: Portable>() {
            let dtype = T::dtype();
            assert_eq!((dtype.size(), dtype.align()), (size_of::<T>(), align_of::<T>()), "{dtype}");
            assert_eq!(dtype.to_string().parse::<Dtype>().unwrap(), dtype);
        }
        same::<u8>();
        same::<i16>();
        same::<u32>();
        same::<i64>();
        same::<f32>();
        same::<f64>();
        same::<Complex<f32>>();
        same::<Complex<f64>>();
        same::<[[u16; 3]; 5]>();
        same::<[Complex<f32>; 0]>();
        assert_eq!(Dtype::known(TypeId::of::<Complex<f32>>()), Some(Dtype::ComplexF32));
        assert_eq!(Dtype::known(TypeId::of::<bool>()), None);
        assert_eq!(Dtype::F64.format().unwrap().id, TypeId::of::<f64>());
    }

    #[test]
    fn a_type_that_is_not_what_it_says_is_not_registered() {
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        struct Liar(u64);
        // SAFETY: it is a number.
        unsafe impl bytemuck::Zeroable for Liar {}
        // SAFETY: it is a number.
        unsafe impl Pod for Liar {}
        impl Portable for Liar {
            fn dtype() -> Dtype {
                Dtype::U32
            }
        }
        let error = Dtype::register::<Liar>().unwrap_err();
        assert!(error.to_string().contains("has 8 bytes at multiples of"), "{error}");
        assert_eq!(Dtype::known(TypeId::of::<Liar>()), None);
    }
}
