//! JSON schemas of everything that others may read or write, generated from the types.

use std::path::Path;

use assay_model::comparison::Comparison;
use assay_model::conformance::CheckReport;
use assay_model::contender::Contender;
use assay_model::doctor::Diagnosis;
use assay_model::experiment::Experiment;
use assay_model::lab::{Lab, LabReport};
use assay_model::load::{LoadReport, LoadSecond};
use assay_model::outlook::Outlook;
use assay_model::record::Record;
use assay_model::verdict::Verdict;
use assay_model::workload::Workload;
use schemars::{Schema, schema_for};

pub(crate) fn run(root: &Path, check: bool) -> Result<(), Vec<String>> {
    let folder = root.join("schemas");
    let mut findings = Vec::new();
    for (name, schema) in all() {
        let path = folder.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(&schema).map_err(|e| vec![e.to_string()])? + "\n";
        let fresh = std::fs::read_to_string(&path).is_ok_and(|committed| committed == text);
        if fresh {
            continue;
        }
        if check {
            findings.push(format!("{}: stale; run `cargo xtask schemas`", path.display()));
        } else if let Err(error) = assay_file::write(&path, text.as_bytes()) {
            findings.push(error.to_string());
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn all() -> [(&'static str, Schema); 13] {
    [
        ("check", schema_for!(CheckReport)),
        ("comparison", schema_for!(Comparison)),
        ("contender", schema_for!(Contender)),
        ("doctor", schema_for!(Diagnosis)),
        ("experiment", schema_for!(Experiment)),
        ("lab", schema_for!(Lab)),
        ("lab-report", schema_for!(LabReport)),
        ("load", schema_for!(LoadReport)),
        ("load-second", schema_for!(LoadSecond)),
        ("outlook", schema_for!(Outlook)),
        ("record", schema_for!(Record)),
        ("verdict", schema_for!(Verdict)),
        ("workload", schema_for!(Workload)),
    ]
}
