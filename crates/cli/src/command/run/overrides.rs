//! What is typed instead of what an experiment says: its loads, its length, and what is measured besides.

use assay_model::experiment::{Experiment, Measure, Protocol};
use assay_model::offered::Offered;
use assay_model::profiling::Profiling;
use assay_model::units::Nanos;

use crate::args::{HttpName, Rounds, RunArguments};
use crate::failure::Failure;

/// Most rounds of a run that goes on until all is settled.
pub(crate) const MOST_ROUNDS: u32 = 40;
/// Longest time of such a run, in seconds, unless another is given.
pub(crate) const DEFAULT_BUDGET_S: f64 = 300.0;
/// A quick look: the fewest restarts that say something of their noise, and their time in seconds.
const QUICK_ROUNDS: u32 = 3;
const QUICK_BUDGET_S: f64 = 24.0;
const QUICK_WARMUP_S: f64 = 2.0;
/// What `--latency` asks for: low, middle and high load for each contender, and the same for all.
const LATENCY: [Offered; 6] = [
    Offered::Capacity,
    Offered::Share(100),
    Offered::Share(500),
    Offered::Share(800),
    Offered::Share(950),
    Offered::Common,
];

/// Puts what was typed into an experiment.
pub(super) fn override_with(experiment: &mut Experiment, arguments: &RunArguments, workloads: &[String]) {
    if !workloads.is_empty() {
        let like = experiment.measures.first().cloned();
        let measure = |w: &String| Some(Measure { workload: w.clone(), ..like.clone()? });
        experiment.measures = workloads.iter().filter_map(measure).collect();
    }
    if !arguments.connections.is_empty() {
        experiment.measures.iter_mut().for_each(|m| m.connections.clone_from(&arguments.connections));
    }
    if let Some(pipeline) = arguments.pipeline {
        experiment.measures.iter_mut().for_each(|m| m.pipeline = pipeline);
    }
    let rates = [arguments.rate.as_slice(), if arguments.latency { &LATENCY } else { &[] }].concat();
    if !rates.is_empty() {
        experiment.measures.iter_mut().for_each(|m| m.rates.clone_from(&rates));
    }
    if !arguments.connections.is_empty() || arguments.pipeline.is_some() {
        experiment.measures = merged(std::mem::take(&mut experiment.measures));
    }
    if let Some(arrival) = arguments.arrival {
        experiment.arrival = arrival.model();
    }
    let seconds = |span: Option<Nanos>, current: f64| span.map_or(current, |s| s.as_secs_f64());
    if arguments.duration.is_some() {
        experiment.window_requests = None;
    }
    experiment.window_s = seconds(arguments.duration, experiment.window_s);
    experiment.warmup_s = seconds(arguments.warmup, experiment.warmup_s);
    experiment.timeout_s = seconds(arguments.timeout, experiment.timeout_s);
    override_length(experiment, arguments);
    experiment.aa &= !arguments.no_aa;
    experiment.long_look &= !arguments.no_long_look;
    if arguments.profile {
        experiment.profile = Profiling::Always;
    } else if arguments.quick && experiment.profile == Profiling::Once {
        experiment.profile = Profiling::Never;
    }
    if arguments.core_hour.is_some() {
        experiment.core_hour.clone_from(&arguments.core_hour);
    }
    experiment.one_at_a_time |= arguments.one_at_a_time;
    if !arguments.generator.is_empty() {
        experiment.generators.clone_from(&arguments.generator);
    }
    experiment.generator_processes = arguments.generators.unwrap_or(experiment.generator_processes);
    experiment.memory_bytes = arguments.memory.or(experiment.memory_bytes);
    let protocols = protocols(arguments);
    if !protocols.is_empty() {
        experiment.measures.iter_mut().for_each(|measure| measure.protocols.clone_from(&protocols));
    }
    if arguments.streams.is_some() {
        experiment.measures.iter_mut().for_each(|measure| measure.streams = arguments.streams);
    }
}

/// Whether streams and pipelines are asked for where there are such.
pub(super) fn check_streams(experiment: &Experiment, arguments: &RunArguments) -> Result<(), Failure> {
    let cells = experiment.cells();
    if arguments.streams.is_some() && !cells.iter().any(|cell| cell.protocol.is_http2()) {
        return Err(Failure::usage(
            "--streams is for HTTP/2 and gRPC: add --http 2, or --protocol h2c or h2",
        ));
    }
    if arguments.pipeline.is_some() && cells.iter().all(|cell| cell.protocol.is_http2()) {
        return Err(Failure::usage(
            "--pipeline is for HTTP/1.1: several requests at once are --streams in HTTP/2",
        ));
    }
    Ok(())
}

/// What is to be spoken, each once, in order; nothing where that is left to the experiment.
fn protocols(arguments: &RunArguments) -> Vec<Protocol> {
    if arguments.tls || arguments.http.is_some() {
        return vec![Protocol::of(arguments.http == Some(HttpName::Two), arguments.tls)];
    }
    let mut distinct = Vec::new();
    for protocol in &arguments.protocol {
        if !distinct.contains(protocol) {
            distinct.push(*protocol);
        }
    }
    distinct
}

/// Measures of which no two differ in their loads alone, as those of a file may once a number of connections is typed for all.
fn merged(measures: Vec<Measure>) -> Vec<Measure> {
    let mut all: Vec<Measure> = Vec::new();
    for measure in measures {
        let alike =
            |other: &&mut Measure| Measure { rates: other.rates.clone(), ..measure.clone() } == **other;
        match all.iter_mut().find(alike) {
            Some(one) => {
                let known = std::mem::take(&mut one.rates);
                let more = measure.rates.into_iter().filter(|rate| !known.contains(rate)).collect();
                one.rates = [known, more].concat();
            }
            None => all.push(measure),
        }
    }
    all
}

/// How long to go on. A number of rounds is kept to exactly, so that nothing depends on a look at the results; a budget or a
/// precision goes on until all is settled. Who gives the number of rounds and the length of a window has said how long a run is, so the
/// budget of an experiment does not stretch it.
fn override_length(experiment: &mut Experiment, arguments: &RunArguments) {
    let is_length_given =
        matches!(arguments.rounds, Some(Rounds::Exactly(_))) && arguments.duration.is_some();
    let of_the_experiment = experiment.budget_s.filter(|_| !is_length_given);
    experiment.budget_s = arguments.budget.map(|b| b.as_secs_f64()).or(of_the_experiment);
    experiment.precision = arguments.precision.or(experiment.precision);
    let auto = arguments.budget.is_some() || arguments.precision.is_some();
    match arguments.rounds {
        Some(Rounds::Exactly(rounds)) => {
            (experiment.rounds, experiment.until_settled) = (rounds, false);
            experiment.least_rounds = (!arguments.rounds_may_be_cut).then_some(rounds);
        }
        None if !auto => {}
        Some(Rounds::Auto) | None => {
            (experiment.rounds, experiment.until_settled) = (MOST_ROUNDS, true);
            experiment.least_rounds = None;
        }
    }
    if arguments.quick {
        (experiment.rounds, experiment.until_settled) = (QUICK_ROUNDS, false);
        experiment.least_rounds = Some(QUICK_ROUNDS);
        (experiment.budget_s, experiment.aa) = (Some(QUICK_BUDGET_S), false);
        experiment.warmup_s = experiment.warmup_s.min(QUICK_WARMUP_S);
    }
    if experiment.until_settled {
        experiment.budget_s.get_or_insert(DEFAULT_BUDGET_S);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(connections: u32, rates: &[Offered]) -> Measure {
        Measure { rates: rates.to_vec(), ..Measure::capacity("websocket", vec![connections]) }
    }

    /// A file may ask for more loads at one number of connections than at another; a number that is typed is that of both.
    #[test]
    fn measures_that_one_number_of_connections_makes_alike_are_one() {
        let mut experiment = Experiment::new(
            "websocket",
            vec![measure(64, &[Offered::Capacity, Offered::Common]), measure(1024, &[Offered::Capacity])],
        );
        let arguments = RunArguments { connections: vec![256], ..RunArguments::default() };
        override_with(&mut experiment, &arguments, &[]);
        assert_eq!(experiment.measures, [measure(256, &[Offered::Capacity, Offered::Common])]);
    }
}
