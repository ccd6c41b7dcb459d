//! Several generators of one load in the summary: a line for each, with its share of the answers and what it holds against itself.

use assay_model::check::CheckOutcome;
use assay_model::load::{GeneratorShare, LoadReport};
use assay_model::rule::Rule;

use crate::format;

/// A line for each generator, with the name of the first.
pub(super) fn lines(report: &LoadReport) -> Vec<(&'static str, String)> {
    let line = |(number, share): (usize, &GeneratorShare)| {
        (
            if number == 0 { "generators" } else { "" },
            format!("{}: {}", share.name, line(share, report.window.ok)),
        )
    };
    report.generators.iter().enumerate().map(line).collect()
}

/// What one of them did, `all` being the right answers that all got in the window.
fn line(share: &GeneratorShare, all: u64) -> String {
    let Some(report) = share.report.as_deref() else {
        return format!("lost: {}", share.lost.as_deref().unwrap_or("for no known reason"));
    };
    let busiest = report.thread_busy_shares.iter().copied().fold(0.0, f64::max);
    let part = report.window.ok as f64 / all.max(1) as f64;
    let mut text = format!(
        "{} of the answers from {} connections on CPU {}, busiest thread {} busy",
        format::percent(part),
        format::count(u64::from(report.connections)),
        report.cpus,
        format::percent(busiest),
    );
    if let Some(began) = share.began_ns {
        let apart = format::duration(began.unsigned_abs() as f64);
        let word = if began < 0 { "before" } else { "after" };
        text += &format!(", began {apart} {word} the start");
    }
    let troubles = [
        (Rule::GeneratorSaturated, "limited by its CPU"),
        (Rule::GeneratorDisturbed, "disturbed on its CPU"),
        (Rule::OfferedLoad, "did not send all that was due"),
        (Rule::SendLag, "late"),
    ];
    let objects = |rule: Rule| {
        report.checks.iter().any(|check| check.rule == rule && check.outcome != CheckOutcome::Pass)
    };
    for (_, words) in troubles.into_iter().filter(|(rule, _)| objects(*rule)) {
        text += "; ";
        text += words;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::check::Check;
    use assay_model::evidence::Evidence;
    use assay_model::load::WindowCounts;

    #[test]
    fn each_generator_is_told_with_its_share_and_its_troubles() {
        let own = LoadReport {
            connections: 21,
            cpus: "1".to_owned(),
            thread_busy_shares: vec![0.2, 0.96],
            window: WindowCounts { ok: 25, ..WindowCounts::default() },
            checks: vec![Check::objection(
                Rule::GeneratorSaturated,
                CheckOutcome::Warn,
                Evidence::BusiestThread { busy_share: 0.96 },
            )],
            ..LoadReport::default()
        };
        let share = |name: &str, report: Option<LoadReport>| GeneratorShare {
            name: name.to_owned(),
            began_ns: Some(31_000),
            lost: report.is_none().then(|| "it was killed by signal 9".to_owned()),
            report: report.map(Box::new),
            ..GeneratorShare::default()
        };
        let report = LoadReport {
            window: WindowCounts { ok: 100, ..WindowCounts::default() },
            generators: vec![share("1", Some(own)), share("2", None)],
            ..LoadReport::default()
        };
        let told = lines(&report);
        assert_eq!(
            told[0].1,
            "1: 25 % of the answers from 21 connections on CPU 1, busiest thread 96 % busy, began 31.0 µs after the start; \
             limited by its CPU"
        );
        assert_eq!(told[1], ("", "2: lost: it was killed by signal 9".to_owned()));
        assert!(lines(&LoadReport::default()).is_empty());
    }
}
