//! Received symbols in the plane, beside the points that they were sent as.

use bief_dsp::Complex32;
use bief_dsp::dvbs2::{Constellation, Pls};

use super::svg::{Anchor, Svg};

/// Pixels of a panel's side, of what surrounds it, and panels in a row.
const SIDE: f64 = 320.0;
const GAP: f64 = 24.0;
const HEAD: f64 = 64.0;
const COLUMNS: usize = 3;
/// What the panel reaches to on either side of its middle; symbols have unit mean energy.
const REACH: f64 = 1.7;

const STYLE: &str = ".paper{fill:#fff}.panel{fill:#fbfbfd;stroke:#ccd}.axis{stroke:#dde;stroke-width:1}\
.circle{fill:none;stroke:#dde}.symbols{fill:none;stroke:#1f6fb4;stroke-width:2.2;stroke-linecap:round;stroke-opacity:.35}.point{fill:none;stroke:#d1495b;stroke-width:1.5}\
.ink{fill:#222}.note{fill:#667}";

/// One panel for each kind of frame: symbols, and the points of the constellation; a line under the title says where they come
/// from.
pub(crate) fn draw(kinds: &[(Pls, Vec<Complex32>)], source: &str) -> String {
    let columns = kinds.len().clamp(1, COLUMNS);
    let rows = kinds.len().div_ceil(COLUMNS).max(1);
    let width = GAP + columns as f64 * (SIDE + GAP);
    let height = HEAD + rows as f64 * (SIDE + 2.0 * GAP) + GAP / 2.0;
    let mut svg = Svg::new();
    svg.text([GAP, 28.0], 17.0, Anchor::Start, "ink", "Constellation");
    svg.text([GAP, 48.0], 12.0, Anchor::Start, "note", &super::svg::fitted(source, width - 2.0 * GAP, 12.0));
    for (index, (pls, symbols)) in kinds.iter().enumerate() {
        let x = GAP + (index % COLUMNS) as f64 * (SIDE + GAP);
        let y = HEAD + (index / COLUMNS) as f64 * (SIDE + 2.0 * GAP) + GAP;
        panel(&mut svg, [x, y], *pls, symbols);
    }
    svg.document([width, height], "Constellation of the received symbols", STYLE)
}

fn panel(svg: &mut Svg, [x, y]: [f64; 2], pls: Pls, symbols: &[Complex32]) {
    let scale = 0.5 * SIDE / REACH;
    let place = |symbol: &Complex32| {
        [x + 0.5 * SIDE + scale * f64::from(symbol.re), y + 0.5 * SIDE - scale * f64::from(symbol.im)]
    };
    let inside = |symbol: &&Complex32| f64::from(symbol.re.abs().max(symbol.im.abs())) < REACH - 0.02;
    svg.rect([x, y, SIDE, SIDE], 4.0, "panel");
    svg.line([x, y + 0.5 * SIDE], [x + SIDE, y + 0.5 * SIDE], "axis");
    svg.line([x + 0.5 * SIDE, y], [x + 0.5 * SIDE, y + SIDE], "axis");
    svg.circle(place(&Complex32::ZERO), scale, "circle");
    svg.dots(symbols.iter().filter(inside).map(place), "symbols");
    let mut note = format!("{} symbols", symbols.len());
    if let Some(modcod) = pls.modcod() {
        let constellation = Constellation::new(modcod, pls.frame_size());
        constellation.points().iter().for_each(|point| svg.circle(place(point), 5.0, "point"));
        note = format!("MER {:.1} dB, {note}", error_ratio_db(&constellation, symbols));
    }
    svg.text([x, y - 8.0], 13.0, Anchor::Start, "ink", &pls.to_string());
    svg.text([x + SIDE, y - 8.0], 11.0, Anchor::End, "note", &note);
}

/// Modulation error ratio in dB: energy of the points over that of the distances from symbols to their nearest points.
fn error_ratio_db(constellation: &Constellation, symbols: &[Complex32]) -> f64 {
    let distance = |symbol: &Complex32| {
        let distances = constellation.points().iter().map(|point| (symbol - point).norm_sqr());
        f64::from(distances.fold(f32::INFINITY, f32::min))
    };
    let error: f64 = symbols.iter().map(distance).sum::<f64>() / symbols.len().max(1) as f64;
    -10.0 * error.max(1e-9).log10()
}

#[cfg(test)]
mod tests {
    use bief_dsp::dvbs2::FrameSize;

    use super::*;

    #[test]
    fn each_kind_of_frame_has_a_panel_with_its_points() {
        let kinds = [43, 115, 1 << 2].map(Pls::new);
        let symbols = vec![Complex32::new(0.7, 0.7), Complex32::new(9.0, 0.0)];
        let drawn = draw(&kinds.map(|pls| (pls, symbols.clone())), "a & b");
        assert!(drawn.starts_with("<svg") && drawn.ends_with("</svg>") && drawn.contains("a &amp; b"));
        assert_eq!(drawn.matches(r#"class="panel""#).count(), 3);
        assert_eq!(drawn.matches(r#"class="point""#).count(), 4 + 32 + 4);
        // What lies outside of the panel is not drawn.
        assert_eq!(drawn.matches("h0").count(), 3);
    }

    #[test]
    fn the_error_ratio_is_that_of_the_noise() {
        let qpsk = Constellation::new("qpsk-1/2".parse().unwrap(), FrameSize::Normal);
        let symbols: Vec<_> = qpsk.points().iter().map(|point| point + Complex32::new(0.1, 0.0)).collect();
        assert!((error_ratio_db(&qpsk, &symbols) - 20.0).abs() < 1e-3);
    }
}
