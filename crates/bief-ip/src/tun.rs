//! A TUN device: IP packets that are written to it come to this machine's network as if a wire had brought them.

use std::fs::File;
use std::io::{self, Write};

/// A TUN device that packets are written to, each by one call. Linux has them.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Looks whether a device can have this name: 1 to 15 bytes, without `/`, `%` and spaces.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check_name(name: &str) -> io::Result<()> {
        let is_good = (1..16).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_graphic() && !b"/%:".contains(&byte))
            && !matches!(name, "." | "..");
        let told = "no name of a network device: give 1 to 15 letters or digits, as in tun:sat0";
        if is_good { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is {told}"))) }
    }

    /// Opens the device of that name, or makes it until this is dropped, and takes it into operation.
    ///
    /// # Errors
    /// A name that no device has; no right to do so; a system without TUN devices.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::check_name(name)?;
        let named = |error: io::Error| {
            let remedy = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    format!(": run as root, or make it yours by `sudo ip tuntap add mode tun user $USER name {name}`")
                }
                io::ErrorKind::NotFound => ": this system has no /dev/net/tun".to_owned(),
                _ => String::new(),
            };
            io::Error::new(error.kind(), format!("tun:{name}: {error}{remedy}"))
        };
        let file = system::open(name).map_err(named)?;
        Ok(Self { file, name: name.to_owned() })
    }
}

/// Each call is a packet, and needs no flush.
impl Write for Tun {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        self.file.write(packet).map_err(|error| {
            let is_down = error.raw_os_error() == Some(5);
            let remedy =
                if is_down { format!(": is it up? `sudo ip link set {} up`", self.name) } else { String::new() };
            io::Error::new(error.kind(), format!("device {}: {error}{remedy}", self.name))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod system {
    use std::fs::File;
    use std::io;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    /// A request by a device's name.
    fn request(name: &str) -> libc::ifreq {
        // SAFETY: all bytes 0 are a valid `ifreq`: numbers, and a union of them.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The name was checked: 15 bytes at most, and a 0 behind them.
        request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte as libc::c_char);
        request
    }

    fn outcome(status: libc::c_int) -> io::Result<()> {
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(super) fn open(name: &str) -> io::Result<File> {
        let file = File::options().read(true).write(true).open("/dev/net/tun")?;
        let mut device = request(name);
        device.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the descriptor is open, and this request reads and writes an `ifreq`, which lives until the call returns.
        outcome(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut device) })?;
        // Where it is not up, and may not be taken up, writing says so.
        let _ = take_up(name);
        Ok(file)
    }

    fn take_up(name: &str) -> io::Result<()> {
        // Any socket will do.
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        let mut device = request(name);
        // SAFETY: as above; this request fills in the flags.
        outcome(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut device) })?;
        // SAFETY: the call before filled in this member of the union.
        let flags = unsafe { device.ifr_ifru.ifru_flags };
        device.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
        // SAFETY: as above; this request reads them.
        outcome(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const device) })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io;

    pub(super) fn open(_: &str) -> io::Result<File> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "TUN devices are opened on Linux alone: write a pcap file"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_devices_are_opened() {
        for name in ["", "a/b", "0123456789abcdef", "x%d", "..", "a b", "é"] {
            let told = Tun::open(name).unwrap_err().to_string();
            assert!(told.contains("1 to 15 letters or digits"), "{told}");
        }
    }
}
