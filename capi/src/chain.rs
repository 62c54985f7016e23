//! Chains: tasks of C and built-in kinds, joined by wires.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use runtime::chain::BuiltChain;
use runtime::kinds::{Kept, Parameters, Value};
use runtime::raw::DynWire;
use runtime::{Chain, ChainFile, Program, Registry};
use serde_json::Value as Json;

use crate::fault::{Fault, Result, free_handle, give_handle, guarded, handle};
use crate::task::{CTask, bief_task};
use crate::text::{give, optional, text};

/// A chain of tasks that is being written. Tasks run in the order in which they are added.
///
/// It is used up by what makes a pipeline of it, runs it or measures it, also when that fails; it is freed all the same.
pub struct bief_chain {
    chain: Option<Chain>,
    id: u32,
    wires: Vec<DynWire>,
    named: BTreeMap<String, bief_wire>,
    /// What kinds keep between rehearsals and the run.
    kept: Kept,
    is_marked: bool,
}

/// A wire between tasks of a chain: a number that the chain gives. 0 is none.
pub type bief_wire = u64;

/// The kinds of tasks that ship.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        #[allow(unused_mut, reason = "features and tests add kinds")]
        let mut registry = Registry::new();
        #[cfg(feature = "radio")]
        bief_radio::register(&mut registry);
        #[cfg(test)]
        crate::tests::register(&mut registry);
        registry
    })
}

impl bief_chain {
    pub(crate) fn new(kept: Kept) -> Self {
        Self::of(Chain::new(), BTreeMap::new(), kept, false)
    }

    fn of(chain: Chain, named: BTreeMap<String, DynWire>, kept: Kept, is_marked: bool) -> Self {
        static CHAINS: AtomicU32 = AtomicU32::new(1);
        let id = CHAINS.fetch_add(1, Ordering::Relaxed);
        let mut new = Self { chain: Some(chain), id, wires: Vec::new(), named: BTreeMap::new(), kept, is_marked };
        for (name, wire) in named {
            let wire = new.wire(wire);
            new.named.insert(name, wire);
        }
        new
    }

    fn wire(&mut self, wire: DynWire) -> bief_wire {
        self.wires.push(wire);
        u64::from(self.id) << 32 | self.wires.len() as u64
    }

    /// The chain, to be added to.
    fn chain(&mut self) -> Result<&mut Chain> {
        self.chain.as_mut().ok_or_else(used_up)
    }

    fn take(&mut self) -> Result<Chain> {
        self.chain.take().ok_or_else(used_up)
    }

    /// Changes the chain as a whole.
    fn change(&mut self, change: impl FnOnce(Chain) -> Chain) -> Result<()> {
        self.chain = Some(change(self.take()?));
        Ok(())
    }

    /// The checked chain, and whether stages are marked in it.
    pub(crate) fn program(&mut self) -> Result<(Program, bool)> {
        Ok((self.take()?.build()?, self.is_marked))
    }

    /// The wires of these numbers.
    ///
    /// # Safety
    /// `wires` points at so many, or there are none.
    unsafe fn find(&self, wires: *const bief_wire, count: usize) -> Result<Vec<DynWire>> {
        if count > 0 && wires.is_null() {
            return Err(Fault::argument("no input wires: the pointer is NULL"));
        }
        let find = |number: usize| {
            // SAFETY: passed on to the caller.
            let wire = unsafe { wires.add(number).read() };
            let refused = |reason: &str| Fault::argument(format!("input {number} is {reason}"));
            match (wire, u64::from(self.id) == wire >> 32) {
                (0, _) => Err(refused("0, which is no wire: did the task that makes it fail to be added?")),
                (_, false) => Err(refused("a wire of another chain: bind tasks to wires that this chain made")),
                _ => {
                    let index = (wire as u32 as usize).checked_sub(1);
                    index
                        .and_then(|index| self.wires.get(index))
                        .cloned()
                        .ok_or_else(|| refused("no wire of this chain"))
                }
            }
        };
        (0..count).map(find).collect()
    }

    /// Gives the wires that were made to C.
    ///
    /// # Safety
    /// `to` has room for `count`, which are as many as were made.
    unsafe fn give(&mut self, made: Vec<DynWire>, to: *mut bief_wire) {
        for (number, wire) in made.into_iter().enumerate() {
            let wire = self.wire(wire);
            // SAFETY: passed on to the caller.
            unsafe { to.add(number).write(wire) };
        }
    }
}

fn used_up() -> Fault {
    Fault::argument("the chain is used up: a pipeline was made of it, or it was run or measured; build another")
}

/// Refuses other places for wires than a task makes.
fn check_outputs(name: &str, makes: usize, to: *mut bief_wire, count: usize) -> Result<()> {
    if makes != count {
        let s = if makes == 1 { "" } else { "s" };
        return Err(Fault::argument(format!("task `{name}` makes {makes} wire{s}, and there is room for {count}")));
    }
    if count > 0 && to.is_null() {
        return Err(Fault::argument("no place for the wires: the pointer is NULL"));
    }
    Ok(())
}

/// Makes an empty chain with batches of one frame.
///
/// # Safety
/// `chain` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_new(chain: *mut *mut bief_chain) -> i32 {
    // SAFETY: passed on to the caller.
    guarded(|| unsafe { give_handle(chain, "chain", || Ok(bief_chain::new(Kept::new()))) })
}

/// Builds the chain that a file describes, with its stages marked, to be run or added to; bief_chain_wire finds its wires.
///
/// # Safety
/// `path` ends with a zero, `chain` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_read(path: *const c_char, chain: *mut *mut bief_chain) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let path = unsafe { text(path, "path")? };
        let make = || {
            let file = ChainFile::read(path)?;
            let is_marked = file.stages().next().is_some();
            let BuiltChain { chain, wires, .. } = file.build(registry())?;
            Ok(bief_chain::of(chain, wires, Kept::new(), is_marked))
        };
        // SAFETY: passed on to the caller.
        unsafe { give_handle(chain, "chain", make) }
    })
}

/// Frees a chain; NULL is none. A chain that a callback was given is not freed.
///
/// # Safety
/// `chain` is NULL or was made by this library, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_free(chain: *mut bief_chain) {
    // SAFETY: passed on to the caller.
    unsafe { free_handle(chain) }
}

/// Finds a wire of a chain file by its name.
///
/// # Safety
/// `chain` is a chain, `name` ends with a zero, `wire` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_wire(chain: *mut bief_chain, name: *const c_char, wire: *mut bief_wire) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (chain, name) = unsafe { (handle(chain, "chain")?, text(name, "name")?) };
        let Some(&found) = chain.named.get(name) else {
            let names: Vec<&str> = chain.named.keys().map(String::as_str).collect();
            let there =
                if names.is_empty() { "none has a name".to_owned() } else { format!("there are {}", names.join(", ")) };
            return Err(Fault::argument(format!("there is no wire `{name}`: {there}")));
        };
        if wire.is_null() {
            return Err(Fault::argument("no place for the wire: the pointer is NULL"));
        }
        // SAFETY: passed on to the caller.
        unsafe { wire.write(found) };
        Ok(())
    })
}

/// Sets how many frames travel and are worked on together, at least 1.
///
/// # Safety
/// `chain` is a chain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_batch(chain: *mut bief_chain, frames: usize) -> i32 {
    // SAFETY: passed on to the caller.
    guarded(|| unsafe { handle(chain, "chain")? }.change(|chain| chain.batch(frames)))
}

/// Adds a task, binds its inputs, and tells the wires that it makes: as many as it has sockets of each sort.
///
/// The state belongs to the chain from then on. If the function fails it is still the caller's, and the chain is as before.
///
/// # Safety
/// `chain` is a chain, `task` a task, `inputs` and `outputs` point at so many wires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_add(
    chain: *mut bief_chain,
    task: *const bief_task,
    inputs: *const bief_wire,
    input_count: usize,
    outputs: *mut bief_wire,
    output_count: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (chain, (task, is_owned)) = unsafe { (handle(chain, "chain")?, CTask::new(task)?) };
        chain.chain()?;
        check_outputs(task.name(), task.output_count(), outputs, output_count)?;
        // SAFETY: passed on to the caller.
        let wires = unsafe { chain.find(inputs, input_count)? };
        let wires: Vec<&DynWire> = wires.iter().collect();
        let made = chain.chain()?.add_dyn(task.into_dyn(), &wires)?;
        is_owned.store(true, Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { chain.give(made, outputs) };
        Ok(())
    })
}

/// Adds what a built-in kind (`bief run --kinds` lists them) makes of parameters, a JSON object such as
/// `{"target": 1.0}`, or NULL for none. Relative paths are relative to the current folder.
///
/// In the chain of an application (bief_application_new) a kind uses up no input in a rehearsal, and touches no output.
///
/// # Safety
/// `chain` is a chain, texts end with a zero, `inputs` and `outputs` point at so many wires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_make(
    chain: *mut bief_chain,
    name: *const c_char,
    kind: *const c_char,
    parameters: *const c_char,
    inputs: *const bief_wire,
    input_count: usize,
    outputs: *mut bief_wire,
    output_count: usize,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (chain, name, kind, given) = unsafe {
            (handle(chain, "chain")?, text(name, "name")?, text(kind, "kind")?, optional(parameters, "parameters")?)
        };
        chain.chain()?;
        let makes = registry().kind(kind)?.outputs().len();
        check_outputs(name, makes, outputs, output_count)?;
        let given = given.map_or_else(|| Ok(Parameters::new()), self::parameters)?;
        // SAFETY: passed on to the caller.
        let wires = unsafe { chain.find(inputs, input_count)? };
        let wires: Vec<&DynWire> = wires.iter().collect();
        let kept = chain.kept.clone();
        let made = registry().make_kept(chain.chain()?, name, kind, given, &wires, &kept)?;
        // SAFETY: passed on to the caller; the kind made as many as it tells.
        unsafe { chain.give(made, outputs) };
        Ok(())
    })
}

/// Reads parameters from a JSON object.
fn parameters(text: &str) -> Result<Parameters> {
    let refused = |reason: String| Fault::argument(format!("parameters: {reason}"));
    let json: Json = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    let Json::Object(entries) = json else {
        return Err(refused(r#"write a JSON object, such as {"target": 1.0}"#.to_owned()));
    };
    entries.into_iter().try_fold(Parameters::new(), |parameters, (name, value)| {
        let value = self::value(value).map_err(|reason| refused(format!("`{name}`: {reason}")))?;
        Ok(parameters.with(name, value))
    })
}

fn value(json: Json) -> Result<Value, String> {
    Ok(match json {
        Json::Bool(value) => Value::Bool(value),
        Json::String(text) => Value::Text(text),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Integer(whole),
            (None, Some(number)) => Value::Float(number),
            (None, None) => return Err(format!("{number} is too large")),
        },
        Json::Array(values) => Value::List(values.into_iter().map(value).collect::<Result<_, _>>()?),
        Json::Null | Json::Object(_) => {
            return Err("write a number, a text, true, false, or a list of these".to_owned());
        }
    })
}

/// Begins a stage at the task that is added next: so many replicas run it.
///
/// # Safety
/// `chain` is a chain, `name` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_stage(chain: *mut bief_chain, name: *const c_char, threads: usize) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let (chain, name) = unsafe { (handle(chain, "chain")?, text(name, "name")?) };
        chain.chain()?.stage(name).threads(threads);
        chain.is_marked = true;
        Ok(())
    })
}

/// Measures each task of a chain on this thread, in so many batches, and gives a profile, a JSON document. The frames are
/// worked on and gone.
///
/// # Safety
/// `chain` is a chain, `profile` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bief_chain_profile(
    chain: *mut bief_chain,
    executions: usize,
    profile: *mut *mut c_char,
) -> i32 {
    guarded(|| {
        // SAFETY: passed on to the caller.
        let measured = unsafe { handle(chain, "chain")? }.program()?.0.profile(executions)?;
        // SAFETY: passed on to the caller.
        unsafe { give(profile, measured.to_json()) }
    })
}
