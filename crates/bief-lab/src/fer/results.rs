//! What was measured so far: in memory, and in a CSV file from which a later run goes on.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bief_cli::failure::Failure;

use super::count::{Count, Tally};
use super::setup::{EsN0, Kind, Setup};

/// Columns behind those of the setup.
const COLUMNS: [&str; 9] =
    ["chain", "esn0_db", "blocks", "frames", "frame_errors", "frames_lost", "fer", "fer_low", "fer_high"];

/// Points by chain and Es/N0.
pub(super) struct Results {
    setup: Setup,
    points: BTreeMap<(Kind, EsN0), Count>,
    /// `None`: nothing is written.
    file: Option<PathBuf>,
}

impl Results {
    /// Begins with what the file holds, if there is one; it must have been measured with this setup. The file is written once,
    /// so that one that cannot be is found out before hours of measuring.
    pub(super) fn open(setup: &Setup, file: Option<&Path>) -> Result<Self, Failure> {
        let mut results = Self { setup: *setup, points: BTreeMap::new(), file: None };
        if let Some(path) = file {
            // What is replaced is the file that a link names. A device would not be written to, but be gone.
            let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            if place.exists() && !place.is_file() {
                return Err(refused(path, "it is no file"));
            }
            results.file = Some(place);
            match fs::read_to_string(path) {
                Ok(text) => results.points = parse(&text, setup).map_err(|reason| refused(path, &reason))?,
                Err(error) if error.kind() == ErrorKind::NotFound => (),
                Err(error) => return Err(refused(path, &error.to_string())),
            }
            results.write()?;
        }
        Ok(results)
    }

    pub(super) fn get(&self, kind: Kind, es_n0: EsN0) -> Count {
        self.points.get(&(kind, es_n0)).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, kind: Kind, es_n0: EsN0, count: Count) {
        self.points.insert((kind, es_n0), count);
    }

    /// The points of a chain with at least a block, in the order of Es/N0.
    pub(super) fn curve(&self, kind: Kind) -> Vec<(EsN0, Count)> {
        let of_kind = self.points.iter().filter(|((of, _), count)| *of == kind && count.blocks > 0);
        of_kind.map(|((_, es_n0), count)| (*es_n0, *count)).collect()
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Replaces the file, as a whole or not at all.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut fresh = path.as_os_str().to_owned();
        fresh.push(".new");
        let written = fs::write(&fresh, self.csv()).and_then(|()| fs::rename(&fresh, path));
        written.map_err(|error| {
            Failure::new(format!("{}: cannot write: {error}; name another file with -o", path.display()))
        })
    }

    pub(super) fn csv(&self) -> String {
        let setup = self.setup.columns();
        let values = setup.each_ref().map(|(_, value)| value.as_str()).join(",");
        let mut text = head(&self.setup) + "\n";
        for kind in Kind::ALL {
            for (es_n0, count) in self.curve(kind) {
                let Tally { frames, errors, lost } = count.all;
                let (low, high) = count.interval();
                text += &format!(
                    "{values},{},{:.3},{},{frames},{errors},{lost},{:.6e},{low:.6e},{high:.6e}\n",
                    kind.name(),
                    es_n0.db(),
                    count.blocks,
                    count.rate()
                );
            }
        }
        text
    }
}

fn head(setup: &Setup) -> String {
    let names: Vec<&str> = setup.columns().iter().map(|(name, _)| *name).chain(COLUMNS).collect();
    names.join(",")
}

fn refused(path: &Path, reason: &str) -> Failure {
    Failure::new(format!(
        "{}: {reason}: nothing is added to it; name another file with -o, or measure as it was measured",
        path.display()
    ))
}

fn parse(text: &str, setup: &Setup) -> Result<BTreeMap<(Kind, EsN0), Count>, String> {
    let mut lines = text.lines();
    match lines.next() {
        None => return Ok(BTreeMap::new()),
        Some(line) if line == head(setup) => (),
        Some(_) => return Err("its first line is not that of a file of frame error rates".to_owned()),
    }
    let mut points = BTreeMap::new();
    for (index, line) in lines.enumerate() {
        let place = |reason: String| format!("line {}: {reason}", index + 2);
        let values: Vec<&str> = line.split(',').collect();
        let wanted = setup.columns();
        if values.len() != wanted.len() + COLUMNS.len() {
            return Err(place(format!("{} values, not {}", values.len(), wanted.len() + COLUMNS.len())));
        }
        let (of_setup, of_point) = values.split_at(wanted.len());
        if let Some(((name, wanted), found)) = wanted.iter().zip(of_setup).find(|((_, wanted), found)| wanted != *found)
        {
            return Err(place(format!("{name} is {found}, not {wanted}")));
        }
        let (key, count) = point(of_point).ok_or_else(|| place("not a point of a curve".to_owned()))?;
        if points.insert(key, count).is_some() {
            return Err(place("this point is there twice".to_owned()));
        }
    }
    Ok(points)
}

fn point(values: &[&str]) -> Option<((Kind, EsN0), Count)> {
    let [chain, es_n0, numbers @ ..] = values else { return None };
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == *chain)?;
    let es_n0 = EsN0::from_db(es_n0.parse().ok()?)?;
    let numbers: Vec<u64> = numbers.iter().take(4).map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let [blocks, frames, errors, lost] = numbers[..] else { return None };
    let fits = lost <= errors && errors <= frames && (blocks > 0) == (frames > 0);
    fits.then_some(((kind, es_n0), Count { blocks, all: Tally { frames, errors, lost } }))
}

#[cfg(test)]
mod tests {
    use super::super::setup::TESTED;
    use super::*;

    fn results() -> Results {
        let mut results = Results::open(&TESTED, None).unwrap();
        let count =
            |blocks: u64, errors: u64| Count { blocks, all: Tally { frames: 32 * blocks, errors, lost: errors / 3 } };
        results.set(Kind::Ideal, EsN0(6200), count(9, 0));
        results.set(Kind::Receiver, EsN0(6250), count(7, 7));
        results.set(Kind::Receiver, EsN0(-50), count(8, 256));
        results
    }

    #[test]
    fn what_is_written_is_read_back() {
        let results = results();
        let csv = results.csv();
        assert_eq!(parse(&csv, &TESTED).unwrap(), results.points);
        assert_eq!(csv.lines().count(), 4);
        let last = csv.lines().last().unwrap();
        assert!(last.contains(",ideal,6.200,9,288,0,0,0.000000e0,0.000000e0,1.31"), "{last}");
        assert!(parse("", &TESTED).unwrap().is_empty());
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_with_its_line() {
        let csv = results().csv();
        let refusal = |csv: &str, setup: &Setup| parse(csv, setup).unwrap_err();
        assert_eq!(refusal(&csv, &Setup { seed: 2, ..TESTED }), "line 2: seed is 1, not 2");
        assert_eq!(refusal(&csv, &Setup { carrier: Some(0.0), ..TESTED }), "line 2: carrier is random, not 0");
        assert_eq!(refusal(&csv, &Setup { pilots: false, ..TESTED }), "line 2: pilots is on, not off");
        assert!(refusal("a,b\n", &TESTED).contains("first line"));
        let last = csv.lines().last().unwrap();
        assert_eq!(refusal(&format!("{csv}{last}\n"), &TESTED), "line 5: this point is there twice");
        assert_eq!(refusal(&csv.replace("ideal", "perfect"), &TESTED), "line 4: not a point of a curve");
        assert_eq!(refusal(&csv.replace("9,288,0,0", "9,288,289,0"), &TESTED), "line 4: not a point of a curve");
        assert!(refusal(&csv[..csv.len() - 40], &TESTED).starts_with("line 4: "));
    }
}
