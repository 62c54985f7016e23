//! Kinds of cores that are not here, on the cores that are.

use std::collections::BTreeMap;

use super::arrange::in_order;
use super::document::is_speed;
use super::{Core, CoreSpec, Machine, list, platform};
use crate::error::Result;
use crate::toml_file::{At, Span, Table, Text};

impl Machine {
    /// This machine's cores as other kinds of cores, as a TOML file tells; cores that it does not name are not used.
    ///
    /// ```
    /// let here = bief_machine::Machine::here();
    /// let machine = bief_machine::Machine::emulated(
    ///     r#"
    ///     [[kind]]
    ///     name = "little"
    ///     cores = "0"               # hardware threads, as in 0-3,8
    ///     speed = 0.45              # of the speed that the core has; 1 where it is left out
    ///     [kind.tasks]              # tasks that are slowed down otherwise, by name
    ///     "decode LDPC" = 0.30
    ///     "#,
    ///     &here,
    /// )?;
    /// assert_eq!(machine.kinds()[0].speed, 0.45);
    /// assert!(machine.is_emulated());
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    ///
    /// A core may be named by any of its hardware threads, and has all of them. The kinds are sorted by their speed.
    ///
    /// # Errors
    ///
    /// With line and key: where there is no kind, a name is not one, a core is not here, is in two kinds, or is of another kind
    /// here than others of its kind, or a speed is not above 0 and at most 1.
    pub fn emulated(text: &str, here: &Self) -> Result<Self> {
        Self::emulated_by(Text { name: "machine".to_owned(), text: text.to_owned() }, here)
    }

    pub(super) fn emulated_by(text: Text, here: &Self) -> Result<Self> {
        let mut file = Table::whole(&text, "a machine")?;
        let entries = file.tables("kind", "a kind")?;
        file.nothing_else(&["kind"])?;
        if entries.is_empty() {
            return Err(
                text.error(&(0..0), "there is no kind: write [[kind]] with a `name` and `cores`, as in \"0-3\"")
            );
        }
        // For each core here, the kind that it stands for.
        let mut taken: Vec<Option<usize>> = vec![None; here.cores.len()];
        let mut kinds: Vec<CoreSpec> = Vec::new();
        for entry in entries {
            let Entry { kind, name, cores } = entry_of(entry, &text, here)?;
            if kinds.iter().any(|other| other.name == kind.name) {
                let reason = format!("there are two kinds `{}`: name each once, with all its cores", kind.name);
                return Err(text.error(&name, &reason));
            }
            for &core in &cores.value {
                if let Some(other) = taken[core].replace(kinds.len()).filter(|&other| other != kinds.len()) {
                    let thread = here.cores[core].threads[0];
                    let reason =
                        format!("core {thread} of `cores` is of kind `{}`, too: name it once", kinds[other].name);
                    return Err(text.error(&cores.span, &reason));
                }
            }
            kinds.push(kind);
        }
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        let speed = |kind: &CoreSpec| kind.speed * f64::from(kind.capacity.unwrap_or(1024));
        order.sort_by(|&one, &other| speed(&kinds[other]).total_cmp(&speed(&kinds[one])));
        let cores = here.cores.iter().zip(&taken).map(|(core, kind)| match kind {
            // A cluster is of one kind.
            Some(kind) => Core {
                kind: order.iter().position(|index| index == kind).expect("every kind is sorted"),
                cluster: core.cluster * kinds.len() + kind,
                ..core.clone()
            },
            None => Core { threads: Vec::new(), ..core.clone() },
        });
        let cores = cores.collect();
        let kinds = order.iter().map(|&index| kinds[index].clone()).collect();
        let (cores, kinds, caches) = in_order(cores, kinds, here.caches.clone());
        Ok(Self { cores, kinds, caches, ..here.clone() })
    }
}

/// A kind of the file.
struct Entry {
    kind: CoreSpec,
    /// Where its name is.
    name: Span,
    /// The positions of its cores among those that are here.
    cores: At<Vec<usize>>,
}

fn entry_of(mut entry: Table, text: &Text, here: &Machine) -> Result<Entry> {
    let start = entry.span.clone();
    let name = entry.needed_name("name")?;
    let cores = entry.text("cores")?;
    let speed = entry.number("speed")?;
    let tasks = entry.numbers("tasks", "the tasks of a kind")?;
    entry.nothing_else(&["name", "cores", "speed", "tasks"])?;

    let checked = |what: &str, speed: At<f64>| {
        let reason = format!("{what} must be above 0 and at most 1, the speed that the core has");
        if is_speed(speed.value) { Ok(speed.value) } else { Err(text.error(&speed.span, &reason)) }
    };
    let speed = speed.map_or(Ok(1.0), |speed| checked("`speed`", speed))?;
    let task_speed = |(task, speed): (At<String>, At<f64>)| {
        let speed = checked(&format!("the speed of `{}`", task.value), speed)?;
        Ok((task.value, speed))
    };
    let task_speeds: BTreeMap<String, f64> = tasks.into_iter().map(task_speed).collect::<Result<_>>()?;

    let cores = cores.ok_or_else(|| text.error(&start, "a kind needs `cores`, as in cores = \"0-3\""))?;
    let named = named(&cores, text, here)?;
    let here_kind = &here.kinds[here.cores[named[0]].kind];
    if let Some(&other) = named.iter().find(|&&core| here.cores[core].kind != here.cores[named[0]].kind) {
        let (core, kind) = (here.cores[other].threads[0], &here.kinds[here.cores[other].kind].name);
        let reason =
            format!("`cores` are of two kinds here, {} and {kind}: give core {core} a kind of its own", here_kind.name);
        return Err(text.error(&cores.span, &reason));
    }
    let kind = CoreSpec { name: name.value, speed, task_speeds, ..here_kind.clone() };
    platform(std::slice::from_ref(&kind), |_| 1)
        .map_err(|error| text.error(&name.span, &format!("`name`: {}", error.reason())))?;
    Ok(Entry { kind, name: name.span, cores: At { value: named, span: cores.span } })
}

/// The positions of the cores that a list names.
fn named(cores: &At<String>, text: &Text, here: &Machine) -> Result<Vec<usize>> {
    let threads = list::threads(&cores.value).filter(|threads| !threads.is_empty());
    let threads =
        threads.ok_or_else(|| text.error(&cores.span, "`cores` must be numbers of cores, as in \"0-3,8\""))?;
    let position = |thread: usize| {
        here.cores.iter().position(|core| core.threads.contains(&thread)).ok_or_else(|| {
            let there = list::thread_list(here.cores.iter().map(|core| core.threads[0]));
            text.error(&cores.span, &format!("there is no core {thread} here: there are {there}"))
        })
    };
    threads.into_iter().map(position).collect()
}
