//! Runs on disk: `runs/ID/` with the record, the contenders' logs and the histograms.

mod before;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_model::conformance::{Conformance, Earlier};
use assay_model::record::{Entry, RECORD_SCHEMA, Record};
use assay_verdict::DecodedRecord;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::error::LabError;
use crate::in_use;
use crate::marks::{RECORD_FILE, WORK, WORK_MARK, is_name_of_run, is_work};
use crate::names::hint_beside;
use crate::owner::is_own;
use crate::trusted::Trusted;

/// The command that lists them.
const LISTS: &str = "assay list runs --all";
/// Longest record that is read: hundreds of times what a long run of many contenders leaves.
const MAX_RECORD_BYTES: u64 = 256 << 20;
/// Runs in which an earlier word on a contender is looked for, the latest first.
const MOST_RUNS_BEFORE: usize = 20;
/// Runs of one experiment that may begin within a second.
const MAX_NAMESAKES: u32 = 100;

/// The folder that holds all runs.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// The name of the run.
    pub id: String,
    /// The path of the folder.
    pub path: PathBuf,
    /// Says that somebody is at work in it, until the last clone is dropped or the process dies (flock(2)).
    _at_work: Arc<File>,
}

impl Store {
    /// The store under `root`, which need not exist before something is stored.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the folder for a run of `experiment` that begins at `now`, called by its UTC time and the experiment, such as
    /// `20261120-221530-showdown`; a number is appended when there is one of that name already.
    ///
    /// # Errors
    /// [`LabError::StoreNotWritable`]: better now than after the measurement. [`LabError::Argument`] where somebody else put
    /// the folder and could have the run's files written elsewhere.
    pub fn create(&self, experiment: &str, now: Timestamp) -> Result<RunFolder, LabError> {
        std::fs::create_dir_all(&self.root).map_err(|source| LabError::not_writable(&self.root, source))?;
        self.refuse_a_neighbours()?;
        // Logs are written by processes that run in other folders.
        let root = self.root.canonicalize().map_err(|source| LabError::read(&self.root, source))?;
        let name = format!("{}-{experiment}", now.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S"));
        let names =
            std::iter::once(name.clone()).chain((2..MAX_NAMESAKES).map(|number| format!("{name}-{number}")));
        for id in names {
            let path = root.join(&id);
            match std::fs::create_dir(&path).and_then(|()| std::fs::create_dir(path.join("logs"))) {
                Ok(()) => {
                    let at_work =
                        in_use::hold(&path).map_err(|source| LabError::not_writable(&path, source))?;
                    return Ok(RunFolder { id, path, _at_work: Arc::new(at_work) });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(LabError::not_writable(&path, source)),
            }
        }
        Err(LabError::Bug(format!("{MAX_NAMESAKES} runs called {name}")))
    }

    fn refuse_a_neighbours(&self) -> Result<(), LabError> {
        let program = std::env::current_exe().ok();
        let Some(why) = Trusted::here(program.as_deref()).doubt_about_path(&self.root) else { return Ok(()) };
        Err(LabError::Argument {
            given: self.root.display().to_string(),
            problem: format!(
                "{why}, so that a run's files could be led elsewhere; keep runs in a folder of your own with --runs or ASSAY_RUNS"
            ),
        })
    }

    /// The folder that holds all runs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What passed by in runs that are over, and was not removed because they were killed.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| is_name_of_run(&entry.file_name().to_string_lossy()));
        let folders = folders.map(|entry| entry.path());
        let own = |folder: PathBuf| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| is_passing(path))
        };
        let with_logs =
            folders.filter(|folder| folder.join("logs").is_dir() || folder.join(RECORD_FILE).is_file());
        let is_own = |folder: &PathBuf| folder.symlink_metadata().is_ok_and(|found| is_own(&found));
        with_logs.filter(is_own).filter(|folder| in_use::is_free(folder)).flat_map(own).collect()
    }

    /// Names of all runs, oldest first.
    pub fn ids(&self) -> Vec<String> {
        let folders = std::fs::read_dir(&self.root).into_iter().flatten().flatten();
        let with_record = folders.filter(|folder| folder.path().join(RECORD_FILE).is_file());
        let mut ids: Vec<String> =
            with_record.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        ids.sort();
        ids
    }

    /// The record file of `wanted`: a run's name or an unambiguous beginning of it, `last`, `last~N` (N before the last),
    /// or a path to a run's folder or record.
    ///
    /// # Errors
    /// [`LabError::UnknownRun`] with the nearest names.
    pub fn resolve(&self, wanted: &str) -> Result<PathBuf, LabError> {
        let ids = self.ids();
        let unknown = |hint: String| {
            let is_told = ids.is_empty() || hint.contains(LISTS);
            let hint = if is_told { hint } else { format!("{hint}; `{LISTS}` shows all") };
            LabError::UnknownRun { wanted: wanted.to_owned(), runs: self.root.clone(), hint }
        };
        if let Some(back) = back_from_last(wanted) {
            let found = ids.len().checked_sub(back.saturating_add(1)).and_then(|index| ids.get(index));
            let runs = if ids.len() == 1 { "run" } else { "runs" };
            let found = found.ok_or_else(|| unknown(format!("it holds {} {runs}", ids.len())))?;
            return Ok(self.root.join(found).join(RECORD_FILE));
        }
        let path = Path::new(wanted);
        for candidate in [path.join(RECORD_FILE), path.to_owned(), self.root.join(wanted).join(RECORD_FILE)] {
            if candidate.is_file() {
                return Ok(candidate);
            }
        }
        let mut beginning = ids.iter().filter(|id| id.starts_with(wanted));
        match (beginning.next(), beginning.next()) {
            (Some(only), None) => Ok(self.root.join(only).join(RECORD_FILE)),
            _ => Err(unknown(hint_beside(wanted, ids.iter().map(String::as_str), Some(LISTS)))),
        }
    }

    /// The record of `wanted` (see [`Self::resolve`]).
    ///
    /// # Errors
    /// When there is no such run, or its record cannot be read.
    pub fn open(&self, wanted: &str) -> Result<Record, LabError> {
        read_record(&self.resolve(wanted)?)
    }

    /// What the contenders of a run were last found to keep of the rules before it, in the latest runs here.
    pub fn conformance_before(&self, record: &Record) -> Earlier {
        let asked = |entry: &&Entry| entry.conformance.is_some() && entry.control_of.is_none();
        let mut wanted: BTreeSet<&str> =
            record.contenders.iter().filter(asked).map(|entry| entry.identity.name.as_str()).collect();
        let mut earlier = Earlier::new();
        let before = self.ids().into_iter().rev().filter(|id| *id < record.id).take(MOST_RUNS_BEFORE);
        for id in before {
            if wanted.is_empty() {
                break;
            }
            let found = asked_in(&self.root.join(id).join(RECORD_FILE)).into_iter();
            for (name, conformance) in
                found.filter(|(name, _)| wanted.remove(name.as_str())).collect::<Vec<_>>()
            {
                earlier.insert(name, conformance);
            }
        }
        earlier
    }
}

/// Who was asked for the rules in a run, and what came out; nobody where its record cannot be read.
fn asked_in(record: &Path) -> Vec<(String, Conformance)> {
    #[derive(Deserialize)]
    struct Inquired {
        contenders: Vec<One>,
    }
    #[derive(Deserialize)]
    struct One {
        name: String,
        conformance: Option<Conformance>,
    }
    let text = assay_file::read(record, MAX_RECORD_BYTES).unwrap_or_default();
    let asked: Vec<One> =
        serde_json::from_str(&text).map_or_else(|_| Vec::new(), |asked: Inquired| asked.contenders);
    asked.into_iter().filter_map(|one| Some((one.name, one.conformance?))).collect()
}

/// Whether that is there only during a run.
fn is_passing(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(assay_file::ASIDE_PREFIX) || is_work(path)
}

/// `last` is 0, `last~2` is 2.
fn back_from_last(wanted: &str) -> Option<usize> {
    match wanted.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// Reads a record, whatever state its run is in.
///
/// # Errors
/// When the file cannot be read, is no record, or has another format than ours.
pub fn read_record(path: &Path) -> Result<Record, LabError> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let text = assay_file::read(path, MAX_RECORD_BYTES).map_err(|source| LabError::read(path, source))?;
    let bad =
        |error: serde_json::Error| LabError::BadRecord { path: path.to_owned(), problem: error.to_string() };
    let Schema { schema } = serde_json::from_str(&text).map_err(bad)?;
    if schema != RECORD_SCHEMA {
        return Err(LabError::OtherSchema { path: path.to_owned(), found: schema });
    }
    serde_json::from_str(&text).map_err(bad)
}

impl RunFolder {
    /// Where the output of a contender's process in a round goes.
    pub fn log(&self, contender: &str, what: impl std::fmt::Display) -> PathBuf {
        self.path.join("logs").join(format!("{contender}-{what}.log"))
    }

    /// A folder for what passes by during the run; [`Self::clear_work`] removes it.
    ///
    /// # Errors
    /// [`LabError::StoreNotWritable`].
    pub(crate) fn work(&self) -> Result<PathBuf, LabError> {
        let path = self.path.join(WORK);
        let make = || std::fs::create_dir_all(&path).and_then(|()| std::fs::write(path.join(WORK_MARK), ""));
        make().map_err(|source| LabError::not_writable(&path, source))?;
        Ok(path)
    }

    /// Removes what passed by, and the folder of logs if nobody wrote any.
    pub(crate) fn clear_work(&self) {
        let _ = std::fs::remove_dir_all(self.path.join(WORK));
        let _ = std::fs::remove_dir(self.path.join("logs"));
    }

    /// The record's file.
    pub fn record(&self) -> PathBuf {
        self.path.join(RECORD_FILE)
    }

    /// Writes the record so that a reader, or a crash at any moment, finds the old one or the new one and nothing else.
    ///
    /// # Errors
    /// [`LabError::StoreNotWritable`].
    pub fn save(&self, record: &Record) -> Result<(), LabError> {
        let text =
            serde_json::to_vec(record).map_err(|error| LabError::Bug(format!("the record: {error}")))?;
        self.write_whole(RECORD_FILE, &text)
    }

    /// Writes the service times of every window to `histograms.hlog`, a log that HdrHistogram's tools read.
    ///
    /// # Errors
    /// [`LabError::StoreNotWritable`], and [`LabError::Unreadable`] when one of them cannot be read.
    pub fn save_histograms(&self, record: &Record) -> Result<(), LabError> {
        self.write_whole("histograms.hlog", histogram_log(&DecodedRecord::of(record)?).as_bytes())
    }

    fn write_whole(&self, name: &str, content: &[u8]) -> Result<(), LabError> {
        let path = self.path.join(name);
        assay_file::write_here(&path, content).map_err(|error| LabError::not_writable(&path, error.source))
    }
}

/// Every window's service times in the HdrHistogram log format, version 1.3, tagged `CONTENDER/WORKLOAD/CONNECTIONS/ROUND`
/// (the load before the round where it is not the capacity);
/// times in seconds after the run's start, the greatest value in milliseconds, as that format's readers expect.
pub fn histogram_log(evidence: &DecodedRecord<'_>) -> String {
    let record = evidence.record;
    let start =
        record.started_at.parse::<Timestamp>().map_or(0.0, |start| start.as_millisecond() as f64 / 1e3);
    let mut log = format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {start:.3} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        record.started_at
    );
    for (round, lives) in record.rounds.iter().zip(&evidence.rounds) {
        for life in lives {
            for window in life.windows.iter().filter(|window| !window.load.latency.service_hdr.is_empty()) {
                let offered = window.cell.offered;
                let load = if offered.is_capacity() { String::new() } else { format!("{offered}/") };
                let _ = writeln!(
                    log,
                    "Tag={}/{}/{}/{load}{},{:.3},{:.3},{:.3},{}",
                    life.run.contender,
                    window.cell.workload,
                    window.cell.width(),
                    round.index,
                    window.offset_ns.as_secs_f64(),
                    window.load.window_ns.as_secs_f64(),
                    window.times.service.max().unwrap_or(0) as f64 / 1e6,
                    window.load.latency.service_hdr,
                );
            }
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use assay_model::units::Nanos;
    use assay_verdict::testing;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_795_213_000 + seconds).expect("time")
    }

    #[test]
    fn names_are_times_and_never_collide() {
        let root = tempfile::tempdir().expect("folder");
        let store = Store::new(root.path().join("runs"));
        let first = store.create("x", at(0)).expect("first");
        let second = store.create("x", at(0)).expect("second");
        assert_eq!(first.id, "20261120-221640-x");
        assert_eq!(second.id, "20261120-221640-x-2");
        assert!(first.log("gin", 3).starts_with(root.path().canonicalize().expect("path")));
    }

    #[test]
    fn runs_are_found_by_name_beginning_age_and_path() {
        let root = tempfile::tempdir().expect("folder");
        let store = Store::new(root.path());
        let mut record = testing::record(&[("a", &[100.0, 101.0])]);
        let folders: Vec<RunFolder> =
            (0..3).map(|n| store.create("x", at(n * 86_400)).expect("folder")).collect();
        for folder in &folders[..2] {
            record.id = folder.id.clone();
            folder.save(&record).expect("saved");
        }
        let id_of =
            |wanted: &str| store.open(wanted).map(|record| record.id).map_err(|error| error.to_string());
        // The third has no record yet, so it is none.
        assert_eq!(id_of("last"), Ok(folders[1].id.clone()));
        assert_eq!(id_of("last~1"), Ok(folders[0].id.clone()));
        assert_eq!(id_of("20261121"), Ok(folders[1].id.clone()));
        assert_eq!(id_of(&folders[0].id), Ok(folders[0].id.clone()));
        assert_eq!(id_of(&folders[0].path.display().to_string()), Ok(folders[0].id.clone()));
        assert_eq!(id_of(&folders[0].record().display().to_string()), Ok(folders[0].id.clone()));
        assert!(id_of("last~2").expect_err("too far").contains("holds 2 runs"));
        assert!(id_of("2026").expect_err("ambiguous").contains("did you mean"));
    }

    #[test]
    fn what_a_contender_kept_is_taken_from_the_latest_run_before_that_asked_it() {
        let root = tempfile::tempdir().expect("folder");
        let store = Store::new(root.path());
        let asked =
            |millis| Some(Conformance { elapsed_ns: Nanos::from_millis(millis), findings: Vec::new() });
        let runs: Vec<Record> =
            [(asked(0), asked(0)), (asked(1), None), (asked(2), asked(2)), (asked(3), asked(3))]
                .into_iter()
                .zip(0..)
                .map(|((a, b), n)| {
                    let folder = store.create("x", at(n * 86_400)).expect("folder");
                    let mut record = testing::record(&[("a", &[100.0]), ("b", &[100.0])]);
                    record.id = folder.id.clone();
                    (record.contenders[0].conformance, record.contenders[1].conformance) = (a, b);
                    folder.save(&record).expect("saved");
                    record
                })
                .collect();
        let found = |run: usize| -> Vec<(String, u64)> {
            let earlier = store.conformance_before(&runs[run]);
            earlier.into_iter().map(|(name, found)| (name, found.elapsed_ns.0 / 1_000_000)).collect()
        };
        assert_eq!(found(0), []);
        assert_eq!(found(2), [("a".to_owned(), 1), ("b".to_owned(), 0)]);
        assert_eq!(found(3), [("a".to_owned(), 2), ("b".to_owned(), 2)]);
    }

    #[test]
    fn a_save_replaces_the_record_whole_and_leaves_nothing_else() {
        let root = tempfile::tempdir().expect("folder");
        let folder = Store::new(root.path()).create("x", at(0)).expect("folder");
        let mut record = testing::record(&[("a", &[100.0])]);
        folder.save(&record).expect("first");
        record.seed = 99;
        folder.save(&record).expect("second");
        assert_eq!(read_record(&folder.record()).expect("reads"), record);
        let names: Vec<_> =
            std::fs::read_dir(&folder.path).expect("folder").flatten().map(|e| e.file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn cut_and_foreign_records_are_told_apart() {
        let root = tempfile::tempdir().expect("folder");
        let folder = Store::new(root.path()).create("x", at(0)).expect("folder");
        folder.save(&testing::record(&[("a", &[100.0])])).expect("saved");
        let text = std::fs::read_to_string(folder.record()).expect("text");
        std::fs::write(folder.record(), &text[..text.len() / 2]).expect("cut");
        assert!(matches!(read_record(&folder.record()), Err(LabError::BadRecord { .. })));
        std::fs::write(folder.record(), text.replace(RECORD_SCHEMA, "assay-record/99")).expect("newer");
        let error = read_record(&folder.record()).expect_err("newer").to_string();
        assert!(error.contains("assay-record/99") && error.contains(RECORD_SCHEMA), "{error}");
    }

    /// A record whose link cannot be read is no record over loopback.
    #[test]
    fn a_record_whose_link_cannot_be_read_is_an_error_that_names_it() {
        let root = tempfile::tempdir().expect("folder");
        let folder = Store::new(root.path()).create("x", at(0)).expect("folder");
        folder.save(&testing::record(&[("a", &[100.0])])).expect("saved");
        let text = std::fs::read_to_string(folder.record()).expect("text");
        let spoilt = |link: &str| text.replace("\"link\":\"loopback\"", &format!("\"link\":\"{link}\""));
        std::fs::write(folder.record(), spoilt("veth:1gigabyte")).expect("spoilt");
        let error = read_record(&folder.record()).expect_err("no link").to_string();
        assert!(error.contains("1gigabyte"), "{error}");
        std::fs::write(folder.record(), spoilt("not known")).expect("imported");
        let imported = read_record(&folder.record()).expect("reads");
        assert_eq!(
            (imported.link, imported.network_of(&imported.rounds[0].runs[0].cells[0].cell)),
            (None, None)
        );
    }

    #[test]
    fn a_record_without_an_end_is_not_read_to_it() {
        let root = tempfile::tempdir().expect("folder");
        let path = root.path().join(RECORD_FILE);
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a file with holes");
        let error = read_record(&path).expect_err("a terabyte").to_string();
        assert!(error.contains("longer than") && error.contains(RECORD_FILE), "{error}");
    }

    #[test]
    fn a_store_that_cannot_be_written_says_so() {
        let root = tempfile::tempdir().expect("folder");
        std::fs::write(root.path().join("runs"), "a file").expect("file");
        let error = Store::new(root.path().join("runs")).create("x", at(0)).expect_err("no folder");
        assert!(matches!(error, LabError::StoreNotWritable { .. }), "{error}");
    }

    #[test]
    fn a_folder_that_a_neighbour_made_before_holds_no_runs() {
        if !rustix::process::geteuid().is_root() {
            return assay_skip::skip("root", "another user's folder needs chown(2)");
        }
        let shared = tempfile::tempdir().expect("folder");
        std::fs::set_permissions(shared.path(), Permissions::from_mode(0o1777)).expect("mode");
        for (named, theirs) in [("runs", "runs"), ("project/runs", "project")] {
            std::fs::create_dir_all(shared.path().join(named)).expect("made");
            std::os::unix::fs::chown(shared.path().join(theirs), Some(4711), None).expect("handed over");
            let store = Store::new(shared.path().join(named));
            let told = store.create("x", at(0)).expect_err("theirs").to_string();
            assert!(told.contains(&format!("{theirs} belongs to another user (number 4711)")), "{told}");
            assert!(told.contains("--runs"), "{told}");
            assert_eq!(std::fs::read_dir(shared.path().join(named)).expect("there").count(), 0);
        }
    }

    /// A program that learns keeps its results in such folders as well.
    #[test]
    fn a_folder_of_work_that_no_run_made_is_no_leftover() {
        let root = tempfile::tempdir().expect("folder");
        let theirs = root.path().join("20261101-120000-resnet");
        for part in ["logs", "work"] {
            std::fs::create_dir_all(theirs.join(part)).expect("made");
        }
        std::fs::write(theirs.join("work/checkpoint.pt"), "weeks of work").expect("written");
        let store = Store::new(root.path());
        let folder = store.create("x", at(0)).expect("run");
        let ours = folder.work().expect("work");
        assert_eq!(folder.work().expect("again"), ours);
        drop(folder);
        assert_eq!(store.leftovers(), [ours.canonicalize().expect("there")]);
    }

    #[test]
    fn a_record_is_written_through_no_link() {
        let root = tempfile::tempdir().expect("folder");
        let folder = Store::new(root.path()).create("x", at(0)).expect("folder");
        let precious = root.path().join("precious");
        std::fs::write(&precious, "precious").expect("written");
        std::os::unix::fs::symlink(&precious, folder.record()).expect("linked");
        let error = folder.save(&testing::record(&[("a", &[100.0])])).expect_err("a link");
        assert!(matches!(error, LabError::StoreNotWritable { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&precious).expect("there"), "precious");
    }

    #[test]
    fn the_histogram_log_has_a_tagged_line_for_every_window() {
        let record = testing::record(&[("a", &[100.0, 101.0]), ("b", &[50.0, 51.0])]);
        let log = histogram_log(&DecodedRecord::of(&record).expect("readable"));
        let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("Tag=")).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("Tag=a/hello/64/0,"), "{}", lines[0]);
        assert!(lines.iter().all(|line| line.split(',').nth(4).is_some_and(|h| h.starts_with("HIST"))));
    }
}
