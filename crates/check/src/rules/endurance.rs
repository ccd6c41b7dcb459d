//! What others do to a server must not be felt by everybody.

use assay_host::limits::nofile;
use assay_model::conformance::Severity::Should;

use super::delivery::plain_answer;
use crate::objection::{Keeping, Objection};
use crate::rule::{Rule, Tempo};
use crate::site::Site;

/// Clients that begin a request and do not go on.
const SLOW_CLIENTS: usize = 1000;
/// Descriptors that are left to everything else.
const SPARE_DESCRIPTORS: u64 = 128;
/// Fewer tell nothing.
const FEWEST_SLOW_CLIENTS: usize = 100;

pub(super) const RULES: &[Rule] = &[Rule::new(
    "slow-clients",
    Should,
    "house rule",
    "A thousand clients that have sent half a request (fewer where descriptors are short) do not keep another from its answer.",
    slow_clients,
)
.at(Tempo::Alone)];

fn slow_clients(site: &Site) -> Keeping {
    let descriptors = usize::try_from(nofile()[0].saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(SLOW_CLIENTS);
    let many = SLOW_CLIENTS.min(descriptors);
    if many < FEWEST_SLOW_CLIENTS {
        return Err(Objection::not_applicable("too few descriptors; raise ulimit -n"));
    }
    let request = site.get();
    let half = &request[..request.len() / 2];
    let mut slow = Vec::with_capacity(many);
    for _ in 0..many {
        let mut talk = site.open()?;
        talk.send(half)?;
        slow.push(talk);
    }
    let mut fast = site.open()?;
    fast.send(&request)?;
    plain_answer(site, &mut fast).map_err(|objection| objection.on(format!("beside {many} slow clients")))
}
