//! Where a transmitter begins: input streams are read and cut into BBFRAMEs.

use bief::{Error, Flow, Out, OutVar, Result, Task, VarFrame};
use bief_dsp::dvbs2::{Pls, RollOff};

use super::encode::LONGEST;
use super::input::{Feed, InputStream};
use super::tables::defined;

/// Reads input streams and cuts them into BBFRAMEs, for PLFRAMEs that follow each other as a list says, over and over.
///
/// Several streams take turns, a frame each. A stream ends with a BBFRAME that is filled as far as its bytes reach; behind all of
/// them comes one more frame, so that a receiver has all of the last full one: a dummy frame or a BBFRAME without data, as the list
/// says.
///
/// # Sockets
/// - out: variable `u8`, kbch / 8 bytes of packed bits: BBHEADER, data field, padding; nothing for a dummy frame
/// - out: [`Pls`], 1 per frame
///
/// # Errors
/// After the packets before it were sent: a packet that does not begin with 0x47 (a generic one: as the first does), a stream
/// that ends inside a packet, a reader that fails.
///
/// # Source
/// EN 302 307-1, clauses 5.1.4 to 5.1.6 and 5.2.1, Annex D for null packets.
///
/// # Example
/// ```
/// use bief::{Chain, sink};
/// use bief_dsp::dvbs2::{Pls, RollOff};
/// use bief_radio::dvbs2::{InputStream, Slice, frame_list};
/// let packet: Vec<u8> = std::iter::once(0x47).chain(1..188).collect();
/// let mut chain = Chain::new();
/// let input = InputStream::transport(std::io::Cursor::new(packet));
/// let (_frames, pls) = chain.add(Slice::new([input], frame_list("qpsk-8/9:short,dummy")?, RollOff::R20)?, ());
/// let (collect, result) = sink::collect();
/// chain.add(collect, &pls);
/// chain.build()?.run()?;
/// assert_eq!(result.take(), [Pls::new(42), Pls::DUMMY]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Slice {
    feeds: Vec<Feed>,
    /// The stream whose turn it is.
    turn: usize,
    frames: Vec<Pls>,
    /// The next of them.
    next: usize,
    longest: usize,
    is_done: bool,
}

impl Slice {
    /// Cuts `inputs` for these PLFRAMEs, over and over; `roll_off` is what the BBHEADERs announce.
    ///
    /// # Errors
    /// No streams, or several without an ISI each; generic packets of a length that they cannot have; PLFRAMEs that DVB-S2
    /// does not define, or none that carries data.
    pub fn new(
        inputs: impl IntoIterator<Item = InputStream>,
        frames: impl Into<Vec<Pls>>,
        roll_off: RollOff,
    ) -> Result<Self> {
        let (inputs, frames): (Vec<_>, Vec<_>) = (inputs.into_iter().collect(), frames.into());
        check_isis(&inputs)?;
        frames.iter().try_for_each(|&pls| defined(pls))?;
        let mut data = frames.iter().filter(|pls| !pls.is_dummy());
        let Some(first) = data.next() else {
            return Err(Error::new("no PLFRAME carries data: give at least one MODCOD"));
        };
        let constant_coding = data.all(|pls| pls == first);
        let feeds = inputs.into_iter().map(|input| input.feed(roll_off, constant_coding)).collect::<Result<_>>()?;
        // VL-SNR frames are long, and their BBFRAMEs are not: who makes them of these is told what is the longest of all.
        let bytes = |pls: &Pls| pls.fec().map(|fec| if pls.is_vl_snr() { LONGEST } else { fec.kbch / 8 });
        let longest = frames.iter().filter_map(bytes).max().unwrap_or(0);
        Ok(Self { feeds, turn: 0, frames, next: 0, longest, is_done: false })
    }
}

fn check_isis(inputs: &[InputStream]) -> Result<()> {
    let mut seen = [false; 256];
    for isi in inputs.iter().map(|input| input.isi) {
        match isi {
            None if inputs.len() > 1 => {
                return Err(Error::new("several input streams need an input stream identifier (ISI) each"));
            }
            Some(isi) if std::mem::replace(&mut seen[usize::from(isi)], true) => {
                return Err(Error::new(format!("two input streams have ISI {isi}: give each its own")));
            }
            _ => {}
        }
    }
    if inputs.is_empty() { Err(Error::new("there is no input stream: give at least one")) } else { Ok(()) }
}

impl Task for Slice {
    type In = ();
    type Out = (OutVar<u8>, Out<Pls>);

    fn name(&self) -> String {
        "slice packets".to_owned()
    }

    fn lens(&self, (): ()) -> Result<(usize, usize)> {
        Ok((self.longest, 1))
    }

    fn run(&mut self, (): (), (mut frame, pls): (VarFrame<'_, u8>, &mut [Pls])) -> Result<Flow> {
        if self.is_done {
            return Ok(Flow::Stop);
        }
        let count = self.feeds.len();
        let unfinished =
            (self.turn..self.turn + count).map(|feed| feed % count).find(|&feed| !self.feeds[feed].is_done());
        self.is_done = unfinished.is_none();
        pls[0] = self.frames[self.next];
        self.next = (self.next + 1) % self.frames.len();
        if let Some(fec) = pls[0].fec() {
            let feed = unfinished.unwrap_or(0);
            self.turn = feed + 1;
            frame.set_len(fec.kbch.div_ceil(8))?;
            // Bits that fill no byte are padding.
            let (bytes, rest) = frame.split_at_mut(fec.kbch / 8);
            rest.fill(0);
            self.feeds[feed].fill(bytes)?;
        }
        Ok(Flow::Next)
    }

    fn finish(&mut self) -> Result<()> {
        self.feeds.iter_mut().find_map(Feed::fault).map_or(Ok(()), Err)
    }
}
