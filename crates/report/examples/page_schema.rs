//! Writes the JSON schema of the page's data to a file: `cargo run -p assay-report --example page_schema FILE`.

use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("tell the file to write")?;
    fs::write(file, serde_json::to_string_pretty(&assay_report::page::schema())? + "\n")?;
    Ok(())
}
