//! A link that can be cut: bytes go through this process, or nowhere.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A place that leads to another one.
pub(crate) struct Relay {
    pub(crate) place: String,
    is_cut: Arc<AtomicBool>,
}

impl Relay {
    pub(crate) fn new(to: &str) -> Self {
        let (listener, is_cut) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::<AtomicBool>::default());
        let (place, to, cut) = (listener.local_addr().unwrap().to_string(), to.to_owned(), Arc::clone(&is_cut));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // Who calls while the link is cut hears nothing.
                let Ok(far) = TcpStream::connect(&to) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let cut = Arc::clone(&cut);
                    thread::spawn(move || pump(from, to, &cut));
                }
            }
        });
        Self { place, is_cut }
    }

    /// As if someone had pulled the plug: nobody is told.
    pub(crate) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
}
