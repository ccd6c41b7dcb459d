//! How noisy this machine was the last time, for a guess at the precision to come.

use assay_host::isolation::Isolation;
use assay_model::host::HostFacts;
use assay_model::record::Record;
use assay_verdict::round_cv;

use crate::store::Store;

/// Runs that are looked at, the latest first.
const MOST_RUNS: usize = 5;
/// Rounds from which noise can be told.
const LEAST_ROUNDS: usize = 4;

/// The variation of a ratio from round to round ([`round_cv`]) in the latest usable run of this machine on these CPUs.
pub(super) fn prior_cv(store: &Store, host: &HostFacts, isolation: &Isolation) -> Option<f64> {
    let latest = store.ids().into_iter().rev().take(MOST_RUNS);
    let mut records = latest.filter_map(|id| store.open(&id).ok());
    records.find_map(|record| {
        is_alike(&record, host, isolation).then(|| round_cv(&record).ok().flatten()).flatten()
    })
}

fn is_alike(record: &Record, host: &HostFacts, isolation: &Isolation) -> bool {
    let machine =
        |host: &HostFacts| (host.cpu_model.clone(), host.cpus, host.hypervisor.clone(), host.kernel.clone());
    let cpus = isolation.record();
    record.rounds.len() >= LEAST_ROUNDS
        && machine(&record.host) == machine(host)
        && record.isolation.server_cpus == cpus.server_cpus
        && record.isolation.generator_cpus == cpus.generator_cpus
}
