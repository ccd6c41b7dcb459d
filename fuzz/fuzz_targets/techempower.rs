//! Results of TechEmpower's toolset that somebody bent, imported, judged and told.
#![no_main]

use assay_fuzz::bend::bend;
use assay_fuzz::told;
use assay_lab::store::{Store, read_record};
use assay_lab::techempower::import;
use assay_model::record::Program;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const SEED: &str = include_str!("../../crates/lab/tests/fixtures/techempower-results.json");
/// In memory: an import is saved and synced.
const MEMORY: &str = "/dev/shm";

// What to bend and how: see `bend`. Input that begins with a brace is a document of its own.
fuzz_target!(|input: &[u8]| {
    let text = if input.starts_with(b"{") {
        input.to_vec()
    } else {
        let mut document: Value = serde_json::from_str(SEED).expect("a document");
        bend(&mut document, input);
        document.to_string().into_bytes()
    };
    let folder = tempfile::tempdir_in(MEMORY).expect("memory");
    let file = folder.path().join("results.json");
    std::fs::write(&file, text).expect("written");
    let program = Program { version: "0".to_owned(), profile: "debug".to_owned() };
    let store = Store::new(folder.path().join("runs"));
    if let Ok(record) = import(&file, None, &store, vec!["assay".to_owned()], program) {
        assert_eq!(read_record(&store.resolve("last").expect("stored")).expect("read"), record);
        told::tell(&record);
    }
});
