//! The last run of the same experiment, to show what has changed since.

use std::collections::BTreeSet;
use std::path::Path;

use assay_model::experiment::Experiment;
use assay_model::record::{Record, State};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{MAX_RECORD_BYTES, MOST_RUNS_BEFORE, RECORD_FILE, Store, read_record};

/// What a run was to measure, and whether it did.
#[derive(Deserialize)]
struct Planned {
    experiment: Experiment,
    contenders: Vec<Named>,
    state: State,
    #[serde(default)]
    imported: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Store {
    /// The last run here that began before this one, asked the same of any of the same contenders, and is over; `None` where there
    /// is none among the latest, or its record cannot be read.
    pub fn run_before(&self, record: &Record) -> Option<Record> {
        let of_that_name = |id: &String| *id < record.id && id.contains(&record.experiment.name);
        let before = self.ids().into_iter().rev().filter(of_that_name).take(MOST_RUNS_BEFORE);
        let mut paths = before.map(|id| self.root.join(id).join(RECORD_FILE));
        let found = paths.find(|path| plan_in(path).is_some_and(|plan| plan.is_like(record)))?;
        read_record(&found).ok()
    }
}

impl Planned {
    fn is_like(&self, record: &Record) -> bool {
        let (one, other) = (&self.experiment, &record.experiment);
        // The limit is in nearly every run.
        let proper = record.contenders.iter().filter(|entry| !entry.identity.is_limit());
        let names: BTreeSet<&str> = proper.map(|entry| entry.identity.name.as_str()).collect();
        let asked_the_same = one.name == other.name && one.measures == other.measures;
        let of_the_same = self.contenders.iter().any(|entry| names.contains(entry.name.as_str()));
        asked_the_same && of_the_same && self.state != State::Running && self.imported.is_none()
    }
}

/// The plan in a record; `None` where it cannot be read.
fn plan_in(record: &Path) -> Option<Planned> {
    let text = assay_file::read(record, MAX_RECORD_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::experiment::Measure;
    use assay_verdict::testing;

    #[test]
    fn the_run_before_is_the_last_that_asked_the_same_of_the_same_and_is_over() {
        let root = tempfile::tempdir().expect("folder");
        let store = Store::new(root.path());
        let save = |id: &str, change: fn(&mut Record)| {
            let mut record = testing::record(&[("a", &[100.0, 101.0]), ("b", &[90.0, 91.0])]);
            record.id = id.to_owned();
            change(&mut record);
            std::fs::create_dir(root.path().join(id)).expect("folder");
            let text = serde_json::to_string(&record).expect("JSON");
            std::fs::write(root.path().join(id).join(RECORD_FILE), text).expect("file");
            record
        };
        let before = |record: &Record| store.run_before(record).map(|found| found.id);
        let first = save("1-test", |_| {});
        assert_eq!(before(&first), None);
        let second = save("2-test", |record| record.state = State::Interrupted);
        assert_eq!(before(&second).as_deref(), Some("1-test"));
        save("3-test", |record| record.experiment.measures = vec![Measure::capacity("hello", vec![16])]);
        save("4-test", |record| {
            record.contenders.iter_mut().for_each(|entry| entry.identity.name.insert(0, 'x'));
        });
        save("5-test", |record| record.state = State::Running);
        save("6-other", |record| record.experiment.name = "other".to_owned());
        std::fs::create_dir(root.path().join("7-test")).expect("folder");
        std::fs::write(root.path().join("7-test").join(RECORD_FILE), "{").expect("file");
        let last = save("8-test", |_| {});
        assert_eq!(before(&last).as_deref(), Some("2-test"), "one that was stopped has an answer too");
    }
}
