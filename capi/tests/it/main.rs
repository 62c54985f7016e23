//! The header as it is made from the code, and programs of C and C++ that use the library as anybody would.

mod book;
mod header;
mod programs;
