//! From `--stack` and `--link` to the networks of an experiment.

use assay_lab::RunPlan;
use assay_link::Spec;
use assay_model::experiment::{Cell, Experiment};
use assay_model::network::{Network, Stack};

/// Gives the experiment the networks that were asked for, and says over which link it runs where it names none.
pub(super) fn choose(experiment: &mut Experiment, links: &[Spec], stacks: &[Stack]) -> Spec {
    if links.is_empty() && stacks.is_empty() {
        return Spec::default();
    }
    let networks = match (links, stacks) {
        // One link of the kernel's needs no name in every cell.
        ([_], []) => Vec::new(),
        _ => networks(links, stacks),
    };
    experiment.measures.iter_mut().for_each(|measure| measure.networks.clone_from(&networks));
    // What differed in its networks alone is now the same; the first is the one for everybody.
    let mut seen: Vec<Cell> = Vec::new();
    experiment.measures.retain(|measure| {
        let known = measure.cells().all(|cell| seen.contains(&cell));
        seen.extend(measure.cells());
        !known
    });
    links.first().copied().unwrap_or_default()
}

/// Every stack over every link.
fn networks(links: &[Spec], stacks: &[Stack]) -> Vec<Network> {
    let links = if links.is_empty() { &[Spec::Loopback] } else { links };
    let stacks = if stacks.is_empty() { &[Stack::Kernel] } else { stacks };
    let mut networks = Vec::new();
    for &link in links {
        for stack in stacks {
            let network = match stack {
                Stack::Kernel => Network::kernel(link),
                Stack::User => Network::user(link),
            };
            if !networks.contains(&network) {
                networks.push(network);
            }
        }
    }
    networks
}

/// Stack and wire of every network of a plan.
pub(super) fn describe(plan: &RunPlan) -> String {
    let name = |network: Option<Network>| network.unwrap_or_else(|| Network::kernel(plan.link)).to_string();
    plan.experiment.networks().into_iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use assay_model::experiment::Measure;

    use super::*;

    fn chosen(links: &[&str], stacks: &[&str]) -> (String, Vec<String>) {
        let mut experiment = Experiment::new("e", vec![Measure::capacity("hello", vec![1])]);
        experiment.measures[0].networks = vec!["user/ring".parse().expect("network")];
        let links: Vec<Spec> = links.iter().map(|link| link.parse().expect("link")).collect();
        let stacks: Vec<Stack> = stacks.iter().map(|stack| stack.parse().expect("stack")).collect();
        let link = choose(&mut experiment, &links, &stacks);
        (link.to_string(), experiment.measures[0].networks.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn flags_override_the_experiments_networks() {
        for (links, stacks, link, networks) in [
            (&[][..], &[][..], "loopback", &["user/ring"][..]),
            (&["veth"], &[], "veth", &[]),
            (&[], &["user"], "loopback", &["user/ring"]),
            (&["veth"], &["kernel", "user"], "veth", &["kernel/veth", "user/xdp"]),
            (&["loopback", "veth:1gbit"], &[], "loopback", &["kernel/loopback", "kernel/veth:1gbit"]),
            (&["veth", "veth"], &["user"], "veth", &["user/xdp"]),
            (&["veth:1gbit"], &["kernel", "user"], "veth:1gbit", &["kernel/veth:1gbit", "user/xdp:1gbit"]),
            (&["veth:loss=1%"], &["user"], "veth:loss=1%", &["user/xdp:loss=1%"]),
        ] {
            let wanted = (link.to_owned(), networks.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(chosen(links, stacks), wanted, "{links:?} {stacks:?}");
        }
    }
}
