//! `assay list`: what can be named.

use assay_lab::Exit;
use assay_lab::catalogue::{self, Catalogue};
use assay_lab::conformance;
use assay_report::foreign;
use serde_json::{Map, Value};

use crate::args::{ListArguments, Listing, Places};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &ListArguments) -> Result<Exit, Failure> {
    let rows = match arguments.what {
        Listing::Runs => return super::runs::run(arguments).map(|()| Exit::Ok),
        Listing::Rules => conformance::rule_names().map(|name| vec![name.to_owned()]).collect(),
        what => of_catalogue(&open(&arguments.places)?, what),
    };
    match arguments.json {
        true => output::result(&json(&rows, columns(arguments.what))?),
        false => output::result(&table(&rows)),
    }
    Ok(Exit::Ok)
}

/// The catalogue that the arguments point to, or the nearest one.
pub(crate) fn open(places: &Places) -> Result<Catalogue, Failure> {
    let cwd =
        std::env::current_dir().map_err(|e| Failure::Machine(format!("there is no working folder: {e}")))?;
    let executable = std::env::current_exe().ok();
    let root = catalogue::find(places.catalogue.as_deref(), &cwd, executable.as_deref())?;
    let catalogue = Catalogue::read(&root)?;
    catalogue.warnings.iter().for_each(output::warning);
    Ok(catalogue)
}

fn of_catalogue(catalogue: &Catalogue, what: Listing) -> Vec<Vec<String>> {
    match what {
        Listing::Contenders => {
            let row = |(c, _): &(assay_model::contender::Contender, _)| {
                vec![c.name.clone(), c.language.clone(), c.workloads.join(","), c.about.clone()]
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

/// What the columns of a list are called.
fn columns(what: Listing) -> &'static [&'static str] {
    match what {
        Listing::Contenders => &["name", "language", "workloads", "about"],
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
    Ok(text + "\n")
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
