//! From a record and its verdict to what people read: a terminal summary, a self-contained page, Markdown, CSV, JSON.
//!
//! Invariants
//! - Pure: a [`Record`](assay_model::record::Record) and a [`Verdict`](assay_model::verdict::Verdict) in, text out. No
//!   clock, file, environment or terminal is read, so the same record gives the same text on every machine.
//! - Every figure for people is written by [`mod@format`]; the page's `format.ts` passes the same cases.
//! - Nothing is judged here: what counts, what is withheld and what differs is the verdict's. A withheld number is never
//!   printed; its reason is.
//! - Text that came from outside (logs, names, commands) cannot steer a terminal, close a script or start a formula:
//!   [`foreign`] makes it harmless for each format.
//!
//! Must not know: how anything was measured or judged, where it is stored, what the terminal can do (it is told).
//!
//! | for whom | module |
//! |---|---|
//! | a person at a terminal | [`terminal`] |
//! | whoever drove one URL | [`load`] |
//! | a person with a browser | [`html`], its data [`page`], its source `report-ui/` |
//! | a person with many runs | [`listing`], [`index`] |
//! | a pull request, a spreadsheet, a program | [`export`] |
//! | anybody who asks what changed | [`comparison`] |
//! | whoever is about to run | [`outlook`] |
#![forbid(unsafe_code)]

mod absent;
pub mod comparison;
mod cross_check;
pub mod error;
pub mod export;
pub mod foreign;
pub mod format;
mod hosts;
pub mod html;
pub mod index;
pub mod listing;
pub mod load;
pub mod network;
pub mod outlook;
pub mod page;
pub mod protocol;
mod proxy;
mod published;
mod rates;
pub mod sentences;
pub mod stack;
mod standings;
mod static_page;
mod table;
mod tables;
pub mod terminal;
pub mod text;
mod titles;
pub mod warnings;
pub mod why;
pub mod words;

pub use error::ReportError;
