//! Writes the made-up run of the tests as the page and as text: `cargo run -p assay-report --example sample_page FOLDER`.
//! The browser tests of report-ui open what it writes.

#[path = "../tests/support/again.rs"]
mod again;
#[path = "../tests/support/hosts.rs"]
mod hosts;
#[path = "../tests/support/latency.rs"]
mod latency;
#[path = "../tests/support/networks.rs"]
mod networks;
#[path = "../tests/support/profiled.rs"]
mod profiled;
#[path = "../tests/support/published.rs"]
mod published;
#[path = "../tests/support/rated.rs"]
mod rated;
#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use assay_report::page::PageRun;
use assay_report::terminal::Style;
use assay_report::{export, html, page, terminal};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("tell the folder to write into")?);
    let (record, verdict) = support::sample();
    fs::write(folder.join("report.html"), html::page(&record, &verdict)?)?;
    fs::write(folder.join("page.json"), serde_json::to_vec(&page::build(&[(&record, &verdict)])?)?)?;
    // Two runs in one page, of which the first has everything.
    let mut more = rated::rated(support::sample());
    more.1.answered = published::answered();
    let both = [(&more.0, &more.1), (&record, &verdict)];
    fs::write(folder.join("rated.html"), html::pages(&both)?)?;
    fs::write(folder.join("rated.json"), serde_json::to_vec(&page::build(&both)?)?)?;
    let stacks = networks::on_networks(support::sample());
    fs::write(folder.join("stacks.html"), html::page(&stacks.0, &stacks.1)?)?;
    fs::write(folder.join("stacks.json"), serde_json::to_vec(&page::build(&[(&stacks.0, &stacks.1)])?)?)?;
    let why = profiled::profiled(support::sample())?;
    fs::write(folder.join("why.html"), html::page(&why.0, &why.1)?)?;
    fs::write(folder.join("why.json"), serde_json::to_vec(&page::build(&[(&why.0, &why.1)])?)?)?;
    let (loaded, judged, since) = again::again(hosts::on_hosts(support::sample()))?;
    let again = [PageRun { record: &loaded, verdict: &judged, since: Some(&since) }];
    fs::write(folder.join("again.html"), html::pages(&again)?)?;
    fs::write(folder.join("again.json"), serde_json::to_vec(&page::build(&again)?)?)?;
    fs::write(folder.join("report.json"), export::json(&record, &verdict)?)?;
    fs::write(folder.join("report.csv"), export::csv(&record)?)?;
    fs::write(folder.join("report.md"), export::markdown(&record, &verdict))?;
    for width in [80, 120, 200] {
        for (name, colour, ascii) in
            [("plain", false, false), ("colour", true, false), ("ascii", false, true)]
        {
            let text = terminal::render(&record, &verdict, &Style { width, colour, ascii, full: false });
            fs::write(folder.join(format!("terminal-{width}-{name}.txt")), text)?;
        }
    }
    Ok(())
}
