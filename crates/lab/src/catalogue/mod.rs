//! The catalogue: contenders, workloads and experiments, read from folders of files that people write.

mod check;
mod experiment;
mod file;
mod lab;
mod place;
mod select;
mod workload;

use std::path::{Path, PathBuf};

use assay_model::contender::Contender;
use assay_model::database::DatabaseKind;
use assay_model::experiment::Experiment;
use assay_model::workload::Workload;
use serde::de::DeserializeOwned;

pub use lab::{read_lab, typed_host};
pub use place::{Found, PassedOver, find};
pub use select::{all_exclude, command_for, is_url, with_defaults};

use crate::error::LabError;
use crate::names::hint_beside;
use crate::subject::Subject;
pub use crate::warning::Warning;
pub(crate) use check::{Fault, argument_of, fault_of_experiment};
use file::FileText;

/// Everything that can be named on the command line.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The folder that holds `contenders/`, `workloads/` and `experiments/`.
    pub root: PathBuf,
    /// Contenders with the folder of each, by name.
    pub contenders: Vec<(Contender, PathBuf)>,
    /// Programs in the same folders that are a database for contenders.
    pub databases: Vec<(Contender, PathBuf)>,
    /// Workloads by name.
    pub workloads: Vec<Workload>,
    /// Experiments by name.
    pub experiments: Vec<Experiment>,
    /// Keys that have no effect.
    pub warnings: Vec<Warning>,
}

impl Catalogue {
    /// A catalogue in which nothing can be named.
    pub fn empty() -> Self {
        Self {
            root: PathBuf::new(),
            contenders: Vec::new(),
            databases: Vec::new(),
            workloads: Vec::new(),
            experiments: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads the catalogue under `root`: `contenders/LANGUAGE/NAME/contender.toml`, `workloads/*.toml`,
    /// `experiments/*.toml`. A missing folder is an empty one.
    ///
    /// # Errors
    /// A file that cannot be read or understood, or a name that is given twice.
    pub fn read(root: &Path) -> Result<Self, LabError> {
        let mut warnings = Vec::new();
        let mut folders = Vec::new();
        for language in entries(&root.join("contenders"))? {
            folders.extend(
                entries(&language)?.into_iter().filter(|folder| folder.join(CONTENDER_FILE).is_file()),
            );
        }
        let files: Vec<PathBuf> = folders.iter().map(|folder| folder.join(CONTENDER_FILE)).collect();
        let contenders: Vec<(Contender, PathBuf)> =
            read_all("contender", &files, |file| Ok(vec![read_file(file, &mut warnings)?]))?;
        let workloads = toml_files(&root.join("workloads"))?;
        let workloads = read_all("workload", &workloads, |file| {
            workload::understand(file, &text_of_found(file)?, None, &mut warnings)
        })?;
        let experiments = toml_files(&root.join("experiments"))?;
        let experiments = read_all("experiment", &experiments, |file| {
            Ok(vec![experiment::understand(file, &text_of_found(file)?, &mut warnings)?])
        })?;
        let home = |file: PathBuf| file.parent().unwrap_or(root).to_owned();
        let contenders = contenders.into_iter().map(|(contender, file)| (contender, home(file)));
        let (databases, contenders) = contenders.partition(|(contender, _)| contender.provides.is_some());
        Ok(Self {
            root: root.to_owned(),
            contenders,
            databases,
            workloads: workloads.into_iter().map(|(workload, _)| workload).collect(),
            experiments: experiments.into_iter().map(|(experiment, _)| experiment).collect(),
            warnings,
        })
    }

    /// The contender in `folder`, which need not belong to the catalogue.
    ///
    /// # Errors
    /// When its `contender.toml` cannot be read or understood.
    pub fn contender_in(folder: &Path) -> Result<(Subject, Vec<Warning>), LabError> {
        let mut warnings = Vec::new();
        let folder = folder.canonicalize().map_err(|source| LabError::read(folder, source))?;
        let contender: Contender = read_file(&folder.join(CONTENDER_FILE), &mut warnings)?;
        Ok((Subject::from_contender(&contender, &folder), warnings))
    }

    /// The workloads in `file`, which need not belong to the catalogue. The command `before`, if one was typed, takes the place
    /// of the file's own.
    ///
    /// # Errors
    /// When it, or a file that it names, cannot be read or understood.
    pub fn workloads_in(
        file: &Path,
        before: Option<&str>,
    ) -> Result<(Vec<Workload>, Vec<Warning>), LabError> {
        let mut warnings = Vec::new();
        Ok((workload::read(file, before, &mut warnings)?, warnings))
    }

    /// The experiment in `file`, which need not belong to the catalogue. Folders of contenders that it names begin at its own.
    ///
    /// # Errors
    /// When it, or a file that it names, cannot be read or understood.
    pub fn experiment_in(file: &Path) -> Result<(Experiment, Vec<Warning>), LabError> {
        let mut warnings = Vec::new();
        let mut experiment = experiment::read(file, &mut warnings)?;
        for selector in experiment.contenders.iter_mut().filter(|selector| selector.starts_with('.')) {
            *selector = experiment.folder.join(&*selector).display().to_string();
        }
        Ok((experiment, warnings))
    }

    /// Whether a text that is to be the experiment, or the `contender.toml`, in `file` is one without a doubt.
    ///
    /// # Errors
    /// When it cannot be understood, or a key in it has no effect.
    pub(crate) fn check_text(file: &Path, text: &str) -> Result<(), LabError> {
        let mut warnings = Vec::new();
        if file.ends_with(CONTENDER_FILE) {
            understand::<Contender>(file, text, &mut warnings)?;
        } else {
            experiment::understand(file, text, &mut warnings)?;
        }
        warnings.first().map_or(Ok(()), |warning| Err(LabError::Bug(warning.to_string())))
    }

    /// The folder whose files are served, as a path from the root where it exists.
    pub fn files(&self) -> PathBuf {
        let files = self.root.join("workloads/files");
        files.canonicalize().unwrap_or(files)
    }

    /// The workloads called `name`: one, or all of a family, by ascending number.
    ///
    /// # Errors
    /// [`LabError::UnknownName`] with the nearest names.
    pub fn workloads_called(&self, name: &str) -> Result<Vec<&Workload>, LabError> {
        let mut found: Vec<&Workload> = self.workloads.iter().filter(|w| w.is_called(name)).collect();
        found.sort_by_key(|w| w.family.as_ref().map(|family| family.value));
        if found.is_empty() {
            let known = self.workloads.iter().flat_map(|w| [w.name.as_str(), w.family_name()]);
            return Err(unknown("workload", name, known));
        }
        Ok(found)
    }

    /// The program that provides a kind of database.
    ///
    /// # Errors
    /// [`LabError::UnknownName`] when the catalogue has none.
    pub fn database(&self, kind: DatabaseKind) -> Result<Subject, LabError> {
        let found = self.databases.iter().find(|(program, _)| program.provides == Some(kind));
        let known = self.databases.iter().map(|(program, _)| program.name.as_str());
        let (program, folder) =
            found.ok_or_else(|| unknown("database in the catalogue", &kind.to_string(), known))?;
        Ok(Subject::from_contender(program, folder))
    }

    /// The experiment called `name`.
    ///
    /// # Errors
    /// [`LabError::UnknownName`] with the nearest names.
    pub fn experiment(&self, name: &str) -> Result<&Experiment, LabError> {
        let known = self.experiments.iter().map(|e| e.name.as_str());
        self.experiments.iter().find(|e| e.name == name).ok_or_else(|| unknown("experiment", name, known))
    }
}

pub(crate) const CONTENDER_FILE: &str = "contender.toml";
/// Longest file of TOML that is read.
const MAX_TOML_BYTES: u64 = 1 << 20;

pub(crate) fn unknown<'a>(
    what: &'static str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> LabError {
    let lists = match what {
        "workload" => "assay list workloads",
        "experiment" => "assay list experiments",
        "rule" => "assay list rules",
        _ => "assay list",
    };
    LabError::UnknownName { what, name: name.to_owned(), hint: hint_beside(name, known, Some(lists)) }
}

fn read_all<T: check::Checked>(
    what: &'static str,
    files: &[PathBuf],
    mut read: impl FnMut(&Path) -> Result<Vec<T>, LabError>,
) -> Result<Vec<(T, PathBuf)>, LabError> {
    let mut found: Vec<(T, PathBuf)> = Vec::new();
    for file in files {
        for value in read(file)? {
            if let Some((_, first)) = found.iter().find(|(other, _)| other.name() == value.name()) {
                return Err(LabError::Duplicate {
                    what,
                    name: value.name().to_owned(),
                    first: first.clone(),
                    second: file.clone(),
                });
            }
            found.push((value, file.clone()));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.name().cmp(b.name()));
    Ok(found)
}

fn read_file<T: DeserializeOwned + check::Checked>(
    file: &Path,
    warnings: &mut Vec<Warning>,
) -> Result<T, LabError> {
    understand(file, &text_of_found(file)?, warnings)
}

/// The text of a file that no person named. Whoever made the folder may have put a pipe there, of which nobody comes to the end.
fn text_of_found(file: &Path) -> Result<String, LabError> {
    assay_file::read_found(file, MAX_TOML_BYTES).map_err(|source| LabError::read(file, source))
}

/// The value in a text that is, or is to be, in a file.
fn understand<T: DeserializeOwned + check::Checked>(
    file: &Path,
    text: &str,
    warnings: &mut Vec<Warning>,
) -> Result<T, LabError> {
    let source = FileText { file, text };
    let value: T = source.parse(warnings)?;
    match value.fault() {
        None => Ok(value),
        Some(fault) => Err(source.invalid(&fault.key, fault.problem, fault.mend)),
    }
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let is_toml = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "toml");
    Ok(entries(folder)?.into_iter().filter(is_toml).collect())
}

/// The entries of a folder in the order of their names; none when there is no such folder.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let read = |source| LabError::read(folder, source);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read)? {
        paths.push(entry.map_err(read)?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENDER: &str = "name = \"x\"\ntitle = \"X\"\nlanguage = \"c\"\nkind = \"server\"\nworkloads = [\"hello\"]\n\
                             [run]\ncommand = [\"./x\"]\n";

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    fn with(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Catalogue, LabError>) {
        let root = tempfile::tempdir().expect("folder");
        for (file, text) in files {
            write(root.path(), file, text);
        }
        let read = Catalogue::read(root.path());
        (root, read)
    }

    #[test]
    fn reads_contenders_and_warns_of_unknown_keys() {
        let text = CONTENDER.replace("kind", "colour = \"red\"\nkind");
        let (root, read) =
            with(&[("contenders/c/x/contender.toml", &text), ("contenders/c/empty/README.md", "")]);
        let catalogue = read.expect("reads");
        assert_eq!(catalogue.contenders[0].0.name, "x");
        assert_eq!(catalogue.contenders[0].1, root.path().join("contenders/c/x"));
        assert_eq!(catalogue.warnings.len(), 1);
        assert_eq!(catalogue.warnings[0].place.line, 4);
    }

    #[test]
    fn what_is_no_regular_file_is_told_and_nobody_waits_for_it() {
        use rustix::fs::{CWD, Mode, mkfifoat};
        for name in ["workloads/x.toml", "experiments/x.toml"] {
            let (root, _) = with(&[("workloads/README.md", ""), ("experiments/README.md", "")]);
            mkfifoat(CWD, root.path().join(name), Mode::from_raw_mode(0o600)).expect("a pipe");
            let error = Catalogue::read(root.path()).expect_err("a pipe").to_string();
            assert!(error.contains(name) && error.contains("it is no regular file"), "{error}");
        }
        let folder = tempfile::tempdir().expect("folder");
        mkfifoat(CWD, folder.path().join(CONTENDER_FILE), Mode::from_raw_mode(0o600)).expect("a pipe");
        let error = Catalogue::contender_in(folder.path()).expect_err("a pipe").to_string();
        assert!(error.contains(CONTENDER_FILE) && error.contains("it is no regular file"), "{error}");
    }

    #[test]
    fn refuses_duplicates_and_names_both_files() {
        let (_root, read) = with(&[
            ("contenders/a/x/contender.toml", CONTENDER),
            ("contenders/b/x/contender.toml", CONTENDER),
        ]);
        let error = read.expect_err("twice").to_string();
        assert!(error.contains("contenders/a/x") && error.contains("contenders/b/x"), "{error}");
    }

    #[test]
    fn refuses_invalid_values_at_their_place() {
        let text = CONTENDER.replace("\"./x\"", "\"./x\", \"${PROT}\"");
        let (_root, read) = with(&[("contenders/c/x/contender.toml", &text)]);
        let error = read.expect_err("placeholder").to_string();
        assert!(error.contains("contender.toml:7:1") && error.contains("did you mean PORT"), "{error}");
    }

    #[test]
    fn unknown_names_come_with_the_nearest() {
        let workload =
            "name = \"hello\"\nabout = \"\"\n[[request]]\npath = \"/\"\nexpect = { body = \"hello\" }\n";
        let (_root, read) = with(&[("workloads/hello.toml", workload)]);
        let catalogue = read.expect("reads");
        let error = catalogue.workloads_called("helo").expect_err("unknown").to_string();
        assert_eq!(error, "there is no workload `helo`; did you mean hello?");
    }

    #[test]
    fn what_the_projects_own_experiments_name_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::read(&root).expect("the project's catalogue");
        assert_eq!(catalogue.warnings, []);
        let in_full = catalogue.experiments.iter().filter_map(Experiment::in_full);
        for experiment in catalogue.experiments.iter().cloned().chain(in_full) {
            let mut unfolded = experiment.clone();
            catalogue.workloads_of(&mut unfolded).expect(&experiment.name);
            assert!(fault_of_experiment(&unfolded).is_none(), "{}", experiment.name);
            let published = experiment.published.iter().flat_map(|published| &published.rows);
            let theirs = published.filter_map(|row| row.contender.as_ref());
            for name in experiment.contenders.iter().chain(theirs) {
                assert!(catalogue.contenders.iter().any(|(known, _)| known.name == *name), "{name}");
            }
        }
        for (contender, _) in &catalogue.contenders {
            for name in &contender.workloads {
                catalogue.workloads_called(name).expect(&contender.name);
            }
        }
    }
}
