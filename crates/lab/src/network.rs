//! The networks of a run: provisioned before the first server starts, told in the record, gone with the run.
//!
//! A stack in user space has a queue of the wire for each worker of the server, and at the other end a thread of the generator
//! for each queue: both ends of a connection are on queues that face each other.

use assay_host::cpuset::CpuSet;
use assay_host::isolation::Isolation;
use assay_link::{Link, LinkError, Spec};
use assay_model::network::{Network, Stack, Wire};
use assay_model::record::{NetworkFacts, NotRun, Stage};
use assay_model::setting::Setting;

use crate::error::LabError;
use crate::plan::RunPlan;
use crate::subject::{Launch, Process, Subject};
use crate::tls::{SET_UP_TLS, WITHOUT_TLS};

/// Why one that is not set up for HTTP/2 is not run over it.
const WITHOUT_HTTP2: &str = "it is not set up for HTTP/2 here";
/// How that is mended.
const SET_UP_HTTP2: &str = "where it speaks HTTP/2, name h2c (without TLS), h2 (over TLS) or both as http2 in its contender.toml; it finds \
                            what it is to speak in $PROTOCOL";

/// How several workers are made one.
const ONE_CPU: &str = "give the servers one CPU, such as --server-cpus 0 --generator-cpus 1";

/// The remedy where several processes could be had with more rights.
const ROOT_OR_ONE_CPU: &str =
    "run as root of the machine, or give the servers one CPU, such as --server-cpus 0 --generator-cpus 1";

/// A setting whose network is there.
pub(crate) struct ProvisionedSetting {
    /// Network and protocol.
    pub setting: Setting,
    /// What joins servers and generators on it.
    pub link: Link,
    /// Whether several processes can have queues of one interface here ([`assay_wire::xdp::can_share`]).
    pub shares_interfaces: bool,
}

/// The settings of a plan whose networks could be had, and what the record says of all networks that it names.
///
/// # Errors
/// When the only one cannot be had.
pub(crate) fn provision(plan: &RunPlan) -> Result<(Vec<ProvisionedSetting>, Vec<NetworkFacts>), LabError> {
    let wanted = plan.experiment.networks();
    let (mut all, mut facts) = (Vec::new(), Vec::new());
    let shares_interfaces = assay_wire::xdp::can_share();
    for network in &wanted {
        let spec = network.map_or(plan.link, Network::link);
        let is_user = network.is_some_and(|network| network.stack() == Stack::User);
        let queues = if is_user { workers(&plan.isolation) } else { 1 };
        let opened = Link::with_queues(&plan.tools.assay, spec, queues);
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
        let there = plan.experiment.settings().into_iter().filter(|setting| setting.network == *network);
        all.extend(there.map(|setting| ProvisionedSetting {
            setting,
            link: link.clone(),
            shares_interfaces,
        }));
    }
    Ok((all, facts))
}

fn absent(error: LinkError) -> NotRun {
    let remedy = match &error {
        LinkError::Forbidden { remedy, .. } => Some(remedy.clone()),
        LinkError::NetnsHolder(_) => None,
    };
    let reason = match error {
        LinkError::Forbidden { problem, .. } => format!("the cable could not be set up: {problem}"),
        LinkError::NetnsHolder(error) => format!("the process that holds the cable failed: {error}"),
    };
    NotRun { stage: Stage::Needs, reason, remedy, log_tail: Vec::new() }
}

impl ProvisionedSetting {
    /// Whether the kernel's TCP serves it.
    pub(crate) fn is_kernels(&self) -> bool {
        self.setting.network.is_none_or(|network| network.stack() == Stack::Kernel)
    }

    /// Queues that a subject has here: one for each worker that can have one to itself, on a stack in user space.
    pub(crate) fn queues(&self, subject: &Subject, isolation: &Isolation) -> u16 {
        match &subject.launch {
            Launch::Process(process) if process.run.queue_per_worker && !self.is_kernels() => {
                workers(isolation)
            }
            Launch::Process(_) | Launch::Running { .. } => 1,
        }
    }

    /// CPUs of the generator's threads here: all that it has, or one for each queue.
    pub(crate) fn generator_cpus(&self, queues: u16, isolation: &Isolation) -> CpuSet {
        let threads = if self.is_kernels() { usize::MAX } else { queues.into() };
        isolation.generator.iter().take(threads).collect()
    }

    /// Why a subject cannot take part here, if so: what runs already is where it is, a container hides from preloading, and
    /// its workers may be more than the queues or the generator's CPUs.
    pub(crate) fn closed_to(&self, subject: &Subject, isolation: &Isolation) -> Option<NotRun> {
        let queues = usize::from(self.queues(subject, isolation));
        let has_rate_or_loss = matches!(self.link.spec(), Spec::Veth(cable) if !cable.is_plain());
        if let Launch::Process(process) = &subject.launch
            && let Some((reason, remedy)) = self.unspoken(process)
        {
            return Some(needs(reason, remedy));
        }
        let (reason, remedy) = match &subject.launch {
            Launch::Running { .. } if !self.is_loopback() => {
                ("it runs already, outside this network", "let assay start it: --cmd")
            }
            Launch::Process(process) if process.container.is_some() && !self.is_kernels() => (
                "it runs in a container, into which nothing can be preloaded from outside",
                "measure it on the kernel's stack",
            ),
            Launch::Process(_) if subject.is_proxy() && !self.is_kernels() => (
                "it is a proxy, and the user-space stack makes no connections to an upstream",
                "measure it on the kernel's stack",
            ),
            Launch::Process(_) if queues > 1 && has_rate_or_loss => (
                "a link with a rate or a loss has one queue, and it starts a worker for each of several CPUs",
                ONE_CPU,
            ),
            Launch::Process(process)
                if queues > 1 && self.belongs_to_one_process() && process.run.stack_arguments.is_empty() =>
            {
                (
                    "it starts a process for each of several CPUs, and to share an interface's XDP program they need CAP_SYS_ADMIN",
                    ROOT_OR_ONE_CPU,
                )
            }
            Launch::Process(_) if queues > isolation.generator.len() => (
                "each of its workers needs a thread of the generator on a CPU of its own, and there are fewer",
                "give the generator as many CPUs as the servers: --server-cpus and --generator-cpus",
            ),
            Launch::Running { .. } | Launch::Process(_) => return None,
        };
        Some(needs(reason, remedy))
    }

    /// Why a program is not set up for what is spoken here, if so, and how that is mended.
    fn unspoken(&self, process: &Process) -> Option<(&'static str, &'static str)> {
        let protocol = self.setting.protocol;
        if protocol.is_secured() && process.run.tls_arguments.is_none() {
            return Some((WITHOUT_TLS, SET_UP_TLS));
        }
        // A contender that answers a workload of calls speaks gRPC.
        let is_set_up = protocol.is_grpc() || !protocol.is_http2() || process.run.http2.contains(&protocol);
        (!is_set_up).then_some((WITHOUT_HTTP2, SET_UP_HTTP2))
    }

    /// Whether all queues must be one process's.
    fn belongs_to_one_process(&self) -> bool {
        let is_xdp = self.setting.network.is_some_and(|network| matches!(network.wire(), Wire::Xdp(_)));
        is_xdp && !self.shares_interfaces
    }

    fn is_loopback(&self) -> bool {
        self.setting.network.is_none_or(|network| network.wire() == Wire::Loopback)
    }
}

fn needs(reason: &str, remedy: &str) -> NotRun {
    let (reason, remedy) = (reason.to_owned(), Some(remedy.to_owned()));
    NotRun { stage: Stage::Needs, reason, remedy, log_tail: Vec::new() }
}

/// Workers that a server starts at most: one for each of its CPUs.
fn workers(isolation: &Isolation) -> u16 {
    u16::try_from(isolation.server.len()).unwrap_or(u16::MAX).max(1)
}

/// The link over which servers are asked for the rules of HTTP: these are the program's and the same on every network, and
/// the suite asks with the kernel's sockets.
pub(crate) fn for_asking(provisioned: &[ProvisionedSetting]) -> Link {
    provisioned
        .iter()
        .find(|provisioned| provisioned.is_kernels())
        .map_or_else(Link::loopback, |provisioned| provisioned.link.clone())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use assay_model::experiment::Protocol;

    use super::*;

    fn isolation(server: &str, generator: &str) -> Isolation {
        let topology = assay_host::topology::Topology::read();
        let set = |text: &str| text.parse::<CpuSet>().expect("CPUs");
        Isolation {
            server: set(server),
            generator: set(generator),
            ..assay_host::isolation::split(&set("0"), &topology)
        }
    }

    /// A program with a process or thread for each CPU; `own` is whether it brings the stack itself.
    fn subject(per_worker: bool, own: bool) -> Subject {
        let mut subject = Subject::from_command("server", Path::new("/"), None).expect("command");
        if let Launch::Process(process) = &mut subject.launch {
            process.run.queue_per_worker = per_worker;
            process.run.stack_arguments = if own { vec!["--stack".to_owned()] } else { Vec::new() };
        }
        subject
    }

    fn provisioned(network: &str) -> ProvisionedSetting {
        ProvisionedSetting {
            setting: Setting::on(Some(network.parse().expect("network"))),
            link: Link::loopback(),
            shares_interfaces: true,
        }
    }

    #[test]
    fn every_worker_has_a_queue_and_every_queue_a_thread_of_the_generator() {
        let isolation = isolation("0-1", "2-5");
        for (network, per_worker, queues, threads) in
            [("user/ring", true, 2, "2-3"), ("user/ring", false, 1, "2"), ("kernel/loopback", true, 1, "2-5")]
        {
            let provisioned = provisioned(network);
            let own = provisioned.queues(&subject(per_worker, false), &isolation);
            assert_eq!(own, queues, "{network} {per_worker}");
            assert_eq!(
                provisioned.generator_cpus(own, &isolation).to_string(),
                threads,
                "{network} {per_worker}"
            );
        }
    }

    #[test]
    fn over_tls_only_those_take_part_that_can_serve_the_runs_certificate() {
        let provisioned = ProvisionedSetting {
            setting: Setting { network: None, protocol: Protocol::H1Tls },
            ..provisioned("kernel/loopback")
        };
        let isolation = isolation("0", "1");
        let reason = |subject: &Subject| provisioned.closed_to(subject, &isolation).map(|why| why.reason);
        let mut own = subject(false, false);
        assert_eq!(reason(&own), None, "a command finds its certificate in the environment");
        if let Launch::Process(process) = &mut own.launch {
            process.run.tls_arguments = None;
        }
        assert_eq!(reason(&own).as_deref(), Some(WITHOUT_TLS));
    }

    #[test]
    fn over_http2_only_those_take_part_that_are_set_up_for_it() {
        let isolation = isolation("0", "1");
        let mut own = subject(false, false);
        let reason = |subject: &Subject, protocol| {
            let setting = Setting { network: None, protocol };
            let provisioned = ProvisionedSetting { setting, ..provisioned("kernel/loopback") };
            provisioned.closed_to(subject, &isolation).map(|why| why.reason)
        };
        for protocol in [Protocol::H2c, Protocol::H2] {
            assert_eq!(reason(&own, protocol), None, "a command finds the protocol in the environment");
        }
        if let Launch::Process(process) = &mut own.launch {
            process.run.http2 = vec![Protocol::H2];
        }
        assert_eq!(reason(&own, Protocol::H2), None);
        assert_eq!(reason(&own, Protocol::Grpc), None, "its workloads tell");
        assert_eq!(reason(&own, Protocol::H2c).as_deref(), Some(WITHOUT_HTTP2));
    }

    #[test]
    fn a_proxy_stays_on_the_kernels_stack() {
        let (proxy, isolation) = (subject(false, false).as_proxy(), isolation("0", "1"));
        let reason = |network| provisioned(network).closed_to(&proxy, &isolation).map(|why| why.reason);
        assert_eq!(reason("kernel/loopback"), None);
        assert!(reason("user/ring").is_some_and(|reason| reason.contains("no connections to an upstream")));
    }

    #[test]
    fn workers_that_cannot_have_a_queue_each_are_refused_with_a_remedy() {
        let (processes, threads, one) = (subject(true, false), subject(true, true), subject(false, false));
        for (network, shares_interfaces, subject, server, generator, hint) in [
            ("user/ring", false, &processes, "0-1", "2-3", None),
            ("user/ring", true, &processes, "0-1", "2", Some("a thread of the generator")),
            ("user/xdp", false, &threads, "0-1", "2-3", None),
            ("user/xdp", false, &processes, "0-1", "2-3", Some("CAP_SYS_ADMIN")),
            ("user/xdp", true, &processes, "0-1", "2-3", None),
            ("user/xdp", true, &processes, "0-1", "2", Some("a thread of the generator")),
            ("user/xdp", false, &processes, "0", "1", None),
            ("user/xdp", false, &one, "0-1", "2-3", None),
            ("kernel/loopback", false, &processes, "0-1", "2", None),
        ] {
            let provisioned = ProvisionedSetting { shares_interfaces, ..provisioned(network) };
            let closed = provisioned.closed_to(subject, &isolation(server, generator));
            let remedy = closed.as_ref().map(|closed| closed.remedy.clone().unwrap_or_default());
            assert!(remedy.is_none_or(|remedy| remedy.contains("--server-cpus")), "{closed:?}");
            let reason = closed.map(|closed| closed.reason);
            let is_as_wanted = match (&reason, hint) {
                (None, None) => true,
                (Some(reason), Some(hint)) => reason.contains(hint),
                _ => false,
            };
            assert!(is_as_wanted, "{network} {server} {generator}: {reason:?}");
        }
    }
}
