//! Pages as browsers, collectors and attackers meet them.

mod attacks;
mod client;
mod page;
