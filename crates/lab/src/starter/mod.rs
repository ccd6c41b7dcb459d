//! First files for a new user: a contender made from a template, an experiment made from answers. Text is made here, and written by
//! the caller; it is read by the same readers as what people write.

mod contender;
mod experiment;

use toml::Value;

pub use contender::{NewContender, Templates, checked_name};
pub use experiment::{OwnServer, OwnServers};

/// A text as TOML has it, on one line.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
