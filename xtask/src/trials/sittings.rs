//! Comparisons that are kept in a folder, so that a trial of hours can be measured in several sittings.

use std::path::{Path, PathBuf};

use assay_model::comparison::Comparison;
use serde_json::{Value, json};

/// The file that says what all comparisons of a folder have in common.
const TERMS: &str = "terms.json";

/// What must be alike in comparisons that are counted together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Terms {
    /// Steps of work for each answer of the base.
    pub(super) base_steps: u32,
    /// By how much the slower server works more, in percent.
    pub(super) slower_percent: f64,
    /// Time for each comparison, as it was typed.
    pub(super) budget: String,
    /// The design, where one was named.
    pub(super) design: Option<String>,
}

/// A folder of comparisons.
#[derive(Debug)]
pub(super) struct Sittings {
    folder: PathBuf,
    terms: Value,
    more_steps: Option<u32>,
}

impl Sittings {
    /// The folder, which need not be there yet.
    ///
    /// # Errors
    /// When its comparisons were measured on other terms, or it cannot be read.
    pub(super) fn open(folder: &Path, terms: &Terms) -> Result<Self, String> {
        let Terms { base_steps, slower_percent, budget, design } = terms;
        let terms = json!({
            "base_steps": base_steps, "slower_percent": slower_percent, "budget": budget, "design": design,
        });
        let mut sittings = Self { folder: folder.to_owned(), terms, more_steps: None };
        let path = sittings.folder.join(TERMS);
        if path.exists() {
            let mut known: Value = read(&path, |text| serde_json::from_str(text))?;
            let more = known.as_object_mut().and_then(|known| known.remove("more_steps"));
            sittings.more_steps = more.and_then(|more| u32::try_from(more.as_u64()?).ok());
            if known != sittings.terms || sittings.more_steps.is_none() {
                let what = "was measured on other terms";
                return Err(format!("{} {what}: {known}; name another folder (--folder)", folder.display()));
            }
        }
        Ok(sittings)
    }

    /// Steps that make the slower server what it is; absent before the first sitting.
    pub(super) fn more_steps(&self) -> Option<u32> {
        self.more_steps
    }

    /// Writes down what all comparisons will have in common.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub(super) fn begin(&self, more_steps: u32) -> Result<u32, String> {
        let mut terms = self.terms.clone();
        terms["more_steps"] = more_steps.into();
        std::fs::create_dir_all(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        write(&self.folder.join(TERMS), &terms.to_string())?;
        Ok(more_steps)
    }

    /// Keeps a comparison; its number, the first being 1.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub(super) fn keep(&self, kind: &str, comparison: &Comparison) -> Result<usize, String> {
        let number = 1 + self.files(kind)?.len();
        let text = serde_json::to_string(comparison).map_err(|error| error.to_string())?;
        write(&self.folder.join(format!("{kind}-{number:04}.json")), &text)?;
        Ok(number)
    }

    /// All comparisons of a kind, of whichever sitting.
    ///
    /// # Errors
    /// When one cannot be read.
    pub(super) fn read(&self, kind: &str) -> Result<Vec<Comparison>, String> {
        self.files(kind)?.iter().map(|path| read(path, |text| serde_json::from_str(text))).collect()
    }

    fn files(&self, kind: &str) -> Result<Vec<PathBuf>, String> {
        if !self.folder.exists() {
            return Ok(Vec::new());
        }
        let listed =
            std::fs::read_dir(&self.folder).map_err(|e| format!("{}: {e}", self.folder.display()))?;
        let paths = listed.flatten().map(|entry| entry.path());
        let is_of_kind = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".json"))
        };
        let mut files: Vec<PathBuf> = paths.filter(is_of_kind).collect();
        files.sort();
        Ok(files)
    }
}

fn read<T>(path: &Path, parse: impl Fn(&str) -> serde_json::Result<T>) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    assay_file::write(path, text.as_bytes()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(budget: &str) -> Terms {
        Terms { base_steps: 40_000, slower_percent: 2.0, budget: budget.to_owned(), design: None }
    }

    fn comparison(margin: f64) -> Comparison {
        let text = json!({
            "schema": "assay-comparison/1", "pairing": "rounds", "confidence": 0.95, "margin": margin, "caveats": [],
            "trust": [], "objections": [], "rows": [], "findings": [],
        });
        serde_json::from_value(text).expect("a comparison")
    }

    #[test]
    fn a_later_sitting_counts_what_an_earlier_one_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("compare");
        let first = Sittings::open(&folder, &terms("5m")).expect("nothing is there");
        assert_eq!((first.more_steps(), first.read("same")), (None, Ok(Vec::new())));
        assert_eq!(first.begin(900), Ok(900));
        assert_eq!(first.keep("same", &comparison(0.01)), Ok(1));
        let later = Sittings::open(&folder, &terms("5m")).expect("the same terms");
        assert_eq!(later.more_steps(), Some(900));
        assert_eq!(later.keep("same", &comparison(0.02)), Ok(2));
        assert_eq!(later.keep("slower", &comparison(0.03)), Ok(1));
        let margins = |kind| later.read(kind).expect("kept").iter().map(|of| of.margin).collect::<Vec<_>>();
        assert_eq!((margins("same"), margins("slower")), (vec![0.01, 0.02], vec![0.03]));
    }

    #[test]
    fn comparisons_on_other_terms_are_not_counted_together() {
        let folder = tempfile::tempdir().expect("a folder");
        Sittings::open(folder.path(), &terms("5m")).and_then(|sittings| sittings.begin(900)).expect("begun");
        let error = Sittings::open(folder.path(), &terms("60s")).expect_err("another budget");
        assert!(
            error.contains("other terms") && error.contains("\"5m\"") && error.contains("--folder"),
            "{error}"
        );
        std::fs::write(folder.path().join(TERMS), "{}").expect("written");
        assert!(Sittings::open(folder.path(), &terms("5m")).is_err(), "cut short");
    }
}
