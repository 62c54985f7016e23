//! What a GSE packet or an SNDU carries, by its protocol type: an IP packet, behind any extension headers.

/// The protocol type of IPv4.
pub const IPV4: u16 = 0x0800;
/// That of IPv6.
pub const IPV6: u16 = 0x86DD;
/// Smaller ones are extension headers.
const FIRST_PROTOCOL: u16 = 0x0600;
/// The extension header behind which comes an Ethernet frame.
const BRIDGED: u16 = 0x0001;
/// An Ethernet frame with a VLAN tag.
const VLAN: u16 = 0x8100;
/// Bytes of the two addresses of an Ethernet frame.
const ADDRESSES: usize = 12;

/// Why a PDU gives no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPacket {
    /// It is something else, such as another protocol or an extension header that only its user knows.
    Other,
    /// Its lengths lie: it ends inside a header, or before the IP packet does.
    Malformed,
}

/// The IP packet in a PDU of protocol type `kind`, `bytes` being what follows type and label. Optional extension headers are passed
/// over, and the headers of a bridged Ethernet frame; bytes behind the IP packet are left out.
///
/// # Errors
/// Another protocol, a mandatory extension header but that of a bridged frame; a length that lies.
///
/// # Source
/// RFC 4326, clause 5 (extension headers, the same in ULE and GSE).
///
/// ```
/// use bief_ip::pdu::{NoPacket, ip_packet};
/// let mut packet = [0; 20];
/// (packet[0], packet[3]) = (0x45, 20);
/// assert_eq!(ip_packet(0x0800, &packet), Ok(&packet[..]));
/// let extended = [&[1, 2, 0x08, 0x00][..], &packet].concat(); // an optional header of 4 bytes
/// assert_eq!(ip_packet(0x0201, &extended), Ok(&packet[..]));
/// assert_eq!(ip_packet(0x0806, &packet), Err(NoPacket::Other)); // ARP
/// ```
pub fn ip_packet(mut kind: u16, mut bytes: &[u8]) -> Result<&[u8], NoPacket> {
    loop {
        let header = match kind {
            IPV4 | IPV6 => return whole(kind, bytes),
            VLAN => 2,
            BRIDGED => ADDRESSES,
            // H-LEN, in pairs of bytes, with the type that comes next.
            0x0100..FIRST_PROTOCOL => 2 * usize::from(kind >> 8) - 2,
            _ => return Err(NoPacket::Other),
        };
        let next = bytes.get(header..header + 2).ok_or(NoPacket::Malformed)?;
        kind = u16::from_be_bytes([next[0], next[1]]);
        bytes = &bytes[header + 2..];
    }
}

/// The protocol type of an IP packet that is whole, or has bytes behind it.
pub fn protocol(packet: &[u8]) -> Option<u16> {
    match packet.first()? >> 4 {
        4 => Some(IPV4),
        6 => Some(IPV6),
        _ => None,
    }
}

/// The packet as long as its header says.
fn whole(kind: u16, bytes: &[u8]) -> Result<&[u8], NoPacket> {
    if protocol(bytes) != Some(kind) {
        return Err(NoPacket::Malformed);
    }
    let word = |at: usize| bytes.get(at..at + 2).map(|word| usize::from(u16::from_be_bytes([word[0], word[1]])));
    let (shortest, long) = match kind {
        IPV4 => (20, word(2)),
        _ => (40, word(4).map(|payload| 40 + payload)),
    };
    long.filter(|&long| long >= shortest).and_then(|long| bytes.get(..long)).ok_or(NoPacket::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6(payload: u8, len: usize) -> Vec<u8> {
        let mut packet = vec![0; len];
        (packet[0], packet[5]) = (0x60, payload);
        packet
    }

    #[test]
    fn headers_before_the_packet_are_passed_over() {
        let packet = v6(3, 43);
        let behind = |front: &[u8]| [front, &packet].concat();
        for (kind, front) in [
            (IPV6, vec![]),
            (0x0100, vec![0x86, 0xDD]),
            (0x05FF, [&[9; 8][..], &[0x86, 0xDD]].concat()),
            (0x0301, vec![1, 2, 3, 4, 0x02, 0x07, 5, 6, 0x86, 0xDD]),
            (BRIDGED, [&[7; 12][..], &[0x86, 0xDD]].concat()),
            (0x0200, [&[1, 2, 0, 1][..], &[7; 12], &[0x81, 0, 0, 5, 0x86, 0xDD]].concat()),
        ] {
            assert_eq!(ip_packet(kind, &behind(&front)), Ok(&packet[..]), "{kind:#06x}");
            let padded = [behind(&front), vec![0; 9]].concat();
            assert_eq!(ip_packet(kind, &padded), Ok(&packet[..]), "{kind:#06x}");
            for cut in 0..front.len() + packet.len() {
                assert_eq!(ip_packet(kind, &behind(&front)[..cut]), Err(NoPacket::Malformed), "{kind:#06x} {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_packet_is_told() {
        for (kind, expected) in [
            (0x0000, NoPacket::Other),
            (0x0003, NoPacket::Other),
            (0x0806, NoPacket::Other),
            (IPV4, NoPacket::Malformed),
        ] {
            assert_eq!(ip_packet(kind, &v6(0, 40)), Err(expected), "{kind:#06x}");
        }
        let mut short = [0; 20];
        (short[0], short[3]) = (0x45, 19);
        assert_eq!(ip_packet(IPV4, &short), Err(NoPacket::Malformed));
        assert_eq!(
            (ip_packet(IPV4, &[]), ip_packet(IPV6, &v6(1, 40))),
            (Err(NoPacket::Malformed), Err(NoPacket::Malformed))
        );
    }
}
