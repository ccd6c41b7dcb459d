//! Servers of others, started here: of the rules of HTTP/2 they break those that are known of them
//! (docs/method/http2.md#which-rules-does-a-server-keep), and no others are held against them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_check::{Pace, Patience, Rule, Target, ask, of_http2};
use assay_host::limits::free_port;
use assay_model::conformance::{RuleFinding, Ruling};
use assay_skip::skip;

/// Longest wait for a server to be there.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Short, because servers that never answer are waited for by turns.
const HASTY: Patience = Patience {
    answer: Duration::from_secs(3),
    end: Duration::from_millis(400),
    piece: Duration::from_millis(1),
    ..Patience::LONG
};
/// For what nobody knew: the machine may be busy.
const PATIENT: Patience = Patience {
    answer: Duration::from_secs(60),
    end: Duration::from_secs(5),
    piece: Duration::from_millis(20),
    rule: Duration::from_secs(300),
};
/// Times that a server is asked which answers late.
const ATTEMPTS: usize = 5;
/// Long enough for every rule about windows.
const BODY_BYTES: usize = 1500;
/// Fewest rules that apply to such an answer.
const FEWEST: usize = 270;

/// A server, and what is known of it.
struct Other {
    program: &'static str,
    /// The arguments that tell its version, and what that holds where the faults are those below.
    version: (&'static str, &'static str),
    breaks: &'static [&'static str],
    command: fn(port: u16, folder: &Path) -> Command,
}

const NGHTTPD: Other = Other {
    program: "nghttpd",
    version: ("--version", "nghttp2/1.52."),
    breaks: &["h2-continuation-too-long", "h2-stream-lower", "h2-settings-second-wrong", "h2-host-differs"],
    command: nghttpd,
};

const NGINX: Other = Other {
    program: "nginx",
    version: ("-v", "nginx/1.22."),
    breaks: &[
        "h2-preface-without-settings",
        "h2-continuation-all",
        "h2-continuation-empty",
        "h2-block-undecodable",
        "h2-block-cut",
        "h2-headers-long",
        "h2-idle-data",
        "h2-idle-reset",
        "h2-idle-window",
        "h2-closed-data",
        "h2-trailers",
        "h2-trailers-alone",
        "h2-host-same",
        "h2-name-not-ascii",
        "h2-value-space",
        "h2-field-connection",
        "h2-field-proxy-connection",
        "h2-field-keep-alive",
        "h2-field-transfer-encoding",
        "h2-field-upgrade",
        "h2-field-te",
        "h2-pseudo-behind-field",
        "h2-hpack-string-beyond",
        "h2-hpack-huffman-padding-long",
        "h2-hpack-resize-at-end",
        "h2-hpack-resize-inside",
        "h2-hpack-remembers-trailers",
        "h2-hpack-resize-empties",
        "h2-hpack-evicts-oldest",
        "h2-hpack-evicts-all",
    ],
    command: nginx,
};

fn nghttpd(port: u16, folder: &Path) -> Command {
    let mut command = Command::new("nghttpd");
    command.args(["--no-tls", "--workers=1", "--address=127.0.0.1", "--htdocs"]).arg(folder);
    command.arg(port.to_string());
    command
}

fn nginx(port: u16, folder: &Path) -> Command {
    let here = folder.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {here}/{name};\n"))
        .concat();
    let text = format!(
        "daemon off; master_process off; pid {here}/pid; error_log stderr crit; events {{ worker_connections 2048; }}\n\
         http {{ access_log off; {temporary}\n\
         server {{ listen 127.0.0.1:{port} http2; root {here}; }} }}\n"
    );
    std::fs::write(folder.join("conf"), text).expect("file");
    let mut command = Command::new("nginx");
    command.args(["-e", "stderr", "-c"]).arg(folder.join("conf"));
    command
}

/// A running server of another project; it ends with its owner.
struct Running(Child);

impl Running {
    fn start(command: &mut Command, port: u16) -> Self {
        let running = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started"));
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(began.elapsed() < READY_WITHIN, "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Other {
    /// What it says of its version; `None`, and a word, where it is not installed.
    fn told(&self) -> Option<String> {
        match Command::new(self.program).arg(self.version.0).output() {
            Ok(output) => {
                Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
            }
            Err(error) => {
                skip("tools", format_args!("needs {}: {error}", self.program));
                None
            }
        }
    }

    fn assert_breaks_what_is_known(&self) {
        let Some(told) = self.told() else { return };
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("text"), "x".repeat(BODY_BYTES)).expect("file");
        let port = free_port(Ipv4Addr::LOCALHOST.into()).expect("port");
        let _running = Running::start(&mut (self.command)(port, folder.path()), port);
        let target = Target::new(&format!("127.0.0.1:{port}"), "/text").expect("target").over_http2();
        let rules: Vec<&'static Rule> = of_http2().collect();
        let found = findings(&target, HASTY, &rules);
        let applying = found.iter().filter(|finding| finding.ruling != Ruling::NotApplicable).count();
        assert!(applying >= FEWEST, "{applying} apply: {found:#?}");
        let broken: BTreeSet<&str> =
            found.iter().filter(|finding| is_broken(finding)).map(|finding| finding.rule.as_str()).collect();
        let is_news = |rule: &&Rule| broken.contains(rule.id) && !self.breaks.contains(&rule.id);
        let mut news = findings(&target, PATIENT, &rules.into_iter().filter(is_news).collect::<Vec<_>>());
        news.retain(is_broken);
        assert!(news.is_empty(), "{told}: {news:#?}");
        // Another version may have learnt.
        if told.contains(self.version.1) {
            let kept: Vec<&&str> = self.breaks.iter().filter(|rule| !broken.contains(**rule)).collect();
            assert!(kept.is_empty(), "{told} is known to break {kept:?}");
        }
    }
}

fn findings(target: &Target, patience: Patience, rules: &[&'static Rule]) -> Vec<RuleFinding> {
    let target = target.clone().patience(patience);
    let mut asked = (0..ATTEMPTS).map(|_| ask(&target, rules, Pace::Full, &|| true));
    asked.find_map(Result::ok).expect("an answer").findings
}

fn is_broken(finding: &RuleFinding) -> bool {
    finding.ruling == Ruling::Broken
}

#[test]
fn nghttpd_breaks_what_is_known_of_it_and_no_other_rule() {
    NGHTTPD.assert_breaks_what_is_known();
}

#[test]
fn nginx_breaks_what_is_known_of_it_and_no_other_rule() {
    NGINX.assert_breaks_what_is_known();
}
