//! What is run before a load: a command whose output stands in the requests, and is nobody else's business.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::support::{Lab, QUICK, stderr, stdout};

const RUN: [&str; 2] = ["run", "--no-check"];
const TOKEN_FIELD: [&str; 2] = ["-H", "Authorization: Bearer ${token}"];
/// Logs in, as a client of any language would.
const LOGIN: &str = "import os, urllib.request as web
with web.urlopen(os.environ['URL'] + '/login', b'') as answer:
    print('token=' + answer.read().decode())";
/// Gives a new token to whoever logs in, writes it into a file beside it, and answers those who have it. What it answers holds
/// the token, as pages of people who are logged in often do.
const DOOR: &str = "import http.server, os, secrets
tokens = set()
class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *words): pass
    def tell(self, status, body):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())
    def do_POST(self):
        self.rfile.read(int(self.headers['Content-Length']))
        token = 'tok-' + secrets.token_hex(8)
        tokens.add(token)
        with open('given', 'a') as given: given.write(token + chr(10))
        self.tell(200, token)
    def do_GET(self):
        token = (self.headers['Authorization'] or '').removeprefix('Bearer ')
        self.tell(200, 'hello ' + token) if token in tokens else self.tell(401, 'who are you?')
http.server.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Door).serve_forever()";

/// A lab with the server and the client, each with the command that starts it.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("door.py", DOOR);
    lab.write("login.py", LOGIN);
    lab
}

const START: [&str; 2] = ["--cmd", "python3 door.py"];
const BEFORE: [&str; 2] = ["--before", "python3 login.py"];

fn given(lab: &Lab) -> Vec<String> {
    let text = std::fs::read_to_string(lab.path("given")).expect("somebody logged in");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_start_has_a_token_of_its_own_and_nobody_repeats_it() {
    let lab = lab();
    let run = lab.assay(&RUN).args(START).args(BEFORE).args(TOKEN_FIELD).args(QUICK).assert().code(0);
    let record = lab.record();
    let runs: Vec<_> = record.rounds.iter().flat_map(|round| &round.runs).collect();
    assert!(runs.iter().all(|run| run.failure.is_none() && run.cells.iter().all(|w| w.load.books.ok > 0)));
    let tokens = given(&lab);
    assert_eq!(tokens.len(), runs.len(), "one for each start");
    let read = |name: &str| std::fs::read_to_string(lab.run_folder().join(name)).expect(name);
    let told = [stdout(&run), stderr(&run), read("record.json"), read("report.html")].concat();
    let shown = stdout(&lab.assay(&["export", "last", "--format", "json"]).assert().code(0));
    assert!(shown.contains("[hidden: token]") && shown.contains("Bearer ${token}"), "{shown}");
    for token in tokens {
        assert!(!told.contains(&token) && !shown.contains(&token), "{token} is told");
    }
}

#[test]
fn two_builds_have_a_token_each() {
    let lab = lab();
    let other = ["--cmd", "exec python3 ./door.py"];
    lab.assay(&["compare"])
        .args(START)
        .args(other)
        .args(BEFORE)
        .args(TOKEN_FIELD)
        .args(QUICK)
        .assert()
        .code(0);
    let stored = ["compare", "last", "last~1", "--before", "true"];
    lab.assay(&stored).assert().code(2).stderr(contains("goes with --cmd"));
}

#[test]
fn a_workload_names_its_command_which_runs_beside_its_file() {
    let lab = lab();
    let workload = "name = \"mine\"\nabout = \"Mine.\"\nbefore = \"python3 ./in.py\"\n[[request]]\npath = \"/${token}\"\n\
                    headers = [[\"Authorization\", \"Bearer ${token}\"]]\nexpect = { body = \"hello ${token}\" }\n";
    lab.write("deep/mine.toml", workload);
    lab.write("deep/in.py", LOGIN);
    let run = ["run", "--no-check", "-w", "./deep/mine.toml"];
    let told = stdout(&lab.assay(&run).args(START).arg("--dry-run").assert().code(0));
    assert!(told.contains("before      python3 ./in.py"), "{told}");
    lab.assay(&run).args(START).args(QUICK).assert().code(0);
    // What is typed takes its place.
    lab.assay(&run).args(START).args(QUICK).args(["--before", "echo token=else-where"]).assert().code(11);
}

#[test]
fn a_server_that_runs_already_is_logged_into_once() {
    let lab = Lab::new();
    let door = Door::open();
    let url = format!("http://127.0.0.1:{}/", door.port);
    lab.write("login.py", LOGIN);
    let load = ["load", &url, "-d", "100ms", "-c", "2", "--cpus", "0", "--json"];
    let told = lab.assay(&load).args(BEFORE).args(TOKEN_FIELD).assert().code(0);
    assert!(!stdout(&told).contains("tok-running") && stdout(&told).contains("[hidden: token]"));
    assert_eq!(door.logins.swap(0, Ordering::Relaxed), 1);
    lab.assay(&load)
        .args(TOKEN_FIELD)
        .assert()
        .code(2)
        .stderr(contains("`${token}`").and(contains("--before")));
    lab.assay(&RUN).arg(&url).args(BEFORE).args(TOKEN_FIELD).args(QUICK).assert().code(0);
    assert_eq!(door.logins.load(Ordering::Relaxed), 1, "two rounds");
}

#[test]
fn a_command_that_fails_is_told_with_its_last_lines() {
    let lab = lab();
    let door = Door::open();
    let url = format!("http://127.0.0.1:{}/", door.port);
    for (before, words) in [
        ("echo token=hush-hush; echo 'no entry for hush-hush' >&2; exit 3", "ended with exit status 3"),
        ("nosuchprogram", "was not found"),
        ("echo user=somebody", "the requests need token; the command before the load printed user"),
        ("echo hush-hush", "something other than NAME=VALUE on line 1"),
        ("yes token=hush-hush | head -c 100000", "printed more than 64 KiB"),
    ] {
        let load = ["load", &url, "-d", "100ms", "-c", "1", "--cpus", "0", "--before", before];
        let told = stderr(&lab.assay(&load).args(TOKEN_FIELD).assert().code(10));
        assert!(told.contains(words) && !told.contains("hush"), "{before}: {told}");
        let run =
            lab.assay(&RUN).args(["--before", before]).args(START).args(TOKEN_FIELD).args(QUICK).assert();
        let told = stderr(&run.code(10)) + &stdout(&lab.assay(&["show", "last"]).assert());
        assert!(told.contains(words) && !told.contains("hush"), "{before}: {told}");
    }
    let said = lab.assay(&["load", &url, "--before", "echo why >&2; exit 1"]).assert().code(10);
    assert!(stderr(&said).contains("\n  | why"), "{}", stderr(&said));
}

/// assay itself outlives it (`a_limit_of_file_sizes_is_told_and_nothing_is_left`); what is ignored would stay so after exec(2).
#[test]
fn what_is_started_finds_the_signal_of_file_sizes_at_its_default() {
    let lab = Lab::new();
    let door = Door::open();
    let url = format!("http://127.0.0.1:{}/", door.port);
    let before = "grep SigIgn /proc/self/status >&2; exit 1";
    let said = stderr(&lab.assay(&["load", &url, "--before", before]).assert().code(10));
    let told = said.split("SigIgn:").nth(1).and_then(|rest| rest.split_whitespace().next());
    let ignored = told.and_then(|mask| u64::from_str_radix(mask, 16).ok()).expect(&said);
    let signal = 1 << (rustix::process::Signal::XFSZ.as_raw() - 1);
    assert_eq!(ignored & signal, 0, "{ignored:x}");
}

#[test]
fn nothing_that_a_command_started_is_left() {
    let lab = Lab::new();
    let door = Door::open();
    let url = format!("http://127.0.0.1:{}/", door.port);
    let before = "sleep 1000 & (setsid sleep 1000 &) ; echo token=tok-running";
    let load = ["load", &url, "-d", "100ms", "-c", "1", "--cpus", "0", "--before", before];
    lab.assay(&load).args(TOKEN_FIELD).assert().code(0);
    assert_eq!(lab.processes(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_run_before_is_refused() {
    let lab = lab();
    let user = ["run", "--stack", "user"];
    lab.assay(&user).args(START).args(BEFORE).assert().code(2).stderr(contains("kernel's TCP"));
    lab.assay(&["run", "--before", ""]).args(START).assert().code(2).stderr(contains("--before"));
    lab.assay(&["run"]).args(START).args(TOKEN_FIELD).assert().code(2).stderr(contains("--before"));
    lab.write("w.toml", "name = \"w\"\nabout = \"\"\nbefore = \" \"\n[[request]]\npath = \"/\"\n");
    lab.assay(&["run", "-w", "./w.toml"]).args(START).assert().code(2).stderr(contains("w.toml:3:1"));
}

/// A server within the test that lets in whoever has its token, and counts who asked for it.
struct Door {
    port: u16,
    logins: Arc<AtomicUsize>,
}

impl Door {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("port");
        let port = listener.local_addr().expect("address").port();
        let logins = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&logins);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                std::thread::spawn(move || answer_all(stream, &count));
            }
        });
        Self { port, logins }
    }
}

fn answer_all(stream: TcpStream, logins: &AtomicUsize) -> Option<()> {
    let mut output = stream.try_clone().ok()?;
    let mut input = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (input.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
        input.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
        let (status, body) = if head.starts_with("POST /login") {
            logins.fetch_add(1, Ordering::Relaxed);
            ("200 OK", "tok-running")
        } else if head.contains("Authorization: Bearer tok-running\r\n") {
            ("200 OK", "hello tok-running")
        } else {
            ("401 Unauthorized", "who?")
        };
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        output.write_all(answer.as_bytes()).ok()?;
    }
}
