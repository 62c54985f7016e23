//! What is told of all results together: which classes, and how far they are from what is expected.

use std::cmp::Ordering;
use std::path::Path;

use serde_json::{Value, json};

/// Classes that the table shows.
const SHOWN: usize = 10;
/// Values of a result that are taken for classes.
const MOST_CLASSES: usize = 100_000;

/// The numbers of the largest values, the largest first; what is no number is less than all.
pub(super) fn best(values: &[f32], count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..values.len()).collect();
    let order = |&a: &usize, &b: &usize| by_size(values[b], values[a]).then(a.cmp(&b));
    if count < numbers.len() {
        numbers.select_nth_unstable_by(count, order);
        numbers.truncate(count);
    }
    numbers.sort_by(order);
    numbers
}

fn by_size(a: f32, b: f32) -> Ordering {
    b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(&b))
}

/// Counts results.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) frames: u64,
    /// Values of each result.
    of_each: u64,
    classes: Vec<u64>,
    /// Results with something in them that is no number: they are of no class.
    not_numbers: u64,
    compared: Option<Compared>,
}

/// Results beside those that are expected.
#[derive(Debug)]
struct Compared {
    expected: Vec<f32>,
    tolerance: f32,
    /// The largest difference over one more than the largest value, and the frame that has it.
    worst: (f32, u64),
    same_class: u64,
    beyond: u64,
}

impl Tally {
    /// Compares results with these, one after the other, and with the first again after the last.
    pub(super) fn compare(&mut self, expected: Vec<f32>, tolerance: f32) {
        self.compared = Some(Compared { expected, tolerance, worst: (0.0, 0), same_class: 0, beyond: 0 });
    }

    /// Counts the result of the frame of a number.
    pub(super) fn add(&mut self, number: u64, values: &[f32]) {
        self.of_each = values.len() as u64;
        let is_number = !values.iter().any(|value| value.is_nan());
        self.not_numbers += u64::from(!is_number);
        if values.len() <= MOST_CLASSES {
            self.classes.resize(values.len(), 0);
            let class = (0..values.len()).max_by(|&a, &b| by_size(values[a], values[b]).then(b.cmp(&a)));
            class.filter(|_| is_number).into_iter().for_each(|class| self.classes[class] += 1);
        }
        if let Some(compared) = &mut self.compared {
            compared.add(values, number);
        }
        self.frames += 1;
    }

    /// What is wrong with the results, if something is.
    pub(super) fn fault(&self, path: &Path) -> Option<String> {
        let compared = self.compared.as_ref()?;
        let path = path.display();
        let (worst, frame) = compared.worst;
        let there = compared.expected.len();
        if self.of_each > 0 && !(self.frames * self.of_each).is_multiple_of(there as u64) {
            return Some(format!(
                "{path}: it has {} results, and {} were made, which are no multiple of them",
                there as u64 / self.of_each,
                self.frames
            ));
        }
        (compared.beyond > 0).then(|| {
            format!(
                "{path}: {} of {} results differ by more than the tolerance, most frame {frame}: by {worst:e} of one more than its \
                 largest value",
                compared.beyond, self.frames
            )
        })
    }

    pub(super) fn rows(&self, labels: &[String]) -> Vec<(&'static str, String)> {
        let mut rows = vec![("frames", self.frames.to_string())];
        let mut counted: Vec<(usize, u64)> =
            self.classes.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect();
        counted.sort_by_key(|&(class, count)| (std::cmp::Reverse(count), class));
        if self.classes.len() > 1 && !counted.is_empty() {
            let named = |&(class, count): &(usize, u64)| match labels.get(class) {
                Some(label) => format!("{label} {count}"),
                None => format!("{class}: {count}"),
            };
            let shown: Vec<String> = counted.iter().take(SHOWN).map(named).collect();
            let more = counted.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            rows.push(("classes", format!("{}{more}", shown.join(", "))));
        }
        if self.not_numbers > 0 {
            rows.push(("NaN", format!("in {} of {} results", self.not_numbers, self.frames)));
        }
        if let Some(compared) = &self.compared {
            let (worst, frame) = compared.worst;
            let same = compared.same_class;
            rows.push((
                "compared",
                format!("{same} of {} of the same class, at most {worst:.1e} away (frame {frame})", self.frames),
            ));
        }
        rows
    }

    pub(super) fn to_json(&self) -> Value {
        let compared = self.compared.as_ref().map(|compared| {
            json!({
                "tolerance": compared.tolerance, "worst": compared.worst.0, "worst_frame": compared.worst.1,
                "same_class": compared.same_class, "beyond": compared.beyond,
            })
        });
        json!({
            "frames": self.frames, "classes": self.classes, "not_numbers": self.not_numbers, "compared": compared,
        })
    }
}

impl Compared {
    fn add(&mut self, values: &[f32], frame: u64) {
        let results = (self.expected.len() / values.len().max(1)).max(1);
        let start = (frame % results as u64) as usize * values.len();
        let Some(expected) = self.expected.get(start..start.saturating_add(values.len())) else {
            self.beyond += 1;
            return;
        };
        let largest = expected.iter().fold(0_f32, |most, value| most.max(value.abs()));
        let away = |(value, expected): (&f32, &f32)| {
            let away = (value - expected).abs();
            // What is no number differs.
            if away.is_nan() { f32::INFINITY } else { away }
        };
        let worst = values.iter().zip(expected).map(away).fold(0_f32, f32::max) / (1.0 + largest);
        self.beyond += u64::from(worst > self.tolerance);
        self.same_class += u64::from(best(values, 1) == best(expected, 1));
        if worst > self.worst.0 {
            self.worst = (worst, frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_of_equal_ones_the_first() {
        assert_eq!(best(&[1.0, 5.0, 5.0, 2.0], 3), [1, 2, 3]);
        assert_eq!(best(&[1.0], 5), [0]);
        assert_eq!(best(&[], 5), [0; 0]);
        assert_eq!(best(&[f32::NAN, 1.0, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY], 3), [3, 1, 4]);
    }

    #[test]
    fn differences_count_by_the_largest_value() {
        let mut tally = Tally::default();
        tally.compare(vec![0.0, 9.0, 3.0, 0.0, 1.0, 0.0], 0.02);
        tally.add(0, &[0.0, 9.1]);
        tally.add(1, &[0.0, 3.0]);
        tally.add(2, &[f32::NAN, 0.0]);
        let told = tally.fault(Path::new("y.f32")).unwrap();
        assert!(told.starts_with("y.f32: 2 of 3 results differ") && told.contains("frame 2"), "{told}");
        assert_eq!(tally.to_json()["compared"]["same_class"], 1);
        assert_eq!((&tally.to_json()["classes"], &tally.to_json()["not_numbers"]), (&json!([0, 2]), &json!(1)));
        let mut long = Tally::default();
        long.compare(vec![0.0; 4], 1.0);
        long.add(0, &[0.0, 0.0]);
        assert!(long.fault(Path::new("y")).unwrap().contains("it has 2 results, and 1 were made"));
        let mut same = Tally::default();
        same.compare(vec![1.0, 2.0, 3.0, 4.0], 0.0);
        for (number, values) in [(1, [3.0, 4.0]), (0, [1.0, 2.0]), (3, [3.0, 4.0]), (2, [1.0, 2.0])] {
            same.add(number, &values);
        }
        assert_eq!(same.fault(Path::new("y")), None);
        same.add(4, &[1.0, 2.5]);
        same.add(5, &[3.0, 4.0]);
        assert!(same.fault(Path::new("y")).unwrap().contains("frame 4"));
    }
}
