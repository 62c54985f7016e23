//! A source with a URI scheme of its own, used from a chain file: `dice:SEED` rolls a die for ever.

use std::io::Read;

use bief::chain::BuiltChain;
use bief::kinds::{Address, ByteSource, InputAddress, Kind, Opener, Param};
use bief::{ChainFile, Error, Flow, Registry, Result};
use bief::{sink, source};

/// Opens `dice:SEED`.
struct OpenDice;

impl Opener for OpenDice {
    fn reader(&self, address: &Address) -> Result<ByteSource> {
        let seed =
            address.rest().parse().map_err(|_| Error::new(format!("{address}: give a number behind `dice:`")))?;
        Ok(ByteSource::new(Dice(seed)))
    }
}

struct Dice(u64);

impl Read for Dice {
    fn read(&mut self, rolls: &mut [u8]) -> std::io::Result<usize> {
        for roll in rolls.iter_mut() {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *roll = 1 + ((self.0 >> 33) % 6) as u8;
        }
        Ok(rolls.len())
    }
}

fn register(registry: &mut Registry) {
    registry.open("dice", OpenDice);
    let parameters = (
        Param::reads("from", "where bytes come from: a file, or an address"),
        Param::new("frames", "how many, of 600 bytes").range(1..=1000),
    );
    let kind =
        Kind::piece("outside.read", "reads bytes", parameters, |(from, mut left): (InputAddress, u32), piece| {
            let mut reader = piece.reader(&from, 600)?; // a rehearsal takes nothing from the run
            let read = source::from_fn(600, move |frame: &mut [u8]| {
                if left == 0 {
                    return Ok(Flow::Stop);
                }
                left -= 1;
                reader.read_exact(frame).map_err(Error::from_source)?;
                Ok(Flow::Next)
            });
            piece.task(read, &[])
        });
    registry.add(kind.makes("u8"));
}

fn mean_of(from: &str) -> Result<f64> {
    let mut registry = Registry::new();
    register(&mut registry);
    let text =
        format!("[[task]]\nname = 'roll'\nkind = 'outside.read'\nout = ['rolls']\nfrom = '{from}'\nframes = 10\n");
    let BuiltChain { mut chain, wires, .. } = ChainFile::parse(&text, "dice.toml")?.build(&registry)?;
    let (collect, rolls) = sink::collect();
    chain.add(collect, &wires["rolls"].typed::<u8>()?);
    chain.build()?.run()?;
    let rolls = rolls.take();
    Ok(rolls.iter().map(|&roll| f64::from(roll)).sum::<f64>() / rolls.len() as f64)
}

fn main() -> Result<()> {
    let mean = mean_of("dice:7")?;
    println!("6000 rolls, {mean:.2} on average");
    assert!((3.4..3.6).contains(&mean));
    let error = mean_of("dice:seven").unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("dice:seven: give a number behind `dice:`"));
    Ok(())
}
