//! Texts as broadcasters send them: EN 300 468, Annex A.

/// A text without control characters, by the table that its first bytes name. Of the one-byte tables Latin (ISO 6937 with its
/// accents, ISO 8859-1, -5, -7, -9 and -15), of the others UTF-8 and UTF-16 are known; of any further one the characters of ASCII.
///
/// ```
/// use bief_dsp::transport::text;
/// assert_eq!(text(b"\x86Caf\xC2e\x87 1"), "Café 1"); // ISO 6937: the accent comes first
/// assert_eq!(text(b"\x15\xE2\x82\xAC"), "€");
/// assert_eq!(text(b"\x10\x00\x05\xBF"), "П");
/// ```
pub fn text(bytes: &[u8]) -> String {
    let all: String = match bytes {
        [0x15, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0x11, rest @ ..] => utf16(rest),
        [0x10, 0, part, rest @ ..] => rest.iter().map(|byte| latin(*part, *byte)).collect(),
        [first @ 0x01..=0x0B, rest @ ..] => rest.iter().map(|byte| latin(first + 4, *byte)).collect(),
        [0x12..=0x14 | 0x16..=0x1F, ..] => bytes[1..].iter().map(|byte| latin(0, *byte)).collect(),
        _ => iso_6937(bytes),
    };
    all.chars().filter(|c| !c.is_control()).collect()
}

fn utf16(bytes: &[u8]) -> String {
    let units = bytes.as_chunks().0.iter().map(|two| u16::from_be_bytes(*two));
    let all = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
    // Control codes have a private area.
    all.filter(|c| !('\u{E080}'..='\u{E09F}').contains(c)).collect()
}

/// A character of a part of ISO 8859.
fn latin(part: u8, byte: u8) -> char {
    let unicode = u32::from(byte);
    let other = char::REPLACEMENT_CHARACTER;
    let moved = |by: u32| char::from_u32(unicode + by).unwrap_or(other);
    match (part, byte) {
        (_, ..=0x9F) => char::from(byte),
        (5, 0xA0 | 0xAD) => char::from(byte),
        (5, 0xF0) => '№',
        (5, 0xFD) => '§',
        (5, _) => moved(0x360),
        (7, 0xA1) => '‘',
        (7, 0xA2) => '’',
        (7, 0xA4) => '€',
        (7, 0xA5) => '₯',
        (7, 0xAA) => 'ͺ',
        (7, 0xAF) => '―',
        (7, 0xAE | 0xD2 | 0xFF) => other,
        (7, 0xB4..=0xB6 | 0xB8..=0xBA | 0xBC | 0xBE..) => moved(0x2D0),
        (7, _) => char::from(byte),
        (9, 0xD0) => 'Ğ',
        (9, 0xDD) => 'İ',
        (9, 0xDE) => 'Ş',
        (9, 0xF0) => 'ğ',
        (9, 0xFD) => 'ı',
        (9, 0xFE) => 'ş',
        (15, 0xA4) => '€',
        (15, 0xA6) => 'Š',
        (15, 0xA8) => 'š',
        (15, 0xB4) => 'Ž',
        (15, 0xB8) => 'ž',
        (15, 0xBC) => 'Œ',
        (15, 0xBD) => 'œ',
        (15, 0xBE) => 'Ÿ',
        (1 | 9 | 15, _) => char::from(byte),
        _ => other,
    }
}

/// ISO 6937: an accent stands before its letter.
fn iso_6937(bytes: &[u8]) -> String {
    let mut all = String::new();
    let mut accent = None;
    for byte in bytes {
        let letter = match byte {
            0xC1..=0xCF => {
                accent = Some(*byte);
                continue;
            }
            ..=0x9F => char::from(*byte),
            _ => upper_6937(*byte),
        };
        all.push(match accent.take() {
            Some(accent) => accented(accent, letter).unwrap_or(letter),
            None => letter,
        });
    }
    all
}

/// The upper half of ISO 6937 without the accents, with the euro sign that DVB adds.
fn upper_6937(byte: u8) -> char {
    const A0: [char; 32] = [
        '\u{A0}', '¡', '¢', '£', '€', '¥', '\u{FFFD}', '§', '¤', '‘', '“', '«', '←', '↑', '→', '↓', '°', '±', '²', '³',
        '×', 'µ', '¶', '·', '÷', '’', '”', '»', '¼', '½', '¾', '¿',
    ];
    const D0: [char; 48] = [
        '―', '¹', '®', '©', '™', '♪', '¬', '¦', '\u{FFFD}', '\u{FFFD}', '\u{FFFD}', '\u{FFFD}', '⅛', '⅜', '⅝', '⅞',
        'Ω', 'Æ', 'Đ', 'ª', 'Ħ', '\u{FFFD}', 'Ĳ', 'Ŀ', 'Ł', 'Ø', 'Œ', 'º', 'Þ', 'Ŧ', 'Ŋ', 'ŉ', 'ĸ', 'æ', 'đ', 'ð', 'ħ',
        'ı', 'ĳ', 'ŀ', 'ł', 'ø', 'œ', 'ß', 'þ', 'ŧ', 'ŋ', '\u{AD}',
    ];
    let at = |from: u8| usize::from(byte.wrapping_sub(from));
    A0.get(at(0xA0)).or_else(|| D0.get(at(0xD0))).copied().unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A letter with its accent, where that is one character.
fn accented(accent: u8, letter: char) -> Option<char> {
    const BY_ACCENT: [(u8, &str, &str); 13] = [
        (0xC1, "AEIOUaeiou", "ÀÈÌÒÙàèìòù"),
        (0xC2, "ACEILNORSUYZacegilnorsuyz", "ÁĆÉÍĹŃÓŔŚÚÝŹáćéģíĺńóŕśúýź"),
        (0xC3, "ACEGHIJOSUWYaceghijosuwy", "ÂĈÊĜĤÎĴÔŜÛŴŶâĉêĝĥîĵôŝûŵŷ"),
        (0xC4, "AINOUainou", "ÃĨÑÕŨãĩñõũ"),
        (0xC5, "AEIOUaeiou", "ĀĒĪŌŪāēīōū"),
        (0xC6, "AGUagu", "ĂĞŬăğŭ"),
        (0xC7, "CEGIZcegz", "ĊĖĠİŻċėġż"),
        (0xC8, "AEIOUYaeiouy", "ÄËÏÖÜŸäëïöüÿ"),
        (0xCA, "AUau", "ÅŮåů"),
        (0xCB, "CGKLNRSTcklnrst", "ÇĢĶĻŅŖŞŢçķļņŗşţ"),
        (0xCD, "OUou", "ŐŰőű"),
        (0xCE, "AEIUaeiu", "ĄĘĮŲąęįų"),
        (0xCF, "CDELNRSTZcdelnrstz", "ČĎĚĽŇŘŠŤŽčďěľňřšťž"),
    ];
    let (_, plain, full) = BY_ACCENT.iter().find(|(known, ..)| *known == accent)?;
    full.chars().nth(plain.chars().position(|known| known == letter)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_by_the_byte_that_names_it() {
        assert_eq!(text(b"Das Erste HD"), "Das Erste HD");
        assert_eq!(text(b"\x05\xDEow\xFD"), "Şowı"); // ISO 8859-9
        assert_eq!(text(b"\x01\xBF\xE0\xD0"), "Пра"); // ISO 8859-5
        assert_eq!(text(b"\x0B\xA4"), "€"); // ISO 8859-15
        assert_eq!(text(b"\x10\x00\x07\xC1\xE2"), "Αβ"); // ISO 8859-7
        assert_eq!(text(b"\x11\x00A\x20\xAC\xE0\x86"), "A€");
        assert_eq!(text(b"\xC8uber \xCFSkoda \xE1\xFB"), "über Škoda Æß");
        assert_eq!(text(b"\xC2"), "");
        for (_, plain, full) in (0xC1..=0xCF_u8).filter_map(|accent| {
            let letters: String = ('A'..='z').filter(|c| accented(accent, *c).is_some()).collect();
            let full: String = letters.chars().filter_map(|c| accented(accent, c)).collect();
            (!letters.is_empty()).then_some((accent, letters, full))
        }) {
            assert_eq!(plain.chars().count(), full.chars().count());
            assert!(full.chars().all(|c| !c.is_ascii()));
        }
    }

    #[test]
    fn any_bytes_are_a_text_without_control_characters() {
        for first in 0..=255 {
            for second in 0..=255 {
                let all = text(&[first, second, 0x1B, second, first]);
                assert!(!all.contains(char::is_control), "{first:#x} {second:#x}");
            }
        }
        assert_eq!(text(&[]), "");
    }
}
