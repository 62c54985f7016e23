//! Files and streams of BBFRAMEs, and of packets of 188 bytes: where each begins.

mod layout;
mod packets;

pub use layout::Layout;
pub use packets::PacketReader;

use std::io::{self, Read};

use bief_dsp::dvbs2::{BBHEADER, BbHeader, BbHeaderError};

/// Bytes of the longest BBFRAME: a data field of 65535 bits.
pub const LONGEST_FRAME: usize = BBHEADER + 8192;
/// Bytes of the header that a receiver puts before a BBFRAME, and what it begins with.
pub const L3_HEADER: usize = 4;
pub(crate) const L3_SYNC: u8 = 0xB8;
/// Bytes by which a layout is found out.
const FRONT: usize = 32 << 10;
/// Bytes read at a time.
const CHUNK: usize = 16 << 10;

/// A BBFRAME as it lies in a file, or what is there instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A BBFRAME: its header, and a data field of as many bytes as DFL says.
    Frame(&'a [u8]),
    /// A header that is not valid: a frame is lost, or several.
    Damaged,
    /// The last bytes are a part of a frame.
    Short(usize),
}

/// Reads BBFRAMEs that lie one after the other: each as long as its data field, or all of one length, with a receiver's header (L.3)
/// before each or without.
///
/// # Example
/// ```
/// use bief_dsp::dvbs2::{BBHEADER, BbHeader, RollOff};
/// use bief_ip::bbframes::{BbframeReader, Item};
/// let header = BbHeader::transport(RollOff::R20, 8 * 100).to_bytes();
/// let file = [&header[..], &[1; 100], &header, &[2; 100]].concat();
/// let mut frames = BbframeReader::new(&file[..], None)?;
/// for byte in [1, 2] {
///     let Some(Item::Frame(frame)) = frames.next_frame()? else { panic!("a frame") };
///     assert_eq!(frame[BBHEADER..], [byte; 100]);
/// }
/// assert_eq!(frames.next_frame()?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct BbframeReader<R> {
    bytes: Buffered<R>,
    layout: Layout,
}

impl<R: Read> BbframeReader<R> {
    /// Reads from `reader`, by this layout or by the one that its front shows.
    ///
    /// # Errors
    /// A reader that fails; a front that shows no BBFRAMEs.
    pub fn new(reader: R, layout: Option<Layout>) -> io::Result<Self> {
        let mut bytes = Buffered::new(reader);
        let layout = match layout {
            Some(layout) => layout,
            None => Layout::find(bytes.want(FRONT)?).ok_or_else(|| {
                let told = "no BBFRAMEs: no length of frames shows their headers";
                io::Error::new(io::ErrorKind::InvalidData, told)
            })?,
        };
        Ok(Self { bytes, layout })
    }

    /// How the frames lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// A reader that fails.
    pub fn next_frame(&mut self) -> io::Result<Option<Item<'_>>> {
        // Padding, which files with frames of several lengths have, is no damage.
        while self.layout.size.is_none() && self.is_padding()? {}
        let Layout { size, l3 } = self.layout;
        let before = if l3 { L3_HEADER } else { 0 };
        let there = self.bytes.want(before + BBHEADER)?;
        if there.is_empty() {
            return Ok(None);
        }
        let frame = header(there, l3).filter(|&length| size.is_none_or(|size| length <= size));
        let Some(long) = size.or(frame).map(|long| before + long) else {
            let short = there.len();
            if short < before + BBHEADER {
                self.bytes.pass(short);
                return Ok(Some(Item::Short(short)));
            }
            self.search(l3)?;
            return Ok(Some(Item::Damaged));
        };
        let there = self.bytes.want(long)?.len();
        let bytes = self.bytes.pass(long.min(there));
        Ok(Some(match frame {
            _ if there < long => Item::Short(there),
            Some(length) => Item::Frame(&bytes[before..before + length]),
            None => Item::Damaged,
        }))
    }

    /// Passes over zeros in the place of a header, if there are any.
    fn is_padding(&mut self) -> io::Result<bool> {
        let there = self.bytes.want(BBHEADER)?;
        let zeros = there.iter().take(LONGEST_FRAME).take_while(|&&byte| byte == 0).count();
        let is_padding = zeros >= BBHEADER || zeros == there.len() && zeros > 0;
        if is_padding {
            self.bytes.pass(zeros);
        }
        Ok(is_padding)
    }

    /// Goes on where a header lies that another one follows.
    fn search(&mut self, l3: bool) -> io::Result<()> {
        let before = if l3 { L3_HEADER } else { 0 };
        self.bytes.pass(1);
        loop {
            let there = self.bytes.want(2 * (before + LONGEST_FRAME))?;
            let found = (0..there.len()).find(|&at| {
                let next =
                    header(&there[at..], l3).filter(|&length| length > BBHEADER).map(|length| at + before + length);
                next.is_some_and(|next| {
                    next == there.len() || there.get(next..).is_some_and(|next| header(next, l3).is_some())
                })
            });
            // A header that needs more than is there may begin in the last bytes.
            let is_last = there.len() < 2 * (before + LONGEST_FRAME);
            let gone = found.unwrap_or(if is_last { there.len() } else { there.len() / 2 });
            self.bytes.pass(gone);
            if found.is_some() || is_last {
                return Ok(());
            }
        }
    }
}

/// The bytes of the BBFRAME whose header lies at the front, behind that of a receiver if `l3`; `None` if it is not valid.
pub(crate) fn header(bytes: &[u8], l3: bool) -> Option<usize> {
    let bytes = if l3 { bytes.strip_prefix(&[L3_SYNC])?.get(L3_HEADER - 1..)? } else { bytes };
    let front: &[u8; BBHEADER] = bytes.first_chunk()?;
    // Zeros have a valid CRC-8, and are padding.
    if front.iter().all(|&byte| byte == 0) {
        return None;
    }
    let bits = match BbHeader::parse(bytes) {
        Ok(header) => header.dfl,
        // The frame may end behind what has come.
        Err(BbHeaderError::DataFieldLength { dfl, .. }) => dfl,
        Err(_) => return None,
    };
    Some(BBHEADER + usize::from(bits).div_ceil(8))
}

/// Bytes that are looked at before they are taken.
pub(crate) struct Buffered<R> {
    reader: R,
    bytes: Vec<u8>,
    /// Those before this place are taken.
    taken: usize,
    ended: bool,
}

impl<R: Read> Buffered<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, bytes: Vec::new(), taken: 0, ended: false }
    }

    /// The next bytes: `count` or more, fewer at the end. Where a reader gives less at a time, what came is enough once it is as
    /// many: nothing waits for more.
    pub(crate) fn want(&mut self, count: usize) -> io::Result<&[u8]> {
        if !self.ended && self.bytes.len() - self.taken < count {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            while !self.ended && self.bytes.len() < count {
                let held = self.bytes.len();
                self.bytes.resize(held + CHUNK, 0);
                let read = loop {
                    match self.reader.read(&mut self.bytes[held..]) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        read => break read,
                    }
                };
                self.bytes.truncate(held + *read.as_ref().unwrap_or(&0));
                self.ended = read? == 0;
            }
        }
        Ok(&self.bytes[self.taken..])
    }

    /// Takes so many of the bytes that are there.
    pub(crate) fn pass(&mut self, count: usize) -> &[u8] {
        let start = self.taken;
        self.taken += count;
        &self.bytes[start..self.taken]
    }
}
