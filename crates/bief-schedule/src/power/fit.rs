//! What cores draw, found from what a machine drew in measured runs.

use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::platform::Platform;
use crate::profile::counted;

/// How many steps of the search for a saturation cover its range, before the best of them is refined.
const STEPS: i32 = 64;
/// The range that is searched, as multiples of the most busy cores of any row: at the one end the first twentieth of them
/// draws nearly all, at the other all of them draw 5 % less than a straight line would.
const RANGE: (f64, f64) = (0.05, 10.0);
/// The share of a column's length that must be its own, not the other columns', for its watts to be told.
const INDEPENDENT: f64 = 1e-5;

/// The measured power of a machine with a given number of busy cores.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerRow {
    /// The mean number of busy cores of each kind, 0 or more, in the order of the fit's kinds.
    pub busy: Vec<f64>,
    /// What the machine drew meanwhile, in watts, idle power included; more than 0.
    pub watts: f64,
}

/// The idle power of a machine and the power of its busy cores, fitted to measured rows: the non-negative least-squares
/// fit of [modelled](crate::Power) to measured watts.
///
/// One kind may [saturate](crate::CoreKind::saturation). Its saturation is searched for from a twentieth of the most cores
/// of the kind that are busy in any row to ten times as many: 64 values in equal ratios first, then between the neighbours
/// of the best.
///
/// Few rows explain themselves too well. What to expect of other runs is told by the rows that are left out: each is
/// compared with a fit of all the others.
///
/// # Example
///
/// ```
/// use bief_schedule::{PowerFit, PowerRow};
///
/// let rows = [([0.0, 1.0], 4.1), ([1.0, 0.0], 6.0), ([2.0, 2.0], 11.1), ([3.0, 1.0], 12.9), ([4.0, 4.0], 19.0)];
/// let rows = rows.map(|(busy, watts)| PowerRow { busy: busy.into(), watts });
/// let fit = PowerFit::new(&["big", "little"], &rows, None)?;
/// assert!((fit.kinds[0].watts - 3.0).abs() < 0.1);
/// assert!(fit.errors().mean < 0.02);
/// # Ok::<(), bief_schedule::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerFit {
    /// What the machine draws when idle, in watts.
    pub idle_watts: f64,
    /// What the cores draw above that, by kind.
    pub kinds: Vec<FittedKind>,
    /// The rows, in the order in which they were given.
    pub rows: Vec<FittedRow>,
}

/// The power of a kind's cores above idle.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedKind {
    /// The kind's name.
    pub name: String,
    /// What each busy core draws, or, with a saturation, the first, in watts.
    pub watts: f64,
    /// The kind's [saturation](crate::CoreKind::saturation), where one was asked for.
    pub saturation: Option<f64>,
}

impl FittedKind {
    /// The most that the cores of a kind that saturates may draw together, in watts.
    pub fn max_watts(&self) -> Option<f64> {
        self.saturation.map(|saturation| self.watts * saturation)
    }
}

/// A measured row compared with the fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FittedRow {
    /// What was measured, in watts.
    pub watts: f64,
    /// The fitted power, in watts.
    pub modelled_watts: f64,
    /// What a fit of all other rows says, in watts; `None` where those alone do not tell the watts of each kind.
    pub left_out_watts: Option<f64>,
}

impl FittedRow {
    /// The relative error of the fit: 0.01 if it is 1 % above the measurement.
    pub fn error(&self) -> f64 {
        self.modelled_watts / self.watts - 1.0
    }

    /// The relative error of the fit of all other rows.
    pub fn left_out_error(&self) -> Option<f64> {
        self.left_out_watts.map(|watts| watts / self.watts - 1.0)
    }
}

/// The absolute relative errors of a fit, over all rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FitErrors {
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub greatest: f64,
}

impl FitErrors {
    /// The errors of some rows; all 0 where there is none.
    pub fn of(errors: impl IntoIterator<Item = f64>) -> Self {
        let (mut sum, mut count, mut greatest) = (0.0, 0.0, 0.0f64);
        for error in errors {
            sum += error.abs();
            count += 1.0;
            greatest = greatest.max(error.abs());
        }
        Self { mean: if count > 0.0 { sum / count } else { 0.0 }, greatest }
    }
}

impl PowerFit {
    /// The fewest rows for a fit.
    pub const MIN_ROWS: usize = 4;
    /// A fit of fewer rows is unreliable.
    pub const ENOUGH_ROWS: usize = 6;
    /// The most rows of which a fit is made: as each is compared with a fit of all others, the time grows with their square.
    pub const MAX_ROWS: usize = 500;
    /// The most kinds of cores.
    pub const MAX_KINDS: usize = 8;

    /// The best fit of rows for cores of these kinds, of which one may saturate.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Power`] with the row or the kind and what to measure, where there are fewer than four rows or no more
    /// than there are numbers to find, more than [`MAX_ROWS`](Self::MAX_ROWS), a row is no measurement, the rows do not tell
    /// the kinds apart, or show no saturation of the kind that is to saturate.
    pub fn new(kinds: &[&str], rows: &[PowerRow], saturating: Option<&str>) -> Result<Self, Error> {
        check_rows(kinds, rows, saturating.is_some())?;
        let saturating = match saturating {
            None => None,
            Some(name) => Some(kinds.iter().position(|kind| *kind == name).ok_or_else(|| {
                refused(
                    "saturating kind",
                    format!("no row counts cores of kind `{name}`, only of {}", kinds.join(", ")),
                )
            })?),
        };
        let all: Vec<&PowerRow> = rows.iter().collect();
        let best = Candidate::best(&all, saturating).ok_or_else(|| {
            refused(
                "rows",
                "they do not tell what idle and each kind draw: in some rows the busy cores of each kind must differ while \
                 those of the others do not, or less; measure such runs",
            )
        })?;
        if let Some((kind, saturation)) = best.saturation {
            check_saturation(kinds[kind], best.terms[kind + 1], saturation, max_busy(&all, kind))?;
        }
        let left_out = |row: usize| {
            let others: Vec<&PowerRow> =
                all.iter().enumerate().filter(|(at, _)| *at != row).map(|(_, row)| *row).collect();
            Some(Candidate::best(&others, saturating)?.watts(&rows[row]))
        };
        let fitted = rows.iter().enumerate().map(|(index, row)| FittedRow {
            watts: row.watts,
            modelled_watts: best.watts(row),
            left_out_watts: left_out(index),
        });
        let kind = |(index, name): (usize, &&str)| FittedKind {
            name: (*name).to_owned(),
            watts: best.terms[index + 1],
            saturation: best.saturation.filter(|(kind, _)| *kind == index).map(|(_, saturation)| saturation),
        };
        Ok(Self {
            idle_watts: best.terms[0],
            kinds: kinds.iter().enumerate().map(kind).collect(),
            rows: fitted.collect(),
        })
    }

    /// How far the fit is from its rows.
    pub fn errors(&self) -> FitErrors {
        FitErrors::of(self.rows.iter().map(FittedRow::error))
    }

    /// How far each row is from a fit of all the others; `None` where the others do not always suffice for one.
    pub fn left_out_errors(&self) -> Option<FitErrors> {
        let errors: Option<Vec<f64>> = self.rows.iter().map(FittedRow::left_out_error).collect();
        errors.map(FitErrors::of)
    }

    /// The same cores with the fitted watts, rounded to four digits.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Power`] where the platform has cores of a kind that the rows do not count, or does not name one that they
    /// do.
    pub fn applied_to(&self, platform: &Platform) -> Result<Platform, Error> {
        for fitted in &self.kinds {
            if platform.kind(&fitted.name).is_none() {
                let reason = format!("the platform has no kind `{}`, which the rows count: add it", fitted.name);
                return Err(refused("platform", reason));
            }
        }
        let kinds = platform.kinds().iter().map(|kind| {
            let mut kind = kind.clone();
            match self.kinds.iter().find(|fitted| fitted.name == kind.name) {
                Some(fitted) => {
                    kind.watts = Some(four_digits(fitted.watts));
                    kind.saturation = fitted.saturation.map(four_digits);
                }
                None if kind.cores > 0 => {
                    let reason = format!("the rows do not count cores of kind `{}`, which the platform has", kind.name);
                    return Err(refused("platform", reason));
                }
                None => {}
            }
            Ok(kind)
        });
        Platform::new(kinds.collect::<Result<Vec<_>, _>>()?)?.with_idle_watts(four_digits(self.idle_watts))
    }
}

/// Watts of idle and of each kind, with the saturation of one kind.
struct Candidate {
    terms: Vec<f64>,
    /// The kind, and at how many of its cores.
    saturation: Option<(usize, f64)>,
    /// The sum of the squares of what is left unexplained.
    left: f64,
}

impl Candidate {
    /// The best for some rows; `None` where they do not tell all the watts.
    fn best(rows: &[&PowerRow], saturating: Option<usize>) -> Option<Self> {
        let Some(kind) = saturating else { return Self::at(rows, None) };
        let most = max_busy(rows, kind);
        if most == 0.0 {
            return None;
        }
        let value = |step: f64| most * RANGE.0 * (RANGE.1 / RANGE.0).powf(step / f64::from(STEPS));
        let left =
            |step: f64| Self::at(rows, Some((kind, value(step)))).map_or(f64::INFINITY, |candidate| candidate.left);
        let steps = (0..=STEPS).map(|step| (f64::from(step), left(f64::from(step))));
        let (step, _) = steps.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let (mut low, mut high) = ((step - 1.0).max(0.0), (step + 1.0).min(f64::from(STEPS)));
        // The golden section, until a step is as fine as its numbers.
        let section = (5f64.sqrt() - 1.0) / 2.0;
        while high - low > 1e-9 {
            let (a, b) = (high - section * (high - low), low + section * (high - low));
            if left(a) < left(b) { high = b } else { low = a }
        }
        Self::at(rows, Some((kind, value((low + high) / 2.0))))
    }

    /// The best with that saturation.
    fn at(rows: &[&PowerRow], saturation: Option<(usize, f64)>) -> Option<Self> {
        let watts: Vec<f64> = rows.iter().map(|row| row.watts).collect();
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| terms_of(row, saturation)).collect();
        let (terms, left) = non_negative(&rows, &watts)?;
        Some(Self { terms, saturation, left })
    }

    fn watts(&self, row: &PowerRow) -> f64 {
        dot(&terms_of(row, self.saturation), &self.terms)
    }
}

/// What stands beside each number that is sought: 1 for idle, then the busy cores of each kind, less where it saturates.
fn terms_of(row: &PowerRow, saturation: Option<(usize, f64)>) -> Vec<f64> {
    let mut terms = vec![1.0];
    terms.extend(&row.busy);
    if let Some((kind, saturation)) = saturation {
        terms[kind + 1] = saturation * -(-row.busy[kind] / saturation).exp_m1();
    }
    terms
}

fn max_busy(rows: &[&PowerRow], kind: usize) -> f64 {
    rows.iter().map(|row| row.busy[kind]).fold(0.0, f64::max)
}

/// The factors, none negative, with which the terms of each row come closest to its value by least squares, and the sum of
/// the squares that are left; `None` where the terms depend on each other.
///
/// Where some factors are zero, the others are the unbounded least squares of their terms alone: so of all choices of
/// terms, the best without a negative factor is the answer.
fn non_negative(rows: &[Vec<f64>], values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let count = rows.first()?.len();
    let all: Vec<usize> = (0..count).collect();
    let unbounded = least_squares(rows, values, &all)?;
    if unbounded.0.iter().all(|&factor| factor >= 0.0) {
        return Some(unbounded);
    }
    let (rows, values) = &triangular(rows, values);
    let choices =
        (0..1u32 << count).map(|choice| all.iter().copied().filter(move |term| choice >> term & 1 == 1).collect());
    let solved = choices.filter_map(|chosen: Vec<usize>| least_squares(rows, values, &chosen));
    solved.filter(|(factors, _)| factors.iter().all(|&factor| factor >= 0.0)).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// As few rows as there are terms and one, with the same least squares for every choice of terms: those of the columns and
/// the values in coordinates of the columns made orthogonal, and one for what is left of the values.
///
/// The terms do not depend on each other.
fn triangular(rows: &[Vec<f64>], values: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let count = rows.first().map_or(0, Vec::len);
    let mut columns: Vec<Vec<f64>> = (0..count).map(|term| rows.iter().map(|row| row[term]).collect()).collect();
    columns.push(values.to_vec());
    let mut reduced = vec![vec![0.0; count + 1]; count + 1];
    for term in 0..=count {
        let (done, later) = columns.split_at_mut(term + 1);
        let column = &done[term];
        let length = dot(column, column).sqrt();
        reduced[term][term] = length;
        for (at, other) in later.iter_mut().enumerate() {
            reduced[term][term + 1 + at] = length * take_away(other, column);
        }
    }
    reduced
        .into_iter()
        .map(|mut row| {
            let value = row.pop();
            (row, value.unwrap_or(0.0))
        })
        .unzip()
}

/// The least squares of the chosen terms, by modified Gram-Schmidt; the factors of the others are zero.
fn least_squares(rows: &[Vec<f64>], values: &[f64], chosen: &[usize]) -> Option<(Vec<f64>, f64)> {
    // The columns made orthogonal, each with its factors: column = orthogonal + sum of shares times earlier ones.
    let mut orthogonal: Vec<Vec<f64>> = Vec::new();
    let mut shares: Vec<Vec<f64>> = Vec::new();
    for &term in chosen {
        let mut column: Vec<f64> = rows.iter().map(|row| row[term]).collect();
        let length = dot(&column, &column).sqrt();
        let mut of_earlier = Vec::new();
        for earlier in &orthogonal {
            of_earlier.push(take_away(&mut column, earlier));
        }
        if dot(&column, &column).sqrt() <= INDEPENDENT * length {
            return None;
        }
        orthogonal.push(column);
        shares.push(of_earlier);
    }
    let mut left = values.to_vec();
    let mut factors: Vec<f64> = orthogonal.iter().map(|column| take_away(&mut left, column)).collect();
    for later in (0..factors.len()).rev() {
        for earlier in 0..later {
            factors[earlier] -= shares[later][earlier] * factors[later];
        }
    }
    let mut terms = vec![0.0; rows.first()?.len()];
    for (&term, factor) in chosen.iter().zip(factors) {
        terms[term] = factor;
    }
    Some((terms, dot(&left, &left)))
}

/// Takes from `column` what lies along `other`, and answers how many times that is `other`.
fn take_away(column: &mut [f64], other: &[f64]) -> f64 {
    let times = dot(column, other) / dot(other, other);
    for (value, other) in column.iter_mut().zip(other) {
        *value -= times * other;
    }
    times
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn check_rows(kinds: &[&str], rows: &[PowerRow], saturates: bool) -> Result<(), Error> {
    if kinds.is_empty() || kinds.len() > PowerFit::MAX_KINDS {
        let reason = format!("{} of cores: give from 1 to {}", counted(kinds.len(), "kind"), PowerFit::MAX_KINDS);
        return Err(refused("kinds", reason));
    }
    if rows.len() > PowerFit::MAX_ROWS {
        let reason = format!(
            "{}, at most {} are fitted: leave some out, or write one row with the means of runs that are alike",
            counted(rows.len(), "row"),
            PowerFit::MAX_ROWS
        );
        return Err(refused("rows", reason));
    }
    for (index, row) in rows.iter().enumerate() {
        let place = format!("rows[{index}]");
        if row.busy.len() != kinds.len() {
            let reason = format!(
                "busy cores of {}, there are {}: {}",
                counted(row.busy.len(), "kind"),
                kinds.len(),
                kinds.join(", ")
            );
            return Err(refused(&place, reason));
        }
        if let Some((kind, busy)) = kinds.iter().zip(&row.busy).find(|(_, busy)| !(busy.is_finite() && **busy >= 0.0)) {
            let reason = format!("{busy} busy cores of kind `{kind}`: write a mean number of cores, 0 or more");
            return Err(refused(&place, reason));
        }
        if !(row.watts.is_finite() && row.watts > 0.0) {
            let reason = format!("{} W: write what the machine drew, more than 0 W", row.watts);
            return Err(refused(&place, reason));
        }
    }
    // One row more than numbers to find: else nothing is left that could tell an error.
    let needed = PowerFit::MIN_ROWS.max(kinds.len() + 2 + usize::from(saturates));
    if rows.len() < needed {
        let reason = format!(
            "{}: measure at least {needed}, better {} or more, with different numbers of busy cores",
            counted(rows.len(), "row"),
            needed.max(PowerFit::ENOUGH_ROWS)
        );
        return Err(refused("rows", reason));
    }
    for (index, kind) in kinds.iter().enumerate() {
        if rows.iter().all(|row| row.busy[index] == 0.0) {
            let reason = format!("no row has a busy core of kind `{kind}`: measure one, or leave the kind out");
            return Err(refused("rows", reason));
        }
    }
    Ok(())
}

/// Refuses a saturation at an end of the range that is searched: there the rows show none.
fn check_saturation(kind: &str, watts: f64, saturation: f64, most: f64) -> Result<(), Error> {
    let share = saturation / most;
    let reason = if watts == 0.0 {
        format!("busy cores of kind `{kind}` draw nothing that the rows show")
    } else if share > 0.99 * RANGE.1 {
        format!("the power of kind `{kind}` grows in proportion as far as the rows go, to {most:.3} busy cores")
    } else if share < 1.01 * RANGE.0 {
        format!(
            "the power of kind `{kind}` does not grow with its busy cores: measure runs that keep fewer of them busy"
        )
    } else {
        return Ok(());
    };
    Err(refused("saturating kind", format!("{reason}: fit it without saturation")))
}

fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number was written")
}

fn refused(key: &str, reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Power, format!("power fit, {key}"), reason)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows<const N: usize>(rows: &[([f64; N], f64)]) -> Vec<PowerRow> {
        rows.iter().map(|(busy, watts)| PowerRow { busy: busy.to_vec(), watts: *watts }).collect()
    }

    /// Rows that a machine draws exactly.
    fn drawn(idle: f64, big: f64, saturation: Option<f64>, little: f64, busy: &[[f64; 2]]) -> Vec<PowerRow> {
        let kind = |name: &str, watts, saturation| crate::CoreKind {
            watts: Some(watts),
            saturation,
            ..crate::CoreKind::new(name, 8)
        };
        let (big, little) = (kind("big", big, saturation), kind("little", little, None));
        let watts = |busy: &[f64; 2]| idle + big.power(busy[0]).unwrap() + little.power(busy[1]).unwrap();
        busy.iter().map(|busy| PowerRow { busy: busy.to_vec(), watts: watts(busy) }).collect()
    }

    const BUSY: [[f64; 2]; 7] = [[0.0, 1.5], [0.4, 3.0], [1.0, 0.0], [2.0, 2.5], [3.5, 0.5], [5.0, 4.0], [6.0, 1.0]];

    #[test]
    fn what_a_machine_draws_exactly_is_found() {
        let fit = PowerFit::new(&["big", "little"], &drawn(4.0, 8.8, None, 5.27, &BUSY), None).unwrap();
        assert!((fit.idle_watts - 4.0).abs() < 1e-9 && fit.errors().greatest < 1e-12);
        assert!((fit.kinds[0].watts - 8.8).abs() < 1e-9 && (fit.kinds[1].watts - 5.27).abs() < 1e-9);
        assert!(fit.left_out_errors().unwrap().greatest < 1e-12 && fit.kinds[0].max_watts().is_none());
        for saturation in [0.5, 1.371, 4.0, 20.0] {
            let rows = drawn(19.9, 36.6, Some(saturation), 2.2, &BUSY);
            let fit = PowerFit::new(&["big", "little"], &rows, Some("big")).unwrap();
            assert!((fit.kinds[0].saturation.unwrap() / saturation - 1.0).abs() < 1e-4, "{fit:?}");
            assert!((fit.kinds[0].watts / 36.6 - 1.0).abs() < 1e-4 && (fit.idle_watts - 19.9).abs() < 1e-3, "{fit:?}");
            assert!(fit.errors().greatest < 1e-6 && fit.left_out_errors().unwrap().greatest < 1e-4, "{fit:?}");
        }
    }

    #[test]
    fn a_fit_becomes_a_platform_of_four_digits() {
        let fit =
            PowerFit::new(&["big", "little"], &drawn(3.157_548, 1.566_773, None, 0.439_591, &BUSY), None).unwrap();
        let cores = Platform::new([crate::CoreKind::new("big", 4), crate::CoreKind::new("little", 4)]).unwrap();
        let platform = fit.applied_to(&cores).unwrap();
        assert_eq!(
            (platform.idle_watts(), platform.watts("big"), platform.watts("little")),
            (Some(3.158), Some(1.567), Some(0.4396))
        );
        let other = |kinds: &[&str]| {
            fit.applied_to(&Platform::new(kinds.iter().map(|kind| crate::CoreKind::new(*kind, 1))).unwrap())
        };
        assert!(other(&["big"]).unwrap_err().to_string().contains("has no kind `little`"));
        assert!(other(&["big", "little", "tiny"]).unwrap_err().to_string().contains("cores of kind `tiny`"));
    }

    #[test]
    fn rows_that_do_not_suffice_are_refused_with_what_to_measure() {
        let good = drawn(4.0, 8.8, None, 5.0, &BUSY);
        let message = |rows: &[PowerRow], saturating| {
            PowerFit::new(&["big", "little"], rows, saturating).unwrap_err().to_string()
        };
        assert_eq!(
            message(&good[..3], None),
            "power fit, rows: 3 rows: measure at least 4, better 6 or more, with different numbers of busy cores"
        );
        assert!(PowerFit::new(&["big", "little"], &good[..4], None).is_ok());
        assert!(message(&good[..4], Some("big")).contains("measure at least 5"));
        let many: Vec<PowerRow> = good.iter().cycle().take(PowerFit::MAX_ROWS + 1).cloned().collect();
        assert_eq!(
            message(&many, None),
            "power fit, rows: 501 rows, at most 500 are fitted: leave some out, or write one row with the means of runs that are \
             alike"
        );
        assert!(PowerFit::new(&["big", "little"], &many[..PowerFit::MAX_ROWS], None).is_ok());
        assert!(message(&good, Some("tiny")).contains("no row counts cores of kind `tiny`, only of big, little"));
        assert!(message(&good, Some("big")).contains("grows in proportion as far as the rows go, to 6.000 busy cores"));
        let step: Vec<PowerRow> = BUSY
            .iter()
            .map(|busy| PowerRow { busy: busy.to_vec(), watts: if busy[0] > 0.0 { 30.0 } else { 9.0 } })
            .collect();
        assert!(
            message(&step, Some("big")).contains("does not grow with its busy cores"),
            "{}",
            message(&step, Some("big"))
        );
        let same = rows(&[([1.0, 2.0], 5.0), ([2.0, 4.0], 6.0), ([3.0, 6.0], 7.0), ([4.0, 8.0], 8.0)]);
        assert!(message(&same, None).contains("do not tell what idle and each kind draw"));
        let none = rows(&[([1.0, 0.0], 5.0), ([2.0, 0.0], 6.0), ([3.0, 0.0], 7.0), ([4.0, 0.0], 8.0)]);
        assert!(message(&none, None).contains("no row has a busy core of kind `little`"));
        for (busy, watts, reason) in [
            ([-1.0, 0.0], 5.0, "-1 busy cores of kind `big`"),
            ([f64::NAN, 0.0], 5.0, "NaN busy"),
            ([1.0, 0.0], 0.0, "0 W: write"),
        ] {
            let mut wrong = good.clone();
            wrong[2] = PowerRow { busy: busy.into(), watts };
            let message = message(&wrong, None);
            assert!(message.starts_with("power fit, rows[2]: ") && message.contains(reason), "{message}");
        }
    }

    #[test]
    fn a_row_that_alone_tells_of_a_kind_cannot_be_left_out() {
        let rows = rows(&[([1.0, 0.0], 5.0), ([2.0, 0.0], 6.0), ([3.0, 0.0], 7.1), ([4.0, 1.0], 9.0)]);
        let fit = PowerFit::new(&["big", "little"], &rows, None).unwrap();
        assert!(fit.rows[0].left_out_watts.is_some() && fit.rows[3].left_out_watts.is_none());
        assert_eq!(fit.left_out_errors(), None);
    }

    proptest! {
        /// At the least squares under bounds no factor can be moved to any gain: the slope along it is zero, or it is zero
        /// itself and the slope is not negative.
        #[test]
        fn no_factor_can_be_moved_to_any_gain(
            rows in proptest::collection::vec((proptest::array::uniform3(0.0f64..8.0), 1.0f64..60.0), 5..12),
        ) {
            let rows: Vec<PowerRow> = rows.into_iter().map(|(busy, watts)| PowerRow { busy: busy.into(), watts }).collect();
            let fit = PowerFit::new(&["a", "b", "c"], &rows, None).unwrap();
            let factors = [fit.idle_watts, fit.kinds[0].watts, fit.kinds[1].watts, fit.kinds[2].watts];
            for (term, &factor) in factors.iter().enumerate() {
                let slope: f64 = fit.rows.iter().zip(&rows).map(|(fitted, row)| {
                    (fitted.modelled_watts - fitted.watts) * if term == 0 { 1.0 } else { row.busy[term - 1] }
                }).sum();
                prop_assert!(factor >= 0.0);
                prop_assert!(if factor > 0.0 { slope.abs() < 1e-6 } else { slope > -1e-6 }, "{term}: {factor}, {slope}");
            }
        }
    }
}
