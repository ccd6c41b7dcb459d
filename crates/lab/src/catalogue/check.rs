//! Rules that a file's values must obey beyond their types.

use assay_http::render::check_request;
use assay_http::target::is_sendable;
use assay_model::contender::{Contender, Need};
use assay_model::experiment::{Experiment, MAX_GENERATOR_PROCESSES, Measure, OwnCommand};
use assay_model::offered::Offered;
use assay_model::published::Published;
use assay_model::workload::{RequestKind, Workload};

use crate::contender::environment;
use crate::names::is_name;
use crate::version::is_version;

/// Most connections of one cell: more than a client address has ports for one destination.
const MAX_CONNECTIONS: u32 = 60_000;
/// Most requests in flight on one connection.
const MAX_PIPELINE: u32 = 1_024;
/// Most rounds; enough for half-widths far below what a machine holds still for.
const MAX_ROUNDS: u32 = 1_000;
/// Longest time that a file may name, in seconds: a day.
const MAX_SECONDS: f64 = 86_400.0;

/// What is wrong with a value.
pub(crate) struct Fault {
    /// The key, as `a.b.0.c`.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// How to mend it.
    pub mend: String,
}

/// A value that a person wrote.
pub(crate) trait Checked {
    /// The unique name of what is checked.
    fn name(&self) -> &str;
    /// The first rule that it breaks.
    fn fault(&self) -> Option<Fault>;
}

fn fault(key: impl Into<String>, problem: impl Into<String>, mend: impl Into<String>) -> Option<Fault> {
    Some(Fault { key: key.into(), problem: problem.into(), mend: mend.into() })
}

fn bad_name(name: &str) -> Option<Fault> {
    if is_name(name) {
        return None;
    }
    fault("name", format!("the name `{name}` is not made of a-z, 0-9 and -"), "choose another")
}

/// A fault when `seconds` is not above zero (or at least zero, if that is allowed) and at most a day.
fn bad_seconds(key: &str, seconds: f64, zero_allowed: bool) -> Option<Fault> {
    let high_enough = if zero_allowed { seconds >= 0.0 } else { seconds > 0.0 };
    if high_enough && seconds <= MAX_SECONDS {
        return None;
    }
    fault(key, format!("{seconds} is no usable time"), format!("write seconds, at most {MAX_SECONDS}"))
}

/// The argument that a length of time of an experiment comes from, where a person types it.
pub(crate) fn argument_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "window_s" => "--duration",
        "warmup_s" => "--warmup",
        "timeout_s" => "--timeout",
        "budget_s" => "--budget",
        _ => return None,
    })
}

impl Checked for Contender {
    fn name(&self) -> &str {
        &self.name
    }

    fn fault(&self) -> Option<Fault> {
        if let Some(bad) = bad_name(&self.name) {
            return Some(bad);
        }
        match (self.provides, self.workloads.is_empty()) {
            (None, true) => return fault("workloads", "no workload is named", "name at least one"),
            (Some(_), false) => {
                return fault("provides", "a database answers no workloads", "keep one of the two");
            }
            _ => {}
        }
        if let Some(bad) = bad_variable(&self.pass_environment) {
            return Some(bad);
        }
        if let Some(other) = self.run.http2.iter().find(|protocol| !protocol.is_http2() || protocol.is_grpc())
        {
            return fault("run.http2", format!("{other} is not HTTP/2"), "name h2c, h2 or both");
        }
        if let Some(bad) = bad_minimum(&self.needs) {
            return Some(bad);
        }
        let build = self.build.as_ref().map(|build| ("build.command".to_owned(), &build.command));
        let probes = self.needs.iter().enumerate().map(|(i, need)| (format!("needs.{i}.probe"), &need.probe));
        let versions = self.versions.iter().map(|(of, command)| (format!("versions.{of}"), command));
        let run = ("run.command".to_owned(), &self.run.command);
        bad_command(std::iter::once(run).chain(build).chain(probes).chain(versions))
            .or_else(|| {
                let named =
                    self.run.env.iter().map(|(key, value)| (format!("run.env.{key}"), value.as_str()));
                bad_placeholder(named)
            })
            .or_else(|| bad_path("run.ready_path".to_owned(), self.run.ready_path.as_deref()?))
            .or_else(|| bad_seconds("run.ready_timeout_s", self.run.ready_timeout_s, false))
            .or_else(|| self.build.as_ref().and_then(|b| bad_seconds("build.timeout_s", b.timeout_s, false)))
    }
}

/// A lowest version that is no number: whatever is there would be taken for new enough.
fn bad_minimum(needs: &[Need]) -> Option<Fault> {
    let mut minima =
        needs.iter().enumerate().filter_map(|(index, need)| Some((index, need.minimum.as_ref()?)));
    let (index, minimum) = minima.find(|(_, minimum)| !is_version(minimum))?;
    let problem = format!("`{minimum}` is no version");
    fault(format!("needs.{index}.minimum"), problem, "write a dotted number, such as 1.23, or leave it out")
}

/// A variable that is none, or that assay sets itself: the user's value must not be taken for it.
fn bad_variable(names: &[String]) -> Option<Fault> {
    let is_name = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    let bad = |name: &&String| !is_name(name) || environment::VARIABLES.contains(&name.as_str());
    let name = names.iter().find(bad)?;
    fault(
        "pass_environment",
        format!("`{name}` is not a variable that can be passed on"),
        "name another: those that assay sets itself are in contenders/README.md",
    )
}

fn bad_command<'a>(commands: impl Iterator<Item = (String, &'a Vec<String>)>) -> Option<Fault> {
    for (key, command) in commands {
        if command.first().is_none_or(String::is_empty) {
            return fault(key, "the command is empty", "write a program and its arguments");
        }
        let bad = bad_placeholder(command.iter().map(|word| (key.clone(), word.as_str())));
        if bad.is_some() {
            return bad;
        }
    }
    None
}

fn bad_placeholder<'a>(texts: impl Iterator<Item = (String, &'a str)>) -> Option<Fault> {
    texts.into_iter().find_map(|(key, text)| {
        let bad = environment::unknown_placeholder(text)?;
        fault(key, bad.to_string(), "write `$${` where a literal `${` is meant")
    })
}

impl Checked for Workload {
    fn name(&self) -> &str {
        &self.name
    }

    fn fault(&self) -> Option<Fault> {
        if let Some(bad) = bad_name(&self.name) {
            return Some(bad);
        }
        if self.before.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return fault("before", "the command is empty", "write what `sh` is to run, or remove the key");
        }
        if self.requests.iter().all(|request| request.weight == 0) {
            return fault("request", "no request has a weight above 0", "add a [[request]]");
        }
        let broken = |(index, request): (usize, &RequestKind)| {
            let key = |name: &str| format!("request.{index}.{name}");
            bad_request(request, &key)
                .or_else(|| bad_expectation(request, &key))
                .or_else(|| bad_rule(self, request, &key))
        };
        self.requests.iter().enumerate().find_map(broken)
    }
}

fn bad_request(request: &RequestKind, key: &dyn Fn(&str) -> String) -> Option<Fault> {
    let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if let Some(bad) = bad_path(key("path"), &request.path) {
        return Some(bad);
    }
    if request.method.is_empty() || !request.method.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return fault(key("method"), format!("`{}` is no method", request.method), "write for example GET");
    }
    let bad_field = |(name, value): &&(String, String)| {
        !visible(name) || name.is_empty() || name.contains(':') || value.chars().any(char::is_control)
    };
    if let Some((name, _)) = request.headers.iter().find(bad_field) {
        let mend = "write [\"Name\", \"value\"] on one line";
        return fault(key("headers"), format!("`{name}` is no header field"), mend);
    }
    unsendable(request, key)
}

/// A fault where assay could not write such a request; under load that would look like a fault of the server.
fn unsendable(request: &RequestKind, key: &dyn Fn(&str) -> String) -> Option<Fault> {
    if let Err(error) = check_request(&request.method, &[]) {
        return fault(key("method"), error.to_string(), "write for example GET");
    }
    let refused = |(index, (name, value)): (usize, &(String, String))| {
        let error = check_request(&request.method, &[(name.as_str(), value.as_str())]).err()?;
        let mend = "see WORKLOADS.md, \"Writing one\"";
        fault(key(&format!("headers.{index}")), error.to_string(), mend)
    };
    request.headers.iter().enumerate().find_map(refused)
}

/// A fault where a path cannot be asked for.
fn bad_path(key: String, path: &str) -> Option<Fault> {
    if path.starts_with('/') && is_sendable(path) {
        return None;
    }
    let mend = "begin with / and percent-encode what it cannot have, such as spaces and quotes";
    fault(key, format!("`{path}` is no request target"), mend)
}

fn bad_expectation(request: &RequestKind, key: &dyn Fn(&str) -> String) -> Option<Fault> {
    let expect = &request.expect;
    if expect.body.is_some() && expect.json.is_some() {
        return fault(key("expect"), "both body and json are expected", "keep one of them");
    }
    if let Some(status) = expect.status.filter(|status| !(200..=599).contains(status)) {
        return fault(key("expect.status"), format!("{status} is no final status"), "write 200 to 599");
    }
    let json = expect.json.as_deref()?;
    let error = serde_json::from_str::<serde_json::Value>(json).err()?;
    fault(key("expect.json"), format!("no JSON: {error}"), "write the JSON text that is expected")
}

/// Placeholders and rules for bodies that mean nothing.
fn bad_rule(workload: &Workload, request: &RequestKind, key: &dyn Fn(&str) -> String) -> Option<Fault> {
    let error = workload.fault_of(request)?;
    fault(key("expect"), error.to_string(), "see WORKLOADS.md, \"Writing one\"")
}

impl Checked for Experiment {
    fn name(&self) -> &str {
        &self.name
    }

    fn fault(&self) -> Option<Fault> {
        fault_of_experiment(self)
    }
}

/// The first rule that an experiment breaks, from a file or from arguments.
pub(crate) fn fault_of_experiment(experiment: &Experiment) -> Option<Fault> {
    if let Some(bad) = bad_name(&experiment.name) {
        return Some(bad);
    }
    if let Some(bad) = bad_own_command(&experiment.commands) {
        return Some(bad);
    }
    if experiment.cells().is_empty() {
        return fault("measure", "nothing is measured", "add a [[measure]] with workload and connections");
    }
    let mut measures = experiment.measures.iter().enumerate();
    if let Some(bad) = measures.find_map(|(index, measure)| bad_measure(index, measure)) {
        return Some(bad);
    }
    let mut cells = experiment.cells();
    cells.sort();
    if let Some(twice) = cells.windows(2).find(|pair| pair[0] == pair[1]) {
        return fault("measure", format!("{} is measured twice", twice[0]), "keep one of them");
    }
    if !(1..=MAX_ROUNDS).contains(&experiment.rounds) {
        return fault("rounds", format!("{} rounds", experiment.rounds), format!("write 1 to {MAX_ROUNDS}"));
    }
    if let Some(least) = experiment.least_rounds.filter(|least| !(1..=experiment.rounds).contains(least)) {
        let mend = format!("write 1 to {}, which are the most", experiment.rounds);
        return fault("least_rounds", format!("at least {least} rounds"), mend);
    }
    if experiment.window_requests == Some(0) {
        return fault("window_requests", "a window of 0 requests", "write at least 1");
    }
    if experiment.memory_bytes == Some(0) {
        let mend = "write a number of bytes, or leave it out";
        return fault("memory_bytes", "servers may hold 0 bytes", mend);
    }
    if !(1..=MAX_GENERATOR_PROCESSES).contains(&experiment.generator_processes) {
        let problem = format!("{} processes of the generator", experiment.generator_processes);
        return fault("generator_processes", problem, format!("write 1 to {MAX_GENERATOR_PROCESSES}"));
    }
    bad_seconds("warmup_s", experiment.warmup_s, true)
        .or_else(|| bad_seconds("settle_s", experiment.settle_s, true))
        .or_else(|| bad_seconds("window_s", experiment.window_s, false))
        .or_else(|| bad_seconds("turn_s", experiment.turn_s, false))
        .or_else(|| experiment.latency_window_s.and_then(|span| bad_seconds("latency_window_s", span, false)))
        .or_else(|| bad_seconds("timeout_s", experiment.timeout_s, false))
        .or_else(|| bad_precision(experiment.precision?))
        .or_else(|| experiment.budget_s.and_then(|budget| bad_seconds("budget_s", budget, false)))
        .or_else(|| bad_times(&experiment.answered_within_ms))
        .or_else(|| bad_published(experiment.published.as_ref()?))
        .or_else(|| {
            let fault = fault_of_experiment(&experiment.in_full()?)?;
            Some(Fault { key: format!("full.{}", fault.key), ..fault })
        })
}

fn bad_measure(index: usize, measure: &Measure) -> Option<Fault> {
    let key = |name: &str| format!("measure.{index}.{name}");
    if let Some(n) = measure.connections.iter().find(|n| !(1..=MAX_CONNECTIONS).contains(*n)) {
        let mend = format!("write 1 to {MAX_CONNECTIONS}");
        return fault(key("connections"), format!("{n} connections"), mend);
    }
    if let Some(problem) = measure.rates.iter().find_map(Offered::fault) {
        return fault(key("rates"), "a rate is too high", problem);
    }
    let depths = [("pipeline", Some(measure.pipeline)), ("streams", measure.streams)];
    depths.into_iter().find_map(|(name, depth)| {
        let depth = depth.filter(|depth| !(1..=MAX_PIPELINE).contains(depth))?;
        let problem = format!("{depth} requests in flight on a connection");
        fault(key(name), problem, format!("write 1 to {MAX_PIPELINE}"))
    })
}

fn bad_own_command(commands: &[OwnCommand]) -> Option<Fault> {
    commands.iter().enumerate().find_map(|(index, command)| {
        let key = |name: &str| format!("command.{index}.{name}");
        let has_its_name = |earlier: &&OwnCommand| command.name.is_some() && earlier.name == command.name;
        if let Some(earlier) = commands.iter().take(index).find(has_its_name) {
            let name = command.name.as_deref().unwrap_or_default();
            let problem = format!("`{}` and `{}` are both called `{name}`", earlier.run, command.run);
            return fault(key("name"), problem, "give each a name of its own");
        }
        let bad = command.name.as_deref().and_then(bad_name);
        if let Some(bad) = bad {
            return Some(Fault { key: key("name"), ..bad });
        }
        if command.run.trim().is_empty() {
            return fault(key("run"), "the command is empty", "write what `sh` is to run");
        }
        if command.port == Some(0) {
            let mend = "write the port, or leave it out where the server finds a free one in $PORT";
            return fault(key("port"), "nobody can listen on port 0", mend);
        }
        let bad = command.ready_path.as_deref().and_then(|path| bad_path(key("ready_path"), path));
        bad.or_else(|| bad_seconds(&key("ready_timeout_s"), command.ready_timeout_s?, false))
    })
}

fn bad_times(within_ms: &[f64]) -> Option<Fault> {
    let rising = within_ms.is_sorted_by(|a, b| a < b) && within_ms.iter().all(|ms| *ms > 0.0);
    let mend = "write milliseconds above 0, the shortest first, each once";
    if rising { None } else { fault("answered_within_ms", "the times do not rise", mend) }
}

fn bad_published(published: &Published) -> Option<Fault> {
    let is_number = |column: &&String| column.parse::<f64>().is_ok_and(|number| number > 0.0);
    if let Some(column) = published.columns.iter().find(|column| !is_number(column)) {
        let mend = "write a number of connections, or of milliseconds for figures = \"answered_within_ms\"";
        return fault("published.columns", format!("`{column}` is no number"), mend);
    }
    let columns = published.columns.len();
    let (index, row) = published.rows.iter().enumerate().find(|(_, row)| row.values.len() != columns)?;
    let problem = format!("{} figures for {columns} columns", row.values.len());
    fault(format!("published.row.{index}.values"), problem, "write one for each column")
}

fn bad_precision(precision: f64) -> Option<Fault> {
    if precision > 0.0 && precision < 1.0 {
        return None;
    }
    fault("precision", format!("a precision of {precision}"), "write a share, such as 0.02 for 2 %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem_of<T: Checked + serde::de::DeserializeOwned>(text: &str) -> Option<String> {
        let value: T = toml::from_str(text).expect("parses");
        value.fault().map(|fault| format!("{}: {}", fault.key, fault.problem))
    }

    #[test]
    fn workloads() {
        let of = |request: &str| {
            problem_of::<Workload>(&format!("name = \"w\"\nabout = \"\"\n[[request]]\n{request}"))
        };
        assert_eq!(of("path = \"/\"\nexpect = {}"), None);
        assert!(of("path = \"x\"\nexpect = {}").is_some_and(|p| p.starts_with("request.0.path")));
        assert!(of("path = \"/\"\nexpect = { json = \"{\" }").is_some_and(|p| p.contains("no JSON")));
        assert!(
            of("path = \"/\"\nexpect = { body = \"\", json = \"1\" }").is_some_and(|p| p.contains("both"))
        );
        assert!(of("path = \"/\"\nweight = 0\nexpect = {}").is_some_and(|p| p.contains("weight")));
        assert!(
            of("path = \"/\"\nheaders = [[\"A\\r\\nB\", \"c\"]]\nexpect = {}")
                .is_some_and(|p| p.contains("headers"))
        );
        let sent = |more: &str| of(&format!("path = \"/\"\n{more}\nexpect = {{}}"));
        assert!(
            sent("headers = [[\"Accept\", \"*/*\"], [\"host\", \"x\"]]")
                .is_some_and(|p| p.starts_with("request.0.headers.1: assay writes the field host itself"))
        );
        assert!(sent("headers = [[\"a b\", \"c\"]]").is_some_and(|p| p.starts_with("request.0.headers")));
        assert!(sent("method = \"CONNECT\"").is_some_and(|p| p.starts_with("request.0.method")));
    }

    #[test]
    fn contenders() {
        let of = |run: &str| {
            let top =
                "name = \"c\"\ntitle = \"C\"\nlanguage = \"c\"\nkind = \"server\"\nworkloads = [\"hello\"]\n";
            problem_of::<Contender>(&format!("{top}[run]\ncommand = [\"c\"]\n{run}"))
        };
        assert_eq!(of("http2 = [\"h2c\", \"h2\"]"), None);
        assert!(of("http2 = [\"h1+tls\"]").is_some_and(|p| p.starts_with("run.http2: h1+tls")));
        assert_eq!(of("ready_path = \"/health?deep=1\""), None);
        for (minimum, is_right) in [("99.0", true), ("v99.0", false), (">=99", false), ("", false)] {
            let need =
                format!("[[needs]]\nwhat = \"\"\nprobe = [\"x\"]\nminimum = \"{minimum}\"\ninstall = \"\"");
            let told = of(&need);
            assert_eq!(told.is_none(), is_right, "{minimum}");
            assert!(told.is_none_or(|p| p.starts_with("needs.0.minimum")), "{minimum}");
        }
        for path in ["health", "/a b", "/a\\r\\nX: y"] {
            let bad = of(&format!("ready_path = \"{path}\""));
            assert!(bad.is_some_and(|p| p.starts_with("run.ready_path")), "{path}");
        }
    }

    #[test]
    fn experiments() {
        let of = |rest: &str| problem_of::<Experiment>(&format!("name = \"e\"\ncontenders = []\n{rest}"));
        let measure = "[[measure]]\nworkload = \"hello\"\nconnections = [64]\n";
        assert_eq!(of(measure), None);
        let own = |run: &str, name: &str| format!("[[command]]\nrun = \"{run}\"\nname = \"{name}\"\n");
        let two = |name: &str| of(&format!("{measure}{}{}", own("./a", "a"), own("./b", name)));
        assert_eq!(two("b"), None);
        let told = "command.1.name: `./a` and `./b` are both called `a`";
        assert_eq!(two("a").as_deref(), Some(told));
        assert!(of(&format!("window_s = 0.0\n{measure}")).is_some_and(|p| p.starts_with("window_s")));
        assert!(of(&format!("window_s = nan\n{measure}")).is_some_and(|p| p.starts_with("window_s")));
        assert!(of(&format!("rounds = 0\n{measure}")).is_some_and(|p| p.starts_with("rounds")));
        assert!(of(&format!("{measure}{measure}")).is_some_and(|p| p.contains("twice")));
        assert!(of(&measure.replace("64", "0")).is_some_and(|p| p.contains("connections")));
        for depth in ["pipeline", "streams"] {
            let key = format!("measure.0.{depth}");
            assert!(of(&format!("{measure}{depth} = 0\n")).is_some_and(|p| p.starts_with(&key)), "{depth}");
        }
        assert!(of(&format!("precision = 2.0\n{measure}")).is_some_and(|p| p.starts_with("precision")));
        let published = |values: &str| {
            let row = format!("[[published.row]]\ntitle = \"A\"\nvalues = {values}\n");
            of(&format!("{measure}[published]\nsource = \"\"\nquantity = \"\"\ncolumns = [\"50\"]\n{row}"))
        };
        assert_eq!(published("[1.0]"), None);
        assert!(published("[1.0, 2.0]").is_some_and(|p| p.starts_with("published.row.0.values: 2 figures")));
        assert!(
            of(&format!("window_requests = 0\n{measure}")).is_some_and(|p| p.starts_with("window_requests"))
        );
        assert!(
            of(&format!("answered_within_ms = [2.0, 1.0]\n{measure}")).is_some_and(|p| p.contains("rise"))
        );
        let full = "[full]\nwindow_s = 0.0\n";
        assert!(of(&format!("{measure}{full}")).is_some_and(|p| p.starts_with("full.window_s")));
        assert_eq!(of(&format!("{measure}rates = [\"max\", \"50%\", \"common\", \"5k/s\"]\n")), None);
        let too_high = of(&format!("{measure}rates = [\"max\", \"4000000000/s\"]\n"));
        assert!(too_high.is_some_and(|p| p.starts_with("measure.0.rates")));
    }
}
