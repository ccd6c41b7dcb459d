//! `assay run`: measure, judge, show, keep.

mod database;
mod hosts;
mod networks;
mod overrides;
mod plan;

use std::path::Path;
use std::time::Duration;

pub(crate) use database::private;
pub(crate) use overrides::{DEFAULT_BUDGET_S, MOST_ROUNDS};
pub(crate) use plan::{
    DEFAULT_CONNECTIONS, build, check_names, is_file, own_command, own_workload, program, tools,
};

use assay_file::WriteError;
use assay_lab::rounds;
use assay_lab::store::Store;

use assay_lab::{Exit, LabError, RunPlan, Subject};
use assay_model::experiment::{Experiment, Span};
use assay_model::offered::Offered;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::page::PageRun;
use assay_report::terminal::Style;
use assay_report::{export, foreign, html, outlook};
use assay_verdict::{ending, judge};

use crate::args::{Comparing, Format, RunArguments};
use crate::command::export::Wishes;
use crate::failure::Failure;
use crate::live_page::{Followers, LivePage};
use crate::progress::{Length, Live, clock};
use crate::secrets::secrets;
use crate::{command, log, output, signals};

pub(crate) fn run(arguments: RunArguments) -> Result<Exit, Failure> {
    for path in &arguments.output {
        Target::of(path)?;
        output::check_place(path, &arguments.places.runs)?;
    }
    let plan = plan::build(&arguments)?;
    if arguments.dry_run {
        output::result(&foreign::lines(&describe(&plan, &Store::new(&arguments.places.runs))));
        return Ok(Exit::Ok);
    }
    arguments.consent.to_hosts(plan.subjects.iter().filter_map(Subject::host))?;
    let mut page = arguments.live.map(|port| serve_live(port, &plan, arguments.open)).transpose()?;
    let record = match measure(&plan, &arguments, page.as_mut()) {
        Err(Failure::Lab(LabError::Unsaved { cause, measured, kept })) => {
            show(&measured, &judge(&measured)?, &arguments)?;
            return Err(Failure::Lab(LabError::Unsaved { cause, measured, kept }));
        }
        measured => measured?,
    };
    let verdict = judge(&record)?;
    log::remedies(&verdict);
    let shown = show(&record, &verdict, &arguments);
    write_files(&record, &verdict, &arguments, page)?;
    // What could not be shown is in the record and in its page all the same.
    shown?;
    Ok(ending(&record, &verdict, arguments.strict).into())
}

/// Measures without a word about the result.
pub(crate) fn record(arguments: &RunArguments) -> Result<Record, Failure> {
    let plan = plan::build(arguments)?;
    arguments.consent.to_hosts(plan.subjects.iter().filter_map(Subject::host))?;
    measure(&plan, arguments, None)
}

/// Serves the run's page from now on, and says where.
fn serve_live(port: u16, plan: &RunPlan, is_opened: bool) -> Result<LivePage, Failure> {
    let page = LivePage::begin(port, has_fixed_rounds(plan), is_opened)?;
    output::note(format_args!("live page {}", page.address()));
    Ok(page)
}

fn measure(plan: &RunPlan, arguments: &RunArguments, page: Option<&mut LivePage>) -> Result<Record, Failure> {
    let stop = signals::stop(|stop| {
        output::note(if stop.is_immediate() {
            "stopping now"
        } else {
            "finishing this measurement; Ctrl-C again stops at once"
        });
    })?;
    let length = Length { is_fixed: has_fixed_rounds(plan), shorter: shorter(plan, arguments) };
    let mut live = Live::new(arguments.progress, arguments.ascii, length, &stop);
    let mut followers = Followers { terminal: &mut live, page };
    Ok(rounds::run(plan, &Store::new(&arguments.places.runs), &mut followers, &stop)?)
}

/// Whether it is known before the first round how many there will be, if all goes well.
fn has_fixed_rounds(plan: &RunPlan) -> bool {
    let experiment = &plan.experiment;
    let none_is_cut = experiment.budget_s.is_none() || plan.fills_the_budget() && !plan.allots();
    experiment.least_rounds == Some(experiment.rounds) || !experiment.until_settled && none_is_cut
}

/// How a run is made shorter, unless somebody said how long it may take.
fn shorter(plan: &RunPlan, arguments: &RunArguments) -> Option<&'static str> {
    let is_given = arguments.budget.is_some() || arguments.rounds.is_some() || arguments.precision.is_some();
    if arguments.quick || (is_given && !arguments.is_length_ours) {
        return None;
    }
    let is_small =
        arguments.experiment.is_none() && !(arguments.selectors.is_empty() && arguments.cmd.is_empty());
    Some(match plan.experiment.searches() || arguments.comparing != Comparing::No {
        true => "--budget 1m for a first look",
        false if is_small => "--quick for a first look",
        false => "--budget makes it shorter",
    })
}

fn show(record: &Record, verdict: &Verdict, arguments: &RunArguments) -> Result<(), Failure> {
    let style = Style { full: arguments.verbose > 0, ..output::style(arguments.ascii) };
    output::result(&match (arguments.json, arguments.explains) {
        (true, _) => export::json(record, verdict)?,
        (false, true) => command::explanation::text(record, verdict, &style)?,
        (false, false) => {
            command::show::summary(record, verdict, &Store::new(&arguments.places.runs), &style)
        }
    });
    Ok(())
}

/// The page in the run's folder, and whatever else was asked for. Whoever follows the run gets the page, too.
fn write_files(
    record: &Record,
    verdict: &Verdict,
    arguments: &RunArguments,
    live: Option<LivePage>,
) -> Result<(), Failure> {
    let folder = arguments.places.runs.join(&record.id);
    let since = command::report::since(record, &Store::new(&arguments.places.runs));
    let told = PageRun { record, verdict, since: since.as_ref() };
    let page = html::pages(&[told])?;
    let in_folder = folder.join("report.html");
    // A page that cannot be written is told at the end: whatever was named may lie on another disk.
    let kept = assay_file::write_here(&in_folder, page.as_bytes());
    let report =
        kept.as_ref().map_or_else(|_| String::new(), |()| format!("\nreport {}", in_folder.display()));
    output::note(format_args!("record {}{report}", folder.join("record.json").display()));
    let wishes = Wishes { strict: arguments.strict, ..Wishes::default() };
    for path in &arguments.output {
        let text = match Target::of(path)? {
            Target::Page => page.clone(),
            Target::Export(format) => command::export::text(record, format, wishes)?,
        };
        assay_file::write(path, text.as_bytes())?;
        output::note(format_args!("       {}", path.display()));
    }
    live.map_or(Ok(()), |live| live.end(told, &page))?;
    Ok(kept.map_err(|WriteError { path, source }| LabError::StoreNotWritable { path, source })?)
}

/// What a file's ending asks for.
enum Target {
    Page,
    Export(Format),
}

impl Target {
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("html") => Ok(Self::Page),
            Some("json") => Ok(Self::Export(Format::Json)),
            Some("csv") => Ok(Self::Export(Format::Csv)),
            Some("md") => Ok(Self::Export(Format::Md)),
            Some("xml") => Ok(Self::Export(Format::Junit)),
            Some("prom") => Ok(Self::Export(Format::Openmetrics)),
            Some("svg") => Ok(Self::Export(Format::Svg)),
            _ => Err(Failure::usage(format_args!(
                "{}: cannot tell the format; end the name with .html, .json, .csv, .md, .xml (JUnit), .prom (OpenMetrics) or .svg",
                path.display()
            ))),
        }
    }
}

fn describe(plan: &RunPlan, store: &Store) -> String {
    let (outlook, prediction) = (plan.outlook(store, None), plan.prediction(plan.past(store).as_ref()));
    let names: Vec<&str> = plan.subjects.iter().map(|s| s.identity.name.as_str()).collect();
    let cells: Vec<String> = plan.experiment.cells().iter().map(ToString::to_string).collect();
    format!(
        "experiment  {}\ncontenders  {}\ncells       {}\n{}windows     {}\nrounds      {} of about {}\ntime        about {}{}\npower       {}\nnoise floor {}\ncpus        {}\n{}networks    {}\nseed        {}\n",
        plan.experiment.name,
        names.join(", "),
        cells.join("; "),
        before_in_words(plan),
        windows_in_words(plan),
        prediction.rounds,
        clock(prediction.round),
        clock(prediction.total()),
        budget_in_words(plan),
        outlook.as_ref().map_or_else(|| "no two servers are compared at capacity, and of the costs of stacks and the like nothing is predicted".to_owned(), outlook::sentence),
        if plan.experiment.aa {
            "one contender takes part twice, to learn how far equals seem to differ"
        } else {
            "not measured"
        },
        plan.isolation.statement,
        upstream_in_words(plan),
        networks::describe(plan),
        plan.seed,
    )
}

/// Where what is behind proxies runs, if there are any.
fn upstream_in_words(plan: &RunPlan) -> String {
    let Some(upstream) = &plan.upstream else { return String::new() };
    let beside = if upstream.place.beside_generator { ", beside the generator" } else { "" };
    let name = &upstream.subject.identity.name;
    format!("upstream    {name} behind each proxy, on CPUs {}{beside}\n", upstream.place.cpus)
}

/// What is run before the load, if anything.
fn before_in_words(plan: &RunPlan) -> String {
    let mut commands: Vec<&str> = plan.workloads.iter().filter_map(|w| w.before.as_deref()).collect();
    commands.dedup();
    let line = |command| format!("before      {}, whenever a server is ready\n", secrets().hide(command));
    commands.into_iter().map(line).collect()
}

/// How long the windows are at each kind of load, each once.
fn windows_in_words(plan: &RunPlan) -> String {
    let experiment = &plan.experiment;
    let mut words: Vec<String> = Vec::new();
    for cell in experiment.cells() {
        let length = match (cell.offered, experiment.window_at(cell.offered)) {
            // Its trials are as long as they need to be.
            (Offered::Redline(_), _) => "trials of a redline".to_owned(),
            _ if experiment.is_turned(&cell) && (plan.allots() || plan.fills_the_budget()) => {
                turns_in_words(plan)
            }
            (_, Span::Seconds(seconds))
                if experiment.is_turned(&cell) && plan.takes_turns() && seconds > experiment.turn_s =>
            {
                format!("{seconds} s in turns of {} s", experiment.turn_s)
            }
            (_, Span::Seconds(seconds)) => format!("{seconds} s"),
            (_, Span::Requests(n)) => format!("{n} requests"),
        };
        if !words.contains(&length) {
            words.push(length);
        }
    }
    let split = plan.split().map(|(groups, common)| {
        format!(
            "; two servers or more insist on one port: {groups} groups, {} in each of them",
            common.identity.name
        )
    });
    words.join(", ") + &split.unwrap_or_default()
}

/// Turns whose number follows from the budget: what the length of a window (-d) then bounds.
fn turns_in_words(plan: &RunPlan) -> String {
    let Experiment { turn_s, window_s, until_settled, .. } = plan.experiment;
    let longest = match window_s > turn_s {
        true => format!(", up to {window_s} s where answers are slow"),
        false => String::new(),
    };
    let first = match plan.allots() && until_settled {
        true => format!("; {} s of them at most in the first round", window_s.max(turn_s)),
        false => String::new(),
    };
    format!("turns of {turn_s} s{longest}{first}")
}

/// What bounds the run, if anything.
fn budget_in_words(plan: &RunPlan) -> String {
    let Some(budget_s) = plan.experiment.budget_s else { return String::new() };
    let how = match (plan.allots(), plan.experiment.until_settled) {
        (true, true) => {
            "shared out among rounds and turns after each round; it ends sooner when every pair is settled"
        }
        (true, false) => "shared out among rounds and turns after each round",
        (false, _) if plan.fills_the_budget() => "which the turns fill",
        (false, _) => "no round is begun that would exceed it",
    };
    format!(", within {}: {how}", clock(Duration::from_secs_f64(budget_s)))
}
