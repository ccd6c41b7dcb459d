//! The arguments of `assay run`.

use std::path::PathBuf;
use std::str::FromStr;

use assay_host::cpuset::CpuSet;
use assay_model::core_hour::CoreHour;
use assay_model::design::Design;
use assay_model::experiment::Protocol;
use assay_model::generator::GeneratorName;
use assay_model::network::Stack;
use assay_model::offered::Offered;
use assay_model::slo::Slo;
use assay_model::units::Nanos;
use clap::{ArgAction, Args};

use super::value::{self, Links};
use super::{ArrivalName, DatabaseArguments, HttpName, Places, Progress, RequestArguments};
use crate::destination::Consent;

/// Measure servers against each other and against what this machine can do.
///
/// Without arguments this runs the experiment `showdown`, which takes four minutes.
#[derive(Args, Clone, Default)]
pub(crate) struct RunArguments {
    /// Contenders: a name, lang:go, kind:server, a folder, http://… or h2c://…, host:port (http); `!` before one excludes,
    /// as `!assay` does the limit
    #[arg(value_name = "SEL")]
    pub(crate) selectors: Vec<String>,
    /// Start this command and measure it; it finds its port in $PORT, unless --port says which it uses
    #[arg(long, value_name = "COMMAND")]
    pub(crate) cmd: Vec<String>,
    /// The port that the command listens on; one for each --cmd, in order
    #[arg(long, value_name = "PORT", requires = "cmd")]
    pub(crate) port: Vec<u16>,

    /// Measure the commands as proxies: behind each a reference server is started, which it finds in $UPSTREAM (host:port),
    /// $UPSTREAM_HOST and $UPSTREAM_PORT
    #[arg(long, requires = "cmd")]
    pub(crate) upstream: bool,
    /// Longest time until a command is ready [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = value::span, requires = "cmd")]
    pub(crate) ready_timeout: Option<Nanos>,
    /// Path that a command answers with 2xx when it is ready [default: what is asked under load]
    #[arg(long, value_name = "PATH", value_parser = value::path, requires = "cmd")]
    pub(crate) ready_path: Option<String>,

    /// Hosts of the lab: where contenders are built and run, and from where load comes (docs/fleet.md)
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    pub(crate) lab: Option<PathBuf>,
    /// The host on which contenders are built and run, of the lab or ssh:me@box1[=ADDRESS]; several take turns, round by round
    /// [default: those whose role is server]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',', help_heading = "Hosts")]
    pub(crate) server: Vec<String>,
    /// The hosts from which load comes, of the lab or ssh:me@box2 [default: those whose role is generator, else this one]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',', help_heading = "Hosts")]
    pub(crate) from: Vec<String>,

    /// The experiment: a name of the catalogue, or a file of your own (./assay.toml, which `assay init` writes); flags below
    /// override what it says
    #[arg(short, long, value_name = "NAME", help_heading = "Load")]
    pub(crate) experiment: Option<String>,
    /// At the levels and lengths of the work that the experiment repeats, as far as its file names them: hours, not minutes
    #[arg(long, requires = "experiment", help_heading = "Load")]
    pub(crate) full: bool,
    /// Workloads of the catalogue, or files (./mine.toml) with workloads of your own [default: hello; for a URL or a command:
    /// GET of its path]
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', help_heading = "Load")]
    pub(crate) workload: Vec<String>,
    /// Path to ask a command or URL for
    #[arg(long, value_name = "PATH", value_parser = value::path, help_heading = "Load", conflicts_with_all = ["workload", "experiment"])]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestArguments,
    /// Numbers of connections [default: 64]
    #[arg(short, long, value_name = "N,…", value_delimiter = ',', value_parser = value::connections, help_heading = "Load")]
    pub(crate) connections: Vec<u32>,

    /// Requests in flight on one connection of HTTP/1.1
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) pipeline: Option<u32>,
    /// Streams in flight on one connection of HTTP/2 [default: 1, or the experiment's]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub(crate) streams: Option<u32>,
    /// Loads: max (a closed loop), 5k/s, 50% of each one's own maximum, common (a rate that all can serve),
    /// "13000 requests" (a closed loop that ends with so many), redline:p99<10ms (the highest rate that keeps this) [default: max]
    #[arg(short, long, value_name = "LOAD,…", value_delimiter = ',', value_parser = value::offered, help_heading = "Load")]
    pub(crate) rate: Vec<Offered>,
    /// Response times at 10, 50, 80 and 95 % of each one's own maximum and at a common rate
    #[arg(long, help_heading = "Load")]
    pub(crate) latency: bool,
    /// How requests arrive at a given rate [default: poisson]
    #[arg(long, value_enum, help_heading = "Load")]
    pub(crate) arrival: Option<ArrivalName>,

    /// Load every server by these generators besides, in windows of their own in the same rounds: wrk, wrk2, h2load, oha, ab,
    /// bombardier, autocannon; assay's own always measures, and loads it once more beside them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Load")]
    pub(crate) generator: Vec<GeneratorName>,

    /// Processes of assay's own generator, among which each load and the generator's CPUs are divided; one report tells of all
    #[arg(long, value_name = "N", value_parser = value::generators, help_heading = "Load")]
    pub(crate) generators: Option<u32>,

    /// Length of one measured window. In a run with a budget: of the longest turn, which slow servers get, and of all turns of a
    /// load in the first round [default: 1s]
    #[arg(short, long, value_name = "TIME", value_parser = value::span, help_heading = "Length")]
    pub(crate) duration: Option<Nanos>,
    /// Longest load given to a fresh server until it no longer gets faster [default: 10s, or the experiment's]
    #[arg(long, value_name = "TIME", value_parser = value::span, help_heading = "Length")]
    pub(crate) warmup: Option<Nanos>,
    /// A first answer in about half a minute for two or three servers, with wider intervals: three restarts, no A/A control, no
    /// rules of HTTP
    #[arg(long, conflicts_with_all = ["rounds", "budget", "precision"], help_heading = "Length")]
    pub(crate) quick: bool,
    /// Restarts of every contender: exactly so many, or `auto` until every pair is settled [default: auto, or the
    /// experiment's]
    #[arg(long, value_name = "auto|N", help_heading = "Length")]
    pub(crate) rounds: Option<Rounds>,
    /// Half-width of a ratio's interval that is precise enough, such as 2%; implies --rounds auto
    #[arg(long, value_name = "SHARE", value_parser = value::share, help_heading = "Length")]
    pub(crate) precision: Option<f64>,
    /// Start one server at a time and measure it in one piece, instead of all at once in turns
    #[arg(long, help_heading = "Length")]
    pub(crate) one_at_a_time: bool,
    /// What is spoken: h1, h2c (HTTP/2 without TLS), h1+tls, h2 (over TLS); several are measured in the same rounds. A command
    /// finds it in $PROTOCOL, and over TLS a certificate of the run's own in $CERT, its key in $KEY [default: h1, or the
    /// experiment's]
    #[arg(long, value_name = "PROTOCOL,…", value_delimiter = ',', help_heading = "Load")]
    pub(crate) protocol: Vec<Protocol>,
    /// Over TLS alone: --protocol h1+tls, or h2 with --http 2
    #[arg(long, conflicts_with = "protocol", help_heading = "Load")]
    pub(crate) tls: bool,
    /// This version of HTTP alone: 2 is --protocol h2c, or h2 with --tls
    #[arg(long, value_enum, value_name = "VERSION", conflicts_with = "protocol", help_heading = "Load")]
    pub(crate) http: Option<HttpName>,
    /// Measure no contender twice: saves its time, and leaves untested whether equals come out equal (the A/A control)
    #[arg(long, help_heading = "Length")]
    pub(crate) no_aa: bool,
    /// Look at no server for long after the rounds: slow modes and rare pauses stay hidden, and the run ends sooner
    #[arg(long, help_heading = "Length")]
    pub(crate) no_long_look: bool,
    /// Longest time for all rounds, of which two are measured whatever they take, and for a long look at each server where they
    /// leave a part of it; implies --rounds auto [default: 5m with --rounds auto]
    #[arg(long, value_name = "TIME", value_parser = value::span, help_heading = "Length")]
    pub(crate) budget: Option<Nanos>,
    /// Longest wait for one response [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = value::span, help_heading = "Length")]
    pub(crate) timeout: Option<Nanos>,

    /// Profile every server after its windows, in slices of load of their own: where the time of an answer goes, and why one
    /// spends more than another (as `assay why` does)
    #[arg(long, help_heading = "Load")]
    pub(crate) profile: bool,
    /// What one CPU costs for an hour, such as "0.04 EUR": says what a million answers of each server cost by the CPU time that
    /// they take
    #[arg(long, value_name = "PRICE", help_heading = "Output")]
    pub(crate) core_hour: Option<CoreHour>,
    /// Do not check before the first round which rules of their protocol the contenders keep
    #[arg(long, help_heading = "Load")]
    pub(crate) no_check: bool,

    /// CPUs of the servers, such as 0-3 [default: half of the cores]
    #[arg(long, value_name = "LIST", requires = "generator_cpus", help_heading = "Machine")]
    pub(crate) server_cpus: Option<CpuSet>,
    /// CPUs of the load generator [default: the other half]
    #[arg(long, value_name = "LIST", requires = "server_cpus", help_heading = "Machine")]
    pub(crate) generator_cpus: Option<CpuSet>,
    /// Memory that all servers of a round may use together; if it is too little, the round is split into groups with one contender
    /// in common [default: most of what is available]
    #[arg(long, value_name = "SIZE", value_parser = value::bytes, help_heading = "Machine")]
    pub(crate) memory: Option<u64>,
    /// What joins client and server: loopback, veth (two network namespaces with a virtual cable), veth:1gbit (held to that
    /// rate), veth:loss=0.1% (loses so many frames) or both, veth:1gbit,loss=0.1%; several are measured in the same rounds
    /// [default: loopback, or the experiment's networks]
    #[arg(long, value_name = "LINK,…", value_parser = value::links, help_heading = "Machine")]
    pub(crate) link: Option<Links>,
    /// The TCP that runs on both sides: kernel, user (over a shared-memory ring in place of loopback, over AF_XDP in place of
    /// veth); both are measured in the same rounds [default: kernel, or the experiment's networks]
    #[arg(short, long, value_name = "STACK,…", value_delimiter = ',', help_heading = "Machine")]
    pub(crate) stack: Vec<Stack>,
    /// A preload library that brings its own user-space stack, in place of assay's
    #[arg(long, value_name = "FILE", env = "ASSAY_PRELOAD", help_heading = "Machine")]
    pub(crate) preload: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) database: DatabaseArguments,
    /// Seed of every random choice [default: a random one, kept in the record]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    pub(crate) seed: Option<u64>,

    /// Write the result also here: .html, .json, .csv, .md, .xml (JUnit), .prom (OpenMetrics) or .svg
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Vec<PathBuf>,
    /// Serve the report while the run goes on, for browsers on this machine, at an address that is printed; it follows the run
    /// between measurements, and at the end hands over the report [default: a free port]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", require_equals = true, help_heading = "Output")]
    pub(crate) live: Option<u16>,
    /// Show the live page in a browser (xdg-open)
    #[arg(long, requires = "live", help_heading = "Output")]
    pub(crate) open: bool,
    /// Print record and verdict as JSON instead of the summary
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Stay within ASCII
    #[arg(long, help_heading = "Output")]
    pub(crate) ascii: bool,
    /// Name every place of every warning, all that was checked, and the rules of HTTP that contenders of the catalogue break; tell
    /// on standard error why the run does what it does, and with -vv of each window (ASSAY_LOG=TOPIC=debug chooses)
    #[arg(short, long, action = ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
    /// Exit with 12 when a number had to be withheld
    #[arg(long, help_heading = "Output")]
    pub(crate) strict: bool,
    /// How far the run is: the standings so far on a terminal (q ends the run with the round, p pauses, ? helps), or a line a round
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto", help_heading = "Output")]
    pub(crate) progress: Progress,
    /// Say what would be measured and how long it would take; measure nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Contenders without which the run is pointless.
    #[arg(skip)]
    pub(crate) least_contenders: usize,
    /// Whether the commands are compared with the first of them, and by which design.
    #[arg(skip)]
    pub(crate) comparing: Comparing,
    /// Whether nobody asked for the number of rounds, so that a budget may leave some of them out.
    #[arg(skip)]
    pub(crate) rounds_may_be_cut: bool,
    /// Whether the command chose itself how long it goes on, where the fields say so.
    #[arg(skip)]
    pub(crate) is_length_ours: bool,
    /// Whether the limit stays away.
    #[arg(skip)]
    pub(crate) no_limit: bool,
    /// Whether an explanation is asked for in place of the standings.
    #[arg(skip)]
    pub(crate) explains: bool,
}

/// Search for the highest rate at which a server keeps an objective.
///
/// The search begins near the capacity, takes growing steps until one rate passes and one fails, and halves the distance to 2 %.
/// Both bounds are confirmed on freshly started servers. An overload at the end shows whether the server recovers. A server given as
/// a URL is not restarted.
#[derive(Args)]
#[command(mut_arg("budget", |budget| budget.help(
    "Longest time of the search, which ends with it, found or not; implies --rounds auto [default: 10m]"
)))]
pub(crate) struct RedlineArguments {
    /// What is to be kept: p50, p90, p95, p99, p99.9 or max below a time, or errors below a share
    #[arg(long, value_name = "p99<10ms")]
    pub(crate) slo: Slo,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

/// Tell where the time of servers goes, and where one spends more of it than another.
///
/// Each server is restarted five times, measured at capacity and at a rate that all can serve, and then profiled under the same
/// loads: on-CPU stacks of server and kernel, system calls, waits. What a part takes is told in CPU time for each right answer,
/// differences with intervals over the restarts. It also names what holds answers up, such as a lock, which it sees in the kernel and
/// inside the runtimes of Go and Java. A contender whose runtime can name what it compiles, such as Node.js, does so in all of the run.
/// Without root or CAP_PERFMON less can be seen, and the explanation says what. If the CPUs count their energy, the explanation has that
/// of an answer, otherwise the reason.
#[derive(Args)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

/// Whether commands are compared with the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Comparing {
    /// No comparison.
    #[default]
    No,
    /// Compared by the design that was asked for.
    By(Design),
    /// Compared by the design that fits them.
    AsFits,
}

/// How many rounds to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Until every pair is settled, or the time is over.
    Auto,
    /// A fixed number, whatever the rounds show.
    Exactly(u32),
}

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => {
                text.parse().map(Self::Exactly).map_err(|_| format!("`{text}` is neither auto nor a number"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// [`RunArguments::default`] and [`Places::default`] stand for what is not said, as on a command line.
    #[test]
    fn nothing_has_another_default_than_its_type_but_the_folder_of_runs() {
        let command = RunArguments::augment_args(Command::new("run"));
        let stated = command.get_arguments().filter(|argument| !argument.get_default_values().is_empty());
        let stated: Vec<(&str, Vec<&str>)> = stated
            .filter(|argument| argument.get_action().takes_values())
            .map(|argument| {
                let values = argument.get_default_values().iter().filter_map(|value| value.to_str());
                (argument.get_id().as_str(), values.collect())
            })
            .collect();
        assert_eq!(stated, [("progress", vec!["auto"]), ("runs", vec!["runs"])]);
        let unsaid = RunArguments::default();
        assert_eq!(unsaid.progress, Progress::Auto);
        assert_eq!(unsaid.places.runs, PathBuf::from("runs"));
    }
}
