//! Chains and pipelines as graphs in the DOT language, which Graphviz draws.

use std::fmt::{self, Write};

use crate::stage::StagePlan;
use crate::task::Node;
use crate::wire::WireInfo;

/// A stage to be drawn: its tasks, and the time per execution that was measured, once it has run.
pub(crate) struct Cluster<'a> {
    pub(crate) plan: &'a StagePlan,
    pub(crate) tasks: &'a [Node],
    pub(crate) measured_ns: Option<f64>,
}

/// The tasks of a chain and the wires between them.
pub(crate) fn chain(tasks: &[Node], wires: &[WireInfo]) -> String {
    graph(wires, |dot| write_tasks(dot, 0, tasks))
}

/// As [`chain`], with a frame around each stage.
pub(crate) fn pipeline<'a>(stages: impl Iterator<Item = Cluster<'a>>, wires: &[WireInfo]) -> String {
    graph(wires, |dot| {
        for (index, Cluster { plan, tasks, measured_ns }) in stages.enumerate() {
            let mut label = format!("{}\n{} thread(s)", plan.name, plan.threads);
            match &plan.threads_by_kind()[..] {
                [] => {}
                [(kind, _)] => write!(label, " on {kind}")?,
                kinds => {
                    let kinds: Vec<String> = kinds.iter().map(|(kind, threads)| format!("{threads} {kind}")).collect();
                    write!(label, " on {}", kinds.join(" + "))?;
                }
            }
            for (word, ns) in [("planned", plan.planned_ns), ("measured", measured_ns)] {
                if let Some(ns) = ns {
                    write!(label, "\n{word} {:.1} us", ns / 1000.0)?;
                }
            }
            writeln!(dot, "  subgraph cluster_{index} {{")?;
            writeln!(dot, "    label={}; color=gray;", quoted(&label))?;
            write_tasks(dot, plan.tasks.start, tasks)?;
            writeln!(dot, "  }}")?;
        }
        Ok(())
    })
}

fn graph(wires: &[WireInfo], tasks: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut dot = "digraph bief {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    tasks(&mut dot).and_then(|()| write_wires(&mut dot, wires)).expect("a string takes all that is written");
    dot.push_str("}\n");
    dot
}

/// Tasks with numbers from `first` on; rounded are those that may be replicated.
fn write_tasks(dot: &mut String, first: usize, tasks: &[Node]) -> fmt::Result {
    for (index, task) in tasks.iter().enumerate() {
        let style = if task.step.replica().is_some() { ", style=rounded" } else { "" };
        writeln!(dot, "  t{} [label={}{style}];", first + index, quoted(&task.name))?;
    }
    Ok(())
}

/// An arrow from whoever wrote a wire last to each that uses it then.
fn write_wires(dot: &mut String, wires: &[WireInfo]) -> fmt::Result {
    for (index, wire) in wires.iter().enumerate() {
        let elements = format!("{} x {}", wire.len, wire.format.element());
        let constant = wire.constant.is_some();
        if constant && !wire.uses.is_empty() {
            writeln!(dot, "  c{index} [label={}, shape=plaintext];", quoted(&format!("constant\n{elements}")))?;
        }
        let mut writer = wire.maker;
        let mut drawn = None;
        for used in &wire.uses {
            if constant && drawn != Some(used.task) {
                writeln!(dot, "  c{index} -> t{} [style=dashed];", used.task)?;
            } else if !constant && writer != used.task && drawn != Some(used.task) {
                let most = if used.variable { "up to " } else { "" };
                writeln!(dot, "  t{writer} -> t{} [label={}];", used.task, quoted(&format!("{most}{elements}")))?;
            }
            drawn = Some(used.task);
            if used.rewrites {
                writer = used.task;
            }
        }
    }
    Ok(())
}

/// A string of the language.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push('?'),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quoted("say \"a\\b\"\nnow\0"), r#""say \"a\\b\"\nnow?""#);
    }
}
