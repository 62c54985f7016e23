//! Structs that begin with their size, so that programs and libraries of different versions understand each other.

use std::ffi::c_void;

use crate::fault::{Fault, Result};

/// A struct whose first field is its size in bytes, as the program was compiled with it.
///
/// # Safety
/// It is `repr(C)`, begins with that `usize`, and zeros in all other fields are a value of it: that of fields that older programs
/// do not have.
pub(crate) unsafe trait Versioned: Copy {
    /// What the header calls it.
    const NAME: &'static str;
}

/// Reads such a struct, with zeros where the program's is shorter.
///
/// # Safety
/// `given` is null, or points at as many readable bytes as its first field says.
pub(crate) unsafe fn read<T: Versioned>(given: *const T) -> Result<T> {
    if given.is_null() {
        return Err(Fault::argument(format!("no {}: the pointer is NULL", T::NAME)));
    }
    // SAFETY: the caller promises at least the size.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    let known = size_of::<T>();
    if size <= size_of::<usize>() {
        return Err(Fault::argument(format!(
            "{}.size is {size}: set it to sizeof({}), which is {known} here",
            T::NAME,
            T::NAME
        )));
    }
    if size > known {
        // SAFETY: the caller promises so many bytes.
        let rest = unsafe { std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known) };
        if rest.iter().any(|&byte| byte != 0) {
            return Err(Fault::argument(format!(
                "{} has {size} bytes, and this library knows {known}: install a newer libbief, or leave the newer fields 0",
                T::NAME
            )));
        }
    }
    // SAFETY: zeros are a value of this type, as it promises; what is copied are fields of it.
    unsafe {
        let mut value = std::mem::zeroed::<T>();
        std::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut value).cast::<u8>(), size.min(known));
        Ok(value)
    }
}

/// Writes such a struct as far as the program's reaches; its size stays.
///
/// # Safety
/// `to` points at as many writable bytes as its first field says.
pub(crate) unsafe fn write<T: Versioned>(to: *mut T, value: &T) -> Result<()> {
    if to.is_null() {
        return Err(Fault::argument(format!("no {}: the pointer is NULL", T::NAME)));
    }
    let head = size_of::<usize>();
    // SAFETY: the caller promises at least the size.
    let size = unsafe { to.cast::<usize>().read_unaligned() };
    if size <= head {
        return Err(Fault::argument(format!("{}.size is {size}: set it to sizeof({})", T::NAME, T::NAME)));
    }
    let from = std::ptr::from_ref(value).cast::<c_void>();
    // SAFETY: both sides have so many bytes.
    unsafe {
        let count = size.min(size_of::<T>()) - head;
        std::ptr::copy_nonoverlapping(from.byte_add(head).cast::<u8>(), to.cast::<u8>().add(head), count);
    }
    Ok(())
}
