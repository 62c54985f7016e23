//! What came of IP packets: told by the tasks that take them, and read back.

use bief::report::{Figure, Figures, Reading};
use bief_ip::Counts;
use serde::Serialize;

/// What [`DeliverIp`](super::DeliverIp) and [`DeliverTransportIp`](super::DeliverTransportIp) have counted, and what
/// [`ReadBbframes`](super::ReadBbframes) and [`ReadPackets`](super::ReadPackets) have read, of one run.
///
/// | name | unit | labels | what it is |
/// | --- | --- | --- | --- |
/// | `read` | bytes | | count, of the input |
/// | `bbframes` | | | count, of sound BBFRAMEs, of all streams |
/// | `damaged` | | | count, of BBFRAMEs that cannot be read, or places where a transport stream is broken |
/// | `ip_packets` | | `isi`, `pid`, `encapsulation` | count |
/// | `ip_bytes` | bytes | the same | count |
/// | `ip_other`, `ip_crc_errors`, `ip_incomplete`, `ip_malformed`, `ip_unreadable` | | the same | counts, as in [`Counts`] |
///
/// ```
/// use bief_radio::ip::IpFigures;
/// assert!(IpFigures::of(&bief::Figures::default()).streams.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IpFigures {
    /// Bytes of the input read.
    pub bytes: u64,
    /// BBFRAMEs that could be read.
    pub bbframes: u64,
    /// BBFRAMEs that could not be read; of a transport stream, places where it is broken.
    pub damaged: u64,
    /// IP packets of all streams.
    pub packets: u64,
    /// Each stream that carries IP packets, or might.
    pub streams: Vec<IpStream>,
}

/// What came of one stream, or of one PID of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct IpStream {
    /// Input stream identifier, on a carrier of several.
    pub isi: Option<u8>,
    /// The PID, in a transport stream.
    pub pid: Option<u16>,
    /// `GSE`, `GSE-HEM`, `MPE` or `ULE`.
    pub encapsulation: String,
    /// IP packets delivered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whole PDUs that carry something else than IP.
    pub other: u64,
    /// PDUs or sections with a wrong CRC-32.
    pub crc_errors: u64,
    /// PDUs of which something is missing.
    pub incomplete: u64,
    /// Places where a length lies.
    pub malformed: u64,
    /// PDUs that are scrambled, or otherwise not to be read.
    pub unreadable: u64,
}

impl IpStream {
    pub(super) fn new(isi: Option<u8>, pid: Option<u16>, encapsulation: &str, counts: Counts) -> Self {
        let Counts { packets, bytes, other, crc_errors, incomplete, malformed, unreadable } = counts;
        let encapsulation = encapsulation.to_owned();
        Self { isi, pid, encapsulation, packets, bytes, other, crc_errors, incomplete, malformed, unreadable }
    }

    /// PDUs that were not delivered because something was wrong.
    pub fn lost(&self) -> u64 {
        self.crc_errors + self.incomplete + self.malformed
    }

    pub(super) fn tell(&self, figures: &mut Figures) {
        let mut count = |name: &'static str, unit: &'static str, count: u64| {
            let figure = figures.count(name, unit, count).of("encapsulation", &self.encapsulation);
            for (label, number) in [("isi", self.isi.map(u16::from)), ("pid", self.pid)] {
                if let Some(number) = number {
                    figure.of(label, number);
                }
            }
        };
        count("ip_packets", "", self.packets);
        count("ip_bytes", "bytes", self.bytes);
        count("ip_other", "", self.other);
        count("ip_crc_errors", "", self.crc_errors);
        count("ip_incomplete", "", self.incomplete);
        count("ip_malformed", "", self.malformed);
        count("ip_unreadable", "", self.unreadable);
    }

    /// The stream that a figure is of, without counts.
    fn of(figure: &Figure) -> Option<Self> {
        let number = |label| figure.label(label).and_then(|text| text.parse::<u16>().ok());
        let (isi, pid) = (number("isi").and_then(|isi| isi.try_into().ok()), number("pid"));
        Some(Self { isi, pid, encapsulation: figure.label("encapsulation")?.to_owned(), ..Self::default() })
    }

    fn is(&self, other: &Self) -> bool {
        (self.isi, self.pid, &self.encapsulation) == (other.isi, other.pid, &other.encapsulation)
    }
}

impl IpFigures {
    /// What tasks tell among `told`: of [`Report::figures`](bief::Report::figures) or
    /// [`Watch::figures`](bief::pipeline::Watch::figures).
    pub fn of(told: &Figures) -> Self {
        let mut streams: Vec<IpStream> = Vec::new();
        for figure in told.iter() {
            let Reading::Count(count) = figure.reading else { continue };
            let Some(stream) = IpStream::of(figure) else { continue };
            if !streams.iter().any(|known| known.is(&stream)) {
                streams.push(stream.clone());
            }
            let known = streams.iter_mut().find(|known| known.is(&stream)).expect("just added");
            let field = match &*figure.name {
                "ip_packets" => &mut known.packets,
                "ip_bytes" => &mut known.bytes,
                "ip_other" => &mut known.other,
                "ip_crc_errors" => &mut known.crc_errors,
                "ip_incomplete" => &mut known.incomplete,
                "ip_malformed" => &mut known.malformed,
                "ip_unreadable" => &mut known.unreadable,
                _ => continue,
            };
            *field += count;
        }
        Self {
            bytes: told.counted("read"),
            bbframes: told.counted("bbframes"),
            damaged: told.counted("damaged"),
            packets: streams.iter().map(|stream| stream.packets).sum(),
            streams,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_back() {
        let counts =
            |packets| Counts { packets, bytes: 2, other: 3, crc_errors: 4, incomplete: 5, malformed: 6, unreadable: 7 };
        let streams = vec![
            IpStream::new(Some(3), None, "GSE", counts(1)),
            IpStream::new(Some(3), Some(513), "MPE", counts(10)),
            IpStream::new(None, Some(769), "ULE", counts(100)),
        ];
        let mut told = Figures::default();
        streams.iter().for_each(|stream| stream.tell(&mut told));
        let figures = IpFigures::of(&told);
        assert_eq!((figures.packets, figures.streams[0].lost()), (111, 15));
        assert_eq!(figures.streams, streams);
    }
}
