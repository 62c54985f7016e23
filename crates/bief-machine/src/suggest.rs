//! What someone may have meant who wrote a name that there is not.

/// A longer name is compared with nothing: it is no slip of the finger.
const LONGEST: usize = 64;
/// Names that are listed at most.
const MAX_LISTED: usize = 12;

/// `: did you mean …?` for a name that is near, else the names that there are.
pub fn suggestion<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let max_slips = 1 + wrong.chars().count() / 4;
    let slips = known.iter().filter_map(|name| Some((distance(wrong, name)?, *name)));
    if let Some((_, name)) = slips.filter(|&(slips, _)| slips <= max_slips).min() {
        return format!(": did you mean `{name}`?");
    }
    let listed: Vec<String> = known.iter().take(MAX_LISTED).map(|name| format!("`{name}`")).collect();
    match (&listed[..], known.len()) {
        ([], _) => ": there are none".to_owned(),
        ([only], 1) => format!(": there is {only}"),
        (listed, count) if count > listed.len() => {
            format!(": there are {} and {} more", listed.join(", "), count - listed.len())
        }
        ([others @ .., last], _) => format!(": there are {} and {last}", others.join(", ")),
    }
}

/// Letters to insert, leave out or exchange to make the one of the other (Levenshtein's distance).
fn distance(a: &str, b: &str) -> Option<usize> {
    if a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    Some(strsim::levenshtein(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        let counted = [("", "abc"), ("agc", "agc"), ("acg", "agc"), ("kitten", "sitting"), ("é", "e")];
        assert_eq!(counted.map(|(a, b)| distance(a, b)), [Some(3), Some(0), Some(2), Some(3), Some(1)]);
        assert_eq!(distance(&"a".repeat(65), "a"), None);
    }

    #[test]
    fn a_near_name_is_suggested_else_all_are_listed() {
        assert_eq!(suggestion("radio.agd", ["radio.agc", "radio.fir"]), ": did you mean `radio.agc`?");
        assert_eq!(suggestion("x", ["gain", "taps"]), ": there are `gain` and `taps`");
        assert_eq!(suggestion("x", ["gain"]), ": there is `gain`");
        assert_eq!(suggestion("x", []), ": there are none");
        let many: Vec<String> = (100..120).map(|number| number.to_string()).collect();
        assert!(suggestion("gain", many.iter().map(String::as_str)).ends_with("`111` and 8 more"));
    }
}
