//! What checks found, in sentences; what to do about it stands in [`remedy`](super::remedy).

mod age;
mod answers;
mod cross_check;
mod disturbed;
mod generator;
mod hosts;
mod limit;
mod machine;
mod runs;
mod server;
mod withheld;

use assay_model::check::Check;
use assay_model::evidence::{Evidence, Proportion};

use super::phrases::{count_of, counted};
use crate::format;

pub(crate) use age::measured_under_load;
pub use answers::{described, held_in_words};
pub(crate) use disturbed::disturbed;
pub(crate) use limit::bottleneck;
pub(crate) use runs::{ALONE, restarts_vary};
pub use withheld::withheld;

/// What a check found: a sentence without a full stop, so that it can stand in another.
pub fn evidence(check: &Check) -> String {
    sentence(check, &check.evidence)
}

/// Each kind of evidence in its words; a check says which side of its rule it is on.
#[expect(clippy::too_many_lines, reason = "a table, whole, so that no kind of evidence is without words")]
fn sentence(check: &Check, evidence: &Evidence) -> String {
    use Evidence as E;
    match evidence {
        E::Told { sentence } => sentence.trim_end_matches('.').to_owned(),
        E::RightAnswers { ok } => format!("{} right answers came in the window", format::count(*ok)),
        E::BusiestThread { busy_share } => generator::busiest_thread(*busy_share),
        E::ThreadWaited { waiting_share, involuntary_switches, beside_database, beside_upstream, .. } => {
            let waited = generator::waited(*waiting_share, *involuntary_switches);
            let who = [("database", *beside_database), ("upstream", *beside_upstream)];
            who.iter()
                .filter(|(_, is_beside)| *is_beside)
                .fold(waited, |waited, (who, _)| format!("{waited}; the {who} has the same CPUs"))
        }
        E::Failures { ok, errors } => server::failures(*ok, errors),
        E::Unanswered { unanswered, requests } => server::unanswered(*unanswered, *requests),
        E::Generators { generators, lost, apart_ns, latest, clock_error_ns } => {
            generator::together(*generators, lost, [*apart_ns, *clock_error_ns], latest)
        }
        E::SendLag { lag_p99_ns, unknown, apart_share } => generator::lag(*lag_p99_ns, unknown, *apart_share),
        E::Offered { due, sent, given_up } => generator::offered(*due, *sent, *given_up),
        E::InFlight(found) => generator::in_flight(found.mean, found.wanted),
        E::ServerEnded(found) => server::ended(found),
        E::WindowLength { responses, mean_ns } => generator::window_length(*responses, *mean_ns),
        E::LittlesLaw { in_flight, throughput_times_latency } => {
            generator::littles_law(*in_flight, *throughput_times_latency)
        }
        E::Unsolicited { connections } => server::unsolicited(*connections),
        E::Connections { asked, opened } => server::connections(*asked, *opened),
        E::NoPort { requests } => {
            format!("for {} there was no free local port", counted(*requests, "request"))
        }
        E::Retransmissions { wire, timeouts, segments, windows } => {
            server::retransmissions(wire, *timeouts, *segments, *windows)
        }
        E::TlsOtherwise { asked, agreed, windows } => server::tls_otherwise(asked, agreed, *windows),
        E::Build { version, profile } => runs::build(version, profile),
        E::Rounds(rounds) => runs::rounds(check, rounds),
        E::Isolation { statement } => statement.clone(),
        E::GeneratorBusy { busy_share } => {
            format!("the generator used up to {} of its CPU", format::percent(*busy_share))
        }
        E::Headroom { times, contender } => generator::headroom(check, *times, contender.as_deref()),
        E::Errors { failed: 0, requests, checked, .. } => {
            format!("0 of {} failed; {}", counted(*requests, "request"), answers::checked(checked))
        }
        E::Errors { failed, requests, example, .. } => server::errors(*failed, *requests, example.as_deref()),
        E::SourceErrors { errors } => format!("the source's generator counted {}", server::classes(errors)),
        E::Books { broken } => runs::books(*broken),
        E::LittleOverWindows { broken, example } => {
            runs::little(*broken, example.as_deref().map(|example| sentence(check, example)))
        }
        E::Taken { share, void, turns } => machine::taken(check, *share, *void, *turns),
        E::GeneratorWaited { share, noticeable, void, turns, own, only_own, .. } => {
            let own = own.as_deref().map(|own| sentence(check, own));
            generator::waited_in((!only_own).then_some(*share), *noticeable, *void, *turns, own)
        }
        E::Tcp { retransmitted, dropped } => machine::tcp(*retransmitted, *dropped),
        E::Quota { cpus, held } => machine::quota(*cpus, held.as_ref()),
        E::Database { cpus, host, beside_generator } => {
            machine::database(cpus.as_deref(), host.as_deref(), *beside_generator)
        }
        E::Upstream { cpus, beside_generator } => machine::upstream(cpus, *beside_generator),
        E::AnsweredByItself { answers, of } => server::answered_by_itself(*answers, *of),
        E::Pressure { share } => machine::pressure(*share),
        E::MachineSpeed { spread_share, outliers, turns, gauge } => {
            machine::speed(*spread_share, *outliers, *turns, *gauge)
        }
        E::LinkLoss { lost, frames, asked_share } => machine::loss(*lost, *frames, *asked_share),
        E::Change { change_share, p } => runs::change(check, *change_share, *p),
        E::NoiseFloor { restart_cv, restarts_unknown, contender, is_compared, apart } => {
            let restarts = runs::restarts(*restart_cv, *restarts_unknown);
            runs::noise(&restarts, (contender.as_deref(), *is_compared), apart.as_ref())
        }
        E::Imported { origin } => runs::imported(origin),
        E::SingleRun => ALONE.to_owned(),
        E::Running { contender, running, shared_cpus } => server::running(contender, running, shared_cpus),
        E::LateRequests { unknown, apart_share, windows } => generator::late(unknown, *apart_share, *windows),
        E::Deaths { runs, reason, .. } => format!("{} failed: {reason}", part(*runs, "run")),
        E::NoPorts { windows } => {
            format!("the generator found no free port (EADDRNOTAVAIL) in {}", part(*windows, "window"))
        }
        E::Limit { by, because } => limit::sets_the_figure(*by, because),
        E::Overflow { frames } => {
            format!("{} lost at the full queue before the link's rate", counted(*frames, "frame"))
        }
        E::NotWarm { runs } => {
            format!("still getting faster when its warm-up ended, in {}", part(*runs, "run"))
        }
        E::SlowMode { change_share, low_share, high_share, from_ns, to_ns } => {
            age::slow_mode(*change_share, [*low_share, *high_share], [*from_ns, *to_ns])
        }
        E::LongLook { change_share, low_share, high_share, young_ns, late_ns, end_ns } => {
            age::long_look(*change_share, [*low_share, *high_share], [*young_ns, *late_ns, *end_ns])
        }
        E::Ages { ages, could_show_share, long_look_ns } => age::told(ages, *could_show_share, *long_look_ns),
        E::Pauses { .. } => age::pauses(evidence),
        E::Drift { ratio } => server::drift(*ratio),
        E::ShareOfLimit { share } => server::share_of_limit(*share),
        E::SharedCpus { cpu, windows } => server::shared_cpus(*cpu, *windows),
        E::LostCpuTime { windows } => server::lost_cpu_time(*windows),
        E::Bunched { contenders } => generator::bunched(*contenders),
        E::InWindows { worst, windows } => {
            format!("{} (in {})", sentence(check, worst), part(*windows, "window"))
        }
        E::DifferentRuns { base, new } => runs::different(base, new),
        E::Partial(found) => runs::partial(found),
        E::NotMeasuredHere { runs } => runs::not_measured_here(runs),
        E::Differences { between } => runs::differences(check.rule, between),
        E::FewAnswers { untold, rounds } => generator::few_answers(untold, *rounds),
        E::Answers { base, new } => answers::both(check, base, new),
        E::AllAlike => "all that were asked for the same answered alike".to_owned(),
        E::DuetApart { base, new, cell, apart_share } => runs::duet_apart(base, new, cell, *apart_share),
        E::LostPairs { base, new, cell, void, is_withheld, turns } => {
            let lost = runs::lost_pairs(base, new, cell, *void, *is_withheld);
            let turns = turns.as_deref().map(withheld);
            turns.map_or(lost.clone(), |turns| {
                format!("{lost}; windows of one at a time tell nothing ({turns})")
            })
        }
        E::GeneratorsAgree(agree) => cross_check::agree(agree),
        E::GeneratorGetsMore(found) => cross_check::more(found),
        E::GeneratorsDisagree(found) => cross_check::disagree(found),
        E::HostsAlike(found) => hosts::alike(*found),
        E::HostApart(found) => hosts::apart(found),
        E::NoControl { base } => {
            format!("the time did not allow for {base} against itself (A/A control)")
        }
        E::Unknown => "found by another version of assay, in words that this one does not know".to_owned(),
    }
}

/// "3 of 5 windows".
pub(super) fn part(part: Proportion, noun: &str) -> String {
    format!("{} of {}", part.hits, count_of(part.of as usize, noun))
}

/// "1 of 5 windows does not count", "3 of 5 windows do not count".
fn not_counted(of: Proportion, noun: &str) -> String {
    format!("{} {}", part(of, noun), do_not_count(of.hits))
}

/// The verb for so many that do not count.
fn do_not_count(n: u64) -> &'static str {
    if n == 1 { "does not count" } else { "do not count" }
}

/// "p50 and p99.9".
fn percentiles(quantiles: &[f64]) -> String {
    let name = |quantile: &f64| format!("p{}", format::percentile(*quantile));
    super::phrases::all_of(&quantiles.iter().map(name).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
