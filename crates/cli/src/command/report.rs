//! `assay report`: the page of runs, or the index of all of them, computed again from their records.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use assay_lab::Exit;
use assay_lab::store::Store;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_report::index::{self, Listed};
use assay_report::page::{PageRun, Since};
use assay_report::{foreign, html};
use assay_verdict::compare::{Side, compare};
use assay_verdict::judge;

use crate::args::ReportArguments;
use crate::failure::Failure;
use crate::{browser, output};

/// The page of a run, beside its record.
const PAGE: &str = "report.html";
/// Longest file of which it is found out whether it is a page of ours.
const MAX_PAGE_BYTES: u64 = 256 << 20;

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let is_printed = arguments.output.as_deref().is_some_and(output::is_standard);
    if is_printed && arguments.open {
        return Err(Failure::usage(
            "-o - writes the page to standard output, where no browser finds it: leave --open out",
        ));
    }
    let path = match &arguments.index {
        Some(folder) => write_index(folder, arguments.output.as_deref())?,
        None => write_page(arguments)?,
    };
    if !is_printed {
        output::note(format_args!("report {}", path.display()));
    }
    if arguments.open { browser::open(&path).map(|()| Exit::Ok) } else { Ok(Exit::Ok) }
}

fn write_page(arguments: &ReportArguments) -> Result<PathBuf, Failure> {
    let store = Store::new(&arguments.places.runs);
    let last = ["last".to_owned()];
    let wanted = if arguments.wanted.is_empty() { &last[..] } else { &arguments.wanted[..] };
    let records = wanted.iter().map(|run| store.open(run)).collect::<Result<Vec<_>, _>>()?;
    let place = match (&arguments.output, wanted) {
        (Some(path), _) => Place::Named(path.clone()),
        (None, [only]) => Place::beside(store.resolve(only)?.with_file_name(PAGE), html::is_page)?,
        (None, _) => {
            return Err(Failure::usage("several runs become one page of their own: say where with -o FILE"));
        }
    };
    place.write(&page(&records, &store)?)
}

/// Where a page goes.
enum Place {
    /// Where the user said, be it behind a link.
    Named(PathBuf),
    /// Beside a record. That may come from anybody, with links of theirs beside it.
    Beside(PathBuf),
}

impl Place {
    /// The file of this name beside a record, if there is none yet, or an earlier one of ours. A record may lie beside anything.
    fn beside(path: PathBuf, is_ours: impl Fn(&str) -> bool) -> Result<Self, Failure> {
        let is_replaced = match path.symlink_metadata() {
            Ok(found) => {
                found.is_file()
                    && assay_file::read_found(&path, MAX_PAGE_BYTES).is_ok_and(|text| is_ours(&text))
            }
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if is_replaced {
            return Ok(Self::Beside(path));
        }
        Err(Failure::usage(format_args!(
            "{} was not written by assay, so it is kept; say with -o FILE where the page goes",
            path.display()
        )))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Beside(path) => path,
        }
    }

    /// Writes the page, and says where it is.
    fn write(self, page: &str) -> Result<PathBuf, Failure> {
        match self {
            Self::Named(path) => output::result_to(Some(&path), page).map(|()| path),
            Self::Beside(path) => Ok(assay_file::write_here(&path, page.as_bytes()).map(|()| path)?),
        }
    }
}

fn page(records: &[Record], store: &Store) -> Result<String, Failure> {
    let verdicts: Vec<Verdict> = records.iter().map(judge).collect::<Result<_, _>>()?;
    let since: Vec<Option<Since>> = records.iter().map(|record| since(record, store)).collect();
    let runs = records.iter().zip(&verdicts).zip(&since);
    let runs: Vec<PageRun<'_>> =
        runs.map(|((record, verdict), since)| PageRun { record, verdict, since: since.as_ref() }).collect();
    Ok(html::pages(&runs)?)
}

/// What changed since the last run of the same experiment; nothing where there is none, or where nothing can be compared.
pub(crate) fn since(record: &Record, store: &Store) -> Option<Since> {
    let before = store.run_before(record)?;
    let side = |record: &Record| Side { record: record.clone(), contender: None };
    let comparison = compare(&side(&before), &[side(record)], &[]).ok()?;
    Some(Since::of(&comparison, &before))
}

/// The index of the runs in `folder`; one that cannot be read is left out with a warning.
fn write_index(folder: &Path, output: Option<&Path>) -> Result<PathBuf, Failure> {
    let store = Store::new(folder);
    let place = match output {
        Some(path) => Place::Named(path.to_owned()),
        None => Place::beside(folder.join("index.html"), index::is_index)?,
    };
    let mut judged: Vec<(Option<String>, Verdict, Record)> = Vec::new();
    for id in store.ids() {
        match store.open(&id) {
            Ok(record) => match judge(&record) {
                Ok(verdict) => judged.push((href(folder, place.path(), &id), verdict, record)),
                Err(error) => output::warning(format_args!("{id} is left out: {error}")),
            },
            Err(error) => output::warning(format_args!("{id} is left out: {error}")),
        }
    }
    if judged.is_empty() {
        return Err(Failure::usage(format_args!(
            "there is no run in {}; give the folder that holds them",
            folder.display()
        )));
    }
    let listed: Vec<Listed<'_>> = (judged.iter())
        .map(|(href, verdict, record)| Listed { record, verdict, href: href.clone() })
        .collect();
    place.write(&index::index(&listed))
}

/// Where a run's page is, seen from the index: a name beside it, or a place from the root where the index lies elsewhere.
fn href(folder: &Path, index: &Path, id: &str) -> Option<String> {
    let page = folder.join(id).join(PAGE);
    if !page.is_file() {
        return None;
    }
    let parent = index.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = parent.canonicalize().ok()? == folder.canonicalize().ok()?;
    Some(if beside {
        foreign::relative_address(&format!("{id}/{PAGE}"))
    } else {
        format!("file://{}", page.canonicalize().ok()?.display())
    })
}
