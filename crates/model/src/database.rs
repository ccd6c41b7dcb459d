//! What servers keep their data in.

use std::fmt;

use serde::de::{Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::JsonSchema;
use crate::not_run::NotRun;
use crate::run_hosts::PlacedHost;

/// A kind of database, and what is in it when a server finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseKind {
    /// PostgreSQL with the tables of the TechEmpower tests, at `DATABASE_URL`.
    #[default]
    Postgresql,
    /// A store that speaks MongoDB's protocol, with the users, sessions and rooms of the chat, at `MONGODB_URL`.
    Mongodb,
}

impl DatabaseKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Postgresql, Self::Mongodb];

    /// The variable of the environment that tells a server where it is.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgresql => "DATABASE_URL",
            Self::Mongodb => "MONGODB_URL",
        }
    }
}

impl fmt::Display for DatabaseKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// Reads a kind, or a flag as records of assay 0.1 have it, when there was PostgreSQL alone.
pub(crate) fn kind_or_flag<'de, D: Deserializer<'de>>(input: D) -> Result<Option<DatabaseKind>, D::Error> {
    input.deserialize_any(KindOrFlag)
}

struct KindOrFlag;

impl Visitor<'_> for KindOrFlag {
    type Value = Option<DatabaseKind>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the name of a database, such as \"postgresql\"")
    }

    fn visit_bool<E: Error>(self, needed: bool) -> Result<Self::Value, E> {
        Ok(needed.then_some(DatabaseKind::Postgresql))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        DatabaseKind::deserialize(name.into_deserializer()).map(Some)
    }
}

/// The database of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Database {
    /// What it is.
    #[serde(default)]
    pub kind: DatabaseKind,
    /// Where it came from.
    pub origin: DatabaseOrigin,
    /// Its version, as it tells it, or its program and version; absent when there was none to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Settings that were changed for the run, `name=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Its CPUs, as a kernel list; absent where they are not ours to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// The host on which assay started it, and whose these CPUs are; absent for the one that measured, and for a server of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<PlacedHost>,
    /// Whether the generator had the same CPUs.
    #[serde(default)]
    pub beside_generator: bool,
    /// Why there was none, so that nothing that needs it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<NotRun>,
}

/// Where a database came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseOrigin {
    /// On a server of its own, which assay started and removed.
    Private,
    /// On the server that the user named: one that assay made there and removed, or that of a server that ran already.
    Given,
}

#[cfg(test)]
mod tests {
    use crate::workload::Workload;

    fn read(database: &str) -> Result<Workload, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"name": "w", "about": "", "request": [], "database": {database}}}"#
        ))
    }

    #[test]
    fn names_and_the_flags_of_older_records_are_read() {
        use super::DatabaseKind::{Mongodb, Postgresql};
        for (text, kind) in [
            ("true", Some(Postgresql)),
            ("false", None),
            ("\"postgresql\"", Some(Postgresql)),
            ("\"mongodb\"", Some(Mongodb)),
        ] {
            assert_eq!(read(text).expect(text).database, kind);
        }
        let error = read("\"mysql\"").expect_err("unknown").to_string();
        assert!(error.contains("expected `postgresql` or `mongodb`"), "{error}");
        assert_eq!(Mongodb.to_string(), "mongodb");
    }
}
