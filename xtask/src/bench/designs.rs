//! `cargo xtask bench designs`: servers compared in turns and one at a time. Both must tell the same ratios.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assay_model::check::CheckOutcome;
use assay_model::verdict::{Interval, Verdict};
use clap::Args;

use super::{Program, command_line, table};
use crate::measure::process::Running;
use crate::measure::{Testbed, under_way};

/// How much longer than its budget a run may take: asking, starting, the last round.
const MARGIN: Duration = Duration::from_secs(180);

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    program: Program,
    /// Contenders, which must be installed
    #[arg(long, value_name = "SEL,…", value_delimiter = ',', default_value = "nginx,node")]
    contenders: Vec<String>,
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 64)]
    connections: u32,
    /// Restarts of every contender in each design
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..))]
    rounds: u32,
    /// Budget of each design in seconds
    #[arg(long, value_name = "N", default_value_t = 180)]
    seconds: u32,
}

/// One way to lay a run out in time.
struct Design {
    title: &'static str,
    flags: &'static [&'static str],
}

const DESIGNS: [Design; 2] = [
    Design { title: "in turns", flags: &[] },
    Design { title: "one at a time", flags: &["--one-at-a-time"] },
];

pub(super) fn run(root: &Path, options: &Options) -> Result<(), String> {
    let testbed = options.program.testbed(root)?;
    println!("`{}`; {}.\n", command_line(), testbed.statement);
    let [in_turns, one_at_a_time] = &DESIGNS;
    let turns = measure(root, in_turns, options, &testbed)?;
    let alone = measure(root, one_at_a_time, options, &testbed)?;
    let columns = ["ratio", DESIGNS[0].title, DESIGNS[1].title, "one over the other", "they agree"];
    table::head(&columns.map(str::to_owned));
    for (names, ratio) in &turns {
        let other = alone.iter().find(|(others, _)| others == names).map(|(_, ratio)| ratio);
        table::row(&row(names, ratio, other));
    }
    Ok(())
}

/// The ratio of each pair, by its names.
type Ratios = Vec<([String; 2], Interval)>;

/// # Errors
/// When the run fails, or a person asks to end.
fn measure(root: &Path, design: &Design, options: &Options, testbed: &Testbed) -> Result<Ratios, String> {
    under_way(design.title);
    let number = |number: u32| number.to_string();
    let told = testbed.scratch().join(format!("{}.json", design.title));
    let mut assay = Command::new(&testbed.assay);
    assay.current_dir(root).arg("run").args(&options.contenders).args(design.flags).arg("--no-check");
    assay.args(["-c", &number(options.connections), "--rounds", &number(options.rounds)]);
    assay.args(["--budget", &format!("{}s", options.seconds), "--runs"]).arg(testbed.scratch().join("runs"));
    assay.arg("-o").arg(&told);
    let both = testbed.client_cpu.union(&testbed.server_cpu);
    let limit = Duration::from_secs(u64::from(options.seconds)) + MARGIN;
    Running::start(&mut assay, &both)?.finish(limit, testbed)?.with_code(&[0], design.title)?;
    let text = std::fs::read_to_string(&told).map_err(|error| format!("{}: {error}", told.display()))?;
    let mut document: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let verdict: Verdict =
        serde_json::from_value(document["verdict"].take()).map_err(|error| error.to_string())?;
    match ratios(&verdict) {
        none if none.is_empty() => {
            let why = verdict.trust.iter().filter(|check| check.outcome == CheckOutcome::Void);
            let why: Vec<String> = why.map(assay_report::words::evidence).collect();
            Err(format!("{}: no pair could be compared; {}", design.title, why.join("; ")))
        }
        ratios => Ok(ratios),
    }
}

/// Each pair with its names in alphabetical order, so that two verdicts can be set side by side.
fn ratios(verdict: &Verdict) -> Ratios {
    let sorted = |pair: &assay_model::verdict::Pair| {
        let of = pair.ratio;
        match pair.faster <= pair.slower {
            true => ([pair.faster.clone(), pair.slower.clone()], of),
            false => {
                let inverse =
                    Interval { estimate: 1.0 / of.estimate, low: 1.0 / of.high, high: 1.0 / of.low, ..of };
                ([pair.slower.clone(), pair.faster.clone()], inverse)
            }
        }
    };
    verdict.cells.iter().flat_map(|cell| &cell.pairs).map(sorted).collect()
}

fn row(names: &[String; 2], turns: &Interval, alone: Option<&Interval>) -> Vec<String> {
    let ratio = |of: &Interval| format!("{:.3} [{:.3}, {:.3}]", of.estimate, of.low, of.high);
    let Some(alone) = alone else {
        return vec![format!("{} / {}", names[0], names[1]), ratio(turns), "–".to_owned()];
    };
    let agree = turns.low <= alone.high && alone.low <= turns.high;
    vec![
        format!("{} / {}", names[0], names[1]),
        ratio(turns),
        ratio(alone),
        format!("{:.3}", turns.estimate / alone.estimate),
        if agree { "yes" } else { "NO" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn designs_agree_when_their_intervals_meet() {
        let of =
            |low: f64, high: f64| Interval { estimate: (low * high).sqrt(), low, high, confidence: 0.95 };
        let names = ["nginx".to_owned(), "node".to_owned()];
        let agree = |alone: Option<Interval>| {
            row(&names, &of(2.5, 2.8), alone.as_ref()).last().cloned().unwrap_or_default()
        };
        assert_eq!(agree(Some(of(2.0, 2.6))), "yes");
        assert_eq!(agree(Some(of(2.0, 2.4))), "NO");
        assert_eq!(agree(None), "–");
    }
}
