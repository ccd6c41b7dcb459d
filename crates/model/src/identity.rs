//! Identity of a contender, wherever it is met: chosen, started, recorded, judged and shown.

use serde::{Deserialize, Serialize};

use crate::JsonSchema;
use crate::contender::{Contender, Kind};

/// Identity of a contender: what of it does not change in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Unique name in this run.
    pub name: String,
    /// How people call it.
    pub title: String,
    /// Language; empty when unknown.
    pub language: String,
    /// What it is.
    pub kind: Kind,
    /// Where it came from.
    pub origin: Origin,
    /// One sentence on its set-up.
    pub about: String,
    /// Deviations from its defaults.
    pub tuning: Vec<String>,
    /// Names of the workloads it answers; empty when nobody said, so that every one is tried.
    pub workloads: Vec<String>,
}

/// Where a contender came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The catalogue or a folder of the user's.
    Folder,
    /// A command line given with `--cmd`.
    Command,
    /// A server that was already running.
    Url(String),
}

impl Identity {
    /// A contender of which only the name is known, by which people call it, too.
    pub fn named(name: impl Into<String>, kind: Kind, origin: Origin) -> Self {
        let name = name.into();
        Self {
            title: name.clone(),
            name,
            language: String::new(),
            kind,
            origin,
            about: String::new(),
            tuning: Vec::new(),
            workloads: Vec::new(),
        }
    }

    /// Whether it stands for what the machine can do.
    pub fn is_limit(&self) -> bool {
        self.kind == Kind::Limit
    }
}

impl From<&Contender> for Identity {
    fn from(file: &Contender) -> Self {
        Self {
            name: file.name.clone(),
            title: file.title.clone(),
            language: file.language.clone(),
            kind: file.kind,
            origin: Origin::Folder,
            about: file.about.clone(),
            tuning: file.tuning.clone(),
            workloads: file.workloads.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::Entry;

    #[test]
    fn an_entry_of_a_record_of_before_is_read_and_written_flat() {
        let old = json!({
            "name": "nginx′", "title": "nginx", "language": "c", "kind": "server", "origin": { "url": "http://h/" },
            "about": "", "tuning": ["access_log off"], "versions": { "nginx": "1.22.1" }, "command": ["nginx"],
            "workloads": ["hello"], "twin_of": "nginx",
        });
        let entry: Entry = serde_json::from_value(old.clone()).expect("an entry");
        assert_eq!((entry.identity.name.as_str(), entry.control_of.as_deref()), ("nginx′", Some("nginx")));
        assert_eq!(entry.identity.origin, Origin::Url("http://h/".to_owned()));
        assert_eq!(serde_json::to_value(&entry).expect("written"), old);
    }
}
