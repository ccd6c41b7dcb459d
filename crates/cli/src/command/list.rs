//! `assay list`: what can be named.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use assay_lab::Exit;
use assay_lab::catalogue::{self, Catalogue};
use assay_lab::conformance;
use assay_report::foreign;
use assay_report::terminal::Style;
use assay_report::text::elide;
use serde_json::{Map, Value};

use crate::args::{ListArguments, Listing, Places};
use crate::embedded;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ListArguments) -> Result<Exit, Failure> {
    let rows = match arguments.what {
        Listing::Runs => return super::runs::run(arguments).map(|()| Exit::Ok),
        Listing::Rules => conformance::rule_names().map(|name| vec![name.to_owned()]).collect(),
        what => {
            let catalogue = open(&arguments.places)?;
            output::note(format_args!("from {}", catalogue.root.display()));
            of_catalogue(&catalogue, what)
        }
    };
    match arguments.json {
        true => output::result(&json(&rows, columns(arguments.what))?),
        false => output::result(&fitting(&table(&rows))),
    }
    Ok(Exit::Ok)
}

/// The catalogue that the arguments point to, or the nearest one, or the one that the binary carries.
pub(crate) fn open(places: &Places) -> Result<Catalogue, Failure> {
    match find(places)? {
        Some(root) => read(&root),
        None => read(&embedded::catalogue()?),
    }
}

/// Opens the catalogue; an empty one where there is none of the user's and none is needed: nothing is then unpacked.
pub(crate) fn open_if(needed: bool, places: &Places) -> Result<Catalogue, Failure> {
    if needed {
        open(places)
    } else {
        find(places)?.map_or_else(|| Ok(Catalogue::empty()), |root| read(&root))
    }
}

/// Opens the catalogue for what is only better with it: an empty one where there is none of the user's, and the one that the binary
/// carries cannot be unpacked.
pub(crate) fn open_if_possible(places: &Places) -> Result<Catalogue, Failure> {
    let root = find(places)?.or_else(|| embedded::catalogue().ok());
    root.map_or_else(|| Ok(Catalogue::empty()), |root| read(&root))
}

/// Where the user has one; `None` where none was named and none is near. One that somebody else may have put there is passed over and told.
fn find(places: &Places) -> Result<Option<PathBuf>, Failure> {
    let cwd =
        std::env::current_dir().map_err(|e| Failure::Machine(format!("there is no working folder: {e}")))?;
    let executable = std::env::current_exe().ok();
    let found = catalogue::find(places.catalogue.as_deref(), &cwd, executable.as_deref())?;
    found.passed_over.iter().for_each(output::warning);
    Ok(found.root)
}

fn read(root: &Path) -> Result<Catalogue, Failure> {
    let catalogue = Catalogue::read(root)?;
    catalogue.warnings.iter().for_each(output::warning);
    Ok(catalogue)
}

fn of_catalogue(catalogue: &Catalogue, what: Listing) -> Vec<Vec<String>> {
    match what {
        Listing::Contenders => {
            let row = |(c, _): &(assay_model::contender::Contender, _)| {
                vec![
                    c.name.clone(),
                    c.title.clone(),
                    c.language.clone(),
                    c.about.clone(),
                    c.workloads.join(","),
                ]
            };
            catalogue.contenders.iter().map(row).collect()
        }
        Listing::Workloads => {
            catalogue.workloads.iter().map(|w| vec![w.name.clone(), w.about.clone()]).collect()
        }
        Listing::Experiments => {
            catalogue.experiments.iter().map(|e| vec![e.name.clone(), e.about.clone()]).collect()
        }
        Listing::Rules | Listing::Runs => Vec::new(),
    }
}

/// Lines that a terminal would wrap end with an ellipsis; whoever reads them through a pipe has all.
fn fitting(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    let Style { width, ascii, .. } = output::style(false);
    let mark = if ascii { ".." } else { "…" };
    text.lines().map(|line| elide(line, width, mark) + "\n").collect()
}

/// What the columns of a list are called.
fn columns(what: Listing) -> &'static [&'static str] {
    match what {
        Listing::Contenders => &["name", "title", "language", "about", "workloads"],
        Listing::Workloads | Listing::Experiments => &["name", "about"],
        Listing::Rules => &["name"],
        Listing::Runs => &[],
    }
}

/// One object for each row.
fn json(rows: &[Vec<String>], columns: &[&str]) -> Result<String, Failure> {
    let object = |row: &Vec<String>| -> Map<String, Value> {
        let cells = columns.iter().zip(row);
        cells.map(|(column, cell)| ((*column).to_owned(), Value::from(cell.as_str()))).collect()
    };
    let objects: Vec<Map<String, Value>> = rows.iter().map(object).collect();
    let text = serde_json::to_string_pretty(&objects).map_err(|e| Failure::Bug(e.to_string()))?;
    Ok(foreign::json(&text) + "\n")
}

/// Columns as wide as their widest entry; the last one as it is.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let harmless = |row: &Vec<String>| row.iter().map(|cell| foreign::line(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(harmless).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let (last, first) = row.split_last().map_or(("", &[][..]), |(l, f)| (l.as_str(), f));
        let padded = first.iter().enumerate().map(|(i, cell)| format!("{cell:<w$}  ", w = width(i)));
        padded.collect::<String>() + last + "\n"
    };
    rows.iter().map(line).collect()
}
