//! Hosts as a record tells of them that a run used beside the one that led it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::JsonSchema;
use crate::fleet::ClockOffset;
use crate::host::HostFacts;

/// A host on which something of a run was started: its servers, or its database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedHost {
    /// What it was called.
    pub name: String,
    /// Where load reached its servers, or the servers their database.
    pub address: String,
    /// CPUs of what was started there, as its kernel lists them.
    pub cpus: String,
    /// The machine.
    pub host: HostFacts,
    /// How its monotonic clock stood to ours before the first round.
    pub clock: ClockOffset,
}

/// Reads hosts, or the only one as records had it before there could be several.
pub(crate) fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PlacedHost>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Several(Vec<PlacedHost>),
        One(Box<PlacedHost>),
    }
    Ok(match Written::deserialize(from)? {
        Written::Several(hosts) => hosts,
        Written::One(host) => vec![*host],
    })
}

/// A host from which the load of a run came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorHost {
    /// What it was called, in the record and as a generator of each window.
    pub name: String,
    /// CPUs of the generator there, as its kernel lists them.
    pub cpus: String,
    /// The machine.
    pub host: HostFacts,
    /// How its monotonic clock stood to ours before the first round; each load compares them anew.
    pub clock: ClockOffset,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Holder {
        #[serde(default, alias = "server_host", deserialize_with = "one_or_several")]
        server_hosts: Vec<PlacedHost>,
    }

    #[test]
    fn the_only_host_of_an_older_record_is_read_as_one_of_several() {
        let host = serde_json::to_value(PlacedHost { name: "box1".to_owned(), ..PlacedHost::default() });
        let host = host.expect("JSON");
        let names = |text: serde_json::Value| -> Vec<String> {
            let read: Holder = serde_json::from_value(text).expect("read");
            read.server_hosts.into_iter().map(|host| host.name).collect()
        };
        assert_eq!(names(serde_json::json!({ "server_host": host })), ["box1"]);
        assert_eq!(names(serde_json::json!({ "server_hosts": [host, host] })), ["box1", "box1"]);
        assert!(names(serde_json::json!({})).is_empty());
    }
}
