//! A request of the user's own: the same words for load, run, compare and redline, or a file.

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, QUICK, Running, stdout};

/// A server that answers a POST of `ping` only.
const ECHO: &str = "exec python3 -c '
import http.server, os
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = \"HTTP/1.1\"
    def log_message(self, *words): pass
    def do_POST(self):
        right = self.rfile.read(int(self.headers[\"Content-Length\"])) == b\"ping\" and self.headers[\"X-Key\"] == \"7\"
        self.send_response(201 if right else 400)
        self.send_header(\"Content-Length\", \"4\")
        self.end_headers()
        self.wfile.write(b\"pong\")
http.server.ThreadingHTTPServer((\"127.0.0.1\", int(os.environ[\"PORT\"])), Echo).serve_forever()
'";
const PING: [&str; 8] = ["-m", "POST", "-H", "X-Key: 7", "--body", "ping", "--expect-status", "201"];

#[test]
fn run_asks_as_load_does() {
    let lab = Lab::new();
    lab.assay(&["run", "--cmd", ECHO, "--no-check"]).args(QUICK).args(PING).assert().code(0);
    let record = lab.record();
    let request = &record.workloads[0].requests[0];
    assert_eq!((request.method.as_str(), request.body.as_deref()), ("POST", Some("ping")));
    assert!(record.rounds.iter().flat_map(|round| &round.runs).all(|run| run.failure.is_none()));
    let wrong = ["run", "--cmd", ECHO, "--no-check", "-m", "POST", "--body", "pong"];
    lab.assay(&wrong).args(QUICK).assert().code(11).stderr(contains("status 400"));
}

#[test]
fn compare_asks_as_load_does_and_only_what_it_measures() {
    let lab = Lab::new();
    let both = ["compare", "--cmd", ECHO, "--cmd", ECHO.replace("Echo", "Same").leak()];
    lab.assay(&both).args(QUICK).args(PING).assert().code(0);
    lab.assay(&["compare", "last", "last~1", "-m", "POST"])
        .assert()
        .code(2)
        .stderr(contains("goes with --cmd"));
}

#[test]
fn a_workload_may_be_a_file_of_ones_own() {
    let lab = Lab::new();
    lab.write(
        "mine.toml",
        "name = \"mine\"\nabout = \"Two requests.\"\n[[request]]\nweight = 3\nmethod = \"GET\"\npath = \"/hello\"\n[[request]]\nweight = 1\nmethod = \"GET\"\npath = \"/json\"\n",
    );
    let serve = "\"$ASSAY\" serve --port $PORT";
    lab.assay(&["run", "--cmd", serve, "-w", "./mine.toml", "--no-check"]).args(QUICK).assert().code(0);
    assert_eq!(lab.record().workloads[0].requests.len(), 2);
    assert!(stdout(&lab.assay(&["show"]).assert().code(0)).contains(" mine, 2 connections"));
    lab.assay(&["run", "--cmd", serve, "-w", "./mine.toml", "-m", "POST"])
        .assert()
        .code(2)
        .stderr(contains("a workload says itself what is asked"));
    lab.assay(&["run", "--cmd", serve, "-w", "./no.toml"]).assert().code(2).stderr(contains("no.toml"));
}

#[test]
fn a_quick_look_says_how_long_it_takes() {
    let lab = Lab::new();
    lab.good("one");
    lab.good("two");
    let told = stdout(&lab.assay(&["run", "one", "two", "--quick", "--dry-run"]).assert().code(0));
    assert!(told.contains("3 rounds") || told.contains("rounds      3"), "{told}");
    lab.assay(&["run", "one", "--quick", "--rounds", "4"])
        .assert()
        .code(2)
        .stderr(contains("--quick").and(contains("--rounds")));
}

#[test]
fn the_load_says_what_was_asked() {
    let lab = Lab::new();
    let (_server, url) = Running::serve(&lab);
    let url = format!("{}/hello?a=1", url.trim_end_matches('/'));
    lab.assay(&["load", &url, "-d", "100ms", "-c", "2", "--cpus", "0"])
        .assert()
        .stdout(contains("GET /hello?a=1 at http://"));
}

/// The server answers its health check with 503 for a second, and a client who does not wait for that is told it is broken.
#[test]
fn a_server_is_ready_when_its_own_check_says_so() {
    let lab = Lab::new();
    let slow = "exec python3 -c '
import http.server, os, time
began = time.time()
class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = \"HTTP/1.1\"
    def log_message(self, *words): pass
    def do_GET(self):
        self.send_response(200 if time.time() > began + 3 else 503)
        self.send_header(\"Content-Length\", \"0\")
        self.end_headers()
http.server.ThreadingHTTPServer((\"127.0.0.1\", int(os.environ[\"PORT\"])), Slow).serve_forever()
'";
    let run =
        ["run", "--cmd", slow, "--no-check", "-d", "100ms", "--warmup", "0s", "--rounds", "1", "-c", "1"];
    lab.assay(&run).assert().code(11).stderr(contains("status 503"));
    let lab = Lab::new();
    lab.assay(&run).args(["--ready-path", "/health", "--ready-timeout", "20s"]).assert().code(0);
    assert!(lab.record().rounds[0].runs[0].startup_ns.as_secs_f64() > 2.0);
}
