//! A report as a table for a terminal.

use std::fmt;

use crate::columns::{fitted, scaled};
use crate::energy::{EnergyOrigin, RunEnergy};
use crate::report::{Latency, Report};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_stages(f)?;
        if self.stages.iter().any(|stage| stage.gap.is_some()) {
            self.write_gaps(f)?;
        }
        if self.stages.iter().flat_map(|stage| &stage.tasks).any(|task| task.times.is_some()) {
            self.write_tasks(f)?;
        }
        if self.boundaries.iter().any(|boundary| boundary.occupancy.is_some()) {
            self.write_boundaries(f)?;
        }
        if let Some(latency) = &self.latency {
            write_latency(f, latency)?;
        }
        if let Some(dynamic) = &self.dynamic {
            write!(f, "\n\n{dynamic}")?;
        }
        if let Some(real_time) = &self.real_time {
            write!(f, "\n\n{real_time}")?;
        }
        if let Some(energy) = &self.energy {
            write_energy(f, energy)?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n\n{note}"))
    }
}

impl Report {
    fn write_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let microseconds = |ns: f64| format!("{:.1}", ns / 1000.0);
        let planned = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), microseconds);
        writeln!(
            f,
            "{:<30} {:>7} {:>10} {:>11} {:>5} {:>4} {:>4}",
            "stage", "threads", "planned us", "measured us", "busy%", "in%", "out%"
        )?;
        for (index, stage) in self.stages.iter().enumerate() {
            let limits = if index == self.limiting_stage && self.stages.len() > 1 { " <" } else { "" };
            writeln!(
                f,
                "{:<30} {:>7} {:>10} {:>11} {:>5.0} {:>4.0} {:>4.0}{limits}",
                fitted(&stage.name, 30),
                stage.threads,
                planned(stage.planned_ns),
                microseconds(stage.measured_ns),
                100.0 * stage.busy,
                100.0 * stage.waiting_for_input,
                100.0 * stage.waiting_for_output,
            )?;
            if let Some(device) = &stage.device {
                let [copy_in, tasks, copy_out, host] =
                    [device.copy_in_ns, device.tasks_ns, device.copy_out_ns, device.host_ns].map(microseconds);
                let name = fitted(&device.name, 16);
                let lanes = stage.threads;
                writeln!(
                    f,
                    "  {lanes} lanes of {name}: copies in {copy_in} us, tasks {tasks}, copies out {copy_out};"
                )?;
                write!(f, "  processor time {host}")?;
                match device.copy_gb_per_s() {
                    [Some(read), Some(write)] => write!(f, "; {read:.1} GB/s in, {write:.1} out")?,
                    [Some(read), None] => write!(f, "; {read:.1} GB/s in")?,
                    [None, Some(write)] => write!(f, "; {write:.1} GB/s out")?,
                    [None, None] => {}
                }
                match device.gather {
                    0 | 1 => writeln!(f)?,
                    most => writeln!(f, "; {:.1} of {most} batches a launch", device.executions_per_launch)?,
                }
                if device.first_launch_seconds > 0.0 {
                    let seconds = device.first_launch_seconds;
                    writeln!(f, "  the first launch of a lane, which makes buffers: {seconds:.3} s")?;
                }
            }
            for kind in &stage.kinds {
                writeln!(
                    f,
                    "  {:<28} {:>7} {:>10} {:>11} {:>5.0}",
                    fitted(&format!("each {}, {} batches", kind.kind, kind.executions), 28),
                    kind.threads,
                    planned(kind.planned_ns),
                    microseconds(kind.measured_ns),
                    100.0 * kind.busy,
                )?;
            }
        }
        write!(
            f,
            "{:<30} {:>7} {:>10} {:>11}",
            format!("whole, {}", per(self.batch)),
            self.stages.iter().map(|stage| stage.threads).sum::<usize>(),
            planned(self.planned_period_ns),
            microseconds(self.measured_period_ns),
        )?;
        for stage in self.stages.iter().filter(|stage| stage.lost > 0) {
            write!(f, "\n{:<30} {} elements lost", fitted(&stage.name, 30), stage.lost)?;
        }
        Ok(())
    }

    fn write_gaps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let copies = self.stages.iter().any(|stage| stage.device.is_some());
        let (head, width) = if copies { ("the period goes to", 18) } else { ("where the period goes", 22) };
        write!(f, "\n\n{head:<width$} {:>8} {:>7} {:>7}", "planned", "clock", "cache")?;
        if copies {
            write!(f, " {:>6}", "copies")?;
        }
        write!(f, " {:>9} {:>9} {:>9}", "interrupt", "hand-over", "waiting")?;
        for stage in &self.stages {
            write!(f, "\n{:<width$}", fitted(&stage.name, width))?;
            let Some(gap) = &stage.gap else { continue };
            let [planned, clock, cache, copy, interrupted, hand_over, waiting] = [
                gap.planned_ns,
                gap.clock_ns,
                gap.cache_ns,
                gap.copy_ns,
                gap.interrupted_ns,
                gap.hand_over_ns,
                gap.waiting_ns,
            ]
            .map(|ns| ns / 1e3);
            write!(f, " {planned:>8.1} {clock:>+7.1} {cache:>+7.1}")?;
            if copies {
                write!(f, " {copy:>+6.1}")?;
            }
            write!(f, " {interrupted:>+9.1} {hand_over:>+9.1} {waiting:>+9.1}")?;
        }
        write!(
            f,
            "\n(us per execution and replica; what is less than planned is negative; each line\nadds up to the measured period)"
        )
    }

    fn write_tasks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = format!("task, {}", per(self.batch));
        write!(f, "\n\n{head:<30} {:>9} {:>9} {:>9} {:>9} {:>9}", "sampled", "min", "median", "p99", "max")?;
        for task in self.stages.iter().flat_map(|stage| &stage.tasks) {
            write!(f, "\n{:<30}", fitted(&task.name, 30))?;
            match &task.times {
                None => write!(f, " {:>9}", 0)?,
                Some(times) => {
                    write!(f, " {:>9}", times.count)?;
                    for ns in [times.min_ns, times.median_ns, times.p99_ns, times.max_ns] {
                        write!(f, " {:>9}", scaled(ns))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_boundaries(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\n\n{:<30} {:>5} {:>8} {:>9} {:>5} {:>5} {:>5}",
            "between stages", "slots", "in waits", "out waits", "held", "most", "full%"
        )?;
        for (boundary, ends) in self.boundaries.iter().zip(self.stages.windows(2)) {
            let names = format!("{} > {}", fitted(&boundary.from, 13), fitted(&boundary.to, 13));
            write!(
                f,
                "\n{names:<30} {:>5} {:>8} {:>9}",
                boundary.slots, ends[1].waits_for_input, ends[0].waits_for_output
            )?;
            if let Some(occupancy) = &boundary.occupancy {
                write!(f, " {:>5.1} {:>5} {:>5.0}", occupancy.mean, occupancy.max, 100.0 * occupancy.full)?;
            }
        }
        Ok(())
    }
}

fn write_latency(f: &mut fmt::Formatter<'_>, latency: &Latency) -> fmt::Result {
    write!(
        f,
        "\n\n{:<20} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n{:<20} {:>9}",
        "latency", "frames", "min", "median", "p90", "p99", "max", "source to sink", latency.frames
    )?;
    for ns in [latency.min_ns, latency.median_ns, latency.p90_ns, latency.p99_ns, latency.max_ns] {
        write!(f, " {:>9}", scaled(ns))?;
    }
    Ok(())
}

fn write_energy(f: &mut fmt::Formatter<'_>, energy: &RunEnergy) -> fmt::Result {
    write!(f, "\n\nenergy: {}, {:.1} W", joules(energy.joules), energy.watts)?;
    for (each, unit) in [(energy.joules_per_frame, "frame"), (energy.joules_per_bit, "bit")] {
        each.map_or(Ok(()), |each| write!(f, "; {} per {unit}", joules(each)))?;
    }
    match &energy.origin {
        EnergyOrigin::Measured { source, scope } => write!(f, "\n(measured by {source}: {scope})"),
        EnergyOrigin::Modelled { watts_of } => write!(f, "\n(modelled, with the watts of {watts_of})"),
    }
}

/// An energy in the unit that suits it, with three digits.
fn joules(joules: f64) -> String {
    let units = [(1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"), (1e-9, "nJ"), (1e-12, "pJ")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| joules >= 0.9995 * scale).unwrap_or(units[4]);
    let value = joules / scale;
    let digits = 2_usize.saturating_sub(value.max(1.0).log10() as usize);
    format!("{value:.digits$} {unit}")
}

/// What a time is told of.
fn per(frames: usize) -> String {
    if frames == 1 { "per frame".to_owned() } else { format!("per {frames} frames") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_have_three_digits_and_a_unit() {
        let shown = [0.0, 3.2e-9, 0.9999e-3, 12.34e-3, 1.0, 123.4, 98_765.0].map(joules);
        assert_eq!(shown, ["0.00 pJ", "3.20 nJ", "1.00 mJ", "12.3 mJ", "1.00 J", "123 J", "98765 J"]);
    }
}
