//! `bief worker`: lends the cores of this machine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use bief_zenoh::{Address, Name, Worker, WorkerOptions};
use clap::Args;

use super::elements;
use super::reach::{open_to_all, reach};
use crate::failure::{Failure, say};
use crate::interrupt::at_interrupt;
use crate::status::Status;
use crate::text::counted;

const EXAMPLES: &str = "\
Examples:
  bief worker --listen 127.0.0.1:7447             for this machine alone
  bief worker --listen 0.0.0.0 --keys pool/       for whoever shows keys of the pool
  bief worker --router gate --keys pool/ --name rack3 --cores 6

It works for whoever names it with --workers, or finds it, until it is stopped:
Ctrl-C or SIGTERM ends it in order, with exit status 0, and others do what it
had begun. It runs the kinds of tasks that it has itself (`bief run --kinds`),
but none that remember something from frame to frame or name a file or an
address: no code travels.";

/// Arguments of `bief worker`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WorkerArgs {
    /// Where to listen: HOST or HOST:PORT, port 7447 where none is named
    #[arg(long, value_name = "ADDRESS", required_unless_present_any = ["find", "router"])]
    listen: Option<Address>,
    /// Be found in the local network, by multicast
    #[arg(long)]
    find: bool,
    /// A zenoh router to connect to: HOST or HOST:PORT
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["listen", "find"])]
    router: Option<Address>,
    /// A folder with ca.pem, cert.pem and key.pem: all links are TLS, both sides show certificates of that authority
    #[arg(long, value_name = "DIR")]
    keys: Option<PathBuf>,
    /// Talk to other machines without keys: whoever reaches this one can use its cores
    #[arg(long, conflicts_with = "keys")]
    insecure: bool,
    /// Its name, which no other worker has [default: that of this machine]
    #[arg(long)]
    name: Option<Name>,
    /// Frames to work on at a time, each on a core [default: the cores of this machine]
    #[arg(long, value_name = "N")]
    cores: Option<NonZeroUsize>,
    /// Frames to hold at a time: more where the way is long [default: two for each core, and two]
    #[arg(long, value_name = "N")]
    credit: Option<NonZeroUsize>,
}

/// The most frames that a worker may be told to hold or to work on.
const MOST: usize = 4096;

/// Lends cores until it is stopped.
pub(crate) fn lend(args: WorkerArgs) -> Result<(), Failure> {
    let cores = args.cores.map_or_else(cores_here, NonZeroUsize::get);
    let credit = args.credit.map_or(2 * cores + 2, NonZeroUsize::get);
    if let Some((option, count)) = [("--cores", cores), ("--credit", credit)].into_iter().find(|(_, n)| *n > MOST) {
        return Err(Failure::usage(format!("{option} {count}: a worker has up to {MOST}")));
    }
    if credit < cores {
        return Err(Failure::usage(format!("--credit {credit} keeps fewer than {cores} cores busy: give more")));
    }
    let reach = reach(&[], args.router.as_ref(), args.find, args.keys.as_ref())?;
    let is_here = args.listen.as_ref().is_none_or(Address::is_loopback) && reach.is_safe();
    if !is_here && reach.keys.is_none() && !args.insecure {
        return Err(open_to_all());
    }
    let name = args.name.unwrap_or_else(Name::of_host);
    let place = match (&args.listen, &args.router) {
        (Some(address), _) => format!("at {address}"),
        (None, Some(router)) => format!("behind {router}"),
        (None, None) => "in the local network".to_owned(),
    };
    let shown = format!("worker {} {place}, {}", name.as_str(), counted(cores, "core"));
    // Whoever is found is connected to, at any port.
    let any = args.find.then(|| "0.0.0.0:0".parse().expect("it is an address"));
    let options = WorkerOptions {
        listen: args.listen.or(any),
        reach,
        name,
        cores,
        credit,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let registry = Arc::new(crate::registry::all());
    elements::register().map_err(Failure::from_error)?;
    let taken = |error| Failure::from_error(error).with(Status::TryAgain);
    let worker = Worker::open(options, registry, |text| say(format_args!("bief worker: {text}"))).map_err(taken)?;
    let stopper = worker.stopper();
    at_interrupt(move || stopper.stop())?;
    say(format_args!("bief worker: {shown}"));
    worker.run().map_err(taken)
}

/// As many as may be used.
pub(super) fn cores_here() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
