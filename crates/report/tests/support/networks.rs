//! The made-up run on four networks, with a fifth that could not be had: bodies of three sizes, and what the stack costs.

use assay_model::evidence::Withheld;
use assay_model::experiment::{Cell, Protocol};
use assay_model::family::Family;
use assay_model::load::StackCounts;
use assay_model::network::{Network, Stack};
use assay_model::record::{Entry, Measurement, NetworkFacts, NotRun, NotRunOn, Record, Run, Stage};
use assay_model::units::Nanos;
use assay_model::verdict::{Call, CellVerdict, Crossing, Interval, StackCost, Standing, Verdict};
use assay_model::workload::Workload;

/// Each with what it makes of the sample's throughputs.
const NETWORKS: [(&str, f64); 4] =
    [("kernel/veth", 0.8), ("user/xdp", 1.3), ("kernel/loopback", 1.0), ("user/ring", 2.5)];
/// Needs a right that the made-up machine did not give.
pub(crate) const LOST: &str = "kernel/veth:1gbit";
/// Bytes of a body, with what they make of the advantage of the user-space stack.
const BODIES: [(u32, f64); 3] = [(13, 1.0), (1024, 0.9), (65_536, 0.4)];
/// Does not start on the user-space stack.
pub(crate) const KERNEL_ONLY: &str = "gin";
/// Its user-space stack is somebody else's and tells nothing.
pub(crate) const SILENT: &str = "apache";

/// The sample's first workload and a family of bodies on every network.
pub(crate) fn on_networks((mut record, mut verdict): (Record, Verdict)) -> (Record, Verdict) {
    record.id = format!("{}-stacks", record.id);
    let names = NETWORKS.map(|(name, _)| name.parse::<Network>());
    let networks: Vec<Network> = names.into_iter().filter_map(Result::ok).collect();
    record.experiment.measures.truncate(1);
    add_bodies(&mut record);
    let lost = LOST.parse::<Network>().ok();
    let named: Vec<Network> = networks.iter().copied().chain(lost).collect();
    record.experiment.measures.iter_mut().for_each(|measure| measure.networks.clone_from(&named));
    let facts = |&network: &Network| NetworkFacts {
        network,
        link_facts: None,
        not_run: (Some(network) == lost).then(no_rights),
    };
    record.networks = named.iter().map(facts).collect();
    for round in &mut record.rounds {
        round.runs = round.runs.iter().flat_map(|run| networks.iter().map(|on| moved(run, *on))).collect();
        round.runs.retain(|run| !is_missing(&run.contender, run.network));
    }
    for Entry { identity, not_run_on, .. } in &mut record.contenders {
        let missing = networks.iter().filter(|network| is_missing(&identity.name, Some(**network)));
        not_run_on.extend(missing.map(|&network| NotRunOn {
            network: Some(network),
            protocol: Protocol::H1,
            why: no_preload(),
        }));
    }
    verdict.cells = record
        .experiment
        .cells()
        .iter()
        .filter(|cell| cell.network != lost)
        .filter_map(|cell| judged(&verdict.cells, cell))
        .collect();
    verdict.stack_cost = verdict.cells.iter().flat_map(|cell| costs(&verdict.cells, cell)).collect();
    let [kernel, user, ..] = networks[..] else { return (record, verdict) };
    verdict.crossings = vec![crossing(user, kernel)];
    (record, verdict)
}

fn is_missing(contender: &str, on: Option<Network>) -> bool {
    contender == KERNEL_ONLY && is_user(on)
}

fn is_user(network: Option<Network>) -> bool {
    network.is_some_and(|network| network.stack() == Stack::User)
}

fn no_rights() -> NotRun {
    NotRun {
        stage: Stage::Needs,
        reason: "the kernel does not let this user shape a link".to_owned(),
        remedy: Some("run it as root".to_owned()),
        log_tail: Vec::new(),
    }
}

fn no_preload() -> NotRun {
    NotRun {
        stage: Stage::Start,
        reason: "it makes its system calls itself, so that no library can take them over".to_owned(),
        remedy: Some("measure it on the kernel's stack only".to_owned()),
        log_tail: Vec::new(),
    }
}

fn add_bodies(record: &mut Record) {
    let [hello, ..] = record.workloads.as_slice() else { return };
    let member = |&(bytes, _): &(u32, f64)| Workload {
        name: format!("body-{bytes}"),
        family: Some(Family { name: "body".to_owned(), parameter: "bytes".to_owned(), value: bytes }),
        ..hello.clone()
    };
    let members: Vec<Workload> = BODIES.iter().map(member).collect();
    let measure =
        |workload: &Workload| assay_model::experiment::Measure::capacity(workload.name.as_str(), vec![64]);
    record.experiment.measures.extend(members.iter().map(measure));
    record.workloads.extend(members);
}

/// What a network and a body make of a contender's throughput in the sample.
fn factor(contender: &str, cell: &Cell) -> f64 {
    let named = cell.network.map(|network| network.to_string()).unwrap_or_default();
    let of_network = NETWORKS.iter().find(|(name, _)| *name == named).map_or(1.0, |(_, factor)| *factor);
    let body = BODIES.iter().find(|(bytes, _)| cell.workload == format!("body-{bytes}"));
    let of_body = body.filter(|_| is_user(cell.network)).map_or(1.0, |(_, factor)| *factor);
    // No two alike, so that marks do not hide each other.
    let of_contender = if is_user(cell.network) { 1.0 + 0.08 * (contender.len() % 5) as f64 } else { 1.0 };
    of_network * of_body * of_contender
}

/// The sample's run as it would have been on a network: what it measured of the first workload.
fn moved(run: &Run, network: Network) -> Run {
    let user = network.stack() == Stack::User;
    let of_hello = run.cells.iter().filter(|window| window.cell.workload == "hello");
    let mut cells: Vec<Measurement> = of_hello.cloned().collect();
    let at_64 = cells.iter().find(|window| window.cell.connections == 64).cloned();
    for (bytes, _) in BODIES {
        cells.extend(
            at_64
                .clone()
                .map(|window| Measurement { cell: Cell::closed(format!("body-{bytes}"), 64), ..window }),
        );
    }
    for window in &mut cells {
        window.cell.network = Some(network);
        let ok = window.load.window.ok as f64 * factor(&run.contender, &window.cell);
        window.load.window.ok = ok as u64;
        window.load.books.ok = ok as u64;
        window.load.system_calls.waits = if user { 12 } else { 2 * ok as u64 };
        window.load.stack = user.then(|| generator_counts(ok as u64));
        window.server_stack = (user && run.contender != SILENT).then(|| server_counts(ok as u64));
    }
    let of_network = NETWORKS.iter().position(|(name, _)| *name == network.to_string()).unwrap_or_default();
    let offset_ns = Nanos(run.offset_ns.0 + 1_000_000 * of_network as u64);
    Run { network: Some(network), offset_ns, cells, ..run.clone() }
}

/// It acknowledges every fiftieth answer apart.
fn generator_counts(answers: u64) -> StackCounts {
    StackCounts {
        wire: "ring".to_owned(),
        lossless: true,
        received_frames: answers,
        sent_frames: answers + answers / 50,
        wire_full: 3,
        system_calls: 12,
        ..StackCounts::default()
    }
}

/// What the generator sent has arrived; a probe for a loss that was none made it send again.
fn server_counts(answers: u64) -> StackCounts {
    StackCounts {
        wire: "ring".to_owned(),
        lossless: true,
        received_frames: answers + answers / 50,
        sent_frames: answers,
        retransmitted_segments: 2,
        tail_loss_probes: 1,
        system_calls: answers / 1000,
        ..StackCounts::default()
    }
}

/// The sample's judgement of the first workload at as many connections, scaled.
fn judged(sample: &[CellVerdict], cell: &Cell) -> Option<CellVerdict> {
    let model = sample.iter().find(|one| one.cell == Cell::closed("hello", cell.connections))?;
    let mut judged = model.clone();
    judged.cell = cell.clone();
    for standing in &mut judged.standings {
        let faster = factor(&standing.contender, cell);
        if let Some(throughput) = &mut standing.throughput_per_second {
            for figure in [&mut throughput.estimate, &mut throughput.low, &mut throughput.high] {
                *figure *= faster;
            }
        }
        standing.rounds_per_second.iter_mut().flatten().for_each(|rate| *rate *= faster);
        standing.price.system_calls = Some(if is_user(cell.network) { 0.002 } else { 2.03 });
    }
    judged.standings.retain(|standing| !is_missing(&standing.contender, cell.network));
    judged
        .pairs
        .retain(|pair| ![&pair.faster, &pair.slower].iter().any(|name| is_missing(name, cell.network)));
    Some(judged)
}

/// What the stack costs everybody in a cell on the user-space stack; nothing for other cells.
fn costs(cells: &[CellVerdict], user: &CellVerdict) -> Vec<StackCost> {
    let Some(network) = user.cell.network else { return Vec::new() };
    let Some(kernel) = network.kernel_counterpart() else { return Vec::new() };
    let other = cells.iter().find(|one| one.cell == user.cell.on(Some(kernel)));
    let cost = |standing: &Standing| {
        let same = other?.standings.iter().find(|one| one.contender == standing.contender)?;
        let [on_user, on_kernel] = [standing.throughput_per_second, same.throughput_per_second];
        let estimate = on_user.zip(on_kernel).map(|(user, kernel)| user.estimate / kernel.estimate);
        Some(StackCost {
            contender: standing.contender.clone(),
            cell: user.cell.clone(),
            kernel,
            same_wire: network.to_string() == "user/xdp",
            user_per_second: on_user,
            kernel_per_second: on_kernel,
            ratio: estimate.map(|estimate| Interval {
                estimate,
                low: estimate * 0.97,
                high: estimate * 1.03,
                confidence: 0.95,
            }),
            call: estimate.map(|_| Call::Distinct),
            p50_ratio: estimate.map(|estimate| 1.0 / estimate),
            withheld: standing
                .withheld
                .clone()
                .map(|reason| Withheld::OnStack { user_space: true, because: Box::new(reason) }),
        })
    };
    user.standings.iter().filter_map(cost).collect()
}

/// Between the second and the third body.
fn crossing(user: Network, kernel: Network) -> Crossing {
    Crossing {
        contender: "nginx".to_owned(),
        family: "body".to_owned(),
        parameter: "bytes".to_owned(),
        connections: 64,
        pipeline: 1,
        user,
        kernel,
        user_is_faster_below: true,
        after: 1024,
        before: 65_536,
        estimate: Some(7_200.0),
    }
}
