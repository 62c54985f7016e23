//! The `bief` command: presentation of what the libraries do.

#![forbid(unsafe_code)]

mod bench;
mod campaign;
mod document;
mod draw;
mod failure;
mod fer;
mod files;
mod input;
mod interrupt;
mod json;
mod machine;
mod map;
mod nbfm;
mod plan;
mod planning;
mod power;
mod profile;
mod progress;
mod realtime;
mod run;
mod rx;
mod seeing;
mod shipped;
mod statistics;
mod table;
mod text;
mod tx;
mod units;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  bief rx                              receive the recording that is built in
  bief rx capture.sigmf-meta           write its transport stream to capture.ts
  bief tx in.ts -o out.sigmf-meta --modcod qpsk-8/9 --frame short --pilots
  bief nbfm capture.sigmf-meta         narrowband FM becomes capture.wav
  bief run chain.toml                  a chain of tasks that a file describes
  bief profile chain.toml -o profile.json
                                       what each task takes on each kind of core
  bief plan profile.json --cores 4     the best pipeline for these tasks on 4 cores
  bief plan mac_studio --strategy all  every strategy on a profile that ships
  bief realtime graph.json --latency 5ms
                                       batches and merges that keep a latency
  bief campaign table1                 compare all strategies on random chains
  bief power fit runs.csv              what idle and each busy core draw
  bief fer --modcod qpsk-8/9 --frame short
                                       frame error rates of the receiver
  bief bench runtime                   what calls, hand-overs and waiting cost here
  bief machine                         the cores of this machine
  bief map -- ffmpeg -i in.mkv out.mp4 any program's threads to kinds of cores
  bief power read                      the energy that this machine uses";

/// Runs chains of streaming tasks on every core: a DVB-S2 receiver and transmitter, and the planner behind them
#[derive(Parser)]
#[command(name = "bief", version, max_term_width = 80, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Receive: turn a DVB-S2 recording into a transport stream
    Rx(rx::RxArgs),
    /// Transmit: turn a transport stream into a DVB-S2 recording
    Tx(tx::TxArgs),
    /// Receive narrowband FM: turn a recording into audio
    Nbfm(nbfm::NbfmArgs),
    /// Run: a chain of tasks that a file describes
    Run(run::RunArgs),
    /// Profile: measure how long each task of a chain takes on each kind of core
    Profile(profile::ProfileArgs),
    /// Plan: compute the best pipeline for a profile
    Plan(plan::PlanArgs),
    /// Real time: the worst-case latency of a processing graph, and the batches that keep a limit
    Realtime(realtime::RealtimeArgs),
    /// Power: what a machine and its cores draw
    Power(power::PowerArgs),
    /// Do the experiments of the papers again, beside the published values
    Campaign(campaign::CampaignArgs),
    /// Measure frame error rates of the receiver, and of an ideal one
    Fer(fer::FerArgs),
    /// Measure what the runtime itself costs on this machine
    Bench(bench::BenchArgs),
    /// Show the cores of this machine
    Machine(machine::MachineArgs),
    /// Map: the threads of any program to kinds of cores, by what they need
    Map(map::MapArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Rx(args) => rx::run(args),
        Command::Tx(args) => tx::run(args),
        Command::Nbfm(args) => nbfm::run(args),
        Command::Run(args) => run::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Realtime(args) => realtime::run(args),
        Command::Power(args) => power::run(args),
        Command::Campaign(args) => campaign::run(args),
        Command::Fer(args) => fer::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Machine(args) => machine::run(args),
        Command::Map(args) => return map::run(args).unwrap_or_else(told),
    };
    result.map_or_else(told, |()| ExitCode::SUCCESS)
}

/// Says what is wrong; answers the exit status.
fn told(failure: Failure) -> ExitCode {
    eprintln!("bief: {}", failure.message);
    ExitCode::from(failure.status)
}
