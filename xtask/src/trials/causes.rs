//! `assay why` of servers that do one thing wrongly each: how often is that named first?

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_host::cpuset;
use assay_lab::store::Store;
use assay_serve::wrong::Fault;
use clap::Args;

/// Share of the runs in which the fault must be named first.
const LEAST_SHARE: f64 = 0.95;
/// CPUs from which on a server has more than one of its own, so that one of its threads can be busy alone.
const CPUS_FOR_ONE_THREAD: usize = 4;
/// Connections; more than wait to be accepted where few may.
const CONNECTIONS: &str = "16";

#[derive(Args)]
pub(crate) struct Options {
    /// Runs of each server.
    #[arg(long, value_name = "N", default_value_t = 20)]
    times: u32,
    /// Only these, such as lock,disk,link,go-mutex [default: all]
    #[arg(long, value_name = "FAULT,…", value_delimiter = ',')]
    faults: Vec<String>,
    /// The binary [default: target/release/assay]
    #[arg(long, value_name = "FILE")]
    assay: Option<PathBuf>,
}

/// Servers of Go and Java that hold a lock for long, below the root of the repository.
const SHOPS: &str = "crates/cli/tests/fixtures/locks";

/// A server whose fault is known.
struct Planted {
    name: &'static str,
    /// The cause that is to be named, if it is called otherwise.
    cause: Option<&'static str>,
    program: Program,
    /// What `assay why` is asked besides.
    asked: Vec<String>,
}

/// What is started.
enum Program {
    /// What follows `assay stub`.
    Stub(String),
    /// A program of Go, which is built first: its file, and its arguments.
    Go(&'static str),
    /// A program of Java, likewise.
    Java(&'static str),
}

/// What the runs of one server named.
#[derive(Default)]
struct Named {
    first: u32,
    at_all: u32,
    /// What was named first in place of the fault.
    instead: Vec<String>,
}

/// # Errors
/// Where a measurement fails, or a fault is named first in too few runs.
pub(super) fn run(root: &Path, options: &Options) -> Result<(), Vec<String>> {
    let fault = |error: String| vec![format!("causes: {error}")];
    let assay = options.assay.clone().unwrap_or_else(|| root.join("target/release/assay"));
    let assay = assay.canonicalize().map_err(|error| {
        fault(format!("{}: {error}; build it with `cargo build --release -p assay`", assay.display()))
    })?;
    println!("| fault | named first | named | instead |\n|:--|--:|--:|:--|");
    let mut findings = Vec::new();
    for planted in chosen(&options.faults).map_err(fault)? {
        let named = try_it(root, &assay, &planted, options.times).map_err(fault)?;
        let Planted { name, .. } = planted;
        let Named { first, at_all, instead } = &named;
        println!("| {name} | {first} of {} | {at_all} | {} |", options.times, instead.join(", "));
        if f64::from(*first) < LEAST_SHARE * f64::from(options.times) {
            findings.push(format!("causes: {name} was named first in {first} of {} runs", options.times));
        }
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn chosen(wanted: &[String]) -> Result<Vec<Planted>, String> {
    let all = all();
    if let Some(unknown) = wanted.iter().find(|name| all.iter().all(|planted| planted.name != **name)) {
        let names: Vec<&str> = all.iter().map(|planted| planted.name).collect();
        return Err(format!("there is no `{unknown}`; choose of {}", names.join(", ")));
    }
    let is_wanted = |planted: &Planted| wanted.is_empty() || wanted.iter().any(|name| name == planted.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn all() -> Vec<Planted> {
    let stub = |name, more: String, asked| Planted { name, cause: None, program: Program::Stub(more), asked };
    let wrong = Fault::ALL.map(|(fault, name)| {
        let asked = if fault == Fault::OneThread { cpus_for_one_thread() } else { Vec::new() };
        stub(name, format!("--wrong {name}"), asked)
    });
    let link = ["--link", "veth:100mbit", "--path", "/pattern/100000"].map(str::to_owned).to_vec();
    let lock = |name, program| Planted { name, cause: Some("lock"), program, asked: Vec::new() };
    let of_runtimes = [lock("go-mutex", Program::Go("lock")), lock("java-lock", Program::Java("lock"))];
    wrong.into_iter().chain([stub("link", "--address 0.0.0.0".to_owned(), link)]).chain(of_runtimes).collect()
}

/// Where there are few CPUs, server and generator share them all: the generator needs little of one beside a server that is held up.
fn cpus_for_one_thread() -> Vec<String> {
    let all = cpuset::allowed();
    if all.len() >= CPUS_FOR_ONE_THREAD {
        return Vec::new();
    }
    ["--server-cpus".to_owned(), all.to_string(), "--generator-cpus".to_owned(), all.to_string()].to_vec()
}

impl Program {
    /// The command that starts it; what is built for it goes into a folder.
    fn command(&self, root: &Path, assay: &Path, folder: &Path) -> Result<String, String> {
        let shops = root.join(SHOPS);
        match self {
            Self::Stub(more) => Ok(format!("{} stub --port $PORT {more}", assay.display())),
            Self::Go(how) => {
                let built = folder.join("shop");
                let mut go = Command::new("go");
                go.env("CGO_ENABLED", "0")
                    .args(["build", "-buildvcs=false", "-o"])
                    .arg(&built)
                    .arg("shop.go");
                let status = go.current_dir(shops).status().map_err(|error| format!("go: {error}"))?;
                status
                    .success()
                    .then(|| format!("{} {how}", built.display()))
                    .ok_or("go build failed".to_owned())
            }
            Self::Java(how) => Ok(format!("java {} {how}", shops.join("Shop.java").display())),
        }
    }
}

fn try_it(root: &Path, assay: &Path, planted: &Planted, times: u32) -> Result<Named, String> {
    let mut named = Named::default();
    for _ in 0..times {
        let told = causes(root, assay, planted)?;
        let fault = planted.cause.map_or_else(|| planted.name.replace('-', "_"), str::to_owned);
        match told.first() {
            Some(first) if *first == fault => named.first += 1,
            other => named.instead.push(other.map_or_else(|| "nothing".to_owned(), Clone::clone)),
        }
        named.at_all += u32::from(told.contains(&fault));
    }
    Ok(named)
}

/// What a run tells of a server, the first cause first.
fn causes(root: &Path, assay: &Path, planted: &Planted) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let server = planted.program.command(root, assay, folder.path())?;
    let mut command = Command::new(assay);
    command.current_dir(root).args(["why", "--cmd", &server, "-c", CONNECTIONS, "-r", "max"]);
    command.args(["--rounds", "1", "-d", "300ms", "--warmup", "0s", "--progress", "none", "--runs"]);
    let runs = folder.path().join("runs");
    command.arg(&runs).args(&planted.asked).stdout(Stdio::null());
    let status = command.status().map_err(|error| format!("{}: {error}", assay.display()))?;
    let store = Store::new(&runs);
    let record = store.ids().first().map(|id| store.open(id));
    let record = record.ok_or_else(|| format!("{}: the run ended with {status}", planted.name))?;
    let record = record.map_err(|error| error.to_string())?;
    let verdict = assay_verdict::judge(&record).map_err(|error| error.to_string())?;
    let told = verdict.why.iter().flat_map(|why| &why.spendings).flat_map(|spending| &spending.held_up);
    told.map(|held| {
        let cause = serde_json::to_value(&held.by).map_err(|error| error.to_string())?;
        Ok(cause["cause"].as_str().unwrap_or_default().to_owned())
    })
    .collect()
}
