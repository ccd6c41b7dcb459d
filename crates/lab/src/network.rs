//! The networks of a run: laid before the first server starts, told in the record, gone with the run.

use assay_link::{Link, LinkError};
use assay_model::network::{Network, Stack, Wire};
use assay_model::record::{NetworkFacts, NotRun, Stage};

use crate::error::LabError;
use crate::plan::Plan;
use crate::subject::{Launch, Subject};

/// A network that is there.
pub(crate) struct Laid {
    /// Which; absent where the experiment names none.
    pub network: Option<Network>,
    /// What joins servers and generators on it.
    pub link: Link,
}

/// The networks of a plan that could be had, and what the record says of all that it names.
///
/// # Errors
/// When the only one cannot be had.
pub(crate) fn lay(plan: &Plan) -> Result<(Vec<Laid>, Vec<NetworkFacts>), LabError> {
    let wanted = plan.experiment.networks();
    let (mut all, mut facts) = (Vec::new(), Vec::new());
    for network in &wanted {
        let spec = network.map_or(plan.link, Network::link);
        let opened = Link::open(&plan.tools.assay, spec);
        let link = match (opened, network) {
            (Ok(link), _) => link,
            (Err(error), Some(network)) if wanted.len() > 1 => {
                let not_run = Some(absent(error));
                facts.push(NetworkFacts { network: *network, link_facts: None, not_run });
                continue;
            }
            (Err(error), _) => return Err(error.into()),
        };
        facts.extend(network.map(|network| NetworkFacts {
            network,
            link_facts: link.facts().cloned(),
            not_run: None,
        }));
        all.push(Laid { network: *network, link });
    }
    Ok((all, facts))
}

fn absent(error: LinkError) -> NotRun {
    let remedy = match &error {
        LinkError::Forbidden { remedy, .. } => Some(remedy.clone()),
        LinkError::Holder(_) => None,
    };
    let reason = match error {
        LinkError::Forbidden { problem, .. } => format!("the cable could not be laid: {problem}"),
        LinkError::Holder(error) => format!("the process that holds the cable failed: {error}"),
    };
    NotRun { stage: Stage::Needs, reason, remedy, log_tail: Vec::new() }
}

impl Laid {
    /// Whether the kernel's TCP serves it.
    pub(crate) fn is_kernels(&self) -> bool {
        self.network.is_none_or(|network| network.stack() == Stack::Kernel)
    }

    /// Why a subject cannot take part here, if so: what runs already is where it is, and a container hides from preloading.
    pub(crate) fn closed_to(&self, subject: &Subject) -> Option<NotRun> {
        let (reason, remedy) = match &subject.launch {
            Launch::Running { .. } if !self.is_loopback() => {
                ("it runs already, outside this network", "let assay start it: --cmd")
            }
            Launch::Process(process) if process.container.is_some() && !self.is_kernels() => (
                "it runs in a container, into which nothing can be preloaded from outside",
                "measure it on the kernel's stack",
            ),
            Launch::Running { .. } | Launch::Process(_) => return None,
        };
        let (reason, remedy) = (reason.to_owned(), Some(remedy.to_owned()));
        Some(NotRun { stage: Stage::Needs, reason, remedy, log_tail: Vec::new() })
    }

    fn is_loopback(&self) -> bool {
        self.network.is_none_or(|network| network.wire() == Wire::Loopback)
    }
}

/// The link over which servers are asked for the rules of HTTP: these are the program's and the same on every network, and
/// the suite asks with the kernel's sockets.
pub(crate) fn for_asking(laid: &[Laid]) -> Link {
    laid.iter().find(|laid| laid.is_kernels()).map_or_else(Link::loopback, |laid| laid.link.clone())
}
