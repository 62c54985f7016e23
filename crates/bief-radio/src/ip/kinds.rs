//! The tasks of IP packets as kinds of a registry.

use bief::kinds::{InputAddress, Kind, OutputAddress, Param, Piece};
use bief::raw::DynWire;
use bief::{Result, Task};
use bief_ip::bbframes::LONGEST_FRAME;

use super::deliver::{DeliverIp, DeliverTransportIp};
use super::output::IpOutput;
use super::read::{ReadBbframes, ReadPackets};

/// The kinds, sources first.
pub(crate) fn kinds() -> [Kind; 4] {
    [read_bbframes(), read_packets(), deliver(), deliver_transport()]
}

fn input(meaning: &str) -> Param<InputAddress> {
    Param::reads("path", meaning)
}

fn output() -> Param<OutputAddress> {
    Param::writes("path", "a pcap file, \"-\" for standard output, or \"tun:NAME\" for a device of this machine")
}

fn pid() -> Param<Option<u16>> {
    Param::new("pid", "the PID to take, of a transport stream; left out, all").range(0..=0x1FFE).optional()
}

fn at(output: &OutputAddress) -> IpOutput {
    IpOutput::at(output.address(), output.writer())
}

fn all_wires(piece: &mut Piece<'_>, task: impl Task) -> Result<Vec<DynWire>> {
    let wires: Vec<&DynWire> = piece.wires().iter().collect();
    piece.task(task, &wires)
}

fn read_bbframes() -> Kind {
    let path = input("BBFRAMEs one after the other, by file, \"-\" for standard input, or an address");
    let summary = "reads BBFRAMEs, with padding or without, with headers of a receiver (L.3) or without";
    let kind = Kind::piece("ip.read_bbframes", summary, path, |path: InputAddress, piece: &mut Piece<'_>| {
        let reader = piece.reader(&path, LONGEST_FRAME)?;
        let read = ReadBbframes::new(reader, None).map_err(|error| path.refuse(error))?;
        piece.task(read, &[])
    });
    kind.makes("variable u8: BBFRAMEs").makes("Decoding")
}

fn read_packets() -> Kind {
    let path = input("a transport stream, by file, \"-\" for standard input, or an address");
    let summary = "reads packets of a transport stream";
    let kind = Kind::piece("ip.read_packets", summary, path, |path: InputAddress, piece: &mut Piece<'_>| {
        let reader = piece.reader(&path, LONGEST_FRAME)?;
        let read = ReadPackets::new(reader).map_err(|error| path.refuse(error))?;
        piece.task(read, &[])
    });
    kind.makes("variable u8: packets of 188 bytes")
}

fn deliver() -> Kind {
    let isi = Param::new("isi", "the input stream to take, on a carrier of several; left out, all").range(0..=u8::MAX);
    let summary = "takes IP packets out of BBFRAMEs (GSE, MPE, ULE) and writes them";
    type Values = (OutputAddress, Option<u8>, Option<u16>);
    let make = |(path, isi, pid): Values, piece: &mut Piece<'_>| {
        let deliver = isi.into_iter().fold(DeliverIp::new(at(&path)), DeliverIp::of_stream);
        all_wires(piece, pid.into_iter().fold(deliver, DeliverIp::of_pid))
    };
    let kind = Kind::piece("ip.deliver", summary, (output(), isi.optional(), pid()), make);
    kind.reads("variable u8: BBFRAMEs").reads("Decoding")
}

fn deliver_transport() -> Kind {
    let summary = "takes IP packets out of a transport stream (MPE, ULE) and writes them";
    let make = |(path, pid): (OutputAddress, Option<u16>), piece: &mut Piece<'_>| {
        all_wires(piece, pid.into_iter().fold(DeliverTransportIp::new(at(&path)), DeliverTransportIp::of_pid))
    };
    let kind = Kind::piece("ip.deliver_transport", summary, (output(), pid()), make);
    kind.reads("variable u8: packets of 188 bytes")
}
