//! `assay compare`: what changed, and whether that is more than noise.

use std::path::Path;

use assay_lab::store::Store;
use assay_lab::{Exit, side};
use assay_model::comparison::Comparison;
use assay_report::comparison as draw;
use assay_report::terminal::Style;
use assay_verdict::compare::{self, Side};
use assay_verdict::{ending, judge};

use crate::args::{CompareArguments, ComparisonFormat};
use crate::command;
use crate::failure::Failure;
use crate::{log, output};

/// Fewest commands of which one can be compared with another.
const FEWEST_COMMANDS: usize = 2;

pub(crate) fn run(arguments: &CompareArguments) -> Result<Exit, Failure> {
    for path in &arguments.output {
        format_of(path)?;
        output::check_place(path, &arguments.places.runs)?;
    }
    let (base, news, measured) = if arguments.cmd.is_empty() { stored(arguments) } else { now(arguments) }?;
    let comparison = compare::compare(&base, &news, &arguments.fail_on).map_err(Failure::usage)?;
    let style = Style { full: arguments.verbose > 0, ..output::style(arguments.ascii) };
    output::result(&text(&comparison, arguments.format, &style)?);
    for path in &arguments.output {
        assay_file::write(path, text(&comparison, format_of(path)?, &style)?.as_bytes())?;
        output::note(format_args!("comparison {}", path.display()));
    }
    // A regression that was shown is the news; otherwise what befell the measurement is.
    Ok(match compare::ending(&comparison, arguments.strict).into() {
        Exit::Regression => Exit::Regression,
        exit => measured.filter(|measured| *measured != Exit::Ok).unwrap_or(exit),
    })
}

/// The base, the others, and how their measurement ended if it happened now.
type Sides = (Side, Vec<Side>, Option<Exit>);

/// Sides from runs that were measured before.
fn stored(arguments: &CompareArguments) -> Result<Sides, Failure> {
    if arguments.request.is_given() || arguments.request.before().is_some() {
        return Err(Failure::usage(
            "what was measured before was asked as its record says; a request goes with --cmd",
        ));
    }
    let Some((base, others)) = arguments.sides.split_first() else {
        return Err(Failure::usage(
            "compare what? Name two runs, as in `assay compare last~1 last`, or give two commands with --cmd",
        ));
    };
    let store = Store::new(&arguments.places.runs);
    let others = others.iter().map(|wanted| side::open(&store, wanted));
    Ok((side::open(&store, base)?, others.collect::<Result<_, _>>()?, None))
}

/// Sides from commands, measured in the same rounds.
fn now(arguments: &CompareArguments) -> Result<Sides, Failure> {
    if arguments.cmd.len() < FEWEST_COMMANDS {
        return Err(Failure::usage("a comparison needs at least two commands: --cmd OLD --cmd NEW"));
    }
    let record = command::run::record(&arguments.run())?;
    output::note(format_args!(
        "record {}",
        arguments.places.runs.join(&record.id).join("record.json").display()
    ));
    let verdict = judge(&record)?;
    log::remedies(&verdict);
    let exit = Exit::from(ending(&record, &verdict, false));
    match compare::interleaved(&record) {
        Ok((base, news)) => Ok((base, news, Some(exit))),
        Err(_) if exit == Exit::Interrupted => {
            let reason = format!("run {} was stopped before two of the commands were measured", record.id);
            Err(Failure::Unmeasured { exit, reason })
        }
        Err(error) => {
            let exit = if exit == Exit::Ok { Exit::ContenderFailed } else { exit };
            Err(Failure::Unmeasured { exit, reason: error.to_string() })
        }
    }
}

fn text(comparison: &Comparison, format: ComparisonFormat, style: &Style) -> Result<String, Failure> {
    Ok(match format {
        ComparisonFormat::Table => draw::render(comparison, style),
        ComparisonFormat::Md => draw::markdown(comparison),
        ComparisonFormat::Json => draw::json(comparison)?,
        ComparisonFormat::Junit => draw::junit(comparison)?,
    })
}

fn format_of(path: &Path) -> Result<ComparisonFormat, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => Ok(ComparisonFormat::Md),
        Some("json") => Ok(ComparisonFormat::Json),
        Some("xml") => Ok(ComparisonFormat::Junit),
        _ => Err(Failure::usage(format_args!(
            "{}: cannot tell the format; end the name with .md, .json or .xml",
            path.display()
        ))),
    }
}
