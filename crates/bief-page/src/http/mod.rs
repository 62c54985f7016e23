//! HTTP/1.1 for a page: one request for each connection, everything bounded.
//!
//! Not a web server: it answers six targets, takes no body, and keeps no connection open but those that listen to events.

mod reply;
mod request;
mod server;

pub(crate) use reply::Reply;
pub(crate) use request::{Request, Site, Target};
pub(crate) use server::{Server, Service};
