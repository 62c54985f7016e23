//! One decoder out of several, frame by frame: packets say in their first byte how they are packed.
//!
//! `cargo run --example switch`

use bief::{Chain, Flow, In, InOutVar, InVar, Out, Result, Task, VarFrame, sink, source};

/// Bytes of a packet: its kind, how many bytes follow, and room for 14.
const PACKET: usize = 16;

/// Reads the kind of a packet.
struct Kind;

impl Task for Kind {
    type In = In<u8>;
    type Out = Out<u8>;
    fn lens(&self, _packet: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, packet: &[u8], kind: &mut [u8]) -> Result<Flow> {
        kind[0] = packet[0];
        Ok(Flow::Next)
    }
}

/// A decoder: it appends what the packet says to the text.
struct Decode(fn(&[u8], &mut VarFrame<'_, u8>) -> Result<()>);

impl Task for Decode {
    type In = (In<u8>, InOutVar<u8>);
    type Out = ();
    fn lens(&self, _: (usize, usize)) -> Result<()> {
        Ok(())
    }
    fn run(&mut self, (packet, mut text): (&[u8], VarFrame<'_, u8>), (): ()) -> Result<Flow> {
        (self.0)(&packet[2..2 + usize::from(packet[1])], &mut text)?;
        Ok(Flow::Next)
    }
}

/// Shows each text, and passes its length on.
struct Show;

impl Task for Show {
    type In = InVar<u8>;
    type Out = Out<usize>;
    fn lens(&self, _: usize) -> Result<usize> {
        Ok(1)
    }
    fn run(&mut self, text: &[u8], len: &mut [usize]) -> Result<Flow> {
        println!("{:3} bytes: {}", text.len(), String::from_utf8_lossy(text));
        len[0] = text.len();
        Ok(Flow::Next)
    }
}

/// Decodes and shows the packets; the lengths of their texts.
fn decode(packets: &[[u8; PACKET]]) -> Result<Vec<usize>> {
    let mut chain = Chain::new();
    let packet = chain.add(source::from_slice(packets.as_flattened(), PACKET), ());
    let kind = chain.add(Kind, &packet);
    let mut text = chain.blank_var::<u8>(100);
    chain.select(&kind, |paths| {
        // 0: as it is.
        paths.path(|chain| chain.add(Decode(|bytes, text| text.extend_from_slice(bytes)), (&packet, &mut text)));
        // 1: run lengths, a count and a byte at a time.
        let runs = |bytes: &[u8], text: &mut VarFrame<'_, u8>| {
            bytes.chunks_exact(2).try_for_each(|run| (0..run[0]).try_for_each(|_| text.push(run[1])))
        };
        paths.path(|chain| chain.add(Decode(runs), (&packet, &mut text)));
        // 2: nothing to say.
        paths.path(|_| {});
    });
    let len = chain.add(Show, &text);
    let (collect, lens) = sink::collect();
    chain.add(collect, &len);
    chain.build()?.run()?;
    Ok(lens.take())
}

fn main() -> Result<()> {
    let lens = decode(&[
        *b"\0\x0bhello bief\n...",
        *b"\x01\x06\x14-\x02>\x05 ........",
        *b"\x02\0..............",
        *b"\0\x05again.........",
    ])?;
    println!("{} bytes in all", lens.iter().sum::<usize>());
    Ok(())
}

#[test]
fn each_packet_is_decoded_by_its_kind() {
    main().unwrap();
    assert_eq!(decode(&[*b"\x01\x04\x03a\x09b..........", *b"\0\x02hi............"]).unwrap(), [12, 2]);
    let error = decode(&[*b"\x07\0.............."]).unwrap_err().to_string();
    assert!(error.contains("the choice is 7, but the paths are 0 to 2"), "{error}");
}
