//! What a summary tells of IP packets.

use bief_radio::ip::{IpFigures, IpStream};

/// A row of a summary.
type Row = (&'static str, String);

/// Each stream: what it is, and what came of it.
pub(crate) fn rows(figures: &IpFigures) -> Vec<Row> {
    figures.streams.iter().flat_map(of_stream).collect()
}

fn of_stream(stream: &IpStream) -> Vec<Row> {
    let IpStream { packets, bytes, .. } = stream;
    let mut name = stream.encapsulation.clone();
    for (label, number) in [("ISI", stream.isi.map(u16::from)), ("PID", stream.pid)] {
        if let Some(number) = number {
            name += &format!(", {label} {number}");
        }
    }
    let mut rows = vec![("IP packets", format!("{packets} ({bytes} bytes) of {name}"))];
    let wrong = [
        (stream.incomplete, "incomplete"),
        (stream.crc_errors, "with a wrong CRC-32"),
        (stream.malformed, "with lengths that lie"),
        (stream.other, "that are not IP"),
        (stream.unreadable, "scrambled, or of an unknown form"),
    ];
    let told: Vec<String> =
        wrong.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if !told.is_empty() {
        rows.push(("", format!("left out: {}", told.join(", "))));
    }
    rows
}
