//! A machine as hwloc describes it, in an XML file of version 2.

use roxmltree::{Document, Node, ParsingOptions};

use super::arrange::{Claim, Described, Description, Notes};
use super::{CacheContent, MAX_THREADS, Machine};
use crate::error::{Error, Result};

/// More nodes than the description of any machine has.
const MAX_NODES: u32 = 1 << 20;
/// More attributes than hwloc gives an element.
const MAX_ATTRIBUTES: usize = 100;
/// The kind of group that hwloc makes of what Linux calls a cluster.
const LINUX_CLUSTER: &str = "222";
/// Types of cores, from the fastest to the slowest, as hwloc calls those of hybrid processors.
const CORE_TYPES: [&str; 2] = ["IntelCore", "IntelAtom"];

impl Machine {
    /// Reads a machine from the XML that hwloc 2 writes (`lstopo machine.xml`), so that a machine can be studied elsewhere.
    ///
    /// Kinds of cores come from what hwloc calls CPU kinds: their `CoreType`, and the first of `LinuxCapacity` (or `capacity`)
    /// and `FrequencyMaxMHz` that parts them, as told at [`Machine`]; where there is none, from their order. Processors that
    /// were not allowed when the file was written are left out.
    ///
    /// # Errors
    ///
    /// Where the text is no XML, with line and column; where it is no topology, one of another version than 2, or one
    /// without processors.
    ///
    /// ```
    /// let machine = bief_machine::Machine::from_hwloc_xml(
    ///     r#"<topology version="2.0">
    ///       <object type="Machine" cpuset="0x00000003">
    ///         <object type="Core" cpuset="0x00000001"><object type="PU" os_index="0"/></object>
    ///         <object type="Core" cpuset="0x00000002"><object type="PU" os_index="1"/></object>
    ///       </object>
    ///       <cpukind cpuset="0x00000001"><info name="FrequencyMaxMHz" value="1800"/></cpukind>
    ///       <cpukind cpuset="0x00000002"><info name="FrequencyMaxMHz" value="2400"/></cpukind>
    ///     </topology>"#,
    /// )?;
    /// assert_eq!(machine.kinds()[0].name, "big");
    /// assert_eq!(machine.core_of(1).unwrap().kind, 0);
    /// # Ok::<(), bief_machine::Error>(())
    /// ```
    pub fn from_hwloc_xml(text: &str) -> Result<Self> {
        if text.contains("<!ENTITY") {
            return Err(refused("it declares entities, which hwloc never does"));
        }
        if text.contains("xmlns") {
            return Err(refused("it has namespaces, which hwloc never has"));
        }
        // The reader compares each attribute of an element with all others.
        let quotes = |element: &str| element.bytes().filter(|byte| matches!(byte, b'"' | b'\'')).count();
        if text.split('<').any(|element| quotes(element) > 2 * MAX_ATTRIBUTES) {
            return Err(refused(format!(
                "it has an element of more than {MAX_ATTRIBUTES} attributes, which hwloc never has"
            )));
        }
        let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(refused)?;
        let topology = document.root_element();
        if topology.tag_name().name() != "topology" {
            let name = topology.tag_name().name();
            return Err(refused(format!("its root is `{name}`, not `topology`: write a file by `lstopo machine.xml`")));
        }
        match topology.attribute("version").unwrap_or("1") {
            version if version.split('.').next() == Some("2") => described(topology),
            version => Err(refused(format!(
                "it is of version {version}, and only version 2 is read: write it by `lstopo` of hwloc 2"
            ))),
        }
    }
}

fn refused(reason: impl std::fmt::Display) -> Error {
    Error::invalid(format!("hwloc XML: {reason}"))
}

fn described(topology: Node) -> Result<Machine> {
    let mut description = Description::default();
    let objects: Vec<Node> = topology.descendants().filter(|node| node.has_tag_name("object")).collect();
    let of_type = |wanted: &'static str| objects.iter().filter(move |object| object.attribute("type") == Some(wanted));

    let mut is_there = vec![false; MAX_THREADS];
    for unit in of_type("PU") {
        let thread = unit.attribute("os_index").and_then(|index| index.parse::<usize>().ok());
        match thread.and_then(|thread| is_there.get_mut(thread)) {
            Some(there) => *there = true,
            None => description.notes.add(|| format!("{} has no number that a processor has.", place(unit))),
        }
    }
    // Cores, and each processor that is in none as one of its own.
    let mut left = is_there.clone();
    let mut take = |threads: Vec<usize>| -> Vec<usize> {
        threads.into_iter().filter(|&thread| std::mem::replace(&mut left[thread], false)).collect()
    };
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for core in of_type("Core") {
        cores.push(take(processors(core, "cpuset", &mut description.notes).unwrap_or_default()));
    }
    cores.extend((0..MAX_THREADS).map(|thread| take(vec![thread])));
    cores.retain(|threads| !threads.is_empty());
    cores.sort_unstable();
    if cores.is_empty() {
        return Err(refused("it has no processor (an object of type `PU`): write a file by `lstopo machine.xml`"));
    }

    let mut packages = vec![None; MAX_THREADS];
    let mut nodes = vec![None; MAX_THREADS];
    for (kind, numbers) in [("Package", &mut packages), ("NUMANode", &mut nodes)] {
        for (index, object) in of_type(kind).enumerate() {
            let number = object.attribute("os_index").and_then(|index| index.parse().ok());
            let number = number.filter(|&number: &usize| number < MAX_THREADS).unwrap_or(index);
            for thread in processors(object, "cpuset", &mut description.notes).unwrap_or_default() {
                numbers[thread].get_or_insert(number);
            }
        }
    }
    for object in &objects {
        let kind = object.attribute("type").unwrap_or_default();
        if kind.starts_with('L') && kind.ends_with("Cache") {
            description.caches.extend(cache(object, &mut description.notes));
        } else if kind == "Group"
            && (object.attribute("kind") == Some(LINUX_CLUSTER) || object.attribute("subtype") == Some("Cluster"))
        {
            description.clusters.extend(processors(object, "cpuset", &mut description.notes));
        }
    }
    let model = of_type("Package").chain(of_type("Machine")).find_map(|object| info(object, "CPUModel"));
    let board = of_type("Machine").find_map(|object| info(object, "DMIProductName"));
    description.model = model.or(board).unwrap_or_default().to_owned();
    description.cores = cores
        .into_iter()
        .map(|threads| Described {
            package: packages[threads[0]].unwrap_or(0),
            node: nodes[threads[0]].unwrap_or(0),
            threads,
            ..Described::default()
        })
        .collect();
    kinds(topology, &mut description);

    let mut allowed = is_there;
    if let Some(list) =
        of_type("Machine").find_map(|object| processors(object, "allowed_cpuset", &mut description.notes))
    {
        let mut only = vec![false; MAX_THREADS];
        list.iter().for_each(|&thread| only[thread] = allowed[thread]);
        if only.contains(&true) {
            allowed = only;
        } else {
            description.notes.add(|| "No processor was allowed: all are taken to be allowed.".to_owned());
        }
    }
    Ok(description.machine(|thread| allowed[thread]))
}

/// Tells of each core what the CPU kinds say.
fn kinds(topology: Node, description: &mut Description) {
    let kinds: Vec<Node> = topology.children().filter(|node| node.has_tag_name("cpukind")).collect();
    let number = |kind: &Node, names: &[&str]| {
        names.iter().find_map(|name| info(kind, name)).and_then(|text| text.parse::<u32>().ok()).filter(|&n| n > 0)
    };
    let mut of_thread = vec![None; MAX_THREADS];
    let mut told = Vec::new();
    let mut measured = false;
    for (index, kind) in kinds.iter().enumerate() {
        let capacity = number(kind, &["LinuxCapacity", "capacity"]).filter(|&capacity| capacity <= 1024);
        let max_mhz = number(kind, &["FrequencyMaxMHz"]);
        let core_type = info(kind, "CoreType");
        measured |= capacity.is_some() || max_mhz.is_some() || core_type.is_some();
        told.push((capacity, max_mhz, core_type));
        for thread in processors(kind, "cpuset", &mut description.notes).unwrap_or_default() {
            of_thread[thread].get_or_insert(index);
        }
    }
    for core in &mut description.cores {
        let Some(index) = of_thread[core.threads[0]] else { continue };
        let (capacity, max_mhz, core_type) = told[index];
        (core.capacity, core.max_mhz) = (capacity, max_mhz);
        core.class = match core_type {
            Some(name) => CORE_TYPES.iter().position(|known| *known == name).unwrap_or(CORE_TYPES.len()),
            // The slowest is told first.
            None if !measured => told.len() - 1 - index,
            None => 0,
        };
    }
}

fn cache(object: &Node, notes: &mut Notes) -> Option<Claim> {
    let number = |name: &str| object.attribute(name).and_then(|text| text.parse::<u64>().ok());
    let Some(level) =
        number("depth").and_then(|level| u8::try_from(level).ok()).filter(|level| (1..=9).contains(level))
    else {
        notes.add(|| format!("{} has no level from 1 to 9: it is not used.", place(object)));
        return None;
    };
    let holds = match number("cache_type") {
        Some(1) => CacheContent::Data,
        Some(2) => CacheContent::Instructions,
        _ => CacheContent::Both,
    };
    let bytes = number("cache_size").filter(|&bytes| bytes > 0);
    Some(Claim { level, holds, bytes, threads: processors(object, "cpuset", notes)? })
}

/// The numbers of a set of processors, ascending, written as words of 32 bits, the highest first: `0x00000001,,0x0000000f`. A set that
/// is not of this form is noted.
fn processors(object: &Node, attribute: &str, notes: &mut Notes) -> Option<Vec<usize>> {
    let text = object.attribute(attribute)?;
    let mut threads = Vec::new();
    for (index, word) in text.rsplit(',').enumerate() {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 16).ok() };
        let Some(bits) = bits.filter(|&bits| bits == 0 || index < MAX_THREADS / 32) else {
            notes.add(|| format!("{}, {attribute}, is no set of processors: it is not used.", place(object)));
            return None;
        };
        threads.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| 32 * index + bit));
    }
    Some(threads)
}

/// The value that is told of an object under a name.
fn info<'d>(object: &Node<'d, '_>, name: &str) -> Option<&'d str> {
    let infos = object.children().filter(|node| node.has_tag_name("info"));
    infos.filter(|info| info.attribute("name") == Some(name)).find_map(|info| info.attribute("value"))
}

/// What an object is, and on which line.
fn place(object: &Node) -> String {
    let line = object.document().text_pos_at(object.range().start).row;
    format!("Line {line}, {} {}", object.tag_name().name(), object.attribute("type").unwrap_or_default())
}
