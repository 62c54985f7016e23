//! The receiver as a chain file, for whoever has some of its tasks done elsewhere.

use std::fmt::Write as _;
use std::io;
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bief::kinds::{Kind, Piece};
use bief::raw::DynWire;
use bief::{ChainFile, Error, Registry, Result};

use super::deliver::Deliver;
use super::kinds::all_wires;
use super::receiver::{MAX_ITERATIONS, Receiver};
use super::source::Source;
use super::write_bbframes::WriteBbframes;
use crate::ip::{DeliverIp, IpOutput};
use crate::keep_spectrum::KeepRecordedSpectrum;

/// What a wire carries that says where windows lie.
const STRETCHES: &str = "Stretch: where windows lie in the recording";

impl Receiver {
    /// The same chain as a chain file. Its tasks have the names that they have in [`program`](bief::Application::program); those that
    /// remember nothing are of kinds that any machine has, and their parameters say all that was found of the signal. `registry` gets the
    /// others, of kinds that begin with `receiver.`: they have this recording and these outputs, and the chain can be built once, and as
    /// often as one likes for a rehearsal.
    ///
    /// ```
    /// use bief_radio::Recording;
    /// use bief_radio::dvbs2::{Figures, Receiver, Settings};
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
    /// let recording = Recording::open(path.as_ref(), None).unwrap();
    /// let receiver = Receiver::find(recording, Settings::at(2.0), |_| ())?;
    /// let mut registry = bief_radio::registry();
    /// let file = receiver.to(std::io::sink()).into_file(&mut registry)?;
    /// let names: Vec<_> = file.tasks().map(|task| task.name().to_owned()).collect();
    /// assert_eq!(names[..3], ["cut frames", "read frames", "filter symbols"]);
    /// let report = file.program(&registry)?.run()?;
    /// assert_eq!(Figures::of(&report.figures).packet_errors, 0);
    /// # Ok::<(), bief::Error>(())
    /// ```
    ///
    /// # Errors
    /// A receiver without outputs.
    pub fn into_file(mut self, registry: &mut Registry) -> Result<ChainFile> {
        let deliver = self.take_deliver()?;
        let (isi, also) = (self.isi, take(&mut self.also));
        let text = self.text(also.ip.is_some(), also.bbframes.is_some());
        let batch = self.batch;
        if self.keeps_spectrum {
            let (format, rate) = (self.format, self.sample_rate);
            let kind =
                Kind::piece("receiver.keep_spectrum", "keeps the spectrum of the recording", (), move |(), piece| {
                    all_wires(piece, KeepRecordedSpectrum::new(format, rate))
                });
            registry.add(kind.reads("variable u8: windows of samples"));
        }
        let source = self.source();
        let window = match &source {
            Source::Streamed(_) => "variable u8: windows of samples",
            Source::Stored(_, read) => {
                let read = read.clone();
                let kind =
                    Kind::piece("receiver.read_frames", "reads the windows of PLFRAMEs", (), move |(), piece| {
                        all_wires(piece, read.clone())
                    });
                let kind = kind.reads(STRETCHES).reads("Option<FrameSync>: places");
                registry.add(kind.makes("variable u8: windows of samples"));
                STRETCHES
            }
        };
        let receiver = Mutex::new(self);
        let rehearsed = move || lock(&receiver).rehearsed_source(u64::MAX);
        let summary = "cuts the windows of PLFRAMEs out of the recording";
        let kind = once("receiver.cut_frames", summary, source, rehearsed, Source::add_cut);
        registry.add(kind.makes(window).makes("Option<FrameSync>: places").makes("Pls"));
        let bbframes = |kind: Kind| kind.reads("variable u8: BBFRAMEs").reads("Decoding");
        let of_stream = move |deliver: Deliver| isi.into_iter().fold(deliver, Deliver::of_stream);
        let nowhere = move || of_stream(Deliver::new(|_| Ok(Box::new(io::sink()))));
        let kind = once("receiver.write_packets", "writes input streams", of_stream(deliver), nowhere, all_wires);
        registry.add(bbframes(kind));
        if let Some((output, pid)) = also.ip {
            let make = move |output| {
                let deliver = pid.into_iter().fold(DeliverIp::new(output), DeliverIp::of_pid);
                isi.into_iter().fold(deliver, DeliverIp::of_stream)
            };
            let nowhere = move || make(IpOutput::pcap(io::sink()));
            let kind = once("receiver.take_ip_packets", "writes IP packets", make(output), nowhere, all_wires);
            registry.add(bbframes(kind));
        }
        if let Some((out, has_l3)) = also.bbframes {
            let make = move |out: Box<dyn io::Write + Send>| {
                let write = if has_l3 { WriteBbframes::new(out).with_l3() } else { WriteBbframes::new(out) };
                isi.into_iter().fold(write, WriteBbframes::of_stream)
            };
            let nowhere = move || make(Box::new(io::sink()));
            let kind = once("receiver.write_bbframes", "writes BBFRAMEs", make(out), nowhere, all_wires);
            registry.add(bbframes(kind).reads("Pls").reads("SignalLevel"));
        }
        Ok(ChainFile::parse(&text, "the receiver")?.with_batch(batch))
    }

    fn text(&self, has_ip: bool, has_bbframes: bool) -> String {
        let mut text = String::new();
        let mut task = |name: &str, kind: &str, reads: &str, makes: &str, parameters: String| {
            let list = |wires: &str| wires.split_whitespace().map(|wire| format!("{wire:?},")).collect::<String>();
            let (reads, makes) = (list(reads), list(makes));
            writeln!(text, "[[task]]\nname = {name:?}\nkind = {kind:?}\nin = [{reads}]\nout = [{makes}]\n{parameters}")
                .expect("a text takes what it gets");
        };
        let none = String::new;
        let code = || format!("gold_code = {}", self.gold_code);
        let rate = format!("samples_per_symbol = {:?}", self.samples_per_symbol());
        if self.is_stored() {
            task("cut frames", "receiver.cut_frames", "", "stretches places pls", none());
            task("read frames", "receiver.read_frames", "stretches places", "windows", none());
        } else {
            task("cut frames", "receiver.cut_frames", "", "windows places pls", none());
        }
        if self.keeps_spectrum {
            task("keep spectrum", "receiver.keep_spectrum", "windows", "", none());
        }
        let filter = format!("{rate}\nroll_off = {:?}\nformat = {:?}", self.roll_off, self.format.name());
        task("filter symbols", "dvbs2.filter_symbols", "windows places", "symbols", filter);
        task("correct phase", "dvbs2.correct_phase", "symbols pls", "level", code());
        if self.keeps_symbols {
            task("keep symbols", "dvbs2.keep_symbols", "symbols level pls", "", code());
        }
        task("demap", "dvbs2.demap", "symbols level pls", "llrs", code());
        let iterations = format!("iterations = {MAX_ITERATIONS}");
        task("decode LDPC", "dvbs2.decode_ldpc", "llrs pls", "bbframes decoding", iterations);
        task("decode BCH", "dvbs2.decode_bch", "bbframes decoding pls", "", none());
        task("scramble bits", "dvbs2.scramble_bits", "bbframes", "", none());
        task("observe", "dvbs2.observe", "places level decoding", "", rate);
        task("write packets", "receiver.write_packets", "bbframes decoding", "", none());
        if has_ip {
            task("take IP packets", "receiver.take_ip_packets", "bbframes decoding", "", none());
        }
        if has_bbframes {
            task("write BBFRAMEs", "receiver.write_bbframes", "bbframes decoding pls level", "", none());
        }
        text
    }
}

/// A kind of one task that there is once, and that rehearsals have another in the place of.
fn once<T: Send + 'static>(
    name: &str,
    summary: &str,
    task: T,
    rehearsed: impl Fn() -> T + Send + Sync + 'static,
    add: impl Fn(&mut Piece<'_>, T) -> Result<Vec<DynWire>> + Send + Sync + 'static,
) -> Kind {
    let task = Mutex::new(Some(task));
    let name_told = name.to_owned();
    Kind::piece(name, summary, (), move |(), piece| {
        if piece.is_rehearsal() {
            return add(piece, rehearsed());
        }
        let task = lock(&task).take();
        let gone = || Error::new(format!("the task of `{name_told}` was taken before: a recording is received once"));
        add(piece, task.ok_or_else(gone)?)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use bief::Application;

    use super::super::Settings;
    use super::*;
    use crate::Recording;

    #[test]
    fn the_file_has_the_tasks_of_the_program() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/dvbs2_qpsk_8-9_short.sigmf-meta");
        for (has_all, is_stream) in [(false, false), (true, false), (true, true)] {
            let receiver = || {
                let recording = Recording::open(path.as_ref(), None).unwrap();
                let recording = match is_stream {
                    false => recording,
                    true => Recording::from_reader("a pipe", recording.format, recording.samples.into_reader()),
                };
                let receiver = Receiver::find(recording, Settings::at(2.0), |_| ()).unwrap().to(io::sink());
                match has_all {
                    false => receiver,
                    true => receiver
                        .keep_symbols()
                        .keep_spectrum()
                        .to_ip(IpOutput::pcap(io::sink()), None)
                        .to_bbframes(io::sink(), true),
                }
            };
            let tasks = |program: bief::Program| {
                program.tasks().map(|(name, replicable)| (name.to_owned(), replicable)).collect::<Vec<_>>()
            };
            let mut registry = crate::registry();
            let file = receiver().into_file(&mut registry).unwrap();
            let expected = tasks(receiver().program().unwrap());
            let read = expected.iter().find(|(name, _)| name == "read frames");
            assert_eq!(read.map(|(_, replicable)| *replicable), (!is_stream).then_some(true));
            assert_eq!(tasks(file.rehearsal(&registry, 1).unwrap()), expected);
            assert_eq!(tasks(file.program(&registry).unwrap()), expected);
            let again = file.program(&registry).unwrap_err().to_string();
            assert!(again.contains("was taken before: a recording is received once"), "{again}");
        }
    }
}
