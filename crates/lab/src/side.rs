//! Sides of a comparison, read from the store.

use assay_verdict::compare::Side;

use crate::catalogue::command_for;
use crate::error::LabError;
use crate::store::Store;

/// Reads `wanted`, a run (see [`Store::resolve`]) with or without `:CONTENDER`.
///
/// # Errors
/// When there is no such run, or its record cannot be read.
pub fn open(store: &Store, wanted: &str) -> Result<Side, LabError> {
    let whole = match store.open(wanted) {
        Ok(record) => return Ok(Side { record, contender: None }),
        Err(error) => error,
    };
    // Names of runs, paths and contenders may all have colons: the longest name that is a run's is meant.
    for (colon, _) in wanted.rmatch_indices(':') {
        if let Ok(record) = store.open(&wanted[..colon]) {
            return Ok(Side { record, contender: Some(wanted[colon + 1..].to_owned()) });
        }
    }
    match wanted.split_once(':') {
        _ if command_for(wanted).is_some() => Err(no_run_but_a_command(wanted, whole)),
        Some((run, _)) => store.open(run).map(|record| Side { record, contender: None }),
        None => Err(whole),
    }
}

/// Whoever names programs wants them to be measured now.
fn no_run_but_a_command(wanted: &str, problem: LabError) -> LabError {
    let Some(command) = command_for(wanted) else { return problem };
    let advice = format!("to compare programs, have them measured: --cmd '{command}' --cmd '…'");
    match problem {
        LabError::UnknownRun { wanted, runs, hint } => {
            LabError::UnknownRun { wanted, runs, hint: format!("{advice}; {hint}") }
        }
        LabError::BadRecord { .. } => {
            LabError::Argument { given: wanted.to_owned(), problem: format!("it is no run; {advice}") }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_verdict::testing;

    #[test]
    fn a_side_is_a_run_with_or_without_a_contender() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("20261120-221530-test");
        std::fs::create_dir(&path).unwrap();
        let record = testing::record(&[("a", &[100.0, 101.0])]);
        std::fs::write(path.join("record.json"), serde_json::to_string(&record).unwrap()).unwrap();
        let store = Store::new(folder.path());
        for (wanted, contender) in [
            ("last".to_owned(), None),
            ("last:a".to_owned(), Some("a")),
            ("20261120-221530-test:127.0.0.1:80".to_owned(), Some("127.0.0.1:80")),
            (format!("{}:a", path.display()), Some("a")),
        ] {
            assert_eq!(open(&store, &wanted).unwrap().contender.as_deref(), contender, "{wanted}");
        }
        let told = open(&store, "node old.js").unwrap_err().to_string();
        assert!(told.contains("no run `node old.js`") && told.contains("--cmd 'node old.js'"), "{told}");
        let program = folder.path().join("old.js");
        std::fs::write(&program, "listen()").unwrap();
        let told = open(&store, &program.display().to_string()).unwrap_err().to_string();
        assert!(told.contains("it is no run") && told.contains("--cmd 'node /"), "{told}");
        assert!(open(&store, "yesterday:a").unwrap_err().to_string().contains("yesterday"));
    }
}
