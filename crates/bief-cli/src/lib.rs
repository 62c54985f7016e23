//! The `bief` command: presentation of what the libraries do.
//!
//! The command itself is [`main`]. What else is public presents figures, and is there for `bief-lab` and the Python package, which
//! show theirs in the same way; it may change with any version.

#![forbid(unsafe_code)]

mod document;
#[cfg(test)]
mod documented;
pub mod draw;
pub mod failure;
pub mod files;
mod input;
pub mod interrupt;
mod ip;
mod job;
pub mod json;
mod lab;
mod machine;
mod map;
mod meteors;
pub mod nbfm;
mod nn;
mod page;
mod parts;
pub mod plan;
pub mod planning;
mod power;
mod profile;
pub mod progress;
pub mod published;
mod radio;
pub mod realtime;
mod registry;
mod run;
pub mod rx;
mod seeing;
pub mod shipped;
pub mod status;
mod subject;
pub mod table;
pub mod text;
pub mod tx;
pub mod units;
#[cfg(feature = "workers")]
mod workers;
#[cfg(not(feature = "workers"))]
#[path = "workers/none.rs"]
mod workers;

use std::process::ExitCode;

use bief_dsp::simd::Level;
use clap::{Parser, Subcommand};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  bief rx                              receive the built-in recording
  bief rx capture.sigmf-meta           write its transport stream to capture.ts
  bief tx in.ts -o out.sigmf-meta --modcod qpsk-8/9 --frame short --pilots
  bief radio                           the radios that are there
  bief ip carrier.bbf -o out.pcap      IP packets of GSE, MPE or ULE
  bief nbfm capture.sigmf-meta         narrowband FM becomes capture.wav
  bief meteors sky.mp4                 what moves in the night sky
  bief nn net.onnx -i frames.npy       a neural network on all cores
  bief run chain.toml                  a chain of tasks described in a file
  bief profile chain.toml -o profile.json
                                       the time of each task per kind of core
  bief plan profile.json --cores 4     the best pipeline for them on 4 cores
  bief plan mac_studio --strategy all  every strategy on a profile that ships
  bief realtime graph.json --latency 5ms
                                       batches and merges that meet a latency
  bief power fit runs.csv              power when idle and of each busy core
  bief machine                         the cores of this machine
  bief map -- ffmpeg -i in.mkv out.mp4 any program's threads to kinds of cores
  bief power read                      the power that this machine draws
  bief lab bench runtime               an experiment: the cost of hand-overs

Exit status: 0 done, 2 wrong use, 65 no signal, 66 no input, 74 done in part, 75
what may pass, 1 other failures, 128 and its number for a signal.";

/// Runs chains of streaming tasks on all cores: a DVB-S2 receiver and transmitter, and the planner behind them
#[derive(Parser)]
#[command(name = "bief", version, max_term_width = 80, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Receive DVB-S2: turn a recording into a transport stream
    Rx(Box<rx::RxArgs>),
    /// Transmit DVB-S2: turn a transport stream into a recording
    Tx(tx::TxArgs),
    /// Radios: which are there, and what they can
    Radio(radio::ListArgs),
    /// IP packets from a satellite: take them out of BBFRAMEs or a transport stream
    Ip(ip::IpArgs),
    /// Receive narrowband FM: turn a recording into audio
    Nbfm(nbfm::NbfmArgs),
    /// Find meteors in a video of the night sky
    Meteors(meteors::MeteorArgs),
    /// Run a neural network (ONNX) on all cores
    Nn(Box<nn::NnArgs>),
    /// Run a chain of tasks described in a file
    Run(run::RunArgs),
    /// Lend the cores of this machine to runs on others
    #[cfg(feature = "workers")]
    Worker(workers::WorkerArgs),
    /// Workers: which are there, and what they do
    #[cfg(feature = "workers")]
    Workers(workers::WorkersArgs),
    /// Profile: measure each task of a chain on each kind of core
    Profile(profile::ProfileArgs),
    /// Plan: compute the best pipeline for a profile
    Plan(plan::PlanArgs),
    /// Real time: bound the latency of a processing graph, and find batches that meet a limit
    Realtime(realtime::RealtimeArgs),
    /// Power: measure or model the power of a machine and its cores
    Power(power::PowerArgs),
    /// Show the cores of this machine
    Machine(machine::MachineArgs),
    /// Map the threads of any program to kinds of cores by demand
    Map(map::MapArgs),
    /// Experiments: runtime overhead, frame error rates, the papers' campaigns (the program `bief-lab`)
    #[command(disable_help_flag = true)]
    Lab(lab::LabArgs),
    #[command(hide = true, disable_help_flag = true)]
    Bench(lab::LabArgs),
    #[command(hide = true, disable_help_flag = true)]
    Campaign(lab::LabArgs),
    #[command(hide = true, disable_help_flag = true)]
    Fer(lab::LabArgs),
}

/// Does what the command line asks for; answers the exit status.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    if let Err(error) = Level::chosen() {
        return told(Failure::new(error.to_string()));
    }
    let result = match command {
        Command::Rx(args) => rx::run(*args),
        Command::Tx(args) => tx::run(args),
        Command::Radio(args) => radio::run(args),
        Command::Ip(args) => ip::run(args),
        Command::Nbfm(args) => nbfm::run(args),
        Command::Meteors(args) => meteors::run(args),
        Command::Nn(args) => nn::run(*args),
        Command::Run(args) => run::run(args),
        #[cfg(feature = "workers")]
        Command::Worker(args) => workers::lend(args),
        #[cfg(feature = "workers")]
        Command::Workers(args) => workers::list(args),
        Command::Profile(args) => profile::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Realtime(args) => realtime::run(args),
        Command::Power(args) => power::run(args),
        Command::Machine(args) => machine::run(args),
        Command::Map(args) => return map::run(args).unwrap_or_else(told),
        Command::Lab(args) => return lab::run(&args).unwrap_or_else(told),
        Command::Bench(_) => Err(lab::moved("bench")),
        Command::Campaign(_) => Err(lab::moved("campaign")),
        Command::Fer(_) => Err(lab::moved("fer")),
    };
    result.map_or_else(told, |()| ExitCode::SUCCESS)
}

fn told(failure: Failure) -> ExitCode {
    failure.told_by("bief")
}
