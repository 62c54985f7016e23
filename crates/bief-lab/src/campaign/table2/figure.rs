//! Table 2 as pictures: a panel per machine, a bar per schedule.

use bief_cli::draw::plot::{Axis, Figure, INK, Key, Mark, Panel, Shape};

use super::{Machine, Row, platform_name};
use crate::campaign::contender::Contender;

/// What a picture shows of each row, in one unit.
struct Values {
    unit: &'static str,
    bar: fn(&Row) -> f64,
    ring: fn(&Row) -> f64,
    dot: fn(&Row) -> f64,
}

/// The rates of all schedules: bars as computed, marks as printed and as measured.
pub(super) fn rates(rows: &[Row]) -> Figure {
    let values = Values {
        unit: "Mb/s",
        bar: |row| row.mbps,
        ring: |row| row.printed.sim_mbps,
        dot: |row| row.printed.real_mbps,
    };
    Figure {
        title: "Table 2: planned rates of a DVB-S2 receiver on four machines".to_owned(),
        caption: "information throughput of the schedules computed now; R = (big, little) cores".to_owned(),
        legend: legend("printed"),
        panel: (460, 260),
        rows: panels(rows, &values),
    }
}

/// The watts of all schedules: bars as modelled at the measured period, marks as modelled at the planned one and as measured.
pub(super) fn watts(rows: &[Row]) -> Figure {
    let values = Values {
        unit: "W",
        bar: |row| row.at_measured.watts,
        ring: |row| row.at_planned.watts,
        dot: |row| row.printed.watts,
    };
    Figure {
        title: "Table 2: power of a DVB-S2 receiver on four machines".to_owned(),
        caption: "as modelled for the cores that are busy at the measured period; R = (big, little) cores".to_owned(),
        legend: legend("at the planned period"),
        panel: (460, 260),
        rows: panels(rows, &values),
    }
}

fn legend(ring: &str) -> Vec<Key> {
    let key = |strategy: Contender| Key { label: strategy.name().to_owned(), color: strategy.color(), mark: Mark::Box };
    let mut legend: Vec<Key> = Contender::PUBLISHED.map(key).into();
    legend.push(Key { label: ring.to_owned(), color: INK, mark: Mark::Ring });
    legend.push(Key { label: "measured by the authors".to_owned(), color: INK, mark: Mark::Dot });
    legend
}

fn panels(rows: &[Row], values: &Values) -> Vec<Vec<Panel>> {
    let mut panels = Machine::of(rows).into_iter().map(|machine| panel(&machine, values));
    let mut pairs = Vec::new();
    while let Some(first) = panels.next() {
        pairs.push([Some(first), panels.next()].into_iter().flatten().collect());
    }
    pairs
}

fn panel(machine: &Machine, values: &Values) -> Panel {
    let rows = &machine.rows;
    let all = rows.iter().flat_map(|row| [(values.bar)(row), (values.ring)(row), (values.dot)(row)]);
    let most = all.fold(1.0, f64::max);
    let step = if most > 40.0 { 20.0 } else { 5.0 };
    let bar = |(place, row): (usize, &&Row)| Shape::Box {
        from: (place as f64 - 0.36, 0.0),
        to: (place as f64 + 0.36, (values.bar)(row)),
        color: row.strategy.color(),
    };
    let marks = |filled: bool, value: fn(&Row) -> f64| Shape::Dots {
        points: rows.iter().enumerate().map(|(place, row)| (place as f64, value(row))).collect(),
        color: INK,
        filled,
    };
    let mut shapes: Vec<Shape> = rows.iter().enumerate().map(bar).collect();
    shapes.push(marks(false, values.ring));
    shapes.push(marks(true, values.dot));
    let mut cores: Vec<String> = rows.iter().map(|row| row.cores.to_string()).collect();
    cores.dedup();
    Panel {
        title: format!("{}: R = {}", platform_name(machine.name), cores.join(", then ")),
        x: Axis::names(rows.iter().map(|row| row.printed.id.clone())),
        y: Axis::linear(0.0, (most * 1.08 / step).ceil() * step, step, 0).named(values.unit),
        shapes,
    }
}
