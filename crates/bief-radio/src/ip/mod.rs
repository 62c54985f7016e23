//! IP packets from a satellite: the tasks that read BBFRAMEs and transport streams that come without a radio, and those that take
//! IP packets out of them. What packets, sections and pieces are is in [`bief_ip`].

mod deliver;
mod figures;
mod kinds;
mod output;
mod read;
mod receiver;

pub use deliver::{DeliverIp, DeliverTransportIp};
pub use figures::{IpFigures, IpStream};
pub use output::{IpOutput, TunOpener};
pub use read::{ReadBbframes, ReadPackets};
pub use receiver::{IpInput, IpReceiver, IpSettings};

pub(crate) use kinds::kinds;
