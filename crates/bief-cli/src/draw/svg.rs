//! What SVG is made of.

use std::fmt::Write;

/// A picture that grows element by element. Lengths are in pixels, from the top left corner.
pub(crate) struct Svg {
    elements: String,
}

/// Which point of a text stands at the position that is given for it.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(crate) fn new() -> Self {
        Self { elements: String::new() }
    }

    /// A rectangle with corners of radius `radius`.
    pub(crate) fn rect(&mut self, [x, y, width, height]: [f64; 4], radius: f64, class: &str) {
        self.add(format_args!(
            r#"<rect class="{class}" x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" rx="{radius}"/>"#
        ));
    }

    pub(crate) fn circle(&mut self, [x, y]: [f64; 2], radius: f64, class: &str) {
        self.add(format_args!(r#"<circle class="{class}" cx="{x:.2}" cy="{y:.2}" r="{radius}"/>"#));
    }

    /// Many points in one element; the class gives them their size, as the width of a stroke with round ends.
    pub(crate) fn dots(&mut self, points: impl Iterator<Item = [f64; 2]>, class: &str) {
        let mut path = String::new();
        for [x, y] in points {
            write!(path, "M{x:.1} {y:.1}h0").expect("memory takes all text");
        }
        self.add(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    pub(crate) fn line(&mut self, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
        self.add(format_args!(r#"<line class="{class}" x1="{x1:.2}" y1="{y1:.2}" x2="{x2:.2}" y2="{y2:.2}"/>"#));
    }

    /// A line through points, at least two, with a head at its end; classes of the line and of the head.
    pub(crate) fn arrow(&mut self, points: &[[f64; 2]], [line, head]: [&str; 2]) {
        let path: Vec<String> = points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
        self.add(format_args!(r#"<polyline class="{line}" points="{}"/>"#, path.join(" ")));
        let [[x1, y1], [x2, y2]] = [points[points.len() - 2], points[points.len() - 1]];
        let length = (x2 - x1).hypot(y2 - y1).max(1e-9);
        let (along, across) = ([(x2 - x1) / length, (y2 - y1) / length], 3.5);
        let back = |side: f64| {
            let [x, y] = along;
            format!("{:.2},{:.2}", x2 - 8.0 * x - side * across * y, y2 - 8.0 * y + side * across * x)
        };
        self.add(format_args!(r#"<polygon class="{head}" points="{x2:.2},{y2:.2} {} {}"/>"#, back(1.0), back(-1.0)));
    }

    /// One line of text of `size` pixels, on a base line at `y`.
    pub(crate) fn text(&mut self, [x, y]: [f64; 2], size: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(format_args!(
            r#"<text class="{class}" x="{x:.2}" y="{y:.2}" font-size="{size}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.elements, "{element}").expect("memory takes all text");
    }

    /// The whole document, on paper of the class `paper`, ended without a line break.
    pub(crate) fn document(&self, [width, height]: [f64; 2], title: &str, style: &str) -> String {
        let title = escaped(title);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" font-family="system-ui, sans-serif">
<title>{title}</title>
<style>{style}</style>
<rect class="paper" width="{width:.0}" height="{height:.0}" rx="10"/>
{}</svg>"#,
            self.elements
        )
    }
}

/// The text as it stands between tags; characters that XML has no place for are shown as `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{FFFE}' | '\u{FFFF}' => escaped.push('?'),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// How wide a line of text is at most, about, whatever the font that a reader has.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '(' | ')' | '-' => {
            0.4
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'A'..='Z' | '&' => 0.75,
        c if c < '\u{1100}' => 0.64,
        _ => 1.1,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text in lines of at most `width` pixels, broken at spaces that break; a word that is longer is cut.
pub(crate) fn lines(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = fitted(word, width, size);
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// The text in at most `width` pixels, an ellipsis standing for what is missing.
pub(crate) fn fitted(text: &str, width: f64, size: f64) -> String {
    let mut kept = text.to_owned();
    while text_width(&kept, size) > width && kept.chars().count() > 1 {
        kept = kept.trim_end_matches('…').to_owned();
        kept.pop();
        kept.truncate(kept.trim_end().len());
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escaped("a < b & \u{1b}c > d"), "a &lt; b &amp; ?c &gt; d");
    }

    #[test]
    fn lines_are_as_wide_as_asked() {
        let text = "a few words, and averyveryverylongonethatfitsnowhere";
        for width in [40.0, 80.0, 200.0] {
            let lines = lines(text, width, 10.0);
            assert!(lines.iter().all(|line| text_width(line, 10.0) <= width), "{lines:?}");
        }
        assert_eq!(lines(text, 1e4, 10.0), [text]);
        assert_eq!(fitted("abc", 1.0, 10.0), "…");
    }
}
