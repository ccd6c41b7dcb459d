//! A run without its measurements: what was run, where and how, and what ended early.

use std::collections::BTreeSet;

use assay_model::JsonSchema;
use assay_model::experiment::{Cell, Experiment, Protocol};
use assay_model::host::{HostFacts, Isolation};
use assay_model::network::Network;
use assay_model::record::{NetworkFacts, NotRun, Program, Record, Round, State};
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use serde::Serialize;

use super::window::{is_proper, missing_cells};

/// The record without its rounds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunFacts {
    /// Name of the run's folder.
    pub id: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// How long it took.
    pub elapsed_ns: Nanos,
    /// Where it stands.
    pub state: State,
    /// The program that measured.
    pub assay: Program,
    /// The command line, ready for a shell.
    pub command: String,
    /// The note that it was not measured here, and from where it comes; absent for a run.
    pub imported: Option<String>,
    /// Seed of the schedule, as text because JavaScript would round it.
    pub seed: String,
    /// How client and server were joined.
    pub link: String,
    /// The networks that the experiment names, with why those are missing that could not be had; empty where it names none.
    pub networks: Vec<NetworkFacts>,
    /// The plan.
    pub experiment: Experiment,
    /// The workloads of the plan.
    pub workloads: Vec<Workload>,
    /// The machine.
    pub host: HostFacts,
    /// The CPUs on which each ran.
    pub isolation: Isolation,
    /// Event engines of the load generator that ran.
    pub engines: BTreeSet<String>,
}

/// A run that ended early.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Index of the round.
    pub round: u32,
    /// Name of the contender.
    pub contender: String,
    /// The network that it was started on; absent where the experiment names none.
    pub network: Option<Network>,
    /// What it was started to speak.
    pub protocol: Protocol,
    /// When it was started, after the start of the whole run.
    pub offset_ns: Nanos,
    /// Planned cells that it did not reach.
    pub missing: Vec<Cell>,
    /// What happened.
    pub why: NotRun,
}

pub(super) fn run_facts(record: &Record) -> RunFacts {
    let measurements = record.rounds.iter().flat_map(|round| &round.runs).flat_map(|run| &run.cells);
    RunFacts {
        id: record.id.clone(),
        started_at: record.started_at.clone(),
        elapsed_ns: record.elapsed_ns,
        state: record.state,
        assay: record.assay.clone(),
        command: crate::text::shell(&record.command),
        imported: record.imported.as_ref().map(ToString::to_string),
        seed: record.seed.to_string(),
        link: record.link_text(),
        networks: record.networks.clone(),
        experiment: record.experiment.clone(),
        workloads: record.workloads.clone(),
        host: record.host.clone(),
        isolation: record.isolation.clone(),
        engines: measurements.map(|measurement| measurement.load.engine.clone()).collect(),
    }
}

/// When the first server of each round was started.
pub(super) fn round_offsets(record: &Record) -> Vec<u64> {
    let began = |round: &Round| round.runs.iter().map(|run| run.offset_ns.0).min();
    record.rounds.iter().filter_map(began).collect()
}

/// Every run that ended early, in order.
pub(super) fn failures(record: &Record) -> Vec<Failure> {
    let mut failures = Vec::new();
    for round in &record.rounds {
        for run in round.runs.iter().filter(|run| is_proper(record, &run.contender)) {
            if let Some(why) = &run.failure {
                failures.push(Failure {
                    round: round.index,
                    contender: run.contender.clone(),
                    network: run.network,
                    protocol: run.protocol,
                    offset_ns: run.offset_ns,
                    missing: missing_cells(record, run)
                        .into_iter()
                        .filter(|cell| cell.offered.is_capacity())
                        .collect(),
                    why: why.clone(),
                });
            }
        }
    }
    failures
}
