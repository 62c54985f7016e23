//! Other machines that a chain file names for a stage.

use std::path::PathBuf;

use bief_machine::Result;
use bief_machine::toml_file::{At, Table, Text};

use crate::suggest::suggestion;

/// Other machines on which the tasks of a stage may run, by how they are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machines {
    /// Their name in the file.
    pub name: String,
    /// Workers, by where they listen: what `--workers` of the command takes.
    pub connect: Option<String>,
    /// A router that they are connected to.
    pub router: Option<String>,
    /// Whether whoever is there in the local network is found.
    pub find: bool,
    /// The folder of the keys of both sides; relative to that of the file.
    pub keys: Option<PathBuf>,
}

impl Machines {
    fn read(text: &Text, name: At<String>, mut table: Table<'_>) -> Result<At<Self>> {
        let At { value: name, span } = name;
        let mut part = |key| Ok::<_, bief_machine::Error>(table.text(key)?.map(|text| text.value));
        let (connect, router, keys) = (part("connect")?, part("router")?, part("keys")?.map(PathBuf::from));
        let find = table.flag("find")?.is_some_and(|find| find.value);
        table.nothing_else(&["connect", "router", "find", "keys"])?;
        match (connect.is_some() || find, router.is_some()) {
            (true, true) => {
                Err(text.error(&span, "machines behind a `router` are found there: leave `connect` and `find` out"))
            }
            (false, false) => {
                Err(text
                    .error(&span, "machines need `connect`, as in connect = \"rack3,rack4\", or `router`, or `find`"))
            }
            _ => Ok(At { value: Self { name, connect, router, find, keys }, span }),
        }
    }
}

/// Reads the tables of all of them.
pub(super) fn read(text: &Text, tables: Vec<(At<String>, Table<'_>)>) -> Result<Vec<At<Machines>>> {
    tables.into_iter().map(|(name, table)| Machines::read(text, name, table)).collect()
}

/// The machines that a stage names.
pub(super) fn named<'m>(text: &Text, machines: &'m [At<Machines>], wanted: &At<String>) -> Result<&'m Machines> {
    let found = machines.iter().find(|machines| machines.value.name == wanted.value);
    found.map(|machines| &machines.value).ok_or_else(|| {
        let names = machines.iter().map(|machines| &*machines.value.name);
        let message = format!("there is no [machines.{}]{}", wanted.value, suggestion(&wanted.value, names));
        text.error(&wanted.span, &message)
    })
}
