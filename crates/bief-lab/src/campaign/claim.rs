//! What a paper says, beside what was found.

use bief_cli::text::{COLUMNS, wrapped};
use serde::Serialize;

/// A sentence of a paper, or a finding of our own.
#[derive(Serialize)]
pub(super) struct Claim {
    #[serde(rename = "claim")]
    pub(super) what: &'static str,
    /// Where the paper says so; `None`: it does not.
    pub(super) section: Option<&'static str>,
    /// What the text prints.
    pub(super) printed: String,
    pub(super) found: String,
    /// `None` where too little was measured to tell.
    pub(super) holds: Option<bool>,
    /// What follows from the paper's own definitions, or why what was found is not what is printed.
    pub(super) why: String,
}

/// The claims and how many of the paper's hold, for a terminal.
pub(super) fn rows(claims: &[Claim]) -> Vec<String> {
    let mut lines = Vec::new();
    for claim in claims {
        let verdict = match claim.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "?",
        };
        let section = claim.section.map_or_else(|| "ours".to_owned(), |section| format!("section {section}"));
        let printed = if claim.printed.is_empty() { String::new() } else { format!(" Printed: {}.", claim.printed) };
        let why = if claim.why.is_empty() { String::new() } else { format!(" Why: {}.", claim.why) };
        let sentence = format!("{}; {section}.{printed} Found: {}.{why}", claim.what, claim.found);
        for (index, line) in wrapped(&sentence, COLUMNS - 5).into_iter().enumerate() {
            lines.push(format!("{:3}  {line}", if index == 0 { verdict } else { "" }));
        }
    }
    let of_paper = || claims.iter().filter(|claim| claim.section.is_some());
    let held = of_paper().filter(|claim| claim.holds == Some(true)).count();
    lines.push(String::new());
    lines.push(format!("{held} of {} claims of the paper are reproduced.", of_paper().count()));
    lines
}
