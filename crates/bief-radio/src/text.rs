//! Text of foreign files in messages.

/// Characters of a foreign text that a message shows at most.
const SHOWN: usize = 60;

/// The text without what would move the cursor of a terminal, an ellipsis standing for what is too long.
pub(crate) fn printable(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).map(|c| if is_printed(c) { c } else { '?' }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Whether a character leaves the order of those around it alone.
fn is_printed(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_not_shown_nor_what_is_too_long() {
        assert_eq!(printable("a\u{1b}[31mé\n\u{202E}"), "a?[31mé??");
        let long = printable(&"x".repeat(1_000_000));
        assert_eq!((long.chars().count(), long.ends_with("x…")), (61, true));
        assert_eq!(printable(&"x".repeat(60)).len(), 60);
    }
}
