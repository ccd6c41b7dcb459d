//! From a file of results to a record that says that assay measured nothing of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_model::conformance::{Conformance, RuleFinding, Ruling, Severity};
use assay_model::contender::Kind;
use assay_model::experiment::{Cell, Experiment, Measure};
use assay_model::family::Family;
use assay_model::host::{HostFacts, Isolation};
use assay_model::identity::{Identity, Origin};
use assay_model::imported::Imported;
use assay_model::load::{Books, ErrorClass, LOAD_SCHEMA, LoadReport, WindowCounts};
use assay_model::record::{
    Entry, Measurement, NotRun, Program, RECORD_SCHEMA, Record, Round, Run, Stage, State,
};
use assay_model::units::Nanos;
use assay_model::workload::Workload;
use jiff::Timestamp;

use super::TestType;
use super::results::{self, Metadata, Results, Window};
use crate::error::LabError;
use crate::store::Store;

const SOURCE: &str = "TechEmpower Framework Benchmarks";
/// Name of the experiment, and so of the run's folder.
const EXPERIMENT: &str = "imported-techempower";
/// Requests in flight on one connection of the plaintext type.
const PIPELINE: u32 = 16;
/// Connections of the types whose levels are numbers of rows, where the file names no level of connections.
const CONNECTIONS: u32 = 512;
/// The toolset's generator.
const GENERATOR: &str = "wrk";
/// Longest window that is believed, in seconds.
const MAX_WINDOW_S: f64 = 86_400.0;

/// Reads `file` (`results.json`), with the tests' descriptions from `metadata` (`test_metadata.json`) where the file has none
/// of its own, and stores it as a run that began when the source's did. `command` and `program` say who imported it.
///
/// # Errors
/// A file that cannot be read, is no such file, or contradicts itself, with the place; a store that cannot be written.
pub fn import(
    file: &Path,
    metadata: Option<&Path>,
    store: &Store,
    command: Vec<String>,
    program: Program,
) -> Result<Record, LabError> {
    let results: Results = results::read(file, "a results.json of the TechEmpower toolset")?;
    let described = metadata.map(|path| results::read(path, "a test_metadata.json")).transpose()?;
    let described: Vec<Metadata> = described.or_else(|| results.test_metadata.clone()).unwrap_or_default();
    let began = began(&results, file)?;
    let tables = tables(&results).map_err(|(key, problem)| contradiction(file, &key, problem))?;
    let folder = store.create(EXPERIMENT, began)?;
    let record = Record {
        schema: RECORD_SCHEMA.to_owned(),
        id: folder.id.clone(),
        started_at: began.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_ns: elapsed(&results),
        paused_ns: Nanos::ZERO,
        state: State::Complete,
        assay: program,
        command,
        seed: 0,
        experiment: experiment(&results, &tables),
        workloads: tables.iter().map(|table| workload(table)).collect(),
        host: HostFacts { cpu_model: results.environment_description.clone(), ..HostFacts::default() },
        isolation: Isolation {
            statement: "what ran where is the source's affair".to_owned(),
            ..Isolation::default()
        },
        link: None,
        database: None,
        link_facts: None,
        generators: Vec::new(),
        upstream: None,
        networks: Vec::new(),
        tls: None,
        server_hosts: Vec::new(),
        generator_hosts: Vec::new(),
        host_links: Vec::new(),
        imported: Some(origin(&results, file)),
        contenders: names(&results).into_iter().map(|name| entry(&results, &described, name)).collect(),
        rounds: vec![Round { index: 0, server_host: None, runs: runs(&results, &tables, began) }],
        long_look: None,
        energy: None,
    };
    folder.save(&record)?;
    folder.clear_work();
    Ok(record)
}

fn contradiction(file: &Path, key: &str, problem: String) -> LabError {
    LabError::Argument { given: format!("{}: {key}", file.display()), problem }
}

fn began(results: &Results, file: &Path) -> Result<Timestamp, LabError> {
    let Some(start) = results.start_time else {
        let problem = "it is missing, so nobody would know how old the figures are".to_owned();
        return Err(contradiction(file, "startTime", problem));
    };
    Timestamp::from_millisecond(start)
        .map_err(|error| contradiction(file, "startTime", format!("{start} ms is no time: {error}")))
}

fn elapsed(results: &Results) -> Nanos {
    let span =
        results.completion_time.zip(results.start_time).map_or(0, |(end, start)| end.saturating_sub(start));
    Nanos::from_millis(u64::try_from(span).unwrap_or(0).min(u64::MAX / 1_000_000))
}

fn origin(results: &Results, file: &Path) -> Imported {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Imported {
        source: SOURCE.to_owned(),
        title: results.name.clone().unwrap_or_default().trim().to_owned(),
        environment: results.environment_description.clone().unwrap_or_default().trim().to_owned(),
        file: name(file).unwrap_or_default(),
        revision: results.git.as_ref().and_then(|git| git.commit_id.clone()),
    }
}

/// All windows of one cell of ours.
struct Table<'a> {
    test_type: TestType,
    cell: Cell,
    level: u32,
    windows: BTreeMap<&'a str, &'a Window>,
}

/// The tables that hold anything, in the source's order; the error comes with the key that it concerns.
fn tables(results: &Results) -> Result<Vec<Table<'_>>, (String, String)> {
    if !(results.duration > 0.0 && results.duration <= MAX_WINDOW_S) {
        let problem = format!("{} s is no length of a window", results.duration);
        return Err(("duration".to_owned(), problem));
    }
    let mut tables = Vec::new();
    for test_type in TestType::ALL {
        let levels = results.levels(test_type);
        if let Some(problem) = ambiguous(levels) {
            return Err((Results::levels_key(test_type).to_owned(), problem));
        }
        let mut of_type: Vec<Table<'_>> =
            levels.iter().map(|&level| table(results, test_type, level)).collect();
        for (name, windows) in results.raw_data.of(test_type) {
            if windows.len() > levels.len() {
                let key = format!("rawData.{}.{name}", test_type.their_name());
                let problem =
                    format!("{} windows for {} levels; one of the two is cut", windows.len(), levels.len());
                return Err((key, problem));
            }
            for (index, (table, window)) in of_type.iter_mut().zip(windows).enumerate() {
                if let Some(total) = window.total_requests
                    && window.other_status > total
                {
                    let key = format!("rawData.{}.{name}[{index}]", test_type.their_name());
                    let problem =
                        format!("{} of {total} requests failed, more than all", window.other_status);
                    return Err((key, problem));
                }
                table.windows.insert(name, window);
            }
        }
        // For a contender without figures in such a table, the source counted no right answer.
        let holds_any =
            |table: &Table<'_>| table.windows.values().any(|window| window.total_requests.is_some());
        tables.extend(of_type.into_iter().filter(holds_any));
    }
    if tables.is_empty() {
        return Err(("rawData".to_owned(), "it holds no window of any type".to_owned()));
    }
    Ok(tables)
}

/// Why levels do not tell which window is whose, if so.
fn ambiguous(levels: &[u32]) -> Option<String> {
    if levels.contains(&0) {
        return Some("0 is no level at which anything is measured; correct the list".to_owned());
    }
    let mut seen = BTreeSet::new();
    let again = levels.iter().find(|level| !seen.insert(**level))?;
    Some(format!("{again} stands in it twice, so nobody knows which window is whose; correct the list"))
}

fn table(results: &Results, test_type: TestType, level: u32) -> Table<'static> {
    let most = results.concurrency_levels.iter().copied().max().unwrap_or(CONNECTIONS);
    let cell = if test_type.counts_rows() {
        Cell::closed(format!("{}-{level}", test_type.workload()), most)
    } else {
        let pipeline = if test_type == TestType::Plaintext { PIPELINE } else { 1 };
        Cell { pipeline, ..Cell::closed(test_type.workload(), level) }
    };
    Table { test_type, cell, level, windows: BTreeMap::new() }
}

fn experiment(results: &Results, tables: &[Table<'_>]) -> Experiment {
    let measure = |table: &Table<'_>| Measure {
        pipeline: table.cell.pipeline,
        ..Measure::capacity(table.cell.workload.clone(), vec![table.cell.connections])
    };
    Experiment {
        about: format!("What the {SOURCE} published; assay measured nothing of it."),
        rounds: 1,
        aa: false,
        window_s: results.duration,
        warmup_s: results.duration,
        settle_s: 0.0,
        ..Experiment::new(EXPERIMENT, tables.iter().map(measure).collect())
    }
}

fn workload(table: &Table<'_>) -> Workload {
    let theirs = table.test_type.their_name();
    let rows = table.test_type.counts_rows().then_some(table.level);
    let family = rows.map(|value| Family {
        name: table.test_type.workload().to_owned(),
        parameter: "n".to_owned(),
        value,
    });
    let with = rows.map_or_else(String::new, |n| format!(" with {n} rows a request"));
    Workload {
        name: table.cell.workload.clone(),
        about: format!("The source's type {theirs}{with}, checked by its verifier before the load."),
        family,
        ..Workload::default()
    }
}

/// All tests that the file speaks of, in its order.
fn names(results: &Results) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let listed = results.frameworks.iter();
    let measured = TestType::ALL.into_iter().flat_map(|test_type| results.raw_data.of(test_type).keys());
    listed.chain(measured).map(String::as_str).filter(|name| seen.insert(*name)).collect()
}

fn entry(results: &Results, described: &[Metadata], name: &str) -> Entry {
    let about = described.iter().find(|one| one.name == name).cloned().unwrap_or_default();
    let identity = Identity {
        title: if about.display_name.is_empty() { name.to_owned() } else { about.display_name.clone() },
        language: about.language.to_lowercase(),
        about: set_up(&about),
        workloads: answered(results, name),
        ..Identity::named(name, Kind::Framework, Origin::Folder)
    };
    Entry {
        conformance: verified(results, name),
        not_run: not_started(results, name),
        ..Entry::untried(identity)
    }
}

/// The source's own attributes in a line; those it calls none are left out.
fn set_up(about: &Metadata) -> String {
    let attributes = [
        ("", &about.classification),
        ("approach ", &about.approach),
        ("platform ", &about.platform),
        ("web server ", &about.webserver),
        ("database ", &about.database),
        ("ORM ", &about.orm),
    ];
    let told =
        attributes.iter().filter(|(_, value)| !value.is_empty() && !value.eq_ignore_ascii_case("none"));
    told.map(|(label, value)| format!("{label}{value}")).collect::<Vec<_>>().join(", ")
}

fn answered(results: &Results, name: &str) -> Vec<String> {
    let types = TestType::ALL.into_iter();
    let of = types.filter(|test_type| results.raw_data.of(*test_type).contains_key(name));
    of.map(|test_type| test_type.workload().to_owned()).collect()
}

/// What the source's verifier said, as findings: its `fail` breaks what must be kept, its `warn` what should be.
fn verified(results: &Results, name: &str) -> Option<Conformance> {
    let said = results.verify.get(name)?;
    let finding = |(theirs, word): (&String, &String)| {
        let test_type = TestType::ALL.into_iter().find(|test_type| test_type.is_called(theirs))?;
        let (severity, ruling) = match word.to_lowercase().as_str() {
            "pass" => (Severity::Must, Ruling::Kept),
            "warn" => (Severity::Should, Ruling::Broken),
            _ => (Severity::Must, Ruling::Broken),
        };
        Some(RuleFinding {
            rule: format!("techempower-{theirs}"),
            sentence: format!("The source's verifier accepts its answers to {}.", test_type.workload()),
            source: format!("{SOURCE}, verify"),
            severity,
            ruling,
            evidence: (ruling == Ruling::Broken).then(|| format!("the file says {word}")),
        })
    };
    let findings: Vec<RuleFinding> = said.iter().filter_map(finding).collect();
    (!findings.is_empty()).then_some(Conformance { elapsed_ns: Nanos::ZERO, findings })
}

/// Instead of a time the toolset noted why a test could not be started, or that it gave nothing.
fn not_started(results: &Results, name: &str) -> Option<NotRun> {
    let noted = results.completed.get(name)?;
    let is_time = noted.chars().all(|c| c.is_ascii_digit() || ":- ".contains(c));
    (!is_time).then(|| NotRun {
        stage: Stage::Start,
        reason: format!("the source noted: {noted}"),
        remedy: None,
        log_tail: Vec::new(),
    })
}

fn runs(results: &Results, tables: &[Table<'_>], began: Timestamp) -> Vec<Run> {
    let run = |name: &str| {
        let windows = tables.iter().filter_map(|table| Some((table, *table.windows.get(name)?)));
        let cells: Vec<Measurement> =
            windows.map(|(table, window)| measurement(results.duration, table, window, began)).collect();
        let known = cells.iter().map(|cell| cell.offset_ns).filter(|offset| *offset > Nanos::ZERO);
        let offset_ns = known.min().unwrap_or_default();
        Run { contender: name.to_owned(), offset_ns, cells, ..Run::default() }
    };
    names(results).into_iter().map(run).filter(|run| !run.cells.is_empty()).collect()
}

fn measurement(duration_s: f64, table: &Table<'_>, window: &Window, began: Timestamp) -> Measurement {
    let after = |start: f64| start - began.as_millisecond() as f64 / 1e3;
    // Throughput as the source computes it: answers with a good status over the length that was asked for.
    let ok = window.total_requests.unwrap_or(0).saturating_sub(window.other_status);
    let errors = errors(window);
    let failed: u64 = errors.values().sum();
    let load = LoadReport {
        schema: LOAD_SCHEMA.to_owned(),
        engine: GENERATOR.to_owned(),
        connections: table.cell.connections,
        pipeline: table.cell.pipeline,
        window_ns: Nanos::from_secs_f64(duration_s),
        books: Books { issued: ok.saturating_add(failed), ok, errors: errors.clone(), ..Books::default() },
        window: WindowCounts { ok, errors, ..WindowCounts::default() },
        ..LoadReport::default()
    };
    let offset_ns = Nanos::from_secs_f64(window.start_time.map_or(0.0, after));
    Measurement { offset_ns, ..Measurement::new(table.cell.clone(), load) }
}

/// wrk's classes in the nearest of ours.
fn errors(window: &Window) -> BTreeMap<ErrorClass, u64> {
    let counts = [
        (ErrorClass::ConnectOther, window.connect),
        (ErrorClass::EarlyEof, window.read),
        (ErrorClass::SendReset, window.write),
        (ErrorClass::HeadTimeout, window.timeout),
        (ErrorClass::UnexpectedStatus, window.other_status),
    ];
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
