//! What a right answer costs a server, besides time.

use assay_model::core_hour::Money;
use assay_model::record::{Measurement, Record};
use assay_model::usage::{Counted, Usage};
use assay_model::verdict::{Interval, Price};

use crate::evidence::sample::Sample;
use crate::median;

/// Medians over the rounds that count.
pub(crate) fn price(sample: &Sample<'_>) -> Price {
    let workload = sample.measured().next().map_or("", |window| window.cell.workload.as_str());
    let used = |of: fn(&Usage) -> u64| {
        let per_answer = |window: &Measurement| per(of(window.server.as_ref()?), window.answers_watched());
        median(&sample.counting().filter_map(per_answer).collect::<Vec<_>>())
    };
    let counted = |of: fn(&Counted) -> Option<u64>| {
        let warmups = sample.runs.iter().flatten().flat_map(|run| &run.warmups);
        let slices = warmups.filter(|warmup| warmup.workload == workload).filter_map(|w| w.counted.as_ref());
        median(&slices.filter_map(|slice| per(of(slice)?, slice.answers)).collect::<Vec<_>>())
    };
    let idle = sample.runs.iter().flatten().filter_map(|run| Some(run.idle.as_ref()?.memory_bytes() as f64));
    Price {
        user_ns: used(|usage| usage.user_ns.0),
        system_ns: used(|usage| usage.system_ns.0),
        voluntary_switches: used(|usage| usage.voluntary_switches),
        involuntary_switches: used(|usage| usage.involuntary_switches),
        page_faults: used(|usage| usage.minor_faults.saturating_add(usage.major_faults)),
        system_calls: counted(|slice| slice.system_calls),
        cycles: counted(|slice| slice.cycles),
        instructions: counted(|slice| slice.instructions),
        rss_idle_bytes: median(&idle.collect::<Vec<_>>()),
    }
}

/// What a million answers cost that each take so much CPU time; `None` where that is not known, or nobody said what an hour
/// of a CPU costs.
pub(crate) fn price_of_a_million(record: &Record, cpu_ns: Option<Interval>) -> Option<Money> {
    Some(record.experiment.core_hour.as_ref()?.of_a_million(&cpu_ns?))
}

fn per(amount: u64, answers: u64) -> Option<f64> {
    (answers > 0).then(|| amount as f64 / answers as f64)
}
