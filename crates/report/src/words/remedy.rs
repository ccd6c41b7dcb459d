//! What to do about what a check objects to.

use assay_model::check::{Check, CheckOutcome};
use assay_model::evidence::{Evidence, InFlight, Neighbour, RestartsUnknown, Rounds};
use assay_model::rule::Rule;
use assay_model::running::Running;

/// Share of its CPU from which on a generator may be the slower side: below, most of its time is left.
const BUSY: f64 = 0.5;
/// Share of the time from which on its waiting for its CPU is told.
const WAITED: f64 = 0.01;

const FASTER_LINK: &str = "to tell servers apart, give the link a higher rate (--link, or the network between hosts) or ask for smaller bodies";
const UNLIKE_HOST: &str = "look at its CPU and its way to the server (`assay doctor --lab`); leave it out of --from, or believe \
                           comparisons alone, since all met the same hosts";
const LATE: &str = "keep other programs off the generator's CPUs, give it more of them, or use a lower rate";
const MEASURE_HERE: &str = "measure the ones you care for here: assay run -e techempower";
const MORE_CPUS: &str = "give the generator more CPUs, or the server fewer";
const OTHERS: &str =
    "stop the other programs, or measure when they are done; `assay doctor` shows what they take";
const OTHERS_ON_THE_HOST: &str =
    "use a machine that is not shared, or measure when others are done; `assay doctor` shows what they take";
const PIN_IT: &str = "pin it to CPUs of its own (taskset -acp), or let assay start it with --cmd";
const TIRING: &str =
    "look for what it piles up (memory, open files, a cache, a log): a longer run would show it slower still";
const WARM_LONGER: &str =
    "give it longer with --warmup, so that it is measured when it has become what it stays";
const STALLED: &str =
    "a thread at one end did not run for a while: end what else uses its CPU, or give it another";

/// What to do; nothing where there is nothing to object to, or nobody knows.
pub fn remedy(check: &Check) -> Option<String> {
    if check.outcome == CheckOutcome::Pass {
        return None;
    }
    let own = of_neighbour(&check.evidence);
    let own = own.or_else(|| of_evidence(&check.evidence).map(str::to_owned));
    own.or_else(|| Some(of_rule(check.rule)?.to_owned()))
}

/// What to do about a disturbance that several rules tell of.
pub(crate) fn remedy_of_disturbance(checks: &[&Check]) -> String {
    let neighbour = checks.iter().find_map(|check| of_neighbour(&check.evidence));
    let is_stolen = checks.iter().any(|check| check.rule == Rule::Steal);
    neighbour.unwrap_or_else(|| if is_stolen { OTHERS_ON_THE_HOST } else { OTHERS }.to_owned())
}

/// Where a server may run on the generator's CPUs: no other program is to blame before it.
fn of_neighbour(evidence: &Evidence) -> Option<String> {
    match evidence {
        Evidence::InWindows { worst, .. } => of_neighbour(worst),
        Evidence::ThreadWaited { beside_server: Some(server), .. }
        | Evidence::GeneratorWaited { beside_server: Some(server), .. } => Some(part_from(server)),
        _ => None,
    }
}

fn part_from(Neighbour { program, pid, processes, shared_cpus, other_cpus }: &Neighbour) -> String {
    let cpus = if shared_cpus.contains([',', '-']) { "CPUs" } else { "CPU" };
    let who = format!("{program} (process {pid}) may run on the generator's {cpus} {shared_cpus}");
    match (other_cpus.as_str(), processes) {
        ("", _) => format!("{who} and on no other: give each CPUs of its own (`taskset -acp`, --cpus)"),
        (others, 0 | 1) => format!("{who}: `taskset -acp {others} {pid}` keeps it off"),
        (others, _) => format!(
            "{who}: start it with `taskset -c {others}` before its command, which keeps all of it off"
        ),
    }
}

/// What keeps a closed loop short of requests, going by what the generator did meanwhile.
fn of_in_flight(found: &InFlight) -> &'static str {
    match (found.busy_share, found.waiting_share) {
        (_, Some(waiting)) if waiting > WAITED => "the generator waited for its CPU: mend that first",
        (Some(busy), _) if busy < BUSY => {
            "the generator had time to spare: measure for longer (-d) or with fewer connections, and look for what holds requests back"
        }
        (Some(_), _) => "the generator is the slower side: give it more CPUs, or measure fewer connections",
        (None, _) => "give the generator more CPUs, or measure fewer connections",
    }
}

/// Where the evidence tells more than the rule.
fn of_evidence(evidence: &Evidence) -> Option<&str> {
    match evidence {
        Evidence::InWindows { worst, .. } => of_evidence(worst),
        Evidence::InFlight(found) => Some(of_in_flight(found)),
        Evidence::GeneratorWaited { own: Some(own), only_own: true, .. } => of_evidence(own),
        Evidence::ThreadWaited { beside_database: true, .. }
        | Evidence::ThreadWaited { beside_upstream: true, .. } => {
            Some("use a machine with three physical cores")
        }
        Evidence::ThreadWaited { .. } => Some(
            "end what else runs on the generator's CPUs, or give it others (--cpus, in a run --generator-cpus)",
        ),
        Evidence::BusiestThread { .. } => {
            Some("give the generator more CPUs, or use fewer connections or a lower rate")
        }
        Evidence::Deaths { remedy, .. } => Some(remedy.as_deref().unwrap_or("see its log")),
        Evidence::SourceErrors { .. } => Some("read the source's logs; a server that fails may seem fast"),
        Evidence::Errors { example: Some(_), .. } => {
            Some("see its log and the samples in the record; mend the server")
        }
        Evidence::Running { running: Running::Unseen { .. }, .. } => {
            Some("let assay start it with --cmd, or run assay where its processes can be seen")
        }
        Evidence::NotMeasuredHere { .. } => {
            Some("compare runs of the same machine in the same state, measured alike")
        }
        Evidence::NoControl { .. } => Some("give a longer --budget"),
        Evidence::SlowMode { change_share, .. } | Evidence::LongLook { change_share, .. } => {
            Some(if *change_share > 0.0 { WARM_LONGER } else { TIRING })
        }
        Evidence::NoiseFloor { contender: Some(_), is_compared: false, .. } => {
            Some("measure longer: two rounds at least must count")
        }
        Evidence::NoiseFloor { apart: None, restart_cv: Some(_), .. } => {
            Some("measure one contender twice in each round (the A/A control)")
        }
        Evidence::NoiseFloor { apart: None, restarts_unknown, .. } => {
            Some(of_unknown_restarts(*restarts_unknown))
        }
        Evidence::Rounds(Rounds { counting: Some(_), .. }) => Some(
            "see what voids the rounds that do not count, and measure again: at least two must count, better six",
        ),
        _ => None,
    }
}

/// What tells how much restarts vary, where there is no A/A control either.
fn of_unknown_restarts(why: Option<RestartsUnknown>) -> &'static str {
    match why {
        Some(RestartsUnknown::FewRounds) => {
            "measure two rounds at least that count, and one contender twice in each (the A/A control)"
        }
        Some(RestartsUnknown::OneContender) => {
            "measure another contender beside it, or it alone twice in each round (the A/A control)"
        }
        Some(RestartsUnknown::Apart) => {
            "measure contenders in the same rounds, and one of them twice in each (the A/A control)"
        }
        None => {
            "measure the same contenders in two rounds at least that count, and one of them twice in each (the A/A control)"
        }
    }
}

/// What helps whenever a rule is broken.
fn of_rule(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::AnsweredByItself => {
            "turn its cache off, and see which answers it makes itself: what is measured is not a way to the upstream"
        }
        Rule::Answers => "look at the failures, or measure longer",
        Rule::AtLimit | Rule::Bunched | Rule::Generator | Rule::GeneratorSaturated | Rule::Headroom => {
            MORE_CPUS
        }
        Rule::Books => "report this: it is a fault of assay",
        Rule::Build => "measure with `cargo build --release`",
        Rule::Connections => "look at the server's limits of connections and of its listen queue",
        Rule::Database => {
            "use a machine with three physical cores, or a database on another host (--database URL, or a host with the role database in \
             --lab)"
        }
        Rule::DuetAgrees => {
            "believe the turns where each will have its CPUs to itself (--design alternating), and look for what both share: \
             caches, memory, a generator that is the limit"
        }
        Rule::Drift => "warm up for longer, or measure longer windows",
        Rule::Errors => "see which contender failed, and the samples in the record",
        Rule::FailedRuns => "see its log",
        Rule::Failures => "look at the samples of wrong answers and at the server's log",
        Rule::GeneratorDisturbed => {
            "keep other programs off the generator's CPUs: `assay doctor` shows what they take"
        }
        Rule::Generators => {
            "see what befell the generator that is named, and keep other programs off its CPUs; then measure again"
        }
        Rule::HostEffect => UNLIKE_HOST,
        Rule::Imported | Rule::SingleRun => MEASURE_HERE,
        Rule::InFlight => "give the generator more CPUs, or measure fewer connections",
        Rule::Isolation => "use a machine with at least two CPUs, or give each side its own",
        Rule::LinkLoss => "this is a fault of assay or of the kernel: please report it",
        Rule::LinkOverflow => "measure fewer connections or smaller bodies, or give the link a higher rate",
        Rule::LinkSaturated => FASTER_LINK,
        Rule::Little => "measure longer windows; look for what disturbed the generator",
        Rule::LittlesLaw => "this is a fault of the generator: please report it with the record of this run",
        Rule::LocalPorts => {
            "name more addresses with --source, widen net.ipv4.ip_local_port_range, or keep connections open"
        }
        Rule::LostCpuTime => {
            "its parent ignores SIGCHLD (wait(2)): let it wait for its workers, or keep these alive for longer"
        }
        Rule::LikeAnswers => {
            "look at both answers: figures compare only where the same was asked and the same was answered; \
             where both are right, say so with a workload that expects what they have in common"
        }
        Rule::Machine | Rule::MachineState | Rule::Method => {
            "compare runs of the same machine in the same state, measured alike"
        }
        Rule::MachineSpeed => {
            "use a machine that is not shared and holds its clock rate (`assay doctor`), or measure more rounds"
        }
        Rule::NoiseFloor => {
            "trust no difference of this size: look for what disturbs the machine, and measure more rounds"
        }
        rule => return of_other_rule(rule),
    })
}

fn of_other_rule(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::WholeRun => {
            "let it come to its end: whoever may end a run by what it shows pays with wider intervals"
        }
        Rule::OfferedLoad => {
            "the server, or the number of connections, cannot carry this rate: use more connections or a lower rate"
        }
        Rule::Pauses => {
            "look at its garbage collector and its log; for what pauses do to the percentiles, measure for longer (-d)"
        }
        Rule::Percentiles => {
            "measure for longer: a percentile needs 50 answers beyond it in every round, and 100 in a single one"
        }
        Rule::Order => {
            "let the machine rest between contenders, or measure more rounds: the order is drawn anew in each"
        }
        Rule::OtherGenerators => {
            "give the generator more CPUs; where that does not help, report it with the record of this run: one of the two is wrong"
        }
        Rule::OtherPrograms | Rule::Pressure => OTHERS,
        Rule::Pairing => "measure both now, in the same rounds: assay compare --cmd OLD --cmd NEW",
        Rule::Ports => {
            "use fewer connections, or widen net.ipv4.ip_local_port_range: `assay doctor` tells how"
        }
        Rule::Retransmissions | Rule::ServerRetransmissions => STALLED,
        Rule::Rounds => "measure at least two rounds, better six",
        Rule::RunningServer | Rule::SharedCpus => PIN_IT,
        Rule::SendLag => LATE,
        Rule::ServerEnded => "see its log, and what ended it; then start it again and measure again",
        Rule::Steal => "use a machine that is not shared, or measure more rounds",
        Rule::Tcp => {
            "raise net.core.somaxconn and the server's backlog, use fewer connections, and stop other traffic"
        }
        Rule::Throttled => {
            "lift the quota (cpu.max, docker --cpus, CPUQuota=), or give whole CPUs instead; `assay doctor` shows it"
        }
        Rule::TlsOtherwise => {
            "let it use the version and the cipher suite that the others use, and the certificate in $CERT; until then what TLS \
             costs it is not what it costs them"
        }
        Rule::Trend => {
            "look for what changed meanwhile (heat, other programs); comparisons are made within rounds and stand"
        }
        Rule::Unfinished => "give a longer time to drain, or look why the server does not answer",
        Rule::UnsolicitedBytes => "the server breaks HTTP/1.1; look at the samples of wrong answers",
        Rule::Upstream => "use a machine with three physical cores",
        Rule::WindowLength => "measure for longer (-d), or with fewer connections",
        Rule::WarmUp => "give it longer with --warmup",
        _ => return None,
    })
}
