//! Servers that somebody else ran: whose they were, where, and whether they met the generator there.

use assay_model::check::{Check, CheckOutcome};
use assay_model::cpuset::CpuSet;
use assay_model::evidence::{Evidence, Neighbour, Proportion};
use assay_model::record::{Entry, Measurement, Record};
use assay_model::rule::Rule;
use assay_model::running::Running;

use crate::evidence::sample::Sample;

/// A line for each such server.
pub(crate) fn checks(record: &Record) -> Vec<Check> {
    let generator = record.isolation.generator_cpus.parse::<CpuSet>().unwrap_or_default();
    record
        .contenders
        .iter()
        .filter_map(|entry| Some(check(entry, entry.running.as_ref()?, &generator)))
        .collect()
}

/// The first of these that may run where the generator does.
pub(crate) fn neighbour<'r>(
    record: &Record,
    entries: impl IntoIterator<Item = &'r Entry>,
) -> Option<Neighbour> {
    let generator = record.isolation.generator_cpus.parse::<CpuSet>().ok()?;
    entries.into_iter().find_map(|entry| Neighbour::of(entry.running.as_ref()?, &generator))
}

fn check(entry: &Entry, running: &Running, generator: &CpuSet) -> Check {
    let shared = match running {
        Running::Found { cpus, .. } => cpus.parse::<CpuSet>().unwrap_or_default().intersection(generator),
        Running::Unseen { .. } => CpuSet::default(),
    };
    let is_apart = matches!(running, Running::Found { .. }) && shared.is_empty();
    let evidence = Evidence::Running {
        contender: entry.identity.name.clone(),
        running: running.clone(),
        shared_cpus: shared.to_string(),
    };
    let outcome = if is_apart { CheckOutcome::Pass } else { CheckOutcome::Warn };
    Check { rule: Rule::RunningServer, outcome, evidence }
}

/// Whether a server that could go where it liked was on the generator's CPUs.
pub(crate) fn shared_cpus(sample: &Sample<'_>) -> Option<Check> {
    let shared = |window: &Measurement| {
        let cpus = |list: &str| list.parse::<CpuSet>().unwrap_or_default();
        cpus(window.server_seen_on.as_deref()?).intersection(&cpus(&window.load.cpus)).first()
    };
    let hits: Vec<u32> = sample.measured().filter_map(shared).collect();
    let windows = Proportion::new(hits.len(), sample.measured().count());
    let evidence = Evidence::SharedCpus { cpu: *hits.first()?, windows };
    Some(Check::objection(Rule::SharedCpus, CheckOutcome::Warn, evidence))
}

/// Whether CPU time of its processes went uncounted.
pub(crate) fn lost_cpu_time(sample: &Sample<'_>) -> Option<Check> {
    let lost =
        |window: &&Measurement| window.server.as_ref().is_some_and(|used| used.uncounted_processes > 0);
    let windows = Proportion::new(sample.measured().filter(lost).count(), sample.measured().count());
    let evidence = Evidence::LostCpuTime { windows };
    (windows.hits > 0).then(|| Check::objection(Rule::LostCpuTime, CheckOutcome::Warn, evidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{judged, record};
    use assay_model::units::Nanos;
    use assay_model::usage::Usage;
    use assay_model::verdict::Standing;

    /// Six rounds of `a`, beside a limit, with every window of `a` spoilt.
    fn spoilt(mut how: impl FnMut(&mut Measurement)) -> Record {
        let mut record = record(&[("limit", &[80_000.0; 6]), ("a", &[20_000.0; 6])]);
        let runs = record.rounds.iter_mut().flat_map(|round| &mut round.runs);
        runs.filter(|run| run.contender == "a").flat_map(|run| &mut run.cells).for_each(&mut how);
        record
    }

    fn server(window: &mut Measurement) -> &mut Usage {
        window.server.as_mut().expect("observed")
    }

    fn standing(record: &Record) -> Standing {
        let standings = judged(record).cells.remove(0).standings;
        standings.into_iter().find(|standing| standing.contender == "a").expect("measured")
    }

    /// A rule's outcome in `a`'s row; a pass is not in it.
    fn in_row(record: &Record, rule: Rule) -> Option<CheckOutcome> {
        standing(record).checks.iter().find(|check| check.rule == rule).map(|check| check.outcome)
    }

    #[test]
    fn lost_cpu_time_and_meeting_the_generator_are_told_in_the_row() {
        let lost = spoilt(|window| server(window).uncounted_processes = 2);
        assert_eq!(in_row(&lost, Rule::LostCpuTime), Some(CheckOutcome::Warn));
        let seen_on =
            |cpus: &'static str| spoilt(move |window| window.server_seen_on = Some(cpus.to_owned()));
        assert_eq!(in_row(&seen_on("0-1"), Rule::SharedCpus), Some(CheckOutcome::Warn));
        assert_eq!(in_row(&seen_on("1"), Rule::SharedCpus), None);
    }

    #[test]
    fn a_server_that_ran_already_is_named_or_said_not_to_be_found() {
        let with = |running: Running| {
            let mut record = spoilt(|_| ());
            record.contenders[1].running = Some(running);
            judged(&record).trust.into_iter().find(|check| check.rule == Rule::RunningServer).expect("told")
        };
        let on = |cpus: &str| {
            let (program, cpus) = ("nginx".to_owned(), cpus.to_owned());
            with(Running::Found { program, pids: vec![12], processes: 3, cpus })
        };
        let shared = |check: &Check| match &check.evidence {
            Evidence::Running { shared_cpus, .. } => shared_cpus.clone(),
            other => panic!("{other:?}"),
        };
        let (found, anywhere) = (on("1"), on("0-1"));
        assert!(anywhere.outcome == CheckOutcome::Warn && shared(&anywhere) == "0", "{anywhere:?}");
        assert!(found.outcome == CheckOutcome::Pass && shared(&found).is_empty(), "{found:?}");
        let waits = |cpus: &str| {
            let mut record = spoilt(|window| {
                window.load.generator.run_delay_ns = Some(Nanos(window.load.window_ns.0 * 2));
            });
            let (program, cpus) = ("nginx".to_owned(), cpus.to_owned());
            record.contenders[1].running =
                Some(Running::Found { program, pids: vec![12], processes: 3, cpus });
            let waited = |check: &Check| match &check.evidence {
                Evidence::GeneratorWaited { share, beside_server, .. } => {
                    assert!(*share <= 1.0, "{share}");
                    Some(beside_server.as_ref().map(|server| server.pid))
                }
                _ => None,
            };
            let row = standing(&record).checks.iter().find_map(waited);
            (judged(&record).trust.iter().find_map(waited).flatten(), row.flatten())
        };
        assert_eq!((waits("0-1"), waits("1")), ((Some(12), Some(12)), (None, None)));
        let unseen = with(Running::Unseen { why: "it hides".to_owned() });
        assert!(unseen.outcome == CheckOutcome::Warn && shared(&unseen).is_empty(), "{unseen:?}");
    }

    /// Workers of one program share most of their memory.
    #[test]
    fn memory_is_what_was_in_use_at_a_windows_end() {
        let memory = |record: &Record| standing(record).memory_bytes;
        let record = spoilt(|window| {
            *server(window) = Usage {
                rss_peak_bytes: 900 << 20,
                rss_bytes: 600 << 20,
                pss_bytes: Some(200 << 20),
                ..server(window).clone()
            };
        });
        assert_eq!(memory(&record), Some(200 << 20));
        let before = spoilt(|window| server(window).rss_bytes = 600 << 20);
        assert_eq!(memory(&before), Some(600 << 20), "resident where the proportional size is not known");
    }
}
