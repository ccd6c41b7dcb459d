//! Figures of others and ours, scaled to one CPU.

use assay_model::cpuset::CpuSet;
use assay_model::network::Spec;
use assay_model::published::{Figures, SourceCpus};
use assay_model::record::Record;
use assay_model::verdict::{Beside, BesideRow};

use super::phrases::count_of;
use crate::format;

const LOOPBACK: &str = "On loopback whoever sends also does the receiver's part of the network's work, and no card takes \
                        any of it off.";

/// What each CPU did, there and here, and what as many of ours would do; nothing where the source's CPUs are not known.
pub(crate) fn scaled(record: &Record, beside: &Beside) -> Vec<String> {
    let published = record.experiment.published.as_ref();
    let cpus = published.and_then(|of| of.cpus.as_ref()).filter(|_| beside.figures == Figures::Throughput);
    let own_cpus = record.isolation.server_cpus.parse::<CpuSet>().map_or(0, |cpus| cpus.len());
    let Some(cpus) = cpus.filter(|_| own_cpus > 0) else { return Vec::new() };
    let mut sentences: Vec<String> =
        beside.rows.iter().filter_map(|row| of_row(row, cpus, own_cpus)).collect();
    sentences.extend(each_of_ours(beside, own_cpus));
    if !sentences.is_empty() && record.link == Some(Spec::Loopback) {
        sentences.push(LOOPBACK.to_owned());
    }
    sentences
}

/// At the column where the source's figure is the greatest of those that both have.
fn of_row(row: &BesideRow, cpus: &SourceCpus, own_cpus: usize) -> Option<String> {
    let both =
        row.values.iter().zip(&row.ours).filter_map(|(theirs, own)| Some(((*theirs)?, (*own)?.estimate)));
    let (theirs, own) = both.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (own > 0.0).then(|| of_contender(&row.title, cpus, theirs, own_cpus, own))
}

/// What everybody who was measured does with each of our CPUs, at its best.
fn each_of_ours(beside: &Beside, own_cpus: usize) -> Option<String> {
    let best = |row: &BesideRow| {
        let name = row.contender.as_ref()?;
        let each =
            row.ours.iter().flatten().map(|own| own.estimate).max_by(f64::total_cmp)? / own_cpus as f64;
        Some(format!("{name} {}", format::rate(each)))
    };
    let told: Vec<String> = beside.rows.iter().filter_map(best).collect();
    (!told.is_empty())
        .then(|| format!("Requests per second for each CPU of the server here: {}.", told.join(", ")))
}

/// Of one contender: `theirs` on the source's CPUs and `own` on ours, in requests per second.
fn of_contender(title: &str, cpus: &SourceCpus, theirs: f64, own_cpus: usize, own: f64) -> String {
    let (count, unit) = (f64::from(cpus.count.max(1)), &cpus.unit);
    let each = own / own_cpus as f64;
    let here = if own_cpus == 1 { String::new() } else { format!(", {} on each", format::rate(each)) };
    format!(
        "{title} answered {} requests per second on {count} {unit} at the source, {} on each; here it answers {} on the {} \
         that servers have{here}. If {count} such CPUs did as much each as ours do, which is an upper bound, because they \
         share memory, locks and a network, they would answer {}; the source's figure takes {} of them at least.",
        format::rate(theirs),
        format::rate(theirs / count),
        format::rate(own),
        count_of(own_cpus, "CPU"),
        format::rate(each * count),
        (theirs / each).ceil(),
    )
}
