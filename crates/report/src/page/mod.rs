//! The data inside the page: what the charts need, worked out here so that the page decodes no histogram and judges
//! nothing. `report-ui/page.schema.json` and `report-ui/src/types.ts` are generated from these types.
//!
//! A page holds one or more runs. What every view of a run needs is in its [`Head`]; the rest is cut into [`Findings`], which
//! [`html`](crate::html) packs one by one, so that a browser unpacks only what somebody looks at.

mod counters;
mod curve;
mod facts;
mod findings;
mod flame;
mod generators;
mod hosts;
#[cfg(feature = "schemas")]
mod schema;
mod since;
mod why;
mod window;

use assay_model::JsonSchema;
use assay_model::check::Check;
use assay_model::record::{Entry, Record};
use assay_model::verdict::{AddedLatency, Beside, NoiseFloor, ProxyCost, Standing, Verdict};
use assay_verdict::DecodedRecord;
use serde::Serialize;

pub use self::counters::{EndCounters, StackCounters, ToldCounts};
pub use self::curve::Curve;
pub use self::facts::{Failure, RunFacts};
pub use self::findings::{Findings, Pairs, Sample, Spot};
pub use self::flame::Flame;
pub use self::generators::ByGenerator;
pub use self::hosts::{HostRow, HostTable};
pub use self::since::{Since, SinceRow};
pub use self::why::{Compared, Explained, Grounds, PartName};
pub use self::window::{missing_cells, per_second};
use crate::protocol::{self, ProtocolComparison};
use crate::stack::{self, StackComparison};
use crate::warnings::{self, Warning};
use crate::words;
use crate::{ReportError, cross_check, sentences};

/// Name and version of the format of [`Page`].
pub const PAGE_SCHEMA: &str = "assay-page/2";

/// Contenders that can be told apart by their colours.
const LEADERS: usize = 6;

/// A run as a page tells it.
#[derive(Clone, Copy, Debug)]
pub struct PageRun<'a> {
    /// What was measured.
    pub record: &'a Record,
    /// What it means.
    pub verdict: &'a Verdict,
    /// What changed since the last run of the same experiment, where there was one.
    pub since: Option<&'a Since>,
}

impl<'a> From<(&'a Record, &'a Verdict)> for PageRun<'a> {
    fn from((record, verdict): (&'a Record, &'a Verdict)) -> Self {
        Self { record, verdict, since: None }
    }
}

/// Everything the page shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Page {
    /// [`PAGE_SCHEMA`].
    pub schema: &'static str,
    /// Experiment and verdict in a line.
    pub title: String,
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunPage>,
}

/// One run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunPage {
    /// What every view of it needs.
    pub head: Head,
    /// What was found at each of [`Head::spots`], in the same order.
    pub findings: Vec<Findings>,
}

/// A published table and ours beside it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Beside")]
pub struct Published {
    /// The tables.
    #[serde(flatten)]
    pub beside: Beside,
    /// What follows, in words, with what is assumed.
    pub sentences: Vec<String>,
}

/// What every view of a run needs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Head {
    /// What was run, where and how.
    pub run: RunFacts,
    /// All contenders that were asked for.
    pub contenders: Vec<Entry>,
    /// The findings in words, most important first.
    pub sentences: Vec<String>,
    /// Checks over the whole run, each with its evidence.
    pub trust: Vec<Check>,
    /// Checks that did not pass, gathered by rule, worst first.
    pub warnings: Vec<Warning>,
    /// Rounds that count.
    pub rounds: u32,
    /// The smallest difference that is called one, in words; absent where figures were imported.
    pub margin_in_words: Option<String>,
    /// How far a contender seemed to differ from itself; absent when none took part twice.
    pub noise_floor: Option<NoiseFloor>,
    /// The figures of the work that the experiment repeats, and ours beside them; absent where it repeats none.
    pub published: Option<Published>,
    /// What the stack costs, by pair of networks; empty where one stack alone was measured.
    pub stack_cost: Vec<StackComparison>,
    /// What the user-space stacks of both ends did in every cell that is compared there.
    pub stack_counters: Vec<StackCounters>,
    /// What a protocol costs, by pair of protocols; empty where one alone was measured.
    pub protocol_cost: Vec<ProtocolComparison>,
    /// What each host did; absent where all was on one.
    pub hosts: Option<HostTable>,
    /// What several generators say of the same servers, by cell; empty where ours alone loaded them.
    pub by_generator: Vec<ByGenerator>,
    /// Generators that were not run, or left cells out, in words, each with its remedy.
    pub generators_missing: Vec<String>,
    /// What changed since the last run of the same experiment; absent where there was none.
    pub since: Option<Since>,
    /// What proxies cost in throughput, cell by cell; empty where none was measured.
    pub proxy_cost: Vec<ProxyCost>,
    /// What proxies add to response times, cell by cell.
    pub added_latency: Vec<AddedLatency>,
    /// Where the time of those goes that were profiled, cell by cell; empty where nobody was.
    pub why: Vec<Explained>,
    /// When each round began, in nanoseconds after the start of the whole run.
    pub round_offsets_ns: Vec<u64>,
    /// Every run that ended early, in order.
    pub failures: Vec<Failure>,
    /// The quantiles of every curve, rising, 0 to 1.
    pub quantiles: Vec<f64>,
    /// The quantiles of every sample, rising, 0 to 1.
    pub sample_quantiles: Vec<f64>,
    /// The durations under which shares are told, rising, in nanoseconds.
    pub bounds_ns: Vec<u64>,
    /// Where something was measured, in the experiment's order.
    pub spots: Vec<Spot>,
    /// The fastest at the first of them: which the page shows first where there are too many to show all.
    pub leaders: Vec<String>,
}

/// Works out the data of a page over some runs: records with their verdicts, or [`PageRun`]s.
///
/// # Errors
/// [`ReportError::Unreadable`] when a histogram of a record cannot be read.
pub fn build<'a, R: Copy + Into<PageRun<'a>>>(runs: &[R]) -> Result<Page, ReportError> {
    let runs: Vec<PageRun<'a>> = runs.iter().map(|run| (*run).into()).collect();
    let title = match runs.as_slice() {
        [run] => title(run.record, run.verdict),
        several => several.iter().map(|run| run.record.id.as_str()).collect::<Vec<_>>().join(", "),
    };
    let runs = runs.into_iter().map(run_page).collect::<Result<_, _>>()?;
    Ok(Page { schema: PAGE_SCHEMA, title, runs })
}

impl Published {
    fn of(record: &Record, beside: &Beside) -> Self {
        Self { beside: beside.clone(), sentences: words::published::scaled(record, beside) }
    }
}

/// The JSON schema of [`Page`], from which `report-ui/src/types.ts` is generated.
#[cfg(feature = "schemas")]
pub fn schema() -> schemars::Schema {
    schema::in_words::<Page>()
}

fn title(record: &Record, verdict: &Verdict) -> String {
    match sentences::of_run(record, verdict).first() {
        Some(sentence) if !record.rounds.is_empty() => format!("{}: {sentence}", record.experiment.name),
        _ => record.experiment.name.clone(),
    }
}

fn leaders(found: &[Findings]) -> Vec<String> {
    let ranked = |standing: &&Standing| standing.tier.is_some();
    let standings = found.first().into_iter().flat_map(|first| &first.standings);
    standings.filter(ranked).take(LEADERS).map(|standing| standing.contender.clone()).collect()
}

fn run_page(PageRun { record, verdict, since }: PageRun<'_>) -> Result<RunPage, ReportError> {
    let evidence = DecodedRecord::of(record)?;
    let spots = findings::spots(record);
    let found: Vec<Findings> =
        spots.iter().map(|spot| findings::findings(&evidence, verdict, spot)).collect();
    let head = Head {
        run: facts::run_facts(record),
        contenders: record.contenders.iter().filter(|entry| entry.control_of.is_none()).cloned().collect(),
        sentences: sentences::of_run(record, verdict),
        trust: verdict.trust.clone(),
        warnings: warnings::warnings(verdict),
        rounds: verdict.rounds,
        margin_in_words: words::margin_in_words(verdict),
        noise_floor: verdict.noise_floor.clone(),
        published: verdict.published.as_ref().map(|beside| Published::of(record, beside)),
        stack_cost: stack::comparisons(record, verdict),
        stack_counters: counters::counters(record, verdict),
        protocol_cost: protocol::comparisons(verdict),
        hosts: hosts::host_table(record, verdict),
        by_generator: generators::by_generator(verdict),
        generators_missing: cross_check::absences(record),
        since: since.cloned(),
        proxy_cost: verdict.proxy_cost.clone(),
        added_latency: verdict.added_latency.clone(),
        why: verdict.why.iter().map(|why| Explained::of(record, why)).collect(),
        round_offsets_ns: facts::round_offsets(record),
        failures: facts::failures(record),
        quantiles: curve::LADDER.to_vec(),
        sample_quantiles: findings::QUANTILES.to_vec(),
        bounds_ns: curve::bounds(),
        spots,
        leaders: leaders(&found),
    };
    Ok(RunPage { head, findings: found })
}
