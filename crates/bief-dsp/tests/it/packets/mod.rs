//! Input streams through BBFRAMEs and back, over data fields of any length, lost frames and errors.

mod lost;
mod streams;
mod transport;

use std::collections::BTreeMap;

use bief_dsp::dvbs2::{
    BBHEADER, BbHeader, Delivered, Deslicer, NO_PACKET_STARTS, PACKET, Rejection, RollOff, StreamId,
};

const PACKET_BITS: usize = 8 * PACKET;

/// Packets of pseudo-random content.
fn packets(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let mut stream = vec![0; count * PACKET];
    for packet in stream.chunks_exact_mut(PACKET) {
        for byte in packet.iter_mut() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (state >> 24) as u8;
        }
        packet[0] = 0x47;
        packet[1] &= 0x6F; // no transport error, and no null packet
    }
    stream
}

/// The polynomial division of the standard, bit by bit.
fn crc8(bytes: &[u8]) -> u8 {
    let mut register = 0u8;
    for byte in bytes {
        for bit in (0..8).rev() {
            let feedback = register >> 7 ^ (byte >> bit & 1);
            register <<= 1;
            if feedback == 1 {
                register ^= 0xD5;
            }
        }
    }
    register
}

/// The bits of a stream of packets of so many bytes, one per byte, with each sync byte replaced by the CRC-8 of the packet before.
fn packet_bits(stream: &[u8], length: usize) -> Vec<u8> {
    let mut crc = 0;
    let mut bytes = stream.to_vec();
    for packet in bytes.chunks_exact_mut(length) {
        packet[0] = crc;
        crc = crc8(&packet[1..]);
    }
    bits(&bytes)
}

fn user_packet_bits(stream: &[u8]) -> Vec<u8> {
    packet_bits(stream, PACKET)
}

fn bits(bytes: &[u8]) -> Vec<u8> {
    (0..8 * bytes.len()).map(|i| bytes[i / 8] >> (7 - i % 8) & 1).collect()
}

/// A BBFRAME with the bits `start..start + dfl` of the user packets, padded to `bytes`.
fn bbframe(bits: &[u8], start: usize, dfl: usize, bytes: usize) -> Vec<u8> {
    headed(BbHeader::transport(RollOff::R20, 0), bits, start, dfl, bytes)
}

/// The same with the fields of that header that do not follow from these.
fn headed(header: BbHeader, bits: &[u8], start: usize, dfl: usize, bytes: usize) -> Vec<u8> {
    let until_start = match usize::from(header.upl) {
        0 => 0,
        upl => start.next_multiple_of(upl) - start,
    };
    let syncd = if until_start < dfl { until_start as u16 } else { NO_PACKET_STARTS };
    let mut frame = vec![0; bytes];
    frame[..BBHEADER].copy_from_slice(&BbHeader { dfl: dfl as u16, syncd, ..header }.to_bytes());
    for (i, bit) in bits[start..start + dfl].iter().enumerate() {
        frame[BBHEADER + i / 8] |= bit << (7 - i % 8);
    }
    frame
}

/// Where consecutive data fields of those lengths start, as long as there are bits for them.
fn cut(lengths: &[usize], bits: usize) -> Vec<(usize, usize)> {
    let mut start = 0;
    let mut fields = Vec::new();
    for &dfl in lengths {
        if start + dfl > bits {
            break;
        }
        fields.push((start, dfl));
        start += dfl;
    }
    fields
}

/// A receiver and all that it delivered.
#[derive(Default)]
struct Receiver {
    deslicer: Deslicer,
    /// Bytes of each stream.
    streams: BTreeMap<StreamId, Vec<u8>>,
    packets: usize,
    errors: usize,
    replaced: usize,
    restored: usize,
    gaps: usize,
    stamps: Vec<u32>,
    out: Vec<u8>,
}

impl Receiver {
    fn new() -> Receiver {
        Receiver::default()
    }

    fn push(&mut self, frame: &[u8], sound: bool) -> Option<Rejection> {
        let delivered = self.deslicer.push(frame, sound, &mut self.out);
        self.note(&delivered);
        delivered.rejected
    }

    fn flush(&mut self) {
        while let Some(delivered) = self.deslicer.flush(&mut self.out) {
            self.note(&delivered);
        }
    }

    fn note(&mut self, delivered: &Delivered) {
        if let Some(id) = delivered.stream {
            self.streams.entry(id).or_default().extend_from_slice(&self.out);
        } else {
            assert!(self.out.is_empty());
        }
        self.packets += delivered.packets;
        self.errors += delivered.errors;
        self.replaced += delivered.replaced;
        self.restored += delivered.restored;
        self.gaps += delivered.gaps;
        self.stamps.extend(delivered.last_stamp);
        assert!(delivered.replaced <= delivered.errors && delivered.replaced + delivered.restored <= delivered.packets);
        assert_eq!(delivered.stamps > 0, delivered.last_stamp.is_some());
    }

    /// Bytes of the only stream.
    fn stream(&self) -> &[u8] {
        assert!(self.streams.len() <= 1);
        self.streams.values().next().map_or(&[], |bytes| bytes)
    }
}

/// Marks a packet as wrong.
fn mark(packet: &mut [u8]) {
    packet[1] |= 0x80;
}
