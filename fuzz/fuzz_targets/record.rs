//! A record that somebody bent: verdict, and every format.
#![no_main]

use assay_fuzz::bend::bend;
use assay_fuzz::told;
use assay_model::record::Record;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

const SEED: &str = include_str!("../seeds/record.json");

thread_local! {
    static WHOLE: (Value, Record) = (
        serde_json::from_str(SEED).expect("a document"),
        serde_json::from_str(SEED).expect("a record"),
    );
}

// What to bend and how: see `bend`.
fuzz_target!(|input: &[u8]| {
    WHOLE.with(|(document, whole)| {
        let mut document = document.clone();
        bend(&mut document, input);
        let Ok(record) = serde_json::from_value::<Record>(document) else { return };
        told::tell(&record);
        told::compare(whole, &record);
    });
});
