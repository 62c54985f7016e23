//! IP packets out of what comes without a radio: what is planned, and run.

use std::io::{Cursor, Read};
use std::sync::Arc;

use bief::{Application, Chain, Error, Program, Result};
use bief_dsp::dvbs2::PACKET;
use bief_ip::bbframes::{Layout, PacketReader};

use super::deliver::{DeliverIp, DeliverTransportIp};
use super::output::IpOutput;
use super::read::{ReadBbframes, ReadPackets};

/// Bytes by which an input is told, and that rehearsals repeat.
const FRONT: u64 = 32 << 10;
/// Those with which the first look is taken.
const FIRST_FRONT: u64 = 4 << 10;

/// What to take. The default is everything.
///
/// ```
/// use bief_radio::ip::IpSettings;
/// let settings = IpSettings { isi: Some(3), ..IpSettings::default() };
/// assert_eq!(settings.pid, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IpSettings {
    /// The input stream to take, of a carrier of several.
    pub isi: Option<u8>,
    /// The PID to take, of a transport stream.
    pub pid: Option<u16>,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpInput {
    /// BBFRAMEs that lie so.
    Bbframes(Layout),
    /// Packets of 188 bytes.
    Transport,
}

/// BBFRAMEs or a transport stream, and where their IP packets go. An [`Application`], so that a [`Planner`](bief::Planner) plans it.
///
/// ```
/// use bief::Application;
/// use bief_radio::ip::{IpFigures, IpInput, IpOutput, IpReceiver, IpSettings};
/// let null = [&[0x47, 0x1F, 0xFF, 0x10][..], &[0xFF; 184]].concat();
/// let receiver = IpReceiver::find(std::io::Cursor::new(null.repeat(10)), IpSettings::default())?;
/// assert_eq!(receiver.input(), IpInput::Transport);
/// let report = receiver.to(IpOutput::pcap(std::io::sink())).program()?.run()?;
/// assert_eq!(IpFigures::of(&report.figures).bytes, 1880);
/// # Ok::<(), bief::Error>(())
/// ```
pub struct IpReceiver {
    input: IpInput,
    settings: IpSettings,
    front: Arc<[u8]>,
    /// What follows the front, until it runs.
    rest: Option<Box<dyn Read + Send>>,
    output: Option<IpOutput>,
}

impl IpReceiver {
    /// Tells what an input is by its front.
    ///
    /// # Errors
    /// A reader that fails; an input that is neither; settings that do not fit it.
    pub fn find(reader: impl Read + Send + 'static, settings: IpSettings) -> Result<Self> {
        let mut rest: Box<dyn Read + Send> = Box::new(reader);
        let (mut front, mut wanted) = (Vec::new(), FIRST_FRONT);
        // What comes slowly is looked at as it comes.
        let found = loop {
            let more = wanted - front.len() as u64;
            let got = (&mut rest).take(more).read_to_end(&mut front).map_err(Error::from_source)? as u64;
            let is_all = got < more || wanted >= FRONT;
            if PacketReader::<Cursor<Vec<u8>>>::find(&front).is_some() {
                break Some(IpInput::Transport);
            }
            let layout = if is_all { Layout::find(&front) } else { Layout::find_surely(&front) };
            match layout {
                Some(layout) => break Some(IpInput::Bbframes(layout)),
                None if is_all => break None,
                None => wanted *= 2,
            }
        };
        let input = match found {
            _ if front.is_empty() => return Err(Error::new("is empty: there is nothing to take")),
            Some(input) => input,
            None => {
                let told =
                    "neither BBFRAMEs nor a transport stream: samples of a signal are received by `bief rx --ip`";
                return Err(Error::new(told));
            }
        };
        if input == IpInput::Transport && settings.isi.is_some() {
            return Err(Error::new("a transport stream has no input streams: leave out --isi, or give --pid"));
        }
        Ok(Self { input, settings, front: front.into(), rest: Some(rest), output: None })
    }

    /// What the input is.
    pub fn input(&self) -> IpInput {
        self.input
    }

    /// Writes the packets there.
    #[must_use]
    pub fn to(self, output: IpOutput) -> Self {
        Self { output: Some(output), ..self }
    }

    fn chain(&self, reader: impl Read + Send + 'static, frames: u64, output: IpOutput) -> Result<Program> {
        let IpSettings { isi, pid } = self.settings;
        let mut chain = Chain::new();
        match self.input {
            IpInput::Bbframes(layout) => {
                let (frames, decoding) = chain.add(ReadBbframes::new(reader, Some(layout))?.limited(frames), ());
                let deliver = isi.into_iter().fold(DeliverIp::new(output), DeliverIp::of_stream);
                chain.add(pid.into_iter().fold(deliver, DeliverIp::of_pid), (&frames, &decoding));
            }
            IpInput::Transport => {
                let packets = chain.add(ReadPackets::new(reader)?.limited(frames), ());
                let deliver = DeliverTransportIp::new(output);
                chain.add(pid.into_iter().fold(deliver, DeliverTransportIp::of_pid), &packets);
            }
        }
        chain.build()
    }
}

/// The real run takes the whole input. A rehearsal takes its front, over and over, and writes nothing.
impl Application for IpReceiver {
    fn program(&mut self) -> Result<Program> {
        let missing = || Error::new("there is no output, or the input was taken: name an output with `to`");
        let output = self.output.take().ok_or_else(missing)?;
        let rest = self.rest.take().ok_or_else(missing)?;
        self.chain(Cursor::new(Arc::clone(&self.front)).chain(rest), u64::MAX, output)
    }

    fn rehearsal(&self, frames: u64) -> Result<Program> {
        let unit = match self.input {
            IpInput::Bbframes(Layout { size, .. }) => size.unwrap_or(1),
            IpInput::Transport => PACKET,
        };
        let whole = (self.front.len() / unit).max(1) * unit;
        let end = whole.min(self.front.len());
        let repeat = Repeat { bytes: Arc::clone(&self.front), end, at: 0 };
        self.chain(repeat, frames, IpOutput::pcap(std::io::sink()))
    }
}

/// The front of an input, over and over.
struct Repeat {
    bytes: Arc<[u8]>,
    end: usize,
    at: usize,
}

impl Read for Repeat {
    fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        let read = (&self.bytes[self.at..self.end]).read(space)?;
        self.at = (self.at + read) % self.end;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bief_dsp::dvbs2::{BbHeader, RollOff};

    /// Fails behind its bytes, as if nothing came for long.
    fn slow(bytes: Vec<u8>) -> impl Read + Send + 'static {
        struct Never;
        impl Read for Never {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("nothing comes"))
            }
        }
        Cursor::new(bytes).chain(Never)
    }

    #[test]
    fn what_comes_slowly_is_told_by_its_first_bytes() {
        let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
        let found = |bytes| IpReceiver::find(slow(bytes), IpSettings::default()).map(|receiver| receiver.input());
        assert_eq!(found(packet.repeat(22)).unwrap(), IpInput::Transport);
        let frame = |bytes: u16| {
            [&BbHeader::transport(RollOff::R20, 8 * bytes).to_bytes()[..], &vec![0; bytes.into()]].concat()
        };
        let unlike = [frame(374), frame(300)].concat();
        assert!(matches!(found(unlike.repeat(6)).unwrap(), IpInput::Bbframes(_)));
        // Frames of one length may be padded or not: later ones tell.
        assert!(found(frame(374).repeat(12)).unwrap_err().to_string().contains("nothing comes"));
        assert!(found(frame(374).repeat(2)).unwrap_err().to_string().contains("nothing comes"));
        let mut receiver = IpReceiver::find(slow(packet.repeat(22)), IpSettings::default()).unwrap();
        receiver = receiver.to(IpOutput::pcap(std::io::sink()));
        receiver.program().expect("it is built of what has come");
    }
}
