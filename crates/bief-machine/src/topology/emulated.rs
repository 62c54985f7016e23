//! Kinds of cores, and devices, that are not here, on the cores that are.

use std::collections::{BTreeMap, BTreeSet};

use super::arrange::in_order;
use super::device::{LANES, named_twice};
use super::document::is_speed;
use super::{Core, CoreSpec, DeviceSpec, Machine, check_kind_name, list};
use bief_schedule::{Profile, Smt};

use crate::error::Result;
use crate::toml_file::{At, Span, Table, Text};

impl Machine {
    /// This machine's cores as other kinds of cores, as a TOML file tells, and devices beside them. Cores that it does not name are not
    /// used; where it has no kind of cores, all are, as they are.
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
    ///
    ///     ## Hardware threads as places of their own, for cores that have several:
    ///     ##   smt = "thread"        # the kind that they are
    ///     ##   threads = 2           # so many neighbours of `cores` stand for the threads of one core, where it has one
    ///     ##   thread_speed = 0.6    # of that of a whole core, emulated; 1 where it is left out
    ///
    ///     [[device]]
    ///     name = "gpu"
    ///     lanes = 3                 # executions under way at a time; 3 where it is left out
    ///     launch_us = 20            # for each task of an execution; 0 where it is left out
    ///     copy_gb_per_s = 12.0      # each way; copies take no time where it is left out
    ///     speed = 0.9               # of that of a core here; 1 where it is left out
    ///     [device.tasks]
    ///     "decode LDPC" = 1.0
    ///     "#,
    ///     &here,
    /// )?;
    /// assert_eq!(machine.kinds()[0].speed, 0.45);
    /// assert!(machine.is_emulated());
    /// assert_eq!(machine.devices()[0].copy_gb_per_s, Some(12.0));
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    ///
    /// A core may be named by any of its hardware threads, and has all of them. The kinds are sorted by their speed.
    ///
    /// # Errors
    ///
    /// With line and key: where there is neither a kind nor a device, a name is not one or is given twice, a core is not here, is in
    /// two kinds, or is of another kind here than others of its kind, or a number is out of its range.
    pub fn emulated(text: &str, here: &Self) -> Result<Self> {
        Self::emulated_by(Text { name: "machine".to_owned(), text: text.to_owned() }, here)
    }

    pub(super) fn emulated_by(text: Text, here: &Self) -> Result<Self> {
        let mut file = Table::whole(&text, "a machine")?;
        let entries = file.tables("kind", "a kind")?;
        let devices = file.tables("device", "a device")?;
        file.nothing_else(&["kind", "device"])?;
        if entries.is_empty() && devices.is_empty() {
            return Err(text.error(
                &(0..0),
                "there is no kind: write [[kind]] with a `name` and `cores`, as in \"0-3\", or [[device]] with a `name`",
            ));
        }
        let machine = if entries.is_empty() { here.clone() } else { Self::of_kinds(entries, &text, here)? };
        let mut named = Vec::new();
        let mut all = Vec::new();
        for entry in devices {
            let At { value, span } = device_of(entry, &text)?;
            all.push(value);
            named.push(span);
            if let Some(index) = named_twice(&machine.kinds, &all) {
                let reason = format!("`{}` is named twice: name each kind and device once", all[index].name);
                return Err(text.error(&named[index], &reason));
            }
        }
        Ok(Self { devices: all, ..machine })
    }

    fn of_kinds(entries: Vec<Table>, text: &Text, here: &Self) -> Result<Self> {
        // For each core here, the kind that it stands for.
        let mut taken: Vec<Option<usize>> = vec![None; here.cores.len()];
        let mut kinds: Vec<CoreSpec> = Vec::new();
        let mut here_cores = here.cores.clone();
        let mut threads: Vec<CoreSpec> = Vec::new();
        for entry in entries {
            let Entry { kind, name, cores, smt } = entry_of(entry, text, here)?;
            let own = [Some((&kind, &name)), smt.as_ref().map(|smt| (&smt.kind, &smt.name))];
            let own: Vec<_> = own.into_iter().flatten().collect();
            for (place, &(kind, span)) in own.iter().enumerate() {
                let before = own[..place].iter().map(|&(kind, _)| kind);
                if kinds.iter().chain(&threads).chain(before).any(|other| other.name == kind.name) {
                    let reason = format!("there are two kinds `{}`: name each once, with all its cores", kind.name);
                    return Err(text.error(span, &reason));
                }
            }
            for &core in &cores.value {
                if let Some(other) = taken[core].replace(kinds.len()).filter(|&other| other != kinds.len()) {
                    let thread = here.cores[core].threads[0];
                    let reason =
                        format!("core {thread} of `cores` is of kind `{}`, too: name it once", kinds[other].name);
                    return Err(text.error(&cores.span, &reason));
                }
            }
            if let Some(smt) = smt {
                smt.join(&cores.value, &mut here_cores);
                threads.push(smt.kind);
            }
            kinds.push(kind);
        }
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        let speed = |kind: &CoreSpec| kind.speed * f64::from(kind.capacity.unwrap_or(1024));
        order.sort_by(|&one, &other| speed(&kinds[other]).total_cmp(&speed(&kinds[one])));
        let cores = here_cores.iter().zip(&taken).map(|(core, kind)| match kind {
            // A cluster is of one kind.
            Some(kind) => Core {
                kind: order.iter().position(|index| index == kind).expect("every kind is sorted"),
                cluster: core.cluster * kinds.len() + kind,
                ..core.clone()
            },
            None => Core { threads: Vec::new(), ..core.clone() },
        });
        let cores = cores.collect();
        let kinds = order.iter().map(|&index| kinds[index].clone()).chain(threads).collect();
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
    smt: Option<Threads>,
}

/// The hardware threads of a kind's cores as places of their own.
struct Threads {
    kind: CoreSpec,
    /// Where its name is.
    name: Span,
    /// How many neighbours stand for the threads of one core.
    joined: usize,
}

impl Threads {
    /// Lets neighbours among these cores be one, each group of them.
    fn join(&self, cores: &[usize], all: &mut [Core]) {
        for group in cores.chunks(self.joined).filter(|group| group.len() > 1) {
            let mut threads: Vec<usize> =
                group.iter().flat_map(|&core| std::mem::take(&mut all[core].threads)).collect();
            threads.sort_unstable();
            all[group[0]].threads = threads;
        }
    }
}

fn entry_of(mut entry: Table, text: &Text, here: &Machine) -> Result<Entry> {
    let start = entry.span.clone();
    let name = entry.needed_name("name")?;
    let cores = entry.text("cores")?;
    let speed = entry.number("speed")?;
    let tasks = entry.numbers("tasks", "the tasks of a kind")?;
    let smt = entry.name("smt")?;
    let joined = entry.integer("threads", 8)?;
    let thread_speed = entry.number("thread_speed")?;
    entry.nothing_else(&["name", "cores", "speed", "tasks", "smt", "threads", "thread_speed"])?;
    let alone = joined.as_ref().map(|joined| &joined.span).or(thread_speed.as_ref().map(|speed| &speed.span));
    if let (None, Some(span)) = (&smt, alone) {
        return Err(text.error(span, "it is of hardware threads: name the kind that they are, as in smt = \"thread\""));
    }

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
    let mut named = named(&cores, text, here)?;
    // Several of its hardware threads name a core once.
    let mut seen = BTreeSet::new();
    named.retain(|&core| seen.insert(core));
    let here_kind = &here.kinds[here.cores[named[0]].kind];
    if let Some(&other) = named.iter().find(|&&core| here.cores[core].kind != here.cores[named[0]].kind) {
        let (core, kind) = (here.cores[other].threads[0], &here.kinds[here.cores[other].kind].name);
        let reason =
            format!("`cores` are of two kinds here, {} and {kind}: give core {core} a kind of its own", here_kind.name);
        return Err(text.error(&cores.span, &reason));
    }
    let kind = CoreSpec { name: name.value, speed, task_speeds, ..here_kind.clone() };
    check_kind_name(&kind.name).map_err(|error| text.error(&name.span, &format!("`name`: {}", error.reason())))?;
    let smt = smt.map(|smt| {
        let speed = thread_speed.map_or(Ok(1.0), |speed| checked("`thread_speed`", speed))?;
        let joined = joined.map_or(1, |joined| joined.value);
        if joined > 1 && named.len() % joined != 0 {
            let reason = format!("{} cores cannot stand for cores of {joined} threads each: name more or fewer", named.len());
            return Err(text.error(&cores.span, &reason));
        }
        let mut each = named.iter().map(|&core| here.cores[core].threads.len() * joined);
        let threads = each.next().filter(|&threads| threads > 1 && each.all(|other| other == threads)).ok_or_else(|| {
            let reason = "its cores have not all two hardware threads or more here: leave `smt` out, or let neighbours stand for the \
                          threads of one core, as in threads = 2";
            text.error(&smt.span, reason)
        })?;
        check_kind_name(&smt.value).map_err(|error| text.error(&smt.span, &format!("`smt`: {}", error.reason())))?;
        let kind = CoreSpec {
            name: smt.value,
            speed: kind.speed * speed,
            task_speeds: kind.task_speeds.iter().map(|(task, own)| (task.clone(), own * speed)).collect(),
            smt: Some(Smt { of: kind.name.clone(), threads: threads as u32 }),
            ..kind.clone()
        };
        Ok(Threads { kind, name: smt.span, joined })
    });
    Ok(Entry { kind, name: name.span, cores: At { value: named, span: cores.span }, smt: smt.transpose()? })
}

/// A device of the file, and where its name is.
fn device_of(mut entry: Table, text: &Text) -> Result<At<DeviceSpec>> {
    let name = entry.needed_name("name")?;
    let lanes = entry.integer("lanes", Profile::MAX_LANES as usize)?;
    let gather = entry.integer("gather", Profile::MAX_GATHER as usize)?;
    let launch = entry.number("launch_us")?;
    let rate = entry.number("copy_gb_per_s")?;
    let speed = entry.number("speed")?;
    let tasks = entry.numbers("tasks", "the tasks of a device")?;
    entry.nothing_else(&["name", "lanes", "gather", "launch_us", "copy_gb_per_s", "speed", "tasks"])?;
    let spans = [("launch_us", &launch), ("copy_gb_per_s", &rate), ("speed", &speed)];
    let spans = spans.map(|(key, number)| (key, number.as_ref().map(|number| number.span.clone())));
    let slowest = tasks.iter().find(|(_, speed)| !is_speed(speed.value)).map(|(_, speed)| speed.span.clone());
    let device = DeviceSpec {
        name: name.value,
        backend: None,
        lanes: lanes.map_or(LANES, |lanes| lanes.value as u32),
        gather: gather.map_or(1, |gather| gather.value as u32),
        launch_us: launch.map_or(0.0, |launch| launch.value),
        copy_gb_per_s: rate.map(|rate| rate.value),
        speed: speed.map_or(1.0, |speed| speed.value),
        task_speeds: tasks.into_iter().map(|(task, speed)| (task.value, speed.value)).collect(),
    };
    device.check().map_err(|(key, reason)| {
        let span = spans.into_iter().find(|(known, _)| *known == key).and_then(|(_, span)| span).or(slowest);
        let what = if key == "task_speeds" { "the speed".to_owned() } else { format!("`{key}`") };
        text.error(&span.unwrap_or(name.span.clone()), &format!("{what} {reason}"))
    })?;
    check_kind_name(&device.name).map_err(|error| text.error(&name.span, &format!("`name`: {}", error.reason())))?;
    Ok(At { value: device, span: name.span })
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
