//! The server behind proxies: the reference server, a process of its own for each life of a proxy, on CPUs that are not the
//! proxy's (docs/method/proxies.md).

use assay_host::isolation::CompanionPlace;
use assay_model::record::{NotRun, Stage};
use assay_model::upstream::Upstream as Facts;

use crate::subject::Subject;

/// Remedy where an upstream has failed.
const OURS: &str = "the fault is assay's own or the machine's, not the contender's; see its log";

/// What is started behind each proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// The reference server.
    pub subject: Subject,
    /// Where it runs.
    pub place: CompanionPlace,
}

impl Upstream {
    /// What the record says of it.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            contender: self.subject.identity.name.clone(),
            cpus: self.place.cpus.to_string(),
            beside_generator: self.place.beside_generator,
        }
    }
}

/// What a failure of its upstream is to a proxy.
pub(super) fn failed(why: NotRun) -> NotRun {
    let reason = format!("the upstream behind it: {}", why.reason);
    NotRun { reason, remedy: Some(OURS.to_owned()), ..why }
}

/// Why a proxy is not run where no upstream is there.
pub(super) fn missing() -> NotRun {
    NotRun {
        stage: Stage::Needs,
        reason: "it is a proxy, and there is no reference server to start behind it".to_owned(),
        remedy: Some("use a catalogue that has one: contenders/rust/assay".to_owned()),
        log_tail: Vec::new(),
    }
}
